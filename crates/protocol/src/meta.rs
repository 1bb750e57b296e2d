//! Metadata of every response, including errors: charge, session, owner, quota.

use std::sync::Arc;

use bytes::Bytes;

use crate::query::QueryMeta;

/// Metadata of every response, including errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The charge in request units.
    pub charge: f64,
    /// The partitions that served the request, in the order in which they were read, with the last
    /// LSN each had published. A session token names the last of them.
    pub partitions: Vec<PartitionPoint>,
    /// The LSN of the document, if the request is about a single one.
    pub item_lsn: Option<u64>,
    /// The collection or database that owns the resource: SDKs key session state by it.
    pub owner: Option<Arc<Owner>>,
    /// Quota and usage of a collection, if requested.
    pub quota: Option<Quota>,
    /// Quota and usage of the collection that holds the resource. They may be slightly outdated.
    pub quota_lists: Option<Arc<QuotaLists>>,
    /// Whether the collection shares the throughput of its database.
    pub shares_throughput: bool,
    /// Progress of re-indexing, 0 to 100, in responses with a quota.
    pub index_progress: Option<u8>,
    /// Whether the collection uses the old lazy indexing mode, on collection reads.
    pub is_lazy: bool,
    /// The minimum throughput of an offer.
    pub min_throughput: Option<u32>,
    /// How long a throttled caller should wait.
    pub retry_after_ms: Option<u64>,
    /// The number of a script's own error, which replaces the sub-status of the code.
    pub sub_status: Option<u32>,
    /// What scripts logged, if requested.
    pub script_log: Option<String>,
    /// What a query returns besides its rows.
    pub query: Option<Box<QueryMeta>>,
}

/// A point in a partition's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionPoint {
    /// The partition's range id.
    pub range_id: u32,
    /// Its last published LSN.
    pub lsn: u64,
}

/// The owner of a resource, by name and by rid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `dbs/{db}` or `dbs/{db}/colls/{coll}`, names unescaped.
    pub name_path: String,
    /// The rid text of the owner.
    pub rid: String,
}

/// Limits and usage of a collection. Sizes are in KB; -1 means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The largest document, in KB.
    pub document_size_max_kb: i64,
    /// The most storage of the collection, in KB; -1 if unlimited.
    pub collection_size_max_kb: i64,
    /// Size of the documents in bytes.
    pub documents_bytes: u64,
    /// Number of documents.
    pub documents_count: u64,
    /// Size of documents and index together, in bytes.
    pub collection_bytes: u64,
}

impl Quota {
    /// Formats quota and usage as lists of names and numbers.
    #[must_use]
    pub fn lists(&self) -> QuotaLists {
        let kb = |bytes: u64| bytes.div_ceil(1024);
        let limit = self.collection_size_max_kb;
        let quota = format!(
            "documentSize={};documentsSize={limit};documentsCount=-1;collectionSize={limit};",
            self.document_size_max_kb
        );
        let usage = format!(
            "documentSize=0;documentsSize={};documentsCount={};collectionSize={};",
            kb(self.documents_bytes),
            self.documents_count,
            kb(self.collection_bytes)
        );
        QuotaLists { quota: Bytes::from(quota), usage: Bytes::from(usage) }
    }
}

/// A [`Quota`] as text, formatted once for many responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaLists {
    /// The collection's limits, as ASCII text.
    pub quota: Bytes,
    /// The collection's usage, as ASCII text.
    pub usage: Bytes,
}
