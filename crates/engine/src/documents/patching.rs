//! A patch as a write: the newest version is read under the lock of its key, changed, and staged
//! like a replacement, so that of patches at the same time none is lost.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use protocol::{
    Code, Error, Options, Response, etag::Etag, limits::DOCUMENT_BYTES_MAX, request::DocumentPath,
    rid::ChildRid,
};
use value::partition_key::PartitionKey;

use crate::{
    Inner,
    budget::Admission,
    charge::Meter,
    documents::{
        Found, Place, RowReader, check_etag,
        incoming::Incoming,
        locate,
        patch::{Condition, Patch},
        refuse,
        scope::header_key,
        staging::Staging,
        write::{Staged, key_counters, noted},
    },
    errors,
    partition::Refused,
    query,
    rows::Primary,
};

/// How often a condition that takes long is asked before the caller is told to come again: others
/// may change the document meanwhile.
const ATTEMPTS_MAX: usize = 8;

/// What takes no longer may be done under the lock of a key.
const QUICK: Duration = Duration::from_millis(10);

/// A patch in a collection, checked as far as it can be without the document.
struct Checked {
    patch: Patch,
    /// How long its body was: about as much as the document can grow by it.
    length: usize,
    condition: Option<Arc<Condition>>,
}

pub(super) async fn patch(
    engine: &Inner,
    path: &DocumentPath,
    body: &[u8],
    options: &Options,
    meter: &mut Meter,
    admission: &mut Admission<'_>,
) -> Result<Response, Refused> {
    let collection = engine.collection(&path.collection, options)?;
    let patch = Patch::parse(body)?;
    patch.check_keys(&collection.definition.partition_key.paths)?;
    let condition = patch.condition(&collection)?.map(Arc::new);
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key);
    admission.enter(engine, place.partition)?;
    let checked = Checked { patch, length: body.len(), condition };
    let result = patch_at(engine, &place, &key, path, &checked, options, meter).await;
    noted(engine, &place, result, meter)
}

async fn patch_at(
    engine: &Inner,
    place: &Place<'_>,
    key: &PartitionKey,
    path: &DocumentPath,
    checked: &Checked,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Refused> {
    for _ in 0..ATTEMPTS_MAX {
        let asked = checked.ask_apart(engine, place, key, path, meter).await?;
        let length = length(place, path).await? + checked.length;
        let permit = Staging::begin(place, length).await?;
        let guard = place.partition.lock(place.key.as_bytes()).await;
        let old = newest(place, key, path, meter).await?;
        check_etag(options, &old, place, meter)?;
        let Some(text) = checked.change(engine, place, &old, asked, meter)? else { continue };
        let incoming =
            Incoming::parse(&text, place.collection).map_err(|error| told(error, place, meter))?;
        let key_counters = key_counters(place).await?;
        let primary_key = old.primary_key.clone();
        let staged = Staged { place, guard, key_counters, permit, old: Some(old), primary_key };
        return staged.put(engine, incoming, options, meter).await;
    }
    let message = "The document changed again and again while the condition was asked of it.";
    Err(told(Error::new(Code::RetryWith, message), place, meter).into())
}

/// A condition that held for a version of the document, before the key was locked.
#[derive(Clone, Copy)]
struct Held {
    version: Etag,
    /// It took so little time that it may be asked again under the lock.
    is_quick: bool,
}

impl Checked {
    /// Asks a condition that can take long, on a thread of its own and before anything is held that
    /// others wait for. `None` if there is no such condition.
    async fn ask_apart(
        &self,
        engine: &Inner,
        place: &Place<'_>,
        key: &PartitionKey,
        path: &DocumentPath,
        meter: &mut Meter,
    ) -> Result<Option<Held>, Error> {
        let Some(condition) = self.condition.as_ref().filter(|condition| condition.is_slow())
        else {
            return Ok(None);
        };
        let old = newest(place, key, path, meter).await?;
        let (version, document) = (old.primary.etag, old.parse()?);
        let (condition, now_millis) = (Arc::clone(condition), engine.clock.now_millis());
        let patience = engine.options.page_time;
        let asked = query::apart::run(engine, meter, move |_, is_abandoned| {
            let began = Instant::now();
            let is_cancelled =
                || began.elapsed() >= patience || is_abandoned.load(Ordering::Relaxed);
            condition.check(&document, now_millis, &is_cancelled)?;
            Ok(began.elapsed() < QUICK)
        });
        let is_quick = asked.await.map_err(|error| told(error, place, meter))?;
        Ok(Some(Held { version, is_quick }))
    }

    /// The text of the new version, if the condition holds for the old one. `None` if that would
    /// take too long to find out under the lock.
    fn change(
        &self,
        engine: &Inner,
        place: &Place<'_>,
        old: &Found,
        held: Option<Held>,
        meter: &mut Meter,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut document = old.parse()?;
        let is_known = held.is_some_and(|held| held.version == old.primary.etag);
        if let Some(condition) = self.condition.as_ref().filter(|_| !is_known) {
            if held.is_some_and(|held| !held.is_quick) {
                return Ok(None);
            }
            let patience = held.map_or(engine.options.page_time, |_| 10 * QUICK);
            let end = Instant::now() + patience;
            let now_millis = engine.clock.now_millis();
            match condition.check(&document, now_millis, &|| Instant::now() >= end) {
                Err(error) if error.code == Code::Timeout && held.is_some() => return Ok(None),
                answer => answer.map_err(|error| told(error, place, meter))?,
            }
        }
        let keys = &place.collection.definition.partition_key.paths;
        self.patch.apply(&mut document, keys).map_err(|error| told(error, place, meter))?;
        self.patch.text(&old.document, &document).map(Some)
    }
}

/// The newest version, staged or published.
async fn newest(
    place: &Place<'_>,
    key: &PartitionKey,
    path: &DocumentPath,
    meter: &mut Meter,
) -> Result<Found, Error> {
    let found = locate(place, key, &path.document, &RowReader::Newest(place.partition)).await?;
    found.ok_or_else(|| told(Error::not_found(), place, meter))
}

/// A refusal after the document was looked for: it costs that.
fn told(error: Error, place: &Place<'_>, meter: &mut Meter) -> Error {
    refuse(error, place, place.partition.lsn(), meter)
}

/// About how long the document is. Room is taken before the key is locked: whoever holds a lock may
/// not wait for those who have room and wait for the lock.
async fn length(place: &Place<'_>, path: &DocumentPath) -> Result<usize, Error> {
    let name = &path.document;
    let row = RowReader::Newest(place.partition).get(place.key.primary(name)).await?;
    match row {
        Some(row) => {
            let primary = Primary::decode(&row).map_err(errors::from_damaged)?;
            Ok(primary.length as usize)
        }
        None if ChildRid::parse(name).is_some() => Ok(DOCUMENT_BYTES_MAX),
        None => Ok(0),
    }
}
