//! What a lower-level failure means to a caller. All such mapping happens here.

use protocol::{Code, Error};

use crate::rows::Damaged;

/// When the client should retry a request that can be served soon.
const RETRY_AFTER_MS: u64 = 1000;

/// Maps the failure of a store call that wrote nothing to the caller's error. The detail goes to
/// the log.
pub fn from_store(error: store::Error) -> Error {
    log(&error);
    match error {
        store::Error::Closed(_) | store::Error::Io(_) | store::Error::Unavailable(_) => {
            Error::new(Code::Unavailable, "The database cannot serve this request now.")
        }
        store::Error::Fenced => not_here(),
        store::Error::Conflict(_) | store::Error::Corrupt(_) => {
            Error::new(Code::Internal, "The stored data could not be read.")
        }
    }
}

/// Maps the failure of a batch that was handed to the store. Unless the store refused the batch,
/// its outcome is unknown here.
pub fn from_commit(error: store::Error) -> Error {
    log(&error);
    match error {
        store::Error::Closed(_) => {
            Error::new(Code::Unavailable, "The database cannot serve this request now.")
        }
        store::Error::Conflict(_) => {
            Error::new(Code::Unavailable, "The store does not take this write.")
        }
        store::Error::Unavailable(_)
        | store::Error::Fenced
        | store::Error::Io(_)
        | store::Error::Corrupt(_) => unknown(),
    }
}

fn log(error: &store::Error) {
    // The failure that closed the store was logged when it happened.
    if !matches!(error, store::Error::Closed(_)) {
        tracing::error!(%error, "store call failed");
    }
}

/// A write whose outcome is unknown.
pub fn unknown() -> Error {
    Error::new(
        Code::Unknown,
        "The write was not confirmed in time. It may or may not have been carried out.",
    )
}

/// A stored row that cannot be decoded.
pub fn from_damaged(damaged: Damaged) -> Error {
    tracing::error!(%damaged, "stored data is damaged or of a newer format");
    Error::new(Code::Internal, "The stored data could not be read.")
}

/// Another resource already has this name, or has it as its rid.
pub fn taken() -> Error {
    Error::new(Code::Conflict, "Resource with specified id or name already exists.")
}

/// A commit failed earlier; only a restart brings writes back.
pub fn writes_stopped() -> Error {
    Error::new(Code::Unavailable, "Writes have stopped after a storage failure.")
}

/// Another process serves the partition.
pub fn not_here() -> Error {
    retried(Code::NotHere, "The partition has moved to another server.")
}

/// The partition is being reopened: stage the write again once it is open.
pub fn not_now() -> Error {
    retried(Code::NotNow, "The partition is being opened again after a failed write.")
}

/// The store has not confirmed what an answer rests on. The request itself has written nothing. It is
/// not staged again at once: it would wait for the same store.
pub fn stalled() -> Error {
    retried(
        Code::Unavailable,
        "Earlier writes were not confirmed in time. Nothing of this request was executed.",
    )
}

/// A refusal that tells the client when to retry.
fn retried(code: Code, message: &str) -> Error {
    let mut error = Error::new(code, message);
    error.meta.retry_after_ms = Some(RETRY_AFTER_MS);
    error
}

/// Whether the writer should stage its write again after this code: nothing was queued, and this
/// partition or its replacement will accept the write soon.
pub fn is_staged_again(code: Code) -> bool {
    matches!(code, Code::PartitionSplitting | Code::NotNow)
}

/// Other partitions are taking over from this one: stage the write again, on one of them.
pub fn moving() -> Error {
    Error::new(Code::PartitionSplitting, "The partition is being split. Retry the request.")
}

/// The database is closing.
pub fn shut_down() -> Error {
    Error::new(Code::Unavailable, "The database is shutting down.")
}
