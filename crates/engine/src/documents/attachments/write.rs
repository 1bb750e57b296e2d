//! Writes attachments, under the lock of the document's key and in one transaction.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    limits::ATTACHMENTS_MAX,
    request::{DocumentPath, MediaHead},
    rid::{AttachmentRid, ChildRid},
};

use super::{
    incoming::{Incoming, check_media},
    media, present, print,
};
use partition::{
    Partition, Refused,
    attachments::{Attachment, Entry, List},
    budget::{Admission, Asked, Kind},
    charge::Meter,
    keys,
};
use query::scope::header_key;

use crate::{
    call::Call,
    conditions::require_match,
    documents::{
        Place, seen,
        stage::{Published, Stage},
        write::Retries,
    },
};

/// A write to an attachment.
pub(crate) struct Write<'a> {
    action: Action<'a>,
    /// Bytes that the client sent.
    length: usize,
}

enum Action<'a> {
    Create {
        incoming: Incoming,
        upsert: bool,
    },
    Replace {
        name: &'a str,
        incoming: Incoming,
    },
    /// New media for an attachment that has media.
    Media {
        name: &'a str,
        content_type: String,
        content: Bytes,
    },
    Delete {
        name: &'a str,
    },
}

/// The result of a write: the outcome, and the attachment if it still exists.
type Done = (Outcome, Option<(Bytes, String)>);

/// A write that is queued or refused.
struct Queued {
    done: Result<Done, Error>,
    published: Published,
    partition: Arc<Partition>,
    owner: Arc<protocol::Owner>,
}

impl<'a> Write<'a> {
    pub(crate) fn create(
        body: &Bytes,
        media: Option<MediaHead>,
        upsert: bool,
    ) -> Result<Self, Error> {
        let incoming = match media {
            Some(head) => Incoming::media(head, body.clone())?,
            None => Incoming::parse(body)?,
        };
        let length = incoming.length();
        Ok(Self { action: Action::Create { incoming, upsert }, length })
    }

    pub(crate) fn replace(name: &'a str, body: &[u8]) -> Result<Self, Error> {
        let incoming = Incoming::parse(body)?;
        Ok(Self { action: Action::Replace { name, incoming }, length: body.len() })
    }

    pub(super) fn media(name: &'a str, head: MediaHead, content: Bytes) -> Result<Self, Error> {
        let content_type = head.content_type;
        check_media(&content_type, &content)?;
        let length = content.len();
        Ok(Self { action: Action::Media { name, content_type, content }, length })
    }

    pub(crate) fn delete(name: &'a str) -> Self {
        Self { action: Action::Delete { name }, length: 0 }
    }

    /// Carries out the write.
    pub(crate) async fn run(
        &self,
        call: Call,
        path: &DocumentPath,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let media = match &self.action {
            Action::Create { incoming: Incoming { media: Some(content), .. }, .. }
            | Action::Media { content, .. } => content.len() as u64,
            _ => 0,
        };
        // Before taking any lock: this may have to sum all media.
        let engine = &call.engine;
        if let Err(error) = engine.media.check(engine, media).await {
            // Media that are still queued count, too, in whichever partition they are.
            let until = tokio::time::Instant::now() + engine.options.store_patience;
            seen::settle(seen::everything(&engine.view()), until).await?;
            return Err(error);
        }
        let (kind, name) = match &self.action {
            Action::Create { incoming, .. } => {
                (Kind::Create, incoming.id.as_deref().unwrap_or_default())
            }
            Action::Replace { name, .. } | Action::Media { name, .. } => (Kind::Replace, *name),
            Action::Delete { name } => (Kind::Delete, *name),
        };
        let content = [path.document.as_bytes(), name.as_bytes()];
        let asked = Asked::new(kind, &path.collection, content, options, meter);
        let mut admission = Admission::new(asked);
        let mut retries = Retries::new(call);
        let queued = loop {
            let mut spent = *meter;
            let attempt =
                self.attempt(&retries.call, path, options, &mut spent, &mut admission).await;
            let Some(queued) = retries.ended(attempt).await else { continue };
            *meter = spent;
            admission.settle(retries.call.engine.now_s(), meter.total());
            break queued?;
        };
        let Queued { done, published, partition, owner } = queued;
        let lsn = published.lsn().await?;
        let (outcome, answer) = done.map_err(|error| seen::at(error, &partition, lsn))?;
        let (partitions, owner) = (vec![partition.point(lsn)], Some(owner));
        let meta = Meta { partitions, owner, ..Meta::default() };
        let (body, etag) = match answer {
            Some((body, etag)) => (Body::Resource(body), Some(etag)),
            None => (Body::Empty, None),
        };
        Ok(Response { outcome, body, etag, continuation: None, meta })
    }

    async fn attempt(
        &self,
        call: &Call,
        path: &DocumentPath,
        options: &Options,
        meter: &mut Meter,
        admission: &mut Admission<'_>,
    ) -> Result<Queued, Refused> {
        let engine = &call.engine;
        let collection = call.collection(&path.collection, options)?;
        let key = header_key(&collection, options)?;
        let place = Place::of(&collection, &key)?;
        admission.enter(engine.now_s(), &place.partition.budget)?;
        let staged = async {
            let mut stage = Stage::begin(engine, &place, &key, self.length).await?;
            let Some(document) = stage.locate(&path.document).await? else {
                return Err(stage.refuse(Error::owner_not_found(), meter).into());
            };
            let document = collection.rid.document(document.primary.docnum);
            let done = self.stage(&mut stage, document, options, meter).await?;
            Ok((done, stage.commit().await?))
        };
        let staged: Result<_, Refused> = staged.await;
        if !staged.as_ref().is_err_and(Refused::is_staged_again) {
            place.note_charge(engine, meter);
        }
        let (done, published) = place.decided(staged)?;
        let (partition, owner) = (Arc::clone(place.partition), collection.owner());
        Ok(Queued { done, published, partition, owner })
    }

    /// Checks the write against the stored attachments, and stages its rows.
    pub(super) async fn stage(
        &self,
        stage: &mut Stage<'_>,
        document: ChildRid,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let list = List::decode_row(stage.row(keys::attachments(document.number)).await?)?;
        let Some(old) = self.old(document, &list, stage, meter)? else {
            if list.entries.len() >= ATTACHMENTS_MAX {
                let message = format!("A document may have at most {ATTACHMENTS_MAX} attachments.");
                return Err(Error::new(Code::LimitReached, message));
            }
            return self.put(stage, document, list, None, meter).await;
        };
        let row = stage.row(keys::attachment(document.number, old.number)).await?;
        let stored = present(row)?;
        require_match(options, stored.etag).map_err(|error| stage.refuse(error, meter))?;
        if matches!(self.action, Action::Delete { .. }) {
            meter.delete(0, 0);
            remove(stage, document, list, &old).await?;
            return Ok((Outcome::Deleted, None));
        }
        self.put(stage, document, list, Some((old, stored)), meter).await
    }

    /// The stored attachment that the write changes. Refuses a create if it exists, and any other
    /// write but an upsert if it does not.
    fn old(
        &self,
        document: ChildRid,
        list: &List,
        stage: &Stage<'_>,
        meter: &mut Meter,
    ) -> Result<Option<Entry>, Error> {
        match &self.action {
            Action::Create { incoming: Incoming { id: None, .. }, .. } => Ok(None),
            Action::Create { incoming: Incoming { id: Some(id), .. }, upsert } => {
                // An id must not equal another attachment's rid: it would take over that
                // attachment's links.
                let old = list.find(document, id).cloned();
                if old.as_ref().is_some_and(|old| !upsert || old.id != *id) {
                    return Err(stage.refuse(Error::conflict(), meter));
                }
                Ok(old)
            }
            Action::Replace { name, .. } | Action::Media { name, .. } | Action::Delete { name } => {
                let found = match &self.action {
                    Action::Media { .. } => list.find_linked(document, name),
                    _ => list.find(document, name),
                };
                match found {
                    Some(old) => Ok(Some(old.clone())),
                    None => Err(stage.refuse(Error::not_found(), meter)),
                }
            }
        }
    }

    /// Stages the rows of a new or changed attachment.
    async fn put(
        &self,
        stage: &mut Stage<'_>,
        document: ChildRid,
        mut list: List,
        old: Option<(Entry, Attachment)>,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let (old, stored) = old.unzip();
        let stays = old.as_ref().and_then(|old| old.media);
        let number = old.as_ref().map_or_else(|| list.free_number(document), |old| old.number);
        let rid = AttachmentRid { document, number };
        let New { id, properties, media } = self.new_version(old.as_ref(), stored, rid, &list)?;
        let ts = stage.engine.clock.now_seconds();
        let attachment = Attachment { etag: stage.engine.etags.next(ts), ts, properties };
        let etag = attachment.etag.to_string();
        let gone = stays.map_or(0, u64::from);
        let media_key = keys::media(document.number, number);
        let mut rows = vec![(keys::attachment(document.number, number), Some(attachment.encode()))];
        let (length, change) = match media {
            Media::New(content) => {
                let come = content.len();
                rows.push((media_key, Some(content)));
                (Some(u32::try_from(come).unwrap_or(u32::MAX - 1)), (come as u64, gone))
            }
            Media::Stays => (stays, (0, 0)),
            Media::None => {
                rows.push((media_key, None));
                (None, (0, gone))
            }
        };
        let entry = Entry { number, media: length, id };
        let body = print(stage.place.collection, document, &entry, &attachment);
        let place = list.entries.iter_mut().find(|other| other.number == number);
        let outcome = if let Some(other) = place {
            *other = entry;
            meter.replace(self.length, 0);
            Outcome::Ok
        } else {
            list.next = number + 1;
            list.entries.push(entry);
            meter.create(self.length, 0);
            Outcome::Created
        };
        rows.push((keys::attachments(document.number), Some(list.encode())));
        stage.put_rows(rows, change).await?;
        Ok((outcome, Some((body, etag))))
    }

    /// The new version of an attachment.
    fn new_version(
        &self,
        old: Option<&Entry>,
        stored: Option<Attachment>,
        rid: AttachmentRid,
        list: &List,
    ) -> Result<New, Error> {
        match &self.action {
            Action::Create { incoming, .. } | Action::Replace { incoming, .. } => {
                let id = incoming.id.clone().unwrap_or_else(|| rid.to_string());
                let is_other = |entry: &&Entry| Some(entry.number) != old.map(|old| old.number);
                let taken = list.find(rid.document, &id).filter(is_other);
                if taken.is_some() {
                    return Err(Error::conflict());
                }
                let mut properties = incoming.properties.clone();
                properties.insert("id", id.as_str());
                let link = properties.get("media").and_then(|link| link.as_str());
                let media = match &incoming.media {
                    Some(content) => Media::New(content.clone()),
                    // A client that sends the link back keeps the media.
                    None if old.is_some_and(|old| old.media.is_some())
                        && link == Some(&media::link(rid)) =>
                    {
                        Media::Stays
                    }
                    None => Media::None,
                };
                Ok(New { id, properties, media })
            }
            Action::Media { content_type, content, .. } => {
                let (Some(old), Some(stored)) = (old, stored) else {
                    return Err(Error::not_found());
                };
                if old.media.is_none() {
                    return Err(Error::not_found());
                }
                let mut properties = stored.properties;
                properties.insert("contentType", content_type.as_str());
                Ok(New { id: old.id.clone(), properties, media: Media::New(content.clone()) })
            }
            Action::Delete { .. } => Err(Error::not_found()),
        }
    }
}

/// Stages the removal of an attachment.
async fn remove(
    stage: &mut Stage<'_>,
    document: ChildRid,
    mut list: List,
    old: &Entry,
) -> Result<(), Error> {
    list.entries.retain(|entry| entry.number != old.number);
    let rows = vec![
        (keys::attachments(document.number), Some(list.encode())),
        (keys::attachment(document.number, old.number), None),
        (keys::media(document.number, old.number), None),
    ];
    stage.put_rows(rows, (0, old.media.map_or(0, u64::from))).await
}

/// The new version of an attachment.
struct New {
    id: String,
    properties: value::Object,
    media: Media,
}

/// What happens to an attachment's media.
enum Media {
    /// There are none here, or they are removed.
    None,
    /// They stay unchanged.
    Stays,
    New(Bytes),
}
