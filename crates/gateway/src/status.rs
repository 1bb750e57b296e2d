//! The table from error codes to statuses and names on the wire.

use hyper::StatusCode;
use protocol::Code;

/// The representation of an error on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// The HTTP status.
    pub(crate) http: u16,
    /// `x-ms-substatus`; 0 is not sent.
    pub(crate) sub: u16,
    /// `code` in the body.
    pub(crate) name: &'static str,
}

impl Status {
    /// Looks up an error code.
    pub(crate) fn of(code: Code) -> Self {
        let (http, sub, name) = match code {
            Code::BadRequest => (400, 0, "BadRequest"),
            Code::PartitionKeyMismatch => (400, 1001, "BadRequest"),
            Code::CrossPartitionQuery => (400, 1004, "BadRequest"),
            Code::PartitionKeyDefinitionMissing => (400, 1013, "BadRequest"),
            Code::CollectionRidMismatch => (400, 1024, "BadRequest"),
            Code::Unauthorized => (401, 0, "Unauthorized"),
            Code::Forbidden | Code::CollectionQuota | Code::StorageFull | Code::LimitReached => {
                (403, 0, "Forbidden")
            }
            Code::ActionNotSupported => (403, 5300, "Forbidden"),
            Code::ActionNotGranted => (403, 5302, "Forbidden"),
            Code::PartitionKeyQuota => (403, 1014, "Forbidden"),
            Code::NotFound => (404, 0, "NotFound"),
            Code::SessionNotAvailable => (404, 1002, "NotFound"),
            Code::OwnerNotFound => (404, 1003, "NotFound"),
            Code::MethodNotAllowed => (405, 0, "MethodNotAllowed"),
            // Not 503, which would promise that nothing was written.
            Code::Timeout | Code::Unknown => (408, 0, "RequestTimeout"),
            Code::Conflict => (409, 0, "Conflict"),
            Code::NameCacheStale => (410, 1000, "Gone"),
            Code::PartitionGone => (410, 1002, "Gone"),
            Code::PartitionSplitting => (410, 1007, "Gone"),
            Code::PreconditionFailed => (412, 0, "PreconditionFailed"),
            Code::PatchConditionFailed => (412, 1110, "PreconditionFailed"),
            Code::TooLarge => (413, 0, "RequestEntityTooLarge"),
            Code::ResponseTooLarge => (413, 3402, "RequestEntityTooLarge"),
            Code::FailedDependency => (424, 0, "FailedDependency"),
            Code::TooManyRequests => (429, 3200, "TooManyRequests"),
            Code::RetryWith => (449, 0, "RetryWith"),
            Code::Internal => (500, 0, "InternalServerError"),
            Code::Unavailable | Code::NotNow | Code::NotHere => (503, 0, "ServiceUnavailable"),
        };
        Self { http, sub, name }
    }

    /// The HTTP status as the HTTP library's type.
    pub(crate) fn http(self) -> StatusCode {
        StatusCode::from_u16(self.http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
