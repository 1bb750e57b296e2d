//! Projections against tables of documents.

use bson::{Bson, DateTime, Document, RawDocumentBuf, Timestamp, doc};
use proptest::prelude::*;

use super::{Mode, Projection, ProjectionOptions};
use crate::error::Result;
use crate::expression::{Context, Random, Scope};
use crate::testing;

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn project_in(
    mode: Mode,
    document: &Document,
    projection: &Document,
    matched: Option<usize>,
) -> Result<Document> {
    let projection = Projection::parse(&raw(projection), &ProjectionOptions::new(mode))?;
    let random = Random::new(1);
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    let document = raw(document);
    let projected = projection.apply(&document, &Scope::new(&document, &context), matched)?;
    Ok(Document::try_from(&projected).unwrap())
}

fn project(document: &Document, projection: &Document) -> Result<Document> {
    project_in(Mode::Find, document, projection, None)
}

#[track_caller]
fn check(document: &Document, cases: &[(Document, Document)]) {
    for (projection, expected) in cases {
        let projected = project(document, projection);
        let projected = projected.unwrap_or_else(|error| panic!("{projection}: {error:?}"));
        assert_eq!(projected, *expected, "{document} {projection}");
    }
}

#[track_caller]
fn check_errors(mode: Mode, cases: &[(Document, i32, &str)]) {
    for (projection, code, message) in cases {
        let error = Projection::parse(&raw(projection), &ProjectionOptions::new(mode));
        let error = error.expect_err(&projection.to_string());
        assert_eq!((error.code.number(), &*error.message), (*code, *message), "{projection}");
    }
}

#[test]
fn fields_are_included() {
    let document =
        doc! {"_id": 1, "b": 2, "a": {"x": 1, "y": 2}, "l": [{"x": 1, "y": 2}, 5, [{"x": 3}]]};
    check(
        &document,
        &[
            (doc! {"a": 1, "b": 1}, doc! {"_id": 1, "b": 2, "a": {"x": 1, "y": 2}}),
            (doc! {"b": true, "_id": 0}, doc! {"b": 2}),
            (doc! {"_id": 1}, doc! {"_id": 1}),
            (doc! {"a.x": 1}, doc! {"_id": 1, "a": {"x": 1}}),
            (doc! {"a": {"x": 1, "z": 1}}, doc! {"_id": 1, "a": {"x": 1}}),
            (doc! {"a.z": 1, "_id": 0}, doc! {"a": {}}),
            (doc! {"b.z": 1, "_id": 0}, doc! {}),
            (doc! {"l.x": 1, "_id": 0}, doc! {"l": [{"x": 1}, [{"x": 3}]]}),
            (doc! {"q": 0.5, "_id": 0}, doc! {}),
        ],
    );
    check(&doc! {"_id": {"p": 1, "q": 2}, "a": 1}, &[(doc! {"_id.p": 1}, doc! {"_id": {"p": 1}})]);
}

#[test]
fn fields_are_excluded() {
    let document =
        doc! {"_id": 1, "b": 2, "a": {"x": 1, "y": 2}, "l": [{"x": 1, "y": 2}, 5, [{"x": 3}]]};
    check(
        &document,
        &[
            (doc! {}, document.clone()),
            (doc! {"a": 0, "l": false}, doc! {"_id": 1, "b": 2}),
            (doc! {"a": 0, "l": 0, "_id": 0}, doc! {"b": 2}),
            (doc! {"a": 0, "l": 0, "_id": 1}, doc! {"_id": 1, "b": 2}),
            (doc! {"_id": 0, "l": 0, "a.x": 0}, doc! {"b": 2, "a": {"y": 2}}),
            (doc! {"a": {"x": 0, "y": 0}, "l": 0, "b.q": 0}, doc! {"_id": 1, "b": 2, "a": {}}),
            (doc! {"l.x": 0, "a": 0, "b": 0}, doc! {"_id": 1, "l": [{"y": 2}, 5, [{}]]}),
        ],
    );
    check(&doc! {"_id": 1, "a": 1}, &[(doc! {"_id": 0}, doc! {"a": 1})]);
    let options = ProjectionOptions::new(Mode::Find);
    assert!(Projection::parse(&raw(&doc! {"_id": 0}), &options).unwrap().is_exclusion());
    assert!(!Projection::parse(&raw(&doc! {"_id": 1}), &options).unwrap().is_exclusion());
}

#[test]
fn arrays_are_sliced() {
    let document = doc! {"_id": 1, "a": [1, 2, 3, 4], "b": 2, "c": {"d": [5, 6], "e": 7}};
    let slice = |operand: Bson| {
        let projected = project(&document, &doc! {"a": {"$slice": operand}}).unwrap();
        assert_eq!(projected.len(), 4);
        projected.get_array("a").unwrap().clone()
    };
    let ints = |ints: &[i32]| ints.iter().copied().map(Bson::Int32).collect::<Vec<_>>();
    assert_eq!(slice(2.into()), ints(&[1, 2]));
    assert_eq!(slice((-3).into()), ints(&[2, 3, 4]));
    assert_eq!(slice(0.into()), ints(&[]));
    assert_eq!(slice(1.9.into()), ints(&[1]));
    assert_eq!(slice(1e300.into()), ints(&[1, 2, 3, 4]));
    assert_eq!(slice(vec![1, 2].into()), ints(&[2, 3]));
    assert_eq!(slice(vec![-2, 1].into()), ints(&[3]));
    assert_eq!(slice(vec![-9, 2].into()), ints(&[1, 2]));
    assert_eq!(slice(vec![9, 2].into()), ints(&[]));
    check(
        &document,
        &[
            (doc! {"a": {"$slice": 1}, "b": 1}, doc! {"_id": 1, "a": [1], "b": 2}),
            (
                doc! {"a": 0, "c.d": {"$slice": -1}, "b": {"$slice": 1}},
                doc! {"_id": 1, "b": 2, "c": {"d": [6], "e": 7}},
            ),
            (doc! {"_id": 0, "b": 1, "c.d": {"$slice": 1}}, doc! {"b": 2, "c": {"d": [5]}}),
        ],
    );
    check(
        &doc! {"a": [{"b": [1, 2]}, {"b": [3]}]},
        &[(doc! {"a.b": {"$slice": 1}}, doc! {"a": [{"b": [1]}, {"b": [3]}]})],
    );
    for (operand, reason) in [
        (
            Bson::from("x"),
            "Location31273: $slice only supports numbers and [skip, limit] arrays ::",
        ),
        (vec![1].into(), "Location31272: $slice array argument should be of form [skip, limit] ::"),
    ] {
        let error = project(&document, &doc! {"a": {"$slice": operand}}).unwrap_err();
        assert_eq!(error.code.number(), 28_667);
        assert!(error.message.contains(reason), "{error}");
    }
    let error = project(&document, &doc! {"a": {"$slice": [1, 0]}}).unwrap_err();
    assert_eq!(error.code.number(), 28_724);
}

#[test]
fn elements_are_matched() {
    let document = doc! {"_id": 1, "a": [{"x": 1}, {"x": 5, "y": 1}, {"x": 5}], "b": [1, 7, 9]};
    check(
        &document,
        &[
            (doc! {"a": {"$elemMatch": {"x": 5}}}, doc! {"_id": 1, "a": [{"x": 5, "y": 1}]}),
            (
                doc! {"a": {"$elemMatch": {"x": 5}}, "b": 1},
                doc! {"_id": 1, "b": [1, 7, 9], "a": [{"x": 5, "y": 1}]},
            ),
            (doc! {"b": {"$elemMatch": {"$gt": 5}}, "_id": 0}, doc! {"b": [7]}),
            (doc! {"b": {"$elemMatch": {"$gt": 50}}}, doc! {"_id": 1}),
            (doc! {"_id": 0, "q": {"$elemMatch": {"$gt": 50}}}, doc! {}),
        ],
    );
}

#[test]
fn a_dollar_stands_for_the_matched_element() {
    let document = doc! {"_id": 1, "a": [{"x": [1, 2], "y": 1}, {"x": [3, 4], "y": 2}], "c": {"d": [5, 6]}, "s": 1};
    let at =
        |projection: Document, matched| project_in(Mode::Find, &document, &projection, matched);
    let second = doc! {"x": [3, 4], "y": 2};
    assert_eq!(at(doc! {"a.$": 1}, Some(1)).unwrap(), doc! {"_id": 1, "a": [second]});
    assert_eq!(
        at(doc! {"c.d.$": 1, "s": 1}, Some(0)).unwrap(),
        doc! {"_id": 1, "c": {"d": [5]}, "s": 1}
    );
    assert_eq!(at(doc! {"a.x.$": 1}, Some(1)).unwrap(), doc! {"_id": 1, "a": [{"x": [3, 4]}]});
    assert_eq!(at(doc! {"s.$": 1}, None).unwrap(), doc! {"_id": 1, "s": 1});
    let error = at(doc! {"a.$": 1}, None).unwrap_err();
    assert_eq!(error.code.number(), 51_246);
    assert_eq!(
        error.message,
        "positional operator '.$' couldn't find a matching element in the array"
    );
    assert_eq!(at(doc! {"a.$": 1}, Some(2)).unwrap_err().code.number(), 51_247);
}

#[test]
fn values_are_computed() {
    let document = doc! {"_id": 1, "a": 5, "b": {"c": 6}, "l": [{"x": 1}, 2]};
    check(
        &document,
        &[
            (doc! {"a": 1, "z": "text", "y": "$b.c"}, doc! {"_id": 1, "a": 5, "z": "text", "y": 6}),
            (doc! {"a": "$b.c"}, doc! {"_id": 1, "a": 6}),
            (doc! {"n": "$missing", "_id": 0}, doc! {}),
            (doc! {"n": {"$add": ["$a", "$b.c"]}, "_id": 0}, doc! {"n": 11}),
            (doc! {"b": {"c": {"$literal": 1}}, "_id": 0}, doc! {"b": {"c": 1}}),
            (doc! {"l": {"$slice": ["$l", 1]}, "_id": 0}, doc! {"l": [{"x": 1}]}),
            (doc! {"l.x": {"$add": ["$a", 1]}, "_id": 0}, doc! {"l": [{"x": 6}]}),
            (doc! {"n.m": "$a", "_id": 0}, doc! {"n": {"m": 5}}),
            (doc! {"b": {"d": "$a", "c": 1}, "_id": 0}, doc! {"b": {"c": 6, "d": 5}}),
            (doc! {"l.y": "$a", "_id": 0}, doc! {"l": [{"y": 5}]}),
            (doc! {"a.q": "$b.c", "_id": 0}, doc! {"a": {"q": 6}}),
            (doc! {"n": null, "m": ["$a", 1], "_id": 0}, doc! {"n": null, "m": [5, 1]}),
            (doc! {"a": 1, "_id": "$b.c"}, doc! {"_id": 6, "a": 5}),
        ],
    );
    let aggregated = project_in(Mode::Aggregate, &document, &doc! {"b.c": 1, "n": "$a"}, None);
    assert_eq!(aggregated.unwrap(), doc! {"_id": 1, "b": {"c": 6}, "n": 5});
}

#[test]
fn what_contradicts_itself_is_refused() {
    check_errors(
        Mode::Find,
        &[
            (
                doc! {"a": 1, "b": 0},
                31_254,
                "Cannot do exclusion on field b in inclusion projection",
            ),
            (
                doc! {"a": 0, "b": 1},
                31_253,
                "Cannot do inclusion on field b in exclusion projection",
            ),
            (
                doc! {"a": 0, "b.c": 1},
                31_253,
                "Cannot do inclusion on field b.c in exclusion projection",
            ),
            (
                doc! {"a": {"x": 1, "y": 0}},
                31_254,
                "Cannot do exclusion on field a.y in inclusion projection",
            ),
            (
                doc! {"a": 0, "b": {"c": "x"}},
                31_310,
                "Cannot use an expression other than $meta in exclusion projection",
            ),
            (
                doc! {"a": 0, "b": ["x"]},
                31_252,
                "Cannot use an expression other than $meta in exclusion projection",
            ),
            (doc! {"a": 1, "a.b": 1}, 31_249, "Path collision at a.b remaining portion b"),
            (doc! {"a.b": 1, "a.b.c": 1}, 31_249, "Path collision at a.b.c remaining portion b.c"),
            (doc! {"a.b.c": 1, "a.b": 1}, 31_250, "Path collision at a.b"),
            (doc! {"a": {"b": 1}, "a.b": 1}, 31_250, "Path collision at a.b"),
            (
                doc! {"a": {}},
                51_270,
                "An empty sub-projection is not a valid value. Found empty object at path",
            ),
        ],
    );
}

#[test]
fn wrong_paths_are_refused() {
    let cases = [
        (doc! {"": 1}, 40_352, "FieldPath cannot be constructed with empty string"),
        (doc! {"a.": 1}, 40_353, "FieldPath must not end with a '.'."),
        (doc! {"a..b": 1}, 15_998, "FieldPath field names may not be empty strings."),
        (
            doc! {"$a": 1},
            16_410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! {"a.$b": 1},
            16_410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
    ];
    check_errors(Mode::Find, &cases);
    check_errors(Mode::Aggregate, &cases);
    check_errors(
        Mode::Aggregate,
        &[
            (doc! {}, 51_272, "projection specification must have at least one field"),
            (doc! {"a.$": 1}, 31_324, "Cannot use positional projection in aggregation projection"),
        ],
    );
    let deep = |levels| (0..levels).fold(doc! {"a": 1}, |inner, _| doc! {"a": inner});
    check_errors(
        Mode::Find,
        &[(deep(210), 15, "FieldPath is too long"), (deep(300), 15, "nesting too deep")],
    );
}

#[test]
fn wrong_operators_are_refused() {
    check_errors(
        Mode::Find,
        &[
            (doc! {"a.$": 0}, 31_395, "positional projection cannot be used with exclusion"),
            (doc! {"a.$": "x"}, 31_308, "positional projection cannot be used with a literal"),
            (
                doc! {"a.$": {"b": 1}},
                31_271,
                "positional projection cannot be used with an expression or sub object",
            ),
            (
                doc! {"a.$": 1, "b.$": 1},
                31_276,
                "Cannot specify more than one positional projection per query.",
            ),
            (
                doc! {"a.$": 1, "b": {"$elemMatch": {"x": 1}}},
                31_255,
                "Cannot specify positional operator and $elemMatch.",
            ),
            (
                doc! {"b": {"$elemMatch": {"x": 1}}, "a.$": 1},
                31_256,
                "Cannot specify positional operator and $elemMatch.",
            ),
            (
                doc! {"a": 0, "b.$": 1},
                31_253,
                "Cannot do inclusion on field b.$ in exclusion projection",
            ),
            (
                doc! {"a.$.b": 1},
                31_394,
                "As of 4.4, it's illegal to specify positional operator in the middle of a \
             path.Positional projection may only be used at the end, for example: a.b.$. If the \
             query previously used a form like a.b.$.d, remove the parts following the '$' and the \
             results will be equivalent.",
            ),
            (
                doc! {"a": {"$elemMatch": 1}},
                31_274,
                "elemMatch: Invalid argument, object required, but got int",
            ),
            (
                doc! {"a.b": {"$elemMatch": {"x": 1}}},
                31_275,
                "Cannot use $elemMatch projection on a nested field.",
            ),
            (
                doc! {"a": {"$meta": "textScore"}},
                40_218,
                "query requires text score metadata, but it is not available",
            ),
            (doc! {"a": {"$meta": "x"}}, 17_308, "Unsupported argument to $meta: x"),
        ],
    );
}

#[test]
fn compiled_projections_are_shared_between_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    let options = ProjectionOptions::new(Mode::Find);
    check(&Projection::parse(&raw(&doc! {"a": {"$elemMatch": {"$gt": 1}}}), &options).unwrap());
}

fn fields() -> impl Strategy<Value = Document> {
    proptest::collection::vec(("[abcd]", testing::bson()), 0..5)
        .prop_map(|fields| fields.into_iter().collect())
}

/// The values at which paths end, with these paths: through documents, and through arrays as far as
/// their elements are documents.
fn leaves(document: &Document, path: &str, found: &mut Vec<(String, Bson)>) {
    for (name, value) in document {
        let path = format!("{path}.{name}");
        match value {
            Bson::Document(inner) if !inner.is_empty() => leaves(inner, &path, found),
            value => found.push((path, value.clone())),
        }
    }
}

proptest! {
    #[test]
    fn inclusion_and_exclusion_divide_a_document(
        document in fields(),
        names in proptest::collection::btree_set("[abcd](\\.[ab])?", 1..4),
    ) {
        let list = |flag: i32| {
            names.iter().map(|name| (name.clone(), Bson::Int32(flag))).collect::<Document>()
        };
        let (mut included, excluded) = (list(1), list(0));
        included.insert("_id", 0);
        let included = project(&document, &included);
        let excluded = project(&document, &excluded);
        let collides = names.iter().any(|name| name.len() > 1 && names.contains(&name[..1]));
        prop_assert_eq!(included.is_err(), collides);
        if let (Ok(included), Ok(excluded)) = (included, excluded) {
            let (mut all, mut parts) = (Vec::new(), Vec::new());
            leaves(&document, "", &mut all);
            leaves(&included, "", &mut parts);
            leaves(&excluded, "", &mut parts);
            // What is entered may leave an empty document or an array on either side.
            let is_whole = |(_, value): &(String, Bson)| {
                !matches!(value, Bson::Document(_) | Bson::Array(_))
            };
            all.retain(is_whole);
            parts.retain(is_whole);
            let sorted = |mut list: Vec<(String, Bson)>| {
                list.sort_by_key(|(path, _)| path.clone());
                format!("{list:?}")
            };
            prop_assert_eq!(sorted(all), sorted(parts));
        }
    }

    #[test]
    fn any_document_is_a_projection_or_is_refused(
        document in fields(),
        fields in fields(),
        operator in 0..4_usize,
        operand in testing::bson(),
        matched in proptest::option::of(0..3_usize),
    ) {
        let operator = ["$slice", "$elemMatch", "$add", "$meta"][operator];
        let projection = doc! {"a": 1, "d.b": {operator: operand}};
        let all = [fields.clone(), projection, doc! {"b": fields, "a.b.$": 1}];
        for projection in all {
            for mode in [Mode::Find, Mode::Aggregate] {
                if let Ok(projected) = project_in(mode, &document, &projection, matched) {
                    prop_assert!(raw(&projected).as_bytes().len() >= 5);
                }
            }
        }
    }

    #[test]
    fn nested_and_dotted_forms_are_the_same(document in fields(), flag in 0..2_i32) {
        let nested = project(&document, &doc! {"a": {"b": flag, "c": flag}}).unwrap();
        let dotted = project(&document, &doc! {"a.b": flag, "a.c": flag}).unwrap();
        prop_assert_eq!(raw(&nested), raw(&dotted));
    }
}
