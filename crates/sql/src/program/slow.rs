//! Whether a single document can keep a query busy: loops within loops, functions within loops, and
//! functions that take more than a few passes over their arguments. Such queries should not run on
//! shared threads.

use super::Aggregate;
use crate::Query;
use crate::ast::{Collection, Expr, ExprKind, OrderByKind};

/// How the names of functions begin that search or compare at length.
const SLOW_FUNCTIONS: [&str; 2] = ["REGEX", "ST"];

/// Whether a document can take long.
pub fn is_slow(query: &Query) -> bool {
    let mut found = Found::default();
    found.query(query);
    found.is_slow || found.loops > 1 || found.loops == 1 && found.has_calls
}

/// What a query contains. Loops side by side are treated as nested ones.
#[derive(Default)]
struct Found {
    loops: usize,
    has_calls: bool,
    is_slow: bool,
}

impl Found {
    fn query(&mut self, query: &Query) {
        for source in &query.from {
            self.loops += usize::from(source.is_iterator);
            if let Collection::Subquery(inner) = &source.collection {
                self.query(inner);
            }
        }
        let clauses = query.projected().into_iter();
        for expr in clauses.chain(&query.filter).chain(&query.group_by) {
            self.expr(expr);
        }
        match query.order_by.as_ref().map(|order| &order.kind) {
            Some(OrderByKind::Items(items)) => items.iter().for_each(|item| self.expr(&item.expr)),
            Some(OrderByKind::Rank(score)) => self.expr(score),
            None => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Like { .. } => self.is_slow = true,
            ExprKind::Call(call) => {
                let name: String = call.name.text.chars().filter(|c| *c != '_').collect();
                let name = name.to_ascii_uppercase();
                self.is_slow |= call.is_udf;
                self.is_slow |= SLOW_FUNCTIONS.iter().any(|slow| name.starts_with(slow));
                self.has_calls |= call.is_udf || Aggregate::lookup(&call.name.text).is_none();
            }
            ExprKind::Subquery { query, .. } => self.query(query),
            _ => {}
        }
        for child in expr.children() {
            self.expr(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_slow;

    #[test]
    fn queries() {
        for (text, expected) in [
            ("SELECT * FROM c WHERE c.a = 1 ORDER BY c.b", false),
            ("SELECT VALUE t FROM c JOIN t IN c.tags WHERE t.n > 1", false),
            ("SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags", false),
            ("SELECT VALUE t FROM c JOIN t IN c.tags WHERE ARRAY_CONTAINS(c.x, t)", true),
            ("SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags)", false),
            ("SELECT VALUE 1 FROM c JOIN a IN c.x JOIN b IN c.x", true),
            ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.x) FROM c JOIN a IN c.x", true),
            ("SELECT * FROM c WHERE c.a LIKE '%x%'", true),
            ("SELECT * FROM c WHERE NOT REGEX_MATCH(c.a, 'x')", true),
            ("SELECT * FROM c WHERE ST_DISTANCE(c.a, c.b) < 5", true),
            ("SELECT VALUE udf.f(c) FROM c", true),
        ] {
            assert_eq!(is_slow(&crate::parse(text).unwrap()), expected, "{text}");
        }
    }
}
