//! The partitions of a page, in the order in which it comes to them.

use std::{collections::VecDeque, sync::Arc};

use partition::position::Position;
use protocol::Error;

use crate::{
    changes::reader::{Begun, Reader},
    readable::Readable,
    together::AT_ONCE,
};

/// Begins with partitions. Where the store has to be waited for, those that follow are begun together:
/// few at first, since a page may end with any of them. What was read ahead counts when the page comes
/// to it.
pub(super) struct Coming<'a> {
    partitions: &'a [&'a Arc<dyn Readable>],
    /// Those that come next; `None` for one that could not be read.
    begun: VecDeque<Option<Begun>>,
    /// How many were begun together.
    together: usize,
}

impl<'a> Coming<'a> {
    pub(super) fn new(partitions: &'a [&'a Arc<dyn Readable>]) -> Self {
        Self { partitions, begun: VecDeque::new(), together: 1 }
    }

    /// The partition in this place, which the page has come to from the one before.
    pub(super) async fn next(
        &mut self,
        at: usize,
        reader: &Reader<'_>,
        position: &Position,
    ) -> Result<Begun, Error> {
        if self.begun.is_empty() && reader.has_waited() {
            self.together = (2 * self.together).min(AT_ONCE);
            let end = (at + self.together).min(self.partitions.len());
            self.begun = reader.begin_ahead(&self.partitions[at..end], position).await.into();
        }
        match self.begun.pop_front().flatten() {
            Some(begun) => Ok(begun),
            None => reader.begin(&**self.partitions[at]).await,
        }
    }
}
