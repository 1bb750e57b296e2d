//! Chooses where to cut a partition whose documents all share one slot: by the levels of their
//! hierarchical keys after the first.
//!
//! Each pass over the counters of logical keys distinguishes two more bytes of the effective keys,
//! within the piece that has the middle. So memory does not grow with the number of keys.

use std::sync::Arc;

use catalog::area::Edge;
use partition::{Partition, errors, rows::Damaged};
use protocol::Error;
use query::served::Served;
use store::Snapshot;
use value::partition_key::{Epk, Hashing};

use crate::reshape::{cut::each_key, sides::Keys};

/// The bytes of one level.
const LEVEL: usize = 16;
/// Pieces that are counted at a time, one for each value of two bytes.
const PIECES: usize = 1 << 16;

/// The edge at which the right half begins; `None` if there is only one key.
pub(super) async fn middle(
    collection: &Served,
    partition: &Arc<Partition>,
    snapshot: &dyn Snapshot,
) -> Result<Option<Edge>, Error> {
    let keys = Keys::of(collection);
    if !keys.is_hierarchical() {
        return Ok(None);
    }
    let mut search = Search { keys, partition, snapshot, prefix: Vec::new(), before: 0, total: 0 };
    let mut best: Option<(u64, Vec<u8>)> = None;
    loop {
        let Some(common) = search.common_bytes().await? else { break };
        let counts = search.count(common.len()).await?;
        let mut left = search.before;
        let mut middle = None;
        for (piece, bytes) in counts.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let [.., high, low] = piece.to_be_bytes();
            let edge = [&common[..], &[high, low]].concat();
            if left > 0 {
                let distance = (2 * left).abs_diff(search.total);
                if best.as_ref().is_none_or(|(best, _)| distance < *best) {
                    best = Some((distance, edge.clone()));
                }
            }
            if middle.is_none() && 2 * (left + bytes) > search.total {
                middle = Some((left, edge));
            }
            left += bytes;
        }
        // Good enough if the smaller side has three eighths.
        let is_good = best.as_ref().is_some_and(|(distance, _)| *distance <= search.total / 4);
        let Some((before, piece)) = middle.filter(|_| !is_good) else { break };
        (search.before, search.prefix) = (before, piece);
    }
    Ok(best.and_then(|(_, mut bytes)| {
        // Clients only support points at whole levels.
        bytes.resize(bytes.len().next_multiple_of(LEVEL), 0);
        Edge::of_epk(&Epk::from_bytes(bytes), Hashing::MultiHash)
    }))
}

/// The keys whose effective keys have a given prefix.
struct Search<'a> {
    keys: Keys,
    partition: &'a Partition,
    snapshot: &'a dyn Snapshot,
    prefix: Vec<u8>,
    /// Bytes of documents before those keys, and of all documents.
    before: u64,
    total: u64,
}

impl Search<'_> {
    /// The common prefix of their effective keys; `None` if there is at most one key.
    async fn common_bytes(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut ends: Option<(Vec<u8>, Vec<u8>)> = None;
        let mut total = 0;
        self.each(|epk, bytes| {
            total += bytes;
            match &mut ends {
                None => ends = Some((epk.to_vec(), epk.to_vec())),
                Some((first, _)) if epk < &first[..] => *first = epk.to_vec(),
                Some((_, last)) if epk > &last[..] => *last = epk.to_vec(),
                Some(_) => {}
            }
        })
        .await?;
        if self.prefix.is_empty() {
            self.total = total;
        }
        let Some((first, last)) = ends.filter(|(first, last)| first != last) else {
            return Ok(None);
        };
        let same = first.iter().zip(&last).take_while(|(a, b)| a == b).count();
        Ok(Some(first[..same].to_vec()))
    }

    /// The bytes of documents for each value of the two bytes at this position of their keys.
    async fn count(&self, at: usize) -> Result<Vec<u64>, Error> {
        let mut counts = vec![0; PIECES];
        self.each(|epk, bytes| {
            let byte = |at| usize::from(epk.get(at).copied().unwrap_or(0));
            counts[byte(at) << 8 | byte(at + 1)] += bytes;
        })
        .await?;
        Ok(counts)
    }

    async fn each(&self, mut each: impl FnMut(&[u8], u64)) -> Result<(), Error> {
        let mut damaged = false;
        each_key(self.snapshot, self.partition.range.slots.clone(), |key, bytes| {
            match self.keys.epk_of_row(key, None) {
                Some(epk) if epk.as_bytes().starts_with(&self.prefix) => {
                    each(epk.as_bytes(), bytes);
                }
                Some(_) => {}
                None => damaged = true,
            }
        })
        .await?;
        if damaged { Err(errors::from_damaged(Damaged("Mk"))) } else { Ok(()) }
    }
}
