//! Flushes and compactions give way to requests.

/// How much nicer than the others the threads are that flush and compact. A request wakes up a dozen
/// times, and behind a compaction it would wait for the end of a time slice each time. With this
/// value background work still gets a quarter of a processor that somebody else wants as well: with
/// much less it would fall so far behind that writers have to wait for it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Lowers the priority of this thread, if it can be done.
#[cfg(target_os = "linux")]
pub(crate) fn give_way() {
    // On Linux this is about the thread, elsewhere about the whole process.
    let _ = rustix::process::nice(NICENESS);
}

/// There is no portable way.
#[cfg(not(target_os = "linux"))]
pub(crate) fn give_way() {}
