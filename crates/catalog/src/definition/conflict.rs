//! `conflictResolutionPolicy`: which of two writes in different regions wins. One region never
//! has such conflicts, so the policy is checked, stored and returned.

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

/// Parses the policy into the JSON that the service returns.
pub(super) fn parse(value: &Value) -> Result<Object, Error> {
    const WHAT: &str = "conflictResolutionPolicy";
    if let Some(policy) = read::given(value) {
        read::object(policy, WHAT)?;
    }
    let mode = match read::given(value.get("mode")) {
        Some(mode) => read::choice(mode, &format!("{WHAT}.mode"), &["LastWriterWins", "Custom"])?,
        None => "LastWriterWins",
    };
    let text = |name: &str| match read::given(value.get(name)) {
        Some(text) => read::text(text, &format!("{WHAT}.{name}")),
        None => Ok(""),
    };
    let mut path = text("conflictResolutionPath")?;
    let procedure = text("conflictResolutionProcedure")?;
    if mode == "LastWriterWins" {
        if !procedure.is_empty() {
            return Err(Error::bad_request(
                "LastWriterWins conflict resolution mode should not have conflict resolution \
                 procedure set.",
            ));
        }
        if path.is_empty() {
            path = "/_ts";
        }
        Path::parse(path).map_err(|_| invalid_path(path))?;
    } else if !path.is_empty() {
        return Err(Error::bad_request(
            "Custom conflict resolution mode should not have conflict resolution path set.",
        ));
    }
    let mut json = Object::new();
    json.insert("mode", mode);
    json.insert("conflictResolutionPath", path);
    json.insert("conflictResolutionProcedure", procedure);
    Ok(json)
}

/// Checks the policy of a new collection: the path must name a top-level property. Stored policies
/// may have others, which were once accepted.
pub(super) fn check_new(policy: &Value) -> Result<(), Error> {
    let path = policy.get("conflictResolutionPath").as_str().unwrap_or_default();
    if !path.is_empty() && !Path::parse(path).is_ok_and(|path| path.segments().len() == 1) {
        return Err(invalid_path(path));
    }
    Ok(())
}

/// Fails if the policy differs from the collection's. Leaving it out means the default, which is a
/// change if another policy is in force.
pub(super) fn check_unchanged(current: &Object, value: &Value) -> Result<(), Error> {
    let policy = Value::from(parse(value)?);
    if current.get("conflictResolutionPolicy").is_none_or(|current| *current == policy) {
        return Ok(());
    }
    check_new(&policy)?;
    Err(Error::bad_request("Updating conflict resolution policy is currently not supported."))
}

fn invalid_path(path: &str) -> Error {
    let path = read::shown(path);
    Error::bad_request(format!("Invalid path '{path}' for last writer wins conflict resolution."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;
    use value::json::print;

    #[test]
    fn good_policies() {
        const DEFAULT: &str = r#"{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""}"#;
        for (sent, returned) in [
            ("null", DEFAULT),
            ("{}", DEFAULT),
            (DEFAULT, DEFAULT),
            (r#"{"mode":"lastWriterWins","conflictResolutionPath":""}"#, DEFAULT),
            (
                r#"{"conflictResolutionPath":"/a/b"}"#,
                r#"{"mode":"LastWriterWins","conflictResolutionPath":"/a/b","conflictResolutionProcedure":""}"#,
            ),
            (
                r#"{"mode":"Custom"}"#,
                r#"{"mode":"Custom","conflictResolutionPath":"","conflictResolutionProcedure":""}"#,
            ),
            (
                r#"{"mode":"Custom","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"}"#,
                r#"{"mode":"Custom","conflictResolutionPath":"","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"}"#,
            ),
        ] {
            let json = Value::from(parse(&value_of(sent)).unwrap());
            assert_eq!(print(&json), returned);
            assert_eq!(print(&parse(&json).unwrap().into()), returned);
        }
    }

    #[test]
    fn new_ones_name_a_property_at_the_top_and_stay() {
        let check = |sent: &str| check_new(&parse(&value_of(sent)).unwrap().into());
        check("null").unwrap();
        check(r#"{"mode":"Custom"}"#).unwrap();
        check(r#"{"conflictResolutionPath":"/a"}"#).unwrap();
        let message = check(r#"{"conflictResolutionPath":"/a/b"}"#).unwrap_err().message;
        assert!(message.contains("Invalid path '/a/b' for last writer wins conflict resolution"));

        let current = |sent: &str| {
            let policy = parse(&value_of(sent)).unwrap().into();
            Object::from_iter([("conflictResolutionPolicy".to_owned(), policy)])
        };
        let nested = r#"{"conflictResolutionPath":"/a/b"}"#;
        check_unchanged(&current("null"), &value_of(r#"{"conflictResolutionPath":""}"#)).unwrap();
        check_unchanged(&current(nested), &value_of(nested)).unwrap();
        for (from, to, words) in [
            (
                "null",
                r#"{"mode":"Custom"}"#,
                "Updating conflict resolution policy is currently not",
            ),
            (
                r#"{"mode":"Custom"}"#,
                "null",
                "Updating conflict resolution policy is currently not",
            ),
            (
                "null",
                r#"{"conflictResolutionPath":"someText"}"#,
                "Invalid path 'someText' for last",
            ),
            ("null", nested, "Invalid path '/a/b' for last"),
        ] {
            let message = check_unchanged(&current(from), &value_of(to)).unwrap_err().message;
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn bad_policies() {
        for sent in [
            "1",
            r#"{"mode":"First"}"#,
            r#"{"mode":1}"#,
            r#"{"conflictResolutionPath":1}"#,
            r#"{"conflictResolutionPath":"a"}"#,
            r#"{"conflictResolutionPath":"/a/*"}"#,
            r#"{"conflictResolutionProcedure":"s"}"#,
            r#"{"mode":"Custom","conflictResolutionPath":"/a"}"#,
            r#"{"mode":"Custom","conflictResolutionProcedure":{}}"#,
        ] {
            assert!(parse(&value_of(sent)).is_err(), "{sent}");
        }
    }
}
