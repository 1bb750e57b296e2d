//! The clauses of a query in the order in which they work: FROM and JOIN, WHERE, GROUP BY,
//! ORDER BY, SELECT, DISTINCT, OFFSET and LIMIT, TOP.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use value::{Object, Value, order};

use crate::Query;
use crate::ast::{Collection, Count, Direction, OrderByKind, OrderItem, Projection, Source, Step};
use crate::eval::expression::{Evaluator, insert_defined};
use crate::eval::row::Row;
use crate::eval::{Error, aggregate, binder, walk};
use crate::functions;

/// What ORDER BY does with rows that have no value to order by. The service decides by the
/// index that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndefinedKeys {
    /// As with the default policy: one expression is served by the index of `/*`, which has no
    /// entry for such a row; several are served by a composite index, which has.
    #[default]
    ByDefaultPolicy,
    /// They are left out.
    Dropped,
    /// They come before null, as with a path that the policy names.
    Kept,
}

/// Runs a query over the items of a container, in the order given. `now_millis` is the time of
/// the request since 1970. The error is the first of those that [`check`](crate::eval::check)
/// gives, or that of an order which cannot be had.
pub fn run(
    query: &Query,
    parameters: &[(String, Value)],
    documents: &[Value],
    now_millis: i64,
) -> Result<Vec<Value>, Error> {
    run_with(query, parameters, documents, now_millis, UndefinedKeys::default())
}

/// [`run`], for a container whose indexing policy is not the default.
pub fn run_with(
    query: &Query,
    parameters: &[(String, Value)],
    documents: &[Value],
    now_millis: i64,
    undefined_keys: UndefinedKeys,
) -> Result<Vec<Value>, Error> {
    if let Some(error) = binder::check(query, parameters).into_iter().next() {
        return Err(error);
    }
    binder::check_order(query)?;
    let evaluator = Evaluator {
        parameters,
        documents: documents.iter().cloned().map(Rc::new).collect(),
        context: functions::Context { now_millis },
        undefined_keys,
    };
    let rows = evaluator.rows(query, &Row::default());
    let values = evaluator.project(query, &rows).into_iter().map(printable);
    let values = values.filter(|value| !value.is_undefined()).collect();
    Ok(evaluator.shorten(query, values))
}

impl Evaluator<'_> {
    /// The values of a subquery within a row.
    pub(super) fn query<'q>(&self, query: &'q Query, outer: &Row<'q>) -> Vec<Value> {
        let rows = self.rows(query, outer);
        self.shorten(query, self.project(query, &rows))
    }

    /// FROM to ORDER BY: the rows that SELECT sees.
    fn rows<'q>(&self, query: &'q Query, outer: &Row<'q>) -> Vec<Row<'q>> {
        let mut rows = vec![outer.ungrouped()];
        for source in &query.from {
            rows = rows.iter().flat_map(|row| self.join(source, row)).collect();
        }
        if let Some(filter) = &query.filter {
            rows.retain(|row| self.evaluate(filter, row).as_bool() == Some(true));
        }
        if !query.group_by.is_empty() {
            rows = self.group(query, rows);
        }
        rows = self.order(query, rows);
        if walk::collapses(query) {
            rows = vec![group_row(outer, rows)];
        }
        rows
    }

    /// The row with each value of the source.
    fn join<'q>(&self, source: &'q Source, row: &Row<'q>) -> Vec<Row<'q>> {
        let alias = walk::alias_of(source).unwrap_or_default();
        let reads_container = row.is_empty();
        let mut joined = Vec::new();
        for (place, value) in self.collection(&source.collection, row).into_iter().enumerate() {
            let elements = match value.as_ref() {
                Value::Array(items) if source.is_iterator => {
                    items.iter().cloned().map(Rc::new).collect()
                }
                _ if source.is_iterator => Vec::new(),
                Value::Undefined => Vec::new(),
                _ => vec![value],
            };
            for element in elements {
                let mut row = row.with(alias, element);
                if reads_container {
                    row.ordinal = place;
                }
                joined.push(row);
            }
        }
        joined
    }

    /// The values a source reads. Where nothing is known yet, a name means the container.
    fn collection<'q>(&self, collection: &'q Collection, row: &Row<'q>) -> Vec<Rc<Value>> {
        match collection {
            Collection::Subquery(query) => {
                self.query(query, row).into_iter().map(Rc::new).collect()
            }
            Collection::Path { root, steps } => {
                let roots = match row.get(&root.text) {
                    Some(value) => vec![Rc::new(value.clone())],
                    None if row.is_empty() => self.documents.clone(),
                    None => Vec::new(),
                };
                if steps.is_empty() {
                    return roots;
                }
                roots.iter().map(|root| Rc::new(descend(root, steps).clone())).collect()
            }
        }
    }

    /// One row for each set of equal keys, in the order of their first rows.
    fn group<'q>(&self, query: &'q Query, rows: Vec<Row<'q>>) -> Vec<Row<'q>> {
        let mut groups: Vec<Vec<Row<'q>>> = Vec::new();
        let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for row in rows {
            let mut key = Vec::new();
            for expr in &query.group_by {
                value::key::encode(&self.evaluate(expr, &row), &mut key);
            }
            let place = *places.entry(key).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(row);
        }
        groups.into_iter().map(|rows| group_row(&Row::default(), rows)).collect()
    }

    fn order<'q>(&self, query: &'q Query, rows: Vec<Row<'q>>) -> Vec<Row<'q>> {
        let Some(OrderByKind::Items(items)) = query.order_by.as_ref().map(|order| &order.kind)
        else {
            return rows;
        };
        let keeps_undefined = match self.undefined_keys {
            UndefinedKeys::ByDefaultPolicy => items.len() > 1,
            UndefinedKeys::Dropped => false,
            UndefinedKeys::Kept => true,
        };
        let mut keyed: Vec<(Vec<Value>, Row<'q>)> = Vec::new();
        for row in rows {
            let keys: Vec<_> = items.iter().map(|item| self.evaluate(&item.expr, &row)).collect();
            if keeps_undefined || !keys.iter().any(Value::is_undefined) {
                keyed.push((keys, row));
            }
        }
        keyed.sort_by(|a, b| compare_keyed(items, a, b));
        keyed.into_iter().map(|(_, row)| row).collect()
    }

    /// SELECT: the value of each row that has one.
    fn project<'q>(&self, query: &'q Query, rows: &[Row<'q>]) -> Vec<Value> {
        let project_one = |row: &Row<'q>| match &query.select.projection {
            Projection::Star(_) => row.last().cloned().unwrap_or_default(),
            Projection::Value(expr) => self.evaluate(expr, row),
            Projection::List(items) => {
                let mut object = Object::new();
                for (item, name) in items.iter().zip(walk::property_names(items)) {
                    insert_defined(&mut object, &name, self.evaluate(&item.expr, row));
                }
                Value::from(object)
            }
        };
        rows.iter().map(project_one).filter(|value| !value.is_undefined()).collect()
    }

    /// DISTINCT, OFFSET and LIMIT, TOP.
    fn shorten(&self, query: &Query, mut values: Vec<Value>) -> Vec<Value> {
        if query.select.is_distinct {
            values = aggregate::distinct(values);
        }
        if let Some(clause) = &query.offset_limit {
            values.drain(..self.count(&clause.offset).min(values.len()));
            values.truncate(self.count(&clause.limit));
        }
        if let Some(top) = &query.select.top {
            values.truncate(self.count(&top.count));
        }
        values
    }

    /// The number of rows; parameters were checked before.
    fn count(&self, count: &Count) -> usize {
        let count = match count {
            Count::Literal(count) => i64::from(*count),
            Count::Parameter(name) => {
                self.parameter(&name.text).and_then(Value::as_i64).unwrap_or_default()
            }
        };
        usize::try_from(count).unwrap_or_default()
    }
}

/// The row that stands for others: names have the values of the first, aggregates see all.
fn group_row<'q>(outer: &Row<'q>, rows: Vec<Row<'q>>) -> Row<'q> {
    let mut row = rows.first().unwrap_or(outer).ungrouped();
    row.group = Some(rows.into());
    row
}

/// By the keys, then by the item, in the direction of the first key.
fn compare_keyed(items: &[OrderItem], a: &(Vec<Value>, Row), b: &(Vec<Value>, Row)) -> Ordering {
    let directed = |item: &OrderItem, ordering: Ordering| match item.direction {
        Some(Direction::Descending) => ordering.reverse(),
        Some(Direction::Ascending) | None => ordering,
    };
    for ((a, b), item) in a.0.iter().zip(&b.0).zip(items) {
        let ordering = directed(item, order::compare(a, b));
        if ordering.is_ne() {
            return ordering;
        }
    }
    items.first().map_or(Ordering::Equal, |item| directed(item, a.1.ordinal.cmp(&b.1.ordinal)))
}

fn descend<'v>(value: &'v Value, steps: &[Step]) -> &'v Value {
    steps.iter().fold(value, |value, step| match step {
        Step::Member(name) | Step::Key(name) => value.get(&name.text),
        Step::Index(index) => {
            let index = usize::try_from(*index).ok();
            let items = value.as_array().unwrap_or_default();
            index.and_then(|index| items.get(index)).unwrap_or(&Value::Undefined)
        }
    })
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
            let mut object = Object::new();
            for (name, value) in members {
                insert_defined(&mut object, &name, printable(value));
            }
            Value::from(object)
        }
        other => other,
    }
}
