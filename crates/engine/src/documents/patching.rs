//! A patch as a write: it reads the newest version under the lock of its key, changes it, and
//! stages it like a replacement, so that concurrent patches cannot overwrite each other.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use partition::{charge::Meter, errors, rows::Primary};
use protocol::{
    Code, Error, Options, etag::Etag, limits::DOCUMENT_BYTES_MAX, patch::Patch, rid::ChildRid,
};
use query::{execution::apart, served::Served};
use value::{Value, partition_key::PartitionKey};

use crate::{
    Inner,
    documents::{
        Found, Place, RowReader, check_etag,
        incoming::Incoming,
        locate,
        patch::{self, Condition},
        refuse,
        stage::{Done, Stage},
    },
};

/// How often to evaluate a slow condition before telling the caller to retry: others may change the
/// document meanwhile.
const ATTEMPTS_MAX: usize = 8;

/// What takes no longer than this may be done under the lock of a key.
const QUICK: Duration = Duration::from_millis(10);

/// A patch, checked as far as possible without the document.
pub(super) struct Checked<'p> {
    patch: &'p Patch,
    condition: Option<Arc<Condition>>,
}

/// The document to patch.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) key: &'a PartitionKey,
    pub(super) name: &'a str,
}

/// What is known about a slow condition once the key is locked.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// The version of the document for which it held.
    version: Option<Etag>,
    /// Whether a slow condition is evaluated on its own thread for other versions.
    is_apart: bool,
    /// How long evaluating it for another version may take.
    patience: Duration,
}

impl Asked {
    /// Inside a transaction a condition can only be evaluated under the lock: earlier operations
    /// may have changed the document.
    pub(super) fn within(patience: Duration) -> Self {
        Self { version: None, is_apart: true, patience }
    }
}

impl<'p> Checked<'p> {
    pub(super) fn new(patch: &'p Patch, collection: &Served) -> Result<Self, Error> {
        patch::check(patch, &collection.definition.partition_key.paths)?;
        let condition = patch::condition(patch, collection)?.map(Arc::new);
        Ok(Self { patch, condition })
    }

    pub(super) fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Patches a document.
    pub(super) async fn run<'a>(
        &self,
        engine: &'a Inner,
        target: Target<'a>,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<(Done, Stage<'a>), Error> {
        let Target { place, key, name } = target;
        for _ in 0..ATTEMPTS_MAX {
            let asked = self.ask_apart(engine, target, meter).await?;
            let bytes = stored_length(place, name).await? + self.patch.bytes;
            let mut stage = Stage::begin(engine, place, key, bytes).await?;
            let id = stage.linked(name).await?;
            if let Some(done) = stage.patch(&id, self, asked, options, meter).await? {
                return Ok((done, stage));
            }
        }
        let message = "The document kept changing while the condition was evaluated.";
        Err(told(Error::new(Code::RetryWith, message), place, meter))
    }

    /// Evaluates a slow condition on its own thread, before taking anything that others wait for.
    /// `None` if there is no such condition.
    async fn ask_apart(
        &self,
        engine: &Inner,
        Target { place, key, name }: Target<'_>,
        meter: &mut Meter,
    ) -> Result<Option<Asked>, Error> {
        let Some(condition) = self.condition.as_ref().filter(|condition| condition.is_slow())
        else {
            return Ok(None);
        };
        // A snapshot is consistent: without the lock, the newest rows could be of two moments.
        let (snapshot, _) = place.partition.read()?;
        let now = engine.clock.now_seconds();
        let old = locate(place, key, name, &RowReader::Snapshot(&*snapshot), now).await?;
        let old = old.ok_or_else(|| told(Error::not_found(), place, meter))?;
        let (version, document) = (Some(old.primary.etag), old.parse()?);
        let (condition, now_millis) = (Arc::clone(condition), engine.clock.now_millis());
        let patience = engine.options.page_time;
        let asked = apart::run(engine, meter, move |_, is_abandoned| {
            let began = Instant::now();
            let is_cancelled =
                || began.elapsed() >= patience || is_abandoned.load(Ordering::Relaxed);
            condition.check(&document, now_millis, &is_cancelled)?;
            Ok(began.elapsed() < QUICK)
        });
        let is_quick = asked.await.map_err(|error| told(error, place, meter))?;
        // A condition that was slow is not evaluated again while others wait.
        let patience = if is_quick { 10 * QUICK } else { Duration::ZERO };
        Ok(Some(Asked { version, is_apart: false, patience }))
    }

    /// The text of the new version, if the condition holds for the old one. `None` if evaluating it
    /// under the lock would take too long.
    async fn change(
        &self,
        engine: &Inner,
        place: &Place<'_>,
        old: &Found,
        asked: Option<Asked>,
        meter: &mut Meter,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut document = old.parse()?;
        let is_known = asked.is_some_and(|asked| asked.version == Some(old.primary.etag));
        if let Some(condition) = self.condition.as_ref().filter(|_| !is_known) {
            let patience = asked.map_or(engine.options.page_time, |asked| asked.patience);
            if patience.is_zero() {
                return Ok(None);
            }
            let end = Instant::now() + patience;
            let now_millis = engine.clock.now_millis();
            let ask = move |condition: &Condition, document: &Value| {
                condition.check(document, now_millis, &|| Instant::now() >= end)
            };
            let answer = if condition.is_slow() && asked.is_some_and(|asked| asked.is_apart) {
                let (condition, copy) = (Arc::clone(condition), document.clone());
                let task = move |_: &mut Meter, _: &_| ask(&condition, &copy);
                apart::run_with_key(engine, end, meter, task).await
            } else {
                ask(condition, &document)
            };
            match answer {
                Err(error) if error.code == Code::Timeout && asked.is_some() => return Ok(None),
                answer => answer?,
            }
        }
        let keys = &place.collection.definition.partition_key.paths;
        patch::apply(self.patch, &mut document, keys)?;
        patch::text(self.patch, &old.document, &document).map(Some)
    }
}

impl Stage<'_> {
    /// `None` if evaluating the condition under the lock would take too long.
    pub(super) async fn patch(
        &mut self,
        name: &str,
        checked: &Checked<'_>,
        asked: Option<Asked>,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Option<Done>, Error> {
        let old = self.existing(name, meter).await?;
        check_etag(options, &old, self.place, meter)?;
        let changed = checked.change(self.engine, self.place, &old, asked, meter).await;
        let Some(text) = changed.map_err(|error| self.refuse(error, meter))? else {
            return Ok(None);
        };
        let incoming = Incoming::parse(&text, self.place.collection)
            .map_err(|error| self.refuse(error, meter))?;
        self.put(incoming, Some(old), options, meter).await.map(Some)
    }
}

/// An error after the document was looked up, charged for that.
fn told(error: Error, place: &Place<'_>, meter: &mut Meter) -> Error {
    refuse(error, place, place.partition.lsn(), meter)
}

/// The approximate length of the document: how much memory to reserve before reading it under the
/// key's lock.
pub(super) async fn stored_length(place: &Place<'_>, name: &str) -> Result<usize, Error> {
    let row = RowReader::Newest(place).get(place.key.primary(name)).await?;
    match row {
        Some(row) => {
            let primary = Primary::decode(&row).map_err(errors::from_damaged)?;
            Ok(primary.length as usize)
        }
        None if ChildRid::parse(name).is_some() => Ok(DOCUMENT_BYTES_MAX),
        None => Ok(0),
    }
}
