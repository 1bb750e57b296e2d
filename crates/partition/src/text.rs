//! A document's text: what the user sent, with the system properties set.
//!
//! Key order, number text and escapes stay as sent; white space outside strings is dropped. A
//! system property that the client sent back keeps its position and gets the server's value; the
//! others are appended.

use std::io::Write as _;

use protocol::{
    Error,
    etag::Etag,
    rid::{ChildRid, CollectionRid},
};
use value::{
    Value,
    json::{self, Member},
};

use crate::rows::Header;

/// Properties that the server sets, in the order in which they are appended.
pub const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The value of `_attachments`.
const ATTACHMENTS: &str = "attachments/";

/// Bytes that the system properties take in every stored document. A test checks it.
pub const SYSTEM_BYTES: usize = 206;

/// The values of the system properties, as text.
pub struct System {
    /// The document's rid.
    rid: String,
    /// The link made of rids.
    link: String,
    /// The etag of the version being written, in quotes.
    etag: String,
    /// When the document is written, in seconds.
    ts: u64,
}

impl System {
    /// The properties of a version with this etag, written in the second `ts`.
    pub fn new(rid: ChildRid, etag: Etag, ts: u64) -> Self {
        let CollectionRid { database, .. } = rid.collection;
        let (collection, rid) = (rid.collection, rid.to_string());
        let link = format!("dbs/{database}/colls/{collection}/docs/{rid}/");
        Self { rid, link, etag: format!("\"{etag}\""), ts }
    }

    /// Turns the document into the stored one, overwriting what the client sent under these names.
    pub fn insert_into(self, document: &mut Value) {
        let Some(object) = document.as_object_mut() else { return };
        object.insert("_rid", self.rid);
        object.insert("_self", self.link);
        object.insert("_etag", self.etag);
        object.insert("_attachments", ATTACHMENTS);
        object.insert("_ts", i64::try_from(self.ts).unwrap_or(i64::MAX));
    }

    /// Appends the system property with this index in [`SYSTEM_PROPERTIES`].
    fn write(&self, at: usize, out: &mut Vec<u8>) {
        let Some(name) = SYSTEM_PROPERTIES.get(at) else { return };
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        // Nothing in these texts needs an escape but the quotes of the etag.
        let text = match at {
            0 => &self.rid,
            1 => &self.link,
            2 => {
                out.extend_from_slice(b"\"\\\"");
                out.extend_from_slice(self.etag.trim_matches('"').as_bytes());
                out.extend_from_slice(b"\\\"\"");
                return;
            }
            3 => ATTACHMENTS,
            _ => {
                write!(out, "{}", self.ts).expect("a vector takes all that is written to it");
                return;
            }
        };
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// A document's text as received, and its parsed members.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The JSON text that the client sent.
    pub text: &'a [u8],
    /// The top-level members, in text order.
    pub members: &'a [Member<'a>],
    /// Whether the text can be copied unchanged.
    pub is_compact: bool,
}

/// Composes a document's `D` row: the header, then the text that reads return.
pub fn compose(header: &Header, source: Source<'_>, system: &System) -> Vec<u8> {
    let Source { text, members, is_compact } = source;
    let mut row = Vec::with_capacity(Header::LENGTH + text.len() + SYSTEM_BYTES);
    header.encode(&mut row);
    row.push(b'{');
    let mut is_placed = [false; SYSTEM_PROPERTIES.len()];
    let brace = text.iter().position(|byte| *byte == b'{');
    let has_system = members.iter().any(|member| place_of(&member.key).is_some());
    match (brace, members.last()) {
        (Some(brace), Some(last)) if is_compact && !has_system => {
            row.extend_from_slice(&text[brace + 1..last.span.end]);
        }
        _ => {
            for member in members {
                separate(&mut row);
                match place_of(&member.key) {
                    Some(at) => {
                        is_placed[at] = true;
                        system.write(at, &mut row);
                    }
                    None if is_compact => row.extend_from_slice(&text[member.span.clone()]),
                    None => json::compact(&text[member.span.clone()], &mut row),
                }
            }
        }
    }
    for at in (0..SYSTEM_PROPERTIES.len()).filter(|at| !is_placed[*at]) {
        separate(&mut row);
        system.write(at, &mut row);
    }
    row.push(b'}');
    row
}

/// The index of the system property with this name.
fn place_of(key: &str) -> Option<usize> {
    if !key.starts_with('_') {
        return None;
    }
    SYSTEM_PROPERTIES.iter().position(|name| *name == key)
}

/// Writes a comma before every member but the first.
fn separate(row: &mut Vec<u8>) {
    if row.last() != Some(&b'{') {
        row.push(b',');
    }
}

/// The size that charges use for a stored document of this length: what the client sent.
pub fn user_bytes(length: usize) -> usize {
    length.saturating_sub(SYSTEM_BYTES - 1)
}

/// How many characters of a wrong value an error message repeats.
const SHOWN_MAX: usize = 100;

/// The document's own time to live; zero when the document or the collection has none. It is
/// checked either way, since the collection may be given one later.
pub fn own_ttl(document: &Value, default_ttl: Option<i32>) -> Result<i32, Error> {
    let ttl = document.get("ttl");
    if ttl.is_undefined() {
        return Ok(0);
    }
    let own = ttl
        .as_i64()
        .and_then(|ttl| i32::try_from(ttl).ok())
        .filter(|ttl| *ttl == -1 || *ttl > 0)
        .ok_or_else(|| {
            let shown: String = json::print(ttl).chars().take(SHOWN_MAX).collect();
            Error::bad_request(format!(
                "The input ttl '{shown}' is invalid. Ensure to provide a nonzero positive integer \
                 less than or equal to '2147483647', or '-1' which means never expire."
            ))
        })?;
    Ok(if default_ttl.is_some() { own } else { 0 })
}

/// The own time to live of a document stored before values were checked: a wrong one counts as
/// none.
pub fn lenient_ttl(document: &Value) -> i32 {
    own_ttl(document, Some(-1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use protocol::rid::{CollectionRid, DatabaseRid};
    use value::json;

    use super::*;

    fn stored(body: &str) -> String {
        let rid = CollectionRid { database: DatabaseRid(7), number: 1 }.document(9);
        let system = System::new(rid, Etag(5), 1_700_000_000);
        let directive = index::Directive::Default;
        let header = Header { lsn: 0, ts: 0, ttl: 0, index_generation: 0, directive };
        let json::Document { members, is_compact, .. } =
            json::parse_document(body.as_bytes()).expect("a document");
        let source = Source { text: body.as_bytes(), members: &members, is_compact };
        let row = compose(&header, source, &system);
        String::from_utf8(row[Header::LENGTH..].to_vec()).expect("text")
    }

    #[test]
    fn number_text_and_escapes_are_kept_and_system_properties_follow() {
        let text = stored(r#"{"id":"a","x":1.0,"y":-0.0,"z":1E5,"u":"é\u00e9"}"#);
        let start = r#"{"id":"a","x":1.0,"y":-0.0,"z":1E5,"u":"é\u00e9","_rid":""#;
        assert!(text.starts_with(start), "{text}");
        let value = json::parse(text.as_bytes()).expect("still JSON");
        assert_eq!(value.get("_ts").as_i64(), Some(1_700_000_000));
        assert_eq!(value.get("_attachments").as_str(), Some("attachments/"));
        let order: Vec<&str> =
            value.as_object().expect("an object").iter().map(|(key, _)| key).collect();
        assert_eq!(order[order.len() - 5..], SYSTEM_PROPERTIES);
    }

    #[test]
    fn white_space_and_raw_control_characters_are_not_stored() {
        let compact = stored(r#"{"id":"a b","x":[1.0,{"y ":null}],"t":"\t\u0001"}"#);
        let spaced =
            "\n{ \"id\" : \"a b\" ,\r\n\t\"x\": [ 1.0, { \"y \" :null } ] , \"t\":\"\t\u{1}\" } ";
        assert_eq!(stored(spaced), compact);
    }

    #[test]
    fn system_properties_keep_the_places_that_they_had() {
        let text = stored(r#"{"_ts":1,"id":"a", "_etag":[{}],"n":2,"_\u0072id":"y","_lsn":4}"#);
        let value = json::parse(text.as_bytes()).expect("JSON");
        let order: Vec<&str> =
            value.as_object().expect("an object").iter().map(|(key, _)| key).collect();
        let expected = ["_ts", "id", "_etag", "n", "_rid", "_lsn", "_self", "_attachments"];
        assert_eq!(order, expected);
        assert_eq!(value.get("_ts").as_i64(), Some(1_700_000_000));
        assert!(text.starts_with(r#"{"_ts":1700000000,"id":"a","_etag":"\""#), "{text}");
        assert_eq!(text.len() + 1, r#"{"id":"a","n":2,"_lsn":4}"#.len() + SYSTEM_BYTES);
        // A second run changes nothing.
        assert_eq!(stored(&text), text);
    }

    #[test]
    fn a_stored_document_can_be_given_another_number() {
        let text = stored(r#"{"id":"a","_rid":0,"x":1.0,"y":{"_rid":1}}"#);
        let json::Document { members, is_compact, .. } =
            json::parse_document(text.as_bytes()).expect("a document");
        let rid = CollectionRid { database: DatabaseRid(7), number: 1 }.document(10);
        let system = System::new(rid, Etag(5), 1_700_000_000);
        let directive = index::Directive::Default;
        let header = Header { lsn: 0, ts: 0, ttl: 0, index_generation: 0, directive };
        let source = Source { text: text.as_bytes(), members: &members, is_compact };
        let row = compose(&header, source, &system);
        let old = CollectionRid { database: DatabaseRid(7), number: 1 }.document(9);
        let expected = text.replace(&old.to_string(), &rid.to_string());
        assert_eq!(String::from_utf8_lossy(&row[Header::LENGTH..]), expected);
    }

    #[test]
    fn system_bytes_is_what_they_take() {
        let body = r#"{"id":"a"}"#;
        let text = stored(body);
        assert_eq!(text.len() - body.len(), SYSTEM_BYTES - 1);
        assert_eq!(user_bytes(text.len()), body.len());
    }

    #[test]
    fn ttl_is_minus_one_or_positive() {
        let ttl =
            |text: &str, default| own_ttl(&json::parse(text.as_bytes()).expect("json"), default);
        assert_eq!(ttl(r#"{"ttl":5}"#, Some(-1)).ok(), Some(5));
        assert_eq!(ttl(r#"{"ttl":-1}"#, Some(9)).ok(), Some(-1));
        assert_eq!(ttl(r#"{"ttl":5}"#, None).ok(), Some(0), "the collection has none");
        for bad in ["0", "-2", "null", "\"5\"", "1.5", "2147483648"] {
            let stored = json::parse(format!("{{\"ttl\":{bad}}}").as_bytes()).expect("json");
            assert_eq!(lenient_ttl(&stored), 0, "stored before it was checked");
            for default in [Some(-1), None] {
                assert!(ttl(&format!("{{\"ttl\":{bad}}}"), default).is_err(), "{bad}");
            }
        }
    }
}
