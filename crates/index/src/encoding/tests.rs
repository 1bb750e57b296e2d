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
    assert_eq!(encoded(&value_of("0")), [0x50, 0x80]);
    assert_eq!(encoded(&value_of("1")), [0x50, 0xbf, 0xf8]);
    assert_eq!(encoded(&value_of("42")), [0x50, 0xc1, 0x23, 0x40]);
    assert_eq!(
        encoded(&value_of("-42")),
        [0x50, 0x3f, 0xdd, 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80]
    );
    let third = [0x50, 0xbf, 0xeb, 0x55, 0xab, 0x55, 0xab, 0x55, 0xab, 0x55, 0x80];
    assert_eq!(encoded(&value_of("0.3333333333333333")), third);
    assert_eq!(encoded(&value_of(r#""a\u0000""#)), [0x60, b'a', 2, 0, 0]);
    assert_eq!(encoded(&value_of(r#""\u0001\u0002\u0003""#)), [0x60, 2, 1, 2, 2, 3, 0]);
    assert_eq!(encoded(&value_of(r#""\uff5e""#)), [0x60, 0xf7, 0xbd, 0x9e, 0]);
    assert_eq!(encoded(&value_of("[1]")), [0x70]);
    assert_eq!(encoded(&value_of(r#"{"a":1}"#)), [0x80]);
    assert_eq!(inverted(&value_of("null")), [0xdf]);

    let whole = "x".repeat(128);
    assert_eq!(encoded(&whole.as_str().into()), [b"\x60", whole.as_bytes(), &[0]].concat());
    for longer in ["x", "y", "\0"] {
        let text = whole.clone() + longer;
        assert_eq!(encoded(&text.as_str().into()), [b"\x60", whole.as_bytes(), &[1]].concat());
        let mut uncut = Vec::new();
        encode_whole(&text.into(), &mut uncut);
        assert!(uncut.len() > 130 && uncut.ends_with(&[0]));
    }
    // An escaped byte is kept whole or not at all.
    let split = "x".repeat(127) + "\u{2}";
    assert_eq!(encoded(&split.into()), [&[0x60], &[b'x'; 127][..], &[1]].concat());
}

#[test]
fn broken_bytes_are_refused() {
    assert_eq!(decode_value(&[]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x71]), Err(KeyError::UnknownType(0x71)));
    assert_eq!(decode_value(&[0x60, b'a']), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x60, b'a', 2]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x60, b'a', 1]), Err(KeyError::InvalidString), "nothing was cut");
    assert_eq!(decode_value(&[0x60, b'a', 2, 3, 0]), Err(KeyError::InvalidString));
    let long = [&[0x60], &[b'x'; 300][..], &[0]].concat();
    assert_eq!(decode_value(&long), Err(KeyError::InvalidString), "should have been cut");
    assert_eq!(decode_value(&[0x50]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x50, 0xc1, 0x01]), Err(KeyError::Truncated));
    assert_eq!(decode_value(&[0x50, 0xc1, 0x00]), Err(KeyError::InvalidNumber), "not the shortest");
    let spare = [0x50, 0xbf, 0xf5, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0x82];
    assert_eq!(decode_value(&spare), Err(KeyError::InvalidNumber), "a tail of a newer build");
    let eleven = [&[0x50], &[0xab; 10][..], &[0x80]].concat();
    assert_eq!(decode_value(&eleven), Err(KeyError::InvalidNumber));
}

#[test]
fn containers_are_found_behind_other_values() {
    let values = [value_of("0.1"), value_of(r#""a\u0000\u0001""#), "y".repeat(500).into()];
    for last in ["[]", "{}", "null"] {
        for descends in [[false; 4], [true; 4], [false, true, false, true]] {
            let mut bytes = Vec::new();
            for (value, descends) in values.iter().chain([&value_of(last)]).zip(descends) {
                let start = bytes.len();
                encode_whole(value, &mut bytes);
                if descends {
                    bytes[start..].iter_mut().for_each(|byte| *byte = invert(*byte));
                }
            }
            assert_eq!(has_container(&bytes, &descends), last != "null");
            assert!(!has_container(&bytes, &descends[..3]));
        }
    }
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
