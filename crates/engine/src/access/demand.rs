//! The table of what each operation demands from the holder of a resource token.
//!
//! The match has one line per operation and no wildcard, so a new operation does not compile until
//! somebody has decided about it.

use catalog::users::Mode;
use protocol::{
    Operation,
    query::QueryFeed,
    request::{AttachmentPath, CollectionPath, DatabasePath, DocumentPath, ScriptPath},
};

/// The resource an operation concerns: a permission on it, or on something that contains it, may
/// allow it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On<'a> {
    /// Nothing that a permission could be on.
    Account,
    Database(&'a DatabasePath),
    Collection(&'a CollectionPath),
    Document(&'a DocumentPath),
    Attachment(&'a AttachmentPath),
    /// An attachment, by the name of its media.
    Media(&'a str),
    Script(&'a ScriptPath),
}

/// The token that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Any token.
    Nothing,
    /// A token of this resource, of something that contains it, or of anything inside it: SDKs need
    /// these reads to find their way to a document.
    Way,
    /// A token of at least this mode.
    Mode(Mode),
    /// A token of at least this mode; one for a partition key is enough, because the operation
    /// concerns one document, one execution, or documents that name their keys.
    Documents(Mode),
    /// A token of at least this mode; one for a partition key is enough only if the request names
    /// that key, because the operation otherwise concerns documents of all keys.
    EveryDocument(Mode),
    /// No token is enough; it needs an account key.
    Key,
}

/// The table.
#[expect(
    clippy::too_many_lines,
    clippy::match_same_arms,
    reason = "a table: a line for each kind of resource, though another has the same answer"
)]
pub(crate) fn demand(operation: &Operation) -> (On<'_>, Needs) {
    use Needs::{Documents, EveryDocument, Key, Nothing, Way};
    const READ: Needs = Needs::Mode(Mode::Read);
    const ALL: Needs = Needs::Mode(Mode::All);
    match operation {
        Operation::ReadAccount => (On::Account, Nothing),

        Operation::CreateDatabase { .. }
        | Operation::ListDatabases
        | Operation::ReadOffer(_)
        | Operation::ReplaceOffer { .. }
        | Operation::ListOffers => (On::Account, Key),

        Operation::ReadDatabase(path) => (On::Database(path), READ),
        Operation::DeleteDatabase(path) => (On::Database(path), ALL),

        Operation::ReadEncryptionKey(path) => (On::Database(&path.database), READ),
        Operation::ListEncryptionKeys(path) => (On::Database(path), READ),
        Operation::CreateEncryptionKey { database, .. } => (On::Database(database), ALL),
        Operation::ReplaceEncryptionKey { path, .. } => (On::Database(&path.database), ALL),

        // A caller who can create permissions could get any permission.
        Operation::CreateUser { database, .. } => (On::Database(database), Key),
        Operation::ListUsers(path) => (On::Database(path), Key),
        Operation::ReadUser(path)
        | Operation::ReplaceUser { path, .. }
        | Operation::DeleteUser(path)
        | Operation::ListPermissions(path)
        | Operation::CreatePermission { user: path, .. } => (On::Database(&path.database), Key),
        Operation::ReadPermission(path)
        | Operation::ReplacePermission { path, .. }
        | Operation::DeletePermission(path) => (On::Database(&path.user.database), Key),

        Operation::ListCollections(path) => (On::Database(path), READ),
        Operation::CreateCollection { database, .. } => (On::Database(database), ALL),
        Operation::ReadCollection(path) => (On::Collection(path), Way),
        Operation::ReplaceCollection { path, .. } => (On::Collection(path), ALL),
        Operation::DeleteCollection(path) => (On::Collection(path), ALL),
        Operation::ListPartitionKeyRanges { path, .. }
        | Operation::ReadPartitionKeyRange { path, .. } => (On::Collection(path), Way),
        Operation::SplitPartition { path, .. }
        | Operation::MergePartitions { path, .. }
        | Operation::GivePartitionKey { path, .. } => (On::Collection(path), Key),

        Operation::CreateDocument { collection, .. }
        | Operation::ExecuteBatch { collection, .. } => {
            (On::Collection(collection), Documents(Mode::All))
        }
        Operation::ReadDocument(path) => (On::Document(path), Documents(Mode::Read)),
        Operation::ReplaceDocument { path, .. }
        | Operation::PatchDocument { path, .. }
        | Operation::DeleteDocument(path) => (On::Document(path), Documents(Mode::All)),
        Operation::DeleteByPartitionKey(path) => (On::Collection(path), Documents(Mode::All)),

        Operation::CreateAttachment { document, .. } => {
            (On::Document(document), Documents(Mode::All))
        }
        Operation::ListAttachments(document) => (On::Document(document), Documents(Mode::Read)),
        Operation::ReadAttachment(path) => (On::Attachment(path), Documents(Mode::Read)),
        Operation::ReplaceAttachment { path, .. } | Operation::DeleteAttachment(path) => {
            (On::Attachment(path), Documents(Mode::All))
        }
        Operation::ReadMedia(media) => (On::Media(media), Documents(Mode::Read)),
        Operation::ReplaceMedia { media, .. } => (On::Media(media), Documents(Mode::All)),

        Operation::ListDocuments(path) => (On::Collection(path), EveryDocument(Mode::Read)),
        Operation::ReadChanges { collection, .. } => {
            (On::Collection(collection), EveryDocument(Mode::Read))
        }
        Operation::ListConflicts(path) => (On::Collection(path), EveryDocument(Mode::Read)),
        Operation::ReadConflict { collection, .. } => {
            (On::Collection(collection), Documents(Mode::Read))
        }
        Operation::DeleteConflict { collection, .. } => {
            (On::Collection(collection), Documents(Mode::All))
        }

        Operation::CreateScript { collection, .. } => (On::Collection(collection), ALL),
        Operation::ListScripts { collection, .. } => (On::Collection(collection), READ),
        Operation::ReadScript(path) => (On::Script(path), READ),
        Operation::ReplaceScript { path, .. } | Operation::DeleteScript(path) => {
            (On::Script(path), ALL)
        }
        // A procedure may write.
        Operation::ExecuteProcedure { path, .. } => (On::Script(path), Documents(Mode::All)),

        Operation::Query { feed, .. } => query(feed),
        // A plan reveals what the query's text means and nothing about documents.
        Operation::PlanQuery { collection, .. } => {
            (On::Collection(collection), Documents(Mode::Read))
        }
    }
}

/// A query needs the same as listing the same feed.
fn query(feed: &QueryFeed) -> (On<'_>, Needs) {
    const READ: Needs = Needs::Mode(Mode::Read);
    match feed {
        QueryFeed::Databases | QueryFeed::Offers => (On::Account, Needs::Key),
        QueryFeed::Users(path) => (On::Database(path), Needs::Key),
        QueryFeed::Permissions(path) => (On::Database(&path.database), Needs::Key),
        QueryFeed::Collections(path) | QueryFeed::EncryptionKeys(path) => {
            (On::Database(path), READ)
        }
        QueryFeed::PartitionKeyRanges(path) => (On::Collection(path), Needs::Way),
        QueryFeed::Documents(path) | QueryFeed::Conflicts(path) => {
            (On::Collection(path), Needs::EveryDocument(Mode::Read))
        }
        QueryFeed::Attachments(path) => (On::Document(path), Needs::Documents(Mode::Read)),
        QueryFeed::Scripts(path, _) => (On::Collection(path), READ),
    }
}
