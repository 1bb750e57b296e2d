//! Errors as MongoDB's clients know them: a number, its name, and a message that programs and tests
//! compare word for word.

use bson::RawDocumentBuf;

/// The result of whatever can fail because of what a client sent.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The number of an error. Those that MongoDB gives a name are constants here; those that it knows
/// only by the place they come from are made by [`Code::location`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(i32);

/// Declares the codes that have names.
macro_rules! codes {
    ($($constant:ident $number:literal $name:literal),* $(,)?) => {
        impl Code {
            $(#[doc = concat!("`", $name, "`")] pub const $constant: Self = Self($number);)*

            /// The name that clients get as `codeName`.
            pub fn name(self) -> String {
                match self.0 {
                    $($number => $name.to_owned(),)*
                    number => format!("Location{number}"),
                }
            }
        }
    };
}

codes! {
    INTERNAL_ERROR 1 "InternalError",
    BAD_VALUE 2 "BadValue",
    HOST_UNREACHABLE 6 "HostUnreachable",
    HOST_NOT_FOUND 7 "HostNotFound",
    FAILED_TO_PARSE 9 "FailedToParse",
    UNAUTHORIZED 13 "Unauthorized",
    TYPE_MISMATCH 14 "TypeMismatch",
    OVERFLOW 15 "Overflow",
    INVALID_LENGTH 16 "InvalidLength",
    PROTOCOL_ERROR 17 "ProtocolError",
    AUTHENTICATION_FAILED 18 "AuthenticationFailed",
    ILLEGAL_OPERATION 20 "IllegalOperation",
    NAMESPACE_NOT_FOUND 26 "NamespaceNotFound",
    INDEX_NOT_FOUND 27 "IndexNotFound",
    PATH_NOT_VIABLE 28 "PathNotViable",
    CANNOT_BACKFILL_ARRAY 34 "CannotBackfillArray",
    CONFLICTING_UPDATE_OPERATORS 40 "ConflictingUpdateOperators",
    CURSOR_NOT_FOUND 43 "CursorNotFound",
    NAMESPACE_EXISTS 48 "NamespaceExists",
    MAX_TIME_EXPIRED 50 "MaxTimeMSExpired",
    DOLLAR_PREFIXED_FIELD_NAME 52 "DollarPrefixedFieldName",
    INVALID_ID_FIELD 53 "InvalidIdField",
    NOT_SINGLE_VALUE_FIELD 54 "NotSingleValueField",
    EMPTY_FIELD_NAME 56 "EmptyFieldName",
    DOTTED_FIELD_NAME 57 "DottedFieldName",
    COMMAND_NOT_FOUND 59 "CommandNotFound",
    SHARD_KEY_NOT_FOUND 61 "ShardKeyNotFound",
    WRITE_CONCERN_FAILED 64 "WriteConcernFailed",
    IMMUTABLE_FIELD 66 "ImmutableField",
    CANNOT_CREATE_INDEX 67 "CannotCreateIndex",
    INDEX_ALREADY_EXISTS 68 "IndexAlreadyExists",
    INVALID_OPTIONS 72 "InvalidOptions",
    INVALID_NAMESPACE 73 "InvalidNamespace",
    UNKNOWN_WRITE_CONCERN 79 "UnknownReplWriteConcern",
    INDEX_OPTIONS_CONFLICT 85 "IndexOptionsConflict",
    INDEX_KEY_SPECS_CONFLICT 86 "IndexKeySpecsConflict",
    NETWORK_TIMEOUT 89 "NetworkTimeout",
    SHUTDOWN_IN_PROGRESS 91 "ShutdownInProgress",
    WRITE_CONFLICT 112 "WriteConflict",
    COMMAND_NOT_SUPPORTED 115 "CommandNotSupported",
    NAMESPACE_NOT_SHARDED 118 "NamespaceNotSharded",
    DOCUMENT_FAILED_VALIDATION 121 "DocumentFailedValidation",
    CAPPED_POSITION_LOST 136 "CappedPositionLost",
    EXCEEDED_MEMORY_LIMIT 146 "ExceededMemoryLimit",
    COMMAND_NOT_SUPPORTED_ON_VIEW 166 "CommandNotSupportedOnView",
    OPTION_NOT_SUPPORTED_ON_VIEW 167 "OptionNotSupportedOnView",
    INVALID_PIPELINE_OPERATOR 168 "InvalidPipelineOperator",
    CANNOT_INDEX_PARALLEL_ARRAYS 171 "CannotIndexParallelArrays",
    INVALID_UUID 207 "InvalidUUID",
    TRANSACTION_TOO_OLD 225 "TransactionTooOld",
    NOT_IMPLEMENTED 238 "NotImplemented",
    CONVERSION_FAILURE 241 "ConversionFailure",
    NO_SUCH_TRANSACTION 251 "NoSuchTransaction",
    TRANSACTION_COMMITTED 256 "TransactionCommitted",
    OPERATION_NOT_SUPPORTED_IN_TRANSACTION 263 "OperationNotSupportedInTransaction",
    CHANGE_STREAM_FATAL 280 "ChangeStreamFatalError",
    CHANGE_STREAM_HISTORY_LOST 286 "ChangeStreamHistoryLost",
    NO_QUERY_EXECUTION_PLANS 291 "NoQueryExecutionPlans",
    QUERY_EXCEEDED_MEMORY 292 "QueryExceededMemoryLimitNoDiskUseAllowed",
    API_VERSION 322 "APIVersionError",
    API_STRICT 323 "APIStrictError",
    API_DEPRECATION 324 "APIDeprecationError",
    MECHANISM_UNAVAILABLE 334 "MechanismUnavailable",
    UNSUPPORTED_OP_QUERY 352 "UnsupportedOpQueryCommand",
    NOT_WRITABLE_PRIMARY 10_107 "NotWritablePrimary",
    DOCUMENT_TOO_LARGE 10_334 "BSONObjectTooLarge",
    DUPLICATE_KEY 11_000 "DuplicateKey",
    TOO_MANY_REQUESTS 16_500 "TooManyRequests",
}

impl Code {
    /// The code of an error that MongoDB knows by a place in its source.
    pub const fn location(number: i32) -> Self {
        Self(number)
    }

    /// The number that clients get as `code`.
    pub const fn number(self) -> i32 {
        self.0
    }
}

/// An error that a client gets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Its number.
    pub code: Code,
    /// Its message.
    pub message: String,
    /// More about it, which write errors have as `errInfo`.
    pub info: Option<Box<RawDocumentBuf>>,
}

impl Error {
    /// An error without further information.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), info: None }
    }

    /// `BadValue`, which most errors are.
    pub fn bad_value(message: impl Into<String>) -> Self {
        Self::new(Code::BAD_VALUE, message)
    }

    /// `FailedToParse`.
    pub fn failed_to_parse(message: impl Into<String>) -> Self {
        Self::new(Code::FAILED_TO_PARSE, message)
    }

    /// `TypeMismatch`.
    pub fn type_mismatch(message: impl Into<String>) -> Self {
        Self::new(Code::TYPE_MISMATCH, message)
    }

    /// An error that MongoDB knows by a place in its source.
    pub fn location(number: i32, message: impl Into<String>) -> Self {
        Self::new(Code::location(number), message)
    }
}

/// Bytes that are not BSON. Documents are checked when they arrive, so this is met only before.
impl From<bson::error::Error> for Error {
    fn from(error: bson::error::Error) -> Self {
        Self::new(Code::location(22_018), format!("invalid BSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names() {
        assert_eq!(Code::DUPLICATE_KEY.name(), "DuplicateKey");
        assert_eq!(Code::DUPLICATE_KEY.number(), 11_000);
        assert_eq!(Code::location(17_276).name(), "Location17276");
    }
}
