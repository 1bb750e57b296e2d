//! Each operator with values that match and values that do not.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Regex, doc};

use super::{check_values, matches, parse, raw};
use crate::expression::Variables;
use crate::expression::{Computed, Context, Random, Scope};
use crate::filter::{Filter, FilterOptions};
use crate::testing;

fn regex(pattern: &str, options: &str) -> Bson {
    Bson::RegularExpression(Regex {
        pattern: testing::name(pattern),
        options: testing::name(options),
    })
}

fn binary(bytes: &[u8]) -> Bson {
    Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() })
}

#[test]
fn logical_operators_combine_filters() {
    let document = doc! {"a": 1, "b": 2};
    for (filter, expected) in [
        (doc! {}, true),
        (doc! {"a": 1, "b": 2}, true),
        (doc! {"a": 1, "b": 3}, false),
        (doc! {"$and": [{"a": 1}, {"b": 3}]}, false),
        (doc! {"$or": [{"a": 5}, {"b": 2}]}, true),
        (doc! {"$or": [{"a": 5}, {"b": 5}]}, false),
        (doc! {"$nor": [{"a": 5}, {"b": 5}]}, true),
        (doc! {"$nor": [{"a": 5}, {"b": 2}]}, false),
        (doc! {"$nor": [{}]}, false),
        (doc! {"a": {"$not": {"$gt": 1}}}, true),
        (doc! {"a": {"$not": {"$gt": 0, "$lt": 9}}}, false),
        (doc! {"a": {"$not": {"$not": {"$eq": 1}}}}, true),
        (doc! {"$comment": "why", "a": 1}, true),
        (doc! {"$alwaysTrue": 1}, true),
        (doc! {"$alwaysFalse": 1.0}, false),
        (doc! {"$or": [{"$and": [{"a": 1}, {"b": 2}]}, {"$alwaysFalse": 1}]}, true),
    ] {
        assert_eq!(matches(&filter, &document), expected, "{filter}");
    }
}

#[test]
fn sets_hold_values_and_regular_expressions() {
    check_values(
        doc! {"$in": [1, "x", [1, 2], {"k": 1}, regex("^ab", "i")]},
        &[
            (Bson::Int64(1), true),
            ("x".into(), true),
            ("ABc".into(), true),
            ("cab".into(), false),
            (regex("^ab", "i"), true),
            (regex("^ab", ""), false),
            (vec![1, 2].into(), true),
            (vec![3, 1].into(), true),
            (doc! {"k": 1}.into(), true),
            (doc! {"k": 1, "l": 1}.into(), false),
            (Bson::Null, false),
        ],
    );
    check_values(
        doc! {"$nin": [1, regex("b", "")]},
        &[
            (1.into(), false),
            ("abc".into(), false),
            (vec![5, 1].into(), false),
            ("x".into(), true),
            (Bson::Null, true),
        ],
    );
}

#[test]
fn types_have_numbers_and_names() {
    for (types, value) in [
        (Bson::from("double"), Bson::Double(1.0)),
        (1.into(), Bson::Double(1.0)),
        ("string".into(), "x".into()),
        ("object".into(), doc! {}.into()),
        (5.into(), binary(&[1])),
        ("bool".into(), true.into()),
        (Bson::Double(10.0), Bson::Null),
        ("regex".into(), regex("a", "")),
        ("symbol".into(), Bson::Symbol("s".to_owned())),
        (16.into(), 1.into()),
        ("long".into(), 1_i64.into()),
        ("number".into(), Bson::Decimal128("1".parse().unwrap())),
        ((-1).into(), Bson::MinKey),
        (127.into(), Bson::MaxKey),
        ("undefined".into(), Bson::Undefined),
        (vec!["string", "int"].into(), 1.into()),
    ] {
        check_values(
            doc! {"$type": types.clone()},
            &[
                (value.clone(), true),
                (vec![value].into(), true),
                (Bson::JavaScriptCode("f".to_owned()), false),
            ],
        );
    }
    check_values(
        doc! {"$type": "array"},
        &[
            (vec![1].into(), true),
            (Bson::from(Vec::<i32>::new()), true),
            (Bson::from(vec![vec![1]]), true),
            (1.into(), false),
        ],
    );
    check_values(doc! {"$type": "number"}, &[("1".into(), false), (true.into(), false)]);
}

#[test]
fn remainders_are_those_of_whole_parts() {
    check_values(
        doc! {"$mod": [4, 1]},
        &[
            (5.into(), true),
            (Bson::Double(5.9), true),
            (Bson::Decimal128("5.9".parse().unwrap()), true),
            (4.into(), false),
            ((-3).into(), false),
            (Bson::Double(f64::NAN), false),
            (Bson::Double(f64::INFINITY), false),
            (Bson::Double(1e300), false),
            ("5".into(), false),
            (vec![4, 5].into(), true),
        ],
    );
    check_values(doc! {"$mod": [4.9, -3.2]}, &[((-7).into(), true), (1.into(), false)]);
    check_values(doc! {"$mod": [-1, 0]}, &[(i64::MIN.into(), true)]);
}

#[test]
fn regular_expressions_search_strings() {
    check_values(
        doc! {"$regex": "^A.c$", "$options": "is"},
        &[
            ("abc".into(), true),
            ("a\nc".into(), true),
            ("xabc".into(), false),
            (Bson::Symbol("ABC".to_owned()), true),
            (regex("^A.c$", "is"), true),
            (regex("^A.c$", ""), false),
            (5.into(), false),
            (Bson::JavaScriptCode("abc".to_owned()), false),
            (vec!["x", "abc"].into(), true),
        ],
    );
    check_values(regex("b", ""), &[("abc".into(), true), ("ac".into(), false)]);
    check_values(doc! {"$eq": regex("b", "")}, &[("abc".into(), false), (regex("b", ""), true)]);
    check_values(doc! {"$not": regex("b", "")}, &[("abc".into(), false), (5.into(), true)]);
    check_values(doc! {"$not": {"$regex": "b"}}, &[("abc".into(), false), ("x".into(), true)]);
    check_values(doc! {"$options": "i", "$regex": "B"}, &[("abc".into(), true)]);
    check_values(
        doc! {"$regex": regex("B", "i"), "$ne": "ab"},
        &[("abc".into(), true), ("ab".into(), false)],
    );
    check_values(doc! {"$regex": regex("B", ""), "$options": "i"}, &[("abc".into(), true)]);
}

#[test]
fn bits_are_those_of_integers_and_of_bytes() {
    // 54 is 0b110110.
    for (condition, expected) in [
        (doc! {"$bitsAllSet": 50}, true),
        (doc! {"$bitsAllSet": [1, 5]}, true),
        (doc! {"$bitsAllSet": [0, 1]}, false),
        (doc! {"$bitsAllSet": binary(&[0b0011_0000])}, true),
        (doc! {"$bitsAnySet": [0, 1]}, true),
        (doc! {"$bitsAnySet": [0, 3]}, false),
        (doc! {"$bitsAllClear": [0, 3, 200]}, true),
        (doc! {"$bitsAllClear": [0, 1]}, false),
        (doc! {"$bitsAnyClear": [1, 3]}, true),
        (doc! {"$bitsAnyClear": [1, 2]}, false),
        (doc! {"$bitsAllSet": []}, true),
        (doc! {"$bitsAnySet": []}, false),
    ] {
        check_values(
            condition,
            &[
                (54.into(), expected),
                (Bson::Double(54.0), expected),
                (54_i64.into(), expected),
                (Bson::Decimal128("54".parse().unwrap()), expected),
                (binary(&[54]), expected),
                (vec![54].into(), expected),
                ("54".into(), false),
                (Bson::Double(54.5), false),
                (Bson::Double(1e300), false),
                (Bson::Double(f64::NAN), false),
            ],
        );
    }
    // The sign goes on for ever.
    check_values(
        doc! {"$bitsAllSet": [63, 64, 900]},
        &[((-1).into(), true), (1.into(), false), (binary(&[0xFF; 8]), false)],
    );
    check_values(doc! {"$bitsAllSet": [8]}, &[(binary(&[0, 1]), true), (binary(&[1, 0]), false)]);
}

#[test]
fn expressions_see_variables() {
    let options = FilterOptions {
        variables: vec![("low".to_owned(), super::value(3))],
        ..FilterOptions::default()
    };
    let document = raw(&doc! {"a": 5, "flag": true});
    let check = |filter: bson::Document, expected: bool| {
        let parsed = Filter::parse(&raw(&filter), &options).unwrap();
        assert_eq!(parsed.matches(&document), Ok(expected), "{filter}");
    };
    check(doc! {"$expr": "$flag"}, true);
    check(doc! {"$expr": "$missing"}, false);
    check(doc! {"$expr": "$$low", "a": 5}, true);
    check(doc! {"$expr": {"$gt": ["$a", "$$low"]}}, true);
    check(doc! {"$expr": {"$lt": ["$a", "$$low"]}}, false);
    check(doc! {"$or": [{"a": 1}, {"$expr": {"$eq": ["$a", {"$add": ["$$low", 2]}]}}]}, true);
    // Comparisons of expressions have no brackets: a number is less than a string.
    check(doc! {"$expr": {"$lt": ["$a", "x"]}}, true);
    check(doc! {"$nor": [{"$expr": "$a"}]}, false);

    // What fails for one document fails the query.
    let parsed = Filter::parse(&raw(&doc! {"$expr": {"$divide": ["$a", 0]}}), &options).unwrap();
    assert!(parsed.matches(&document).is_err());

    let names = Variables::new().with(["outer"]).unwrap();
    let options = FilterOptions { names, ..FilterOptions::default() };
    let parsed = Filter::parse(&raw(&doc! {"$expr": "$$outer"}), &options).unwrap();
    for is_true in [true, false] {
        let random = Random::new(1);
        let context = Context::new(options.now, options.cluster_time, &random);
        let scope = Scope::new(&document, &context);
        let values = [Computed::from(is_true)];
        let frame = scope.frame(&values);
        assert_eq!(parsed.matches_in(&document, &scope.within(&frame)), Ok(is_true));
    }
}

#[test]
fn samples_have_about_the_wanted_size() {
    let options = FilterOptions { seed: Some(7), ..FilterOptions::default() };
    let parsed = Filter::parse(&raw(&doc! {"$sampleRate": 0.25}), &options).unwrap();
    let document = raw(&doc! {});
    let count = (0..10_000).filter(|_| parsed.matches(&document).unwrap()).count();
    assert!((2200..2800).contains(&count), "{count}");
    assert!(parse(&doc! {"$sampleRate": 1}).unwrap().matches(&document).unwrap());
    assert!(!parse(&doc! {"$sampleRate": 0}).unwrap().matches(&document).unwrap());
}
