//! A long random run, compared with a plain map at every step.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use bytes::Bytes;

use super::{assert_holds, commit, open};
use crate::{Batch, Direction, PageLimit, Snapshot, Store};

/// xorshift: the same seed gives the same run on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % below
    }

    /// Few enough keys to repeat, with different lengths and shared prefixes.
    fn key(&mut self) -> Bytes {
        let length = 1 + self.next(3);
        Bytes::from((0..length).map(|_| b"abcd\0\xff"[self.next(6)]).collect::<Vec<_>>())
    }

    fn bound(&mut self) -> Bound<Bytes> {
        match self.next(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }
}

type Model = BTreeMap<Bytes, Bytes>;

/// Writes, reads and keeps snapshots at random, in two partitions.
pub(super) async fn random_operations(engine: &dyn Store, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let partitions = [open(engine, "one").await, open(engine, "two").await];
    let mut models = [Model::new(), Model::new()];
    let mut kept: Vec<(Arc<dyn Snapshot>, Model)> = Vec::new();
    for _ in 0..400 {
        let which = random.next(2);
        let (partition, model) = (&partitions[which], &mut models[which]);
        match random.next(10) {
            0..=5 => commit(&**partition, change(&mut random, model)),
            6 => kept.push((partition.snapshot(), model.clone())),
            7 if !kept.is_empty() => {
                let (snapshot, model) = kept.swap_remove(random.next(kept.len()));
                assert_holds(&*snapshot, &model).await;
            }
            _ => check(&mut random, &*partition.snapshot(), model).await,
        }
    }
    for (snapshot, model) in kept {
        check(&mut random, &*snapshot, &model).await;
        assert_holds(&*snapshot, &model).await;
    }
    for (partition, model) in partitions.iter().zip(&models) {
        assert_holds(&*partition.snapshot(), model).await;
    }
}

/// Makes a random batch, and applies it to the model.
fn change(random: &mut Random, model: &mut Model) -> Batch {
    let mut batch = Batch::default();
    for _ in 0..random.next(20) {
        let key = random.key();
        if random.next(3) == 0 {
            model.remove(&key);
            batch.delete(key);
        } else {
            let value_bytes = random.next(300);
            let value = Bytes::from(vec![random.next(256).to_le_bytes()[0]; value_bytes]);
            model.insert(key.clone(), value.clone());
            batch.put(key, value);
        }
    }
    batch
}

/// Random lookups and one random page.
async fn check(random: &mut Random, snapshot: &dyn Snapshot, model: &Model) {
    let keys: Vec<Bytes> = (0..random.next(8)).map(|_| random.key()).collect();
    let values = snapshot.get_many(&keys).await.expect("keys can be read");
    let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
    assert_eq!(values, expected);

    let range = (random.bound(), random.bound());
    let is_forward = random.next(2) == 0;
    let direction = if is_forward { Direction::Forward } else { Direction::Backward };
    let limit = PageLimit { entries: 1 + random.next(20), bytes: usize::MAX };
    let page = snapshot.scan(range.clone(), direction, limit).await.expect("a page");
    let mut expected = Vec::new();
    if !crate::is_empty_range(&range) {
        let entries = model.range::<Bytes, _>((range.0.as_ref(), range.1.as_ref()));
        expected.extend(entries.map(|(key, value)| (key.clone(), value.clone())));
    }
    if !is_forward {
        expected.reverse();
    }
    assert!(page.has_more || page.entries.len() == expected.len());
    expected.truncate(limit.entries);
    assert_eq!(page.entries, expected);
}
