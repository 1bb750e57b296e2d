//! Errors in terms that a caller can act on.

use crate::meta::Meta;

/// The kind of error, in terms the client can act on. Each wire protocol has one table that maps
/// these to its own codes, so a new variant needs a row in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request is wrong; do not repeat it unchanged.
    BadRequest,
    /// The partition key named differs from the one in the document.
    PartitionKeyMismatch,
    /// The gateway does not serve this query across partitions; ask for a plan.
    CrossPartitionQuery,
    /// A collection needs a partition key definition.
    PartitionKeyDefinitionMissing,
    /// The collection is not the one the caller expects; refresh its rid.
    CollectionRidMismatch,
    /// No credential, or one that does not verify.
    Unauthorized,
    /// A valid credential without the right, or not valid at this time.
    Forbidden,
    /// No access token may do this, whatever its holder's role; use a key.
    ActionNotSupported,
    /// A valid access token whose holder has no role for this.
    ActionNotGranted,
    /// The logical partition is full.
    PartitionKeyQuota,
    /// The collection is full.
    CollectionQuota,
    /// The disk is almost full; delete something, or retry when there is room.
    StorageFull,
    /// A quota is exhausted; delete something. Unlike [`Code::Forbidden`], not an authorization
    /// failure.
    LimitReached,
    /// No such resource; do not retry.
    NotFound,
    /// The database or collection that should own the resource is absent.
    OwnerNotFound,
    /// The partition has not yet seen what the caller's session has seen; retry.
    SessionNotAvailable,
    /// The resource does not support this verb.
    MethodNotAllowed,
    /// It took too long.
    Timeout,
    /// A resource with this id exists.
    Conflict,
    /// The name now means another collection; refresh.
    NameCacheStale,
    /// The partition does not exist (any more); refresh the ranges.
    PartitionGone,
    /// The partition is splitting; wait, refresh, retry.
    PartitionSplitting,
    /// The stored etag differs; read again, then retry.
    PreconditionFailed,
    /// The condition of a patch does not hold for the document; read it, then decide.
    PatchConditionFailed,
    /// The body or document is too large.
    TooLarge,
    /// The response would be too large; request less at a time.
    ResponseTooLarge,
    /// Another operation of the same transaction failed, so this one was not carried out.
    FailedDependency,
    /// The partition's request units are spent; wait as told.
    TooManyRequests,
    /// A concurrent change got in the way; retry.
    RetryWith,
    /// A bug in the server; the activity id finds it in the log. A write may or may not have
    /// happened.
    Internal,
    /// Temporary: the server is shutting down, or the store refuses writes. Nothing was written.
    Unavailable,
    /// The partition is being reopened after a failed write. Nothing was written; retry soon.
    NotNow,
    /// Another process serves the partition now. Nothing was written; ask there.
    NotHere,
    /// The write was handed to the store, but its outcome is unknown. Read before repeating it.
    Unknown,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct Error {
    /// What the client can act on.
    pub code: Code,
    /// The message for people.
    pub message: String,
    /// Charge, session and owner, as in any response. Boxed to keep `Result`s small.
    pub meta: Box<Meta>,
    /// Only set for errors of queries.
    pub query: Option<Box<QueryFailure>>,
}

/// What clients parse from the error of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryFailure {
    /// A JSON document that replaces the message: a list of errors with their positions in the
    /// text.
    pub document: Option<String>,
    /// The plan by which the caller can run the query itself, as JSON.
    pub plan: Option<String>,
}

impl Code {
    /// Whether a write that failed with this code may still have been carried out. With any other
    /// code it certainly was not.
    pub fn leaves_write_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::Internal)
    }
}

impl Error {
    /// Creates an error with only a code and a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), meta: Box::default(), query: None }
    }

    /// Creates a [`Code::BadRequest`].
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// Creates a [`Code::BadRequest`] whose message is a JSON document of errors.
    pub fn query(document: String) -> Self {
        let failure = QueryFailure { document: Some(document.clone()), plan: None };
        Self { query: Some(failure.into()), ..Self::bad_request(document) }
    }

    /// The service's error for a missing resource.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "Resource Not Found")
    }

    /// Not found: the database or collection that should own the resource.
    pub fn owner_not_found() -> Self {
        Self::new(Code::OwnerNotFound, "Owner resource does not exist")
    }

    /// The service's error for a failed `If-Match`.
    pub fn precondition_failed() -> Self {
        Self::new(Code::PreconditionFailed, "One of the specified pre-condition is not met")
    }

    /// The service's error for an id that already exists.
    pub fn conflict() -> Self {
        Self::new(Code::Conflict, "Entity with the specified id already exists in the system.")
    }
}
