//! Properties that hold for all documents.

use std::cmp::Ordering;

use bson::{Bson, RawBson, bson, doc};
use expression::order;
use proptest::prelude::*;

use super::*;

/// Values of several classes, of which many are equal.
fn value() -> impl Strategy<Value = Bson> {
    prop_oneof![
        Just(Bson::Null),
        any::<bool>().prop_map(Bson::Boolean),
        (-3..3_i32).prop_map(Bson::Int32),
        (-3..3_i64).prop_map(Bson::Int64),
        (-6..6_i32).prop_map(|half| Bson::Double(f64::from(half) / 2.0)),
        "[ab]{0,2}".prop_map(Bson::String),
        (-2..2_i32).prop_map(|inner| bson!({"x": inner})),
    ]
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    proptest::collection::vec((value(), value()), 0..30).prop_map(|pairs| {
        let numbered = pairs.into_iter().zip(0..);
        numbered.map(|((a, b), at)| doc! {"_id": at, "a": a, "b": b}).collect()
    })
}

fn compare(a: &Document, b: &Document, field: &str) -> Ordering {
    let raw = |document: &Document| RawBson::try_from(document[field].clone()).unwrap();
    order::compare(raw(a).as_raw_bson_ref(), raw(b).as_raw_bson_ref(), None)
}

proptest! {
    #[test]
    fn sorting_follows_the_order_of_values(documents in documents(), limit in 1..40_i32) {
        let mut expected = documents.clone();
        expected.sort_by(|a, b| compare(a, b, "a").then(compare(b, a, "b")));
        let sort = bson!({"$sort": {"a": 1, "b": -1}});
        let whole = run(bson!([sort.clone()]), &documents).unwrap();
        prop_assert_eq!(&whole, &expected);
        let few = run(bson!([sort, {"$limit": limit}]), &documents).unwrap();
        expected.truncate(usize::try_from(limit).unwrap());
        prop_assert_eq!(few, expected);
    }

    #[test]
    fn grouping_and_summing_is_a_fold(pairs in proptest::collection::vec((0..5_i32, -9..9_i32), 0..30)) {
        let mut expected: Vec<(i32, i32)> = Vec::new();
        for (group, number) in &pairs {
            match expected.iter_mut().find(|(known, _)| known == group) {
                Some((_, sum)) => *sum += number,
                None => expected.push((*group, *number)),
            }
        }
        let documents: Vec<Document> =
            pairs.into_iter().map(|(group, number)| doc! {"g": group, "n": number}).collect();
        let found = run(bson!([{"$group": {"_id": "$g", "sum": {"$sum": "$n"}}}]), &documents);
        let expected: Vec<Document> =
            expected.into_iter().map(|(group, sum)| doc! {"_id": group, "sum": sum}).collect();
        prop_assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn pushing_and_unwinding_gives_the_documents_back(documents in documents()) {
        let pipeline = bson!([
            {"$group": {"_id": null, "all": {"$push": "$$ROOT"}}},
            {"$unwind": "$all"},
            {"$replaceRoot": {"newRoot": "$all"}},
        ]);
        prop_assert_eq!(run(pipeline, &documents).unwrap(), documents);
    }
}
