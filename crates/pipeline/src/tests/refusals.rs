//! Errors with their codes and texts.

use bson::{bson, doc};

use super::*;

#[test]
fn pipelines_are_refused() {
    let cases = [
        (bson!([1]), 14, "Each element of the 'pipeline' array must be an object"),
        (
            bson!([{}]),
            40_323,
            "A pipeline stage specification object must contain exactly one field.",
        ),
        (
            bson!([{"$limit": 1, "$skip": 1}]),
            40_323,
            "A pipeline stage specification object must contain exactly one field.",
        ),
        (bson!([{"$foo": 1}]), 40_324, "Unrecognized pipeline stage name: '$foo'"),
        (bson!([{"limit": 1}]), 40_324, "Unrecognized pipeline stage name: 'limit'"),
        (bson!([{"$fill": {}}]), 238, "The stage $fill is not supported"),
        (
            bson!([{"$limit": 1}, {"$documents": []}]),
            40_602,
            "$documents is only valid as the first stage in a pipeline",
        ),
    ];
    for (pipeline, code, message) in cases {
        check_fails(pipeline, doc! {}, code, message);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn stages_of_single_documents_are_refused() {
    let cases = [
        (bson!({"$match": 1}), 15_959, "the match filter must be an expression in an object"),
        (
            bson!({"$match": {"$foo": 1}}),
            2,
            "unknown top level operator: $foo. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.",
        ),
        (
            bson!({"$match": {"l": {"$near": [0, 0]}}}),
            5_626_500,
            "$geoNear, $near, and $nearSphere are not allowed in this context, as these operators require sorting geospatial data. If you do not need sort, consider using $geoWithin instead.",
        ),
        (bson!({"$project": 1}), 15_969, "$project specification must be an object"),
        (
            bson!({"$project": {}}),
            51_272,
            "Invalid $project :: caused by :: projection specification must have at least one field",
        ),
        (
            bson!({"$project": {"a": 1, "b": 0}}),
            31_254,
            "Invalid $project :: caused by :: Cannot do exclusion on field b in inclusion projection",
        ),
        (
            bson!({"$addFields": 1}),
            40_272,
            "$addFields specification stage must be an object, got int",
        ),
        (
            bson!({"$set": {}}),
            40_177,
            "Invalid $set :: caused by :: specification must have at least one field",
        ),
        (
            bson!({"$set": {"a": {}}}),
            40_180,
            "Invalid $set :: caused by :: an empty object is not a valid value. Found empty object at path a",
        ),
        (
            bson!({"$set": {"a": {"$foo": 1}}}),
            168,
            "Invalid $set :: caused by :: Unrecognized expression '$foo'",
        ),
        (
            bson!({"$set": {"a..b": 1}}),
            15_998,
            "Invalid $set :: caused by :: FieldPath field names may not be empty strings.",
        ),
        (bson!({"$unset": 1}), 31_002, "$unset specification must be a string or an array"),
        (
            bson!({"$unset": []}),
            31_119,
            "$unset specification must be a string or an array with at least one field",
        ),
        (
            bson!({"$unset": [1]}),
            31_120,
            "$unset specification must be a string or an array containing only string values",
        ),
        (
            bson!({"$replaceRoot": 1}),
            40_229,
            "expected an object as specification for $replaceRoot stage, got int",
        ),
        (
            bson!({"$replaceRoot": {"x": 1}}),
            40_230,
            "unrecognized option to $replaceRoot stage: x, only valid option is 'newRoot'.",
        ),
        (bson!({"$replaceRoot": {}}), 40_231, "no newRoot specified for the $replaceRoot stage"),
        (
            bson!({"$replaceRoot": {"newRoot": "$b"}}),
            40_228,
            "'newRoot' expression must evaluate to an object, but resulting value was: MISSING. Type of resulting value: 'missing'. Input document: { a: 1 }",
        ),
        (
            bson!({"$replaceWith": "$a"}),
            40_228,
            "'replacement document' must evaluate to an object, but resulting value was: 1. Type of resulting value: 'int'. Input document: { a: 1 }",
        ),
        (
            bson!({"$redact": "$a"}),
            17_053,
            "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but returned 1",
        ),
    ];
    for (stage, code, message) in cases {
        check_fails(bson!([stage]), doc! {"a": 1}, code, message);
    }
    let whole = "{ a.b: 1, a: 1 }";
    let message = "Invalid $set :: caused by :: specification contains two conflicting paths. Cannot \
                   specify both 'a' and 'a.b': ";
    let stage = bson!({"$set": {"a.b": 1, "a": 1}});
    check_fails(bson!([stage]), doc! {}, 40_176, &format!("{message}{whole}"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn stages_of_several_documents_are_refused() {
    let cases = [
        (
            bson!({"$limit": "x"}),
            5_107_201,
            "invalid argument to $limit stage: Expected a number in: $limit: \"x\"",
        ),
        (
            bson!({"$limit": 1.5}),
            5_107_201,
            "invalid argument to $limit stage: Expected an integer: $limit: 1.5",
        ),
        (bson!({"$limit": 0}), 15_958, "the limit must be positive"),
        (
            bson!({"$skip": -1}),
            5_107_200,
            "invalid argument to $skip stage: Expected a non-negative number in: $skip: -1",
        ),
        (bson!({"$count": 1}), 40_156, "the count field must be a non-empty string"),
        (bson!({"$count": ""}), 40_157, "the count field must be a non-empty string"),
        (bson!({"$count": "$a"}), 40_158, "the count field cannot be a $-prefixed path"),
        (bson!({"$count": "a.b"}), 40_160, "the count field cannot contain '.'"),
        (
            bson!({"$unwind": 1}),
            15_981,
            "expected either a string or an object as specification for $unwind stage, got int",
        ),
        (
            bson!({"$unwind": "a"}),
            28_818,
            "path option to $unwind stage should be prefixed with a '$': a",
        ),
        (bson!({"$unwind": {}}), 28_812, "no path specified to $unwind stage"),
        (
            bson!({"$unwind": {"path": 1}}),
            28_808,
            "expected a string as the path for $unwind stage, got int",
        ),
        (
            bson!({"$unwind": {"path": "$a", "x": 1}}),
            28_811,
            "unrecognized option to $unwind stage: x",
        ),
        (
            bson!({"$unwind": {"path": "$a", "preserveNullAndEmptyArrays": 1}}),
            28_809,
            "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got int",
        ),
        (
            bson!({"$unwind": {"path": "$a", "includeArrayIndex": ""}}),
            28_810,
            "expected a non-empty string for the includeArrayIndex option to $unwind stage, got string",
        ),
        (
            bson!({"$unwind": {"path": "$a", "includeArrayIndex": "$i"}}),
            28_822,
            "includeArrayIndex option to $unwind stage should not be prefixed with a '$': $i",
        ),
        (bson!({"$sort": 1}), 15_973, "the $sort key specification must be an object"),
        (bson!({"$sort": {}}), 15_976, "$sort stage must have at least one sort key"),
        (
            bson!({"$sort": {"a": "x"}}),
            15_974,
            "$sort key ordering must be specified using a number or {$meta: 'textScore'}",
        ),
        (
            bson!({"$sort": {"a": 2}}),
            15_975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        ),
        (
            bson!({"$sort": {"a": {"$meta": "textScore"}}}),
            40_218,
            "query requires text score metadata, but it is not available",
        ),
        (bson!({"$sort": {"l": 1, "m": 1}}), 2, "cannot sort with keys that are parallel arrays"),
        (bson!({"$sample": 1}), 28_745, "the $sample stage specification must be an object"),
        (bson!({"$sample": {"size": "x"}}), 28_746, "size argument to $sample must be a number"),
        (bson!({"$sample": {"size": -1}}), 28_747, "size argument to $sample must not be negative"),
        (bson!({"$sample": {"x": 1}}), 28_748, "unrecognized option to $sample: x"),
        (bson!({"$sample": {}}), 28_749, "$sample stage must specify a size"),
        (bson!({"$facet": {}}), 40_169, "the $facet specification must be a non-empty object"),
        (bson!({"$facet": {"x": 1}}), 40_170, "arguments to $facet must be arrays, x is type int"),
        (
            bson!({"$facet": {"x": [{"$out": "y"}]}}),
            40_600,
            "$out is not allowed to be used within a $facet stage",
        ),
        (
            bson!({"$facet": {"x": [{"$facet": {}}]}}),
            40_600,
            "$facet is not allowed to be used within a $facet stage",
        ),
        (bson!({"$documents": 1}), 5_858_203, "an array is expected"),
    ];
    for (stage, code, message) in cases {
        check_fails(bson!([stage]), doc! {"l": [1, 2], "m": [3, 4]}, code, message);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn groups_are_refused() {
    let cases = [
        (bson!(1), 15_947, "a group's fields must be specified in an object"),
        (bson!({}), 15_955, "a group specification must include an _id"),
        (bson!({"_id": 1, "x": 1}), 40_234, "The field 'x' must be an accumulator object"),
        (bson!({"_id": 1, "x.y": {"$sum": 1}}), 40_235, "The field name 'x.y' cannot contain '.'"),
        (
            bson!({"_id": 1, "$x": {"$sum": 1}}),
            40_236,
            "The field name '$x' cannot be an operator name",
        ),
        (
            bson!({"_id": 1, "x": {"$sum": 1, "$min": 1}}),
            40_238,
            "The field 'x' must specify one accumulator",
        ),
        (bson!({"_id": 1, "x": {"$foo": 1}}), 15_952, "unknown group operator '$foo'"),
        (
            bson!({"_id": 1, "x": {"$sum": [1, 2]}}),
            40_237,
            "The $sum accumulator is a unary operator",
        ),
        (bson!({"_id": 1, "x": {"$count": 1}}), 14, "$count takes no arguments, i.e. $count:{}"),
        (
            bson!({"_id": 1, "x": {"$accumulator": {}}}),
            238,
            "The accumulator $accumulator is not supported",
        ),
        (
            bson!({"_id": 1, "x": {"$median": 1}}),
            7_429_703,
            "specification must be an object; found $median: 1",
        ),
        (
            bson!({"_id": 1, "x": {"$median": {"input": 1}}}),
            40_414,
            "BSON field '$median.method' is missing but a required field",
        ),
        (
            bson!({"_id": 1, "x": {"$median": {"p": 1}}}),
            40_415,
            "BSON field '$median.p' is an unknown field.",
        ),
        (
            bson!({"_id": 1, "x": {"$median": {"input": 1, "method": "x"}}}),
            2,
            "Currently only 'approximate' can be used as percentile 'method'.",
        ),
        (
            bson!({"_id": 1, "x": {"$percentile": {"p": 1}}}),
            7_750_301,
            "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: 1",
        ),
        (
            bson!({"_id": 1, "x": {"$percentile": {"p": [2]}}}),
            7_750_303,
            "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: 2",
        ),
        (
            bson!({"_id": 1, "x": {"$top": {"output": 1, "sortBy": 1}}}),
            10_065,
            "invalid parameter: expected an object (sortBy)",
        ),
        (bson!({"_id": 1, "x": {"$firstN": {"input": 1}}}), 5_787_906, "Missing value for 'n'"),
        (bson!({"_id": 1, "x": {"$firstN": {"n": 1}}}), 5_787_907, "Missing value for 'input'"),
        (
            bson!({"_id": 1, "x": {"$firstN": {"n": 0, "input": 1}}}),
            5_787_908,
            "'n' must be greater than 0, found 0",
        ),
        (
            bson!({"_id": 1, "x": {"$firstN": {"n": "y", "input": 1}}}),
            5_787_902,
            "Value for 'n' must be of integral type, but found \"y\"",
        ),
        (
            bson!({"_id": 1, "x": {"$top": 1}}),
            5_788_001,
            "specification must be an object; found $top: 1",
        ),
        (bson!({"_id": 1, "x": {"$top": {"n": 1}}}), 5_788_002, "Unknown argument to $top 'n'"),
        (
            bson!({"_id": 1, "x": {"$topN": {"output": 1, "sortBy": {"a": 1}}}}),
            5_788_003,
            "Missing value for 'n'",
        ),
        (
            bson!({"_id": 1, "x": {"$top": {"sortBy": {"a": 1}}}}),
            5_788_004,
            "Missing value for 'output'",
        ),
        (bson!({"_id": 1, "x": {"$top": {"output": 1}}}), 5_788_005, "Missing value for 'sortBy'"),
        (
            bson!({"_id": 1, "x": {"$mergeObjects": "$a"}}),
            40_400,
            "$mergeObjects requires object inputs, but input 1 is of type int",
        ),
    ];
    for (group, code, message) in cases {
        check_fails(bson!([{"$group": group}]), doc! {"a": 1}, code, message);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn buckets_are_refused() {
    let cases = [
        (bson!(1), 40_201, "Argument to $bucket stage must be an object, but found type: int."),
        (
            bson!({"groupBy": "$a"}),
            40_198,
            "$bucket requires 'groupBy' and 'boundaries' to be specified.",
        ),
        (
            bson!({"groupBy": 1}),
            40_202,
            "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression, but found: 1.",
        ),
        (
            bson!({"boundaries": 1}),
            40_200,
            "The $bucket 'boundaries' field must be an array, but found type: int.",
        ),
        (
            bson!({"boundaries": ["$a", 1]}),
            40_191,
            "The $bucket 'boundaries' field must be an array of constant values, but found value: \"$a\".",
        ),
        (
            bson!({"boundaries": [1]}),
            40_192,
            "The $bucket 'boundaries' field must have at least 2 values, but found 1 value(s).",
        ),
        (
            bson!({"boundaries": [1, "a"]}),
            40_193,
            "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types int and string.",
        ),
        (
            bson!({"boundaries": [2, 1]}),
            40_194,
            "The 'boundaries' option to $bucket must be sorted, but elements 0 and 1 are not in ascending order (2 is not less than 1).",
        ),
        (
            bson!({"default": "$a"}),
            40_195,
            "The $bucket 'default' field must be a constant, but found: \"$a\".",
        ),
        (
            bson!({"output": 1}),
            40_196,
            "The $bucket 'output' field must be an object, but found type: int.",
        ),
        (bson!({"x": 1}), 40_197, "Unrecognized option to $bucket: x."),
        (
            bson!({"groupBy": "$a", "boundaries": [1, 3], "default": 2}),
            40_199,
            "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.",
        ),
    ];
    for (bucket, code, message) in cases {
        check_fails(bson!([{"$bucket": bucket}]), doc! {}, code, message);
    }
    let cases = [
        (bson!(1), 40_240, "The argument to $bucketAuto must be an object, but found type: int."),
        (
            bson!({"groupBy": "$a"}),
            40_246,
            "$bucketAuto requires 'groupBy' and 'buckets' to be specified.",
        ),
        (
            bson!({"groupBy": 1}),
            40_239,
            "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: 1",
        ),
        (
            bson!({"buckets": "x"}),
            40_241,
            "The $bucketAuto 'buckets' field must be a numeric value, but found type: string.",
        ),
        (
            bson!({"buckets": 1.5}),
            40_242,
            "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found 1.5.",
        ),
        (
            bson!({"buckets": 0}),
            40_243,
            "The $bucketAuto 'buckets' field must be greater than 0, but found: 0",
        ),
        (
            bson!({"output": 1}),
            40_244,
            "The $bucketAuto 'output' field must be an object, but found type: int.",
        ),
        (bson!({"x": 1}), 40_245, "Unrecognized option to $bucketAuto: x."),
        (
            bson!({"granularity": "R5"}),
            238,
            "The option granularity of $bucketAuto is not supported",
        ),
    ];
    for (bucket, code, message) in cases {
        check_fails(bson!([{"$bucketAuto": bucket}]), doc! {}, code, message);
    }
    let text = "the sortByCount field must be defined as a $-prefixed path or an expression inside \
                an object";
    for (value, code) in [(bson!({"a": 1}), 40_147), (bson!("a"), 40_148), (bson!(1), 40_149)] {
        check_fails(bson!([{"$sortByCount": value}]), doc! {}, code, text);
    }
}
