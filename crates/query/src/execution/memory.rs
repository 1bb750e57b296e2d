//! Queries over values in memory: the resources of the account, and the rows of an inner query.

use std::{collections::HashMap, sync::Arc};

use protocol::Error;
use sql::program::{Accumulator, Halt, Program, Row, Run, group_id, weight};
use value::{Value, json};

use crate::execution::{
    ahead::{self, Ahead, Unit},
    functions::Functions,
    job::halted,
    ordered::{Order, SortKey},
    page::{Offered, Page, Seen},
};
use crate::held::Held;

/// Most bytes of the rows and groups that a query keeps.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The resources that a program may use.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a> {
    /// Answers the calls of user-defined functions.
    pub(crate) functions: Option<&'a Functions<'a>>,
    /// The memory that the query holds.
    pub(crate) held: &'a Arc<Held>,
}

/// Every row of a program over these values, sorted, before TOP, OFFSET and LIMIT.
pub(crate) async fn rows(
    program: &Program,
    values: &[Value],
    order: Option<&Order>,
    host: Host<'_>,
    run: &mut Run<'_>,
) -> Result<Vec<Value>, Error> {
    let shape = program.shape();
    let table = Table { program, values, order, functions: host.functions, held: host.held };
    let mut rows = if shape.groups {
        table.grouped(run).await?
    } else if shape.is_aggregate {
        vec![table.collapsed(run).await?]
    } else {
        table.listed(run).await?
    };
    rows.retain(|row| !row.is_undefined());
    if !shape.is_distinct {
        return Ok(rows);
    }
    let mut seen = Seen::new(host.held);
    let mut kept = Vec::new();
    for row in rows {
        if seen.insert(&row)? {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// Rows to sort. Among equals, they come in the direction of the first key, as documents do.
struct Sorter<'a, T> {
    order: Option<&'a Order>,
    kept: Vec<(SortKey, T)>,
    bytes: usize,
    held: &'a Held,
}

/// The memory of a row apart from its key and value.
const ROW_BYTES: usize = 64;

impl<'a, T> Sorter<'a, T> {
    fn new(order: Option<&'a Order>, held: &'a Held) -> Self {
        Self { order, kept: Vec::new(), bytes: 0, held }
    }

    /// Adds a row of the value with this ordinal.
    fn push(&mut self, keys: &[Value], ordinal: usize, bytes: usize, row: T) -> Result<(), Halt> {
        let key = match self.order {
            None => SortKey::default(),
            Some(order) => {
                SortKey { values: order.bytes(keys), number: order.number(ordinal as u64) }
            }
        };
        let more = bytes + key.values.len();
        self.bytes += more;
        if self.bytes > KEPT_BYTES_MAX {
            return Err(Halt::OutOfMemory);
        }
        self.held.take(more + ROW_BYTES)?;
        self.kept.push((key, row));
        Ok(())
    }

    fn finish(mut self) -> impl Iterator<Item = T> {
        if self.order.is_some() {
            self.kept.sort_by(|a, b| a.0.cmp(&b.0));
        }
        self.kept.into_iter().map(|(_, row)| row)
    }
}

/// A program and the values that it runs over.
struct Table<'a> {
    program: &'a Program,
    values: &'a [Value],
    order: Option<&'a Order>,
    functions: Option<&'a Functions<'a>>,
    held: &'a Arc<Held>,
}

impl Table<'_> {
    /// Calls `each` with every row, and the ordinal of its value.
    async fn each(
        &self,
        run: &mut Run<'_>,
        mut each: impl FnMut(usize, &Row<'_>, &mut Run<'_>) -> Result<(), Halt> + Send,
    ) -> Result<(), Error> {
        let mut ahead = Ahead::in_memory(self.program, self.functions);
        let mut units =
            self.values.iter().enumerate().map(|(at, value)| ((at, value), Unit::Value(value)));
        while let Some((ordinal, value)) = ahead.next_of(&mut units, run).await? {
            let rows = self.program.rows(value, run, &mut |row, run| each(ordinal, row, run));
            rows.map_err(halted)?;
        }
        Ok(())
    }

    /// The value of each row.
    async fn listed(&self, run: &mut Run<'_>) -> Result<Vec<Value>, Error> {
        let mut sorter = Sorter::new(self.order, self.held);
        self.each(run, |ordinal, row, run| {
            let keys = self.program.order_keys(row, run)?;
            let projected = self.program.project(row, run)?;
            sorter.push(&keys, ordinal, weight(&projected), projected)
        })
        .await?;
        Ok(sorter.finish().collect())
    }

    /// One value for all rows.
    async fn collapsed(&self, run: &mut Run<'_>) -> Result<Value, Error> {
        let program = self.program;
        let mut accumulators = program.accumulators();
        let mut sorter = Sorter::new(self.order, self.held);
        self.each(run, |ordinal, row, run| {
            if self.order.is_none() {
                return program.accumulate(&mut accumulators, row, run);
            }
            let keys = program.order_keys(row, run)?;
            let aggregated = program.aggregated(row, run)?;
            sorter.push(&keys, ordinal, aggregated.iter().map(weight).sum(), aggregated)
        })
        .await?;
        for aggregated in sorter.finish() {
            program.accumulate_values(&mut accumulators, aggregated, run).map_err(halted)?;
        }
        let ahead = Ahead::in_memory(program, self.functions);
        ahead::attend(ahead, Unit::Group(&[], &accumulators), run).await?;
        program.project_group(&[], &accumulators, run).map_err(halted)
    }

    /// One value for each set of equal keys, in the order of their first rows.
    async fn grouped(&self, run: &mut Run<'_>) -> Result<Vec<Value>, Error> {
        let program = self.program;
        let mut groups: Vec<(Vec<Value>, usize, Vec<Accumulator>)> = Vec::new();
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut bytes = 0;
        let aggregates = program.accumulators().len();
        self.each(run, |ordinal, row, run| {
            let keys = program.group_keys(row, run)?;
            let id = group_id(&keys);
            let place = if let Some(place) = places.get(&id) {
                *place
            } else {
                let more = id.len()
                    + keys.iter().map(weight).sum::<usize>()
                    + aggregates * size_of::<Accumulator>();
                bytes += more;
                if bytes > KEPT_BYTES_MAX {
                    return Err(Halt::OutOfMemory);
                }
                self.held.take(more + ROW_BYTES)?;
                places.insert(id, groups.len());
                groups.push((keys, ordinal, program.accumulators()));
                groups.len() - 1
            };
            program.accumulate(&mut groups[place].2, row, run)
        })
        .await?;
        let mut sorter = Sorter::new(self.order, self.held);
        let mut ahead = Ahead::in_memory(program, self.functions);
        let mut units = groups.iter().map(|group| (group, Unit::Group(&group.0, &group.2)));
        while let Some((keys, ordinal, accumulators)) = ahead.next_of(&mut units, run).await? {
            let order_keys = program.group_order_keys(keys, accumulators, run).map_err(halted)?;
            let row = program.project_group(keys, accumulators, run).map_err(halted)?;
            sorter.push(&order_keys, *ordinal, weight(&row), row).map_err(halted)?;
        }
        Ok(sorter.finish().collect())
    }
}

/// Puts rows into a page, beginning with the row at `from`; returns where to continue, if there is
/// more.
pub(crate) fn fill(page: &mut Page, rows: &[Value], from: u64) -> Option<u64> {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    for (at, row) in rows.iter().enumerate().skip(from) {
        match page.offer(|| json::print(row).into()) {
            Offered::Accepted => {}
            Offered::Over => return None,
            Offered::Full => return Some(at as u64),
        }
    }
    None
}
