//! A transaction: the changes to documents of one logical key that commit together.
//!
//! Staged without an LSN. [`Transaction::finish`] turns it into a single store batch with the
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
    /// The LSN of its change feed entry, which is deleted.
    pub lsn: u64,
    /// Bytes of its text, to subtract from the counters.
    pub length: u32,
    /// When it would expire, in seconds; `None` if never.
    pub expiry: Option<u64>,
}

/// The version that a change writes.
#[derive(Clone, Debug)]
pub struct NewVersion {
    /// The etag generated for this version.
    pub etag: Etag,
    /// The second of the write, also stored in the row.
    pub ts: u64,
    /// When it expires, in seconds; `None` if never.
    pub expiry: Option<u64>,
    /// The `D` row: the header, its LSN still empty, and the document.
    pub row: Vec<u8>,
}

impl NewVersion {
    /// Bytes of the document.
    pub fn length(&self) -> usize {
        self.row.len() - Header::LENGTH
    }

    /// The size that charges use for the document.
    pub fn user_bytes(&self) -> usize {
        user_bytes(self.length())
    }
}

/// A change to one document. At least one of `old` and `new` is set.
#[derive(Clone, Debug)]
pub struct DocumentChange {
    /// The document's number, the same for all its versions.
    pub docnum: DocNum,
    /// The primary key of the new version or, if there is none, of the old one.
    pub primary_key: Bytes,
    /// The primary key of the old version, if it differs.
    pub moved_from: Option<Bytes>,
    /// The replaced or deleted version; `None` if the document is created.
    pub old: Option<OldVersion>,
    /// The written version; `None` if the document is deleted.
    pub new: Option<NewVersion>,
    /// How the index changes.
    pub terms: TermChange,
    /// Whether the document was deleted because it expired, not by a client.
    pub expired: bool,
    /// What the history keeps of the change; `None` without a history.
    pub past: Option<Past>,
}

/// What the history keeps of a change, besides the new version.
#[derive(Clone, Debug)]
pub struct Past {
    /// The previous version; empty if there was none.
    pub previous: Bytes,
    /// When the document was deleted, in seconds. A new version has its own time.
    pub time: u64,
}

/// The most rows that a change of one document writes besides those of the index: its history, its
/// old and new feed entry, expiry and primary key, and the document.
const ROWS_MAX: usize = 8;

/// Staged changes to documents of one logical key.
#[derive(Debug)]
pub struct Transaction {
    /// The logical key of all its documents; the writer holds its lock.
    pub key: LogicalKey,
    /// The key's counters before this transaction.
    pub key_counters: KeyCounters,
    /// At most one change for each document.
    pub changes: Vec<DocumentChange>,
    /// Other rows that change: unique keys, attachments.
    pub rows: Overlay,
    /// The version of the indexing policy that its terms follow.
    pub index_generation: u32,
    /// Its share of the memory for staged writes, released when it is published.
    pub permit: Option<Permit>,
}

/// Rows that the next writer of the same key must see before they are published.
pub type Overlay = Vec<(Bytes, Option<Bytes>)>;

impl Transaction {
    /// Whether the history has all of it; `None` if it changes no document, so the history does not
    /// care.
    pub fn has_history(&self) -> Option<bool> {
        let has_all = || self.changes.iter().all(|change| change.past.is_some());
        (!self.changes.is_empty()).then(has_all)
    }

    /// Whether all its documents are in the slot of its logical key.
    pub fn is_of_one_slot(&self) -> bool {
        self.changes.iter().all(|change| keys::slot_of(change.docnum) == self.key.slot)
    }

    /// At least as many rows as the transaction changes.
    fn rows_max(&self) -> usize {
        let terms = |change: &DocumentChange| change.terms.added.len() + change.terms.removed.len();
        self.changes.iter().map(|change| terms(change) + ROWS_MAX).sum::<usize>()
            + self.rows.len()
            + 2
    }

    /// Builds the batch and the overlay for this LSN, and updates the counters.
    pub fn finish(self, lsn: u64, counters: &mut Counters) -> (Batch, Overlay, Option<Permit>) {
        let mut batch = Batch::with_capacity(self.rows_max());
        let mut overlay = Overlay::new();
        let mut key_counters = self.key_counters;
        // Free all ids before taking new ones: two documents may have swapped theirs.
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

/// Adds one change's rows: those a later writer reads to the overlay, the rest to the batch.
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

/// The change's history row, if there is a history.
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

/// Subtracts from a count. A counter that was wrong before must not block a write, but the problem
/// must be reported.
pub(crate) fn less(count: u64, goes: u64) -> u64 {
    count.checked_sub(goes).unwrap_or_else(|| {
        tracing::error!(count, goes, "a counter would fall below zero: run `sheaf verify`");
        0
    })
}
