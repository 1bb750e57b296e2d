//! Gives a partition key to a collection that was created without one: all its documents, in one
//! partition under one key, are rewritten into new partitions by their own keys.
//!
//! Unlike in a split, writes stop from the first document to the switch: a rewritten document gets
//! another number and other terms, so there is no log to replay. Reads continue. The steps before
//! and after the switch are as in a split, and so is the cleanup after a crash.

mod rewrite;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use catalog::{Catalog, Collection, Version, area::Edge, definition::Definition, storage};
use partition::{Partition, errors, rows::State};
use protocol::{Code, Error, Options, Outcome, Response, request::CollectionPath};
use query::served::{Served, check_intended};
use store::Batch;

use catalog::bodies;

use crate::{
    Inner, collections,
    conditions::require_match,
    control::{AsyncPlan, Change, even_ranges},
    reshape::{self, Turn, Work, balance, rekey::rewrite::Rewrite, switch},
};

/// Partitions that are created at once for the size of the data. Splits create more later.
const PARTITIONS_BY_SIZE_MAX: u64 = 64;

/// The definition that documents are rewritten for.
pub(crate) struct Rekey {
    /// The new definition of the collection.
    definition: Arc<Definition>,
    /// The version of the collection when the change was requested.
    version: Version,
}

/// Gives a partition key to a collection without one, for an administrator.
pub(crate) async fn rekey(
    engine: &Arc<Inner>,
    path: &CollectionPath,
    body: &[u8],
    options: &Options,
) -> Result<Response, Error> {
    let body = bodies::definition(body)?;
    let (turn, collection) = Turn::begin(engine, path)?;
    let rid = collection.rid;
    check_intended(&collection, options)?;
    require_match(options, collection.version.etag)?;
    let definition = collection.definition.with_partition_key(body.get("partitionKey"))?;
    if collection.is_transforming() {
        return Err(Error::new(
            Code::Conflict,
            "The documents of this collection are being re-indexed. Wait until it is done.",
        ));
    }
    let [parent] = collection.partitions.as_slice() else {
        return Err(Error::bad_request(
            "The collection has several ranges, though it has no partition key: merge them first.",
        ));
    };
    let rekey = Rekey { definition: definition.into(), version: collection.version };
    let cuts = rekey.cuts(engine, &engine.catalog(), &collection, parent);
    let parents = vec![Arc::clone(parent)];
    // Hold no view meanwhile: it would keep the old partition.
    drop(collection);
    reshape::run(engine, turn, parents, &cuts, Some(rekey)).await?;
    let view = engine.view();
    Ok(collections::answer(Outcome::Ok, switch::find(&view, rid)?, options, None))
}

impl Rekey {
    /// Where to cut the new partitions: as many as throughput and size require.
    fn cuts(
        &self,
        engine: &Inner,
        catalog: &Catalog,
        collection: &Served,
        parent: &Partition,
    ) -> Vec<Edge> {
        let needed = balance::partitions_needed(engine, catalog, &self.after(collection));
        let counters = parent.counters();
        let size = counters.bytes + counters.index_bytes;
        let by_size = 1 + size / engine.options.sizes.partition.max(1);
        let by_size = u32::try_from(by_size.min(PARTITIONS_BY_SIZE_MAX)).unwrap_or(1);
        even_ranges(needed.max(by_size)).map(|slots| Edge::slot(slots.start)).skip(1).collect()
    }

    /// The collection after the change, still without its partitions.
    fn after(&self, before: &Collection) -> Collection {
        let definition = Arc::clone(&self.definition);
        Collection { definition, ranges: Vec::new(), ..Collection::clone(before) }
    }

    /// Rewrites everything and switches over; returns the new partitions, and how long writes were
    /// stopped.
    pub(super) async fn run(
        self,
        work: &Work<'_>,
    ) -> Result<(Vec<Arc<Partition>>, Duration), Error> {
        let [parent] = work.parents else { return Err(Error::not_found()) };
        let before = Arc::clone(switch::find(&work.engine.view(), work.rid)?);
        if before.version != self.version {
            return Err(changed());
        }
        let mut after = self.after(&before);
        let mut partitions = Vec::new();
        for range in &work.ranges {
            // An earlier failed attempt may have left a key space.
            let dropped = work.engine.store.drop_key_space(&range.key_space(work.rid)).await;
            dropped.map_err(errors::from_store)?;
            let partition = work.engine.open_partition(work.rid, range).await?;
            partition.set_state(State::Filling).await?;
            after.next_range_id = after.next_range_id.max(range.id + 1);
            after.ranges.push(Arc::clone(range));
            partitions.push(Arc::new(partition));
        }
        let after = Served::new(after.into(), partitions);
        let stopped = Instant::now();
        let last = parent.begin_move().await?;
        {
            let (snapshot, _) = parent.read()?;
            let now = work.engine.clock.now_seconds();
            Rewrite::new(&after, &*snapshot, now).run(last).await?;
        }
        for partition in &after.partitions {
            partition.require_generation(after.index_generation);
        }
        let taken = work.engine.change_to_end(TakeOver { before, after }).await;
        let children = taken.map_err(|unchanged| work.note_unchanged(unchanged))?;
        // The media of expired documents are gone.
        work.engine.media.forget();
        Ok((children, stopped.elapsed()))
    }
}

/// The error if the collection has changed since the rewriting began.
fn changed() -> Error {
    Error::new(
        Code::Conflict,
        "The collection changed while it was being given a partition key. Try again.",
    )
}

/// Scripts may change meanwhile, because they do not affect where documents are stored.
fn is_same_but_for_scripts(now: &Collection, before: &Collection) -> bool {
    let state =
        |it: &Collection| (it.version, it.map_version, it.index_generation, it.retired.len());
    state(now) == state(before)
}

/// The switch: the new partitions hold everything, and the catalog then names them.
struct TakeOver {
    before: Arc<Served>,
    after: Served,
}

impl AsyncPlan<Vec<Arc<Partition>>> for TakeOver {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<Vec<Arc<Partition>>>, Error> {
        let Self { before, after } = self;
        let children = after.partitions.clone();
        let mut after = Collection::clone(&after);
        // Any other change of the definition, or a deletion, takes precedence.
        let now = catalog.collection_by_rid(before.rid).ok_or_else(Error::owner_not_found)?;
        // A partition that was reopened meanwhile has taken writes that were not rewritten.
        let view = engine.view();
        let is_same = |it: &Arc<Partition>| switch::serves(&view, before.rid, it);
        if !before.partitions.iter().all(|it| it.end().is_none() && is_same(it)) {
            return Err(errors::not_now());
        }
        if !is_same_but_for_scripts(now, &before) {
            return Err(changed());
        }
        after.scripts = Arc::clone(&now.scripts);
        after.version = engine.new_version();
        after.map_version += 1;
        switch::remember(&mut after, &before.ranges);
        let mut batch = Batch::default();
        storage::put_collection(&mut batch, &after);
        storage::put_dropped(&mut batch, before.rid, &before.ranges);
        if let Some(database) = catalog.database_mut(before.rid.database) {
            database.insert_collection(after.into());
        }
        let created = children.clone();
        Ok(Change { created, ..Change::new(batch, catalog, children) })
    }
}
