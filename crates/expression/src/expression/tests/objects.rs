//! Documents.

use super::*;

#[test]
fn documents_are_merged_and_taken_apart() {
    check(&[
        (
            bson!({"$mergeObjects": [{"a": 1, "b": 2}, null, {"b": 3, "c": 4}]}),
            is(bson!({"a": 1, "b": 3, "c": 4})),
        ),
        (bson!({"$mergeObjects": [[{"a": 1}, {"a": 2}]]}), is(bson!({"a": 2}))),
        (bson!({"$mergeObjects": "$missing"}), is(bson!({}))),
        (
            bson!({"$mergeObjects": [{}, 1]}),
            fails(40_400, "$mergeObjects requires object inputs, but input 1 is of type int"),
        ),
        (bson!({"$objectToArray": {"a": 1}}), is(bson!([{"k": "a", "v": 1}]))),
        (bson!({"$objectToArray": "$null"}), NULL),
        (
            bson!({"$objectToArray": "$int"}),
            fails(40_390, "$objectToArray requires a document input, found: int"),
        ),
        (
            bson!({"$arrayToObject": {"$literal": [["a", 1], ["b", 2], ["a", 3]]}}),
            is(bson!({"a": 3, "b": 2})),
        ),
        (bson!({"$arrayToObject": {"$literal": [{"k": "a", "v": 1}]}}), is(bson!({"a": 1}))),
        (bson!({"$arrayToObject": "$empty"}), is(bson!({}))),
        (bson!({"$arrayToObject": "$missing"}), NULL),
    ]);
}

#[test]
fn what_makes_no_document_is_refused() {
    check(&[
        (
            bson!({"$arrayToObject": "$int"}),
            fails(40_386, "$arrayToObject requires an array input, found: int"),
        ),
        (
            bson!({"$arrayToObject": "$list"}),
            fails(40_398, "Unrecognised input type format for $arrayToObject: int"),
        ),
        (
            bson!({"$arrayToObject": {"$literal": [["a"]]}}),
            fails(
                40_397,
                "$arrayToObject requires an array of size 2 arrays,found array of size: 1",
            ),
        ),
        (
            bson!({"$arrayToObject": {"$literal": [[1, 2]]}}),
            fails(
                40_395,
                "$arrayToObject requires an array of key-value pairs, where the key must be of type \
                 string. Found key type: int",
            ),
        ),
        (
            bson!({"$arrayToObject": {"$literal": [{"k": 1, "v": 2}]}}),
            fails(
                40_394,
                "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' \
                 must be of type string. Found type: int",
            ),
        ),
        (
            bson!({"$arrayToObject": {"$literal": [{"k": 1}]}}),
            fails(
                40_392,
                "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of \
                 keys:1",
            ),
        ),
    ]);
}

#[test]
fn fields_with_any_name() {
    check(&[
        (bson!({"$getField": {"field": "x.y", "input": "$object"}}), is(3)),
        (bson!({"$getField": {"field": {"$literal": "$z"}, "input": "$object"}}), is(4)),
        (bson!({"$getField": "int"}), is(7)),
        (bson!({"$getField": {"$literal": "int"}}), is(7)),
        (bson!({"$getField": {"field": "a", "input": "$null"}}), NULL),
        (bson!({"$getField": {"field": "a", "input": "$int"}}), MISSING),
        (
            bson!({"$getField": {"field": "a"}}),
            fails(3_041_703, "$getField requires 'input' to be specified"),
        ),
        (
            bson!({"$getField": {"field": 1, "input": {}}}),
            fails(3_041_704, "$getField requires 'field' to evaluate to type String, but got int"),
        ),
        (
            bson!({"$setField": {"field": "a.b", "input": {"x": 1}, "value": 2}}),
            is(bson!({"x": 1, "a.b": 2})),
        ),
        (
            bson!({"$setField": {"field": "x", "input": {"x": 1, "y": 2}, "value": "$int"}}),
            is(bson!({"x": 7, "y": 2})),
        ),
        (
            bson!({"$setField": {"field": "x", "input": {"x": 1, "y": 2}, "value": "$$REMOVE"}}),
            is(bson!({"y": 2})),
        ),
        (bson!({"$unsetField": {"field": "x", "input": {"x": 1, "y": 2}}}), is(bson!({"y": 2}))),
        (bson!({"$unsetField": {"field": "x", "input": "$null"}}), NULL),
        (
            bson!({"$setField": {"field": "x", "input": 1, "value": 2}}),
            fails(4_161_105, "$setField requires 'input' to evaluate to type Object, but got int"),
        ),
        (
            bson!({"$setField": {"field": "x", "input": {}}}),
            fails(4_161_103, "$setField requires 'value' to be specified"),
        ),
        (
            bson!({"$unsetField": {"field": "x"}}),
            fails(4_161_109, "$unsetField requires 'input' to be specified"),
        ),
    ]);
}
