//! Reads request bodies into their operations.
//!
//! Bodies of resources stay as they came. Patches, batches and queries are parsed
//! ([`crate::read`]): short ones at once, long ones on a limited number of separate threads.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use bytes::Bytes;
use hyper::HeaderMap;
use protocol::{Code, Error, Operation};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::{query, read};

/// The kind of body that an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// No body: the gateway discards whatever comes.
    Nothing,
    /// JSON text.
    Text,
    /// JSON text, or nothing. A stored procedure may have no arguments; and a replace must report a
    /// missing document before it reports a missing body.
    TextOrNothing,
    /// Bytes that are not JSON.
    Raw,
}

/// Longest body that is parsed on the shared threads.
const INLINE_BYTES_MAX: usize = 8 * 1024;

/// Longest batch that is parsed on the shared threads. Parsing skips over its documents, so it is
/// quick.
const BATCH_INLINE_BYTES_MAX: usize = 64 * 1024;

/// How long a body may wait for a turn on a separate thread.
const PATIENCE: Duration = Duration::from_secs(30);

/// Limits how many bodies are parsed on separate threads at a time; more would only compete for the
/// processors.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    Arc::new(Semaphore::new((2 * threads).max(4)))
});

/// The kind of body that an operation takes. The match in `slot` lists every operation and has no
/// catch-all: one that was forgotten would lose its body.
pub(crate) fn wants(operation: &mut Operation) -> Wants {
    match slot(operation) {
        Slot::Nothing => Wants::Nothing,
        Slot::Raw(_) => Wants::Raw,
        Slot::TextOrNothing(_) => Wants::TextOrNothing,
        Slot::Text(_) | Slot::Patch | Slot::Batch | Slot::Query => Wants::Text,
    }
}

/// The place of the body in an operation.
enum Slot<'a> {
    Nothing,
    Text(&'a mut Bytes),
    TextOrNothing(&'a mut Bytes),
    Raw(&'a mut Bytes),
    Patch,
    Batch,
    Query,
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn slot(operation: &mut Operation) -> Slot<'_> {
    match operation {
        Operation::CreateDatabase { body, .. }
        | Operation::CreateEncryptionKey { body, .. }
        | Operation::ReplaceEncryptionKey { body, .. }
        | Operation::CreateUser { body, .. }
        | Operation::ReplaceUser { body, .. }
        | Operation::CreatePermission { body, .. }
        | Operation::ReplacePermission { body, .. }
        | Operation::CreateCollection { body, .. }
        | Operation::ReplaceCollection { body, .. }
        | Operation::GivePartitionKey { body, .. }
        | Operation::CreateDocument { body, .. }
        | Operation::CreateAttachment { body, media: None, .. }
        | Operation::ReplaceAttachment { body, .. }
        | Operation::CreateScript { body, .. }
        | Operation::ReplaceScript { body, .. }
        | Operation::ReplaceOffer { body, .. } => Slot::Text(body),
        Operation::ReplaceDocument { body, .. } | Operation::ExecuteProcedure { body, .. } => {
            Slot::TextOrNothing(body)
        }
        Operation::CreateAttachment { body, media: Some(_), .. }
        | Operation::ReplaceMedia { body, .. } => Slot::Raw(body),
        Operation::PatchDocument { .. } => Slot::Patch,
        Operation::ExecuteBatch { .. } => Slot::Batch,
        Operation::Query { .. } | Operation::PlanQuery { .. } => Slot::Query,
        Operation::ReadAccount
        | Operation::ReadDatabase(_)
        | Operation::DeleteDatabase(_)
        | Operation::ListDatabases
        | Operation::ReadEncryptionKey(_)
        | Operation::ListEncryptionKeys(_)
        | Operation::ReadUser(_)
        | Operation::DeleteUser(_)
        | Operation::ListUsers(_)
        | Operation::ReadPermission(_)
        | Operation::DeletePermission(_)
        | Operation::ListPermissions(_)
        | Operation::ReadCollection(_)
        | Operation::DeleteCollection(_)
        | Operation::ListCollections(_)
        | Operation::ListPartitionKeyRanges { .. }
        | Operation::ReadPartitionKeyRange { .. }
        | Operation::SplitPartition { .. }
        | Operation::MergePartitions { .. }
        | Operation::ReadDocument(_)
        | Operation::DeleteDocument(_)
        | Operation::DeleteByPartitionKey(_)
        | Operation::ListDocuments(_)
        | Operation::ReadChanges { .. }
        | Operation::ReadAttachment(_)
        | Operation::DeleteAttachment(_)
        | Operation::ListAttachments(_)
        | Operation::ReadMedia(_)
        | Operation::ListConflicts(_)
        | Operation::ReadConflict { .. }
        | Operation::DeleteConflict { .. }
        | Operation::ReadScript(_)
        | Operation::DeleteScript(_)
        | Operation::ListScripts { .. }
        | Operation::ReadOffer(_)
        | Operation::ListOffers => Slot::Nothing,
    }
}

/// Parses a body and stores it in its operation.
pub(crate) async fn fill(
    operation: &mut Operation,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<(), Error> {
    match operation {
        Operation::PatchDocument { patch, .. } => {
            *patch = apart(body, INLINE_BYTES_MAX, |body| read::patch(body)).await?;
        }
        Operation::ExecuteBatch { operations, .. } => {
            *operations = apart(body, BATCH_INLINE_BYTES_MAX, read::batch).await?;
        }
        Operation::Query { query, .. } | Operation::PlanQuery { query, .. } => {
            let is_text = query::is_text(headers);
            let read = move |body: &Bytes| read::query(body, is_text);
            *query = apart(body, INLINE_BYTES_MAX, read).await?;
        }
        operation => match slot(operation) {
            Slot::Text(slot) | Slot::TextOrNothing(slot) | Slot::Raw(slot) => *slot = body,
            Slot::Nothing | Slot::Patch | Slot::Batch | Slot::Query => {}
        },
    }
    Ok(())
}

/// Parses a body, on a separate thread if it is longer than `inline_bytes_max`.
async fn apart<T: Send + 'static>(
    body: Bytes,
    inline_bytes_max: usize,
    read: impl FnOnce(&Bytes) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    if body.len() <= inline_bytes_max {
        return read(&body);
    }
    let failed = || Error::new(Code::Internal, "a body could not be read");
    let Ok(turn) = timeout(PATIENCE, Arc::clone(&TURNS).acquire_owned()).await else {
        let mut error = Error::new(Code::TooManyRequests, "Too many long requests are being read.");
        error.meta.retry_after_ms = Some(1000);
        return Err(error);
    };
    let turn = turn.map_err(|_| failed())?;
    // The turn ends with the work, even if nobody waits for the result any more.
    let task = spawn_blocking(move || {
        let result = read(&body);
        drop(turn);
        result
    });
    task.await.unwrap_or_else(|_| Err(failed()))
}
