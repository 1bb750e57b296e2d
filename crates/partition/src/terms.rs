//! The write path's use of the index: which terms a write adds and removes.

use std::sync::Arc;

use bytes::Bytes;
use index::{Directive, Kind, Policy, Term, Terms, key};
use protocol::{Error, rid::DocNum};
use store::Batch;
use value::Value;

use crate::Partition;

/// Documents that the policy leaves out of the index are listed under an id that no path has.
/// Queries check them in addition to the index's results.
pub(crate) const UNINDEXED_ID: u64 = 0;

/// The term of documents that the policy leaves out of the index.
pub fn unindexed_term() -> Bytes {
    [&key::prefix(Kind::Path, UNINDEXED_ID)[..], &[0x10]].concat().into()
}

impl Indexed<'_> {
    /// Whether there is an index but the document is not in it.
    fn is_left_out(&self) -> bool {
        !self.policy.is_none() && !self.policy.is_indexed(self.directive)
    }
}

/// An index row: its key, and its value, which most kinds of index leave empty.
pub type IndexRow = (Bytes, Bytes);

/// How a document change affects the index. A row whose value changes is in both lists.
#[derive(Clone, Debug, Default)]
pub struct TermChange {
    /// Rows of the old version that the new one does not have.
    pub removed: Vec<IndexRow>,
    /// Rows of the new version that the old one did not have.
    pub added: Vec<IndexRow>,
}

/// A version of a document as the index sees it.
pub struct Indexed<'a> {
    /// The whole document, with its system properties.
    pub document: &'a Value,
    /// The indexing policy that this version follows.
    pub policy: &'a Arc<Policy>,
    /// The indexing directive that the writer sent.
    pub directive: Directive,
}

impl TermChange {
    /// The change from one version of a document to the next.
    pub async fn between(
        partition: &Arc<Partition>,
        number: DocNum,
        old: Option<Indexed<'_>>,
        new: Option<Indexed<'_>>,
    ) -> Result<Self, Error> {
        let old = terms(partition, old).await?;
        let new = terms(partition, new).await?;
        Ok(Self { removed: index_rows(&old, &new, number), added: index_rows(&new, &old, number) })
    }

    /// Bytes of the added rows and of the removed rows.
    pub fn bytes(&self) -> (u64, u64) {
        let bytes = |rows: &[IndexRow]| rows.iter().map(|(key, value)| row_bytes(key, value)).sum();
        (bytes(&self.added), bytes(&self.removed))
    }

    /// Adds the change to a batch. Deletes first, so that a row with a new value survives.
    pub fn write_to(self, batch: &mut Batch) {
        for (key, _) in self.removed {
            batch.delete(key);
        }
        for (key, value) in self.added {
            batch.put(key, value);
        }
    }
}

/// The index row for a document's term.
pub fn index_row(term: Term<'_>, number: DocNum) -> IndexRow {
    let key = [term.key, &number.to_be_bytes()].concat();
    // An empty value allocates nothing.
    (key.into(), Bytes::copy_from_slice(term.value))
}

/// The index rows for the terms of a document's version that another one lacks. Their keys share one
/// buffer, which lives as long as any of them: a store copies the keys that it keeps.
fn index_rows(terms: &Terms, lacking: &Terms, number: DocNum) -> Vec<IndexRow> {
    let number = number.to_be_bytes();
    let mut keys = Vec::with_capacity(terms.size_bytes() + terms.len() * number.len());
    let mut found = Vec::with_capacity(terms.len());
    for term in terms.difference(lacking) {
        keys.extend_from_slice(term.key);
        keys.extend_from_slice(&number);
        found.push((term.key.len() + number.len(), term.value));
    }
    let mut keys = Bytes::from(keys);
    // An empty value allocates nothing.
    let row = |(length, value)| (keys.split_to(length), Bytes::copy_from_slice(value));
    found.into_iter().map(row).collect()
}

/// What an index row adds to the counter of index bytes.
pub fn row_bytes(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64
}

/// The terms of a version, after giving each of its paths an id.
async fn terms(partition: &Arc<Partition>, version: Option<Indexed<'_>>) -> Result<Terms, Error> {
    let Some(version) = version else { return Ok(Terms::default()) };
    if version.is_left_out() {
        partition.note_unindexed();
    }
    let mut may_forget = true;
    loop {
        let unknown = {
            let mut lookup = partition.names.lookup();
            let terms = terms_with(&version, &mut lookup);
            if lookup.unknown.is_empty() {
                return Ok(terms);
            }
            lookup.unknown
        };
        partition.names.give(partition, &unknown, may_forget).await?;
        // A document may have more paths than the cache holds. If the cache were cleared a second
        // time, they would never all be cached at once.
        may_forget = false;
    }
}

/// The terms of a version, with ids from another source.
pub fn terms_with(version: &Indexed<'_>, ids: &mut dyn index::PathIds) -> Terms {
    let Indexed { document, policy, directive } = version;
    let mut terms = Terms::of(policy, document, *directive, ids);
    if version.is_left_out() {
        terms.insert(&unindexed_term());
    }
    terms
}
