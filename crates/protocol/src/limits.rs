//! The limits of the service that more than one crate must know.

/// Largest document, in bytes of JSON text without system properties.
pub const DOCUMENT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Largest request body. Above the document limit, so that an oversized document is named as such.
pub const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Largest definition of a database or collection, and largest offer, in bytes.
pub const DEFINITION_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Most operations of a batch.
pub const BATCH_OPERATIONS_MAX: usize = 100;

/// Most parameters of a query. The text limits how many can be of use.
pub const QUERY_PARAMETERS_MAX: usize = 100_000;

/// Largest body of a batch, in bytes.
pub const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Longest document id, in bytes.
pub const DOCUMENT_ID_BYTES_MAX: usize = 1023;

/// Longest name of a database or collection, in characters.
pub const NAME_CHARS_MAX: usize = 255;

/// Longest partition key value, in bytes.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;

/// Most operations of one patch.
pub const PATCH_OPERATIONS_MAX: usize = 10;

/// A feed page stops here.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Items in a page when the caller does not say.
pub const PAGE_ITEMS_DEFAULT: u32 = 100;

/// Most items in a page, whatever the caller says.
pub const PAGE_ITEMS_MAX: u32 = 1000;

/// Throughput of one physical partition, in request units per second.
pub const PARTITION_THROUGHPUT_MAX: u32 = 10_000;

/// Databases and collections together. The service allows 500 unless asked; tests make more.
pub const RESOURCES_MAX: usize = 5_000;

/// Attachments of one document. The service publishes no number.
pub const ATTACHMENTS_MAX: usize = 100;

/// Largest description of an attachment, in bytes of JSON.
pub const ATTACHMENT_BYTES_MAX: usize = 64 * 1024;

/// Largest media of one attachment: what a request may bring.
pub const MEDIA_BYTES_MAX: usize = REQUEST_BYTES_MAX;

/// All media of the account together.
pub const MEDIA_TOTAL_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Client encryption keys of one database.
pub const ENCRYPTION_KEYS_MAX: usize = 20;

/// Largest client encryption key, in bytes of JSON. They are held in memory; a wrapped key has some
/// hundred bytes.
pub const ENCRYPTION_KEY_BYTES_MAX: usize = 64 * 1024;

/// Stored procedures of one collection.
pub const STORED_PROCEDURES_MAX: usize = 100;

/// Triggers of one collection. The service publishes no number.
pub const TRIGGERS_MAX: usize = 50;

/// User-defined functions of one collection.
pub const FUNCTIONS_MAX: usize = 50;

/// Largest script, in bytes of the JSON text that creates it.
pub const SCRIPT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// All scripts of one collection together, in bytes. They are held in memory; the service does not
/// say what it allows.
pub const SCRIPTS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Users of one database.
pub const USERS_MAX: usize = 100_000;

/// Permissions of one user.
pub const PERMISSIONS_MAX: usize = 1_000;

/// Largest user or permission, in bytes of JSON. They are held in memory.
pub const USER_BYTES_MAX: usize = 16 * 1024;

/// How long a resource token is good, in seconds, when the caller does not say.
pub const TOKEN_SECONDS_DEFAULT: u32 = 60 * 60;

/// The shortest and the longest life of a resource token, in seconds.
pub const TOKEN_SECONDS: std::ops::RangeInclusive<u32> = 10..=24 * 60 * 60;
