//! `indexingPolicy`: which values of a document are indexed. Accepts the modern and the 2015 form,
//! in camel or Pascal case; always returns the modern form.

mod modern;

use std::collections::BTreeMap;
use std::sync::Arc;

use index::{Definition, Mode, Policy, Rule, Spatial};
use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::{composite, full_text, index_path, legacy_index, read, spatial, vector};

/// The most entries in each of the two path lists.
const PATHS_MAX: usize = 1500;

/// The path that the service excludes unless the client mentions it, because etags are never
/// searched.
const ETAG_PATH: &str = "/\"_etag\"/?";

/// Parses a policy from a client, after modernizing it: see [`modern`].
pub(super) fn parse_new(
    value: &Value,
    is_geometry: bool,
    partition_key: &[Path],
    keeps_legacy_indexes: bool,
) -> Result<(Arc<Policy>, Object), Error> {
    let (policy, json) = parse(value, is_geometry, partition_key)?;
    match modern::rewrite(&json, is_geometry, keeps_legacy_indexes) {
        Some(modern) => parse(&modern, is_geometry, partition_key),
        None => Ok((policy, json)),
    }
}

/// Parses a policy. Also returns its JSON as the service returns it. `is_geometry` is the
/// collection's kind of spatial data, `partition_key` the paths of its partition key.
pub(super) fn parse(
    value: &Value,
    is_geometry: bool,
    partition_key: &[Path],
) -> Result<(Arc<Policy>, Object), Error> {
    if let Some(value) = read::given(value) {
        read::object(value, "indexingPolicy")?;
    }
    let (mode, mode_name) = parse_mode(value)?;
    let automatic = match read::member(value, "automatic") {
        Some(flag) => read::flag(flag, "indexingPolicy.automatic")?,
        None => mode != Mode::None,
    };
    let mut paths = Paths::default();
    let included = paths.read(value, "includedPaths", true)?;
    let excluded = paths.read(value, "excludedPaths", false)?;
    let (included, excluded) = paths.complete(mode, automatic, included, excluded)?;

    let mut json = Object::new();
    json.insert("indexingMode", mode_name);
    json.insert("automatic", automatic);
    json.insert("includedPaths", included);
    json.insert("excludedPaths", excluded);
    let (composites, composite_json) = composite::parse(read::member(value, "compositeIndexes"))?;
    let (mut spatial, spatial_json) =
        spatial::parse(read::member(value, "spatialIndexes"), is_geometry)?;
    // On a plane a spatial index needs bounds, which the old form could not express.
    for rule in paths.spatial.into_iter().filter(|_| !is_geometry) {
        if spatial.iter().all(|index| index.rule != rule) {
            spatial.push(Spatial { rule, bounds: None });
        }
    }
    let special = [
        ("compositeIndexes", composite_json),
        ("spatialIndexes", spatial_json),
        ("vectorIndexes", vector::parse_indexes(read::member(value, "vectorIndexes"))?),
        ("fullTextIndexes", full_text::parse_indexes(read::member(value, "fullTextIndexes"))?),
    ];
    for (name, indexes) in special {
        if let Some(indexes) = indexes {
            json.insert(name, indexes);
        }
    }
    let rules = paths.rules.into_iter().collect();
    let definition = Definition { mode, automatic, rules, composites, spatial };
    Ok((Arc::new(Policy::new(&definition, partition_key)), json))
}

fn parse_mode(value: &Value) -> Result<(Mode, &'static str), Error> {
    let Some(mode) = read::member(value, "indexingMode") else {
        return Ok((Mode::Consistent, "consistent"));
    };
    let names = ["consistent", "lazy", "none"];
    let name = read::choice(mode, "indexingPolicy.indexingMode", &names)?;
    let mode = match name {
        "none" => Mode::None,
        "lazy" => Mode::Lazy,
        _ => Mode::Consistent,
    };
    Ok((mode, name))
}

/// All paths of a policy.
#[derive(Default)]
struct Paths {
    /// The flag is true for included paths.
    rules: BTreeMap<Rule, bool>,
    /// The included paths that request a spatial index in the old form.
    spatial: Vec<Rule>,
}

impl Paths {
    /// Reads one of the two lists, and returns its normalised JSON.
    fn read(&mut self, policy: &Value, list: &str, is_included: bool) -> Result<Vec<Value>, Error> {
        let Some(value) = read::member(policy, list) else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in read::bounded_array(value, list, PATHS_MAX)? {
            read::object(entry, list)?;
            let path = read::member(entry, "path").unwrap_or(&Value::Undefined);
            let path = read::text(path, &format!("{list}.path"))?;
            let rule = self.add(path, is_included)?;
            let mut json = Object::new();
            json.insert("path", path);
            if let Some(indexes) = read::member(entry, "indexes").filter(|_| is_included) {
                let (indexes, is_spatial) = legacy_index::parse(indexes)?;
                if let Some(indexes) = indexes {
                    json.insert("indexes", indexes);
                }
                if is_spatial {
                    self.spatial.push(rule);
                }
            }
            entries.push(json.into());
        }
        Ok(entries)
    }

    fn add(&mut self, text: &str, is_included: bool) -> Result<Rule, Error> {
        let path = index_path::parse(text)?;
        let text = read::shown(text);
        if !is_included && !path.tuple.is_empty() {
            return Err(Error::bad_request(format!("the tuple `{text}` cannot be excluded")));
        }
        match self.rules.insert(path.clone(), is_included) {
            None => Ok(path),
            Some(previous) if previous == is_included => {
                Err(Error::bad_request(format!("the indexing path `{text}` occurs twice")))
            }
            Some(_) => Err(Error::bad_request(format!(
                "the indexing path `{text}` is both included and excluded"
            ))),
        }
    }

    /// Adds the service's default paths, and rejects combinations that do not fit together.
    fn complete(
        &mut self,
        mode: Mode,
        automatic: bool,
        mut included: Vec<Value>,
        mut excluded: Vec<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>), Error> {
        if mode == Mode::None {
            if automatic || !self.rules.is_empty() {
                return Err(Error::bad_request(
                    "the indexing mode `none` needs `automatic` to be false, and no paths",
                ));
            }
            return Ok((included, excluded));
        }
        let path_entry =
            |path: &str| Value::from(Object::from_iter([("path".into(), path.into())]));
        if self.rules.is_empty() {
            self.add("/*", true)?;
            included.push(path_entry("/*"));
        }
        if !self.rules.keys().any(Rule::is_root) {
            return Err(Error::bad_request(
                "The special mandatory indexing path \"/\" is not provided in any of the path type \
                 sets. Please provide this path in one of the sets.",
            ));
        }
        if !self.rules.keys().any(|path| path.starts_at("_etag")) {
            self.add(ETAG_PATH, false)?;
            excluded.push(path_entry(ETAG_PATH));
        }
        Ok((included, excluded))
    }
}

#[cfg(test)]
mod tests;
