//! Several operations in one request: a transaction, or many independent operations.

mod atomic;
mod bulk;
mod operation;

use bytes::Bytes;
use partition::charge::Meter;
use protocol::{
    Code, Error, Options, Outcome, Response,
    limits::{BATCH_OPERATIONS_MAX, PAGE_BYTES_MAX},
    request::{BatchMode, BatchOperation, CollectionPath},
    response::BatchResult,
};

use query::consistency::read_factor;

use crate::{Inner, call::Call};

/// Carries out the operations of a batch.
pub(crate) async fn run(
    call: Call,
    path: &CollectionPath,
    operations: Vec<BatchOperation>,
    mode: BatchMode,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    // Each protocol reports this in its own words; this check is for one that forgets.
    if operations.len() > BATCH_OPERATIONS_MAX {
        let message = format!("A batch may have at most {BATCH_OPERATIONS_MAX} operations.");
        return Err(Error::bad_request(message));
    }
    match mode {
        BatchMode::Atomic => {
            let has_condition = operations.iter().any(operation::has_condition);
            let batch = atomic::Batch { path, operations, has_condition, options };
            batch.run(call, meter).await
        }
        BatchMode::Independent { stops_at_failure } => {
            bulk::Bulk { path, operations, stops_at_failure, options }.run(call, meter).await
        }
    }
}

/// A meter for one operation.
fn part(engine: &Inner, operation: &BatchOperation, options: &Options, meter: &Meter) -> Meter {
    let account = engine.options.default_consistency;
    meter.part(if operation.is_read() { read_factor(options, account) } else { 1 })
}

/// The result of an operation that succeeded.
fn done(
    outcome: Outcome,
    etag: Option<String>,
    document: Option<Bytes>,
    charge: f64,
) -> BatchResult {
    BatchResult { answer: Ok(outcome), charge, etag, document, retry_after_ms: None, message: None }
}

/// The result of an operation that failed.
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

/// The result of an operation that was not carried out because another one failed.
fn left_out(charge: f64) -> BatchResult {
    let (etag, document, retry_after_ms, message) = (None, None, None, None);
    let answer = Err(Code::FailedDependency);
    BatchResult { answer, charge, etag, document, retry_after_ms, message }
}

/// Refuses an operation before it is tried if the answer is already full: a change must not go
/// unreported.
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
