//! How much memory this process may count on.

use std::path::{Path, PathBuf};

/// The memory of the machine, or what the control groups of this process allow, if that is less.
/// `None` where neither can be read.
pub(crate) fn available_bytes() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| total(&text))?;
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|path| read(&path));
    Some(limits.filter_map(|text| text.trim().parse().ok()).fold(machine, u64::min))
}

/// The line `MemTotal` of `/proc/meminfo`, in bytes.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Where the limits of the groups in `/proc/self/cgroup` and of those above them are. A container
/// often sees its own group as the root.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            list if list.split(',').any(|it| it == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for above in Path::new(group.trim_start_matches('/')).ancestors() {
            files.push(Path::new(root).join(above).join(name));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_in_bytes() {
        assert_eq!(total("MemTotal:       24684512 kB\nMemFree: 1 kB\n"), Some(24_684_512 << 10));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: much\n"), None);
    }

    #[test]
    fn limits_are_looked_for_in_the_group_and_above_it() {
        let files = |groups| -> Vec<String> {
            let files = limit_files(groups).into_iter();
            files.map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            files("0::/system.slice/sheaf.service\n"),
            [
                "/sys/fs/cgroup/system.slice/sheaf.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert_eq!(
            files("5:cpu,cpuacct:/a\n4:memory:/\n"),
            ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert!(files("nonsense").is_empty());
    }
}
