//! Queries that could hold up others run on threads of their own, so that whatever a query does,
//! requests of others find a thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use protocol::{Code, Error};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::{Inner, charge::Meter, errors};

/// How long a query waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// Queries that may run apart at a time. More would only take the processor from each other.
pub(crate) fn limit() -> Arc<Semaphore> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    Arc::new(Semaphore::new((2 * threads).max(4)))
}

/// Runs a task on a thread of its own. The flag it is given is set when this call is dropped.
pub(crate) async fn run<T: Send + 'static>(
    engine: &Inner,
    meter: &mut Meter,
    task: impl FnOnce(&mut Meter, &Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let permit = turn(engine).await?;
    run_with(Some(permit), meter, task).await
}

/// Waits for a turn to be one of the few that run apart.
pub(crate) async fn turn(engine: &Inner) -> Result<OwnedSemaphorePermit, Error> {
    let turn = timeout(PATIENCE, Arc::clone(&engine.slow_queries).acquire_owned()).await;
    let Ok(permit) = turn else {
        let mut error =
            Error::new(Code::TooManyRequests, "Too many queries that take long are under way.");
        error.meta.retry_after_ms = Some(1000);
        return Err(error);
    };
    permit.map_err(|_| errors::shut_down())
}

/// Runs a task on a thread of its own, at once: for whoever holds a key that others wait for. There
/// are few of those at a time, since they have had a turn or are scripts.
pub(crate) async fn run_at_once<T: Send + 'static>(
    meter: &mut Meter,
    task: impl FnOnce(&mut Meter, &Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    run_with(None, meter, task).await
}

async fn run_with<T: Send + 'static>(
    permit: Option<OwnedSemaphorePermit>,
    meter: &mut Meter,
    task: impl FnOnce(&mut Meter, &Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let abandoned = Abandoned(Arc::default());
    let is_abandoned = Arc::clone(&abandoned.0);
    let mut spent = *meter;
    let task = spawn_blocking(move || {
        let result = task(&mut spent, &is_abandoned);
        drop(permit);
        (result, spent)
    });
    let (result, spent) =
        task.await.map_err(|_| Error::new(Code::Internal, "a query failed to run"))?;
    *meter = spent;
    result
}

/// Says that nobody waits any more, once dropped.
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
