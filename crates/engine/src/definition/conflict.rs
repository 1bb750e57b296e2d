//! `conflictResolutionPolicy`: which of two writes in different regions wins. One region never
//! has such conflicts, so the policy is checked, stored and returned.

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

/// The policy's JSON as the service returns it.
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
                "a conflict resolution procedure goes with the mode Custom",
            ));
        }
        if path.is_empty() {
            path = "/_ts";
        }
        Path::parse(path).map_err(|error| {
            Error::bad_request(format!("`{WHAT}`: {}", read::shown(&error.to_string())))
        })?;
    } else if !path.is_empty() {
        return Err(Error::bad_request("a conflict resolution path goes with LastWriterWins"));
    }
    let mut json = Object::new();
    json.insert("mode", mode);
    json.insert("conflictResolutionPath", path);
    json.insert("conflictResolutionProcedure", procedure);
    Ok(json)
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
