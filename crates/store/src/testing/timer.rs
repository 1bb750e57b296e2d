//! A thread that runs actions at given times.
//!
//! A custom timer, because stores are also used from threads without a runtime.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};

/// Schedules actions. The thread ends once the last user of the timer is gone and everything
/// scheduled has run.
pub(super) struct Timer {
    sender: Sender<Timed>,
    scheduled: AtomicU64,
}

/// An action and when to run it: ordered by time, and in the order of scheduling at the same time.
struct Timed {
    at: Instant,
    number: u64,
    action: Box<dyn FnOnce() + Send>,
}

impl Timed {
    fn order(&self) -> (Instant, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl Timer {
    /// Starts the thread.
    pub(super) fn start() -> Arc<Self> {
        let (sender, receiver) = channel();
        std::thread::Builder::new()
            .name("test timer".to_owned())
            .spawn(move || run(&receiver))
            .expect("a test can start a thread");
        Arc::new(Self { sender, scheduled: AtomicU64::new(0) })
    }

    /// Runs `action` on the timer's thread, not before `at`.
    pub(super) fn schedule(&self, at: Instant, action: impl FnOnce() + Send + 'static) {
        let number = self.scheduled.fetch_add(1, Ordering::Relaxed);
        let timed = Timed { at, number, action: Box::new(action) };
        self.sender.send(timed).expect("the thread ends after the last sender");
    }

    /// Waits for this long, and at least until another thread has run.
    pub(super) fn wait(&self, delay: Duration) -> impl Future<Output = ()> + Send + use<> {
        let (signal, waiting) = signal();
        self.schedule(Instant::now() + delay, signal);
        waiting
    }
}

/// A function that ends a future, and that future.
pub(super) fn signal() -> (impl FnOnce() + Send + 'static, impl Future<Output = ()> + Send) {
    #[derive(Default)]
    struct State {
        is_over: bool,
        waker: Option<Waker>,
    }
    let state = Arc::new(Mutex::new(State::default()));
    let shared = Arc::clone(&state);
    let end = move || {
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    };
    let waiting = poll_fn(move |context| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    });
    (end, waiting)
}

fn run(receiver: &Receiver<Timed>) {
    let mut waiting: BinaryHeap<Reverse<Timed>> = BinaryHeap::new();
    let mut is_over = false;
    loop {
        let left = match waiting.peek() {
            Some(Reverse(next)) => next.at.saturating_duration_since(Instant::now()),
            None if is_over => return,
            None => Duration::MAX,
        };
        // A due action waits until the channel is empty, because an earlier one may be in it.
        match receive(receiver, if is_over { Duration::ZERO } else { left }) {
            Ok(timed) => waiting.push(Reverse(timed)),
            Err(error) => {
                is_over |= error == RecvTimeoutError::Disconnected;
                let is_due = is_over || left.is_zero();
                if is_due && let Some(Reverse(next)) = waiting.pop() {
                    // The panic hook has reported it; the others still have to run.
                    let _ = catch_unwind(AssertUnwindSafe(next.action));
                }
            }
        }
    }
}

/// Receives with a timeout; `Duration::MAX` means none.
fn receive(receiver: &Receiver<Timed>, left: Duration) -> Result<Timed, RecvTimeoutError> {
    if left == Duration::MAX {
        return receiver.recv().map_err(|_| RecvTimeoutError::Disconnected);
    }
    receiver.recv_timeout(left)
}
