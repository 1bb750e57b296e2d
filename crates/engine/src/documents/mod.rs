//! Documents: create, upsert, read, replace, delete.
//!
//! Every write takes the same path: parse once, find the logical key, wait for room, lock the key,
//! read the newest version, check, stage, sequence, unlock, wait for publication, answer.

pub(crate) mod scope;
pub(crate) mod text;

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    etag::Etag,
    limits::{DOCUMENT_BYTES_MAX, DOCUMENT_ID_BYTES_MAX},
    request::{CollectionPath, DocumentPath},
    rid::{ChildKind, ChildRid, DocNum},
};
use tokio::sync::OwnedSemaphorePermit;
use value::{
    Value,
    json::{self, Member},
    partition_key::PartitionKey,
};

use crate::{
    Inner,
    catalog::Collection,
    charge::Meter,
    definition::validate_document_id,
    documents::{
        scope::{document_key, header_key, key_in_body},
        text::{own_ttl, user_bytes},
    },
    errors,
    feeds::{is_unchanged, require_match},
    keys::{self, LogicalKey},
    partition::{
        Partition,
        locks::KeyGuard,
        transaction::{DocumentChange, NewVersion, OldVersion, Transaction},
    },
    rows::{Header, KeyCounters, Primary},
};

/// A document on its way in: parsed once.
struct Incoming<'a> {
    body: &'a [u8],
    value: Value,
    members: Vec<Member<'a>>,
    id: String,
    ttl: i32,
}

impl<'a> Incoming<'a> {
    fn parse(body: &'a [u8], collection: &Collection) -> Result<Self, Error> {
        if body.len() > DOCUMENT_BYTES_MAX {
            return Err(Error::new(Code::TooLarge, "Request size is too large"));
        }
        let (value, members) = json::parse_document(body).map_err(|error| {
            Error::bad_request(format!("The input content is invalid JSON: {error}"))
        })?;
        let id = validate_document_id(value.get("id"))?.to_owned();
        let ttl = own_ttl(&value, collection.definition.default_ttl)?;
        Ok(Self { body, value, members, id, ttl })
    }
}

/// Where a document's logical key lives.
struct Place<'a> {
    collection: &'a Collection,
    partition: &'a Arc<Partition>,
    key: LogicalKey,
}

impl<'a> Place<'a> {
    fn of(collection: &'a Collection, key: &PartitionKey) -> Self {
        let slot = collection.slot(key);
        let partition = collection.partition_of_slot(slot);
        Self { collection, partition, key: LogicalKey::new(slot, key) }
    }
}

/// The newest version of a document, and where it is.
struct Found {
    primary_key: Bytes,
    primary: Primary,
    header: Header,
    document: Bytes,
}

impl Found {
    fn old_version(&self, collection: &Collection) -> OldVersion {
        OldVersion {
            lsn: self.primary.lsn,
            length: self.primary.length,
            expiry: self.header.expiry(collection.definition.default_ttl),
        }
    }
}

pub(crate) async fn create(
    engine: &Inner,
    path: &CollectionPath,
    body: &[u8],
    upsert: bool,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = engine.collection(path, options)?;
    let incoming = Incoming::parse(body, &collection)?;
    let key = key_in_body(&collection, &incoming.value, options)?;
    let place = Place::of(&collection, &key);
    let permit = engine.room_for(&place, body.len()).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let primary_key = place.key.primary(&incoming.id);
    let (old, key_counters) = newest(&place, primary_key.clone()).await?;
    if old.is_some() && !upsert {
        return Err(refuse(Error::conflict(), &place, place.partition.lsn(), meter));
    }
    if let Some(old) = &old {
        check_etag(options, old, &place, meter)?;
    }
    let docnum = match &old {
        Some(old) => old.primary.docnum,
        None => place.partition.allocate(place.key.slot)?,
    };
    let (new, document) = compose(engine, &place, &incoming, docnum, options);
    charge_write(meter, &place, &incoming, old.is_some(), options);
    let outcome = if old.is_some() { Outcome::Ok } else { Outcome::Created };
    let etag = new.etag;
    let old = old.map(|old| old.old_version(&collection));
    let change = DocumentChange { docnum, primary_key, old, new: Some(new) };
    let lsn = commit(&place, guard, key_counters, change, permit).await?;
    Ok(written(&place, outcome, document, etag, lsn, options))
}

pub(crate) async fn read(
    engine: &Inner,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = engine.collection(&path.collection, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key);
    if options.is_session_read(engine.options.default_consistency) {
        let session = place.partition.check_session(options.session.as_ref());
        session.map_err(|error| refuse(error, &place, place.partition.lsn(), meter))?;
    }
    let (snapshot, lsn) = place.partition.read();
    let reader = RowReader::Snapshot(&*snapshot);
    let Some(found) = locate(&place, &key, &path.document, &reader).await? else {
        return Err(refuse(Error::not_found(), &place, lsn, meter));
    };
    let etag = found.primary.etag;
    let mut meta = Meta { item_lsn: Some(found.primary.lsn), ..Meta::default() };
    describe(&mut meta, &place, lsn);
    let is_unchanged = is_unchanged(options, etag);
    let (outcome, body) = if is_unchanged {
        meter.lookup();
        (Outcome::NotModified, Body::Empty)
    } else {
        meter.read(user_bytes(&found.document));
        (Outcome::Ok, Body::Resource(found.document))
    };
    Ok(Response { outcome, body, etag: Some(etag.to_string()), continuation: None, meta })
}

pub(crate) async fn replace(
    engine: &Inner,
    path: &DocumentPath,
    body: &[u8],
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = engine.collection(&path.collection, options)?;
    let incoming = Incoming::parse(body, &collection)?;
    let key = key_in_body(&collection, &incoming.value, options)?;
    let place = Place::of(&collection, &key);
    let permit = engine.room_for(&place, body.len()).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let reader = RowReader::Newest(place.partition);
    let Some(old) = locate(&place, &key, &path.document, &reader).await? else {
        return Err(refuse(Error::not_found(), &place, place.partition.lsn(), meter));
    };
    if old.primary_key != place.key.primary(&incoming.id) {
        return Err(Error::bad_request(
            "The id in the body differs from the id of the document that is replaced.",
        ));
    }
    check_etag(options, &old, &place, meter)?;
    let key_counters = key_counters(&place).await?;
    let (new, document) = compose(engine, &place, &incoming, old.primary.docnum, options);
    charge_write(meter, &place, &incoming, true, options);
    let etag = new.etag;
    let change = DocumentChange {
        docnum: old.primary.docnum,
        primary_key: old.primary_key.clone(),
        old: Some(old.old_version(&collection)),
        new: Some(new),
    };
    let lsn = commit(&place, guard, key_counters, change, permit).await?;
    Ok(written(&place, Outcome::Ok, document, etag, lsn, options))
}

pub(crate) async fn delete(
    engine: &Inner,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = engine.collection(&path.collection, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key);
    let permit = engine.room_for(&place, 0).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let reader = RowReader::Newest(place.partition);
    let Some(old) = locate(&place, &key, &path.document, &reader).await? else {
        return Err(refuse(Error::not_found(), &place, place.partition.lsn(), meter));
    };
    check_etag(options, &old, &place, meter)?;
    let value =
        json::parse(&old.document).map_err(|_| errors::from_damaged(crate::rows::Damaged("D")))?;
    let definition = &collection.definition;
    let indexed = definition.indexing.indexed_values(&value, &definition.partition_key);
    meter.delete(user_bytes(&old.document), indexed);
    let change = DocumentChange {
        docnum: old.primary.docnum,
        primary_key: old.primary_key.clone(),
        old: Some(old.old_version(&collection)),
        new: None,
    };
    let key_counters = key_counters(&place).await?;
    let lsn = commit(&place, guard, key_counters, change, permit).await?;
    let mut meta = Meta { item_lsn: Some(lsn), ..Meta::default() };
    describe(&mut meta, &place, lsn);
    Ok(Response {
        outcome: Outcome::Deleted,
        body: Body::Empty,
        etag: None,
        continuation: None,
        meta,
    })
}

/// Stages one change, lets the next writer of the key in, and waits for publication.
async fn commit(
    place: &Place<'_>,
    guard: KeyGuard<'_>,
    key_counters: KeyCounters,
    change: DocumentChange,
    permit: OwnedSemaphorePermit,
) -> Result<u64, Error> {
    let transaction = Transaction {
        key: place.key.clone(),
        key_counters,
        changes: vec![change],
        permit: Some(permit),
    };
    let published = place.partition.sequence(transaction)?;
    drop(guard);
    published.await.map_err(|_| errors::shut_down())?
}

/// An answer that found nothing to do: it costs the look-up, and tells session and owner.
fn refuse(mut error: Error, place: &Place<'_>, lsn: u64, meter: &mut Meter) -> Error {
    meter.lookup();
    describe(&mut error.meta, place, lsn);
    error
}

/// Refuses a writer who knows another version.
fn check_etag(
    options: &Options,
    old: &Found,
    place: &Place<'_>,
    meter: &mut Meter,
) -> Result<(), Error> {
    require_match(options, old.primary.etag)
        .map_err(|error| refuse(error, place, place.partition.lsn(), meter))
}

/// How rows are read: readers see what is published, writers what is staged too.
enum RowReader<'a> {
    Snapshot(&'a dyn store::Snapshot),
    Newest(&'a Partition),
}

impl RowReader<'_> {
    async fn get(&self, key: Bytes) -> Result<Option<Bytes>, Error> {
        let rows = match self {
            Self::Snapshot(snapshot) => {
                snapshot.get_many(&[key]).await.map_err(errors::from_store)?
            }
            Self::Newest(partition) => partition.newest(&[key]).await?,
        };
        Ok(rows.into_iter().next().flatten())
    }
}

/// Finds a document by id or, failing that, by rid.
async fn locate(
    place: &Place<'_>,
    key: &PartitionKey,
    name: &str,
    reader: &RowReader<'_>,
) -> Result<Option<Found>, Error> {
    if let Some(found) = by_id(place, name, reader).await? {
        return Ok(Some(found));
    }
    let Some(rid) = ChildRid::parse(name) else { return Ok(None) };
    if rid.collection != place.collection.rid || rid.kind != ChildKind::Document {
        return Ok(None);
    }
    let Some(row) = reader.get(keys::document(rid.number)).await? else { return Ok(None) };
    let (_, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    let Ok(value) = json::parse(&document) else { return Ok(None) };
    // The caller must name the right partition key, by rid as by name.
    if document_key(place.collection, &value) != *key {
        return Ok(None);
    }
    let Some(id) = value.get("id").as_str() else { return Ok(None) };
    by_id(place, id, reader).await
}

async fn by_id(
    place: &Place<'_>,
    id: &str,
    reader: &RowReader<'_>,
) -> Result<Option<Found>, Error> {
    let primary_key = place.key.primary(id);
    let Some(row) = reader.get(primary_key.clone()).await? else { return Ok(None) };
    let primary = Primary::decode(&row).map_err(errors::from_damaged)?;
    let row = reader.get(keys::document(primary.docnum)).await?;
    let row = row.ok_or_else(|| errors::from_damaged(crate::rows::Damaged("D")))?;
    let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    Ok(Some(Found { primary_key, primary, header, document }))
}

/// The newest version of a document and its key's counters, for a writer: a new document costs one
/// look into the store.
async fn newest(
    place: &Place<'_>,
    primary_key: Bytes,
) -> Result<(Option<Found>, KeyCounters), Error> {
    let rows = place.partition.newest(&[primary_key.clone(), place.key.counters()]).await?;
    let counters = match rows.get(1) {
        Some(Some(row)) => KeyCounters::decode(row).map_err(errors::from_damaged)?,
        _ => KeyCounters::default(),
    };
    let Some(Some(row)) = rows.first() else { return Ok((None, counters)) };
    let primary = Primary::decode(row).map_err(errors::from_damaged)?;
    let row = RowReader::Newest(place.partition).get(keys::document(primary.docnum)).await?;
    let row = row.ok_or_else(|| errors::from_damaged(crate::rows::Damaged("D")))?;
    let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    Ok((Some(Found { primary_key, primary, header, document }), counters))
}

async fn key_counters(place: &Place<'_>) -> Result<KeyCounters, Error> {
    match RowReader::Newest(place.partition).get(place.key.counters()).await? {
        Some(row) => KeyCounters::decode(&row).map_err(errors::from_damaged),
        None => Ok(KeyCounters::default()),
    }
}

/// The new version of a document: its row, and the text that the answer returns.
fn compose(
    engine: &Inner,
    place: &Place<'_>,
    incoming: &Incoming<'_>,
    docnum: DocNum,
    options: &Options,
) -> (NewVersion, Bytes) {
    let ts = engine.clock.now_seconds();
    let etag = engine.new_etag(ts);
    let header = Header {
        lsn: 0,
        ts,
        ttl: incoming.ttl,
        index_generation: place.collection.index_generation,
        directive: options.indexing_directive as u8,
    };
    let rid = place.collection.rid.document(docnum);
    let system = text::System { rid, etag, ts };
    let row = text::compose(&header, incoming.body, &incoming.members, &system);
    let document = if options.minimal_response {
        Bytes::new()
    } else {
        Bytes::copy_from_slice(&row[Header::LENGTH..])
    };
    let expiry = header.expiry(place.collection.definition.default_ttl);
    (NewVersion { etag, ts, expiry, row }, document)
}

fn charge_write(
    meter: &mut Meter,
    place: &Place<'_>,
    incoming: &Incoming<'_>,
    is_replace: bool,
    options: &Options,
) {
    let definition = &place.collection.definition;
    let indexed = match options.indexing_directive {
        protocol::request::IndexingDirective::Exclude => 0,
        _ => definition.indexing.indexed_values(&incoming.value, &definition.partition_key),
    };
    if is_replace {
        meter.replace(incoming.body.len(), indexed);
    } else {
        meter.create(incoming.body.len(), indexed);
    }
}

fn written(
    place: &Place<'_>,
    outcome: Outcome,
    document: Bytes,
    etag: Etag,
    lsn: u64,
    options: &Options,
) -> Response {
    let mut meta = Meta { item_lsn: Some(lsn), ..Meta::default() };
    describe(&mut meta, place, lsn);
    let body = if options.minimal_response { Body::Empty } else { Body::Resource(document) };
    Response { outcome, body, etag: Some(etag.to_string()), continuation: None, meta }
}

/// Session and owner: SDKs need both on every document answer, a 404's too.
fn describe(meta: &mut Meta, place: &Place<'_>, lsn: u64) {
    meta.partitions = vec![place.partition.point(lsn)];
    meta.owner = Some(place.collection.owner());
}

impl Inner {
    /// Waits until the partition keeps up and a write of this size may be staged.
    async fn room_for(
        &self,
        place: &Place<'_>,
        body: usize,
    ) -> Result<OwnedSemaphorePermit, Error> {
        place.partition.admit().await?;
        // The key stands in the primary row and in the key's counters; the rest is small.
        let bytes = body + 2 * place.key.as_bytes().len() + 2 * DOCUMENT_ID_BYTES_MAX;
        let kilobytes = u32::try_from(bytes / 1024 + 1)
            .unwrap_or(crate::STAGED_KILOBYTES_MAX)
            .min(crate::STAGED_KILOBYTES_MAX);
        let staging = Arc::clone(&self.staging);
        staging.acquire_many_owned(kilobytes).await.map_err(|_| errors::shut_down())
    }
}
