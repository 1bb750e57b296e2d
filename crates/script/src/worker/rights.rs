//! Drops a worker's rights before it runs a script.
//!
//! Dropped: opening files, sockets or pipes (no file descriptor may be added to the pipe it has),
//! writing to any file, starting processes or threads (except for root, whom that limit does not
//! bind), core dumps, gaining privileges by executing something, memory beyond a limit, and
//! priority for a processor that the server wants too. The host has already given it an empty
//! environment and `/` as its folder.
//!
//! Kept: its user, any descriptor that the server's own parent left open for it, and all system
//! calls that need no new descriptor. A system call filter would need `unsafe` or another
//! dependency. On systems other than Linux nothing is dropped; the engine's own limits and the
//! host's deadline still hold.

/// The limit of the address space: a script's heap, a few copies of the largest message, and the
/// program.
#[cfg(target_os = "linux")]
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;

/// How much nicer a worker is than its server: when both want a processor, the server gets three
/// times as much of it. So a busy script slows other requests less than any other busy process
/// would. A higher value would make honest scripts time out while the server is busy.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Drops the rights permanently.
#[cfg(target_os = "linux")]
pub(crate) fn drop_all() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let limits = [
        (Resource::Nofile, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
        (Resource::As, ADDRESS_SPACE_BYTES),
    ];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    rustix::thread::set_no_new_privs(true)?;
    // Applies to this thread, which is the one that runs scripts.
    rustix::process::nice(NICENESS)?;
    Ok(())
}

/// There is no portable way to drop rights.
#[cfg(not(target_os = "linux"))]
pub(crate) fn drop_all() -> std::io::Result<()> {
    Ok(())
}
