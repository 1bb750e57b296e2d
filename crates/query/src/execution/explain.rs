//! Explains to people what a page of a query did: how it read each partition, which ranges of which
//! indexes it used, what it checked on documents, and what it cost.
//!
//! The parts of the query record their choices when they make them. Nothing here decides or
//! guesses.

mod ranges;

use std::sync::{Mutex, PoisonError};

use value::{Object, Value, json};

use crate::execution::{
    candidates::{Node, Ranges},
    figures::Totals,
    job::{Job, Part},
    ordered::{Order, OrderIndex},
    page::Page,
    prepared::Prepared,
    stream::Stream,
};

/// Most ranges of one index to show, and most parts of a condition.
const SHOWN_MAX: usize = 32;

/// How a partition was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// All documents in their order.
    Scan,
    /// The documents of so many terms, followed side by side.
    Terms(usize),
    /// A list of so many documents, found in the index before the first was read.
    List(usize),
    /// No documents: the counters of the partition or of the key had this count.
    Counters(u64),
    /// No documents: so many index entries were counted.
    CountEntries(u64),
    /// The entries of an index in the requested order; how many documents are known to match.
    Walk(Option<usize>),
    /// Sorts so many listed documents, or all.
    Sort(Option<usize>),
}

/// Records choices, if the client asked for an explanation.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    is_on: bool,
    notes: Mutex<Vec<(u32, Access)>>,
}

impl Recorder {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, notes: Mutex::default() }
    }

    /// Whether it records anything.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Records how a partition is read. If a page reads a partition several times in the same way,
    /// it is recorded once.
    pub(crate) fn note(&self, part: &Part, access: Access) {
        if !self.is_on {
            return;
        }
        let note = (part.point.range_id, access);
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Records the stream of a filter; `None` is a scan.
    pub(crate) fn note_stream(&self, part: &Part, stream: Option<&Stream>) {
        let access = match stream {
            None => Access::Scan,
            Some(Stream::List(numbers)) => Access::List(numbers.len()),
            Some(stream) => Access::Terms(terms(stream)),
        };
        self.note(part, access);
    }

    fn of(&self, range_id: u32) -> Vec<Access> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().filter(|(id, _)| *id == range_id).map(|(_, access)| access.clone()).collect()
    }
}

fn terms(stream: &Stream) -> usize {
    match stream {
        Stream::List(_) => 0,
        Stream::Postings(_) => 1,
        Stream::Union(streams) => streams.iter().map(terms).sum(),
        Stream::Intersection(intersection) => intersection.streams().iter().map(terms).sum(),
    }
}

/// The explanation of a page, as JSON.
pub(crate) fn of(
    job: &Job<'_>,
    prepared: &Prepared,
    order: Option<&Order>,
    page: &Page,
    charge: f64,
) -> String {
    let mut all = Object::new();
    let parts: Vec<Value> = job.parts.iter().map(|part| partition(job, part)).collect();
    let reads_documents = job.parts.iter().any(|part| {
        let read_without = |access: &Access| {
            matches!(access, Access::Counters(_) | Access::CountEntries(_) | Access::List(0))
        };
        !job.recorder.of(part.point.range_id).iter().all(read_without)
    });
    all.insert("partitions", parts);
    if let Some(order) = order {
        all.insert("order", order_value(order));
    }
    // Whatever the index knows, the filter is checked on each document that is read.
    if let Some(filter) = prepared.query.filter.as_ref().filter(|_| reads_documents) {
        all.insert("residualFilter", filter.to_string());
    }
    all.insert("read", read(&job.figures.totals()));
    all.insert("rows", count(page.items.len() as u64));
    all.insert("requestCharge", charge);
    json::print(&all.into())
}

fn partition(job: &Job<'_>, part: &Part) -> Value {
    let mut object = Object::new();
    object.insert("range", part.point.range_id.to_string());
    object.insert("documents", count(part.documents));
    let accesses: Vec<Value> =
        job.recorder.of(part.point.range_id).iter().map(access_value).collect();
    object.insert("access", accesses);
    object.insert("index", node_value(&part.node));
    object.insert("isIndexExact", part.node.is_exact());
    if part.has_unindexed {
        object.insert("hasUnindexedDocuments", true);
    }
    object.into()
}

fn access_value(access: &Access) -> Value {
    let mut object = Object::new();
    let (name, number) = match access {
        Access::Scan => ("scan", None),
        Access::Terms(terms) => ("indexStream", Some(("terms", *terms as u64))),
        Access::List(found) => ("indexList", Some(("candidates", *found as u64))),
        Access::Counters(found) => ("countFromCounters", Some(("count", *found))),
        Access::CountEntries(found) => ("countFromIndex", Some(("count", *found))),
        Access::Walk(found) => ("orderedWalk", found.map(|found| ("candidates", found as u64))),
        Access::Sort(found) => ("sort", found.map(|found| ("candidates", found as u64))),
    };
    object.insert("kind", name);
    if let Some((name, number)) = number {
        object.insert(name, count(number));
    }
    object.into()
}

/// What the index knows of the filter.
fn node_value(node: &Node) -> Value {
    let mut object = Object::new();
    match node {
        Node::Nothing => return "nothing".into(),
        Node::Everything => return "everything".into(),
        Node::Ranges(ranges) => return ranges_value(ranges),
        Node::And(nodes) => object.insert("and", nodes_value(nodes)),
        Node::Or(nodes) => object.insert("or", nodes_value(nodes)),
    };
    object.into()
}

fn nodes_value(nodes: &[Node]) -> Vec<Value> {
    let mut values: Vec<Value> = nodes.iter().take(SHOWN_MAX).map(node_value).collect();
    values.extend(more(nodes.len()));
    values
}

fn ranges_value(ranges: &Ranges) -> Value {
    let mut object = Object::new();
    if ranges.path.0.is_empty() {
        return "the documents that are not indexed".into();
    }
    object.insert("path", ranges.path.to_string());
    match index::Kind::of(&ranges.prefix) {
        Some(index::Kind::Spatial) => {
            object.insert("spatialCells", count(ranges.spans.len() as u64));
            return object.into();
        }
        Some(index::Kind::Path | index::Kind::Composite) | None => {}
    }
    let mut texts: Vec<Value> =
        ranges.spans.iter().take(SHOWN_MAX).map(|span| ranges::text(span).into()).collect();
    texts.extend(more(ranges.spans.len()));
    object.insert("ranges", texts);
    if ranges.check.is_some() {
        object.insert("checksValues", true);
    }
    object.into()
}

/// A note that some entries are not shown.
fn more(count: usize) -> Option<Value> {
    let left_out = count.checked_sub(SHOWN_MAX).filter(|left_out| *left_out > 0)?;
    Some(format!("and {left_out} more").into())
}

fn order_value(order: &Order) -> Value {
    let mut object = Object::new();
    let (name, paths) = match &order.index {
        None => ("index", &[][..]),
        Some(OrderIndex::Path { path, .. }) => ("index", std::slice::from_ref(path)),
        Some(OrderIndex::Composite { members, .. }) => ("compositeIndex", members.as_slice()),
    };
    let member = |(path, descends): (&index::Path, &bool)| {
        Value::from(format!("{path} {}", if *descends { "DESC" } else { "ASC" }))
    };
    let members: Vec<Value> = paths.iter().zip(&order.descends).map(member).collect();
    object.insert(name, if members.is_empty() { Value::Null } else { members.into() });
    object.into()
}

fn read(totals: &Totals) -> Value {
    let mut object = Object::new();
    object.insert("indexEntries", count(totals.index_entries));
    object.insert("documents", count(totals.documents));
    object.insert("documentBytes", count(totals.document_bytes));
    object.insert("documentsMatched", count(totals.matched));
    if totals.calls > 0 {
        object.insert("functionCalls", count(totals.calls));
        object.insert("functionMessages", count(totals.call_messages));
    }
    object.into()
}

fn count(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
