//! What a worker gives up before it sees a script.
//!
//! Gone: opening files, sockets or pipes (no file descriptor may be added to the pipe it has),
//! writing to any file, starting processes or threads (not for root, whom that limit does not bind),
//! core dumps, gaining privileges by executing something, memory beyond a bound, and its share of a
//! processor that the server wants too. The host has already left it an empty environment and `/` as
//! its folder.
//!
//! Not gone: it keeps its user and any descriptor that the server's own parent left open for it, and
//! may make any system call that needs no new descriptor. A filter of system calls would need
//! `unsafe` or one more dependency. Elsewhere than on Linux nothing is
//! given up; the engine's own limits and the host's deadline still hold.

/// Bytes of address space: a script's heap, a few copies of the largest message, and the program.
#[cfg(target_os = "linux")]
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;

/// How much nicer a worker is than its server: where both want a processor the server gets three times
/// as much of it. A busy script then slows other requests less than any other busy process would. More
/// would let honest scripts run out of their time while the server is busy.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Gives them up, for good.
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
    // Of this thread, which is the one that runs scripts.
    rustix::process::nice(NICENESS)?;
    Ok(())
}

/// Nothing that can be given up in a way common to all systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn drop_all() -> std::io::Result<()> {
    Ok(())
}
