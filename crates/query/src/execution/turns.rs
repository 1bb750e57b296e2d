//! Lets other tasks run now and then: a store that answers at once never yields, so whoever reads
//! much must yield the thread itself.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a reader may keep its thread before it yields. A turn that ends costs a call of the
/// operating system, so it is not for every page that is read.
const TURN: Duration = Duration::from_millis(1);

/// The turn of a reader, since when it goes on.
#[derive(Debug)]
pub(crate) struct Turns(Mutex<Instant>);

impl Default for Turns {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Turns {
    /// Yields the thread if the turn has lasted long enough.
    pub(crate) async fn take(&self) {
        self.take_at(Instant::now()).await;
    }

    /// Yields the thread if the turn has lasted long enough, for a caller that knows the time.
    pub(crate) async fn take_at(&self, now: Instant) {
        let is_over = now.saturating_duration_since(self.began()) >= TURN;
        if is_over {
            tokio::task::yield_now().await;
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }

    fn began(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future as _, pin::pin, task::Context};

    use super::*;

    #[tokio::test]
    async fn only_long_turns_end() {
        let is_ready = |turns: &Turns| {
            let mut context = Context::from_waker(std::task::Waker::noop());
            pin!(turns.take()).poll(&mut context).is_ready()
        };
        let turns = Turns(Mutex::new(Instant::now() + Duration::from_mins(1)));
        assert!(is_ready(&turns));
        let turns = Turns(Mutex::new(Instant::now().checked_sub(TURN).expect("a past")));
        assert!(!is_ready(&turns), "others come first");
        turns.take().await;
        assert!(turns.began().elapsed() < Duration::from_mins(1));
    }
}
