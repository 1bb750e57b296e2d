//! The database: catalog, partitions, transactions, feeds, charges.
//!
//! [`Engine`] implements [`protocol::Service`]: one call in, one answer out. Follow a write from
//! `documents::write` to `partition::sequence`; a read from `documents::read` to a snapshot.

mod access;
mod area;
mod bodies;
mod budget;
mod catalog;
mod changes;
mod charge;
mod collections;
mod conditions;
mod conflicts;
mod consistency;
mod control;
mod databases;
mod definition;
mod disk;
mod dispatch;
mod documents;
mod encryption_keys;
mod errors;
mod expiry;
mod family;
mod feeds;
mod keys;
mod limits;
mod link;
mod offers;
mod opening;
mod operator;
mod options;
mod paging;
mod partition;
mod query;
mod quota_lists;
mod ranges;
mod rates;
mod reindexing;
mod reshape;
mod resource_queries;
mod rows;
mod scope;
mod scripts;
mod served;
mod sessions;
mod statistics;
mod text;
mod throughput;
mod usage;
mod users;
mod verify;

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use protocol::{
    BoxFuture, Code, Context, Error, Options as RequestOptions, Request, Response, Service,
    request::CollectionPath, rid::CollectionRid,
};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinHandle,
};

use crate::{
    catalog::{Catalog, Collection, Missing, storage::CatalogStore},
    charge::Meter,
    documents::attachments::media::MediaUsage,
    opening::Opened,
    partition::room::Room,
    rates::SharedBudgets,
    rows::Damaged,
    served::{Served, View},
};
pub use crate::{
    charge::Charges,
    disk::{Disk, DiskLevel},
    limits::{Limits, Sizes},
    options::{Clock, Options, RateLimit, SystemClock},
    verify::{Report, verify},
};

/// How often background work looks whether the database closes.
const CLOSING_STEP: Duration = Duration::from_millis(20);

/// How often writers look whether a move is over that they were not told of.
const MOVE_STEP: Duration = Duration::from_millis(20);

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A newer build wrote the data.
    #[error(
        "the data has format {found}, this build knows formats up to {supported}: use a newer sheaf"
    )]
    Newer {
        /// The format found.
        found: u8,
        /// The newest format this build knows.
        supported: u8,
    },
    /// The catalog or a partition cannot be read.
    #[error("the catalog is damaged: restore a backup, or run `sheaf verify` to see what is left")]
    Damaged,
    /// A partition that the catalog names is not in the store.
    #[error("the partition {name} of {collection} is missing: restore a backup")]
    Missing {
        /// The name of its key space.
        name: String,
        /// The collection it belongs to.
        collection: String,
    },
    /// The store takes no writes.
    #[error("the store takes no writes")]
    Unwritable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A partition could not be opened.
    #[error("a partition could not be opened: {0}")]
    Partition(#[from] Error),
}

impl From<Damaged> for OpenError {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

/// The database of one process.
pub struct Engine {
    inner: Arc<Inner>,
}

/// What every operation shares. Behind an `Arc`, so that changes can outlive their callers.
struct Inner {
    store: Arc<dyn store::Store>,
    storage: CatalogStore,
    view: RwLock<Arc<View>>,
    /// What all partitions may queue together.
    room: Arc<Room>,
    /// Changes of the catalog take turns.
    control: tokio::sync::Mutex<()>,
    options: Options,
    clock: Arc<dyn Clock>,
    /// Tells this run's etags from every other's.
    boot: u32,
    etag_counter: AtomicU32,
    /// Queries that run on threads of their own.
    slow_queries: Arc<Semaphore>,
    /// What queries may hold.
    query_memory: Arc<query::Memory>,
    /// Wakes writers who wait for partitions to take over from another.
    moved: Notify,
    /// Says that throughput has changed, which may call for splits.
    rebalance: Notify,
    /// The collections whose partitions are being split or merged.
    reshaping: Mutex<HashSet<CollectionRid>>,
    reshapes: Mutex<protocol::operator::Reshapes>,
    /// Re-indexing and splits under way.
    background: Mutex<Vec<JoinHandle<()>>>,
    is_closed: AtomicBool,
    /// The throughput that databases share among their collections.
    shared_budgets: SharedBudgets,
    /// The processes that run users' scripts.
    pub(crate) workers: script::Pool,
    /// What media take.
    pub(crate) media: MediaUsage,
}

impl Engine {
    /// Opens the database in a store, new or old.
    pub async fn open(
        store: Arc<dyn store::Store>,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, OpenError> {
        let boot = random_u32();
        let workers = script::Pool::new(options.scripts.clone());
        let Opened { storage, view, room } = opening::open(&store, random_u32()).await?;
        let query_memory = Arc::new(query::Memory::new(options.query_memory));
        let inner = Inner {
            store,
            storage,
            view: RwLock::default(),
            room,
            control: tokio::sync::Mutex::default(),
            options,
            clock,
            boot,
            etag_counter: AtomicU32::new(0),
            slow_queries: query::slow_queries(),
            query_memory,
            moved: Notify::new(),
            rebalance: Notify::new(),
            reshaping: Mutex::default(),
            reshapes: Mutex::default(),
            background: Mutex::default(),
            is_closed: AtomicBool::new(false),
            shared_budgets: SharedBudgets::default(),
            workers,
            media: MediaUsage::default(),
        };
        inner.publish(view);
        let inner = Arc::new(inner);
        reindexing::resume(&inner);
        inner.in_background(reshape::balance::look_after(Arc::clone(&inner)));
        inner.in_background(scripts::idle::look_after(Arc::clone(&inner)));
        inner.in_background(documents::clear::resume(Arc::clone(&inner)));
        inner.in_background(documents::sweep::look_after(Arc::clone(&inner)));
        inner.in_background(changes::retention::look_after(Arc::clone(&inner)));
        Ok(Arc::new(Self { inner }))
    }

    /// Refuses new requests, lets the queued writes finish, and closes the store.
    pub async fn close(&self) -> store::Result<()> {
        self.inner.is_closed.store(true, Ordering::Release);
        let background = {
            let mut tasks = self.inner.background.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        for task in background {
            // One that failed has nothing left to wait for.
            let _ = task.await;
        }
        let _turn = self.inner.control.lock().await;
        self.inner.store.close().await
    }

    /// Why writes have stopped, if a storage failure stopped them.
    pub fn failure(&self) -> Option<String> {
        self.inner.store.failure().or_else(|| {
            let view = self.inner.view();
            view.partitions()
                .any(|partition| partition.is_failed())
                .then(|| "a partition stopped taking writes after a failed commit".to_owned())
        })
    }
}

impl Service for Engine {
    fn call<'a>(
        &'a self,
        context: &'a Context,
        mut request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(async move {
            if self.inner.is_closed.load(Ordering::Acquire) {
                return Err(errors::shut_down());
            }
            access::check(&self.inner, &context.principal, &mut request).await?;
            disk::check(&self.inner.options.disk, &request.operation)?;
            let Options { charges, default_consistency, .. } = self.inner.options;
            let Request { operation, options } = &request;
            let factor = consistency::charge_factor(operation, options, default_consistency);
            let mut meter = Meter::new(charges, factor, context.connection);
            let quota_lists = usage::lists_beside_script(&self.inner, &request);
            let mut answer = dispatch::dispatch(&self.inner, request, &mut meter).await;
            if let (Ok(response), Some(lists)) = (&mut answer, quota_lists) {
                response.meta.quota_lists = Some(lists);
            }
            let meta = match &mut answer {
                Ok(response) => &mut response.meta,
                Err(error) => &mut *error.meta,
            };
            meta.charge = meter.total();
            answer
        })
    }
}

impl Inner {
    /// The catalog and the partitions as they are now. Held for the whole of a request.
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The catalog as it is now, for whoever needs no partition.
    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner).catalog)
    }

    fn publish(&self, view: View) {
        rates::apply(self, &view);
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    /// Runs work that closing waits for. It must end soon after [`Inner::closing`] does.
    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(work);
        let mut tasks = self.background.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Waits until the database closes.
    async fn closing(&self) {
        while !self.is_closed.load(Ordering::Acquire) {
            tokio::time::sleep(CLOSING_STEP).await;
        }
    }

    /// Waits for other partitions to take over from one that a writer was staged on.
    async fn wait_for_move(&self) {
        // Who misses the call looks again soon.
        let _ = tokio::time::timeout(MOVE_STEP, self.moved.notified()).await;
    }

    /// The collection that a request inside it is about.
    fn collection(
        &self,
        path: &CollectionPath,
        options: &RequestOptions,
    ) -> Result<Arc<Served>, Error> {
        let view = self.view();
        let collection = view.collection(path).map_err(|_| Error::owner_not_found())?;
        check_intended(collection, options)?;
        Ok(Arc::clone(collection))
    }
}

/// Whether a missing part is the resource itself or what should own it.
fn missing_collection(missing: Missing) -> Error {
    match missing {
        Missing::Collection => Error::not_found(),
        Missing::Database => Error::owner_not_found(),
    }
}

/// Refuses a caller who means a collection that this name no longer stands for.
fn check_intended(collection: &Collection, options: &RequestOptions) -> Result<(), Error> {
    let reused =
        "The collection is not the one that the client intended: its name has been reused.";
    if options.intended_collection_rid.as_ref().is_some_and(|it| *it != collection.rid.to_string())
    {
        return Err(Error::new(Code::CollectionRidMismatch, reused));
    }
    if options.range_collection.is_some_and(|rid| rid != collection.rid) {
        return Err(Error::new(Code::NameCacheStale, reused));
    }
    Ok(())
}

fn random_u32() -> u32 {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u32::from_be_bytes(bytes)
}
