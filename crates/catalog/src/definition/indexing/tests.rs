//! Tests of indexing policies: what is returned, what is rejected, what a document counts.

use index::Directive;

use super::*;
use crate::definition::partition_key;
use crate::definition::tests::value_of;
use value::json::print;

const DEFAULT: &str = r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}"#;

fn normalised(sent: &str) -> String {
    print(&parse(&value_of(sent), false, &[]).unwrap().1.into())
}

#[test]
fn sparse_policies_get_the_defaults() {
    for sent in [
        "null",
        "{}",
        r#"{"indexingMode":"Consistent"}"#,
        r#"{"indexingMode":"CONSISTENT","automatic":true}"#,
        r#"{"includedPaths":[],"excludedPaths":[]}"#,
        r#"{"includedPaths":null,"unknown":1}"#,
        r#"{"includedPaths":[{"path":"/*"}]}"#,
        r#"{"IndexingMode":"consistent","IncludedPaths":[{"Path":"/*","IndexType":"Hash"}]}"#,
        r#"{"includedPaths":[{"path":"/*","indexes":[{"kind":"Hash","dataType":"String"}]}]}"#,
        r#"{"excludedPaths":[{"path":"/\"_etag\"/?"}],"includedPaths":[{"path":"/*"}]}"#,
    ] {
        assert_eq!(normalised(sent), DEFAULT, "{sent}");
    }
    assert_eq!(print(&parse(&Value::Undefined, false, &[]).unwrap().1.into()), DEFAULT);
}

#[test]
fn what_is_sent_comes_back() {
    for (sent, part) in [
        (r#"{"indexingMode":"Lazy"}"#, r#"{"indexingMode":"lazy","automatic":true"#),
        (
            r#"{"indexingMode":"none"}"#,
            r#"{"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]}"#,
        ),
        (r#"{"automatic":false}"#, r#""automatic":false,"includedPaths":[{"path":"/*"}]"#),
        (
            r#"{"includedPaths":[{"path":"/"}],"excludedPaths":[{"path":"/\"x\"/*"}]}"#,
            r#""includedPaths":[{"path":"/"}],"excludedPaths":[{"path":"/\"x\"/*"},{"path":"/\"_etag\"/?"}]"#,
        ),
        (
            r#"{"includedPaths":[{"path":"/a/?"},{"path":"/_etag/?"}],"excludedPaths":[{"path":"/*"}]}"#,
            r#""includedPaths":[{"path":"/a/?"},{"path":"/_etag/?"}],"excludedPaths":[{"path":"/*"}]}"#,
        ),
        (
            r#"{"includedPaths":[{"path":"/","indexes":[{"kind":"Hash","dataType":"Number","precision":2}]}]}"#,
            r#"[{"path":"/","indexes":[{"kind":"Hash","dataType":"Number","precision":2}]}]"#,
        ),
        (
            r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"Descending"}]]}"#,
            r#""compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b","order":"descending"}]]"#,
        ),
        (
            r#"{"spatialIndexes":[{"path":"/l/*","types":["Point"]}]}"#,
            r#""spatialIndexes":[{"path":"/l/*","types":["Point","LineString","Polygon","MultiPolygon"]}]"#,
        ),
        (
            r#"{"vectorIndexes":[{"path":"/v","type":"flat"}],"fullTextIndexes":[{"path":"/t"}]}"#,
            r#""vectorIndexes":[{"path":"/v","type":"flat"}],"fullTextIndexes":[{"path":"/t"}]}"#,
        ),
    ] {
        let returned = normalised(sent);
        assert!(returned.contains(part), "{sent}: {returned}");
        assert_eq!(normalised(&returned), returned, "normalising twice changes nothing");
    }
}

#[test]
fn bad_policies() {
    for sent in [
        "1",
        "[]",
        r#"{"indexingMode":"eager"}"#,
        r#"{"indexingMode":1}"#,
        r#"{"automatic":"true"}"#,
        r#"{"indexingMode":"none","automatic":true}"#,
        r#"{"indexingMode":"none","includedPaths":[{"path":"/*"}]}"#,
        r#"{"includedPaths":{"path":"/*"}}"#,
        r#"{"includedPaths":["/*"]}"#,
        r#"{"includedPaths":[{}]}"#,
        r#"{"includedPaths":[{"path":1}]}"#,
        r#"{"includedPaths":[{"path":"/a/?"}]}"#,
        r#"{"excludedPaths":[{"path":"/a/?"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"/a"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"/"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"/a/?"},{"path":"/\"a\"/?"}]}"#,
        r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/*"}]}"#,
        r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/[]/{b}/?"}]}"#,
        r#"{"includedPaths":[{"path":"/*","indexes":[{"kind":"Other"}]}]}"#,
        r#"{"compositeIndexes":[[{"path":"/a"}]]}"#,
        r#"{"spatialIndexes":[{"path":"/l/*","types":[]}]}"#,
        r#"{"vectorIndexes":[{"path":"/v","type":"other"}]}"#,
        r#"{"fullTextIndexes":[{"path":"/t/*"}]}"#,
    ] {
        assert!(parse(&value_of(sent), false, &[]).is_err(), "{sent}");
    }
    let message =
        parse(&value_of(r#"{"includedPaths":[{"path":"/a/?"}]}"#), false, &[]).unwrap_err().message;
    assert!(message.starts_with("The special mandatory indexing path \"/\" is not provided"));
}

#[test]
fn each_list_holds_1500_paths() {
    let list = |count: usize| {
        let paths: Vec<_> = (0..count).map(|n| format!(r#"{{"path":"/p{n}/?"}}"#)).collect();
        value_of(&format!(
            r#"{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{}]}}"#,
            paths.join(",")
        ))
    };
    assert!(parse(&list(1500), false, &[]).is_ok());
    assert!(parse(&list(1501), false, &[]).is_err());
}

#[test]
fn the_id_and_the_partition_key_count_whatever_the_paths_say() {
    let document = value_of(r#"{"id":"x","pk":{"a":1,"b":[2]},"other":3,"_ts":4}"#);
    let key = |paths: &str| {
        let json = format!(r#"{{"paths":{paths},"kind":"MultiHash"}}"#);
        partition_key::create(&value_of(&json), false).unwrap().0
    };
    let nothing = r#"{"excludedPaths":[{"path":"/*"}]}"#;
    for (policy, paths, expected) in [
        ("{}", r#"["/pk/a"]"#, 4),
        (nothing, r#"["/pk/a"]"#, 2),
        (nothing, r#"["/id"]"#, 1),
        (nothing, r#"["/pk/a","/id"]"#, 2),
        // Absent values and arrays are not key values.
        (nothing, r#"["/pk/b","/absent"]"#, 1),
        (
            r#"{"includedPaths":[{"path":"/pk/a/?"},{"path":"/id/?"}],"excludedPaths":[{"path":"/*"}]}"#,
            r#"["/pk/a"]"#,
            2,
        ),
        (r#"{"indexingMode":"lazy"}"#, r#"["/pk/a"]"#, 4),
        (r#"{"automatic":false}"#, r#"["/pk/a"]"#, 2),
        (r#"{"indexingMode":"none"}"#, r#"["/pk/a"]"#, 0),
    ] {
        let (parsed, _) = parse(&value_of(policy), false, &key(paths).paths).unwrap();
        let counted = parsed.indexed_values(&document, Directive::Default);
        assert_eq!(counted, expected, "{policy} {paths}");
    }
}

#[test]
fn the_old_way_to_ask_for_a_spatial_index_still_works() {
    const OLD: &str = r#"{"includedPaths":[{"path":"/*"},{"path":"/at/?","indexes":[{"kind":"Spatial","dataType":"Point"}]}]}"#;
    for (sent, is_geometry, expected) in [
        (OLD, false, true),
        (OLD, true, false),
        (r#"{"spatialIndexes":[{"path":"/at/*","types":["Point"]}]}"#, false, true),
        (r#"{"includedPaths":[{"path":"/*"},{"path":"/at/?"}]}"#, false, false),
    ] {
        let (policy, _) = parse(&value_of(sent), is_geometry, &[]).unwrap();
        assert_eq!(policy.has_spatial(&index::Path::of_keys(&["at"])), expected, "{sent}");
    }
}
