//! What a start needs, and what it says when it cannot have it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    client::{PUBLISHED_KEY, ask, connect, request, signed},
    process::{Sheaf, failure, run},
};

fn status_with(key: &str, sheaf: &Sheaf) -> u16 {
    let headers = signed(key, "GET", "", "");
    ask(&mut connect(sheaf.address), &request("GET", "/", &headers, "")).unwrap().status
}

#[test]
fn the_published_key_is_not_offered_to_others_by_mistake() {
    let stderr = failure(2, &["serve", "--in-memory", "--port", "0", "--host", "0.0.0.0"]);
    assert!(stderr.contains("--key-file") && stderr.contains("--allow-published-key"), "{stderr}");
    let allowed = Sheaf::in_memory(&["--host", "0.0.0.0", "--allow-published-key"]);
    assert_eq!(status_with(PUBLISHED_KEY, &allowed), 200);
}

#[test]
fn a_key_file_replaces_the_published_key() {
    const OWN: &str = "dGhpcyBpcyBhIGtleSBvZiBvdXIgb3du";
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("keys");
    fs::write(&path, format!("primary = \"{OWN}\"\n")).unwrap();
    let path = path.to_str().unwrap();
    let sheaf = Sheaf::in_memory(&["--host", "0.0.0.0", "--key-file", path]);
    assert_eq!(status_with(OWN, &sheaf), 200);
    assert_eq!(status_with(PUBLISHED_KEY, &sheaf), 401);

    fs::write(path, "primary = \"not base64!\"").unwrap();
    let stderr = failure(2, &["serve", "--in-memory", "--key-file", path]);
    assert!(stderr.contains("primary") && !stderr.contains("not base64!"), "{stderr}");
}

#[test]
fn a_port_in_use_is_said_in_one_line() {
    let sheaf = Sheaf::in_memory(&[]);
    let port = sheaf.address.port().to_string();
    let stderr = failure(1, &["serve", "--in-memory", "--port", &port]);
    assert!(stderr.contains("--port"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn a_directory_serves_one_process() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().to_str().unwrap();
    let _sheaf = Sheaf::start(&["--data-dir", data]);
    let stderr = failure(1, &["serve", "--port", "0", "--data-dir", data]);
    assert!(stderr.contains("in use by another sheaf (process "), "{stderr}");
    let stderr = failure(2, &["verify", data]);
    assert!(stderr.contains("in use by another sheaf"), "{stderr}");
    let stderr = failure(2, &["compact", "--data-dir", data]);
    assert!(stderr.contains("in use by another sheaf"), "{stderr}");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    let data = file.join("data");
    let stderr = failure(1, &["serve", "--port", "0", "--data-dir", data.to_str().unwrap()]);
    assert!(stderr.contains("data directory"), "{stderr}");
}

#[test]
fn a_server_in_memory_leaves_no_files() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let sheaf = Sheaf::in_memory(&["--data-dir", data.to_str().unwrap()]);
    sheaf.stop();
    assert!(!data.try_exists().unwrap());
}

#[test]
fn verify_tells_clean_from_missing() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().to_str().unwrap();
    failure(2, &["verify", data]);
    Sheaf::start(&["--data-dir", data]).stop();
    let output = run(&["verify", data]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!output.stdout.is_empty());
}

/// Everything in a directory, with its content.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}

#[test]
fn a_missing_journal_is_named_and_nothing_is_written() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().to_str().unwrap();
    // Killed, so that opening has something to do.
    drop(Sheaf::start(&["--data-dir", data]));
    let before = files(scratch.path());
    assert_eq!(run(&["verify", data]).status.code(), Some(0));
    assert!(files(scratch.path()) == before, "verify writes nothing");
    fs::remove_file(scratch.path().join("store/0.jnl")).unwrap();
    let before = files(scratch.path());
    let stderr = failure(2, &["verify", data]);
    assert!(stderr.contains("store/0.jnl` is missing"), "{stderr}");
    assert!(files(scratch.path()) == before, "verify writes nothing");
    let stderr = failure(1, &["serve", "--port", "0", "--data-dir", data]);
    assert!(stderr.contains("store/0.jnl` is missing"), "{stderr}");
}

/// A reserve that no disk has: reads are served, and writes are told why not.
#[test]
fn below_the_reserve_nothing_grows() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().to_str().unwrap();
    let sheaf = Sheaf::start(&["--data-dir", data, "--disk-reserve", "1024TB"]);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let asked = request("POST", "/dbs", &headers, r#"{"id":"shop"}"#);
    let answer = ask(&mut connect(sheaf.address), &asked).unwrap();
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("disk is full"), "{}", answer.body);
    let headers = signed(PUBLISHED_KEY, "GET", "dbs", "");
    let asked = request("GET", "/dbs", &headers, "");
    assert_eq!(ask(&mut connect(sheaf.address), &asked).unwrap().status, 200);
}

#[test]
fn compact_keeps_what_is_there() {
    const DATABASE: &str = r#"{"id":"shop"}"#;
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().to_str().unwrap();
    failure(2, &["compact", "--data-dir", data]);
    let status = |sheaf: &Sheaf, method: &str, path: &str, link: &str, body: &str| {
        let headers = signed(PUBLISHED_KEY, method, "dbs", link);
        ask(&mut connect(sheaf.address), &request(method, path, &headers, body)).unwrap().status
    };
    let sheaf = Sheaf::start(&["--data-dir", data]);
    assert_eq!(status(&sheaf, "POST", "/dbs", "", DATABASE), 201);
    sheaf.stop();
    for _ in 0..2 {
        let output = run(&["compact", "--data-dir", data]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(" bytes before, ") && said.ends_with(" bytes after\n"), "{said}");
    }
    assert_eq!(run(&["verify", data]).status.code(), Some(0));
    let sheaf = Sheaf::start(&["--data-dir", data]);
    assert_eq!(status(&sheaf, "GET", "/dbs/shop", "dbs/shop", ""), 200);
}

#[test]
fn version_and_help_are_printed() {
    let version = run(&["--version"]);
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("sheaf "));
    let help = String::from_utf8(run(&["serve", "--help"]).stdout).unwrap();
    for part in ["Listening:", "Storage:", "TLS:", "Examples:", "SHEAF_DATA_DIR"] {
        assert!(help.contains(part), "{part} in {help}");
    }
}
