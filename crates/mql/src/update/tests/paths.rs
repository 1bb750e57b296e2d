//! Paths: what they create, what is in their way, what collides.

use bson::raw::cstr;
use bson::{RawDocumentBuf, doc};

use super::{CONTEXT, check, check_errors, parse, parse_with, raw};
use crate::path::Path;
use crate::update::UpdateOptions;

#[test]
fn names_that_are_numbers_mean_positions_only_in_arrays() {
    check(&[
        (doc! {"a": [1, 2]}, doc! {"$set": {"a.1": 9}}, doc! {"a": [1, 9]}),
        (doc! {"a": {"1": 2}}, doc! {"$set": {"a.1": 9}}, doc! {"a": {"1": 9}}),
        (doc! {"a": [{"b": 1}]}, doc! {"$set": {"a.0.b": 9}}, doc! {"a": [{"b": 9}]}),
        (doc! {}, doc! {"$set": {"a.0": 9}}, doc! {"a": {"0": 9}}),
        (doc! {"a": []}, doc! {"$set": {"a.0.x": 9}}, doc! {"a": [{"x": 9}]}),
    ]);
}

#[test]
fn paths_that_cannot_be_are_refused() {
    check_errors(&[
        (doc! {"a": 1}, doc! {"$set": {"a.b": 1}}, 28, "Cannot create field 'b' in element {a: 1}"),
        (
            doc! {"a": "x"},
            doc! {"$inc": {"a.b.c": 1}},
            28,
            "Cannot create field 'b' in element {a: \"x\"}",
        ),
        (
            doc! {"a": null},
            doc! {"$set": {"a.b": 1}},
            28,
            "Cannot create field 'b' in element {a: null}",
        ),
        (
            doc! {"a": [1, 2]},
            doc! {"$set": {"a.b": 1}},
            28,
            "Cannot create field 'b' in element {a: [ 1, 2 ]}",
        ),
        (
            doc! {"a": [1]},
            doc! {"$set": {"a.0.b": 1}},
            28,
            "Cannot create field 'b' in element {0: 1}",
        ),
        (
            doc! {"a": {"b": {"c": 1}}},
            doc! {"$push": {"a.b.c.d": 1}},
            28,
            "Cannot create field 'd' in element {c: 1}",
        ),
        (
            doc! {},
            doc! {"$set": {"$k": 1}},
            52,
            "The dollar ($) prefixed field '$k' in '$k' is not allowed in the context of an \
             update's replacement document. Consider using an aggregation pipeline with \
             $replaceWith.",
        ),
        (
            doc! {},
            doc! {"$set": {"a.": 1}},
            56,
            "The update path 'a.' contains an empty field name, which is not allowed.",
        ),
        (doc! {}, doc! {"$set": {"": 1}}, 56, "An empty update path is not valid."),
    ]);
    check(&[(doc! {"a": 1}, doc! {"$setOnInsert": {"a.b": 1}}, doc! {"a": 1})]);
}

#[test]
fn operators_on_the_same_path_conflict() {
    check_errors(&[
        (
            doc! {},
            doc! {"$set": {"a": 1}, "$inc": {"a": 1}},
            40,
            "Updating the path 'a' would create a conflict at 'a'",
        ),
        (
            doc! {},
            doc! {"$set": {"a": 1, "a.b": 1}},
            40,
            "Updating the path 'a.b' would create a conflict at 'a'",
        ),
        (
            doc! {},
            doc! {"$set": {"a.b.c": 1}, "$unset": {"a.b": 1}},
            40,
            "Updating the path 'a.b' would create a conflict at 'a.b'",
        ),
        (
            doc! {},
            doc! {"$set": {"a.$[].b": 1, "a.0.b": 1}},
            40,
            "Updating the path 'a.0.b' would create a conflict at 'a'",
        ),
        (
            doc! {},
            doc! {"$set": {"a.0.b": 1, "a.$[].b": 1}},
            40,
            "Updating the path 'a.$[].b' would create a conflict at 'a'",
        ),
    ]);
}

#[test]
fn what_is_no_operator_is_refused() {
    check_errors(&[
        (
            doc! {},
            doc! {"$foo": {"a": 1}},
            9,
            "Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update \
             specified as an array",
        ),
        (
            doc! {},
            doc! {"$set": {"a": 1}, "b": 1},
            9,
            "Unknown modifier: b. Expected a valid update modifier or pipeline-style update \
             specified as an array",
        ),
        (
            doc! {},
            doc! {"$set": 5},
            9,
            "Modifiers operate on fields but we found type int instead. For example: {$mod: \
             {<field>: ...}} not {$set: 5}",
        ),
    ]);
}

#[test]
fn the_id_and_the_shard_key_stay() {
    check_errors(&[
        (
            doc! {"_id": 1},
            doc! {"$set": {"_id": 2}},
            66,
            "Performing an update on the path '_id' would modify the immutable field '_id'",
        ),
        (
            doc! {"_id": {"a": 1}},
            doc! {"$set": {"_id.a": 2}},
            66,
            "Performing an update on the path '_id.a' would modify the immutable field '_id'",
        ),
        (
            doc! {"_id": {"a": 1}},
            doc! {"$set": {"_id.b": 2}},
            66,
            "Performing an update on the path '_id.b' would modify the immutable field '_id'",
        ),
        (
            doc! {"_id": 1},
            doc! {"$unset": {"_id": 1}},
            66,
            "Performing an update on the path '_id' would modify the immutable field '_id'",
        ),
        (
            doc! {"_id": 1},
            doc! {"$inc": {"_id": 1}},
            66,
            "Performing an update on the path '_id' would modify the immutable field '_id'",
        ),
    ]);
    let options = UpdateOptions { immutable: vec![Path::new("k.s")], ..UpdateOptions::default() };
    let before = raw(&doc! {"_id": 1, "k": {"s": 1, "t": 1}});
    for (update, message) in [
        (doc! {"$set": {"k.t": 2}}, None),
        (doc! {"$set": {"k": {"s": 1}}}, None),
        (
            doc! {"$set": {"k.s": 2}},
            Some("Performing an update on the path 'k.s' would modify the immutable field 'k.s'"),
        ),
        (
            doc! {"$set": {"k": {"s": 2}}},
            Some(
                "After applying the update, the (immutable) field 'k.s' was found to have been \
                  altered to s: 2",
            ),
        ),
        (
            doc! {"$unset": {"k": 1}},
            Some(
                "After applying the update, the (immutable) field 'k.s' was found to have been \
                  removed --{ _id: 1, k: { s: 1, t: 1 } }",
            ),
        ),
    ] {
        let result = parse_with(&update, &[], options.clone()).unwrap().apply(&before, &CONTEXT);
        let found = result.err().map(|error| (error.code.number(), error.message));
        assert_eq!(found, message.map(|message| (66, message.to_owned())), "{update}");
    }
}

#[test]
fn what_is_not_reached_keeps_its_bytes() {
    let mut inner = RawDocumentBuf::new();
    inner.append(cstr!("x"), 1);
    inner.append(cstr!("x"), 2);
    let mut before = RawDocumentBuf::new();
    before.append(cstr!("twice"), inner.clone());
    before.append(cstr!("d"), 1);
    before.append(cstr!("d"), 2);
    before.append(cstr!("a"), 1);
    let update = parse(&doc! {"$set": {"a": 2}}).unwrap();
    let after = update.apply(&before, &CONTEXT).unwrap().document;
    let mut expected = RawDocumentBuf::new();
    expected.append(cstr!("twice"), inner);
    expected.append(cstr!("d"), 1);
    expected.append(cstr!("d"), 2);
    expected.append(cstr!("a"), 2);
    assert_eq!(after, expected);
    let nothing = parse(&doc! {"$inc": {"a": 0}, "$unset": {"twice.y": 1}}).unwrap();
    let applied = nothing.apply(&before, &CONTEXT).unwrap();
    assert_eq!((applied.document, applied.is_modified), (before, false));
}

#[test]
fn documents_that_grow_too_large_or_deep_are_refused() {
    let options = UpdateOptions { document_max: 100, ..UpdateOptions::default() };
    let update = parse_with(&doc! {"$set": {"a": "x".repeat(100)}}, &[], options).unwrap();
    let error = update.apply(&raw(&doc! {}), &CONTEXT).unwrap_err();
    assert_eq!(error.code.number(), 10_334);
    assert_eq!(error.message, "Resulting document after update is larger than 100");
    let path = |parts: usize| vec!["a"; parts].join(".");
    assert!(super::apply(&doc! {}, &doc! {"$set": {path(200): 1}}).is_ok());
    check_errors(&[(
        doc! {},
        doc! {"$set": {path(200): {}}},
        15,
        "Document exceeds maximum nesting depth of 200",
    )]);
    check_errors(&[(doc! {}, doc! {"$set": {path(201): 1}}, 15, "FieldPath is too long")]);
    let deep = (0..300).fold(doc! {}, |inner, _| doc! {"a": inner});
    check_errors(&[(doc! {}, doc! {"$inc": {"a": deep}}, 15, "nesting too deep")]);
}
