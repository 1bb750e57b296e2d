//! The staged changes to one document, and what becomes of them when they are queued.

use bytes::Bytes;
use index::Directive;
use partition::{
    rows::Primary,
    terms::{Indexed, TermChange},
    transaction::{DocumentChange, NewVersion, OldVersion, Past},
};
use protocol::{Error, rid::DocNum};
use value::Value;

use crate::documents::{Found, Place};

/// The changes to one document. It has an old or a new version, or both.
pub(super) struct Staged {
    pub(super) number: DocNum,
    pub(super) document_key: Bytes,
    /// The primary key of its last version.
    pub(super) primary_key: Bytes,
    /// The stored version.
    pub(super) old: Option<Found>,
    pub(super) new: Option<Version>,
    /// Whether it is removed because it has expired.
    pub(super) is_expired: bool,
    /// The keys of the rows that queries were shown for it, unless it has changed since.
    pub(super) shown: Option<Vec<Bytes>>,
}

/// A version to store, with the data that the index needs.
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

    /// The primary key under which it is stored.
    pub(super) fn stored_key(&self) -> Option<&Bytes> {
        self.old.as_ref().map(|old| &old.primary_key)
    }

    /// Whether its id differs from the stored version's.
    pub(super) fn is_moved(&self) -> bool {
        self.stored_key().is_some_and(|stored| *stored != self.primary_key)
    }

    pub(super) fn primary(&self, version: &Version) -> Primary {
        let length = version.new.length();
        // The LSN is set with the others when the transaction is queued.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Primary { docnum: self.number, etag: version.new.etag, lsn: 0, length }
    }

    /// The change with its terms. `kept_at` is the second under which the history keeps it, if it
    /// does.
    pub(super) async fn with_terms(
        self,
        place: &Place<'_>,
        kept_at: Option<u64>,
    ) -> Result<DocumentChange, Error> {
        let mut change = self.without_version(place, kept_at).await?;
        change.new = self.new.map(|version| version.new);
        Ok(change)
    }

    /// A copy for the transaction's own queries, while it may still change. The history does not
    /// keep it yet.
    pub(super) async fn to_change(&self, place: &Place<'_>) -> Result<DocumentChange, Error> {
        let mut change = self.without_version(place, None).await?;
        change.new = self.new.as_ref().map(|version| version.new.clone());
        Ok(change)
    }

    /// The change without the new version itself.
    async fn without_version(
        &self,
        place: &Place<'_>,
        kept_at: Option<u64>,
    ) -> Result<DocumentChange, Error> {
        let stored_key = self.stored_key().cloned();
        let (primary_key, moved_from) = match (&self.new, stored_key) {
            (None, Some(stored)) => (stored, None),
            (_, stored) => (self.primary_key.clone(), stored.filter(|_| self.is_moved())),
        };
        Ok(DocumentChange {
            docnum: self.number,
            primary_key,
            moved_from,
            old: self.old_version(place),
            new: None,
            terms: self.terms(place).await?,
            expired: self.is_expired,
            past: self.past(kept_at),
        })
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
        let directive = old.header.directive;
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

    /// The history's entry for it, if the history keeps it.
    pub(super) fn past(&self, kept_at: Option<u64>) -> Option<Past> {
        let previous = || self.old.as_ref().map(|old| old.document.clone()).unwrap_or_default();
        kept_at.map(|time| Past { previous: previous(), time })
    }
}
