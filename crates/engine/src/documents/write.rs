//! Writes: create, upsert, replace, patch, delete.
//!
//! Every write takes the same path: parse once, find the logical key, wait for room, lock the key,
//! read the newest version, check, stage document and index terms, sequence, unlock, wait for
//! publication, answer. A write that was staged by an indexing policy which has changed meanwhile
//! is staged again.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use partition::{
    Partition, Refused,
    budget::{Admission, Asked, Kind},
    charge::Meter,
    errors,
};
use protocol::{
    Body, Error, Meta, Options, Owner, Response,
    etag::Etag,
    patch::{Patch, Pointer},
    request::{CollectionPath, DocumentPath},
    response::QuotaLists,
};
use query::{
    scope::{header_key, key_in_body},
    served::Served,
};
use value::partition_key::PartitionKey;

use crate::{
    call::Call,
    documents::{
        Place,
        incoming::Incoming,
        patching::{Checked, Target},
        scripted::triggers::Triggers,
        seen,
        stage::{Done, Published, Stage},
    },
    usage,
};

/// What is to be written.
pub(crate) enum Write<'a> {
    Create { collection: &'a CollectionPath, body: &'a [u8], upsert: bool },
    Replace { path: &'a DocumentPath, body: &'a [u8] },
    Patch { path: &'a DocumentPath, patch: &'a Patch },
    Delete { path: &'a DocumentPath },
}

/// A write, parsed as far as possible without reading the stored document.
enum Read<'a> {
    Create {
        incoming: Incoming<'a>,
        upsert: bool,
    },
    /// What is wrong with the body is told if the document is there.
    Replace {
        name: &'a str,
        incoming: Result<Incoming<'a>, Error>,
    },
    Patch {
        name: &'a str,
        patch: Checked<'a>,
    },
    Delete {
        name: &'a str,
    },
}

/// How long a write waits for other partitions to take over before it is turned away. The switch of
/// a split takes milliseconds.
const MOVE_PATIENCE: Duration = Duration::from_secs(30);

/// A write that may have to be staged again, by the newest view.
pub(super) struct Retries {
    /// What the next attempt goes by.
    pub(super) call: Call,
    began: Instant,
}

impl Retries {
    pub(super) fn new(call: Call) -> Self {
        Self { call, began: Instant::now() }
    }

    /// How an attempt ended; `None` if it is to be made again, now.
    pub(super) async fn ended<T>(
        &mut self,
        attempt: Result<T, Refused>,
    ) -> Option<Result<T, Error>> {
        match attempt {
            Ok(done) => Some(Ok(done)),
            Err(refused) => self.wait(refused).await.err().map(Err),
        }
    }

    /// Waits until it can be staged again, or says why not.
    pub(super) async fn wait(&mut self, refused: Refused) -> Result<(), Error> {
        match refused {
            Refused::Stale => tokio::task::yield_now().await,
            Refused::Error(error)
                if errors::is_staged_again(error.code) && self.began.elapsed() < MOVE_PATIENCE =>
            {
                self.call.engine.wait_for_move().await;
            }
            Refused::Error(error) => return Err(error),
        }
        self.call.again();
        Ok(())
    }
}

/// A write that is queued or refused, and where. Nothing is held for it any more.
pub(super) struct Queued {
    /// What it did, or why it did nothing.
    pub(super) done: Result<Done, Error>,
    pub(super) published: Published,
    pub(super) partition: Arc<Partition>,
    pub(super) owner: Arc<Owner>,
    /// What is told of the collection.
    pub(super) quota_lists: Option<Arc<QuotaLists>>,
    /// What triggers logged.
    pub(super) log: Option<String>,
}

impl Queued {
    /// Bytes of the document in its answer.
    pub(super) fn document_bytes(&self) -> usize {
        self.done.as_ref().map_or(0, |done| done.document.len())
    }

    /// Whether nothing was done.
    pub(super) fn is_refused(&self) -> bool {
        self.done.is_err()
    }

    /// Waits for publication, of the write or of what it was refused for, and answers.
    pub(super) async fn answer(self) -> Result<Response, Error> {
        let Queued { done, published, partition, owner, quota_lists, log } = self;
        let lsn = published.lsn().await?;
        let Done { outcome, etag, document } =
            done.map_err(|error| seen::at(error, &partition, lsn))?;
        let (partitions, owner) = (vec![partition.point(lsn)], Some(owner));
        let item_lsn = Some(lsn);
        let script_log = log;
        let meta = Meta { item_lsn, partitions, owner, quota_lists, script_log, ..Meta::default() };
        let body = if document.is_empty() { Body::Empty } else { Body::Resource(document) };
        let etag = etag.map(Etag::text);
        Ok(Response { outcome, body, etag, continuation: None, meta })
    }
}

impl<'a> Write<'a> {
    /// Carries out the write.
    pub(crate) async fn run(
        &self,
        call: Call,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let (mut retries, before) = (Retries::new(call), *meter);
        loop {
            let queued = self.queue(options, meter, &mut retries).await?;
            match queued.answer().await {
                // A refusal that rests on a write which came to nothing is decided again.
                Err(error) if errors::is_staged_again(error.code) => {
                    retries.wait(error.into()).await?;
                    *meter = before;
                }
                answer => return answer,
            }
        }
    }

    /// Carries out the write as far as it must take turns with others: what is left is to wait.
    pub(super) async fn queue(
        &self,
        options: &Options,
        meter: &mut Meter,
        retries: &mut Retries,
    ) -> Result<Queued, Error> {
        let mut admission = Admission::new(self.asked(options, meter));
        loop {
            let mut spent = *meter;
            let attempt = self.attempt(&retries.call, options, &mut spent, &mut admission).await;
            let Some(answer) = retries.ended(attempt).await else { continue };
            *meter = spent;
            admission.settle(retries.call.engine.now_s(), meter.total());
            return answer;
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        options: &Options,
        meter: &mut Meter,
        admission: &mut Admission<'_>,
    ) -> Result<Queued, Refused> {
        let engine = &call.engine;
        let collection = call.collection(self.collection(), options)?;
        if let Some(triggers) = Triggers::of(self, &collection, options)? {
            return triggers.attempt(engine, &collection, meter, admission).await;
        }
        let mut read = self.read(&collection)?;
        let key = match &mut read {
            Read::Create { incoming, .. } => key_in_body(&collection, &incoming.value, options)?,
            Read::Replace { incoming, .. } => replaced_key(&collection, incoming, options)?,
            Read::Patch { .. } | Read::Delete { .. } => header_key(&collection, options)?,
        };
        let place = Place::of(&collection, &key)?;
        admission.enter(engine.now_s(), &place.partition.budget)?;
        let begin = |bytes| Stage::begin(engine, &place, &key, bytes);
        let staged = async {
            let (done, stage) = match read {
                Read::Create { incoming, upsert } => {
                    let mut stage = begin(incoming.body.len()).await?;
                    (stage.create(incoming, upsert, options, meter).await?, stage)
                }
                Read::Replace { name, incoming } => {
                    let length = incoming.as_ref().map_or(0, |incoming| incoming.body.len());
                    let mut stage = begin(length).await?;
                    let id = stage.linked(name).await?;
                    (stage.replace(&id, incoming, options, meter).await?, stage)
                }
                Read::Patch { name, patch } => {
                    let target = Target { place: &place, key: &key, name };
                    patch.run(engine, target, options, meter).await?
                }
                Read::Delete { name } => {
                    let mut stage = begin(0).await?;
                    let id = stage.linked(name).await?;
                    (stage.delete(&id, options, meter).await?, stage)
                }
            };
            Ok((done, stage.commit().await?))
        };
        let staged: Result<_, Refused> = staged.await;
        // A write that will be staged again has cost nothing yet.
        if !staged.as_ref().is_err_and(Refused::is_staged_again) {
            place.note_charge(engine, meter);
        }
        let (done, published) = place.decided(staged)?;
        let partition = Arc::clone(place.partition);
        let quota_lists = usage::lists(engine, &collection, options);
        let owner = collection.owner();
        Ok(Queued { done, published, partition, owner, quota_lists, log: None })
    }

    fn read(&self, collection: &Served) -> Result<Read<'a>, Error> {
        Ok(match *self {
            Write::Create { body, upsert, .. } => {
                Read::Create { incoming: Incoming::parse(body, collection)?, upsert }
            }
            Write::Replace { path, body } => {
                let incoming = match body {
                    [] => Err(no_body()),
                    body => Incoming::parse(body, collection),
                };
                Read::Replace { name: &path.document, incoming }
            }
            Write::Patch { path, patch } => {
                let patch = Checked::new(patch, collection)?;
                Read::Patch { name: &path.document, patch }
            }
            Write::Delete { path } => Read::Delete { name: &path.document },
        })
    }

    pub(super) fn collection(&self) -> &'a CollectionPath {
        match *self {
            Write::Create { collection, .. } => collection,
            Write::Replace { path, .. } | Write::Patch { path, .. } | Write::Delete { path } => {
                &path.collection
            }
        }
    }

    /// The write as something that costs request units.
    fn asked(&self, options: &'a Options, meter: &Meter) -> Asked<'a> {
        let (kind, content) = match *self {
            Write::Create { body, .. } => (Kind::Create, [body, &[]]),
            Write::Replace { path, body } => (Kind::Replace, [body, path.document.as_bytes()]),
            Write::Patch { path, patch } => {
                let first = patch.operations.first().and_then(|it| it.pointers().next());
                let place = first.map_or("", Pointer::text).as_bytes();
                (Kind::Replace, [place, path.document.as_bytes()])
            }
            Write::Delete { path } => (Kind::Delete, [path.document.as_bytes(), &[]]),
        };
        Asked::new(kind, self.collection(), content, options, meter)
    }
}

/// The key of a document that is replaced: the body's or, if something is wrong with that, the
/// header's. Then the body is refused, but only if the document is there.
fn replaced_key(
    collection: &Served,
    incoming: &mut Result<Incoming<'_>, Error>,
    options: &Options,
) -> Result<PartitionKey, Error> {
    let error = match incoming {
        Ok(body) => match key_in_body(collection, &body.value, options) {
            Ok(key) => return Ok(key),
            Err(error) => error,
        },
        Err(error) => error.clone(),
    };
    let key = header_key(collection, options).map_err(|_| error.clone())?;
    *incoming = Err(error);
    Ok(key)
}

/// The service's words.
fn no_body() -> Error {
    Error::bad_request("The request payload is invalid. Ensure to provide a valid request payload.")
}
