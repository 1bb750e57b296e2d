//! The number of connections that the operating system allows.
//!
//! Sockets and the store's files share one limit of file descriptors. A store that cannot open a
//! file must stop writes, so connections must never use up the last descriptors.

use std::fs;

/// Descriptors reserved for other uses: tables, journals and directories of the store (which keeps
/// up to 256 tables open, and opens more while it merges them), and the process's own.
const RESERVED: u64 = 448;
/// Even a very low limit allows some connections.
const CONNECTIONS_MIN: u32 = 16;

/// The maximum number of connections: the setting, or what the limit allows once it is as high as this
/// process may set it.
pub(crate) fn connections_max(asked: u32) -> u32 {
    raise();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let Some(files) = open_files(&limits) else { return asked };
    let room = u32::try_from(files.saturating_sub(RESERVED)).unwrap_or(u32::MAX);
    let possible = asked.min(room.max(CONNECTIONS_MIN));
    if possible < asked {
        tracing::info!(
            asked,
            possible,
            "fewer connections than configured: this process may open only {files} files (see \
             ulimit -n)"
        );
    }
    possible
}

/// Raises the soft limit to the hard one. It is kept low by default for programs that use `select`.
fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // What is possible is read afterwards.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Parses the soft limit in Linux's `limits` file; `None` if there is no limit.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_counts() {
        let text = "Limit            Soft Limit  Hard Limit  Units\n\
                    Max processes    96210       96210       processes\n\
                    Max open files   1024        524288      files\n";
        assert_eq!(open_files(text), Some(1024));
        assert_eq!(open_files("Max open files   unlimited   unlimited   files"), None);
        assert_eq!(open_files(""), None);
    }
}
