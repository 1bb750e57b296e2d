//! Queries: recognises a POST that is one, and reads its options.

use hyper::{HeaderMap, Method};
use protocol::{
    Error, Operation,
    query::{IndexMetricsVersion, Planning, QueryFeed, QueryOptions, QuerySource},
};

use crate::{
    headers::{Lookup, agent, flag, integer, invalid, text},
    route::Resource,
    settings::CrossPartition,
    version::Version,
};

/// The kind of request, by its verb and headers, whatever its path. A query taken for a create
/// would be stored as a document, so any sign of a query counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Neither a query, a plan nor a batch.
    Plain,
    /// A query.
    Query,
    /// A request for the plan of a query.
    Plan,
    /// Several operations in one.
    Batch,
}

impl Kind {
    /// Reads every header that may tell the kind.
    pub(crate) fn read(method: &Method, headers: &impl Lookup) -> Result<Self, Error> {
        if *method != Method::POST {
            return Ok(Self::Plain);
        }
        if flag(headers, "x-ms-cosmos-is-batch-request")? {
            return Ok(Self::Batch);
        }
        let is_query = flag(headers, "x-ms-documentdb-isquery")?
            | flag(headers, "x-ms-documentdb-query")?
            | language(headers).is_some();
        if flag(headers, "x-ms-cosmos-is-query-plan-request")? {
            return Ok(Self::Plan);
        }
        Ok(if is_query { Self::Query } else { Self::Plain })
    }
}

/// The media types that only queries use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// A JSON object with text and parameters.
    Json,
    /// The query text itself.
    Sql,
}

/// Whether the body of a query is its text rather than JSON.
pub(crate) fn is_text(headers: &HeaderMap) -> bool {
    language(headers) == Some(Language::Sql)
}

fn language(headers: &impl Lookup) -> Option<Language> {
    headers.values("content-type").find_map(|value| {
        let value = String::from_utf8_lossy(value.as_bytes());
        match value.split(';').next().unwrap_or_default().trim() {
            word if word.eq_ignore_ascii_case("application/query+json") => Some(Language::Json),
            word if word.eq_ignore_ascii_case("application/sql") => Some(Language::Sql),
            _ => None,
        }
    })
}

/// The query operation over a feed, without its body. Returns the resource if it is not a feed.
pub(crate) fn query(resource: Resource) -> Result<Operation, Resource> {
    let feed = match resource {
        Resource::Databases => QueryFeed::Databases,
        Resource::Collections(path) => QueryFeed::Collections(path),
        Resource::Documents(path) => QueryFeed::Documents(path),
        Resource::PartitionKeyRanges(path) => QueryFeed::PartitionKeyRanges(path),
        Resource::Offers => QueryFeed::Offers,
        Resource::Attachments(path) => QueryFeed::Attachments(path),
        Resource::EncryptionKeys(path) => QueryFeed::EncryptionKeys(path),
        Resource::Users(path) => QueryFeed::Users(path),
        Resource::Permissions(path) => QueryFeed::Permissions(path),
        Resource::Conflicts(path) => QueryFeed::Conflicts(path),
        Resource::Scripts(path, kind) => QueryFeed::Scripts(path, kind),
        other => return Err(other),
    };
    Ok(Operation::Query { feed, query: QuerySource::default() })
}

/// The operation that asks for a query plan, without its body.
///
/// COMPAT: only documents and conflicts are spread over partitions; SDKs ask for no other plans.
pub(crate) fn plan(resource: Resource) -> Result<Operation, Error> {
    match resource {
        Resource::Documents(collection) | Resource::Conflicts(collection) => {
            Ok(Operation::PlanQuery { collection, query: QuerySource::default() })
        }
        _ => Err(Error::bad_request("A query plan is only available for a query over documents.")),
    }
}

/// Reads the options that only queries have.
pub(crate) fn options(
    headers: &HeaderMap,
    version: Version,
    cross_partition: CrossPartition,
) -> Result<QueryOptions, Error> {
    let features = text(headers, "x-ms-cosmos-supported-query-features")?;
    Ok(QueryOptions {
        enable_cross_partition: flag(headers, "x-ms-documentdb-query-enablecrosspartition")?,
        planning: planning(headers, version, cross_partition)?,
        is_optimistic: flag(headers, "x-ms-cosmos-query-optimisticdirectexecute")?,
        supported_features: features.map(names).unwrap_or_default(),
        populate_metrics: flag(headers, "x-ms-documentdb-populatequerymetrics")?,
        index_metrics: index_metrics(headers)?,
        populate_advice: flag(headers, "x-ms-cosmos-populatequeryadvice")?,
        explain: flag(headers, "x-sheaf-explain")?,
        continuation_kb_max: continuation_kb_max(headers)?,
    })
}

/// Splits a comma-separated list of names.
fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

/// Returns which query plans the caller runs itself. It wants the server to refuse queries that
/// need one.
fn planning(
    headers: &HeaderMap,
    version: Version,
    cross_partition: CrossPartition,
) -> Result<Planning, Error> {
    let is_parallel = flag(headers, "x-ms-documentdb-query-parallelizecrosspartitionquery")?;
    Ok(match cross_partition {
        CrossPartition::Service => Planning::Service,
        CrossPartition::Direct => Planning::None,
        // Python and JavaScript name their capabilities on every request. Older SDKs do not know
        // the header, but all of them run the plans of their time. Go names capabilities, too, but
        // cannot merge.
        CrossPartition::Auto => {
            if agent(headers).contains("azsdk-go-azcosmos") {
                Planning::None
            } else if headers.contains_key("x-ms-cosmos-sdk-supportedcapabilities") {
                Planning::All
            } else if version.runs_plans() && is_parallel {
                Planning::EarlyParallel
            } else if version.runs_plans() {
                Planning::Early
            } else {
                Planning::None
            }
        }
    })
}

/// Reads the format of index metrics. A caller that asks for both gets the newer one.
fn index_metrics(headers: &HeaderMap) -> Result<Option<IndexMetricsVersion>, Error> {
    let first = flag(headers, "x-ms-cosmos-populateindexmetrics")?;
    let second = flag(headers, "x-ms-cosmos-populateindexmetrics-v2")?;
    Ok(match (first, second) {
        (_, true) => Some(IndexMetricsVersion::V2),
        (true, false) => Some(IndexMetricsVersion::V1),
        (false, false) => None,
    })
}

/// Reads the size limit of continuation tokens. With 0 no token fits, and the service refuses an
/// answer of several pages.
fn continuation_kb_max(headers: &HeaderMap) -> Result<Option<u32>, Error> {
    let name = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
    match integer(headers, name)? {
        None => Ok(None),
        Some(limit) if limit >= 0 => Ok(Some(u32::try_from(limit).unwrap_or(u32::MAX))),
        Some(limit) => Err(invalid(name, &limit.to_string())),
    }
}
