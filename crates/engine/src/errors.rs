//! What a lower failure means to a caller. The only place that decides it.

use protocol::{Code, Error};

use crate::rows::Damaged;

/// A store failure, as the caller may know it. The detail goes to the log.
pub(crate) fn from_store(error: store::Error) -> Error {
    // What closed the store was logged when it happened.
    if !matches!(error, store::Error::Closed(_)) {
        tracing::error!(%error, "store call failed");
    }
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

/// A row that cannot be read.
pub(crate) fn from_damaged(damaged: Damaged) -> Error {
    tracing::error!(%damaged, "stored data is damaged or of a newer format");
    Error::new(Code::Internal, "The stored data could not be read.")
}

/// A name that another resource has, or whose rid it is.
pub(crate) fn taken() -> Error {
    Error::new(Code::Conflict, "Resource with specified id or name already exists.")
}

/// A commit failed earlier; only a restart brings writes back.
pub(crate) fn writes_stopped() -> Error {
    Error::new(Code::Unavailable, "Writes have stopped after a storage failure.")
}

/// Another process serves the partition.
pub(crate) fn not_here() -> Error {
    Error::new(Code::PartitionGone, "The partition has moved.")
}

/// Other partitions are taking over from this one: stage the write again, on one of them.
pub(crate) fn moving() -> Error {
    Error::new(Code::PartitionSplitting, "The partition is being split. Retry the request.")
}

/// The database is closing.
pub(crate) fn shut_down() -> Error {
    Error::new(Code::Unavailable, "The database is shutting down.")
}

/// A script that did not end well.
pub(crate) fn from_script(failure: &script::Failure) -> Error {
    if let script::Failure::Host(error) = failure {
        return Error::clone(error);
    }
    let mut error = Error::new(failure.code(), failure.to_string());
    match failure {
        script::Failure::Busy => error.meta.retry_after_ms = Some(1000),
        script::Failure::WorkerLost(reason) => {
            tracing::error!(%reason, "a script's worker was lost");
        }
        script::Failure::Thrown { number: Some(number), .. } => {
            error.meta.sub_status = u32::try_from(*number).ok();
        }
        _ => {}
    }
    error
}
