//! Messages: a header of sixteen bytes, then a body by its kind. A request has one reply.
//!
//! [`header`] comes first, [`compression`] unpacks what is compressed, [`message`] reads a request,
//! [`reply`] writes the answer, [`valid`] checks documents before anybody reads them.
//!
//! What cannot be read ends the connection: after a broken message nobody knows where the next one
//! begins. MongoDB does so, too.

pub mod compression;
pub mod header;
pub mod message;
pub mod reply;
pub mod valid;

/// Why a connection ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A length outside of what a message may have, or that does not fit what it contains.
    #[error("a message with a wrong length")]
    Length,
    /// A kind of message that is not spoken any more, or never was.
    #[error("a message of kind {0}")]
    Kind(i32),
    /// Required bits that nobody knows.
    #[error("a message with unknown flags {0:#x}")]
    Flags(u32),
    /// A part that is neither a document nor a sequence of documents, or too many of either.
    #[error("a message with a wrong section")]
    Section,
    /// The sum at the end is not that of the message.
    #[error("a message with a wrong checksum")]
    Checksum,
    /// Data that the named compressor cannot have made, or a compressor that was not agreed on.
    #[error("a message that cannot be decompressed")]
    Compression,
    /// Bytes that are not BSON.
    #[error("a message with invalid BSON: {0}")]
    Bson(String),
}
