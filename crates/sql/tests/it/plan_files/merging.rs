//! A small client: asks each partition what the plan says and merges the answers. The result must
//! be that of the query over all documents.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sql::eval::Aggregate;
use sql::plan::{AggregateKind, Container, DistinctType, Info, Kind, PartitionKeyPaths, QueryInfo};
use value::{Object, Value, order};

const QUERIES: [&str; 27] = [
    "SELECT * FROM c WHERE c.n > 4",
    "SELECT c.n, c.s AS t, c.n * 2 FROM c ORDER BY c.n",
    "SELECT * FROM c WHERE c.g = 1 OR c.n < 3 ORDER BY c.n DESC",
    "SELECT VALUE c.s FROM c ORDER BY c.n",
    "SELECT TOP 3 c.n FROM c ORDER BY c.n DESC",
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 5",
    "SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 5",
    "SELECT VALUE c.n FROM c WHERE c.g = 1 ORDER BY c.n OFFSET 1 LIMIT 2",
    "SELECT c.g, x FROM c JOIN x IN c.xs WHERE x > 1",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100",
    "SELECT VALUE AVG(c.n) FROM c",
    "SELECT VALUE MIN(c.s) FROM c",
    "SELECT VALUE MAX(c.n) FROM c WHERE c.g != 2",
    "SELECT VALUE COUNTIF(c.n % 2 = 0) FROM c",
    "SELECT MIN(c.n) AS least, MAX(c.missing), AVG(c.n), COUNT(c.s), 'k' AS k FROM c",
    "SELECT c.g, COUNT(1) AS n, AVG(c.n), MAX(c.s) FROM c GROUP BY c.g",
    "SELECT VALUE SUM(c.n) FROM c GROUP BY c.s",
    "SELECT VALUE c.s FROM c GROUP BY c.s",
    "SELECT c.s FROM c WHERE c.g = 1 GROUP BY c.s",
    "SELECT UPPER(c.s) AS u, COUNTIF(c.n > 3) AS big FROM c GROUP BY UPPER(c.s)",
    "SELECT DISTINCT c.s FROM c",
    "SELECT DISTINCT VALUE c.s FROM c ORDER BY c.s DESC",
    "SELECT DISTINCT TOP 2 VALUE c.s FROM c ORDER BY c.s",
    "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.s FROM c)",
    "SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.s, c.g FROM c)",
    "SELECT c.n FROM c WHERE false",
];

/// Documents of four partition keys, `/g`.
fn documents() -> Vec<Value> {
    let document = |n: i64| {
        let xs = value::json::parse(b"[1, 2, 3]").expect("JSON");
        let mut object = Object::new();
        object.insert("n", n);
        object.insert("g", n % 4);
        object.insert("_rid", format!("rid{n}"));
        object.insert("xs", xs);
        if n % 5 != 0 {
            object.insert("s", ["a", "b", "c"][usize::try_from(n % 3).expect("small")]);
        }
        Value::from(object)
    };
    (0..17).map(|n| document(n * 7 % 17)).collect()
}

fn run(text: &str, documents: &[Value]) -> Vec<Value> {
    let text = text.replace("({documentdb-formattableorderbyquery-filter})", "(true)");
    let query = sql::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    sql::eval::run(&query, &[], documents, 0).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What a client makes of the answers of all partitions.
fn merged(text: &str, info: &QueryInfo, partitions: &[Vec<Value>]) -> Vec<Value> {
    let sent = if info.rewritten_query.is_empty() { text } else { &info.rewritten_query };
    let mut rows: Vec<Value> =
        partitions.iter().flat_map(|documents| run(sent, documents)).collect();
    let is_aggregate = !info.aggregates.is_empty() || !info.group_by_aliases.is_empty();
    if is_aggregate || !info.group_by_expressions.is_empty() {
        rows = grouped(info, rows);
    } else if !info.order_by.is_empty() {
        rows.sort_by(|a, b| compare(info, a.get("orderByItems"), b.get("orderByItems")));
        rows = rows.iter().map(|row| row.get("payload").clone()).collect();
    }
    match info.distinct {
        DistinctType::None => {}
        DistinctType::Ordered => rows.dedup(),
        DistinctType::Unordered => {
            let mut kept: Vec<Value> = Vec::new();
            for row in rows {
                if !kept.contains(&row) {
                    kept.push(row);
                }
            }
            rows = kept;
        }
    }
    if let Some(alias) = &info.dcount {
        let count = Value::from(i64::try_from(rows.len()).expect("few"));
        let mut object = Object::new();
        object.insert(alias.as_str(), count.clone());
        rows = vec![if alias.is_empty() { count } else { Value::from(object) }];
    }
    let offset = info.offset.map_or(0, |offset| offset as usize);
    let limit = info.limit.map_or(usize::MAX, |limit| limit as usize);
    let top = info.top.map_or(usize::MAX, |top| top as usize);
    rows.into_iter().skip(offset).take(limit).take(top).collect()
}

fn compare(info: &QueryInfo, a: &Value, b: &Value) -> Ordering {
    let items = |items: &Value| items.as_array().expect("items").to_vec();
    let keys = items(a).into_iter().zip(items(b)).zip(&info.order_by);
    let one = |((a, b), direction): ((Value, Value), &sql::ast::Direction)| {
        let ordering = order::compare(a.get("item"), b.get("item"));
        match direction {
            sql::ast::Direction::Ascending => ordering,
            sql::ast::Direction::Descending => ordering.reverse(),
        }
    };
    keys.map(one).fold(Ordering::Equal, Ordering::then)
}

/// Rows of equal keys become one.
fn grouped(info: &QueryInfo, rows: Vec<Value>) -> Vec<Value> {
    let mut groups: BTreeMap<Vec<u8>, Vec<Value>> = BTreeMap::new();
    for row in rows {
        let mut key = Vec::new();
        if !info.group_by_expressions.is_empty() {
            value::key::encode(row.get("groupByItems"), &mut key);
        }
        // SELECT VALUE of an aggregate returns the partial results themselves.
        let is_bare = info.group_by_expressions.is_empty() && !info.aggregates.is_empty();
        let payload = if is_bare { row } else { row.get("payload").clone() };
        groups.entry(key).or_default().push(payload);
    }
    let one = |payloads: Vec<Value>| match info.aggregates.first() {
        Some(kind) => {
            let parts =
                payloads.iter().map(|payload| payload.as_array().expect("parts")[0].clone());
            fold(*kind, &parts.collect::<Vec<_>>())
        }
        None if info.has_select_value => payloads[0].clone(),
        None => {
            let mut object = Object::new();
            for (alias, kind) in &info.group_by_alias_to_aggregate {
                let parts: Vec<_> = payloads.iter().map(|part| part.get(alias).clone()).collect();
                let value = kind.map_or_else(|| parts[0].clone(), |kind| fold(kind, &parts));
                if !value.is_undefined() {
                    object.insert(alias.as_str(), value);
                }
            }
            Value::from(object)
        }
    };
    groups.into_values().map(one).filter(|row| !row.is_undefined()).collect()
}

/// Merges partial results.
fn fold(kind: AggregateKind, parts: &[Value]) -> Value {
    let numbers = |name: &str| -> f64 {
        parts.iter().map(|part| part.get("item").get(name).as_f64().unwrap_or_default()).sum()
    };
    let extremes = |name: &str| {
        let has_any = |part: &&Value| part.get("item2").get("count").as_f64() != Some(0.0);
        let values = parts.iter().filter(has_any).map(|part| part.get("item2").get(name).clone());
        values.collect::<Vec<_>>()
    };
    match kind.0 {
        Aggregate::Count | Aggregate::CountIf | Aggregate::Sum => {
            let items = parts.iter().map(|part| part.get("item").as_f64().expect("a number"));
            Value::from(items.sum::<f64>())
        }
        Aggregate::Avg => Value::from(numbers("sum") / numbers("count")),
        Aggregate::Min => extremes("min").into_iter().min_by(order::compare).unwrap_or_default(),
        Aggregate::Max => extremes("max").into_iter().max_by(order::compare).unwrap_or_default(),
        Aggregate::MakeList | Aggregate::MakeSet => panic!("not among the queries"),
    }
}

#[test]
fn clients_that_follow_a_plan_get_the_answer() {
    let documents = documents();
    let partition = |key: i64| -> Vec<Value> {
        documents.iter().filter(|one| one.get("g").as_i64() == Some(key)).cloned().collect()
    };
    let paths = [vec!["g".to_owned()]];
    let container = Container::new(PartitionKeyPaths { paths: &paths, kind: Kind::Hash });
    for text in QUERIES {
        let plan = super::plan_of(text, &[], &container)
            .unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
        let Info::Query(info) = &plan.info else { panic!("{text}: {plan:?}") };
        // A plan that pins the key is followed on that partition alone.
        let is_pinned = matches!(plan.ranges.as_slice(), [sql::plan::KeyRange::Point(_)]);
        let keys = if is_pinned { 1..2 } else { 0..4 };
        let partitions: Vec<_> = keys.map(partition).collect();
        let (mut actual, mut expected) = (merged(text, info, &partitions), run(text, &documents));
        if info.order_by.is_empty() {
            actual.sort_by(order::compare);
            expected.sort_by(order::compare);
        }
        assert_eq!(actual, expected, "{text}\n{info:?}");
    }
}
