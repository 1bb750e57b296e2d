//! Databases: create, read, delete, list.

use std::sync::Arc;

use catalog::{Catalog, Database, definition::validate_name, storage};
use partition::{charge::Meter, errors};
use protocol::{
    Body, Error, Meta, Options, Outcome, Response,
    continuation::Feed,
    request::{DatabasePath, ThroughputRequest},
    response::FeedKind,
};
use query::paging::Page;
use store::Batch;

use catalog::throughput::{self, Kind, Rules};

use catalog::bodies;

use crate::{
    Inner,
    call::Call,
    conditions::{answer_read, require_match},
    control::{AsyncPlan, Change, check_resource_count},
};

struct Create {
    id: String,
    upsert: bool,
    throughput: ThroughputRequest,
}

pub(crate) async fn create(
    engine: &Arc<Inner>,
    body: &[u8],
    upsert: bool,
    throughput: ThroughputRequest,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let body = bodies::definition(body)?;
    let id = validate_name(body.get("id"))?;
    let created = engine.change(Create { id, upsert, throughput }).await;
    let (outcome, database) = meter.metadata_write(created)?;
    Ok(answer(outcome, &database))
}

impl AsyncPlan<(Outcome, Arc<Database>)> for Create {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<(Outcome, Arc<Database>)>, Error> {
        let mut batch = Batch::default();
        // An id must not equal another database's rid: it would take over that database's links.
        if let Some(old) = catalog.database(&DatabasePath(self.id.clone())) {
            if !self.upsert || old.id != self.id {
                return Err(errors::taken());
            }
            let mut database = Database::clone(old);
            database.version = engine.new_version();
            storage::put_database(&mut batch, &database);
            let database = Arc::new(database);
            catalog.insert_database(Arc::clone(&database));
            return Ok(Change::new(batch, catalog, (Outcome::Ok, database)));
        }
        check_resource_count(&catalog)?;
        let rid = catalog.take_database_rid();
        // COMPAT: Java keeps sessions by the collection's part of a rid alone, so collections of
        // different databases should get different numbers.
        let first_collection = crate::random_u32() % 0x4000_0000 + 1;
        let version = engine.new_version();
        let database = Arc::new(Database::new(rid, self.id, version, first_collection));
        let rules = Rules::from(&engine.options);
        let throughput = throughput::requested(&self.throughput, Kind::Database, rules)?;
        if let Some(throughput) = throughput {
            let link = (database.self_link(), database.rid.to_string());
            throughput::add_offer(
                engine.new_version(),
                &mut catalog,
                &mut batch,
                link,
                throughput,
                true,
            );
        }
        storage::put_database(&mut batch, &database);
        storage::put_next(&mut batch, &catalog);
        catalog.insert_database(Arc::clone(&database));
        Ok(Change::new(batch, catalog, (Outcome::Created, database)))
    }
}

pub(crate) fn read(
    call: &Call,
    path: &DatabasePath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let database = call.view.catalog.database(path).ok_or_else(Error::not_found)?;
    let etag = database.version.etag;
    Ok(answer_read(options, etag, |outcome| answer(outcome, database)))
}

struct Delete {
    path: DatabasePath,
    options: Options,
}

pub(crate) async fn delete(
    engine: &Arc<Inner>,
    path: DatabasePath,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let deleted = engine.change(Delete { path, options }).await;
    let database = meter.metadata_write(deleted)?;
    Ok(Response { body: Body::Empty, etag: None, ..answer(Outcome::Deleted, &database) })
}

impl AsyncPlan<Arc<Database>> for Delete {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<Arc<Database>>, Error> {
        let database = Arc::clone(catalog.database(&self.path).ok_or_else(Error::not_found)?);
        require_match(&self.options, database.version.etag)?;
        let mut batch = Batch::default();
        for collection in database.collections.values() {
            storage::delete_collection(&mut batch, collection);
            throughput::remove_offer(&mut catalog, &mut batch, &collection.rid.to_string());
        }
        throughput::remove_offer(&mut catalog, &mut batch, &database.rid.to_string());
        storage::delete_database(&mut batch, &database);
        catalog.remove_database(&database);
        let view = engine.view();
        let collections = database.collections.values().filter_map(|it| view.by_rid(it.rid));
        let dropped: Vec<_> = collections.flat_map(|it| it.partitions.clone()).collect();
        Inner::stop_partitions(&mut catalog, &mut batch, &dropped).await;
        Ok(Change { dropped, ..Change::new(batch, catalog, database) })
    }
}

pub(crate) fn list(call: &Call, options: &Options, meter: &mut Meter) -> Result<Response, Error> {
    meter.metadata_read();
    let catalog = &call.view.catalog;
    let items = catalog.databases.iter().map(|(number, database)| (u64::from(*number), database));
    let page = Page::take(Feed::Databases, &[], options, items, |database| database.to_json())?;
    Ok(page.answer(String::new(), FeedKind::Databases, Meta::default()))
}

fn answer(outcome: Outcome, database: &Database) -> Response {
    Response {
        outcome,
        body: Body::Resource(database.to_json()),
        etag: Some(database.version.etag.to_string()),
        continuation: None,
        meta: Meta::default(),
    }
}
