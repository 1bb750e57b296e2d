//! Operators that set, remove and compute values.

use bson::{Bson, Timestamp, doc};

use super::{CONTEXT, apply, changes, check, check_errors};

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

#[test]
fn fields_are_set_and_removed() {
    check(&[
        (doc! {"_id": 1}, doc! {"$set": {"a": 1}}, doc! {"_id": 1, "a": 1}),
        (doc! {"a": 1, "b": 2}, doc! {"$set": {"a": "x"}}, doc! {"a": "x", "b": 2}),
        (doc! {"a": 1}, doc! {"$set": {"a": 1}}, doc! {"a": 1}),
        (doc! {"a": 1}, doc! {"$set": {"a": 1.0}}, doc! {"a": 1.0}),
        (doc! {"a": 1}, doc! {"$set": {}}, doc! {"a": 1}),
        (doc! {"_id": 1}, doc! {"$set": {"_id": 1}}, doc! {"_id": 1}),
        (doc! {"a": {"b": 1}}, doc! {"$set": {"a.b": 2, "a.c": 3}}, doc! {"a": {"b": 2, "c": 3}}),
        (
            doc! {},
            doc! {"$set": {"b.c": 1, "b.a": 2, "a": 3}},
            doc! {"a": 3, "b": {"a": 2, "c": 1}},
        ),
        (doc! {}, doc! {"$set": {"10": 1, "9": 1, "b": 1}}, doc! {"9": 1, "10": 1, "b": 1}),
        (doc! {"a": 1}, doc! {"$setOnInsert": {"b": 1, "a": 2}}, doc! {"a": 1}),
        (doc! {"a": 1, "b": 2}, doc! {"$unset": {"a": "", "c.d": ""}}, doc! {"b": 2}),
        (doc! {"a": {"b": 1}}, doc! {"$unset": {"a.b": 1}}, doc! {"a": {}}),
        (doc! {"a": 5}, doc! {"$unset": {"a.b": 1}}, doc! {"a": 5}),
        (doc! {"a": [1, 2]}, doc! {"$unset": {"a.0": 1}}, doc! {"a": [null, 2]}),
        (doc! {"a": [1, 2]}, doc! {"$unset": {"a.x": 1, "a.7": 1}}, doc! {"a": [1, 2]}),
    ]);
}

#[test]
fn numbers_are_added_and_multiplied() {
    let big = i64::from(i32::MAX) + 1;
    check(&[
        (doc! {"a": 1}, doc! {"$inc": {"a": 2}}, doc! {"a": 3}),
        (doc! {"a": i32::MAX}, doc! {"$inc": {"a": 1}}, doc! {"a": big}),
        (doc! {"a": 1_i64}, doc! {"$inc": {"a": 1}}, doc! {"a": 2_i64}),
        (doc! {"a": 1}, doc! {"$inc": {"a": 0.5}}, doc! {"a": 1.5}),
        (doc! {"a": 1}, doc! {"$inc": {"a": 0}}, doc! {"a": 1}),
        (doc! {"a": 1}, doc! {"$inc": {"a": 0.0}}, doc! {"a": 1.0}),
        (
            doc! {"a": 1.5},
            doc! {"$inc": {"a": decimal("1.25")}},
            doc! {"a": decimal("2.75000000000000")},
        ),
        (doc! {}, doc! {"$inc": {"a.b": 5_i64}}, doc! {"a": {"b": 5_i64}}),
        (doc! {"a": 3}, doc! {"$mul": {"a": 2_i64}}, doc! {"a": 6_i64}),
        (doc! {"a": 3}, doc! {"$mul": {"a": 1}}, doc! {"a": 3}),
        (
            doc! {},
            doc! {"$mul": {"a": 2, "b": 2_i64, "c": 2.0, "d": decimal("2")}},
            doc! {"a": 0, "b": 0_i64, "c": 0.0, "d": decimal("0")},
        ),
    ]);
    check_errors(&[
        (
            doc! {"_id": 1, "x": "s"},
            doc! {"$inc": {"x": 1}},
            14,
            "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'x' of \
             non-numeric type string",
        ),
        (
            doc! {"_id": "k", "a": {"x": null}},
            doc! {"$mul": {"a.x": 1}},
            14,
            "Cannot apply $mul to a value of non-numeric type. {_id: \"k\"} has the field 'x' of \
             non-numeric type null",
        ),
        (
            doc! {},
            doc! {"$inc": {"x": "a"}},
            14,
            "Cannot increment with non-numeric argument: {x: \"a\"}",
        ),
        (
            doc! {},
            doc! {"$mul": {"x": null}},
            14,
            "Cannot multiply with non-numeric argument: {x: null}",
        ),
        (
            doc! {"_id": 1, "x": i64::MAX},
            doc! {"$inc": {"x": 1}},
            2,
            "Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) \
             for document {_id: 1}",
        ),
    ]);
}

#[test]
fn the_lesser_or_greater_value_stays() {
    check(&[
        (doc! {"a": 5}, doc! {"$min": {"a": 3}}, doc! {"a": 3}),
        (doc! {"a": 5}, doc! {"$min": {"a": 5.0}}, doc! {"a": 5}),
        (doc! {"a": 5}, doc! {"$min": {"a": "x"}}, doc! {"a": 5}),
        (doc! {"a": 5}, doc! {"$min": {"a": null}}, doc! {"a": null}),
        (doc! {"a": 5}, doc! {"$max": {"a": 7}}, doc! {"a": 7}),
        (doc! {"a": 5}, doc! {"$max": {"a": "x"}}, doc! {"a": "x"}),
        (doc! {}, doc! {"$max": {"a": 1}, "$min": {"b": 2}}, doc! {"a": 1, "b": 2}),
    ]);
}

#[test]
fn bits_are_combined() {
    check(&[
        (doc! {"a": 12}, doc! {"$bit": {"a": {"and": 10}}}, doc! {"a": 8}),
        (doc! {"a": 12}, doc! {"$bit": {"a": {"or": 3_i64}}}, doc! {"a": 15_i64}),
        (doc! {"a": 12_i64}, doc! {"$bit": {"a": {"xor": 10}}}, doc! {"a": 6_i64}),
        (doc! {"a": 12}, doc! {"$bit": {"a": {"or": 1, "and": 5}}}, doc! {"a": 5}),
        (doc! {"a": 12}, doc! {"$bit": {"a": {"or": 4}}}, doc! {"a": 12}),
        (doc! {}, doc! {"$bit": {"a": {"or": 4}}}, doc! {"a": 4}),
    ]);
    check_errors(&[
        (
            doc! {"_id": 1, "a": 1.5},
            doc! {"$bit": {"a": {"or": 1}}},
            2,
            "Cannot apply $bit to a value of non-integral type._id: 1 has the field a of \
             non-integer type double",
        ),
        (
            doc! {},
            doc! {"$bit": {"a": 1}},
            2,
            "The $bit modifier is not compatible with a int. You must pass in an embedded \
             document: {$bit: {field: {and/or/xor: #}}",
        ),
        (
            doc! {},
            doc! {"$bit": {"a": {}}},
            2,
            "You must pass in at least one bitwise operation. The format is: {$bit: {field: \
             {and/or/xor: #}}",
        ),
        (
            doc! {},
            doc! {"$bit": {"a": {"not": 1}}},
            2,
            "The $bit modifier only supports 'and', 'or', and 'xor', not 'not' which is an \
             unknown operator: {not: 1}",
        ),
        (
            doc! {},
            doc! {"$bit": {"a": {"and": 1.5}}},
            2,
            "The $bit modifier field must be an Integer(32/64 bit); a 'double' is not supported \
             here: {and: 1.5}",
        ),
    ]);
}

#[test]
fn the_current_date_always_modifies() {
    let (date, timestamp) = (CONTEXT.now, CONTEXT.timestamp);
    let update = doc! {"$currentDate": {
        "a": true, "b": {"$type": "date"}, "c": {"$type": "timestamp"}, "d": false,
    }};
    let after = doc! {"a": date, "b": date, "c": timestamp, "d": date};
    check(&[(doc! {}, update.clone(), after.clone())]);
    assert!(apply(&after, &update).unwrap().is_modified);
    check_errors(&[
        (
            doc! {},
            doc! {"$currentDate": {"a": 1}},
            2,
            "int is not valid type for $currentDate. Please use a boolean ('true') or a $type \
             expression ({$type: 'timestamp/date'}).",
        ),
        (
            doc! {},
            doc! {"$currentDate": {"a": {"$type": "x"}}},
            2,
            "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: \
             {field : {$type: 'date'}}}",
        ),
        (doc! {}, doc! {"$currentDate": {"a": {"x": 1}}}, 2, "Unrecognized $currentDate option: x"),
    ]);
}

#[test]
fn fields_are_renamed() {
    check(&[
        (doc! {"a": 1, "b": 2}, doc! {"$rename": {"a": "c"}}, doc! {"b": 2, "c": 1}),
        (doc! {"a": 1, "b": 2}, doc! {"$rename": {"b": "a"}}, doc! {"a": 2}),
        (doc! {"a": 1, "b": 1}, doc! {"$rename": {"b": "a"}}, doc! {"a": 1}),
        (doc! {"a": {"x": 1}}, doc! {"$rename": {"a.x": "b.y"}}, doc! {"a": {}, "b": {"y": 1}}),
        (doc! {"a": 1}, doc! {"$rename": {"x": "a", "y.z": "q"}}, doc! {"a": 1}),
        (
            doc! {"a": 1, "z": 9},
            doc! {"$rename": {"z": "b"}, "$set": {"a": 2}},
            doc! {"a": 2, "b": 9},
        ),
    ]);
}

#[test]
fn what_cannot_be_renamed_is_refused() {
    check_errors(&[
        (
            doc! {},
            doc! {"$rename": {"a": 1}},
            2,
            "The 'to' field for $rename must be a string: a: 1",
        ),
        (
            doc! {},
            doc! {"$rename": {"a": "a"}},
            2,
            "The source and target field for $rename must differ: a: \"a\"",
        ),
        (
            doc! {},
            doc! {"$rename": {"a": "a.b"}},
            2,
            "The source and target field for $rename must not be on the same path: a: \"a.b\"",
        ),
        (
            doc! {},
            doc! {"$rename": {"a.$": "b"}},
            2,
            "The source field for $rename may not be dynamic: a.$",
        ),
        (
            doc! {},
            doc! {"$rename": {"a": "b.$[]"}},
            2,
            "The destination field for $rename may not be dynamic: b.$[]",
        ),
    ]);
}

#[test]
fn names_in_arrays_and_of_fixed_fields_cannot_change() {
    check_errors(&[
        (
            doc! {"_id": 1, "a": [1]},
            doc! {"$rename": {"a.0": "b"}},
            2,
            "The source field cannot be an array element, 'a.0' in doc with _id: 1 has an array \
             field called 'a'",
        ),
        (
            doc! {"_id": 1, "a": 1, "b": [1]},
            doc! {"$rename": {"a": "b.0"}},
            2,
            "The destination field cannot be an array element, 'b.0' in doc with _id: 1 has an \
             array field called 'b'",
        ),
        (
            doc! {"a": 5},
            doc! {"$rename": {"a.b": "c"}},
            28,
            "cannot use the part (b of a.b) to traverse the element ({a: 5})",
        ),
        (
            doc! {"_id": 1},
            doc! {"$rename": {"_id": "c"}},
            66,
            "Performing an update on the path '_id' would modify the immutable field '_id'",
        ),
        (
            doc! {},
            doc! {"$rename": {"a": "b"}, "$set": {"a": 1}},
            40,
            "Updating the path 'a' would create a conflict at 'a'",
        ),
    ]);
}

#[test]
fn an_empty_timestamp_that_is_set_stays() {
    let empty = Timestamp { time: 0, increment: 0 };
    check(&[(doc! {}, doc! {"$set": {"a": empty}}, doc! {"a": empty})]);
}

#[test]
fn changes_are_described() {
    let before = doc! {"a": 1, "b": {"c": 2, "d": 3}, "l": [1, {"x": 1}], "e": []};
    for (update, expected) in [
        (
            doc! {"$set": {"a": 2, "b.c": 5, "n.x.y": 1, "n.x.z": 2}, "$unset": {"b.d": 1}},
            doc! {"updated": {"a": 2, "b.c": 5, "n": {"x": {"y": 1, "z": 2}}}, "removed": ["b.d"],
            "truncated": []},
        ),
        (
            doc! {"$set": {"l.1.x": 2, "l.4": 5}, "$rename": {"a": "z"}},
            doc! {"updated": {"l.1.x": 2, "l.4": 5, "z": 1}, "removed": ["a"], "truncated": []},
        ),
        (
            doc! {"$push": {"l": 9}, "$set": {"b": {"c": 2}}},
            doc! {"updated": {"b": {"c": 2}, "l.2": 9}, "removed": [], "truncated": []},
        ),
        (
            doc! {"$push": {"e": 1}, "$addToSet": {"l": 2}},
            doc! {"updated": {"l.2": 2, "e": [1]}, "removed": [], "truncated": []},
        ),
        (doc! {"$pop": {"l": 1}}, doc! {"updated": {"l": [1]}, "removed": [], "truncated": []}),
    ] {
        assert_eq!(changes(&before, &update), expected, "{update}");
    }
}
