//! `sheaf backup` against a running server and a stopped one.

use std::{fs, path::Path, process::Output};

use crate::{
    client::{PUBLISHED_KEY, ask, connect, get, request, signed},
    process::{Sheaf, failure, run},
};

const COLLECTION: &str =
    r#"{"id":"c","partitionKey":{"paths":["/who"],"kind":"Hash","version":2}}"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn start(data: &Path, more: &[&str]) -> Sheaf {
    Sheaf::start(&[&["--data-dir", text(data)], more].concat())
}

fn post(sheaf: &Sheaf, path: &str, kind: &str, link: &str, body: &str) {
    let headers = signed(PUBLISHED_KEY, "POST", kind, link);
    let answer = ask(&mut connect(sheaf.address), &request("POST", path, &headers, body)).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
}

fn fill(sheaf: &Sheaf) {
    post(sheaf, "/dbs", "dbs", "", r#"{"id":"d"}"#);
    post(sheaf, "/dbs/d/colls", "colls", "dbs/d", COLLECTION);
}

fn put(sheaf: &Sheaf, id: &str) {
    let body = format!(r#"{{"id":"{id}","who":"{id}"}}"#);
    post(sheaf, "/dbs/d/colls/c/docs", "docs", "dbs/d/colls/c", &body);
}

/// The ids in a data directory whose server is stopped, which must be sound.
fn ids(data: &Path) -> Vec<String> {
    let checked = done(&["verify", text(data)]);
    assert!(checked.contains(" 0 problems"), "{checked}");
    let sheaf = start(data, &[]);
    let query = "SELECT VALUE c.id FROM c ORDER BY c.id";
    let at = ["--endpoint", &sheaf.endpoint, "--format", "lines", "-d", "d", "-c", "c"];
    let output = run(&[&["query", query], &at[..]].concat());
    let lines = String::from_utf8(output.stdout).unwrap();
    sheaf.stop();
    lines.lines().map(|line| line.trim_matches('"').to_owned()).collect()
}

fn create(sheaf: &Sheaf, place: &Path, more: &[&str]) -> Output {
    run(&[&["backup", "create", text(place), "--endpoint", &sheaf.endpoint], more].concat())
}

/// Runs a command that must succeed, and gives what it said.
fn done(args: &[&str]) -> String {
    said(run(args))
}

fn said(output: Output) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(output: Output) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{stderr}");
    stderr
}

/// The name of the backup that was made.
fn name(said: &str) -> String {
    said.split(':').next().unwrap().to_owned()
}

#[test]
fn what_was_backed_up_is_restored() {
    let scratch = tempfile::tempdir().unwrap();
    let [data, place, new, newer] =
        ["data", "backups", "new", "newer"].map(|name| scratch.path().join(name));
    let sheaf = start(&data, &[]);
    fill(&sheaf);
    put(&sheaf, "a");
    let first = name(&said(create(&sheaf, &place, &[])));
    assert!(first.starts_with("0001-"), "{first}");
    put(&sheaf, "b");
    let second = said(create(&sheaf, &place, &[]));
    assert!(second.starts_with("0002-") && second.contains("; writes waited for "), "{second}");
    put(&sheaf, "c");
    sheaf.stop();
    let listed = done(&["backup", "list", text(&place)]);
    assert!(listed.contains(&first) && listed.contains(&name(&second)), "{listed}");
    assert!(done(&["backup", "verify", text(&place)]).contains("2 backups, "));

    let into = ["--data-dir", text(&new)];
    done(&[&["backup", "restore", text(&place), "--at", &first], &into[..]].concat());
    assert_eq!(ids(&new), ["a"]);
    let again = failure(1, &[&["backup", "restore", text(&place)], &into[..]].concat());
    assert!(again.contains("is not empty"), "{again}");
    // By default the newest, into a directory that is there.
    fs::create_dir(&newer).unwrap();
    done(&["backup", "restore", text(&place), "--data-dir", text(&newer)]);
    assert_eq!(ids(&newer), ["a", "b"]);
    // The stopped server's own directory, and of it the same series.
    let third = done(&["backup", "create", text(&place), "--offline", text(&data), "--keep", "1"]);
    assert!(third.starts_with("0003-") && third.contains("removed 2 old backups"), "{third}");
    fs::remove_dir_all(&new).unwrap();
    done(&["backup", "restore", text(&place), "--data-dir", text(&new)]);
    assert_eq!(ids(&new), ["a", "b", "c"]);
    assert_eq!(ids(&data), ["a", "b", "c"]);
}

#[test]
fn places_that_are_none_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let sheaf = start(&data, &[]);
    let inside = refusal(create(&sheaf, &data.join("backups"), &[]));
    assert!(inside.starts_with("sheaf: the backup was refused (400 BadRequest)\n"), "{inside}");
    assert!(inside.contains("contain each other"), "{inside}");
    let around = refusal(create(&sheaf, scratch.path(), &[]));
    assert!(around.contains("contain each other"), "{around}");
    let other = scratch.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "work").unwrap();
    assert!(refusal(create(&sheaf, &other, &[])).contains("contains other files"));
    assert!(refusal(create(&sheaf, &other.join("../x"), &[])).contains("`..`"));
    assert!(refusal(create(&sheaf, &other.join("file/x"), &[])).contains("400 BadRequest"));
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    assert!(!data.join("backups").try_exists().unwrap());
    let running = failure(1, &["backup", "create", text(&other), "--offline", text(&data)]);
    assert!(running.contains("in use by another sheaf"), "{running}");
    let zero = failure(2, &["backup", "create", text(&other), "--keep", "0"]);
    assert!(zero.contains("at least one"), "{zero}");
}

#[test]
fn the_page_takes_a_key_that_may_write_and_a_sound_body() {
    const READER: &str = "cmVhZGVy";
    let scratch = tempfile::tempdir().unwrap();
    let keys = scratch.path().join("keys");
    fs::write(&keys, format!("primary = \"{PUBLISHED_KEY}\"\nprimary_readonly = \"{READER}\"\n"))
        .unwrap();
    let sheaf = start(&scratch.path().join("data"), &["--key-file", text(&keys)]);
    let send = |key: &str, method: &str, body: &str| {
        let headers = signed(key, method, "backup", "");
        let request = request(method, "/_sheaf/backup", &headers, body);
        ask(&mut connect(sheaf.address), &request).unwrap()
    };
    assert_eq!(get(sheaf.address, "/_sheaf/backup").status, 401);
    let body = format!(r#"{{"directory":"{}"}}"#, text(&scratch.path().join("b")));
    assert_eq!(send("bm90IHRoZSBrZXk=", "POST", &body).status, 401);
    assert_eq!(send(READER, "POST", &body).status, 403);
    let page = send(READER, "GET", "");
    assert_eq!((page.status, page.body.as_str()), (200, "{}"));
    assert_eq!(send(PUBLISHED_KEY, "DELETE", "").status, 405);
    let long = format!(r#"{{"directory":"/{}"}}"#, "x".repeat(20_000));
    for bad in [
        "",
        "{}",
        "[1]",
        r#"{"directory":7}"#,
        r#"{"directory":""}"#,
        r#"{"directory":"relative"}"#,
        r#"{"directory":"/tmp/\u0000"}"#,
        r#"{"directory":"/nowhere","keep":0}"#,
        r#"{"directory":"/nowhere","keep":"7"}"#,
        r#"{"directory":"/nowhere","keep":1.5}"#,
        &long,
    ] {
        let answer = send(PUBLISHED_KEY, "POST", bad);
        assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
        assert!(answer.body.contains(r#""code":"BadRequest""#), "{}", answer.body);
    }
    assert!(!scratch.path().join("b").try_exists().unwrap());
    assert_eq!(send(PUBLISHED_KEY, "POST", &body).status, 202);
    sheaf.stop();
}

#[test]
fn a_database_in_memory_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let place = scratch.path().join("b");
    let refused = refusal(create(&Sheaf::in_memory(&[]), &place, &[]));
    assert!(refused.contains("in memory"), "{refused}");
    assert!(!place.try_exists().unwrap());
}

#[test]
fn damage_is_said_and_leaves_no_data() {
    let scratch = tempfile::tempdir().unwrap();
    let [data, place, new] = ["data", "backups", "new"].map(|name| scratch.path().join(name));
    let sheaf = start(&data, &[]);
    fill(&sheaf);
    put(&sheaf, "a");
    let made = name(&said(create(&sheaf, &place, &[])));
    sheaf.stop();
    let list = fs::read_to_string(place.join("backups").join(made)).unwrap();
    let journal = list.lines().find(|line| line.contains(".jnl")).unwrap();
    let [_, checksum, bytes, _] = journal.split(' ').collect::<Vec<_>>()[..] else { panic!() };
    let path = place.join("files").join(format!("{checksum}-{bytes}"));
    let mut content = fs::read(&path).unwrap();
    content[20] ^= 1;
    fs::write(&path, content).unwrap();
    let checked = run(&["backup", "verify", text(&place)]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(String::from_utf8(checked.stdout).unwrap().contains("is damaged"));
    let failed = failure(1, &["backup", "restore", text(&place), "--data-dir", text(&new)]);
    assert!(failed.contains("is damaged"), "{failed}");
    assert!(!new.try_exists().unwrap());
    for (args, expected) in [
        (&["list", text(&new)][..], "contains no backups"),
        (&["restore", text(&data), "--data-dir", text(&new)], "contains no backups"),
        (
            &["restore", text(&place), "--at", "0009-x", "--data-dir", text(&new)],
            "no backup `0009-x`",
        ),
        (&["prune", text(&data), "--keep", "1"], "contains no backups"),
    ] {
        let failed = failure(1, &[&["backup"], args].concat());
        assert!(failed.contains(expected), "{failed}");
    }
    assert!(!new.try_exists().unwrap());
}
