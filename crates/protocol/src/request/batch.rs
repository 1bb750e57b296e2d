//! Batches: several operations on documents of one collection in one request.

use bytes::Bytes;
use value::partition_key::PartitionKey;

use super::IndexingDirective;
use crate::{error::Error, patch::Patch};

/// What the operations of a batch have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchMode {
    /// One transaction on one partition key: all or nothing.
    Atomic,
    /// Each for itself, in order. Those behind the first that fails may be left alone.
    Independent {
        /// Whether they are.
        stops_at_failure: bool,
    },
}

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchOperation {
    /// What to do.
    pub kind: BatchKind,
    /// The partition key that the operation names itself.
    pub key: Option<PartitionKey>,
    /// Only if the stored etag is this one (or anything, for `*`).
    pub if_match: Option<String>,
    /// Only if the stored etag is not this one.
    pub if_none_match: Option<String>,
    /// Index the document or not, against the request's own wish.
    pub indexing_directive: Option<IndexingDirective>,
    /// Leave the document out of the result.
    pub is_minimal: bool,
}

/// What an operation of a batch does, by the id of the document and the text of the new one, as far as
/// it has them. Documents stay text: what is wrong with one is the fate of its operation alone.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names of the fields say what they are")]
pub enum BatchKind {
    Create {
        body: Bytes,
    },
    Upsert {
        body: Bytes,
    },
    Read {
        id: String,
    },
    Replace {
        id: String,
        body: Bytes,
    },
    Delete {
        id: String,
    },
    /// A patch that could not be read fails when its turn comes, like a document that cannot be: others
    /// of the batch may have nothing to do with it.
    Patch {
        id: String,
        patch: Result<Patch, Error>,
    },
}

impl BatchOperation {
    /// An operation that says nothing but what to do.
    pub fn new(kind: BatchKind) -> Self {
        let (key, if_match, if_none_match, indexing_directive) = (None, None, None, None);
        Self { kind, key, if_match, if_none_match, indexing_directive, is_minimal: false }
    }

    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, BatchKind::Read { .. })
    }
}
