//! The pending overlay: rows that are queued but not yet published, and the tasks waiting for them.
//!
//! Each queued batch has a ticket, and batches are published in ticket order. A writer that finds a
//! row here learns its ticket: until that ticket is published, anything derived from the row may
//! still be lost.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use foldhash::fast::RandomState;
use protocol::Error;
use tokio::sync::oneshot;

use crate::{errors, transaction::Overlay};

#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Rows by key, with the ticket of the batch that wrote them; `None` where the batch deleted
    /// the row.
    rows: HashMap<Bytes, (u64, Option<Bytes>), RandomState>,
    /// Every batch up to this ticket is published.
    published: u64,
    /// Why publishing has stopped.
    failure: Option<Error>,
    /// Tasks waiting for a ticket.
    waiting: BTreeMap<u64, Vec<oneshot::Sender<Result<(), Error>>>>,
}

/// The overlay's answer to a lookup.
pub(super) struct Looked {
    /// The rows, in key order of the lookup; `None` if the row was deleted or is not pending.
    pub(super) rows: Vec<Option<Bytes>>,
    /// Indexes of the keys that are not pending.
    pub(super) absent: Vec<usize>,
    /// The highest ticket among the pending rows; zero if there are none.
    pub(super) ticket: u64,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the rows of a batch being queued.
    pub(super) fn insert(&self, ticket: u64, rows: Overlay) {
        self.state().rows.extend(rows.into_iter().map(|(key, row)| (key, (ticket, row))));
    }

    /// Whether all rows are published.
    pub(super) fn is_empty(&self) -> bool {
        self.state().rows.is_empty()
    }

    /// Looks rows up.
    pub(super) fn look(&self, keys: &[Bytes]) -> Looked {
        let mut looked = Looked { rows: vec![None; keys.len()], absent: Vec::new(), ticket: 0 };
        let state = self.state();
        for (index, key) in keys.iter().enumerate() {
            match state.rows.get(key) {
                Some((ticket, row)) => {
                    looked.rows[index].clone_from(row);
                    looked.ticket = looked.ticket.max(*ticket);
                }
                None => looked.absent.push(index),
            }
        }
        looked
    }

    /// Marks a batch with rows under these keys as published. Readers must already see the rows and
    /// the batch's LSN.
    pub(super) fn publish(&self, ticket: u64, keys: &[Bytes]) {
        let mut state = self.state();
        for key in keys {
            if state.rows.get(key).is_some_and(|(writer, _)| *writer == ticket) {
                state.rows.remove(key);
            }
        }
        state.published = state.published.max(ticket);
        while let Some(first) = state.waiting.first_entry().filter(|it| *it.key() <= ticket) {
            // A waiter may have gone.
            first.remove().into_iter().for_each(|waiter| drop(waiter.send(Ok(()))));
        }
    }

    /// Fails every waiter: a batch has failed, and with it all that are queued.
    pub(super) fn fail(&self, error: &Error) {
        let mut state = self.state();
        state.failure.get_or_insert_with(|| error.clone());
        for waiter in std::mem::take(&mut state.waiting).into_values().flatten() {
            drop(waiter.send(Err(error.clone())));
        }
    }

    /// Waits until the batch with this ticket is published. The error says why that will never
    /// happen.
    pub(super) async fn settled(&self, ticket: u64) -> Result<(), Error> {
        let receiver = {
            let mut state = self.state();
            if ticket <= state.published {
                return Ok(());
            }
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            let (sender, receiver) = oneshot::channel();
            let waiting = state.waiting.entry(ticket).or_default();
            // While the store stalls, callers come and go. Asked each time that they have doubled.
            if waiting.len().is_power_of_two() {
                waiting.retain(|waiter| !waiter.is_closed());
            }
            waiting.push(sender);
            receiver
        };
        receiver.await.map_err(|_| errors::shut_down())?
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use protocol::Code;

    use super::*;

    fn row(key: &'static str) -> (Bytes, Option<Bytes>) {
        (Bytes::from(key), Some(Bytes::from("row")))
    }

    /// The result of a wait so far.
    macro_rules! polled {
        ($wait:expr) => {
            match $wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => None,
                Poll::Ready(result) => Some(result.map_err(|error| error.code)),
            }
        };
    }

    #[test]
    fn the_highest_ticket_counts_and_so_does_absence() {
        let pending = Pending::default();
        pending.insert(1, vec![row("a"), row("b")]);
        pending.insert(2, vec![(Bytes::from("b"), None)]);
        let keys = ["a", "b", "c"].map(Bytes::from);
        let looked = pending.look(&keys);
        assert_eq!((looked.ticket, looked.absent), (2, vec![2]));
        assert_eq!(looked.rows, [Some(Bytes::from("row")), None, None]);
        assert_eq!(pending.look(&keys[..1]).ticket, 1);
        assert_eq!(pending.look(&keys[2..]).ticket, 0);
        // A row that another batch has overwritten stays until that batch is published.
        pending.publish(1, &keys[..2]);
        assert_eq!(pending.look(&keys).ticket, 2);
        assert_eq!(pending.look(&keys).absent, [0, 2]);
    }

    #[test]
    fn who_waits_is_told_when_its_ticket_is_published_and_no_earlier() {
        let pending = Pending::default();
        assert_eq!(polled!(pin!(pending.settled(0))), Some(Ok(())));
        let mut second = pin!(pending.settled(2));
        assert_eq!(polled!(second), None);
        pending.publish(1, &[]);
        assert_eq!(polled!(second), None);
        pending.publish(3, &[]);
        assert_eq!(polled!(second), Some(Ok(())));
        assert_eq!(polled!(pin!(pending.settled(3))), Some(Ok(())));
        assert!(pending.state().waiting.is_empty());
    }

    #[test]
    fn those_who_have_gone_are_forgotten() {
        let pending = Pending::default();
        let mut stays = pin!(pending.settled(1));
        assert_eq!(polled!(stays), None);
        for _ in 0..100 {
            let mut goes = Box::pin(pending.settled(1));
            assert_eq!(polled!(goes), None);
        }
        assert!(pending.state().waiting[&1].len() <= 2);
        pending.publish(1, &[]);
        assert_eq!(polled!(stays), Some(Ok(())));
    }

    #[test]
    fn a_failure_is_told_to_those_who_wait_and_to_later_ones() {
        let pending = Pending::default();
        pending.publish(1, &[]);
        let mut waits = pin!(pending.settled(2));
        assert_eq!(polled!(waits), None);
        pending.fail(&errors::writes_stopped());
        let failed = Some(Err(Code::Unavailable));
        assert_eq!(polled!(waits), failed);
        assert_eq!(polled!(pin!(pending.settled(3))), failed);
        assert_eq!(polled!(pin!(pending.settled(1))), Some(Ok(())), "it was published before");
    }
}
