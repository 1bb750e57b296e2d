//! Rows in the order of documents: by partition, then by creation or by number.

use std::{collections::VecDeque, ops::Range, sync::OnceLock, time::Instant};

use bytes::Bytes;
use partition::keys::Creation;
use protocol::{Error, rid::DocNum};
use sql::program::Run;

use crate::{
    execution::{
        ahead::{Ahead, Unit},
        candidates::Node,
        created::Created,
        documents::Documents,
        figures::Figures,
        job::{Fed, Job, Part},
        merge::{GROUPS_AHEAD, Merge},
        page::{Page, Seen},
        stream::{Reach, Stream},
        stretch::{Piece, Sequence, Stretch, stretches},
        token::{Place, Position},
    },
    together,
};

/// Fills the page from `place` on; returns where to continue, if there may be more.
///
/// DISTINCT starts over on every page, to learn again which rows were returned before.
pub(crate) async fn run(
    job: &Job<'_>,
    page: &mut Page,
    place: &Place,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    if !matches!(place, Place::Row(_) | Place::Created { .. }) {
        return Err(Error::bad_request("Invalid Continuation Token."));
    }
    if page.is_over() {
        return Ok(None);
    }
    let mut seen = job.seen();
    let piece =
        |part: &Part| Piece { slots: part.slots.clone(), documents: part.partition_documents };
    let pieces: Vec<Piece> = job.parts.iter().map(piece).collect();
    let stretches = stretches(&pieces, place);
    let mut ahead = Ahead::documents(job, true);
    let figures: Vec<OnceLock<Figures>> = stretches.iter().map(|_| OnceLock::new()).collect();
    let mut coming = Coming::new(job, &stretches, &figures, seen.is_some());
    for (at, stretch) in stretches.iter().enumerate() {
        if stretch.is_done() && seen.is_none() {
            continue;
        }
        ahead.reopen();
        let readers = coming.next(at, page.wants()).await?;
        match fill(job, page, stretch, readers, seen.as_mut(), &mut ahead, run).await? {
            Filled::Over => return Ok(None),
            Filled::Full(position) => return Ok(Some(stretch.place(position))),
            Filled::Exhausted if at + 1 == stretches.len() => {}
            // A page covers one partition if the client could query one partition after the other.
            Filled::Exhausted if job.program.shape().is_plain() && !page.items.is_empty() => {
                return Ok(Some(stretch.behind()));
            }
            Filled::Exhausted => {}
        }
    }
    Ok(None)
}

/// The result of reading a stretch.
enum Filled {
    /// Everything was read.
    Exhausted,
    /// The next page begins here.
    Full(Position),
    /// The answer is complete.
    Over,
}

async fn fill(
    job: &Job<'_>,
    page: &mut Page,
    stretch: &Stretch,
    mut readers: Readers<'_>,
    mut seen: Option<&mut Seen>,
    ahead: &mut Ahead<'_, (u64, Bytes)>,
    run: &mut Run<'_>,
) -> Result<Filled, Error> {
    let start = stretch.start;
    loop {
        let next = readers.next_of(job, page, ahead, run).await?;
        let Some((number, text)) = next else { return Ok(Filled::Exhausted) };
        let from_row = match number.cmp(&start.number) {
            std::cmp::Ordering::Less => u32::MAX,
            std::cmp::Ordering::Equal => start.row,
            std::cmp::Ordering::Greater => 0,
        };
        match job.feed(&text, from_row, page, seen.as_deref_mut(), run)? {
            Fed::Whole => {}
            Fed::Over => return Ok(Filled::Over),
            Fed::Full(row) => return Ok(Filled::Full(Position { number, row })),
        }
        let next = Position { number: number + 1, row: 0 };
        // The next page finds out whether there is more.
        let now = Instant::now();
        if (page.is_at_end() || job.is_late_at(now)) && next > start {
            return Ok(Filled::Full(next));
        }
        job.rest(now).await?;
    }
}

/// Opens stretches for reading. If the store is slow, it opens the following ones together: few at
/// first, since a page may end with any of them. Reads of a stretch are counted when the page gets
/// there.
struct Coming<'a> {
    job: &'a Job<'a>,
    stretches: &'a [Stretch],
    /// The reads of each stretch before the page gets there.
    figures: &'a [OnceLock<Figures>],
    /// Whether the stretches of earlier pages are read again.
    is_from_start: bool,
    /// Readers of the next stretches; `None` for one that could not be read.
    begun: VecDeque<(usize, Option<Readers<'a>>)>,
    /// How many were opened together.
    together: usize,
    /// Whether the page has reached any stretch.
    has_come: bool,
}

impl<'a> Coming<'a> {
    fn new(
        job: &'a Job<'a>,
        stretches: &'a [Stretch],
        figures: &'a [OnceLock<Figures>],
        is_from_start: bool,
    ) -> Self {
        let (begun, has_come) = (VecDeque::new(), false);
        Self { job, stretches, figures, is_from_start, begun, together: 1, has_come }
    }

    /// The readers of a stretch that the page has reached, for so many rows still wanted.
    async fn next(&mut self, at: usize, wants: usize) -> Result<Readers<'a>, Error> {
        let is_slow = self.job.figures.has_waited() && !self.job.recorder.is_on();
        if self.begun.is_empty() && self.has_come && is_slow {
            self.together = (2 * self.together).min(GROUPS_AHEAD);
            self.begin(at, wants).await?;
        }
        self.has_come = true;
        let begun = self.begun.pop_front().filter(|(begun, _)| *begun == at);
        if let Some(mut readers) = begun.and_then(|(_, readers)| readers) {
            if let Some(figures) = self.figures[at].get() {
                self.job.figures.absorb(figures);
            }
            readers.arrive(self.job);
            return Ok(readers);
        }
        let (figures, first) = (&self.job.figures, self.first(at));
        Readers::new(self.job, &self.stretches[at], first, |part, slots| {
            part.reach_in(slots, figures)
        })
        .await
    }

    /// Opens some stretches from this one on, concurrently.
    async fn begin(&mut self, from: usize, wants: usize) -> Result<(), Error> {
        let is_read = |at: &usize| self.is_from_start || !self.stretches[*at].is_done();
        let next: Vec<usize> =
            (from..self.stretches.len()).filter(is_read).take(self.together).collect();
        let begun = next.iter().map(|at| self.begun(*at, wants));
        let begun = together::all(begun).await?;
        self.begun = next.into_iter().zip(begun).collect();
        Ok(())
    }

    /// The readers of a stretch that the page may reach. If this fails, the page retries when it
    /// gets there.
    async fn begun(&self, at: usize, wants: usize) -> Result<Option<Readers<'a>>, Error> {
        let figures = self.figures[at].get_or_init(|| self.job.figures.apart());
        let first = self.first(at);
        let begin = async {
            let reach = |part: &'a Part, slots| part.reach_ahead(slots, figures);
            let mut readers = Readers::new(self.job, &self.stretches[at], first, reach).await?;
            readers.read_ahead(self.job, wants).await?;
            Ok::<_, Error>(readers)
        };
        Ok(begin.await.ok())
    }

    fn first(&self, at: usize) -> u64 {
        if self.is_from_start { 0 } else { self.stretches[at].start.number }
    }
}

/// Reads the documents of a stretch that can match. The variants differ in the meaning of a
/// position's number.
enum Readers<'a> {
    Number(ByNumber<'a>),
    Creation { documents: Created<'a>, progress: Progress },
}

impl<'a> Readers<'a> {
    async fn new(
        job: &'a Job<'_>,
        stretch: &Stretch,
        first: u64,
        reach: impl Fn(&'a Part, Range<u32>) -> Reach<'a>,
    ) -> Result<Self, Error> {
        let member = |(at, slots): &(usize, Range<u32>)| {
            let part = &job.parts[*at];
            (part, reach(part, slots.clone()))
        };
        let members = stretch.members.iter().map(member).collect();
        Ok(match stretch.sequence {
            Sequence::Number => Self::Number(ByNumber::new(members, first)),
            Sequence::Creation => {
                let documents = Created::new(members, Creation(first), &job.recorder).await?;
                Self::Creation { documents, progress: Progress::new(job) }
            }
        })
    }

    async fn next(&mut self, job: &Job<'_>, page: &Page) -> Result<Option<(u64, Bytes)>, Error> {
        match self {
            Self::Number(readers) => readers.next(job, page).await,
            Self::Creation { documents, progress } => {
                if documents.is_undecided() && progress.is_poor(job) {
                    documents.narrow(page.wants(), &job.recorder).await?;
                }
                let next = documents.next(page.wants()).await?;
                Ok(next.map(|(creation, text)| (creation.0, text)))
            }
        }
    }
}

impl<'a> Readers<'a> {
    /// The next document, read ahead and with the answers to its function calls.
    async fn next_of(
        &mut self,
        job: &Job<'_>,
        page: &Page,
        ahead: &mut Ahead<'_, (u64, Bytes)>,
        run: &mut Run<'_>,
    ) -> Result<Option<(u64, Bytes)>, Error> {
        if ahead.is_idle() {
            return self.next(job, page).await;
        }
        while ahead.is_hungry(page.wants(), || job.is_late()) {
            match self.next(job, page).await? {
                Some((number, text)) => ahead.push((number, text.clone()), Unit::Document(text)),
                None => ahead.end(),
            }
        }
        ahead.next(run).await
    }

    /// Reads the first documents, for a page that still wants so many rows.
    async fn read_ahead(&mut self, job: &Job<'_>, wants: usize) -> Result<(), Error> {
        match self {
            Self::Number(readers) => readers.read_ahead(job, wants).await,
            Self::Creation { documents, .. } => documents.read_ahead(wants).await.map(drop),
        }
    }

    /// The page has reached this stretch: from now on, reads count.
    fn arrive(&mut self, job: &'a Job<'_>) {
        match self {
            Self::Number(readers) => {
                for (part, reach) in &mut readers.members {
                    *reach = part.reach_in(reach.slots.clone(), &job.figures);
                }
                for documents in readers.documents.iter_mut().flatten() {
                    documents.progress = documents.progress.take().map(|_| Progress::new(job));
                }
            }
            Self::Creation { documents, progress } => {
                documents.count_in(&job.figures);
                *progress = Progress::new(job);
            }
        }
    }
}

/// Measures whether enough of the documents that are read match.
struct Progress {
    read: u64,
    matched_before: u64,
}

/// Documents to read before the share of matches is trusted, and per match.
const READ_BEFORE: u64 = 64;
const READ_PER_MATCH: u64 = 16;

impl Progress {
    fn new(job: &Job<'_>) -> Self {
        Self { read: 0, matched_before: job.figures.matches() }
    }

    /// Whether too few match. Call it once for each document that is read.
    fn is_poor(&mut self, job: &Job<'_>) -> bool {
        let matched = job.figures.matches() - self.matched_before;
        let is_poor = self.read > READ_BEFORE + READ_PER_MATCH * matched;
        self.read += 1;
        is_poor
    }
}

/// Reads in the order of document numbers.
struct ByNumber<'a> {
    members: Vec<(&'a Part, Reach<'a>)>,
    merge: Merge,
    /// The readers of the partitions that were opened.
    documents: Vec<Option<Adaptive>>,
    first: DocNum,
}

impl<'a> ByNumber<'a> {
    fn new(members: Vec<(&'a Part, Reach<'a>)>, first: DocNum) -> Self {
        let merge = Merge::new(members.iter().map(|(_, reach)| &reach.slots), first);
        let documents = members.iter().map(|_| None).collect();
        Self { members, merge, documents, first }
    }

    async fn next(&mut self, job: &Job<'_>, page: &Page) -> Result<Option<(DocNum, Bytes)>, Error> {
        while let Some(at) = self.merge.wanting() {
            let (part, reach) = &self.members[at];
            let documents = match &mut self.documents[at] {
                Some(documents) => documents,
                unread => unread.insert(Adaptive::new(job, part, reach, self.first).await?),
            };
            let document = documents.next(job, part, reach, page).await?;
            self.merge.put(at, document);
        }
        Ok(self.merge.take())
    }

    /// Reads the first documents of the partition that is wanted first.
    async fn read_ahead(&mut self, job: &Job<'_>, wants: usize) -> Result<(), Error> {
        let Some(at) = self.merge.wanting() else { return Ok(()) };
        let (part, reach) = &self.members[at];
        let adaptive = Adaptive::new(job, part, reach, self.first).await?;
        self.documents[at].insert(adaptive).documents.read_ahead(reach, wants).await
    }
}

/// Documents that can match, either listed by the index if they are few, or by reading all. Only
/// counting shows how many the index would list, so it reads documents first, and tries the index
/// when too few of them match.
struct Adaptive {
    documents: Documents,
    /// The progress of reading all, while the index may still be tried.
    progress: Option<Progress>,
}

impl Adaptive {
    async fn new(
        job: &Job<'_>,
        part: &Part,
        reach: &Reach<'_>,
        first: DocNum,
    ) -> Result<Self, Error> {
        let stream = part.node.quick_stream(reach).await?;
        job.recorder.note_stream(part, stream.as_ref());
        let is_undecided = stream.is_none() && !matches!(part.node, Node::Everything);
        let progress = is_undecided.then(|| Progress::new(job));
        Ok(Self { documents: Documents::new(stream, first), progress })
    }

    async fn next(
        &mut self,
        job: &Job<'_>,
        part: &Part,
        reach: &Reach<'_>,
        page: &Page,
    ) -> Result<Option<(DocNum, Bytes)>, Error> {
        if self.progress.as_mut().is_some_and(|progress| progress.is_poor(job)) {
            self.progress = None;
            let wanted = page.wants() as f64;
            let all = part.documents as f64;
            let unlisted = |matching: f64| (wanted * all / matching).min(all);
            if let Some(list) = part.node.list(reach, part.documents, unlisted).await? {
                let next = self.documents.position();
                let stream = Some(Stream::List(list));
                job.recorder.note_stream(part, stream.as_ref());
                self.documents = Documents::new(stream, next);
            }
        }
        self.documents.next(reach, page.wants()).await
    }
}
