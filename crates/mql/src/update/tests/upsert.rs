//! Documents that come of a filter and an update.

use bson::oid::ObjectId;
use bson::{Bson, Document, RawBson, Timestamp, doc};

use super::{CONTEXT, document, parse};
use crate::error::Result;
use crate::path::Path;

/// Equalities of a query, an update, and what comes of them.
type Case<T> = (Vec<(&'static str, Bson)>, Document, T);

fn id() -> ObjectId {
    ObjectId::from_bytes([7; 12])
}

fn upsert(equalities: &[(&str, Bson)], update: &Document) -> Result<Document> {
    let equalities: Vec<(Path, RawBson)> = equalities
        .iter()
        .map(|(path, value)| (Path::new(path), RawBson::try_from(value.clone()).unwrap()))
        .collect();
    let equalities: Vec<_> =
        equalities.iter().map(|(path, value)| (path, value.as_raw_bson_ref())).collect();
    parse(update)?.upsert(&equalities, id(), &CONTEXT).map(|new| document(&new))
}

#[test]
fn queries_and_updates_make_documents() {
    let int = Bson::Int32;
    let empty = Timestamp { time: 0, increment: 0 };
    let cases: Vec<Case<Document>> = vec![
        (vec![("a", int(1))], doc! {"$set": {"b": 2}}, doc! {"_id": id(), "a": 1, "b": 2}),
        (vec![("a", int(1)), ("_id", int(5))], doc! {"$inc": {"a": 2}}, doc! {"_id": 5, "a": 3}),
        (
            vec![("a.b", int(1)), ("a.c", int(2))],
            doc! {"$set": {"a.d": 3}},
            doc! {"_id": id(), "a": {"b": 1, "c": 2, "d": 3}},
        ),
        (vec![("a.0", int(1))], doc! {"$set": {}}, doc! {"_id": id(), "a": {"0": 1}}),
        (vec![], doc! {"$setOnInsert": {"b": 1, "_id": 9}}, doc! {"_id": 9, "b": 1}),
        (vec![("_id", int(1))], doc! {"$set": {"_id": 1}}, doc! {"_id": 1}),
        (vec![], doc! {"$set": {"b": 1}, "$unset": {"c": 1}}, doc! {"_id": id(), "b": 1}),
        (vec![("_id", Bson::Null)], doc! {"x": 1}, doc! {"_id": null, "x": 1}),
        (vec![("a", int(1))], doc! {"b": 2, "_id": 3}, doc! {"_id": 3, "b": 2}),
        (vec![("a", int(1))], doc! {"t": empty}, doc! {"_id": id(), "t": CONTEXT.timestamp}),
    ];
    for (equalities, update, expected) in cases {
        assert_eq!(upsert(&equalities, &update).unwrap(), expected, "{update}");
    }
}

#[test]
fn what_contradicts_the_query_is_refused() {
    let int = Bson::Int32;
    let cases: Vec<Case<(i32, &str)>> = vec![
        (
            vec![("_id", int(1))],
            doc! {"$set": {"_id": 2}},
            (66, "Performing an update on the path '_id' would modify the immutable field '_id'"),
        ),
        (
            vec![("_id", int(1))],
            doc! {"_id": 2},
            (
                66,
                "After applying the update, the (immutable) field '_id' was found to have been \
             altered to _id: 2",
            ),
        ),
        (vec![], doc! {"$set": {"_id": [1]}}, (53, "The '_id' value cannot be of type array")),
        (
            vec![("_id", doc! {"$x": 1}.into())],
            doc! {"$set": {}},
            (52, "_id fields may not contain '$'-prefixed fields: $x is not valid for storage."),
        ),
        (
            vec![("a", int(1))],
            doc! {"$set": {"a.b": 1}},
            (28, "Cannot create field 'b' in element {a: 1}"),
        ),
        (
            vec![("a", vec![1].into())],
            doc! {"$set": {"a.$": 1}},
            (2, "The positional operator did not find the match needed from the query."),
        ),
    ];
    for (equalities, update, (code, message)) in cases {
        let error = upsert(&equalities, &update).unwrap_err();
        assert_eq!((error.code.number(), &*error.message), (code, message), "{update}");
    }
}
