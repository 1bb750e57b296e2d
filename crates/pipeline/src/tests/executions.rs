//! How executions flow and what they may hold.

use std::sync::Arc;

use bson::{Bson, bson, doc};
use expression::{Code, Collation, Computed, Scope, Variables};
use mql::filter::FilterOptions;

use super::*;
use crate::Stage;

#[test]
fn a_limit_stops_the_source() {
    let pipeline = parse(bson!([{"$match": {"a": 1}}, {"$limit": 1}, {"$set": {"b": 2}}])).unwrap();
    let random = Random::new(0);
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    let environment = Environment::new(&context);
    let mut execution = pipeline.start().unwrap();
    let mut count = 0;
    let mut flows = Vec::new();
    for a in [0, 1, 1] {
        let mut out = |_| {
            count += 1;
            Ok(Flow::More)
        };
        flows.push(execution.push(raw(&doc! {"a": a}), &environment, &mut out).unwrap());
    }
    assert_eq!(flows, [Flow::More, Flow::Enough, Flow::Enough]);
    assert_eq!(count, 1);
}

#[test]
fn executions_of_one_pipeline_are_independent() {
    let pipeline = parse(bson!([{"$sort": {"a": 1}}, {"$limit": 1}])).unwrap();
    for a in [2, 1] {
        let found = run_compiled(&pipeline, &[doc! {"a": a}, doc! {"a": 3}]).unwrap();
        assert_eq!(found, [doc! {"a": a}]);
    }
}

#[test]
fn stages_that_keep_documents_have_a_budget() {
    let documents: Vec<Document> = (0..100).map(|i| doc! {"i": i, "t": "x".repeat(100)}).collect();
    let options = PipelineOptions { memory_max: 4000, ..PipelineOptions::default() };
    let group = "Exceeded memory limit for $group, but didn't allow external sort. Pass \
                 allowDiskUse:true to opt in.";
    let sort = "Sort exceeded memory limit of 4000 bytes, but did not opt in to external sorting.";
    let bucket = "Exceeded memory limit for $bucketAuto, but didn't allow external sort. Pass \
                  allowDiskUse:true to opt in.";
    let facet = "Exceeded memory limit for $facet, but didn't allow external sort. Pass \
                 allowDiskUse:true to opt in.";
    let cases = [
        (bson!([{"$sort": {"i": 1}}]), Some(sort)),
        (bson!([{"$sort": {"i": -1}}, {"$limit": 5}]), None),
        (bson!([{"$sort": {"i": -1}}, {"$limit": 5}, {"$sort": {"i": 1}}]), None),
        (bson!([{"$group": {"_id": "$i"}}]), Some(group)),
        (bson!([{"$group": {"_id": null, "all": {"$push": "$t"}}}]), Some(group)),
        (bson!([{"$group": {"_id": null, "last": {"$last": "$t"}}}]), None),
        (bson!([{"$group": {"_id": null, "few": {"$lastN": {"input": "$t", "n": 3}}}}]), None),
        (bson!([{"$bucketAuto": {"groupBy": "$i", "buckets": 2}}]), Some(bucket)),
        (bson!([{"$facet": {"all": []}}]), Some(facet)),
    ];
    for (pipeline, expected) in cases {
        let compiled = Pipeline::parse(&stages(pipeline.clone()), &options).unwrap();
        let found = run_compiled(&compiled, &documents).err();
        let found = found.map(|error| (error.code.number(), error.message));
        assert_eq!(found, expected.map(|text| (292, text.to_owned())), "{pipeline}");
    }
}

#[test]
fn documents_that_are_too_large_are_refused() {
    let document = doc! {"t": "x".repeat(9 * 1024 * 1024)};
    let found = run(bson!([{"$set": {"u": "$t"}}]), &[document]).unwrap_err();
    assert_eq!(found.code.name(), "BSONObjectTooLarge");
    assert!(found.message.starts_with("BSONObj size: 188"), "{}", found.message);
}

#[test]
fn stages_that_need_the_database_are_kept_for_others() {
    let lookup = doc! {"from": "c", "localField": "a", "foreignField": "b", "as": "d"};
    let pipeline =
        parse(bson!([{"$limit": 1}, {"$lookup": lookup.clone()}, {"$count": "n"}])).unwrap();
    assert_eq!(pipeline.next_outside(0), Some(1));
    assert_eq!(pipeline.next_outside(2), None);
    let Stage::Outside { name, specification } = &pipeline.stages()[1] else { panic!("inside") };
    assert_eq!(name, "$lookup");
    assert_eq!(specification.as_document().unwrap().to_owned(), raw(&lookup));
    let error = pipeline.start().unwrap_err();
    assert_eq!(
        (error.code.number(), error.message.as_str()),
        (238, "The stage $lookup is not supported here")
    );
    assert!(pipeline.start_part(2..3, &pipeline.budget()).is_ok());
}

#[test]
fn documents_that_are_nested_too_deep_are_refused() {
    let nesting = [
        bson!({"$set": {"a": "$$ROOT"}}),
        bson!({"$project": {"a": "$$ROOT"}}),
        bson!({"$replaceWith": {"a": "$$ROOT"}}),
        bson!({"$group": {"_id": null, "a": {"$push": "$$ROOT"}}}),
        bson!({"$group": {"_id": "$$ROOT"}}),
        bson!({"$facet": {"a": []}}),
    ];
    for stage in nesting {
        let pipeline = parse(Bson::Array(vec![stage.clone(); 250])).unwrap();
        let found = run_compiled(&pipeline, &[doc! {"b": 1}]).unwrap_err();
        assert_eq!(found.code.name(), "Overflow", "{stage}");
    }
}

#[test]
fn variables_and_collations_reach_all_stages() {
    let collation = raw(&doc! {"locale": "en", "strength": 2});
    let collation = Collation::parse(&collation).unwrap().map(Arc::new);
    let names = Variables::new().with(["x"]).unwrap();
    let filter = FilterOptions { collation: collation.clone(), names, ..FilterOptions::default() };
    let options = PipelineOptions { filter, ..PipelineOptions::default() };
    let pipeline = bson!([
        {"$match": {"$expr": {"$ne": ["$s", "$$x"]}}},
        {"$sort": {"s": 1}},
        {"$group": {"_id": "$s", "n": {"$push": "$n"}, "x": {"$first": "$$x"}}},
    ]);
    let pipeline = Pipeline::parse(&stages(pipeline), &options).unwrap();
    let random = Random::new(0);
    let context = Context {
        now: DateTime::from_millis(0),
        cluster_time: Timestamp { time: 0, increment: 0 },
        user_roles: None,
        collation: collation.as_deref(),
        random: &random,
    };
    let values = [Computed::from("C".to_owned())];
    let nothing = raw(&doc! {});
    let frame = Scope::new(&nothing, &context).frame(&values);
    let environment = Environment { frame: Some(&frame), ..Environment::new(&context) };
    let mut execution = pipeline.start().unwrap();
    let mut found = Vec::new();
    let mut out = |document: RawDocumentBuf| {
        found.push(Document::try_from(&*document)?);
        Ok(Flow::More)
    };
    for (s, n) in [("b", 1), ("A", 2), ("B", 3), ("a", 4), ("c", 5)] {
        execution.push(raw(&doc! {"s": s, "n": n}), &environment, &mut out).unwrap();
    }
    execution.finish(&environment, &mut out).unwrap();
    let expected =
        [doc! {"_id": "A", "n": [2, 4], "x": "C"}, doc! {"_id": "b", "n": [1, 3], "x": "C"}];
    assert_eq!(found, expected);
}

#[test]
fn a_query_that_is_cancelled_stops() {
    let pipeline = parse(bson!([{"$unwind": "$l"}])).unwrap();
    let random = Random::new(0);
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    let left = std::cell::Cell::new(3);
    let checkpoint = || match left.replace(left.get() - 1) {
        0 => Err(Error::new(Code::MAX_TIME_EXPIRED, "operation exceeded time limit")),
        _ => Ok(()),
    };
    let environment = Environment { checkpoint: Some(&checkpoint), ..Environment::new(&context) };
    let mut count = 0;
    let mut out = |_| {
        count += 1;
        Ok(Flow::More)
    };
    let document = raw(&doc! {"l": [1, 2, 3, 4, 5]});
    let found = pipeline.start().unwrap().push(document, &environment, &mut out).unwrap_err();
    assert_eq!((found.code, count), (Code::MAX_TIME_EXPIRED, 2));
}
