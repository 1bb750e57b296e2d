//! Numbers that identify a value: the number of an item in its container, and a hash.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use value::{Value, hash, key};

use super::{Function, integer};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("DOCUMENTID", 1..=1, |args, _| {
        let rid = args.first().and_then(|item| item.get("_rid").as_str());
        rid.and_then(document_number).map(Value::from).unwrap_or_default()
    }),
    // COMPAT: the service does not say which hash this is. Here: MurmurHash3 with 32 bits over the
    // key bytes, so that equal values have equal hashes.
    Function::new("HASH", 1..=2, |args, _| hash(args).unwrap_or_default()),
];

/// Characters of a document's rid: 16 bytes in base64.
const RID_CHARS: usize = 24;

/// The number in the rid of a document: its last eight bytes, the lowest first. The text of a rid
/// is base64 with `-` for `/`.
fn document_number(rid: &str) -> Option<i64> {
    if rid.len() != RID_CHARS {
        return None;
    }
    let bytes = STANDARD.decode(rid.replace('-', "/")).ok()?;
    let number: [u8; 8] = bytes.get(8..)?.try_into().ok()?;
    Some(i64::from_le_bytes(number))
}

/// A hash from 0 to 2^32 - 1, or to below a modulus.
fn hash(args: &[Value]) -> Option<Value> {
    let value = args.first().filter(|value| !value.is_undefined())?;
    let mut bytes = Vec::new();
    key::encode(value, &mut bytes);
    let hash = i64::from(hash::murmur3_32(&bytes, 0));
    if args.len() < 2 {
        return Some(Value::from(hash));
    }
    let modulus = integer(args, 1).filter(|modulus| *modulus > 0)?;
    Some(Value::from(hash % modulus))
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn items_have_numbers() {
        // Eight bytes of the collection, then 1 and 258, the lowest byte first.
        check(&[
            ("DOCUMENTID", r#"[{"_rid":"AAAAAQAAAAIBAAAAAAAAAA=="}]"#, "1"),
            ("DOCUMENTID", r#"[{"_rid":"AAAAAQAAAAICAQAAAAAAAA=="}]"#, "258"),
            ("DOCUMENTID", r#"[{"_rid":"-----w----8CAQAAAAAAAA=="}]"#, "258"),
            ("DOCUMENTID", r#"[{"_rid":"AAAAAQAAAAI="}]"#, ""),
            ("DOCUMENTID", r#"[{"_rid":"!AAAAQAAAAIBAAAAAAAAAA=="}]"#, ""),
            ("DOCUMENTID", r#"[{"_rid":1}]"#, ""),
            ("DOCUMENTID", "[{}]", ""),
            ("DOCUMENTID", r#"["AAAAAQAAAAIBAAAAAAAAAA=="]"#, ""),
            ("DOCUMENTID", r#"["~"]"#, ""),
        ]);
    }
}
