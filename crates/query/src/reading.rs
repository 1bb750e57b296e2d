//! The state of the process that readers share: the view, the clock, memory, threads and workers.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use catalog::Catalog;
use protocol::request::ConsistencyLevel;
use tokio::sync::Semaphore;

use crate::{clock::Clock, held::Memory, plans::Plans, served::View};

/// The rules that readers apply.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The account's consistency level: the default for requests.
    pub default_consistency: ConsistencyLevel,
    /// How long a page of a query may take before it is cut short and continued.
    pub page_time: Duration,
    /// How long a query that cannot be continued may take.
    pub query_timeout: Duration,
    /// How long collections keep all versions, unless their own policy says otherwise; `None` if
    /// they do not keep them.
    pub all_versions_retention: Option<Duration>,
}

/// The state that every reader shares.
pub struct Reading {
    view: RwLock<Arc<View>>,
    /// The rules that they apply.
    pub rules: Rules,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The processes that run users' scripts.
    pub workers: script::Pool,
    /// What is remembered of recent queries.
    pub(crate) plans: Plans,
    /// The memory budget of queries.
    pub(crate) query_memory: Arc<Memory>,
    /// Limits the queries that run on their own threads.
    pub(crate) slow_queries: Arc<Semaphore>,
    /// Limits the batch conditions that run on their own threads.
    pub(crate) slow_conditions: Arc<Semaphore>,
}

impl Reading {
    /// Starts with an empty catalog, until a view is published. All queries together may hold
    /// `query_memory` bytes.
    pub fn new(
        rules: Rules,
        clock: Arc<dyn Clock>,
        workers: script::Pool,
        query_memory: usize,
    ) -> Self {
        Self {
            view: RwLock::default(),
            rules,
            clock,
            workers,
            plans: Plans::default(),
            query_memory: Arc::new(Memory::new(query_memory)),
            slow_queries: threads_apart(),
            slow_conditions: threads_apart(),
        }
    }

    /// Seconds since an arbitrary zero, for budgets.
    pub fn now_s(&self) -> f64 {
        self.clock.monotonic().as_secs_f64()
    }

    /// The current catalog and partitions. A request takes it once, and again only when it retries.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The current catalog, for callers that need no partition.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner).catalog)
    }

    /// Publishes a view to requests that begin from now on.
    pub fn publish(&self, view: View) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }
}

/// Limits the threads that run apart at a time. More would only compete for the processor.
fn threads_apart() -> Arc<Semaphore> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    Arc::new(Semaphore::new((2 * threads).max(4)))
}
