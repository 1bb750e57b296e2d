//! What the database answers, before a wire protocol dresses it.

use bytes::Bytes;

pub use crate::meta::{Meta, Owner, PartitionPoint, Quota, QuotaLists};
use crate::{error::Code, paths::ScriptKind};

/// A successful answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// Which kind of success.
    pub outcome: Outcome,
    /// The resource or the page of resources.
    pub body: Body,
    /// The etag of the single resource, or the version of a feed that has one. Without quotes.
    pub etag: Option<String>,
    /// Where to go on; `None` after the last page.
    pub continuation: Option<String>,
    /// What accompanies every answer, an error's too.
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

/// The body of an answer.
#[derive(Clone, Debug)]
pub enum Body {
    /// Nothing: a delete, a 304, or a write whose caller wanted no content.
    Empty,
    /// One resource, as JSON text.
    Resource(Bytes),
    /// Media, which are of any type.
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
        /// What the page holds; the wire names the array after it.
        kind: FeedKind,
        /// Each item as JSON text.
        items: Vec<Bytes>,
    },
    /// What became of the operations of a batch, in their order.
    Batch(Vec<BatchResult>),
}

/// What became of one operation of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchResult {
    /// How it went.
    pub answer: Result<Outcome, Code>,
    /// Request units.
    pub charge: f64,
    /// The etag of the document as it is now, without quotes.
    pub etag: Option<String>,
    /// The document, as JSON text.
    pub document: Option<Bytes>,
    /// How long a throttled caller should wait.
    pub retry_after_ms: Option<u64>,
    /// What a person should read of a failure.
    pub message: Option<String>,
}

/// What a feed holds.
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
