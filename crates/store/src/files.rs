//! What only file-based stores can do: provide their files to a backup, and compact them.

use std::{io::Read, sync::Arc, time::Duration};

use crate::{BoxFuture, Result, Store};

/// A store that keeps its key spaces in files of its own.
pub trait Files: Store {
    /// Pins the files of the whole store as of one instant, the same for all key spaces, while
    /// writes continue. The image contains everything acknowledged before the call and nothing
    /// queued after it.
    fn image(&self) -> BoxFuture<'_, Result<Arc<dyn Image>>>;

    /// Rewrites the tables of one key space, or of all, so that reads find each key in as few
    /// places as possible and no data remains that no snapshot can see. Readers notice nothing.
    /// Writes continue but may have to wait, so use it in quiet times. It needs space for a second
    /// copy of the largest key space while it runs.
    ///
    /// Fails with `Conflict` if there is no such key space. A compaction that fails, is cancelled
    /// or dies with its process leaves each key space either compacted or unchanged.
    fn compact<'a>(&'a self, key_space: Option<&'a str>) -> BoxFuture<'a, Result<()>>;
}

/// The files needed to open a store as it was at one instant. While this is held, none of them is
/// removed or changed, whatever happens to the store. Dropping it frees the space of data deleted
/// meanwhile.
pub trait Image: Send + Sync {
    /// The files. Placed under their paths in an empty directory, they form a store.
    fn files(&self) -> &[ImageFile];

    /// How long commits had to wait for the image.
    fn pause(&self) -> Duration;

    /// Opens the file with this index, at its start. Opening and reading block.
    fn open(&self, index: usize) -> Result<Box<dyn Read + Send + '_>>;
}

/// One file of an [`Image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// Its path relative to the store's directory, with `/` between names of `[A-Za-z0-9._-]`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The 128-bit XXH3 of its content, if the store knows it. Files with the same length and
    /// checksum are identical and need not be copied twice.
    pub checksum: Option<u128>,
}
