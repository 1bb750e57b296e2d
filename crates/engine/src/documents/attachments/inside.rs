//! Attachments inside a script's transaction, which sees its own changes to them.

use bytes::Bytes;
use protocol::{
    Body, Error, Meta, Options, Outcome, continuation::Feed, response::FeedKind, rid::ChildRid,
};

use super::{Write, present, print};
use partition::attachments::List;
use partition::{charge::Meter, keys};
use query::paging::Page;

use crate::{
    conditions::is_unchanged,
    documents::stage::{Done, Stage},
};

/// A page of attachments, and the continuation of the next one.
pub(in crate::documents) type Listed = (Vec<Bytes>, Option<String>);

impl Stage<'_> {
    /// The document that attachments belong to.
    pub(in crate::documents) async fn owner(
        &self,
        document: &str,
        meter: &mut Meter,
    ) -> Result<ChildRid, Error> {
        let found = self.existing(document, meter).await?;
        Ok(self.place.collection.rid.document(found.primary.docnum))
    }

    pub(in crate::documents) async fn read_attachment(
        &self,
        document: ChildRid,
        name: &str,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let list = List::decode_row(self.row(keys::attachments(document.number)).await?)?;
        let Some(entry) = list.find(document, name) else {
            return Err(self.refuse(Error::not_found(), meter));
        };
        let row = self.row(keys::attachment(document.number, entry.number)).await?;
        let attachment = present(row)?;
        let etag = Some(attachment.etag);
        if is_unchanged(options, attachment.etag) {
            meter.lookup();
            return Ok(Done { outcome: Outcome::NotModified, etag, document: Bytes::new() });
        }
        let body = print(self.place.collection, document, entry, &attachment);
        meter.read(body.len());
        Ok(Done { outcome: Outcome::Ok, etag, document: body })
    }

    /// All attachments of a document, with their numbers.
    pub(in crate::documents) async fn attachments(
        &self,
        document: ChildRid,
        meter: &mut Meter,
    ) -> Result<Vec<(u64, Bytes)>, Error> {
        let list = List::decode_row(self.row(keys::attachments(document.number)).await?)?;
        let mut items = Vec::with_capacity(list.entries.len());
        for entry in &list.entries {
            let row = self.row(keys::attachment(document.number, entry.number)).await?;
            let item = print(self.place.collection, document, entry, &present(row)?);
            items.push((u64::from(entry.number), item));
        }
        meter.read(items.iter().map(|(_, item)| item.len()).sum());
        Ok(items)
    }

    /// A page of a document's attachments.
    pub(in crate::documents) async fn list_attachments(
        &self,
        document: ChildRid,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Listed, Error> {
        let items = self.attachments(document, meter).await?;
        let owner = document.bytes();
        let page = Page::take(Feed::Attachments, &owner, options, items.into_iter(), |item| item)?;
        let answer = page.answer(document.to_string(), FeedKind::Attachments, Meta::default());
        let items = match answer.body {
            Body::Feed { items, .. } => items,
            _ => Vec::new(),
        };
        Ok((items, answer.continuation))
    }
}

impl Write<'_> {
    /// Carries out the write inside a transaction.
    pub(in crate::documents) async fn inside(
        &self,
        stage: &mut Stage<'_>,
        document: ChildRid,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let (outcome, answer) = self.stage(stage, document, options, meter).await?;
        let document = answer.map_or_else(Bytes::new, |(body, _)| body);
        Ok(Done { outcome, etag: None, document })
    }
}
