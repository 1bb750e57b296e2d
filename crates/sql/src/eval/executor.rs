//! The clauses of a query that look at all rows, in the order in which they work: GROUP BY,
//! ORDER BY, DISTINCT, OFFSET and LIMIT, TOP.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use value::Value;

use crate::Query;
use crate::error::{Code, Error};
use crate::program::{self, Accumulator, Halt, OrderKey, Program, Run, Settings, Shape};

/// Everything the service would say about a query that parses, in the order of the text.
pub fn check(query: &Query, parameters: &[(String, Value)]) -> Vec<Error> {
    program::check(query, &Settings { parameters, ..Settings::default() })
}

/// Runs a query over the items of a container, in the order given. `now_millis` is the time of
/// the request since 1970. The error is the first of those that [`check`] gives, or that of a
/// query which cannot be run.
pub fn run(
    query: &Query,
    parameters: &[(String, Value)],
    documents: &[Value],
    now_millis: i64,
) -> Result<Vec<Value>, Error> {
    let settings = Settings { parameters, ..Settings::default() };
    let program = Program::compile(query, &settings).map_err(|errors| {
        let first = errors.into_iter().next();
        first.unwrap_or_else(|| Error::without_span(Code::Halted, "The query is not valid."))
    })?;
    let mut run = Run::new(now_millis, 0).with_memory_limit(usize::MAX);
    values(&program, documents, &mut run)
        .map_err(|halt| Error::without_span(Code::Halted, halt.to_string()))
}

/// The values of a program over a container: [`run`] for one that is compiled, with computed
/// properties or user-defined functions.
pub fn values(
    program: &Program,
    documents: &[Value],
    run: &mut Run<'_>,
) -> Result<Vec<Value>, Halt> {
    let shape = program.shape();
    let documents = match &shape.inner {
        Some(inner) => Cow::Owned(values(inner, documents, run)?),
        None if shape.reads_container => Cow::Borrowed(documents),
        None => Cow::Owned(vec![Value::Undefined]),
    };
    let values = if shape.groups {
        grouped(program, &documents, run)?
    } else if shape.is_aggregate {
        vec![collapsed(program, &documents, run)?]
    } else {
        listed(program, &documents, run)?
    };
    let values = values.into_iter().filter(|value| !value.is_undefined()).collect();
    Ok(shorten(shape, values))
}

/// Something to be put in order: its keys, and the place of the item it comes from, which decides
/// between equal keys.
struct Keyed<T> {
    keys: Vec<Value>,
    ordinal: usize,
    content: T,
}

/// The value of each row.
fn listed(program: &Program, documents: &[Value], run: &mut Run<'_>) -> Result<Vec<Value>, Halt> {
    let mut rows = Vec::new();
    for (ordinal, document) in documents.iter().enumerate() {
        program.rows(document, run, &mut |row, run| {
            let keys = program.order_keys(row, run)?;
            rows.push(Keyed { keys, ordinal, content: program.project(row, run)? });
            Ok(())
        })?;
    }
    Ok(ordered(&program.shape().order, rows))
}

/// One value for all rows.
fn collapsed(program: &Program, documents: &[Value], run: &mut Run<'_>) -> Result<Value, Halt> {
    let mut rows = Vec::new();
    let mut accumulators = program.accumulators();
    for (ordinal, document) in documents.iter().enumerate() {
        program.rows(document, run, &mut |row, run| {
            let keys = program.order_keys(row, run)?;
            if keys.is_empty() {
                return program.accumulate(&mut accumulators, row, run);
            }
            rows.push(Keyed { keys, ordinal, content: program.aggregated(row, run)? });
            Ok(())
        })?;
    }
    for values in ordered(&program.shape().order, rows) {
        program.accumulate_values(&mut accumulators, values, run)?;
    }
    program.project_group(&[], &accumulators, run)
}

/// One value for each set of equal keys, in the order of their first rows.
fn grouped(program: &Program, documents: &[Value], run: &mut Run<'_>) -> Result<Vec<Value>, Halt> {
    let mut groups: Vec<(Vec<Value>, usize, Vec<Accumulator>)> = Vec::new();
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (ordinal, document) in documents.iter().enumerate() {
        program.rows(document, run, &mut |row, run| {
            let keys = program.group_keys(row, run)?;
            let place = *places.entry(program::group_id(&keys)).or_insert(groups.len());
            if place == groups.len() {
                groups.push((keys, ordinal, program.accumulators()));
            }
            program.accumulate(&mut groups[place].2, row, run)
        })?;
    }
    let mut rows = Vec::new();
    for (keys, ordinal, accumulators) in groups {
        let order_keys = program.group_order_keys(&keys, &accumulators, run)?;
        let content = program.project_group(&keys, &accumulators, run)?;
        rows.push(Keyed { keys: order_keys, ordinal, content });
    }
    Ok(ordered(&program.shape().order, rows))
}

/// Sorts by the keys, then by the item, in the direction of the first key.
fn ordered<T>(order: &[OrderKey], mut rows: Vec<Keyed<T>>) -> Vec<T> {
    rows.sort_by(|a, b| {
        for ((a, b), key) in a.keys.iter().zip(&b.keys).zip(order) {
            let ordering = key.compare(a, b);
            if ordering.is_ne() {
                return ordering;
            }
        }
        match order.first() {
            Some(first) if first.is_descending => b.ordinal.cmp(&a.ordinal),
            Some(_) => a.ordinal.cmp(&b.ordinal),
            None => Ordering::Equal,
        }
    });
    rows.into_iter().map(|row| row.content).collect()
}

/// DISTINCT, OFFSET and LIMIT, TOP.
fn shorten(shape: &Shape, mut values: Vec<Value>) -> Vec<Value> {
    if shape.is_distinct {
        let mut seen = BTreeSet::new();
        values.retain(|value| seen.insert(program::group_id(std::slice::from_ref(value))));
    }
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    values.drain(..size(shape.offset).min(values.len()));
    for count in [shape.limit, shape.top].into_iter().flatten() {
        values.truncate(size(count));
    }
    values
}
