//! What is logged, and what is not.

use std::fs::{self, File};

use crate::{
    client::{PUBLISHED_KEY, ask, connect, request, signed},
    process::{Sheaf, command},
};

/// What a server logs while it answers a few requests, at a level and in a format.
fn logged(level: &str, format: &str) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("log");
    let mut command = command(&["serve", "--port", "0", "--in-memory"]);
    command.args(["--log-level", level, "--log-format", format]);
    let sheaf = Sheaf::spawn(command.stderr(File::create(&log).unwrap()));
    let mut stream = connect(sheaf.address);
    let good = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let id = "x-ms-activity-id: 01234567-89ab-cdef-0123-456789abcdef\r\n";
    let body = r#"{"id":"shop","note":"of the body"}"#;
    let create = request("POST", "/dbs?hidden=in-the-query", &(good.clone() + id), body);
    assert_eq!(ask(&mut stream, &create).unwrap().status, 201);
    // Signed for something else, so that the answer tells what was signed.
    let refused = request("GET", "/dbs/shop", &good, "");
    assert_eq!(ask(&mut stream, &refused).unwrap().status, 401);
    sheaf.stop();
    let text = fs::read_to_string(log).unwrap();
    let signature = good.split("sig%3D").nth(1).unwrap().split('\r').next().unwrap();
    for secret in [PUBLISHED_KEY, signature, "in-the-query", "of the body"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    text.lines().map(str::to_owned).collect()
}

#[test]
fn requests_are_logged_where_that_is_asked_for() {
    let lines = logged("debug", "text");
    let requests: Vec<_> = lines.iter().filter(|line| line.contains(": request ")).collect();
    assert_eq!(requests.len(), 2, "{lines:?}");
    for part in [
        "DEBUG",
        "method=\"POST\" path=\"/dbs\" operation=\"create_database\" status=201 charge=",
        "milliseconds=",
        "activity=\"01234567-89ab-cdef-0123-456789abcdef\"",
    ] {
        assert!(requests[0].contains(part), "{part} in {}", requests[0]);
    }
    assert!(requests[1].contains("operation=\"refused\" status=401"), "{}", requests[1]);
}

#[test]
fn lines_are_objects_where_that_is_asked_for() {
    let lines = logged("debug", "json");
    assert!(lines.len() >= 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with('{') && line.ends_with('}')), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(r#""status":201"#)), "{lines:?}");
}

#[test]
fn requests_are_not_logged_otherwise() {
    // A start and a stop; nothing that clients do is a problem of the server's.
    assert!(logged("info", "text").iter().all(|line| line.contains(" INFO ")));
    assert!(logged("warn", "text").is_empty());
}
