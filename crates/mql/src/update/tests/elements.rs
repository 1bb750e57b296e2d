//! Elements chosen by the filter, by `$[]` and by array filters.

use bson::{Document, doc};

use super::{CONTEXT, check, check_errors, document, parse, parse_with, properties, raw};
use crate::collation::Collation;
use crate::error::Result;
use crate::filter::FilterOptions;
use crate::update::{Applied, Context, UpdateOptions};

fn apply_at(before: &Document, update: &Document, matched: Option<usize>) -> Result<Applied> {
    parse(update)?.apply(&raw(before), &Context { matched, ..CONTEXT })
}

#[test]
fn a_dollar_stands_for_the_matched_element() {
    for (before, update, matched, after) in [
        (doc! {"a": [1, 2, 3]}, doc! {"$set": {"a.$": 9}}, 1, doc! {"a": [1, 9, 3]}),
        (
            doc! {"a": [{"b": 1}, {"b": 2}]},
            doc! {"$inc": {"a.$.b": 5}},
            0,
            doc! {"a": [{"b": 6}, {"b": 2}]},
        ),
        (doc! {"a": [1, 2]}, doc! {"$unset": {"a.$": 1}}, 0, doc! {"a": [null, 2]}),
        (doc! {"a": [1, 2]}, doc! {"$set": {"a.$": 8, "a.1": 9}}, 0, doc! {"a": [8, 9]}),
        (
            doc! {"a": [{"b": 1}]},
            doc! {"$set": {"a.$.c": 1, "a.0.d": 2}},
            0,
            doc! {"a": [{"b": 1, "c": 1, "d": 2}]},
        ),
        (doc! {}, doc! {"$set": {"a.$": 1}}, 2, doc! {"a": {"2": 1}}),
    ] {
        let applied = apply_at(&before, &update, Some(matched)).unwrap();
        assert_eq!(document(&applied.document), after, "{update}");
        assert!(parse(&update).unwrap().needs_match());
    }
    let error = apply_at(&doc! {"a": [1]}, &doc! {"$set": {"a.$": 1, "a.0": 2}}, Some(0));
    let error = error.unwrap_err();
    assert_eq!((error.code.number(), &*error.message), (40, "Update created a conflict at 'a.0'"));
    let error = apply_at(&doc! {"a": [1]}, &doc! {"$set": {"a.$": 1}}, None).unwrap_err();
    assert_eq!(error.code.number(), 2);
    assert_eq!(
        error.message,
        "The positional operator did not find the match needed from the query."
    );
}

#[test]
fn all_elements_are_updated() {
    check(&[
        (doc! {"a": [1, 2]}, doc! {"$inc": {"a.$[]": 1}}, doc! {"a": [2, 3]}),
        (
            doc! {"a": [{"b": [1]}, {"b": [2, 3]}]},
            doc! {"$mul": {"a.$[].b.$[]": 2}},
            doc! {"a": [{"b": [2]}, {"b": [4, 6]}]},
        ),
        (doc! {"a": []}, doc! {"$set": {"a.$[].x": 1}}, doc! {"a": []}),
        (doc! {"a": [5, 5]}, doc! {"$set": {"a.$[]": 5}}, doc! {"a": [5, 5]}),
        (doc! {"a": [1]}, doc! {"$unset": {"a.$[]": 5}}, doc! {"a": [null]}),
    ]);
    check_errors(&[
        (
            doc! {},
            doc! {"$set": {"a.$[]": 1}},
            2,
            "The path 'a' must exist in the document in order to apply array updates.",
        ),
        (
            doc! {"a": 5},
            doc! {"$set": {"a.$[]": 1}},
            2,
            "Cannot apply array updates to non-array element a: 5",
        ),
        (
            doc! {"a": {"b": "x"}},
            doc! {"$set": {"a.b.$[].c": 1}},
            2,
            "Cannot apply array updates to non-array element b: \"x\"",
        ),
        (
            doc! {"a": [1]},
            doc! {"$set": {"a.$[].b": 1}},
            28,
            "Cannot create field 'b' in element {0: 1}",
        ),
    ]);
}

fn filtered(before: &Document, update: &Document, filters: &[Document]) -> Result<Applied> {
    let update = parse_with(update, filters, UpdateOptions::default())?;
    update.apply(&raw(before), &CONTEXT)
}

#[test]
fn array_filters_choose_elements() {
    for (before, update, filters, after) in [
        (
            doc! {"a": [1, 2, 1]},
            doc! {"$set": {"a.$[x]": 9}},
            vec![doc! {"x": 1}],
            doc! {"a": [9, 2, 9]},
        ),
        (
            doc! {"a": [1, 5, 8]},
            doc! {"$inc": {"a.$[x]": 1}},
            vec![doc! {"x": {"$gte": 5}}],
            doc! {"a": [1, 6, 9]},
        ),
        (
            doc! {"a": [{"g": 1}, {"g": 2}]},
            doc! {"$set": {"a.$[x].h": 1}},
            vec![doc! {"x.g": {"$gt": 1}}],
            doc! {"a": [{"g": 1}, {"g": 2, "h": 1}]},
        ),
        (
            doc! {"a": [{"g": 1, "l": [1, 2]}, {"g": 2, "l": [2]}]},
            doc! {"$set": {"a.$[x].l.$[y]": 0}},
            vec![doc! {"y": 2}, doc! {"x.g": 1}],
            doc! {"a": [{"g": 1, "l": [1, 0]}, {"g": 2, "l": [2]}]},
        ),
        (
            doc! {"a": [1, 2, 3]},
            doc! {"$inc": {"a.$[x]": 10}},
            vec![doc! {"$or": [{"x": 1}, {"x": 3}]}],
            doc! {"a": [11, 2, 13]},
        ),
        (
            doc! {"a": [1, 2]},
            doc! {"$set": {"a.$[x]": 9, "a.$[y]": 8}},
            vec![doc! {"x": 1}, doc! {"y": 2}],
            doc! {"a": [9, 8]},
        ),
    ] {
        let applied = filtered(&before, &update, &filters).unwrap();
        assert_eq!(document(&applied.document), after, "{update}");
        let again = properties::replay(&before, &applied.changes.unwrap());
        assert_eq!(again, after, "{update}");
    }
}

#[test]
fn wrong_array_filters_are_refused() {
    let set = doc! {"$set": {"a.$[x]": 9}};
    for (update, filters, code, message) in [
        (&set, vec![], 2, "No array filter found for identifier 'x' in path 'a.$[x]'"),
        (
            &set,
            vec![doc! {"x": 1}, doc! {"y": 1}],
            9,
            "The array filter for identifier 'y' was not used in the update { $set: { a.$[x]: 9 } \
             }",
        ),
        (
            &doc! {"a": 1},
            vec![doc! {"y": 1}],
            9,
            "The array filter for identifier 'y' was not used in the update { a: 1 }",
        ),
        (
            &set,
            vec![doc! {"x": 1}, doc! {"x.b": 1}],
            9,
            "Found multiple array filters with the same top-level field name x",
        ),
        (
            &set,
            vec![doc! {}],
            9,
            "Cannot use an expression without a top-level field name in arrayFilters",
        ),
        (
            &set,
            vec![doc! {"x": 1, "y": 1}],
            9,
            "Error parsing array filter :: caused by :: Expected a single top-level field name, \
             found 'x' and 'y'",
        ),
        (
            &set,
            vec![doc! {"X": 1}],
            2,
            "Error parsing array filter :: caused by :: The top-level field name must be an \
             alphanumeric string beginning with a lowercase letter, found 'X'",
        ),
        (
            &set,
            vec![doc! {"x": {"$foo": 1}}],
            2,
            "Error parsing array filter :: caused by :: unknown operator: $foo",
        ),
        (
            &doc! {"$set": {"a.$[x]": 1, "a.$[y]": 2}},
            vec![doc! {"x": 1}, doc! {"y": 1}],
            40,
            "Update created a conflict at 'a.0'",
        ),
    ] {
        let error = filtered(&doc! {"a": [1]}, update, &filters).unwrap_err();
        assert_eq!((error.code.number(), &*error.message), (code, message), "{update}");
    }
}

#[test]
fn pull_takes_conditions() {
    check(&[
        (doc! {"a": [1, 5, 8]}, doc! {"$pull": {"a": {"$gte": 5}}}, doc! {"a": [1]}),
        (doc! {"a": [1, 5, 8]}, doc! {"$pull": {"a": {"$in": [1, 8]}}}, doc! {"a": [5]}),
        (
            doc! {"a": [{"x": 1, "y": 1}, {"x": 2}, 1]},
            doc! {"$pull": {"a": {"x": 1}}},
            doc! {"a": [{"x": 2}, 1]},
        ),
        (
            doc! {"a": [{"x": [1, 2]}, {"x": [3]}]},
            doc! {"$pull": {"a": {"x": {"$elemMatch": {"$lt": 2}}}}},
            doc! {"a": [{"x": [3]}]},
        ),
        (
            doc! {"a": ["ab", "b"]},
            doc! {"$pull": {"a": bson::Regex {
            pattern: crate::testing::name("^a"), options: crate::testing::name("") }}},
            doc! {"a": ["b"]},
        ),
        (
            doc! {"a": [{"x": 1}, {"x": 5}]},
            doc! {"$pull": {"a": {"$or": [{"x": 1}, {"x": 2}]}}},
            doc! {"a": [{"x": 5}]},
        ),
    ]);
}

#[test]
fn a_collation_says_what_is_equal() {
    let collation = raw(&doc! {"locale": "en", "strength": 2});
    let collation = Collation::parse(&collation).unwrap().map(std::sync::Arc::new);
    let before = doc! {"a": ["x", "Y"], "s": "b"};
    for (update, filters, after) in [
        (doc! {"$pull": {"a": "X"}}, vec![], doc! {"a": ["Y"], "s": "b"}),
        (doc! {"$pull": {"a": {"$in": ["y"]}}}, vec![], doc! {"a": ["x"], "s": "b"}),
        (doc! {"$pullAll": {"a": ["X", "y"]}}, vec![], doc! {"a": [], "s": "b"}),
        (
            doc! {"$addToSet": {"a": {"$each": ["X", "z", "Z"]}}},
            vec![],
            doc! {"a": ["x", "Y", "z"], "s": "b"},
        ),
        (doc! {"$min": {"s": "B"}}, vec![], before.clone()),
        (doc! {"$max": {"s": "C"}}, vec![], doc! {"a": ["x", "Y"], "s": "C"}),
        (
            doc! {"$push": {"a": {"$each": ["w"], "$sort": 1}}},
            vec![],
            doc! {"a": ["w", "x", "Y"], "s": "b"},
        ),
        (doc! {"$set": {"a.$[e]": 1}}, vec![doc! {"e": "y"}], doc! {"a": ["x", 1], "s": "b"}),
    ] {
        let filter = FilterOptions { collation: collation.clone(), ..FilterOptions::default() };
        let options = UpdateOptions { filter, ..UpdateOptions::default() };
        let applied = parse_with(&update, &filters, options).unwrap();
        let applied = applied.apply(&raw(&before), &CONTEXT).unwrap();
        assert_eq!(document(&applied.document), after, "{update}");
    }
}
