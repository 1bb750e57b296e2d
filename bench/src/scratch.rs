//! Directories for what is measured, which do not outlive the driver.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// What the names of all of them begin with; the driver's process follows.
const PREFIX: &str = "sheaf-bench-";

/// A directory below the system's temporary one, removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        Self::named("data")
    }

    /// Removes what drivers have left behind that were killed.
    pub(crate) fn sweep() {
        for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process =
                name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
            let process = process.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
            if process
                .is_some_and(|id| matches!(Path::new("/proc").join(id).try_exists(), Ok(false)))
            {
                // Somebody else's, or in use: then it stays.
                std::fs::remove_dir_all(entry.path()).ok();
            }
        }
    }

    /// Several may be there at a time, under different names.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("{PREFIX}{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a leftover but to leave it.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
