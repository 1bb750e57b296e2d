//! The documents that can match, as far as the index knows: from a filter to streams of document
//! numbers.
//!
//! There are no statistics. Only reading a range shows how selective it is, so it is read up to a
//! limit that rises step by step; a range that does not end within the limit is ignored, and the
//! filter is evaluated on the documents.

use std::{
    ops::{Bound, Deref},
    sync::Arc,
};

use bytes::Bytes;
use index::key::PREFIX_BYTES;
use protocol::{BoxFuture, Error, rid::DocNum};
use sql::filter::{Checker, ValueCheck};
use store::{Direction, PageLimit};

use crate::execution::{
    costs::READ_COSTS,
    job::halted,
    stream::{Intersection, Postings, Reach, Stream, number_of},
};
use crate::sought::{Span, Terms};

/// How many index entries to read to find the documents that can match: few at first, then more,
/// while that is cheaper than reading documents instead.
const LIMITS: [usize; 5] = [256, 4_096, 65_536, 524_288, 2_097_152];

/// Most terms that are followed side by side; a longer IN is read into a list.
const POSTINGS_MAX: usize = 64;

/// Most conditions of an AND that are looked up in the index.
const CONDITIONS_MAX: usize = 16;

/// Entries per page of a range.
const PAGE_ENTRIES: usize = 1024;

/// What the index knows about a filter.
#[derive(Clone)]
pub(crate) enum Node {
    /// No document can match.
    Nothing,
    /// The index does not help.
    Everything,
    Ranges(Ranges),
    And(Vec<Node>),
    Or(Vec<Node>),
}

/// What a list is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// A list of every document that matches, and perhaps others.
    Superset,
    /// A list of exactly the documents that match.
    Exact,
}

/// The result of reading ranges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// Exactly the documents in range were found.
    Sure,
    /// Some values are incomplete in the index, so there may be too many documents.
    Unsure,
    /// The limit was reached before the end.
    Limited,
}

/// The documents that have an index entry in one of several ranges.
#[derive(Clone)]
pub(crate) struct Ranges {
    /// The kind and id at the beginning of all keys.
    pub(crate) prefix: [u8; PREFIX_BYTES],
    /// The ranges.
    pub(crate) terms: Arc<Terms>,
    /// Whether the entries are exactly the documents that match.
    pub(crate) is_exact: bool,
}

impl Deref for Ranges {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

impl Node {
    /// Whether the documents found are exactly those that match.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Everything => false,
            Self::Ranges(ranges) => ranges.is_exact,
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().all(Self::is_exact),
        }
    }

    /// Marks the documents found as candidates that may not match.
    fn forget_exactness(&mut self) {
        match self {
            Self::Nothing | Self::Everything => {}
            Self::Ranges(ranges) => ranges.is_exact = false,
            Self::And(nodes) | Self::Or(nodes) => nodes.iter_mut().for_each(Self::forget_exactness),
        }
    }

    /// All must hold.
    pub(crate) fn and(nodes: Vec<Node>) -> Node {
        if nodes.iter().any(|node| matches!(node, Self::Nothing)) {
            return Self::Nothing;
        }
        let count = nodes.len();
        let mut kept: Vec<Node> =
            nodes.into_iter().filter(|node| !matches!(node, Self::Everything)).collect();
        if kept.len() < count {
            // The documents must be checked for the parts that the index does not know.
            kept.iter_mut().for_each(Self::forget_exactness);
        }
        match kept.len() {
            0 => Self::Everything,
            1 => kept.remove(0),
            _ => Self::And(kept),
        }
    }

    /// At least one must hold.
    pub(crate) fn or(nodes: Vec<Node>) -> Node {
        if nodes.iter().any(|node| matches!(node, Self::Everything)) {
            return Self::Everything;
        }
        let mut kept: Vec<Node> =
            nodes.into_iter().filter(|node| !matches!(node, Self::Nothing)).collect();
        match kept.len() {
            0 => Self::Nothing,
            1 => kept.remove(0),
            _ => Self::Or(kept),
        }
    }

    /// A stream that is very cheap to find: of a few terms, or of a few documents.
    pub(crate) async fn quick_stream(&self, reach: &Reach<'_>) -> Result<Option<Stream>, Error> {
        let (postings, is_whole) = self.postings();
        if is_whole {
            return Ok(postings);
        }
        Ok(self.quick_list(reach).await?.map(Stream::List))
    }

    /// The documents that can match, if the index knows that they are few.
    pub(crate) async fn quick_list(&self, reach: &Reach<'_>) -> Result<Option<Vec<DocNum>>, Error> {
        if matches!(self, Self::Everything) {
            return Ok(None);
        }
        let _lists = reach.figures.lists();
        self.list_kept(reach, LIMITS[0], Need::Superset).await
    }

    /// The best stream for a reader of everything that matches; `None` for all documents.
    pub(crate) async fn stream(
        &self,
        reach: &Reach<'_>,
        documents: u64,
    ) -> Result<Option<Stream>, Error> {
        if matches!(self, Self::Everything) {
            return Ok(None);
        }
        let (postings, is_whole) = self.postings();
        if is_whole {
            return Ok(postings);
        }
        let list = self.list(reach, documents, |_| documents as f64).await?;
        Ok(list.map(Stream::List).or(postings))
    }

    /// The documents that can match, if finding them is worth it. `unlisted` estimates how many
    /// documents would be read without the list, given that more than so many match.
    pub(crate) async fn list(
        &self,
        reach: &Reach<'_>,
        documents: u64,
        unlisted: impl Fn(f64) -> f64,
    ) -> Result<Option<Vec<DocNum>>, Error> {
        let _lists = reach.figures.lists();
        let (mut matching, mut found) = (1.0, None);
        for limit in LIMITS {
            let is_worth =
                limit as f64 * READ_COSTS.entry < unlisted(matching) * READ_COSTS.document;
            if limit > LIMITS[0] && !is_worth {
                break;
            }
            found = self.list_kept(reach, limit, Need::Superset).await?;
            if found.is_some() || limit as u64 >= documents {
                break;
            }
            matching = limit as f64;
        }
        Ok(found)
    }

    /// The streams that can be followed without reading ahead, and whether they cover the whole
    /// filter.
    fn postings(&self) -> (Option<Stream>, bool) {
        match self {
            Self::Nothing => (Some(Stream::List(Vec::new())), true),
            Self::Everything => (None, false),
            Self::Ranges(ranges) => {
                let stream = ranges.postings();
                let is_whole = stream.is_some();
                (stream, is_whole)
            }
            Self::And(nodes) => {
                let (streams, whole): (Vec<_>, Vec<_>) = nodes.iter().map(Self::postings).unzip();
                let mut streams: Vec<Stream> = streams.into_iter().flatten().collect();
                let is_whole = whole.into_iter().all(|is_whole| is_whole);
                match streams.len() {
                    0 => (None, false),
                    1 => (streams.pop(), is_whole),
                    _ => (Some(Stream::Intersection(Intersection::of(streams))), is_whole),
                }
            }
            Self::Or(nodes) => {
                let (streams, whole): (Vec<_>, Vec<_>) = nodes.iter().map(Self::postings).unzip();
                let streams: Option<Vec<Stream>> = streams.into_iter().collect();
                let is_whole = streams.is_some() && whole.into_iter().all(|is_whole| is_whole);
                (streams.map(Stream::Union), is_whole)
            }
        }
    }

    /// The number of matching documents from the index alone, without those in the sorted list
    /// `expired`; `None` if that takes more entries than reading the documents is worth. Only for
    /// exact nodes.
    pub(crate) async fn count(
        &self,
        reach: &Reach<'_>,
        expired: &[DocNum],
    ) -> Result<Option<u64>, Error> {
        let is_alive = |number: &DocNum| expired.binary_search(number).is_err();
        if let Self::Ranges(ranges) = self
            && ranges.is_unique
        {
            return ranges.count(reach, is_alive).await;
        }
        let limit = LIMITS[LIMITS.len() - 1];
        let list = self.list_kept(reach, limit, Need::Exact).await?;
        Ok(list.map(|list| list.iter().filter(|number| is_alive(number)).count() as u64))
    }

    /// The documents that can match, if they are found within `limit` entries. The list stays
    /// counted in the memory budget until the page is done; memory used to find it is returned.
    async fn list_kept(
        &self,
        reach: &Reach<'_>,
        limit: usize,
        need: Need,
    ) -> Result<Option<Vec<DocNum>>, Error> {
        let held = &reach.figures.held;
        let mut taken = 0;
        let mut list = self.list_within(reach, limit, need, &mut taken).await?;
        let bytes = list.as_mut().map_or(0, |list| {
            list.shrink_to_fit();
            list.capacity() * size_of::<DocNum>()
        });
        match taken.checked_sub(bytes) {
            Some(rest) => held.give_back(rest),
            None => held.take(bytes - taken).map_err(halted)?,
        }
        Ok(list)
    }

    fn list_within<'a>(
        &'a self,
        reach: &'a Reach<'_>,
        limit: usize,
        need: Need,
        taken: &'a mut usize,
    ) -> BoxFuture<'a, Result<Option<Vec<DocNum>>, Error>> {
        Box::pin(async move {
            match self {
                Self::Nothing => Ok(Some(Vec::new())),
                Self::Everything => Ok(None),
                Self::Ranges(ranges) => ranges.list(reach, limit, need, taken).await,
                Self::And(nodes) => {
                    // For a superset one complete list is enough: the filter checks the documents.
                    let mut found: Option<Vec<DocNum>> = None;
                    let mut tried = 0;
                    for node in nodes {
                        // A complete list is narrowed further only if that costs little more.
                        let limit = match (&found, need) {
                            (Some(found), Need::Superset) => limit.min(8 * found.len().max(32)),
                            _ => limit,
                        };
                        tried += 1;
                        if tried > CONDITIONS_MAX && need == Need::Superset {
                            break;
                        }
                        let list = match node.list_within(reach, limit, need, taken).await? {
                            Some(list) => list,
                            None if need == Need::Exact => return Ok(None),
                            None => continue,
                        };
                        found = Some(match found {
                            None => list,
                            Some(other) => common(&other, &list),
                        });
                        if found.as_ref().is_some_and(Vec::is_empty) {
                            break;
                        }
                    }
                    Ok(found)
                }
                Self::Or(nodes) => {
                    let mut all = Vec::new();
                    for node in nodes {
                        let Some(list) = node.list_within(reach, limit, need, taken).await? else {
                            return Ok(None);
                        };
                        all.extend(list);
                        if all.len() > limit {
                            return Ok(None);
                        }
                    }
                    all.sort_unstable();
                    all.dedup();
                    Ok(Some(all))
                }
            }
        })
    }
}

impl Ranges {
    /// Streams of its terms, if it consists of a few terms.
    fn postings(&self) -> Option<Stream> {
        if self.spans.len() > POSTINGS_MAX
            || self.check.is_some()
            || self.spans.iter().any(|span| !span.is_point)
        {
            return None;
        }
        let postings = |span: &Span| {
            Stream::Postings(Postings::new([&self.prefix[..], &span.low].concat().into()))
        };
        let mut streams: Vec<Stream> = self.spans.iter().map(postings).collect();
        if streams.len() == 1 { streams.pop() } else { Some(Stream::Union(streams)) }
    }

    /// Its documents, sorted; `None` if that takes more than `limit` entries, or if only the
    /// documents can tell. Adds the memory taken to `taken`.
    async fn list(
        &self,
        reach: &Reach<'_>,
        limit: usize,
        need: Need,
        taken: &mut usize,
    ) -> Result<Option<Vec<DocNum>>, Error> {
        let mut numbers = Vec::new();
        let held = &reach.figures.held;
        let keep = |number| {
            if numbers.len() == numbers.capacity() {
                let more = numbers.len().max(LIMITS[0]);
                held.take(more * size_of::<DocNum>()).map_err(halted)?;
                *taken += more * size_of::<DocNum>();
                numbers.reserve_exact(more);
            }
            numbers.push(number);
            Ok(())
        };
        let walked = self.walk(reach, limit, keep).await?;
        if walked == Walk::Limited || walked == Walk::Unsure && need == Need::Exact {
            return Ok(None);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Some(numbers))
    }

    /// Counts the entries without keeping them; `None` if only the documents can tell. Only for
    /// exact and unique ranges.
    async fn count(
        &self,
        reach: &Reach<'_>,
        is_counted: impl Fn(&DocNum) -> bool,
    ) -> Result<Option<u64>, Error> {
        let mut count = 0;
        let each = |number| {
            count += u64::from(is_counted(&number));
            Ok(())
        };
        let walked = self.walk(reach, usize::MAX, each).await?;
        Ok((walked == Walk::Sure).then_some(count))
    }

    /// Calls `each` for every document in range.
    async fn walk(
        &self,
        reach: &Reach<'_>,
        limit: usize,
        mut each: impl FnMut(DocNum) -> Result<(), Error>,
    ) -> Result<Walk, Error> {
        let mut checked = Checked {
            checker: self.check.as_ref().map(ValueCheck::start),
            prefix: self.prefix.len(),
            last: None,
            is_unsure: false,
        };
        let mut read = 0;
        for span in &self.spans {
            let (mut start, end) = self.bounds(span, reach);
            loop {
                let entries = PAGE_ENTRIES.min(limit.saturating_sub(read).saturating_add(1));
                let page = PageLimit { entries, bytes: 4 << 20 };
                let range = (start, end.clone());
                let page = reach.scan(range, Direction::Forward, page).await?;
                reach.figures.check_time()?;
                read += page.entries.len();
                reach.note_index_entries(page.entries.len());
                if read > limit {
                    return Ok(Walk::Limited);
                }
                for (key, _) in &page.entries {
                    let Some(number) = number_of(key) else { continue };
                    if reach.contains(number) && checked.passes(key) {
                        each(number)?;
                    }
                }
                match page.entries.last() {
                    Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
                    _ => break,
                }
                reach.figures.turns.take().await;
            }
        }
        Ok(if checked.is_unsure { Walk::Unsure } else { Walk::Sure })
    }

    /// The bounds of a span. A term is read within its slots only, because its entries are sorted
    /// by document number.
    fn bounds(&self, span: &Span, reach: &Reach<'_>) -> (Bound<Bytes>, Bound<Bytes>) {
        let low = [&self.prefix[..], &span.low];
        if span.is_point {
            let at = |number: DocNum| [&low.concat()[..], &number.to_be_bytes()].concat().into();
            return (Bound::Included(at(reach.first())), Bound::Included(at(reach.last())));
        }
        let high = [&self.prefix[..], &span.high].concat();
        (Bound::Included(low.concat().into()), Bound::Excluded(high.into()))
    }
}

/// Checks values of index entries. Entries of one value are adjacent, so each value is checked
/// once.
struct Checked<'a> {
    checker: Option<Checker<'a>>,
    prefix: usize,
    last: Option<(Vec<u8>, bool)>,
    /// Whether it passed a value that is incomplete in the index.
    is_unsure: bool,
}

impl Checked<'_> {
    fn passes(&mut self, key: &[u8]) -> bool {
        let Some(checker) = &mut self.checker else { return true };
        let value = &key[self.prefix..key.len() - 8];
        if let Some((last, passed)) = &self.last
            && last == value
        {
            return *passed;
        }
        // A truncated or merely marked value must be checked on the document.
        let passed = if let Ok((index::Decoded::Value(value), _)) = index::decode_value(value) {
            checker.passes(&value)
        } else {
            self.is_unsure = true;
            true
        };
        self.last = Some((value.to_vec(), passed));
        passed
    }
}

/// The intersection of two sorted lists.
fn common(a: &[DocNum], b: &[DocNum]) -> Vec<DocNum> {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.iter().copied().filter(|number| long.binary_search(number).is_ok()).collect()
}
