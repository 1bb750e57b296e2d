//! The database: catalog, partitions, transactions, feeds, charges.
//!
//! [`Engine`] implements [`protocol::Service`]: one call in, one answer out. Follow a write from
//! `documents::write` to `partition::sequence`; a read from `documents::read` to a snapshot.

mod access;
mod background;
mod call;
mod catalog_store;
mod collections;
mod conditions;
mod conflicts;
mod control;
mod databases;
mod dispatch;
mod documents;
mod encryption_keys;
mod family;
mod healing;
mod offers;
mod opening;
mod operator;
mod options;
mod ranges;
mod rates;
mod reindexing;
mod reshape;
mod resource_queries;
mod retention;
mod scripts;
mod statistics;
mod usage;
mod users;
mod verify;

use std::{
    ops::Deref,
    sync::Arc,
    time::{Duration, Instant},
};

use catalog::Missing;
pub use catalog::limits::{Limits, Sizes};
pub use partition::charge::Charges;
use partition::{Surroundings, charge::Meter, errors, rows::Damaged, tenure::End};
use protocol::{
    BoxFuture, Context, Error, Request, Response, Service, etag::Etags, rid::CollectionRid,
};
pub use query::clock::{Clock, SystemClock};
pub use query::elsewhere::{Elsewhere, Target};
pub use query::readable::{PartitionView, Readable};
pub use query::route::Route;
use query::{consistency, reading::Reading, rounds::Rounds, route, served::View};
use tokio::sync::Notify;

use crate::{
    background::Background, call::Call, catalog_store::CatalogStore,
    documents::attachments::media::MediaUsage, opening::Opened, rates::SharedBudgets,
    reshape::Reshaping,
};
pub use partition::disk::{Disk, DiskLevel};

pub use crate::{
    options::{Options, RateLimit},
    verify::{Report, verify},
};

/// How often writers check whether a move is over, in case they missed the notification.
const MOVE_STEP: Duration = Duration::from_millis(20);

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A newer build wrote the data.
    #[error(
        "the data has format {found}, this build supports up to {supported}: use a newer sheaf"
    )]
    Newer {
        /// The format found.
        found: u8,
        /// The newest format this build knows.
        supported: u8,
    },
    /// An earlier build wrote the index, and this check must not change it.
    #[error(
        "an earlier build wrote the data: start the server once to upgrade it, or check it with \
         that build"
    )]
    Older,
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
    /// The store cannot be written to.
    #[error("the store does not accept writes")]
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

/// The state that all operations share. Behind an `Arc`, so that changes can outlive their callers.
struct Inner {
    store: Arc<dyn store::Store>,
    storage: CatalogStore,
    /// The state that readers share: the view, the clock, memory, threads and workers.
    reading: Arc<Reading>,
    /// The processes that own other partitions; `None` if this one owns all.
    elsewhere: Option<Arc<dyn Elsewhere>>,
    /// The state that all partitions share.
    surroundings: Surroundings,
    /// Catalog changes take turns.
    control: tokio::sync::Mutex<()>,
    options: Options,
    etags: Etags,
    /// Wakes writers that wait for partitions to take over from another.
    moved: Notify,
    reshaping: Reshaping,
    /// Background tasks, which run until the database closes.
    background: Background,
    /// The throughput that databases share among their collections.
    shared_budgets: SharedBudgets,
    /// The total size of media.
    pub(crate) media: MediaUsage,
}

impl Engine {
    /// Opens the database in a store, new or old.
    pub async fn open(
        store: Arc<dyn store::Store>,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, OpenError> {
        Self::open_among(store, options, clock, None).await
    }

    /// Opens a database that other processes may own a part of.
    pub async fn open_among(
        store: Arc<dyn store::Store>,
        options: Options,
        clock: Arc<dyn Clock>,
        elsewhere: Option<Arc<dyn Elsewhere>>,
    ) -> Result<Arc<Self>, OpenError> {
        let etags = Etags::new(random_u32());
        let workers = script::Pool::new(options.scripts.clone());
        let Opened { storage, view, surroundings } =
            opening::open(&store, random_u32(), elsewhere.clone(), options.store_patience).await?;
        let reading = Reading::new(options.rules(), clock, workers, options.query_memory);
        let inner = Inner {
            store,
            storage,
            reading: reading.into(),
            elsewhere,
            surroundings,
            control: tokio::sync::Mutex::default(),
            options,
            etags,
            moved: Notify::new(),
            reshaping: Reshaping::default(),
            background: Background::default(),
            shared_budgets: SharedBudgets::default(),
            media: MediaUsage::default(),
        };
        inner.publish(view);
        let inner = Arc::new(inner);
        reindexing::resume(&inner);
        inner.background.run(healing::look_after(Arc::clone(&inner)));
        inner.background.run(reshape::balance::look_after(Arc::clone(&inner)));
        inner.background.run(scripts::idle::look_after(Arc::clone(&inner)));
        inner.background.run(documents::clear::resume(Arc::clone(&inner)));
        inner.background.run(documents::sweep::look_after(Arc::clone(&inner)));
        inner.background.run(retention::look_after(Arc::clone(&inner)));
        Ok(Arc::new(Self { inner }))
    }

    /// Refuses new requests, lets the queued writes finish, and closes the store.
    pub async fn close(&self) -> store::Result<()> {
        self.inner.storage.close();
        self.inner.background.close().await;
        let _turn = self.inner.control.lock().await;
        self.inner.store.close().await
    }

    /// Where a request belongs, by the current catalog.
    pub fn route(&self, request: &Request) -> Route {
        route::route(&self.inner.catalog(), request)
    }

    /// A partition that is open here, for another process that reads it.
    pub fn partition(&self, collection: CollectionRid, range: u32) -> Option<Arc<dyn Readable>> {
        let view = self.inner.view();
        let mut partitions = view.by_rid(collection)?.partitions.iter();
        let partition = partitions.find(|it| it.range.id == range)?;
        Some(Arc::clone(partition) as Arc<dyn Readable>)
    }

    /// The storage failure that stopped writes, if one did.
    pub fn failure(&self) -> Option<String> {
        self.inner.store.failure().or_else(|| {
            let view = self.inner.view();
            view.partitions()
                .any(|partition| partition.end() == Some(End::Broken))
                .then(|| "a partition stopped accepting writes after a failed commit".to_owned())
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
            if self.inner.is_closed() {
                return Err(errors::shut_down());
            }
            context.check(Instant::now)?;
            let call = Call::begin(&self.inner);
            call.check_version(context.catalog_version)?;
            access::check(&call.view, context.principal, &mut request).await?;
            if let Some(elsewhere) = &self.inner.elsewhere
                && let Some(target) = call.owned_by_other(&**elsewhere, &request)
            {
                return elsewhere.call(&target, context, request).await;
            }
            partition::disk::check(&self.inner.options.disk, &request.operation)?;
            let Options { charges, default_consistency, .. } = self.inner.options;
            let Request { operation, options } = &request;
            let factor = consistency::charge_factor(operation, options, default_consistency);
            let mut meter = Meter::new(charges, factor, context.connection);
            let quota_lists = usage::lists_beside_script(&call, &request);
            let mut answer = dispatch::dispatch(call, request, &mut meter).await;
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
    /// Publishes a view to requests that begin from now on, and applies the throughput that it
    /// specifies.
    fn publish(&self, view: View) {
        rates::apply(self, &view);
        self.reading.publish(view);
    }

    /// Whether a background task has to look at all collections again.
    fn is_due(&self, rounds: &mut Rounds) -> bool {
        rounds.is_due(&self.view(), self.surroundings.room.written())
    }

    /// Whether the database is closing.
    fn is_closed(&self) -> bool {
        self.background.is_closed()
    }

    /// Waits until the database closes.
    async fn closing(&self) {
        self.background.closing().await;
    }

    /// Waits for other partitions to replace one that a writer was staged on.
    async fn wait_for_move(&self) {
        // A missed notification is covered by the timeout.
        let _ = tokio::time::timeout(MOVE_STEP, self.moved.notified()).await;
    }
}

impl Deref for Inner {
    type Target = Reading;

    fn deref(&self) -> &Reading {
        &self.reading
    }
}

/// The error for a missing collection or database, where the collection is the requested resource.
fn missing_collection(missing: Missing) -> Error {
    match missing {
        Missing::Collection => Error::not_found(),
        Missing::Database => Error::owner_not_found(),
    }
}

fn random_u32() -> u32 {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u32::from_be_bytes(bytes)
}
