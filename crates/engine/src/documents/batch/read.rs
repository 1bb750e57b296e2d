//! The operations of a batch, read from its body.
//!
//! The documents in it stay text: they are parsed when their turn comes, and stored byte for byte.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use bytes::Bytes;
use protocol::{
    Error, Options, hybrid_row,
    limits::{BATCH_BYTES_MAX, BATCH_OPERATIONS_MAX},
    request::IndexingDirective,
};
use value::{Value, json, partition_key::PartitionKey};

use crate::{
    bodies,
    documents::{batch::rows, stage::Done},
};

/// One operation.
#[derive(Debug, PartialEq)]
pub(super) struct BatchOperation<'a> {
    pub(super) kind: Kind<'a>,
    /// The partition key that it names itself.
    pub(super) key: Option<PartitionKey>,
    if_match: Option<String>,
    if_none_match: Option<String>,
    directive: Option<IndexingDirective>,
    /// Leave the document out of the result.
    is_minimal: bool,
}

/// What to do, by the id of the document and the text of the new one, as far as it has them.
#[derive(Debug, PartialEq)]
pub(super) enum Kind<'a> {
    Create { body: Cow<'a, [u8]> },
    Upsert { body: Cow<'a, [u8]> },
    Read { id: String },
    Replace { id: String, body: Cow<'a, [u8]> },
    Delete { id: String },
    Patch { id: String, body: Cow<'a, [u8]> },
}

impl Kind<'_> {
    /// Bytes of text that the request does not have, since it was translated.
    pub(super) fn translated_bytes(&self) -> usize {
        match self {
            Self::Create { body: Cow::Owned(text) }
            | Self::Upsert { body: Cow::Owned(text) }
            | Self::Replace { body: Cow::Owned(text), .. }
            | Self::Patch { body: Cow::Owned(text), .. } => text.len(),
            _ => 0,
        }
    }
}

impl BatchOperation<'_> {
    /// Whether it asks something of the document before it changes it.
    pub(super) fn has_condition(&self) -> bool {
        const NAME: &[u8] = b"\"condition\"";
        let Kind::Patch { body, .. } = &self.kind else { return false };
        body.windows(NAME.len()).any(|text| text == NAME)
    }

    pub(super) fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read { .. })
    }

    pub(super) fn is_minimal(&self) -> bool {
        self.is_minimal
    }

    /// What is told of what was done: a read leaves its document out only if it asks for that itself.
    pub(super) fn told(&self, done: Done) -> Done {
        if self.is_read() && self.is_minimal {
            Done { document: Bytes::new(), ..done }
        } else {
            done
        }
    }

    /// The options of the request, with the operation's own conditions and wishes.
    pub(super) fn options(&self, options: &Options) -> Options {
        // COMPAT: either etag of a read is that of the version which the caller has.
        let known = self.if_match.as_ref().filter(|_| self.is_read());
        Options {
            if_match: self.if_match.clone(),
            if_none_match: known.or(self.if_none_match.as_ref()).cloned(),
            indexing_directive: self.directive.unwrap_or(options.indexing_directive),
            minimal_response: self.is_minimal || options.minimal_response,
            // Triggers are for single writes.
            pre_triggers: Vec::new(),
            post_triggers: Vec::new(),
            ..options.clone()
        }
    }
}

/// Reads them all. What is wrong with one of them is wrong with the request.
pub(super) fn operations(body: &[u8]) -> Result<Vec<BatchOperation<'_>>, Error> {
    if body.len() > BATCH_BYTES_MAX {
        return Err(bodies::too_large());
    }
    if hybrid_row::is_stream(body) {
        return rows::operations(body);
    }
    let spans = json::elements(body).map_err(|error| {
        Error::bad_request(format!("The batch is no JSON array of operations: {error}"))
    })?;
    check_count(spans.len())?;
    let numbered = spans.into_iter().enumerate();
    let read = |(index, span): (usize, Range<usize>)| {
        operation(&body[span]).map_err(|reason| refused(index, &reason))
    };
    numbered.map(read).collect()
}

pub(super) fn check_count(operations: usize) -> Result<(), Error> {
    match operations {
        0 => Err(Error::bad_request("Batch request has no operations.")),
        1..=BATCH_OPERATIONS_MAX => Ok(()),
        _ => Err(Error::bad_request(format!(
            "Batch request has more operations than what is supported. It has {operations}, at most \
             {BATCH_OPERATIONS_MAX} are."
        ))),
    }
}

pub(super) fn refused(index: usize, reason: &str) -> Error {
    Error::bad_request(format!("Operation {index} of the batch: {reason}"))
}

/// The members of an operation, as they came.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) kind: Option<String>,
    pub(super) id: Option<String>,
    pub(super) body: Option<Cow<'a, [u8]>>,
    pub(super) key: Option<PartitionKey>,
    pub(super) if_match: Option<String>,
    pub(super) if_none_match: Option<String>,
    pub(super) directive: Option<IndexingDirective>,
    pub(super) is_minimal: bool,
}

fn operation(text: &[u8]) -> Result<BatchOperation<'_>, String> {
    let mut found = Members::default();
    let mut seen = HashSet::new();
    for member in json::members(text).map_err(|error| error.to_string())? {
        let span = &text[member.value];
        let name = &*member.key;
        if name == "resourceBody" && span != b"null" {
            // Parsed when its turn comes, as what it has to be.
            found.body = Some(Cow::Borrowed(span));
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
            return Err(format!("{twice} is there twice."));
        }
    }
    found.into_operation()
}

impl<'a> Members<'a> {
    /// The operation, if it has all that its kind needs.
    pub(super) fn into_operation(self) -> Result<BatchOperation<'a>, String> {
        let Members { kind, id, body, key, if_match, if_none_match, directive, is_minimal } = self;
        let kind = kind.ok_or("operationType is missing.")?;
        let id = || id.filter(|id| !id.is_empty()).ok_or_else(|| format!("{kind} needs an id."));
        let body = || body.ok_or_else(|| format!("{kind} needs a resourceBody."));
        let kind = match kind.to_ascii_lowercase().as_str() {
            "create" => Kind::Create { body: body()? },
            "upsert" => Kind::Upsert { body: body()? },
            "read" => Kind::Read { id: id()? },
            "replace" => Kind::Replace { id: id()?, body: body()? },
            "delete" => Kind::Delete { id: id()? },
            "patch" => Kind::Patch { id: id()?, body: body()? },
            _ => {
                let start: String = kind.chars().take(40).collect();
                return Err(format!("the operationType {start} is not known."));
            }
        };
        Ok(BatchOperation { kind, key, if_match, if_none_match, directive, is_minimal })
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
        _ => Err("the indexingDirective is not known.".to_owned()),
    }
}

/// The key is text: the same that the header of a single operation has. An array is as good, and a
/// value that is no array is the key itself.
fn key(value: &Value) -> Result<Option<PartitionKey>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.trim_start().starts_with('[') => key_of_text(text).map(Some),
        Value::Array(_) => key_of_text(&json::print(value)).map(Some),
        // COMPAT: in a transaction, some versions of JavaScript pass on what their caller wrote.
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

    fn message(body: &str) -> String {
        let error = operations(body.as_bytes()).expect_err(body);
        assert_eq!(error.code, Code::BadRequest);
        error.message
    }

    fn text(text: &str) -> Cow<'_, [u8]> {
        Cow::Borrowed(text.as_bytes())
    }

    #[test]
    fn all_six_kinds() {
        let body = br#" [
            {"operationType":"Create","resourceBody":{ "id":"a", "n":1.0 }},
            {"operationType":"Upsert","resourceBody":{"id":"a"},"ifMatch":"\"e\"","partitionKey":"[\"k\"]"},
            {"operationType":"Read","id":"a","ifNoneMatch":"e","resourceBody":null,"other":[1]},
            {"operationType":"Replace","id":"a","resourceBody":{},"partitionKey":[null]},
            {"operationType":"Delete","id":"a","ifMatch":null,"minimalReturnPreference":true,"indexingDirective":"exclude"},
            {"operationType":"Patch","id":"a","resourceBody":[{"op":"incr"}]}
        ] "#;
        let read = operations(body).expect("operations");
        let kinds: Vec<_> = read.iter().map(|operation| &operation.kind).collect();
        let id = "a".to_owned();
        let expected = [
            Kind::Create { body: text(r#"{ "id":"a", "n":1.0 }"#) },
            Kind::Upsert { body: text(r#"{"id":"a"}"#) },
            Kind::Read { id: id.clone() },
            Kind::Replace { id: id.clone(), body: text("{}") },
            Kind::Delete { id: id.clone() },
            Kind::Patch { id, body: text(r#"[{"op":"incr"}]"#) },
        ];
        assert_eq!(kinds, expected.iter().collect::<Vec<_>>());
        assert_eq!(read[1].key, PartitionKey::parse_header(r#"["k"]"#).ok());
        assert_eq!(read[3].key, PartitionKey::parse_header("[null]").ok());
        assert_eq!(read[1].options(&Options::default()).if_match.as_deref(), Some("\"e\""));
        assert_eq!(read[2].options(&Options::default()).if_none_match.as_deref(), Some("e"));
        let (plain, own) =
            (read[3].options(&Options::default()), read[4].options(&Options::default()));
        assert!(own.if_match.is_none());
        assert_eq!((plain.minimal_response, own.minimal_response), (false, true));
        assert_eq!(plain.indexing_directive, IndexingDirective::Default);
        assert_eq!(own.indexing_directive, IndexingDirective::Exclude);
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
            let read = operations(body.as_bytes()).expect(&body);
            assert_eq!(read[0].key, PartitionKey::parse_header(header).ok(), "{written}");
        }
    }

    /// Of a read, either etag is the one that the caller has.
    #[test]
    fn etags_of_reads() {
        let body = br#"[{"operationType":"Read","id":"a","ifMatch":"e"},
            {"operationType":"Delete","id":"a","ifMatch":"e"}]"#;
        let read = operations(body).expect("operations");
        let known = |at: usize| read[at].options(&Options::default()).if_none_match;
        assert_eq!((known(0).as_deref(), known(1).as_deref()), (Some("e"), None));
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        for (body, part) in [
            ("", "no JSON array"),
            ("{}", "no JSON array"),
            ("[", "no JSON array"),
            ("[] x", "no JSON array"),
            ("[]", "no operations"),
            ("[1]", "Operation 0"),
            ("[{}]", "operationType is missing"),
            (r#"[{"operationType":null}]"#, "operationType is missing"),
            (r#"[{"operationType":7}]"#, "not a string"),
            (r#"[{"operationType":"Query"}]"#, "Query is not known"),
            (r#"[{"operationType":"Create"}]"#, "Create needs a resourceBody"),
            (r#"[{"operationType":"Create","resourceBody":null}]"#, "needs a resourceBody"),
            (r#"[{"operationType":"Delete"}]"#, "Delete needs an id"),
            (r#"[{"operationType":"Delete","id":""}]"#, "Delete needs an id"),
            (r#"[{"operationType":"Read","id":"a","partitionKey":"[k]"}]"#, "partitionKey"),
            (r#"[{"operationType":"Read","id":"a","partitionKey":"[[1]]"}]"#, "partitionKey"),
            (r#"[{"operationType":"Read","id":"a","partitionKey":{"a":1}}]"#, "partitionKey"),
            (r#"[{"operationType":"Read","id":"a","minimalReturnPreference":1}]"#, "not a boolean"),
            (r#"[{"operationType":"Read","id":"a","indexingDirective":"x"}]"#, "indexingDirective"),
            (r#"[{"operationType":"Read","id":"a","id":"b"}]"#, "id is there twice"),
            (r#"[{"operationType":"Read","id":"a","x":[}]"#, "batch"),
            (r#"[{"operationType":"Read","id":"a","x":tru}]"#, "x: "),
        ] {
            let message = message(body);
            assert!(message.contains(part), "{body}: {message}");
        }
        let many =
            |count| format!("[{}]", vec![r#"{"operationType":"Read","id":"a"}"#; count].join(","));
        assert_eq!(operations(many(100).as_bytes()).map(|read| read.len()).ok(), Some(100));
        assert!(message(&many(101)).contains("more operations"));
        let long = format!("[{}]", " ".repeat(BATCH_BYTES_MAX));
        assert_eq!(operations(long.as_bytes()).expect_err("long").code, Code::TooLarge);
    }
}
