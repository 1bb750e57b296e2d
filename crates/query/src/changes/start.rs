//! Where a reader of the change feed begins.

use std::ops::Bound;

use catalog::{
    area::Area,
    range::{PARENTS_MAX, Range},
};
use partition::{
    errors,
    keys::{self, SLOT_COUNT, u64_at},
    position::Position,
    rows::{Damaged, SLACK_S, feed_time},
};
use protocol::{Error, Options, etag::strip_quotes, request::ChangeMode};
use store::{Direction, PageLimit};

use crate::{readable::PartitionView, served::Served, together::Waits};

/// Where a reader begins.
pub(super) enum Start {
    /// Behind what is there.
    Now,
    /// Where an earlier page ended, or at the beginning.
    At(Position),
}

impl Start {
    /// What the headers say. `is_kept` says whether the collection keeps all versions.
    pub(super) fn of(
        collection: &Served,
        mode: ChangeMode,
        is_kept: bool,
        options: &Options,
    ) -> Result<Self, Error> {
        if mode == ChangeMode::All && !is_kept {
            return Err(Error::bad_request(
                "The change feed of all versions and deletes is not kept for this collection: set \
                 the retention of its change feed policy.",
            ));
        }
        match options.if_none_match.as_deref() {
            Some("*") => Ok(Self::Now),
            Some(etag) => {
                let text = strip_quotes(etag.trim());
                let position = Position::parse(text, &collection.rid.bytes());
                position.map(Self::At).ok_or_else(|| {
                    Error::bad_request(
                        "The change feed position in the header 'If-None-Match' is damaged or \
                         belongs to another collection.",
                    )
                })
            }
            None if mode == ChangeMode::All => Err(Error::bad_request(
                "The change feed of all versions and deletes must start from now or from a \
                 position, not from the beginning or a point in time. You must read the change feed \
                 from within the retention period.",
            )),
            None => Ok(Self::At(Position::at(0))),
        }
    }
}

/// A position that no page of this collection ended at.
pub(super) fn ahead() -> Error {
    Error::bad_request(
        "The change feed position in the header 'If-None-Match' is ahead of the collection: it \
         belongs to another one.",
    )
}

/// Refuses a position that the history does not reach back to.
pub(super) fn check_history(history: &Position, pieces: &[(Area, u64)]) -> Result<(), Error> {
    let is_gone = |(area, position): &(Area, u64)| {
        history.within(area).iter().any(|(_, kept)| kept > position)
    };
    if pieces.iter().any(is_gone) {
        return Err(Error::bad_request(
            "The change feed position in the header 'If-None-Match' is older than the retention of \
             all versions and deletes. You must read the change feed from within the retention \
             period: start again, from now.",
        ));
    }
    Ok(())
}

/// Where to look for times.
pub(super) struct Look<'a> {
    pub(super) view: &'a PartitionView,
    /// Whether the store has to be waited for.
    pub(super) waits: &'a Waits,
}

/// An LSN from `after` on such that nothing behind `after` and up to it was written later than this
/// second.
///
/// LSNs and times rise together, nearly, so a few looks find it. Where the clock was set back or
/// partitions were merged they do not, and what is older than that is read from its beginning.
pub(super) async fn of_time(
    collection: &Served,
    range: &Range,
    rows: Look<'_>,
    since: u64,
    after: u64,
) -> Result<u64, Error> {
    let (view, last) = (rows.view, rows.view.lsn);
    // They may know of more than the rows do, never of less.
    let times = view.counters.times;
    let is_in_order = match times.step {
        0 => is_in_order_of_time(collection, range),
        _ => times.before <= since,
    };
    if !is_in_order {
        return Ok(after);
    }
    let (mut low, mut high) = (after.max(times.step.saturating_sub(1).min(last)), last);
    // A reader that is on its way has passed all that is older.
    if low < high && !is_before(rows.first_behind(low).await?, high, since) {
        return Ok(low);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match rows.first_behind(middle).await? {
            Some((lsn, time)) if is_before(Some((lsn, time)), high, since) => low = lsn,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Whether an entry is none that is asked for, nor any before it.
fn is_before(entry: Option<(u64, u64)>, last: u64, since: u64) -> bool {
    entry.is_some_and(|(lsn, time)| lsn <= last && time.saturating_add(SLACK_S) <= since)
}

/// Whether the partition was never merged with another: each range that it came from held all of
/// its keys. Builds that did not keep times did not note it otherwise.
fn is_in_order_of_time(collection: &Served, range: &Range) -> bool {
    let held_all = |parent: &u32| {
        let past = collection.past.iter().find(|(id, _)| id == parent);
        past.is_some_and(|(_, area)| area.covers(&range.area))
    };
    range.parents.len() < PARENTS_MAX && range.parents.iter().all(held_all)
}

impl Look<'_> {
    /// The LSN and time of the first entry behind an LSN.
    async fn first_behind(&self, lsn: u64) -> Result<Option<(u64, u64)>, Error> {
        let end = keys::feed(u64::MAX, u64::from(SLOT_COUNT) << keys::SEQUENCE_BITS);
        let range = (Bound::Included(keys::feed(lsn + 1, 0)), Bound::Included(end));
        let limit = PageLimit { entries: 1, bytes: 1 };
        let page = self.view.snapshot.scan(range, Direction::Forward, limit);
        let page = self.waits.on(page).await.map_err(errors::from_store)?;
        let Some((key, row)) = page.entries.first() else { return Ok(None) };
        let entry = u64_at(key, 1).zip(feed_time(row));
        entry.map(Some).ok_or_else(|| errors::from_damaged(Damaged("F")))
    }
}
