//! Decides whether two links mean the same document or attachment. Where one uses ids and the other
//! rids, it looks the document up.

use bytes::Bytes;
use partition::{attachments::List, errors, keys, rows::Header};
use protocol::{
    Error,
    request::AttachmentPath,
    rid::{AttachmentRid, ChildKind, ChildRid},
};
use query::{scope::document_key, served::Served};
use value::{json, partition_key::PartitionKey};

/// Which of several documents with the same id is meant.
#[derive(Clone, Copy)]
pub(crate) enum Under<'a> {
    /// The one with this key; without a key, none.
    Key(Option<&'a PartitionKey>),
    /// Any of them.
    Any,
}

impl Under<'_> {
    fn means(self, key: &PartitionKey) -> bool {
        match self {
            Self::Key(named) => named == Some(key),
            Self::Any => true,
        }
    }
}

/// Compares two documents of one collection.
pub(crate) async fn same_document(
    collection: Option<&Served>,
    (granted, asked): (&str, &str),
    under: Under<'_>,
) -> Result<bool, Error> {
    if granted == asked {
        return Ok(true);
    }
    let Some(collection) = collection else { return Ok(false) };
    if let Some(stored) = stored(collection, granted).await? {
        // Documents with other keys may have the same id.
        return Ok(stored.id == asked && under.means(&stored.key));
    }
    Ok(stored(collection, asked).await?.is_some_and(|stored| stored.id == granted))
}

/// Compares attachments of two documents of one collection.
pub(crate) async fn same_attachment(
    collection: Option<&Served>,
    (granted, asked): (&AttachmentPath, &AttachmentPath),
    under: Under<'_>,
) -> Result<bool, Error> {
    let documents = (granted.document.document.as_str(), asked.document.document.as_str());
    if !same_document(collection, documents, under).await? {
        return Ok(false);
    }
    if granted.attachment == asked.attachment {
        return Ok(true);
    }
    let Some(collection) = collection else { return Ok(false) };
    // An attachment's rid also contains a document, which must be the one of the other link.
    if let Some(rid) = AttachmentRid::parse(&granted.attachment)
        && attachment_id(collection, rid).await?.as_ref() == Some(&asked.attachment)
    {
        let documents = (&*rid.document.to_string(), documents.1);
        return same_document(Some(collection), documents, under).await;
    }
    if let Some(rid) = AttachmentRid::parse(&asked.attachment)
        && attachment_id(collection, rid).await?.as_ref() == Some(&granted.attachment)
    {
        let documents = (documents.0, &*rid.document.to_string());
        return same_document(Some(collection), documents, under).await;
    }
    Ok(false)
}

/// A stored document's id and key.
pub(crate) struct Stored {
    id: String,
    pub(crate) key: PartitionKey,
}

/// The document with this rid, if there is one.
pub(crate) async fn stored(collection: &Served, rid: &str) -> Result<Option<Stored>, Error> {
    let Some(rid) = ChildRid::parse(rid) else { return Ok(None) };
    let [Some(row), _] = rows(collection, rid).await? else { return Ok(None) };
    let (_, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    let Ok(document) = json::parse(&document) else { return Ok(None) };
    let key = document_key(collection, &document);
    Ok(document.get("id").as_str().map(|id| Stored { id: id.to_owned(), key }))
}

/// The id of the attachment with this rid, if there is one.
async fn attachment_id(
    collection: &Served,
    AttachmentRid { document, number }: AttachmentRid,
) -> Result<Option<String>, Error> {
    let [_, list] = rows(collection, document).await?;
    let entries = List::decode_row(list)?.entries;
    Ok(entries.into_iter().find(|entry| entry.number == number).map(|entry| entry.id))
}

/// The rows of a document and of its attachment list: `None`s if the collection has no such
/// document.
async fn rows(collection: &Served, rid: ChildRid) -> Result<[Option<Bytes>; 2], Error> {
    if rid.collection != collection.rid || rid.kind != ChildKind::Document {
        return Ok([None, None]);
    }
    let slot = keys::slot_of(rid.number);
    let wanted = [keys::document(rid.number), keys::attachments(rid.number)];
    for partition in collection.partitions.iter().filter(|it| it.range.slots.contains(&slot)) {
        let rows = partition.read()?.0.get_many(&wanted).await.map_err(errors::from_store)?;
        if let Ok([Some(document), list]) = <[Option<Bytes>; 2]>::try_from(rows) {
            return Ok([Some(document), list]);
        }
    }
    Ok([None, None])
}
