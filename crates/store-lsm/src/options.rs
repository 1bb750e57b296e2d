//! What can be tuned, and why the defaults are what they are.

/// Sizes of the store's memory and threads.
///
/// The defaults keep an idle server small: at most 16 MiB of cache and 16 MiB of write buffers,
/// neither allocated before it is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for blocks read from disk, shared by all partitions.
    pub cache_bytes: u64,
    /// Once the write buffers of all partitions together pass this size, the largest one is
    /// written out.
    pub write_buffer_bytes_total: u64,
    /// The write buffer of one partition is written out once it passes this size. It is fixed for
    /// a partition when it is created.
    pub memtable_bytes: u64,
    /// Table files kept open. Sockets need descriptors too, and the usual limit is 1,024.
    pub open_files_max: usize,
    /// Threads that write out buffers and compact tables. Never two: fjall keeps its first thread
    /// free for flushes by letting it put compactions back into the queue, so with only one other
    /// thread, and that one busy, it spins for as long as a compaction takes (measured: 25 CPU
    /// seconds for a load that takes 17 with one thread or with three). Without any, nothing is written
    /// out: only for a store that nobody writes to.
    pub workers: usize,
    /// Batches beyond this many queued bytes are refused with `Unavailable`.
    pub queue_bytes_max: usize,
    /// Most batches in one commit group.
    pub group_batches_max: usize,
    /// A group takes no further batch once it passes this size. It bounds the time that a small
    /// batch waits behind large ones.
    pub group_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 16 << 20,
            write_buffer_bytes_total: 16 << 20,
            memtable_bytes: 4 << 20,
            open_files_max: 256,
            workers: 3,
            queue_bytes_max: 64 << 20,
            group_batches_max: 1024,
            group_bytes_max: 16 << 20,
        }
    }
}
