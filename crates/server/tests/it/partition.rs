//! `sheaf partition` against a running server.

use std::process::Output;

use crate::{
    client::{PUBLISHED_KEY, ask, connect, request, signed},
    process::{Sheaf, failure, run},
};

const BODY: &str =
    r#"{"id":"or ders","partitionKey":{"paths":["/who"],"kind":"Hash","version":2}}"#;

/// What a client from before there were keys is given.
const WITHOUT_KEY: &str = r#"{"id":"or ders",
    "partitionKey":{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}}"#;

/// A server with a database `shop`, a collection `or ders` and a document for each of these keys.
fn filled(args: &[&str], keys: usize) -> Sheaf {
    let sheaf = Sheaf::in_memory(args);
    fill(&sheaf, BODY, keys);
    sheaf
}

/// Creates a collection by this definition in a running server, and documents of this many keys.
fn fill(sheaf: &Sheaf, definition: &str, keys: usize) {
    let post = |path: &str, kind: &str, link: &str, body: &str| {
        let headers = signed(PUBLISHED_KEY, "POST", kind, link);
        let answer =
            ask(&mut connect(sheaf.address), &request("POST", path, &headers, body)).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
    };
    post("/dbs", "dbs", "", r#"{"id":"shop"}"#);
    post("/dbs/shop/colls", "colls", "dbs/shop", definition);
    for n in 0..keys {
        let body = format!(r#"{{"id":"{n}","who":"k{n}"}}"#);
        let link = "dbs/shop/colls/or ders";
        post("/dbs/shop/colls/or%20ders/docs", "docs", link, &body);
    }
}

fn partition(sheaf: &Sheaf, action: &str, more: &[&str]) -> Output {
    let base =
        ["partition", action, "--endpoint", sheaf.endpoint.as_str(), "-d", "shop", "-c", "or ders"];
    run(&[&base, more].concat())
}

/// Runs a command that must be done, and gives its lines.
fn done(sheaf: &Sheaf, action: &str, more: &[&str]) -> Vec<String> {
    let output = partition(sheaf, action, more);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The words of each range: id, bounds, documents, kilobytes, parents. Spaces stand for nothing.
fn listed(sheaf: &Sheaf) -> Vec<Vec<String>> {
    let lines = done(sheaf, "list", &[]);
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["id", "min", "max", "documents", "size", "(KB)", "parents"]
    );
    lines[2..].iter().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn refused(sheaf: &Sheaf, code: i32, action: &str, more: &[&str]) -> String {
    let output = partition(sheaf, action, more);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(output.stdout.is_empty() && !said.contains("panicked"), "{said}");
    said
}

#[test]
fn ranges_are_split_listed_and_merged() {
    let sheaf = filled(&[], 12);
    let [before] = &listed(&sheaf)[..] else { panic!("more than a range") };
    let [id, end, count, size] = &before[..] else { panic!("{before:?}") };
    assert_eq!((id.as_str(), end.as_str(), count.as_str()), ("0", "FF", "12"));
    let [line] = &done(&sheaf, "split", &["0"])[..] else { panic!("more than a line") };
    assert!(line.starts_with("range 0 became ranges 1 and 2; writes waited for "), "{line}");
    assert!(line.ends_with(" ms"), "{line}");
    let ranges = listed(&sheaf);
    let [left, right] = &ranges[..] else { panic!("{ranges:?}") };
    // An empty bound is no word.
    let [id, middle, documents, _, parents] = &left[..] else { panic!("{left:?}") };
    assert_eq!((id.as_str(), parents.as_str()), ("1", "0"));
    assert_eq!((right[0].as_str(), &right[1], right[2].as_str()), ("2", middle, "FF"));
    assert_eq!(documents.parse::<u32>().unwrap() + right[3].parse::<u32>().unwrap(), 12);
    let json = done(&sheaf, "list", &["--json"]);
    assert_eq!(json.len(), 4, "{json:?}");
    assert!(json[1].starts_with("  {\"id\":\"1\",\"min\":\"\",\"max\":"), "{json:?}");
    let [line] = &done(&sheaf, "merge", &["1"])[..] else { panic!("more than a line") };
    assert!(line.starts_with("ranges 1 and 2 became range 3; "), "{line}");
    assert_eq!(listed(&sheaf), [["3", "FF", "12", size, "0,1,2"].map(str::to_owned)]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let sheaf = filled(&[], 1);
    for action in ["split", "merge"] {
        let said = refused(&sheaf, 4, action, &["7"]);
        let expected = format!("sheaf: the {action} was refused (404 NotFound)\n");
        assert!(said.starts_with(&expected), "{said}");
    }
    let said = refused(&sheaf, 4, "split", &["0"]);
    assert!(said.starts_with("sheaf: the split was refused (400 BadRequest)\n"), "{said}");
    assert!(said.contains("one partition key"), "{said}");
    let said = refused(&sheaf, 4, "merge", &["0"]);
    assert!(said.contains("400 BadRequest") && said.contains("the last one"), "{said}");
    let at = sheaf.endpoint.as_str();
    let said = failure(4, &["partition", "list", "--endpoint", at, "-d", "shop", "-c", "none"]);
    assert!(said.starts_with("sheaf: the list was refused (404 NotFound)\n"), "{said}");
    let said = refused(&sheaf, 4, "split", &["0", "--key", "bm90IHRoZSBrZXk="]);
    assert!(said.contains("401") && !said.contains("bm90IHRoZSBrZXk"), "{said}");
    assert!(refused(&sheaf, 4, "split", &["../../0"]).contains("404 NotFound"));
    // The command line alone.
    assert!(refused(&sheaf, 2, "split", &[]).contains("RANGE"));
    let said = failure(2, &["partition", "list", "--endpoint", "nowhere", "-d", "s", "-c", "o"]);
    assert!(said.contains("http://host:port"), "{said}");
}

#[test]
fn a_collection_is_given_its_key() {
    for (paths, said) in [(&["/who"][..], "/who"), (&["/who", "/id"][..], "/who and /id")] {
        let sheaf = Sheaf::in_memory(&[]);
        fill(&sheaf, WITHOUT_KEY, 12);
        assert!(refused(&sheaf, 4, "key", &["who"]).contains("400 BadRequest"));
        assert!(refused(&sheaf, 2, "key", &[]).contains("PATH"));
        assert_eq!(done(&sheaf, "key", paths), [format!("the partition key is {said}")]);
        let ranges = listed(&sheaf);
        assert_eq!((ranges.len(), ranges[0][2].as_str()), (1, "12"), "{ranges:?}");
        // One key that documents differ by: now there is where to cut.
        done(&sheaf, "split", &["1"]);
        let again = refused(&sheaf, 4, "key", paths);
        assert!(again.starts_with("sheaf: the key was refused (400 BadRequest)\n"), "{again}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let sheaf = Sheaf::in_memory(&[]);
    let endpoint = sheaf.endpoint.clone();
    sheaf.stop();
    let said = failure(4, &["partition", "list", "--endpoint", &endpoint, "-d", "s", "-c", "o"]);
    assert!(said.contains("cannot reach a server at 127.0.0.1:"), "{said}");
}
