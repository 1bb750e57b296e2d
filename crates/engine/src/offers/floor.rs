//! The lowest throughput an offer may have: it depends on the highest ever set, the most ever
//! stored, and the number of collections that share it.

use catalog::{Catalog, Collection, Database, Offer, Throughput};
use protocol::rid::{CollectionRid, DatabaseRid};
use query::served::{Served, View};

use catalog::throughput::{Kind, Mode, Range, Rules};

/// Collections that may share the lowest throughput of a database.
const SHARING_FREE: usize = 25;

/// The resource of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) kind: Kind,
    /// The most that was ever stored, as far as it was measured.
    pub(crate) storage_kb: u64,
    /// Number of collections that share the offer, if it is a database's.
    pub(crate) sharing: usize,
}

impl Holding {
    /// Measures the resource of an offer. Raises the offer's mark of stored data.
    pub(crate) fn of(offer: &Offer, view: &View) -> Self {
        let Self { kind, storage_kb, sharing } = Self::now(&offer.resource_rid, view);
        Self { kind, storage_kb: offer.storage_kb.raise(storage_kb), sharing }
    }

    fn now(rid: &str, view: &View) -> Self {
        if let Some(rid) = CollectionRid::parse(rid) {
            let collection = view.by_rid(rid);
            let is_partitioned =
                collection.is_some_and(|it| !it.definition.partition_key.is_system);
            let storage_kb = collection.map_or(0, |collection| storage_kb(collection));
            return Self { kind: Kind::Collection { is_partitioned }, storage_kb, sharing: 0 };
        }
        let rid = DatabaseRid::parse(rid);
        let database = rid.and_then(|rid| view.catalog.databases.get(&rid.0));
        let (mut stored, mut shares) = (0, 0);
        for collection in database.iter().flat_map(|it| sharing(&view.catalog, it)) {
            stored += view.by_rid(collection.rid).map_or(0, |collection| storage_kb(collection));
            shares += 1;
        }
        Self { kind: Kind::Database, storage_kb: stored, sharing: shares }
    }
}

/// The collections of a database that have no throughput of their own.
pub(crate) fn sharing<'a>(
    catalog: &'a Catalog,
    database: &'a Database,
) -> impl Iterator<Item = &'a Collection> {
    let collections = database.collections.values().map(|collection| &**collection);
    collections.filter(|collection| catalog.offers.of(&collection.rid.to_string()).is_none())
}

/// The size of documents and their index.
fn storage_kb(collection: &Served) -> u64 {
    let counters = collection.readable.iter().map(|partition| partition.counters());
    counters.map(|counters| counters.bytes + counters.index_bytes).sum::<u64>().div_ceil(1024)
}

/// The throughput that an offer may be replaced with.
pub(crate) fn range(rules: Rules, highest: u32, holding: Holding, mode: Mode) -> Range {
    raised(Range::new(rules, holding.kind, mode), highest, holding, mode)
}

/// The throughput that an offer may be replaced with, given the range for new resources.
pub(crate) fn raised(mut range: Range, highest: u32, holding: Holding, mode: Mode) -> Range {
    let gigabytes = holding.storage_kb.div_ceil(1024 * 1024);
    let (of_highest, of_gigabytes) = match mode {
        Mode::Manual => (highest.div_ceil(100), gigabytes),
        Mode::Autoscale => (highest.div_ceil(10), gigabytes.saturating_mul(10)),
    };
    range.at_least(u64::from(of_highest), || format!("Highest RUs provisioned {highest}"));
    range.at_least(of_gigabytes, || format!("Storage consumed {gigabytes} GB"));
    if holding.kind == Kind::Database {
        let least = least_shared(mode, holding.sharing);
        range.at_least(least, || format!("Number of collections {}", holding.sharing));
    }
    range
}

/// The lowest throughput that so many collections may share.
pub(crate) fn least_shared(mode: Mode, collections: usize) -> u64 {
    let (least, step) = (u64::from(mode.least()), u64::from(mode.step()));
    let above = u64::try_from(collections.saturating_sub(SHARING_FREE)).unwrap_or(u64::MAX);
    least.saturating_add(above.saturating_mul(step))
}

/// The kind of an offer's rate: performance levels count as manual.
pub(crate) fn mode_of(throughput: &Throughput) -> Mode {
    match throughput {
        Throughput::Autoscale { .. } => Mode::Autoscale,
        Throughput::Manual(_) | Throughput::Level { .. } => Mode::Manual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn holding(kind: Kind, storage_kb: u64, sharing: usize) -> Holding {
        Holding { kind, storage_kb, sharing }
    }

    fn least(highest: u32, holding: Holding) -> [u32; 2] {
        [Mode::Manual, Mode::Autoscale]
            .map(|mode| range(Limits::Current.into(), highest, holding, mode).least)
    }

    #[test]
    fn the_highest_rate_sets_a_minimum() {
        let collection = holding(Kind::Collection { is_partitioned: true }, 0, 0);
        assert_eq!(least(400, collection), [400, 1000]);
        assert_eq!(least(45_000, collection), [500, 5000]);
        assert_eq!(least(100_000, collection), [1000, 10_000]);
        let text = range(Limits::Current.into(), 100_000, collection, Mode::Autoscale).check(8000);
        let text = text.expect_err("too low").message;
        assert!(text.ends_with("is because of Highest RUs provisioned 100000."), "{text}");
    }

    #[test]
    fn so_do_gigabytes() {
        let stored = |gb: u64| holding(Kind::Collection { is_partitioned: true }, gb << 20, 0);
        assert_eq!(least(400, stored(400)), [400, 4000]);
        assert_eq!(least(400, stored(401)), [500, 5000]);
        assert_eq!(least(400, stored(2500)), [2500, 25_000]);
    }

    #[test]
    fn twenty_five_collections_share_the_least() {
        let shared = |count| holding(Kind::Database, 0, count);
        assert_eq!(least(400, shared(25)), [400, 1000]);
        assert_eq!(least(400, shared(26)), [500, 2000]);
        assert_eq!(least(400, shared(125)), [10_400, 101_000]);
    }
}
