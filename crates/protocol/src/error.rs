//! Errors in terms that a caller can act on.

use crate::meta::Meta;

/// What went wrong, in terms the client can act on. Each wire protocol owns one table from these
/// to its own codes; adding a variant means adding a row to each.
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
    /// The collection is not the one the caller had in mind; refresh its rid.
    CollectionRidMismatch,
    /// No credential, or one that does not verify.
    Unauthorized,
    /// A good credential without the right, or not valid at this time.
    Forbidden,
    /// No access token may do this, whoever holds it; use a key.
    ActionNotSupported,
    /// A good access token whose holder has no role for this.
    ActionNotGranted,
    /// The logical partition is full.
    PartitionKeyQuota,
    /// The collection is full.
    CollectionQuota,
    /// The disk is almost full; delete something, or come back when there is room.
    StorageFull,
    /// A quota is exhausted; delete something. Unlike [`Code::Forbidden`], not an authorisation failure.
    LimitReached,
    /// No such resource; do not retry.
    NotFound,
    /// The database or collection that should own the resource is absent.
    OwnerNotFound,
    /// The partition has not yet seen what the caller's session has seen; retry.
    SessionNotAvailable,
    /// The resource does not know this verb.
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
    /// The answer would be too large; ask for less at a time.
    ResponseTooLarge,
    /// Another operation of the same transaction failed, so this one was not carried out.
    FailedDependency,
    /// The partition's request units are spent; wait as told.
    TooManyRequests,
    /// A concurrent change got in the way; retry.
    RetryWith,
    /// A defect of ours; the activity id finds it in the log. A write may or may not have happened.
    Internal,
    /// Not now: shutting down, or the store refuses writes. Nothing was written.
    Unavailable,
    /// The partition is being opened again after a failed write. Nothing was written; retry soon.
    NotNow,
    /// Another process serves the partition now. Nothing was written; ask there.
    NotHere,
    /// The write was handed to the store, and whether it was carried out cannot be told. Read before
    /// repeating it.
    Unknown,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct Error {
    /// What the caller can act on.
    pub code: Code,
    /// What a person should read.
    pub message: String,
    /// Charge, session and owner, as with any answer. Boxed to keep `Result`s small.
    pub meta: Box<Meta>,
    /// What only errors of queries have.
    pub query: Option<Box<QueryFailure>>,
}

/// What clients read out of the error of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryFailure {
    /// The JSON document that stands in the place of the message: a list of errors with their
    /// places in the text.
    pub document: Option<String>,
    /// The plan by which the caller can run the query itself, as JSON.
    pub plan: Option<String>,
}

impl Code {
    /// Whether a write that failed with this may have been carried out all the same. With any other
    /// code it surely was not.
    pub fn leaves_write_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::Internal)
    }
}

impl Error {
    /// An error with nothing known but its code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), meta: Box::default(), query: None }
    }

    /// A [`Code::BadRequest`].
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// A [`Code::BadRequest`] whose message is a JSON document of errors.
    pub fn query(document: String) -> Self {
        let failure = QueryFailure { document: Some(document.clone()), plan: None };
        Self { query: Some(failure.into()), ..Self::bad_request(document) }
    }

    /// The service's words for a resource that is not there.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "Resource Not Found")
    }

    /// Not found: the database or collection that should hold the resource.
    pub fn owner_not_found() -> Self {
        Self::new(Code::OwnerNotFound, "Owner resource does not exist")
    }

    /// The service's words for a failed `If-Match`.
    pub fn precondition_failed() -> Self {
        Self::new(Code::PreconditionFailed, "One of the specified pre-condition is not met")
    }

    /// The service's words for an id that is taken.
    pub fn conflict() -> Self {
        Self::new(Code::Conflict, "Entity with the specified id already exists in the system.")
    }
}
