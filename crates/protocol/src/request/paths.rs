//! What stands beside collections and documents, and how it is addressed.

use crate::request::{DatabasePath, DocumentPath};

/// An attachment of a document, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentPath {
    /// The document.
    pub document: DocumentPath,
    /// Name or rid of the attachment.
    pub attachment: String,
}

/// What is said of media that come as a raw body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaHead {
    /// The name of the attachment.
    pub slug: Option<String>,
    /// The media type.
    pub content_type: String,
}

/// A client encryption key of a database, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionKeyPath {
    /// The database.
    pub database: DatabasePath,
    /// Name or rid of the key.
    pub key: String,
}
