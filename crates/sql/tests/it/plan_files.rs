//! Reading collected and own plans, and comparing them with ours.

mod merging;
mod soundness;

use sql::plan::ranges::{Edge, Span};
use sql::plan::{Container, Info, KeyRange, Kind, Metric, PartitionKeyPaths, Plan};
use value::{Object, Value};

/// The entries of a file, none if it is not there.
pub(crate) fn entries(file: &str) -> Vec<Value> {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read(path) else { return Vec::new() };
    match value::json::parse(&text).expect("a JSON file") {
        Value::Array(entries) => entries,
        other => panic!("{file} is no list: {other:?}"),
    }
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).as_str().expect("a string")
}

pub(crate) fn parameters_of(entry: &Value) -> Vec<(String, Value)> {
    let pair =
        |parameter: &Value| (text(parameter, "name").to_owned(), parameter.get("value").clone());
    entry.get("parameters").as_array().unwrap_or_default().iter().map(pair).collect()
}

/// `["/a/b", "/c"]` as lists of names.
pub(crate) fn key_paths(paths: &Value) -> Vec<Vec<String>> {
    let path = |path: &Value| names(path.as_str().expect("a path"));
    paths.as_array().unwrap_or_default().iter().map(path).collect()
}

pub(crate) fn names(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(str::to_owned).collect()
}

/// The collected entries name the metric of `/embedding` in their description, ours have a list.
pub(crate) fn vectors_of(entry: &Value) -> Vec<(Vec<String>, Metric)> {
    let metric = |word: &str| match word {
        "Euclidean" | "euclidean" => Metric::Euclidean,
        "Dot" | "dotproduct" => Metric::DotProduct,
        _ => Metric::Cosine,
    };
    if let Value::Object(vectors) = entry.get("vectors") {
        let pair = |(path, kind): (&str, &Value)| {
            (vec![path.to_owned()], metric(kind.as_str().unwrap_or_default()))
        };
        return vectors.iter().map(pair).collect();
    }
    let word = entry.get("description").as_str().unwrap_or_default().split(' ').next();
    vec![(vec!["embedding".to_owned()], metric(word.unwrap_or_default()))]
}

pub(crate) fn container_of<'a>(
    entry: &Value,
    paths: &'a [Vec<String>],
    vectors: &'a [(Vec<String>, Metric)],
) -> Container<'a> {
    let kind = match entry.get("partitionKind").as_str() {
        Some("Range") => Kind::Range,
        Some("Hash") => Kind::Hash,
        _ if paths.len() > 1 => Kind::MultiHash,
        _ => Kind::Hash,
    };
    Container {
        vectors,
        is_planar: entry.get("geospatialType").as_str() == Some("Geometry"),
        skips_rank_rewrite: entry.get("skipsRankRewrite").as_bool() == Some(true),
        ..Container::new(PartitionKeyPaths { paths, kind })
    }
}

/// The plan, or the document with which it is refused.
pub(crate) fn plan_of(
    query: &str,
    parameters: &[(String, Value)],
    container: &Container<'_>,
) -> Result<Plan, Value> {
    let document = |text: String| value::json::parse(text.as_bytes()).expect("our own JSON");
    let parsed =
        sql::parse(query).map_err(|error| document(sql::error::to_json(&[error], query)))?;
    sql::plan::plan(&parsed, parameters, container)
        .map_err(|refusal| document(refusal.to_json(query)))
}

pub(crate) fn equal(place: &str, actual: &Value, expected: &Value) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    let print = value::json::print;
    Err(format!("{place}:\n    expected {}\n    actual   {}", print(expected), print(actual)))
}

/// What the plan says, as clients get it.
pub(crate) fn info_of(plan: &Plan) -> Value {
    let info = match &plan.info {
        Info::Query(info) => info.to_json(),
        Info::Hybrid(info) => info.to_json(),
    };
    value::json::parse(info.as_bytes()).expect("our own JSON")
}

/// Compares ranges with lists of values, in any order.
pub(crate) fn check_ranges(plan: &Plan, expected: Vec<Value>) -> Result<(), String> {
    let sorted = |mut ranges: Vec<Value>| {
        ranges.sort_by(value::order::compare);
        Value::from(ranges)
    };
    let actual = plan.ranges.iter().map(range_value).collect();
    equal("ranges", &sorted(actual), &sorted(expected))
}

/// A range in the form of the service's library.
pub(crate) fn range_value(range: &KeyRange) -> Value {
    let infinity = Value::from("Infinity");
    let empty = || Value::from(Vec::new());
    match range {
        KeyRange::All => range_object(empty(), infinity, true, false),
        KeyRange::Nothing => range_object(empty(), empty(), true, true),
        KeyRange::Point(values) => {
            range_object(values.clone().into(), values.clone().into(), true, true)
        }
        KeyRange::Prefix(values) => {
            let above = values.iter().cloned().chain([infinity]).collect::<Vec<_>>();
            range_object(values.clone().into(), above.into(), true, false)
        }
        KeyRange::Span(Span { min, max, is_min_inclusive, is_max_inclusive }) => range_object(
            min.iter().map(edge_value).collect::<Vec<_>>().into(),
            max.iter().map(edge_value).collect::<Vec<_>>().into(),
            *is_min_inclusive,
            *is_max_inclusive,
        ),
    }
}

fn range_object(min: Value, max: Value, is_min_inclusive: bool, is_max_inclusive: bool) -> Value {
    let mut object = Object::new();
    object.insert("min", min);
    object.insert("max", max);
    object.insert("isMinInclusive", is_min_inclusive);
    object.insert("isMaxInclusive", is_max_inclusive);
    Value::from(object)
}

fn edge_value(edge: &Edge) -> Value {
    let extreme = |name: &str| {
        let mut object = Object::new();
        object.insert("type", name);
        Value::from(object)
    };
    match edge {
        Edge::Value(value) => value.clone(),
        Edge::MinNumber => extreme("MinNumber"),
        Edge::MaxNumber => extreme("MaxNumber"),
        Edge::MaxString => extreme("MaxString"),
    }
}
