//! The stretches of a page, in the order in which it comes to them.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock, atomic::Ordering},
};

use protocol::{Error, PartitionPoint};

use crate::{
    execution::{
        figures::Figures,
        job::Part,
        stream::Reach,
        stretch::{Piece, Stretch},
    },
    feeds::{Documents, Reader},
    readable::{PartitionView, Readable},
    together::{self, AT_ONCE},
};

/// The partitions of a stretch, open to be read.
pub(super) struct Shelf {
    pub(super) parts: Vec<Part>,
    pub(super) figures: Figures,
}

impl Shelf {
    /// The partitions with what is read of them.
    pub(super) fn members(&self, stretch: &Stretch) -> Vec<(&Part, Reach<'_>)> {
        let members = self.parts.iter().zip(&stretch.members);
        let reach =
            members.map(|(part, (_, slots))| (part, part.reach_in(slots.clone(), &self.figures)));
        reach.collect()
    }

    /// How far each partition has come, and what was read there.
    pub(super) fn work(&self) -> Vec<(PartitionPoint, u64)> {
        self.parts
            .iter()
            .map(|part| (part.point.clone(), part.work.load(Ordering::Relaxed)))
            .collect()
    }
}

/// A stretch that is begun.
pub(super) enum Begun<'a> {
    /// Its partitions as they are now.
    Now(Vec<PartitionView>),
    /// Its first documents were read before the page came here.
    Ahead(&'a Shelf, Documents<'a>),
}

impl Begun<'_> {
    /// The LSN of each partition.
    pub(super) fn lsns(&self) -> Vec<u64> {
        match self {
            Self::Now(views) => views.iter().map(|view| view.lsn).collect(),
            Self::Ahead(shelf, _) => shelf.parts.iter().map(|part| part.point.lsn).collect(),
        }
    }
}

/// Begins to read stretches. Where the store has to be waited for, those that follow are begun
/// together: up to the first that has documents, since the page is likely to end there, then up to
/// the second of those that follow, and so on. What is read ahead counts when the page comes to it.
pub(super) struct Coming<'a> {
    stretches: &'a [Stretch],
    pieces: &'a [Piece],
    partitions: &'a [&'a Arc<dyn Readable>],
    shelves: &'a [OnceLock<Box<Shelf>>],
    /// Of the stretches that come next; `None` for one that could not be read.
    begun: VecDeque<(usize, Option<Begun<'a>>)>,
    /// How many that have documents are begun together.
    together: usize,
}

impl<'a> Coming<'a> {
    pub(super) fn new(
        stretches: &'a [Stretch],
        (pieces, partitions): (&'a [Piece], &'a [&'a Arc<dyn Readable>]),
        shelves: &'a [OnceLock<Box<Shelf>>],
    ) -> Self {
        let begun = VecDeque::new();
        Self { stretches, pieces, partitions, shelves, begun, together: 1 }
    }

    /// The stretch in this place, which the page has come to.
    pub(super) async fn next(
        &mut self,
        at: usize,
        reader: &Reader<'_>,
    ) -> Result<Begun<'a>, Error> {
        if self.begun.is_empty() && reader.waits.has_waited() {
            let next = self.coming(at);
            self.together = (2 * self.together).min(AT_ONCE);
            let begin = next.iter().map(|at| async { Ok(self.ahead(*at, reader).await.ok()) });
            let begun = together::all::<_, Error>(begin).await?;
            self.begun = next.into_iter().zip(begun).collect();
        }
        let begun = self.begun.pop_front().filter(|(begun, _)| *begun == at);
        match begun.and_then(|(_, begun)| begun) {
            Some(begun) => Ok(begun),
            None => self.views(at, reader).await.map(Begun::Now),
        }
    }

    /// Which stretches are begun together, from this one on.
    fn coming(&self, from: usize) -> Vec<usize> {
        let mut next = Vec::new();
        let mut full = 0;
        for at in from..self.stretches.len() {
            let stretch = &self.stretches[at];
            if full >= self.together || next.len() >= AT_ONCE {
                break;
            }
            if !stretch.is_done() {
                let has_some = |(at, _): &(usize, _)| self.pieces[*at].documents > 0;
                full += usize::from(stretch.members.iter().any(has_some));
                next.push(at);
            }
        }
        next
    }

    async fn views(&self, at: usize, reader: &Reader<'_>) -> Result<Vec<PartitionView>, Error> {
        let group = self.stretches[at].members.iter().map(|(at, _)| self.partitions[*at]);
        reader.waits.on(together::all(group.map(|partition| partition.view()))).await
    }

    /// Begins with a stretch that the page may come to. One that cannot be read is tried again if it
    /// does.
    async fn ahead(&self, at: usize, reader: &Reader<'_>) -> Result<Begun<'a>, Error> {
        let stretch = &self.stretches[at];
        let group = stretch.members.iter().map(|(at, _)| self.partitions[*at]);
        let views = self.views(at, reader).await?;
        let shelf = reader.shelf(group.zip(views)).await?;
        let shelf = self.shelves[at].get_or_init(|| shelf.into());
        let mut documents = Documents::new(stretch, shelf.members(stretch)).await?;
        documents.read_ahead(reader.wants()).await?;
        Ok(Begun::Ahead(shelf, documents))
    }
}
