//! Arrays and sets.

use super::*;

#[test]
fn elements_and_parts() {
    check(&[
        (bson!({"$arrayElemAt": ["$list", 1]}), is(2)),
        (bson!({"$arrayElemAt": ["$list", -1]}), is(3)),
        (bson!({"$arrayElemAt": ["$list", 9]}), MISSING),
        (bson!({"$arrayElemAt": ["$list", -9]}), MISSING),
        (bson!({"$arrayElemAt": ["$list", "$null"]}), NULL),
        (
            bson!({"$arrayElemAt": [1, 1]}),
            fails(28_689, "$arrayElemAt's first argument must be an array, but is int"),
        ),
        (
            bson!({"$arrayElemAt": ["$list", "x"]}),
            fails(28_690, "$arrayElemAt's second argument must be a numeric value, but is string"),
        ),
        (
            bson!({"$arrayElemAt": ["$list", 1.5]}),
            fails(
                28_691,
                "$arrayElemAt's second argument must be representable as a 32-bit integer: 1.5",
            ),
        ),
        (bson!({"$first": "$list"}), is(1)),
        (bson!({"$last": "$list"}), is(3)),
        (bson!({"$first": "$empty"}), MISSING),
        (bson!({"$last": "$missing"}), NULL),
        (
            bson!({"$first": "$int"}),
            fails(28_689, "$first's argument must be an array, but is int"),
        ),
        (bson!({"$size": "$list"}), is(3)),
        (
            bson!({"$size": "$missing"}),
            fails(17_124, "The argument to $size must be an array, but was of type: missing"),
        ),
        (bson!({"$slice": ["$list", 2]}), is(bson!([1, 2]))),
        (bson!({"$slice": ["$list", -2]}), is(bson!([2, 3]))),
        (bson!({"$slice": ["$list", -9, 2]}), is(bson!([1, 2]))),
        (bson!({"$slice": ["$list", 1, 1]}), is(bson!([2]))),
        (bson!({"$slice": ["$list", 7, 1]}), is(bson!([]))),
        (bson!({"$slice": ["$null", 1]}), NULL),
        (
            bson!({"$slice": ["$list", 1, 0]}),
            fails(28_729, "Third argument to $slice must be positive: 0"),
        ),
        (
            bson!({"$slice": [1, 1]}),
            fails(28_724, "First argument to $slice must be an array, but is of type: int"),
        ),
    ]);
}

#[test]
fn arrays_are_joined_and_searched() {
    check(&[
        (bson!({"$reverseArray": "$list"}), is(bson!([3, 2, 1]))),
        (bson!({"$reverseArray": "$null"}), NULL),
        (
            bson!({"$reverseArray": "$int"}),
            fails(34_435, "The argument to $reverseArray must be an array, but was of type: int"),
        ),
        (bson!({"$concatArrays": ["$list", [4], []]}), is(bson!([1, 2, 3, 4]))),
        (bson!({"$concatArrays": ["$list", "$missing"]}), NULL),
        (
            bson!({"$concatArrays": ["$list", 1]}),
            fails(28_664, "$concatArrays only supports arrays, not int"),
        ),
        (bson!({"$isArray": "$list"}), is(true)),
        (bson!({"$isArray": ["$missing"]}), is(false)),
        (bson!({"$in": [2.0, "$list"]}), is(true)),
        (bson!({"$in": ["$missing", "$list"]}), is(false)),
        (
            bson!({"$in": [1, "$null"]}),
            fails(40_081, "$in requires an array as a second argument, found: null"),
        ),
        (bson!({"$indexOfArray": ["$list", 3]}), is(2)),
        (bson!({"$indexOfArray": ["$list", 1, 1]}), is(-1)),
        (bson!({"$indexOfArray": ["$null", 1]}), NULL),
        (
            bson!({"$indexOfArray": [1, 1]}),
            fails(40_090, "$indexOfArray requires an array as a first argument, found: int"),
        ),
        (bson!({"$firstN": {"n": 2, "input": "$list"}}), is(bson!([1, 2]))),
        (bson!({"$lastN": {"n": 2, "input": "$list"}}), is(bson!([2, 3]))),
        (bson!({"$minN": {"n": 2, "input": [3, null, 1, 2]}}), is(bson!([1, 2]))),
        (bson!({"$maxN": {"n": 9, "input": [3, null, 1]}}), is(bson!([3, 1]))),
        (
            bson!({"$maxN": {"n": 0, "input": [3]}}),
            fails(5_787_908, "'n' must be greater than 0, found 0"),
        ),
        (bson!({"$maxN": {"input": [3]}}), fails(5_787_906, "Missing value for 'n'")),
        (bson!({"$firstN": {"n": 1, "input": 1}}), fails(5_788_200, "Input must be an array")),
    ]);
}

#[test]
fn ranges_are_bounded() {
    check(&[
        (bson!({"$range": [0, 3]}), is(bson!([0, 1, 2]))),
        (bson!({"$range": [3, 0, -2]}), is(bson!([3, 1]))),
        (bson!({"$range": [0, -3]}), is(bson!([]))),
        (bson!({"$range": [i32::MAX - 1, i32::MAX]}), is(bson!([i32::MAX - 1]))),
        (bson!({"$range": [0, 3, 0]}), fails(34_449, "$range requires a non-zero step value")),
        (
            bson!({"$range": ["x", 3]}),
            fails(34_443, "$range requires a numeric starting value, found value of type: string"),
        ),
        (
            bson!({"$range": [0, 1.5]}),
            fails(
                34_446,
                "$range requires an ending value that can be represented as a 32-bit integer, \
                 found value: 1.5",
            ),
        ),
    ]);
    let all = bson!({"$range": [0, i32::MAX]});
    assert!(matches!(evaluate(&all, &document()), Outcome::Fails(10_334, _)));
    let doubled = bson!({"$reduce": {
        "input": {"$range": [0, 40]}, "initialValue": ["a long text that is doubled"],
        "in": {"$concatArrays": ["$$value", "$$value"]},
    }});
    assert!(matches!(evaluate(&doubled, &document()), Outcome::Fails(10_334, _)));
    let text = bson!({"$reduce": {
        "input": {"$range": [0, 40]}, "initialValue": "doubled",
        "in": {"$concat": ["$$value", "$$value"]},
    }});
    assert!(matches!(evaluate(&text, &document()), Outcome::Fails(10_334, _)));
}

#[test]
fn loops_have_variables() {
    check(&[
        (
            bson!({"$map": {"input": "$list", "in": {"$add": ["$$this", "$int"]}}}),
            is(bson!([8, 9, 10])),
        ),
        (
            bson!({"$map": {"input": "$items", "as": "x", "in": "$$x.a"}}),
            is(bson!([1, 2, null, [4], null])),
        ),
        (bson!({"$map": {"input": "$null", "in": 1}}), NULL),
        (
            bson!({"$map": {"input": 1, "in": 1}}),
            fails(16_883, "input to $map must be an array not int"),
        ),
        (bson!({"$map": {"in": 1}}), fails(16_880, "Missing 'input' parameter to $map")),
        (bson!({"$map": {"input": []}}), fails(16_882, "Missing 'in' parameter to $map")),
        (bson!({"$map": {"x": []}}), fails(16_879, "Unrecognized parameter to $map: x")),
        (bson!({"$map": 1}), fails(16_878, "$map only supports an object as its argument")),
        (
            bson!({"$map": {"input": [], "as": "X", "in": 1}}),
            fails(9, "'X' starts with an invalid character for a user variable name"),
        ),
        (
            bson!({"$map": {"input": "$list", "as": "x", "in": "$$this"}}),
            fails(17_276, "Use of undefined variable: this"),
        ),
        (
            bson!({"$map": {"input": "$list", "as": "x", "in": {"$map": {
                "input": "$list", "as": "y", "in": {"$multiply": ["$$x", "$$y"]},
            }}}}),
            is(bson!([[1, 2, 3], [2, 4, 6], [3, 6, 9]])),
        ),
    ]);
}

#[test]
fn arrays_are_filtered_and_reduced() {
    check(&[
        (
            bson!({"$filter": {"input": "$list", "cond": {"$gte": ["$$this", 2]}}}),
            is(bson!([2, 3])),
        ),
        (
            bson!({"$filter": {"input": "$list", "as": "n", "cond": "$$n", "limit": 1}}),
            is(bson!([1])),
        ),
        (
            bson!({"$filter": {"input": "$list", "cond": true, "limit": "$null"}}),
            is(bson!([1, 2, 3])),
        ),
        (bson!({"$filter": {"input": "$missing", "cond": 1}}), NULL),
        (
            bson!({"$filter": {"input": "$list", "cond": 1, "limit": 0}}),
            fails(327_392, "$filter: limit must be greater than 0: 0"),
        ),
        (
            bson!({"$filter": {"input": "$int", "cond": 1}}),
            fails(28_651, "input to $filter must be an array not int"),
        ),
        (bson!({"$filter": {"input": []}}), fails(28_650, "Missing 'cond' parameter to $filter")),
        (
            bson!({"$reduce": {"input": "$list", "initialValue": 10, "in": {"$subtract": ["$$value", "$$this"]}}}),
            is(4),
        ),
        (bson!({"$reduce": {"input": [], "initialValue": "$text", "in": 1}}), is("héllo")),
        (bson!({"$reduce": {"input": "$null", "initialValue": 0, "in": 1}}), NULL),
        (
            bson!({"$reduce": {"input": "x", "initialValue": 0, "in": 1}}),
            fails(40_080, "$reduce requires that 'input' be an array, found: \"x\""),
        ),
        (
            bson!({"$reduce": {"input": []}}),
            fails(40_078, "$reduce requires 'initialValue' to be specified"),
        ),
        (bson!({"$let": {"vars": {"a": 1, "b": "$int"}, "in": {"$add": ["$$a", "$$b"]}}}), is(8)),
        (bson!({"$let": {"vars": {"CURRENT": "$object"}, "in": "$b.c"}}), is(2)),
        (bson!({"$let": {"vars": {"a": "$missing"}, "in": "$$a"}}), MISSING),
        (bson!({"$let": {"vars": {}}}), fails(16_877, "Missing 'in' parameter to $let")),
        (bson!({"$let": {"in": 1}}), fails(16_876, "Missing 'vars' parameter to $let")),
        (bson!({"$let": {"x": 1}}), fails(16_875, "Unrecognized parameter to $let: x")),
    ]);
}

#[test]
fn arrays_are_sorted_and_zipped() {
    check(&[
        (
            bson!({"$sortArray": {"input": [3, 1, "a", null, 2], "sortBy": 1}}),
            is(bson!([null, 1, 2, 3, "a"])),
        ),
        (bson!({"$sortArray": {"input": "$list", "sortBy": -1}}), is(bson!([3, 2, 1]))),
        (
            bson!({"$sortArray": {"input": [{"a": 1, "b": 2}, {"a": 1, "b": 1}, {"b": 3}], "sortBy": {"a": -1, "b": 1}}}),
            is(bson!([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"b": 3}])),
        ),
        (bson!({"$sortArray": {"input": "$null", "sortBy": 1}}), NULL),
        (
            bson!({"$sortArray": {"input": 1, "sortBy": 1}}),
            fails(
                2_942_504,
                "The input argument to $sortArray must be an array, but was of type: int",
            ),
        ),
        (
            bson!({"$sortArray": {"input": []}}),
            fails(2_942_503, "$sortArray requires 'sortBy' to be specified"),
        ),
        (
            bson!({"$sortArray": {"input": [], "sortBy": 2}}),
            fails(2_942_506, "The $sort element value must be either 1 or -1"),
        ),
        (bson!({"$zip": {"inputs": ["$list", ["a", "b"]]}}), is(bson!([[1, "a"], [2, "b"]]))),
        (
            bson!({"$zip": {"inputs": ["$list", ["a"]], "useLongestLength": true, "defaults": [0, "z"]}}),
            is(bson!([[1, "a"], [2, "z"], [3, "z"]])),
        ),
        (
            bson!({"$zip": {"inputs": ["$list", []], "useLongestLength": true}}),
            is(bson!([[1, null], [2, null], [3, null]])),
        ),
        (bson!({"$zip": {"inputs": ["$list", "$null"]}}), NULL),
        (
            bson!({"$zip": {"inputs": ["$list", 1]}}),
            fails(34_468, "$zip found a non-array expression in input: 1"),
        ),
        (bson!({"$zip": {"inputs": []}}), fails(34_465, "$zip requires at least one input array")),
        (
            bson!({"$zip": {"inputs": [[]], "defaults": [1]}}),
            fails(34_466, "cannot specify defaults unless useLongestLength is true"),
        ),
    ]);
}

#[test]
fn arrays_are_sets() {
    check(&[
        (bson!({"$setUnion": ["$list", [3, 5, 3]]}), is(bson!([1, 2, 3, 5]))),
        (bson!({"$setUnion": ["$list", "$null"]}), NULL),
        (bson!({"$setUnion": []}), is(bson!([]))),
        (bson!({"$setIntersection": ["$list", [3, 1, 1, 9]]}), is(bson!([1, 3]))),
        (bson!({"$setDifference": [[3, 1, 3, 2, 5], "$list"]}), is(bson!([5]))),
        (bson!({"$setDifference": [[9, 7, 9, 8], [7]]}), is(bson!([9, 8]))),
        (bson!({"$setDifference": ["$missing", [7]]}), NULL),
        (bson!({"$setEquals": ["$list", [3, 2, 1, 1.0]]}), is(true)),
        (bson!({"$setEquals": ["$list", [1]]}), is(false)),
        (bson!({"$setIsSubset": [[1, 1], "$list"]}), is(true)),
        (bson!({"$setIsSubset": [[4], "$list"]}), is(false)),
        (
            bson!({"$setUnion": ["$list", 1]}),
            fails(17_043, "All operands of $setUnion must be arrays. One argument is of type: int"),
        ),
        (
            bson!({"$setDifference": ["$list", 1]}),
            fails(
                17_049,
                "both operands of $setDifference must be arrays. Second argument is of type: int",
            ),
        ),
        (
            bson!({"$setIsSubset": ["$null", "$list"]}),
            fails(
                17_046,
                "both operands of $setIsSubset must be arrays. First argument is of type: null",
            ),
        ),
        (
            bson!({"$setEquals": ["$list"]}),
            fails(17_045, "$setEquals needs at least two arguments had: 1"),
        ),
        (
            bson!({"$setEquals": ["$list", 1]}),
            fails(
                17_044,
                "All operands of $setEquals must be arrays. 2-th argument is of type: int",
            ),
        ),
    ]);
}
