//! A patch as a write: the newest version is read under the lock of its key, changed, and staged
//! like a replacement, so that of patches at the same time none is lost.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use protocol::{Error, Options, limits::DOCUMENT_BYTES_MAX, rid::ChildRid};
use value::Value;

use crate::{
    Inner,
    catalog::Collection,
    charge::Meter,
    documents::{
        Found, Place, RowReader, check_etag,
        incoming::Incoming,
        patch::{Condition, Patch},
        stage::{Done, Stage},
    },
    errors, query,
    rows::Primary,
};

/// A patch in a collection, checked as far as it can be without the document.
pub(super) struct Checked {
    patch: Patch,
    condition: Option<Arc<Condition>>,
}

impl Checked {
    pub(super) fn parse(body: &[u8], collection: &Collection) -> Result<Self, Error> {
        let patch = Patch::parse(body)?;
        patch.check_keys(&collection.definition.partition_key.paths)?;
        let condition = patch.condition(collection)?.map(Arc::new);
        Ok(Self { patch, condition })
    }

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

impl Stage<'_> {
    pub(super) async fn patch(
        &mut self,
        name: &str,
        checked: &Checked,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let old = self.existing(name, meter).await?;
        check_etag(options, &old, self.place, meter)?;
        let changed = checked.change(self.engine, self.place, &old, meter).await;
        let text = changed.map_err(|error| self.refuse(error, meter))?;
        let incoming = Incoming::parse(&text, self.place.collection)
            .map_err(|error| self.refuse(error, meter))?;
        self.put(incoming, Some(old), options, meter).await
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
pub(super) async fn length(place: &Place<'_>, name: &str) -> Result<usize, Error> {
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
