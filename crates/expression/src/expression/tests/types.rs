//! Types and conversions.

use bson::oid::ObjectId;

use super::*;

fn id() -> ObjectId {
    ObjectId::parse_str("5ab9cbfa31c2ab715d42129e").unwrap()
}

#[test]
fn values_have_types_and_sizes() {
    check(&[
        (bson!({"$type": "$missing"}), is("missing")),
        (bson!({"$type": "$null"}), is("null")),
        (bson!({"$type": "$list"}), is("array")),
        (bson!({"$type": ["$decimal"]}), is("decimal")),
        (bson!({"$isNumber": "$long"}), is(true)),
        (bson!({"$isNumber": "$text"}), is(false)),
        (bson!({"$bsonSize": {"$literal": {"a": 1}}}), is(12)),
        (bson!({"$bsonSize": "$null"}), NULL),
        (bson!({"$bsonSize": 1}), fails(31_393, "$bsonSize requires a document input, found: int")),
        (bson!({"$binarySize": "$text"}), is(6)),
        (
            bson!({"$binarySize": 1}),
            fails(51_276, "$binarySize requires a string or BinData argument, found: int"),
        ),
        (bson!({"$tsSecond": "$$CLUSTER_TIME"}), is(5_i64)),
        (bson!({"$tsIncrement": "$$CLUSTER_TIME"}), is(6_i64)),
        (bson!({"$tsSecond": "$null"}), NULL),
        (
            bson!({"$tsSecond": 1}),
            fails(5_687_301, "Argument to $tsSecond must be a timestamp, but is int"),
        ),
        (bson!({"$meta": "textScore"}), MISSING),
        (bson!({"$meta": "x"}), fails(17_308, "Unsupported argument to $meta: x")),
        (bson!({"$rand": 1}), fails(3_040_501, "$rand does not currently accept arguments")),
        (bson!({"$sampleRate": 1.0}), is(true)),
        (bson!({"$sampleRate": 0}), is(false)),
        (bson!({"$sampleRate": 2}), fails(2, "numeric argument to $sampleRate must be in [0, 1]")),
    ]);
    let Outcome::Is(Bson::Double(random)) = evaluate(&bson!({"$rand": {}}), &document()) else {
        panic!("no number");
    };
    assert!((0.0..1.0).contains(&random));
}

#[test]
fn values_are_converted() {
    check(&[
        (bson!({"$toInt": 1.9}), is(1)),
        (bson!({"$toInt": "-42"}), is(-42)),
        (bson!({"$toInt": true}), is(1)),
        (bson!({"$toInt": "$null"}), NULL),
        (bson!({"$toLong": "$date"}), is(1_709_210_096_789_i64)),
        (bson!({"$toLong": [decimal("-5.5")]}), is(-5_i64)),
        (bson!({"$toDouble": "2.5e3"}), is(2500.0)),
        (bson!({"$toDouble": "$decimal"}), is(1.5)),
        (bson!({"$toDouble": "-Infinity"}), is(f64::NEG_INFINITY)),
        (bson!({"$toDecimal": "1.50"}), is(decimal("1.50"))),
        (bson!({"$toDecimal": 7}), is(decimal("7"))),
        (bson!({"$toBool": 0.0}), is(false)),
        (bson!({"$toBool": ""}), is(true)),
        (bson!({"$toBool": "$missing"}), NULL),
        (bson!({"$toString": 2.5}), is("2.5")),
        (bson!({"$toString": 1.0}), is("1")),
        (bson!({"$toString": 1e20}), is("1e+20")),
        (bson!({"$toString": 0.1}), is("0.1")),
        (bson!({"$toString": 123_456_789_012_i64}), is("123456789012")),
        (bson!({"$toString": true}), is("true")),
        (bson!({"$toString": [id()]}), is("5ab9cbfa31c2ab715d42129e")),
        (bson!({"$toString": "$date"}), is("2024-02-29T12:34:56.789Z")),
        (bson!({"$toObjectId": "5ab9cbfa31c2ab715d42129e"}), is(id())),
        (bson!({"$toDate": [id()]}), is(date("2018-03-27T04:43:38Z"))),
        (bson!({"$toDate": 1000_i64}), is(date("1970-01-01T00:00:01Z"))),
        (bson!({"$toDate": "2018-03-20"}), is(date("2018-03-20T00:00:00Z"))),
        (bson!({"$toDate": "$$CLUSTER_TIME"}), is(date("1970-01-01T00:00:05Z"))),
        (bson!({"$convert": {"input": "7", "to": "int"}}), is(7)),
        (bson!({"$convert": {"input": "7", "to": 18}}), is(7_i64)),
        (bson!({"$convert": {"input": "x", "to": "int", "onError": "$text"}}), is("héllo")),
        (bson!({"$convert": {"input": "$missing", "to": "int", "onNull": 0}}), is(0)),
        (bson!({"$convert": {"input": "$null", "to": "int"}}), NULL),
        (bson!({"$convert": {"input": 1, "to": "$null"}}), NULL),
    ]);
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let suffix = "in $convert with no onError value";
    check(&[
        (
            bson!({"$toInt": "x1"}),
            fails(
                241,
                &format!("Failed to parse number 'x1' {suffix}: Did not consume whole string."),
            ),
        ),
        (
            bson!({"$toInt": " 1"}),
            fails(241, &format!("Failed to parse number ' 1' {suffix}: Leading whitespace")),
        ),
        (
            bson!({"$toInt": 1e10}),
            fails(241, &format!("Conversion would overflow target type {suffix}: 10000000000")),
        ),
        (
            bson!({"$toLong": [f64::NAN]}),
            fails(241, &format!("Attempt to convert NaN value to integer type {suffix}")),
        ),
        (
            bson!({"$toLong": [f64::INFINITY]}),
            fails(241, &format!("Attempt to convert infinity value to integer type {suffix}")),
        ),
        (
            bson!({"$toInt": "$date"}),
            fails(241, &format!("Unsupported conversion from date to int {suffix}")),
        ),
        (
            bson!({"$toString": "$object"}),
            fails(241, &format!("Unsupported conversion from object to string {suffix}")),
        ),
        (
            bson!({"$toDate": 5}),
            fails(241, &format!("Unsupported conversion from int to date {suffix}")),
        ),
        (
            bson!({"$toObjectId": "x"}),
            fails(
                241,
                &format!(
                    "Failed to parse objectId 'x' {suffix}: Invalid string length for parsing to \
                     OID, expected 24 but found 1"
                ),
            ),
        ),
        (
            bson!({"$convert": {"input": 1, "to": "array"}}),
            fails(241, &format!("Unsupported conversion from int to array {suffix}")),
        ),
    ]);
}

#[test]
fn conversions_are_checked() {
    check(&[
        (bson!({"$toInt": [1, 2]}), fails(50_723, "$toInt requires a single argument, got 2")),
        (bson!({"$convert": {"input": 1, "to": "x"}}), fails(2, "Unknown type name: x")),
        (
            bson!({"$convert": {"input": 1, "to": 100}}),
            fails(9, "In $convert, numeric value for 'to' does not correspond to a BSON type: 100"),
        ),
        (bson!({"$convert": {"to": 1}}), fails(9, "Missing 'input' parameter to $convert")),
        (bson!({"$convert": {"x": 1}}), fails(9, "$convert found an unknown argument: x")),
        (
            bson!({"$convert": 1}),
            fails(9, "$convert expects an object of named arguments but found: int"),
        ),
    ]);
}
