//! Feeds: pages of resources, and where to go on.

mod coming;

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use bytes::Bytes;
use partition::{
    budget::{self, Asked, Kind, Tickets},
    charge::Meter,
    keys::Creation,
    text::user_bytes,
};
use protocol::{
    Error, Meta, Options, PartitionPoint, Response,
    continuation::{self, Feed},
    limits::PAGE_BYTES_MAX,
    request::CollectionPath,
    response::FeedKind,
};

use crate::{
    execution::{
        self,
        continuation::unwrapped,
        created::Created,
        documents,
        explain::Recorder,
        figures::Figures,
        job::Part,
        merge::Merge,
        stream::Reach,
        stretch::{Piece, Sequence, Stretch, stretches},
        token::{Place, Position, Token},
        turns::Turns,
    },
    feeds::coming::{Begun, Coming, Shelf},
    paging::{Page, invalid_token, page_items},
    readable::{PartitionView, Readable},
    reading::Reading,
    scope::{Origin, Scope},
    served::{Served, View},
    sessions::check_session,
    together::{self, Waits},
};

/// Rows and bytes that one request may look at without filling its page. A feed of one key in a
/// full slot goes on in the next page; this one may be empty.
const SCANNED_ROWS_MAX: usize = 10_000;
const SCANNED_BYTES_MAX: usize = 16 << 20;

/// The feed of a collection's documents, partition after partition. A page is of one of them.
pub async fn documents(
    reading: &Reading,
    view: &View,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = view.intended(path, options)?;
    let asked_for = Scope::of(&collection, options)?;
    let (place, origin) = begin(&collection, &asked_for, options)?;
    let Some(scope) = asked_for.continued(&collection, &origin, false)? else {
        let meta = Meta { owner: Some(collection.owner()), ..Meta::default() };
        meter.lookup();
        return Ok(Page::default().answer(collection.rid.to_string(), FeedKind::Documents, meta));
    };
    let partitions: Vec<_> = scope.partitions(&collection).collect();
    let pieces = pieces(&scope, &partitions);
    let stretches = stretches(&pieces, &place);
    let mut reader = Reader::new(reading, &collection, &scope, page_items(options));
    let mut points = Vec::new();
    let asked = Asked::new(Kind::Feed, path, [&[], &[]], options, meter);
    let mut entered = Entered::default();
    let shelves: Vec<OnceLock<Box<Shelf>>> = stretches.iter().map(|_| OnceLock::new()).collect();
    let mut coming = Coming::new(&stretches, (&pieces, &partitions), &shelves);
    let mut next = None;
    for (at, stretch) in stretches.iter().enumerate().filter(|(_, stretch)| !stretch.is_done()) {
        let group: Vec<_> = stretch.members.iter().map(|(at, _)| partitions[*at]).collect();
        let begun = coming.next(at, &reader).await?;
        for (partition, lsn) in group.iter().zip(begun.lsns()) {
            check_session(reading, &collection, (partition.range(), lsn), options)?;
        }
        entered.settle(reading, meter);
        let budgets = group.iter().map(|partition| partition.budget());
        match budget::admit_all(reading.now_s(), &asked, budgets) {
            Ok(tickets) => entered.tickets = Some(tickets),
            Err(error) if next.is_none() => return Err(error),
            // What was read is a page: the next one begins with this partition.
            Err(_) => break,
        }
        let (end, read) = reader.read(stretch, (group, begun), meter).await?;
        entered.work = read.iter().map(|(_, work)| *work).collect();
        points.extend(read.into_iter().map(|(point, _)| point));
        let is_last = at + 1 == stretches.len();
        next = match end {
            Some(position) => Some(stretch.place(position)),
            None => (!is_last).then(|| stretch.behind()),
        };
        if end.is_some() || !reader.items.is_empty() {
            break;
        }
    }
    if reader.items.is_empty() {
        meter.lookup();
    }
    entered.settle(reading, meter);
    note_key(reading, &collection, &scope, meter);
    let continuation = next.map(|place| {
        let token = Token { origin: scope.origin(&collection), place, ..Token::default() };
        token.encode(&identity(&collection))
    });
    let page = Page { items: reader.items, continuation };
    let partitions = Scope::points(&collection, options, points).await?;
    let meta = Meta { partitions, owner: Some(collection.owner()), ..Meta::default() };
    Ok(page.answer(collection.rid.to_string(), FeedKind::Documents, meta))
}

/// What one key costs its partition.
fn note_key(reading: &Reading, collection: &Served, scope: &Scope, meter: &Meter) {
    if let Some(key) = scope.full_key(collection)
        && let Some(partition) = scope.partitions(collection).next().and_then(|it| it.here())
    {
        partition.hot.note(key.as_bytes(), meter.total(), reading.clock.now_millis());
    }
}

fn pieces(scope: &Scope, partitions: &[&Arc<dyn Readable>]) -> Vec<Piece> {
    let piece = |partition: &&Arc<dyn Readable>| Piece {
        slots: scope.slots_in(partition.range()),
        documents: partition.counters().documents,
    };
    partitions.iter().map(piece).collect()
}

/// Tells the documents of a collection from every other feed and query.
fn identity(collection: &Served) -> Vec<u8> {
    [b"documents", &collection.numbering()[..]].concat()
}

/// Where a page of documents begins, and what the one before was asked of.
fn begin(collection: &Served, scope: &Scope, options: &Options) -> Result<(Place, Origin), Error> {
    let Some(text) = &options.continuation else {
        return Ok((Place::default(), scope.origin(collection)));
    };
    let text = unwrapped(text);
    // Earlier builds gave the number of the last document, and nothing else.
    let earlier = continuation::decode(Feed::Documents, &collection.numbering(), &text);
    if let Some(last) = earlier {
        let position = Position { number: last.saturating_add(1), row: 0 };
        return Ok((Place::Row(position), scope.origin(collection)));
    }
    match Token::decode(&text, &identity(collection)) {
        Ok(Token { place, origin, .. }) => Ok((place, origin)),
        Err(_) => Err(invalid_token()),
    }
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
    fn settle(&mut self, reading: &Reading, meter: &Meter) {
        if let Some(tickets) = self.tickets.take() {
            tickets.settle(reading.now_s(), meter.total() - self.settled, &self.work);
        }
        self.settled = meter.total();
    }
}

/// Fills one page.
struct Reader<'a> {
    collection: &'a Served,
    scope: &'a Scope,
    /// The second that the page is of, and when it must be done.
    now: u64,
    timeout: Instant,
    limit: usize,
    items: Vec<Bytes>,
    bytes: usize,
    scanned_rows: usize,
    scanned_bytes: usize,
    /// Whether the store has to be waited for.
    waits: Waits,
}

impl<'a> Reader<'a> {
    fn new(reading: &Reading, collection: &'a Served, scope: &'a Scope, limit: usize) -> Self {
        Self {
            collection,
            scope,
            now: reading.clock.now_seconds(),
            timeout: Instant::now() + reading.rules.query_timeout,
            limit,
            items: Vec::new(),
            bytes: 0,
            scanned_rows: 0,
            scanned_bytes: 0,
            waits: Waits::default(),
        }
    }

    /// Opens the partitions of a stretch.
    async fn shelf(
        &self,
        group: impl Iterator<Item = (&Arc<dyn Readable>, PartitionView)>,
    ) -> Result<Shelf, Error> {
        let parts = group.map(|partition| {
            execution::unfiltered(self.collection, self.scope, partition, self.now)
        });
        let parts = self.waits.on(together::all(parts)).await?;
        Ok(Shelf { parts, figures: Figures::until(self.timeout, &Arc::default()) })
    }

    /// Reads the partitions of a stretch as one. Says where the next page begins if this one ends
    /// before they do, and how much was read in each.
    async fn read(
        &mut self,
        stretch: &Stretch,
        (group, begun): (Vec<&Arc<dyn Readable>>, Begun<'_>),
        meter: &mut Meter,
    ) -> Result<(Option<Position>, Vec<(PartitionPoint, u64)>), Error> {
        let opened;
        let (shelf, mut documents) = match begun {
            Begun::Ahead(shelf, documents) => (shelf, documents),
            Begun::Now(views) => {
                opened = self.shelf(group.into_iter().zip(views)).await?;
                (&opened, Documents::new(stretch, opened.members(stretch)).await?)
            }
        };
        let turns = Turns::default();
        let mut end = None;
        while end.is_none()
            && let Some((number, document)) = documents.next(self.wants()).await?
        {
            end = self.take(number, document, meter);
            turns.take().await;
        }
        self.waits.absorb(shelf.figures.waits());
        Ok((end.map(|number| Position { number, row: 0 }), shelf.work()))
    }

    /// Documents that the page still has room for.
    fn wants(&self) -> usize {
        self.limit.saturating_sub(self.items.len())
    }

    /// Looks at one document. Says where the next page begins if this one ends here: whether there
    /// is more is for that one to find out.
    fn take(&mut self, number: u64, document: Bytes, meter: &mut Meter) -> Option<u64> {
        self.scanned_rows += 1;
        self.scanned_bytes += document.len();
        if self.scope.admits_text(self.collection, &document) {
            if self.bytes + document.len() > PAGE_BYTES_MAX && !self.items.is_empty() {
                return Some(number);
            }
            meter.feed_document(user_bytes(document.len()));
            self.bytes += document.len();
            self.items.push(document);
        } else {
            meter.scanned_document(user_bytes(document.len()));
        }
        let is_full = self.items.len() >= self.limit
            || self.scanned_rows >= SCANNED_ROWS_MAX
            || self.scanned_bytes >= SCANNED_BYTES_MAX;
        is_full.then_some(number + 1)
    }
}

/// The documents of a stretch, with what the numbers of its positions mean.
enum Documents<'a> {
    Number { lanes: Vec<(documents::Documents, Reach<'a>)>, merge: Merge },
    Creation(Created<'a>),
}

impl<'a> Documents<'a> {
    async fn new(stretch: &Stretch, members: Vec<(&'a Part, Reach<'a>)>) -> Result<Self, Error> {
        let first = stretch.start.number;
        if stretch.sequence == Sequence::Creation {
            let documents = Created::new(members, Creation(first), &Recorder::default()).await?;
            return Ok(Self::Creation(documents));
        }
        let merge = Merge::new(members.iter().map(|(_, reach)| &reach.slots), first);
        let streams = members.iter().map(|(part, reach)| part.node.quick_stream(reach));
        let streams = together::all(streams).await?;
        let lane = |((_, reach), stream)| (documents::Documents::new(stream, first), reach);
        let lanes = members.into_iter().zip(streams).map(lane).collect();
        Ok(Self::Number { lanes, merge })
    }

    /// Reads the first ones before the page comes to them.
    async fn read_ahead(&mut self, wants: usize) -> Result<(), Error> {
        match self {
            Self::Creation(documents) => documents.read_ahead(wants).await.map(drop),
            Self::Number { lanes, merge } => {
                let Some(at) = merge.wanting() else { return Ok(()) };
                let (documents, reach) = &mut lanes[at];
                documents.read_ahead(reach, wants).await
            }
        }
    }

    /// The next one, for a page that still wants so many.
    async fn next(&mut self, wants: usize) -> Result<Option<(u64, Bytes)>, Error> {
        match self {
            Self::Creation(documents) => {
                let next = documents.next(wants).await?;
                Ok(next.map(|(creation, document)| (creation.0, document)))
            }
            Self::Number { lanes, merge } => {
                while let Some(at) = merge.wanting() {
                    let (documents, reach) = &mut lanes[at];
                    let document = documents.next(reach, wants).await?;
                    merge.put(at, document);
                }
                Ok(merge.take())
            }
        }
    }
}
