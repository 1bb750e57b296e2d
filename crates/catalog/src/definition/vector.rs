//! Vectors: the collection's `vectorEmbeddingPolicy`, and the `vectorIndexes` of its policy. Both
//! are stored and returned as sent. Error texts are the service's; SDK tests match them. Stored
//! definitions may violate [`check_new`], which is newer than they are.

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

const DATA_TYPES: [&str; 4] = ["float32", "float16", "uint8", "int8"];
const DISTANCE_FUNCTIONS: [&str; 3] = ["cosine", "euclidean", "dotproduct"];
const INDEX_TYPES: [&str; 3] = ["flat", "quantizedFlat", "diskANN"];
const QUANTIZER_TYPES: [&str; 2] = ["product", "spherical"];

/// The most dimensions of a vector, and of one in a flat index.
const DIMENSIONS_MAX: i64 = 4096;
const DIMENSIONS_FLAT_MAX: i64 = 505;
/// The most bytes of a quantized vector; fewer if the vector has fewer dimensions.
const QUANTIZATION_BYTES_MAX: i64 = 512;
/// The most paths that shard one vector index.
const SHARD_PATHS_MAX: usize = 1;
/// The most embeddings and indexes. The service publishes no limit; these are looked up one by one.
const ENTRIES_MAX: usize = 100;

/// Checks `vectorEmbeddingPolicy` and returns its JSON.
pub(super) fn parse_policy(value: &Value) -> Result<Option<Value>, Error> {
    let Some(policy) = read::given(value) else { return Ok(None) };
    read::object(policy, "vectorEmbeddingPolicy")?;
    let embeddings = policy.get("vectorEmbeddings");
    let mut seen = Vec::new();
    for embedding in read::bounded_array(embeddings, "vectorEmbeddings", ENTRIES_MAX)? {
        read::object(embedding, "vectorEmbeddings")?;
        let path = path(embedding, "The Vector Embedding Policy has an invalid Path")?;
        let of = |what: &str, value: &Value, names: &[&'static str]| {
            read::choice(value, what, names).map_err(|_| {
                let given =
                    value.as_str().map_or_else(String::new, |text| read::shown(text).into());
                Error::bad_request(format!(
                    "The Vector Embedding Policy has an invalid {what}:{given}."
                ))
            })
        };
        of("DataType", embedding.get("dataType"), &DATA_TYPES)?;
        of("DistanceFunction", embedding.get("distanceFunction"), &DISTANCE_FUNCTIONS)?;
        check_dimensions(embedding.get("dimensions"))?;
        if seen.contains(&path) {
            let name = read::shown(path.as_str());
            return Err(Error::bad_request(format!("the vector path `{name}` occurs twice")));
        }
        seen.push(path);
    }
    Ok(Some(policy.clone()))
}

fn check_dimensions(value: &Value) -> Result<(), Error> {
    let Some(dimensions) = value.as_i64() else {
        return Err(read::wrong("vectorEmbeddings.dimensions", "an integer"));
    };
    let wrong = match dimensions {
        1..=DIMENSIONS_MAX => return Ok(()),
        ..1 => "less than the minimum supported value 1".to_owned(),
        _ => format!("more than the maximum supported value {DIMENSIONS_MAX}"),
    };
    Err(Error::bad_request(format!(
        "The Vector Embedding Policy has Dimensions:{dimensions} which is {wrong}."
    )))
}

/// The path of an entry; `refusal` is the service's wording for a bad one.
fn path(entry: &Value, refusal: &str) -> Result<Path, Error> {
    read::path(entry.get("path"), "path").map_err(|_| {
        let given = read::shown(entry.get("path").as_str().unwrap_or_default());
        Error::bad_request(format!("{refusal}: {given}."))
    })
}

/// Checks the shape of `vectorIndexes` and returns its JSON.
pub(super) fn parse_indexes(value: Option<&Value>) -> Result<Option<Value>, Error> {
    let Some(value) = value else { return Ok(None) };
    let mut seen = Vec::new();
    for index in read::bounded_array(value, "vectorIndexes", ENTRIES_MAX)? {
        read::object(index, "vectorIndexes")?;
        let path = path(index, "The Vector Indexing Policy has an invalid Path")?;
        let kind = read::text(index.get("type"), "vectorIndexes.type")?;
        if !INDEX_TYPES.iter().any(|name| name.eq_ignore_ascii_case(kind)) {
            let kind = read::shown(kind);
            return Err(Error::bad_request(format!(
                "The Vector Indexing Policy's Index Type::{kind} is invalid."
            )));
        }
        if let Some(size) = read::given(index.get("indexingSearchListSize")) {
            check_range("IndexingSearchListSize", size, 25, 500)?;
        }
        if let Some(keys) = read::given(index.get("vectorIndexShardKey")) {
            let Some(keys) = keys.as_array() else {
                return Err(Error::bad_request("One of the specified inputs is invalid"));
            };
            for key in keys {
                read::path(key, "vectorIndexShardKey").map_err(|_| {
                    let given = read::shown(key.as_str().unwrap_or_default());
                    Error::bad_request(format!(
                        "The Vector Indexing Policy has an invalid Shard Path: {given}."
                    ))
                })?;
            }
        }
        if seen.contains(&path) {
            let path = read::shown(path.as_str());
            return Err(Error::bad_request(format!("the vector index `{path}` occurs twice")));
        }
        seen.push(path);
    }
    Ok(Some(value.clone()))
}

/// Checks that every vector index of a checked indexing policy has a matching embedding.
pub(super) fn check_indexes(indexing: &Object, embeddings: Option<&Value>) -> Result<(), Error> {
    let embeddings = embeddings.map_or(&[][..], |policy| entries(policy, "vectorEmbeddings"));
    for index in indexing.get("vectorIndexes").and_then(Value::as_array).unwrap_or_default() {
        let Some(embedding) = find(embeddings, index) else {
            let path = read::shown(index.get("path").as_str().unwrap_or_default());
            return Err(Error::bad_request(format!(
                "The Vector Indexing Policy's path::{path} not matching in Embedding's path."
            )));
        };
        let dimensions = embedding.get("dimensions").as_i64().unwrap_or(DIMENSIONS_MAX);
        let kind = index.get("type").as_str().unwrap_or_default();
        if kind.eq_ignore_ascii_case("flat") && dimensions > DIMENSIONS_FLAT_MAX {
            return Err(Error::bad_request(format!(
                "a flat vector index holds at most {DIMENSIONS_FLAT_MAX} dimensions, not {dimensions}"
            )));
        }
        if let Some(size) = read::given(index.get("quantizationByteSize")) {
            let max = dimensions.min(QUANTIZATION_BYTES_MAX);
            check_range("QuantizationByteSize", size, 1, max)?;
        }
    }
    Ok(())
}

/// Checks rules that only new indexes must obey. `indexing` is a checked policy, `current` the
/// collection's previous one, whose indexes may stay.
pub(super) fn check_new(indexing: &Object, current: &Value) -> Result<(), Error> {
    for index in indexing.get("vectorIndexes").and_then(Value::as_array).unwrap_or_default() {
        if entries(current, "vectorIndexes").contains(index) {
            continue;
        }
        let shards = index.get("vectorIndexShardKey").as_array().unwrap_or_default().len();
        if shards > SHARD_PATHS_MAX {
            return Err(Error::bad_request(format!(
                "The number of shard paths defined in the Vector Indexing Policy: {shards} exceeds \
                 the maximum: {SHARD_PATHS_MAX}."
            )));
        }
        if let Some(quantizer) = read::given(index.get("quantizerType"))
            && read::choice(quantizer, "quantizerType", &QUANTIZER_TYPES).is_err()
        {
            let given = read::shown(quantizer.as_str().unwrap_or_default());
            return Err(Error::bad_request(format!(
                "The Vector Indexing Policy's Quantizer Type::{given} is invalid."
            )));
        }
    }
    Ok(())
}

/// Fails if the replacement changes an index or an embedding; adding and removing is allowed.
pub(super) fn check_unchanged(current: &Object, body: &Value) -> Result<(), Error> {
    let current_of = |name| current.get(name).unwrap_or(&Value::Undefined);
    for (policy, list, what) in [
        ("indexingPolicy", "vectorIndexes", "vector indexing"),
        ("vectorEmbeddingPolicy", "vectorEmbeddings", "embedding"),
    ] {
        let replacements = entries(body.get(policy), list);
        for entry in entries(current_of(policy), list) {
            if find(replacements, entry).is_some_and(|replacement| replacement != entry) {
                return Err(Error::bad_request(format!(
                    "Paths in existing {what} policy cannot be modified in Collection \
                     Replace. They can only be added or removed."
                )));
            }
        }
    }
    Ok(())
}

fn entries<'a>(policy: &'a Value, list: &str) -> &'a [Value] {
    read::member(policy, list).and_then(Value::as_array).unwrap_or_default()
}

/// The entry with the same path as `wanted`, in any spelling.
fn find<'a>(entries: &'a [Value], wanted: &Value) -> Option<&'a Value> {
    let wanted = read::path(wanted.get("path"), "path").ok()?;
    entries.iter().find(|entry| read::path(entry.get("path"), "path").is_ok_and(|p| p == wanted))
}

fn check_range(what: &str, value: &Value, min: i64, max: i64) -> Result<(), Error> {
    match value.as_i64() {
        Some(integer) if (min..=max).contains(&integer) => Ok(()),
        Some(integer) => Err(Error::bad_request(format!(
            "The Vector Indexing Policy parameter {what} value :: {integer} is out of range. The \
             allowed range is between {min} and {max}."
        ))),
        None => Err(read::wrong(what, "an integer")),
    }
}

#[cfg(test)]
mod tests;
