//! One row per group. A group is complete only after all documents were read, so every page
//! recomputes the groups and continues after the last one returned. Groups come in the order of
//! their first rows, or in that of ORDER BY.

use std::collections::{HashMap, hash_map::Entry};

use protocol::Error;
use sql::program::{Accumulator, Halt, Run, weight};
use value::{Value, json, key};

use crate::execution::{
    ahead::{Ahead, Unit},
    job::{Job, halted},
    ordered::Order,
    page::{Offered, Page},
    token::{Place, Position},
};

/// Most bytes of the keys of all groups.
const KEY_BYTES_MAX: usize = 64 << 20;

/// The memory of a group apart from its sums, hash table included.
const GROUP_BYTES: usize = 200;

struct Group {
    first: Position,
    keys: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

impl Group {
    fn unit(&self) -> Unit<'_> {
        Unit::Group(&self.keys, &self.accumulators)
    }
}

/// Fills the page with the groups from `place` on.
pub(crate) async fn run(
    job: &Job<'_>,
    order: Option<&Order>,
    page: &mut Page,
    place: &Place,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    if page.is_over() {
        return Ok(None);
    }
    let mut groups = collect(job, run).await?;
    match order {
        None => groups.sort_unstable_by_key(|group| group.first),
        Some(order) => sort(job, order, &mut groups, run)?,
    }
    let mut seen = job.seen();
    let mut ahead = Ahead::in_memory(job.program, Some(&job.functions));
    let mut units = groups.iter().enumerate().map(|(at, group)| ((at, group), group.unit()));
    while let Some((ordinal, group)) = ahead.next_of(&mut units, run).await? {
        let is_returned = match (place, order) {
            (Place::Row(start), None) => group.first < *start,
            (Place::Ordinal(start), _) => (ordinal as u64) < *start,
            _ => false,
        };
        let row = job.program.project_group(&group.keys, &group.accumulators, run);
        let row = row.map_err(halted)?;
        if row.is_undefined() {
            continue;
        }
        if let Some(seen) = &mut seen
            && !seen.insert(&row)?
        {
            continue;
        }
        if is_returned {
            continue;
        }
        match page.offer(|| json::print(&row).into()) {
            Offered::Accepted if !page.is_over() => {}
            Offered::Accepted | Offered::Over => return Ok(None),
            Offered::Full => {
                return Ok(Some(match order {
                    None => Place::Row(group.first),
                    Some(_) => Place::Ordinal(ordinal as u64),
                }));
            }
        }
        job.figures.turns.take().await;
    }
    Ok(None)
}

async fn collect(job: &Job<'_>, run: &mut Run<'_>) -> Result<Vec<Group>, Error> {
    let mut groups: HashMap<Vec<u8>, Group> = HashMap::new();
    let mut bytes = 0;
    let aggregates = job.program.accumulators().len();
    job.documents(run, |number, text, run| {
        let document = job.document(text)?;
        let mut row_index = 0;
        job.rows(&document, text.len(), run, &mut |row, run| {
            let first = Position { number, row: row_index };
            row_index += 1;
            let keys = job.program.group_keys(row, run)?;
            let group = match groups.entry(encode(&keys)) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let more =
                        2 * entry.key().len() + GROUP_BYTES + aggregates * size_of::<Accumulator>();
                    keep(job, &mut bytes, more)?;
                    let accumulators = job.program.accumulators();
                    entry.insert(Group { first, keys, accumulators })
                }
            };
            job.program.accumulate(&mut group.accumulators, row, run)
        })
    })
    .await?;
    Ok(groups.into_values().collect())
}

/// The rows of all groups, in the order of their first rows, as the input of an outer query.
pub(crate) async fn rows(job: &Job<'_>, run: &mut Run<'_>) -> Result<Vec<Value>, Error> {
    let mut groups = collect(job, run).await?;
    groups.sort_unstable_by_key(|group| group.first);
    let (mut rows, mut bytes) = (Vec::with_capacity(groups.len()), 0);
    let mut ahead = Ahead::in_memory(job.program, Some(&job.functions));
    let mut units = groups.iter().map(|group| (group, group.unit()));
    while let Some(group) = ahead.next_of(&mut units, run).await? {
        let row = job.program.project_group(&group.keys, &group.accumulators, run);
        let row = row.map_err(halted)?;
        keep(job, &mut bytes, weight(&row)).map_err(halted)?;
        rows.push(row);
    }
    Ok(rows)
}

/// Reserves memory for bytes to be kept.
fn keep(job: &Job<'_>, bytes: &mut usize, more: usize) -> Result<(), Halt> {
    *bytes += more;
    if *bytes > KEY_BYTES_MAX {
        return Err(Halt::OutOfMemory);
    }
    job.held().take(more)
}

fn encode(keys: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in keys {
        key::encode(value, &mut bytes);
    }
    bytes
}

fn sort(
    job: &Job<'_>,
    order: &Order,
    groups: &mut Vec<Group>,
    run: &mut Run<'_>,
) -> Result<(), Error> {
    let (mut keyed, mut held) = (Vec::with_capacity(groups.len()), 0);
    for group in groups.drain(..) {
        let values = job.program.group_order_keys(&group.keys, &group.accumulators, run);
        let bytes = order.bytes(&values.map_err(halted)?);
        keep(job, &mut held, bytes.len()).map_err(halted)?;
        keyed.push((bytes, group));
    }
    // Among equals, groups come in the direction of the first key by their first documents; rows of
    // one document keep their order.
    let place = |group: &Group| (order.number(group.first.number), group.first.row);
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| place(&a.1).cmp(&place(&b.1))));
    groups.extend(keyed.into_iter().map(|(_, group)| group));
    Ok(())
}
