//! Collections as this process serves them: what the catalog says, and the partitions that are open
//! here. A [`View`] is an immutable snapshot of both, so that a request that holds one sees ranges and
//! partitions that belong together.

use std::{collections::HashMap, ops::Deref, sync::Arc};

use protocol::{Error, request::CollectionPath, rid::CollectionRid};
use value::partition_key::PartitionKey;

use crate::{
    catalog::{Catalog, Collection, Database, Missing},
    partition::Partition,
    quota_lists::CachedLists,
};

/// The catalog, and what is open of it.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) catalog: Arc<Catalog>,
    databases: HashMap<u32, Arc<ServedDatabase>>,
}

/// The collections of a database as they are served.
struct ServedDatabase {
    database: Arc<Database>,
    collections: HashMap<u32, Arc<Served>>,
}

/// A collection with its partitions.
pub(crate) struct Served {
    collection: Arc<Collection>,
    /// One for each range of the collection, in the same order.
    pub(crate) partitions: Vec<Arc<Partition>>,
    /// What is told of it beside its documents.
    pub(crate) quota_lists: Arc<CachedLists>,
}

impl View {
    /// The view of a catalog that comes next. Partitions that it does not know yet are in `opened`;
    /// those of collections and databases that did not change are taken over as they are.
    pub(crate) fn next(&self, catalog: Catalog, opened: &[Arc<Partition>]) -> Result<Self, Error> {
        let mut databases = HashMap::with_capacity(catalog.databases.len());
        for (number, database) in &catalog.databases {
            let old = self.databases.get(number);
            let served = match old.filter(|old| Arc::ptr_eq(&old.database, database)) {
                Some(old) => Arc::clone(old),
                None => Arc::new(ServedDatabase::next(old, database, opened)?),
            };
            databases.insert(*number, served);
        }
        Ok(Self { catalog: catalog.into(), databases })
    }

    /// A collection that a request is about.
    pub(crate) fn collection(&self, path: &CollectionPath) -> Result<&Arc<Served>, Missing> {
        let collection = self.catalog.collection(path)?;
        self.by_rid(collection.rid).ok_or(Missing::Collection)
    }

    pub(crate) fn by_rid(&self, rid: CollectionRid) -> Option<&Arc<Served>> {
        self.databases.get(&rid.database.0)?.collections.get(&rid.number)
    }

    /// All collections, in the order of their rids.
    pub(crate) fn collections(&self) -> impl Iterator<Item = &Arc<Served>> + Clone {
        let collections = self.catalog.databases.values().flat_map(|db| db.collections.values());
        collections.filter_map(|collection| self.by_rid(collection.rid))
    }

    /// All partitions that are open here.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> + Clone {
        self.collections().flat_map(|collection| &collection.partitions)
    }
}

impl ServedDatabase {
    fn next(
        old: Option<&Arc<Self>>,
        database: &Arc<Database>,
        opened: &[Arc<Partition>],
    ) -> Result<Self, Error> {
        let mut collections = HashMap::with_capacity(database.collections.len());
        for (number, collection) in &database.collections {
            let old = old.and_then(|old| old.collections.get(number));
            let served = match old.filter(|old| Arc::ptr_eq(&old.collection, collection)) {
                Some(old) => Arc::clone(old),
                None => Arc::new(Served::next(old, collection, opened)?),
            };
            collections.insert(*number, served);
        }
        Ok(Self { database: Arc::clone(database), collections })
    }
}

impl Served {
    /// A collection whose partitions are these.
    pub(crate) fn new(collection: Arc<Collection>, partitions: Vec<Arc<Partition>>) -> Self {
        Self { collection, partitions, quota_lists: Arc::default() }
    }

    fn next(
        old: Option<&Arc<Self>>,
        collection: &Arc<Collection>,
        opened: &[Arc<Partition>],
    ) -> Result<Self, Error> {
        let known = || opened.iter().chain(old.into_iter().flat_map(|old| &old.partitions));
        let partitions = collection.ranges.iter().map(|range| {
            let name = range.key_space(collection.rid);
            known().find(|it| it.name == name).cloned().ok_or_else(|| {
                tracing::error!(name, "the catalog names a partition that is not open");
                Error::new(protocol::Code::Internal, "A partition is not open.")
            })
        });
        let partitions = partitions.collect::<Result<_, Error>>()?;
        let quota_lists = old.map(|old| Arc::clone(&old.quota_lists)).unwrap_or_default();
        Ok(Self { collection: Arc::clone(collection), partitions, quota_lists })
    }

    /// The partition that holds a full key of this slot.
    pub(crate) fn partition_of(&self, slot: u32, key: &PartitionKey) -> &Arc<Partition> {
        &self.partitions[self.collection.range_of(slot, key)]
    }

    /// The partition with this range id; clients with an old map refresh on the error.
    pub(crate) fn partition_of_range(&self, range_id: &str) -> Result<&Arc<Partition>, Error> {
        Ok(&self.partitions[self.collection.range_by_id(range_id)?])
    }

    /// Whether a partition serves this collection now.
    pub(crate) fn is_served_by(&self, partition: &Arc<Partition>) -> bool {
        self.partitions.iter().any(|it| Arc::ptr_eq(it, partition))
    }
}

impl Deref for Served {
    type Target = Collection;

    fn deref(&self) -> &Collection {
        &self.collection
    }
}
