//! Stages that choose, shape and order documents.

use bson::{Bson, bson, doc};

use super::*;

#[test]
fn documents_are_chosen_and_shaped_one_by_one() {
    let document = doc! {"_id": 1, "a": {"b": 1, "c": 2}, "l": [{"x": 1}, 5, [{"x": 2}]], "z": 9};
    let cases = [
        (bson!([{"$match": {"a.b": 1}}]), Some(document.clone())),
        (bson!([{"$match": {"$expr": {"$gt": ["$a.b", 1]}}}]), None),
        (
            bson!([{"$project": {"_id": 0, "a.c": 1, "s": {"$add": ["$a.b", "$z"]}}}]),
            Some(doc! {"a": {"c": 2}, "s": 10}),
        ),
        (bson!([{"$unset": ["a.b", "l"]}]), Some(doc! {"_id": 1, "a": {"c": 2}, "z": 9})),
        (bson!([{"$unset": "a"}, {"$unset": "l"}]), Some(doc! {"_id": 1, "z": 9})),
        (bson!([{"$replaceRoot": {"newRoot": "$a"}}]), Some(doc! {"b": 1, "c": 2})),
        (bson!([{"$replaceWith": {"n": "$z"}}]), Some(doc! {"n": 9})),
        (bson!([]), Some(document.clone())),
    ];
    for (pipeline, expected) in cases {
        check(pipeline, std::slice::from_ref(&document), expected.as_slice());
    }
}

#[test]
fn fields_are_set_at_their_place_and_through_arrays() {
    let document = doc! {"a": 1, "b": {"c": 2, "d": 3}, "l": [{"x": 1}, 5, [{"x": 2}]]};
    let cases = [
        (
            bson!({"a": "$b.c"}),
            doc! {"a": 2, "b": {"c": 2, "d": 3}, "l": [{"x": 1}, 5, [{"x": 2}]]},
        ),
        (bson!({"b.c": 7, "l": "$$REMOVE"}), doc! {"a": 1, "b": {"c": 7, "d": 3}}),
        (bson!({"b": {"e": 4}, "l": 0}), doc! {"a": 1, "b": {"c": 2, "d": 3, "e": 4}, "l": 0}),
        (
            bson!({"a.b": "$a", "l": "x", "b": {"$literal": {"$y": 1}}}),
            doc! {"a": {"b": 1}, "b": {"$y": 1}, "l": "x"},
        ),
        (
            bson!({"l.x": "$a", "b": 0}),
            doc! {"a": 1, "b": 0, "l": [{"x": 1}, {"x": 1}, [{"x": 1}]]},
        ),
        (bson!({"n.m": "$missing", "b": 0, "l": 0}), doc! {"a": 1, "b": 0, "l": 0, "n": {}}),
    ];
    for (fields, expected) in cases {
        for name in ["$addFields", "$set"] {
            let stage = Bson::Document(doc! {name: fields.clone()});
            check(bson!([stage]), std::slice::from_ref(&document), std::slice::from_ref(&expected));
        }
    }
}

#[test]
fn documents_are_counted_limited_and_skipped() {
    let documents: Vec<Document> = (0..5).map(|i| doc! {"i": i}).collect();
    let cases = [
        (bson!([{"$limit": 2}]), vec![0, 1]),
        (bson!([{"$skip": 3.0}]), vec![3, 4]),
        (bson!([{"$skip": 1}, {"$limit": 2}]), vec![1, 2]),
        (bson!([{"$limit": 2}, {"$skip": 1}]), vec![1]),
        (bson!([{"$skip": 9}]), vec![]),
        (bson!([{"$sort": {"i": -1}}, {"$limit": 2}]), vec![4, 3]),
        (bson!([{"$sort": {"i": -1}}, {"$skip": 1}, {"$limit": 2}]), vec![3, 2]),
        (bson!([{"$limit": 3}, {"$sort": {"i": -1}}, {"$limit": 2}, {"$limit": 1}]), vec![2]),
    ];
    for (pipeline, expected) in cases {
        let expected: Vec<Document> = expected.into_iter().map(|i| doc! {"i": i}).collect();
        check(pipeline, &documents, &expected);
    }
    check(bson!([{"$count": "n"}]), &documents, &[doc! {"n": 5}]);
    check(bson!([{"$count": "n"}]), &[], &[]);
    check(bson!([{"$limit": 2}, {"$count": "n"}]), &documents, &[doc! {"n": 2}]);
}

#[test]
fn arrays_are_unwound() {
    let documents = [
        doc! {"_id": 1, "a": {"l": [1, [2]]}, "z": 0},
        doc! {"_id": 2, "a": {"l": []}},
        doc! {"_id": 3, "a": {"l": null}},
        doc! {"_id": 4, "a": {}},
        doc! {"_id": 5, "a": {"l": "x"}},
        doc! {"_id": 6, "a": [{"l": [1]}]},
    ];
    check(
        bson!([{"$unwind": "$a.l"}]),
        &documents,
        &[
            doc! {"_id": 1, "a": {"l": 1}, "z": 0},
            doc! {"_id": 1, "a": {"l": [2]}, "z": 0},
            doc! {"_id": 5, "a": {"l": "x"}},
        ],
    );
    check(
        bson!([{"$unwind": {
            "path": "$a.l", "includeArrayIndex": "at", "preserveNullAndEmptyArrays": true
        }}]),
        &documents,
        &[
            doc! {"_id": 1, "a": {"l": 1}, "z": 0, "at": 0_i64},
            doc! {"_id": 1, "a": {"l": [2]}, "z": 0, "at": 1_i64},
            doc! {"_id": 2, "a": {}, "at": null},
            doc! {"_id": 3, "a": {"l": null}, "at": null},
            doc! {"_id": 4, "a": {}, "at": null},
            doc! {"_id": 5, "a": {"l": "x"}, "at": null},
            doc! {"_id": 6, "a": [{"l": [1]}], "at": null},
        ],
    );
    check(
        bson!([{"$unwind": {"path": "$l", "includeArrayIndex": "a.i"}}]),
        &[doc! {"a": 1, "l": [7]}],
        &[doc! {"a": {"i": 0_i64}, "l": 7}],
    );
}

/// Sorts documents that are numbered, and gives their numbers.
fn sorted(by: Bson, documents: &[Document]) -> Vec<i32> {
    let numbered = documents.iter().zip(0..).map(|(document, at)| {
        let mut numbered = doc! {"_id": at};
        numbered.extend(document.clone());
        numbered
    });
    let numbered: Vec<Document> = numbered.collect();
    let found = run(bson!([{"$sort": by}]), &numbered).unwrap();
    found.iter().map(|document| document.get_i32("_id").unwrap()).collect()
}

#[test]
fn documents_are_sorted_by_several_fields_and_through_arrays() {
    let documents = [
        doc! {"a": 2, "b": 1},
        doc! {"a": 1, "b": 1},
        doc! {"a": "x"},
        doc! {},
        doc! {"a": [3, 0]},
        doc! {"a": []},
        doc! {"a": 1.0, "b": 2},
        doc! {"a": null},
    ];
    assert_eq!(sorted(bson!({"a": 1}), &documents), [5, 3, 7, 4, 1, 6, 0, 2]);
    assert_eq!(sorted(bson!({"a": -1}), &documents), [2, 4, 0, 1, 6, 3, 7, 5]);
    assert_eq!(sorted(bson!({"a": 1, "b": -1}), &documents), [5, 3, 7, 4, 6, 1, 0, 2]);

    let nested = [
        doc! {"l": [{"x": 5, "y": 1}, {"x": 3, "y": 9}]},
        doc! {"l": [{"x": 3, "y": 2}]},
        doc! {"l": {"x": 4}},
        doc! {"l": [1, {"x": 9}]},
        doc! {"l": [[{"x": 0}]]},
        doc! {"l": []},
    ];
    assert_eq!(sorted(bson!({"l.x": 1}), &nested), [3, 4, 5, 0, 1, 2]);
    assert_eq!(sorted(bson!({"l.x": 1, "l.y": 1}), &nested), [3, 4, 5, 1, 0, 2]);
    assert_eq!(sorted(bson!({"l.0.x": -1}), &nested)[..2], [0, 1]);
}

#[test]
fn samples_have_their_size_and_no_document_twice() {
    let documents: Vec<Document> = (0..20).map(|i| doc! {"i": i}).collect();
    for (size, expected) in [(0, 0), (7, 7), (50, 20)] {
        let found = run(bson!([{"$sample": {"size": size}}]), &documents).unwrap();
        assert_eq!(found.len(), expected);
        let mut numbers: Vec<i32> = found.iter().map(|found| found.get_i32("i").unwrap()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), expected);
    }
}

#[test]
fn parts_of_documents_are_redacted() {
    let document = doc! {
        "level": 1, "a": {"level": 5, "x": 1}, "b": {"level": 1, "y": {"level": 9}},
        "l": [{"level": 2}, 3, {"level": 0, "z": 1}],
    };
    let condition = bson!({"$cond": [{"$lte": ["$level", 1]}, "$$DESCEND", "$$PRUNE"]});
    check(
        bson!([{"$redact": condition}]),
        std::slice::from_ref(&document),
        &[doc! {"level": 1, "b": {"level": 1}, "l": [3, {"level": 0, "z": 1}]}],
    );
    check(
        bson!([{"$redact": "$$KEEP"}]),
        std::slice::from_ref(&document),
        std::slice::from_ref(&document),
    );
    check(bson!([{"$redact": "$$PRUNE"}]), std::slice::from_ref(&document), &[]);
}

#[test]
fn facets_see_the_same_documents() {
    let documents: Vec<Document> = (0..4).map(|i| doc! {"i": i}).collect();
    check(
        bson!([{"$facet": {
            "first": [{"$limit": 1}],
            "count": [{"$match": {"i": {"$gt": 0}}}, {"$count": "n"}],
            "none": [{"$match": {"i": 9}}],
        }}]),
        &documents,
        &[doc! {"first": [{"i": 0}], "count": [{"n": 3}], "none": []}],
    );
    check(bson!([{"$facet": {"all": [{"$sort": {"i": -1}}]}}]), &[], &[doc! {"all": []}]);
}

#[test]
fn documents_can_be_part_of_the_pipeline() {
    check(
        bson!([{"$documents": [{"a": {"$add": [1, 1]}}, {"a": 1}]}, {"$sort": {"a": 1}}]),
        &[],
        &[doc! {"a": 1}, doc! {"a": 2}],
    );
}
