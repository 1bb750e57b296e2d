//! Reads partitions as one, in the order of document numbers.
//!
//! Partitions that share no slot follow each other. If a hierarchical key is cut inside its slot,
//! several partitions have numbers of this slot, and are read side by side: so the order does not
//! depend on the cuts, and a token means the same position before and after a cut.

use std::ops::Range;

use bytes::Bytes;
use partition::keys::{SEQUENCE_MAX, docnum};
use protocol::{Error, rid::DocNum};
use sql::program::Run;

use crate::{
    execution::{
        ahead::{Ahead, Unit},
        documents::Documents,
        fetch,
        figures::Figures,
        job::{Job, Part},
        stream::Reach,
        stretch::do_share,
    },
    together,
};

/// Groups of partitions that are read ahead together.
pub(crate) const GROUPS_AHEAD: usize = 8;

/// Splits the parts into groups, in order: the parts of a group share slots.
pub(crate) fn groups(parts: &[Part]) -> impl Iterator<Item = &[Part]> {
    parts.chunk_by(|left, right| do_share(&left.slots, &right.slots))
}

/// Merges the documents of a group in order. The caller reads: it passes in the next document of
/// the lane that is [`wanting`](Self::wanting), until it can take the least of all.
pub(crate) struct Merge {
    lanes: Vec<Lane>,
}

struct Lane {
    /// The lower bound of its numbers.
    first: DocNum,
    head: Option<(DocNum, Bytes)>,
    is_done: bool,
}

impl Merge {
    /// A group of lanes with these slots, from a number on.
    pub(crate) fn new<'a>(group: impl Iterator<Item = &'a Range<u32>>, start: DocNum) -> Self {
        let lane = |slots: &Range<u32>| Lane {
            first: docnum(slots.start, 0).max(start),
            head: None,
            is_done: slots.is_empty() || docnum(slots.end.saturating_sub(1), SEQUENCE_MAX) < start,
        };
        Self { lanes: group.map(lane).collect() }
    }

    /// The lane that must be read before the least document is known. No lane is read earlier than
    /// necessary.
    pub(crate) fn wanting(&self) -> Option<usize> {
        let heads = self.lanes.iter().filter_map(|lane| lane.head.as_ref());
        let least = heads.map(|(number, _)| *number).min().unwrap_or(DocNum::MAX);
        let is_wanting = |lane: &Lane| !lane.is_done && lane.head.is_none() && lane.first <= least;
        self.lanes.iter().position(is_wanting)
    }

    /// Adds a document of a lane; `None` if the lane has no more.
    pub(crate) fn put(&mut self, lane: usize, document: Option<(DocNum, Bytes)>) {
        let lane = &mut self.lanes[lane];
        lane.is_done = document.is_none();
        lane.head = document;
    }

    /// The least document, if no lane is wanting.
    pub(crate) fn take(&mut self) -> Option<(DocNum, Bytes)> {
        let with_heads = self.lanes.iter_mut().filter(|lane| lane.head.is_some());
        with_heads.min_by_key(|lane| lane.head.as_ref().map(|(number, _)| *number))?.head.take()
    }
}

/// Reads all documents that can match in some partitions, as one.
pub(crate) struct Readers<'a> {
    group: &'a [Part],
    merge: Merge,
    /// The readers of the partitions that were opened.
    documents: Vec<Option<Documents>>,
    start: DocNum,
}

impl<'a> Readers<'a> {
    /// Reads the documents of a group from a number on.
    pub(crate) fn new(group: &'a [Part], start: DocNum) -> Self {
        let merge = Merge::new(group.iter().map(|part| &part.slots), start);
        Self { group, merge, documents: group.iter().map(|_| None).collect(), start }
    }

    /// The next document's number and text.
    pub(crate) async fn next(&mut self, job: &Job<'_>) -> Result<Option<(DocNum, Bytes)>, Error> {
        while let Some(at) = self.merge.wanting() {
            let part = &self.group[at];
            let reach = part.reach(&job.figures);
            let documents = match &mut self.documents[at] {
                Some(documents) => documents,
                unread => unread.insert(opened(job, part, &reach, self.start).await?),
            };
            let document = documents.next(&reach, usize::MAX).await?;
            self.merge.put(at, document);
        }
        Ok(self.merge.take())
    }

    /// Reads the first documents of all its partitions concurrently. For a caller that will read
    /// all of them.
    async fn read_ahead(&mut self, job: &Job<'_>) -> Result<(), Error> {
        let (merge, start) = (&self.merge, self.start);
        let unread = self.group.iter().zip(&mut self.documents).enumerate();
        let unread = unread.filter(|(at, _)| !merge.lanes[*at].is_done);
        let read = unread.map(|(_, (part, documents))| async move {
            let reach = part.reach(&job.figures);
            let opened = documents.insert(opened(job, part, &reach, start).await?);
            opened.read_ahead(&reach, usize::MAX).await
        });
        together::all(read).await.map(drop)
    }
}

/// The documents of one partition that can match.
async fn opened(
    job: &Job<'_>,
    part: &Part,
    reach: &Reach<'_>,
    start: DocNum,
) -> Result<Documents, Error> {
    let stream = part.node.stream(reach, part.documents).await?;
    job.recorder.note_stream(part, stream.as_ref());
    Ok(Documents::new(stream, start))
}

/// Readers of successive groups, for a caller that will read all of them: their first documents are
/// read concurrently.
pub(crate) async fn readers<'a>(
    job: &Job<'_>,
    groups: &[&'a [Part]],
    start: DocNum,
) -> Result<Vec<Readers<'a>>, Error> {
    let mut all: Vec<Readers<'_>> = groups.iter().map(|group| Readers::new(group, start)).collect();
    if all.len() > 1 {
        together::all(all.iter_mut().map(|readers| readers.read_ahead(job))).await?;
    }
    Ok(all)
}

impl Readers<'_> {
    /// The next document, read ahead and with the answers to its function calls.
    pub(crate) async fn next_of(
        &mut self,
        job: &Job<'_>,
        ahead: &mut Ahead<'_, (DocNum, Bytes)>,
        run: &mut Run<'_>,
    ) -> Result<Option<(DocNum, Bytes)>, Error> {
        if ahead.is_idle() {
            return self.next(job).await;
        }
        while ahead.is_hungry(usize::MAX, || job.is_late()) {
            match self.next(job).await? {
                Some((number, text)) => ahead.push((number, text.clone()), Unit::Document(text)),
                None => ahead.end(),
            }
        }
        ahead.next(run).await
    }
}

impl Job<'_> {
    /// Reads a document by its number from whichever partition has it.
    pub(crate) async fn load(&self, number: DocNum) -> Result<Option<Bytes>, Error> {
        let figures: &Figures = &self.figures;
        for part in self.parts.iter() {
            let reach = part.reach(figures);
            if reach.contains(number)
                && let Some(text) = fetch::one(&reach, number).await?
            {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges lanes of these numbers; returns the merged numbers, and how often each lane was read.
    fn merged(lanes: &[(Range<u32>, Vec<DocNum>)], start: DocNum) -> (Vec<DocNum>, Vec<usize>) {
        let mut merge = Merge::new(lanes.iter().map(|(slots, _)| slots), start);
        let mut rest: Vec<_> = lanes
            .iter()
            .map(|(_, numbers)| numbers.iter().copied().filter(|number| *number >= start))
            .collect();
        let (mut out, mut reads) = (Vec::new(), vec![0; lanes.len()]);
        loop {
            while let Some(at) = merge.wanting() {
                reads[at] += 1;
                merge.put(at, rest[at].next().map(|number| (number, Bytes::new())));
            }
            match merge.take() {
                Some((number, _)) => out.push(number),
                None => return (out, reads),
            }
        }
    }

    #[test]
    fn numbers_of_a_shared_slot_are_merged() {
        let left = vec![docnum(1, 5), docnum(7, 1), docnum(7, 4)];
        let middle = vec![docnum(7, 2), docnum(7, 9)];
        let right = vec![docnum(7, 3), docnum(8, 0)];
        let lanes = [(0..8, left.clone()), (7..8, middle.clone()), (7..10, right.clone())];
        let mut all = [left, middle, right].concat();
        all.sort_unstable();
        assert_eq!(merged(&lanes, 0), (all.clone(), vec![4, 3, 3]));
        assert_eq!(merged(&lanes, docnum(7, 4)).0, all[4..]);
        // A lane that ends before the start is not read at all.
        assert_eq!(merged(&lanes, docnum(8, 0)), (vec![docnum(8, 0)], vec![0, 0, 2]));
    }

    #[test]
    fn nobody_is_read_before_its_time() {
        let slots = [0..8, 7..9];
        let mut merge = Merge::new(slots.iter(), 0);
        assert_eq!(merge.wanting(), Some(0));
        merge.put(0, Some((docnum(3, 0), Bytes::new())));
        assert_eq!(merge.wanting(), None, "no number of the other can be less");
        assert_eq!(merge.take().map(|(number, _)| number), Some(docnum(3, 0)));
        merge.put(0, Some((docnum(7, 6), Bytes::new())));
        assert_eq!(merge.wanting(), Some(1));
    }
}
