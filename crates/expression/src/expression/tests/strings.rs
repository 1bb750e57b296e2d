//! Text.

use super::*;

#[test]
fn texts_are_joined_and_split() {
    check(&[
        (bson!({"$concat": []}), is("")),
        (bson!({"$concat": ["a", "$text", "b"]}), is("ahéllob")),
        (bson!({"$concat": ["a", null]}), NULL),
        (bson!({"$concat": ["a", 1]}), fails(16_702, "$concat only supports strings, not int")),
        (bson!({"$split": ["a-b--c", "-"]}), is(bson!(["a", "b", "", "c"]))),
        (bson!({"$split": ["$null", "-"]}), NULL),
        (bson!({"$split": ["a", ""]}), fails(40_087, "$split requires a non-empty separator")),
        (
            bson!({"$split": [1, "-"]}),
            fails(
                40_085,
                "$split requires an expression that evaluates to a string as a first argument, found: int",
            ),
        ),
        (bson!({"$toUpper": "$text"}), is("HéLLO")),
        (bson!({"$toLower": "ABC"}), is("abc")),
        (bson!({"$toUpper": "$missing"}), is("")),
        (bson!({"$toUpper": "$date"}), is("2024-02-29T12:34:56.789Z")),
        (bson!({"$toLower": 1.5}), is("1.5")),
        (
            bson!({"$toLower": "$object"}),
            fails(16_007, "can't convert from BSON type object to String"),
        ),
        (bson!({"$strcasecmp": ["abc", "ABD"]}), is(-1)),
        (bson!({"$strcasecmp": ["abc", "ABC"]}), is(0)),
        (bson!({"$strcasecmp": ["a", "$null"]}), is(1)),
        (bson!({"$strLenBytes": "$text"}), is(6)),
        (bson!({"$strLenCP": "$text"}), is(5)),
        (
            bson!({"$strLenCP": "$null"}),
            fails(34_471, "$strLenCP requires a string argument, found: null"),
        ),
        (
            bson!({"$strLenBytes": 1}),
            fails(34_473, "$strLenBytes requires a string argument, found: int"),
        ),
    ]);
}

#[test]
fn parts_of_texts() {
    check(&[
        (bson!({"$substr": ["abcdef", 1, 2]}), is("bc")),
        (bson!({"$substrBytes": ["abc", 1, -1]}), is("bc")),
        (bson!({"$substrBytes": ["abc", 5, 1]}), is("")),
        (bson!({"$substrBytes": ["$null", 0, 1]}), is("")),
        (bson!({"$substrBytes": [123, 1, 1]}), is("2")),
        (
            bson!({"$substrBytes": ["$text", 2, 1]}),
            fails(
                28_656,
                "$substrBytes:  Invalid range, starting index is a UTF-8 continuation byte.",
            ),
        ),
        (
            bson!({"$substrBytes": ["$text", 0, 2]}),
            fails(
                28_657,
                "$substrBytes:  Invalid range, ending index is in the middle of a UTF-8 character.",
            ),
        ),
        (
            bson!({"$substrBytes": ["abc", -1, 1]}),
            fails(50_752, "$substrBytes: starting index must be non-negative (got: -1)"),
        ),
        (
            bson!({"$substrBytes": ["abc", "x", 1]}),
            fails(
                16_034,
                "$substrBytes: starting index must be a numeric type (is BSON type string)",
            ),
        ),
        (bson!({"$substrCP": ["$text", 1, 3]}), is("éll")),
        (bson!({"$substrCP": ["abc", 7, 3]}), is("")),
        (
            bson!({"$substrCP": ["abc", 0, -1]}),
            fails(34_454, "$substrCP: length must be a nonnegative integer."),
        ),
        (
            bson!({"$substrCP": ["abc", 1.5, 1]}),
            fails(
                34_451,
                "$substrCP: starting index cannot be represented as a 32-bit integral value: 1.5",
            ),
        ),
    ]);
}

#[test]
fn texts_are_found_in_texts() {
    check(&[
        (bson!({"$indexOfBytes": ["$text", "l"]}), is(3)),
        (bson!({"$indexOfBytes": ["abcabc", "c", 3]}), is(5)),
        (bson!({"$indexOfBytes": ["abc", "c", 0, 2]}), is(-1)),
        (bson!({"$indexOfBytes": ["abc", "", 1]}), is(1)),
        (bson!({"$indexOfBytes": ["$null", "l"]}), NULL),
        (bson!({"$indexOfCP": ["$text", "l"]}), is(2)),
        (bson!({"$indexOfCP": ["$text", "l", 3]}), is(3)),
        (bson!({"$indexOfCP": ["$text", "x", 9]}), is(-1)),
        (
            bson!({"$indexOfCP": [1, "x"]}),
            fails(40_093, "$indexOfCP requires a string as the first argument, found: int"),
        ),
        (
            bson!({"$indexOfBytes": ["a", 1]}),
            fails(40_092, "$indexOfBytes requires a string as the second argument, found: int"),
        ),
        (
            bson!({"$indexOfBytes": ["a", "a", -1]}),
            fails(40_097, "$indexOfBytes requires a nonnegative starting index, found: -1"),
        ),
    ]);
}

#[test]
fn texts_are_trimmed_and_replaced() {
    check(&[
        (bson!({"$trim": {"input": " \n\u{a0}a b\t"}}), is("a b")),
        (bson!({"$ltrim": {"input": "xxaxx", "chars": "x"}}), is("axx")),
        (bson!({"$rtrim": {"input": "xxaxx", "chars": "yx"}}), is("xxa")),
        (bson!({"$trim": {"input": "$missing"}}), NULL),
        (bson!({"$trim": {"input": "a", "chars": null}}), NULL),
        (bson!({"$trim": {"chars": "a"}}), fails(50_695, "$trim requires an 'input' field")),
        (
            bson!({"$trim": {"input": "a", "x": 1}}),
            fails(50_694, "$trim found an unknown argument: x"),
        ),
        (
            bson!({"$trim": "a"}),
            fails(50_696, "$trim only supports an object as an argument, found string"),
        ),
        (
            bson!({"$trim": {"input": 1}}),
            fails(50_699, "$trim requires its input to be a string, got 1 (of type int) instead."),
        ),
        (bson!({"$replaceOne": {"input": "a.b.c", "find": ".", "replacement": "-"}}), is("a-b.c")),
        (bson!({"$replaceAll": {"input": "a.b.c", "find": ".", "replacement": "-"}}), is("a-b-c")),
        (bson!({"$replaceAll": {"input": "$null", "find": ".", "replacement": "-"}}), NULL),
        (
            bson!({"$replaceAll": {"input": 1, "find": ".", "replacement": "-"}}),
            fails(51_746, "$replaceAll requires that 'input' be a string, found: 1"),
        ),
        (
            bson!({"$replaceOne": {"input": "a", "find": "."}}),
            fails(51_747, "$replaceOne requires 'replacement' to be specified"),
        ),
    ]);
}

#[test]
fn regular_expressions() {
    let regex = |pattern: &str, options: &str| {
        Bson::RegularExpression(bson::Regex {
            pattern: crate::testing::name(pattern),
            options: crate::testing::name(options),
        })
    };
    check(&[
        (bson!({"$regexMatch": {"input": "$text", "regex": "^h.l"}}), is(true)),
        (bson!({"$regexMatch": {"input": "ABC", "regex": "b", "options": "i"}}), is(true)),
        (bson!({"$regexMatch": {"input": "ABC", "regex": regex("b", "i")}}), is(true)),
        (bson!({"$regexMatch": {"input": "$null", "regex": "b"}}), is(false)),
        (bson!({"$regexMatch": {"input": "a", "regex": "$null"}}), is(false)),
        (
            bson!({"$regexFind": {"input": "$text", "regex": "(l)(x)?"}}),
            is(bson!({"match": "l", "idx": 2, "captures": ["l", null]})),
        ),
        (bson!({"$regexFind": {"input": "abc", "regex": "x"}}), NULL),
        (
            bson!({"$regexFindAll": {"input": "éaéa", "regex": "a"}}),
            is(bson!([
                {"match": "a", "idx": 1, "captures": []},
                {"match": "a", "idx": 3, "captures": []},
            ])),
        ),
        (bson!({"$regexFindAll": {"input": "$missing", "regex": "a"}}), is(bson!([]))),
        (bson!({"$regexMatch": {"input": "$text", "regex": {"$concat": ["^", "h"]}}}), is(true)),
        (bson!({"$regexMatch": {"input": "$text", "regex": "$text"}}), is(true)),
        (
            bson!({"$regexMatch": {"input": 1, "regex": "a"}}),
            fails(51_104, "$regexMatch needs 'input' to be of type string"),
        ),
        (
            bson!({"$regexMatch": {"input": "a", "regex": 1}}),
            fails(51_105, "$regexMatch needs 'regex' to be of type string or regex"),
        ),
        (
            bson!({"$regexMatch": {"input": "a", "regex": "a", "options": "z"}}),
            fails(51_108, "$regexMatch: invalid flag in regex options: z"),
        ),
        (
            bson!({"$regexMatch": {"input": "a", "regex": regex("a", "i"), "options": "m"}}),
            fails(
                51_107,
                "$regexMatch: found regex option(s) specified in both 'regex' and 'option' fields",
            ),
        ),
        (
            bson!({"$regexMatch": {"regex": "a"}}),
            fails(31_022, "$regexMatch requires 'input' parameter"),
        ),
        (
            bson!({"$regexFind": 1}),
            fails(51_103, "$regexFind expects an object of named arguments but found: int"),
        ),
    ]);
    let broken = bson!({"$regexMatch": {"input": "a", "regex": "("}});
    assert!(matches!(evaluate(&broken, &document()), Outcome::Fails(51_111, _)));
}
