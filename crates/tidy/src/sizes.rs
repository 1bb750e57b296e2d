//! How large files and crates may grow.

use std::fs;

use crate::source::{crates, files, is_rust, read, root, sources, without_tests};

/// Lines of code and comments in one file, tests included. Only to be lowered.
const FILE_LINES_MAX: usize = 500;

/// Bytes of any file in the repository.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Lines of code in one crate, without blank lines, comments and tests.
const CRATE_LINES_MAX: usize = 12_000;

#[test]
fn files_stay_readable() {
    let root = root();
    let folders = ["crates", "tests", "bench"].map(|name| root.join(name));
    for path in folders.iter().flat_map(|folder| files(folder)) {
        let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        assert!(bytes <= FILE_BYTES_MAX, "{} has {bytes} bytes", path.display());
        if is_rust(&path) && path.starts_with(root.join("crates")) {
            let lines = read(&path).lines().count();
            assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn crates_stay_small() {
    for name in crates() {
        let lines: usize = sources(&name).iter().map(|path| lines_of_code(&read(path))).sum();
        assert!(
            lines <= CRATE_LINES_MAX,
            "`{name}` has {lines} lines of code, {CRATE_LINES_MAX} are allowed: split it"
        );
    }
}

#[test]
fn only_code_counts() {
    let text = "//! A file.\n\nfn f() {\n    // Why.\n}\n\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(lines_of_code(text), 2);
}

fn lines_of_code(text: &str) -> usize {
    let lines = without_tests(text).lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}
