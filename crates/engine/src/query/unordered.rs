//! Rows in the order of documents: by slot, then by insertion.

use bytes::Bytes;
use protocol::{Error, rid::DocNum};
use sql::program::Run;

use crate::query::{
    ahead::{Ahead, Unit},
    candidates::Node,
    documents::Documents,
    job::{Fed, Job, Part, Turns},
    merge::{self, Merge},
    page::{Page, Seen},
    stream::{Reach, Stream},
    token::{Place, Position},
};

/// Fills the page from `start` on; where to go on, if there is more.
///
/// DISTINCT begins anew with every page, to learn again what was returned before.
pub(crate) async fn run(
    job: &Job<'_>,
    page: &mut Page,
    start: Position,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    if page.is_over() {
        return Ok(None);
    }
    let mut seen = job.program.shape().is_distinct.then(Seen::default);
    let mut turns = Turns::default();
    let first = if seen.is_some() { 0 } else { start.number };
    let mut ahead = Ahead::documents(job, true);
    for group in merge::groups(&job.parts) {
        let mut readers = Readers::new(group, first);
        ahead.reopen();
        loop {
            while ahead.is_hungry(page.wants(), job.is_late()) {
                match readers.next(job, page).await? {
                    Some((number, text)) => {
                        ahead.push((number, text.clone()), Unit::Document(text));
                    }
                    None => ahead.end(),
                }
            }
            let Some((number, text)) = ahead.next(run).await? else { break };
            let from_row = match number.cmp(&start.number) {
                std::cmp::Ordering::Less => u32::MAX,
                std::cmp::Ordering::Equal => start.row,
                std::cmp::Ordering::Greater => 0,
            };
            match job.feed(&text, from_row, page, seen.as_mut(), run)? {
                Fed::Whole => {}
                Fed::Over => return Ok(None),
                Fed::Full(row) => return Ok(Some(Place::Row(Position { number, row }))),
            }
            let next = Position { number: number + 1, row: 0 };
            if job.is_late() && next > start {
                return Ok(Some(Place::Row(next)));
            }
            job.check_timeout()?;
            turns.take().await;
        }
    }
    Ok(None)
}

/// The documents of some partitions that can match, read as one.
struct Readers<'a> {
    group: &'a [Part],
    merge: Merge,
    /// Of each partition, once it is read.
    documents: Vec<Option<Adaptive>>,
    first: DocNum,
}

impl<'a> Readers<'a> {
    fn new(group: &'a [Part], first: DocNum) -> Self {
        let merge = Merge::new(group.iter().map(|part| &part.slots), first);
        Self { group, merge, documents: group.iter().map(|_| None).collect(), first }
    }

    async fn next(&mut self, job: &Job<'_>, page: &Page) -> Result<Option<(DocNum, Bytes)>, Error> {
        while let Some(at) = self.merge.wanting() {
            let part = &self.group[at];
            let reach = part.reach(&job.figures);
            let documents = match &mut self.documents[at] {
                Some(documents) => documents,
                unread => unread.insert(Adaptive::new(job, part, &reach, self.first).await?),
            };
            let document = documents.next(job, part, &reach, page).await?;
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
    /// Whether the index may still be asked.
    is_undecided: bool,
    read: u64,
    matched_before: u64,
}

/// Documents that are looked at before their matches say anything, and per match.
const READ_BEFORE: u64 = 64;
const READ_PER_MATCH: u64 = 16;

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
        let matched_before = reach.figures.totals().matched;
        let documents = Documents::new(stream, first);
        Ok(Self { documents, is_undecided, read: 0, matched_before })
    }

    async fn next(
        &mut self,
        job: &Job<'_>,
        part: &Part,
        reach: &Reach<'_>,
        page: &Page,
    ) -> Result<Option<(DocNum, Bytes)>, Error> {
        if self.is_undecided {
            let matched = job.figures.totals().matched - self.matched_before;
            if self.read > READ_BEFORE + READ_PER_MATCH * matched {
                self.is_undecided = false;
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
            self.read += 1;
        }
        self.documents.next(reach).await
    }
}
