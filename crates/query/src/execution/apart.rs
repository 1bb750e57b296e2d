//! Runs slow queries on their own threads, so that other requests always find a thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use partition::{charge::Meter, errors};
use protocol::{Code, Error};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::spawn_blocking,
    time::{timeout, timeout_at},
};

use crate::reading::Reading;

/// How long a query waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a task on its own thread. The flag passed to the task is set when this call is dropped.
pub async fn run<T: Send + 'static>(
    reading: &Reading,
    meter: &mut Meter,
    task: impl FnOnce(&mut Meter, &Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let permit = turn(reading).await?;
    run_with(Some(permit), meter, task).await
}

/// Waits for one of the few turns to run apart.
async fn turn(reading: &Reading) -> Result<OwnedSemaphorePermit, Error> {
    let turn = timeout(PATIENCE, Arc::clone(&reading.slow_queries).acquire_owned()).await;
    turn.map_err(|_| busy())?.map_err(|_| errors::shut_down())
}

/// The error if too many run apart already.
fn busy() -> Error {
    let mut error = Error::new(Code::TooManyRequests, "Too many long queries are running.");
    error.meta.retry_after_ms = Some(1000);
    error
}

/// Runs a task of a caller that holds a key on its own thread. Queries may be slow, so that such a
/// task does not wait for them: it takes a turn of another kind, for which it waits until `end`.
pub async fn run_with_key<T: Send + 'static>(
    reading: &Reading,
    end: Instant,
    meter: &mut Meter,
    task: impl FnOnce(&mut Meter, &Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let turn = Arc::clone(&reading.slow_conditions).acquire_owned();
    let permit = timeout_at(end.into(), turn).await.map_err(|_| busy())?;
    run_with(Some(permit.map_err(|_| errors::shut_down())?), meter, task).await
}

/// Runs a task on its own thread without waiting: for scripts, of which there are few at a time.
pub async fn run_at_once<T: Send + 'static>(
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
        task.await.map_err(|_| Error::new(Code::Internal, "cannot run a query"))?;
    *meter = spent;
    result
}

/// Tells the task, when dropped, that nobody waits for it any more.
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
