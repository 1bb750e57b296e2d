//! The changes of a commit group, merged: of each key the last one.

use store::Change;

use crate::queue::Entry;

/// The last change of each key, in the order of the keys, those of one partition together. `count`
/// is how many changes the group has.
///
/// In this order a write buffer finds the place of a key near that of the one before, where the
/// processor's caches still have it; finding it is most of what a commit costs.
pub(crate) fn last_changes(group: &[Entry], count: usize) -> Vec<(&Entry, &Change)> {
    let mut changes = Vec::with_capacity(count);
    for entry in group {
        changes.extend(entry.batch.changes.iter().map(|change| (entry, change)));
    }
    // Stable, so equal keys stay in the order of their changes.
    changes.sort_by(|(one, first), (other, second)| {
        let partitions = one.partition.id().cmp(&other.partition.id());
        partitions.then_with(|| first.key.cmp(&second.key))
    });
    changes.dedup_by(|(entry, change), (kept_entry, kept)| {
        let is_same = entry.partition.id() == kept_entry.partition.id() && change.key == kept.key;
        if is_same {
            // It is the later one that goes, so it leaves its change to the earlier one.
            *kept = *change;
        }
        is_same
    });
    changes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::{Batch, Durability, Store as _};

    use super::*;
    use crate::{LsmStore, Options, partition::LsmPartition};

    fn entry(partition: &Arc<LsmPartition>, changes: &[(&'static str, Option<u8>)]) -> Entry {
        let mut batch = Batch::default();
        for (key, value) in changes {
            match value {
                Some(value) => batch.put(*key, vec![*value]),
                None => batch.delete(*key),
            }
        }
        let (partition, size_bytes) = (Arc::clone(partition), batch.size_bytes());
        let (durability, done) = (Durability::Durable, Box::new(|_| {}));
        Entry { partition, epoch: 0, batch, size_bytes, durability, done }
    }

    #[tokio::test]
    async fn the_last_change_of_each_key_is_left_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        let mut partitions = Vec::new();
        for name in ["p", "q"] {
            store.open(name, 0).await.unwrap();
            partitions.push(store.shared.partition(name).unwrap());
        }
        let [p, q] = &partitions[..] else { panic!("two partitions") };
        let group = [
            entry(q, &[("b", Some(1)), ("a", Some(2)), ("b", Some(3))]),
            entry(p, &[("b", Some(4)), ("c", Some(5))]),
            entry(q, &[("a", None), ("c", None), ("c", Some(6))]),
            entry(p, &[("c", None)]),
            entry(q, &[]),
        ];
        let merged = last_changes(&group, 10);
        let text = |(entry, change): &(&Entry, &Change)| {
            let name = entry.partition.keyspace.name().to_string();
            let value = change.value.as_ref().map(|value| value[0]);
            (name, String::from_utf8(change.key.to_vec()).unwrap(), value)
        };
        let merged: Vec<_> = merged.iter().map(text).collect();
        let expected = [
            ("p", "b", Some(4)),
            ("p", "c", None),
            ("q", "a", None),
            ("q", "b", Some(3)),
            ("q", "c", Some(6)),
        ];
        assert_eq!(merged, expected.map(|(p, k, v)| (p.to_owned(), k.to_owned(), v)));
    }
}
