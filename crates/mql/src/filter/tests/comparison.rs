//! Comparisons: brackets of types, numbers, documents and arrays.

use std::sync::Arc;

use bson::{Bson, Document, doc};

use super::{check_values, matches, raw};
use crate::class::Class;
use crate::collation::Collation;
use crate::filter::{Filter, FilterOptions};
use crate::testing;

#[test]
fn only_values_of_one_class_are_compared() {
    let values = testing::one_of_each_class();
    for operand in &values {
        let operand: Bson = operand.clone().try_into().unwrap();
        if matches!(operand, Bson::Undefined | Bson::RegularExpression(_)) {
            continue;
        }
        for value in &values {
            let wanted = Class::of(super::value(operand.clone()).as_raw_bson_ref());
            let class = Class::of(value.as_raw_bson_ref());
            let value: Bson = value.clone().try_into().unwrap();
            let document = doc! {"a": value.clone()};
            let is = |operator: &str| {
                let mut condition = Document::new();
                condition.insert(operator, operand.clone());
                matches(&doc! {"a": condition}, &document)
            };
            // An empty array has no elements to compare, and there is one value of each class.
            let is_equal = class == wanted || class == Class::Undefined && wanted == Class::Null;
            assert_eq!(is("$eq"), is_equal, "{value} = {operand}");
            assert_eq!(is("$ne"), !is_equal, "{value} != {operand}");
            let is_above = wanted == Class::MinKey && class != wanted;
            let is_below = wanted == Class::MaxKey && class != wanted;
            assert_eq!(is("$gt"), is_above, "{value} > {operand}");
            assert_eq!(is("$gte"), is_above || is_equal, "{value} >= {operand}");
            assert_eq!(is("$lt"), is_below, "{value} < {operand}");
            assert_eq!(is("$lte"), is_below || is_equal, "{value} <= {operand}");
        }
    }
}

#[test]
fn missing_lies_between_the_extremes() {
    for (filter, expected) in [
        (doc! {"a": {"$gt": Bson::MinKey}}, true),
        (doc! {"a": {"$gte": Bson::MinKey}}, true),
        (doc! {"a": {"$lt": Bson::MinKey}}, false),
        (doc! {"a": Bson::MinKey}, false),
        (doc! {"a": {"$lte": Bson::MaxKey}}, true),
        (doc! {"a": {"$gt": Bson::MaxKey}}, false),
    ] {
        assert_eq!(matches(&filter, &doc! {}), expected, "{filter}");
    }
}

#[test]
fn numbers_are_compared_across_their_kinds() {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    check_values(
        1,
        &[
            (Bson::Int64(1), true),
            (Bson::Double(1.0), true),
            (decimal("1.00"), true),
            (Bson::Boolean(true), false),
            (Bson::String("1".to_owned()), false),
            (Bson::from(vec![0, 1]), true),
        ],
    );
    check_values(
        doc! {"$gt": 9_007_199_254_740_992.0},
        &[
            (Bson::Int64(9_007_199_254_740_993), true),
            (Bson::Int64(9_007_199_254_740_992), false),
            (decimal("9007199254740992.1"), true),
        ],
    );
}

#[test]
fn nan_equals_itself_alone() {
    let nan = Bson::Double(f64::NAN);
    let decimal_nan = Bson::Decimal128("NaN".parse().unwrap());
    for operator in ["$eq", "$gte", "$lte"] {
        let mut condition = Document::new();
        condition.insert(operator, nan.clone());
        check_values(
            condition,
            &[
                (nan.clone(), true),
                (decimal_nan.clone(), true),
                (Bson::Int32(0), false),
                (Bson::Double(f64::NEG_INFINITY), false),
            ],
        );
    }
    check_values(doc! {"$lt": 5}, &[(nan.clone(), false)]);
    check_values(doc! {"$lt": nan.clone()}, &[(Bson::Int32(1), false), (nan.clone(), false)]);
    check_values(doc! {"$in": [nan.clone()]}, &[(nan, true), (Bson::Int32(1), false)]);
}

#[test]
fn documents_are_equal_in_the_same_order_of_fields() {
    let condition = doc! {"x": 1, "y": 2};
    check_values(
        condition,
        &[
            (doc! {"x": 1, "y": 2}.into(), true),
            (doc! {"x": 1.0, "y": 2_i64}.into(), true),
            (doc! {"y": 2, "x": 1}.into(), false),
            (doc! {"x": 1, "y": 2, "z": 3}.into(), false),
            (Bson::from(vec![doc! {"x": 1, "y": 2}]), true),
        ],
    );
    check_values(
        doc! {"$gt": {"x": 1}},
        &[
            (doc! {"x": 2}.into(), true),
            (doc! {"x": 1, "a": 0}.into(), true),
            (doc! {"x": 1}.into(), false),
            (doc! {"a": 2}.into(), false),
            (Bson::Int32(5), false),
        ],
    );
    // A reference is a value.
    check_values(
        doc! {"$ref": "c", "$id": 1},
        &[
            (doc! {"$ref": "c", "$id": 1}.into(), true),
            (doc! {"$ref": "c", "$id": 2}.into(), false),
        ],
    );
    check_values(doc! {}, &[(doc! {}.into(), true), (doc! {"x": 1}.into(), false)]);
}

#[test]
fn arrays_are_equal_as_a_whole_or_as_an_element() {
    check_values(
        vec![1, 2],
        &[
            (Bson::from(vec![1, 2]), true),
            (Bson::from(vec![Bson::from(vec![1, 2]), Bson::Int32(3)]), true),
            (Bson::from(vec![2, 1]), false),
            (Bson::from(vec![1, 2, 3]), false),
            (Bson::from(vec![vec![vec![1, 2]]]), false),
            (Bson::Int32(1), false),
        ],
    );
    check_values(
        doc! {"$gt": [1]},
        &[
            (Bson::from(vec![1, 0]), true),
            (Bson::from(vec![2]), true),
            (Bson::from(vec![1]), false),
            (Bson::from(Vec::<i32>::new()), false),
            (Bson::from(vec![vec![5]]), true),
            (Bson::Int32(5), false),
        ],
    );
}

#[test]
fn strings_and_symbols_are_alike() {
    check_values(
        "a",
        &[
            (Bson::Symbol("a".to_owned()), true),
            (Bson::String("A".to_owned()), false),
            (Bson::JavaScriptCode("a".to_owned()), false),
        ],
    );
}

#[test]
fn strings_are_compared_by_the_collation() {
    let collation = raw(&doc! {"locale": "en", "strength": 2});
    let collation = Collation::parse(&collation).unwrap().map(Arc::new);
    let options = FilterOptions { collation, ..FilterOptions::default() };
    let cases = [
        (doc! {"a": "PING"}, true),
        (doc! {"a": {"$ne": "PING"}}, false),
        (doc! {"a": {"$in": ["x", "PinG"]}}, true),
        (doc! {"a": {"$gte": "PING", "$lte": "PING"}}, true),
        (doc! {"b": {"x": "PONG"}}, true),
        (doc! {"a": {"$regex": "PING"}}, false),
        (doc! {"c": {"$all": ["ONE"]}}, true),
    ];
    let document = raw(&doc! {"a": "ping", "b": {"x": "pong"}, "c": ["one"]});
    for (filter, expected) in cases {
        let parsed = Filter::parse(&raw(&filter), &options).unwrap();
        assert_eq!(parsed.matches(&document), Ok(expected), "{filter}");
    }
}
