//! Replacements and pipelines.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, Timestamp, doc};

use super::{CONTEXT, apply, check, check_errors, document, parse, parse_with, raw};
use crate::error::Result;
use crate::update::{Context, Transform, Update, UpdateOptions};

#[test]
fn documents_are_replaced() {
    let empty = Timestamp { time: 0, increment: 0 };
    check(&[
        (doc! {"_id": 1, "a": 1}, doc! {"b": 2}, doc! {"_id": 1, "b": 2}),
        (doc! {"_id": 1, "a": 1}, doc! {"b": 2, "_id": 1}, doc! {"_id": 1, "b": 2}),
        (doc! {"_id": 1, "a": 1}, doc! {"_id": 1, "a": 1}, doc! {"_id": 1, "a": 1}),
        (doc! {"_id": 1, "a": 1}, doc! {"_id": 1.0, "a": 1}, doc! {"_id": 1, "a": 1}),
        (doc! {"_id": 1, "a": 1}, doc! {}, doc! {"_id": 1}),
        (doc! {"_id": null}, doc! {"a": 1}, doc! {"_id": null, "a": 1}),
        (
            doc! {"_id": 1},
            doc! {"a": empty, "b": [empty]},
            doc! {"_id": 1, "a": CONTEXT.timestamp, "b": [empty]},
        ),
        (
            doc! {"_id": 1},
            doc! {"a.b": 1, "c": {"$d": 1}},
            doc! {"_id": 1, "a.b": 1, "c": {"$d": 1}},
        ),
    ]);
    assert_eq!(apply(&doc! {"_id": 1}, &doc! {"a": 1}).unwrap().changes, None);
    assert!(parse(&doc! {}).unwrap().is_replacement());
    check_errors(&[
        (
            doc! {"_id": 1},
            doc! {"_id": 2},
            66,
            "After applying the update, the (immutable) field '_id' was found to have been \
             altered to _id: 2",
        ),
        (
            doc! {"_id": 1},
            doc! {"a": 1, "$set": {"b": 1}},
            52,
            "The dollar ($) prefixed field '$set' in '$set' is not allowed in the context of an \
             update's replacement document. Consider using an aggregation pipeline with \
             $replaceWith.",
        ),
    ]);
    let options = UpdateOptions { is_multi: true, ..UpdateOptions::default() };
    let error = parse_with(&doc! {"a": 1}, &[], options).unwrap_err();
    assert_eq!(error.code.number(), 9);
    assert_eq!(error.message, "multi update is not supported for replacement-style update");
}

#[derive(Debug)]
struct Becomes(Document);

impl Transform for Becomes {
    fn transform(&self, _: &RawDocument, _: &Context) -> Result<RawDocumentBuf> {
        Ok(raw(&self.0))
    }
}

#[test]
fn pipelines_are_compared_with_what_was_before() {
    let before = doc! {"_id": 1, "a": {"b": 1, "c": 2}, "l": ["x", {"y": 1}, 3, 4], "z": 1};
    for (after, expected, updated, removed, truncated) in [
        (
            doc! {"_id": 1, "a": {"b": 1, "c": 2}, "l": ["x", {"y": 1}], "z": 1},
            None,
            doc! {},
            vec![],
            vec![("l", 2)],
        ),
        (
            doc! {"a": {"b": 9, "d": 1}, "l": ["x", {"y": 2}, 3, 4, 5]},
            Some(doc! {"_id": 1, "a": {"b": 9, "d": 1}, "l": ["x", {"y": 2}, 3, 4, 5]}),
            doc! {"a.b": 9, "a.d": 1, "l.1.y": 2, "l.4": 5},
            vec!["z", "a.c"],
            vec![],
        ),
        (
            doc! {"_id": 1, "a": {"c": 2, "b": 1}, "l": [], "z": 1},
            None,
            doc! {"a": {"c": 2, "b": 1}},
            vec![],
            vec![("l", 0)],
        ),
    ] {
        let stages = Box::new(Becomes(after.clone()));
        let update = Update::of_pipeline(stages, None, UpdateOptions::default()).unwrap();
        let applied = update.apply(&raw(&before), &CONTEXT).unwrap();
        assert_eq!(document(&applied.document), expected.unwrap_or(after));
        let changes = applied.changes.unwrap();
        assert_eq!(document(&changes.updated), updated);
        assert_eq!(changes.removed, removed);
        let sizes: Vec<(&str, usize)> =
            changes.truncated.iter().map(|(field, size)| (field.as_str(), *size)).collect();
        assert_eq!(sizes, truncated);
    }
    let same = Box::new(Becomes(before.clone()));
    let update = Update::of_pipeline(same, None, UpdateOptions::default()).unwrap();
    assert!(!update.apply(&raw(&before), &CONTEXT).unwrap().is_modified);
    let other = Box::new(Becomes(doc! {"_id": 2}));
    let update = Update::of_pipeline(other, None, UpdateOptions::default()).unwrap();
    assert_eq!(update.apply(&raw(&before), &CONTEXT).unwrap_err().code.number(), 66);
    let filters = bson::RawArrayBuf::try_from(vec![Bson::Document(doc! {"x": 1})]).unwrap();
    let stages = Box::new(Becomes(doc! {}));
    let error = Update::of_pipeline(stages, Some(&filters), UpdateOptions::default()).unwrap_err();
    assert_eq!(error.code.number(), 9);
}
