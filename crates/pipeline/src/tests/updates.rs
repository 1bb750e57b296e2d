//! Updates by pipeline.

use bson::{RawBson, bson, doc};
use mql::update::{self, Transform, Update, UpdateOptions};

use super::*;
use crate::UpdatePipeline;

fn context() -> update::Context {
    let timestamp = Timestamp { time: 1, increment: 1 };
    update::Context { now: DateTime::from_millis(5), timestamp, matched: None }
}

fn compile(pipeline: Bson, variables: Vec<(String, RawBson)>) -> Result<UpdatePipeline> {
    UpdatePipeline::parse(&stages(pipeline), variables, &PipelineOptions::default())
}

#[test]
fn updates_run_their_stages() {
    let variables = vec![("x".to_owned(), RawBson::Int32(7))];
    let stages = bson!([
        {"$set": {"b": {"$add": ["$a", "$$x"]}, "at": "$$NOW"}},
        {"$unset": "a"},
    ]);
    let update = compile(stages, variables).unwrap();
    let found = update.transform(&raw(&doc! {"_id": 1, "a": 1}), &context()).unwrap();
    assert_eq!(found, raw(&doc! {"_id": 1, "b": 8, "at": DateTime::from_millis(5)}));
}

#[test]
fn updates_by_pipeline_are_updates() {
    let stages = compile(bson!([{"$replaceWith": {"b": "$a"}}]), Vec::new()).unwrap();
    let update = Update::of_pipeline(Box::new(stages), None, UpdateOptions::default()).unwrap();
    let applied = update.apply(&raw(&doc! {"_id": 1, "a": 2}), &context()).unwrap();
    assert_eq!(applied.document, raw(&doc! {"_id": 1, "b": 2}));
}

#[test]
fn updates_refuse_other_stages() {
    let cases = [
        (bson!([{"$match": {}}]), 72, "$match is not allowed to be used within an update"),
        (bson!([{"$lookup": {}}]), 72, "$lookup is not allowed to be used within an update"),
        (bson!([{"$foo": 1}]), 40_324, "Unrecognized pipeline stage name: '$foo'"),
    ];
    for (stages, code, message) in cases {
        let error = compile(stages, Vec::new()).unwrap_err();
        assert_eq!((error.code.number(), error.message.as_str()), (code, message));
    }
}
