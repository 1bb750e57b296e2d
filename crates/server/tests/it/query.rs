//! `sheaf query` against a running server.

use std::{fmt::Write as _, fs, process::Output};

use crate::{
    client::{PUBLISHED_KEY, ask, connect, request, signed},
    process::{Sheaf, failure, run},
};

/// A server with a database `shop`, a collection `or ders` and these documents.
pub(crate) fn filled(args: &[&str], documents: usize) -> Sheaf {
    let sheaf = Sheaf::start(args);
    let post = |path: &str, kind: &str, link: &str, more: &str, body: &str| {
        let headers = format!("{}{more}", signed(PUBLISHED_KEY, "POST", kind, link));
        let answer =
            ask(&mut connect(sheaf.address), &request("POST", path, &headers, body)).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
    };
    post("/dbs", "dbs", "", "", r#"{"id":"shop"}"#);
    let body = r#"{"id":"or ders","partitionKey":{"paths":["/who"],"kind":"Hash","version":2}}"#;
    post("/dbs/shop/colls", "colls", "dbs/shop", "", body);
    for n in 0..documents {
        let many = vec!["0"; documents].join(",");
        let body = format!(r#"{{"id":"{n}","who":"é{}","total":{n}.5,"many":[{many}]}}"#, n % 2);
        let key = format!("x-ms-documentdb-partitionkey: [\"\\u00e9{}\"]\r\n", n % 2);
        let link = "dbs/shop/colls/or ders";
        post("/dbs/shop/colls/or%20ders/docs", "docs", link, &key, &body);
    }
    sheaf
}

fn query(endpoint: &str, more: &[&str]) -> Output {
    let base = ["query", "--endpoint", endpoint, "-d", "shop", "-c", "or ders"];
    run(&[&base, more].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a query that must be answered: its rows and what was said beside them.
fn answered(endpoint: &str, more: &[&str]) -> (String, String) {
    let output = query(endpoint, more);
    let (rows, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    (rows, said)
}

fn refused(endpoint: &str, code: i32, more: &[&str]) -> String {
    let output = query(endpoint, more);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(output.stdout.is_empty() && !said.contains("panicked"), "{said}");
    said
}

#[test]
fn rows_are_printed() {
    let sheaf = filled(&["--in-memory"], 3);
    let at = sheaf.endpoint.as_str();
    let sql = "SELECT c.id, c.total FROM c ORDER BY c.total";
    let (rows, said) = answered(at, &[sql]);
    assert_eq!(rows, "id  total\n--  -----\n0     0.5\n1     1.5\n2     2.5\n");
    assert!(said.starts_with("3 rows; 1 page, ") && said.ends_with(" RU\n"), "{said}");
    let (rows, _) = answered(at, &[sql, "--format", "json"]);
    let expected = "[\n  {\"id\":\"0\",\"total\":0.5},\n  {\"id\":\"1\",\"total\":1.5},\n  \
                    {\"id\":\"2\",\"total\":2.5}\n]\n";
    assert_eq!(rows, expected);
    assert_eq!(answered(at, &[sql, "--json"]).0, expected);
    let sql = "SELECT VALUE c.id FROM c WHERE c.total > @least AND c.who = @who";
    let given = [sql, "--format", "lines", "--param", "@least=1", "--param", "@who=\"é0\""];
    assert_eq!(answered(at, &given).0, "\"2\"\n");
    let keyed = ["SELECT VALUE c.id FROM c", "--format", "lines", "--partition-key", "\"é1\""];
    assert_eq!(answered(at, &keyed).0, "\"1\"\n");
}

#[test]
fn all_pages_are_fetched_unless_told() {
    let sheaf = filled(&["--in-memory"], 30);
    let at = sheaf.endpoint.as_str();
    // Long rows, so that they take several pages.
    let sql = "SELECT VALUE CONCAT(REPLICATE('x', 9999), c.id) FROM c JOIN n IN c.many";
    let (rows, said) = answered(at, &[sql, "--format", "lines"]);
    assert_eq!(rows.lines().count(), 900, "{said}");
    assert!(said.starts_with("900 rows; 3 pages, "), "{said}");
    let sql = "SELECT VALUE c.id FROM c";
    let (rows, said) = answered(at, &[sql, "--max-items", "7", "--format", "lines"]);
    assert_eq!(rows.lines().count(), 7);
    assert!(said.starts_with("7 rows, and there are more; 1 page, "), "{said}");
    assert_eq!(answered(at, &[sql, "--max-items", "0", "--format", "json"]).0, "[]\n");
}

#[test]
fn how_a_query_was_run_is_explained() {
    let sheaf = filled(&["--in-memory"], 10);
    let sql = "SELECT c.id FROM c WHERE c.total > 7";
    let (rows, said) = answered(&sheaf.endpoint, &[sql, "--explain"]);
    assert_eq!(rows.lines().count(), 5, "{rows}");
    for part in [
        "partition 0 (10 documents): a list from the index, 3 candidates\n  /total > 7\n",
        "checked on each document: (c.total > 7)\n",
        " 3 documents of ",
        "3 rows; 1 page, ",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn refusals_point_at_their_place() {
    let sheaf = filled(&["--in-memory"], 0);
    let at = sheaf.endpoint.as_str();
    let said = refused(at, 4, &["SELECT *\nFROM c WHERE BADFUNC(c.a)"]);
    let mut expected = "sheaf: the query was refused (400 BadRequest)\n".to_owned();
    write!(expected, "  FROM c WHERE BADFUNC(c.a)\n               ^^^^^^^").unwrap();
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.contains("SC2005: 'BADFUNC' is not a recognized built-in function"), "{said}");
    let nowhere = ["query", "--endpoint", at, "-d", "shop", "-c", "nowhere", "SELECT 1"];
    let said = failure(4, &nowhere);
    assert!(said.contains("404 NotFound"), "{said}");
    let expected = "there is no collection `nowhere` in the database `shop`, which has `or ders`";
    assert!(said.contains(expected), "{said}");
    let said = refused(at, 4, &["SELECT 1", "--key", "bm90IHRoZSBrZXk="]);
    assert!(said.contains("401") && !said.contains("bm90IHRoZSBrZXk"), "{said}");
    assert!(refused(at, 2, &["SELECT 1", "--param", "x=1"]).contains("@name=JSON"));
    assert!(refused("nowhere", 2, &["SELECT 1"]).contains("http://host:port"));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let sheaf = Sheaf::in_memory(&[]);
    let endpoint = sheaf.endpoint.clone();
    sheaf.stop();
    let said = refused(&endpoint, 4, &["SELECT 1"]);
    assert!(said.contains("cannot reach a server at 127.0.0.1:"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_certificate_is_trusted_by_its_directory() {
    let scratch = tempfile::tempdir().unwrap();
    let (data, other) = (scratch.path().join("data"), scratch.path().join("other"));
    let data = data.to_str().unwrap();
    let sheaf = filled(&["--data-dir", data, "--tls", "optional"], 1);
    let secure = sheaf.endpoint.replace("http:", "https:");
    let rows = ["SELECT VALUE c.id FROM c", "--format", "lines"];
    let trusted = [&rows[..], &["--data-dir", data]].concat();
    assert_eq!(answered(&secure, &trusted).0, "\"0\"\n");
    assert_eq!(answered(&secure, &[&rows[..], &["--insecure"]].concat()).0, "\"0\"\n");
    let other = other.to_str().unwrap();
    Sheaf::start(&["--data-dir", other]).stop();
    let said = refused(&secure, 4, &[&rows[..], &["--data-dir", other]].concat());
    assert!(said.contains("secure connection"), "{said}");
    fs::remove_dir_all(other).unwrap();
    let said = refused(&secure, 2, &[&rows[..], &["--data-dir", other]].concat());
    assert!(said.contains("--data-dir") && said.contains("--insecure"), "{said}");
}
