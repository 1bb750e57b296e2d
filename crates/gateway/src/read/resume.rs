//! The resume filter in a query's body: the point in the ORDER BY order at which the rows begin.
//! The .NET client sends it with every page that it continues from its own token.

use protocol::{
    Error,
    query::{ResumeFilter, ResumeValue},
    rid::{ChildKind, ChildRid},
};
use value::{Number, Value, distinct};

/// Parses `resumeFilter`.
pub(super) fn resume(filter: &Value) -> Result<ResumeFilter, Error> {
    let values =
        filter.get("value").as_array().ok_or_else(|| invalid("`value` is not an array"))?;
    let values = values.iter().map(item).collect::<Result<_, _>>()?;
    let document = match filter.get("rid") {
        Value::Undefined | Value::Null => None,
        rid => {
            let rid = rid.as_str().and_then(ChildRid::parse);
            let rid = rid.filter(|rid| rid.kind == ChildKind::Document);
            Some(rid.ok_or_else(|| invalid("`rid` is not the _rid of a document"))?.number)
        }
    };
    let excludes = match filter.get("exclude") {
        Value::Undefined | Value::Null => false,
        Value::Bool(excludes) => *excludes,
        _ => return Err(invalid("`exclude` is neither true nor false")),
    };
    Ok(ResumeFilter { values, document, excludes })
}

fn item(value: &Value) -> Result<ResumeValue, Error> {
    match value {
        // JSON has no undefined, so an empty array stands for it.
        Value::Array(elements) if elements.is_empty() => Ok(ResumeValue::Value(Value::Undefined)),
        Value::Array(_) => Err(invalid("an array in `value` is not empty")),
        Value::Object(_) => {
            let words = (word(value.get("low"))?, word(value.get("high"))?);
            let hash = distinct::from_words(words);
            match value.get("type").as_str() {
                Some("array") => Ok(ResumeValue::Array(hash)),
                Some("object") => Ok(ResumeValue::Object(hash)),
                _ => Err(invalid("`type` is neither \"array\" nor \"object\"")),
            }
        }
        scalar => Ok(ResumeValue::Value(scalar.clone())),
    }
}

/// Parses half of a hash, which clients write as a signed number.
fn word(value: &Value) -> Result<u64, Error> {
    let Value::Number(number) = value else { return Err(invalid("a hash needs `low` and `high`")) };
    let exact = |number: &Number| {
        let text = number.text();
        text.parse::<i64>().map(i64::cast_unsigned).or_else(|_| text.parse()).ok()
    };
    exact(number).ok_or_else(|| invalid("`low` and `high` are integers of 64 bits"))
}

fn invalid(why: &str) -> Error {
    Error::bad_request(format!("The resume filter of the query is invalid: {why}."))
}

#[cfg(test)]
mod tests {
    use value::json;

    use super::*;

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in [
            "1",
            "{}",
            r#"{"value":1}"#,
            r#"{"value":[[1]]}"#,
            r#"{"value":[{}]}"#,
            r#"{"value":[{"type":"array","low":1}]}"#,
            r#"{"value":[{"type":"array","low":1.5,"high":1}]}"#,
            r#"{"value":[{"type":"string","low":1,"high":1}]}"#,
            r#"{"value":[1],"rid":5}"#,
            r#"{"value":[1],"rid":"x"}"#,
            r#"{"value":[1],"exclude":1}"#,
        ] {
            let filter = json::parse(bad.as_bytes()).expect("JSON");
            assert!(resume(&filter).is_err(), "{bad}");
        }
    }
}
