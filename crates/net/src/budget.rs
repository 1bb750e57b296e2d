//! The memory that request bodies may take together, over all connections.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// A body is kept whole until its request is answered, and each of a few thousand connections could
/// send one of the largest. This is room for 64 of the largest: far more than the machine processes
/// at a time, and little compared with what a server needs anyway.
const BUDGET_BYTES: u64 = 256 << 20;
/// The unit of account.
const PERMIT_BYTES: u64 = 64 << 10;
/// Bodies up to this size are not counted: nearly all are that small, and they should not wait for
/// large ones.
pub const FREE_BYTES: u64 = PERMIT_BYTES;

/// The budget. Clones share it.
#[derive(Clone, Debug)]
pub struct BodyBudget {
    permits: Arc<Semaphore>,
    permits_total: u64,
    /// The largest body that is accepted.
    body_bytes_max: u64,
}

/// The memory that one request has reserved, released when this is dropped.
pub type Reserved = OnceLock<OwnedSemaphorePermit>;

/// A reservation that waits for memory.
pub type Waiting = Pin<Box<dyn Future<Output = io::Result<OwnedSemaphorePermit>> + Send>>;

impl BodyBudget {
    /// The server's budget, for bodies up to this size.
    pub fn new(body_bytes_max: u64) -> Self {
        Self::of(BUDGET_BYTES, body_bytes_max)
    }

    /// A budget of another size.
    pub fn of(budget_bytes: u64, body_bytes_max: u64) -> Self {
        let permits_total = (budget_bytes / PERMIT_BYTES).max(1);
        let permits = usize::try_from(permits_total).unwrap_or(Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(permits)), permits_total, body_bytes_max }
    }

    /// The largest body that is accepted.
    pub fn body_bytes_max(&self) -> u64 {
        self.body_bytes_max
    }

    /// Waits for memory for a whole body: of the announced length, or of the largest allowed size.
    ///
    /// Takes all of it at once, so that no request waits while holding a part: two such requests
    /// could block each other forever.
    pub fn reserve(&self, length: Option<u64>, patience: Duration) -> Waiting {
        let bytes = length.map_or(self.body_bytes_max, |length| length.min(self.body_bytes_max));
        // A body larger than the budget takes all of it.
        let count = bytes.div_ceil(PERMIT_BYTES).min(self.permits_total);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.permits);
        Box::pin(async move {
            let acquired = timeout(patience, permits.acquire_many_owned(count)).await;
            let acquired = acquired.map_err(|_| {
                let message = "no memory for the request body became free in time";
                io::Error::new(io::ErrorKind::TimedOut, message)
            });
            acquired?.map_err(io::Error::other)
        })
    }
}
