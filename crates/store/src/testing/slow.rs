//! A slow store.

mod key_space;
mod line;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use self::{key_space::SlowKeySpace, line::Lines};
use super::{random::Random, timer::Timer};
use crate::{BoxFuture, Keep, KeySpace, Result, Snapshot, Statistics, Store};

/// Passes every call on to another store after a random time. The caller of an asynchronous call
/// always waits, and a batch neither reaches the inner store inside [`KeySpace::submit`] nor
/// completes as soon as it is published. Key spaces do not wait for each other.
///
/// This is how a store behind a network behaves. The seed determines the delays, but not the
/// scheduling.
pub struct Slow {
    inner: Arc<dyn Store>,
    pace: Arc<Pace>,
    lines: Mutex<BTreeMap<String, Arc<Lines>>>,
}

impl Slow {
    /// Delays each call to `inner`, and each answer, by at most `delay_max`.
    pub fn new(inner: Arc<dyn Store>, seed: u64, delay_max: Duration) -> Self {
        let random = Mutex::new(Random::new(seed));
        let pace = Arc::new(Pace { timer: Timer::start(), random, delay_max });
        Self { inner, pace, lines: Mutex::default() }
    }

    fn lines(&self, key_space: &str) -> Arc<Lines> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lines.entry(key_space.to_owned()).or_default())
    }

    /// Calls `inner` after a delay, and answers after another.
    async fn slowly<T>(&self, call: impl Future<Output = T> + Send) -> T {
        self.pace.wait().await;
        let result = call.await;
        self.pace.wait().await;
        result
    }
}

/// Determines the delays.
struct Pace {
    timer: Arc<Timer>,
    random: Mutex<Random>,
    delay_max: Duration,
}

impl Pace {
    /// One delay in four is as short as a thread can make it; the others are up to the longest.
    fn delay(&self) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.below(4) == 0 {
            return Duration::ZERO;
        }
        let nanos_max = u64::try_from(self.delay_max.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(random.below(nanos_max))
    }

    async fn wait(&self) {
        self.timer.wait(self.delay()).await;
    }
}

impl Store for Slow {
    /// Batches of lower epochs still in flight go through handles that `inner` has fenced by then.
    fn open<'a>(
        &'a self,
        key_space: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            let inner = self.slowly(self.inner.open(key_space, epoch)).await?;
            let pace = Arc::clone(&self.pace);
            let lines = self.lines(key_space);
            Ok(Arc::new(SlowKeySpace { inner, pace, lines }) as Arc<dyn KeySpace>)
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.slowly(self.inner.key_spaces()))
    }

    fn drop_key_space<'a>(&'a self, key_space: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.slowly(self.inner.drop_key_space(key_space)))
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.slowly(self.inner.copy(from, to, keep)))
    }

    fn queue_bytes(&self) -> usize {
        self.inner.queue_bytes()
    }

    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }

    /// Everything submitted reaches `inner` before it is closed.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for lines in lines.into_values() {
                lines.on_the_way(&self.pace).await;
            }
            self.slowly(self.inner.close()).await
        })
    }
}
