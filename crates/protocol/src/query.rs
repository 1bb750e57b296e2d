//! Queries: which feed they read, what a caller may request besides rows, and what it gets.

use value::{Value, distinct::HASH_BYTES};

use crate::{
    paths::{CollectionPath, DatabasePath, DocumentPath, ScriptKind, UserPath},
    rid::DocNum,
};

/// The feed that a query selects from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the feeds of the service")]
pub enum QueryFeed {
    Databases,
    Collections(DatabasePath),
    Documents(CollectionPath),
    PartitionKeyRanges(CollectionPath),
    Offers,
    Scripts(CollectionPath, ScriptKind),
    EncryptionKeys(DatabasePath),
    Users(DatabasePath),
    Permissions(UserPath),
    Attachments(DocumentPath),
    Conflicts(CollectionPath),
}

/// A query: its text, its parameters, and where its rows begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuerySource {
    /// The query in the SQL dialect.
    pub text: String,
    /// The parameters by name, each name with its `@`.
    pub parameters: Vec<(String, Value)>,
    /// Where the rows begin, if the caller specifies it.
    pub resume: Option<ResumeFilter>,
    /// The approximate size of text and parameters: long ones are checked on a separate thread.
    pub bytes: usize,
}

impl QuerySource {
    /// A query without parameters.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { bytes: text.len(), text, parameters: Vec::new(), resume: None }
    }
}

/// A position in the ORDER BY order, given by the caller, where the rows begin.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeFilter {
    /// A value for each expression.
    pub values: Vec<ResumeValue>,
    /// The first document among rows with equal values.
    pub document: Option<DocNum>,
    /// Whether to omit rows with equal values.
    pub excludes: bool,
}

/// A value, or what a caller keeps of a potentially large value.
#[derive(Clone, Debug, PartialEq)]
pub enum ResumeValue {
    /// The value itself, unless it is an array or object.
    Value(Value),
    /// The hash of an array.
    Array([u8; HASH_BYTES]),
    /// The hash of an object.
    Object([u8; HASH_BYTES]),
}

/// What a caller may request of a query besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    /// Whether the query may read more than one partition key.
    pub enable_cross_partition: bool,
    /// Which plans the caller can follow. It expects an error for queries whose results it must
    /// merge itself.
    pub planning: Planning,
    /// The caller has sent the query unchanged to one partition, and wants to know whether that was
    /// enough.
    pub is_optimistic: bool,
    /// The features that a caller of the plan endpoint supports.
    pub supported_features: Vec<String>,
    /// Say what the query read, and how long it took.
    pub populate_metrics: bool,
    /// Return which indexes the query used, and which it could use.
    pub index_metrics: Option<IndexMetricsVersion>,
    /// Return how the query could be written better.
    pub populate_advice: bool,
    /// Return how the query was run.
    pub explain: bool,
    /// The most kilobytes of a continuation token.
    pub continuation_kb_max: Option<u32>,
}

/// Which plans a caller can follow if the query itself is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planning {
    /// None: it wants the result.
    #[default]
    None,
    /// Those of 2017: order, TOP, and one aggregate.
    Early,
    /// Those of 2017, for a caller that prefers to query all partitions in parallel itself.
    EarlyParallel,
    /// All except GROUP BY and subqueries, which few clients support.
    All,
    /// Whatever the service does not answer itself, whether or not the caller can follow.
    Service,
}

/// The two forms of index metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the first and the second")]
pub enum IndexMetricsVersion {
    V1,
    V2,
}

/// What a query's response contains besides its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryMeta {
    /// Whether the rows of one partition are not the result, but must be merged by a plan. Set for
    /// callers that tried without one.
    pub requires_distribution: Option<bool>,
    /// What it read and how long it took, if requested.
    pub metrics: Option<QueryMetrics>,
    /// Which indexes it used, as the JSON of that version, if requested.
    pub index_metrics: Option<(IndexMetricsVersion, String)>,
    /// How it could be written better, if requested and if there is any advice.
    pub advice: Option<String>,
    /// How it was run, as JSON for people, if requested.
    pub explain: Option<String>,
}

/// The cost of a page of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryMetrics {
    /// From request to response.
    pub total_ms: f64,
    /// Parsing and checking the text.
    pub compile_ms: f64,
    /// Choosing how to run it.
    pub plan_ms: f64,
    /// Reading index entries.
    pub index_lookup_ms: f64,
    /// Reading documents.
    pub document_load_ms: f64,
    /// Evaluating filters and projections.
    pub execution_ms: f64,
    /// Calling user-defined functions.
    pub functions_ms: f64,
    /// Serializing the rows.
    pub write_output_ms: f64,
    /// Documents read.
    pub retrieved_documents: u64,
    /// Their bytes.
    pub retrieved_bytes: u64,
    /// Rows returned.
    pub output_documents: u64,
    /// Their bytes.
    pub output_bytes: u64,
    /// The fraction of documents read that the filter kept: 1 if the index was perfect.
    pub index_hit_ratio: f64,
}
