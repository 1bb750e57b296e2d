//! Writes: create, upsert, replace, delete; patches join them in `patching`.
//!
//! Every write takes the same path: parse once, find the logical key, wait for room, lock the key,
//! read the newest version, check, stage document and index terms, sequence, unlock, wait for
//! publication, answer. A write that was staged by an indexing policy which has changed meanwhile
//! is staged again.

use std::time::{Duration, Instant};

use bytes::Bytes;
use index::Directive;
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    etag::Etag,
    request::{CollectionPath, DocumentPath, IndexingDirective},
    rid::DocNum,
};
use value::{Value, json, partition_key::PartitionKey};

use crate::{
    Inner,
    budget::{Admission, Asked, Kind},
    charge::Meter,
    documents::{
        Found, Place, RowReader, check_etag, describe,
        incoming::Incoming,
        locate, patching, refuse, room,
        scope::{header_key, key_in_body},
        staging::Staging,
        text::user_bytes,
    },
    errors,
    indexing::{Indexed, TermChange},
    keys,
    partition::{
        Refused,
        locks::KeyGuard,
        transaction::{DocumentChange, NewVersion, OldVersion, Transaction},
    },
    rows::{Damaged, Header, KeyCounters, Primary},
};

/// What is to be written.
pub(crate) enum Write<'a> {
    Create { collection: &'a CollectionPath, body: &'a [u8], upsert: bool },
    Replace { path: &'a DocumentPath, body: &'a [u8] },
    Patch { path: &'a DocumentPath, body: &'a [u8] },
    Delete { path: &'a DocumentPath },
}

/// How long a write waits for other partitions to take over before it is turned away. The switch of
/// a split takes milliseconds.
const MOVE_PATIENCE: Duration = Duration::from_secs(30);

impl<'a> Write<'a> {
    /// Carries out the write.
    pub(crate) async fn run(
        &self,
        engine: &Inner,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let mut admission = Admission::new(self.asked(options, meter));
        let started = Instant::now();
        loop {
            let mut attempt = *meter;
            let answer = match self.attempt(engine, options, &mut attempt, &mut admission).await {
                Err(Refused::Stale) => {
                    tokio::task::yield_now().await;
                    continue;
                }
                Err(Refused::Error(error))
                    if error.code == Code::PartitionSplitting
                        && started.elapsed() < MOVE_PATIENCE =>
                {
                    engine.wait_for_move().await;
                    continue;
                }
                Err(Refused::Error(error)) => Err(error),
                Ok(response) => Ok(response),
            };
            *meter = attempt;
            admission.settle(engine, meter.total());
            return answer;
        }
    }

    async fn attempt(
        &self,
        engine: &Inner,
        options: &Options,
        meter: &mut Meter,
        door: &mut Admission<'_>,
    ) -> Result<Response, Refused> {
        match *self {
            Write::Create { collection, body, upsert } => {
                create(engine, collection, body, upsert, options, meter, door).await
            }
            Write::Replace { path, body } => {
                replace(engine, path, body, options, meter, door).await
            }
            Write::Patch { path, body } => {
                patching::patch(engine, path, body, options, meter, door).await
            }
            Write::Delete { path } => delete(engine, path, options, meter, door).await,
        }
    }

    /// The same, as something that costs request units.
    fn asked(&self, options: &'a Options, meter: &Meter) -> Asked<'a> {
        let (kind, collection, content) = match *self {
            Write::Create { collection, body, .. } => (Kind::Create, collection, [body, &[]]),
            Write::Replace { path, body } | Write::Patch { path, body } => {
                (Kind::Replace, &path.collection, [body, path.document.as_bytes()])
            }
            Write::Delete { path } => {
                (Kind::Delete, &path.collection, [path.document.as_bytes(), &[]])
            }
        };
        Asked::new(kind, collection, content, options, meter)
    }
}

async fn create(
    engine: &Inner,
    path: &CollectionPath,
    body: &[u8],
    upsert: bool,
    options: &Options,
    meter: &mut Meter,
    admission: &mut Admission<'_>,
) -> Result<Response, Refused> {
    let collection = engine.collection(path, options)?;
    let incoming = Incoming::parse(body, &collection)?;
    let key = key_in_body(&collection, &incoming.value, options)?;
    let place = Place::of(&collection, &key);
    admission.enter(engine, place.partition)?;
    let result = create_at(engine, &place, incoming, upsert, options, meter).await;
    noted(engine, &place, result, meter)
}

async fn create_at(
    engine: &Inner,
    place: &Place<'_>,
    incoming: Incoming<'_>,
    upsert: bool,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Refused> {
    let permit = Staging::begin(place, incoming.body.len()).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let primary_key = place.key.primary(&incoming.id);
    let (old, key_counters) = newest(place, primary_key.clone()).await?;
    if let Some(old) = &old {
        if !upsert {
            return Err(refuse(Error::conflict(), place, place.partition.lsn(), meter).into());
        }
        check_etag(options, old, place, meter)?;
    }
    let staged = Staged { place, guard, key_counters, permit, old, primary_key };
    staged.put(engine, incoming, options, meter).await
}

async fn replace(
    engine: &Inner,
    path: &DocumentPath,
    body: &[u8],
    options: &Options,
    meter: &mut Meter,
    admission: &mut Admission<'_>,
) -> Result<Response, Refused> {
    let collection = engine.collection(&path.collection, options)?;
    let incoming = Incoming::parse(body, &collection)?;
    let key = key_in_body(&collection, &incoming.value, options)?;
    let place = Place::of(&collection, &key);
    admission.enter(engine, place.partition)?;
    let result = replace_at(engine, &place, &key, path, incoming, options, meter).await;
    noted(engine, &place, result, meter)
}

async fn replace_at(
    engine: &Inner,
    place: &Place<'_>,
    key: &PartitionKey,
    path: &DocumentPath,
    incoming: Incoming<'_>,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Refused> {
    let permit = Staging::begin(place, incoming.body.len()).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let reader = RowReader::Newest(place.partition);
    let Some(old) = locate(place, key, &path.document, &reader).await? else {
        return Err(refuse(Error::not_found(), place, place.partition.lsn(), meter).into());
    };
    let primary_key = place.key.primary(&incoming.id);
    if old.primary_key != primary_key {
        return Err(Error::bad_request(
            "The id in the body differs from the id of the document that is replaced.",
        )
        .into());
    }
    check_etag(options, &old, place, meter)?;
    let key_counters = key_counters(place).await?;
    let staged = Staged { place, guard, key_counters, permit, old: Some(old), primary_key };
    staged.put(engine, incoming, options, meter).await
}

async fn delete(
    engine: &Inner,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
    admission: &mut Admission<'_>,
) -> Result<Response, Refused> {
    let collection = engine.collection(&path.collection, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key);
    admission.enter(engine, place.partition)?;
    let result = delete_at(&place, &key, path, options, meter).await;
    noted(engine, &place, result, meter)
}

async fn delete_at(
    place: &Place<'_>,
    key: &PartitionKey,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Refused> {
    let permit = Staging::begin(place, 0).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let reader = RowReader::Newest(place.partition);
    let Some(old) = locate(place, key, &path.document, &reader).await? else {
        return Err(refuse(Error::not_found(), place, place.partition.lsn(), meter).into());
    };
    check_etag(options, &old, place, meter)?;
    let key_counters = key_counters(place).await?;
    let primary_key = old.primary_key.clone();
    let staged = Staged { place, guard, key_counters, permit, old: Some(old), primary_key };
    staged.remove(meter).await
}

/// The result, with its charge noted for its key; a write that will be staged again has none yet.
pub(super) fn noted(
    engine: &Inner,
    place: &Place<'_>,
    result: Result<Response, Refused>,
    meter: &Meter,
) -> Result<Response, Refused> {
    if !matches!(result, Err(Refused::Stale)) {
        place.note_charge(engine, meter);
    }
    result
}

/// A write that has passed its checks and holds the lock of its key.
pub(super) struct Staged<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) guard: KeyGuard<'a>,
    pub(super) key_counters: KeyCounters,
    pub(super) permit: Staging<'a>,
    pub(super) old: Option<Found>,
    pub(super) primary_key: Bytes,
}

impl Staged<'_> {
    /// Writes the new version, of a new document or an old one.
    pub(super) async fn put(
        self,
        engine: &Inner,
        mut incoming: Incoming<'_>,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Refused> {
        let place = self.place;
        let number = match &self.old {
            Some(old) => old.primary.docnum,
            None => place.partition.allocate(place.key.slot)?,
        };
        let directive = directive(options.indexing_directive);
        let mut charged = *meter;
        charge_put(&mut charged, place, &incoming, self.old.is_some(), directive);
        let outcome = if self.old.is_some() { Outcome::Ok } else { Outcome::Created };
        let (new, document) = incoming.compose(engine, place, number, options);
        self.check_room(engine, &new)?;
        *meter = charged;
        let etag = new.etag;
        let policy = &place.collection.definition.indexing;
        let indexed = Indexed { document: &incoming.value, policy, directive };
        let lsn = self.commit(number, Some(new), Some(indexed)).await?;
        Ok(written(place, outcome, document, etag, lsn, options))
    }

    /// Refuses a version that has no room. It costs nothing.
    fn check_room(&self, engine: &Inner, new: &NewVersion) -> Result<(), Error> {
        let place = self.place;
        let old = self.old.as_ref().map_or(0, |old| u64::from(old.primary.length));
        let length = (new.row.len() - Header::LENGTH) as u64;
        room::check(engine, place, self.key_counters, old, length).map_err(|mut error| {
            describe(&mut error.meta, place, place.partition.lsn());
            error
        })
    }

    /// Removes the document.
    async fn remove(self, meter: &mut Meter) -> Result<Response, Refused> {
        let place = self.place;
        let Some(old) = &self.old else { return Err(Error::not_found().into()) };
        let document = old.parse()?;
        let (policy, directive) =
            (&place.collection.definition.indexing, old.header.index_directive());
        let indexed = policy.indexed_values(&document, directive);
        meter.delete(user_bytes(&old.document), indexed);
        let number = old.primary.docnum;
        let lsn = self.commit(number, None, None).await?;
        let mut meta = Meta { item_lsn: Some(lsn), ..Meta::default() };
        describe(&mut meta, place, lsn);
        let outcome = Outcome::Deleted;
        Ok(Response { outcome, body: Body::Empty, etag: None, continuation: None, meta })
    }

    /// Stages the change and its terms, lets the next writer of the key in, and waits for
    /// publication.
    async fn commit(
        self,
        number: DocNum,
        new: Option<NewVersion>,
        indexed: Option<Indexed<'_>>,
    ) -> Result<u64, Refused> {
        let Staged { place, guard, key_counters, permit, old, primary_key } = self;
        let collection = place.collection;
        let terms = match &old {
            None => TermChange::between(place.partition, number, None, indexed).await?,
            Some(old) => {
                let document = old.parse()?;
                let policy = &collection.policy_of(old.header.index_generation);
                let directive = old.header.index_directive();
                let before = Indexed { document: &document, policy, directive };
                TermChange::between(place.partition, number, Some(before), indexed).await?
            }
        };
        let old = old.map(|old| OldVersion {
            lsn: old.primary.lsn,
            length: old.primary.length,
            expiry: old.header.expiry(collection.definition.default_ttl),
        });
        let change = DocumentChange { docnum: number, primary_key, old, new, terms };
        let permit = permit.for_batch(std::slice::from_ref(&change)).await?;
        let transaction = Transaction {
            key: place.key.clone(),
            key_counters,
            changes: vec![change],
            index_generation: collection.index_generation,
            permit: Some(permit),
        };
        let published = place.partition.sequence(transaction)?;
        drop(guard);
        Ok(published.await.map_err(|_| errors::shut_down())??)
    }
}

impl Found {
    pub(super) fn parse(&self) -> Result<Value, Error> {
        json::parse(&self.document).map_err(|_| errors::from_damaged(Damaged("D")))
    }
}

/// The directive of a request, in the words of the index.
fn directive(directive: IndexingDirective) -> Directive {
    match directive {
        IndexingDirective::Default => Directive::Default,
        IndexingDirective::Include => Directive::Include,
        IndexingDirective::Exclude => Directive::Exclude,
    }
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
    let row = row.ok_or_else(|| errors::from_damaged(Damaged("D")))?;
    let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    Ok((Some(Found { primary_key, primary, header, document }), counters))
}

pub(super) async fn key_counters(place: &Place<'_>) -> Result<KeyCounters, Error> {
    match RowReader::Newest(place.partition).get(place.key.counters()).await? {
        Some(row) => KeyCounters::decode(&row).map_err(errors::from_damaged),
        None => Ok(KeyCounters::default()),
    }
}

fn charge_put(
    meter: &mut Meter,
    place: &Place<'_>,
    incoming: &Incoming<'_>,
    is_replace: bool,
    directive: Directive,
) {
    let policy = &place.collection.definition.indexing;
    let indexed = policy.indexed_values(&incoming.value, directive);
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
