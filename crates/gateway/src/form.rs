//! The form in which a client wants documents: text or binary JSON, and with which system
//! properties.

use bytes::Bytes;
use protocol::{Body, Error, Operation, Response, query::QueryFeed};
use value::{
    binary::from_text,
    json::{Member, members},
};

use crate::headers::{Lookup, flag, invalid, text};

/// Properties that `x-ms-exclude-system-properties` leaves out. Clients need the others to find and
/// replace a document.
const EXCLUDED: [&str; 2] = ["_self", "_attachments"];

/// The form of documents in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// Whether the whole body becomes binary JSON.
    pub(crate) is_binary: bool,
    excludes_system: bool,
}

/// The serialization formats that clients name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Binary,
    HybridRow,
}

impl Format {
    fn parse(word: &str) -> Option<Self> {
        let named = [
            ("JsonText", Self::Text),
            ("CosmosBinary", Self::Binary),
            ("HybridRow", Self::HybridRow),
        ];
        named
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(word))
            .map(|(_, format)| format)
    }
}

impl Form {
    /// Reads the form from the headers. Only answers with documents have one.
    pub(crate) fn read(headers: &impl Lookup, operation: &Operation) -> Result<Self, Error> {
        let wanted = wanted(headers)?;
        let excludes_system = flag(headers, "x-ms-exclude-system-properties")?;
        let is_binary = match Documents::of(operation) {
            None => return Ok(Self::default()),
            // COMPAT: the service sends feeds as text even to clients that list the formats they
            // accept.
            Some(Documents::Feed) => wanted == Some(Format::Binary),
            Some(_) => wanted.map_or_else(|| takes_only_binary(headers), |it| it == Format::Binary),
        };
        // The query itself defines its rows.
        let is_rows = Documents::of(operation) == Some(Documents::Rows);
        Ok(Self { is_binary, excludes_system: excludes_system && !is_rows })
    }

    /// Removes the properties that the client does not want.
    pub(crate) fn trim(self, mut response: Response) -> Response {
        if self.excludes_system {
            match &mut response.body {
                Body::Resource(document) => trim(document),
                Body::Feed { items, .. } => items.iter_mut().for_each(trim),
                _ => {}
            }
        }
        response
    }

    /// Converts a body to the format that the client wants.
    pub(crate) fn encode(self, body: Bytes) -> Bytes {
        if !self.is_binary || body.is_empty() {
            return body;
        }
        // A page that is nested too deeply for binary JSON stays text; clients tell the two apart
        // by the first byte.
        from_text(&body).map_or(body, Bytes::from)
    }
}

/// The kind of documents in the answer to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Documents {
    One,
    Feed,
    Rows,
}

impl Documents {
    fn of(operation: &Operation) -> Option<Self> {
        match operation {
            Operation::CreateDocument { .. }
            | Operation::ReadDocument(_)
            | Operation::ReplaceDocument { .. }
            | Operation::PatchDocument { .. } => Some(Self::One),
            Operation::ListDocuments(_) | Operation::ReadChanges { .. } => Some(Self::Feed),
            Operation::Query { feed: QueryFeed::Documents(_), .. } => Some(Self::Rows),
            _ => None,
        }
    }
}

/// Reads the format that the client demands, if it demands one.
fn wanted(headers: &impl Lookup) -> Result<Option<Format>, Error> {
    let name = "x-ms-documentdb-content-serialization-format";
    let Some(word) = text(headers, name)? else { return Ok(None) };
    Format::parse(word).map(Some).ok_or_else(|| invalid(name, word))
}

/// Whether a client accepts binary JSON but not text. A list with an unknown format counts for
/// nothing.
fn takes_only_binary(headers: &impl Lookup) -> bool {
    let list = headers.value("x-ms-cosmos-supported-serialization-formats");
    let Some(list) = list.and_then(|list| list.to_str().ok()) else { return false };
    let (mut has_text, mut has_binary) = (false, false);
    for word in list.split(',') {
        match Format::parse(word.trim()) {
            Some(Format::Text) => has_text = true,
            Some(Format::Binary) => has_binary = true,
            Some(Format::HybridRow) => {}
            None => return false,
        }
    }
    has_binary && !has_text
}

/// Removes the excluded properties from a document's text.
fn trim(document: &mut Bytes) {
    let Ok(found) = members(document) else { return };
    let is_kept = |member: &&Member<'_>| !EXCLUDED.contains(&&*member.key);
    let mut text = Vec::with_capacity(document.len());
    text.push(b'{');
    for (at, member) in found.iter().filter(is_kept).enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(&document[member.span.clone()]);
    }
    text.push(b'}');
    *document = Bytes::from(text);
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_who_takes_nothing_else_takes_binary() {
        let name = "x-ms-cosmos-supported-serialization-formats";
        for (list, expected) in [
            ("CosmosBinary", true),
            ("COSMOSbinary", true),
            ("CosmosBinary, HybridRow", true),
            ("JsonText,CosmosBinary", false),
            ("JsonText", false),
            ("HybridRow", false),
            ("CosmosBinary,", false),
            ("Invalid value", false),
            (", ,", false),
        ] {
            assert_eq!(takes_only_binary(&headers(&[(name, list)])), expected, "{list}");
        }
        assert!(!takes_only_binary(&HeaderMap::new()));
    }

    #[test]
    fn one_form_may_be_wanted() {
        let name = "x-ms-documentdb-content-serialization-format";
        let wanted = |word: &str| wanted(&headers(&[(name, word)]));
        assert_eq!(wanted("jsontext").ok(), Some(Some(Format::Text)));
        assert_eq!(wanted("CosmosBinary").ok(), Some(Some(Format::Binary)));
        let message = wanted("Not a valid value").expect_err("unknown").message;
        assert!(message.contains(name), "{message}");
    }

    #[test]
    fn excluded_properties_are_cut_out() {
        let mut document = Bytes::from_static(
            br#"{"_self":"s","id":"a", "x":{"_self":1},"_attachments":"t","_ts":1}"#,
        );
        trim(&mut document);
        assert_eq!(&document[..], br#"{"id":"a","x":{"_self":1},"_ts":1}"#);
    }
}
