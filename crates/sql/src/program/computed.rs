//! Computed properties: named expressions over a document, which queries use like stored ones.

use super::walk;
use super::{Settings, aggregate::Aggregate, binder, lower};
use crate::Query;
use crate::ast::{Collection, Expr, ExprKind, Projection, Source, Step, SubqueryKind};
use crate::functions;

/// A computed property of a collection. `query` is one that [`check_computed`] passed.
#[derive(Clone, Debug)]
pub struct Computed {
    /// Its name in queries.
    pub name: String,
    /// `SELECT VALUE <expression> FROM <alias>`.
    pub query: Query,
}

/// The members that the service writes; no computed property can be called like one.
const SYSTEM_NAMES: [&str; 7] = ["id", "_rid", "_ts", "_etag", "_self", "_attachments", "_lsn"];

/// Checks the definition of a computed property. The error is a sentence that says what is wrong.
pub fn check_computed(name: &str, query_text: &str) -> Result<Query, String> {
    let refused = |what: &str| Err(format!("The computed property '{name}' {what}."));
    if name.is_empty() {
        return refused("has no name");
    }
    if SYSTEM_NAMES.contains(&name) {
        return refused("has the name of a system property");
    }
    let query = match crate::parse(query_text) {
        Ok(query) => query,
        Err(error) => return refused(&format!("has an invalid query: {}", without_end(&error))),
    };
    let [source] = &query.from[..] else {
        return refused("must have one source in its FROM clause");
    };
    let is_plain = matches!(&source.collection, Collection::Path { steps, .. } if steps.is_empty());
    if !is_plain || source.is_iterator {
        return refused("must be over the items of the container");
    }
    if !matches!(query.select.projection, Projection::Value(_)) {
        return refused("must have a query of the form 'SELECT VALUE <expression> FROM <alias>'");
    }
    if let Some(what) = forbidden_in_query(&query) {
        return refused(&format!("cannot use {what}"));
    }
    match binder::check(&query, &Settings::default()).first() {
        Some(error) => refused(&format!("has an invalid query: {}", without_end(error))),
        None => Ok(query),
    }
}

/// [`check_computed`] for all computed properties of a collection, given as names and queries.
/// They cannot refer to each other.
pub fn check_computed_all(definitions: &[(&str, &str)]) -> Result<Vec<Computed>, String> {
    let mut checked = Vec::new();
    for (name, text) in definitions {
        let query = check_computed(name, text)?;
        let alias = query.from.first().and_then(walk::alias_of).unwrap_or_default();
        let referred = query
            .projected()
            .into_iter()
            .find_map(|expr| definitions.iter().find(|(other, _)| refers_to(expr, alias, other)));
        if let Some((other, _)) = referred {
            return Err(format!(
                "The computed property '{name}' cannot refer to the computed property '{other}'."
            ));
        }
        checked.push(Computed { name: (*name).to_owned(), query });
    }
    Ok(checked)
}

/// A sentence without its end, to be continued.
fn without_end(error: &crate::Error) -> String {
    error.message.trim_end_matches('.').to_owned()
}

/// What a query uses that is not allowed in a computed property.
fn forbidden_in_query(query: &Query) -> Option<String> {
    let clause = match query {
        _ if query.filter.is_some() => Some("WHERE"),
        _ if !query.group_by.is_empty() => Some("GROUP BY"),
        _ if query.order_by.is_some() => Some("ORDER BY"),
        _ if query.offset_limit.is_some() => Some("OFFSET LIMIT"),
        _ if query.select.top.is_some() => Some("TOP"),
        _ if query.select.is_distinct => Some("DISTINCT"),
        _ if query.from.len() > 1 => Some("JOIN"),
        _ => None,
    };
    let in_sources = || {
        query.from.iter().find_map(|source| match &source.collection {
            Collection::Subquery(query) => forbidden_in_query(query),
            Collection::Path { .. } => None,
        })
    };
    clause
        .map(str::to_owned)
        .or_else(in_sources)
        .or_else(|| query.projected().into_iter().find_map(forbidden_in))
}

fn forbidden_in(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Parameter(_) => return Some("a parameter".to_owned()),
        ExprKind::Subquery { kind: SubqueryKind::Array, query } => {
            return forbidden_in_query(query);
        }
        ExprKind::Subquery { kind, .. } => {
            return Some(match kind {
                SubqueryKind::Exists => "EXISTS".to_owned(),
                SubqueryKind::All => "ALL".to_owned(),
                SubqueryKind::First => "FIRST".to_owned(),
                SubqueryKind::Last => "LAST".to_owned(),
                SubqueryKind::Scalar | SubqueryKind::Array => "a scalar subquery".to_owned(),
            });
        }
        ExprKind::Call(call) => {
            let name = &call.name.text;
            if call.is_udf {
                return Some("a user-defined function".to_owned());
            }
            if Aggregate::lookup(name).is_some() {
                return Some(format!("the aggregate function '{name}'"));
            }
            let function = functions::lookup(name);
            let is_fixed = function.is_none_or(|function| lower::is_fixed(function.name));
            let is_spatial = function.is_some_and(|function| function.name.starts_with("ST_"));
            if !is_fixed || is_spatial {
                return Some(format!("the function '{name}'"));
            }
        }
        _ => {}
    }
    expr.children().into_iter().find_map(forbidden_in)
}

/// Whether the expression reads the member of that name of the document.
fn refers_to(expr: &Expr, alias: &str, name: &str) -> bool {
    let is_member = match &expr.kind {
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => {
            matches!(&base.kind, ExprKind::Identifier(root) if root == alias)
                && walk::implied_name(expr) == Some(name)
        }
        ExprKind::Subquery { query, .. } => query_refers_to(query, alias, name),
        _ => false,
    };
    is_member || expr.children().into_iter().any(|child| refers_to(child, alias, name))
}

fn query_refers_to(query: &Query, alias: &str, name: &str) -> bool {
    let in_source = |source: &Source| match &source.collection {
        Collection::Subquery(query) => query_refers_to(query, alias, name),
        Collection::Path { root, steps } => {
            let is_step = |step: &Step| match step {
                Step::Member(step) | Step::Key(step) => step.text == name,
                Step::Index(_) => false,
            };
            root.text == alias && steps.first().is_some_and(is_step)
        }
    };
    query.from.iter().any(in_source)
        || query.projected().into_iter().any(|expr| refers_to(expr, alias, name))
}
