//! The documents of a stretch that can match, in the order of their creation.

use std::vec;

use bytes::Bytes;
use protocol::Error;

use crate::{
    keys::Creation,
    query::{
        candidates::Node,
        documents::load,
        explain::{Access, Recorder},
        job::Part,
        stream::Reach,
    },
};

/// Reads documents of some partitions as one. Which documents can match is asked of the index where
/// it knows few; else all are looked at.
pub(crate) struct Created<'a> {
    lanes: Vec<Lane<'a>>,
    /// What is to be read, and of which lane.
    pending: vec::IntoIter<(Creation, usize)>,
    /// What is created from here on is not in `pending`; `None` if everything is.
    until: Option<Creation>,
    /// Everything below was read.
    next: Creation,
}

/// A partition, or a part of it.
struct Lane<'a> {
    part: &'a Part,
    reach: Reach<'a>,
    source: Source,
}

enum Source {
    /// All documents; whether the index may still be asked for less.
    All { is_undecided: bool },
    /// These, sorted.
    Few(Vec<Creation>),
}

impl<'a> Created<'a> {
    /// The documents that were created at or after `first`.
    pub(crate) async fn new(
        members: Vec<(&'a Part, Reach<'a>)>,
        first: Creation,
        recorder: &Recorder,
    ) -> Result<Self, Error> {
        let mut lanes = Vec::with_capacity(members.len());
        for (part, reach) in members {
            let source = match part.node.quick_list(&reach).await? {
                Some(numbers) => Source::few(numbers),
                None => Source::All { is_undecided: !matches!(part.node, Node::Everything) },
            };
            recorder.note(part, source.access());
            lanes.push(Lane { part, reach, source });
        }
        let pending = Vec::new().into_iter();
        Ok(Self { lanes, pending, until: Some(first), next: first })
    }

    /// Whether the index may know better which documents can match.
    pub(crate) fn is_undecided(&self) -> bool {
        let is_undecided =
            |lane: &Lane<'_>| matches!(lane.source, Source::All { is_undecided: true });
        self.lanes.iter().any(is_undecided)
    }

    /// Asks the index, if that is worth it for a page that still wants so many rows.
    pub(crate) async fn narrow(&mut self, wanted: usize, recorder: &Recorder) -> Result<(), Error> {
        for lane in &mut self.lanes {
            let Source::All { is_undecided: is_undecided @ true } = &mut lane.source else {
                continue;
            };
            *is_undecided = false;
            let all = lane.part.documents as f64;
            let unlisted = |matching: f64| (wanted as f64 * all / matching).min(all);
            let list = lane.part.node.list(&lane.reach, lane.part.documents, unlisted).await?;
            if let Some(numbers) = list {
                lane.source = Source::few(numbers);
                recorder.note(lane.part, lane.source.access());
            }
        }
        self.pending = Vec::new().into_iter();
        self.until = Some(self.next);
        Ok(())
    }

    /// The next document's creation and text.
    pub(crate) async fn next(&mut self) -> Result<Option<(Creation, Bytes)>, Error> {
        loop {
            for (creation, lane) in self.pending.by_ref() {
                self.next = Creation(creation.0 + 1);
                if let Some(text) = load(&self.lanes[lane].reach, creation.docnum()).await? {
                    return Ok(Some((creation, text)));
                }
            }
            let Some(from) = self.until else { return Ok(None) };
            self.fill(from).await?;
        }
    }

    /// Finds out what is to be read from here on.
    async fn fill(&mut self, from: Creation) -> Result<(), Error> {
        self.until = None;
        let mut pending = Vec::new();
        for (at, Lane { part, reach, source }) in self.lanes.iter().enumerate() {
            let mut take = |creations: &[Creation]| {
                let behind = &creations[creations.partition_point(|creation| *creation < from)..];
                let in_reach = behind.iter().filter(|it| reach.slots.contains(&it.slot()));
                pending.extend(in_reach.map(|creation| (*creation, at)));
            };
            match source {
                Source::Few(creations) => take(creations),
                Source::All { .. } => {
                    let listed = part.created(reach, from).await?;
                    take(&listed.creations);
                    self.until = [self.until, listed.until].into_iter().flatten().min();
                }
            }
        }
        // What is known of some is of no use before it is known of all.
        if let Some(until) = self.until {
            pending.retain(|(creation, _)| *creation < until);
        }
        if self.lanes.len() > 1 {
            pending.sort_unstable();
        }
        self.pending = pending.into_iter();
        Ok(())
    }
}

impl Source {
    fn few(numbers: Vec<u64>) -> Self {
        let mut creations: Vec<Creation> = numbers.into_iter().map(Creation::of).collect();
        creations.sort_unstable();
        Self::Few(creations)
    }

    fn access(&self) -> Access {
        match self {
            Self::All { .. } => Access::Scan,
            Self::Few(creations) => Access::List(creations.len()),
        }
    }
}
