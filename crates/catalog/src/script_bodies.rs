//! Request bodies of scripts: what a client must and may send.

use std::sync::Arc;

use crate::{
    bodies,
    definition::{missing, validate_name},
    scripts::{ScriptKind, TriggerKind, trigger_of},
};
use protocol::{
    Code, Error,
    limits::{SCRIPT_BYTES_MAX, SCRIPTS_BYTES_MAX},
};
use value::{Object, Value};

/// Properties that the server sets, ignoring the client's.
const SYSTEM: [&str; 4] = ["_rid", "_self", "_etag", "_ts"];

/// A script as a client defines it.
pub struct Definition {
    /// The kind of script.
    pub kind: ScriptKind,
    /// Its name.
    pub id: String,
    /// Its source.
    pub body: Arc<str>,
    /// When it runs, if it is a trigger.
    pub trigger: Option<TriggerKind>,
    /// Everything that the client sent, except the source.
    pub properties: Object,
}

impl Definition {
    /// Parses a request body.
    pub fn parse(kind: ScriptKind, text: &[u8]) -> Result<Self, Error> {
        bodies::check_size(text, SCRIPT_BYTES_MAX)?;
        let value = bodies::parse(text)?;
        let id = validate_name(value.get("id"))?;
        let mut properties = bodies::properties(value, &SYSTEM)?;
        let body = match properties.remove("body") {
            Some(Value::String(body)) => body.into(),
            None | Some(Value::Null) => return Err(missing("body")),
            Some(_) => return Err(Error::bad_request("The property 'body' must be a string.")),
        };
        let trigger = trigger_of(kind, &properties)?;
        Ok(Self { kind, id, body, trigger, properties })
    }
}

/// Fails if the sources together exceed the collection's limit.
pub fn check_bytes(bytes: usize) -> Result<(), Error> {
    if bytes > SCRIPTS_BYTES_MAX {
        let message =
            format!("The scripts of a collection may have at most {SCRIPTS_BYTES_MAX} bytes.");
        return Err(Error::new(Code::LimitReached, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::{TriggerOperation, TriggerType};

    fn parse(kind: ScriptKind, text: &str) -> Result<Definition, String> {
        Definition::parse(kind, text.as_bytes()).map_err(|error| error.message)
    }

    #[test]
    fn a_script_needs_an_id_and_a_source() {
        for bad in [
            "",
            "[]",
            "5",
            "{}",
            r#"{"id":"a"}"#,
            r#"{"body":"f"}"#,
            r#"{"id":"a","body":1}"#,
            r#"{"id":"a","body":null}"#,
            r#"{"id":"a/b","body":"f"}"#,
            r#"{"id":"","body":"f"}"#,
        ] {
            assert!(parse(ScriptKind::Function, bad).is_err(), "{bad}");
        }
        let text = r#"{"id":"a","body":"f","_rid":"x","_ts":1,"_etag":2,"_self":3,"more":[1]}"#;
        let script = parse(ScriptKind::Function, text).unwrap();
        assert_eq!((script.id.as_str(), &*script.body), ("a", "f"));
        assert_eq!(
            value::json::print(&Value::Object(script.properties)),
            r#"{"id":"a","more":[1]}"#
        );
    }

    #[test]
    fn triggers_say_when() {
        let parse = |when: &str, operation: &str| {
            let text = format!(
                r#"{{"id":"a","body":"f","triggerType":{when},"triggerOperation":{operation}}}"#
            );
            parse(ScriptKind::Trigger, &text).map(|script| script.trigger)
        };
        let all = TriggerKind { when: TriggerType::Pre, operation: TriggerOperation::All };
        assert_eq!(parse(r#""pre""#, r#""ALL""#), Ok(Some(all)));
        let delete = TriggerKind { when: TriggerType::Post, operation: TriggerOperation::Delete };
        assert_eq!(parse(r#""Post""#, r#""delete""#), Ok(Some(delete)));
        let error = parse("null", r#""All""#).unwrap_err();
        assert!(error.contains("'triggerType; '"), "{error}");
        let error = parse(r#""Pre""#, r#""Insert""#).unwrap_err();
        assert_eq!(error, r#"The value "Insert" of 'triggerOperation' is invalid."#);
        assert!(parse("1", r#""All""#).is_err());
    }
}
