//! Tuning options, and the reasons for their defaults.

/// Sizes of the store's memory and threads.
///
/// The defaults keep an idle server small: at most 16 MiB of cache and 16 MiB of write buffers,
/// neither allocated before use.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for blocks read from disk, shared by all partitions.
    pub cache_bytes: u64,
    /// When the write buffers of all partitions together exceed this size, the largest one is
    /// flushed.
    pub write_buffer_bytes_total: u64,
    /// When the write buffer of one partition exceeds this size, it is flushed. Fixed when the
    /// partition is created.
    pub memtable_bytes: u64,
    /// How many table files to keep open. Sockets need descriptors too, and the usual limit is
    /// 1,024.
    pub open_files_max: usize,
    /// Threads that flush buffers and compact tables. Never two: fjall keeps its first thread free
    /// for flushes by letting it put compactions back into the queue. With only one other thread,
    /// and that one busy, it spins for as long as a compaction takes (measured: 25 CPU seconds for
    /// a load that takes 17 with one thread or with three). With none, nothing is flushed, which is
    /// only suitable for a store that is never written to.
    pub workers: usize,
    /// Batches beyond this many queued bytes are refused with `Unavailable`.
    pub queue_bytes_max: usize,
    /// The most batches in one commit group.
    pub group_batches_max: usize,
    /// A group stops taking batches once it exceeds this size, which bounds how long a small batch
    /// waits for large ones.
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
