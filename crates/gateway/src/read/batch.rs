//! Parses the operations of a batch from its body.
//!
//! Documents stay text: the engine parses each one when it runs the operation, and stores it byte
//! for byte.

use std::collections::HashSet;

use bytes::Bytes;
use protocol::{
    Error,
    limits::{BATCH_BYTES_MAX, BATCH_OPERATIONS_MAX},
    request::{BatchKind, BatchOperation, IndexingDirective},
};
use value::{Value, json, partition_key::PartitionKey};

use super::{patch, rows, too_large};
use crate::hybrid_row;

/// Parses the operations of a batch. An invalid operation fails the whole request; an invalid patch
/// only fails its own operation.
pub fn operations(body: &Bytes) -> Result<Vec<BatchOperation>, Error> {
    if body.len() > BATCH_BYTES_MAX {
        return Err(too_large());
    }
    if hybrid_row::is_stream(body) {
        return rows::operations(body);
    }
    let spans = json::elements(body).map_err(|error| {
        Error::bad_request(format!("The batch is not a JSON array of operations: {error}"))
    })?;
    check_count(spans.len())?;
    let numbered = spans.into_iter().enumerate();
    let read =
        |(index, span)| operation(&body.slice(span)).map_err(|reason| refused(index, &reason));
    numbered.map(read).collect()
}

pub(super) fn check_count(operations: usize) -> Result<(), Error> {
    match operations {
        0 => Err(Error::bad_request("Batch request has no operations.")),
        1..=BATCH_OPERATIONS_MAX => Ok(()),
        _ => Err(Error::bad_request(format!(
            "Batch request has more operations than what is supported. It has {operations}, at most \
             {BATCH_OPERATIONS_MAX} are supported."
        ))),
    }
}

pub(super) fn refused(index: usize, reason: &str) -> Error {
    Error::bad_request(format!("Operation {index} of the batch: {reason}"))
}

/// The members of an operation as the client sent them.
#[derive(Default)]
pub(super) struct Members {
    pub(super) kind: Option<String>,
    pub(super) id: Option<String>,
    pub(super) body: Option<Bytes>,
    pub(super) key: Option<PartitionKey>,
    pub(super) if_match: Option<String>,
    pub(super) if_none_match: Option<String>,
    pub(super) directive: Option<IndexingDirective>,
    pub(super) is_minimal: bool,
}

fn operation(text: &Bytes) -> Result<BatchOperation, String> {
    let mut found = Members::default();
    let mut seen = HashSet::new();
    for member in json::members(text).map_err(|error| error.to_string())? {
        let span = &text[member.value.clone()];
        let name = &*member.key;
        if name == "resourceBody" && span != b"null" {
            // Parsed later, as the kind of operation requires.
            found.body = Some(text.slice(member.value));
        } else {
            let value = json::parse(span).map_err(|error| format!("{name}: {error}"))?;
            match name {
                "operationType" => found.kind = string(name, &value)?,
                "id" => found.id = string(name, &value)?,
                "partitionKey" => found.key = key(&value)?,
                "ifMatch" => found.if_match = string(name, &value)?,
                "ifNoneMatch" => found.if_none_match = string(name, &value)?,
                "indexingDirective" => {
                    let word = string(name, &value)?;
                    found.directive = word.as_deref().map(directive).transpose()?;
                }
                "minimalReturnPreference" => found.is_minimal = flag(name, &value)?,
                _ => {}
            }
        }
        if let Some(twice) = seen.replace(member.key) {
            return Err(format!("{twice} occurs twice."));
        }
    }
    found.into_operation()
}

impl Members {
    /// Builds the operation if all members that its kind needs are there.
    pub(super) fn into_operation(self) -> Result<BatchOperation, String> {
        let Members { kind, id, body, key, if_match, if_none_match, directive, is_minimal } = self;
        let kind = kind.ok_or("operationType is missing.")?;
        let id = || id.filter(|id| !id.is_empty()).ok_or_else(|| format!("{kind} needs an id."));
        let body = || body.ok_or_else(|| format!("{kind} needs a resourceBody."));
        let kind = match kind.to_ascii_lowercase().as_str() {
            "create" => BatchKind::Create { body: body()? },
            "upsert" => BatchKind::Upsert { body: body()? },
            "read" => BatchKind::Read { id: id()? },
            "replace" => BatchKind::Replace { id: id()?, body: body()? },
            "delete" => BatchKind::Delete { id: id()? },
            "patch" => BatchKind::Patch { id: id()?, patch: patch(&body()?) },
            _ => {
                let start: String = kind.chars().take(40).collect();
                return Err(format!("the operationType {start} is unknown."));
            }
        };
        Ok(BatchOperation {
            kind,
            key,
            if_match,
            if_none_match,
            indexing_directive: directive,
            is_minimal,
        })
    }
}

fn string(name: &str, value: &Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(format!("{name} is not a string.")),
    }
}

fn flag(name: &str, value: &Value) -> Result<bool, String> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        _ => Err(format!("{name} is not a boolean.")),
    }
}

pub(super) fn directive(word: &str) -> Result<IndexingDirective, String> {
    match word.to_ascii_lowercase().as_str() {
        "default" => Ok(IndexingDirective::Default),
        "include" => Ok(IndexingDirective::Include),
        "exclude" => Ok(IndexingDirective::Exclude),
        _ => Err("the indexingDirective is unknown.".to_owned()),
    }
}

/// Parses the partition key. It is text, as in the header of a single operation. An array works as
/// well, and any other value is the key itself.
fn key(value: &Value) -> Result<Option<PartitionKey>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.trim_start().starts_with('[') => key_of_text(text).map(Some),
        Value::Array(_) => key_of_text(&json::print(value)).map(Some),
        // COMPAT: in a transaction, some versions of JavaScript send the caller's value unchanged.
        value => key_of_text(&format!("[{}]", json::print(value))).map(Some),
    }
}

pub(super) fn key_of_text(text: &str) -> Result<PartitionKey, String> {
    PartitionKey::parse_header(text)
        .map_err(|_| "partitionKey is not the text of a JSON array of values.".to_owned())
}

#[cfg(test)]
mod tests {
    use protocol::Code;

    use super::*;

    fn read(body: &str) -> Result<Vec<BatchOperation>, Error> {
        operations(&Bytes::copy_from_slice(body.as_bytes()))
    }

    fn message(body: &str) -> String {
        let error = read(body).expect_err(body);
        assert_eq!(error.code, Code::BadRequest);
        error.message
    }

    fn text(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn all_six_kinds() {
        let body = r#" [
            {"operationType":"Create","resourceBody":{ "id":"a", "n":1.0 }},
            {"operationType":"Upsert","resourceBody":{"id":"a"},"ifMatch":"\"e\"","partitionKey":"[\"k\"]"},
            {"operationType":"Read","id":"a","ifNoneMatch":"e","resourceBody":null,"other":[1]},
            {"operationType":"Replace","id":"a","resourceBody":{},"partitionKey":[null]},
            {"operationType":"Delete","id":"a","ifMatch":null,"minimalReturnPreference":true,"indexingDirective":"exclude"},
            {"operationType":"Patch","id":"a","resourceBody":[{"op":"incr","path":"/n","value":1}]}
        ] "#;
        let read = read(body).expect("operations");
        let kinds: Vec<_> = read.iter().map(|operation| &operation.kind).collect();
        let id = "a".to_owned();
        let expected = [
            BatchKind::Create { body: text(r#"{ "id":"a", "n":1.0 }"#) },
            BatchKind::Upsert { body: text(r#"{"id":"a"}"#) },
            BatchKind::Read { id: id.clone() },
            BatchKind::Replace { id: id.clone(), body: text("{}") },
            BatchKind::Delete { id: id.clone() },
            BatchKind::Patch { id, patch: patch(br#"[{"op":"incr","path":"/n","value":1}]"#) },
        ];
        assert_eq!(kinds, expected.iter().collect::<Vec<_>>());
        assert_eq!(read[1].key, PartitionKey::parse_header(r#"["k"]"#).ok());
        assert_eq!(read[3].key, PartitionKey::parse_header("[null]").ok());
        assert_eq!(read[1].if_match.as_deref(), Some("\"e\""));
        assert_eq!(read[2].if_none_match.as_deref(), Some("e"));
        let (plain, own) = (&read[3], &read[4]);
        assert!(own.if_match.is_none());
        assert_eq!((plain.is_minimal, own.is_minimal), (false, true));
        assert_eq!(plain.indexing_directive, None);
        assert_eq!(own.indexing_directive, Some(IndexingDirective::Exclude));
    }

    /// Other operations of the batch may be unrelated to it.
    #[test]
    fn a_patch_that_cannot_be_read_is_the_fate_of_its_operation() {
        let body = r#"[{"operationType":"Patch","id":"a","resourceBody":[{"op":"x"}]},
            {"operationType":"Read","id":"a"}]"#;
        let read = read(body).expect("operations");
        let BatchKind::Patch { patch: Err(error), .. } = &read[0].kind else { panic!("{read:?}") };
        assert!(error.message.starts_with("Invalid patch request"), "{}", error.message);
        assert!(read[1].is_read());
    }

    #[test]
    fn keys_in_every_form() {
        for (written, header) in [
            (r#""[\"k\"]""#, r#"["k"]"#),
            (r#"" [1, null]""#, "[1,null]"),
            (r#"["k"]"#, r#"["k"]"#),
            (r#""k""#, r#"["k"]"#),
            (r#""""#, r#"[""]"#),
            ("7", "[7]"),
            ("true", "[true]"),
        ] {
            let body = format!(r#"[{{"operationType":"Read","id":"a","partitionKey":{written}}}]"#);
            let read = read(&body).expect(&body);
            assert_eq!(read[0].key, PartitionKey::parse_header(header).ok(), "{written}");
        }
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        for (body, part) in [
            ("", "not a JSON array"),
            ("{}", "not a JSON array"),
            ("[", "not a JSON array"),
            ("[] x", "not a JSON array"),
            ("[]", "no operations"),
            ("[1]", "Operation 0"),
            ("[{}]", "operationType is missing"),
            (r#"[{"operationType":null}]"#, "operationType is missing"),
            (r#"[{"operationType":7}]"#, "not a string"),
            (r#"[{"operationType":"Query"}]"#, "Query is unknown"),
            (r#"[{"operationType":"Create"}]"#, "Create needs a resourceBody"),
            (r#"[{"operationType":"Create","resourceBody":null}]"#, "needs a resourceBody"),
            (r#"[{"operationType":"Delete"}]"#, "Delete needs an id"),
            (r#"[{"operationType":"Delete","id":""}]"#, "Delete needs an id"),
            (r#"[{"operationType":"Read","id":"a","partitionKey":"[k]"}]"#, "partitionKey"),
            (r#"[{"operationType":"Read","id":"a","partitionKey":"[[1]]"}]"#, "partitionKey"),
            (r#"[{"operationType":"Read","id":"a","partitionKey":{"a":1}}]"#, "partitionKey"),
            (r#"[{"operationType":"Read","id":"a","minimalReturnPreference":1}]"#, "not a boolean"),
            (r#"[{"operationType":"Read","id":"a","indexingDirective":"x"}]"#, "indexingDirective"),
            (r#"[{"operationType":"Read","id":"a","id":"b"}]"#, "id occurs twice"),
            (r#"[{"operationType":"Read","id":"a","x":[}]"#, "batch"),
            (r#"[{"operationType":"Read","id":"a","x":tru}]"#, "x: "),
        ] {
            let message = message(body);
            assert!(message.contains(part), "{body}: {message}");
        }
        let many =
            |count| format!("[{}]", vec![r#"{"operationType":"Read","id":"a"}"#; count].join(","));
        assert_eq!(read(&many(100)).map(|read| read.len()).ok(), Some(100));
        assert!(message(&many(101)).contains("more operations"));
        let long = format!("[{}]", " ".repeat(BATCH_BYTES_MAX));
        assert_eq!(read(&long).expect_err("long").code, Code::TooLarge);
    }
}
