//! Batches: several operations on documents of one collection in one request.

use bytes::Bytes;
use value::partition_key::PartitionKey;

use super::IndexingDirective;
use crate::{error::Error, patch::Patch};

/// Whether the operations of a batch depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchMode {
    /// One transaction on one partition key: all or nothing.
    Atomic,
    /// Independent operations, in order. Those after the first failure may be skipped.
    Independent {
        /// Whether they are skipped.
        stops_at_failure: bool,
    },
}

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchOperation {
    /// What to do.
    pub kind: BatchKind,
    /// The partition key given in the operation itself.
    pub key: Option<PartitionKey>,
    /// Only if the stored etag is this one (or anything, for `*`).
    pub if_match: Option<String>,
    /// Only if the stored etag is not this one.
    pub if_none_match: Option<String>,
    /// Whether to index the document; overrides the request's option.
    pub indexing_directive: Option<IndexingDirective>,
    /// Omit the document from the result.
    pub is_minimal: bool,
}

/// What an operation of a batch does, with the id and the text of its document where needed.
/// Documents stay unparsed: an invalid one fails only its own operation.
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
    /// An unparsable patch fails when its turn comes, like an unparsable document: it does not
    /// affect the other operations.
    Patch {
        id: String,
        patch: Result<Patch, Error>,
    },
}

impl BatchOperation {
    /// An operation without options.
    pub fn new(kind: BatchKind) -> Self {
        let (key, if_match, if_none_match, indexing_directive) = (None, None, None, None);
        Self { kind, key, if_match, if_none_match, indexing_directive, is_minimal: false }
    }

    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, BatchKind::Read { .. })
    }
}
