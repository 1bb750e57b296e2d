//! The catalog: databases, collections and offers, as an immutable snapshot.
//!
//! A request takes the snapshot once and holds it for its whole life. A change builds the next
//! snapshot beside it, commits the rows that differ, and then swaps: see [`crate::control`].

pub(crate) mod child_rows;
pub(crate) mod children;
pub(crate) mod encryption_keys;
pub(crate) mod groups;
pub(crate) mod high_water;
pub(crate) mod numbers;
pub(crate) mod offers;
pub(crate) mod range;
pub(crate) mod rows;
pub(crate) mod scripts;
pub(crate) mod storage;
pub(crate) mod user_rows;
pub(crate) mod users;

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

pub(crate) use crate::catalog::high_water::HighWater;
use crate::{
    area::{Area, Edge},
    catalog::{
        children::Children, encryption_keys::EncryptionKey, groups::Groups, offers::Offers,
        range::Range, scripts::Scripts, users::User,
    },
    definition::Definition,
};

/// Every resource but documents, as plain data: it holds no handle of the store, and nothing that is
/// open. Maps are by number, which is the order of creation.
#[derive(Clone, Default)]
pub(crate) struct Catalog {
    pub(crate) databases: BTreeMap<u32, Arc<Database>>,
    /// The number of each database, by name.
    names: HashMap<String, u32>,
    pub(crate) offers: Arc<Offers>,
    /// Who owns which partitions.
    pub(crate) groups: Arc<Groups>,
    /// Rises with every committed change.
    pub(crate) version: u64,
    /// The rid that the next database gets.
    pub(crate) next_database: u32,
    /// The rid that the next offer gets.
    pub(crate) next_offer: u32,
    /// The highest LSN that a deleted collection gave out. Those of new ones begin behind it: their
    /// names may be the same, and clients remember what they saw.
    pub(crate) last_lsn: u64,
}

/// The version of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) etag: Etag,
    /// Seconds of the last change.
    pub(crate) ts: u64,
}

/// A database and its collections.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) rid: DatabaseRid,
    pub(crate) id: String,
    pub(crate) version: Version,
    pub(crate) collections: BTreeMap<u32, Arc<Collection>>,
    /// The number of each collection, by name.
    names: HashMap<String, u32>,
    pub(crate) next_collection: u32,
    /// The keys with which clients encrypt what they store here.
    pub(crate) encryption_keys: Arc<Children<EncryptionKey>>,
    /// Who may be given tokens.
    pub(crate) users: Arc<Children<User>>,
}

/// A collection and the ranges of its partitions.
#[derive(Clone)]
pub(crate) struct Collection {
    pub(crate) rid: CollectionRid,
    /// The name of its database, for the owner's path.
    pub(crate) database_id: String,
    pub(crate) definition: Arc<Definition>,
    pub(crate) version: Version,
    /// Which version of the definition, as far as rows follow it, documents are written with.
    pub(crate) index_generation: u32,
    /// Earlier definitions that some documents may still follow.
    pub(crate) retired: Vec<Retired>,
    /// In the order of the hash space, without gaps.
    pub(crate) ranges: Vec<Arc<Range>>,
    /// Rises whenever the partitions change.
    pub(crate) map_version: u32,
    pub(crate) next_range_id: u32,
    /// Ranges that were split or merged, oldest first, and the slots they had.
    pub(crate) past: Vec<(u32, Area)>,
    /// Stored procedures, triggers and functions.
    pub(crate) scripts: Arc<Scripts>,
}

/// A definition of the past: another indexing policy or time to live.
#[derive(Clone)]
pub(crate) struct Retired {
    /// Which one it was.
    pub(crate) generation: u32,
    /// The collection as it was defined then.
    pub(crate) definition: Arc<Definition>,
}

/// The throughput of a database or collection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) rid: OfferRid,
    pub(crate) version: Version,
    /// The self link of the resource it belongs to.
    pub(crate) resource: String,
    /// That resource's rid.
    pub(crate) resource_rid: String,
    pub(crate) throughput: Throughput,
    /// The most that was ever reserved: it limits how low an offer may go.
    pub(crate) highest: u32,
    /// The most that was ever stored, which does the same.
    pub(crate) storage_kb: HighWater,
    /// Whether someone asked for it, rather than getting what everybody gets.
    pub(crate) is_asked: bool,
}

/// How throughput is reserved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Throughput {
    /// A fixed rate.
    Manual(u32),
    /// Follows the load up to a maximum; the caller may have said by how much the maximum is to
    /// grow with the data.
    Autoscale { max: u32, increment_percent: Option<u8> },
    /// A legacy performance level, S1 to S3.
    Level { name: String, rate: u32 },
}

impl Throughput {
    /// Request units per second that partitions are sized for.
    pub(crate) fn rate(&self) -> u32 {
        match self {
            Self::Manual(rate) | Self::Level { rate, .. } => *rate,
            Self::Autoscale { max, .. } => *max,
        }
    }
}

impl Catalog {
    /// Finds a database by name, then by rid.
    pub(crate) fn database(&self, path: &DatabasePath) -> Option<&Arc<Database>> {
        let number = self.names.get(&path.0).copied();
        self.databases.get(&number.or_else(|| Some(DatabaseRid::parse(&path.0)?.0))?)
    }

    /// Puts a database in its place, new or changed.
    pub(crate) fn insert_database(&mut self, database: Arc<Database>) {
        self.names.insert(database.id.clone(), database.rid.0);
        self.databases.insert(database.rid.0, database);
    }

    pub(crate) fn remove_database(&mut self, database: &Database) {
        self.names.remove(&database.id);
        self.databases.remove(&database.rid.0);
    }

    /// A rid for a new database. No other database is named like it: a link by rid must not lead to
    /// a resource of that name.
    pub(crate) fn take_database_rid(&mut self) -> DatabaseRid {
        loop {
            let rid = DatabaseRid(self.next_database);
            self.next_database += 1;
            if !self.names.contains_key(&rid.to_string()) {
                return rid;
            }
        }
    }

    /// Changes the collections of a database.
    pub(crate) fn database_mut(&mut self, rid: DatabaseRid) -> Option<&mut Database> {
        self.databases.get_mut(&rid.0).map(Arc::make_mut)
    }

    /// Changes a collection in its place. Its number and its name must stay.
    pub(crate) fn collection_mut(&mut self, rid: CollectionRid) -> Option<&mut Collection> {
        self.database_mut(rid.database)?.collections.get_mut(&rid.number).map(Arc::make_mut)
    }

    /// Finds a collection that a request is about; `None` tells which part is missing apart.
    pub(crate) fn collection(&self, path: &CollectionPath) -> Result<&Arc<Collection>, Missing> {
        let database = self.database(&path.database).ok_or(Missing::Database)?;
        database.collection(&path.collection).ok_or(Missing::Collection)
    }

    /// A collection by its rid.
    pub(crate) fn collection_by_rid(&self, rid: CollectionRid) -> Option<&Arc<Collection>> {
        self.databases.get(&rid.database.0)?.collections.get(&rid.number)
    }

    /// Databases and collections together: the account's limit counts both.
    pub(crate) fn resource_count(&self) -> usize {
        self.databases.values().map(|database| 1 + database.collections.len()).sum()
    }
}

/// Which part of a path does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Database,
    Collection,
}

impl Database {
    pub(crate) fn new(
        rid: DatabaseRid,
        id: String,
        version: Version,
        next_collection: u32,
    ) -> Self {
        let (collections, names) = (BTreeMap::new(), HashMap::new());
        // Keys and users are rows of their own.
        let (encryption_keys, users) = (Arc::default(), Arc::default());
        Self { rid, id, version, collections, names, next_collection, encryption_keys, users }
    }

    /// Finds a collection by name, then by rid.
    pub(crate) fn collection(&self, name: &str) -> Option<&Arc<Collection>> {
        let by_rid = || {
            let rid = CollectionRid::parse(name)?;
            (rid.database == self.rid).then_some(rid.number)
        };
        self.collections.get(&self.names.get(name).copied().or_else(by_rid)?)
    }

    /// Puts a collection in its place, new or changed.
    pub(crate) fn insert_collection(&mut self, collection: Arc<Collection>) {
        self.names.insert(collection.definition.id.clone(), collection.rid.number);
        self.collections.insert(collection.rid.number, collection);
    }

    pub(crate) fn remove_collection(&mut self, collection: &Collection) {
        self.names.remove(&collection.definition.id);
        self.collections.remove(&collection.rid.number);
    }

    /// A rid for a new collection, which no collection here has for a name.
    pub(crate) fn take_collection_rid(&mut self) -> CollectionRid {
        loop {
            let rid = CollectionRid { database: self.rid, number: self.next_collection };
            self.next_collection += 1;
            if !self.names.contains_key(&rid.to_string()) {
                return rid;
            }
        }
    }

    pub(crate) fn self_link(&self) -> String {
        format!("dbs/{}/", self.rid)
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner { name_path: format!("dbs/{}", self.id), rid: self.rid.to_string() }
    }

    pub(crate) fn to_json(&self) -> Bytes {
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
    pub(crate) fn self_link(&self) -> String {
        format!("dbs/{}/colls/{}/", self.rid.database, self.rid)
    }

    /// What the numbers of its documents belong to, for tokens that name them. A collection that
    /// was given a partition key has numbered its documents anew, once.
    pub(crate) fn numbering(&self) -> Vec<u8> {
        let mut numbering = self.rid.bytes().to_vec();
        if self.definition.partition_key.is_system {
            numbering.push(0);
        }
        numbering
    }

    /// Whether some documents may still follow an earlier definition.
    pub(crate) fn is_transforming(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Whether some may follow one that indexes other values, or in another way.
    pub(crate) fn is_reindexing(&self) -> bool {
        let policy = |definition: &Definition| definition.json.get("indexingPolicy").cloned();
        let mut retired = self.retired.iter();
        retired.any(|retired| policy(&retired.definition) != policy(&self.definition))
    }

    /// The definition that the rows of documents of this generation follow.
    pub(crate) fn definition_of(&self, generation: u32) -> &Definition {
        let retired = self.retired.iter().find(|retired| retired.generation == generation);
        retired.map_or(&self.definition, |retired| &retired.definition)
    }

    /// The indexing policy of that definition.
    pub(crate) fn policy_of(&self, generation: u32) -> Arc<Policy> {
        Arc::clone(&self.definition_of(generation).indexing)
    }

    /// The owner of its documents.
    pub(crate) fn owner(&self) -> Owner {
        Owner {
            name_path: format!("dbs/{}/colls/{}", self.database_id, self.definition.id),
            rid: self.rid.to_string(),
        }
    }

    /// Its own owner, the database.
    pub(crate) fn database_owner(&self) -> Owner {
        let name_path = format!("dbs/{}", self.database_id);
        Owner { name_path, rid: self.rid.database.to_string() }
    }

    /// Which of its ranges holds a full key of this slot.
    pub(crate) fn range_of(&self, slot: u32, key: &PartitionKey) -> usize {
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
    pub(crate) fn slot(&self, key: &PartitionKey) -> u32 {
        key.slot(self.definition.partition_key.hashing)
    }

    /// The place of the range with this id; clients with an old map refresh on the error.
    pub(crate) fn range_by_id(&self, range_id: &str) -> Result<usize, Error> {
        let id: Option<u32> = range_id.trim().parse().ok();
        self.ranges.iter().position(|range| Some(range.id) == id).ok_or_else(|| {
            Error::new(Code::PartitionGone, "The requested partition key range is gone.")
        })
    }

    /// The slots of a range that is no more, if it is remembered.
    pub(crate) fn past_range(&self, range_id: &str) -> Option<Area> {
        let id: u32 = range_id.trim().parse().ok()?;
        self.past.iter().find(|(past, _)| *past == id).map(|(_, area)| area.clone())
    }

    /// What a caller's copy of the ranges is compared with. Names the collection too, since a name
    /// may come to mean another one.
    pub(crate) fn map_etag(&self) -> String {
        let CollectionRid { database, number } = self.rid;
        format!("{:08x}{number:08x}{:08x}", database.0, self.map_version)
    }

    /// The bounds of a range as the hex keys that SDKs compare.
    pub(crate) fn epk_bounds(&self, range: &Range) -> (String, String) {
        let hashing = self.definition.partition_key.hashing;
        let bound = |edge: &Edge| edge.to_epk(hashing).to_string();
        (bound(&range.area.start), bound(&range.area.end))
    }

    /// The collection as clients see it. `hides_system_key` for those who do not know the key that
    /// stands for no partition key: their SDKs would ask for one with every document.
    pub(crate) fn to_json(&self, statistics: Option<Value>, hides_system_key: bool) -> Bytes {
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
pub(crate) fn quoted(etag: Etag) -> String {
    format!("\"{etag}\"")
}

/// A count as a JSON number. Counts stay far below 2^53.
pub(crate) fn number(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

pub(crate) fn to_bytes(object: Object) -> Bytes {
    json::print(&Value::Object(object)).into()
}
