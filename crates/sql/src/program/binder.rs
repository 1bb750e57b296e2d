//! The checks between parsing and running: names, functions and their arguments, aggregates, and
//! clauses that cannot be combined. A query that passes can be evaluated without errors.

use std::collections::{HashMap, HashSet};

use value::Value;

use super::aggregate::Aggregate;
use super::keys::Keys;
use super::{JOINS_MAX, Settings, lower, refusal, vector, walk};
use crate::Query;
use crate::ast::{
    Call, Collection, Count, Expr, ExprKind, OrderBy, OrderByKind, OrderItem, Projection, Source,
    SubqueryKind,
};
use crate::error::{Code, Error, Span};
use crate::functions;

/// Everything the service would say about a query that parses, in the order of the text.
pub(super) fn check(query: &Query, settings: &Settings<'_>) -> Vec<Error> {
    let mut binder = Binder::new(settings, Vec::new());
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
    Err(refusal::fixed_without_span(Code::OrderByCorrelated))
}

/// The errors of [`check`] for an expression in which `names` are known.
pub(super) fn check_expression(expr: &Expr, names: &[&str], settings: &Settings<'_>) -> Vec<Error> {
    let mut binder = Binder::new(settings, names.to_vec());
    binder.expr(expr, Aggregates::Refused);
    binder.finish()
}

/// Whether the name is that of a subquery in FROM or JOIN: its values are at no path of a document.
fn is_subquery(sources: &[Source], name: &str) -> bool {
    sources.iter().any(|source| {
        matches!(source.collection, Collection::Subquery(_)) && walk::alias_of(source) == Some(name)
    })
}

/// The most errors reported for a query.
const ERRORS_MAX: usize = 100;

/// Whether an aggregate is allowed here.
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
    settings: &'q Settings<'q>,
    /// The values of the parameters, by name.
    parameters: HashMap<&'q str, &'q Value>,
    /// The names known at this place, those of enclosing queries first.
    names: Vec<&'q str>,
    errors: Vec<Error>,
    /// How many calls of user-defined functions were seen.
    udf_calls: usize,
}

impl<'q> Binder<'q> {
    fn new(settings: &'q Settings<'q>, names: Vec<&'q str>) -> Binder<'q> {
        let parameters = settings.parameters_by_name();
        Binder { settings, parameters, names, errors: Vec::new(), udf_calls: 0 }
    }

    fn finish(mut self) -> Vec<Error> {
        if self.udf_calls > self.settings.udfs_max {
            self.errors.push(refusal::too_many_udf_calls(self.settings.udfs_max));
        }
        self.errors.sort_by_key(|error| error.span.map_or(0, |span| span.start));
        self.errors.truncate(ERRORS_MAX);
        self.errors
    }

    fn refuse(&mut self, code: Code, span: Span) {
        self.errors.push(refusal::fixed(code, span));
    }

    fn query(&mut self, query: &'q Query, is_subquery: bool) {
        if is_subquery {
            self.subquery_clauses(query);
        }
        let outer = self.names.len();
        if query.from.len() > JOINS_MAX + 1 {
            self.errors.push(refusal::too_many_joins(JOINS_MAX));
        }
        for source in &query.from {
            self.source(source, outer);
        }
        if let Some(filter) = &query.filter {
            self.expr(filter, Aggregates::Refused);
        }
        for key in &query.group_by {
            self.expr(key, Aggregates::Refused);
        }
        let keys = Keys::new(&query.group_by);
        self.projection(query, &keys, outer);
        if let Some(order_by) = &query.order_by {
            let keys = (!query.group_by.is_empty()).then_some(&keys);
            self.order_by(order_by, &query.from, keys, outer);
        }
        self.counts(query);
        self.names.truncate(outer);
    }

    /// The clauses that only the outermost query may have.
    fn subquery_clauses(&mut self, query: &Query) {
        if let Some(order_by) = &query.order_by {
            let kind = match order_by.kind {
                OrderByKind::Items(_) => Code::OrderByInSubquery,
                OrderByKind::Rank(_) => Code::RankInSubquery,
            };
            self.refuse(kind, order_by.span);
        }
        if let Some(top) = &query.select.top {
            self.refuse(Code::TopInSubquery, top.span);
        }
        if let Some(clause) = &query.offset_limit {
            self.refuse(Code::OffsetLimitInSubquery, clause.span);
        }
    }

    /// A source, whose name is known from here on. Where no name is known yet, any means the
    /// container.
    fn source(&mut self, source: &'q Source, outer: usize) {
        match &source.collection {
            Collection::Subquery(query) => self.query(query, true),
            Collection::Path { root, .. } => {
                if !self.names.is_empty() && !self.names.contains(&root.text.as_str()) {
                    self.errors.push(refusal::unresolved(&root.text, root.span));
                }
            }
        }
        let alias = walk::alias_of(source).unwrap_or_default();
        if !alias.is_empty() && self.names[outer..].contains(&alias) {
            self.errors.push(refusal::duplicate_alias(alias, source.span));
        }
        self.names.push(alias);
    }

    fn projection(&mut self, query: &'q Query, keys: &Keys, outer: usize) {
        match &query.select.projection {
            Projection::Star(span) if query.from.is_empty() => {
                self.refuse(Code::StarWithoutFrom, *span);
            }
            Projection::Star(span) if !query.group_by.is_empty() => {
                self.refuse(Code::StarWithGroupBy, *span);
            }
            Projection::Star(span) if query.from.len() > 1 => {
                self.refuse(Code::StarOverSeveral, *span);
            }
            Projection::Star(_) | Projection::Value(_) => {}
            Projection::List(items) => {
                let mut seen = HashSet::new();
                for (name, item) in walk::property_names(items).into_iter().zip(items) {
                    if seen.contains(&name) {
                        self.errors.push(refusal::duplicate_property(&name, item.expr.span));
                    }
                    seen.insert(name);
                }
            }
        }
        let is_grouped = !query.group_by.is_empty() || walk::collapses(query);
        for expr in query.projected() {
            self.expr(expr, Aggregates::Allowed);
            if is_grouped {
                self.grouped(expr, keys, outer);
            }
        }
    }

    /// Checks that an expression has one value for all rows of a group.
    fn grouped(&mut self, expr: &'q Expr, keys: &Keys, outer: usize) {
        if walk::aggregate_of(expr).is_some() || keys.covers(expr) {
            return;
        }
        if walk::root_of(expr).is_some_and(|root| self.names[outer..].contains(&root)) {
            self.errors.push(refusal::not_grouped(expr));
            return;
        }
        for child in expr.children() {
            self.grouped(child, keys, outer);
        }
    }

    fn order_by(
        &mut self,
        order_by: &'q OrderBy,
        sources: &[Source],
        keys: Option<&Keys>,
        outer: usize,
    ) {
        let items = match &order_by.kind {
            OrderByKind::Items(items) => items,
            OrderByKind::Rank(_) => {
                self.errors.push(refusal::unsupported("ORDER BY RANK", order_by.span));
                return;
            }
        };
        let known = self.errors.len();
        for OrderItem { expr, .. } in items {
            self.expr(expr, Aggregates::Refused);
            if let Some(keys) = keys {
                self.grouped(expr, keys, outer);
            }
        }
        if self.errors.len() > known {
            return;
        }
        // Groups are sorted once all of them are known, regardless of their contents.
        let is_row = keys.is_none();
        let is_path = |item: &OrderItem| {
            walk::root_of(&item.expr).is_some_and(|root| !is_row || !is_subquery(sources, root))
        };
        if !items.iter().all(is_path) {
            self.errors.push(refusal::fixed_without_span(Code::OrderByWithoutPath));
        }
    }

    fn counts(&mut self, query: &Query) {
        if let Some(top) = &query.select.top {
            self.count(&top.count, Code::TopCount);
        }
        if let Some(clause) = &query.offset_limit {
            self.count(&clause.offset, Code::OffsetCount);
            self.count(&clause.limit, Code::LimitCount);
        }
    }

    fn count(&mut self, count: &Count, refusal: Code) {
        let Count::Parameter(name) = count else { return };
        match self.parameter(&name.text) {
            None => self.errors.push(refusal::missing_parameter(&name.text, name.span)),
            Some(value) if value.as_i64().is_some_and(|count| u32::try_from(count).is_ok()) => {}
            Some(_) => self.refuse(refusal, name.span),
        }
    }

    fn parameter(&self, name: &str) -> Option<&'q Value> {
        self.parameters.get(name).copied()
    }

    fn expr(&mut self, expr: &'q Expr, aggregates: Aggregates) {
        match &expr.kind {
            ExprKind::Identifier(name) => {
                let is_known = self.names.contains(&name.as_str());
                if !is_known && lower::constant(name).is_none() {
                    self.errors.push(refusal::unresolved(name, expr.span));
                }
            }
            ExprKind::Parameter(name) if self.parameter(name).is_none() => {
                self.errors.push(refusal::missing_parameter(name, expr.span));
            }
            ExprKind::Call(call) => return self.call(call, expr.span, aggregates),
            ExprKind::Like { escape: Some(escape), .. }
                if escape.chars().count() != 1 || escape == "\\" =>
            {
                self.refuse(Code::InvalidEscape, expr.span);
            }
            ExprKind::Subquery { kind, query } => {
                if *kind == SubqueryKind::Scalar && has_many_rows(query, self.names.is_empty()) {
                    self.refuse(Code::ScalarCardinality, query.span);
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
            ExprKind::Index { base, index } if !is_path(base) && !is_constant(index) => {
                self.refuse(Code::MemberIndexer, expr.span);
            }
            ExprKind::Verbatim(_) => {
                let what = "A placeholder of a rewritten query";
                self.errors.push(refusal::unsupported(what, expr.span));
            }
            _ => {}
        }
        for child in expr.children() {
            self.expr(child, aggregates);
        }
    }

    fn call(&mut self, call: &'q Call, span: Span, aggregates: Aggregates) {
        let name = &call.name.text;
        let mut aggregates = aggregates;
        if call.is_udf {
            self.udf_calls += 1;
            aggregates = Aggregates::Refused;
            if self.settings.has_udf.is_some_and(|has_udf| !has_udf(name)) {
                self.errors.push(refusal::unknown_udf(name, call.name.span));
            }
        } else if Aggregate::lookup(name).is_some() {
            return self.aggregate(call, span, aggregates);
        } else if let Some(function) = functions::lookup(name) {
            self.arity(function.name, &function.arity, call.args.len(), span);
            if !function.is_supported {
                self.unsupported(call, span);
            }
        } else {
            self.errors.push(refusal::unknown_function(name, call.name.span));
        }
        for argument in &call.args {
            self.expr(argument, aggregates);
        }
    }

    /// Rejects the functions of full-text and vector search.
    fn unsupported(&mut self, call: &Call, span: Span) {
        let name = &call.name.text;
        if plain_name(name) == "VECTORDISTANCE" {
            self.errors.extend(vector::check_options(call));
        }
        match plain_name(name).as_str() {
            "FULLTEXTSCORE" => self.refuse(Code::MisplacedScore, span),
            // COMPAT: the service knows RRF only after ORDER BY RANK.
            "RRF" => self.errors.push(refusal::unknown_function(name, call.name.span)),
            _ => self.errors.push(refusal::unsupported(&format!("The {name} function"), span)),
        }
    }

    fn aggregate(&mut self, call: &'q Call, span: Span, aggregates: Aggregates) {
        let name = &call.name.text;
        self.arity(name, &(1..=1), call.args.len(), span);
        if aggregates == Aggregates::Refused {
            self.errors.push(refusal::misplaced_aggregate(name, call.name.span));
        }
        let is_nested = |argument| walk::has_aggregate(argument) || walk::has_subquery(argument);
        if aggregates != Aggregates::Nested && call.args.iter().any(is_nested) {
            self.refuse(Code::NestedAggregate, span);
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
        self.errors.push(refusal::argument_count(name, &expected, span));
    }
}

/// A function's name in upper case and without underscores.
fn plain_name(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_uppercase()).collect()
}

/// Whether an expression is a name with any number of steps.
fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Identifier(_) | ExprKind::Parameter(_) => true,
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => is_path(base),
        _ => false,
    }
}

/// Whether no part of an expression depends on a row.
fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Identifier(name) => lower::constant(name).is_some(),
        ExprKind::Subquery { .. } | ExprKind::Let { .. } => false,
        ExprKind::Call(call) if call.is_udf => false,
        _ => expr.children().into_iter().all(is_constant),
    }
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
