//! What must be documented, and how doc comments must not begin.

use crate::source::{crates, files, is_rust, names, read, root, sources};

/// A doc comment stands alone, on hover as in rustdoc: it cannot begin by pointing at another.
const BACK_REFERENCES: [&str; 3] = ["The same", "Does it", "That "];

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read(&root().join("Cargo.toml"));
    let reasons = read(&root().join("docs/dependencies.md"));
    for dependency in names(&manifest, "[workspace.dependencies]") {
        let is_known = crates().contains(&dependency) || reasons.contains(&dependency);
        assert!(is_known, "docs/dependencies.md does not say why we need {dependency}");
    }
}

#[test]
fn modules_say_what_they_are() {
    for name in crates() {
        for path in files(&root().join("crates").join(name).join("src")) {
            let needs_header = is_rust(&path) && !path.ends_with("tests.rs");
            let has_header = !needs_header || read(&path).starts_with("//!");
            assert!(has_header, "{} does not begin with //!", path.display());
        }
    }
}

#[test]
fn doc_comments_stand_alone() {
    for name in crates() {
        let found: Vec<String> = sources(&name)
            .iter()
            .flat_map(|path| {
                let at = path.display().to_string();
                back_references(&read(path)).into_iter().map(move |line| format!("{at}:{line}"))
            })
            .collect();
        assert!(found.is_empty(), "doc comments that point at another:\n{}", found.join("\n"));
    }
}

#[test]
fn back_references_are_found() {
    let text =
        "/// The same, for keys.\n/// That is all.\nfn f() {}\n    /// Thatched.\n//! Does it.";
    assert_eq!(back_references(text), [1, 5]);
}

/// The lines on which a doc comment begins that points at another.
fn back_references(text: &str) -> Vec<usize> {
    let doc = |line: &str| -> Option<String> {
        let line = line.trim_start();
        let words = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        Some(words.trim_start().to_owned())
    };
    let mut found = Vec::new();
    let mut kind_before = "";
    for (at, line) in text.lines().enumerate() {
        let kind = line.trim_start().get(..3).unwrap_or_default();
        let begins = kind != kind_before;
        kind_before = kind;
        let Some(words) = doc(line).filter(|_| begins) else { continue };
        if BACK_REFERENCES.iter().any(|back| words.starts_with(back)) {
            found.push(at + 1);
        }
    }
    found
}
