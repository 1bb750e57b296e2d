//! One row for all documents: COUNT and other aggregates without GROUP BY. When a page takes too
//! long, its token carries the partial sums.

use std::time::Instant;

use partition::{
    keys::META_COUNTERS,
    rows::{Counters, KeyCounters},
};
use protocol::Error;
use sql::program::{Accumulator, Halt, Run, weight};
use value::{Value, json};

use crate::{
    execution::{
        ahead::{self, Ahead, Unit},
        expired,
        explain::Access,
        job::{Job, Part, halted},
        merge,
        ordered::{Order, SortKey},
        page::Page,
        token::{BYTES_MAX, Place, Position},
    },
    together,
};

/// Most bytes of rows that are sorted before they are aggregated.
const ORDERED_BYTES_MAX: usize = 64 << 20;

/// The memory of such a row apart from its values.
const ROW_BYTES: usize = 64;

/// Aggregates all documents from `start` on, beginning with the partial sums of earlier pages.
pub(crate) async fn run(
    job: &Job<'_>,
    page: &mut Page,
    start: Position,
    partials: &[u8],
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    let mut accumulators = restore(job, partials)?;
    let mut ahead = Ahead::documents(job, true);
    let groups: Vec<&[Part]> = merge::groups(&job.parts).collect();
    let mut rest = &groups[..];
    while !rest.is_empty() {
        // A late page may end after the first of them.
        let count = if job.is_late() { 1 } else { merge::GROUPS_AHEAD.min(rest.len()) };
        let (groups, later) = rest.split_at(count);
        rest = later;
        let counts = together::all(groups.iter().map(|group| count_group(job, group, start)));
        let counts = counts.await?;
        let uncounted = groups.iter().zip(&counts).filter(|(_, count)| count.is_none());
        let uncounted: Vec<&[Part]> = uncounted.map(|(group, _)| *group).collect();
        let mut readers = merge::readers(job, &uncounted, start.number).await?.into_iter();
        for count in counts {
            if let Some(count) = count {
                for accumulator in &mut accumulators {
                    accumulator.add_count(count);
                }
                continue;
            }
            let Some(mut readers) = readers.next() else { continue };
            ahead.reopen();
            while let Some((number, text)) = readers.next_of(job, &mut ahead, run).await? {
                add(job, &text, &mut accumulators, run)?;
                let now = Instant::now();
                if job.is_late_at(now)
                    && let Some(partials) = save(&accumulators)
                {
                    let position = Position { number: number + 1, row: 0 };
                    return Ok(Some(Place::Partial { position, partials }));
                }
                job.rest(now).await?;
            }
        }
    }
    finish(job, page, &accumulators, run).await.map(|()| None)
}

/// The aggregate row, as the input of an outer query.
pub(crate) async fn row(job: &Job<'_>, run: &mut Run<'_>) -> Result<Value, Error> {
    let mut accumulators = job.program.accumulators();
    job.documents(run, |_, text, run| add(job, text, &mut accumulators, run)).await?;
    attend(job, &accumulators, run).await?;
    job.program.project_group(&[], &accumulators, run).map_err(halted)
}

/// Aggregates the rows in ORDER BY order, which determines the order of list results. No row is
/// final before all are read, so the answer is one page.
pub(crate) async fn ordered(
    job: &Job<'_>,
    order: &Order,
    page: &mut Page,
    run: &mut Run<'_>,
) -> Result<(), Error> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    job.documents(run, |number, text, run| {
        let document = job.document(text)?;
        job.rows(&document, text.len(), run, &mut |row, run| {
            let values = order.bytes(&job.program.order_keys(row, run)?);
            let aggregated = job.program.aggregated(row, run)?;
            let more = values.len() + aggregated.iter().map(weight).sum::<usize>();
            bytes += more;
            if bytes > ORDERED_BYTES_MAX {
                return Err(Halt::OutOfMemory);
            }
            job.held().take(more + ROW_BYTES)?;
            rows.push((SortKey { values, number: order.number(number) }, aggregated));
            Ok(())
        })
    })
    .await?;
    // The sort is stable: rows of one document keep their order.
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let mut accumulators = job.program.accumulators();
    for (_, aggregated) in rows {
        job.program.accumulate_values(&mut accumulators, aggregated, run).map_err(halted)?;
    }
    finish(job, page, &accumulators, run).await
}

/// Runs the functions that SELECT calls on the aggregates.
async fn attend(
    job: &Job<'_>,
    accumulators: &[Accumulator],
    run: &mut Run<'_>,
) -> Result<(), Error> {
    let ahead = Ahead::in_memory(job.program, Some(&job.functions));
    ahead::attend(ahead, Unit::Group(&[], accumulators), run).await
}

async fn finish(
    job: &Job<'_>,
    page: &mut Page,
    accumulators: &[Accumulator],
    run: &mut Run<'_>,
) -> Result<(), Error> {
    attend(job, accumulators, run).await?;
    let row = job.program.project_group(&[], accumulators, run).map_err(halted)?;
    if !row.is_undefined() {
        page.offer(|| json::print(&row).into());
    }
    Ok(())
}

fn add(
    job: &Job<'_>,
    text: &bytes::Bytes,
    accumulators: &mut [Accumulator],
    run: &mut Run<'_>,
) -> Result<(), Error> {
    let document = job.document(text)?;
    job.rows(&document, text.len(), run, &mut |row, run| {
        job.program.accumulate(accumulators, row, run)
    })
}

/// Partial sums for a token; `None` if they do not fit.
fn save(accumulators: &[Accumulator]) -> Option<Vec<u8>> {
    let values: Vec<Value> = accumulators.iter().map(Accumulator::to_value).collect();
    let text = json::print(&Value::Array(values)).into_bytes();
    (text.len() <= BYTES_MAX).then_some(text)
}

fn restore(job: &Job<'_>, partials: &[u8]) -> Result<Vec<Accumulator>, Error> {
    if partials.is_empty() {
        return Ok(job.program.accumulators());
    }
    let states = json::parse(partials).ok();
    states
        .and_then(|states| job.program.restore(states.as_array()?))
        .ok_or_else(|| Error::bad_request("Invalid Continuation Token: its sums are damaged."))
}

/// Counts the matching documents of a group, if the count of each of its partitions is known and
/// none was counted before: partitions that share a slot are either all counted or all read.
async fn count_group(job: &Job<'_>, group: &[Part], start: Position) -> Result<Option<u64>, Error> {
    if start.number > group[0].reach(&job.figures).first() {
        return Ok(None);
    }
    let mut counts = Vec::with_capacity(group.len());
    for part in group {
        let Some(count) = count_without_documents(job, part).await? else { return Ok(None) };
        counts.push(count);
    }
    let is_filtered = job.program.shape().has_filter;
    let how = if is_filtered { Access::CountEntries } else { Access::Counters };
    for (part, count) in group.iter().zip(&counts) {
        job.recorder.note(part, how(*count));
    }
    Ok(Some(counts.iter().sum()))
}

/// Counts the matching documents if the query asks only for that and the index alone can tell.
async fn count_without_documents(job: &Job<'_>, part: &Part) -> Result<Option<u64>, Error> {
    if !job.program.shape().counts_all {
        return Ok(None);
    }
    let reach = part.reach(&job.figures);
    let is_whole_partition =
        part.slots == part.partition.range().slots && job.scope.is_whole_slots();
    if job.program.shape().has_filter {
        // Slots may hold other keys than the requested one.
        let is_scope_exact = job.scope.is_whole_slots() || job.is_only_key(part).await?;
        if !is_scope_exact || !part.node.is_exact() {
            return Ok(None);
        }
        let Some(expired) = expired::numbers(job, part).await? else { return Ok(None) };
        return part.node.count(&reach, &expired).await;
    }
    let Some(expired) = expired::numbers(job, part).await? else { return Ok(None) };
    if !expired.is_empty() && !is_whole_partition && !job.is_only_key(part).await? {
        return Ok(None);
    }
    let key = if is_whole_partition {
        bytes::Bytes::from_static(META_COUNTERS)
    } else if let Some(key) = job.scope.full_key(job.collection) {
        key.counters()
    } else {
        return Ok(None);
    };
    let rows = part.snapshot.get_many(&[key]).await.map_err(partition::errors::from_store)?;
    let Some(row) = rows.into_iter().next().flatten() else { return Ok(Some(0)) };
    let count = if is_whole_partition {
        Counters::decode(&row).map(|counters| counters.documents)
    } else {
        KeyCounters::decode(&row).map(|counters| counters.documents)
    };
    let counted = count.map_err(partition::errors::from_damaged)?;
    Ok(Some(counted.saturating_sub(expired.len() as u64)))
}
