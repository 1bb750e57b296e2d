//! Documents that are inserted: their ids, timestamps and limits.

use std::borrow::Cow;

use bson::oid::ObjectId;
use bson::{Bson, Document, Timestamp, doc};

use super::{CONTEXT, document, raw};
use crate::error::Result;
use crate::testing::name;
use crate::update::DOCUMENT_MAX;
use crate::update::insert::prepare;

const EMPTY: Timestamp = Timestamp { time: 0, increment: 0 };

fn id() -> ObjectId {
    ObjectId::from_bytes([7; 12])
}

fn prepared(before: &Document) -> Result<Document> {
    let before = raw(before);
    let after = prepare(&before, id(), CONTEXT.timestamp, DOCUMENT_MAX)?;
    Ok(document(&after.into_owned()))
}

#[test]
fn the_id_comes_first() {
    for (before, after) in [
        (doc! {"a": 1}, doc! {"_id": id(), "a": 1}),
        (doc! {"a": 1, "_id": 5, "b": 2}, doc! {"_id": 5, "a": 1, "b": 2}),
        (doc! {"_id": null}, doc! {"_id": null}),
        (doc! {}, doc! {"_id": id()}),
        (
            doc! {"_id": EMPTY, "a": EMPTY, "b": {"c": EMPTY}},
            doc! {"_id": EMPTY, "a": CONTEXT.timestamp, "b": {"c": EMPTY}},
        ),
        (doc! {"a.b": 1, "$c": 2, "_id": {"d.e": 1}}, doc! {"_id": {"d.e": 1}, "a.b": 1, "$c": 2}),
    ] {
        assert_eq!(prepared(&before).unwrap(), after);
    }
    let whole = raw(&doc! {"_id": 1, "a": 2});
    let after = prepare(&whole, id(), CONTEXT.timestamp, DOCUMENT_MAX).unwrap();
    assert!(matches!(after, Cow::Borrowed(_)));
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let regex = bson::Regex { pattern: name("a"), options: name("") };
    for (before, code, message) in [
        (doc! {"_id": [1]}, 53, "The '_id' value cannot be of type array"),
        (doc! {"_id": regex}, 53, "The '_id' value cannot be of type regex"),
        (doc! {"_id": Bson::Undefined}, 53, "The '_id' value cannot be of type undefined"),
        (
            doc! {"_id": {"$a": 1}},
            52,
            "_id fields may not contain '$'-prefixed fields: $a is not valid for storage.",
        ),
    ] {
        let error = prepared(&before).unwrap_err();
        assert_eq!((error.code.number(), &*error.message), (code, message));
    }
    let mut twice = raw(&doc! {"_id": 1});
    twice.append(bson::raw::cstr!("_id"), 2);
    let error = prepare(&twice, id(), CONTEXT.timestamp, DOCUMENT_MAX).unwrap_err();
    assert_eq!(error.message, "can't have multiple _id fields in one document");
    let long = raw(&doc! {"_id": 1, "a": "x".repeat(100)});
    let error = prepare(&long, id(), CONTEXT.timestamp, 100).unwrap_err();
    assert_eq!(error.code.number(), 10_334);
    let deep = |levels: usize| (1..levels).fold(doc! {}, |inner, _| doc! {"a": inner});
    assert!(prepared(&deep(200)).is_ok());
    let error = prepared(&deep(201)).unwrap_err();
    assert_eq!(error.code.number(), 15);
    assert_eq!(error.message, "Document exceeds maximum nesting depth of 200");
}
