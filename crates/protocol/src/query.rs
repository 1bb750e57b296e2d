//! Queries: which feed they read, what the caller may ask for beside rows, and what it is told.

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
    /// Where the rows begin, if the caller says so.
    pub resume: Option<ResumeFilter>,
    /// About how many bytes text and parameters have: long ones are checked on a thread of their own.
    pub bytes: usize,
}

impl QuerySource {
    /// A query without parameters.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { bytes: text.len(), text, parameters: Vec::new(), resume: None }
    }
}

/// A place in the order of ORDER BY, as a caller names it: the rows begin there.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeFilter {
    /// A value for each expression.
    pub values: Vec<ResumeValue>,
    /// The document that rows with equal values begin with.
    pub document: Option<DocNum>,
    /// Whether rows with equal values are left out.
    pub excludes: bool,
}

/// A value, or what a caller keeps of a value that may be large.
#[derive(Clone, Debug, PartialEq)]
pub enum ResumeValue {
    /// The value itself: no array, and no object.
    Value(Value),
    /// The hash of an array.
    Array([u8; HASH_BYTES]),
    /// The hash of an object.
    Object([u8; HASH_BYTES]),
}

/// What a caller may ask of a query beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    /// Whether the query may read more than one partition key.
    pub enable_cross_partition: bool,
    /// Which plans the caller can follow: it wants to be refused what it must merge itself.
    pub planning: Planning,
    /// The caller has sent the query as it is to one partition, and wants to know whether that was
    /// enough.
    pub is_optimistic: bool,
    /// The features that a caller of the plan endpoint supports.
    pub supported_features: Vec<String>,
    /// Say what the query read, and how long it took.
    pub populate_metrics: bool,
    /// Say which indexes the query used, and which it could use.
    pub index_metrics: Option<IndexMetricsVersion>,
    /// Say how the query could be written better.
    pub populate_advice: bool,
    /// Say how the query was run.
    pub explain: bool,
    /// Most kilobytes of a continuation token.
    pub continuation_kb_max: Option<u32>,
}

/// Which plans a caller follows when it is refused an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planning {
    /// None: it wants the answer.
    #[default]
    None,
    /// Those of 2017: order, TOP, and one aggregate.
    Early,
    /// Those of 2017, by a caller that prefers to ask all partitions at once itself.
    EarlyParallel,
    /// All but GROUP BY and inner queries, which hardly a client follows.
    All,
    /// Whatever the service does not answer, whether or not the caller can follow.
    Service,
}

/// The two forms of index metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the first and the second")]
pub enum IndexMetricsVersion {
    V1,
    V2,
}

/// What a query's answer tells beside its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryMeta {
    /// Whether the rows of one partition are not the answer: they have to be merged, by a plan.
    /// Told to callers that tried without one.
    pub requires_distribution: Option<bool>,
    /// What it read and how long it took, when asked for.
    pub metrics: Option<QueryMetrics>,
    /// Which indexes it used, as the JSON of that version, when asked for.
    pub index_metrics: Option<(IndexMetricsVersion, String)>,
    /// How it could be written better, when asked for and when there is something to say.
    pub advice: Option<String>,
    /// How it was run, as JSON for people, when asked for.
    pub explain: Option<String>,
}

/// The cost of a page of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryMetrics {
    /// From request to answer.
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
    /// Printing the rows.
    pub write_output_ms: f64,
    /// Documents read.
    pub retrieved_documents: u64,
    /// Their bytes.
    pub retrieved_bytes: u64,
    /// Rows returned.
    pub output_documents: u64,
    /// Their bytes.
    pub output_bytes: u64,
    /// The part of the documents read that the filter kept: 1 if the index was as good as can be.
    pub index_hit_ratio: f64,
}
