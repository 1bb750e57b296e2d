//! Which crate may use which: arrows between crates point down only.

use crate::source::{crates, dependencies};

/// Each crate, and the crates of ours that it may use. Tests may use any store.
const ARROWS: [(&str, &[&str]); 20] = [
    ("value", &[]),
    ("protocol", &["value"]),
    ("sql", &["value"]),
    ("index", &["value"]),
    ("expression", &[]),
    ("mql", &["expression"]),
    ("pipeline", &["expression", "mql"]),
    ("mongo", &["mql"]),
    ("script", &["value", "protocol"]),
    ("store", &[]),
    ("store-lsm", &["store"]),
    ("catalog", &["value", "protocol", "store", "index", "sql"]),
    ("partition", &["value", "protocol", "store", "index", "catalog"]),
    ("query", &["value", "protocol", "script", "store", "index", "sql", "catalog", "partition"]),
    (
        "engine",
        &["value", "protocol", "script", "store", "index", "sql", "catalog", "partition", "query"],
    ),
    ("gateway", &["value", "protocol"]),
    ("net", &[]),
    ("tools", &["value", "gateway"]),
    (
        "server",
        &["value", "protocol", "script", "store", "store-lsm", "engine", "gateway", "net", "tools"],
    ),
    ("tidy", &[]),
];

/// HTTP belongs to one protocol and its clients. No other crate may use these.
const HTTP: [&str; 5] = ["http", "http-body-util", "httpdate", "hyper", "hyper-util"];
const SPEAK_HTTP: [&str; 3] = ["gateway", "server", "tools"];

#[test]
fn arrows_point_down_only() {
    let ours: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in ARROWS {
        for dependency in dependencies(name) {
            let is_allowed =
                !ours.contains(&dependency.as_str()) || allowed.contains(&dependency.as_str());
            assert!(is_allowed, "{name} may not use {dependency}");
        }
    }
    for name in crates() {
        assert!(ours.contains(&name.as_str()), "{name} has no line in ARROWS");
    }
}

#[test]
fn only_the_rest_protocol_speaks_http() {
    for name in crates() {
        let is_foreign = !SPEAK_HTTP.contains(&name.as_str());
        for dependency in dependencies(&name) {
            let is_http = HTTP.contains(&dependency.as_str());
            assert!(!(is_foreign && is_http), "{name} may not use {dependency}: it is not HTTP");
        }
    }
}
