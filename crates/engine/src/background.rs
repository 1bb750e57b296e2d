//! Background tasks, which end when the database closes.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::{sync::Notify, task::JoinHandle};

/// The background tasks of a database.
#[derive(Default)]
pub(crate) struct Background {
    tasks: Mutex<Vec<JoinHandle<()>>>,
    is_closed: AtomicBool,
    closing: Notify,
}

impl Background {
    /// Runs a task that closing waits for. It must end soon after [`Background::closing`] does.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(work);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Whether the database is closing.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits until the database closes.
    pub(crate) async fn closing(&self) {
        // Created before the flag is read, so that it receives every later notification.
        let called = self.closing.notified();
        if !self.is_closed() {
            called.await;
        }
    }

    /// Signals all tasks to end, and waits until they have.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
        let tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        for task in tasks {
            // A failed task needs no further waiting.
            let _ = task.await;
        }
    }
}
