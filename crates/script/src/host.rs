//! What a script can ask of the database.

use protocol::{BoxFuture, Error};

/// An operation on a document or an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads one resource.
    Read,
    /// Reads a page of all resources.
    ReadFeed,
    /// Reads a page of query results.
    Query,
    /// Creates a resource.
    Create,
    /// Creates a resource, or replaces the one with its id.
    Upsert,
    /// Writes a new version.
    Replace,
    /// Deletes a resource.
    Delete,
}

/// How a resource is named: by the id its owner gave it, or by its rid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Its `id`.
    Id(String),
    /// Its `_rid`.
    Rid(String),
}

/// The target of an operation. Always in the script's own collection: links to anywhere else are
/// rejected earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The documents of the collection.
    Documents,
    /// One document.
    Document(Name),
    /// The attachments of a document.
    Attachments(Name),
    /// One attachment of a document.
    Attachment(Name, Name),
}

/// One operation that a script asks for. The script API checks the form of the options; the host
/// interprets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The operation.
    pub operation: Operation,
    /// Its target.
    pub target: Target,
    /// JSON text: the resource, or the query as `{"query": …, "parameters": …}`.
    pub body: Option<String>,
    /// Requires the stored version to be this one.
    pub if_match: Option<String>,
    /// Requires the stored version to be another one.
    pub if_none_match: Option<String>,
    /// `default`, `include` or `exclude`.
    pub index_action: Option<String>,
    /// The most rows per page; -1 leaves it to the host.
    pub page_size: Option<i64>,
    /// Where the page begins: the previous page's continuation.
    pub continuation: Option<String>,
    /// Whether a query may run without an index.
    pub enable_scan: bool,
    /// Whether it was covered by a [`Promise`], so that it cannot be refused any more.
    pub is_promised: bool,
    /// Whether the script cannot see the resource that a success returns: the reply need not have it.
    pub is_brief: bool,
}

/// What a host will not refuse. So far a script may go ahead with creating documents, without
/// waiting until each of them was accepted: several then travel in one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// How many documents.
    pub creations: u32,
    /// How many bytes of JSON they may have together.
    pub bytes: u64,
}

impl Promise {
    /// No more than so much of it.
    #[must_use]
    pub fn at_most(self, creations: f64, bytes: f64) -> Promise {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let least = |some: f64, all: f64| some.clamp(0.0, all) as u64;
        let creations = least(creations, self.creations.into());
        let bytes = least(bytes, self.bytes as f64);
        Promise { creations: u32::try_from(creations).unwrap_or(0), bytes }
    }

    /// Uses some of it for one document, if enough is left.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let left = u64::try_from(bytes).ok().and_then(|bytes| self.bytes.checked_sub(bytes));
        match (self.creations.checked_sub(1), left) {
            (Some(creations), Some(bytes)) => {
                *self = Promise { creations, bytes };
                true
            }
            _ => false,
        }
    }
}

/// The result of an attempted operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The status that a client would get: 400 or above is an error.
    pub status: u16,
    /// JSON text: the resource, or an array of rows. For an error, its message as plain text.
    pub body: Option<String>,
    /// Where the next page begins, if there is one.
    pub continuation: Option<String>,
    /// Megabytes in the collection and the most it may hold (-1: unlimited), if known.
    pub size_mb: Option<(u64, i64)>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The operation was attempted.
    Done(Reply),
    /// It was not attempted, because the script is running out of time or request units. The call
    /// returns `false`, its callback never runs, and the script should wrap up.
    Refused,
}

/// The database as one execution sees it: a transaction.
///
/// When the script's time is up, the pool drops a pending call and reports
/// [`crate::Failure::TimedOut`]; the caller must then drop the transaction too.
pub trait Host: Send {
    /// Carries out one operation. An `Err` ends the script immediately with that error.
    fn call(&mut self, call: Call) -> BoxFuture<'_, Result<Answer, Error>>;

    /// What the host promises from now on. It ends with the next promise.
    fn promise(&self) -> Promise {
        Promise::default()
    }
}
