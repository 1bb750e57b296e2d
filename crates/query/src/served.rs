//! Collections as this process serves them: the catalog's data, the partitions that are open here,
//! and those to read from other processes. A [`View`] is an immutable snapshot of everything, so
//! that a request that holds one sees ranges and partitions that match.

use std::{collections::HashMap, ops::Deref, sync::Arc};

use catalog::{Catalog, Collection, Database, Missing, groups::Groups};
use foldhash::fast::RandomState;
use partition::{Partition, errors};
use protocol::{Code, Error, Options, Owner, request::CollectionPath, rid::CollectionRid};
use value::partition_key::PartitionKey;

use crate::{
    elsewhere::{Elsewhere, is_own_group},
    quota_lists::CachedLists,
    readable::Readable,
};

/// The catalog, and its open partitions.
#[derive(Default)]
pub struct View {
    /// Every resource except documents.
    pub catalog: Arc<Catalog>,
    /// The processes that own other partitions; `None` if this one owns all.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    databases: HashMap<u32, Arc<ServedDatabase>, RandomState>,
}

/// The served collections of a database.
struct ServedDatabase {
    database: Arc<Database>,
    collections: HashMap<u32, Arc<Served>, RandomState>,
}

/// A collection with its partitions.
pub struct Served {
    collection: Arc<Collection>,
    /// One for each range of the collection, in the same order, wherever it is open.
    pub readable: Vec<Arc<dyn Readable>>,
    /// Those that are open here, in the same order.
    pub partitions: Vec<Arc<Partition>>,
    /// Quota and usage for answers about its documents.
    pub quota_lists: Arc<CachedLists>,
    /// The collection as the owner of its documents, for response headers.
    owner: Arc<Owner>,
}

impl View {
    /// An empty view, for a process that shares its catalog with others.
    pub fn among(elsewhere: Option<Arc<dyn Elsewhere>>) -> Self {
        Self { elsewhere, ..Self::default() }
    }

    /// The next view, for a new catalog. Its new partitions are in `opened`; collections and
    /// databases that did not change are reused.
    pub fn next(&self, catalog: Catalog, opened: &[Arc<Partition>]) -> Result<Self, Error> {
        let elsewhere = self.elsewhere.as_deref();
        let is_same_owner = Arc::ptr_eq(&self.catalog.groups, &catalog.groups);
        let next = Next { groups: &catalog.groups, is_same_owner, elsewhere, opened };
        let mut databases =
            HashMap::with_capacity_and_hasher(catalog.databases.len(), RandomState::default());
        for (number, database) in &catalog.databases {
            let old = self.databases.get(number);
            let same = old.filter(|old| is_same_owner && Arc::ptr_eq(&old.database, database));
            let served = match same {
                Some(old) => Arc::clone(old),
                None => Arc::new(next.database(old, database)?),
            };
            databases.insert(*number, served);
        }
        Ok(Self { catalog: catalog.into(), elsewhere: self.elsewhere.clone(), databases })
    }

    /// This view with a partition replaced by another of the same name.
    #[must_use]
    pub fn with_partition(&self, served: &Served, partition: &Arc<Partition>) -> Self {
        let mut databases = self.databases.clone();
        let rid = served.rid;
        if let Some(database) = databases.get_mut(&rid.database.0) {
            let mut collections = database.collections.clone();
            collections.insert(rid.number, Arc::new(served.with_partition(partition)));
            let database_row = Arc::clone(&database.database);
            *database = Arc::new(ServedDatabase { database: database_row, collections });
        }
        let (catalog, elsewhere) = (Arc::clone(&self.catalog), self.elsewhere.clone());
        Self { catalog, elsewhere, databases }
    }

    /// The collection that a path names.
    pub fn collection(&self, path: &CollectionPath) -> Result<&Arc<Served>, Missing> {
        let collection = self.catalog.collection(path)?;
        self.by_rid(collection.rid).ok_or(Missing::Collection)
    }

    /// The collection that a request concerns, if it is the one that the client expects.
    pub fn intended(&self, path: &CollectionPath, options: &Options) -> Result<Arc<Served>, Error> {
        let collection = self.collection(path).map_err(|_| Error::owner_not_found())?;
        check_intended(collection, options)?;
        Ok(Arc::clone(collection))
    }

    /// A collection by its rid.
    pub fn by_rid(&self, rid: CollectionRid) -> Option<&Arc<Served>> {
        self.databases.get(&rid.database.0)?.collections.get(&rid.number)
    }

    /// All collections, in the order of their rids.
    pub fn collections(&self) -> impl Iterator<Item = &Arc<Served>> + Clone {
        let collections = self.catalog.databases.values().flat_map(|db| db.collections.values());
        collections.filter_map(|collection| self.by_rid(collection.rid))
    }

    /// Whether the catalog has a partition with a key space of this name.
    pub fn names(&self, key_space: &str) -> bool {
        self.partitions().any(|partition| partition.name == key_space)
    }

    /// All partitions that are open here.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> + Clone {
        self.collections().flat_map(|collection| &collection.partitions)
    }
}

/// The inputs of a new view, besides the previous one.
struct Next<'a> {
    groups: &'a Groups,
    /// Every group has the same owner as before.
    is_same_owner: bool,
    elsewhere: Option<&'a dyn Elsewhere>,
    opened: &'a [Arc<Partition>],
}

impl Next<'_> {
    fn database(
        &self,
        old: Option<&Arc<ServedDatabase>>,
        database: &Arc<Database>,
    ) -> Result<ServedDatabase, Error> {
        let mut collections =
            HashMap::with_capacity_and_hasher(database.collections.len(), RandomState::default());
        for (number, collection) in &database.collections {
            let old = old.and_then(|old| old.collections.get(number));
            let is_same =
                |old: &&Arc<Served>| self.is_same_owner && Arc::ptr_eq(&old.collection, collection);
            let served = match old.filter(is_same) {
                Some(old) => Arc::clone(old),
                None => Arc::new(self.collection(old, collection)?),
            };
            collections.insert(*number, served);
        }
        Ok(ServedDatabase { database: Arc::clone(database), collections })
    }

    fn collection(
        &self,
        old: Option<&Arc<Served>>,
        collection: &Arc<Collection>,
    ) -> Result<Served, Error> {
        let known = || self.opened.iter().chain(old.into_iter().flat_map(|old| &old.partitions));
        let (mut readable, mut partitions) = (Vec::new(), Vec::new());
        for range in &collection.ranges {
            if let Some(elsewhere) = self.elsewhere
                && !is_own_group(self.elsewhere, self.groups, &range.group)
            {
                readable.push(elsewhere.partition(collection.rid, range));
                continue;
            }
            let name = range.key_space(collection.rid);
            let partition = known().find(|it| it.name == name).ok_or_else(|| {
                tracing::error!(name, "the catalog names a partition that is not open");
                Error::new(Code::Internal, "A partition is not open.")
            })?;
            readable.push(Arc::clone(partition) as Arc<dyn Readable>);
            partitions.push(Arc::clone(partition));
        }
        let quota_lists = old.map(|old| Arc::clone(&old.quota_lists)).unwrap_or_default();
        let owner = collection.owner();
        Ok(Served { collection: Arc::clone(collection), readable, partitions, quota_lists, owner })
    }
}

impl Served {
    /// A collection with these partitions, all of them open here.
    pub fn new(collection: Arc<Collection>, partitions: Vec<Arc<Partition>>) -> Self {
        let readable = partitions.iter().map(|it| Arc::clone(it) as Arc<dyn Readable>).collect();
        let owner = collection.owner();
        Self { collection, readable, partitions, quota_lists: Arc::default(), owner }
    }

    fn with_partition(&self, partition: &Arc<Partition>) -> Self {
        let readable = self.readable.iter().map(|it| {
            let is_same = it.here().is_some_and(|it| it.name == partition.name);
            if is_same { Arc::clone(partition) as Arc<dyn Readable> } else { Arc::clone(it) }
        });
        let replaced = |it: &Arc<Partition>| {
            Arc::clone(if it.name == partition.name { partition } else { it })
        };
        Self {
            collection: Arc::clone(&self.collection),
            readable: readable.collect(),
            partitions: self.partitions.iter().map(replaced).collect(),
            quota_lists: Arc::clone(&self.quota_lists),
            owner: Arc::clone(&self.owner),
        }
    }

    /// The collection as the catalog has it. Every change of it makes another one.
    pub(crate) fn row(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// The collection as the owner of its documents.
    pub fn owner(&self) -> Arc<Owner> {
        Arc::clone(&self.owner)
    }

    /// The partition that holds a full key of this slot, if it is open here.
    pub fn partition_of(&self, slot: u32, key: &PartitionKey) -> Result<&Arc<Partition>, Error> {
        let place = self.collection.range_of(slot, key);
        // If all are open here, they have the indexes of their ranges.
        if self.partitions.len() == self.readable.len() {
            return Ok(&self.partitions[place]);
        }
        let id = self.collection.ranges[place].id;
        self.partitions.iter().find(|it| it.range.id == id).ok_or_else(errors::not_here)
    }

    /// Whether a partition serves this collection now.
    pub fn is_served_by(&self, partition: &Arc<Partition>) -> bool {
        self.partitions.iter().any(|it| Arc::ptr_eq(it, partition))
    }
}

impl Deref for Served {
    type Target = Collection;

    fn deref(&self) -> &Collection {
        &self.collection
    }
}

/// Refuses a client that expects another collection under this name.
pub fn check_intended(collection: &Collection, options: &Options) -> Result<(), Error> {
    let reused =
        "The collection is not the one that the client means: another collection now has its name.";
    if options.intended_collection_rid.as_ref().is_some_and(|it| *it != collection.rid.to_string())
    {
        return Err(Error::new(Code::CollectionRidMismatch, reused));
    }
    if options.range_collection.is_some_and(|rid| rid != collection.rid) {
        return Err(Error::new(Code::NameCacheStale, reused));
    }
    Ok(())
}
