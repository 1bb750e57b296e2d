//! Folding constants changes nothing but the time it takes.

use proptest::prelude::*;

use super::*;
use crate::testing;

/// Operators of one argument, and of two.
const UNARY: [&str; 38] = [
    "$abs",
    "$ceil",
    "$floor",
    "$sqrt",
    "$exp",
    "$ln",
    "$log10",
    "$sin",
    "$atan",
    "$bitNot",
    "$not",
    "$toLower",
    "$toUpper",
    "$strLenCP",
    "$size",
    "$isArray",
    "$reverseArray",
    "$first",
    "$last",
    "$objectToArray",
    "$arrayToObject",
    "$mergeObjects",
    "$sum",
    "$avg",
    "$max",
    "$min",
    "$stdDevPop",
    "$type",
    "$isNumber",
    "$bsonSize",
    "$toBool",
    "$toDate",
    "$toDecimal",
    "$toDouble",
    "$toInt",
    "$toString",
    "$year",
    "$anyElementTrue",
];
const BINARY: [&str; 28] = [
    "$add",
    "$subtract",
    "$multiply",
    "$divide",
    "$mod",
    "$pow",
    "$log",
    "$round",
    "$trunc",
    "$bitAnd",
    "$and",
    "$or",
    "$eq",
    "$ne",
    "$gt",
    "$lte",
    "$cmp",
    "$concat",
    "$split",
    "$strcasecmp",
    "$indexOfCP",
    "$arrayElemAt",
    "$slice",
    "$in",
    "$setUnion",
    "$setDifference",
    "$setIsSubset",
    "$ifNull",
];

fn literal(value: &Bson) -> Bson {
    bson!({"$literal": value.clone()})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn constants_and_fields_give_the_same(
        unary in 0..UNARY.len(), binary in 0..BINARY.len(), a in testing::bson(), b in testing::bson(),
    ) {
        let document = doc! {"a": a.clone(), "b": b.clone()};
        let compare = |folded: Bson, unfolded: Bson| {
            (evaluate(&folded, &document), evaluate(&unfolded, &document))
        };
        // Compared as text, in which NaN equals itself.
        let name = UNARY[unary];
        let (folded, unfolded) = compare(bson!({name: [literal(&a)]}), bson!({name: ["$a"]}));
        prop_assert_eq!(format!("{folded:?}"), format!("{unfolded:?}"), "{}", name);
        let name = BINARY[binary];
        let (folded, unfolded) =
            compare(bson!({name: [literal(&a), literal(&b)]}), bson!({name: ["$a", "$b"]}));
        prop_assert_eq!(format!("{folded:?}"), format!("{unfolded:?}"), "{}", name);
    }

    #[test]
    fn nothing_panics(value in testing::bson(), document in testing::bson()) {
        let document = doc! {"a": document};
        let _ = evaluate(&value, &document);
        for operator in operators::names() {
            let _ = evaluate(&bson!({operator: value.clone()}), &document);
            let _ = evaluate(&bson!({operator: ["$a", literal(&value)]}), &document);
            let _ = evaluate(&bson!({operator: "$a"}), &document);
            let named = bson!({operator: {
                "input": "$a", "date": "$a", "dateString": "$a", "in": "$$this", "cond": "$$this",
            }});
            let _ = evaluate(&named, &document);
        }
    }
}
