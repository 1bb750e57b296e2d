//! The value type: JSON plus `Undefined`, which is the value of an absent property. `Undefined` can
//! be stored, compared and encoded, but is never printed as such.

use std::cmp::Ordering;

use crate::path::Path;
use crate::{Number, Object, order};

/// The value of every absent property; static so that lookups can return references.
static UNDEFINED: Value = Value::Undefined;

/// A JSON value, or `Undefined`.
///
/// Equality is [`order::compare`]: numbers compare as doubles (`1` equals `1.0`, `-0` equals `0`)
/// and objects regardless of the order of their members.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// The value of an absent property.
    #[default]
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, with its members in their original order.
    Object(Object),
}

impl Value {
    /// The value at `path`, or `Undefined`. Paths only lead through objects: a segment never
    /// indexes an array.
    pub fn at(&self, path: &Path) -> &Value {
        let mut value = self;
        for segment in path.segments() {
            value = value.get(segment);
        }
        value
    }

    /// The member called `key`; `Undefined` if there is none or this is not an object.
    pub fn get(&self, key: &str) -> &Value {
        self.as_object().and_then(|object| object.get(key)).unwrap_or(&UNDEFINED)
    }

    /// Whether this is `Undefined`.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The double, if this is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }

    /// The integer, if this is a whole number that an `i64` can hold.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, mutable, if this is one.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        order::compare(self, other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<f64> for Value {
    fn from(double: f64) -> Self {
        Value::Number(Number::from_f64(double))
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Value::Number(Number::from_i64(integer))
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Value::Bool(bool)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Value::Number(number)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Value::Array(elements)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn paths_lead_through_objects_only() {
        let value = json::parse(br#"{"a":{"b":[1],"c d":"x"}}"#).unwrap();
        let at = |path: &str| value.at(&Path::parse(path).unwrap()).clone();
        assert_eq!(at("/a/'c d'"), "x".into());
        assert!(at("/a/b/0").is_undefined());
        assert!(at("/a/z/y").is_undefined());
    }

    #[test]
    fn accessors_answer_for_their_own_type_only() {
        assert_eq!(Value::from(5).as_f64(), Some(5.0));
        assert_eq!(Value::from("5").as_f64(), None);
        assert_eq!(Value::from("5").as_str(), Some("5"));
        assert_eq!(Value::from(true).as_bool(), Some(true));
        assert!(Value::Null.get("a").is_undefined());
        assert_eq!(Value::from(vec![Value::Null]).as_array().map(<[_]>::len), Some(1));
    }
}
