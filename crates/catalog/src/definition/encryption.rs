//! `clientEncryptionPolicy`: which properties clients encrypt before sending documents, and with
//! which keys. The server never sees a plaintext key and encrypts nothing itself; it checks the
//! policy, so that all clients can rely on it, and stores and returns it.

use std::collections::HashSet;

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

const POLICY: &str = "clientEncryptionPolicy";
const ALGORITHM: &str = "AEAD_AES_256_CBC_HMAC_SHA256";
const DETERMINISTIC: &str = "Deterministic";
const RANDOMIZED: &str = "Randomized";
/// The most paths. The service publishes no limit; this is the one for indexing policies.
const PATHS_MAX: usize = 1500;

/// Checks the policy of a new collection with these partition key paths. Stored policies are not
/// checked again: any object was once accepted.
pub(super) fn check_new(policy: &Value, partition_key: &[Path]) -> Result<(), Error> {
    let Some(policy) = read::given(policy) else { return Ok(()) };
    read::object(policy, POLICY)?;
    let version = match read::given(policy.get("policyFormatVersion")) {
        None => 1,
        Some(version) => {
            version.as_i64().filter(|version| (1..=2).contains(version)).ok_or_else(|| {
                Error::bad_request("Supported versions of client encryption policy are 1 and 2.")
            })?
        }
    };
    let mut seen = HashSet::new();
    for entry in read::bounded_array(policy.get("includedPaths"), "includedPaths", PATHS_MAX)? {
        read::object(entry, "includedPaths")?;
        let (path, name) = path(entry)?;
        if !seen.insert(path) {
            let path = read::shown(path);
            return Err(Error::bad_request(format!("Duplicate Path found: {path}.")));
        }
        let key = read::text(entry.get("clientEncryptionKeyId"), "clientEncryptionKeyId")?;
        if key.trim().is_empty() {
            return Err(read::wrong("clientEncryptionKeyId", "the id of a key"));
        }
        let kind = entry.get("encryptionType").as_str().unwrap_or_default();
        if kind != DETERMINISTIC && kind != RANDOMIZED {
            return Err(Error::bad_request(
                "EncryptionType should be either 'Deterministic' or 'Randomized'.",
            ));
        }
        if entry.get("encryptionAlgorithm").as_str() != Some(ALGORITHM) {
            return Err(Error::bad_request(format!(
                "EncryptionAlgorithm should be '{ALGORITHM}'."
            )));
        }
        check_address(path, name, kind, version, partition_key)?;
    }
    Ok(())
}

/// The path of an entry, and the top-level property that it names.
fn path(entry: &Value) -> Result<(&str, &str), Error> {
    let path = read::text(entry.get("path"), "includedPaths.path")?;
    match path.strip_prefix('/') {
        Some(name) if !name.contains('/') => Ok((path, name)),
        _ => Err(Error::bad_request(format!("Invalid path '{}'.", read::shown(path)))),
    }
}

/// Checks an encrypted id or partition key: it must encrypt to the same text every time, and
/// policies of version 1 do not support it.
fn check_address(
    path: &str,
    name: &str,
    kind: &str,
    version: i64,
    partition_key: &[Path],
) -> Result<(), Error> {
    let is_id = name == "id";
    let is_key =
        partition_key.iter().any(|key| key.segments().first().is_some_and(|it| it == name));
    if !is_id && !is_key {
        return Ok(());
    }
    let path = read::shown(path);
    let part = if is_key { " which is part of the partition key" } else { "" };
    if version < 2 {
        return Err(Error::bad_request(format!(
            "Path: {path}{part} cannot be encrypted with PolicyFormatVersion: {version}. Please use \
             PolicyFormatVersion: 2."
        )));
    }
    if kind != DETERMINISTIC {
        return Err(Error::bad_request(if is_key {
            format!("Path: {path}{part} has to be encrypted with Deterministic type Encryption.")
        } else {
            format!("Only Deterministic encryption type is supported for path: {path}.")
        }));
    }
    Ok(())
}

/// Fails if the policy differs from the collection's, even if it was only left out or added.
pub(super) fn check_unchanged(current: &Object, policy: &Value) -> Result<(), Error> {
    let current = current.get(POLICY).and_then(read::given);
    if current == read::given(policy) {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "'{POLICY}' cannot be changed as part of collection replace operation."
    )))
}

/// The ids of the keys in a checked definition, without duplicates.
pub(super) fn keys(definition: &Object) -> Vec<&str> {
    let policy = definition.get(POLICY).unwrap_or(&Value::Undefined);
    let entries = policy.get("includedPaths").as_array().unwrap_or_default();
    let mut seen = HashSet::new();
    let ids = entries.iter().filter_map(|entry| entry.get("clientEncryptionKeyId").as_str());
    ids.filter(|id| seen.insert(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    fn entry(path: &str, kind: &str) -> String {
        format!(
            r#"{{"path":"{path}","clientEncryptionKeyId":"k","encryptionType":"{kind}","encryptionAlgorithm":"{ALGORITHM}"}}"#
        )
    }

    fn policy(version: u32, entries: &[String]) -> String {
        format!(r#"{{"includedPaths":[{}],"policyFormatVersion":{version}}}"#, entries.join(","))
    }

    fn check(policy: &str) -> Result<(), String> {
        let key = [Path::parse("/tenant/name").unwrap(), Path::parse("/\"user\"").unwrap()];
        check_new(&value_of(policy), &key).map_err(|error| error.message)
    }

    #[test]
    fn good_policies() {
        for good in [
            "null".to_owned(),
            r#"{"includedPaths":[]}"#.to_owned(),
            policy(1, &[]),
            policy(1, &[entry("/a", RANDOMIZED), entry("/b", DETERMINISTIC)]),
            policy(2, &[entry("/id", DETERMINISTIC), entry("/user", DETERMINISTIC)]),
            // The empty property name, which .NET sends.
            policy(2, &[entry("/", DETERMINISTIC)]),
        ] {
            check(&good).unwrap();
        }
    }

    #[test]
    fn bad_policies_are_refused_in_the_words_of_the_sdks() {
        let ok = || entry("/a", DETERMINISTIC);
        for (bad, message) in [
            ("[]".to_owned(), "must be an object"),
            ("{}".to_owned(), "must be an array"),
            (policy(0, &[]), "Supported versions of client encryption policy are 1 and 2."),
            (policy(3, &[]), "Supported versions of client encryption policy are 1 and 2."),
            (policy(1, &[ok(), ok()]), "Duplicate Path found: /a."),
            (policy(1, &["1".into()]), "must be an object"),
            (policy(1, &[entry("a", RANDOMIZED)]), "Invalid path 'a'."),
            (policy(1, &[entry("", RANDOMIZED)]), "Invalid path ''."),
            (policy(1, &[entry("/a/b", RANDOMIZED)]), "Invalid path '/a/b'."),
            (
                policy(1, &[entry("/a", "Plaintext")]),
                "EncryptionType should be either 'Deterministic' or 'Randomized'.",
            ),
            (
                policy(1, &[ok().replace("AEAD", "AEAR")]),
                "EncryptionAlgorithm should be 'AEAD_AES_256_CBC_HMAC_SHA256'.",
            ),
            (policy(1, &[ok().replace(r#""k""#, "1")]), "`clientEncryptionKeyId` must be a string"),
            (policy(1, &[ok().replace(r#""k""#, r#"" ""#)]), "must be the id of a key"),
            (
                policy(1, &[entry("/id", DETERMINISTIC)]),
                "Path: /id cannot be encrypted with PolicyFormatVersion: 1. Please use \
                 PolicyFormatVersion: 2.",
            ),
            (
                policy(1, &[entry("/tenant", DETERMINISTIC)]),
                "Path: /tenant which is part of the partition key cannot be encrypted with \
                 PolicyFormatVersion: 1. Please use PolicyFormatVersion: 2.",
            ),
            (
                policy(2, &[entry("/id", RANDOMIZED)]),
                "Only Deterministic encryption type is supported for path: /id.",
            ),
            (
                policy(2, &[entry("/user", RANDOMIZED)]),
                "Path: /user which is part of the partition key has to be encrypted with \
                 Deterministic type Encryption.",
            ),
        ] {
            let refusal = check(&bad).unwrap_err();
            assert!(refusal.contains(message), "{bad}: {refusal}");
        }
    }

    #[test]
    fn it_cannot_change() {
        let with = |text: &str| Object::from_iter([(POLICY.to_owned(), value_of(text))]);
        let old = policy(1, &[entry("/a", RANDOMIZED)]);
        check_unchanged(&with(&old), &value_of(&old)).unwrap();
        check_unchanged(&Object::new(), &Value::Null).unwrap();
        for (current, new) in [
            (with(&old), Value::Undefined),
            (with(&old), value_of(&policy(2, &[entry("/a", RANDOMIZED)]))),
            (Object::new(), value_of(&old)),
        ] {
            let message = check_unchanged(&current, &new).unwrap_err().message;
            assert!(message.contains("cannot be changed as part of collection replace operation"));
        }
    }

    #[test]
    fn each_key_is_named_once() {
        let text = policy(1, &[entry("/a", RANDOMIZED), entry("/b", RANDOMIZED)]);
        let definition = Object::from_iter([(POLICY.to_owned(), value_of(&text))]);
        assert_eq!(keys(&definition), ["k"]);
        assert!(keys(&Object::new()).is_empty());
    }
}
