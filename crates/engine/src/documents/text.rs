//! A document's text: what the user sent, with the system properties appended.
//!
//! The user's bytes are kept as they came: key order, number text, escapes and spacing. Only
//! members that carry the name of a system property are left out.

use bytes::Bytes;
use protocol::{Error, etag::Etag, rid::ChildRid};
use value::{
    Value,
    json::{self, Member},
};

use crate::rows::Header;

/// What the server, not the client, decides.
pub(crate) const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_ts", "_attachments"];

/// Bytes that the system properties take in every stored document; a test holds it to the truth.
pub(crate) const SYSTEM_BYTES: usize = 206;

/// The values of the system properties.
pub(crate) struct System {
    pub(crate) rid: ChildRid,
    pub(crate) etag: Etag,
    pub(crate) ts: u64,
}

impl System {
    /// Makes a document the one that is stored: what the client sent under these names is gone.
    pub(crate) fn insert_into(&self, document: &mut Value) {
        let Some(object) = document.as_object_mut() else { return };
        let rid = self.rid;
        object.insert("_rid", rid.to_string());
        object.insert("_self", self_link(rid));
        object.insert("_etag", format!("\"{}\"", self.etag));
        object.insert("_attachments", "attachments/");
        object.insert("_ts", i64::try_from(self.ts).unwrap_or(i64::MAX));
    }
}

fn self_link(rid: ChildRid) -> String {
    let collection = rid.collection;
    format!("dbs/{}/colls/{collection}/docs/{rid}/", collection.database)
}

/// The `D` row of a document: header, then the text that reads return.
pub(crate) fn compose(
    header: &Header,
    body: &[u8],
    members: &[Member<'_>],
    system: &System,
) -> Vec<u8> {
    let mut row = Vec::with_capacity(Header::LENGTH + body.len() + SYSTEM_BYTES);
    header.encode(&mut row);
    row.push(b'{');
    append_user_members(body, members, &mut row);
    append_system(system, &mut row);
    row
}

/// The members of a stored document that are the user's: the system properties follow them.
pub(crate) fn user_members<'a, 'b>(members: &'a [Member<'b>]) -> &'a [Member<'b>] {
    let is_ours = |member: &Member<'_>| SYSTEM_PROPERTIES.contains(&&*member.key);
    &members[..members.iter().position(is_ours).unwrap_or(members.len())]
}

/// The user's members, byte for byte. A body always has one, its id.
fn append_user_members(body: &[u8], members: &[Member<'_>], out: &mut Vec<u8>) {
    let is_ours = |member: &&Member<'_>| SYSTEM_PROPERTIES.contains(&&*member.key);
    let brace = body.iter().position(|byte| *byte == b'{');
    if let (Some(brace), Some(last), None) = (brace, members.last(), members.iter().find(is_ours)) {
        out.extend_from_slice(&body[brace + 1..last.span.end]);
        return;
    }
    let kept = members.iter().filter(|member| !is_ours(member));
    for (index, member) in kept.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&body[member.span.clone()]);
    }
}

fn append_system(system: &System, out: &mut Vec<u8>) {
    let System { rid, etag, ts } = system;
    let text = format!(
        ",\"_rid\":\"{rid}\",\"_self\":\"{link}\",\
         \"_etag\":\"\\\"{etag}\\\"\",\"_attachments\":\"attachments/\",\"_ts\":{ts}}}",
        link = self_link(*rid),
    );
    out.extend_from_slice(text.as_bytes());
}

/// The size of a stored document that charges go by: what the user sent.
pub(crate) fn user_bytes(document: &Bytes) -> usize {
    document.len().saturating_sub(SYSTEM_BYTES - 1)
}

/// Characters of a wrong value that a refusal repeats.
const SHOWN_MAX: usize = 100;

/// The document's own time to live; zero when it has none or the collection has none.
pub(crate) fn own_ttl(document: &Value, default_ttl: Option<i32>) -> Result<i32, Error> {
    let ttl = document.get("ttl");
    if default_ttl.is_none() || ttl.is_undefined() {
        return Ok(0);
    }
    ttl.as_i64()
        .and_then(|ttl| i32::try_from(ttl).ok())
        .filter(|ttl| *ttl == -1 || *ttl > 0)
        .ok_or_else(|| {
            let shown: String = json::print(ttl).chars().take(SHOWN_MAX).collect();
            Error::bad_request(format!(
                "The input ttl '{shown}' is invalid. Ensure to provide a nonzero positive integer \
                 less than or equal to '2147483647', or '-1' which means never expire."
            ))
        })
}

/// The same, of a document that was stored before anybody checked it: what is wrong does not count.
pub(crate) fn lenient_ttl(document: &Value) -> i32 {
    own_ttl(document, Some(-1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use protocol::rid::{CollectionRid, DatabaseRid};
    use value::json;

    use super::*;

    fn stored(body: &str) -> String {
        let rid = CollectionRid { database: DatabaseRid(7), number: 1 }.document(9);
        let system = System { rid, etag: Etag(5), ts: 1_700_000_000 };
        let header = Header { lsn: 0, ts: 0, ttl: 0, index_generation: 0, directive: 0 };
        let (_, members) = json::parse_document(body.as_bytes()).expect("a document");
        let row = compose(&header, body.as_bytes(), &members, &system);
        String::from_utf8(row[Header::LENGTH..].to_vec()).expect("text")
    }

    #[test]
    fn user_bytes_are_kept_and_system_properties_follow() {
        let text = stored(r#" { "id":"a" , "x":1.0,"y":-0.0,"z":1E5,"u":"é\u00e9" } "#);
        assert!(
            text.starts_with(r#"{ "id":"a" , "x":1.0,"y":-0.0,"z":1E5,"u":"é\u00e9","_rid":""#),
            "{text}"
        );
        let value = json::parse(text.as_bytes()).expect("still JSON");
        assert_eq!(value.get("_ts").as_i64(), Some(1_700_000_000));
        assert_eq!(value.get("_attachments").as_str(), Some("attachments/"));
    }

    #[test]
    fn client_values_of_system_properties_are_left_out() {
        let text = stored(r#"{"_ts":1,"id":"a","_etag":"x","n":2,"_\u0072id":"y","_lsn":4}"#);
        assert!(text.starts_with(r#"{"id":"a","n":2,"_lsn":4,"_rid":""#), "{text}");
        assert_eq!(text.matches("\"_ts\":").count(), 1);
    }

    #[test]
    fn a_stored_document_can_be_given_another_number() {
        let text = stored(r#"{ "id":"a" ,"x":1.0, "y":{"_rid":1} }"#);
        let (_, members) = json::parse_document(text.as_bytes()).expect("a document");
        let rid = CollectionRid { database: DatabaseRid(7), number: 1 }.document(10);
        let system = System { rid, etag: Etag(5), ts: 1_700_000_000 };
        let header = Header { lsn: 0, ts: 0, ttl: 0, index_generation: 0, directive: 0 };
        let row = compose(&header, text.as_bytes(), user_members(&members), &system);
        let old = CollectionRid { database: DatabaseRid(7), number: 1 }.document(9);
        let expected = text.replace(&old.to_string(), &rid.to_string());
        assert_eq!(String::from_utf8_lossy(&row[Header::LENGTH..]), expected);
    }

    #[test]
    fn system_bytes_is_what_they_take() {
        let body = r#"{"id":"a"}"#;
        let text = stored(body);
        assert_eq!(text.len() - body.len(), SYSTEM_BYTES - 1);
        assert_eq!(user_bytes(&Bytes::from(text)), body.len());
    }

    #[test]
    fn ttl_is_minus_one_or_positive() {
        let ttl =
            |text: &str, default| own_ttl(&json::parse(text.as_bytes()).expect("json"), default);
        assert_eq!(ttl(r#"{"ttl":5}"#, Some(-1)).ok(), Some(5));
        assert_eq!(ttl(r#"{"ttl":-1}"#, Some(9)).ok(), Some(-1));
        assert_eq!(
            ttl(r#"{"ttl":"x"}"#, None).ok(),
            Some(0),
            "ignored when the collection has none"
        );
        for bad in ["0", "-2", "null", "\"5\"", "1.5", "2147483648"] {
            assert!(ttl(&format!("{{\"ttl\":{bad}}}"), Some(-1)).is_err(), "{bad}");
        }
    }
}
