//! Resolves the names of a query to paths of the item, where possible.

use std::collections::HashMap;

use value::Value;

use super::path::{Path, Segment};
use super::rewrite::Rewrite;
use super::{Filter, Settings, order, simplify};
use crate::ast::{Call, Collection, Expr, ExprKind, Projection, Query, Source, Step};

/// The analysis of a query: the names known at the current place.
pub(super) struct Analysis<'q> {
    parameters: HashMap<&'q str, &'q Value>,
    pub(super) settings: &'q Settings<'q>,
    /// Later names hide earlier ones. Each has the path of its values, if there is one.
    names: Vec<(&'q str, Option<Path>)>,
}

/// A path written in a query.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// Where its values lie.
    pub(super) path: Path,
    /// The known name it begins with, and the steps from there.
    slot: usize,
    steps: Vec<Value>,
}

impl Reference {
    /// Whether both have the same value in every row. Paths through arrays may be of different
    /// elements even if they are equal.
    pub(super) fn is_same(&self, other: &Reference) -> bool {
        self.path == other.path
            && (self.path.is_single_valued()
                || self.slot == other.slot && self.steps == other.steps)
    }
}

/// What FROM determines about the items.
pub(super) struct Sources {
    /// Where something must be for there to be a row.
    pub(super) required: Vec<Path>,
    /// The conditions of subqueries among the sources.
    pub(super) filters: Vec<Filter>,
    /// Whether there is one row for each item that has what is required.
    pub(super) is_single: bool,
}

impl<'q> Analysis<'q> {
    pub(super) fn new(
        parameters: &'q [(String, Value)],
        settings: &'q Settings<'q>,
    ) -> Analysis<'q> {
        // The first of two values of one name counts, as everywhere.
        let pairs = parameters.iter().rev().map(|(name, value)| (name.as_str(), value));
        Analysis { parameters: pairs.collect(), settings, names: Vec::new() }
    }

    /// The value that the request gives a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&'q Value> {
        self.parameters.get(name).copied()
    }

    /// The time for functions. Functions that need it are only evaluated if it is known.
    pub(super) fn now_millis(&self) -> i64 {
        self.settings.now_millis.unwrap_or_default()
    }

    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.names.iter().any(|(known, _)| *known == name)
    }

    /// The path that an expression is, if it is one.
    pub(super) fn reference(&self, expr: &Expr) -> Option<Reference> {
        match &expr.kind {
            ExprKind::Identifier(name) => {
                let slot = self.names.iter().rposition(|(known, _)| known == name)?;
                let path = self.names[slot].1.clone()?;
                Some(Reference { path, slot, steps: Vec::new() })
            }
            ExprKind::Member { base, name } => {
                self.step(self.reference(base)?, Value::from(name.text.as_str()))
            }
            ExprKind::Index { base, index } => {
                self.step(self.reference(base)?, self.constant(index)?)
            }
            _ => None,
        }
    }

    fn step(&self, mut reference: Reference, step: Value) -> Option<Reference> {
        self.descend(&mut reference.path, &step)?;
        reference.steps.push(step);
        Some(reference)
    }

    /// Goes one step down; `None` if that does not give a path.
    fn descend(&self, path: &mut Path, step: &Value) -> Option<()> {
        let segment = match step {
            Value::String(key) if path.0.is_empty() && self.settings.computed.contains(key) => {
                return None;
            }
            Value::String(key) => Segment::Key(key.clone()),
            Value::Number(_) => Segment::Element,
            _ => return None,
        };
        path.0.push(segment);
        Some(())
    }

    /// The value of an expression that is the same for all rows.
    pub(super) fn constant(&self, expr: &Expr) -> Option<Value> {
        match &expr.kind {
            ExprKind::Literal(value) => return Some(value.clone()),
            ExprKind::Parameter(name) => return self.parameter(name).cloned(),
            _ => {}
        }
        let mut replace = |_, _: &Expr| None;
        let mut rewrite = Rewrite::new(self, &mut replace);
        match rewrite.expr(expr)?.0.kind {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Whether a function gives the same here as when the query runs, and for all rows.
    pub(super) fn is_evaluable(&self, call: &Call) -> bool {
        let name = function_key(&call.name.text);
        let is_known = match name.as_str() {
            "RAND" | "GETCURRENTDATETIME" | "GETCURRENTTICKS" | "GETCURRENTTIMESTAMP" => false,
            "GETCURRENTDATETIMESTATIC"
            | "GETCURRENTTICKSSTATIC"
            | "GETCURRENTTIMESTAMPSTATIC"
            | "NOW"
            | "AGO" => self.settings.now_millis.is_some(),
            // The evaluator of constants takes geometries to be on the earth.
            "STDISTANCE" | "STWITHIN" | "STINTERSECTS" | "STAREA" | "STISVALID"
            | "STISVALIDDETAILED" => !self.settings.is_planar,
            _ => true,
        };
        is_known && !call.is_udf
    }

    /// Makes the names of FROM known, until [`leave`](Self::leave).
    pub(super) fn enter(&mut self, from: &'q [Source]) -> Sources {
        let mut sources =
            Sources { required: Vec::new(), filters: Vec::new(), is_single: from.len() < 2 };
        for source in from {
            let reads_container = self.names.is_empty();
            let mut path = match &source.collection {
                Collection::Path { root, steps } => self.source_path(&root.text, steps),
                Collection::Subquery(query) => {
                    sources.is_single = false;
                    let (filter, path) = self.rows(query, reads_container);
                    sources.filters.push(filter);
                    path
                }
            };
            if source.is_iterator {
                path = path.map(|path| path.then(Segment::Element));
            }
            sources.is_single &= path.as_ref().is_some_and(Path::is_single_valued);
            if let Some(path) = path.as_ref().filter(|path| !path.0.is_empty()) {
                sources.required.push(path.clone());
            }
            self.names.push((alias_of(source), path));
        }
        sources
    }

    /// How many names are known.
    pub(super) fn depth(&self) -> usize {
        self.names.len()
    }

    /// Forgets the names beyond `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        self.names.truncate(depth);
    }

    /// Where nothing is known yet, a name means the container.
    fn source_path(&self, root: &str, steps: &[Step]) -> Option<Path> {
        let mut path = match self.names.iter().rfind(|(known, _)| *known == root) {
            Some((_, path)) => path.clone()?,
            None if self.names.is_empty() => Path::default(),
            None => return None,
        };
        for step in steps {
            let step = match step {
                Step::Member(name) | Step::Key(name) => Value::from(name.text.as_str()),
                Step::Index(_) => Value::from(0_i64),
            };
            self.descend(&mut path, &step)?;
        }
        Some(path)
    }

    /// The condition of a subquery among the sources on the item, and the path of its values.
    fn rows(&mut self, query: &'q Query, reads_container: bool) -> (Filter, Option<Path>) {
        let depth = self.depth();
        let collapses = !query.group_by.is_empty() || order::may_aggregate(query);
        let filter = self.query(query, false);
        let path = match &query.select.projection {
            _ if collapses => None,
            Projection::Value(expr) => self.reference(expr).map(|reference| reference.path),
            Projection::Star(_) if query.from.len() == 1 => {
                self.names.last().and_then(|(_, path)| path.clone())
            }
            Projection::Star(_) | Projection::List(_) => None,
        };
        self.leave(depth);
        // An aggregate has a value even without rows, so it demands nothing of the item, unless the
        // rows come from all items: then items without rows do not matter.
        let is_demand = reads_container || !collapses;
        (if is_demand { simplify::inexact(filter) } else { Filter::All }, path)
    }
}

/// The normalized name of a function: case and underscores do not matter, except a leading
/// underscore.
pub(super) fn function_key(name: &str) -> String {
    let is_kept = |(place, c): &(usize, char)| *place == 0 || *c != '_';
    name.char_indices().filter(is_kept).map(|(_, c)| c.to_ascii_uppercase()).collect()
}

/// The name of a source's values: as given, or that of the last step. Empty without either.
fn alias_of(source: &Source) -> &str {
    if let Some(alias) = &source.alias {
        return &alias.text;
    }
    match &source.collection {
        Collection::Subquery(_) => "",
        Collection::Path { root, steps } => match steps.last() {
            None => &root.text,
            Some(Step::Member(name) | Step::Key(name)) => &name.text,
            Some(Step::Index(_)) => "",
        },
    }
}
