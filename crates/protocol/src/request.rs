//! Requests to the database, independent of the wire protocol.

use bytes::Bytes;

mod batch;
mod options;

pub use crate::paths::{
    AttachmentPath, CollectionPath, DatabasePath, DocumentPath, EncryptionKeyPath, MediaHead,
    PermissionPath, ScriptKind, ScriptPath, UserPath,
};
pub use batch::{BatchKind, BatchMode, BatchOperation};
pub use options::{ConsistencyLevel, IndexingDirective, Options};

use crate::{
    autoscale::Autoscale,
    patch::Patch,
    query::{QueryFeed, QuerySource},
};

/// One request: what to do, and the options that most operations share.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do, and to which resource.
    pub operation: Operation,
    /// Options that apply to any operation.
    pub options: Options,
}

/// The operations. A resource's body is unparsed JSON text: the engine parses it exactly once.
/// Everything else that protocols encode differently (batches, patches, queries) is already parsed.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names of the fields say what they are")]
pub enum Operation {
    /// Authorization only: the gateway itself returns the account's properties.
    ReadAccount,

    CreateDatabase {
        body: Bytes,
        upsert: bool,
        throughput: ThroughputRequest,
    },
    ReadDatabase(DatabasePath),
    DeleteDatabase(DatabasePath),
    ListDatabases,

    CreateEncryptionKey {
        database: DatabasePath,
        body: Bytes,
        upsert: bool,
    },
    ReadEncryptionKey(EncryptionKeyPath),
    ReplaceEncryptionKey {
        path: EncryptionKeyPath,
        body: Bytes,
    },
    ListEncryptionKeys(DatabasePath),

    CreateUser {
        database: DatabasePath,
        body: Bytes,
        upsert: bool,
    },
    ReadUser(UserPath),
    ReplaceUser {
        path: UserPath,
        body: Bytes,
    },
    DeleteUser(UserPath),
    ListUsers(DatabasePath),

    CreatePermission {
        user: UserPath,
        body: Bytes,
        upsert: bool,
    },
    ReadPermission(PermissionPath),
    ReplacePermission {
        path: PermissionPath,
        body: Bytes,
    },
    DeletePermission(PermissionPath),
    ListPermissions(UserPath),

    CreateCollection {
        database: DatabasePath,
        body: Bytes,
        upsert: bool,
        throughput: ThroughputRequest,
        partition_key_optional: bool,
    },
    ReadCollection(CollectionPath),
    ReplaceCollection {
        path: CollectionPath,
        body: Bytes,
    },
    DeleteCollection(CollectionPath),
    ListCollections(DatabasePath),

    /// `known` is the version that an incremental reader already has. If it is still current, the
    /// outcome is [`crate::Outcome::NotModified`].
    ListPartitionKeyRanges {
        path: CollectionPath,
        known: Option<String>,
    },
    ReadPartitionKeyRange {
        path: CollectionPath,
        range: String,
    },

    /// For administrators: splits a range in two, at half of its bytes.
    SplitPartition {
        path: CollectionPath,
        range: String,
    },
    /// For administrators: merges this range with its right neighbour.
    MergePartitions {
        path: CollectionPath,
        range: String,
    },
    /// For administrators: gives a partition key to a collection that was created without one.
    GivePartitionKey {
        path: CollectionPath,
        body: Bytes,
    },

    CreateDocument {
        collection: CollectionPath,
        body: Bytes,
        upsert: bool,
    },
    ReadDocument(DocumentPath),
    ReplaceDocument {
        path: DocumentPath,
        body: Bytes,
    },
    PatchDocument {
        path: DocumentPath,
        patch: Patch,
    },
    DeleteDocument(DocumentPath),
    /// Deletes all documents with the partition key in the options.
    DeleteByPartitionKey(CollectionPath),
    ListDocuments(CollectionPath),
    /// Reads the changes to a collection since a position.
    ReadChanges {
        collection: CollectionPath,
        mode: ChangeMode,
        /// Only changes after this second.
        since: Option<u64>,
    },

    /// The body is a JSON description or, with a head, the media itself.
    CreateAttachment {
        document: DocumentPath,
        body: Bytes,
        media: Option<MediaHead>,
        upsert: bool,
    },
    ReadAttachment(AttachmentPath),
    ReplaceAttachment {
        path: AttachmentPath,
        body: Bytes,
    },
    DeleteAttachment(AttachmentPath),
    ListAttachments(DocumentPath),
    /// Reads media, by the rid of their attachment.
    ReadMedia(String),
    ReplaceMedia {
        media: String,
        head: MediaHead,
        body: Bytes,
    },

    /// Several operations on documents.
    ExecuteBatch {
        collection: CollectionPath,
        operations: Vec<BatchOperation>,
        mode: BatchMode,
    },

    ListConflicts(CollectionPath),
    ReadConflict {
        collection: CollectionPath,
        conflict: String,
    },
    DeleteConflict {
        collection: CollectionPath,
        conflict: String,
    },

    CreateScript {
        collection: CollectionPath,
        kind: ScriptKind,
        body: Bytes,
        upsert: bool,
    },
    ReadScript(ScriptPath),
    ReplaceScript {
        path: ScriptPath,
        body: Bytes,
    },
    DeleteScript(ScriptPath),
    ListScripts {
        collection: CollectionPath,
        kind: ScriptKind,
    },
    /// The body is a JSON array of arguments; empty means none.
    ExecuteProcedure {
        path: ScriptPath,
        body: Bytes,
    },

    Query {
        feed: QueryFeed,
        query: QuerySource,
    },
    /// Returns how a client can run a query over the partitions itself.
    PlanQuery {
        collection: CollectionPath,
        query: QuerySource,
    },

    ReadOffer(String),
    ReplaceOffer {
        offer: String,
        body: Bytes,
        migration: Option<Migration>,
    },
    ListOffers,
}

impl Operation {
    /// A short, stable name for metrics and logs.
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub fn name(&self) -> &'static str {
        match self {
            Operation::ReadAccount => "read_account",
            Operation::CreateDatabase { .. } => "create_database",
            Operation::ReadDatabase(_) => "read_database",
            Operation::DeleteDatabase(_) => "delete_database",
            Operation::ListDatabases => "list_databases",
            Operation::CreateEncryptionKey { .. } => "create_encryption_key",
            Operation::ReadEncryptionKey(_) => "read_encryption_key",
            Operation::ReplaceEncryptionKey { .. } => "replace_encryption_key",
            Operation::ListEncryptionKeys(_) => "list_encryption_keys",
            Operation::CreateUser { upsert: false, .. } => "create_user",
            Operation::CreateUser { upsert: true, .. } => "upsert_user",
            Operation::ReadUser(_) => "read_user",
            Operation::ReplaceUser { .. } => "replace_user",
            Operation::DeleteUser(_) => "delete_user",
            Operation::ListUsers(_) => "list_users",
            Operation::CreatePermission { upsert: false, .. } => "create_permission",
            Operation::CreatePermission { upsert: true, .. } => "upsert_permission",
            Operation::ReadPermission(_) => "read_permission",
            Operation::ReplacePermission { .. } => "replace_permission",
            Operation::DeletePermission(_) => "delete_permission",
            Operation::ListPermissions(_) => "list_permissions",
            Operation::CreateCollection { .. } => "create_collection",
            Operation::ReadCollection(_) => "read_collection",
            Operation::ReplaceCollection { .. } => "replace_collection",
            Operation::DeleteCollection(_) => "delete_collection",
            Operation::ListCollections(_) => "list_collections",
            Operation::ListPartitionKeyRanges { .. } => "list_partition_key_ranges",
            Operation::ReadPartitionKeyRange { .. } => "read_partition_key_range",
            Operation::SplitPartition { .. } => "split_partition",
            Operation::MergePartitions { .. } => "merge_partitions",
            Operation::GivePartitionKey { .. } => "give_partition_key",
            Operation::CreateDocument { upsert: false, .. } => "create_document",
            Operation::CreateDocument { upsert: true, .. } => "upsert_document",
            Operation::ReadDocument(_) => "read_document",
            Operation::ReplaceDocument { .. } => "replace_document",
            Operation::PatchDocument { .. } => "patch_document",
            Operation::DeleteDocument(_) => "delete_document",
            Operation::DeleteByPartitionKey(_) => "delete_by_partition_key",
            Operation::ListDocuments(_) => "list_documents",
            Operation::ReadChanges { mode: ChangeMode::Latest, .. } => "read_changes",
            Operation::ReadChanges { mode: ChangeMode::All, .. } => "read_all_changes",
            Operation::CreateAttachment { upsert: false, .. } => "create_attachment",
            Operation::CreateAttachment { upsert: true, .. } => "upsert_attachment",
            Operation::ReadAttachment(_) => "read_attachment",
            Operation::ReplaceAttachment { .. } => "replace_attachment",
            Operation::DeleteAttachment(_) => "delete_attachment",
            Operation::ListAttachments(_) => "list_attachments",
            Operation::ReadMedia(_) => "read_media",
            Operation::ReplaceMedia { .. } => "replace_media",
            Operation::ExecuteBatch { mode: BatchMode::Atomic, .. } => "execute_batch",
            Operation::ExecuteBatch { .. } => "execute_bulk",
            Operation::ListConflicts(_) => "list_conflicts",
            Operation::ReadConflict { .. } => "read_conflict",
            Operation::DeleteConflict { .. } => "delete_conflict",
            Operation::CreateScript { upsert: false, .. } => "create_script",
            Operation::CreateScript { upsert: true, .. } => "upsert_script",
            Operation::ReadScript(_) => "read_script",
            Operation::ReplaceScript { .. } => "replace_script",
            Operation::DeleteScript(_) => "delete_script",
            Operation::ListScripts { .. } => "list_scripts",
            Operation::ExecuteProcedure { .. } => "execute_procedure",
            Operation::Query { feed: QueryFeed::Documents(_), .. } => "query_documents",
            Operation::Query { .. } => "query_resources",
            Operation::PlanQuery { .. } => "plan_query",
            Operation::ReadOffer(_) => "read_offer",
            Operation::ReplaceOffer { .. } => "replace_offer",
            Operation::ListOffers => "list_offers",
        }
    }

    /// Whether it reads documents, so that a consistency level applies.
    pub fn reads_documents(&self) -> bool {
        matches!(
            self,
            Operation::ReadDocument(_)
                | Operation::ListDocuments(_)
                | Operation::ReadChanges { .. }
                | Operation::ReadAttachment(_)
                | Operation::ListAttachments(_)
                | Operation::ReadMedia(_)
                | Operation::Query { feed: QueryFeed::Documents(_), .. }
        )
    }
}

/// Which versions of a document a change feed returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMode {
    /// Only its latest version.
    Latest,
    /// Every version, and its deletion.
    All,
}

/// Throughput requested when a database or collection is created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThroughputRequest {
    /// Request units per second; not yet validated by the engine.
    pub manual: Option<i64>,
    /// Throughput that follows the load.
    pub autoscale: Option<Autoscale>,
    /// A legacy performance level: `S1`, `S2` or `S3`.
    pub level: Option<String>,
}

/// The kind of throughput that an offer changes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    /// From a fixed rate to autoscale.
    ToAutoscale,
    /// From autoscale to a fixed rate.
    ToManual,
}
