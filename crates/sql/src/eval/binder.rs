//! The checks between parsing and running: names, functions and their arguments, aggregates and
//! the clauses that cannot stand together. What passes can be evaluated without errors.

use value::Value;

use crate::Query;
use crate::ast::{
    Call, Collection, Count, Expr, ExprKind, OrderBy, OrderByKind, OrderItem, Projection, Source,
    SubqueryKind,
};
use crate::error::Span;
use crate::eval::aggregate::Aggregate;
use crate::eval::{Error, Kind, expression, walk};
use crate::functions;

/// Everything the service would say about a query that parses, in the order of the text.
pub fn check(query: &Query, parameters: &[(String, Value)]) -> Vec<Error> {
    let mut binder = Binder { parameters, names: Vec::new(), errors: Vec::new() };
    binder.query(query, false);
    binder.finish()
}

/// The error of a query that the service plans but does not run: ORDER BY over anything but the
/// first source, or over the elements of an array.
pub(super) fn check_order(query: &Query) -> Result<(), Error> {
    let Some(OrderByKind::Items(items)) = query.order_by.as_ref().map(|order| &order.kind) else {
        return Ok(());
    };
    let first = query.from.first().filter(|source| !source.is_iterator);
    let first_alias = first.and_then(walk::alias_of);
    if items.iter().all(|item| walk::root_of(&item.expr) == first_alias) {
        return Ok(());
    }
    Err(Error { kind: Kind::OrderByCorrelated, span: None })
}

/// What [`check`] says about an expression where `names` are known.
pub(super) fn check_expression(
    expr: &Expr,
    names: &[&str],
    parameters: &[(String, Value)],
) -> Vec<Error> {
    let mut binder = Binder { parameters, names: names.to_vec(), errors: Vec::new() };
    binder.expr(expr, Aggregates::Refused);
    binder.finish()
}

/// Whether an aggregate may stand here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aggregates {
    /// In SELECT.
    Allowed,
    /// In the other clauses.
    Refused,
    /// In an aggregate, which complains itself.
    Nested,
}

struct Binder<'q> {
    parameters: &'q [(String, Value)],
    /// The names known at this place, those of enclosing queries first.
    names: Vec<&'q str>,
    errors: Vec<Error>,
}

impl<'q> Binder<'q> {
    fn finish(mut self) -> Vec<Error> {
        self.errors.sort_by_key(|error| error.span.map_or(0, |span| span.start));
        self.errors
    }

    fn refuse(&mut self, kind: Kind, span: Span) {
        self.errors.push(Error::new(kind, span));
    }

    fn query(&mut self, query: &'q Query, is_subquery: bool) {
        if is_subquery {
            self.subquery_clauses(query);
        }
        let outer = self.names.len();
        for source in &query.from {
            self.source(source, outer);
        }
        if let Some(filter) = &query.filter {
            self.expr(filter, Aggregates::Refused);
        }
        for key in &query.group_by {
            self.expr(key, Aggregates::Refused);
        }
        self.projection(query, outer);
        if let Some(order_by) = &query.order_by {
            self.order_by(order_by, query, outer);
        }
        self.counts(query);
        self.names.truncate(outer);
    }

    /// The clauses that only the outermost query may have.
    fn subquery_clauses(&mut self, query: &Query) {
        if let Some(order_by) = &query.order_by {
            let kind = match order_by.kind {
                OrderByKind::Items(_) => Kind::OrderByInSubquery,
                OrderByKind::Rank(_) => Kind::RankInSubquery,
            };
            self.refuse(kind, order_by.span);
        }
        if let Some(top) = &query.select.top {
            self.refuse(Kind::TopInSubquery, top.span);
        }
        if let Some(clause) = &query.offset_limit {
            self.refuse(Kind::OffsetLimitInSubquery, clause.span);
        }
    }

    /// A source, whose name is known from here on. Where no name is known yet, any means the
    /// container.
    fn source(&mut self, source: &'q Source, outer: usize) {
        match &source.collection {
            Collection::Subquery(query) => self.query(query, true),
            Collection::Path { root, .. } => {
                if !self.names.is_empty() && !self.names.contains(&root.text.as_str()) {
                    self.refuse(Kind::UnresolvedIdentifier(root.text.clone()), root.span);
                }
            }
        }
        let alias = walk::alias_of(source).unwrap_or_default();
        if !alias.is_empty() && self.names[outer..].contains(&alias) {
            self.refuse(Kind::DuplicateAlias(alias.to_owned()), source.span);
        }
        self.names.push(alias);
    }

    fn projection(&mut self, query: &'q Query, outer: usize) {
        match &query.select.projection {
            Projection::Star(span) if query.from.is_empty() => {
                self.refuse(Kind::StarWithoutFrom, *span);
            }
            Projection::Star(span) if !query.group_by.is_empty() => {
                self.refuse(Kind::StarWithGroupBy, *span);
            }
            Projection::Star(span) if query.from.len() > 1 => {
                self.refuse(Kind::StarOverSeveral, *span);
            }
            Projection::Star(_) | Projection::Value(_) => {}
            Projection::List(items) => {
                let names = walk::property_names(items);
                for (place, (name, item)) in names.iter().zip(items).enumerate() {
                    if names[..place].contains(name) {
                        self.refuse(Kind::DuplicateProperty(name.clone()), item.expr.span);
                    }
                }
            }
        }
        let is_grouped = !query.group_by.is_empty() || walk::collapses(query);
        for expr in walk::projected(query) {
            self.expr(expr, Aggregates::Allowed);
            if is_grouped {
                self.grouped(expr, &query.group_by, outer);
            }
        }
    }

    /// Checks that an expression has one value for all rows of a group.
    fn grouped(&mut self, expr: &'q Expr, keys: &[Expr], outer: usize) {
        if walk::aggregate_of(expr).is_some() || is_key(expr, keys) {
            return;
        }
        if walk::root_of(expr).is_some_and(|root| self.names[outer..].contains(&root)) {
            self.refuse(Kind::NotGrouped(expr.to_string()), expr.span);
            return;
        }
        for child in walk::children(expr) {
            self.grouped(child, keys, outer);
        }
    }

    fn order_by(&mut self, order_by: &'q OrderBy, query: &'q Query, outer: usize) {
        let items = match &order_by.kind {
            OrderByKind::Items(items) => items,
            OrderByKind::Rank(_) => {
                return self.refuse(Kind::Unsupported("ORDER BY RANK"), order_by.span);
            }
        };
        let known = self.errors.len();
        for OrderItem { expr, .. } in items {
            self.expr(expr, Aggregates::Refused);
            if !query.group_by.is_empty() {
                self.grouped(expr, &query.group_by, outer);
            }
        }
        if self.errors.len() > known {
            return;
        }
        for OrderItem { expr, .. } in items {
            if walk::root_of(expr).is_none() {
                self.errors.push(Error { kind: Kind::OrderByWithoutPath, span: None });
            }
        }
    }

    fn counts(&mut self, query: &Query) {
        if let Some(top) = &query.select.top {
            self.count(&top.count, Kind::TopCount);
        }
        if let Some(clause) = &query.offset_limit {
            self.count(&clause.offset, Kind::OffsetCount);
            self.count(&clause.limit, Kind::LimitCount);
        }
    }

    fn count(&mut self, count: &Count, refusal: Kind) {
        let Count::Parameter(name) = count else { return };
        match self.parameter(&name.text) {
            None => self.refuse(Kind::MissingParameter(name.text.clone()), name.span),
            Some(value) if value.as_i64().is_some_and(|count| u32::try_from(count).is_ok()) => {}
            Some(_) => self.refuse(refusal, name.span),
        }
    }

    fn parameter(&self, name: &str) -> Option<&'q Value> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn expr(&mut self, expr: &'q Expr, aggregates: Aggregates) {
        match &expr.kind {
            ExprKind::Identifier(name) => {
                let is_known = self.names.contains(&name.as_str());
                if !is_known && expression::constant(name).is_none() {
                    self.refuse(Kind::UnresolvedIdentifier(name.clone()), expr.span);
                }
            }
            ExprKind::Parameter(name) if self.parameter(name).is_none() => {
                self.refuse(Kind::MissingParameter(name.clone()), expr.span);
            }
            ExprKind::Call(call) => return self.call(call, expr.span, aggregates),
            ExprKind::Like { escape: Some(escape), .. }
                if escape.chars().count() != 1 || escape == "\\" =>
            {
                self.refuse(Kind::InvalidEscape, expr.span);
            }
            ExprKind::Subquery { kind, query } => {
                if *kind == SubqueryKind::Scalar && has_many_rows(query, self.names.is_empty()) {
                    self.refuse(Kind::ScalarCardinality, query.span);
                }
                self.query(query, true);
            }
            ExprKind::Let { name, value, body } => {
                self.expr(value, aggregates);
                self.names.push(&name.text);
                self.expr(body, aggregates);
                self.names.pop();
                return;
            }
            ExprKind::Verbatim(_) => {
                self.refuse(Kind::Unsupported("A placeholder of a rewritten query"), expr.span);
            }
            _ => {}
        }
        for child in walk::children(expr) {
            self.expr(child, aggregates);
        }
    }

    fn call(&mut self, call: &'q Call, span: Span, aggregates: Aggregates) {
        let name = &call.name.text;
        if call.is_udf {
            self.refuse(Kind::Unsupported("A user-defined function"), span);
        } else if Aggregate::lookup(name).is_some() {
            return self.aggregate(call, span, aggregates);
        } else if let Some(function) = functions::lookup(name) {
            self.arity(function.name, &function.arity, call.args.len(), span);
        } else {
            self.refuse(Kind::UnknownFunction(name.clone()), call.name.span);
        }
        for argument in &call.args {
            self.expr(argument, aggregates);
        }
    }

    fn aggregate(&mut self, call: &'q Call, span: Span, aggregates: Aggregates) {
        let name = &call.name.text;
        self.arity(name, &(1..=1), call.args.len(), span);
        if aggregates == Aggregates::Refused {
            self.refuse(Kind::MisplacedAggregate(name.clone()), call.name.span);
        }
        let is_nested = |argument| walk::has_aggregate(argument) || walk::has_subquery(argument);
        if aggregates != Aggregates::Nested && call.args.iter().any(is_nested) {
            self.refuse(Kind::NestedAggregate, span);
        }
        for argument in &call.args {
            self.expr(argument, Aggregates::Nested);
        }
    }

    fn arity(
        &mut self,
        name: &str,
        arity: &std::ops::RangeInclusive<usize>,
        count: usize,
        span: Span,
    ) {
        if arity.contains(&count) {
            return;
        }
        let expected = match (*arity.start(), *arity.end()) {
            (least, most) if least == most => least.to_string(),
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) => format!("{least} to {most}"),
        };
        self.refuse(Kind::ArgumentCount { name: name.to_ascii_uppercase(), expected }, span);
    }
}

/// Whether an expression is a key of GROUP BY, or a path that goes on from one.
fn is_key(expr: &Expr, keys: &[Expr]) -> bool {
    let is_deeper = match &expr.kind {
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => {
            walk::root_of(expr).is_some() && is_key(base, keys)
        }
        _ => false,
    };
    is_deeper || keys.iter().any(|key| walk::same(key, expr))
}

/// Whether the shape of a query lets it return several rows for one row around it.
fn has_many_rows(query: &Query, is_outermost: bool) -> bool {
    !walk::collapses(query)
        && query.from.iter().enumerate().any(|(place, source)| {
            let reads_container = is_outermost && place == 0;
            source.is_iterator
                || match &source.collection {
                    Collection::Path { .. } => reads_container,
                    Collection::Subquery(query) => has_many_rows(query, reads_container),
                }
        })
}
