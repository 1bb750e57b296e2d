//! The picture of the crates in ARCHITECTURE.md, drawn from their manifests.
//!
//! `SHEAF_TIDY_WRITE=1 cargo test -p tidy` draws it again.

use std::{collections::BTreeMap, fs};

use crate::source::{crates, dependencies, read, root};

/// The picture stands in the first block of code behind this heading.
const HEADING: &str = "## 2. Bird's-eye view";
const FENCE: &str = "```\n";

/// Each crate, and the crates of ours that it uses.
type Graph = BTreeMap<String, Vec<String>>;

#[test]
fn the_picture_is_true() {
    let path = root().join("ARCHITECTURE.md");
    let text = read(&path);
    let picture = picture();
    let (before, behind) = text.split_once(HEADING).expect("the heading of the picture");
    let (opening, behind) = behind.split_once(FENCE).expect("a block of code");
    let (drawn, behind) = behind.split_once(FENCE).expect("the end of the block");
    if drawn == picture {
        return;
    }
    let is_asked = std::env::var_os("SHEAF_TIDY_WRITE").is_some();
    assert!(
        is_asked,
        "the crates in ARCHITECTURE.md have changed: run `SHEAF_TIDY_WRITE=1 cargo test -p tidy`\n{picture}"
    );
    let text = format!("{before}{HEADING}{opening}{FENCE}{picture}{FENCE}{behind}");
    fs::write(&path, text).expect("ARCHITECTURE.md");
}

#[test]
fn indirect_arrows_are_left_out() {
    let edges = [("a", vec!["b", "c"]), ("b", vec!["c"]), ("c", vec![])];
    let graph: Graph = edges
        .map(|(from, to)| (from.to_owned(), to.into_iter().map(str::to_owned).collect()))
        .into();
    assert_eq!(direct(&graph, "a"), ["b"]);
    assert_eq!([height(&graph, "a"), height(&graph, "c")], [2, 0]);
}

/// One line for each crate, the highest first: its name, what it uses, what it is.
fn picture() -> String {
    let names = crates();
    let ours = |name: &String| -> Vec<String> {
        dependencies(name).into_iter().filter(|other| names.contains(other)).collect()
    };
    let graph: Graph = names.iter().map(|name| (name.clone(), ours(name))).collect();
    let mut rows: Vec<&String> = names.iter().filter(|name| *name != "tidy").collect();
    rows.sort_by_key(|name| (usize::MAX - height(&graph, name), (*name).clone()));
    let uses: Vec<String> = rows.iter().map(|name| direct(&graph, name).join(", ")).collect();
    let name_width = rows.iter().map(|name| name.len()).max().unwrap_or_default();
    let uses_width = uses.iter().map(String::len).max().unwrap_or_default();
    let lines = rows.iter().zip(&uses).map(|(name, uses)| {
        let arrow = if uses.is_empty() { "  " } else { "->" };
        let line = format!("{name:name_width$} {arrow} {uses:uses_width$}  {}", purpose(name));
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

/// The first sentence of a crate's own description, which fits on one line.
fn purpose(name: &str) -> String {
    let source = root().join("crates").join(name).join("src");
    let files = ["lib.rs", "main.rs"].map(|file| source.join(file));
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("//!").trim();
    first.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// What a crate uses, without what it already gets through another crate that it uses.
fn direct(graph: &Graph, name: &str) -> Vec<String> {
    let uses = &graph[name];
    let is_indirect =
        |one: &String| uses.iter().any(|other| other != one && reaches(graph, other, one));
    let mut direct: Vec<String> = uses.iter().filter(|one| !is_indirect(one)).cloned().collect();
    direct.sort();
    direct
}

fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
    graph[from].iter().any(|next| next == to || reaches(graph, next, to))
}

/// How many crates stand below one at most.
fn height(graph: &Graph, name: &str) -> usize {
    graph[name].iter().map(|below| height(graph, below) + 1).max().unwrap_or_default()
}
