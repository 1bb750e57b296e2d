//! Rows in the order of ORDER BY. All partitions are merged into one order, so the answer is the
//! same however many there are.
//!
//! The order is that of *sort bytes*: of each expression's value the bytes of an index entry, but
//! with strings whole, and with the hash of an array or an object; inverted if that expression
//! descends; then the document's number, inverted if the first expression descends. There are two implementations: [`walk`] follows an index that
//! already has the order, and [`sorted`] reads every document that can match and keeps the first
//! few. Both return the same rows in the same order, so one can continue a token of the other;
//! `choice` says which is cheaper.

mod absent;
mod choice;
mod containers;
mod sorted;
mod walk;
pub(crate) mod walked;

use protocol::{Error, rid::DocNum};
use sql::program::Run;
use value::{Value, distinct};

use crate::{
    execution::{
        ahead::{self, Ahead, Unit},
        job::{Job, Part},
        page::Page,
        token::{BYTES_MAX, Place, Position},
    },
    together,
};

/// The order of a query, and the index for it.
pub(crate) struct Order {
    /// Whether each expression descends.
    pub(crate) descends: Vec<bool>,
    /// The index that has this order; `None` if none has.
    pub(crate) index: Option<OrderIndex>,
}

/// An index to walk.
#[derive(Clone, Debug)]
pub(crate) enum OrderIndex {
    /// The index of one path.
    Path {
        path: index::Path,
        /// Whether documents without a value have an entry, too.
        has_absent: bool,
    },
    /// A composite index, by its id, with the paths of its members.
    Composite { id: u64, members: Vec<index::Path> },
}

/// A position in the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortKey {
    /// The expressions' values.
    pub(crate) values: Vec<u8>,
    /// The document's number in the form that is compared.
    pub(crate) number: u64,
}

/// Where a page begins: the document, and its first row not returned yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frontier {
    pub(crate) key: SortKey,
    pub(crate) row: u32,
}

impl Frontier {
    /// The first row of a document that was not returned yet.
    fn row_of(&self, key: &SortKey) -> u32 {
        match key.cmp(&self.key) {
            std::cmp::Ordering::Less => u32::MAX,
            std::cmp::Ordering::Equal => self.row,
            std::cmp::Ordering::Greater => 0,
        }
    }
}

impl Order {
    /// The sort bytes of values.
    pub(crate) fn bytes(&self, values: &[Value]) -> Vec<u8> {
        self.bytes_with(values, |value, out| {
            index::encode_whole(value, out);
            if matches!(value, Value::Array(_) | Value::Object(_)) {
                out.extend_from_slice(&distinct::hash(value));
            }
        })
    }

    /// The sort bytes of values that `encode` appends in ascending form.
    pub(crate) fn bytes_with<T>(&self, values: &[T], encode: impl Fn(&T, &mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        for (value, descends) in values.iter().zip(&self.descends) {
            let start = out.len();
            encode(value, &mut out);
            if *descends {
                invert(&mut out[start..]);
            }
        }
        out
    }

    /// Converts a document's number to the form that is compared, and back.
    pub(crate) fn number(&self, number: u64) -> u64 {
        if self.descends.first() == Some(&true) { !number } else { number }
    }
}

pub(crate) fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

/// Fills the page from `place` on, or from `resumed` if that comes later; returns where to
/// continue, if there is more.
pub(crate) async fn run(
    job: &Job<'_>,
    order: &Order,
    page: &mut Page,
    place: Place,
    resumed: Option<Frontier>,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    if page.is_over() {
        return Ok(None);
    }
    let frontier = frontier(job, order, place, run).await?.max(resumed.unwrap_or_default());
    let mut seen = job.seen();
    let wanted = page.wants() as f64;
    let lists = together::all(job.parts.iter().map(|part| list(job, part, wanted))).await?;
    if choice::is_walk(job, order, &lists, page) {
        let before = (page.skip, page.take);
        match walk::run(job, order, &lists, page, &frontier, seen.as_mut(), run).await? {
            walk::Ended::At(place) => return Ok(place),
            walk::Ended::Lost => {
                page.restart(before);
                seen = job.seen();
            }
        }
    }
    let narrowed = job.parts.iter().zip(lists).map(|(part, list)| narrowed(job, part, list));
    let lists = together::all(narrowed).await?;
    sorted::run(job, order, lists, page, &frontier, seen.as_mut(), run).await
}

/// The documents of a partition that can match, if listing them is cheaper than a walk for so many
/// rows; `None` if it is not.
async fn list(job: &Job<'_>, part: &Part, wanted: f64) -> Result<Option<Vec<DocNum>>, Error> {
    let reach = part.reach(&job.figures);
    // The walk already restricts itself to these ranges.
    let node = match &part.order {
        Some(walked) if !part.has_unindexed => walked.rest(&part.node),
        _ => part.node.clone(),
    };
    let (documents, all) = (part.documents as f64, part.partition_documents as f64);
    let unlisted = |matching: f64| {
        let walked = (wanted * all / matching).min(all);
        if part.order.is_some() { walked } else { documents }
    };
    node.list(&reach, part.documents, unlisted).await
}

/// The documents of a partition that can match, for a sort: ranges that a walk would have used
/// narrow it, too.
async fn narrowed(
    job: &Job<'_>,
    part: &Part,
    list: Option<Vec<DocNum>>,
) -> Result<Option<Vec<DocNum>>, Error> {
    let Some(walked) = &part.order else { return Ok(list) };
    let is_whole = part.has_unindexed || !walked.restricts(&part.node);
    if list.is_some() && is_whole {
        return Ok(list);
    }
    let reach = part.reach(&job.figures);
    let known = list.as_ref().map_or(part.documents as f64, |list| list.len() as f64);
    let narrowed = part.node.list(&reach, part.documents, |_| known).await?;
    Ok(narrowed.or(list))
}

/// The position in a token. A sort key too long for the token is computed again from its document.
async fn frontier(
    job: &Job<'_>,
    order: &Order,
    place: Place,
    run: &mut Run<'_>,
) -> Result<Frontier, Error> {
    let Place::Sorted { key: mut values, is_cut, position } = place else {
        return Ok(Frontier::default());
    };
    let mut row = position.row;
    if is_cut {
        let whole = sort_bytes_of(job, order, position.number, run).await?;
        match whole.filter(|whole| whole.starts_with(&values)) {
            Some(whole) => values = whole,
            // The document has changed or is gone: continue after the part of the key that is
            // known.
            None => row = 0,
        }
    }
    Ok(Frontier { key: SortKey { values, number: order.number(position.number) }, row })
}

/// The sort bytes of a document; `None` if it is gone.
async fn sort_bytes_of(
    job: &Job<'_>,
    order: &Order,
    number: u64,
    run: &mut Run<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(text) = job.load(number).await? else { return Ok(None) };
    ahead::attend(Ahead::documents(job, false), Unit::Document(text.clone()), run).await?;
    sort_bytes(job, order, &job.document(&text)?, run)
}

/// The sort bytes of a document; `None` if it has no row.
fn sort_bytes(
    job: &Job<'_>,
    order: &Order,
    document: &Value,
    run: &mut Run<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = None;
    // The expressions depend on the document only, so the first row is enough.
    job.rows_uncounted(document, run, &mut |row, run| {
        bytes = Some(order.bytes(&job.program.order_keys(row, run)?));
        Err(sql::program::Halt::Stopped)
    })?;
    Ok(bytes)
}

/// A position in the form for tokens.
fn place_at(order: &Order, key: &SortKey, row: u32) -> Place {
    let mut values = key.values.clone();
    let is_cut = values.len() > BYTES_MAX;
    values.truncate(BYTES_MAX);
    let position = Position { number: order.number(key.number), row };
    Place::Sorted { key: values, is_cut, position }
}
