//! What a worker gives up before it sees a script.
//!
//! Gone: opening files, sockets or pipes (no file descriptor may be added to the pipe it has),
//! writing to any file, starting processes or threads (not for root, whom that limit does not bind),
//! core dumps, gaining privileges by executing something, and memory beyond a bound. The host has
//! already left it an empty environment and `/` as its folder.
//!
//! Not gone: it keeps its user and any descriptor that the server's own parent left open for it, and may make any system call that needs no new descriptor. A filter
//! of system calls would need `unsafe` or one more dependency. Elsewhere than on Linux nothing is
//! given up; the engine's own limits and the host's deadline still hold.

/// Bytes of address space: a script's heap, a few copies of the largest message, and the program.
#[cfg(target_os = "linux")]
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;

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
    Ok(())
}

/// Nothing that can be given up in a way common to all systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn drop_all() -> std::io::Result<()> {
    Ok(())
}
