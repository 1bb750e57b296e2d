//! What only a store in files can do: give its files to a backup, and rewrite them.

use std::{io::Read, sync::Arc, time::Duration};

use crate::{BoxFuture, Result, Store};

/// A store that keeps its key spaces in files of its own.
pub trait Files: Store {
    /// Holds on to the files of the whole store as they are at one instant, while writes go on. All
    /// key spaces are of that instant. The image holds everything that was acknowledged before the
    /// call, and nothing that was queued after it.
    fn image(&self) -> BoxFuture<'_, Result<Arc<dyn Image>>>;

    /// Rewrites the tables of a key space, or of all of them, so that reads find each key in as few
    /// places as possible and nothing is kept that no snapshot can see. Readers notice nothing.
    /// Writes go on, but may have to wait: this is for quiet times. It needs room for a second copy
    /// of the largest key space while it runs.
    ///
    /// `Conflict` if there is no such key space. A compaction that fails, is cancelled or dies with
    /// its process leaves each key space compacted or as it was.
    fn compact<'a>(&'a self, key_space: Option<&'a str>) -> BoxFuture<'a, Result<()>>;
}

/// The files that a store needs to be opened as it was at one instant. While this is held, none of
/// them goes away or changes, whatever becomes of the store: the space of what was deleted meanwhile
/// is given back when this is dropped.
pub trait Image: Send + Sync {
    /// The files. Put under their paths in an empty directory, they are a store.
    fn files(&self) -> &[ImageFile];

    /// How long commits waited for the image.
    fn pause(&self) -> Duration;

    /// Opens the file of this index, from its beginning. This blocks, and so does reading.
    fn open(&self, index: usize) -> Result<Box<dyn Read + Send + '_>>;
}

/// One file of an [`Image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// Its path below the directory of the store, with `/` between names of `[A-Za-z0-9._-]`.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// The XXH3 of 128 bits over its content, where the store knows it. A file of the same length
    /// and checksum is the same file: it need not be copied twice.
    pub checksum: Option<u128>,
}
