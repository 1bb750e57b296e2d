//! Filters that are refused, with code and text.

use bson::{Bson, Document, Regex, doc};

use super::refusal;
use crate::testing::name;

fn check(cases: Vec<(Document, i32, &str)>) {
    for (filter, code, text) in cases {
        assert_eq!(refusal(&filter), (code, text.to_owned()), "{filter}");
    }
}

fn regex() -> Bson {
    Bson::RegularExpression(Regex { pattern: name("a"), options: name("i") })
}

#[test]
fn unknown_and_unsupported_operators_are_refused() {
    check(vec![
        (doc! {"a": {"$foo": 1}}, 2, "unknown operator: $foo"),
        (doc! {"a": {"$gt": 1, "b": 1}}, 2, "unknown operator: b"),
        (doc! {"a": {"$comment": 1}}, 2, "unknown operator: $comment"),
        (
            doc! {"$foo": 1},
            2,
            "unknown top level operator: $foo. If you have a field name that starts with a '$' \
             symbol, consider using $getField or $setField.",
        ),
        (doc! {"$text": {"$search": "x"}}, 27, "text index required for $text query"),
        (
            doc! {"$where": "true"},
            115,
            "$where is not supported: the server does not run JavaScript; use $expr",
        ),
        (
            doc! {"a": {"$elemMatch": {"$expr": true}}},
            2,
            "$expr can only be applied to the top-level document",
        ),
        (
            doc! {"a": {"$elemMatch": {"b": 1, "$jsonSchema": {}}}},
            2,
            "$jsonSchema can only be applied to the top-level document",
        ),
        (doc! {"$sampleRate": 0.5}, 224, "$sampleRate is not allowed in this context"),
        (doc! {"$sampleRate": 2}, 2, "numeric argument to $sampleRate must be in [0, 1]"),
        (doc! {"$sampleRate": "x"}, 2, "argument to $sampleRate must be a numeric type"),
        (doc! {"$alwaysTrue": 2}, 9, "$alwaysTrue must be an integer value of 1"),
    ]);
}

#[test]
fn logical_operators_need_filters() {
    check(vec![
        (doc! {"$and": {}}, 2, "$and must be an array"),
        (doc! {"$or": 1}, 2, "$or must be an array"),
        (doc! {"$nor": []}, 2, "$and/$or/$nor must be a nonempty array"),
        (doc! {"$or": [1]}, 2, "$or/$and/$nor entries need to be full objects"),
        (doc! {"a": {"$not": {}}}, 2, "$not cannot be empty"),
        (doc! {"a": {"$not": 1}}, 2, "$not needs a regex or a document"),
        (doc! {"a": {"$not": {"b": 1}}}, 2, "unknown operator: b"),
    ]);
}

#[test]
fn comparisons_need_values() {
    check(vec![
        (doc! {"a": Bson::Undefined}, 2, "cannot compare to undefined"),
        (doc! {"a": {"$gt": Bson::Undefined}}, 2, "cannot compare to undefined"),
        (doc! {"a": {"$ne": regex()}}, 2, "Can't have regex as arg to $ne."),
        (
            doc! {"a.b": {"$lt": regex()}},
            2,
            "Can't have RegEx as arg to predicate over field 'a.b'.",
        ),
        (doc! {"a": {"$in": 1}}, 2, "$in needs an array"),
        (doc! {"a": {"$nin": {}}}, 2, "$nin needs an array"),
        (doc! {"a": {"$in": [{"$gt": 1}]}}, 2, "cannot nest $ under $in"),
        (
            doc! {"a": {"$in": [Bson::Undefined]}},
            2,
            "InMatchExpression equality cannot be undefined",
        ),
    ]);
}

#[test]
fn arrays_operators_check_their_operands() {
    check(vec![
        (doc! {"a": {"$all": 1}}, 2, "$all needs an array"),
        (doc! {"a": {"$all": [{"$gt": 1}]}}, 2, "no $ expressions in $all"),
        (doc! {"a": {"$all": [1, {"$elemMatch": {}}]}}, 2, "no $ expressions in $all"),
        (doc! {"a": {"$all": [{"$elemMatch": {}}, 1]}}, 2, "$all/$elemMatch has to be consistent"),
        (doc! {"a": {"$elemMatch": 1}}, 2, "$elemMatch needs an Object"),
        (
            doc! {"a": {"$size": "x"}},
            2,
            "Failed to parse $size. Expected a number in: $size: \"x\"",
        ),
        (doc! {"a": {"$size": 1.5}}, 2, "Failed to parse $size. Expected an integer: $size: 1.5"),
        (
            doc! {"a": {"$size": f64::NAN}},
            2,
            "Failed to parse $size. Expected an integer, but found NaN in: $size: nan",
        ),
        (
            doc! {"a": {"$size": f64::INFINITY}},
            2,
            "Failed to parse $size. Cannot represent as a 64-bit integer: $size: inf",
        ),
        (
            doc! {"a": {"$size": -1}},
            2,
            "Failed to parse $size. Expected a non-negative number in: $size: -1",
        ),
    ]);
}

#[test]
fn types_have_to_be_known() {
    check(vec![
        (doc! {"a": {"$type": "foo"}}, 2, "Unknown type name alias: foo"),
        (doc! {"a": {"$type": 99}}, 2, "Invalid numerical type code: 99"),
        (doc! {"a": {"$type": 1.5}}, 2, "Invalid numerical type code: 1.5"),
        (
            doc! {"a": {"$type": 0}},
            2,
            "Invalid numerical type code: 0. Instead use {$exists:false}.",
        ),
        (doc! {"a": {"$type": true}}, 14, "type must be represented as a number or a string"),
        (doc! {"a": {"$type": [true]}}, 14, "type must be represented as a number or a string"),
        (doc! {"a": {"$type": []}}, 9, "a must match at least one type"),
    ]);
}

#[test]
fn divisors_have_to_be_whole_numbers() {
    check(vec![
        (doc! {"a": {"$mod": 1}}, 2, "malformed mod, needs to be an array"),
        (doc! {"a": {"$mod": []}}, 2, "malformed mod, not enough elements"),
        (doc! {"a": {"$mod": [1]}}, 2, "malformed mod, not enough elements"),
        (doc! {"a": {"$mod": [1, 2, 3]}}, 2, "malformed mod, too many elements"),
        (doc! {"a": {"$mod": ["x", 2]}}, 2, "malformed mod, divisor not a number"),
        (doc! {"a": {"$mod": [2, "x"]}}, 2, "malformed mod, remainder not a number"),
        (doc! {"a": {"$mod": [0.9, 0]}}, 2, "divisor cannot be 0"),
        (
            doc! {"a": {"$mod": [f64::NAN, 0]}},
            2,
            "malformed mod, divisor value is invalid :: caused by :: Unable to coerce NaN/Inf to \
             integral type",
        ),
        (
            doc! {"a": {"$mod": [1, 1e300]}},
            2,
            "malformed mod, remainder value is invalid :: caused by :: Out of bounds coercing to \
             integral value",
        ),
    ]);
}

#[test]
fn regular_expressions_have_to_compile() {
    check(vec![
        (doc! {"a": {"$options": "i"}}, 2, "$options needs a $regex"),
        (doc! {"a": {"$regex": 1}}, 2, "$regex has to be a string"),
        (doc! {"a": {"$regex": "a", "$options": 1}}, 2, "$options has to be a string"),
        (doc! {"a": {"$regex": "a", "$options": "q"}}, 51_108, " invalid flag in regex options: q"),
        (
            doc! {"a": {"$regex": regex(), "$options": "m"}},
            51_075,
            "options set in both $regex and $options",
        ),
        (
            doc! {"a": {"$options": "m", "$regex": regex()}},
            51_074,
            "options set in both $regex and $options",
        ),
        (
            doc! {"a": {"$regex": "a\0"}},
            2,
            "Regular expression cannot contain an embedded null byte",
        ),
    ]);
    let (code, text) = refusal(&doc! {"a": {"$regex": "("}});
    assert_eq!(code, 51_091);
    assert!(text.starts_with("Regular expression is invalid: "), "{text}");
}

#[test]
fn bit_masks_have_to_be_natural_numbers() {
    check(vec![
        (
            doc! {"a": {"$bitsAllSet": "x"}},
            2,
            "a takes an Array, a number, or a BinData but received: $bitsAllSet: \"x\"",
        ),
        (doc! {"a": {"$bitsAnySet": 1.2}}, 9, "Expected an integer: $bitsAnySet: 1.2"),
        (
            doc! {"a": {"$bitsAllClear": -1}},
            9,
            "Expected a non-negative number in: $bitsAllClear: -1",
        ),
        (
            doc! {"a": {"$bitsAnyClear": [0, "x"]}},
            2,
            "Failed to parse bit position. Expected a number in: 1: \"x\"",
        ),
        (
            doc! {"a": {"$bitsAnyClear": [-1]}},
            2,
            "Failed to parse bit position. Expected a non-negative number in: 0: -1",
        ),
        (
            doc! {"a": {"$bitsAnyClear": [4_294_967_296_i64]}},
            2,
            "Failed to parse bit position. Cannot represent 0: 4294967296 in an int",
        ),
    ]);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize, wrap: fn(Document) -> Document| {
        (0..depth).fold(doc! {"a": 1}, |inner, _| wrap(inner))
    };
    let wraps: [fn(Document) -> Document; 3] = [
        |inner| doc! {"$and": [inner]},
        |inner| doc! {"a": {"$elemMatch": inner}},
        |inner| doc! {"$jsonSchema": {"not": inner.get_document("$jsonSchema").cloned().unwrap_or_default()}},
    ];
    for wrap in wraps {
        let filter = nested(250, wrap);
        assert_eq!(refusal(&filter), (15, "nesting too deep".to_owned()));
        assert!(super::parse(&nested(60, wrap)).is_ok());
    }
}
