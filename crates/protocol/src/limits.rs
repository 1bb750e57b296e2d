//! Limits of the service that more than one crate needs.

/// The largest document, in bytes of JSON text without system properties.
pub const DOCUMENT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The largest request body. Above the document limit, so that an oversized document gets its own
/// error.
pub const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The largest definition of a database or collection, or offer, in bytes.
pub const DEFINITION_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The most operations of a batch.
pub const BATCH_OPERATIONS_MAX: usize = 100;

/// The most parameters of a query. The length of its text limits how many it can use.
pub const QUERY_PARAMETERS_MAX: usize = 100_000;

/// The largest body of a batch, in bytes.
pub const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The longest document id, in bytes.
pub const DOCUMENT_ID_BYTES_MAX: usize = 1023;

/// The longest name of a database or collection, in characters.
pub const NAME_CHARS_MAX: usize = 255;

/// The longest partition key value, in bytes.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;

/// The most operations of one patch.
pub const PATCH_OPERATIONS_MAX: usize = 10;

/// The most bytes in a feed page.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Items per page if the caller does not specify it.
pub const PAGE_ITEMS_DEFAULT: u32 = 100;

/// The most items per page.
pub const PAGE_ITEMS_MAX: u32 = 1000;

/// The most throughput of one physical partition, in request units per second.
pub const PARTITION_THROUGHPUT_MAX: u32 = 10_000;

/// The most databases and collections together. The service allows 500 unless asked; tests create
/// more.
pub const RESOURCES_MAX: usize = 5_000;

/// The most attachments of one document. The service publishes no number.
pub const ATTACHMENTS_MAX: usize = 100;

/// The largest description of an attachment, in bytes of JSON.
pub const ATTACHMENT_BYTES_MAX: usize = 64 * 1024;

/// The largest media of one attachment: as much as fits in a request.
pub const MEDIA_BYTES_MAX: usize = REQUEST_BYTES_MAX;

/// The most bytes of media in the account.
pub const MEDIA_TOTAL_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// The most client encryption keys of one database.
pub const ENCRYPTION_KEYS_MAX: usize = 20;

/// The largest client encryption key, in bytes of JSON. Keys are held in memory; a wrapped key has
/// a few hundred bytes.
pub const ENCRYPTION_KEY_BYTES_MAX: usize = 64 * 1024;

/// The most stored procedures of one collection.
pub const STORED_PROCEDURES_MAX: usize = 100;

/// The most triggers of one collection. The service publishes no number.
pub const TRIGGERS_MAX: usize = 50;

/// The most user-defined functions of one collection.
pub const FUNCTIONS_MAX: usize = 50;

/// The largest script, in bytes of the JSON text that creates it.
pub const SCRIPT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The most bytes of all scripts of one collection. They are held in memory; the service publishes
/// no limit.
pub const SCRIPTS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most users of one database.
pub const USERS_MAX: usize = 100_000;

/// The most permissions of one user.
pub const PERMISSIONS_MAX: usize = 1_000;

/// The largest user or permission, in bytes of JSON. They are held in memory.
pub const USER_BYTES_MAX: usize = 16 * 1024;

/// How long a resource token is valid, in seconds, if the caller does not specify it.
pub const TOKEN_SECONDS_DEFAULT: u32 = 60 * 60;

/// The shortest and longest validity of a resource token, in seconds.
pub const TOKEN_SECONDS: std::ops::RangeInclusive<u32> = 10..=24 * 60 * 60;
