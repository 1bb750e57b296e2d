//! Rules that no linter knows, as tests: which crate may know which, what must be written down, how
//! large a file may grow, which modules may need each other.

#[cfg(test)]
mod cycles;
#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    /// Each crate and the crates of ours that it may name. Tests may name any store.
    const ARROWS: [(&str, &[&str]); 13] = [
        ("value", &[]),
        ("protocol", &["value"]),
        ("sql", &["value"]),
        ("index", &["value"]),
        ("script", &["value", "protocol"]),
        ("store", &[]),
        ("store-lsm", &["store"]),
        ("engine", &["value", "protocol", "script", "store", "index", "sql"]),
        ("gateway", &["value", "protocol"]),
        ("net", &[]),
        ("tools", &["value", "gateway"]),
        (
            "server",
            &[
                "value",
                "protocol",
                "script",
                "store",
                "store-lsm",
                "engine",
                "gateway",
                "net",
                "tools",
            ],
        ),
        ("tidy", &[]),
    ];

    /// Lines of code and comments in one file, tests included. Only to be lowered.
    const FILE_LINES_MAX: usize = 500;

    /// Bytes of any file in the repository.
    const FILE_BYTES_MAX: u64 = 1 << 20;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names in one section of a manifest.
    fn names(manifest: &str, section: &str) -> Vec<String> {
        let lines = manifest.lines().skip_while(|line| line.trim() != section).skip(1);
        lines
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split(['.', '=', ' ']).next())
            .filter(|name| !name.is_empty() && !name.starts_with('#'))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn arrows_point_down_only() {
        let ours: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
        for (name, allowed) in ARROWS {
            let manifest = read(&root().join("crates").join(name).join("Cargo.toml"));
            for dependency in names(&manifest, "[dependencies]") {
                let is_allowed =
                    !ours.contains(&dependency.as_str()) || allowed.contains(&dependency.as_str());
                assert!(is_allowed, "{name} may not know {dependency}");
            }
        }
        let crates = fs::read_dir(root().join("crates")).expect("the crates").count();
        assert_eq!(crates, ARROWS.len(), "a crate has no line in ARROWS");
    }

    #[test]
    fn every_dependency_has_its_reason() {
        let manifest = read(&root().join("Cargo.toml"));
        let reasons = read(&root().join("docs/dependencies.md"));
        let ours: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
        for dependency in names(&manifest, "[workspace.dependencies]") {
            let is_known = ours.contains(&dependency.as_str()) || reasons.contains(&dependency);
            assert!(is_known, "docs/dependencies.md does not say why we need {dependency}");
        }
    }

    #[test]
    fn files_stay_readable() {
        let mut folders = vec![root().join("crates"), root().join("tests"), root().join("bench")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                if path.is_dir() {
                    if !["target", "node_modules", ".venv", "testdata", "__pycache__"]
                        .contains(&&*name)
                    {
                        folders.push(path);
                    }
                    continue;
                }
                let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                assert!(bytes <= FILE_BYTES_MAX, "{} has {bytes} bytes", path.display());
                let is_rust = path.extension().is_some_and(|extension| extension == "rs");
                if is_rust && path.starts_with(root().join("crates")) {
                    let lines = read(&path).lines().count();
                    assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
                }
            }
        }
    }

    #[test]
    fn modules_say_what_they_are() {
        for (name, _) in ARROWS {
            let mut folders = vec![root().join("crates").join(name).join("src")];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        folders.push(path);
                    } else if path.extension().is_some_and(|extension| extension == "rs")
                        && !path.ends_with("tests.rs")
                    {
                        let begins = read(&path).starts_with("//!");
                        assert!(begins, "{} does not begin with //!", path.display());
                    }
                }
            }
        }
    }
}
