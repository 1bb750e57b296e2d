//! A program run as an engine runs it: the filter picks the documents, of which only what the
//! program needs is parsed, partitions are read one by one, and the state of aggregates is written down after each document.

use std::collections::{BTreeMap, BTreeSet};

use sql::filter::Filter;
use sql::program::{Accumulator, Program, Row, Run, group_id};
use value::{Value, json};

/// How many documents a partition holds: few, so that most cases have several.
const PARTITION_SIZE: usize = 2;

/// The keys of ORDER BY, the place of the document, and the value of a row or group.
type Rows = Vec<(Vec<Value>, usize, Value)>;

/// The values of a program over the documents that its filter lets through.
pub(crate) fn values(
    program: &Program,
    filter: &Filter,
    documents: &[Value],
    now_millis: i64,
) -> Vec<Value> {
    let shape = program.shape();
    let run = &mut Run::new(now_millis, 0);
    let documents = match &shape.inner {
        // The filter is that of the query around; the one within reads everything.
        Some(inner) => values(inner, &Filter::All, documents, now_millis),
        None if shape.reads_container => {
            let matching = documents.iter().filter(|document| filter.matches(document));
            matching.map(|document| restricted(program, document)).collect()
        }
        None => vec![Value::Undefined],
    };
    let partitions: Vec<&[Value]> = documents.chunks(PARTITION_SIZE).collect();
    let mut rows = if shape.groups {
        groups(program, &partitions, run)
    } else if shape.is_aggregate {
        let accumulators = aggregates(program, &partitions, run);
        let value = program.project_group(&[], &accumulators, run).expect("bounds are wide");
        vec![(Vec::new(), 0, value)]
    } else {
        plain(program, &partitions, run)
    };
    rows.retain(|(_, _, value)| !value.is_undefined());
    sort(program, &mut rows);
    let mut values: Vec<Value> = rows.into_iter().map(|(_, _, value)| value).collect();
    if shape.is_distinct {
        let mut seen = BTreeSet::new();
        values.retain(|value| seen.insert(group_id(std::slice::from_ref(value))));
    }
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let limit = shape.limit.map_or(usize::MAX, size);
    let top = shape.top.map_or(usize::MAX, size);
    values.into_iter().skip(size(shape.offset)).take(limit).take(top).collect()
}

/// A document with what a program needs of it. Where the stored document is the row's value, an
/// engine gives its text.
pub(crate) fn restricted(program: &Program, document: &Value) -> Value {
    let shape = program.shape();
    if shape.projects_document && !shape.is_distinct {
        return document.clone();
    }
    let text = json::print(document);
    json::parse_wanted(text.as_bytes(), program.needs()).expect("JSON")
}

fn sort(program: &Program, rows: &mut Rows) {
    let order = &program.shape().order;
    let is_reversed = order.first().is_some_and(|key| key.is_descending);
    rows.sort_by(|a, b| {
        let keys = order.iter().zip(a.0.iter().zip(&b.0));
        let ordering = keys.map(|(key, (a, b))| key.compare(a, b)).find(|order| order.is_ne());
        ordering.unwrap_or_else(|| if is_reversed { b.1.cmp(&a.1) } else { a.1.cmp(&b.1) })
    });
}

fn plain(program: &Program, partitions: &[&[Value]], run: &mut Run<'_>) -> Rows {
    let mut rows = Vec::new();
    for (ordinal, document) in partitions.iter().copied().flatten().enumerate() {
        let receive = &mut |row: &Row<'_>, run: &mut Run<'_>| {
            // The document is sent as it is stored, without being projected.
            let is_document = program.shape().projects_document;
            let value = if is_document { document.clone() } else { program.project(row, run)? };
            rows.push((program.order_keys(row, run)?, ordinal, value));
            Ok(())
        };
        program.rows(document, run, receive).expect("bounds are wide");
    }
    rows
}

fn aggregates(program: &Program, partitions: &[&[Value]], run: &mut Run<'_>) -> Vec<Accumulator> {
    let mut whole = program.accumulators();
    let mut count = 0;
    for partition in partitions {
        let mut part = program.accumulators();
        for document in *partition {
            let receive = &mut |row: &Row<'_>, run: &mut Run<'_>| {
                count += 1;
                program.accumulate(&mut part, row, run)
            };
            program.rows(document, run, receive).expect("bounds are wide");
            part = written_down(program, &part);
        }
        merge(&mut whole, &part);
    }
    if program.shape().counts_all { program.accumulators_of_count(count) } else { whole }
}

fn groups(program: &Program, partitions: &[&[Value]], run: &mut Run<'_>) -> Rows {
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut groups: Vec<(Vec<Value>, usize, Vec<Accumulator>)> = Vec::new();
    for (ordinal, document) in partitions.iter().copied().flatten().enumerate() {
        let receive = &mut |row: &Row<'_>, run: &mut Run<'_>| {
            let keys = program.group_keys(row, run)?;
            let mut part = program.accumulators();
            program.accumulate(&mut part, row, run)?;
            let place = *places.entry(group_id(&keys)).or_insert(groups.len());
            if place == groups.len() {
                groups.push((keys, ordinal, program.accumulators()));
            }
            merge(&mut groups[place].2, &written_down(program, &part));
            Ok(())
        };
        program.rows(document, run, receive).expect("bounds are wide");
    }
    let project = |(keys, ordinal, accumulators): (Vec<Value>, usize, Vec<Accumulator>)| {
        let value = program.project_group(&keys, &accumulators, run).expect("bounds are wide");
        let order = program.group_order_keys(&keys, &accumulators, run).expect("bounds are wide");
        (order, ordinal, value)
    };
    groups.into_iter().map(project).collect()
}

/// The state after a round trip through JSON, as in a continuation token.
fn written_down(program: &Program, accumulators: &[Accumulator]) -> Vec<Accumulator> {
    let states: Vec<Value> = accumulators.iter().map(Accumulator::to_value).collect();
    let text = json::print(&Value::from(states));
    let states = json::parse(text.as_bytes()).expect("our own JSON");
    program.restore(states.as_array().expect("a list")).expect("the state of the same program")
}

fn merge(into: &mut [Accumulator], other: &[Accumulator]) {
    into.iter_mut().zip(other).for_each(|(into, other)| into.merge(other));
}
