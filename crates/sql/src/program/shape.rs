//! What a program leaves to the code that runs it: the clauses that need more than one document,
//! and what can be answered without running it.

use std::cmp::Ordering;
use std::sync::Arc;

use value::Value;

use super::Program;
use super::node::PathStep;

/// The outline of a program.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Whether it runs over the documents of the collection, or once over nothing.
    pub reads_container: bool,
    /// Whether each row's value is the stored document itself: `SELECT *` or `SELECT VALUE c`
    /// over the one plain source.
    pub projects_document: bool,
    /// `FROM c.a.b`: the steps to what the first source binds.
    pub source_path: Vec<PathStep>,
    /// Whether a document can give more than one row: there is an iterator or a JOIN.
    pub has_joins: bool,
    /// Whether there is a WHERE.
    pub has_filter: bool,
    /// DISTINCT.
    pub is_distinct: bool,
    /// Whether all rows become one.
    pub is_aggregate: bool,
    /// GROUP BY.
    pub groups: bool,
    /// ORDER BY. Empty where all rows become one whose value does not depend on their order.
    pub order: Vec<OrderKey>,
    /// TOP.
    pub top: Option<u64>,
    /// OFFSET; 0 without.
    pub offset: u64,
    /// LIMIT.
    pub limit: Option<u64>,
    /// `FROM (SELECT DISTINCT ... FROM c)`, and likewise with aggregates or GROUP BY: the program
    /// that runs over the whole collection. Its values take the place of the documents.
    pub inner: Option<Arc<Program>>,
    /// Whether only the number of documents that match is asked for: `SELECT VALUE COUNT(1)`.
    pub counts_all: bool,
    /// The user-defined functions that it calls, once for each call that is written in it.
    pub functions: Vec<String>,
    /// Whether FROM or WHERE call one: then it takes them to know which rows there are.
    pub calls_for_rows: bool,
    /// Whether a single document can keep it busy for long.
    pub is_slow: bool,
    /// Whether it depends only on the documents: no clock, no random numbers, no user-defined
    /// functions.
    pub is_deterministic: bool,
}

impl Shape {
    /// Whether the rows of each document follow those of another, all of them: nothing is put in
    /// order, added up or left out.
    pub fn is_plain(&self) -> bool {
        let is_cut = self.top.is_some() || self.limit.is_some() || self.offset > 0;
        let is_merged = self.is_distinct || self.is_aggregate || self.groups;
        let is_ordered = !self.order.is_empty();
        self.reads_container && self.inner.is_none() && !is_cut && !is_merged && !is_ordered
    }
}

/// One key of ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderKey {
    /// The path from the document to the key; `None` if it is not a stored property.
    pub path: Option<Vec<PathStep>>,
    /// The computed property that it is, if it is one.
    pub computed: Option<String>,
    /// DESC.
    pub is_descending: bool,
}

impl OrderKey {
    /// The order of two keys in this direction.
    pub fn compare(&self, a: &Value, b: &Value) -> Ordering {
        let ordering = value::distinct::compare(a, b);
        if self.is_descending { ordering.reverse() } else { ordering }
    }
}
