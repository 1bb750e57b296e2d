//! `partitionKey`: the paths whose values place a document, and how they are hashed. Fixed when the
//! collection is created.

use protocol::{Code, Error, limits::PARTITION_KEY_BYTES_MAX};
use value::partition_key::{Component, Hashing, PartitionKey};
use value::path::Path;
use value::{Object, Value};

use super::name::missing_message;
use super::{SYSTEM_PROPERTIES, read};

/// The most levels of a hierarchical partition key.
const PATHS_MAX: usize = 3;

/// The path of a collection without a partition key.
const SYSTEM_PATH: &str = "/_partitionKey";

/// A collection's partition key paths, and how they are hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionKeyDefinition {
    /// One to three paths, one for each component.
    pub paths: Vec<Path>,
    /// How the components are hashed.
    pub hashing: Hashing,
    /// Whether an old client created the collection without a partition key; all its documents then
    /// share the undefined key.
    pub is_system: bool,
}

/// Parses the definition of a new collection. Also returns its JSON as the service returns it.
/// `is_optional` is for clients from the time when collections did not need one.
pub(super) fn create(
    value: &Value,
    is_optional: bool,
) -> Result<(PartitionKeyDefinition, Object), Error> {
    match read::given(value) {
        Some(value) => parse(value),
        None if is_optional => parse(&system()),
        None => {
            Err(Error::new(Code::PartitionKeyDefinitionMissing, missing_message("partitionKey")))
        }
    }
}

/// Fails if the definition differs from `current`. Leaving it out is a change too, unless there was
/// none to begin with.
pub(super) fn check_unchanged(
    current: &PartitionKeyDefinition,
    value: &Value,
) -> Result<(), Error> {
    let is_same = match read::given(value) {
        Some(value) => parse(value)?.0 == *current,
        None => current.is_system,
    };
    if is_same {
        return Ok(());
    }
    Err(Error::bad_request("Document collection partition key cannot be changed."))
}

/// The definition that the service stores for a collection without a partition key.
fn system() -> Value {
    let mut json = Object::new();
    json.insert("paths", vec![Value::from(SYSTEM_PATH)]);
    json.insert("kind", "Hash");
    json.insert("systemKey", true);
    json.into()
}

fn parse(value: &Value) -> Result<(PartitionKeyDefinition, Object), Error> {
    read::object(value, "partitionKey")?;
    let paths = parse_paths(value.get("paths"))?;
    let kind = match read::given(value.get("kind")) {
        Some(kind) => read::choice(kind, "partitionKey.kind", &["Hash", "MultiHash"])?,
        None => "Hash",
    };
    let version = match read::given(value.get("version")) {
        Some(version) => Some(hash_version(version)?),
        None => None,
    };
    let hashing = hashing(kind, version, paths.len())?;
    let is_system = match read::given(value.get("systemKey")) {
        Some(flag) => read::flag(flag, "partitionKey.systemKey")?,
        None => false,
    };
    let [path, ..] = paths.as_slice() else {
        return Err(read::wrong("partitionKey.paths", "a list of at least one path"));
    };
    // COMPAT: SDKs set `systemKey` on any key. With a path of the client's own it is an ordinary
    // key.
    let is_system = is_system && path.as_str() == SYSTEM_PATH && paths.len() == 1;
    let mut json = Object::new();
    json.insert("paths", paths.iter().map(|path| path.as_str().into()).collect::<Vec<Value>>());
    json.insert("kind", kind);
    // COMPAT: the version is returned only if it was sent; clients take a missing version for 1.
    // That would be wrong for a hierarchical key, which therefore always has version 2.
    if let Some(version) = version.or_else(|| (hashing == Hashing::MultiHash).then_some(2)) {
        json.insert("version", version);
    }
    if is_system {
        json.insert("systemKey", true);
    }
    Ok((PartitionKeyDefinition { paths, hashing, is_system }, json))
}

fn parse_paths(value: &Value) -> Result<Vec<Path>, Error> {
    const WHAT: &str = "partitionKey.paths";
    let mut paths: Vec<Path> = Vec::new();
    let elements = read::array(value, WHAT)?;
    if elements.len() > PATHS_MAX {
        return Err(Error::bad_request(format!(
            "Too many partition key paths: {}, at most {PATHS_MAX} are allowed.",
            elements.len()
        )));
    }
    for element in elements {
        let path = Path::parse(read::text(element, WHAT)?)
            .map_err(|error| unacceptable(&error.text, error.offset))?;
        let first = path.segments().first().map_or("", String::as_str);
        if SYSTEM_PROPERTIES.contains(&first) {
            return Err(Error::bad_request(format!(
                "the system property `{first}` cannot be a partition key"
            )));
        }
        if paths.contains(&path) {
            let path = read::shown(path.as_str());
            return Err(Error::bad_request(format!(
                "the partition key path `{path}` occurs twice"
            )));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Rejects white space and wildcards in an unquoted name, which were once accepted.
pub(super) fn check_new(definition: &PartitionKeyDefinition) -> Result<(), Error> {
    let mut paths = definition.paths.iter().map(Path::as_str);
    match paths.find_map(|path| Some((path, bad_offset(path)?))) {
        Some((path, offset)) => Err(unacceptable(path, offset)),
        None => Ok(()),
    }
}

/// The offset where an otherwise valid path goes wrong: after white space, or at a wildcard.
fn bad_offset(path: &str) -> Option<usize> {
    let is_bad = |char: char| char.is_whitespace() || char.is_control() || "*?".contains(char);
    let mut quote = None;
    let mut previous = None;
    for (at, char) in path.char_indices() {
        if let Some(open) = quote {
            if char == open && previous != Some('\\') {
                quote = None;
            }
        } else if previous == Some('/') && matches!(char, '"' | '\'') {
            quote = Some(char);
        } else if is_bad(char) {
            let rest = &path[at..];
            return Some(at + rest.len() - rest.trim_start().len());
        }
        // An escaped backslash does not escape the next character.
        previous = if previous == Some('\\') && char == '\\' { None } else { Some(char) };
    }
    None
}

/// The service's error for an invalid path.
fn unacceptable(path: &str, offset: usize) -> Error {
    Error::bad_request(format!(
        "The partition key component definition path '{}' could not be accepted, failed near \
         position '{offset}'. Partition key paths must contain only valid characters and not \
         contain a trailing slash or wildcard character.",
        read::shown(path)
    ))
}

/// COMPAT: Java sends the name of its enum, `"V2"`.
fn hash_version(value: &Value) -> Result<i64, Error> {
    match value.as_str().map(str::to_ascii_uppercase).as_deref() {
        Some("V1" | "1") => Ok(1),
        Some("V2" | "2") => Ok(2),
        _ => read::integer(value, "partitionKey.version", 1..=2),
    }
}

fn hashing(kind: &str, version: Option<i64>, paths: usize) -> Result<Hashing, Error> {
    match (kind, version) {
        ("MultiHash", Some(1)) => {
            Err(Error::bad_request("a partition key of kind MultiHash must have version 2"))
        }
        ("MultiHash", _) => Ok(Hashing::MultiHash),
        _ if paths > 1 => Err(Error::bad_request(
            "a partition key of kind Hash has one path; several paths need the kind MultiHash",
        )),
        (_, Some(2)) => Ok(Hashing::V2),
        _ => Ok(Hashing::V1),
    }
}

/// Fails if the key is too long for any document.
pub fn check_length(key: &PartitionKey) -> Result<(), Error> {
    let is_long = |component: &Component| matches!(component, Component::String(text) if text.len() > PARTITION_KEY_BYTES_MAX);
    if key.0.iter().any(is_long) {
        return Err(Error::bad_request(format!(
            "The partition key value is longer than {PARTITION_KEY_BYTES_MAX} bytes."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;
    use value::json::print;

    #[test]
    fn good_definitions_and_how_they_come_back() {
        let cases = [
            (r#"{"paths":["/a"],"kind":"Hash"}"#, Hashing::V1, None),
            (r#"{"paths":["/a"],"kind":"Hash","version":1}"#, Hashing::V1, None),
            (r#"{"paths":["/a"],"kind":"Hash","version":2}"#, Hashing::V2, None),
            (
                r#"{"paths":["/a"],"kind":"Hash","version":"V2"}"#,
                Hashing::V2,
                Some(r#"{"paths":["/a"],"kind":"Hash","version":2}"#),
            ),
            (r#"{"paths":["/\"a b\"/c"],"kind":"Hash"}"#, Hashing::V1, None),
            (
                r#"{"kind":"hash","paths":["/a"],"version":null,"x":1}"#,
                Hashing::V1,
                Some(r#"{"paths":["/a"],"kind":"Hash"}"#),
            ),
            (r#"{"paths":["/a"]}"#, Hashing::V1, Some(r#"{"paths":["/a"],"kind":"Hash"}"#)),
            (
                r#"{"paths":["/a","/b"],"kind":"MultiHash"}"#,
                Hashing::MultiHash,
                Some(r#"{"paths":["/a","/b"],"kind":"MultiHash","version":2}"#),
            ),
            (r#"{"paths":["/a"],"kind":"MultiHash","version":2}"#, Hashing::MultiHash, None),
            (
                r#"{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}"#,
                Hashing::MultiHash,
                None,
            ),
            (r#"{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}"#, Hashing::V1, None),
        ];
        for (sent, hashing, returned) in cases {
            let (definition, json) = create(&value_of(sent), false).unwrap();
            assert_eq!(definition.hashing, hashing, "{sent}");
            assert_eq!(definition.is_system, sent.contains("systemKey"));
            assert_eq!(print(&json.clone().into()), returned.unwrap_or(sent));
            assert_eq!(parse(&json.into()).unwrap().0, definition);
        }
    }

    #[test]
    fn bad_definitions() {
        for sent in [
            r#""/a""#,
            r"[]",
            r"{}",
            r#"{"paths":"/a","kind":"Hash"}"#,
            r#"{"paths":[],"kind":"Hash"}"#,
            r#"{"paths":[],"kind":"MultiHash"}"#,
            r#"{"paths":[1],"kind":"Hash"}"#,
            r#"{"paths":["a"],"kind":"Hash"}"#,
            r#"{"paths":[""],"kind":"Hash"}"#,
            r#"{"paths":["/"],"kind":"Hash"}"#,
            r#"{"paths":["/a/*"],"kind":"Hash"}"#,
            r#"{"paths":["/a/[]/b"],"kind":"Hash"}"#,
            r#"{"paths":["/a/?"],"kind":"Hash"}"#,
            r#"{"paths":["/a","/b"],"kind":"Hash"}"#,
            r#"{"paths":["/a","/b"],"kind":"Hash","version":2}"#,
            r#"{"paths":["/a","/b"],"kind":"MultiHash","version":1}"#,
            r#"{"paths":["/a","/\"a\""],"kind":"MultiHash","version":2}"#,
            r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}"#,
            r#"{"paths":["/a"],"kind":"Range"}"#,
            r#"{"paths":["/a"],"kind":"Other"}"#,
            r#"{"paths":["/a"],"kind":1}"#,
            r#"{"paths":["/a"],"kind":"Hash","version":0}"#,
            r#"{"paths":["/a"],"kind":"Hash","version":3}"#,
            r#"{"paths":["/a"],"kind":"Hash","version":1.5}"#,
            r#"{"paths":["/a"],"kind":"Hash","version":"V3"}"#,
            r#"{"paths":["/_ts"],"kind":"Hash"}"#,
            r#"{"paths":["/'_etag'/x"],"kind":"Hash"}"#,
            r#"{"paths":["/a"],"kind":"Hash","systemKey":"yes"}"#,
        ] {
            assert_eq!(create(&value_of(sent), true).unwrap_err().code, Code::BadRequest, "{sent}");
        }
    }

    #[test]
    fn paths_are_refused_in_the_words_of_the_service() {
        let created = |path: &str| {
            let json = Object::from_iter([("paths".to_owned(), vec![Value::from(path)].into())]);
            create(&json.into(), false).and_then(|(definition, _)| check_new(&definition))
        };
        for (path, position) in [
            ("id", 0),
            ("/id ds", 4),
            ("/a/", 3),
            ("/a/*", 3),
            ("/a*", 2),
            ("/a\tb/c", 3),
            ("/a ", 3),
        ] {
            assert_eq!(
                created(path).unwrap_err().message,
                format!(
                    "The partition key component definition path '{path}' could not be accepted, \
                     failed near position '{position}'. Partition key paths must contain only valid \
                     characters and not contain a trailing slash or wildcard character."
                )
            );
        }
        for good in ["/a-b/c_d", r#"/"a b"/c"#, r#"/"a\\"/'b * c'"#, r#"/"a\" b""#, "/é"] {
            created(good).unwrap();
        }
    }

    #[test]
    fn a_system_key_with_a_path_of_its_own_is_a_key() {
        let sent = r#"{"paths":["/test"],"kind":"Hash","systemKey":true}"#;
        let (definition, json) = create(&value_of(sent), false).unwrap();
        assert!(!definition.is_system);
        assert_eq!(print(&json.into()), r#"{"paths":["/test"],"kind":"Hash"}"#);
        check_unchanged(&definition, &value_of(sent)).unwrap();
    }

    #[test]
    fn old_clients_may_leave_it_out() {
        for absent in [Value::Undefined, Value::Null] {
            let error = create(&absent, false).unwrap_err();
            assert_eq!(error.code, Code::PartitionKeyDefinitionMissing);
            let (definition, json) = create(&absent, true).unwrap();
            assert!(definition.is_system);
            assert_eq!(
                print(&json.into()),
                r#"{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}"#
            );
            check_unchanged(&definition, &absent).unwrap();
        }
    }

    #[test]
    fn it_cannot_change() {
        let (current, _) =
            create(&value_of(r#"{"paths":["/a"],"kind":"Hash","version":1}"#), false).unwrap();
        check_unchanged(&current, &value_of(r#"{"paths":["/'a'"],"kind":"Hash"}"#)).unwrap();
        for changed in [
            "null",
            r#"{"paths":["/b"],"kind":"Hash"}"#,
            r#"{"paths":["/a"],"kind":"Hash","version":2}"#,
            r#"{"paths":["/a"],"kind":"MultiHash"}"#,
            r#"{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}"#,
        ] {
            assert!(check_unchanged(&current, &value_of(changed)).is_err(), "{changed}");
        }
    }
}
