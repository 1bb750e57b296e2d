//! The audit log: changes and refusals, and nothing that is secret.

use std::{fs, path::Path};

use value::{Value, json};

use crate::{
    client::{PUBLISHED_KEY, ask, connect, get, request, signed},
    process::{Sheaf, run},
};

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line.get(name).as_str().unwrap_or_default()
}

#[test]
fn changes_and_refusals_are_written_down() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let at = ["--data-dir", data.to_str().unwrap()];
    let sheaf = Sheaf::start(&at);
    let mut stream = connect(sheaf.address);
    let mut send = |key: &str, method: &str, kind: &str, link: &str, path: &str, body: &str| {
        let mut headers = signed(key, method, kind, link);
        headers.push_str("x-ms-documentdb-partitionkey: [\"s3cr3t\"]\r\n");
        ask(&mut stream, &request(method, path, &headers, body)).unwrap().status
    };
    let key = PUBLISHED_KEY;
    assert_eq!(send(key, "POST", "dbs", "", "/dbs?q=s3cr3t", r#"{"id":"shop"}"#), 201);
    let collection = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#;
    assert_eq!(send(key, "POST", "colls", "dbs/shop", "/dbs/shop/colls", collection), 201);
    let document = r#"{"id":"d","pk":"s3cr3t"}"#;
    let (link, path) = ("dbs/shop/colls/c", "/dbs/shop/colls/c/docs");
    assert_eq!(send(key, "POST", "docs", link, path, document), 201);
    let (link, path) = ("dbs/shop/colls/c/docs/d", "/dbs/shop/colls/c/docs/d/attachments");
    let attachment = r#"{"id":"a","contentType":"text/plain","media":"http://a/"}"#;
    assert_eq!(send(key, "POST", "attachments", link, path, attachment), 201);
    let (link, path) = ("dbs/shop/colls/c", "/dbs/shop/colls/c/operations/partitionkeydelete");
    assert_eq!(send(key, "POST", "colls", link, path, ""), 200);
    assert_eq!(send(key, "POST", "dbs", "", "/dbs", r#"{"id":"shop"}"#), 409);
    assert_eq!(send("d3Jvbmc=", "DELETE", "dbs", "dbs/shop", "/dbs/shop", ""), 401);
    assert_eq!(send(key, "DELETE", "dbs", "dbs/shop", "/dbs/shop", ""), 204);
    assert_eq!(get(sheaf.address, "/_sheaf/health").status, 200);
    run(&[&["keys", "regenerate", "all"][..], &at].concat());
    sheaf.stop();

    let path = data.join("audit.log");
    let lines = lines(&path);
    let events: Vec<(&str, &str)> =
        lines.iter().map(|line| (text(line, "event"), text(line, "operation"))).collect();
    let expected = [
        ("server_started", ""),
        ("changed", "create_database"),
        ("changed", "create_collection"),
        ("refused", "refused"),
        ("changed", "delete_database"),
    ];
    assert_eq!(events[..5], expected);
    assert_eq!(events.last(), Some(&("server_stopped", "")));
    let refused = &lines[3];
    assert_eq!((text(refused, "method"), text(refused, "path")), ("DELETE", "/dbs/shop"));
    assert_eq!(text(refused, "client").split(':').next(), Some("127.0.0.1"));
    assert_eq!(text(refused, "activityId").len(), 36);
    assert!(text(refused, "reason").contains("can't serve the request"), "{refused:?}");
    assert_eq!(text(&lines[4], "credential"), "key");

    let whole = fs::read_to_string(&path).unwrap();
    let keys = fs::read_to_string(data.join("keys")).unwrap();
    for secret in ["s3cr3t", "sig", PUBLISHED_KEY, keys.split('"').nth(1).unwrap()] {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
}

#[test]
fn backups_are_written_down() {
    let scratch = tempfile::tempdir().unwrap();
    let [data, place] = ["data", "backups"].map(|name| scratch.path().join(name));
    let sheaf = Sheaf::start(&["--data-dir", data.to_str().unwrap()]);
    let mut stream = connect(sheaf.address);
    let mut send = |key: &str, method: &str, body: &str| {
        let headers = signed(key, method, "backup", "");
        ask(&mut stream, &request(method, "/_sheaf/backup", &headers, body)).unwrap().status
    };
    let body = format!(r#"{{"directory":"{}"}}"#, place.display());
    assert_eq!(send("d3Jvbmc=", "POST", &body), 401);
    assert_eq!(send("d3Jvbmc=", "GET", ""), 401);
    assert_eq!(send(PUBLISHED_KEY, "POST", "{}"), 400);
    assert_eq!(send(PUBLISHED_KEY, "POST", &body), 202);
    assert_eq!(send(PUBLISHED_KEY, "GET", ""), 200);
    sheaf.stop();
    let lines = lines(&data.join("audit.log"));
    let events: Vec<[&str; 4]> = lines
        .iter()
        .filter(|line| text(line, "path") == "/_sheaf/backup")
        .map(|line| ["event", "operation", "method", "credential"].map(|name| text(line, name)))
        .collect();
    let expected = [
        ["refused", "refused", "POST", ""],
        ["refused", "refused", "GET", ""],
        ["changed", "backup", "POST", "key"],
    ];
    assert_eq!(events, expected);
}

#[test]
fn the_log_can_be_elsewhere_or_off() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("log");
    let sheaf = Sheaf::in_memory(&["--audit-log", path.to_str().unwrap()]);
    assert_eq!(get(sheaf.address, "/dbs").status, 401);
    sheaf.stop();
    assert_eq!(lines(&path).len(), 3);
    let data = scratch.path().join("data");
    let off = ["--data-dir", data.to_str().unwrap(), "--audit-log", "off"];
    Sheaf::start(&off).stop();
    assert!(!data.join("audit.log").try_exists().unwrap());
}
