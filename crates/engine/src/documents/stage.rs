//! Changes to the documents of one logical key: made under its lock, and queued as one transaction.
//!
//! A single write makes one change, a batch makes several. Later ones see what earlier ones did, and
//! what is queued in the end is the net effect: one change for each document, whatever happened to
//! it on the way.

use bytes::Bytes;
use index::Directive;
use protocol::{
    Code, Error, Options, Outcome, etag::Etag, request::IndexingDirective, rid::DocNum,
};
use tokio::sync::oneshot;
use value::{Value, json, partition_key::PartitionKey};

use crate::{
    Inner,
    charge::Meter,
    documents::{
        Found, Place, RowReader, attachments, by_id, describe, found,
        incoming::Incoming,
        locate, room,
        staging::{self, Staging},
        text::user_bytes,
    },
    errors,
    indexing::{Indexed, TermChange},
    keys,
    partition::{
        Refused,
        locks::KeyGuard,
        transaction::{DocumentChange, NewVersion, OldVersion, Overlay, Transaction},
    },
    rows::{Damaged, Header, KeyCounters, Primary},
};

/// A writer that holds the lock of its key.
pub(super) struct Stage<'a> {
    pub(super) engine: &'a Inner,
    pub(super) place: &'a Place<'a>,
    pub(super) key: &'a PartitionKey,
    room: Staging<'a>,
    guard: KeyGuard<'a>,
    /// `None` until the first document is looked for.
    tally: Option<Tally>,
    changes: Vec<Staged>,
    /// What changes beside documents: attachments.
    rows: Overlay,
    /// Bytes of media that come and go with them.
    media: (u64, u64),
    /// Bytes of documents that were read and made.
    bytes: usize,
}

/// The key's counters.
#[derive(Clone, Copy)]
struct Tally {
    before: KeyCounters,
    /// With the changes so far.
    now: KeyCounters,
}

/// What has become of one document. At least one version is there.
struct Staged {
    number: DocNum,
    document_key: Bytes,
    primary_key: Bytes,
    /// The stored version.
    old: Option<Found>,
    new: Option<Version>,
}

/// A version that is to be stored, with what the index must know of it.
struct Version {
    new: NewVersion,
    value: Value,
    directive: Directive,
}

/// What an operation has done, for its answer.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) etag: Option<Etag>,
    /// Empty if the caller gets none.
    pub(super) document: Bytes,
}

/// The way to the LSN of what was queued.
pub(super) enum Published {
    Soon(oneshot::Receiver<Result<u64, Error>>),
    Already(u64),
}

impl Published {
    /// Waits until it is durable and visible.
    pub(super) async fn lsn(self) -> Result<u64, Error> {
        match self {
            Self::Soon(receiver) => receiver.await.map_err(|_| errors::shut_down())?,
            Self::Already(lsn) => Ok(lsn),
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
        let room = Staging::begin(place, bytes).await?;
        let guard = place.partition.lock(place.key.as_bytes()).await;
        let (changes, rows) = (Vec::new(), Overlay::new());
        let (tally, media) = (None, (0, 0));
        Ok(Self { engine, place, key, room, guard, tally, changes, rows, media, bytes: 0 })
    }

    /// Bytes of documents that were read and made so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The newest version of the document with this id. A new document costs one look into the
    /// store: the key's counters are read along with the first.
    pub(super) async fn newest(&mut self, id: &str) -> Result<Option<Found>, Error> {
        let place = self.place;
        if self.tally.is_some() {
            return by_id(place, id, &RowReader::Staged(self)).await;
        }
        let primary_key = place.key.primary(id);
        let rows = place.partition.newest(&[primary_key.clone(), place.key.counters()]).await?;
        self.set_tally(rows.get(1).and_then(Option::as_ref))?;
        match rows.first() {
            Some(Some(row)) => {
                let reader = RowReader::Newest(place.partition);
                found(primary_key, row, &reader).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The newest version of the document with this id or rid.
    pub(super) async fn locate(&self, name: &str) -> Result<Option<Found>, Error> {
        locate(self.place, self.key, name, &RowReader::Staged(self)).await
    }

    /// A row as the changes so far have left it.
    pub(super) async fn row(&self, key: Bytes) -> Result<Option<Bytes>, Error> {
        // The newest first: a document may be deleted, and another made under its id.
        for change in self.changes.iter().rev() {
            if change.primary_key == key {
                return Ok(change.new.as_ref().map(|version| change.primary(version).encode()));
            }
            if change.document_key == key {
                let row = |version: &Version| Bytes::copy_from_slice(&version.new.row);
                return Ok(change.new.as_ref().map(row));
            }
        }
        if let Some((_, row)) = self.rows.iter().rev().find(|(other, _)| *other == key) {
            return Ok(row.clone());
        }
        RowReader::Newest(self.place.partition).get(key).await
    }

    /// Writes rows that are no document's, with the bytes of media that they bring and take.
    pub(super) async fn put_rows(&mut self, rows: Overlay, media: (u64, u64)) -> Result<(), Error> {
        self.tally().await?;
        self.rows.extend(rows);
        self.media = (self.media.0 + media.0, self.media.1 + media.1);
        Ok(())
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
        let directive = directive(options.indexing_directive);
        let mut charged = *meter;
        charge_put(&mut charged, place, &incoming, old.is_some(), directive);
        let outcome = if old.is_some() { Outcome::Ok } else { Outcome::Created };
        let (new, document) = incoming.compose(self.engine, place, number, options);
        let tally = self.tally().await?;
        self.check_room(tally, old.as_ref(), &new)?;
        *meter = charged;
        let etag = Some(new.etag);
        let primary_key = place.key.primary(&incoming.id);
        let version = Version { new, value: incoming.value, directive };
        self.record(number, primary_key, tally, old, Some(version));
        Ok(Done { outcome, etag, document })
    }

    /// Removes a document.
    pub(super) async fn remove(&mut self, old: Found, meter: &mut Meter) -> Result<Done, Error> {
        let policy = &self.place.collection.definition.indexing;
        let indexed = policy.indexed_values(&old.parse()?, old.header.index_directive());
        let tally = self.tally().await?;
        meter.delete(user_bytes(&old.document), indexed);
        let (number, primary_key) = (old.primary.docnum, old.primary_key.clone());
        let (rows, media) = attachments::removal(self, number).await?;
        self.put_rows(rows, (0, media)).await?;
        self.record(number, primary_key, tally, Some(old), None);
        Ok(Done { outcome: Outcome::Deleted, etag: None, document: Bytes::new() })
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
                self.changes.remove(at);
            }
            Some(at) => self.changes[at].new = new,
            None => {
                let document_key = keys::document(number);
                self.changes.push(Staged { number, document_key, primary_key, old, new });
            }
        }
    }

    /// Refuses a version that has no room. It costs nothing.
    fn check_room(&self, tally: Tally, old: Option<&Found>, new: &NewVersion) -> Result<(), Error> {
        let Self { engine, place, .. } = *self;
        let old = old.map_or(0, |old| u64::from(old.primary.length));
        let staged = tally.now.bytes.saturating_sub(tally.before.bytes);
        let length = new.length() as u64;
        room::check(engine, place, tally.now, staged, old, length).map_err(|mut error| {
            describe(&mut error.meta, place, place.partition.lsn());
            error
        })
    }

    async fn tally(&mut self) -> Result<Tally, Error> {
        if let Some(tally) = self.tally {
            return Ok(tally);
        }
        let row = RowReader::Newest(self.place.partition).get(self.place.key.counters()).await?;
        self.set_tally(row.as_ref())
    }

    fn set_tally(&mut self, row: Option<&Bytes>) -> Result<Tally, Error> {
        let before = match row {
            Some(row) => KeyCounters::decode(row).map_err(errors::from_damaged)?,
            None => KeyCounters::default(),
        };
        Ok(*self.tally.insert(Tally { before, now: before }))
    }

    /// Queues the changes with their terms, and lets the next writer of the key in. They will be
    /// published, whether or not anybody waits for it.
    pub(super) async fn commit(self) -> Result<Published, Refused> {
        let Stage { engine, place, room, guard, tally, changes, rows, media, .. } = self;
        let is_changed = !changes.is_empty() || !rows.is_empty();
        let Some(Tally { before, .. }) = tally.filter(|_| is_changed) else {
            drop(guard);
            // What was read may not be published yet.
            place.partition.drain().await?;
            return Ok(Published::Already(place.partition.lsn()));
        };
        let mut with_terms = Vec::with_capacity(changes.len());
        let mut bytes = 0_usize;
        for change in changes {
            let change = change.with_terms(place).await?;
            bytes = bytes.saturating_add(staging::size(&change));
            // A document may be as large as it may be, with its index. Several together may not.
            if bytes > staging::TRANSACTION_BYTES_MAX && !with_terms.is_empty() {
                return Err(Error::new(
                    Code::TooLarge,
                    "The changes to the index are too large for one transaction.",
                )
                .into());
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
        Ok(Published::Soon(published))
    }
}

impl Staged {
    fn primary(&self, version: &Version) -> Primary {
        let length = version.new.length();
        // The LSN comes with the others', when the transaction is queued.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Primary { docnum: self.number, etag: version.new.etag, lsn: 0, length }
    }

    async fn with_terms(self, place: &Place<'_>) -> Result<DocumentChange, Error> {
        let Staged { number, primary_key, old, new, .. } = self;
        let collection = place.collection;
        let after = new.as_ref().map(|version| Indexed {
            document: &version.value,
            policy: &collection.definition.indexing,
            directive: version.directive,
        });
        let terms = match &old {
            None => TermChange::between(place.partition, number, None, after).await?,
            Some(old) => {
                let document = old.parse()?;
                let policy = &collection.policy_of(old.header.index_generation);
                let directive = old.header.index_directive();
                let before = Indexed { document: &document, policy, directive };
                TermChange::between(place.partition, number, Some(before), after).await?
            }
        };
        let old = old.map(|old| OldVersion {
            lsn: old.primary.lsn,
            length: old.primary.length,
            expiry: old.header.expiry(collection.definition.default_ttl),
        });
        let new = new.map(|version| version.new);
        Ok(DocumentChange { docnum: number, primary_key, old, new, terms })
    }
}

impl NewVersion {
    /// Bytes of the document.
    fn length(&self) -> usize {
        self.row.len() - Header::LENGTH
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
