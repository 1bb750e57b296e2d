//! Relates the resource of a permission to the requested one. Links are compared by what they mean:
//! one may consist of names and the other of rids.

use catalog::{Catalog, link::Link};
use protocol::{
    Error,
    request::{AttachmentPath, CollectionPath, DatabasePath, DocumentPath, ScriptPath},
    rid::AttachmentRid,
};
use query::{scope::named_key, served::View};
use value::partition_key::PartitionKey;

use crate::access::{
    demand::On,
    same::{Under, same_attachment, same_document},
};

/// How a requested resource relates to a permission's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The request is for the resource itself, or for something inside it.
    Within,
    /// The resource is inside the requested one.
    Above,
    /// The two are unrelated.
    Elsewhere,
}

/// Relates the two. `key` is the partition key that the request names or is confined to.
pub(crate) async fn reach(
    view: &View,
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
    let catalog = &view.catalog;
    if !same_database(catalog, granted.database(), database) {
        return Ok(Reach::Elsewhere);
    }
    let Some(inside) = granted.collection() else { return Ok(Reach::Within) };
    let Some(collection) = collection else { return Ok(Reach::Above) };
    if !same_collection(catalog, inside, collection) {
        return Ok(Reach::Elsewhere);
    }
    let found = view.collection(collection).ok().map(|it| &**it);
    let key = found.and_then(|collection| named_key(collection, key).ok());
    let is_same = match (granted, asked) {
        (Link::Collection(_), _) => true,
        (_, On::Collection(_)) => return Ok(Reach::Above),
        (
            Link::Document(granted),
            On::Document(asked) | On::Attachment(AttachmentPath { document: asked, .. }),
        ) => {
            let names = (granted.document.as_str(), asked.document.as_str());
            same_document(found, names, Under::Key(key.as_ref())).await?
        }
        (Link::Attachment(granted), On::Attachment(asked)) => {
            same_attachment(found, (granted, asked), Under::Key(key.as_ref())).await?
        }
        (Link::Script(granted), On::Script(asked)) => same_script(catalog, granted, asked),
        _ => false,
    };
    Ok(if is_same { Reach::Within } else { Reach::Elsewhere })
}

/// Whether two permissions are on the same resource.
pub(crate) async fn is_same(view: &View, one: &Link, other: &Link) -> Result<bool, Error> {
    let catalog = &view.catalog;
    let is_there = |one: &CollectionPath, other| same_collection(catalog, one, other);
    let found = one.collection().and_then(|path| view.collection(path).ok()).map(|it| &**it);
    Ok(match (one, other) {
        (Link::Database(one), Link::Database(other)) => same_database(catalog, one, other),
        (Link::Collection(one), Link::Collection(other)) => is_there(one, other),
        (Link::Document(one), Link::Document(other)) => {
            let names = (one.document.as_str(), other.document.as_str());
            is_there(&one.collection, &other.collection)
                && same_document(found, names, Under::Any).await?
        }
        (Link::Attachment(one), Link::Attachment(other)) => {
            is_there(&one.document.collection, &other.document.collection)
                && same_attachment(found, (one, other), Under::Any).await?
        }
        (Link::Script(one), Link::Script(other)) => {
            is_there(&one.collection, &other.collection) && same_script(catalog, one, other)
        }
        _ => false,
    })
}

/// Compares by name when a database does not exist.
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

/// Compares scripts of the same collection.
fn same_script(catalog: &Catalog, one: &ScriptPath, other: &ScriptPath) -> bool {
    let meant = |path: &ScriptPath| {
        let collection = catalog.collection(&path.collection).ok()?;
        collection.scripts.find(path.kind, &path.script).map(|script| script.rid)
    };
    one.kind == other.kind
        && (one.script == other.script || meant(one).is_some() && meant(one) == meant(other))
}

/// The attachment that media belong to, by its rids; `None` if `media` is not a valid name.
pub(crate) fn of_media(media: &str) -> Option<AttachmentPath> {
    let AttachmentRid { document, .. } = AttachmentRid::parse(media)?;
    let collection = CollectionPath {
        database: DatabasePath(document.collection.database.to_string()),
        collection: document.collection.to_string(),
    };
    let document = DocumentPath { collection, document: document.to_string() };
    Some(AttachmentPath { document, attachment: media.to_owned() })
}
