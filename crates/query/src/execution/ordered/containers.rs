//! Arrays and objects in an order. The index only says that a document has one, so their entries
//! are read together, and sorted by their hashes.

use std::{collections::VecDeque, ops::Bound};

use protocol::{Error, rid::DocNum};
use store::{Direction, KeyRange, PageLimit};
use value::json::Wanted;

use crate::execution::{
    fetch,
    job::parse,
    ordered::{Order, SortKey},
    stream::{Reach, number_of},
};

/// Most documents that are sorted in this way. With more, the whole answer is sorted.
const DOCUMENTS_MAX: usize = 10_000;

/// Entries per read, and documents.
const PAGE_ENTRIES: usize = 512;
const PAGE_DOCUMENTS: usize = 32;

/// The documents in some ranges of entries, from `start` on, sorted; `None` if there are too many.
/// With `list`, only those in it.
pub(super) async fn sorted(
    reach: &Reach<'_>,
    ranges: Vec<KeyRange>,
    (order, path): (&Order, &index::Path),
    list: Option<&Vec<DocNum>>,
    start: &SortKey,
) -> Result<Option<Vec<SortKey>>, Error> {
    let mut keys = Vec::new();
    let mut ranges = VecDeque::from(ranges);
    while let Some((first, end)) = ranges.pop_front() {
        if reach.slots.is_empty() {
            break;
        }
        let limit = PageLimit { entries: PAGE_ENTRIES, bytes: 1 << 20 };
        let page = reach.scan((first, end.clone()), Direction::Forward, limit).await?;
        reach.note_index_entries(page.entries.len());
        let mut numbers: Vec<DocNum> =
            page.entries.iter().filter_map(|(key, _)| number_of(key)).collect();
        numbers.retain(|number| {
            let is_wanted = list.is_none_or(|list| list.binary_search(number).is_ok());
            reach.contains(*number) && is_wanted
        });
        for numbers in numbers.chunks(PAGE_DOCUMENTS) {
            for (number, row) in numbers.iter().zip(fetch::rows(reach, numbers).await?) {
                let Some(row) = row else { continue };
                let Some(text) = fetch::open(reach, &row)? else { continue };
                let values =
                    order.bytes(&[index::value_at(&parse(&text, &Wanted::All)?, &path.0).clone()]);
                let key = SortKey { values, number: order.number(*number) };
                if key >= *start {
                    keys.push(key);
                }
                if keys.len() > DOCUMENTS_MAX {
                    return Ok(None);
                }
            }
        }
        reach.figures.check_time()?;
        if let Some((last, _)) = page.entries.last().filter(|_| page.has_more) {
            ranges.push_front((Bound::Excluded(last.clone()), end));
        }
        reach.figures.turns.take().await;
    }
    keys.sort_unstable();
    Ok(Some(keys))
}

/// Whether the sort bytes of several values contain an array or an object.
pub(super) fn are_in(values: &[u8], order: &Order) -> bool {
    index::has_container(values, &order.descends)
}
