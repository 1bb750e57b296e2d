//! Rewrites policies as the service does today where older ones had another meaning. Only what a
//! client sends is rewritten: existing documents were indexed under the stored policy.

use value::{Object, Value, json::print};

use crate::definition::spatial;

/// Returns a rewritten policy; `None` if the normalised one is fine as it is.
///
/// - `automatic: false` no longer counts for a consistent index.
/// - The `indexes` of included paths vanish if the client no longer knows them. Spatial ones are
///   kept as `spatialIndexes`.
pub(super) fn rewrite(
    json: &Object,
    is_geometry: bool,
    keeps_legacy_indexes: bool,
) -> Option<Value> {
    let mut modern = json.clone();
    let is_consistent = json.get("indexingMode").and_then(Value::as_str) == Some("consistent");
    if is_consistent {
        modern.insert("automatic", true);
    }
    if !keeps_legacy_indexes {
        drop_legacy_indexes(&mut modern, is_geometry);
    }
    let modern = Value::Object(modern);
    (print(&modern) != print(&Value::Object(json.clone()))).then_some(modern)
}

fn drop_legacy_indexes(policy: &mut Object, is_geometry: bool) {
    let Some(Value::Array(included)) = policy.get_mut("includedPaths") else { return };
    let mut spatial_paths = Vec::new();
    for entry in included {
        let Value::Object(entry) = entry else { continue };
        let indexes = entry.remove("indexes").unwrap_or_default();
        let indexes = indexes.as_array().unwrap_or_default();
        let is_spatial = |index: &Value| {
            index.as_object().is_some_and(|index| {
                let mut kinds = index.iter().filter(|(name, _)| name.eq_ignore_ascii_case("kind"));
                kinds.any(|(_, kind)| {
                    kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("spatial"))
                })
            })
        };
        if indexes.iter().any(is_spatial) {
            spatial_paths.extend(entry.get("path").cloned());
        }
    }
    // On a plane they never had an effect.
    if is_geometry || spatial_paths.is_empty() {
        return;
    }
    if policy.get("spatialIndexes").is_none() {
        policy.insert("spatialIndexes", Vec::<Value>::new());
    }
    let Some(Value::Array(indexes)) = policy.get_mut("spatialIndexes") else { return };
    for path in spatial_paths {
        if indexes.iter().all(|index| index.get("path") != &path) {
            indexes.push(spatial::index_of(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    fn rewritten(sent: &str, is_geometry: bool, keeps: bool) -> Option<String> {
        let Value::Object(json) = value_of(sent) else { panic!("an object") };
        rewrite(&json, is_geometry, keeps).map(|modern| print(&modern))
    }

    #[test]
    fn consistent_policies_are_automatic() {
        let policy = |mode, automatic: bool| {
            format!(r#"{{"indexingMode":"{mode}","automatic":{automatic},"includedPaths":[]}}"#)
        };
        assert_eq!(
            rewritten(&policy("consistent", false), false, false),
            Some(policy("consistent", true))
        );
        for same in [policy("consistent", true), policy("lazy", false), policy("none", false)] {
            assert_eq!(rewritten(&same, false, false), None);
        }
    }

    #[test]
    fn legacy_indexes_vanish_and_spatial_ones_go_on() {
        const OLD: &str = concat!(
            r#"{"indexingMode":"consistent","automatic":true,"includedPaths":["#,
            r#"{"path":"/*","indexes":[{"kind":"Range","dataType":"String","precision":-1}]},"#,
            r#"{"path":"/at/?","indexes":[{"Kind":"spatial","dataType":"Point"}]}]}"#
        );
        const PATHS: &str = concat!(
            r#"{"indexingMode":"consistent","automatic":true,"#,
            r#""includedPaths":[{"path":"/*"},{"path":"/at/?"}]"#
        );
        assert_eq!(rewritten(OLD, false, true), None);
        assert_eq!(rewritten(OLD, true, false), Some(format!("{PATHS}}}")));
        let spatial = r#""spatialIndexes":[{"path":"/at/?","types":["Point","LineString","Polygon","MultiPolygon"]}]"#;
        let modern = format!("{PATHS},{spatial}}}");
        assert_eq!(rewritten(OLD, false, false).as_ref(), Some(&modern));
        assert_eq!(rewritten(&modern, false, false), None);
    }
}
