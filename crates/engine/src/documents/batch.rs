//! Several operations in one request: a transaction, or many that have nothing to do with each other.

mod atomic;
mod bulk;
mod read;
mod rows;

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Code, Error, Options, Outcome, Response,
    limits::PAGE_BYTES_MAX,
    request::{BatchMode, CollectionPath},
    response::BatchResult,
};
use value::partition_key::PartitionKey;

use crate::{
    Inner, charge::Meter, consistency::read_factor, documents::batch::read::BatchOperation, query,
};

/// Carries out the operations of a batch.
pub(crate) async fn run(
    engine: &Arc<Inner>,
    path: &CollectionPath,
    body: &Bytes,
    mode: BatchMode,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let operations = read::operations(body)?;
    match mode {
        BatchMode::Atomic => {
            // Conditions are asked while the key is locked, and may take long: on threads of their
            // own, of which there are few.
            let has_condition = operations.iter().any(BatchOperation::has_condition);
            let _turn = if has_condition { Some(query::apart::turn(engine).await?) } else { None };
            let batch = atomic::Batch { path, body, operations, has_condition, options };
            batch.run(engine, meter).await
        }
        BatchMode::Independent { stops_at_failure } => {
            bulk::Bulk { path, operations, stops_at_failure, options }.run(engine, meter).await
        }
    }
}

/// The partition keys that operations of a batch name themselves. A body that is none is refused when
/// it is carried out.
pub(crate) fn named_keys(body: &[u8]) -> Vec<PartitionKey> {
    let operations = read::operations(body).unwrap_or_default();
    operations.into_iter().filter_map(|operation| operation.key).collect()
}

/// A meter for one operation.
fn part(engine: &Inner, operation: &BatchOperation<'_>, options: &Options, meter: &Meter) -> Meter {
    let account = engine.options.default_consistency;
    meter.part(if operation.is_read() { read_factor(options, account) } else { 1 })
}

/// An operation that went well.
fn done(
    outcome: Outcome,
    etag: Option<String>,
    document: Option<Bytes>,
    charge: f64,
) -> BatchResult {
    BatchResult { answer: Ok(outcome), charge, etag, document, retry_after_ms: None, message: None }
}

/// An operation that failed.
fn failed(error: Error, charge: f64) -> BatchResult {
    BatchResult {
        answer: Err(error.code),
        charge,
        etag: None,
        document: None,
        retry_after_ms: error.meta.retry_after_ms,
        message: Some(error.message),
    }
}

/// An operation that was not carried out, since another failed.
fn left_out(charge: f64) -> BatchResult {
    let (etag, document, retry_after_ms, message) = (None, None, None, None);
    let answer = Err(Code::FailedDependency);
    BatchResult { answer, charge, etag, document, retry_after_ms, message }
}

/// Refuses an operation before it is tried if the answer is full already: what it changes may not
/// go unanswered.
fn check_answer(bytes: usize) -> Result<(), Error> {
    if bytes < PAGE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(
        Code::ResponseTooLarge,
        format!(
            "The answer to the batch is too large: it may have {PAGE_BYTES_MAX} bytes of \
             documents. Ask for fewer at a time, or for none (Prefer: return=minimal)."
        ),
    ))
}
