//! The documents of a stretch that can match, in the order of their creation.

use std::{sync::Arc, vec};

use bytes::Bytes;
use partition::{creations::Listed, keys::Creation};
use protocol::Error;

use crate::{
    execution::{
        candidates::Node,
        explain::{Access, Recorder},
        fetch::Fetched,
        figures::Figures,
        job::Part,
        stream::Reach,
    },
    together,
};

/// Reads the documents of some partitions as one. It asks the index for the documents that can
/// match if those are few, and otherwise reads all.
pub(crate) struct Created<'a> {
    lanes: Vec<Lane<'a>>,
    /// The reach of each lane.
    reaches: Vec<Reach<'a>>,
    /// Documents to read next, each with its lane.
    pending: vec::IntoIter<(Creation, usize)>,
    /// Documents that were read ahead.
    fetched: Fetched<Creation>,
    /// `pending` covers creations before this one; `None` if it covers all.
    until: Option<Creation>,
    /// Everything before this was read.
    next: Creation,
}

/// A partition, or a part of it.
struct Lane<'a> {
    part: &'a Part,
    source: Source,
}

enum Source {
    /// All documents; whether to ask the index again for fewer.
    All { is_undecided: bool },
    /// These documents, sorted.
    Few(Vec<Creation>),
}

impl<'a> Created<'a> {
    /// Reads the documents that were created at or after `first`.
    pub(crate) async fn new(
        members: Vec<(&'a Part, Reach<'a>)>,
        first: Creation,
        recorder: &Recorder,
    ) -> Result<Self, Error> {
        let lists = members.iter().map(|(part, reach)| part.node.quick_list(reach));
        let lists = together::all(lists).await?;
        let (mut lanes, mut reaches) = (Vec::new(), Vec::new());
        for ((part, reach), list) in members.into_iter().zip(lists) {
            let source = match list {
                Some(numbers) => Source::few(numbers),
                None => Source::All { is_undecided: !matches!(part.node, Node::Everything) },
            };
            recorder.note(part, source.access());
            lanes.push(Lane { part, source });
            reaches.push(reach);
        }
        let pending = Vec::new().into_iter();
        let fetched = Fetched::default();
        Ok(Self { lanes, reaches, pending, fetched, until: Some(first), next: first })
    }

    /// Whether asking the index may narrow the documents to read.
    pub(crate) fn is_undecided(&self) -> bool {
        let is_undecided =
            |lane: &Lane<'_>| matches!(lane.source, Source::All { is_undecided: true });
        self.lanes.iter().any(is_undecided)
    }

    /// Asks the index, if that is worth it for a page that still wants so many rows.
    pub(crate) async fn narrow(&mut self, wanted: usize, recorder: &Recorder) -> Result<(), Error> {
        let lanes = self.lanes.iter_mut().zip(&self.reaches);
        together::all(lanes.map(|(lane, reach)| lane.narrow(reach, wanted, recorder))).await?;
        self.pending = Vec::new().into_iter();
        self.fetched.clear();
        self.until = Some(self.next);
        Ok(())
    }

    /// The next document's creation and text, for a page that still wants so many rows.
    pub(crate) async fn next(&mut self, wants: usize) -> Result<Option<(Creation, Bytes)>, Error> {
        loop {
            while let Some((creation, text)) = self.fetched.next(&self.reaches).await? {
                self.next = Creation(creation.0 + 1);
                if let Some(text) = text {
                    return Ok(Some((creation, text)));
                }
            }
            if !self.read_ahead(wants).await? {
                return Ok(None);
            }
        }
    }

    /// Reads ahead if nothing read is left, for a page that still wants so many rows; returns
    /// whether there may be more.
    pub(crate) async fn read_ahead(&mut self, wants: usize) -> Result<bool, Error> {
        if !self.fetched.is_empty() {
            return Ok(true);
        }
        while self.pending.len() == 0 {
            let Some(from) = self.until else { return Ok(false) };
            self.fill(from).await?;
        }
        let wanted = self.pending.by_ref().take(self.fetched.room(wants));
        let wanted = wanted.map(|(creation, lane)| (creation, Some((lane, creation.docnum()))));
        self.fetched.fetch(wanted.collect(), &self.reaches).await?;
        Ok(true)
    }

    /// Counts later reads in these figures.
    pub(crate) fn count_in(&mut self, figures: &'a Figures) {
        for (lane, reach) in self.lanes.iter().zip(&mut self.reaches) {
            *reach = lane.part.reach_in(reach.slots.clone(), figures);
        }
    }

    /// Determines the next documents to read.
    async fn fill(&mut self, from: Creation) -> Result<(), Error> {
        self.until = None;
        let mut pending = Vec::new();
        let lanes = || self.lanes.iter().zip(&self.reaches);
        let listed = together::all(lanes().map(|(lane, reach)| lane.listed(reach, from))).await?;
        for (at, ((lane, reach), listed)) in lanes().zip(listed).enumerate() {
            let mut take = |creations: &[Creation]| {
                let behind = &creations[creations.partition_point(|creation| *creation < from)..];
                let in_reach = behind.iter().filter(|it| reach.slots.contains(&it.slot()));
                pending.extend(in_reach.map(|creation| (*creation, at)));
            };
            if let Source::Few(creations) = &lane.source {
                take(creations);
            }
            if let Some(listed) = listed {
                take(&listed.creations);
                self.until = [self.until, listed.until].into_iter().flatten().min();
            }
        }
        // Drop what is beyond the shortest list: other lanes may have documents there, too.
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

impl Lane<'_> {
    /// Asks the index for the documents that can match, if that was not done before and is worth
    /// it.
    async fn narrow(
        &mut self,
        reach: &Reach<'_>,
        wanted: usize,
        recorder: &Recorder,
    ) -> Result<(), Error> {
        let Source::All { is_undecided: is_undecided @ true } = &mut self.source else {
            return Ok(());
        };
        *is_undecided = false;
        let all = self.part.documents as f64;
        let unlisted = |matching: f64| (wanted as f64 * all / matching).min(all);
        let list = self.part.node.list(reach, self.part.documents, unlisted).await?;
        if let Some(numbers) = list {
            self.source = Source::few(numbers);
            recorder.note(self.part, self.source.access());
        }
        Ok(())
    }

    /// The documents that were created at or after `from`, or the first of them, if all are read.
    async fn listed(
        &self,
        reach: &Reach<'_>,
        from: Creation,
    ) -> Result<Option<Arc<Listed>>, Error> {
        match self.source {
            Source::Few(_) => Ok(None),
            Source::All { .. } => self.part.created(reach, from).await.map(Some),
        }
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
