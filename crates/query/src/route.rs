//! Routes a request to its owner: a pure function of the request and the catalog.
//!
//! With one process, every request stays here. Several processes share a catalog, and each
//! partition has one owner, which carries out requests for that partition. The catalog's owner
//! carries out those for the catalog, and the process that received a request for several
//! partitions reads each of them at its owner. Keys come from the header; a body is parsed only if
//! there is none.

use std::sync::Arc;

use catalog::{Catalog, Collection, range::Range};
use partition::keys::slot_of;
use protocol::{
    Code, Error, Operation, Options, Request,
    query::QueryFeed,
    request::{BatchKind, BatchMode, BatchOperation, CollectionPath},
    rid::AttachmentRid,
};
use value::{json, partition_key::PartitionKey};

use crate::{
    elsewhere::Target,
    scope::{Scope, document_key, named_key},
};

/// The process that carries out a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The process that received it.
    Here,
    /// The owner of the catalog.
    Catalog,
    /// The owner of this partition.
    Partition(Target),
    /// The process that received it, over these partitions; at least two.
    Several(Vec<Target>),
}

/// The route of a request. If this catalog does not know its resource, the catalog's owner decides,
/// because the resource may be new. A request that cannot be parsed is refused by the process that
/// received it.
#[expect(clippy::too_many_lines, reason = "a table")]
pub fn route(catalog: &Catalog, request: &Request) -> Route {
    let Request { operation, options } = request;
    match operation {
        Operation::ReadAccount | Operation::PlanQuery { .. } => Route::Here,
        Operation::CreateDocument { collection, body, .. } => {
            in_collection(catalog, collection, |collection| of_key(collection, options, Some(body)))
        }
        Operation::ReplaceDocument { path, body } => {
            let path = &path.collection;
            in_collection(catalog, path, |collection| of_key(collection, options, Some(body)))
        }
        Operation::ReadDocument(path)
        | Operation::PatchDocument { path, .. }
        | Operation::DeleteDocument(path)
        | Operation::CreateAttachment { document: path, .. }
        | Operation::ListAttachments(path)
        | Operation::Query { feed: QueryFeed::Attachments(path), .. } => {
            in_collection(catalog, &path.collection, |it| of_key(it, options, None))
        }
        Operation::ReadAttachment(path)
        | Operation::ReplaceAttachment { path, .. }
        | Operation::DeleteAttachment(path) => {
            in_collection(catalog, &path.document.collection, |it| of_key(it, options, None))
        }
        Operation::DeleteByPartitionKey(path) => {
            in_collection(catalog, path, |collection| of_key(collection, options, None))
        }
        Operation::ExecuteProcedure { path, .. } => {
            in_collection(catalog, &path.collection, |it| of_key(it, options, None))
        }
        Operation::ExecuteBatch { collection, operations, mode } => {
            in_collection(catalog, collection, |it| of_batch(it, options, operations, *mode))
        }
        Operation::ReadMedia(media) | Operation::ReplaceMedia { media, .. } => {
            of_media(catalog, media)
        }
        Operation::ListDocuments(path)
        | Operation::ReadChanges { collection: path, .. }
        | Operation::Query { feed: QueryFeed::Documents(path), .. } => {
            in_collection(catalog, path, |collection| of_scope(collection, options))
        }
        Operation::SplitPartition { path, range } | Operation::MergePartitions { path, range } => {
            in_collection(catalog, path, |it| Ok(vec![&it.ranges[it.range_by_id(range)?]]))
        }
        Operation::GivePartitionKey { path, .. } => {
            in_collection(catalog, path, |collection| Ok(collection.ranges.iter().collect()))
        }
        Operation::CreateDatabase { .. }
        | Operation::ReadDatabase(_)
        | Operation::DeleteDatabase(_)
        | Operation::ListDatabases
        | Operation::CreateEncryptionKey { .. }
        | Operation::ReadEncryptionKey(_)
        | Operation::ReplaceEncryptionKey { .. }
        | Operation::ListEncryptionKeys(_)
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
        | Operation::CreateCollection { .. }
        | Operation::ReadCollection(_)
        | Operation::ReplaceCollection { .. }
        | Operation::DeleteCollection(_)
        | Operation::ListCollections(_)
        | Operation::ListPartitionKeyRanges { .. }
        | Operation::ReadPartitionKeyRange { .. }
        | Operation::ListConflicts(_)
        | Operation::ReadConflict { .. }
        | Operation::DeleteConflict { .. }
        | Operation::CreateScript { .. }
        | Operation::ReadScript(_)
        | Operation::ReplaceScript { .. }
        | Operation::DeleteScript(_)
        | Operation::ListScripts { .. }
        | Operation::Query {
            feed:
                QueryFeed::Databases
                | QueryFeed::Collections(_)
                | QueryFeed::PartitionKeyRanges(_)
                | QueryFeed::Offers
                | QueryFeed::Scripts(..)
                | QueryFeed::EncryptionKeys(_)
                | QueryFeed::Users(_)
                | QueryFeed::Permissions(_)
                | QueryFeed::Conflicts(_),
            ..
        }
        | Operation::ReadOffer(_)
        | Operation::ReplaceOffer { .. }
        | Operation::ListOffers => Route::Catalog,
    }
}

/// The route of a request over some ranges of a collection.
fn in_collection<'a>(
    catalog: &'a Catalog,
    path: &CollectionPath,
    ranges: impl FnOnce(&'a Collection) -> Result<Vec<&'a Arc<Range>>, Error>,
) -> Route {
    let Ok(collection) = catalog.collection(path) else { return Route::Catalog };
    match ranges(collection) {
        Ok(ranges) => to(collection, &ranges),
        // An unknown range may be new, too.
        Err(error) if error.code == Code::PartitionGone => Route::Catalog,
        Err(_) => Route::Here,
    }
}

fn to(collection: &Collection, ranges: &[&Arc<Range>]) -> Route {
    let target = |range: &&Arc<Range>| Target {
        collection: collection.rid,
        range: range.id,
        group: range.group.clone(),
    };
    let mut targets: Vec<Target> = ranges.iter().map(target).collect();
    match targets.len() {
        0 => Route::Here,
        1 => Route::Partition(targets.remove(0)),
        _ => Route::Several(targets),
    }
}

/// The range of the key that a request names, or that its document has.
fn of_key<'a>(
    collection: &'a Collection,
    options: &Options,
    body: Option<&[u8]>,
) -> Result<Vec<&'a Arc<Range>>, Error> {
    Ok(vec![range_of(collection, options.partition_key.as_ref(), body)?])
}

fn range_of<'a>(
    collection: &'a Collection,
    named: Option<&PartitionKey>,
    body: Option<&[u8]>,
) -> Result<&'a Arc<Range>, Error> {
    let key = match (named, body) {
        (None, Some(body)) => {
            let document = json::parse(body).map_err(|_| Error::bad_request("not JSON"))?;
            document_key(collection, &document)
        }
        (named, _) => named_key(collection, named)?,
    };
    Ok(&collection.ranges[collection.range_of(collection.slot(&key), &key)])
}

/// The ranges that the operations of a batch concern, each once. A transaction has one key.
fn of_batch<'a>(
    collection: &'a Collection,
    options: &Options,
    operations: &[BatchOperation],
    mode: BatchMode,
) -> Result<Vec<&'a Arc<Range>>, Error> {
    if mode == BatchMode::Atomic {
        return of_key(collection, options, None);
    }
    let mut ranges: Vec<&Arc<Range>> = Vec::new();
    for operation in operations {
        let body = match &operation.kind {
            BatchKind::Create { body }
            | BatchKind::Upsert { body }
            | BatchKind::Replace { body, .. } => Some(&body[..]),
            BatchKind::Read { .. } | BatchKind::Delete { .. } | BatchKind::Patch { .. } => None,
        };
        let named = operation.key.as_ref().or(options.partition_key.as_ref());
        // Each operation has its own result, so an operation without a range fails alone.
        let Ok(range) = range_of(collection, named, body) else { continue };
        if !ranges.iter().any(|it| Arc::ptr_eq(it, range)) {
            ranges.push(range);
        }
    }
    Ok(ranges)
}

/// The ranges that a feed or a query covers.
fn of_scope<'a>(
    collection: &'a Collection,
    options: &Options,
) -> Result<Vec<&'a Arc<Range>>, Error> {
    let scope = Scope::of(collection, options)?;
    Ok(collection.ranges.iter().filter(|range| scope.visits(range)).collect())
}

/// The ranges that share the slot of an attachment's document: its rid does not tell them apart.
fn of_media(catalog: &Catalog, media: &str) -> Route {
    let Some(rid) = AttachmentRid::parse(media) else { return Route::Here };
    let document = rid.document;
    let Some(collection) = catalog.collection_by_rid(document.collection) else {
        return Route::Catalog;
    };
    let slot = slot_of(document.number);
    let ranges: Vec<_> = collection.ranges.iter().filter(|it| it.slots.contains(&slot)).collect();
    to(collection, &ranges)
}
