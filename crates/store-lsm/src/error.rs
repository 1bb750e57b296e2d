//! Maps fjall's failures to errors for the callers of this store.

use store::Error;

/// The caller's error for a failure inside fjall.
pub(crate) fn error_of(error: fjall::Error) -> Error {
    match error {
        fjall::Error::Locked => Error::Conflict("the store is open in another process".to_owned()),
        fjall::Error::Poisoned => {
            Error::Closed("an earlier write to disk or a background job failed".to_owned())
        }
        fjall::Error::KeyspaceDeleted => Error::Closed("the partition was dropped".to_owned()),
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            Error::Io(error.to_string())
        }
        other => Error::Corrupt(format!("{other:?}")),
    }
}
