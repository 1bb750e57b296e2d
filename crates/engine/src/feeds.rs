//! Feeds: pages of resources, and where to go on.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use protocol::{
    Body, Error, Meta, Options, Outcome, PartitionPoint, Response,
    continuation::{self, Feed},
    etag::{Etag, strip_quotes},
    limits::{PAGE_BYTES_MAX, PAGE_ITEMS_DEFAULT},
    request::CollectionPath,
    response::FeedKind,
};

use crate::{
    Inner,
    budget::{self, Asked, Kind, Tickets},
    catalog::Collection,
    charge::Meter,
    documents::{scope::Scope, text::user_bytes},
    keys::docnum,
    partition::Partition,
    query::{
        self,
        documents::Documents,
        figures::Figures,
        job::Turns,
        merge::{self, Merge},
    },
};

/// Rows and bytes that one request may look at without filling its page. A feed of one key in a
/// full slot goes on in the next page; this one may be empty.
const SCANNED_ROWS_MAX: usize = 10_000;
const SCANNED_BYTES_MAX: usize = 16 << 20;

/// A page of a feed.
#[derive(Debug, Default)]
pub(crate) struct Page {
    items: Vec<Bytes>,
    continuation: Option<String>,
}

impl Page {
    /// The page of a feed whose items are in memory, ordered by number.
    pub(crate) fn take<T>(
        feed: Feed,
        owner: &[u8],
        options: &Options,
        items: impl Iterator<Item = (u64, T)>,
        print: impl Fn(T) -> Bytes,
    ) -> Result<Self, Error> {
        let after = position(feed, owner, options)?;
        let limit = page_items(options);
        let mut page = Self::default();
        let mut last = 0;
        let mut bytes = 0;
        for (number, item) in items.filter(|(number, _)| after.is_none_or(|after| *number > after))
        {
            if page.items.len() == limit || bytes > PAGE_BYTES_MAX {
                page.continuation = Some(continuation::encode(feed, owner, last));
                break;
            }
            let item = print(item);
            bytes += item.len();
            page.items.push(item);
            last = number;
        }
        Ok(page)
    }

    /// Bytes of its items.
    pub(crate) fn bytes(&self) -> usize {
        self.items.iter().map(Bytes::len).sum()
    }

    pub(crate) fn answer(self, owner_rid: String, kind: FeedKind, meta: Meta) -> Response {
        Response {
            outcome: Outcome::Ok,
            body: Body::Feed { owner_rid, kind, items: self.items },
            etag: None,
            continuation: self.continuation,
            meta,
        }
    }
}

/// Where the caller's last page ended; `None` for the first one.
pub(crate) fn position(feed: Feed, owner: &[u8], options: &Options) -> Result<Option<u64>, Error> {
    let Some(token) = &options.continuation else { return Ok(None) };
    continuation::decode(feed, owner, token).map(Some).ok_or_else(|| {
        Error::bad_request("Invalid Continuation Token: it is damaged or belongs to another feed.")
    })
}

pub(crate) fn page_items(options: &Options) -> usize {
    options.max_item_count.unwrap_or(PAGE_ITEMS_DEFAULT) as usize
}

/// Whether the caller already has this version.
pub(crate) fn is_unchanged(options: &Options, etag: Etag) -> bool {
    options.if_none_match.as_deref().is_some_and(|known| names(known, etag))
}

/// The answer to a read of one resource: without it, for a caller who already has this version.
pub(crate) fn answer_read(
    options: &Options,
    etag: Etag,
    answer: impl FnOnce(Outcome) -> Response,
) -> Response {
    if is_unchanged(options, etag) {
        return Response { body: Body::Empty, ..answer(Outcome::NotModified) };
    }
    answer(Outcome::Ok)
}

/// Refuses a change when the caller knows another version.
pub(crate) fn require_match(options: &Options, etag: Etag) -> Result<(), Error> {
    match options.if_match.as_deref() {
        Some(expected) if !names(expected, etag) => Err(Error::precondition_failed()),
        _ => Ok(()),
    }
}

/// Whether a condition header names this version: `*` names any, and a list names each.
fn names(condition: &str, etag: Etag) -> bool {
    condition
        .split(',')
        .any(|part| part.trim() == "*" || Etag::parse(strip_quotes(part)) == Some(etag))
}

/// The feed of a collection's documents, in the order of their numbers.
pub(crate) async fn documents(
    engine: &Inner,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = engine.collection(path, options)?;
    let scope = Scope::of(&collection, options)?;
    let after = position(Feed::Documents, &collection.numbering(), options)?;
    let mut reader = Reader::new(engine, &collection, &scope, page_items(options), after);
    let mut points = Vec::new();
    let asked = Asked::new(Kind::Feed, path, [&[], &[]], options, meter);
    let mut entered = Entered::default();
    let partitions: Vec<_> = scope.partitions(&collection).collect();
    let do_share = |left: &&Arc<Partition>, right: &&Arc<Partition>| {
        merge::do_share(&scope.slots_in(left), &scope.slots_in(right))
    };
    for group in partitions.chunk_by(do_share) {
        for partition in group {
            check_session(engine, &collection, partition, options)?;
        }
        entered.settle(engine, meter);
        // Partitions that earlier pages have read have nothing to do for this one.
        let is_ahead = |partition: &&&Arc<Partition>| {
            after.is_none_or(|after| docnum(partition.slots.end, 0) > after)
        };
        match budget::admit_all(engine, &asked, group.iter().filter(is_ahead).copied()) {
            Ok(tickets) => entered.tickets = Some(tickets),
            Err(error) if reader.last == after => return Err(error),
            Err(_) => {
                // What was read is a page: the next one begins with this partition.
                reader.is_full = true;
                break;
            }
        }
        let read = reader.read(group, meter).await?;
        let ahead = group.iter().zip(&read).filter(|(partition, _)| is_ahead(partition));
        entered.work = ahead.map(|(_, (_, work))| *work).collect();
        points.extend(read.into_iter().map(|(point, _)| point));
        if reader.is_full {
            break;
        }
    }
    if reader.items.is_empty() {
        meter.lookup();
    }
    entered.settle(engine, meter);
    if let Some(key) = scope.full_key(&collection)
        && let Some(partition) = scope.partitions(&collection).next()
    {
        partition.hot.note(key.as_bytes(), meter.total(), engine.clock.now_millis());
    }
    let token = |last| continuation::encode(Feed::Documents, &collection.numbering(), last);
    let continuation = if reader.is_full { reader.last.map(token) } else { None };
    let page = Page { items: reader.items, continuation };
    let partitions = Scope::points(&collection, options, points);
    let meta = Meta { partitions, owner: Some(collection.owner()), ..Meta::default() };
    Ok(page.answer(collection.rid.to_string(), FeedKind::Documents, meta))
}

/// Refuses a reader whose session has seen more than the partition has.
pub(crate) fn check_session(
    engine: &Inner,
    collection: &Collection,
    partition: &Partition,
    options: &Options,
) -> Result<(), Error> {
    if !options.is_session_read(engine.options.default_consistency) {
        return Ok(());
    }
    partition.check_session(options.session.as_ref()).map_err(|mut error| {
        error.meta.partitions = vec![partition.point(partition.lsn())];
        error.meta.owner = Some(collection.owner());
        error
    })
}

/// The partitions that a feed has been let in at, and what it did there.
#[derive(Default)]
struct Entered {
    tickets: Option<Tickets>,
    work: Vec<u64>,
    /// What was paid for before.
    settled: f64,
}

impl Entered {
    /// The work there is done.
    fn settle(&mut self, engine: &Inner, meter: &Meter) {
        if let Some(tickets) = self.tickets.take() {
            tickets.settle(engine, meter.total() - self.settled, &self.work);
        }
        self.settled = meter.total();
    }
}

/// Fills one page from one partition after another.
struct Reader<'a> {
    collection: &'a Collection,
    scope: &'a Scope,
    /// The second that the page is of, and when it must be done.
    now: u64,
    timeout: Instant,
    limit: usize,
    items: Vec<Bytes>,
    bytes: usize,
    scanned_rows: usize,
    scanned_bytes: usize,
    /// The number of the last document looked at and not left for the next page.
    last: Option<u64>,
    /// Something is left for the next page.
    is_full: bool,
}

impl<'a> Reader<'a> {
    fn new(
        engine: &Inner,
        collection: &'a Collection,
        scope: &'a Scope,
        limit: usize,
        after: Option<u64>,
    ) -> Self {
        Self {
            collection,
            scope,
            now: engine.clock.now_seconds(),
            timeout: Instant::now() + engine.options.query_timeout,
            limit,
            items: Vec::new(),
            bytes: 0,
            scanned_rows: 0,
            scanned_bytes: 0,
            last: after,
            is_full: false,
        }
    }

    /// Reads partitions that share slots as one; says how much was read in each.
    async fn read(
        &mut self,
        group: &[&Arc<Partition>],
        meter: &mut Meter,
    ) -> Result<Vec<(PartitionPoint, u64)>, Error> {
        let start = self.last.map_or(0, |last| last.saturating_add(1));
        let figures = Figures::until(self.timeout, &Arc::default());
        let mut parts = Vec::with_capacity(group.len());
        for partition in group {
            parts.push(query::unfiltered(self.collection, self.scope, partition, self.now).await?);
        }
        let mut lanes = Vec::with_capacity(group.len());
        for part in &parts {
            let reach = part.reach(&figures);
            let stream = part.node.quick_stream(&reach).await?;
            lanes.push((Documents::new(stream, start), reach));
        }
        let mut merge = Merge::new(parts.iter().map(|part| &part.slots), start);
        let mut turns = Turns::default();
        while !self.is_full {
            while let Some(at) = merge.wanting() {
                let (documents, reach) = &mut lanes[at];
                let document = documents.next(reach).await?;
                merge.put(at, document);
            }
            let Some((number, document)) = merge.take() else { break };
            self.take(number, document, meter);
            turns.take().await;
        }
        drop(lanes);
        Ok(parts.into_iter().map(|part| (part.point, part.work.into_inner())).collect())
    }

    /// Looks at one document. Fills the page up to its limits, and one more to know that there is one.
    fn take(&mut self, number: u64, document: Bytes, meter: &mut Meter) {
        self.scanned_rows += 1;
        self.scanned_bytes += document.len();
        if self.scope.admits_text(self.collection, &document) {
            if self.items.len() == self.limit
                || self.bytes + document.len() > PAGE_BYTES_MAX && !self.items.is_empty()
            {
                self.is_full = true;
                return;
            }
            meter.feed_document(user_bytes(&document));
            self.bytes += document.len();
            self.items.push(document);
        } else {
            meter.scanned_document(user_bytes(&document));
        }
        self.last = Some(number);
        self.is_full =
            self.scanned_rows >= SCANNED_ROWS_MAX || self.scanned_bytes >= SCANNED_BYTES_MAX;
    }
}
