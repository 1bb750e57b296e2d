//! The plan of a query, for clients that send the pieces themselves: what to send to which ranges
//! of keys.

use partition::charge::Meter;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response, query::QuerySource, request::CollectionPath,
};
use sql::plan::{
    self, Container, HexRange, KeyRange, Kind, Metric, PartitionKeyPaths, Plan, Refusal,
};
use value::{Value, partition_key::Hashing};

use crate::{
    execution::{door::key_of, prepared::Prepared},
    served::{Served, View},
};

/// The feature of clients that rank results themselves.
const SKIPS_RANK_REWRITE: &str = "HybridSearchSkipOrderByRewrite";

/// Answers a request for a plan.
pub(super) fn plan(
    view: &View,
    path: &CollectionPath,
    source: &QuerySource,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = view.intended(path, options)?;
    meter.lookup();
    let query = sql::parse(&source.text)
        .and_then(|query| sql::check_burden(&query, &source.parameters).map(|()| query))
        .map_err(|error| Error::query(sql::error::to_json(&[error], &source.text)))?;
    let features = &options.query.supported_features;
    let skips = features.iter().any(|feature| feature.eq_ignore_ascii_case(SKIPS_RANK_REWRITE));
    let (plan, json) = of(&query, source, &collection, skips)?;
    let missing = plan.missing(features);
    if !missing.is_empty() {
        let mut message = br#"{"Errors":["#.to_vec();
        value::json::quote(&plan::missing_text(&missing), &mut message);
        message.extend_from_slice(b"]}");
        return Err(Error::query(String::from_utf8_lossy(&message).into_owned()));
    }
    let meta = Meta { owner: Some(collection.owner()), ..Meta::default() };
    let body = Body::Resource(json.into());
    Ok(Response { outcome: Outcome::Ok, body, etag: None, continuation: None, meta })
}

/// The plan of a prepared query, and its JSON.
pub(crate) fn plan_json(
    prepared: &Prepared,
    collection: &Served,
    skips_rank_rewrite: bool,
) -> Result<(Plan, String), Error> {
    of(&prepared.query, &prepared.source, collection, skips_rank_rewrite)
}

/// The partition keys that a query's filter allows.
pub(crate) fn key_ranges<'a>(prepared: &'a Prepared, collection: &Served) -> &'a [KeyRange] {
    prepared.key_ranges.get_or_init(|| {
        let paths = key_paths(collection);
        let key = PartitionKeyPaths { paths: &paths, kind: kind(collection) };
        let is_planar = collection.definition.is_geometry;
        let container = Container { is_planar, ..Container::new(key) };
        plan::key_ranges(&prepared.query, &prepared.source.parameters, &container)
    })
}

fn of(
    query: &sql::Query,
    source: &QuerySource,
    collection: &Served,
    skips_rank_rewrite: bool,
) -> Result<(Plan, String), Error> {
    let paths = key_paths(collection);
    let vectors = vectors(collection);
    let container = Container {
        key: PartitionKeyPaths { paths: &paths, kind: kind(collection) },
        vectors: &vectors,
        is_planar: collection.definition.is_geometry,
        skips_rank_rewrite,
    };
    let plan = plan::plan(query, &source.parameters, &container)
        .map_err(|refusal: Refusal| Error::query(refusal.to_json(&source.text)))?;
    let ranges = hex_ranges(&plan.ranges, collection.definition.partition_key.hashing);
    let json = plan.to_json(&ranges);
    Ok((plan, json))
}

fn key_paths(collection: &Served) -> Vec<Vec<String>> {
    let paths = &collection.definition.partition_key.paths;
    paths.iter().map(|path| path.segments().to_vec()).collect()
}

fn kind(collection: &Served) -> Kind {
    match collection.definition.partition_key.hashing {
        Hashing::MultiHash => Kind::MultiHash,
        _ => Kind::Hash,
    }
}

/// The paths of vectors, and their distance metrics.
fn vectors(collection: &Served) -> Vec<(Vec<String>, Metric)> {
    let policy = collection.definition.json.get("vectorEmbeddingPolicy");
    let embeddings = policy.map_or(&Value::Undefined, |policy| policy.get("vectorEmbeddings"));
    let vector = |embedding: &Value| {
        let path = value::path::Path::parse(embedding.get("path").as_str()?).ok()?;
        let metric = match embedding.get("distanceFunction").as_str()?.to_lowercase().as_str() {
            "euclidean" => Metric::Euclidean,
            "dotproduct" => Metric::DotProduct,
            _ => Metric::Cosine,
        };
        Some((path.segments().to_vec(), metric))
    };
    embeddings.as_array().unwrap_or_default().iter().filter_map(vector).collect()
}

/// Ranges of keys as ranges of their hashes, sorted and disjoint, as clients expect them.
fn hex_ranges(ranges: &[KeyRange], hashing: Hashing) -> Vec<HexRange> {
    let whole = || HexRange { min: String::new(), max: "FF".to_owned(), is_max_inclusive: false };
    let mut hex: Vec<HexRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        hex.push(match range {
            KeyRange::Nothing => {
                HexRange { min: String::new(), max: String::new(), is_max_inclusive: true }
            }
            KeyRange::Point(values) => {
                let key = key_of(values).effective(hashing).to_string();
                HexRange { min: key.clone(), max: key, is_max_inclusive: true }
            }
            KeyRange::Prefix(values) => {
                let (min, max) = key_of(values).effective_range(hashing);
                let (min, max) = (min.to_string(), max.to_string());
                HexRange { min, max, is_max_inclusive: false }
            }
            KeyRange::All | KeyRange::Span(_) => return vec![whole()],
        });
    }
    hex.sort_by(|a, b| a.min.cmp(&b.min));
    hex.dedup();
    hex
}
