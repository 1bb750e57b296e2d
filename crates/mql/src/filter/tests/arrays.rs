//! Arrays: paths through them, `$elemMatch`, `$all`, `$size`, positions, and single values.

use bson::{Bson, Document, doc};

use super::{check_values, matches, parse, raw, value};
use crate::filter::{Filter, FilterOptions, Found};

#[test]
fn conditions_may_be_met_by_different_elements() {
    let document = doc! {"a": [{"x": 1, "y": 9}, {"x": 5, "y": 1}], "n": [1, 10]};
    for (filter, expected) in [
        (doc! {"a.x": 1, "a.y": 1}, true),
        (doc! {"a": {"$elemMatch": {"x": 1, "y": 1}}}, false),
        (doc! {"a": {"$elemMatch": {"x": 5, "y": 1}}}, true),
        (doc! {"a": {"$elemMatch": {"x": {"$gt": 1}, "y": {"$lt": 5}}}}, true),
        (doc! {"a": {"$elemMatch": {"$or": [{"x": 7}, {"y": 9}]}}}, true),
        (doc! {"a": {"$elemMatch": {}}}, true),
        (doc! {"n": {"$gt": 3, "$lt": 7}}, true),
        (doc! {"n": {"$elemMatch": {"$gt": 3, "$lt": 7}}}, false),
        (doc! {"n": {"$elemMatch": {"$gt": 3, "$lt": 17}}}, true),
        (doc! {"n": {"$elemMatch": {"$not": {"$gt": 3}}}}, true),
        (doc! {"n": {"$elemMatch": {"$nin": [1, 10]}}}, false),
        (doc! {"n": {"$not": {"$elemMatch": {"$gt": 10}}}}, true),
        (doc! {"a.x": {"$elemMatch": {"$eq": 1}}}, false),
        (doc! {"a": {"x": 1, "y": 9}}, true),
        (doc! {"a.0.x": 1}, true),
        (doc! {"a.1.x": 1}, false),
        (doc! {"a.0": {"x": 1, "y": 9}}, true),
        (doc! {"n.1": 10}, true),
        (doc! {"n.2": {"$exists": false}}, true),
        (doc! {"n.01": 10}, false),
    ] {
        assert_eq!(matches(&filter, &document), expected, "{filter}");
    }
}

#[test]
fn nested_arrays_are_entered_once() {
    check_values(5, &[(Bson::from(vec![vec![5]]), false), (Bson::from(vec![5]), true)]);
    let document = doc! {"a": [[1, 2], [{"b": 3}]], "c": [{"1": 4}, 5]};
    for (filter, expected) in [
        (doc! {"a": 1}, false),
        (doc! {"a": [1, 2]}, true),
        // An element that the path names is not entered.
        (doc! {"a.0": 1}, false),
        (doc! {"a.0": [1, 2]}, true),
        (doc! {"a.0.1": 2}, true),
        (doc! {"a.1.b": 3}, true),
        (doc! {"a.b": 3}, false),
        (doc! {"a": {"$elemMatch": {"$elemMatch": {"$eq": 2}}}}, true),
        (doc! {"a": {"$elemMatch": {"0": 1}}}, true),
        (doc! {"c.1": 4}, true),
        (doc! {"c.1": 5}, true),
    ] {
        assert_eq!(matches(&filter, &document), expected, "{filter}");
    }
}

#[test]
fn all_wants_each_of_its_values() {
    let all = |values: Vec<Bson>| doc! {"$all": values};
    check_values(
        all(vec![1.into(), 2.into()]),
        &[(Bson::from(vec![2, 1, 3]), true), (Bson::from(vec![1]), false), (Bson::Int32(1), false)],
    );
    check_values(all(vec![1.into()]), &[(Bson::Int32(1), true)]);
    check_values(all(vec![]), &[(Bson::from(Vec::<i32>::new()), false)]);
    check_values(
        all(vec![vec![1, 2].into()]),
        &[(Bson::from(vec![1, 2]), true), (Bson::from(vec![vec![1, 2]]), true)],
    );
    let any = |x: i32, y: i32| Bson::from(doc! {"$elemMatch": {"x": x, "y": y}});
    check_values(
        all(vec![any(1, 2), any(3, 4)]),
        &[
            (Bson::from(vec![doc! {"x": 3, "y": 4}, doc! {"x": 1, "y": 2}]), true),
            (Bson::from(vec![doc! {"x": 1, "y": 2}, doc! {"x": 1, "y": 4}]), false),
            (Bson::from(doc! {"x": 1, "y": 2}), false),
        ],
    );
    let regex = Bson::RegularExpression(bson::Regex {
        pattern: crate::testing::name("^a"),
        options: crate::testing::name(""),
    });
    check_values(
        all(vec![regex, "b".into()]),
        &[(Bson::from(vec!["ab", "b"]), true), (Bson::from(vec!["ab", "c"]), false)],
    );
}

#[test]
fn size_counts_the_elements_of_the_array_itself() {
    check_values(
        doc! {"$size": 2},
        &[
            (Bson::from(vec![1, 2]), true),
            (Bson::from(vec![1]), false),
            (Bson::from(vec![vec![1, 2]]), false),
            (Bson::Int32(2), false),
            (doc! {"x": 1, "y": 2}.into(), false),
        ],
    );
    check_values(doc! {"$size": 0}, &[(Bson::from(Vec::<i32>::new()), true)]);
    assert!(matches(&doc! {"a.b": {"$size": 1}}, &doc! {"a": [{"b": []}, {"b": [1]}]}));
}

#[test]
fn the_position_is_that_of_the_element_that_matched() {
    let check = |filter: Document, document: Document, expected: Option<Option<usize>>| {
        let found = parse(&filter).unwrap().find(&raw(&document)).unwrap();
        assert_eq!(found, expected.map(|position| Found { position }), "{filter} on {document}");
    };
    check(doc! {"a": 2}, doc! {"a": [1, 2, 2]}, Some(Some(1)));
    check(doc! {"a": 2}, doc! {"a": [1]}, None);
    check(doc! {"a": 2}, doc! {"a": 2}, Some(None));
    check(doc! {"a": [1, 2]}, doc! {"a": [1, 2]}, Some(None));
    check(doc! {"a.b": 2}, doc! {"a": [{"b": 1}, {"b": 2}]}, Some(Some(1)));
    // The outermost array that was entered counts.
    check(doc! {"a.b": 2}, doc! {"a": [{"b": 1}, {"b": [0, 0, 2]}]}, Some(Some(1)));
    check(doc! {"a.1.b": 2}, doc! {"a": [{"b": 1}, {"b": [0, 0, 2]}]}, Some(Some(2)));
    let two = doc! {"a": [{"x": 1, "y": 1}, {"x": 1, "y": 2}]};
    check(doc! {"a": {"$elemMatch": {"x": 1, "y": 2}}}, two, Some(Some(1)));
    check(
        doc! {"a.b": {"$elemMatch": {"$gt": 1}}},
        doc! {"a": [{"b": [0]}, {"b": [0, 2]}]},
        Some(Some(1)),
    );
    check(doc! {"a.b": {"$elemMatch": {"$gt": 1}}}, doc! {"a": {"b": [0, 2]}}, Some(Some(1)));
    check(doc! {"a": {"$elemMatch": {"$gte": 5}}}, doc! {"a": [1, 7, 9]}, Some(Some(1)));
    check(doc! {"a": {"$in": [9, 7]}}, doc! {"a": [1, 7, 9]}, Some(Some(1)));
    check(doc! {"a": {"$gt": 1, "$lt": 3}, "z": 1}, doc! {"a": [1, 5, 2], "z": 1}, Some(Some(0)));
    // Neither negations nor alternatives say where.
    check(doc! {"$or": [{"a": 2}]}, doc! {"a": [1, 2]}, Some(None));
    check(doc! {"a": {"$ne": 5}}, doc! {"a": [1, 2]}, Some(None));
    check(doc! {"$and": [{"a": 2}, {"b": 3}]}, doc! {"a": [1, 2], "b": 3}, Some(Some(1)));
    check(doc! {"a": {"$size": 2}}, doc! {"a": [1, 2]}, Some(None));
}

#[test]
fn values_are_matched_by_the_first_part_of_paths() {
    let check = |filter: Document, element: Bson, expected: bool| {
        let parsed = parse(&filter).unwrap();
        let element = value(element);
        assert_eq!(parsed.matches_value(element.as_raw_bson_ref()), Ok(expected), "{filter}");
    };
    check(doc! {"e": {"$gte": 5}}, 6.into(), true);
    check(doc! {"e": {"$gte": 5}}, 4.into(), false);
    check(doc! {"e": {"$gte": 5}}, vec![1, 6].into(), true);
    check(doc! {"e.x": 1, "e.y": 2}, doc! {"x": 1, "y": 2}.into(), true);
    check(doc! {"$or": [{"e.x": 1}, {"e": 3}]}, 3.into(), true);
    check(doc! {"e.x": {"$exists": false}}, 3.into(), true);

    let condition = value(doc! {"$in": [1, 2]});
    let options = FilterOptions::default();
    let parsed = Filter::parse_condition(condition.as_raw_bson_ref(), &options).unwrap();
    assert_eq!(parsed.matches_value(value(2).as_raw_bson_ref()), Ok(true));
    assert_eq!(parsed.matches_value(value(3).as_raw_bson_ref()), Ok(false));
}

#[test]
fn array_filters_have_one_identifier() {
    let of = |filter: Document| {
        let parsed = parse(&filter).unwrap();
        parsed.identifier().map(|name| name.map(str::to_owned)).map_err(|error| error.message)
    };
    assert_eq!(of(doc! {"x.a": 1, "$or": [{"x": 2}, {"x.b": 3}]}), Ok(Some("x".to_owned())));
    assert_eq!(of(doc! {}), Ok(None));
    assert_eq!(
        of(doc! {"x": 1, "y": 2}),
        Err("Expected a single top-level field name, found 'x' and 'y'".to_owned())
    );
    let options = FilterOptions { allows_expressions: false, ..FilterOptions::default() };
    let error = Filter::parse(&raw(&doc! {"$expr": 1}), &options).unwrap_err();
    assert_eq!(
        (error.code.number(), error.message.as_str()),
        (224, "$expr is not allowed in this context")
    );
}
