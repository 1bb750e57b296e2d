//! Attachments of the 2015 API: small JSON descriptions that belong to a document, perhaps with media
//! of their own. They are stored with the document, written under the lock of its key, and deleted
//! with it in the same transaction. In reading order:
//! - `incoming`: parses and checks what clients send,
//! - `write`: create, replace, delete,
//! - `media`: the media themselves, and their total size,
//! - `inside`: attachments in the transaction of a script.
//!
//! Every row is found by a number in its key, because a writer can see queued rows by key but
//! cannot scan them. So a list row says which attachments exist.

mod incoming;
mod inside;
pub(crate) mod media;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response,
    continuation::Feed,
    request::{AttachmentPath, DocumentPath},
    response::FeedKind,
    rid::{AttachmentRid, ChildRid, DocNum},
};
use store::{Batch, Snapshot};
use value::partition_key::PartitionKey;

pub(crate) use self::write::Write;
use catalog::{number, quoted, to_bytes};
use partition::{
    Partition,
    attachments::{Attachment, Entry, List},
    budget::{Admission, Asked, Kind},
    charge::Meter,
    errors, keys,
    rows::Damaged,
    transaction::Overlay,
};
use query::{
    paging::{Page, page_items, position},
    scope::header_key,
    served::Served,
};

use crate::{
    Inner,
    call::Call,
    conditions::is_unchanged,
    documents::{Place, RowReader, describe, locate, refuse, stage::Stage},
};

pub(crate) async fn read(
    call: &Call,
    path: &AttachmentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let name = path.attachment.as_bytes();
    let mut entered = Entered::at(call, &path.document, name, options, meter)?;
    let answer = entered.read(&call.engine, path, options, meter).await;
    entered.settle(&call.engine, meter);
    answer
}

pub(crate) async fn list(
    call: &Call,
    path: &DocumentPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let mut entered = Entered::at(call, path, b"", options, meter)?;
    let answer = entered.list(&call.engine, path, options, meter).await;
    entered.settle(&call.engine, meter);
    answer
}

/// A reader that the partition of its key has admitted.
struct Entered<'a> {
    collection: Arc<Served>,
    key: PartitionKey,
    admission: Admission<'a>,
    /// The request's charge before it was admitted.
    charged: f64,
}

/// A document's attachments as published.
struct Looked {
    document: ChildRid,
    list: List,
    snapshot: Arc<dyn Snapshot>,
    meta: Meta,
}

impl<'a> Entered<'a> {
    fn at(
        call: &Call,
        path: &'a DocumentPath,
        name: &'a [u8],
        options: &'a Options,
        meter: &Meter,
    ) -> Result<Self, Error> {
        let collection = call.collection(&path.collection, options)?;
        let key = header_key(&collection, options)?;
        let content = [path.document.as_bytes(), name];
        let asked = Asked::new(Kind::Read, &path.collection, content, options, meter);
        let mut admission = Admission::new(asked);
        let place = Place::of(&collection, &key)?;
        admission.enter(call.engine.now_s(), &place.partition.budget)?;
        Ok(Self { collection, key, admission, charged: meter.total() })
    }

    /// Charges the partition for the work done since the request was admitted.
    fn settle(&mut self, engine: &Inner, meter: &Meter) {
        let charge = meter.total() - self.charged;
        self.admission.settle(engine.now_s(), charge);
        let Ok(place) = Place::of(&self.collection, &self.key) else { return };
        place.partition.hot.note(place.key.as_bytes(), charge, engine.clock.now_millis());
    }

    async fn read(
        &self,
        engine: &Inner,
        path: &AttachmentPath,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let found = self.look(engine, &path.document, options, meter).await?;
        let Looked { document, list, snapshot, meta } = found;
        let Some(entry) = list.find(document, &path.attachment) else {
            meter.lookup();
            return Err(Error { meta: Box::new(meta), ..Error::not_found() });
        };
        let keys = [keys::attachment(document.number, entry.number)];
        let rows = snapshot.get_many(&keys).await.map_err(errors::from_store)?;
        let attachment = present(rows.into_iter().next().flatten())?;
        let etag = Some(attachment.etag.to_string());
        let (outcome, body) = if is_unchanged(options, attachment.etag) {
            meter.lookup();
            (Outcome::NotModified, Body::Empty)
        } else {
            let body = print(&self.collection, document, entry, &attachment);
            meter.read(body.len());
            (Outcome::Ok, Body::Resource(body))
        };
        Ok(Response { outcome, body, etag, continuation: None, meta })
    }

    /// A page, charged for what it returns.
    async fn list(
        &self,
        engine: &Inner,
        path: &DocumentPath,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let found = self.look(engine, path, options, meter).await?;
        let Looked { document, list, snapshot, meta } = found;
        let owner = document.bytes();
        let after = position(Feed::Attachments, &owner, options)?;
        let is_ahead = |entry: &&Entry| after.is_none_or(|after| u64::from(entry.number) > after);
        // One more than the page may have, to find out whether there are more.
        let limit = page_items(options).saturating_add(1);
        let entries: Vec<&Entry> = list.entries.iter().filter(is_ahead).take(limit).collect();
        let key = |entry: &&Entry| keys::attachment(document.number, entry.number);
        let wanted: Vec<Bytes> = entries.iter().map(key).collect();
        let rows = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
        let mut items = Vec::with_capacity(rows.len());
        for (entry, row) in entries.into_iter().zip(rows) {
            let attachment = present(row)?;
            let item = print(&self.collection, document, entry, &attachment);
            items.push((u64::from(entry.number), item));
        }
        let page = Page::take(Feed::Attachments, &owner, options, items.into_iter(), |item| item)?;
        meter.read(page.bytes());
        Ok(page.answer(document.to_string(), FeedKind::Attachments, meta))
    }

    async fn look(
        &self,
        engine: &Inner,
        path: &DocumentPath,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Looked, Error> {
        let place = Place::of(&self.collection, &self.key)?;
        if options.is_session_read(engine.options.default_consistency) {
            let session = place.partition.check_session(options.session.as_ref());
            session.map_err(|error| refuse(error, &place, place.partition.lsn(), meter))?;
        }
        let (snapshot, lsn) = place.partition.read()?;
        let reader = RowReader::Snapshot(&*snapshot);
        let now = engine.clock.now_seconds();
        let Some(found) = locate(&place, &self.key, &path.document, &reader, now).await? else {
            return Err(refuse(Error::owner_not_found(), &place, lsn, meter));
        };
        let number = found.primary.docnum;
        let list = List::decode_row(reader.get(keys::attachments(number)).await?)?;
        let mut meta = Meta::default();
        describe(&mut meta, &place, lsn);
        let document = self.collection.rid.document(number);
        Ok(Looked { document, list, snapshot, meta })
    }
}

fn present(row: Option<Bytes>) -> Result<Attachment, Error> {
    let row = row.ok_or(Damaged("A")).map_err(errors::from_damaged)?;
    Attachment::decode(&row).map_err(errors::from_damaged)
}

/// An attachment as clients see it.
fn print(collection: &Served, document: ChildRid, entry: &Entry, attachment: &Attachment) -> Bytes {
    let rid = AttachmentRid { document, number: entry.number };
    let mut object = attachment.properties.clone();
    if entry.media.is_some() {
        object.insert("media", media::link(rid));
    }
    object.insert("_rid", rid.to_string());
    object.insert("_ts", number(attachment.ts));
    let owner = format!("{}docs/{document}/", collection.self_link());
    object.insert("_self", format!("{owner}attachments/{rid}/"));
    object.insert("_etag", quoted(attachment.etag));
    to_bytes(object)
}

impl Stage<'_> {
    /// Writes rows that belong to no document, with the bytes of media that they add and remove.
    async fn put_rows(&mut self, rows: Overlay, media: (u64, u64)) -> Result<(), Error> {
        self.tally().await?;
        self.rows.extend(rows);
        self.media = (self.media.0 + media.0, self.media.1 + media.1);
        Ok(())
    }

    /// Removes the attachments of a deleted document.
    pub(super) async fn remove_attachments(&mut self, document: DocNum) -> Result<(), Error> {
        let Some(row) = self.row(keys::attachments(document)).await? else { return Ok(()) };
        let list = List::decode(&row).map_err(errors::from_damaged)?;
        let mut rows = vec![(keys::attachments(document), None)];
        for entry in &list.entries {
            rows.push((keys::attachment(document, entry.number), None));
            if entry.media.is_some() {
                rows.push((keys::media(document, entry.number), None));
            }
        }
        self.put_rows(rows, (0, list.media_bytes())).await
    }
}

/// Copies attachments, one at a time, for a document that is rewritten under another number.
pub(crate) async fn copy(
    from: &dyn Snapshot,
    old: DocNum,
    to: &Partition,
    new: DocNum,
) -> Result<(), Error> {
    let get = async |key| from.get_many(&[key]).await.map_err(errors::from_store);
    let Some(Some(row)) = get(keys::attachments(old)).await?.into_iter().next() else {
        return Ok(());
    };
    let list = List::decode(&row).map_err(errors::from_damaged)?;
    let mut batch = Batch::default();
    batch.put(keys::attachments(new), row);
    for entry in &list.entries {
        let mut pairs =
            vec![(keys::attachment(old, entry.number), keys::attachment(new, entry.number))];
        if entry.media.is_some() {
            pairs.push((keys::media(old, entry.number), keys::media(new, entry.number)));
        }
        for (old, new) in pairs {
            let row = get(old).await?.into_iter().next().flatten();
            batch.put(new, row.ok_or(Damaged("A")).map_err(errors::from_damaged)?);
        }
        to.follow(std::mem::take(&mut batch)).await?;
    }
    if batch.changes.is_empty() { Ok(()) } else { to.follow(batch).await }
}
