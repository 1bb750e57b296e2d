//! The memory that a query's parameters take. Each mention of a parameter may cost as much as its
//! value, so a short text can ask for any amount of memory. Such queries are rejected before they
//! are compiled.

use std::collections::HashMap;

use value::Value;

use crate::ast::{Collection, Count, Expr, ExprKind, OrderByKind, Projection};
use crate::program::weight;
use crate::{Code, Error, Query};

/// The most bytes that all mentions of parameters may take.
const BYTES_MAX: usize = 16 << 20;

/// Fails if the query's parameters take too much memory.
pub fn check_burden(query: &Query, parameters: &[(String, Value)]) -> Result<(), Error> {
    let weights: HashMap<&str, usize> =
        parameters.iter().map(|(name, value)| (name.as_str(), weight(value))).collect();
    let mut burden = Burden { weights, bytes: 0 };
    burden.query(query);
    if burden.bytes <= BYTES_MAX {
        return Ok(());
    }
    let message = "The SQL query and its parameters exceed the maximum size that a query may have.";
    Err(Error::without_span(Code::TooLong, message))
}

struct Burden<'p> {
    weights: HashMap<&'p str, usize>,
    bytes: usize,
}

impl Burden<'_> {
    fn query(&mut self, query: &Query) {
        match &query.select.projection {
            Projection::Star(_) => {}
            Projection::Value(expr) => self.expr(expr),
            Projection::List(items) => items.iter().for_each(|item| self.expr(&item.expr)),
        }
        for source in &query.from {
            if let Collection::Subquery(inner) = &source.collection {
                self.query(inner);
            }
        }
        for expr in query.filter.iter().chain(&query.group_by) {
            self.expr(expr);
        }
        match query.order_by.as_ref().map(|order| &order.kind) {
            Some(OrderByKind::Items(items)) => items.iter().for_each(|item| self.expr(&item.expr)),
            Some(OrderByKind::Rank(score)) => self.expr(score),
            None => {}
        }
        let counts = query.select.top.iter().map(|top| &top.count);
        for count in counts {
            if let Count::Parameter(name) = count {
                self.mention(&name.text);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Parameter(name) => self.mention(name),
            ExprKind::Subquery { query, .. } => self.query(query),
            _ => {}
        }
        for child in expr.children() {
            self.expr(child);
        }
    }

    fn mention(&mut self, name: &str) {
        let bytes = self.weights.get(name).copied().unwrap_or_default();
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_add_up() {
        let parameters = [("@p".to_owned(), Value::from("x".repeat(1 << 20)))];
        let check = |mentions: usize| {
            let list = vec!["@p"; mentions].join(", ");
            let text = format!("SELECT * FROM c WHERE c.x IN ({list}) OR EXISTS(SELECT VALUE @p)");
            check_burden(&crate::parse(&text).unwrap(), &parameters)
        };
        assert!(check(10).is_ok());
        assert!(check(16).is_err());
    }
}
