//! Documents: where they are stored, and how one is read. Writing them is in [`write`] and
//! [`batch`].

pub(crate) mod attachments;
pub(crate) mod batch;
pub(crate) mod clear;
mod incoming;
mod operations;
pub(crate) mod patch;
mod patching;
mod room;
pub(crate) mod scripted;
mod seen;
mod stage;
mod staged;
pub(crate) mod staging;
pub(crate) mod sweep;
pub(crate) mod twins;
pub(crate) mod unique;
mod view;
pub(crate) mod write;

use std::sync::Arc;

use bytes::Bytes;
use partition::{
    Partition,
    budget::{Admission, Asked, Kind},
    charge::Meter,
    errors,
    keys::{self, LogicalKey},
    rows::{Damaged, Header, Primary},
    text::user_bytes,
};
use protocol::{
    Body, Error, Meta, Options, Outcome, Response,
    etag::Etag,
    request::DocumentPath,
    rid::{ChildKind, ChildRid},
};
use query::{
    expiry::is_expired,
    scope::{document_key, header_key},
    served::{Served, check_intended},
};
use value::{json, partition_key::PartitionKey};

use crate::{
    Inner,
    call::Call,
    conditions::{is_unchanged, require_match},
    documents::{
        seen::Seen,
        stage::{Done, Stage},
    },
    missing_collection, usage,
};

/// Where a document's logical key is stored.
struct Place<'a> {
    collection: &'a Served,
    partition: &'a Arc<Partition>,
    key: LogicalKey,
    /// Unpublished rows that a writer of the key has read there.
    seen: Seen,
}

impl<'a> Place<'a> {
    /// The place of a key, if its partition is open here.
    fn of(collection: &'a Served, key: &PartitionKey) -> Result<Self, Error> {
        let slot = collection.slot(key);
        let partition = collection.partition_of(slot, key)?;
        let key = LogicalKey::new(slot, key);
        Ok(Self { collection, partition, key, seen: Seen::default() })
    }

    /// Notes a request's charge on its key.
    fn note_charge(&self, engine: &Inner, meter: &Meter) {
        let now = engine.clock.now_millis();
        self.partition.hot.note(self.key.as_bytes(), meter.total(), now);
    }
}

/// The newest version of a document, and its location.
struct Found {
    primary_key: Bytes,
    primary: Primary,
    header: Header,
    document: Bytes,
}

impl Found {
    fn has_expired(&self, place: &Place<'_>, now: u64) -> bool {
        is_expired(&self.header, &self.document, place.collection, now)
    }
}

pub(crate) async fn read(
    Call { engine, view }: &Call,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    // COMPAT: here the service does not say that the collection is missing.
    let collection = view.collection(&path.collection).map_err(missing_collection)?;
    check_intended(collection, options)?;
    let key = header_key(collection, options)?;
    let place = Place::of(collection, &key)?;
    let content = [path.document.as_bytes(), &[]];
    let asked = Asked::new(Kind::Read, &path.collection, content, options, meter);
    let mut admission = Admission::new(asked);
    admission.enter(engine.now_s(), &place.partition.budget)?;
    let result = read_at(engine, &place, &key, path, options, meter).await;
    admission.settle(engine.now_s(), meter.total());
    place.note_charge(engine, meter);
    result
}

async fn read_at(
    engine: &Inner,
    place: &Place<'_>,
    key: &PartitionKey,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    if options.is_session_read(engine.options.default_consistency) {
        let session = place.partition.check_session(options.session.as_ref());
        session.map_err(|error| refuse(error, place, place.partition.lsn(), meter))?;
    }
    let (snapshot, lsn) = place.partition.read()?;
    let reader = RowReader::Snapshot(&*snapshot);
    let now = engine.clock.now_seconds();
    let Some(found) = locate(place, key, &path.document, &reader, now).await? else {
        return Err(refuse(Error::not_found(), place, lsn, meter));
    };
    let mut meta = Meta { item_lsn: Some(found.primary.lsn), ..Meta::default() };
    describe(&mut meta, place, lsn);
    meta.quota_lists = usage::lists(engine, place.collection, options);
    let Done { outcome, etag, document } = read_found(found, options, meter);
    let body = if document.is_empty() { Body::Empty } else { Body::Resource(document) };
    let etag = etag.map(Etag::text);
    Ok(Response { outcome, body, etag, continuation: None, meta })
}

/// The answer to a reader of a document: empty if the reader already has this version.
fn read_found(found: Found, options: &Options, meter: &mut Meter) -> Done {
    let etag = found.primary.etag;
    let (outcome, document) = if is_unchanged(options, etag) {
        meter.lookup();
        (Outcome::NotModified, Bytes::new())
    } else {
        meter.read(user_bytes(found.document.len()));
        (Outcome::Ok, found.document)
    };
    Done { outcome, etag: Some(etag), document }
}

/// Completes an error that found nothing to do: it is charged for the look-up and has session and
/// owner.
fn refuse(mut error: Error, place: &Place<'_>, lsn: u64, meter: &mut Meter) -> Error {
    meter.lookup();
    describe(&mut error.meta, place, lsn);
    error
}

/// Refuses a writer who expects another version.
fn check_etag(
    options: &Options,
    old: &Found,
    place: &Place<'_>,
    meter: &mut Meter,
) -> Result<(), Error> {
    require_match(options, old.primary.etag)
        .map_err(|error| refuse(error, place, place.partition.lsn(), meter))
}

/// How rows are read: readers see published rows; writers also see queued ones and their own
/// changes.
enum RowReader<'a> {
    Snapshot(&'a dyn store::Snapshot),
    Newest(&'a Place<'a>),
    Staged(&'a Stage<'a>),
}

impl RowReader<'_> {
    async fn get(&self, key: Bytes) -> Result<Option<Bytes>, Error> {
        let rows = match self {
            Self::Snapshot(snapshot) => {
                snapshot.get_many(&[key]).await.map_err(errors::from_store)?
            }
            Self::Newest(place) => place.newest(&[key]).await?,
            Self::Staged(stage) => return Box::pin(stage.row(key)).await,
        };
        Ok(rows.into_iter().next().flatten())
    }
}

/// Finds a document by rid or, failing that, by id. Treats an expired one as missing.
///
/// The rid comes first: nobody may take over a document's links by giving its rid to another
/// document as id.
async fn locate(
    place: &Place<'_>,
    key: &PartitionKey,
    name: &str,
    reader: &RowReader<'_>,
    now: u64,
) -> Result<Option<Found>, Error> {
    let is_alive = |found: &Found| !found.has_expired(place, now);
    if let Some(id) = id_of(place, key, name, reader).await?
        && let Some(found) = by_id(place, &id, reader).await?.filter(is_alive)
    {
        return Ok(Some(found));
    }
    Ok(by_id(place, name, reader).await?.filter(is_alive))
}

/// The id of the document with this rid.
async fn id_of(
    place: &Place<'_>,
    key: &PartitionKey,
    rid: &str,
    reader: &RowReader<'_>,
) -> Result<Option<String>, Error> {
    let Some(rid) = ChildRid::parse(rid) else { return Ok(None) };
    if rid.collection != place.collection.rid || rid.kind != ChildKind::Document {
        return Ok(None);
    }
    let Some(row) = reader.get(keys::document(rid.number)).await? else { return Ok(None) };
    let (_, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    let Ok(value) = json::parse(&document) else { return Ok(None) };
    // The caller must name the right partition key, for links by rid as for links by name.
    if document_key(place.collection, &value) != *key {
        return Ok(None);
    }
    Ok(value.get("id").as_str().map(str::to_owned))
}

/// Finds a stored document by its id, expired or not.
async fn by_id(
    place: &Place<'_>,
    id: &str,
    reader: &RowReader<'_>,
) -> Result<Option<Found>, Error> {
    let primary_key = place.key.primary(id);
    let Some(row) = reader.get(primary_key.clone()).await? else { return Ok(None) };
    found(primary_key, &row, reader).await.map(Some)
}

/// The document that a primary row names.
async fn found(primary_key: Bytes, row: &[u8], reader: &RowReader<'_>) -> Result<Found, Error> {
    let primary = Primary::decode(row).map_err(errors::from_damaged)?;
    let row = reader.get(keys::document(primary.docnum)).await?;
    let row = row.ok_or_else(|| errors::from_damaged(Damaged("D")))?;
    let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    Ok(Found { primary_key, primary, header, document })
}

/// Sets session and owner: SDKs need both on every document answer, including a 404.
fn describe(meta: &mut Meta, place: &Place<'_>, lsn: u64) {
    meta.partitions = vec![place.partition.point(lsn)];
    meta.owner = Some(place.collection.owner());
}
