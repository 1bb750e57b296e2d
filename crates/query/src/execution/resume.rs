//! Where the rows of a query begin, if the client names a position in the order of ORDER BY.

use protocol::{
    Error,
    query::{ResumeFilter, ResumeValue},
};
use value::Value;

use crate::execution::ordered::{Frontier, Order, SortKey};

/// Where the rows begin. `order` is that of the query; `None` if it does not order documents.
pub(crate) fn frontier(filter: &ResumeFilter, order: Option<&Order>) -> Result<Frontier, Error> {
    let Some(order) = order else {
        return Err(invalid("the query has no ORDER BY to resume"));
    };
    if filter.values.len() != order.descends.len() {
        return Err(invalid("it needs one value for each item of ORDER BY"));
    }
    let values = order.bytes_with(&filter.values, encode);
    let (number, row) = match filter.document {
        _ if filter.excludes => (u64::MAX, u32::MAX),
        Some(number) => (order.number(number), 0),
        None => (0, 0),
    };
    Ok(Frontier { key: SortKey { values, number }, row })
}

fn encode(value: &ResumeValue, out: &mut Vec<u8>) {
    let (container, hash) = match value {
        ResumeValue::Value(value) => return index::encode_whole(value, out),
        ResumeValue::Array(hash) => (Value::Array(Vec::new()), hash),
        ResumeValue::Object(hash) => (Value::Object(value::Object::new()), hash),
    };
    index::encode_value(&container, out);
    out.extend_from_slice(hash);
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
        let body = format!(r#"{{"query":"","resumeFilter":{filter}}}"#);
        let source = gateway::read::query(body.as_bytes(), false)?;
        let order = Order { descends: descends.to_vec(), index: None };
        super::frontier(&source.resume.expect("a filter"), Some(&order))
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
        for bad in [r#"{"value":[]}"#, r#"{"value":[1,2]}"#] {
            assert!(frontier(bad, &[false]).is_err(), "{bad}");
        }
        let values = vec![ResumeValue::Value(Value::Bool(true))];
        let filter = ResumeFilter { values, document: None, excludes: false };
        assert!(super::frontier(&filter, None).is_err());
    }
}
