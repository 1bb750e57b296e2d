//! The change feed: what was written to a collection, in the order of its transactions.
//!
//! Every partition orders its transactions by LSN, and each document has one `F` row, under the LSN
//! of its latest version. Reading on is a scan from the LSN that the reader has seen.
//!
//! - `start`: where a reader begins, `position`: where it was,
//! - `coming`: the partitions that are next, `reader`: a page at work, `rows`: transactions in their order, `item`: what is given of each.
//!
//! Where a collection's policy asks for all versions and deletes, each change has an `H` row beside,
//! with the document before and behind it, and readers of that feed scan those.

mod coming;
mod item;
mod reader;
mod rows;
mod start;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use catalog::Collection;
use partition::{
    budget::{self, Asked, Kind},
    charge::Meter,
    position::Position,
};
use protocol::{
    Body, Error, Meta, Options, Outcome, PartitionPoint, Response,
    request::{ChangeMode, CollectionPath},
    response::FeedKind,
};

use crate::{
    changes::{
        coming::Coming,
        reader::{Reader, Wanted},
        start::Start,
    },
    paging::page_items,
    readable::{PartitionView, Readable},
    reading::Reading,
    scope::Scope,
    served::{Served, View},
    sessions::check_session,
    together,
};

/// For how long a collection keeps all versions: as its own policy says, or else as the operator
/// does. `None` if it does not keep them.
pub fn retention(reading: &Reading, collection: &Collection) -> Option<Duration> {
    let own = collection.definition.history_minutes;
    let own = own.map(|minutes| Duration::from_secs(u64::from(minutes) * 60));
    own.or(reading.rules.all_versions_retention)
}

/// A page of the change feed, or "not modified" when there is nothing new: its etag is the position
/// to go on from, in either case.
///
/// A page is empty only if its time was up before anything was found: it says that there is more,
/// and its etag is behind what was looked at. A 304 would make readers wait for news that are there.
pub async fn page(
    reading: &Reading,
    view: &View,
    path: &CollectionPath,
    mode: ChangeMode,
    since: Option<u64>,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = view.intended(path, options)?;
    let scope = Scope::of(&collection, options)?;
    let now = reading.clock.now_seconds();
    let is_kept = retention(reading, &collection).is_some();
    let start = Start::of(&collection, mode, is_kept, options)?;
    let etag = options.if_none_match.as_deref().unwrap_or_default().as_bytes();
    let asked = Asked::new(Kind::Feed, path, [etag, &[]], options, meter);
    let feed = Feed { reading, collection: &collection, scope: &scope, options, asked };
    let page = match start {
        Start::Now => feed.now(meter).await?,
        Start::At(position) => {
            let (collection, scope, limit) = (&*collection, &scope, page_items(options));
            let until = Instant::now() + reading.rules.page_time;
            let wanted = Wanted { collection, scope, mode, since, now, until, limit };
            feed.read(position, Reader::new(wanted), meter).await?
        }
    };
    let is_news = page.has_more || !page.items.is_empty();
    let outcome = if is_news { Outcome::Ok } else { Outcome::NotModified };
    // Without news it has no items, which the answer says as well.
    let (owner_rid, kind) = (collection.rid.to_string(), FeedKind::Documents);
    let body = Body::Feed { owner_rid, kind, items: page.items };
    let etag = page.position.to_text(&scope.place(), &collection.rid.bytes());
    let meta = Meta { partitions: page.points, owner: Some(collection.owner()), ..Meta::default() };
    Ok(Response { outcome, body, etag: Some(etag), continuation: None, meta })
}

/// A request, as far as it is understood.
struct Feed<'a> {
    reading: &'a Reading,
    collection: &'a Served,
    scope: &'a Scope,
    options: &'a Options,
    asked: Asked<'a>,
}

/// What it is answered with.
struct Page {
    items: Vec<Bytes>,
    /// More is known to be there.
    has_more: bool,
    position: Position,
    points: Vec<PartitionPoint>,
}

impl Feed<'_> {
    /// The position behind what is there.
    async fn now(&self, meter: &mut Meter) -> Result<Page, Error> {
        let Self { reading, collection, scope, options, asked } = self;
        let partitions = || scope.partitions(collection);
        let tickets = budget::admit_all(
            reading.now_s(),
            asked,
            partitions().map(|partition| partition.budget()),
        )?;
        let mut position = Position::at(0);
        let mut points = Vec::new();
        let views = together::all(partitions().map(|partition| partition.view())).await?;
        for (partition, PartitionView { lsn, .. }) in partitions().zip(views) {
            check_session(reading, collection, (partition.range(), lsn), options)?;
            position.advance(&partition.range().area, lsn);
            points.push(partition.point(lsn));
        }
        meter.lookup();
        tickets.settle(reading.now_s(), meter.total(), &[]);
        Ok(Page { items: Vec::new(), has_more: false, position, points })
    }

    /// Reads on from a position, partition after partition, until the page is full.
    async fn read(
        &self,
        mut position: Position,
        mut reader: Reader<'_>,
        meter: &mut Meter,
    ) -> Result<Page, Error> {
        let Self { reading, collection, scope, options, asked } = self;
        let mut partitions: Vec<&Arc<dyn Readable>> = scope.partitions(collection).collect();
        let turn = partitions.partition_point(|it| it.range().area.start.slot < position.turn);
        if turn < partitions.len() {
            partitions.rotate_left(turn);
        }
        let mut coming = Coming::new(&partitions);
        let mut points = Vec::new();
        let mut has_more = false;
        let mut settled = 0.0;
        for (at, partition) in partitions.iter().enumerate() {
            let begun = coming.next(at, &reader, &position).await?;
            check_session(reading, collection, (partition.range(), begun.view.lsn), options)?;
            let tickets = match budget::admit_all(
                reading.now_s(),
                asked,
                std::iter::once(partition.budget()),
            ) {
                Ok(tickets) => tickets,
                // What was read is a page.
                Err(_) if !reader.items.is_empty() => {
                    has_more = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            let read = reader.read(&***partition, begun, &position, meter).await?;
            position.advance(&partition.range().area, read.position);
            points.push(partition.point(read.lsn));
            has_more = read.position < read.lsn || reader.is_full() && at + 1 < partitions.len();
            if reader.items.is_empty() && !has_more && at + 1 == partitions.len() {
                meter.lookup();
            }
            tickets.settle(reading.now_s(), meter.total() - settled, &[read.work]);
            settled = meter.total();
            if has_more {
                let next = partitions[(at + 1) % partitions.len()];
                position.turn = next.range().area.start.slot;
                break;
            }
        }
        self.note_key(meter);
        Ok(Page { items: reader.items, has_more, position, points })
    }

    /// What one key costs its partition.
    fn note_key(&self, meter: &Meter) {
        let Self { reading, collection, scope, .. } = self;
        if let Some(key) = scope.full_key(collection)
            && let Some(partition) = scope.partitions(collection).next().and_then(|it| it.here())
        {
            partition.hot.note(key.as_bytes(), meter.total(), reading.clock.now_millis());
        }
    }
}
