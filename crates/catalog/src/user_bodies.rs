//! The bodies of users and permissions.

use crate::{
    bodies,
    definition::{shown, validate_name},
    link::Link,
    users::{Mode, Rights, partition_key},
};
use protocol::{Error, limits::USER_BYTES_MAX};
use value::Value;

fn read(text: &[u8]) -> Result<Value, Error> {
    bodies::check_size(text, USER_BYTES_MAX)?;
    bodies::parse(text)
}

/// Parses the body of a user: its name.
pub fn user(text: &[u8]) -> Result<String, Error> {
    validate_name(read(text)?.get("id"))
}

/// Parses the body of a permission: its name, and what it grants.
pub fn permission(text: &[u8]) -> Result<(String, Rights), Error> {
    let body = read(text)?;
    let id = validate_name(body.get("id"))?;
    let mode_word = bodies::string(&body, "permissionMode")?.to_owned();
    let mode = Mode::parse(&mode_word).ok_or_else(|| {
        Error::bad_request(format!(
            "The permissionMode '{}' is neither 'All' nor 'Read'.",
            shown(&mode_word)
        ))
    })?;
    let resource = bodies::string(&body, "resource")?.to_owned();
    let link = Link::parse(&resource)?;
    let key = partition_key(body.get("resourcePartitionKey"))?;
    if key.is_some() && matches!(link, Link::Database(_)) {
        return Err(Error::bad_request(
            "A permission on a database cannot have a resourcePartitionKey.",
        ));
    }
    Ok((id, Rights { mode, mode_word, resource, link, key }))
}

#[cfg(test)]
mod tests {
    use protocol::Code;

    use super::*;

    fn parse(text: &str) -> Result<(String, Rights), Code> {
        permission(text.as_bytes()).map_err(|error| error.code)
    }

    #[test]
    fn modes_in_any_case_and_keys_in_two_forms() {
        for (mode, meant) in [("All", Mode::All), ("all", Mode::All), ("READ", Mode::Read)] {
            for key in [r#"["a"]"#, r#""a""#] {
                let text = format!(
                    r#"{{"id":"p","permissionMode":"{mode}","resource":"dbs/d/colls/c","resourcePartitionKey":{key}}}"#
                );
                let (id, rights) = parse(&text).expect("a permission");
                assert_eq!((id.as_str(), rights.mode), ("p", meant));
                assert_eq!(
                    rights.key,
                    value::partition_key::PartitionKey::parse_header(r#"["a"]"#).ok()
                );
            }
        }
    }

    #[test]
    fn what_is_refused() {
        let long = "a".repeat(USER_BYTES_MAX + 1);
        for (text, code) in [
            ("", Code::BadRequest),
            ("[]", Code::BadRequest),
            (r#"{"id":"p"}"#, Code::BadRequest),
            (r#"{"id":"p","permissionMode":"Write","resource":"dbs/d"}"#, Code::BadRequest),
            (r#"{"id":"p","permissionMode":1,"resource":"dbs/d"}"#, Code::BadRequest),
            (r#"{"id":"p","permissionMode":"All"}"#, Code::BadRequest),
            (r#"{"id":"p","permissionMode":"All","resource":"dbs"}"#, Code::BadRequest),
            (r#"{"id":"a/b","permissionMode":"All","resource":"dbs/d"}"#, Code::BadRequest),
            (
                r#"{"id":"p","permissionMode":"All","resource":"dbs/d","resourcePartitionKey":["a"]}"#,
                Code::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c","resourcePartitionKey":[]}"#,
                Code::BadRequest,
            ),
            (
                r#"{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c","resourcePartitionKey":[[1]]}"#,
                Code::BadRequest,
            ),
            (&long, Code::TooLarge),
        ] {
            assert_eq!(parse(text).err(), Some(code), "{}", shown(text));
        }
    }
}
