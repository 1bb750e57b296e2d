//! Collections: create, read, replace, delete, list.

use std::sync::Arc;

use catalog::{
    Catalog, Collection, Database, Retired, Throughput, definition::Definition, storage,
};
use partition::{charge::Meter, errors};
use protocol::{
    Body, Error, Meta, Options, Outcome, Response,
    continuation::Feed,
    request::{CollectionPath, DatabasePath, ThroughputRequest},
    response::FeedKind,
};
use query::{paging::Page, served::check_intended};
use store::Batch;
use value::{Value, json};

use catalog::throughput::{self, Kind, Rules};

use catalog::bodies;

use crate::{
    Inner,
    call::Call,
    conditions::{is_unchanged, require_match},
    control::{AsyncPlan, Change, check_resource_count},
    encryption_keys, missing_collection, offers, reindexing, usage,
};

/// The settings of a collection to create.
pub(crate) struct Create {
    pub(crate) database: DatabasePath,
    pub(crate) throughput: ThroughputRequest,
    pub(crate) upsert: bool,
    pub(crate) partition_key_optional: bool,
}

pub(crate) async fn create(
    engine: &Arc<Inner>,
    create: Create,
    body: &[u8],
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let body = bodies::definition(body)?;
    let keeps_legacy_indexes = options.keeps_legacy_indexes;
    let created = engine.change(CreatePlan { create, body, keeps_legacy_indexes }).await;
    let (outcome, collection) = meter.metadata_write(created)?;
    let mut response = answer(outcome, &collection, options, None);
    response.meta.shares_throughput = shares_throughput(&engine.catalog(), &collection);
    Ok(response)
}

struct CreatePlan {
    create: Create,
    body: Value,
    keeps_legacy_indexes: bool,
}

impl AsyncPlan<(Outcome, Arc<Collection>)> for CreatePlan {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<(Outcome, Arc<Collection>)>, Error> {
        let Create { database, throughput, upsert, partition_key_optional } = self.create;
        let database = catalog.database(&database).ok_or_else(Error::owner_not_found)?;
        let mut database = Database::clone(database);
        let id = self.body.get("id").as_str().unwrap_or_default();
        let created = Definition::create(&self.body, partition_key_optional);
        // An id must not equal another collection's rid: it would take over that collection's
        // links.
        if let Some(old) = database.collection(id).cloned() {
            if !upsert || old.definition.id != id {
                // An invalid definition is reported before a taken id.
                return Err(created.err().unwrap_or_else(errors::taken));
            }
            let definition = old.definition.replace(&self.body, self.keeps_legacy_indexes)?;
            return replace_in(engine, catalog, &old, definition, Outcome::Ok);
        }
        let definition = created?;
        encryption_keys::check_known(&database, &definition.encryption_keys())?;
        check_resource_count(&catalog)?;
        let is_partitioned = !definition.partition_key.is_system;
        let kind = Kind::Collection { is_partitioned };
        let rules = Rules::from(&engine.options);
        let mut throughput = throughput::requested(&throughput, kind, rules)?;
        let is_asked = throughput.is_some();
        if throughput.is_none() {
            match catalog.offers.of(&database.rid.to_string()) {
                Some(shared) => offers::check_room(&catalog, &database, shared, kind)?,
                None => throughput = Some(throughput::unasked(kind, rules)),
            }
        }
        let mut collection = Collection {
            rid: database.take_collection_rid(),
            database_id: database.id.clone(),
            definition: definition.into(),
            version: engine.new_version(),
            index_generation: 1,
            retired: Vec::new(),
            ranges: Vec::new(),
            map_version: 1,
            next_range_id: 0,
            past: Vec::new(),
            scripts: Arc::default(),
        };
        let count = partition_count(engine, &catalog, &collection, throughput.as_ref());
        let created = engine.create_partitions(&mut collection, count, catalog.last_lsn).await?;
        let mut batch = Batch::default();
        storage::put_database(&mut batch, &database);
        storage::put_collection(&mut batch, &collection);
        if let Some(throughput) = throughput {
            let link = (collection.self_link(), collection.rid.to_string());
            let now = engine.new_version();
            throughput::add_offer(now, &mut catalog, &mut batch, link, throughput, is_asked);
        }
        let collection = Arc::new(collection);
        database.insert_collection(Arc::clone(&collection));
        catalog.insert_database(database.into());
        Ok(Change { created, ..Change::new(batch, catalog, (Outcome::Created, collection)) })
    }
}

/// The number of partitions of a new collection, from its own throughput or from what its database
/// shares.
fn partition_count(
    engine: &Inner,
    catalog: &Catalog,
    collection: &Collection,
    own: Option<&Throughput>,
) -> u32 {
    let is_partitioned = !collection.definition.partition_key.is_system;
    match (own, catalog.offers.of(&collection.rid.database.to_string())) {
        (None, Some(shared)) => {
            throughput::shared_partition_count(&shared.throughput, is_partitioned)
        }
        (own, _) => {
            throughput::partition_count(engine.options.partition_throughput, own, is_partitioned)
        }
    }
}

/// How many previous definitions a collection keeps while documents still follow them.
const RETIRED_MAX: usize = 16;

/// Replaces a collection's definition.
fn replace_in(
    engine: &Inner,
    mut catalog: Catalog,
    old: &Collection,
    definition: Definition,
    outcome: Outcome,
) -> Result<Change<(Outcome, Arc<Collection>)>, Error> {
    let mut collection = Collection::clone(old);
    // Index terms depend on the policy, and expiry rows on the time to live.
    let is_reindexed = definition.json.get("indexingPolicy").map(json::print)
        != old.definition.json.get("indexingPolicy").map(json::print)
        || definition.default_ttl != old.definition.default_ttl;
    if is_reindexed {
        if old.retired.len() >= RETIRED_MAX {
            return Err(Error::bad_request(
                "The indexing policy or the time to live changes faster than documents can be \
                 re-indexed. Wait until the index transformation is complete.",
            ));
        }
        let definition = Arc::clone(&old.definition);
        collection.retired.push(Retired { generation: old.index_generation, definition });
        collection.index_generation += 1;
    }
    collection.definition = definition.into();
    collection.version = engine.new_version();
    let mut batch = Batch::default();
    storage::put_collection(&mut batch, &collection);
    let collection = Arc::new(collection);
    if let Some(database) = catalog.database_mut(collection.rid.database) {
        database.insert_collection(Arc::clone(&collection));
    }
    let reindexed = is_reindexed.then_some((collection.rid, reindexing::start as _));
    Ok(Change { reindexed, ..Change::new(batch, catalog, (outcome, collection)) })
}

pub(crate) async fn read(
    Call { engine, view }: &Call,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let collection = view.collection(path).map_err(missing_collection)?;
    check_intended(collection, options)?;
    if is_unchanged(options, collection.version.etag) {
        return Ok(Response {
            body: Body::Empty,
            ..answer(Outcome::NotModified, collection, options, None)
        });
    }
    let statistics = if options.populate_statistics {
        Some(usage::statistics(engine, collection).await?)
    } else {
        None
    };
    let mut response = answer(Outcome::Ok, collection, options, statistics);
    response.meta.shares_throughput = shares_throughput(&view.catalog, collection);
    // Sessions may begin by reading the collection: the service answers with one of its partitions'
    // LSNs.
    let first = collection.readable.first();
    response.meta.partitions = first.map(|first| first.point(first.lsn())).into_iter().collect();
    // COMPAT: a single partition needs no summing, and the service always includes its usage.
    let is_told = options.populate_quota || collection.definition.partition_key.is_system;
    if is_told && !options.hides_usage {
        response.meta.quota = Some(usage::quota(engine, collection));
        response.meta.index_progress = Some(reindexing::progress(collection));
    }
    Ok(response)
}

struct Replace {
    path: CollectionPath,
    body: Value,
    options: Options,
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    path: CollectionPath,
    body: &[u8],
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let body = bodies::definition(body)?;
    let replaced = engine.change(Replace { path, body, options: options.clone() }).await;
    let (outcome, collection) = meter.metadata_write(replaced)?;
    Ok(answer(outcome, &collection, &options, None))
}

impl AsyncPlan<(Outcome, Arc<Collection>)> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Arc<Collection>)>, Error> {
        let old = Arc::clone(catalog.collection(&self.path).map_err(missing_collection)?);
        check_intended(&old, &self.options)?;
        require_match(&self.options, old.version.etag)?;
        let definition = old.definition.replace(&self.body, self.options.keeps_legacy_indexes)?;
        replace_in(engine, catalog, &old, definition, Outcome::Ok)
    }
}

struct Delete {
    path: CollectionPath,
    options: Options,
}

pub(crate) async fn delete(
    engine: &Arc<Inner>,
    path: CollectionPath,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let deleted = engine.change(Delete { path, options: options.clone() }).await;
    let collection = meter.metadata_write(deleted)?;
    let answer = answer(Outcome::Deleted, &collection, &options, None);
    Ok(Response { body: Body::Empty, etag: None, ..answer })
}

impl AsyncPlan<Arc<Collection>> for Delete {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<Arc<Collection>>, Error> {
        let collection = Arc::clone(catalog.collection(&self.path).map_err(missing_collection)?);
        check_intended(&collection, &self.options)?;
        require_match(&self.options, collection.version.etag)?;
        let mut batch = Batch::default();
        storage::delete_collection(&mut batch, &collection);
        throughput::remove_offer(&mut catalog, &mut batch, &collection.rid.to_string());
        if let Some(database) = catalog.database_mut(collection.rid.database) {
            database.remove_collection(&collection);
        }
        let served = engine.view().by_rid(collection.rid).cloned();
        let dropped = served.map(|served| served.partitions.clone()).unwrap_or_default();
        Inner::stop_partitions(&mut catalog, &mut batch, &dropped).await;
        Ok(Change { dropped, ..Change::new(batch, catalog, collection) })
    }
}

pub(crate) fn list(
    call: &Call,
    path: &DatabasePath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let database = call.view.catalog.database(path).ok_or_else(Error::owner_not_found)?;
    let items = database.collections.iter().map(|(key, value)| (u64::from(*key), value));
    let print = |collection: &Arc<Collection>| collection.to_json(None, options.hides_system_key);
    let page = Page::take(Feed::Collections, &database.rid.bytes(), options, items, print)?;
    let meta = Meta { owner: Some(database.owner()), ..Meta::default() };
    Ok(page.answer(database.rid.to_string(), FeedKind::Collections, meta))
}

/// Whether a collection has no throughput of its own and its database has some to share.
fn shares_throughput(catalog: &Catalog, collection: &Collection) -> bool {
    catalog.offers.of(&collection.rid.to_string()).is_none()
        && catalog.offers.of(&collection.rid.database.to_string()).is_some()
}

pub(crate) fn answer(
    outcome: Outcome,
    collection: &Collection,
    options: &Options,
    statistics: Option<Value>,
) -> Response {
    Response {
        outcome,
        body: Body::Resource(collection.to_json(statistics, options.hides_system_key)),
        etag: Some(collection.version.etag.to_string()),
        continuation: None,
        meta: Meta {
            owner: Some(collection.database_owner()),
            is_lazy: collection.definition.indexing.mode() == index::Mode::Lazy,
            ..Meta::default()
        },
    }
}
