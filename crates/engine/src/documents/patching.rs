//! A patch as a write: the newest version is read under the lock of its key, changed, and staged
//! like a replacement, so that of patches at the same time none is lost.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use protocol::{
    Error, Options, Response, limits::DOCUMENT_BYTES_MAX, request::DocumentPath, rid::ChildRid,
};
use value::{Value, partition_key::PartitionKey};

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
    let length = length(place, path).await? + checked.length;
    let permit = Staging::begin(engine, place, length).await?;
    let guard = place.partition.lock(place.key.as_bytes()).await;
    let reader = RowReader::Newest(place.partition);
    let Some(old) = locate(place, key, &path.document, &reader).await? else {
        return Err(refuse(Error::not_found(), place, place.partition.lsn(), meter).into());
    };
    check_etag(options, &old, place, meter)?;
    let changed = checked.change(engine, place, &old, meter).await;
    let refused = |error, meter: &mut Meter| refuse(error, place, place.partition.lsn(), meter);
    let text = changed.map_err(|error| refused(error, meter))?;
    let incoming =
        Incoming::parse(&text, place.collection).map_err(|error| refused(error, meter))?;
    let key_counters = key_counters(place).await?;
    let primary_key = old.primary_key.clone();
    let staged = Staged { place, guard, key_counters, permit, old: Some(old), primary_key };
    staged.put(engine, incoming, options, meter).await
}

impl Checked {
    /// The text of the new version, if the condition holds for the old one.
    async fn change(
        &self,
        engine: &Inner,
        place: &Place<'_>,
        old: &Found,
        meter: &mut Meter,
    ) -> Result<Vec<u8>, Error> {
        let mut document = old.parse()?;
        if let Some(condition) = &self.condition {
            document = ask(engine, condition, document, meter).await?;
        }
        let keys = &place.collection.definition.partition_key.paths;
        self.patch.apply(&mut document, keys)?;
        self.patch.text(&old.document, &document)
    }
}

/// Gives the document back if the condition holds for it. Only writers of the same key wait for the
/// answer, and no longer than for a page of a query.
async fn ask(
    engine: &Inner,
    condition: &Arc<Condition>,
    document: Value,
    meter: &mut Meter,
) -> Result<Value, Error> {
    let now_millis = engine.clock.now_millis();
    let patience: Duration = engine.options.page_time;
    if !condition.is_slow() {
        let end = Instant::now() + patience;
        condition.check(&document, now_millis, &|| Instant::now() >= end)?;
        return Ok(document);
    }
    let condition = Arc::clone(condition);
    query::apart::run(engine, meter, move |_, is_abandoned| {
        let end = Instant::now() + patience;
        let is_cancelled = || Instant::now() >= end || is_abandoned.load(Ordering::Relaxed);
        condition.check(&document, now_millis, &is_cancelled)?;
        Ok(document)
    })
    .await
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
