//! The catalog: databases, collections and offers, as an immutable snapshot.
//!
//! A request takes the snapshot once and holds it for its whole life. A change builds the next
//! snapshot beside it, commits the rows that differ, and then swaps. Nothing here reads or writes a
//! store: [`storage`] turns rows into a catalog, and changes into rows.

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

/// Every resource but documents, as plain data: it holds no handle of the store, and nothing that is
/// open. Maps are by number, which is the order of creation.
#[derive(Clone, Default)]
pub struct Catalog {
    /// Every database, by the number in its rid.
    pub databases: BTreeMap<u32, Arc<Database>>,
    /// The number of each database, by name.
    names: HashMap<String, u32>,
    /// The throughput of databases and collections.
    pub offers: Arc<Offers>,
    /// Who owns which partitions.
    pub groups: Arc<Groups>,
    /// Rises with every committed change.
    pub version: u64,
    /// The rid that the next database gets.
    pub(crate) next_database: u32,
    /// The rid that the next offer gets.
    pub next_offer: u32,
    /// The highest LSN that a deleted collection gave out. Those of new ones begin behind it: their
    /// names may be the same, and clients remember what they saw.
    pub last_lsn: u64,
}

/// The version of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Changes with every write of the resource; clients send it back to find out whether they are
    /// up to date.
    pub etag: Etag,
    /// Seconds of the last change.
    pub ts: u64,
}

/// A database and its collections.
#[derive(Clone)]
pub struct Database {
    /// The database's number, as it is in links and in the rids of everything inside.
    pub rid: DatabaseRid,
    /// The name that the client gave it.
    pub id: String,
    /// The version of the database itself; a change to what is inside does not touch it.
    pub version: Version,
    /// Every collection, by the number in its rid.
    pub collections: BTreeMap<u32, Arc<Collection>>,
    /// The number of each collection, by name.
    names: HashMap<String, u32>,
    /// The number that the next collection gets; no number is given twice.
    pub(crate) next_collection: u32,
    /// The keys with which clients encrypt what they store here.
    pub encryption_keys: Arc<Children<EncryptionKey>>,
    /// Who may be given tokens.
    pub users: Arc<Children<User>>,
}

/// A collection and the ranges of its partitions.
#[derive(Clone)]
pub struct Collection {
    /// The numbers of its database and of itself.
    pub rid: CollectionRid,
    /// The name of its database, for the owner's path.
    pub database_id: String,
    /// What the creator asked for: keys, indexing, time to live.
    pub definition: Arc<Definition>,
    /// The version of the collection's definition; documents have versions of their own.
    pub version: Version,
    /// Which version of the definition, as far as rows follow it, documents are written with.
    pub index_generation: u32,
    /// Earlier definitions that some documents may still follow.
    pub retired: Vec<Retired>,
    /// In the order of the hash space, without gaps.
    pub ranges: Vec<Arc<Range>>,
    /// Rises whenever the partitions change.
    pub map_version: u32,
    /// The id that the next range gets, when a partition is split or merged.
    pub next_range_id: u32,
    /// Ranges that were split or merged, oldest first, and the slots they had.
    pub past: Vec<(u32, Area)>,
    /// Stored procedures, triggers and functions.
    pub scripts: Arc<Scripts>,
}

/// A definition of the past: another indexing policy or time to live.
#[derive(Clone)]
pub struct Retired {
    /// Which one it was.
    pub generation: u32,
    /// The collection as it was defined then.
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
    /// The rid of the resource it belongs to, by which the offer is found.
    pub resource_rid: String,
    /// What is reserved now.
    pub throughput: Throughput,
    /// The most that was ever reserved: it limits how low an offer may go.
    pub highest: u32,
    /// The most that was ever stored, which does the same.
    pub storage_kb: HighWater,
    /// Whether someone asked for it, rather than getting what everybody gets.
    pub is_asked: bool,
}

/// How throughput is reserved.
#[derive(Clone, Debug, PartialEq)]
pub enum Throughput {
    /// A fixed rate.
    Manual(u32),
    /// Follows the load up to a maximum; the caller may have said by how much the maximum is to
    /// grow with the data.
    Autoscale {
        /// Most request units per second.
        max: u32,
        /// By how many percent the maximum is to grow; `None` if the caller did not say.
        increment_percent: Option<u8>,
    },
    /// A legacy performance level, S1 to S3.
    Level {
        /// The level as offers show it.
        name: String,
        /// The request units per second that the level stands for.
        rate: u32,
    },
}

impl Throughput {
    /// Request units per second that partitions are sized for.
    pub fn rate(&self) -> u32 {
        match self {
            Self::Manual(rate) | Self::Level { rate, .. } => *rate,
            Self::Autoscale { max, .. } => *max,
        }
    }
}

impl Catalog {
    /// A catalog without resources, whose numbers begin at a place that `seed` decides.
    pub fn new(seed: u32) -> Self {
        // High enough to be told from another directory's, low enough never to run out.
        let (next_database, next_offer) = (seed % 0x7000_0000 + 1, seed % 0x40_0000 + 1);
        Self { next_database, next_offer, ..Self::default() }
    }

    /// Finds a database by name, then by rid.
    pub fn database(&self, path: &DatabasePath) -> Option<&Arc<Database>> {
        let number = self.names.get(&path.0).copied();
        self.databases.get(&number.or_else(|| Some(DatabaseRid::parse(&path.0)?.0))?)
    }

    /// Puts a database in its place, new or changed.
    pub fn insert_database(&mut self, database: Arc<Database>) {
        self.names.insert(database.id.clone(), database.rid.0);
        self.databases.insert(database.rid.0, database);
    }

    /// Takes a database out, with everything that is in it.
    pub fn remove_database(&mut self, database: &Database) {
        self.names.remove(&database.id);
        self.databases.remove(&database.rid.0);
    }

    /// A rid for a new database. No other database is named like it: a link by rid must not lead to
    /// a resource of that name.
    pub fn take_database_rid(&mut self) -> DatabaseRid {
        loop {
            let rid = DatabaseRid(self.next_database);
            self.next_database += 1;
            if !self.names.contains_key(&rid.to_string()) {
                return rid;
            }
        }
    }

    /// Changes the collections of a database.
    pub fn database_mut(&mut self, rid: DatabaseRid) -> Option<&mut Database> {
        self.databases.get_mut(&rid.0).map(Arc::make_mut)
    }

    /// Changes a collection in its place. Its number and its name must stay.
    pub(crate) fn collection_mut(&mut self, rid: CollectionRid) -> Option<&mut Collection> {
        self.database_mut(rid.database)?.collections.get_mut(&rid.number).map(Arc::make_mut)
    }

    /// Finds a collection that a request is about; `None` tells which part is missing apart.
    pub fn collection(&self, path: &CollectionPath) -> Result<&Arc<Collection>, Missing> {
        let database = self.database(&path.database).ok_or(Missing::Database)?;
        database.collection(&path.collection).ok_or(Missing::Collection)
    }

    /// A collection by its rid.
    pub fn collection_by_rid(&self, rid: CollectionRid) -> Option<&Arc<Collection>> {
        self.databases.get(&rid.database.0)?.collections.get(&rid.number)
    }

    /// Databases and collections together: the account's limit counts both.
    pub fn resource_count(&self) -> usize {
        self.databases.values().map(|database| 1 + database.collections.len()).sum()
    }
}

/// Which part of a path does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The database is missing, so that the answer speaks of an owner that does not exist.
    Database,
    /// The database is there, the collection is not.
    Collection,
}

impl Database {
    /// A database without collections, keys and users, which the caller adds.
    pub fn new(rid: DatabaseRid, id: String, version: Version, next_collection: u32) -> Self {
        let (collections, names) = (BTreeMap::new(), HashMap::new());
        // Keys and users are rows of their own.
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

    /// Puts a collection in its place, new or changed.
    pub fn insert_collection(&mut self, collection: Arc<Collection>) {
        self.names.insert(collection.definition.id.clone(), collection.rid.number);
        self.collections.insert(collection.rid.number, collection);
    }

    /// Takes a collection out, with its scripts; its number is not given again.
    pub fn remove_collection(&mut self, collection: &Collection) {
        self.names.remove(&collection.definition.id);
        self.collections.remove(&collection.rid.number);
    }

    /// A rid for a new collection, which no collection here has for a name.
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

    /// The database as the owner of its collections, users and keys, for response headers.
    pub fn owner(&self) -> Owner {
        Owner { name_path: format!("dbs/{}", self.id), rid: self.rid.to_string() }
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

    /// What the numbers of its documents belong to, for tokens that name them. A collection that
    /// was given a partition key has numbered its documents anew, once.
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

    /// Whether some may follow one that indexes other values, or in another way.
    pub fn is_reindexing(&self) -> bool {
        let policy = |definition: &Definition| definition.json.get("indexingPolicy").cloned();
        let mut retired = self.retired.iter();
        retired.any(|retired| policy(&retired.definition) != policy(&self.definition))
    }

    /// The definition that the rows of documents of this generation follow.
    pub fn definition_of(&self, generation: u32) -> &Definition {
        let retired = self.retired.iter().find(|retired| retired.generation == generation);
        retired.map_or(&self.definition, |retired| &retired.definition)
    }

    /// The indexing policy of that definition.
    pub fn policy_of(&self, generation: u32) -> Arc<Policy> {
        Arc::clone(&self.definition_of(generation).indexing)
    }

    /// The owner of its documents.
    pub fn owner(&self) -> Owner {
        Owner {
            name_path: format!("dbs/{}/colls/{}", self.database_id, self.definition.id),
            rid: self.rid.to_string(),
        }
    }

    /// Its own owner, the database.
    pub fn database_owner(&self) -> Owner {
        let name_path = format!("dbs/{}", self.database_id);
        Owner { name_path, rid: self.rid.database.to_string() }
    }

    /// Which of its ranges holds a full key of this slot.
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

    /// The place of the range with this id; clients with an old map refresh on the error.
    pub fn range_by_id(&self, range_id: &str) -> Result<usize, Error> {
        let id: Option<u32> = range_id.trim().parse().ok();
        self.ranges.iter().position(|range| Some(range.id) == id).ok_or_else(|| {
            Error::new(Code::PartitionGone, "The requested partition key range is gone.")
        })
    }

    /// The slots of a range that is no more, if it is remembered.
    pub fn past_range(&self, range_id: &str) -> Option<Area> {
        let id: u32 = range_id.trim().parse().ok()?;
        self.past.iter().find(|(past, _)| *past == id).map(|(_, area)| area.clone())
    }

    /// What a caller's copy of the ranges is compared with. Names the collection too, since a name
    /// may come to mean another one.
    pub fn map_etag(&self) -> String {
        let CollectionRid { database, number } = self.rid;
        format!("{:08x}{number:08x}{:08x}", database.0, self.map_version)
    }

    /// The bounds of a range as the hex keys that SDKs compare.
    pub fn epk_bounds(&self, range: &Range) -> (String, String) {
        let hashing = self.definition.partition_key.hashing;
        let bound = |edge: &Edge| edge.to_epk(hashing).to_string();
        (bound(&range.area.start), bound(&range.area.end))
    }

    /// The collection as clients see it. `hides_system_key` for those who do not know the key that
    /// stands for no partition key: their SDKs would ask for one with every document.
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

/// An etag as it stands in JSON: its quotes are part of it.
pub fn quoted(etag: Etag) -> String {
    format!("\"{etag}\"")
}

/// A count as a JSON number. Counts stay far below 2^53.
pub fn number(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

/// An object as JSON text, ready to be a row or the body of an answer.
pub fn to_bytes(object: Object) -> Bytes {
    json::print(&Value::Object(object)).into()
}
