//! Media: read and replaced by the rid of their attachment alone, and limited per account.

use std::{
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    limits::MEDIA_TOTAL_BYTES_MAX,
    request::{CollectionPath, DatabasePath, DocumentPath, MediaHead},
    rid::AttachmentRid,
};
use store::{Direction, PageLimit, Snapshot};
use value::{json, partition_key::PartitionKey};

use super::{Write, present};
use partition::{
    Partition,
    attachments::List,
    budget::{Admission, Asked, Kind},
    charge::Meter,
    errors, keys,
    rows::{Damaged, Header},
};
use query::{
    expiry::is_expired,
    scope::document_key,
    served::{Served, View},
};

use crate::{Inner, call::Call};

/// Rows that are summed at a time.
const PAGE: PageLimit = PageLimit { entries: 1024, bytes: 1 << 20 };

/// The link to the media of an attachment.
pub(super) fn link(rid: AttachmentRid) -> String {
    format!("/media/{rid}")
}

pub(crate) async fn read(
    call: &Call,
    media: &str,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let Some(found) = find(call, media).await? else {
        meter.lookup();
        return Err(Error::not_found());
    };
    let engine = &call.engine;
    let Found { path, collection, partition, rid, snapshot, lsn, .. } = found;
    let content = [path.document.as_bytes(), media.as_bytes()];
    let asked = Asked::new(Kind::Read, &path.collection, content, options, meter);
    let mut admission = Admission::new(asked);
    admission.enter(engine.now_s(), &partition.budget)?;
    if options.is_session_read(engine.options.default_consistency) {
        partition.check_session(options.session.as_ref())?;
    }
    let number = rid.document.number;
    let wanted = [keys::attachment(number, rid.number), keys::media(number, rid.number)];
    let mut rows = snapshot.get_many(&wanted).await.map_err(errors::from_store)?.into_iter();
    let (attachment, content) = (rows.next().flatten(), rows.next().flatten());
    match &content {
        Some(content) => meter.read(content.len()),
        None => meter.lookup(),
    }
    admission.settle(engine.now_s(), meter.total());
    // The attachment may link to external media instead.
    let Some(content) = content else { return Err(Error::not_found()) };
    let attachment = present(attachment)?;
    let content_type = attachment.properties.get("contentType").and_then(|it| it.as_str());
    let content_type = content_type.unwrap_or("application/octet-stream").to_owned();
    let partitions = vec![partition.point(lsn)];
    let meta = Meta { partitions, owner: Some(collection.owner()), ..Meta::default() };
    Ok(Response {
        outcome: Outcome::Ok,
        body: Body::Media { content_type, content },
        etag: Some(attachment.etag.to_string()),
        continuation: None,
        meta,
    })
}

pub(crate) async fn replace(
    call: Call,
    media: &str,
    head: MediaHead,
    content: Bytes,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let write = Write::media(media, head, content)?;
    let Some(Found { path, key, .. }) = find(&call, media).await? else {
        meter.lookup();
        return Err(Error::not_found());
    };
    // Requests for media have no partition key; their document has.
    let options = Options { partition_key: Some(key), ..options };
    write.run(call, &path, &options, meter).await
}

/// An attachment, and the document and partition that it is in.
struct Found {
    path: DocumentPath,
    key: PartitionKey,
    collection: Arc<Served>,
    partition: Arc<Partition>,
    rid: AttachmentRid,
    snapshot: Arc<dyn Snapshot>,
    lsn: u64,
}

/// Finds an attachment by its rid alone, asking the partitions that share its slot one after the
/// other. Ignores attachments of expired documents.
async fn find(Call { engine, view }: &Call, media: &str) -> Result<Option<Found>, Error> {
    let Some(rid) = AttachmentRid::parse(media) else { return Ok(None) };
    let (owner, number) = (rid.document.collection, rid.document.number);
    let Some(collection) = view.by_rid(owner) else { return Ok(None) };
    let slot = keys::slot_of(number);
    let wanted = [keys::attachment(number, rid.number), keys::document(number)];
    for partition in collection.partitions.iter().filter(|it| it.range.slots.contains(&slot)) {
        let (snapshot, lsn) = partition.read()?;
        let rows = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
        let [Some(_), Some(document)] = &rows[..] else { continue };
        let (header, text) = Header::decode(document).map_err(errors::from_damaged)?;
        if is_expired(&header, &text, collection, engine.clock.now_seconds()) {
            return Ok(None);
        }
        let document = json::parse(&text).map_err(|_| errors::from_damaged(Damaged("D")))?;
        let path = DocumentPath {
            collection: CollectionPath {
                database: DatabasePath(owner.database.to_string()),
                collection: owner.to_string(),
            },
            document: rid.document.to_string(),
        };
        let key = document_key(collection, &document);
        let (collection, partition) = (Arc::clone(collection), Arc::clone(partition));
        return Ok(Some(Found { path, key, collection, partition, rid, snapshot, lsn }));
    }
    Ok(None)
}

/// The size of all media of the account. It is summed on first use and again after a collection
/// with media was deleted; in between, writes update it.
#[derive(Debug, Default)]
pub(crate) struct MediaUsage(Mutex<Option<u64>>);

impl MediaUsage {
    fn lock(&self) -> MutexGuard<'_, Option<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses media that do not fit. Concurrent writes may together exceed the limit by their own
    /// size.
    pub(super) async fn check(&self, engine: &Inner, bytes: u64) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        let known = *self.lock();
        let used = if let Some(used) = known {
            used
        } else {
            let used = sum(&engine.view()).await?;
            *self.lock().get_or_insert(used)
        };
        check_room(used, bytes)
    }

    /// Updates the sum by the bytes added and removed.
    pub(crate) fn note(&self, (come, gone): (u64, u64)) {
        if let Some(used) = self.lock().as_mut() {
            *used = (*used + come).saturating_sub(gone);
        }
    }

    /// Discards the sum because it is no longer right.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }
}

fn check_room(used: u64, bytes: u64) -> Result<(), Error> {
    if used + bytes > MEDIA_TOTAL_BYTES_MAX {
        return Err(Error::new(
            Code::LimitReached,
            format!("The media of an account may have at most {MEDIA_TOTAL_BYTES_MAX} bytes."),
        ));
    }
    Ok(())
}

async fn sum(view: &View) -> Result<u64, Error> {
    let mut sum = 0;
    for partition in view.partitions() {
        let (snapshot, _) = partition.read()?;
        let end = Bound::Excluded(Bytes::from_static(&[keys::ATTACHMENT + 1]));
        let mut start = Bound::Included(Bytes::from_static(&[keys::ATTACHMENT]));
        loop {
            let page = snapshot.scan((start, end.clone()), Direction::Forward, PAGE).await;
            let page = page.map_err(errors::from_store)?;
            for (key, row) in &page.entries {
                if *key == keys::attachments(keys::u64_at(key, 1).unwrap_or_default()) {
                    sum += List::decode(row).map_err(errors::from_damaged)?.media_bytes();
                }
            }
            match page.entries.last() {
                Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
                _ => break,
            }
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_has_so_much_room_and_no_more() {
        assert!(check_room(MEDIA_TOTAL_BYTES_MAX - 5, 5).is_ok());
        let full = check_room(MEDIA_TOTAL_BYTES_MAX - 5, 6).expect_err("full");
        assert_eq!(full.code, Code::LimitReached);
    }

    #[test]
    fn what_is_known_is_kept_up() {
        let usage = MediaUsage::default();
        usage.note((7, 0));
        assert_eq!(*usage.lock(), None, "it is added up first");
        *usage.lock() = Some(10);
        usage.note((7, 3));
        usage.note((0, 20));
        assert_eq!(*usage.lock(), Some(0), "never below nothing");
        usage.forget();
        assert_eq!(*usage.lock(), None);
    }
}
