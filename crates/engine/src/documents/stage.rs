//! Changes to the documents of one logical key: made under its lock, and queued as one transaction.
//!
//! A single write makes one change, a batch makes several. Later ones see what earlier ones did, and
//! what is queued in the end is the net effect: one change for each document, whatever happened to
//! it on the way.

use std::sync::Arc;

use bytes::Bytes;
use partition::{
    Refused, Sequenced,
    charge::Meter,
    errors, keys,
    locks::{KeyGuard, Turn},
    rows::{Counters, Damaged, KeyCounters},
    text::user_bytes,
    transaction::{NewVersion, Overlay, Transaction},
};
use protocol::{Code, Error, Options, Outcome, etag::Etag, rid::DocNum};
use query::changes::retention;
use store::Snapshot;
use value::{Value, json, partition_key::PartitionKey};

use partition::disk::Effect;

use crate::{
    Inner,
    documents::{
        Found, Place, RowReader, by_id, describe, found, id_of,
        incoming::{Incoming, directive},
        locate, room,
        seen::Unsettled,
        staged::{Staged, Version},
        staging::{self, Staging},
        unique,
        view::Shown,
    },
};

/// A writer that holds the lock of its key.
pub(crate) struct Stage<'a> {
    pub(super) engine: &'a Inner,
    pub(super) place: &'a Place<'a>,
    pub(super) key: &'a PartitionKey,
    room: Staging<'a>,
    guard: KeyGuard<'a>,
    /// The second in which it has the lock: what has expired by then is gone.
    pub(super) now: u64,
    /// `None` until the first document is looked for.
    tally: Option<Tally>,
    pub(super) changes: Vec<Staged>,
    /// What changes beside documents: attachments.
    pub(super) rows: Overlay,
    /// Bytes of media that come and go with them.
    pub(super) media: (u64, u64),
    /// Bytes of documents that were read and made.
    bytes: usize,
    /// What its queries have been shown so far; `None` before the first.
    shown: Option<Shown>,
}

/// The key's counters.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    before: KeyCounters,
    /// With the changes so far.
    now: KeyCounters,
}

/// What an operation has done, for its answer.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) etag: Option<Etag>,
    /// Empty if the caller gets none.
    pub(super) document: Bytes,
}

/// The way to the LSN of an answer.
pub(super) enum Published {
    /// The writer's own changes are queued.
    Own(Sequenced),
    /// It has changed nothing: what it has read of others' must be published.
    Others(Unsettled),
}

impl Published {
    /// Waits until it is durable and visible, for as long as an answer waits for the store.
    pub(super) async fn lsn(self) -> Result<u64, Error> {
        match self {
            Self::Own(sequenced) => sequenced.lsn().await,
            Self::Others(unsettled) => unsettled.lsn().await,
        }
    }
}

impl<'a> Stage<'a> {
    /// Waits for room for so many bytes of documents, and for the key.
    pub(super) async fn begin(
        engine: &'a Inner,
        place: &'a Place<'a>,
        key: &'a PartitionKey,
        bytes: usize,
    ) -> Result<Self, Error> {
        Self::begin_turn(engine, place, key, bytes, Turn::Short).await
    }

    /// Waits for room and for the key, to have it for a turn of this length.
    pub(super) async fn begin_turn(
        engine: &'a Inner,
        place: &'a Place<'a>,
        key: &'a PartitionKey,
        bytes: usize,
        turn: Turn,
    ) -> Result<Self, Error> {
        let guard = staging::wait_for_key(engine, place, bytes, turn).await?;
        let room = Staging::begin(place, bytes).await?;
        Ok(Self::with(engine, place, key, room, guard))
    }

    /// Waits for the key on behalf of a script, which came with so many bytes. Nobody knows how many it will write.
    pub(super) async fn begin_script(
        engine: &'a Inner,
        place: &'a Place<'a>,
        key: &'a PartitionKey,
        bytes: usize,
    ) -> Result<Self, Error> {
        let guard = staging::wait_for_key(engine, place, bytes, Turn::Long).await?;
        Ok(Self::with(engine, place, key, Staging::of_script(place), guard))
    }

    fn with(
        engine: &'a Inner,
        place: &'a Place<'a>,
        key: &'a PartitionKey,
        room: Staging<'a>,
        guard: KeyGuard<'a>,
    ) -> Self {
        let now = engine.clock.now_seconds();
        let (changes, rows, media) = (Vec::new(), Overlay::new(), (0, 0));
        let (tally, bytes, shown) = (None, 0, None);
        Self { engine, place, key, room, guard, now, tally, changes, rows, media, bytes, shown }
    }

    /// Whether a script may go on with what it has made so far.
    pub(super) fn has_room(&self) -> bool {
        self.bytes <= staging::SCRIPT_BYTES_MAX
    }

    /// Bytes of documents that were read and made so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The newest version of the document with this id. One that has expired is none: it goes with
    /// the changes of this stage, so that another can have its id.
    pub(super) async fn newest(&mut self, id: &str) -> Result<Option<Found>, Error> {
        match self.stored(id).await? {
            Some(found) if found.has_expired(self.place, self.now) => {
                self.bury(found).await?;
                Ok(None)
            }
            found => Ok(found),
        }
    }

    /// The newest version of the document with this id, expired or not. A new document costs one
    /// read of the store: the key's counters are read along with the first.
    async fn stored(&mut self, id: &str) -> Result<Option<Found>, Error> {
        let place = self.place;
        if self.tally.is_some() {
            return by_id(place, id, &RowReader::Staged(self)).await;
        }
        let primary_key = place.key.primary(id);
        let rows = place.newest(&[primary_key.clone(), place.key.counters()]).await?;
        self.set_tally(rows.get(1).and_then(Option::as_ref))?;
        match rows.first() {
            Some(Some(row)) => {
                let reader = RowReader::Newest(place);
                found(primary_key, row, &reader).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The id of the document with this rid.
    pub(super) async fn id_of(&self, rid: &str) -> Result<Option<String>, Error> {
        id_of(self.place, self.key, rid, &RowReader::Staged(self)).await
    }

    /// The newest version of the document with this id.
    pub(super) async fn alive(&self, id: &str) -> Result<Option<Found>, Error> {
        let found = by_id(self.place, id, &RowReader::Staged(self)).await?;
        Ok(found.filter(|found| !found.has_expired(self.place, self.now)))
    }

    /// The newest version of the document that a link calls so, by rid or by id.
    pub(super) async fn locate(&self, name: &str) -> Result<Option<Found>, Error> {
        locate(self.place, self.key, name, &RowReader::Staged(self), self.now).await
    }

    /// The id of the document that a link calls so.
    pub(super) async fn linked(&self, name: &str) -> Result<String, Error> {
        match self.id_of(name).await? {
            Some(id) if self.alive(&id).await?.is_some() => Ok(id),
            _ => Ok(name.to_owned()),
        }
    }

    /// A row as the changes so far have left it.
    pub(super) async fn row(&self, key: Bytes) -> Result<Option<Bytes>, Error> {
        for change in &self.changes {
            if change.document_key == key {
                let row = |version: &Version| Bytes::copy_from_slice(&version.new.row);
                return Ok(change.new.as_ref().map(row));
            }
            if let Some(version) = change.new.as_ref().filter(|_| change.primary_key == key) {
                return Ok(Some(change.primary(version).encode()));
            }
        }
        // One document may have left the id, and another taken it: that one was found.
        if self.changes.iter().any(|change| change.stored_key() == Some(&key)) {
            return Ok(None);
        }
        if let Some((_, row)) = self.rows.iter().rev().find(|(other, _)| *other == key) {
            return Ok(row.clone());
        }
        RowReader::Newest(self.place).get(key).await
    }

    /// Writes a version, of a new document or in the place of an old one.
    pub(super) async fn put(
        &mut self,
        mut incoming: Incoming<'_>,
        old: Option<Found>,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let place = self.place;
        let number = match &old {
            Some(old) => old.primary.docnum,
            None => place.partition.allocate(place.key.slot)?,
        };
        let directive = directive(options);
        let policy = &place.collection.definition.indexing;
        let indexed = policy.indexed_values(&incoming.value, directive);
        let outcome = if old.is_some() { Outcome::Ok } else { Outcome::Created };
        let (new, document) = incoming.compose(self.engine, place, number, options);
        let mut charged = *meter;
        match outcome {
            Outcome::Created => charged.create(new.user_bytes(), indexed),
            _ => charged.replace(new.user_bytes(), indexed),
        }
        let unique = unique::rows(&place.collection.definition, &place.key, &incoming.value);
        let claimed = self.claim(number, &unique).await;
        claimed.map_err(|error| self.refuse(error, meter))?;
        let tally = self.tally().await?;
        self.check_room(tally, old.as_ref(), &new).await?;
        *meter = charged;
        let etag = Some(new.etag);
        let primary_key = place.key.primary(&incoming.id);
        let version = Version { new, value: incoming.value, directive, unique };
        self.record(number, primary_key, tally, old, Some(version));
        Ok(Done { outcome, etag, document })
    }

    /// Removes a document.
    pub(super) async fn remove(&mut self, old: Found, meter: &mut Meter) -> Result<Done, Error> {
        self.engine.options.disk.admit(Effect::Shrinks)?;
        let policy = &self.place.collection.definition.indexing;
        let indexed = policy.indexed_values(&old.parse()?, old.header.directive);
        let tally = self.tally().await?;
        meter.delete(user_bytes(old.document.len()), indexed);
        let (number, primary_key) = (old.primary.docnum, old.primary_key.clone());
        self.remove_attachments(number).await?;
        self.record(number, primary_key, tally, Some(old), None);
        Ok(Done { outcome: Outcome::Deleted, etag: None, document: Bytes::new() })
    }

    /// Removes a document that has expired. It costs nothing.
    async fn bury(&mut self, old: Found) -> Result<(), Error> {
        let tally = self.tally().await?;
        let (number, primary_key) = (old.primary.docnum, old.primary_key.clone());
        self.remove_attachments(number).await?;
        self.record(number, primary_key, tally, Some(old), None);
        if let Some(change) = self.changes.iter_mut().find(|change| change.number == number) {
            change.is_expired = true;
        }
        Ok(())
    }

    /// Notes what has become of a document. `old` is the version before this change, which another
    /// change of this stage may have made.
    fn record(
        &mut self,
        number: DocNum,
        primary_key: Bytes,
        tally: Tally,
        old: Option<Found>,
        new: Option<Version>,
    ) {
        let size = |length: usize| (1, length as u64);
        let gone = old.as_ref().map_or((0, 0), |old| size(old.primary.length as usize));
        let come = new.as_ref().map_or((0, 0), |version| size(version.new.length()));
        let mut now = tally.now;
        now.documents = (now.documents + come.0).saturating_sub(gone.0);
        now.bytes = (now.bytes + come.1).saturating_sub(gone.1);
        self.tally = Some(Tally { now, ..tally });
        self.bytes += usize::try_from(gone.1 + come.1).unwrap_or(usize::MAX);
        match self.changes.iter().position(|change| change.number == number) {
            Some(at) if new.is_none() && self.changes[at].old.is_none() => {
                // Made and removed: nothing has happened.
                let gone = self.changes.remove(at);
                if let Some(shown) = &mut self.shown {
                    shown.take_back(gone.shown, &mut self.changes);
                }
            }
            Some(at) => {
                let change = &mut self.changes[at];
                let is_moved = change.is_moved() || change.primary_key != primary_key;
                change.new = new;
                change.primary_key = primary_key;
                match &mut self.shown {
                    Some(shown) if is_moved => {
                        let keys = change.shown.take();
                        shown.take_back(keys, &mut self.changes);
                    }
                    Some(shown) => shown.hide(change),
                    None => {}
                }
            }
            None => {
                let document_key = keys::document(number);
                let (is_expired, shown) = (false, None);
                self.changes.push(Staged {
                    number,
                    document_key,
                    primary_key,
                    old,
                    new,
                    is_expired,
                    shown,
                });
            }
        }
    }

    /// Refuses a version that has no room. It costs nothing.
    async fn check_room(
        &self,
        tally: Tally,
        old: Option<&Found>,
        new: &NewVersion,
    ) -> Result<(), Error> {
        let Self { engine, place, .. } = *self;
        engine.options.disk.admit(Effect::Grows)?;
        let old = old.map_or(0, |old| u64::from(old.primary.length));
        let staged = tally.now.bytes.wrapping_sub(tally.before.bytes).cast_signed();
        let (changes, length) = (&self.changes, new.length() as u64);
        let checked = room::check(engine, place, tally.now, staged, changes, old, length).await;
        checked.map_err(|mut error| {
            place.note_counters();
            describe(&mut error.meta, place, place.partition.lsn());
            error
        })
    }

    pub(super) async fn tally(&mut self) -> Result<Tally, Error> {
        if let Some(tally) = self.tally {
            return Ok(tally);
        }
        let row = RowReader::Newest(self.place).get(self.place.key.counters()).await?;
        self.set_tally(row.as_ref())
    }

    fn set_tally(&mut self, row: Option<&Bytes>) -> Result<Tally, Error> {
        let before = match row {
            Some(row) => KeyCounters::decode(row).map_err(errors::from_damaged)?,
            None => KeyCounters::default(),
        };
        Ok(*self.tally.insert(Tally { before, now: before }))
    }

    /// The partition as the changes so far have left it, for queries. Others may write to it
    /// meanwhile, but not to this key.
    pub(super) async fn view(&mut self) -> Result<Arc<dyn Snapshot>, Error> {
        let Self { place, .. } = *self;
        let tally = self.tally().await?;
        let shown = if let Some(shown) = &mut self.shown {
            shown
        } else {
            // What was queued for this key before must be in the snapshot.
            place.partition.drain_patiently().await?;
            self.shown.insert(Shown::over(place.partition.read()?.0))
        };
        let counters = place.key.counters();
        for change in self.changes.iter_mut().filter(|change| change.shown.is_none()) {
            let transaction = Transaction {
                key: place.key.clone(),
                key_counters: tally.before,
                changes: vec![change.to_change(place).await?],
                // No query asks for rows of unique keys.
                rows: Vec::new(),
                index_generation: place.collection.index_generation,
                permit: None,
            };
            // Which LSN it will have is not known, and no query asks.
            let (batch, ..) = transaction.finish(u64::MAX, &mut Counters::default());
            shown.show(change, batch, &counters);
            if shown.bytes() > staging::TRANSACTION_BYTES_MAX {
                return Err(too_large());
            }
        }
        shown.count(counters, &tally.now);
        Ok(shown.snapshot())
    }

    /// Queues the changes with their terms, and lets the next writer of the key in. They will be
    /// published, whether or not anybody waits for it.
    pub(super) async fn commit(self) -> Result<Published, Refused> {
        let Stage { engine, place, room, guard, now, tally, changes, mut rows, media, .. } = self;
        let is_changed = !changes.is_empty() || !rows.is_empty();
        let Some(Tally { before, .. }) = tally.filter(|_| is_changed) else {
            return Ok(Published::Others(place.unsettled()));
        };
        rows.extend(unique::changes(place, &changes).await?);
        let kept_at = retention(engine, place.collection).map(|_| now);
        let mut with_terms = Vec::with_capacity(changes.len());
        let mut bytes = 0_usize;
        for change in changes {
            let change = change.with_terms(place, kept_at).await?;
            bytes = bytes.saturating_add(staging::size(&change));
            // A document may be as large as it may be, with its index. Several together may not.
            if bytes > staging::TRANSACTION_BYTES_MAX && !with_terms.is_empty() {
                return Err(too_large().into());
            }
            with_terms.push(change);
        }
        let permit = room.for_batch(&with_terms, &rows).await?;
        let transaction = Transaction {
            key: place.key.clone(),
            key_counters: before,
            changes: with_terms,
            rows,
            index_generation: place.collection.index_generation,
            permit: Some(permit),
        };
        let published = place.partition.sequence(transaction)?;
        engine.media.note(media);
        drop(guard);
        Ok(Published::Own(published))
    }
}

impl Found {
    pub(super) fn parse(&self) -> Result<Value, Error> {
        json::parse(&self.document).map_err(|_| errors::from_damaged(Damaged("D")))
    }
}

fn too_large() -> Error {
    let message = "The changes to the index are too large for one transaction.";
    Error::new(Code::TooLarge, message)
}
