//! Parsed links to resources. Each part is a name or the text of a rid. The engine tries the name
//! first, except for documents, where it tries the rid first.

/// A database, by name or rid text; the engine tries the name first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabasePath(pub String);

/// A collection in a database, each by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionPath {
    /// The database.
    pub database: DatabasePath,
    /// Name or rid of the collection.
    pub collection: String,
}

/// A document in a collection, by id or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPath {
    /// The collection.
    pub collection: CollectionPath,
    /// Id or rid of the document.
    pub document: String,
}

/// The kind of script; each kind has its own feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptKind {
    /// Called by a client, with arguments.
    StoredProcedure,
    /// Runs before or after a write that names it.
    Trigger,
    /// A function for SQL queries.
    Function,
}

impl ScriptKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::StoredProcedure, Self::Trigger, Self::Function];

    /// The word in links: `sprocs`, `triggers` or `udfs`.
    pub fn segment(self) -> &'static str {
        match self {
            Self::StoredProcedure => "sprocs",
            Self::Trigger => "triggers",
            Self::Function => "udfs",
        }
    }
}

/// A script in a collection, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptPath {
    /// The collection.
    pub collection: CollectionPath,
    /// The kind of script.
    pub kind: ScriptKind,
    /// Name or rid of the script.
    pub script: String,
}

/// A client encryption key of a database, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionKeyPath {
    /// The database.
    pub database: DatabasePath,
    /// Name or rid of the key.
    pub key: String,
}

/// A user of a database, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPath {
    /// The database.
    pub database: DatabasePath,
    /// Name or rid of the user.
    pub user: String,
}

/// A permission of a user, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionPath {
    /// The user.
    pub user: UserPath,
    /// Name or rid of the permission.
    pub permission: String,
}

/// An attachment of a document, by name or by rid text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentPath {
    /// The document.
    pub document: DocumentPath,
    /// Name or rid of the attachment.
    pub attachment: String,
}

/// The headers of media sent as a raw body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaHead {
    /// The name of the attachment.
    pub slug: Option<String>,
    /// The media type.
    pub content_type: String,
}
