//! From the tree of a query that was checked to the form that runs. This file has the clauses,
//! `lower` the expressions.

use std::sync::Arc;

use value::Value;

use super::aggregate::Aggregate;
use super::keys::Keys;
use super::names::{Binding, Name};
use super::node::{AggregateCall, Node, PathStep, Projection, Select, Source, SourceKind};
use super::parameters::Parameters;
use super::run::Run;
use super::shape::{OrderKey, Shape};
use super::{Program, Settings, needs, refusal, walk};
use crate::ast::{
    self, Collection, Count, Direction, Expr, ExprKind, OrderByKind, OrderItem, Query, Step,
};
use crate::error::Error;

/// Memory that all folded constants of a query may use; what needs more is left for the run.
const FOLD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Calls that are computed while compiling; the others are left for the run, which can be
/// cancelled.
const FOLDED_CALLS_MAX: usize = 1000;

/// Turns one query into a program.
pub(super) struct Compiler<'q> {
    settings: &'q Settings<'q>,
    pub(super) parameters: Parameters<'q>,
    pub(super) names: Vec<Name<'q>>,
    /// The queries around this place that group their rows, the innermost last.
    pub(super) groups: Vec<Group<'q>>,
    /// Computed properties and their expressions.
    pub(super) computed: Vec<(&'q str, Arc<Node>)>,
    /// Where constants are folded.
    pub(super) folding: Run<'static>,
    pub(super) calls_to_fold: usize,
    pub(super) errors: Vec<Error>,
    pub(super) shape: Shape,
}

/// A query that groups its rows, while its SELECT and ORDER BY are compiled.
pub(super) struct Group<'q> {
    pub(super) keys: Keys,
    pub(super) key_count: usize,
    /// The names that rows know.
    pub(super) row_names: Vec<Name<'q>>,
    /// The place of the group's frame among the names.
    pub(super) frame: usize,
    pub(super) aggregates: Vec<AggregateCall>,
}

/// Compiles a query that was checked.
pub(super) fn compile(query: &Query, settings: &Settings<'_>) -> Result<Program, Vec<Error>> {
    compile_as(query, settings, false)
}

fn compile_as(
    query: &Query,
    settings: &Settings<'_>,
    is_inner: bool,
) -> Result<Program, Vec<Error>> {
    let mut compiler = Compiler::new(settings);
    compiler.read_computed();
    compiler.shape.is_deterministic = true;
    let (select, mut order) = compiler.select(query, true);
    // One row has no order, unless it lists the others.
    if select.is_aggregate && !select.aggregates.iter().any(AggregateCall::lists_rows) {
        order.clear();
        compiler.shape.order.clear();
    }
    compiler.outline(query, &select);
    if compiler.errors.is_empty() {
        let needs = needs::of(&select, &order, &compiler.shape);
        let constant_bytes = compiler.constant_bytes();
        Ok(Program { select, order, shape: compiler.shape, is_inner, needs, constant_bytes })
    } else {
        Err(compiler.errors)
    }
}

impl<'q> Compiler<'q> {
    pub(super) fn new(settings: &'q Settings<'q>) -> Compiler<'q> {
        Compiler {
            settings,
            parameters: Parameters::new(settings),
            names: Vec::new(),
            groups: Vec::new(),
            computed: Vec::new(),
            folding: Run::new(0, 0)
                .with_memory_limit(FOLD_BYTES_MAX)
                .with_plane(settings.is_planar),
            calls_to_fold: FOLDED_CALLS_MAX,
            errors: Vec::new(),
            shape: Shape::default(),
        }
    }

    /// About how much the constants take that the program holds, at most.
    fn constant_bytes(&self) -> usize {
        let of_inner = self.shape.inner.as_ref().map_or(0, |inner| inner.constant_bytes);
        self.folding.mark() + self.parameters.copied_bytes() + of_inner
    }

    /// Compiles the expressions of the computed properties, which do not know each other.
    fn read_computed(&mut self) {
        let mut computed = Vec::new();
        for property in self.settings.computed {
            let ast::Projection::Value(expr) = &property.query.select.projection else { continue };
            let alias = property.query.from.first().and_then(walk::alias_of).unwrap_or_default();
            self.names.push(Name { text: alias, binding: Binding::Value });
            computed.push((property.name.as_str(), Arc::new(self.expr(expr))));
            self.names.clear();
        }
        self.computed = computed;
    }

    /// Compiles a query and the keys of its ORDER BY. `is_source` tells whether the container may
    /// be read: by the outermost query, and by the first source in its FROM.
    pub(super) fn select(&mut self, query: &'q Query, is_source: bool) -> (Select, Vec<Node>) {
        let outer = self.names.len();
        let sources: Vec<Source> = query
            .from
            .iter()
            .enumerate()
            .map(|(place, source)| self.source(source, is_source && place == 0))
            .collect();
        let filter = query.filter.as_ref().map(|filter| self.expr(filter));
        if outer == 0 {
            self.shape.calls_for_rows = !self.shape.functions.is_empty();
        }
        let keys: Vec<Node> = query.group_by.iter().map(|key| self.expr(key)).collect();
        let is_aggregate = walk::collapses(query);
        let mut order = Vec::new();
        if keys.is_empty() {
            order = self.order(query, &sources);
        }
        let is_grouped = is_aggregate || !keys.is_empty();
        if is_grouped {
            self.enter_group(query, outer);
        }
        let projection = self.projection(query);
        if !keys.is_empty() {
            order = self.order(query, &sources);
        }
        let group = if is_grouped { self.groups.pop() } else { None };
        self.names.truncate(outer);
        let aggregates = group.map_or_else(Vec::new, |group| group.aggregates);
        let is_distinct = query.select.is_distinct;
        let select =
            Select { sources, filter, keys, aggregates, is_aggregate, projection, is_distinct };
        (select, order)
    }

    /// From here on the sources are known by their groups only.
    fn enter_group(&mut self, query: &'q Query, outer: usize) {
        let row_names = self.names.clone();
        for name in &mut self.names[outer..] {
            name.binding = Binding::Grouped;
        }
        let frame = self.names.len();
        self.names.push(Name { text: "", binding: Binding::Value });
        self.groups.push(Group {
            keys: Keys::new(&query.group_by),
            key_count: query.group_by.len(),
            row_names,
            frame,
            aggregates: Vec::new(),
        });
    }

    /// A source, whose name is known from here on.
    fn source(&mut self, source: &'q ast::Source, is_source: bool) -> Source {
        let reads_container = self.names.is_empty();
        let mut binding = Binding::Value;
        let kind = match &source.collection {
            Collection::Path { root, steps } if reads_container => {
                if !is_source {
                    self.errors.push(refusal::container_in_subquery(root.span));
                }
                if steps.is_empty() && !source.is_iterator {
                    binding = Binding::Document;
                }
                SourceKind::Document { steps: steps.iter().map(step).collect() }
            }
            Collection::Path { root, steps } => {
                if steps.is_empty() && !source.is_iterator {
                    binding = self.binding(&root.text);
                }
                SourceKind::Bound(self.path_node(&path_expr(root, steps)))
            }
            Collection::Subquery(query) if reads_container && is_source && is_whole(query) => {
                match compile_as(query, self.settings, true) {
                    Ok(program) => {
                        self.shape.is_deterministic &= program.shape.is_deterministic;
                        self.shape.functions.extend_from_slice(&program.shape.functions);
                        self.shape.inner = Some(Arc::new(program));
                    }
                    Err(errors) => self.errors.extend(errors),
                }
                SourceKind::Document { steps: Vec::new() }
            }
            Collection::Subquery(query) => {
                SourceKind::Subquery(Box::new(self.select(query, is_source).0))
            }
        };
        let text = walk::alias_of(source).unwrap_or_default();
        self.names.push(Name { text, binding });
        Source { kind, is_iterator: source.is_iterator }
    }

    fn projection(&mut self, query: &'q Query) -> Projection {
        match &query.select.projection {
            ast::Projection::Star(_) => Projection::Frame,
            ast::Projection::Value(expr) => Projection::Value(self.expr(expr)),
            ast::Projection::List(items) => {
                let names = walk::property_names(items);
                let nodes = items.iter().map(|item| self.expr(&item.expr));
                Projection::List(names.into_iter().zip(nodes).collect())
            }
        }
    }

    fn order(&mut self, query: &'q Query, sources: &[Source]) -> Vec<Node> {
        let Some(OrderByKind::Items(items)) = query.order_by.as_ref().map(|order| &order.kind)
        else {
            return Vec::new();
        };
        let mut nodes = Vec::new();
        for OrderItem { expr, direction } in items {
            let is_row = query.group_by.is_empty();
            let (path, computed) =
                if is_row { self.stored_path(expr, sources) } else { (None, None) };
            let is_descending = *direction == Some(Direction::Descending);
            self.shape.order.push(OrderKey { path, computed, is_descending });
            nodes.push(self.expr(expr));
        }
        nodes
    }

    /// The rest of the shape, besides what was recorded on the way.
    fn outline(&mut self, query: &'q Query, select: &Select) {
        let count = |count: &Count| self.count(count);
        let (top, clause) = (query.select.top.as_ref(), query.offset_limit.as_ref());
        let (top, offset) = (top.map(|top| count(&top.count)), clause.map(|c| count(&c.offset)));
        let limit = clause.map(|clause| count(&clause.limit));
        let shape = &mut self.shape;
        (shape.top, shape.offset, shape.limit) = (top, offset.unwrap_or_default(), limit);
        shape.reads_container = reads_container(query);
        shape.has_joins = has_joins(select);
        shape.has_filter = has_filter(select);
        shape.is_distinct = select.is_distinct;
        shape.is_aggregate = select.is_aggregate;
        shape.groups = select.is_grouped();
        if let [Source { kind: SourceKind::Document { steps }, .. }, ..] = &select.sources[..] {
            shape.source_path.clone_from(steps);
        }
        let is_plain = shape.reads_container
            && shape.inner.is_none()
            && matches!(
                &select.sources[..],
                [Source { kind: SourceKind::Document { steps }, is_iterator: false }]
                    if steps.is_empty()
            );
        let is_frame =
            |node: &Node| matches!(node, Node::Path { hops: 0, steps } if steps.is_empty());
        let is_row = match &select.projection {
            Projection::Frame => true,
            Projection::Value(node) => is_frame(node),
            Projection::List(_) => false,
        };
        let is_count = |call: &AggregateCall| {
            let counts = match &call.argument {
                Node::Constant(value) => !value.is_undefined(),
                Node::Shared(value) => !value.is_undefined(),
                node => is_frame(node),
            };
            call.aggregate == Aggregate::Count && counts
        };
        shape.projects_document = is_plain && is_row && !shape.is_aggregate && !shape.groups;
        shape.counts_all = is_plain
            && shape.is_aggregate
            && shape.order.is_empty()
            && select.aggregates.iter().all(is_count);
    }

    /// The number of rows; parameters were checked before.
    fn count(&self, count: &Count) -> u64 {
        match count {
            Count::Literal(count) => u64::from(*count),
            Count::Parameter(name) => {
                let count = self.parameters.get(&name.text).and_then(Value::as_i64);
                count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
            }
        }
    }
}

/// Whether the outermost FROM leads to the container.
fn reads_container(query: &Query) -> bool {
    match query.from.first().map(|source| &source.collection) {
        None => false,
        Some(Collection::Path { .. }) => true,
        Some(Collection::Subquery(query)) => reads_container(query),
    }
}

/// Whether a source of the container must see all of it before it gives its first value.
fn is_whole(query: &Query) -> bool {
    let gathers = query.select.is_distinct || !query.group_by.is_empty() || walk::collapses(query);
    gathers && reads_container(query)
}

fn has_joins(select: &Select) -> bool {
    select.sources.len() > 1
        || select.sources.iter().any(|source| {
            let is_within = match &source.kind {
                SourceKind::Subquery(select) => has_joins(select),
                _ => false,
            };
            source.is_iterator || is_within
        })
}

fn has_filter(select: &Select) -> bool {
    select.filter.is_some()
        || select.sources.iter().any(|source| match &source.kind {
            SourceKind::Subquery(select) => has_filter(select),
            _ => false,
        })
}

fn step(step: &Step) -> PathStep {
    match step {
        Step::Member(name) | Step::Key(name) => PathStep::Key(name.text.clone()),
        Step::Index(index) => PathStep::Index(usize::try_from(*index).unwrap_or(usize::MAX)),
    }
}

/// The path of a source as an expression, so that it is resolved by the same rules.
fn path_expr(root: &ast::Name, steps: &[Step]) -> Expr {
    let mut expr = Expr::new(ExprKind::Identifier(root.text.clone()), root.span);
    for step in steps {
        let kind = match step {
            Step::Member(name) | Step::Key(name) => {
                ExprKind::Member { base: Box::new(expr), name: name.clone() }
            }
            Step::Index(index) => {
                let index = Value::from(i64::try_from(*index).unwrap_or(i64::MAX));
                let index = Expr::from(ExprKind::Literal(index));
                ExprKind::Index { base: Box::new(expr), index: Box::new(index) }
            }
        };
        expr = Expr::new(kind, root.span);
    }
    expr
}
