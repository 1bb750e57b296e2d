//! Tuning options, and the reasons for their defaults.

/// Sizes of the store's memory and threads.
///
/// The defaults keep an idle server small: at most 16 MiB of cache and 48 MiB of write buffers,
/// neither allocated before use. Buffers that are being flushed come on top of that.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for blocks read from disk, shared by all partitions.
    pub cache_bytes: u64,
    /// Memory for rows that were read by key, shared by all partitions. They take less time to find
    /// and less room than the blocks they are in.
    pub row_cache_bytes: usize,
    /// The first bytes of the keys whose rows are kept there. Kinds that are not read by key only
    /// make writes dearer.
    pub cached_kinds: &'static [u8],
    /// When the write buffers of all partitions together exceed this size, the largest one is
    /// flushed.
    pub write_buffer_bytes_total: u64,
    /// When the write buffer of one partition exceeds this size, it is flushed. Fixed when the
    /// partition is created. It counts about twice the bytes that reach the disk. Smaller buffers
    /// are flushed into more tables, which have to be merged more often; in larger ones finding the
    /// place of a key takes longer, because less of them is in the processor's caches.
    pub memtable_bytes: u64,
    /// With this many flushed tables a partition merges them into its first level. Reads look at
    /// each of them, so more of them make writes cheaper and reads dearer. Fixed when the partition
    /// is created.
    pub flushed_tables_max: u8,
    /// The size of a table. The first level holds `flushed_tables_max` times as much, and all of it
    /// is rewritten when flushed tables are merged into it; each further level is ten times as
    /// large. Fixed when the partition is created.
    pub table_bytes: u64,
    /// How many table files to keep open. Sockets need descriptors too, and the usual limit is
    /// 1,024.
    pub open_files_max: usize,
    /// Threads that flush buffers and compact tables. fjall keeps its first thread free for flushes
    /// by letting it put compactions back into the queue, so with two there is one compaction at a
    /// time. With none, nothing is flushed, which is only suitable for a store that is never written
    /// to.
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
            row_cache_bytes: 0,
            cached_kinds: &[],
            write_buffer_bytes_total: 48 << 20,
            memtable_bytes: 8 << 20,
            flushed_tables_max: 6,
            table_bytes: 16 << 20,
            open_files_max: 256,
            workers: 3,
            queue_bytes_max: 64 << 20,
            group_batches_max: 1024,
            group_bytes_max: 16 << 20,
        }
    }
}
