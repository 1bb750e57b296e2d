//! `$group`, its accumulators, and what is made of it.

use bson::{Bson, bson, doc};

use super::*;

/// Groups all documents into one, with one accumulator.
fn accumulated(accumulator: Bson, documents: &[Document]) -> Bson {
    let found = run(bson!([{"$group": {"_id": null, "v": accumulator}}]), documents).unwrap();
    found[0].get("v").unwrap().clone()
}

#[test]
fn accumulators_gather_the_values_of_a_group() {
    let documents = [
        doc! {"v": 2, "s": 1, "o": {"a": 1, "b": 1}},
        doc! {"v": 4.0, "s": 3, "o": null},
        doc! {"s": 2, "t": "x"},
        doc! {"v": 2_i64, "s": 0, "o": {"c": 3, "a": 2}},
        doc! {"v": null, "s": 4, "t": "y"},
    ];
    let cases = [
        (bson!({"$sum": "$v"}), bson!(8.0)),
        (bson!({"$sum": "$s"}), bson!(10)),
        (bson!({"$sum": "$t"}), bson!(0)),
        (bson!({"$sum": 1}), bson!(5)),
        (bson!({"$avg": "$s"}), bson!(2.0)),
        (bson!({"$avg": "$t"}), Bson::Null),
        (bson!({"$min": "$v"}), bson!(2)),
        (bson!({"$max": "$v"}), bson!(4.0)),
        (bson!({"$min": "$none"}), Bson::Null),
        (bson!({"$first": "$v"}), bson!(2)),
        (bson!({"$first": "$t"}), Bson::Null),
        (bson!({"$last": "$t"}), bson!("y")),
        (bson!({"$push": "$v"}), bson!([2, 4.0, 2_i64, null])),
        (bson!({"$addToSet": "$v"}), bson!([2, 4.0, null])),
        (bson!({"$count": {}}), bson!(5)),
        (bson!({"$stdDevPop": "$s"}), bson!(2.0_f64.sqrt())),
        (bson!({"$stdDevSamp": "$s"}), bson!(2.5_f64.sqrt())),
        (bson!({"$stdDevSamp": "$t"}), Bson::Null),
        (bson!({"$mergeObjects": "$o"}), bson!({"a": 2, "b": 1, "c": 3})),
        (bson!({"$firstN": {"input": "$v", "n": 3}}), bson!([2, 4.0, null])),
        (bson!({"$lastN": {"input": "$s", "n": 2}}), bson!([0, 4])),
        (bson!({"$minN": {"input": "$v", "n": 2}}), bson!([2, 2_i64])),
        (bson!({"$maxN": {"input": "$s", "n": 9}}), bson!([4, 3, 2, 1, 0])),
        (bson!({"$median": {"input": "$s", "method": "approximate"}}), bson!(2.0)),
        (bson!({"$median": {"input": "$t", "method": "approximate"}}), Bson::Null),
        (
            bson!({"$percentile": {"input": "$v", "method": "approximate", "p": [1, 0, 0.5, 0.7]}}),
            bson!([4.0, 2.0, 2.0, 4.0]),
        ),
        (
            bson!({"$percentile": {"input": "$t", "method": "approximate", "p": [0.5]}}),
            bson!([null]),
        ),
        (bson!({"$top": {"sortBy": {"s": -1}, "output": "$t"}}), bson!("y")),
        (bson!({"$bottom": {"sortBy": {"s": -1}, "output": ["$s", "$v"]}}), bson!([0, 2_i64])),
        (bson!({"$topN": {"sortBy": {"s": 1}, "output": "$s", "n": 2}}), bson!([0, 1])),
        (bson!({"$bottomN": {"sortBy": {"s": 1}, "output": "$s", "n": 2}}), bson!([3, 4])),
    ];
    for (accumulator, expected) in cases {
        assert_eq!(accumulated(accumulator.clone(), &documents), expected, "{accumulator}");
    }
}

#[test]
fn accumulators_are_expressions_too() {
    let document = doc! {"l": [2, 4.0, "x", null, 6_i64], "e": []};
    let cases = [
        ("$sum", bson!(12.0), bson!(0)),
        ("$avg", bson!(4.0), Bson::Null),
        ("$min", bson!(2), Bson::Null),
        ("$max", bson!("x"), Bson::Null),
        ("$stdDevPop", bson!((8.0_f64 / 3.0).sqrt()), Bson::Null),
        ("$stdDevSamp", bson!(2.0), Bson::Null),
    ];
    for (operator, of_list, of_nothing) in cases {
        let of = |path: &str| Bson::Document(doc! {operator: path});
        check(
            bson!([{"$project": {"l": of("$l"), "e": of("$e")}}]),
            std::slice::from_ref(&document),
            &[doc! {"l": of_list.clone(), "e": of_nothing.clone()}],
        );
        check(
            bson!([{"$unwind": "$l"}, {"$group": {"_id": 1, "v": of("$l")}}]),
            std::slice::from_ref(&document),
            &[doc! {"_id": 1, "v": of_list}],
        );
    }
}

#[test]
fn documents_are_grouped_by_equal_values() {
    let documents = [
        doc! {"a": 1, "b": {"c": "x"}},
        doc! {"a": 1.0, "b": {"c": "x"}},
        doc! {"a": 1_i64, "b": {"c": "y"}},
        doc! {"a": null},
        doc! {"b": null},
    ];
    check(
        bson!([{"$group": {"_id": "$a", "n": {"$sum": 1}}}]),
        &documents,
        &[doc! {"_id": 1, "n": 3}, doc! {"_id": null, "n": 2}],
    );
    check(
        bson!([{"$group": {"_id": {"a": "$a", "c": "$b.c"}, "n": {"$count": {}}}}]),
        &documents,
        &[
            doc! {"_id": {"a": 1, "c": "x"}, "n": 2},
            doc! {"_id": {"a": 1_i64, "c": "y"}, "n": 1},
            doc! {"_id": {"a": null}, "n": 1},
            doc! {"_id": {}, "n": 1},
        ],
    );
    check(bson!([{"$group": {"_id": "$a"}}]), &[], &[]);
    check(
        bson!([{"$group": {
            "_id": {"n": "$n"}, "v": {"$firstN": {"input": "$v", "n": "$n"}}
        }}]),
        &[
            doc! {"n": 1, "v": 1},
            doc! {"n": 2, "v": 2},
            doc! {"n": 1, "v": 3},
            doc! {"n": 2, "v": 4},
        ],
        &[doc! {"_id": {"n": 1}, "v": [1]}, doc! {"_id": {"n": 2}, "v": [2, 4]}],
    );
}

#[test]
fn documents_are_counted_by_value_and_by_bucket() {
    let documents: Vec<Document> = [3, 1, 3, 7, 20].map(|v| doc! {"v": v}).into();
    check(
        bson!([{"$sortByCount": "$v"}, {"$limit": 2}]),
        &documents,
        &[doc! {"_id": 3, "count": 2}, doc! {"_id": 1, "count": 1}],
    );
    check(
        bson!([{"$bucket": {"groupBy": "$v", "boundaries": [0, 3, 8], "default": "other"}}]),
        &documents,
        &[
            doc! {"_id": 0, "count": 1},
            doc! {"_id": 3, "count": 3},
            doc! {"_id": "other", "count": 1},
        ],
    );
    check(
        bson!([{"$bucket": {
            "groupBy": "$v", "boundaries": [0, 10, 30], "output": {"all": {"$push": "$v"}}
        }}]),
        &documents,
        &[doc! {"_id": 0, "all": [3, 1, 3, 7]}, doc! {"_id": 10, "all": [20]}],
    );
    check_fails(
        bson!([{"$bucket": {"groupBy": "$v", "boundaries": [0, 3]}}]),
        doc! {"v": 5},
        40_066,
        "$switch could not find a matching branch for an input, and no default was specified.",
    );
}

#[test]
fn documents_are_spread_over_buckets() {
    let documents: Vec<Document> = [5, 1, 3, 1, 9, 3, 3].map(|v| doc! {"v": v}).into();
    let bucket =
        |min: i32, max: i32, count: i32| doc! {"_id": {"min": min, "max": max}, "count": count};
    let cases = [
        (1, vec![bucket(1, 9, 7)]),
        (2, vec![bucket(1, 5, 5), bucket(5, 9, 2)]),
        (3, vec![bucket(1, 3, 2), bucket(3, 5, 3), bucket(5, 9, 2)]),
        (9, vec![bucket(1, 3, 2), bucket(3, 5, 3), bucket(5, 9, 1), bucket(9, 9, 1)]),
    ];
    for (buckets, expected) in cases {
        let stage = bson!({"$bucketAuto": {"groupBy": "$v", "buckets": buckets}});
        check(bson!([stage]), &documents, &expected);
    }
    check(
        bson!([
            {"$bucketAuto": {"groupBy": "$v", "buckets": 2, "output": {"l": {"$push": "$v"}}}},
            {"$limit": 1},
        ]),
        &documents,
        &[doc! {"_id": {"min": 1, "max": 5}, "l": [1, 1, 3, 3, 3]}],
    );
    check(bson!([{"$bucketAuto": {"groupBy": "$v", "buckets": 2}}]), &[], &[]);
}
