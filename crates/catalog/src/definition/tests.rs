//! Tests of whole definitions; each policy is tested beside its code.

use super::*;
use index::Directive;
use protocol::Code;
use value::json;

/// Parses JSON, for the tests of all policies.
pub(super) fn value_of(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

fn created(body: &str) -> Definition {
    Definition::create(&value_of(body), false).unwrap()
}

const MINIMAL: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#;

const FULL: &str = r#"{
    "id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":60,
    "indexingPolicy":{"vectorIndexes":[{"path":"/v","type":"diskANN"}],"fullTextIndexes":[{"path":"/t"}]},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]},
    "conflictResolutionPolicy":{"mode":"Custom"},"geospatialConfig":{"type":"Geometry"},
    "analyticalStorageTtl":-1,"computedProperties":[{"name":"n","query":"SELECT VALUE c.a FROM c"}],
    "vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}]},
    "fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t"}]},
    "changeFeedPolicy":{"retentionDuration":0},"clientEncryptionPolicy":{"includedPaths":[]},
    "materializedViewDefinition":{"definition":"SELECT c.a FROM c"},
    "_rid":"r","_ts":1,"_self":"s","_etag":"e","_docs":"docs/","unknown":[1]
}"#;

#[test]
fn defaults_come_in_the_order_of_the_service() {
    assert_eq!(
        json::print(&created(MINIMAL).json.into()),
        concat!(
            r#"{"id":"c","indexingPolicy":{"indexingMode":"consistent","automatic":true,"#,
            r#""includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]},"#,
            r#""partitionKey":{"paths":["/pk"],"kind":"Hash"},"uniqueKeyPolicy":{"uniqueKeys":[]},"#,
            r#""conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","#,
            r#""conflictResolutionProcedure":""},"geospatialConfig":{"type":"Geography"}}"#
        )
    );
}

#[test]
fn everything_sent_is_kept_and_the_rest_dropped() {
    let definition = created(FULL);
    let names: Vec<_> = definition.json.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "id",
            "indexingPolicy",
            "partitionKey",
            "defaultTtl",
            "uniqueKeyPolicy",
            "conflictResolutionPolicy",
            "geospatialConfig",
            "analyticalStorageTtl",
            "computedProperties",
            "vectorEmbeddingPolicy",
            "fullTextPolicy",
            "changeFeedPolicy",
            "clientEncryptionPolicy",
            "materializedViewDefinition"
        ]
    );
    assert_eq!(definition.default_ttl, Some(60));
    assert_eq!(definition.unique_keys.len(), 1);
}

#[test]
fn what_is_stored_can_be_restored() {
    let old = Definition::create(&value_of(r#"{"id":"old"}"#), true).unwrap();
    for definition in [created(MINIMAL), created(FULL), old] {
        let stored = Value::from(definition.json.clone());
        let restored = Definition::restore(&stored).unwrap();
        assert_eq!(json::print(&restored.json.into()), json::print(&stored));
        assert_eq!(restored.partition_key, definition.partition_key);
        assert_eq!(restored.unique_keys, definition.unique_keys);
        assert_eq!(restored.default_ttl, definition.default_ttl);
        // A client may put back what it read.
        let replaced = definition.replace(&stored, false).unwrap();
        assert_eq!(json::print(&replaced.json.into()), json::print(&stored));
    }
}

#[test]
fn bad_bodies() {
    let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash"}"#;
    for body in [
        "null".to_owned(),
        "[]".to_owned(),
        format!("{{{key}}}"),
        format!(r#"{{"id":1,{key}}}"#),
        format!(r#"{{"id":"a/b",{key}}}"#),
        format!(r#"{{"id":"c",{key},"defaultTtl":0}}"#),
        format!(r#"{{"id":"c",{key},"defaultTtl":60,"indexingPolicy":{{"indexingMode":"none"}}}}"#),
        format!(r#"{{"id":"c",{key},"indexingPolicy":"all"}}"#),
        format!(
            r#"{{"id":"c",{key},"indexingPolicy":{{"vectorIndexes":[{{"path":"/v","type":"flat"}}]}}}}"#
        ),
        format!(r#"{{"id":"c",{key},"indexingPolicy":{{"fullTextIndexes":[{{"path":"/v"}}]}}}}"#),
        format!(
            r#"{{"id":"c",{key},"geospatialConfig":{{"type":"Geometry"}},"indexingPolicy":{{"spatialIndexes":[{{"path":"/l/?","types":["Point"]}}]}}}}"#
        ),
        format!(r#"{{"id":"c",{key},"analyticalStorageTtl":"x"}}"#),
        format!(r#"{{"id":"c",{key},"ttlPropertyPath":"/created"}}"#),
        format!(r#"{{"id":"c",{key},"computedProperties":{{}}}}"#),
        format!(r#"{{"id":"c",{key},"changeFeedPolicy":[]}}"#),
    ] {
        let error = Definition::create(&value_of(&body), false).unwrap_err();
        assert_eq!(error.code, Code::BadRequest, "{body}");
    }
    let error = Definition::create(&value_of(r#"{"id":"c"}"#), false).unwrap_err();
    assert_eq!(error.code, Code::PartitionKeyDefinitionMissing);
}

#[test]
fn replacing_returns_what_is_left_out_to_its_default() {
    let full = created(FULL);
    let body = r#"{"id":"c","partitionKey":{"paths":["/'pk'"],"kind":"Hash","version":2},
        "conflictResolutionPolicy":{"mode":"Custom"},"clientEncryptionPolicy":{"includedPaths":[]},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/'email'"]}]}}"#;
    let replaced = full.replace(&value_of(body), false).unwrap();
    assert_eq!(replaced.default_ttl, None);
    assert!(replaced.json.get("vectorEmbeddingPolicy").is_none());
    for name in ["fullTextPolicy", "computedProperties", "changeFeedPolicy", "analyticalStorageTtl"]
    {
        assert!(replaced.json.get(name).is_none(), "{name}");
    }
    let type_of = |json: &Object| json.get("geospatialConfig").unwrap().get("type").clone();
    assert_eq!(type_of(&full.json), "Geometry".into());
    assert_eq!(type_of(&replaced.json), "Geography".into());
    for fixed in ["partitionKey", "uniqueKeyPolicy"] {
        let (new, old) = (replaced.json.get(fixed).unwrap(), full.json.get(fixed).unwrap());
        assert_eq!(json::print(new), json::print(old));
    }
}

#[test]
fn what_is_fixed_cannot_be_replaced() {
    let full = created(FULL);
    let changed = |from: &str, to: &str| {
        assert!(FULL.contains(from), "{from}");
        full.replace(&value_of(&FULL.replacen(from, to, 1)), false).unwrap_err().message
    };
    let refused = full.replace(&value_of(&FULL.replace("/email", "/other")), false).unwrap_err();
    assert_eq!(refused.code, Code::BadRequest);
    assert!(changed("Custom", "LastWriterWins").contains("Updating conflict resolution policy"));
    assert!(changed(r#""clientEncryptionPolicy":{"includedPaths":[]}"#, r#""x":1"#).contains(
        "'clientEncryptionPolicy' cannot be changed as part of collection replace operation."
    ));
    assert!(changed("en-US", "tlh").contains("contains an unsupported language tlh."));
    assert!(
        changed(r#""type":"diskANN"}]"#, r#""type":"diskANN"},{"path":"/w","type":"flat"}]"#)
            .contains("path::/w not matching in Embedding's path.")
    );
    assert!(changed(r#""id":"c""#, r#""id":"d""#).contains("id of a collection"));
    assert!(changed("/pk", "/other").contains("partition key cannot be changed"));
    assert!(changed("/email", "/other").contains("unique index cannot be modified"));
    assert!(changed("diskANN", "flat").contains("cannot be modified in Collection Replace"));
    assert!(changed("cosine", "euclidean").contains("cannot be modified in Collection Replace"));
    assert!(changed("vectorEmbeddingPolicy", "x").contains("not matching in Embedding's path"));
    assert!(full.replace(&value_of("{}"), false).is_err());
}

/// Each policy that may change does, and a policy sent unchanged stays as stored.
#[test]
fn what_may_change_can_be_replaced() {
    let full = created(FULL);
    for (from, to, name) in [
        (r#""defaultTtl":60"#, r#""defaultTtl":-1"#, "defaultTtl"),
        (r#""analyticalStorageTtl":-1"#, r#""analyticalStorageTtl":7"#, "analyticalStorageTtl"),
        ("SELECT VALUE c.a FROM c", "SELECT VALUE c.b FROM c", "computedProperties"),
        (r#""defaultLanguage":"en-US""#, r#""defaultLanguage":"fr-FR""#, "fullTextPolicy"),
        (
            r#"{"path":"/t"}]},"change"#,
            r#"{"path":"/t"},{"path":"/u"}]},"change"#,
            "fullTextPolicy",
        ),
        (r#""type":"Geometry""#, r#""type":"Geography""#, "geospatialConfig"),
        (r#""fullTextIndexes":[{"path":"/t"}]"#, r#""fullTextIndexes":[]"#, "indexingPolicy"),
        (r#""vectorIndexes":[{"path":"/v","type":"diskANN"}],"#, "", "indexingPolicy"),
    ] {
        let body = FULL.replace("\n    ", "").replacen(from, to, 1);
        assert!(body.contains(to) && body != FULL.replace("\n    ", ""), "{from}");
        let replaced = full.replace(&value_of(&body), false).unwrap();
        for (member, value) in full.json.iter() {
            let is_same = replaced.json.get(member).is_some_and(|new| new == value);
            assert_eq!(is_same, member != name, "{from}: {member}");
        }
    }
}

/// `automatic: false` no longer counts with a consistent index. A stored one keeps its effect,
/// because documents were left out of the index.
#[test]
fn consistent_indexes_are_automatic_from_now_on() {
    let body = value_of(
        r#"{"id":"c","partitionKey":{"paths":["/pk"]},"indexingPolicy":{"automatic":false}}"#,
    );
    let automatic = |definition: &Definition| {
        let policy = definition.json.get("indexingPolicy").cloned().unwrap_or_default();
        policy.get("automatic").as_bool()
    };
    let values = |definition: &Definition| {
        definition.indexing.indexed_values(&value_of(r#"{"id":"x","a":1}"#), Directive::Default)
    };
    let created = Definition::create(&body, false).unwrap();
    assert_eq!((automatic(&created), values(&created)), (Some(true), 2));
    let stored = Definition::restore(&body).unwrap();
    assert_eq!((automatic(&stored), values(&stored)), (Some(false), 1));
    let replaced = stored.replace(&stored.json.clone().into(), false).unwrap();
    assert_eq!((automatic(&replaced), values(&replaced)), (Some(true), 2));
}

#[test]
fn legacy_indexes_stay_until_a_client_of_today_replaces_the_policy() {
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"]},"indexingPolicy":{"includedPaths":[
        {"path":"/*","indexes":[{"kind":"Range","dataType":"String","precision":-1}]}]}}"#;
    let old = created(body);
    let has_indexes = |definition: &Definition| {
        json::print(&definition.json.clone().into()).contains(r#""indexes""#)
    };
    assert!(has_indexes(&old));
    assert!(has_indexes(&old.replace(&old.json.clone().into(), true).unwrap()));
    assert!(!has_indexes(&old.replace(&old.json.clone().into(), false).unwrap()));
}

/// Definitions accepted under earlier rules can be opened, and put back unchanged.
#[test]
fn later_rules_leave_stored_definitions_alone() {
    let old = r#"{"id":"c","partitionKey":{"paths":["/p k"],"kind":"Hash"},
        "indexingPolicy":{"vectorIndexes":[{"path":"/v","type":"diskANN","vectorIndexShardKey":["/a","/b"]}]},
        "conflictResolutionPolicy":{"conflictResolutionPath":"/a/b"},
        "vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}]},
        "fullTextPolicy":{"defaultLanguage":"xx"},"clientEncryptionPolicy":{"any":"thing"}}"#;
    assert!(Definition::create(&value_of(old), false).is_err());
    let stored = Definition::restore(&value_of(old)).unwrap();
    let again = stored.replace(&stored.json.clone().into(), false).unwrap();
    assert_eq!(json::print(&again.json.into()), json::print(&stored.json.into()));
}

/// Whatever the type of any value in a definition, the result is a definition or an error.
#[test]
fn every_value_of_a_wrong_type_is_answered_without_a_panic() {
    fn mutate(value: &Value, visit: &mut dyn FnMut(Value)) {
        for odd in ["null", "true", "-1", "1e300", r#""""#, r#""/é\\""#, "[]", "[[]]", "{}"] {
            visit(value_of(odd));
        }
        match value {
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    mutate(element, &mut |changed| {
                        let mut copy = elements.clone();
                        copy[index] = changed;
                        visit(copy.into());
                    });
                }
            }
            Value::Object(object) => {
                for (key, member) in object.iter() {
                    mutate(member, &mut |changed| {
                        let mut copy = object.clone();
                        copy.insert(key, changed);
                        visit(copy.into());
                    });
                }
            }
            _ => {}
        }
    }
    let full = created(FULL);
    let mut tried = 0;
    mutate(&full.json.clone().into(), &mut |body| {
        tried += 1;
        let _ = full.replace(&body, false);
        if let Ok(definition) = Definition::create(&body, true) {
            let stored = Value::from(definition.json);
            let restored = Definition::restore(&stored).unwrap();
            assert_eq!(json::print(&restored.json.into()), json::print(&stored));
        }
    });
    assert!(tried > 300);
}
