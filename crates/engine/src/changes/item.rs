//! What a reader gets of a change, as text.

use bytes::Bytes;
use protocol::Error;
use value::json;

use crate::{errors, rows::Damaged};

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
        let (_, members) = json::parse_document(document).map_err(|_| damaged())?;
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
