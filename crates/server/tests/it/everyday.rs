//! `sheaf db`, `sheaf coll` and `sheaf doc` against a running server.

use std::{
    fs,
    io::Write as _,
    process::{Output, Stdio},
};

use crate::process::{Sheaf, command};

/// A server, and commands that ask it.
struct Shell {
    sheaf: Sheaf,
}

impl Shell {
    fn new() -> Self {
        Self { sheaf: Sheaf::in_memory(&[]) }
    }

    /// Runs a command line, words separated by spaces; `input` is its stdin.
    fn run_with(&self, line: &str, more: &[&str], input: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = command(&[&words[..], more].concat());
        command.env("SHEAF_ENDPOINT", &self.sheaf.endpoint);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its stdin may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What a command prints that must be done, and says nothing beside.
    fn done(&self, line: &str) -> String {
        self.done_with(line, &[], "")
    }

    fn done_with(&self, line: &str, more: &[&str], input: &str) -> String {
        let output = self.run_with(line, more, input);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{line}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that must fail with this exit code.
    fn failed(&self, code: i32, line: &str) -> String {
        self.failed_with(code, line, &[], "")
    }

    fn failed_with(&self, code: i32, line: &str, more: &[&str], input: &str) -> String {
        let output = self.run_with(line, more, input);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(output.stdout.is_empty() && !said.contains("panicked"), "{line}: {said}");
        said
    }
}

#[test]
fn databases_are_created_listed_and_deleted() {
    let shell = Shell::new();
    assert_eq!(shell.done("db list"), "no databases\n");
    assert_eq!(shell.done("db list --json"), "[]\n");
    assert_eq!(shell.done("db create shop"), "the database `shop` is created\n");
    let json = shell.done("db create fast --throughput 500 --json");
    assert!(json.starts_with(r#"{"id":"fast""#) && json.ends_with("}\n"), "{json}");
    shell.done("db create wide --autoscale 4000");
    let list = shell.done("db list");
    let lines: Vec<Vec<&str>> =
        list.lines().skip(2).map(|line| line.split("  ").map(str::trim).collect()).collect();
    assert_eq!(
        lines,
        [["shop", "none"], ["fast", "500 RU/s"], ["wide", "autoscale 4000 RU/s"]],
        "{list}"
    );
    assert_eq!(shell.done("db list --json").lines().count(), 5);

    let said = shell.failed(4, "db create shop");
    let expected = "sheaf: the creation of the database `shop` was refused (409 Conflict)\n";
    assert!(said.starts_with(expected), "{said}");
    let there = shell.done("db create shop --if-not-exists");
    assert_eq!(there, "the database `shop` already exists\n");

    // Nobody is there to ask.
    let said = shell.failed(2, "db delete shop");
    assert!(said.contains("`shop`") && said.contains("--yes"), "{said}");
    assert_eq!(shell.done("db delete shop --yes"), "the database `shop` is deleted\n");
    let said = shell.failed(4, "db delete shop -y");
    assert!(
        said.contains("there is no database `shop`: the server has `fast` and `wide`"),
        "{said}"
    );
    let json = shell.done("db delete shop --yes --if-exists --json");
    assert_eq!(json, "{\"id\":\"shop\",\"deleted\":false}\n");
    shell.failed(2, "db create");
    // Nothing is no name: it would be the path of all of them.
    for line in ["db delete --yes", "coll show -d shop", "doc get -d shop -c c -k 1"] {
        assert!(shell.failed_with(2, line, &[""], "").contains("<ID>"));
    }
    shell.failed(2, "db create x --throughput 400 --autoscale 4000");
    assert!(shell.failed(4, "db create x --throughput 7").contains("400 BadRequest"));
}

#[test]
fn collections_are_created_shown_and_deleted() {
    let shell = Shell::new();
    let scratch = tempfile::tempdir().unwrap();
    let policy = scratch.path().join("policy.json");
    fs::write(
        &policy,
        r#"{"includedPaths":[{"path":"/total/?"}],"excludedPaths":[{"path":"/*"}]}"#,
    )
    .unwrap();
    let said = shell.failed(4, "coll list -d shop");
    assert!(said.contains("there is no database `shop`: the server has none"), "{said}");
    shell.done("db create shop");
    assert_eq!(shell.done("coll list -d shop"), "no collections\n");

    let line = "coll create orders -d shop --partition-key /customer --autoscale 4000 --ttl 30d \
                --unique /number --unique /a,/b --indexing-policy";
    let created = shell.done_with(line, &[policy.to_str().unwrap()], "");
    assert_eq!(created, "the collection `orders` is created, partitioned by /customer\n");
    let shown = shell.done("coll show orders -d shop");
    for (name, expected) in [
        ("collection", "orders"),
        ("database", "shop"),
        ("partition key", "/customer"),
        ("throughput", "autoscale 4000 RU/s"),
        ("ttl", "2592000 s"),
        ("unique keys", "/number; /a, /b"),
        ("partitions", "1"),
        ("documents", "0"),
    ] {
        assert!(shown.contains(&format!("{name:13}  {expected}\n")), "{name} in {shown}");
    }
    assert!(shown.contains("/total/?") && shown.contains(" without /*"), "{shown}");

    let line = "coll create events -d shop -k /tenant,/user,/session --throughput 400 --json";
    let json = shell.done(line);
    assert!(
        json.contains(r#""paths":["/tenant","/user","/session"],"kind":"MultiHash""#),
        "{json}"
    );
    let shown = shell.done("coll show events -d shop --json");
    assert!(shown.starts_with(r#"{"id":"events""#), "{shown}");
    let list = shell.done("coll list -d shop");
    assert!(list.contains("/tenant, /user, /session  400 RU/s"), "{list}");
    assert_eq!(shell.done("coll list -d shop --json").lines().count(), 4);

    let line = "coll create orders -d shop --partition-key /other --if-not-exists";
    let output = shell.run_with(line, &[], "");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("its partition key is /customer, not /other"), "{said}");

    shell.failed(2, "coll delete orders -d shop");
    assert_eq!(
        shell.done("coll delete orders -d shop --yes"),
        "the collection `orders` is deleted\n"
    );
    let said = shell.failed(4, "coll show orders -d shop");
    let expected = "there is no collection `orders` in the database `shop`, which has `events`";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn mistakes_in_definitions_are_named() {
    let shell = Shell::new();
    shell.done("db create shop");
    for (more, expected) in [
        ("", "--partition-key"),
        (" -k customer", "write /customer"),
        (" -k /a,/b,/c,/d", "at most 3 are allowed"),
        (" -k /a --ttl soon", "12h"),
        (" -k /a --unique x", "write /x"),
        (" -k /a --indexing-policy /nowhere/p", "/nowhere/p"),
    ] {
        let said = shell.failed(2, &format!("coll create c -d shop{more}"));
        assert!(said.contains(expected), "{more}: {said}");
    }
    let line = "coll create c -d shop -k /a --indexing-policy -";
    let said = shell.failed_with(2, line, &[], "{");
    assert!(said.contains("the indexing policy is not JSON"), "{said}");
    let said = shell.failed_with(4, line, &[], r#"{"indexingMode":"sometimes"}"#);
    assert!(said.contains("400 BadRequest"), "{said}");
}

#[test]
fn documents_are_put_got_and_deleted() {
    let shell = Shell::new();
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("order.json");
    // Numbers keep their text, and a byte order mark is none of the document.
    fs::write(&file, "\u{feff}{\"id\":\"a/1\", \"customer\":\"ad\u{e9}\",\n \"total\":12.50}")
        .unwrap();
    shell.done("db create shop");
    shell.done("coll create orders -d shop --partition-key /customer");
    let at = ["-d", "shop", "-c", "orders"];
    let put = |input: &str, more: &[&str]| shell.done_with("doc put", &[&at, more].concat(), input);
    let of_file = shell.done_with("doc put", &[&[file.to_str().unwrap()], &at[..]].concat(), "");
    assert!(of_file.starts_with("the document `a/1` is created; "), "{of_file}");
    assert!(of_file.ends_with(" RU\n"), "{of_file}");
    let again = put("{\"id\":\"a/1\",\"customer\":\"ad\u{e9}\",\"total\":13.50}", &[]);
    assert!(again.starts_with("the document `a/1` is replaced; "), "{again}");
    let json = put(r#"{"id":"2","customer":"bob"}"#, &["--json", "-k", "\"bob\""]);
    assert!(json.starts_with(r#"{"id":"2","customer":"bob","#) && json.ends_with("}\n"), "{json}");

    let key = ["--partition-key", "\"ad\u{e9}\""];
    let got = shell.done_with("doc get a/1", &[&at[..], &key].concat(), "");
    assert!(got.starts_with("{\n  \"id\": \"a/1\",\n"), "{got}");
    assert!(got.contains("\n  \"total\": 13.50,\n"), "{got}");
    let got = shell.done_with("doc get a/1 --json", &[&at[..], &key].concat(), "");
    assert!(got.starts_with("{\"id\":\"a/1\",\"customer\":\"ad\u{e9}\",\"total\":13.50,"), "{got}");

    let said = shell.failed_with(2, "doc get a/1", &at, "");
    assert!(said.contains("/customer") && said.contains("--partition-key"), "{said}");
    let said = shell.failed_with(4, "doc get 7", &[&at[..], &key].concat(), "");
    let expected = "sheaf: the document `7` was refused (404 NotFound)\n  there is no document `7` \
                    with the partition key [\"ad\\u00e9\"]\n";
    assert_eq!(said, expected);
    let said = shell.failed_with(4, "doc get 7 -d shop -c carts -k 1", &[], "");
    let expected = "there is no collection `carts` in the database `shop`, which has `orders`";
    assert!(said.contains(expected), "{said}");

    let deleted = shell.done_with("doc delete a/1", &[&at[..], &key].concat(), "");
    assert_eq!(deleted, "the document `a/1` is deleted\n");
    shell.failed_with(4, "doc delete a/1", &[&at[..], &key].concat(), "");
    let json = shell.done_with("doc delete a/1 --if-exists --json", &[&at[..], &key].concat(), "");
    assert_eq!(json, "{\"id\":\"a/1\",\"deleted\":false}\n");
}

#[test]
fn keys_are_found_in_documents() {
    let shell = Shell::new();
    shell.done("db create shop");
    shell.done("coll create people -d shop -k /id");
    shell.done("coll create events -d shop -k /tenant,/user");
    let put = |collection: &str, body: &str| {
        shell.done_with("doc put -d shop -c", &[collection], body);
    };
    put("people", r#"{"id":"ada"}"#);
    assert!(shell.done("doc get ada -d shop -c people").contains("\"ada\""));
    assert_eq!(shell.done("doc delete ada -d shop -c people"), "the document `ada` is deleted\n");
    put("events", r#"{"id":"1","tenant":"t","user":7}"#);
    put("events", r#"{"id":"2","tenant":"t"}"#);
    let get = |id: &str, key: &str| {
        shell.done_with("doc get --json -d shop -c events", &[id, "-k", key], "")
    };
    assert!(get("1", "[\"t\",7]").contains("\"user\":7"));
    assert!(get("2", "[\"t\",{}]").starts_with(r#"{"id":"2""#));
    for (body, expected) in
        [("[]", "not a JSON object"), ("{", "not JSON"), (r#"{"id":"1","tenant":{}}"#, "/tenant")]
    {
        let said = shell.failed_with(2, "doc put -d shop -c events", &[], body);
        assert!(said.contains(expected), "{said}");
    }
    let said = shell.failed_with(4, "doc put -d shop -c events", &[], r#"{"tenant":"t"}"#);
    assert!(said.contains("400 BadRequest"), "{said}");
    let said = shell.failed(2, "doc put /nowhere/d.json -d shop -c events");
    assert!(said.contains("/nowhere/d.json"), "{said}");
}
