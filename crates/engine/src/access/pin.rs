//! Pins a request to the resources that were checked.
//!
//! The first attempt uses the view that access was checked on, but later steps may use another: a
//! retried write takes the newest view, a catalog change is decided on the catalog at its turn, a
//! query checks again whether the indexing policy holds, another process has its own catalog, and
//! documents are in no catalog. Meanwhile somebody may have dropped the resource and created
//! another with the same name. A permission by rid is for the old one, so its holder must not reach
//! the new one. Therefore names are replaced by rids, which never come to mean anything else.

use catalog::{Catalog, link::Link};
use protocol::{
    Error, Operation, Request,
    query::QueryFeed,
    request::{AttachmentPath, CollectionPath, DatabasePath, DocumentPath, ScriptPath},
    rid::{AttachmentRid, ChildRid},
};

use query::served::check_intended;

use crate::access::demand::{On, demand};

/// The names in a request that can be replaced by rids.
enum Named<'a> {
    /// Resources that no token reaches, or that are named by a rid or by their collection alone.
    Nothing,
    /// The database of an operation on one. Anything in a collection needs none.
    Database(&'a mut DatabasePath),
    Document(&'a mut DocumentPath),
    Attachment(&'a mut AttachmentPath),
    Script(&'a mut ScriptPath),
}

/// Replaces names in the request by the authorized rids. A permission on `link` grants it.
pub(crate) fn pin(catalog: &Catalog, link: &Link, request: &mut Request) -> Result<(), Error> {
    let Request { operation, options } = request;
    if let Some(path) = collection(operation) {
        let intended = match catalog.collection(path) {
            Ok(found) => {
                check_intended(found, options)?;
                found.rid.to_string()
            }
            // A collection that is created after this check is not the authorized one.
            Err(_) => options.intended_collection_rid.take().unwrap_or_default(),
        };
        options.intended_collection_rid = Some(intended);
    }
    match (link, named(operation)) {
        (_, Named::Database(path)) => {
            if let Some(found) = catalog.database(path) {
                path.0 = found.rid.to_string();
            }
        }
        (Link::Document(granted), Named::Document(asked)) => pin_document(granted, asked),
        (Link::Document(granted), Named::Attachment(asked)) => {
            pin_document(granted, &mut asked.document);
        }
        (Link::Attachment(granted), Named::Document(asked)) => {
            pin_document(&granted.document, asked);
        }
        (Link::Attachment(granted), Named::Attachment(asked)) => {
            pin_document(&granted.document, &mut asked.document);
            let is_rid = |name: &str| AttachmentRid::parse(name).is_some();
            if is_rid(&granted.attachment) && !is_rid(&asked.attachment) {
                asked.attachment.clone_from(&granted.attachment);
            }
        }
        (Link::Script(granted), Named::Script(asked)) => {
            pin_child(&granted.script, &mut asked.script);
        }
        (Link::Database(_) | Link::Collection(_), _)
        | (_, Named::Nothing)
        | (Link::Document(_) | Link::Attachment(_), Named::Script(_))
        | (Link::Script(_), Named::Document(_) | Named::Attachment(_)) => {}
    }
    Ok(())
}

fn pin_document(granted: &DocumentPath, asked: &mut DocumentPath) {
    pin_child(&granted.document, &mut asked.document);
}

/// Both names mean the same resource. If the granted one is a rid, it replaces the requested one.
fn pin_child(granted: &str, asked: &mut String) {
    let is_rid = |name: &str| ChildRid::parse(name).is_some();
    if is_rid(granted) && !is_rid(asked) {
        granted.clone_into(asked);
    }
}

/// The collection that an operation concerns or lies in. Media have none: their name is a rid.
fn collection(operation: &Operation) -> Option<&CollectionPath> {
    match demand(operation).0 {
        On::Account | On::Database(_) | On::Media(_) => None,
        On::Collection(path) => Some(path),
        On::Document(path) => Some(&path.collection),
        On::Attachment(path) => Some(&path.document.collection),
        On::Script(path) => Some(&path.collection),
    }
}

/// The names in an operation. The match has one line per operation and no wildcard: a forgotten
/// operation could reach a resource that its caller has no permission for.
#[expect(clippy::too_many_lines, reason = "a table")]
fn named(operation: &mut Operation) -> Named<'_> {
    match operation {
        Operation::ReadDatabase(path)
        | Operation::DeleteDatabase(path)
        | Operation::ListCollections(path)
        | Operation::ListEncryptionKeys(path)
        | Operation::CreateCollection { database: path, .. }
        | Operation::CreateEncryptionKey { database: path, .. } => Named::Database(path),
        Operation::ReadEncryptionKey(path) | Operation::ReplaceEncryptionKey { path, .. } => {
            Named::Database(&mut path.database)
        }

        Operation::ReadDocument(path)
        | Operation::ReplaceDocument { path, .. }
        | Operation::PatchDocument { path, .. }
        | Operation::DeleteDocument(path)
        | Operation::ListAttachments(path)
        | Operation::CreateAttachment { document: path, .. } => Named::Document(path),
        Operation::ReadAttachment(path)
        | Operation::ReplaceAttachment { path, .. }
        | Operation::DeleteAttachment(path) => Named::Attachment(path),
        Operation::ReadScript(path)
        | Operation::ReplaceScript { path, .. }
        | Operation::DeleteScript(path)
        | Operation::ExecuteProcedure { path, .. } => Named::Script(path),
        Operation::Query { feed, .. } => queried(feed),

        // The name of media is a rid.
        Operation::ReadMedia(_)
        | Operation::ReplaceMedia { .. }
        // Pinning the collection is enough for these.
        | Operation::ReadCollection(_)
        | Operation::ReplaceCollection { .. }
        | Operation::DeleteCollection(_)
        | Operation::ListPartitionKeyRanges { .. }
        | Operation::ReadPartitionKeyRange { .. }
        | Operation::CreateDocument { .. }
        | Operation::DeleteByPartitionKey(_)
        | Operation::ListDocuments(_)
        | Operation::ReadChanges { .. }
        | Operation::ExecuteBatch { .. }
        | Operation::ListConflicts(_)
        | Operation::ReadConflict { .. }
        | Operation::DeleteConflict { .. }
        | Operation::CreateScript { .. }
        | Operation::ListScripts { .. }
        | Operation::PlanQuery { .. }
        // No token allows these, or they name nothing.
        | Operation::ReadAccount
        | Operation::CreateDatabase { .. }
        | Operation::ListDatabases
        | Operation::CreateUser { .. }
        | Operation::ReadUser(_)
        | Operation::ReplaceUser { .. }
        | Operation::DeleteUser(_)
        | Operation::ListUsers(_)
        | Operation::CreatePermission { .. }
        | Operation::ReadPermission(_)
        | Operation::ReplacePermission { .. }
        | Operation::DeletePermission(_)
        | Operation::ListPermissions(_)
        | Operation::SplitPartition { .. }
        | Operation::MergePartitions { .. }
        | Operation::GivePartitionKey { .. }
        | Operation::ReadOffer(_)
        | Operation::ReplaceOffer { .. }
        | Operation::ListOffers => Named::Nothing,
    }
}

/// The names in the feed of a query.
fn queried(feed: &mut QueryFeed) -> Named<'_> {
    match feed {
        QueryFeed::Collections(path) | QueryFeed::EncryptionKeys(path) => Named::Database(path),
        QueryFeed::Attachments(path) => Named::Document(path),
        QueryFeed::Documents(_)
        | QueryFeed::PartitionKeyRanges(_)
        | QueryFeed::Scripts(..)
        | QueryFeed::Conflicts(_)
        // No token allows these.
        | QueryFeed::Databases
        | QueryFeed::Offers
        | QueryFeed::Users(_)
        | QueryFeed::Permissions(_) => Named::Nothing,
    }
}

#[cfg(test)]
mod tests;
