//! The resume filter of a query's body: where in the order of ORDER BY the rows begin. The .NET
//! client sends it with every page that it continues from a token of its own.

use protocol::{
    Error,
    rid::{ChildKind, ChildRid, DocNum},
};
use value::{Number, Value, distinct};

use crate::query::ordered::{Frontier, Order, SortKey};

/// A place in an order, as a client names it.
#[derive(Debug)]
pub(crate) struct Resume {
    /// A value for each expression.
    values: Vec<Item>,
    /// The document that rows with equal values begin with.
    number: Option<DocNum>,
    /// Whether rows with equal values are left out.
    excludes: bool,
}

/// A value, or what a client keeps of a value that may be large.
#[derive(Debug)]
enum Item {
    Value(Value),
    /// The hash of an array or an object; the value has the right type.
    Hash(Value, [u8; distinct::HASH_BYTES]),
}

impl Resume {
    /// Reads `resumeFilter`.
    pub(crate) fn parse(filter: &Value) -> Result<Self, Error> {
        let values =
            filter.get("value").as_array().ok_or_else(|| invalid("`value` is no array"))?;
        let values = values.iter().map(Item::parse).collect::<Result<_, _>>()?;
        let number = match filter.get("rid") {
            Value::Undefined | Value::Null => None,
            rid => {
                let rid = rid.as_str().and_then(ChildRid::parse);
                let rid = rid.filter(|rid| rid.kind == ChildKind::Document);
                Some(rid.ok_or_else(|| invalid("`rid` is not the _rid of a document"))?.number)
            }
        };
        let excludes = match filter.get("exclude") {
            Value::Undefined | Value::Null => false,
            Value::Bool(excludes) => *excludes,
            _ => return Err(invalid("`exclude` is neither true nor false")),
        };
        Ok(Self { values, number, excludes })
    }

    /// Where the rows begin. `order` is that of the query; `None` if it has none of its documents.
    pub(crate) fn frontier(&self, order: Option<&Order>) -> Result<Frontier, Error> {
        let Some(order) = order else {
            return Err(invalid("the query has no ORDER BY that it could be resumed in"));
        };
        if self.values.len() != order.descends.len() {
            return Err(invalid("it needs one value for each item of ORDER BY"));
        }
        let values = order.bytes_with(&self.values, Item::encode);
        let (number, row) = match self.number {
            _ if self.excludes => (u64::MAX, u32::MAX),
            Some(number) => (order.number(number), 0),
            None => (0, 0),
        };
        Ok(Frontier { key: SortKey { values, number }, row })
    }
}

impl Item {
    fn parse(value: &Value) -> Result<Self, Error> {
        match value {
            // Undefined has no JSON.
            Value::Array(elements) if elements.is_empty() => Ok(Self::Value(Value::Undefined)),
            Value::Array(_) => Err(invalid("an array in `value` is not empty")),
            Value::Object(_) => {
                let words = (word(value.get("low"))?, word(value.get("high"))?);
                let container = match value.get("type").as_str() {
                    Some("array") => Value::Array(Vec::new()),
                    Some("object") => Value::Object(value::Object::new()),
                    _ => return Err(invalid("`type` is neither \"array\" nor \"object\"")),
                };
                Ok(Self::Hash(container, distinct::from_words(words)))
            }
            scalar => Ok(Self::Value(scalar.clone())),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Value(value) => value::key::encode(value, out),
            Self::Hash(container, hash) => {
                index::encode_value(container, out);
                out.extend_from_slice(hash);
            }
        }
    }
}

/// Half of a hash, which clients write as a signed number.
fn word(value: &Value) -> Result<u64, Error> {
    let Value::Number(number) = value else { return Err(invalid("a hash needs `low` and `high`")) };
    let exact = |number: &Number| {
        let text = number.text();
        text.parse::<i64>().map(i64::cast_unsigned).or_else(|_| text.parse()).ok()
    };
    exact(number).ok_or_else(|| invalid("`low` and `high` are integers of 64 bits"))
}

fn invalid(why: &str) -> Error {
    Error::bad_request(format!("The resume filter of the query is invalid: {why}."))
}

#[cfg(test)]
mod tests {
    use protocol::rid::{CollectionRid, DatabaseRid};
    use value::json;

    use super::*;

    fn frontier(filter: &str, descends: &[bool]) -> Result<Frontier, Error> {
        let filter = json::parse(filter.as_bytes()).expect("JSON");
        let order = Order { descends: descends.to_vec(), index: None };
        Resume::parse(&filter)?.frontier(Some(&order))
    }

    fn key(order: &Order, value: &str, number: u64) -> SortKey {
        let value = json::parse(value.as_bytes()).expect("JSON");
        SortKey { values: order.bytes(&[value]), number: order.number(number) }
    }

    #[test]
    fn rows_begin_at_the_value_at_the_document_or_behind_both() {
        for descends in [false, true] {
            let order = Order { descends: vec![descends], index: None };
            let [five, six] = [key(&order, "5", 40), key(&order, "6", 40)];
            let at = frontier(r#"{"value":[5]}"#, &[descends]).expect("a place");
            assert!(at.key <= five && (at.key <= six) != descends);
            let behind = frontier(r#"{"value":[5],"exclude":true}"#, &[descends]).expect("a place");
            assert!(behind.key > five && (behind.key < six) != descends);
            let rid = CollectionRid { database: DatabaseRid(1), number: 1 };
            let rid = rid.document(40).to_string();
            let filter = format!(r#"{{"value":[5],"rid":"{rid}","exclude":false}}"#);
            let inside = frontier(&filter, &[descends]).expect("a place");
            assert_eq!((inside.key, inside.row), (five, 0));
        }
    }

    #[test]
    fn values_without_json_have_forms_of_their_own() {
        let order = Order { descends: vec![false], index: None };
        let undefined = frontier(r#"{"value":[[]]}"#, &[false]).expect("a place");
        assert_eq!(undefined.key.values, order.bytes(&[Value::Undefined]));
        // The hash of [1], as version 3.64.0 of the client computes it.
        let low = 0x2bcf_2db1_b95f_9019_u64.cast_signed();
        let high = 0xc72f_3299_fdc3_e304_u64.cast_signed();
        let filter = format!(r#"{{"value":[{{"type":"array","low":{low},"high":{high}}}]}}"#);
        let array = frontier(&filter, &[false]).expect("a place");
        assert_eq!(array.key, key(&order, "[1]", 0));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in [
            "1",
            "{}",
            r#"{"value":1}"#,
            r#"{"value":[]}"#,
            r#"{"value":[1,2]}"#,
            r#"{"value":[[1]]}"#,
            r#"{"value":[{}]}"#,
            r#"{"value":[{"type":"array","low":1}]}"#,
            r#"{"value":[{"type":"array","low":1.5,"high":1}]}"#,
            r#"{"value":[{"type":"string","low":1,"high":1}]}"#,
            r#"{"value":[1],"rid":5}"#,
            r#"{"value":[1],"rid":"x"}"#,
            r#"{"value":[1],"exclude":1}"#,
        ] {
            assert!(frontier(bad, &[false]).is_err(), "{bad}");
        }
        let filter = json::parse(br#"{"value":[1]}"#).expect("JSON");
        assert!(Resume::parse(&filter).expect("a filter").frontier(None).is_err());
    }
}
