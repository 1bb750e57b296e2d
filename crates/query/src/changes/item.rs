//! What a reader gets of a change, as text.

use bytes::Bytes;
use catalog::{number, to_bytes};
use partition::{
    errors,
    rows::{ChangeKind, Damaged, HistoryRow},
};
use protocol::Error;
use value::{
    Object, Value,
    json::{self, Wanted},
};

use crate::{execution::job, served::Served};

/// The property that tells the transaction.
const LSN: &str = "_lsn";

/// A document in its latest version, with the number of the transaction that wrote it. A property
/// of the user's with that name gives way: readers go by it.
pub(super) fn latest(document: &Bytes, lsn: u64) -> Result<Bytes, Error> {
    let damaged = || errors::from_damaged(Damaged("D"));
    let body = document.strip_suffix(b"}").ok_or_else(damaged)?;
    let mut out = Vec::with_capacity(document.len() + 24);
    // The name may stand anywhere; only then is it worth a closer look.
    if body.windows(LSN.len()).any(|part| part == LSN.as_bytes()) {
        let members = json::members(document).map_err(|_| damaged())?;
        out.push(b'{');
        for member in members.iter().filter(|member| &*member.key != LSN) {
            out.extend_from_slice(&document[member.span.clone()]);
            out.push(b',');
        }
        out.pop();
    } else {
        out.extend_from_slice(body);
    }
    out.extend_from_slice(format!(",\"{LSN}\":{lsn}}}").as_bytes());
    Ok(out.into())
}

/// A change with the version behind it or, of a deletion, the one before it. What was deleted is named
/// in the metadata, since there is no current version to name it.
pub(super) fn change(collection: &Served, change: &HistoryRow, lsn: u64) -> Result<Bytes, Error> {
    let mut metadata = Object::new();
    let name = match change.kind {
        ChangeKind::Create => "create",
        ChangeKind::Replace => "replace",
        ChangeKind::Delete => "delete",
    };
    metadata.insert("operationType", name);
    metadata.insert("lsn", number(lsn));
    metadata.insert("crts", number(change.time));
    if change.previous_lsn > 0 {
        metadata.insert("previousImageLSN", number(change.previous_lsn));
    }
    if change.kind == ChangeKind::Delete {
        metadata.insert("timeToLiveExpired", change.is_expired);
        let document = job::parse(&change.previous, &Wanted::All)?;
        metadata.insert("id", document.get("id").clone());
        let mut key = Object::new();
        for path in &collection.definition.partition_key.paths {
            let value = document.at(path);
            if !value.is_undefined() {
                key.insert(path.to_string().trim_start_matches('/'), value.clone());
            }
        }
        metadata.insert("partitionKey", Value::Object(key));
    }
    let current: &[u8] = if change.current.is_empty() { b"{}" } else { &change.current };
    let mut out = Vec::with_capacity(current.len() + change.previous.len() + 256);
    out.extend_from_slice(b"{\"current\":");
    out.extend_from_slice(current);
    // COMPAT: the service gives of a replaced version its LSN only.
    if change.kind == ChangeKind::Delete {
        out.extend_from_slice(b",\"previous\":");
        out.extend_from_slice(&change.previous);
    }
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(&to_bytes(metadata));
    out.push(b'}');
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lsn_is_the_last_property() {
        let of = |text: &'static str| {
            let item = latest(&Bytes::from_static(text.as_bytes()), 7).expect("an item");
            String::from_utf8(item.to_vec()).expect("text")
        };
        assert_eq!(of(r#"{"id":"a","x":{} }"#), r#"{"id":"a","x":{} ,"_lsn":7}"#);
        assert_eq!(
            of(r#"{"_lsn":1,"id":"_lsn","x":{"_lsn":3}}"#),
            r#"{"id":"_lsn","x":{"_lsn":3},"_lsn":7}"#
        );
    }
}
