//! Rows in the order of documents: by partition, then by creation or by number.

use std::ops::Range;

use bytes::Bytes;
use protocol::{Error, rid::DocNum};
use sql::program::Run;

use crate::{
    keys::Creation,
    query::{
        ahead::{Ahead, Unit},
        candidates::Node,
        created::Created,
        documents::Documents,
        job::{Fed, Job, Part, Turns},
        merge::Merge,
        page::{Page, Seen},
        stream::{Reach, Stream},
        stretch::{Piece, Sequence, Stretch, stretches},
        token::{Place, Position},
    },
};

/// Fills the page from `place` on; where to go on, if there may be more.
///
/// DISTINCT begins anew with every page, to learn again what was returned before.
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
    for (at, stretch) in stretches.iter().enumerate() {
        if stretch.is_done() && seen.is_none() {
            continue;
        }
        ahead.reopen();
        match fill(job, page, stretch, seen.as_mut(), &mut ahead, run).await? {
            Filled::Over => return Ok(None),
            Filled::Full(position) => return Ok(Some(stretch.place(position))),
            Filled::Exhausted if at + 1 == stretches.len() => {}
            // A page is of one partition, where the client could have asked one after the other.
            Filled::Exhausted if job.program.shape().is_plain() && !page.items.is_empty() => {
                return Ok(Some(stretch.behind()));
            }
            Filled::Exhausted => {}
        }
    }
    Ok(None)
}

/// How reading a stretch ended.
enum Filled {
    /// Everything was read.
    Exhausted,
    /// The next page begins here.
    Full(Position),
    /// The answer is at its end.
    Over,
}

async fn fill(
    job: &Job<'_>,
    page: &mut Page,
    stretch: &Stretch,
    mut seen: Option<&mut Seen>,
    ahead: &mut Ahead<'_, (u64, Bytes)>,
    run: &mut Run<'_>,
) -> Result<Filled, Error> {
    let start = stretch.start;
    let mut turns = Turns::default();
    let first = if seen.is_some() { 0 } else { start.number };
    let mut readers = Readers::new(job, stretch, first).await?;
    loop {
        while ahead.is_hungry(page.wants(), job.is_late()) {
            match readers.next(job, page).await? {
                Some((number, text)) => ahead.push((number, text.clone()), Unit::Document(text)),
                None => ahead.end(),
            }
        }
        let Some((number, text)) = ahead.next(run).await? else { return Ok(Filled::Exhausted) };
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
        // Whether there is more is for the next page to find out.
        if (page.is_at_end() || job.is_late()) && next > start {
            return Ok(Filled::Full(next));
        }
        job.check_timeout()?;
        turns.take().await;
    }
}

/// The documents of a stretch that can match, with what the numbers of its positions mean.
enum Readers<'a> {
    Number(ByNumber<'a>),
    Creation { documents: Created<'a>, progress: Progress },
}

impl<'a> Readers<'a> {
    async fn new(job: &'a Job<'_>, stretch: &Stretch, first: u64) -> Result<Self, Error> {
        let member = |(at, slots): &(usize, Range<u32>)| {
            let part = &job.parts[*at];
            (part, part.reach_in(slots.clone(), &job.figures))
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
                let next = documents.next().await?;
                Ok(next.map(|(creation, text)| (creation.0, text)))
            }
        }
    }
}

/// Whether looking at documents finds enough that match.
struct Progress {
    read: u64,
    matched_before: u64,
}

/// Documents that are looked at before their matches say anything, and per match.
const READ_BEFORE: u64 = 64;
const READ_PER_MATCH: u64 = 16;

impl Progress {
    fn new(job: &Job<'_>) -> Self {
        Self { read: 0, matched_before: job.figures.totals().matched }
    }

    /// Whether too few match. Asked once for each document that is read.
    fn is_poor(&mut self, job: &Job<'_>) -> bool {
        let matched = job.figures.totals().matched - self.matched_before;
        let is_poor = self.read > READ_BEFORE + READ_PER_MATCH * matched;
        self.read += 1;
        is_poor
    }
}

/// Reads in the order of document numbers.
struct ByNumber<'a> {
    members: Vec<(&'a Part, Reach<'a>)>,
    merge: Merge,
    /// Of each partition, once it is read.
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
}

/// Documents that can match, found by the index where it knows few, and by looking at all where it
/// does not. How many it knows is seen only by counting them, so documents are looked at first, and
/// counting begins when too few of them match.
struct Adaptive {
    documents: Documents,
    /// Of looking at all, while the index may still be asked.
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
        self.documents.next(reach).await
    }
}
