//! Tests of the bytes of values.

use std::cmp::Ordering;

use proptest::prelude::*;
use value::order::compare;

use super::*;
use crate::testing::{any_value, value_of};

fn encoded(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode_value(value, &mut out);
    out
}

fn inverted(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode_descending(value, &mut out);
    out
}

#[test]
fn the_bytes_are_a_stored_format() {
    assert_eq!(encoded(&Value::Undefined), [0x10]);
    assert_eq!(encoded(&Value::Null), [0x20]);
    assert_eq!(encoded(&value_of("1")), [0x50, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(encoded(&value_of(r#""a\u0000""#)), [0x60, b'a', 0, 255, 0, 0]);
    assert_eq!(encoded(&value_of("[1]")), [0x70, 0]);
    assert_eq!(encoded(&value_of(r#"{"a":1}"#)), [0x80, 0]);
    assert_eq!(inverted(&value_of("null")), [0xdf]);

    let whole = "x".repeat(256);
    assert_eq!(encoded(&whole.as_str().into()), [b"\x60", whole.as_bytes(), &[0, 0]].concat());
    for longer in ["x", "y", "\0"] {
        let text = whole.clone() + longer;
        assert_eq!(encoded(&text.into()), [b"\x60", whole.as_bytes(), &[0, 1]].concat());
    }
    // A zero byte is kept whole or not at all.
    let split = "x".repeat(255) + "\0";
    assert_eq!(encoded(&split.into()), [&[0x60], &[b'x'; 255][..], &[0, 1]].concat());
}

#[test]
fn broken_bytes_are_refused() {
    assert_eq!(decode_value(&[]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x70]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x70, 0x20, 0]), Err(KeyError::UnknownType(0x70)));
    assert_eq!(decode_value(&[0x60, b'a', 0]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x60, b'a', 0, 1]), Err(KeyError::InvalidString), "nothing was cut");
    assert_eq!(decode_value(&[0x60, b'a', 0, 2]), Err(KeyError::InvalidString));
    let long = [&[0x60], &[b'x'; 300][..], &[0, 0]].concat();
    assert_eq!(decode_value(&long), Err(KeyError::InvalidString), "should have been cut");
}

proptest! {
    #[test]
    fn bytes_never_contradict_the_order(a in any_value(), b in any_value()) {
        let (a_bytes, b_bytes) = (encoded(&a), encoded(&b));
        match compare(&a, &b) {
            Ordering::Less => prop_assert!(a_bytes <= b_bytes),
            Ordering::Equal => prop_assert_eq!(&a_bytes, &b_bytes),
            Ordering::Greater => prop_assert!(a_bytes >= b_bytes),
        }
        prop_assert_eq!(inverted(&a).cmp(&inverted(&b)), b_bytes.cmp(&a_bytes));
        prop_assert!(a_bytes == b_bytes || !a_bytes.starts_with(&b_bytes));
    }

    #[test]
    fn decoding_says_what_the_term_knows(value in any_value(), rest: Vec<u8>) {
        let bytes = [encoded(&value), rest.clone()].concat();
        let (decoded, remaining) = decode_value(&bytes).unwrap();
        prop_assert_eq!(remaining, &rest);
        let bytes = [inverted(&value), rest.clone()].concat();
        let (descending, remaining) = decode_descending(&bytes).unwrap();
        prop_assert_eq!(remaining, &rest);
        prop_assert_eq!(&descending, &decoded);
        match (decoded, value) {
            (Decoded::Array, Value::Array(_)) | (Decoded::Object, Value::Object(_)) => {}
            (Decoded::CutString(prefix), Value::String(text)) => {
                prop_assert!(text.len() > prefix.len() && text.as_bytes().starts_with(&prefix));
            }
            (Decoded::Value(decoded), value) => prop_assert_eq!(decoded, value),
            (decoded, value) => prop_assert!(false, "{:?} for {:?}", decoded, value),
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(kind in 0x00_u8..0x90, bytes: Vec<u8>) {
        let bytes = [vec![kind], bytes].concat();
        if let Ok((Decoded::Value(value), rest)) = decode_value(&bytes) {
            prop_assert_eq!(encoded(&value), &bytes[..bytes.len() - rest.len()]);
        }
        let _ = decode_descending(&bytes);
    }
}
