//! The batches that Sheaf wrote, one for each document, from the rows that it left in its store.
//!
//! A row belongs to the document whose number is in it: behind the first byte of its document row, at
//! the end of its index and feed rows, in the value of its primary row. Counters, which every commit
//! writes, are part of each batch.

use std::{
    collections::{HashMap, HashSet},
    ops::Bound,
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use store::{Batch, KeySpace, Store as _};
use store_lsm::{LsmStore, Options};

use super::{SCANNED, page};

/// Bits of a document number that count; those above are its slot.
const SEQUENCE: u64 = (1 << 36) - 1;
/// Rows that are read at once.
const PAGE: usize = 10_000;
/// More documents of a partition are not taken: all batches are kept in memory.
const DOCUMENTS_MAX: u64 = 20_000;

/// Batches in the order of their creation, and the key spaces that they go to.
pub(crate) struct Recorded {
    pub(crate) names: Vec<String>,
    pub(crate) batches: Vec<(usize, Batch)>,
}

/// Reads them from a stopped server's store.
pub(crate) async fn recorded(store: &Path) -> Result<Recorded> {
    let store = LsmStore::examine(store, Options::default())?;
    let (mut names, mut all) = (Vec::new(), Vec::new());
    for name in store.key_spaces().await? {
        let space = store.open(&name, 0).await?;
        let of_space = of_space(&space).await?;
        if !of_space.is_empty() {
            let at = names.len();
            names.push(name);
            all.extend(of_space.into_iter().map(|(number, batch)| (number, at, batch)));
        }
    }
    all.sort_by_key(|(number, space, _)| (number & SEQUENCE, *space));
    let batches: Vec<_> = all.into_iter().map(|(_, space, batch)| (space, batch)).collect();
    ensure!(!batches.is_empty(), "the store has no documents");
    Ok(Recorded { names, batches })
}

/// The batches of one partition, by the document's number.
async fn of_space(space: &Arc<dyn KeySpace>) -> Result<Vec<(u64, Batch)>> {
    let mut batches: HashMap<u64, Batch> = HashMap::new();
    let (mut counters, mut of_keys) = (None, HashMap::new());
    let mut from = Bound::Unbounded;
    loop {
        let page = page(space, from, PAGE).await?;
        for (key, value) in &page.entries {
            if key[..] == *b"Mc" {
                counters = Some((key.clone(), value.clone()));
            } else if key.starts_with(b"Mk") {
                of_keys.insert(key.slice(2..), (key.clone(), value.clone()));
            } else if let Some(number) = number_of(key, value)
                && number & SEQUENCE < DOCUMENTS_MAX
            {
                batches.entry(number).or_default().put(key.clone(), value.clone());
            }
        }
        let Some((last, _)) = page.entries.last().filter(|_| page.has_more) else { break };
        from = Bound::Excluded(last.clone());
    }
    let documents: HashSet<u64> = batches
        .iter()
        .filter(|(_, batch)| batch.changes.iter().any(|change| change.key[0] == b'D'))
        .map(|(number, _)| *number)
        .collect();
    batches.retain(|number, _| documents.contains(number));
    for batch in batches.values_mut() {
        let primary = batch.changes.iter().find(|change| change.key[0] == b'P');
        let key = primary.context("a document without a primary row")?.key.slice(1..);
        let of_key = (4..key.len()).find_map(|end| of_keys.get(&key[..end]));
        for (key, value) in of_key.into_iter().chain(&counters) {
            batch.put(key.clone(), value.clone());
        }
    }
    Ok(batches.into_iter().collect())
}

fn number_of(key: &[u8], value: &[u8]) -> Option<u64> {
    let bytes = match key[0] {
        b'P' => value.first_chunk(),
        b'D' => key[1..].first_chunk(),
        b'F' | b'V' => key.last_chunk(),
        _ => None,
    }?;
    Some(u64::from_be_bytes(*bytes))
}

/// The bytes of a batch in one piece.
pub(crate) fn piece(batch: &Batch) -> Bytes {
    let values = batch
        .changes
        .iter()
        .map(|change| [&change.key[..], change.value.as_deref().unwrap_or_default()].concat());
    values.collect::<Vec<_>>().concat().into()
}

/// Keys of documents that are in the store.
pub(crate) struct Loaded {
    /// Partition, primary row, document row, some index row.
    keys: Vec<(usize, Bytes, Bytes, Bytes)>,
}

impl Loaded {
    pub(crate) fn of(batches: &[(usize, Batch)]) -> Self {
        let keys = batches.iter().enumerate().filter_map(|(at, (space, batch))| {
            let find = |kind: u8| {
                let keys = batch.changes.iter().map(|change| &change.key);
                keys.filter(|key| key[0] == kind).cloned().collect::<Vec<_>>()
            };
            let (primary, document, index) = (find(b'P'), find(b'D'), find(b'V'));
            let entry = index.get(at % index.len().max(1))?.clone();
            Some((*space, primary.first()?.clone(), document.first()?.clone(), entry))
        });
        Self { keys: keys.collect() }
    }

    fn some(&self, number: usize) -> &(usize, Bytes, Bytes, Bytes) {
        &self.keys[number.wrapping_mul(7_368_787) % self.keys.len()]
    }

    /// A point read: one row, and then the other.
    pub(crate) async fn get(&self, spaces: &[Arc<dyn KeySpace>], number: usize) -> Result<()> {
        let (space, primary, document, _) = self.some(number);
        let snapshot = spaces[*space].snapshot();
        for key in [primary, document] {
            let found = snapshot.get_many(std::slice::from_ref(key)).await?;
            ensure!(found[0].is_some(), "a row is missing");
        }
        Ok(())
    }

    /// Ten entries of an index, and their documents.
    pub(crate) async fn scan(&self, spaces: &[Arc<dyn KeySpace>], number: usize) -> Result<()> {
        let (space, _, _, entry) = self.some(number);
        let page = page(&spaces[*space], Bound::Included(entry.clone()), SCANNED).await?;
        let numbers = page.entries.iter().filter_map(|(key, _)| key.last_chunk::<8>());
        let keys: Vec<Bytes> = numbers.map(|number| [&b"D"[..], number].concat().into()).collect();
        spaces[*space].snapshot().get_many(&keys).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_whose_they_are() {
        let number = 0x0102_0304_0506_0708_u64.to_be_bytes();
        let with = |head: &[u8]| [head, &number].concat();
        for (key, value) in [
            (b"Pkey".to_vec(), with(b"")),
            (with(b"D"), vec![]),
            (with(b"Flsnlsnls"), vec![]),
            (with(b"Vpath_value"), vec![]),
        ] {
            assert_eq!(number_of(&key, &value), Some(u64::from_be_bytes(number)), "{key:?}");
        }
        assert_eq!(number_of(&with(b"N"), b""), None);
    }
}
