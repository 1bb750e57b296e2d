//! A transaction: the changes to documents of one logical key that commit together.
//!
//! Staged without an LSN; [`Transaction::finish`] turns it into the one store batch, with the
//! document, its primary row, its change feed entries, its expiry and the counters.

use bytes::Bytes;
use protocol::{etag::Etag, rid::DocNum};
use store::Batch;

use crate::{
    keys::{self, LogicalKey, META_COUNTERS},
    room::Permit,
    rows::{
        ChangeKind, Counters, FeedOperation, Header, HistoryRow, KeyCounters, Primary, feed_entry,
    },
    terms::TermChange,
    text::user_bytes,
};

/// The version of a document that a change replaces or deletes.
#[derive(Clone, Copy, Debug)]
pub struct OldVersion {
    /// The LSN of its change feed entry, which goes away.
    pub lsn: u64,
    /// Bytes of its text, which the counters lose.
    pub length: u32,
    /// The second in which it would expire; `None` if it does not.
    pub expiry: Option<u64>,
}

/// The version that a change writes.
#[derive(Clone, Debug)]
pub struct NewVersion {
    /// The new etag, which was drawn for this version.
    pub etag: Etag,
    /// The second of the write, which is also in the row.
    pub ts: u64,
    /// The second in which it expires; `None` if it does not.
    pub expiry: Option<u64>,
    /// The `D` row: header, LSN still empty, and document.
    pub row: Vec<u8>,
}

impl NewVersion {
    /// Bytes of the document.
    pub fn length(&self) -> usize {
        self.row.len() - Header::LENGTH
    }

    /// The size of the document that charges go by.
    pub fn user_bytes(&self) -> usize {
        user_bytes(self.length())
    }
}

/// A change to one document. At least one version is there.
#[derive(Clone, Debug)]
pub struct DocumentChange {
    /// The document's number, which stays over all its versions.
    pub docnum: DocNum,
    /// Of the new version or, if there is none, of the old one.
    pub primary_key: Bytes,
    /// The primary key of the old version, if the new one has another.
    pub moved_from: Option<Bytes>,
    /// The version that goes; `None` if the document is created.
    pub old: Option<OldVersion>,
    /// The version that comes; `None` if the document is deleted.
    pub new: Option<NewVersion>,
    /// What that changes in the index.
    pub terms: TermChange,
    /// Nobody asked for it: the document's time was up.
    pub expired: bool,
    /// What the history keeps of it; `None` if there is none.
    pub past: Option<Past>,
}

/// What the history keeps of a change, beside the new version.
#[derive(Clone, Debug)]
pub struct Past {
    /// The document before; empty if there was none.
    pub previous: Bytes,
    /// The second of a deletion. A new version has its own.
    pub time: u64,
}

/// Changes to documents of one logical key, staged.
#[derive(Debug)]
pub struct Transaction {
    /// The logical key of all its documents, whose lock the writer holds.
    pub key: LogicalKey,
    /// The key's counters before this transaction.
    pub key_counters: KeyCounters,
    /// At most one change for each document.
    pub changes: Vec<DocumentChange>,
    /// What changes beside documents: unique keys, attachments.
    pub rows: Overlay,
    /// The indexing policy that its terms follow.
    pub index_generation: u32,
    /// Its share of the memory that staged writes may take; given back when it is published.
    pub permit: Option<Permit>,
}

/// Rows that the next writer of the same key must see before they are published.
pub type Overlay = Vec<(Bytes, Option<Bytes>)>;

impl Transaction {
    /// Whether the history has all of it; `None` if it changes no document, which is nothing to a
    /// history.
    pub fn has_history(&self) -> Option<bool> {
        let has_all = || self.changes.iter().all(|change| change.past.is_some());
        (!self.changes.is_empty()).then(has_all)
    }

    /// Whether all its documents are where its logical key is.
    pub fn is_of_one_slot(&self) -> bool {
        self.changes.iter().all(|change| keys::slot_of(change.docnum) == self.key.slot)
    }

    /// The batch and the overlay of this transaction under its LSN; folds it into the counters.
    pub fn finish(self, lsn: u64, counters: &mut Counters) -> (Batch, Overlay, Option<Permit>) {
        let mut batch = Batch::default();
        let mut overlay = Overlay::new();
        let mut key_counters = self.key_counters;
        // Ids are left before they are taken: two documents may have changed theirs for each other's.
        for change in &self.changes {
            let left = if change.new.is_none() {
                Some(&change.primary_key)
            } else {
                change.moved_from.as_ref()
            };
            overlay.extend(left.map(|key| (key.clone(), None)));
        }
        for change in self.changes {
            count(&change, &mut key_counters, counters);
            if let Some(new) = &change.new {
                counters.times.note(lsn, new.ts);
            }
            stage(change, lsn, &mut batch, &mut overlay);
        }
        overlay.extend(self.rows);
        let row = (key_counters.documents > 0).then(|| key_counters.encode());
        overlay.push((self.key.counters(), row));
        for (key, row) in &overlay {
            match row {
                Some(row) => batch.put(key.clone(), row.clone()),
                None => batch.delete(key.clone()),
            }
        }
        batch.put(META_COUNTERS, counters.encode());
        (batch, overlay, self.permit)
    }
}

/// Puts one change's rows where they belong: what a later writer reads into the overlay, the rest
/// into the batch.
fn stage(change: DocumentChange, lsn: u64, batch: &mut Batch, overlay: &mut Overlay) {
    if let Some(row) = history(&change) {
        batch.put(keys::change(keys::HISTORY, lsn, change.docnum), row.encode());
    }
    let DocumentChange { docnum, primary_key, old, new, terms, .. } = change;
    terms.write_to(batch);
    if let Some(old) = old {
        batch.delete(keys::feed(old.lsn, docnum));
        if let Some(expiry) = old.expiry {
            batch.delete(keys::expiry(expiry, docnum));
        }
    }
    let Some(mut new) = new else {
        overlay.push((keys::document(docnum), None));
        return;
    };
    let length = u32::try_from(new.row.len() - Header::LENGTH)
        .expect("a document is far smaller than 4 GB: its size was checked");
    Header::set_lsn(&mut new.row, lsn);
    let primary = Primary { docnum, etag: new.etag, lsn, length };
    overlay.push((primary_key, Some(primary.encode())));
    overlay.push((keys::document(docnum), Some(new.row.into())));
    let operation = if old.is_some() { FeedOperation::Replace } else { FeedOperation::Create };
    batch.put(keys::feed(lsn, docnum), feed_entry(operation, new.ts));
    if let Some(expiry) = new.expiry {
        batch.put(keys::expiry(expiry, docnum), Bytes::new());
    }
}

/// The row of the history, if there is one.
fn history(change: &DocumentChange) -> Option<HistoryRow> {
    let Past { previous, time } = change.past.clone()?;
    let kind = match (&change.old, &change.new) {
        (_, None) => ChangeKind::Delete,
        (Some(_), Some(_)) => ChangeKind::Replace,
        (None, Some(_)) => ChangeKind::Create,
    };
    Some(HistoryRow {
        kind,
        is_expired: change.expired,
        time: change.new.as_ref().map_or(time, |new| new.ts),
        previous_lsn: change.old.map_or(0, |old| old.lsn),
        previous,
        current: change
            .new
            .as_ref()
            .map_or_else(Bytes::new, |new| Bytes::copy_from_slice(&new.row[Header::LENGTH..])),
    })
}

fn count(change: &DocumentChange, key: &mut KeyCounters, partition: &mut Counters) {
    let old = change.old.map_or((0, 0), |old| (1, u64::from(old.length)));
    let new =
        change.new.as_ref().map_or((0, 0), |new| (1, (new.row.len() - Header::LENGTH) as u64));
    for (documents, bytes) in
        [(&mut key.documents, &mut key.bytes), (&mut partition.documents, &mut partition.bytes)]
    {
        *documents = less(*documents + new.0, old.0);
        *bytes = less(*bytes + new.1, old.1);
    }
    let (added, removed) = change.terms.bytes();
    partition.index_bytes = less(partition.index_bytes + added, removed);
}

/// A count less what goes. Counters that were wrong before must not stop a write, but somebody has to
/// hear of it.
pub(crate) fn less(count: u64, goes: u64) -> u64 {
    count.checked_sub(goes).unwrap_or_else(|| {
        tracing::error!(count, goes, "a counter would fall below zero: run `sheaf verify`");
        0
    })
}
