//! Checks whether a document fits into its logical partition and its collection.
//!
//! A logical partition is measured exactly, since its writers take turns. A collection is measured
//! by what its partitions have sequenced: concurrent writers of different keys can exceed its limit
//! by what may be staged at a time, a few megabytes.

use bytes::Bytes;
use partition::{
    errors,
    keys::{self, LogicalKey},
    rows::{Header, KeyCounters},
};
use protocol::{Code, Error};
use query::{expiry::Expiry, readable::Readable, scope::document_key};
use value::json;

use catalog::limits::{Sizes, size};

use crate::{
    Inner,
    documents::{Place, staged::Staged},
};

/// Refuses a document of `new` bytes that replaces one of `old` bytes if it does not fit. The
/// transaction has already added or removed `staged` bytes, which only the key's counters include;
/// `changes` are its changes so far. A write that does not grow the data always succeeds, so that a
/// full key or collection can shrink.
pub(super) async fn check(
    engine: &Inner,
    place: &Place<'_>,
    key: KeyCounters,
    staged: i64,
    changes: &[Staged],
    old: u64,
    new: u64,
) -> Result<(), Error> {
    let wanted = Wanted { engine, place, key, staged, old, new };
    let full = match wanted.check(Expired::default()) {
        Err(error) if place.collection.definition.default_ttl.is_some() => error,
        answer => return answer,
    };
    // Documents that have expired but have not been swept yet take no room.
    let expired = Expired::of(place, changes, engine.clock.now_seconds()).await?;
    if expired.all == 0 { Err(full) } else { wanted.check(expired) }
}

/// The room a write needs.
struct Wanted<'a> {
    engine: &'a Inner,
    place: &'a Place<'a>,
    key: KeyCounters,
    staged: i64,
    old: u64,
    new: u64,
}

impl Wanted<'_> {
    fn check(&self, expired: Expired) -> Result<(), Error> {
        let Self { engine, place, key, staged, old, new } = *self;
        let growth = new.saturating_sub(old);
        if growth == 0 {
            return Ok(());
        }
        let Sizes { logical_partition, .. } = engine.options.sizes;
        let has_key = !place.collection.definition.partition_key.is_system;
        if let Some(limit) = engine.options.sizes.of_collection(has_key) {
            let used: u64 = place.collection.readable.iter().map(|it| used(&**it)).sum();
            let used = used.saturating_sub(expired.all);
            if used.saturating_add_signed(staged).saturating_add(growth) > limit {
                return Err(collection_full(limit));
            }
        }
        // Without a key, only the collection's limit applies.
        let used = key.bytes.saturating_sub(expired.key);
        if has_key && used.saturating_add(growth) > logical_partition {
            return Err(key_full(logical_partition));
        }
        Ok(())
    }
}

/// Most documents examined per partition, and those that are read at once.
const EXPIRED_MAX: usize = 4096;
const READ: usize = 16;

/// Bytes of documents that have expired but have not been swept yet.
#[derive(Clone, Copy, Default)]
struct Expired {
    /// In the key.
    key: u64,
    /// In the collection.
    all: u64,
}

impl Expired {
    /// Excludes documents that this transaction or another queued one has already removed: the
    /// counters no longer include them.
    async fn of(place: &Place<'_>, changes: &[Staged], now: u64) -> Result<Self, Error> {
        let mut sums = Self::default();
        let expiry = Expiry::new(place.collection, now);
        for partition in &place.collection.partitions {
            let (snapshot, _) = partition.read()?;
            let due = expiry.due(&*snapshot, None, EXPIRED_MAX).await?.rows;
            let is_changed = |number: &u64| changes.iter().any(|it| it.number == *number);
            let mut numbers: Vec<u64> = due.iter().filter_map(|key| keys::number_at(key)).collect();
            numbers.retain(|number| !is_changed(number));
            for numbers in numbers.chunks(READ) {
                let wanted: Vec<Bytes> = numbers.iter().map(|it| keys::document(*it)).collect();
                let rows = partition.newest(&wanted).await?;
                for (number, row) in numbers.iter().zip(rows) {
                    let Some(row) = row else { continue };
                    let (header, text) = Header::decode(&row).map_err(errors::from_damaged)?;
                    if !expiry.is_over(&header, &text) {
                        continue;
                    }
                    let length = text.len() as u64;
                    sums.all += length;
                    let is_near = keys::slot_of(*number) == place.key.slot;
                    if is_near && is_of_key(place, &text) {
                        sums.key += length;
                    }
                }
            }
        }
        Ok(sums)
    }
}

fn is_of_key(place: &Place<'_>, text: &[u8]) -> bool {
    let Ok(document) = json::parse(text) else { return false };
    let key = document_key(place.collection, &document);
    LogicalKey::new(place.key.slot, &key) == place.key
}

fn used(partition: &dyn Readable) -> u64 {
    let counters = partition.counters();
    counters.bytes.saturating_add(counters.index_bytes)
}

/// The error for a full key, in the service's words.
fn key_full(limit: u64) -> Error {
    let limit = size(limit);
    Error::new(
        Code::PartitionKeyQuota,
        format!(
            "Partition key reached maximum size of {limit}. Learn more: \
             https://aka.ms/CosmosDB/sql/errors/full-pk"
        ),
    )
}

fn collection_full(limit: u64) -> Error {
    let limit = size(limit);
    Error::new(
        Code::CollectionQuota,
        format!(
            "The storage quota of the collection has been exceeded: it may hold {limit}. Delete \
             documents, or use a collection with a partition key and more space."
        ),
    )
}
