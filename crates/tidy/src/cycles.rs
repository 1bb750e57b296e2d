//! Modules at the top of a crate must not use each other in a cycle: a reader of one would have to read
//! all of them. No new cycle may appear, and those that are left may only shrink.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{crates, read, root, sources, without_tests};

/// Crates that have a cycle, and how many modules the largest one has. Only to be lowered.
const LARGEST: [(&str, usize); 0] = [];

/// The top modules of a crate, and which others each of them names.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_use_each_other_in_no_cycle() {
    for name in crates() {
        let cycle = largest_cycle(&graph(&name));
        let allowed = LARGEST.iter().find(|(with, _)| *with == name).map_or(0, |(_, size)| *size);
        assert!(cycle.len() <= allowed, "modules of `{name}` need each other: {cycle:?}");
        assert!(cycle.len() == allowed, "`{name}` may have {} in LARGEST now", cycle.len());
    }
}

#[test]
fn cycles_are_found() {
    let text = "use crate::{a::X, b::{self, Y}}; // crate::c\nfn f() { crate::d::g() }";
    assert_eq!(named(text), ["a", "b", "d"].map(str::to_owned).into());
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d")];
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(largest_cycle(&graph), ["a", "b", "c"].map(str::to_owned).into());
    graph.remove("c");
    assert_eq!(largest_cycle(&graph), ["d", "e"].map(str::to_owned).into());
    graph.remove("e");
    assert!(largest_cycle(&graph).is_empty());
}

/// Reads all files of a crate, tests aside.
fn graph(name: &str) -> Graph {
    let mut graph = Graph::new();
    let source = root().join("crates").join(name).join("src");
    for path in sources(name) {
        let below = path.strip_prefix(&source).expect("a file of the crate");
        let first = below.iter().next().unwrap_or_default().to_string_lossy();
        let module = first.trim_end_matches(".rs");
        if !["lib", "main", "bin"].contains(&module) {
            let text = read(&path);
            let mut others = named(without_tests(&text));
            others.remove(module);
            graph.entry(module.to_owned()).or_default().extend(others);
        }
    }
    graph
}

/// What a text names directly below `crate::`, comments aside.
fn named(text: &str) -> BTreeSet<String> {
    let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let code: Vec<String> = text.lines().map(without_comment).collect();
    let code = code.join("\n");
    let mut names = BTreeSet::new();
    for (at, prefix) in code.match_indices("crate::") {
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            None => names.extend(word(rest)),
            Some(list) => {
                let (mut depth, mut is_first) = (0, true);
                for (place, character) in list.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => is_first = true,
                        _ if character.is_whitespace() => {}
                        _ if is_first && depth == 0 => {
                            names.extend(word(&list[place..]));
                            is_first = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    names
}

/// The module that a path begins with; `None` if it begins with a type.
fn word(path: &str) -> Option<String> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let word = path.split(|character| !is_part(character)).next().unwrap_or_default();
    word.starts_with(|first: char| first.is_lowercase()).then(|| word.to_owned())
}

/// The largest set of modules that all reach each other; empty if none reaches itself.
fn largest_cycle(graph: &Graph) -> BTreeSet<String> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|from| (from, reach(graph, from))).collect();
    let cycle = |from: &String| -> BTreeSet<String> {
        let back = |to: &&&String| reached.get(**to).is_some_and(|there| there.contains(from));
        reached[from].iter().filter(back).map(|to| (*to).clone()).collect()
    };
    graph.keys().map(cycle).max_by_key(BTreeSet::len).unwrap_or_default()
}

/// What a module needs, directly or by others.
fn reach<'a>(graph: &'a Graph, from: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&String> = graph.get(from).into_iter().flatten().collect();
    while let Some(module) = pending.pop() {
        if graph.contains_key(module) && reached.insert(module) {
            pending.extend(&graph[module]);
        }
    }
    reached
}
