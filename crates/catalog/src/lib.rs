//! The catalog: databases, collections and offers, as an immutable snapshot.
//!
//! A request takes the snapshot once and holds it for its whole life. A change builds the next
//! snapshot beside it, commits the rows that differ, and then swaps. Nothing here reads or writes a
//! store: [`storage`] only turns rows into a catalog, and changes into rows.

pub mod area;
pub mod bodies;
pub mod child_rows;
pub mod children;
pub mod definition;
pub mod encryption_keys;
pub mod groups;
pub mod high_water;
pub mod limits;
pub mod link;
pub mod numbers;
pub mod offers;
pub mod range;
pub mod rows;
pub mod script_bodies;
pub mod scripts;
pub mod storage;
pub mod throughput;
pub mod user_bodies;
mod user_rows;
pub mod users;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use foldhash::fast::RandomState;
use index::Policy;
use protocol::{
    Code, Error, Owner,
    etag::Etag,
    request::{CollectionPath, DatabasePath},
    rid::{CollectionRid, DatabaseRid, OfferRid},
};
use value::{Object, Value, json, partition_key::PartitionKey};

pub use crate::high_water::HighWater;
use crate::{
    area::{Area, Edge},
    children::Children,
    definition::Definition,
    encryption_keys::EncryptionKey,
    groups::Groups,
    offers::Offers,
    range::Range,
    scripts::Scripts,
    users::User,
};

/// Every resource except documents, as plain data: no store handles and nothing open. Maps are
/// keyed by number, in creation order.
#[derive(Clone, Default)]
pub struct Catalog {
    /// Every database, by the number in its rid.
    pub databases: BTreeMap<u32, Arc<Database>>,
    /// The number of each database, by name.
    names: HashMap<String, u32, RandomState>,
    /// The throughput of databases and collections.
    pub offers: Arc<Offers>,
    /// Which process owns which partitions.
    pub groups: Arc<Groups>,
    /// Increases with every committed change.
    pub version: u64,
    /// The number of the next database.
    pub(crate) next_database: u32,
    /// The number of the next offer.
    pub next_offer: u32,
    /// The highest LSN that a deleted collection gave out. New collections start above it: they may
    /// have the same name, and clients remember the LSNs they saw.
    pub last_lsn: u64,
}

/// The version of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Changes with every write of the resource; clients send it back to check whether they are up
    /// to date.
    pub etag: Etag,
    /// When it was last changed, in seconds.
    pub ts: u64,
}

/// A database and its collections.
#[derive(Clone)]
pub struct Database {
    /// The database's number, as in links and in the rids of everything inside.
    pub rid: DatabaseRid,
    /// The name that the client gave it.
    pub id: String,
    /// The version of the database itself; changes inside it do not affect it.
    pub version: Version,
    /// Every collection, by the number in its rid.
    pub collections: BTreeMap<u32, Arc<Collection>>,
    /// The number of each collection, by name.
    names: HashMap<String, u32, RandomState>,
    /// The number of the next collection; numbers are never reused.
    pub(crate) next_collection: u32,
    /// The keys with which clients encrypt their data.
    pub encryption_keys: Arc<Children<EncryptionKey>>,
    /// The users, for whom tokens can be issued.
    pub users: Arc<Children<User>>,
}

/// A collection and the ranges of its partitions.
#[derive(Clone)]
pub struct Collection {
    /// The numbers of its database and of itself.
    pub rid: CollectionRid,
    /// The name of its database, for the owner's path.
    pub database_id: String,
    /// The creator's settings: keys, indexing, time to live.
    pub definition: Arc<Definition>,
    /// The version of the collection's definition; documents have their own versions.
    pub version: Version,
    /// The generation of the definition, where it affects rows, that documents are written with.
    pub index_generation: u32,
    /// Earlier definitions that some documents may still follow.
    pub retired: Vec<Retired>,
    /// In hash order, without gaps.
    pub ranges: Vec<Arc<Range>>,
    /// Increases whenever the partitions change.
    pub map_version: u32,
    /// The id of the next range that a split or merge creates.
    pub next_range_id: u32,
    /// Ranges that were split or merged, oldest first, and their areas.
    pub past: Vec<(u32, Area)>,
    /// Stored procedures, triggers and functions.
    pub scripts: Arc<Scripts>,
}

/// An earlier definition, with another indexing policy or time to live.
#[derive(Clone)]
pub struct Retired {
    /// Its generation.
    pub generation: u32,
    /// The collection's definition at that time.
    pub definition: Arc<Definition>,
}

/// The throughput of a database or collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The number by which clients read and replace the offer.
    pub rid: OfferRid,
    /// The version of the offer; it changes when the throughput is replaced.
    pub version: Version,
    /// The self link of the resource it belongs to.
    pub resource: String,
    /// The rid of the resource it belongs to, which is used to find the offer.
    pub resource_rid: String,
    /// The reserved throughput.
    pub throughput: Throughput,
    /// The most throughput ever reserved, which limits how low it may be set.
    pub highest: u32,
    /// The most data ever stored, which does so too.
    pub storage_kb: HighWater,
    /// Whether someone requested it, rather than getting the default.
    pub is_asked: bool,
}

/// How throughput is reserved.
#[derive(Clone, Debug, PartialEq)]
pub enum Throughput {
    /// A fixed rate.
    Manual(u32),
    /// Follows the load up to a maximum, which may be set to grow with the data.
    Autoscale {
        /// The maximum in request units per second.
        max: u32,
        /// By how many percent the maximum grows; `None` if not specified.
        increment_percent: Option<u8>,
    },
    /// A legacy performance level, S1 to S3.
    Level {
        /// The level's name as shown in offers.
        name: String,
        /// The level's request units per second.
        rate: u32,
    },
}

impl Throughput {
    /// The request units per second that partitions are sized for.
    pub fn rate(&self) -> u32 {
        match self {
            Self::Manual(rate) | Self::Level { rate, .. } => *rate,
            Self::Autoscale { max, .. } => *max,
        }
    }
}

impl Catalog {
    /// Creates an empty catalog. `seed` determines where its numbers start.
    pub fn new(seed: u32) -> Self {
        // High enough to differ from other directories, low enough never to run out.
        let (next_database, next_offer) = (seed % 0x7000_0000 + 1, seed % 0x40_0000 + 1);
        Self { next_database, next_offer, ..Self::default() }
    }

    /// Finds a database by name, then by rid.
    pub fn database(&self, path: &DatabasePath) -> Option<&Arc<Database>> {
        let number = self.names.get(&path.0).copied();
        self.databases.get(&number.or_else(|| Some(DatabaseRid::parse(&path.0)?.0))?)
    }

    /// Inserts or replaces a database.
    pub fn insert_database(&mut self, database: Arc<Database>) {
        self.names.insert(database.id.clone(), database.rid.0);
        self.databases.insert(database.rid.0, database);
    }

    /// Removes a database with everything in it.
    pub fn remove_database(&mut self, database: &Database) {
        self.names.remove(&database.id);
        self.databases.remove(&database.rid.0);
    }

    /// Allocates the rid of a new database. Skips rids that are another database's name, because a
    /// link by rid must not lead to that database.
    pub fn take_database_rid(&mut self) -> DatabaseRid {
        loop {
            let rid = DatabaseRid(self.next_database);
            self.next_database += 1;
            if !self.names.contains_key(&rid.to_string()) {
                return rid;
            }
        }
    }

    /// A mutable database, to change its collections.
    pub fn database_mut(&mut self, rid: DatabaseRid) -> Option<&mut Database> {
        self.databases.get_mut(&rid.0).map(Arc::make_mut)
    }

    /// A mutable collection. Its number and name must not change.
    pub(crate) fn collection_mut(&mut self, rid: CollectionRid) -> Option<&mut Collection> {
        self.database_mut(rid.database)?.collections.get_mut(&rid.number).map(Arc::make_mut)
    }

    /// Finds the collection of a request; the error tells which part is missing.
    pub fn collection(&self, path: &CollectionPath) -> Result<&Arc<Collection>, Missing> {
        let database = self.database(&path.database).ok_or(Missing::Database)?;
        database.collection(&path.collection).ok_or(Missing::Collection)
    }

    /// Finds a collection by rid.
    pub fn collection_by_rid(&self, rid: CollectionRid) -> Option<&Arc<Collection>> {
        self.databases.get(&rid.database.0)?.collections.get(&rid.number)
    }

    /// The number of databases and collections: the account's limit counts both.
    pub fn resource_count(&self) -> usize {
        self.databases.values().map(|database| 1 + database.collections.len()).sum()
    }
}

/// Which part of a path does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The database does not exist, so the error reports a missing owner.
    Database,
    /// The database exists, but not the collection.
    Collection,
}

impl Database {
    /// Creates a database without collections, keys and users, which the caller adds.
    pub fn new(rid: DatabaseRid, id: String, version: Version, next_collection: u32) -> Self {
        let (collections, names) = (BTreeMap::new(), HashMap::default());
        // Keys and users have their own rows.
        let (encryption_keys, users) = (Arc::default(), Arc::default());
        Self { rid, id, version, collections, names, next_collection, encryption_keys, users }
    }

    /// Finds a collection by name, then by rid.
    pub fn collection(&self, name: &str) -> Option<&Arc<Collection>> {
        let by_rid = || {
            let rid = CollectionRid::parse(name)?;
            (rid.database == self.rid).then_some(rid.number)
        };
        self.collections.get(&self.names.get(name).copied().or_else(by_rid)?)
    }

    /// Inserts or replaces a collection.
    pub fn insert_collection(&mut self, collection: Arc<Collection>) {
        self.names.insert(collection.definition.id.clone(), collection.rid.number);
        self.collections.insert(collection.rid.number, collection);
    }

    /// Removes a collection with its scripts; its number is not reused.
    pub fn remove_collection(&mut self, collection: &Collection) {
        self.names.remove(&collection.definition.id);
        self.collections.remove(&collection.rid.number);
    }

    /// Allocates the rid of a new collection. Skips rids that are another collection's name.
    pub fn take_collection_rid(&mut self) -> CollectionRid {
        loop {
            let rid = CollectionRid { database: self.rid, number: self.next_collection };
            self.next_collection += 1;
            if !self.names.contains_key(&rid.to_string()) {
                return rid;
            }
        }
    }

    /// The database's `_self`: its path by rid, with a slash at the end.
    pub fn self_link(&self) -> String {
        format!("dbs/{}/", self.rid)
    }

    /// The database as the owner of its children, for response headers.
    pub fn owner(&self) -> Arc<Owner> {
        let name_path = format!("dbs/{}", self.id);
        Arc::new(Owner { name_path, rid: self.rid.to_string() })
    }

    /// The database as clients see it, with system properties.
    pub fn to_json(&self) -> Bytes {
        let mut object = Object::new();
        object.insert("id", self.id.as_str());
        object.insert("_rid", self.rid.to_string());
        object.insert("_self", self.self_link());
        object.insert("_etag", quoted(self.version.etag));
        object.insert("_colls", "colls/");
        object.insert("_users", "users/");
        object.insert("_ts", number(self.version.ts));
        to_bytes(object)
    }
}

impl Collection {
    /// The collection's `_self`: its path by rids, with a slash at the end.
    pub fn self_link(&self) -> String {
        format!("dbs/{}/colls/{}/", self.rid.database, self.rid)
    }

    /// Identifies the numbering of its documents, for tokens that contain document numbers. A
    /// collection that is given a partition key renumbers its documents once.
    pub fn numbering(&self) -> Vec<u8> {
        let mut numbering = self.rid.bytes().to_vec();
        if self.definition.partition_key.is_system {
            numbering.push(0);
        }
        numbering
    }

    /// Whether some documents may still follow an earlier definition.
    pub fn is_transforming(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Whether some documents may follow one with another indexing policy.
    pub fn is_reindexing(&self) -> bool {
        let policy = |definition: &Definition| definition.json.get("indexingPolicy").cloned();
        let mut retired = self.retired.iter();
        retired.any(|retired| policy(&retired.definition) != policy(&self.definition))
    }

    /// The definition that rows of this generation follow.
    pub fn definition_of(&self, generation: u32) -> &Definition {
        let retired = self.retired.iter().find(|retired| retired.generation == generation);
        retired.map_or(&self.definition, |retired| &retired.definition)
    }

    /// The indexing policy of this generation.
    pub fn policy_of(&self, generation: u32) -> Arc<Policy> {
        Arc::clone(&self.definition_of(generation).indexing)
    }

    /// The collection as the owner of its documents.
    pub fn owner(&self) -> Arc<Owner> {
        let name_path = format!("dbs/{}/colls/{}", self.database_id, self.definition.id);
        Arc::new(Owner { name_path, rid: self.rid.to_string() })
    }

    /// The database as the owner of the collection.
    pub fn database_owner(&self) -> Arc<Owner> {
        let name_path = format!("dbs/{}", self.database_id);
        Arc::new(Owner { name_path, rid: self.rid.database.to_string() })
    }

    /// The index of the range that holds a full key with this slot.
    pub fn range_of(&self, slot: u32, key: &PartitionKey) -> usize {
        let last = self.ranges.len() - 1;
        let first = self.ranges.partition_point(|range| range.slots.end <= slot).min(last);
        if !self.ranges[first].area.is_cut_inside(slot) {
            return first;
        }
        let inside = Some(key.effective(self.definition.partition_key.hashing));
        let edge = Edge { slot, inside };
        self.ranges.partition_point(|range| range.area.end <= edge).min(last)
    }

    /// The slot of a full partition key.
    pub fn slot(&self, key: &PartitionKey) -> u32 {
        key.slot(self.definition.partition_key.hashing)
    }

    /// The index of the range with this id; the error makes clients with an old map refresh.
    pub fn range_by_id(&self, range_id: &str) -> Result<usize, Error> {
        let id: Option<u32> = range_id.trim().parse().ok();
        self.ranges.iter().position(|range| Some(range.id) == id).ok_or_else(|| {
            Error::new(Code::PartitionGone, "The requested partition key range is gone.")
        })
    }

    /// The area of a range that no longer exists, if it is remembered.
    pub fn past_range(&self, range_id: &str) -> Option<Area> {
        let id: u32 = range_id.trim().parse().ok()?;
        self.past.iter().find(|(past, _)| *past == id).map(|(_, area)| area.clone())
    }

    /// Compared with the caller's copy of the ranges. It includes the collection's rid, because a
    /// name may come to mean another collection.
    pub fn map_etag(&self) -> String {
        let CollectionRid { database, number } = self.rid;
        format!("{:08x}{number:08x}{:08x}", database.0, self.map_version)
    }

    /// The bounds of a range, as the hex EPKs that SDKs compare.
    pub fn epk_bounds(&self, range: &Range) -> (String, String) {
        let hashing = self.definition.partition_key.hashing;
        let bound = |edge: &Edge| edge.to_epk(hashing).to_string();
        (bound(&range.area.start), bound(&range.area.end))
    }

    /// The collection as clients see it. `hides_system_key` hides the key that stands for no
    /// partition key from clients that do not know it: their SDKs would ask for one with every
    /// document.
    pub fn to_json(&self, statistics: Option<Value>, hides_system_key: bool) -> Bytes {
        let mut object = self.definition.json.clone();
        if hides_system_key && self.definition.partition_key.is_system {
            object.remove("partitionKey");
        }
        object.insert("_rid", self.rid.to_string());
        object.insert("_ts", number(self.version.ts));
        object.insert("_self", self.self_link());
        object.insert("_etag", quoted(self.version.etag));
        for child in ["docs", "sprocs", "triggers", "udfs", "conflicts"] {
            object.insert(format!("_{child}"), format!("{child}/"));
        }
        if let Some(statistics) = statistics {
            object.insert("statistics", statistics);
        }
        to_bytes(object)
    }
}

/// An etag as it appears in JSON, where the quotes are part of it.
pub fn quoted(etag: Etag) -> String {
    format!("\"{etag}\"")
}

/// A count as a JSON number. Counts stay far below 2^53.
pub fn number(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Encodes an object as JSON, for a row or a response body.
pub fn to_bytes(object: Object) -> Bytes {
    json::print(&Value::Object(object)).into()
}
