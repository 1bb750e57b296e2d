//! What the process lends to whoever reads: the view, the clock, memory, threads and workers.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use catalog::Catalog;
use protocol::request::ConsistencyLevel;
use tokio::sync::Semaphore;

use crate::{clock::Clock, held::Memory, served::View};

/// What readers go by.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The account's consistency level: what a request without one gets.
    pub default_consistency: ConsistencyLevel,
    /// How long a page of a query may take before it is cut short and continued.
    pub page_time: Duration,
    /// How long a query may take that cannot be continued.
    pub query_timeout: Duration,
    /// For how long collections keep all versions whose own policy does not say; `None` if they do
    /// not.
    pub all_versions_retention: Option<Duration>,
}

/// What every reader shares.
pub struct Reading {
    view: RwLock<Arc<View>>,
    /// What they go by.
    pub rules: Rules,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The processes that run users' scripts.
    pub workers: script::Pool,
    /// What queries may hold.
    pub(crate) query_memory: Arc<Memory>,
    /// Queries that run on threads of their own.
    pub(crate) slow_queries: Arc<Semaphore>,
    /// Conditions of batches that are asked on threads of their own.
    pub(crate) slow_conditions: Arc<Semaphore>,
}

impl Reading {
    /// Over an empty catalog, until a view is published. All queries together may hold
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
            query_memory: Arc::new(Memory::new(query_memory)),
            slow_queries: threads_apart(),
            slow_conditions: threads_apart(),
        }
    }

    /// Seconds since some beginning, for budgets.
    pub fn now_s(&self) -> f64 {
        self.clock.monotonic().as_secs_f64()
    }

    /// The catalog and the partitions as they are now. A request takes it once, and again only where it
    /// begins anew.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The catalog as it is now, for whoever needs no partition.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner).catalog)
    }

    /// Lets requests that begin from now on see another view.
    pub fn publish(&self, view: View) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }
}

/// Threads that may run apart at a time. More would only take the processor from each other.
fn threads_apart() -> Arc<Semaphore> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    Arc::new(Semaphore::new((2 * threads).max(4)))
}
