//! A query run as an engine would, partition by partition with its state written down after every
//! document, gives what the reference executor gives.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Some property values, scalars and otherwise.
fn any_value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "1",
        "2",
        "3",
        "2.5",
        "-1",
        "\"a\"",
        "\"B\"",
        "\"\"",
        "null",
        "true",
        "false",
        "[]",
        "[1]",
        "[2,1]",
        "{}",
        "{\"x\":1}",
        "{\"x\":\"a\"}",
    ])
    .prop_map(str::to_owned)
}

/// An item with some of its properties.
fn document() -> impl Strategy<Value = String> {
    let list = prop::collection::vec(any_value(), 0..4).prop_map(|items| items.join(","));
    (prop::option::of(any_value()), prop::option::of(any_value()), prop::option::of(list), 0..3)
        .prop_map(|(a, b, l, id)| {
            let mut members = vec![format!("\"id\":{id}")];
            members.extend(a.map(|a| format!("\"a\":{a}")));
            members.extend(b.map(|b| format!("\"b\":{b}")));
            members.extend(l.map(|l| format!("\"l\":[{l}]")));
            format!("{{{}}}", members.join(","))
        })
}

fn pick(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

const CONDITIONS: &[&str] = &[
    "true",
    "c.a = 1",
    "c.a > c.b",
    "NOT (c.a = c.b)",
    "c.a IN (1, 'a', null)",
    "c.a NOT IN (1, c.b)",
    "c.b BETWEEN 0 AND 2",
    "c.a LIKE '%a%'",
    "IS_DEFINED(c.a) AND c.b != 2",
    "ARRAY_CONTAINS(c.l, 1)",
    "ARRAY_CONTAINS([1, 'a', {x: 1}], c.a)",
    "EXISTS(SELECT VALUE x FROM x IN c.l WHERE x = c.a)",
    "(SELECT VALUE COUNT(1) FROM x IN c.l) > 1",
    "ARRAY_LENGTH(ARRAY(SELECT DISTINCT VALUE x FROM x IN c.l)) = 2",
    "(LET y = c.a IN (y = c.b OR y > 1))",
];

const FROM: &[&str] = &[
    "FROM c",
    "FROM c",
    "FROM c JOIN y IN c.l",
    "FROM c JOIN y IN c.l JOIN z IN c.l",
    "FROM c JOIN (SELECT VALUE [c.a, x] FROM x IN c.l) AS y",
    "FROM c JOIN (SELECT VALUE COUNT(1) FROM x IN c.l) AS y",
    "FROM c JOIN (SELECT x, COUNT(1) AS n FROM x IN c.l GROUP BY x) AS y",
    "FROM (SELECT VALUE c FROM c WHERE c.id != 0) AS c",
    "FROM (SELECT DISTINCT c.a, c.b FROM c) AS c",
    "FROM (SELECT c.a, COUNT(1) AS b, MAKELIST(c.b) AS l FROM c GROUP BY c.a) AS c",
];

const LISTS: &[&str] = &[
    "*",
    "VALUE c",
    "VALUE c.a",
    "c.a, c.b AS q",
    "VALUE {k: c.a, v: [c.b, c.l[0]]}",
    "VALUE c.a ?? c.b",
    "VALUE c.a ? 1 : 2",
    "VALUE ARRAY(SELECT VALUE x FROM x IN c.l WHERE x != c.a)",
    "DISTINCT c.a",
    "DISTINCT VALUE c.b",
    "TOP 2 c.a",
];

const AGGREGATES: &[&str] = &[
    "VALUE COUNT(1)",
    "VALUE SUM(c.a)",
    "COUNT(c) AS n",
    "COUNT(c.a) AS n, MIN(c.a) AS low, MAX(c.b) AS high, AVG(c.b) AS mean",
    "VALUE [MAKELIST(c.a), MAKESET(c.b), COUNTIF(c.a = 1)]",
    "VALUE SUM(c.id) + COUNT(1)",
];

const GROUPED: &[&str] = &[
    "c.a, COUNT(1) AS n GROUP BY c.a",
    "VALUE [c.a, SUM(c.b), MAKELIST(c.id)] GROUP BY c.a",
    "c.a, c.b, MIN(c.id) AS low GROUP BY c.a, c.b",
    "VALUE c.a GROUP BY c.a ORDER BY c.a DESC",
    "c.b, COUNT(1) AS n GROUP BY c.b ORDER BY c.b",
    "DISTINCT VALUE COUNT(1) GROUP BY c.a",
];

const ORDERS: &[&str] =
    &["", "", "ORDER BY c.a", "ORDER BY c.a DESC", "ORDER BY c.b, c.a DESC", "ORDER BY c.id DESC"];

/// A query of one of the three kinds.
fn query() -> impl Strategy<Value = String> {
    let listed =
        (pick(LISTS), pick(FROM), pick(CONDITIONS), pick(ORDERS), pick(&["", "OFFSET 1 LIMIT 2"]))
            .prop_map(|(list, from, condition, order, limit)| {
                let list = if from.contains("JOIN") && list == "*" { "VALUE c" } else { list };
                let limit = if list.starts_with("TOP") { "" } else { limit };
                // The values of a subquery cannot be ordered by.
                let order = if from.starts_with("FROM (") { "" } else { order };
                format!("SELECT {list} {from} WHERE {condition} {order} {limit}")
            });
    let collapsed = (pick(AGGREGATES), pick(FROM), pick(CONDITIONS))
        .prop_map(|(list, from, condition)| format!("SELECT {list} {from} WHERE {condition}"));
    let grouped =
        (pick(GROUPED), pick(FROM), pick(CONDITIONS)).prop_map(|(grouped, from, condition)| {
            let (list, group) = grouped.split_once(" GROUP").expect("they are all grouped");
            format!("SELECT {list} {from} WHERE {condition} GROUP{group}")
        });
    prop_oneof![listed, collapsed, grouped]
}

/// The state after a round trip through JSON, as in a continuation token.
fn written_down(program: &Program, accumulators: &[Accumulator]) -> Vec<Accumulator> {
    let states: Vec<Value> = accumulators.iter().map(Accumulator::to_value).collect();
    let text = json::print(&Value::from(states));
    let states = json::parse(text.as_bytes()).unwrap();
    program.restore(states.as_array().unwrap()).unwrap()
}

fn merge(into: &mut [Accumulator], other: &[Accumulator]) {
    into.iter_mut().zip(other).for_each(|(into, other)| into.merge(other));
}

type Rows = Vec<(Vec<Value>, usize, Value)>;

/// The values of a program over the documents of several partitions.
fn streamed(program: &Program, partitions: &[Vec<Value>]) -> Vec<Value> {
    let shape = program.shape();
    let run = &mut Run::new(0, 0);
    let partitions = match &shape.inner {
        Some(inner) => vec![streamed(inner, partitions)],
        None => partitions.to_vec(),
    };
    let mut rows = if shape.groups {
        streamed_groups(program, &partitions, run)
    } else if shape.is_aggregate {
        let accumulators = streamed_aggregates(program, &partitions, run);
        vec![(Vec::new(), 0, program.project_group(&[], &accumulators, run).unwrap())]
    } else {
        streamed_rows(program, &partitions, run)
    };
    rows.retain(|(_, _, value)| !value.is_undefined());
    rows.sort_by(|a, b| {
        let keys = shape.order.iter().zip(a.0.iter().zip(&b.0));
        let ordering = keys.map(|(key, (a, b))| key.compare(a, b)).find(|order| order.is_ne());
        let is_reversed = shape.order.first().is_some_and(|key| key.is_descending);
        ordering.unwrap_or_else(|| if is_reversed { b.1.cmp(&a.1) } else { a.1.cmp(&b.1) })
    });
    let mut values: Vec<Value> = rows.into_iter().map(|(_, _, value)| value).collect();
    if shape.is_distinct {
        let mut seen = BTreeSet::new();
        values.retain(|value| seen.insert(group_id(std::slice::from_ref(value))));
    }
    let offset = usize::try_from(shape.offset).unwrap();
    let most = shape.limit.or(shape.top).map_or(usize::MAX, |most| usize::try_from(most).unwrap());
    values.into_iter().skip(offset).take(most).collect()
}

fn streamed_rows(program: &Program, partitions: &[Vec<Value>], run: &mut Run<'_>) -> Rows {
    let mut rows = Vec::new();
    for (ordinal, document) in partitions.iter().flatten().enumerate() {
        let receive = &mut |row: &Row<'_>, run: &mut Run<'_>| {
            let is_document = program.shape().projects_document;
            let value = if is_document { document.clone() } else { program.project(row, run)? };
            rows.push((program.order_keys(row, run)?, ordinal, value));
            Ok(())
        };
        program.rows(document, run, receive).unwrap();
    }
    rows
}

fn streamed_aggregates(
    program: &Program,
    partitions: &[Vec<Value>],
    run: &mut Run<'_>,
) -> Vec<Accumulator> {
    let mut whole = program.accumulators();
    let mut count = 0;
    for partition in partitions {
        let mut part = program.accumulators();
        for document in partition {
            let receive = &mut |row: &Row<'_>, run: &mut Run<'_>| {
                count += 1;
                program.accumulate(&mut part, row, run)
            };
            program.rows(document, run, receive).unwrap();
            part = written_down(program, &part);
        }
        merge(&mut whole, &part);
    }
    if program.shape().counts_all { program.accumulators_of_count(count) } else { whole }
}

fn streamed_groups(program: &Program, partitions: &[Vec<Value>], run: &mut Run<'_>) -> Rows {
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut groups: Vec<(Vec<Value>, usize, Vec<Accumulator>)> = Vec::new();
    for (ordinal, document) in partitions.iter().flatten().enumerate() {
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
        program.rows(document, run, receive).unwrap();
    }
    let project = |(keys, ordinal, accumulators): (Vec<Value>, usize, Vec<Accumulator>)| {
        let value = program.project_group(&keys, &accumulators, run).unwrap();
        (program.group_order_keys(&keys, &accumulators, run).unwrap(), ordinal, value)
    };
    groups.into_iter().map(project).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn partitions_give_what_the_whole_gives(
        partitions in prop::collection::vec(prop::collection::vec(document(), 0..5), 1..4),
        text in query(),
    ) {
        let parse = |text: &String| json::parse(text.as_bytes()).unwrap();
        let partitions: Vec<Vec<Value>> =
            partitions.iter().map(|documents| documents.iter().map(parse).collect()).collect();
        let query = crate::parse(&text).unwrap();
        let program = match Program::compile(&query, &Settings::default()) {
            Ok(program) => program,
            Err(errors) => panic!("{text}: {errors:?}"),
        };
        let expected = crate::eval::run(&query, &[], &partitions.concat(), 0).unwrap();
        let actual = streamed(&program, &partitions);
        prop_assert_eq!(
            json::print(&Value::from(actual)), json::print(&Value::from(expected)), "{}", text);
    }
}
