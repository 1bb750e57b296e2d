//! How what a permission is about lies to what is asked for. Links are compared by what they mean: one
//! may be made of names and the other of rids.

use protocol::{
    Error,
    request::{AttachmentPath, CollectionPath, DatabasePath, DocumentPath, ScriptPath},
    rid::{AttachmentRid, ChildKind, ChildRid},
};
use value::{json, partition_key::PartitionKey};

use crate::{
    access::{demand::On, link::Link},
    catalog::{Catalog, Collection},
    documents::scope::document_key,
    errors, keys,
    rows::Header,
};

/// How they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is the resource itself, or inside of it.
    Within,
    /// The resource is inside of it.
    Above,
    /// They have nothing to do with each other.
    Elsewhere,
}

/// Finds out. `key` is the partition key that the request names.
pub(crate) async fn reach(
    catalog: &Catalog,
    granted: &Link,
    asked: On<'_>,
    key: Option<&PartitionKey>,
) -> Result<Reach, Error> {
    let (database, collection) = match asked {
        On::Account | On::Media(_) => return Ok(Reach::Elsewhere),
        On::Database(path) => (path, None),
        On::Collection(path) => (&path.database, Some(path)),
        On::Document(path) => (&path.collection.database, Some(&path.collection)),
        On::Attachment(AttachmentPath { document, .. }) => {
            (&document.collection.database, Some(&document.collection))
        }
        On::Script(path) => (&path.collection.database, Some(&path.collection)),
    };
    if !same_database(catalog, granted.database(), database) {
        return Ok(Reach::Elsewhere);
    }
    let Some(inside) = granted.collection() else { return Ok(Reach::Within) };
    let Some(collection) = collection else { return Ok(Reach::Above) };
    if !same_collection(catalog, inside, collection) {
        return Ok(Reach::Elsewhere);
    }
    let is_same = match (granted, asked) {
        (Link::Collection(_), _) => true,
        (_, On::Collection(_)) => return Ok(Reach::Above),
        (
            Link::Document(granted),
            On::Document(asked) | On::Attachment(AttachmentPath { document: asked, .. }),
        ) => {
            let names = (granted.document.as_str(), asked.document.as_str());
            same_document(catalog.collection(collection).ok(), names, key).await?
        }
        (Link::Attachment(granted), On::Attachment(asked)) => {
            let names = (granted.document.document.as_str(), asked.document.document.as_str());
            granted.attachment == asked.attachment
                && same_document(catalog.collection(collection).ok(), names, key).await?
        }
        (Link::Script(granted), On::Script(asked)) => same_script(catalog, granted, asked),
        _ => false,
    };
    Ok(if is_same { Reach::Within } else { Reach::Elsewhere })
}

/// Whether two permissions are about the same resource.
pub(crate) fn is_same(catalog: &Catalog, one: &Link, other: &Link) -> bool {
    let is_there = |one: &CollectionPath, other| same_collection(catalog, one, other);
    match (one, other) {
        (Link::Database(one), Link::Database(other)) => same_database(catalog, one, other),
        (Link::Collection(one), Link::Collection(other)) => is_there(one, other),
        (Link::Document(one), Link::Document(other)) => {
            is_there(&one.collection, &other.collection) && one.document == other.document
        }
        (Link::Attachment(one), Link::Attachment(other)) => {
            is_there(&one.document.collection, &other.document.collection)
                && one.document.document == other.document.document
                && one.attachment == other.attachment
        }
        (Link::Script(one), Link::Script(other)) => {
            is_there(&one.collection, &other.collection) && same_script(catalog, one, other)
        }
        _ => false,
    }
}

/// What does not exist is what it is called.
fn same_database(catalog: &Catalog, one: &DatabasePath, other: &DatabasePath) -> bool {
    let meant = |path: &DatabasePath| catalog.database(path).map(|database| database.rid);
    one == other || meant(one).is_some() && meant(one) == meant(other)
}

fn same_collection(catalog: &Catalog, one: &CollectionPath, other: &CollectionPath) -> bool {
    let meant = |path: &CollectionPath| catalog.collection(path).ok().map(|it| it.rid);
    same_database(catalog, &one.database, &other.database)
        && (one.collection == other.collection
            || meant(one).is_some() && meant(one) == meant(other))
}

/// Of scripts whose collection is the same.
fn same_script(catalog: &Catalog, one: &ScriptPath, other: &ScriptPath) -> bool {
    let meant = |path: &ScriptPath| {
        let collection = catalog.collection(&path.collection).ok()?;
        collection.scripts.find(path.kind, &path.script).map(|script| script.rid)
    };
    one.kind == other.kind
        && (one.script == other.script || meant(one).is_some() && meant(one) == meant(other))
}

/// Of documents of one collection. Where one is called by its id and the other by its rid, the
/// document itself tells.
async fn same_document(
    collection: Option<&std::sync::Arc<Collection>>,
    (granted, asked): (&str, &str),
    key: Option<&PartitionKey>,
) -> Result<bool, Error> {
    if granted == asked {
        return Ok(true);
    }
    let Some(collection) = collection else { return Ok(false) };
    if let Some(stored) = stored(collection, granted).await? {
        // Others may have the same id under other keys.
        return Ok(stored.id == asked && key == Some(&stored.key));
    }
    Ok(stored(collection, asked).await?.is_some_and(|stored| stored.id == granted))
}

/// The attachment that media belong to, by its rids; `None` if they are nobody's.
pub(crate) fn of_media(media: &str) -> Option<AttachmentPath> {
    let AttachmentRid { document, .. } = AttachmentRid::parse(media)?;
    let collection = CollectionPath {
        database: DatabasePath(document.collection.database.to_string()),
        collection: document.collection.to_string(),
    };
    let document = DocumentPath { collection, document: document.to_string() };
    Some(AttachmentPath { document, attachment: media.to_owned() })
}

/// A document's name.
pub(crate) struct Stored {
    id: String,
    pub(crate) key: PartitionKey,
}

/// The document with this rid, if it is one.
pub(crate) async fn stored(collection: &Collection, rid: &str) -> Result<Option<Stored>, Error> {
    let rid = ChildRid::parse(rid)
        .filter(|rid| rid.collection == collection.rid && rid.kind == ChildKind::Document);
    let Some(ChildRid { number, .. }) = rid else { return Ok(None) };
    let slot = keys::slot_of(number);
    for partition in collection.partitions.iter().filter(|it| it.slots.contains(&slot)) {
        let rows = partition.read().0.get_many(&[keys::document(number)]).await;
        let Some(row) = rows.map_err(errors::from_store)?.into_iter().next().flatten() else {
            continue;
        };
        let (_, document) = Header::decode(&row).map_err(errors::from_damaged)?;
        let Ok(document) = json::parse(&document) else { continue };
        let key = document_key(collection, &document);
        return Ok(document.get("id").as_str().map(|id| Stored { id: id.to_owned(), key }));
    }
    Ok(None)
}
