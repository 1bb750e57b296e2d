//! `sheaf top` against a running server, and the page behind it.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::{
    client::get,
    process::{Sheaf, command, failure, run},
    query::filled,
};

fn answered(args: &[&str]) -> String {
    let output = run(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn partitions_are_told() {
    let sheaf = filled(&["--in-memory"], 4);
    let page = get(sheaf.address, "/_sheaf/partitions");
    assert_eq!(page.status, 200);
    for part in [
        r#"{"partitions":[{"database":"shop","collection":"or ders","range":"0","documents":4,"#,
        r#""lsn":5,"#,
        r#""hottestKeys":[{"partitionKey":["é"#,
        r#""requestUnitsPerSecond":"#,
    ] {
        assert!(page.body.contains(part), "{part} in {}", page.body);
    }
    let metrics = get(sheaf.address, "/_sheaf/metrics").body;
    let name =
        "sheaf_partition_hottest_key_units{database=\"shop\",collection=\"or ders\",range=\"0\"} ";
    let figure = metrics.lines().find_map(|line| line.strip_prefix(name)).expect(&metrics);
    assert!(figure.parse::<f64>().unwrap() > 0.0, "{figure}");
}

#[test]
fn one_table_is_printed() {
    let sheaf = filled(&["--in-memory"], 4);
    let table = answered(&["top", "--once", "--endpoint", &sheaf.endpoint]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[0].starts_with("DATABASE  COLLECTION  RANGE  DOCUMENTS"), "{table}");
    assert!(lines[1].starts_with("shop      or ders     0              4  "), "{table}");
    assert!(lines[1].contains("[\"é0\"] ") && lines[1].contains("[\"é1\"] "), "{table}");
    assert!(!table.contains('\x1b'), "a table for scripts has no colours");
    let json = answered(&["top", "--json", "--endpoint", &sheaf.endpoint]);
    assert!(json.starts_with(r#"{"partitions":[{"database":"shop""#), "{json}");
    assert!(json.ends_with("}\n"), "{json}");
}

#[test]
fn the_view_is_drawn_again_and_again() {
    let sheaf = filled(&["--in-memory"], 1);
    let mut top = command(&["top", "--endpoint", &sheaf.endpoint]);
    let mut top = top.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let title = lines.next().unwrap().unwrap();
        assert!(title.starts_with("\x1b[H\x1b[2JDATABASE"), "{title:?}");
        assert!(lines.next().unwrap().unwrap().starts_with("shop "));
    }
    // It ends by itself once nobody reads.
    drop(lines);
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

#[test]
fn who_may_not_look_is_told_why() {
    let sheaf = Sheaf::in_memory(&["--metrics", "off"]);
    for mode in [&["--once"][..], &["--json"], &[]] {
        let args = [&["top", "--endpoint", &sheaf.endpoint], mode].concat();
        let said = failure(4, &args);
        assert!(said.contains("`metrics`"), "{said}");
    }
    let endpoint = sheaf.endpoint.clone();
    sheaf.stop();
    let said = failure(4, &["top", "--once", "--endpoint", &endpoint]);
    assert!(said.contains("cannot reach a server"), "{said}");
    failure(2, &["top", "--once", "--endpoint", "nonsense"]);
}
