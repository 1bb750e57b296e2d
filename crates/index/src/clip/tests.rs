//! Tests of ranges.

use proptest::prelude::*;
use value::Value;
use value::key;

use super::*;
use crate::encoding::{encode_descending, encode_value};
use crate::testing::any_value;

fn full(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    key::encode(value, &mut out);
    out
}

fn term(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode_value(value, &mut out);
    out
}

/// Bounds in all forms that filters produce: a value, just after it, after everything that begins
/// with it, or a prefix of any of these.
fn bound() -> impl Strategy<Value = Vec<u8>> {
    (any_value(), 0..5, any::<prop::sample::Index>()).prop_map(|(value, form, index)| {
        let bytes = full(&value);
        match form {
            0 => bytes,
            1 => [bytes, vec![0]].concat(),
            2 => successor(&bytes),
            3 => bytes[..=index.index(bytes.len())].to_vec(),
            _ => successor(&bytes[..=index.index(bytes.len())]),
        }
    })
}

/// A value and two bounds that are likely to lie close to it.
fn case() -> impl Strategy<Value = (Value, Vec<u8>, Vec<u8>)> {
    let near = any_value().prop_flat_map(|value| {
        let own = full(&value);
        let cut = own.len().min(131);
        let bounds = prop_oneof![
            Just(own.clone()),
            Just(successor(&own)),
            Just([own.clone(), vec![0]].concat()),
            (1..=cut).prop_map({
                let own = own.clone();
                move |length| own[..length].to_vec()
            }),
            (1..=cut).prop_map(move |length| successor(&own[..length])),
            bound(),
        ];
        (Just(value), bounds.clone(), bounds)
    });
    prop_oneof![near, (any_value(), bound(), bound())]
}

#[test]
fn long_strings_widen_the_range() {
    let text = "x".repeat(300);
    let (low, high, is_exact) = clip(&full(&text.as_str().into()), &[0x61]);
    assert_eq!((low, high, is_exact), (term(&text.as_str().into()), vec![0x61], false));
    let (_, high, is_exact) = clip(&[0x60], &full(&text.as_str().into()));
    assert!(high > term(&text.into()) && !is_exact);
    let whole = Value::from("x".repeat(128));
    let (low, high, is_exact) = clip(&full(&whole), &successor(&full(&whole)));
    let longer = term(&Value::from("x".repeat(129)));
    assert!(is_exact && low == term(&whole) && high <= longer);
}

#[test]
fn types_are_whole() {
    assert_eq!(clip(&[0x20], &[0xff]), (vec![0x20], vec![0xff], true));
    assert_eq!(clip(&[0x70], &[0x80]), (vec![0x70], vec![0x80], true));
    assert_eq!(clip(&[0x70, 0x20], &[0x80, 0x60]), (vec![0x70], vec![0x81], false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_value_is_lost_and_exact_means_exact((value, low, high) in case()) {
        let is_inside = (&low..&high).contains(&&full(&value));
        let (low, high, is_exact) = clip(&low, &high);
        let is_found = (&low..&high).contains(&&term(&value));
        prop_assert!(is_found || !is_inside);
        prop_assert!(!is_exact || is_found == is_inside);
    }

    #[test]
    fn what_descends_is_found_in_the_same_ranges(
        (value, low, high) in case(),
        rest: Vec<u8>,
    ) {
        let (low, high, _) = clip(&low, &high);
        let is_found = (&low..&high).contains(&&term(&value));
        let (low, high) = descending(&low, &high);
        let mut key = Vec::new();
        encode_descending(&value, &mut key);
        key.extend_from_slice(&rest);
        prop_assert_eq!((&low..&high).contains(&&key), is_found);
    }

    #[test]
    fn what_ascends_is_found_whatever_follows((value, low, high) in case(), rest: Vec<u8>) {
        let (low, high, _) = clip(&low, &high);
        let is_found = (&low..&high).contains(&&term(&value));
        let key = [term(&value), rest].concat();
        prop_assert_eq!((&low..&high).contains(&&key), is_found);
    }
}
