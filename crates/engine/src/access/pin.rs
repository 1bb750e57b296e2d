//! Keeping a request to what was looked at.
//!
//! The operation looks its names up again, and somebody may have dropped what they meant and made
//! another thing under them since. A permission by rid is for the one that is gone, so its holder must
//! not get the new one: names are replaced by what cannot come to mean anything else.

use protocol::{
    Error, Operation, Request,
    query::QueryFeed,
    request::{CollectionPath, DatabasePath, DocumentPath, ScriptPath},
    rid::{AttachmentRid, ChildRid},
};

use crate::{
    access::demand::{On, demand},
    catalog::Catalog,
    check_intended,
    link::Link,
};

/// Does it. The request is granted by a permission on `link`.
pub(crate) fn pin(catalog: &Catalog, link: &Link, request: &mut Request) -> Result<(), Error> {
    let Request { operation, options } = request;
    if let Some(path) = collection(operation) {
        let intended = match catalog.collection(path) {
            Ok(found) => {
                check_intended(found, options)?;
                found.rid.to_string()
            }
            // One that is made until the operation looks is not the one that is meant.
            Err(_) => options.intended_collection_rid.take().unwrap_or_default(),
        };
        options.intended_collection_rid = Some(intended);
    }
    if let Some(path) = database(operation)
        && let Some(found) = catalog.database(path)
    {
        path.0 = found.rid.to_string();
    }
    match link {
        Link::Database(_) | Link::Collection(_) => {}
        Link::Document(granted) => pin_document(granted, operation),
        Link::Attachment(granted) => {
            pin_document(&granted.document, operation);
            let is_rid = |name: &str| AttachmentRid::parse(name).is_some();
            if let Some(name) = attachment(operation)
                && is_rid(&granted.attachment)
                && !is_rid(name)
            {
                name.clone_from(&granted.attachment);
            }
        }
        Link::Script(granted) => {
            if let Some(ScriptPath { script, .. }) = script(operation) {
                pin_child(&granted.script, script);
            }
        }
    }
    Ok(())
}

fn pin_document(granted: &DocumentPath, operation: &mut Operation) {
    if let Some(asked) = document(operation) {
        pin_child(&granted.document, &mut asked.document);
    }
}

/// Both mean the same: whichever is a rid is to be used.
fn pin_child(granted: &str, asked: &mut String) {
    let is_rid = |name: &str| ChildRid::parse(name).is_some();
    if is_rid(granted) && !is_rid(asked) {
        granted.clone_into(asked);
    }
}

/// The collection that an operation is about, or lies in. Media have none: their name is a rid.
fn collection(operation: &Operation) -> Option<&CollectionPath> {
    match demand(operation).0 {
        On::Account | On::Database(_) | On::Media(_) => None,
        On::Collection(path) => Some(path),
        On::Document(path) => Some(&path.collection),
        On::Attachment(path) => Some(&path.document.collection),
        On::Script(path) => Some(&path.collection),
    }
}

/// The database, of operations that are about one. What lies in a collection needs none.
fn database(operation: &mut Operation) -> Option<&mut DatabasePath> {
    match operation {
        Operation::ReadDatabase(path)
        | Operation::DeleteDatabase(path)
        | Operation::ListCollections(path)
        | Operation::ListEncryptionKeys(path)
        | Operation::CreateCollection { database: path, .. }
        | Operation::CreateEncryptionKey { database: path, .. }
        | Operation::Query {
            feed: QueryFeed::Collections(path) | QueryFeed::EncryptionKeys(path),
            ..
        } => Some(path),
        Operation::ReadEncryptionKey(path) | Operation::ReplaceEncryptionKey { path, .. } => {
            Some(&mut path.database)
        }
        _ => None,
    }
}

fn document(operation: &mut Operation) -> Option<&mut DocumentPath> {
    match operation {
        Operation::ReadDocument(path)
        | Operation::ReplaceDocument { path, .. }
        | Operation::PatchDocument { path, .. }
        | Operation::DeleteDocument(path)
        | Operation::ListAttachments(path)
        | Operation::CreateAttachment { document: path, .. }
        | Operation::Query { feed: QueryFeed::Attachments(path), .. } => Some(path),
        Operation::ReadAttachment(path)
        | Operation::ReplaceAttachment { path, .. }
        | Operation::DeleteAttachment(path) => Some(&mut path.document),
        _ => None,
    }
}

fn attachment(operation: &mut Operation) -> Option<&mut String> {
    match operation {
        Operation::ReadAttachment(path)
        | Operation::ReplaceAttachment { path, .. }
        | Operation::DeleteAttachment(path) => Some(&mut path.attachment),
        _ => None,
    }
}

fn script(operation: &mut Operation) -> Option<&mut ScriptPath> {
    match operation {
        Operation::ReadScript(path)
        | Operation::ReplaceScript { path, .. }
        | Operation::DeleteScript(path)
        | Operation::ExecuteProcedure { path, .. } => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
