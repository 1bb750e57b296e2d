//! Reads the repository: its files, its crates, and the code in a file.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders without anything that we wrote.
const FOREIGN: [&str; 5] = ["target", "node_modules", ".venv", "testdata", "__pycache__"];

/// The top folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of our crates.
pub(crate) fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("the crates").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// All files below a folder that we wrote, in a fixed order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if !path.is_dir() {
                files.push(path);
            } else if !FOREIGN.iter().any(|foreign| name == *foreign) {
                pending.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The Rust files below `src` of a crate, test files left out.
pub(crate) fn sources(name: &str) -> Vec<PathBuf> {
    let is_test = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
    let source = root().join("crates").join(name).join("src");
    let below =
        |path: &PathBuf| path.strip_prefix(&source).expect("a file of the crate").to_owned();
    let mut files = files(&source);
    files.retain(|path| is_rust(path) && !is_test(&below(path)));
    files
}

/// Whether a file is Rust.
pub(crate) fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// A file's text without its tests, which stand at its end.
pub(crate) fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

/// The names in one section of a manifest.
pub(crate) fn names(manifest: &str, section: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != section).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// What a crate depends on, tests aside.
pub(crate) fn dependencies(name: &str) -> Vec<String> {
    let manifest = read(&root().join("crates").join(name).join("Cargo.toml"));
    names(&manifest, "[dependencies]")
}
