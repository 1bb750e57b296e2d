//! What a script can ask of the database while it runs.

use protocol::{BoxFuture, Error};

/// What is done to a document or an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// One resource.
    Read,
    /// A page of all resources.
    ReadFeed,
    /// A page of the rows of a query.
    Query,
    /// A new resource.
    Create,
    /// A new resource, or a new version of the one with its id.
    Upsert,
    /// A new version.
    Replace,
    /// Its end.
    Delete,
}

/// How one resource is called: by the name that its owner gave it, or by its rid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Its `id`.
    Id(String),
    /// Its `_rid`.
    Rid(String),
}

/// What an operation is about. It always lies in the collection that the script belongs to: a link
/// to anywhere else never gets this far.
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

/// One operation that a script asks for. The script's options are checked by the API it uses; what
/// they mean is for the host to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is done.
    pub operation: Operation,
    /// To what.
    pub target: Target,
    /// JSON text: the resource, or the query as `{"query": …, "parameters": …}`.
    pub body: Option<String>,
    /// Only if the stored version is this one.
    pub if_match: Option<String>,
    /// Only if the stored version is another one.
    pub if_none_match: Option<String>,
    /// `default`, `include` or `exclude`.
    pub index_action: Option<String>,
    /// How many rows a page holds at most; -1 leaves it to the host.
    pub page_size: Option<i64>,
    /// Where the page begins: what the page before it ended with.
    pub continuation: Option<String>,
    /// Whether a query may do without an index.
    pub enable_scan: bool,
}

/// What became of an operation that was carried out, or tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The status that a client would have got: from 400 on it is an error.
    pub status: u16,
    /// JSON text: the resource, or an array of rows. Of an error, its message as plain text.
    pub body: Option<String>,
    /// Where the next page begins, if there is one.
    pub continuation: Option<String>,
    /// Megabytes in the collection and how many it may hold (-1: any), if they are known.
    pub size_mb: Option<(u64, i64)>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was tried.
    Done(Reply),
    /// It was not: the script's time or request units run low. The call returns `false`, its
    /// callback is never run, and the script should wrap up.
    Refused,
}

/// The database as one execution sees it: a transaction.
///
/// The pool drops a call that is under way when the time of the script is up, and reports
/// [`crate::Failure::TimedOut`]; the transaction is then to be dropped too.
pub trait Host: Send {
    /// Carries out one operation. An `Err` ends the script at once, with that error.
    fn call(&mut self, call: Call) -> BoxFuture<'_, Result<Answer, Error>>;
}
