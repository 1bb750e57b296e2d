//! Queries: from the text of a request to a page of rows.
//!
//! In reading order:
//! - `resume`: where the rows begin, if the client says so,
//! - `door`: who answers a query that reads several partitions, and `plan`, the plan for clients,
//! - `prepared`: a query checked, compiled and ready to read,
//! - `access`, `candidates`, `costs`, `stream`, `documents`: what the index knows of the filter, what
//!   using it costs, and the documents that can match,
//! - `fetch`: documents read a batch at a time, ahead of their turn,
//! - `stretch`, `created`: the order of documents in queries that do not sort,
//! - `job`, `merge`, `page`, `token`, `continuation`, `figures`: one page being made, partitions
//!   read as one, what fits into a page, where the next one begins, how clients say that, and what
//!   it cost,
//! - `apart`: runs slow pages on their own threads; `turns`: lets others run meanwhile,
//! - `ahead`, `functions`: documents read ahead for the calls of user-defined functions,
//! - `expired`: expired documents that are still in the index,
//! - `unordered`, `ordered`, `aggregate`, `grouped`, `nested`: the ways to produce rows,
//! - `memory`, `compiled`: queries over values in memory, `inside`: queries of a transaction,
//! - `told`, `index_metrics`, `explain`: metadata that a client may get besides the rows.

mod access;
mod aggregate;
mod ahead;
pub mod apart;
mod candidates;
pub mod compiled;
pub(crate) mod continuation;
mod costs;
pub(crate) mod created;
pub(crate) mod documents;
pub(crate) mod door;
mod expired;
pub(crate) mod explain;
pub(crate) mod fetch;
pub(crate) mod figures;
mod functions;
mod grouped;
mod index_metrics;
pub mod inside;
pub(crate) mod job;
mod memory;
pub(crate) mod merge;
mod nested;
mod ordered;
mod page;
mod plan;
mod prepared;
mod resume;
pub(crate) mod stream;
pub(crate) mod stretch;
pub(crate) mod token;
mod told;
pub(crate) mod turns;
mod unordered;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response, query::QuerySource, request::CollectionPath,
    response::FeedKind,
};
use sql::program::Run;
use store::Snapshot;
use tokio::runtime::Handle;
use value::Value;

pub use door::must_be_enabled;
pub use job::halted;

use partition::{
    budget::{self, Asked, Kind},
    charge::Meter,
    text::SYSTEM_BYTES,
};

use crate::{
    execution::{
        access::Access,
        door::Door,
        explain::Recorder,
        figures::Figures,
        functions::Functions,
        job::{Job, Part},
        ordered::{Frontier, Order},
        page::Page,
        prepared::Prepared,
        token::{Place, Token},
    },
    readable::{PartitionView, Readable},
    reading::Reading,
    scope::Scope,
    served::{Served, View},
    sessions,
    sought::Sought,
    together,
};

/// A page of a query over the documents of a collection.
pub async fn page(
    reading: &Arc<Reading>,
    view: &Arc<View>,
    path: &CollectionPath,
    source: QuerySource,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let source = Arc::new(source);
    if source.bytes <= INLINE_BYTES_MAX {
        return page_here(reading, view, path, &source, options, meter, Where::Shared).await;
    }
    let (inner, view) = (Arc::clone(reading), Arc::clone(view));
    let (path, options) = (path.clone(), options.clone());
    apart::run(reading, meter, move |meter, is_abandoned| {
        let place = Where::Apart(is_abandoned);
        let page = page_here(&inner, &view, &path, &source, &options, meter, place);
        Handle::current().block_on(page)
    })
    .await
}

/// The plan of a query.
pub async fn plan(
    reading: &Reading,
    view: &Arc<View>,
    path: &CollectionPath,
    source: QuerySource,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    if source.bytes <= INLINE_BYTES_MAX {
        return plan::plan(view, path, &source, options, meter);
    }
    let (view, path, options) = (Arc::clone(view), path.clone(), options.clone());
    apart::run(reading, meter, move |meter, _| plan::plan(&view, &path, &source, &options, meter))
        .await
}

/// Longest query that is checked on a shared thread.
pub const INLINE_BYTES_MAX: usize = 8 * 1024;

/// The thread that a query runs on.
#[derive(Clone, Copy)]
enum Where<'a> {
    /// A shared thread.
    Shared,
    /// Its own thread; the flag says that nobody waits for the result any more.
    Apart(&'a Arc<AtomicBool>),
}

async fn page_here(
    reading: &Arc<Reading>,
    view: &Arc<View>,
    path: &CollectionPath,
    source: &Arc<QuerySource>,
    options: &Options,
    meter: &mut Meter,
    place: Where<'_>,
) -> Result<Response, Error> {
    let mut view = Arc::clone(view);
    loop {
        let page = attempt(reading, view, path, source, options, meter, place);
        if let Some(page) = page.await? {
            return Ok(page);
        }
        // The indexing policy has changed in the meantime.
        view = reading.view();
    }
}

/// A page of a query over a collection; `None` if its indexing policy changed before the page could
/// begin.
async fn attempt(
    reading: &Arc<Reading>,
    view: Arc<View>,
    path: &CollectionPath,
    source: &Arc<QuerySource>,
    options: &Options,
    meter: &mut Meter,
    place: Where<'_>,
) -> Result<Option<Response>, Error> {
    let started = Instant::now();
    let now_millis = reading.clock.now_millis();
    let collection = view.intended(path, options)?;
    let prepared = Prepared::new(Arc::clone(source), &collection, &reading.plans, now_millis)?;
    let compiled = started.elapsed();
    let scope = match door::open(&prepared, &collection, options)? {
        Door::Open(scope) => scope,
        Door::Closed(error) => {
            meter.lookup();
            return Err(error);
        }
    };
    let is_slow = prepared.program.shape().is_slow;
    let work = Work {
        reading: Arc::clone(reading),
        path: path.clone(),
        options: options.clone(),
        collection,
        prepared,
        scope,
        now_millis,
        started,
        compiled,
        begun_in: Some(view),
        view: None,
    };
    match place {
        Where::Apart(is_abandoned) => work.run(meter, is_abandoned).await,
        Where::Shared if !is_slow => work.run(meter, &Arc::default()).await,
        Where::Shared => {
            apart::run(reading, meter, move |meter, is_abandoned| {
                Handle::current().block_on(work.run(meter, is_abandoned))
            })
            .await
        }
    }
}

/// A page to make, with everything it needs.
struct Work {
    reading: Arc<Reading>,
    path: CollectionPath,
    collection: Arc<Served>,
    prepared: Prepared,
    scope: Scope,
    options: Options,
    now_millis: i64,
    started: Instant,
    compiled: Duration,
    /// The view that the collection is from; `None` in a transaction.
    begun_in: Option<Arc<View>>,
    /// Read instead of the stored rows: a transaction's own queries see its changes.
    view: Option<Arc<dyn Snapshot>>,
}

/// The scope, order and start of a page.
struct Course {
    scope: Scope,
    order: Option<Order>,
    token: Token,
    /// Where the rows begin, if the client says so.
    resumed: Option<Frontier>,
}

impl Work {
    /// Makes the page if the partitions in its scope have request units left.
    async fn run(
        &self,
        meter: &mut Meter,
        is_abandoned: &Arc<AtomicBool>,
    ) -> Result<Option<Response>, Error> {
        let course = self.course()?;
        let content = [self.prepared.identity.as_slice(), &[]];
        let asked = Asked::new(Kind::Query, &self.path, content, &self.options, meter);
        let scope = course.as_ref().map_or(&self.scope, |course| &course.scope);
        let budgets = scope.partitions(&self.collection).map(|partition| partition.budget());
        let tickets = budget::admit_all(self.reading.now_s(), &asked, budgets)?;
        let mut work = Vec::new();
        let answer = if let Some(course) = course {
            self.run_admitted(course, meter, is_abandoned, &mut work).await
        } else {
            meter.lookup();
            Ok(Some(self.answer(Vec::new(), None, Meta::default())))
        };
        match answer {
            Ok(None) => tickets.give_back(),
            _ => tickets.settle_read(self.reading.now_s(), meter.total(), &work),
        }
        answer
    }

    /// The rest of the query to read; `None` if nothing is left.
    fn course(&self) -> Result<Option<Course>, Error> {
        let order = self.prepared.order(&self.collection)?;
        let token = self.prepared.token(&self.options, &self.scope, &self.collection)?;
        let shape = self.prepared.program.shape();
        let is_walked =
            shape.reads_container && !(shape.groups || shape.is_aggregate) && shape.inner.is_none();
        let walked = order.as_ref().filter(|_| is_walked);
        let resume = self.prepared.source.resume.as_ref();
        let resumed = resume.map(|filter| resume::frontier(filter, walked)).transpose()?;
        let is_whole = shape.groups || shape.is_aggregate || shape.inner.is_some();
        let scope = self.scope.continued(&self.collection, &token.origin, is_whole)?;
        // Earlier pages have returned everything before, and a plain query does not need it again.
        let first = token.place.slot().filter(|_| shape.is_plain()).unwrap_or(0);
        Ok(scope.map(|scope| Course { scope: scope.beginning_with(first), order, token, resumed }))
    }

    /// Makes the page, unless the caller has gone or the indexing policy has changed. Notes the
    /// work in each partition.
    async fn run_admitted(
        &self,
        Course { scope, order, token, resumed }: Course,
        meter: &mut Meter,
        is_abandoned: &Arc<AtomicBool>,
        work: &mut Vec<Option<u64>>,
    ) -> Result<Option<Response>, Error> {
        let Work { collection, prepared, options, .. } = self;
        let job = self.job(&scope, order.as_ref(), is_abandoned).await?;
        // Documents written under a newer policy may lack entries that this one promises: the
        // snapshots were taken after the view.
        let current = self.reading.view();
        if !self.begun_in.as_ref().is_some_and(|begun_in| Arc::ptr_eq(begun_in, &current)) {
            let current = current.intended(&self.path, options)?;
            if current.index_generation != collection.index_generation {
                return Ok(None);
            }
        }
        drop(current);
        let planned = self.started.elapsed();
        let mut page = Page::of(options, &token);
        let timeout = job.timeout;
        let is_cancelled =
            move || Instant::now() >= timeout || is_abandoned.load(Ordering::Relaxed);
        let held = job.held();
        let more_bytes = |bytes| held.grant(bytes);
        let mut run = Run::new(self.now_millis, prepared.seed(self.now_millis))
            .with_cancel(&is_cancelled)
            .with_memory_of(&more_bytes)
            .with_plane(collection.definition.is_geometry);
        let next = rows(&job, order.as_ref(), &mut page, (token.place, resumed), &mut run).await;
        // These reads are charged even if the query failed.
        charge(meter, &job);
        work.extend(job.parts.iter().map(Part::work_done));
        // A transaction notes its charge at its end.
        if let (Some(key), [part], None) =
            (self.scope.full_key(collection), &*job.parts, &self.view)
            && let Some(partition) = part.partition.here()
        {
            partition.hot.note(key.as_bytes(), meter.total(), self.now_millis);
        }
        let continuation = next?.filter(|_| !page.is_over()).map(|place| {
            let origin = scope.origin(collection);
            let token = Token { skip: page.skip, take: page.take, origin, place };
            continuation::of(&token, prepared, collection, options)
        });
        let continuation = continuation.transpose()?;
        let times = [self.started.elapsed(), self.compiled, planned];
        let read = job.parts_read().into_iter().map(|part| part.point.clone()).collect();
        let meta = Meta {
            partitions: Scope::points(collection, options, read).await?,
            query: told::of(&job, prepared, order.as_ref(), &page, options, meter.total(), times),
            ..Meta::default()
        };
        Ok(Some(self.answer(page.items, continuation, meta)))
    }

    fn answer(&self, items: Vec<Bytes>, continuation: Option<String>, meta: Meta) -> Response {
        let owner_rid = self.collection.rid.to_string();
        let body = Body::Feed { owner_rid, kind: FeedKind::Documents, items };
        let meta = Meta { owner: Some(self.collection.owner()), ..meta };
        Response { outcome: Outcome::Ok, body, etag: None, continuation, meta }
    }

    /// The page's time, in seconds.
    fn now_seconds(&self) -> u64 {
        u64::try_from(self.now_millis.div_euclid(1000)).unwrap_or(0)
    }

    /// Prepares what the page reads: each partition's snapshot, and what its index knows.
    async fn job<'a>(
        &'a self,
        scope: &'a Scope,
        order: Option<&'a Order>,
        is_abandoned: &Arc<AtomicBool>,
    ) -> Result<Job<'a>, Error> {
        let Work { reading, collection, prepared, options, .. } = self;
        let started = Instant::now();
        let timeout = started + reading.rules.query_timeout;
        let (view, now) = (self.view.as_ref(), self.now_seconds());
        let sought = prepared.sought(collection);
        let access = Access { collection, scope, sought, order, view, now };
        let partitions = scope.partitions(collection);
        let views = together::all(partitions.clone().map(|partition| partition.view())).await?;
        for (partition, view) in partitions.clone().zip(&views) {
            let seen = (&**partition.range(), view.lsn);
            sessions::check_session(reading, collection, seen, options)?;
        }
        let parts = partitions.zip(views).map(|(partition, view)| access.part(partition, view));
        let parts = together::all(parts).await?;
        let held = reading.query_memory.hold();
        let figures = Figures::until(timeout, is_abandoned)
            .holding(held)
            .timing(options.query.populate_metrics);
        let figures = Arc::new(figures);
        let seed = prepared.seed(self.now_millis);
        let functions = Functions::new(
            collection,
            &reading.workers,
            &figures,
            timeout,
            seed,
            prepared.unknown_function.clone(),
        );
        Ok(Job {
            collection,
            program: &prepared.program,
            scope,
            needs: scope.needs(collection, prepared.program.needs()),
            parts: parts.into(),
            figures,
            functions: functions.into(),
            recorder: Recorder::new(options.query.explain).into(),
            page_end: started + reading.rules.page_time,
            timeout,
        })
    }
}

/// A partition's share of a feed: everything in scope.
pub(crate) async fn unfiltered(
    collection: &Served,
    scope: &Scope,
    (partition, view): (&Arc<dyn Readable>, PartitionView),
    now: u64,
) -> Result<Part, Error> {
    Access { collection, scope, sought: &Sought::Everything, order: None, view: None, now }
        .part(partition, view)
        .await
}

/// The rows of a query, produced in the way that its shape requires. A future is as large as the
/// largest that it may await, and is moved when it begins: the simplest way does not pay for the
/// others, which have futures of their own.
async fn rows(
    job: &Job<'_>,
    order: Option<&Order>,
    page: &mut Page,
    (place, resumed): (Place, Option<Frontier>),
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    let shape = job.program.shape();
    if !shape.reads_container {
        return Box::pin(without_documents(job, page, &place, run)).await;
    }
    if shape.inner.is_some() {
        return Box::pin(nested::run(job, order, page, &place, run)).await;
    }
    if shape.is_aggregate {
        if let Some(order) = order {
            return Box::pin(aggregate::ordered(job, order, page, run)).await.map(|()| None);
        }
        let (position, partials) = match place {
            Place::Partial { position, partials } => (position, partials),
            _ => Default::default(),
        };
        return Box::pin(aggregate::run(job, page, position, &partials, run)).await;
    }
    if shape.groups {
        return Box::pin(grouped::run(job, order, page, &place, run)).await;
    }
    match (order, place) {
        (Some(order), place) => Box::pin(ordered::run(job, order, page, place, resumed, run)).await,
        (None, place) => unordered::run(job, page, &place, run).await,
    }
}

/// Answers a query without FROM.
async fn without_documents(
    job: &Job<'_>,
    page: &mut Page,
    place: &Place,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    let of = memory::Host { functions: Some(&job.functions), held: job.held() };
    let rows = memory::rows(job.program, &[Value::Undefined], None, of, run).await?;
    let from = if let Place::Ordinal(from) = place { *from } else { 0 };
    Ok(memory::fill(page, &rows, from).map(Place::Ordinal))
}

fn charge(meter: &mut Meter, job: &Job<'_>) {
    let totals = job.figures.totals();
    meter.query(job.parts_read().len(), totals.index_entries);
    let shape = job.program.shape();
    let returned = if shape.is_aggregate || shape.groups { 0 } else { totals.matched };
    // System properties do not count.
    let bytes = totals.matched_bytes.saturating_sub(totals.matched * SYSTEM_BYTES as u64);
    meter.query_documents(returned, bytes);
    meter.scanned_documents(totals.documents.saturating_sub(returned));
    meter.function_calls(totals.calls);
}
