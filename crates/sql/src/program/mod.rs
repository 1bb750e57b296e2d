//! Queries compiled for running document by document. A [`Program`] owns all it needs and can be
//! shared; a [`Run`] is one execution of it, with its bounds; whoever runs it does the clauses
//! that look beyond a document, as its [`Shape`] says.
//!
//! In reading order:
//! - `binder`, `refusal`: names, functions, aggregates and clauses are checked, with the errors of
//!   the service,
//! - `keys`: the expressions of GROUP BY, to be found again,
//! - `compile`, `lower`, `names`, `parameters`: from the tree to `node`, the compiled form,
//! - `run`: what an execution knows, and what ends it; `answers`: functions that answer later,
//! - `select`, `frame`: rows as nested loops over a stack of frames,
//! - `evaluate`, `operators`, `like`: the value of an expression,
//! - `aggregate`: COUNT and its kin, as state that grows row by row,
//! - `shape`, `slow`, `computed`: the outline of a program; computed properties,
//! - `needs`: the members of a document that it looks at,
//! - `walk`: the parts of a tree.
//!
//! Recursion follows the tree, whose height the parser bounds.

mod aggregate;
mod answers;
mod binder;
mod compile;
mod computed;
mod evaluate;
mod expression;
mod frame;
mod keys;
mod like;
mod lower;
mod names;
mod needs;
mod node;
mod operators;
mod parameters;
mod refusal;
mod run;
mod select;
mod shape;
mod slow;
mod vector;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use value::{Object, Value, json::Wanted};

pub use aggregate::{Accumulator, Aggregate};
pub use answers::{Answers, Question};
pub use computed::{Computed, check_computed, check_computed_all};
pub use expression::{Expression, evaluate};
pub use frame::Row;
pub use node::PathStep;
pub use run::{Halt, MoreBytes, Run, Udfs, weight};
pub use shape::{OrderKey, Shape};
pub use slow::is_slow;
pub(crate) use walk::{aggregate_of, alias_of, has_aggregate, property_names, root_of};

use crate::Query;
use crate::error::Error;
use node::{Node, Select};
use select::group_value;
pub(crate) use vector::check_options as check_vector_options;

/// The most joins of one FROM: the documented limit.
pub const JOINS_MAX: usize = 10;

/// The most calls of user-defined functions in a query, unless the account allows more.
pub const UDFS_MAX: usize = 10;

/// The settings for compiling a query.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The parameters of the request: names, with their `@`, and values.
    pub parameters: &'a [(String, Value)],
    /// The computed properties of the collection.
    pub computed: &'a [Computed],
    /// The most calls of user-defined functions.
    pub udfs_max: usize,
    /// Whether there is a user-defined function of that name; without, all names will do.
    pub has_udf: Option<&'a (dyn Fn(&str) -> bool + Sync)>,
    /// Whether shapes lie in a plane instead of on the Earth.
    pub is_planar: bool,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            parameters: &[],
            computed: &[],
            udfs_max: UDFS_MAX,
            has_udf: None,
            is_planar: false,
        }
    }
}

impl<'a> Settings<'a> {
    /// The values of the parameters. The first of two of one name counts, as everywhere.
    fn parameters_by_name(&self) -> HashMap<&'a str, &'a Value> {
        self.parameters.iter().rev().map(|(name, value)| (name.as_str(), value)).collect()
    }
}

/// A query that is ready to run.
pub struct Program {
    select: Select,
    /// The keys of ORDER BY, for a row; for a group if there is GROUP BY.
    order: Vec<Node>,
    shape: Shape,
    /// Whether its values go to another program, which knows NaN and the infinities.
    is_inner: bool,
    needs: Wanted,
    constant_bytes: usize,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Program").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// Everything the service would say about a query that parses, in the order of the text.
pub fn check(query: &Query, settings: &Settings<'_>) -> Vec<Error> {
    binder::check(query, settings)
}

impl Program {
    /// Checks and compiles a query. The errors are those of the service, in the order of the text.
    pub fn compile(query: &Query, settings: &Settings<'_>) -> Result<Program, Vec<Error>> {
        let errors = binder::check(query, settings);
        if !errors.is_empty() {
            return Err(errors);
        }
        // Groups are sorted once all of them are known, regardless of their keys.
        if query.group_by.is_empty() {
            binder::check_order(query).map_err(|error| vec![error])?;
        }
        let mut program = compile::compile(query, settings)?;
        let mut queries = settings.computed.iter().map(|computed| &computed.query);
        program.shape.is_slow = is_slow(query) || queries.any(is_slow);
        Ok(program)
    }

    /// The clauses that are left to the caller.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The members of a document that it looks at. Where it
    /// [projects the document](Shape::projects_document) without DISTINCT, those that it looks at
    /// before: [`project`](Self::project) is not to be called then.
    pub fn needs(&self) -> &Wanted {
        &self.needs
    }

    /// About how many bytes its parameters and the values of its constant expressions take.
    pub fn constant_bytes(&self) -> usize {
        self.constant_bytes
    }

    /// Every row (FROM, JOIN, WHERE) of one document, as it is found. The document is undefined
    /// where the program [reads no container](Shape::reads_container), and a value of the
    /// [inner](Shape::inner) program where there is one.
    pub fn rows(
        &self,
        document: &Value,
        run: &mut Run<'_>,
        sink: &mut dyn FnMut(&Row<'_>, &mut Run<'_>) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let (mark, waits) = (run.mark(), run.waits());
        let result = self
            .select
            .each_row(document, None, run, &mut |frames, run| sink(&Row { frames }, run));
        run.release(mark);
        if let Ok(()) | Err(Halt::Stopped) = result {
            run.check_waits(waits)?;
        }
        result
    }

    /// Evaluates a document only to find its questions for user-defined functions. It
    /// [waits](Halt::Waiting) while there are any. Skips the values of rows if only the rows and
    /// their order are wanted.
    pub fn rehearse(
        &self,
        document: &Value,
        with_values: bool,
        run: &mut Run<'_>,
    ) -> Result<(), Halt> {
        let is_grouped = self.shape.groups || self.shape.is_aggregate;
        self.rows(document, run, &mut |row, run| {
            let mut parts = answers::Parts::default();
            if !self.shape.groups {
                parts.take(self.order_keys(row, run))?;
            }
            if is_grouped {
                parts.take(self.group_keys(row, run))?;
                parts.take(self.aggregated(row, run))?;
            } else if with_values && !self.shape.projects_document {
                parts.take(self.project(row, run))?;
            }
            parts.finish()
        })
    }

    /// Evaluates a group for the calls that it makes: its place in the order, and its value.
    pub fn rehearse_group(
        &self,
        keys: &[Value],
        accumulators: &[Accumulator],
        run: &mut Run<'_>,
    ) -> Result<(), Halt> {
        let mut parts = answers::Parts::default();
        if self.shape.groups {
            parts.take(self.group_order_keys(keys, accumulators, run))?;
        }
        parts.take(self.project_group(keys, accumulators, run))?;
        parts.finish()
    }

    /// SELECT for a row; undefined if the row has no value. NaN and the infinities, which JSON
    /// cannot hold, count as undefined.
    pub fn project(&self, row: &Row<'_>, run: &mut Run<'_>) -> Result<Value, Halt> {
        let mark = run.mark();
        let value = self.select.project(row.frames, run)?;
        run.release(mark);
        Ok(self.output(value))
    }

    /// The keys of ORDER BY for a row. For a query with GROUP BY see
    /// [`group_order_keys`](Self::group_order_keys).
    pub fn order_keys(&self, row: &Row<'_>, run: &mut Run<'_>) -> Result<Vec<Value>, Halt> {
        select::keys(&self.order, row.frames, run)
    }

    /// The keys of GROUP BY for a row. Groups are equal if [`group_id`] is.
    pub fn group_keys(&self, row: &Row<'_>, run: &mut Run<'_>) -> Result<Vec<Value>, Halt> {
        select::keys(&self.select.keys, row.frames, run)
    }

    /// The aggregates of SELECT, of no rows yet.
    pub fn accumulators(&self) -> Vec<Accumulator> {
        self.select.accumulators()
    }

    /// The aggregates of so many documents, for a program that
    /// [only counts them](Shape::counts_all).
    pub fn accumulators_of_count(&self, documents: u64) -> Vec<Accumulator> {
        let mut accumulators = self.accumulators();
        for accumulator in &mut accumulators {
            accumulator.add_count(documents);
        }
        accumulators
    }

    /// Restores aggregates from states of [`Accumulator::to_value`]; `None` if they do not match.
    pub fn restore(&self, states: &[Value]) -> Option<Vec<Accumulator>> {
        let restored: Option<Vec<_>> = states.iter().map(Accumulator::from_value).collect();
        let expected = self.select.aggregates.iter().map(|call| call.aggregate);
        restored.filter(|restored| restored.iter().map(Accumulator::aggregate).eq(expected))
    }

    /// Adds a row to the aggregates.
    pub fn accumulate(
        &self,
        accumulators: &mut [Accumulator],
        row: &Row<'_>,
        run: &mut Run<'_>,
    ) -> Result<(), Halt> {
        let bytes = self.select.accumulate(accumulators, row.frames, run)?;
        run.retain(bytes)
    }

    /// Adds a row to the aggregates by what [`aggregated`](Self::aggregated) gave for it.
    pub fn accumulate_values(
        &self,
        accumulators: &mut [Accumulator],
        values: Vec<Value>,
        run: &mut Run<'_>,
    ) -> Result<(), Halt> {
        let mut bytes = 0;
        for (accumulator, value) in accumulators.iter_mut().zip(values) {
            bytes += accumulator.add(Cow::Owned(value));
        }
        run.retain(bytes)
    }

    /// SELECT for a group, or for all rows where they become one (without keys then).
    pub fn project_group(
        &self,
        keys: &[Value],
        accumulators: &[Accumulator],
        run: &mut Run<'_>,
    ) -> Result<Value, Halt> {
        let group = group_value(keys.to_vec(), accumulators);
        let mark = run.mark();
        let frame = frame::Frame { value: &group, outer: None };
        let value = self.select.project(Some(&frame), run)?;
        run.release(mark);
        Ok(self.output(value))
    }

    /// The keys of ORDER BY for a group.
    pub fn group_order_keys(
        &self,
        keys: &[Value],
        accumulators: &[Accumulator],
        run: &mut Run<'_>,
    ) -> Result<Vec<Value>, Halt> {
        let group = group_value(keys.to_vec(), accumulators);
        select::keys(&self.order, Some(&frame::Frame { value: &group, outer: None }), run)
    }

    /// The arguments of SELECT's aggregates, for a row.
    pub fn aggregated(&self, row: &Row<'_>, run: &mut Run<'_>) -> Result<Vec<Value>, Halt> {
        let mut values = Vec::with_capacity(self.select.aggregates.len());
        let mut parts = answers::Parts::default();
        for call in &self.select.aggregates {
            let value = parts.take(call.argument.evaluate(row.frames, run))?;
            values.extend(value.map(Cow::into_owned));
        }
        parts.finish()?;
        Ok(values)
    }

    fn output(&self, value: Cow<'_, Value>) -> Value {
        if self.is_inner || aggregate::is_finite(&value) {
            value.into_owned()
        } else {
            printable(value.into_owned())
        }
    }
}

/// Bytes that are equal where all the values are: those of a group's keys, or of a value for
/// DISTINCT.
pub fn group_id(keys: &[Value]) -> Vec<u8> {
    select::key_of(keys)
}

/// The value as JSON can hold it: NaN and the infinities become undefined, and drop out of what
/// they lie in.
fn printable(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.as_f64().is_finite() => Value::Undefined,
        Value::Array(items) => {
            let items = items.into_iter().map(printable);
            Value::from(items.filter(|item| !item.is_undefined()).collect::<Vec<_>>())
        }
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, printable(value)));
            Value::from(members.filter(|(_, value)| !value.is_undefined()).collect::<Object>())
        }
        other => other,
    }
}
