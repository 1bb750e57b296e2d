//! Tables of pipelines: documents in, documents out.

use bson::{Bson, DateTime, Document, RawArrayBuf, RawDocumentBuf, Timestamp};
use expression::{Context, Error, Random, Result};

use crate::{Environment, Flow, Pipeline, PipelineOptions};

mod executions;
mod groups;
mod properties;
mod refusals;
mod stages;
mod updates;

/// An array of stages, as a client sends it.
fn stages(stages: Bson) -> RawArrayBuf {
    let mut raw = RawArrayBuf::new();
    for stage in stages.as_array().unwrap() {
        raw.push(bson::RawBson::try_from(stage.clone()).unwrap());
    }
    raw
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn parse(pipeline: Bson) -> Result<Pipeline> {
    Pipeline::parse(&stages(pipeline), &PipelineOptions::default())
}

/// Runs documents through a compiled pipeline.
fn run_compiled(pipeline: &Pipeline, documents: &[Document]) -> Result<Vec<Document>> {
    let random = Random::new(1);
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    let environment = Environment::new(&context);
    let mut execution = pipeline.start()?;
    let mut found = Vec::new();
    let mut out = |document: RawDocumentBuf| {
        found.push(Document::try_from(&*document)?);
        Ok(Flow::More)
    };
    for document in documents {
        if execution.push(raw(document), &environment, &mut out)? == Flow::Enough {
            break;
        }
    }
    execution.finish(&environment, &mut out)?;
    Ok(found)
}

fn run(pipeline: Bson, documents: &[Document]) -> Result<Vec<Document>> {
    run_compiled(&parse(pipeline)?, documents)
}

/// Checks what comes out of a pipeline.
fn check(pipeline: Bson, documents: &[Document], expected: &[Document]) {
    let found = run(pipeline.clone(), documents);
    assert_eq!(found.as_deref(), Ok(expected), "{pipeline}");
}

/// Checks the error of a pipeline that runs over a document.
fn check_fails(pipeline: Bson, document: Document, code: i32, message: &str) {
    let found = run(pipeline.clone(), &[document]);
    let Error { code: found, message: text, .. } = found.expect_err(&pipeline.to_string());
    assert_eq!((found.number(), text.as_str()), (code, message), "{pipeline}");
}
