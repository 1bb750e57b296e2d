//! The files of a store, for whoever copies them away while the store is in use.

use std::{io::Read, time::Duration};

use crate::Result;

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
