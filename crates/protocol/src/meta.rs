//! What accompanies every answer, errors included: charge, session, owner, quota.

use std::sync::Arc;

use bytes::Bytes;

use crate::query::QueryMeta;

/// What accompanies every answer, errors included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Request units.
    pub charge: f64,
    /// The partitions that served the request, in the order in which they were read, with the last
    /// change each had published. A session token names the last of them.
    pub partitions: Vec<PartitionPoint>,
    /// The LSN of the one document concerned.
    pub item_lsn: Option<u64>,
    /// The collection or database that owns the resource: SDKs key session state by it.
    pub owner: Option<Owner>,
    /// Quota and usage of a collection, when asked for.
    pub quota: Option<Quota>,
    /// Quota and usage of the collection that holds the resource. They may be a little old.
    pub quota_lists: Option<Arc<QuotaLists>>,
    /// Whether the collection shares the throughput of its database.
    pub shares_throughput: bool,
    /// Progress of an index transformation, 0 to 100, where the quota is told.
    pub index_progress: Option<u8>,
    /// Whether the collection's indexing mode is the old lazy one, on collection reads.
    pub is_lazy: bool,
    /// The least throughput an offer may have.
    pub min_throughput: Option<u32>,
    /// How long a throttled caller should wait.
    pub retry_after_ms: Option<u64>,
    /// The number of a script's own error: it stands in the place of the code's.
    pub sub_status: Option<u32>,
    /// What scripts logged, when asked for.
    pub script_log: Option<String>,
    /// What a query tells beside its rows.
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

/// Limits and use of a collection, in KB where sizes are meant; -1 is "no limit".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Largest document, bytes of the limit in KB.
    pub document_size_max_kb: i64,
    /// Most storage of the collection in KB; -1 when unlimited.
    pub collection_size_max_kb: i64,
    /// Bytes of documents.
    pub documents_bytes: u64,
    /// Number of documents.
    pub documents_count: u64,
    /// Bytes of documents and index together.
    pub collection_bytes: u64,
}

impl Quota {
    /// Writes quota and usage as lists of names and numbers.
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

/// A [`Quota`] as text, made once for many answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaLists {
    /// What the collection may have, as ASCII text.
    pub quota: Bytes,
    /// What it has.
    pub usage: Bytes,
}
