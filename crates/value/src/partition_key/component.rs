//! One component of a partition key.

use std::hash::{Hash, Hasher};

use crate::key::{self, KeyError};
use crate::{Value, json, number};

/// The tail byte of `-0` in key bytes. Every other number has the tail 0, so `-0` sorts directly
/// after `0`, which has the same double.
const NEGATIVE_ZERO_TAIL: u8 = 1;

/// The value of one partition key path. `-0` and `0` are different components, because they hash
/// differently; otherwise numbers are equal as doubles.
#[derive(Clone, Debug)]
pub enum Component {
    /// The property is absent, or is an array or an object.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number; its spelling does not matter.
    Number(f64),
    /// A string.
    String(String),
}

impl Component {
    /// The component for a property's value.
    pub fn of(value: &Value) -> Component {
        match value {
            // COMPAT: the service treats arrays and objects as the undefined key.
            Value::Undefined | Value::Array(_) | Value::Object(_) => Component::Undefined,
            Value::Null => Component::Null,
            Value::Bool(bool) => Component::Bool(*bool),
            Value::Number(number) => Component::Number(number.as_f64()),
            Value::String(text) => Component::String(text.clone()),
        }
    }

    /// The value with this component.
    pub fn to_value(&self) -> Value {
        match self {
            Component::Undefined => Value::Undefined,
            Component::Null => Value::Null,
            Component::Bool(bool) => Value::Bool(*bool),
            Component::Number(double) => Value::from(*double),
            Component::String(text) => Value::from(text.as_str()),
        }
    }

    /// Appends key bytes: those of [`key::encode`], except that `-0` differs from `0` in the
    /// number's tail byte, and that strings are [names](key::encode_name). Distinct components have
    /// distinct bytes.
    pub fn encode_key(&self, out: &mut Vec<u8>) {
        match self {
            Component::Undefined => out.push(key::UNDEFINED),
            Component::Null => out.push(key::NULL),
            Component::Bool(false) => out.push(key::FALSE),
            Component::Bool(true) => out.push(key::TRUE),
            Component::Number(double) => {
                let is_negative_zero = *double == 0.0 && double.is_sign_negative();
                let tail = if is_negative_zero { NEGATIVE_ZERO_TAIL } else { 0 };
                key::encode_f64(*double, tail, out);
            }
            Component::String(text) => key::encode_name(text, out),
        }
    }

    /// Decodes the component at the start of `bytes`, and returns the rest.
    pub fn decode_key(bytes: &[u8]) -> Result<(Component, &[u8]), KeyError> {
        let (kind, rest) = bytes.split_first().ok_or(KeyError::Truncated)?;
        match *kind {
            key::UNDEFINED => Ok((Component::Undefined, rest)),
            key::NULL => Ok((Component::Null, rest)),
            key::FALSE => Ok((Component::Bool(false), rest)),
            key::TRUE => Ok((Component::Bool(true), rest)),
            key::NUMBER => match key::decode_f64(rest)? {
                (double, 0, rest) => Ok((Component::Number(double), rest)),
                (0.0, NEGATIVE_ZERO_TAIL, rest) => Ok((Component::Number(-0.0), rest)),
                _ => Err(KeyError::InvalidNumber),
            },
            key::STRING => {
                key::decode_name(bytes).map(|(text, rest)| (Component::String(text), rest))
            }
            other => Err(KeyError::UnknownType(other)),
        }
    }

    /// Appends the component in header form, where undefined is `{}`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Component::Undefined => out.extend_from_slice(b"{}"),
            Component::Null => out.extend_from_slice(b"null"),
            Component::Bool(true) => out.extend_from_slice(b"true"),
            Component::Bool(false) => out.extend_from_slice(b"false"),
            Component::Number(double) => number::write_f64(*double, out),
            Component::String(text) => json::quote(text, out),
        }
    }
}

impl PartialEq for Component {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Component::Undefined, Component::Undefined) | (Component::Null, Component::Null) => {
                true
            }
            (Component::Bool(a), Component::Bool(b)) => a == b,
            // By bits: this distinguishes `-0` from `0`, and components are never NaN.
            (Component::Number(a), Component::Number(b)) => a.to_bits() == b.to_bits(),
            (Component::String(a), Component::String(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Component {}

impl Hash for Component {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Component::Undefined | Component::Null => {}
            Component::Bool(bool) => bool.hash(state),
            Component::Number(double) => double.to_bits().hash(state),
            Component::String(text) => text.hash(state),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_component() -> impl Strategy<Value = Component> {
        prop_oneof![
            Just(Component::Undefined),
            Just(Component::Null),
            any::<bool>().prop_map(Component::Bool),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Component::Number),
            prop_oneof![Just(0.0), Just(-0.0)].prop_map(Component::Number),
            any::<i32>().prop_map(|n| Component::Number(n.into())),
            ".*".prop_map(Component::String),
            "[a-z😀]{90,110}".prop_map(Component::String),
        ]
    }

    fn encoded(component: &Component) -> Vec<u8> {
        let mut out = Vec::new();
        component.encode_key(&mut out);
        out
    }

    #[test]
    fn negative_zero_is_a_component_of_its_own() {
        let (negative, zero) = (Component::Number(-0.0), Component::Number(0.0));
        assert_ne!(negative, zero);
        assert_eq!(encoded(&zero), [0x50, 0x80, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(encoded(&negative), [0x50, 0x80, 0, 0, 0, 0, 0, 0, 0, 1]);
        // Only zero has a second form.
        let bytes = [0x50, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(Component::decode_key(&bytes), Err(KeyError::InvalidNumber));
    }

    #[test]
    fn arrays_and_objects_count_as_undefined() {
        assert_eq!(Component::of(&vec![Value::Null].into()), Component::Undefined);
        assert_eq!(Component::of(&crate::Object::new().into()), Component::Undefined);
    }

    proptest! {
        #[test]
        fn key_bytes_read_back(component in any_component(), rest: Vec<u8>) {
            let mut bytes = encoded(&component);
            let is_plain = component != Component::Number(-0.0);
            if is_plain && !matches!(component, Component::String(_)) {
                let mut of_value = Vec::new();
                key::encode(&component.to_value(), &mut of_value);
                prop_assert_eq!(&of_value, &bytes);
            }
            bytes.extend_from_slice(&rest);
            let (decoded, remaining) = Component::decode_key(&bytes).unwrap();
            prop_assert_eq!(decoded, component);
            prop_assert_eq!(remaining, rest);
        }

        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes: Vec<u8>) {
            let _ = Component::decode_key(&bytes);
        }
    }
}
