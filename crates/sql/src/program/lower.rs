//! Expressions, from the tree to the form that runs: names become frames, functions are looked
//! up, and what is constant is computed once.

use std::sync::Arc;

use value::Value;

use super::aggregate::Aggregate;
use super::compile::Compiler;
use super::like::Pattern;
use super::names::{self, Binding, Name};
use super::node::{AggregateCall, LikePattern, Node, PathStep, SortedValues, Source, SourceKind};
use super::{refusal, walk};
use crate::ast::{Call, Expr, ExprKind};
use crate::functions;

/// Where a path begins.
enum Root {
    Frame(usize),
    Computed { hops: usize, body: Arc<Node> },
}

/// The result of resolving an expression as a path.
enum Found {
    Path(Root, Vec<PathStep>),
    /// A path into rows where only groups are known.
    NotGrouped,
    /// No path.
    Other,
}

impl<'q> Compiler<'q> {
    pub(super) fn expr(&mut self, expr: &'q Expr) -> Node {
        match self.path(expr) {
            Found::Other => {}
            found => return self.found_node(found, expr),
        }
        match &expr.kind {
            ExprKind::Literal(value) => Node::Constant(value.clone()),
            ExprKind::Parameter(name) => self.parameters.node(name),
            ExprKind::Identifier(name) => Node::Constant(constant(name).unwrap_or_default()),
            ExprKind::Verbatim(_) => Node::Constant(Value::Undefined),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Subquery { kind, query } => {
                Node::Subquery { kind: *kind, select: Box::new(self.select(query, false).0) }
            }
            ExprKind::Let { name, value, body } => {
                let value = self.boxed(value);
                self.names.push(Name { text: &name.text, binding: Binding::Value });
                let body = self.boxed(body);
                self.names.pop();
                Node::Let { value, body }
            }
            _ => self.operator(expr),
        }
    }

    fn boxed(&mut self, expr: &'q Expr) -> Box<Node> {
        Box::new(self.expr(expr))
    }

    fn all(&mut self, exprs: &'q [Expr]) -> Vec<Node> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// The operands of AND or OR, with calls of user-defined functions last: their order makes no
    /// difference, and a call is expensive.
    fn operands(&mut self, exprs: &'q [Expr]) -> Vec<Node> {
        let (mut quick, mut dear) = (Vec::new(), Vec::new());
        for expr in exprs {
            let calls = self.shape.functions.len();
            let node = self.expr(expr);
            if self.shape.functions.len() > calls { dear.push(node) } else { quick.push(node) }
        }
        quick.append(&mut dear);
        quick
    }

    /// Everything that is computed from its parts alone.
    fn operator(&mut self, expr: &'q Expr) -> Node {
        let node = match &expr.kind {
            ExprKind::Member { base, name } => {
                Node::Member { base: self.boxed(base), name: name.text.clone() }
            }
            ExprKind::Index { base, index } => {
                Node::Index { base: self.boxed(base), index: self.boxed(index) }
            }
            ExprKind::Array(items) => Node::Array(self.all(items)),
            ExprKind::Object(members) => Node::Object(
                members
                    .iter()
                    .map(|member| (member.name.text.clone(), self.expr(&member.value)))
                    .collect(),
            ),
            ExprKind::Unary { op, operand } => {
                Node::Unary { op: *op, operand: self.boxed(operand) }
            }
            ExprKind::Binary { op, left, right } => {
                Node::Binary { op: *op, left: self.boxed(left), right: self.boxed(right) }
            }
            ExprKind::Logical { op, operands } => {
                Node::Logical { op: *op, operands: self.operands(operands) }
            }
            ExprKind::Conditional { condition, then, otherwise } => Node::Conditional {
                condition: self.boxed(condition),
                then: self.boxed(then),
                otherwise: self.boxed(otherwise),
            },
            ExprKind::In { needle, items, is_negated } => {
                let needle = self.boxed(needle);
                let (items, is_negated) = (self.all(items), *is_negated);
                match constants(&items) {
                    Some(values) => {
                        Node::OneOf { needle, values: SortedValues::new(values), is_negated }
                    }
                    None => Node::In { needle, items, is_negated },
                }
            }
            ExprKind::Between { operand, low, high, is_negated } => Node::Between {
                operand: self.boxed(operand),
                low: self.boxed(low),
                high: self.boxed(high),
                is_negated: *is_negated,
            },
            ExprKind::Like { operand, pattern, escape, is_negated } => {
                let escape = escape.as_ref().and_then(|escape| escape.chars().next());
                let operand = self.boxed(operand);
                let pattern = match self.expr(pattern) {
                    Node::Constant(Value::String(text)) => {
                        LikePattern::Constant(Pattern::new(&text, escape))
                    }
                    node => LikePattern::Computed { pattern: Box::new(node), escape },
                };
                Node::Like { operand, pattern, is_negated: *is_negated }
            }
            _ => Node::Constant(Value::Undefined),
        };
        if is_constant(&node) { self.fold(node) } else { node }
    }

    fn call(&mut self, call: &'q Call) -> Node {
        let name = &call.name.text;
        if call.is_udf {
            let site = self.shape.functions.len();
            self.shape.functions.push(name.clone());
            self.shape.is_deterministic = false;
            return Node::Udf { site, name: name.clone(), args: self.all(&call.args) };
        }
        if let Some(aggregate) = Aggregate::lookup(name) {
            return self.aggregate(aggregate, call);
        }
        let Some(function) = functions::lookup(name) else {
            return Node::Constant(Value::Undefined);
        };
        let mut args = self.all(&call.args);
        match (function.name, &mut args[..]) {
            ("IS_DEFINED", [arg]) => {
                return Node::IsDefined(Box::new(take(arg)));
            }
            ("ARRAY_CONTAINS", [Node::Constant(Value::Array(items)), needle]) => {
                let values = SortedValues::new(std::mem::take(items));
                return Node::OneOf { needle: Box::new(take(needle)), values, is_negated: false };
            }
            ("ARRAY_CONTAINS", [array, needle]) => {
                let (array, needle) = (Box::new(take(array)), Box::new(take(needle)));
                return Node::ArrayContains { array, needle };
            }
            _ => {}
        }
        let is_fixed = is_fixed(function.name);
        self.shape.is_deterministic &= is_fixed;
        // A search can take seconds; a run can be ended meanwhile, compiling cannot.
        let is_quick = !function.name.starts_with("REGEX");
        let can_fold = is_fixed && is_quick && self.calls_to_fold > 0 && args.iter().all(is_value);
        let node = Node::Call { function, args };
        if !can_fold {
            return node;
        }
        self.calls_to_fold -= 1;
        self.fold(node)
    }

    /// An aggregate of the innermost group: its argument belongs to the rows, its value to the
    /// frame of the group.
    fn aggregate(&mut self, aggregate: Aggregate, call: &'q Call) -> Node {
        let (Some(mut group), Some(argument)) = (self.groups.pop(), call.args.first()) else {
            return Node::Constant(Value::Undefined);
        };
        let names = std::mem::replace(&mut self.names, std::mem::take(&mut group.row_names));
        let argument = self.expr(argument);
        group.row_names = std::mem::replace(&mut self.names, names);
        group.aggregates.push(AggregateCall { aggregate, argument });
        let slot = group.key_count + group.aggregates.len() - 1;
        let hops = names::hops(&self.names, group.frame);
        self.groups.push(group);
        Node::Path { hops, steps: vec![PathStep::Index(slot)] }
    }

    /// Computes what is constant. What needs too much is left as it is.
    fn fold(&mut self, node: Node) -> Node {
        match node.evaluate(None, &mut self.folding) {
            Ok(value) => {
                let value = value.into_owned();
                Node::Constant(value)
            }
            Err(_) => node,
        }
    }

    /// The node of a path that a source reads.
    pub(super) fn path_node(&mut self, expr: &Expr) -> Node {
        let found = self.path(expr);
        self.found_node(found, expr)
    }

    fn found_node(&mut self, found: Found, expr: &Expr) -> Node {
        match found {
            Found::Path(Root::Frame(hops), steps) => Node::Path { hops, steps },
            Found::Path(Root::Computed { hops, body }, steps) => {
                let mut node = Node::Computed { hops, body };
                for step in steps {
                    let base = Box::new(node);
                    node = match step {
                        PathStep::Key(name) => Node::Member { base, name },
                        PathStep::Index(index) => {
                            let index = Value::from(i64::try_from(index).unwrap_or(i64::MAX));
                            Node::Index { base, index: Box::new(Node::Constant(index)) }
                        }
                    };
                }
                node
            }
            Found::NotGrouped => {
                self.errors.push(refusal::not_grouped(expr));
                Node::Constant(Value::Undefined)
            }
            Found::Other => Node::Constant(Value::Undefined),
        }
    }

    /// The path that an expression is: a key of GROUP BY, a name, or a step from such a path.
    fn path(&self, expr: &Expr) -> Found {
        if let Some((hops, slot)) = self.group_key(expr) {
            return Found::Path(Root::Frame(hops), vec![PathStep::Index(slot)]);
        }
        let (base, step) = match &expr.kind {
            ExprKind::Identifier(text) => {
                let Some(place) = names::resolve(&self.names, text) else { return Found::Other };
                if self.names[place].binding == Binding::Grouped {
                    return Found::NotGrouped;
                }
                let hops = names::hops(&self.names, place);
                return Found::Path(Root::Frame(hops), Vec::new());
            }
            ExprKind::Member { base, name } => (base, PathStep::Key(name.text.clone())),
            ExprKind::Index { base, index } => match &index.kind {
                ExprKind::Literal(Value::String(name)) => (base, PathStep::Key(name.clone())),
                ExprKind::Literal(index) => {
                    let index = index.as_i64().and_then(|index| usize::try_from(index).ok());
                    let Some(index) = index else { return Found::Other };
                    (base, PathStep::Index(index))
                }
                _ => return Found::Other,
            },
            _ => return Found::Other,
        };
        if let Some(body) = self.computed(base, &step) {
            return body;
        }
        match self.path(base) {
            Found::Path(root, mut steps) => {
                steps.push(step);
                Found::Path(root, steps)
            }
            other => other,
        }
    }

    /// The frame and place of a key of GROUP BY that the expression is.
    fn group_key(&self, expr: &Expr) -> Option<(usize, usize)> {
        self.groups.iter().rev().find_map(|group| {
            let slot = group.keys.position(expr)?;
            let is_of_rows = names::all_within(&self.names, expr, group.row_names.len());
            is_of_rows.then(|| (names::hops(&self.names, group.frame), slot))
        })
    }

    /// The computed property that is the step from the document.
    fn computed(&self, base: &Expr, step: &PathStep) -> Option<Found> {
        let (ExprKind::Identifier(text), PathStep::Key(name)) = (&base.kind, step) else {
            return None;
        };
        let place = names::resolve(&self.names, text)?;
        let (_, body) = self.computed.iter().find(|(known, _)| known == name)?;
        if self.names[place].binding != Binding::Document {
            return None;
        }
        let hops = names::hops(&self.names, place);
        Some(Found::Path(Root::Computed { hops, body: Arc::clone(body) }, Vec::new()))
    }

    /// The binding of a name.
    pub(super) fn binding(&self, text: &str) -> Binding {
        match names::resolve(&self.names, text).map(|place| self.names[place].binding) {
            Some(Binding::Document) => Binding::Document,
            _ => Binding::Value,
        }
    }

    /// The path of an expression of ORDER BY from the document, or the computed property that it
    /// is.
    pub(super) fn stored_path(
        &self,
        expr: &Expr,
        sources: &[Source],
    ) -> (Option<Vec<PathStep>>, Option<String>) {
        let [Source { kind: SourceKind::Document { steps: prefix }, is_iterator: false }, ..] =
            sources
        else {
            return (None, None);
        };
        if self.shape.inner.is_some() {
            return (None, None);
        }
        match (self.path(expr), &expr.kind) {
            (Found::Path(Root::Frame(hops), steps), _) if hops + 1 == sources.len() => {
                (Some(prefix.iter().cloned().chain(steps).collect()), None)
            }
            (Found::Path(Root::Computed { .. }, steps), _) if steps.is_empty() => {
                (None, walk::implied_name(expr).map(str::to_owned))
            }
            _ => (None, None),
        }
    }
}

fn take(node: &mut Node) -> Node {
    std::mem::replace(node, Node::Constant(Value::Undefined))
}

fn is_value(node: &Node) -> bool {
    matches!(node, Node::Constant(_))
}

/// The values of nodes that are all constant.
fn constants(nodes: &[Node]) -> Option<Vec<Value>> {
    let value = |node: &Node| match node {
        Node::Constant(value) => Some(value.clone()),
        _ => None,
    };
    nodes.iter().map(value).collect()
}

/// Whether all parts of an operator are constant.
fn is_constant(node: &Node) -> bool {
    match node {
        Node::Member { base, .. } => is_value(base),
        Node::Index { base, index } => is_value(base) && is_value(index),
        Node::Array(items) => items.iter().all(is_value),
        Node::Object(members) => members.iter().all(|(_, node)| is_value(node)),
        Node::Unary { operand, .. }
        | Node::Like { operand, pattern: LikePattern::Constant(_), .. } => is_value(operand),
        Node::Binary { left, right, .. } => is_value(left) && is_value(right),
        Node::Logical { operands, .. } => operands.iter().all(is_value),
        Node::Conditional { condition, then, otherwise } => {
            is_value(condition) && is_value(then) && is_value(otherwise)
        }
        Node::OneOf { needle, .. } => is_value(needle),
        Node::Between { operand, low, high, .. } => {
            is_value(operand) && is_value(low) && is_value(high)
        }
        _ => false,
    }
}

/// Whether a function gives the same result for the same arguments at any time.
pub(super) fn is_fixed(name: &str) -> bool {
    let name: String = name.chars().filter(|c| *c != '_').collect();
    !name.starts_with("GETCURRENT") && !["RAND", "NOW", "AGO"].contains(&name.as_str())
}

/// Names that mean numbers unless a source uses them.
pub(super) fn constant(name: &str) -> Option<Value> {
    match name {
        "NaN" => Some(Value::from(f64::NAN)),
        "Infinity" => Some(Value::from(f64::INFINITY)),
        _ => None,
    }
}
