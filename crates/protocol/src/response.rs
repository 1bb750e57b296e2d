//! Responses of the database, independent of the wire protocol.

use bytes::Bytes;

pub use crate::meta::{Meta, Owner, PartitionPoint, Quota, QuotaLists};
use crate::{error::Code, paths::ScriptKind};

/// A successful response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The kind of success.
    pub outcome: Outcome,
    /// The resource or the page of resources.
    pub body: Body,
    /// The etag of the single resource, or the version of a feed that has one. Without quotes.
    pub etag: Option<String>,
    /// Where to continue; `None` after the last page.
    pub continuation: Option<String>,
    /// Metadata that every response has, including errors.
    pub meta: Meta,
}

/// The kinds of success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Read or replaced.
    Ok,
    /// Created.
    Created,
    /// Deleted.
    Deleted,
    /// The caller's version is the current one; there is no body.
    NotModified,
}

/// The body of a response.
#[derive(Clone, Debug)]
pub enum Body {
    /// Nothing: for a delete, a 304, or a write whose caller wanted no content.
    Empty,
    /// One resource, as JSON text.
    Resource(Bytes),
    /// Media, of any type.
    Media {
        /// The media type.
        content_type: String,
        /// The media.
        content: Bytes,
    },
    /// A page of resources.
    Feed {
        /// The rid text of the resource that owns the feed; empty for databases and offers.
        owner_rid: String,
        /// The kind of items; the wire protocol names the array after it.
        kind: FeedKind,
        /// Each item as JSON text.
        items: Vec<Bytes>,
    },
    /// The results of a batch's operations, in order.
    Batch(Vec<BatchResult>),
}

/// The result of one operation of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchResult {
    /// The outcome, or why it failed.
    pub answer: Result<Outcome, Code>,
    /// Request units.
    pub charge: f64,
    /// The document's current etag, without quotes.
    pub etag: Option<String>,
    /// The document, as JSON text.
    pub document: Option<Bytes>,
    /// How long a throttled caller should wait.
    pub retry_after_ms: Option<u64>,
    /// The error message for people.
    pub message: Option<String>,
}

/// The kind of items in a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the resource types of the service")]
pub enum FeedKind {
    Databases,
    Collections,
    Documents,
    PartitionKeyRanges,
    Offers,
    Scripts(ScriptKind),
    ClientEncryptionKeys,
    Users,
    Permissions,
    Attachments,
    Conflicts,
}
