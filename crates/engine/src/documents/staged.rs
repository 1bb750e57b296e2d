//! What a stage has done to one document, and what becomes of it when it is queued.

use bytes::Bytes;
use index::Directive;
use protocol::{Error, rid::DocNum};
use value::Value;

use crate::{
    documents::{Found, Place},
    indexing::{Indexed, TermChange},
    partition::transaction::{DocumentChange, NewVersion, OldVersion, Past},
    rows::{Header, Primary},
};

/// What has become of one document. At least one version is there.
pub(super) struct Staged {
    pub(super) number: DocNum,
    pub(super) document_key: Bytes,
    pub(super) primary_key: Bytes,
    /// The stored version.
    pub(super) old: Option<Found>,
    pub(super) new: Option<Version>,
    /// Whether it goes because its time is over.
    pub(super) is_expired: bool,
    /// The keys under which queries have been shown it, unless it has changed since.
    pub(super) shown: Option<Vec<Bytes>>,
}

/// A version that is to be stored, with what the index must know of it.
pub(super) struct Version {
    pub(super) new: NewVersion,
    pub(super) value: Value,
    pub(super) directive: Directive,
    /// The rows of its unique keys.
    pub(super) unique: Vec<Bytes>,
}

impl Staged {
    /// The rows of the unique keys of its new version.
    pub(super) fn unique(&self) -> &[Bytes] {
        self.new.as_ref().map_or(&[], |version| &version.unique)
    }

    pub(super) fn primary(&self, version: &Version) -> Primary {
        let length = version.new.length();
        // The LSN comes with the others', when the transaction is queued.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Primary { docnum: self.number, etag: version.new.etag, lsn: 0, length }
    }

    pub(super) async fn with_terms(
        self,
        place: &Place<'_>,
        now: u64,
    ) -> Result<DocumentChange, Error> {
        let terms = self.terms(place).await?;
        let (old, past) = (self.old_version(place), self.past(place, now));
        let Staged { number, primary_key, new, is_expired: expired, .. } = self;
        let new = new.map(|version| version.new);
        Ok(DocumentChange { docnum: number, primary_key, old, new, terms, expired, past })
    }

    /// The same, while it may still change.
    pub(super) async fn to_change(
        &self,
        place: &Place<'_>,
        now: u64,
    ) -> Result<DocumentChange, Error> {
        let terms = self.terms(place).await?;
        let (old, past) = (self.old_version(place), self.past(place, now));
        let new = self.new.as_ref().map(|version| version.new.clone());
        let primary_key = self.primary_key.clone();
        let (docnum, expired) = (self.number, self.is_expired);
        Ok(DocumentChange { docnum, primary_key, old, new, terms, expired, past })
    }

    pub(super) async fn terms(&self, place: &Place<'_>) -> Result<TermChange, Error> {
        let Staged { number, old, new, .. } = self;
        let collection = place.collection;
        let after = new.as_ref().map(|version| Indexed {
            document: &version.value,
            policy: &collection.definition.indexing,
            directive: version.directive,
        });
        let Some(old) = old else {
            return TermChange::between(place.partition, *number, None, after).await;
        };
        let document = old.parse()?;
        let policy = &collection.definition_of(old.header.index_generation).indexing;
        let directive = old.header.index_directive();
        let before = Indexed { document: &document, policy, directive };
        TermChange::between(place.partition, *number, Some(before), after).await
    }

    pub(super) fn old_version(&self, place: &Place<'_>) -> Option<OldVersion> {
        self.old.as_ref().map(|old| {
            let definition = place.collection.definition_of(old.header.index_generation);
            let expiry = old.header.expiry(definition.default_ttl);
            OldVersion { lsn: old.primary.lsn, length: old.primary.length, expiry }
        })
    }

    /// What the history keeps of it.
    pub(super) fn past(&self, place: &Place<'_>, now: u64) -> Option<Past> {
        let previous = self.old.as_ref().map(|old| old.document.clone()).unwrap_or_default();
        place.collection.definition.history_minutes.map(|_| Past { previous, time: now })
    }
}

impl NewVersion {
    /// Bytes of the document.
    pub(super) fn length(&self) -> usize {
        self.row.len() - Header::LENGTH
    }
}
