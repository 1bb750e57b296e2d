//! Partition keys: their header form, their position in the hash space (the *effective partition
//! key*), and the slot in which the store keeps them.
//!
//! Clients compute the same hashes to route their requests, so they determine every byte here.

mod component;
mod epk;
mod hashing;
mod slot;
#[cfg(test)]
mod vectors;

use std::fmt;

use crate::{Value, json};
pub use component::Component;
pub use epk::{EPK_BYTES_MAX, Epk, EpkError};
pub use hashing::Hashing;
pub use slot::{SLOTS, slot_boundary, slot_of_epk};

/// The partition key of an item, or a prefix of it: one component for each path of the container.
/// The empty list addresses a container without a partition key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionKey(pub Vec<Component>);

/// Why a text is not a partition key header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The text is not JSON.
    #[error("the partition key is not JSON: {0}")]
    Json(#[from] json::Error),
    /// The text is JSON, but not an array.
    #[error("the partition key is not an array")]
    NotAnArray,
    /// A component is an array, or an object with members.
    #[error("component {0} of the partition key is not a scalar")]
    NotAScalar(usize),
}

impl PartitionKey {
    /// Parses the header form: a JSON array of scalars, in which `{}` means an absent property.
    pub fn parse_header(text: &str) -> Result<PartitionKey, HeaderError> {
        if let Some(only) = only_string(text) {
            return Ok(PartitionKey(vec![Component::String(only.to_owned())]));
        }
        let Value::Array(elements) = json::parse(text.as_bytes())? else {
            return Err(HeaderError::NotAnArray);
        };
        let component = |(index, element): (usize, &Value)| match element {
            Value::Object(object) if object.is_empty() => Ok(Component::Undefined),
            Value::Array(_) | Value::Object(_) => Err(HeaderError::NotAScalar(index)),
            scalar => Ok(Component::of(scalar)),
        };
        elements.iter().enumerate().map(component).collect::<Result<_, _>>().map(PartitionKey)
    }

    /// The position of this key in the hash space. All components of the container must be present;
    /// the empty list is at the very beginning.
    pub fn effective(&self, hashing: Hashing) -> Epk {
        hashing::effective(&self.0, hashing)
    }

    /// The range of the hash space, `[from, to)`, of all keys that begin with this one.
    pub fn effective_range(&self, hashing: Hashing) -> (Epk, Epk) {
        let from = self.effective(hashing);
        let mut to = from.as_bytes().to_vec();
        to.push(0xff);
        (from, Epk::from_bytes(to))
    }

    /// The slot of this key: the top 24 bits of its hash. MultiHash keys with the same first
    /// component share a slot.
    pub fn slot(&self, hashing: Hashing) -> u32 {
        slot::of_key(&self.0, hashing)
    }
}

/// The string in a header that consists of one string without escapes, as most do.
fn only_string(header: &str) -> Option<&str> {
    let text = header.strip_prefix("[\"")?.strip_suffix("\"]")?;
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    text.bytes().all(is_plain).then_some(text)
}

impl fmt::Display for PartitionKey {
    /// The header form.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = vec![b'['];
        for (index, component) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            component.write_json(&mut out);
        }
        out.push(b']');
        formatter.write_str(&String::from_utf8(out).expect("write_json writes UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition_key::component::tests::any_component;
    use proptest::prelude::*;

    #[test]
    fn headers_are_read() {
        let parsed = |text: &str| PartitionKey::parse_header(text).unwrap().0;
        assert_eq!(parsed("[]"), []);
        assert_eq!(parsed(r#" [ "a\u00e9" ] "#), [Component::String("aé".into())]);
        assert_eq!(parsed("[1.0]"), [Component::Number(1.0)]);
        assert_eq!(parsed("[-0]"), [Component::Number(-0.0)]);
        assert_ne!(parsed("[-0]"), parsed("[0]"));
        assert_eq!(
            parsed("[{},null,true]"),
            [Component::Undefined, Component::Null, Component::Bool(true)]
        );
    }

    #[test]
    fn one_plain_string_is_read_as_json() {
        for text in [
            r#"["a"]"#,
            r#"[""]"#,
            r#"["é, \u00e9 \" \\"]"#,
            r#"["a","b"]"#,
            r#"["a\"]"#,
            r#"["]"#,
            "[\"a\u{1}\"]",
            "[\"a\n\"]",
            "[\"\u{7f}\u{2028}\"]",
        ] {
            let Ok(Value::Array(elements)) = json::parse(text.as_bytes()) else {
                assert!(PartitionKey::parse_header(text).is_err(), "{text}");
                continue;
            };
            let expected: Vec<_> = elements.iter().map(Component::of).collect();
            assert_eq!(PartitionKey::parse_header(text).unwrap().0, expected, "{text}");
        }
    }

    #[test]
    fn broken_headers_are_refused() {
        let error = |text: &str| PartitionKey::parse_header(text).unwrap_err();
        assert_eq!(error("\"a\""), HeaderError::NotAnArray);
        assert_eq!(error("{}"), HeaderError::NotAnArray);
        assert_eq!(error("[1,[]]"), HeaderError::NotAScalar(1));
        assert_eq!(error(r#"[{"a":1}]"#), HeaderError::NotAScalar(0));
        assert!(matches!(error(""), HeaderError::Json(_)));
        assert!(matches!(error("[1"), HeaderError::Json(_)));
    }

    proptest! {
        #[test]
        fn any_text_is_answered_without_a_panic(text in ".*") {
            let _ = PartitionKey::parse_header(&text);
        }

        #[test]
        fn the_header_form_reads_back(key in proptest::collection::vec(any_component(), 0..4)) {
            let key = PartitionKey(key);
            prop_assert_eq!(PartitionKey::parse_header(&key.to_string()).unwrap(), key);
        }
    }
}
