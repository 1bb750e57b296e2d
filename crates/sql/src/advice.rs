//! How a query could be written better: the rules of the service's query advisor. Clients know the
//! sentence of each rule; we send its id.

use value::Value;

use crate::ast::{Call, Collection, Expr, ExprKind, OrderByKind, Query};

/// The rules, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// ARRAY_CONTAINS that looks for parts of objects.
    PartialArrayContains = 1000,
    /// DISTINCT over a JOIN.
    DistinctAndJoin,
    /// CONTAINS, where STARTSWITH might do.
    Contains,
    /// STARTSWITH or StringEquals that ignores case.
    CaseInsensitiveSearch,
    /// ENDSWITH that ignores case.
    CaseInsensitiveEndsWith,
    /// GROUP BY something that could be a computed property.
    GroupByExpression,
    /// A comparison with UPPER or LOWER.
    UpperLowerComparison,
    /// `GetCurrentDateTime` in WHERE, where the static form gives an index something to do.
    GetCurrentDateTime,
    /// `GetCurrentTicks` in WHERE, where the static form gives an index something to do.
    GetCurrentTicks,
    /// `GetCurrentTimestamp` in WHERE, where the static form gives an index something to do.
    GetCurrentTimestamp,
}

/// The advice on a query as JSON; `None` if there is none. The service's advice sentences have no
/// parameters, so this never returns any.
pub fn of(query: &Query, parameters: &[(String, Value)]) -> Option<String> {
    let mut advisor = Advisor { parameters, found: Vec::new(), is_in_filter: false };
    advisor.query(query);
    let mut found = advisor.found;
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        return None;
    }
    let entries: Vec<String> =
        found.iter().map(|rule| format!(r#"{{"Id":"QA{}","Params":[]}}"#, *rule as u16)).collect();
    Some(format!("[{}]", entries.join(",")))
}

/// A walk over a query. Its depth is bounded by that of the tree.
struct Advisor<'q> {
    parameters: &'q [(String, Value)],
    found: Vec<Rule>,
    /// Whether we are within WHERE, of this query or of one around it.
    is_in_filter: bool,
}

impl Advisor<'_> {
    fn query(&mut self, query: &Query) {
        if query.select.is_distinct && query.from.len() > 1 {
            self.found.push(Rule::DistinctAndJoin);
        }
        for source in &query.from {
            if let Collection::Subquery(inner) = &source.collection {
                self.query(inner);
            }
        }
        for expr in query.projected() {
            self.expr(expr);
        }
        if let Some(filter) = &query.filter {
            let was_in_filter = std::mem::replace(&mut self.is_in_filter, true);
            self.expr(filter);
            self.is_in_filter = was_in_filter;
        }
        for expr in &query.group_by {
            if is_computable(expr) {
                self.found.push(Rule::GroupByExpression);
            }
            self.expr(expr);
        }
        match query.order_by.as_ref().map(|order| &order.kind) {
            None => {}
            Some(OrderByKind::Items(items)) => {
                for item in items {
                    self.expr(&item.expr);
                }
            }
            Some(OrderByKind::Rank(expr)) => self.expr(expr),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(call) if !call.is_udf => self.call(call),
            ExprKind::Subquery { query, .. } => self.query(query),
            _ if self.is_in_filter && compares_case(expr) => {
                self.found.push(Rule::UpperLowerComparison);
            }
            _ => {}
        }
        for child in expr.children() {
            self.expr(child);
        }
    }

    fn call(&mut self, call: &Call) {
        let is_third_true = call.args.get(2).is_some_and(|expr| self.is_true(expr));
        let rule = match (function(call).as_str(), is_third_true) {
            ("ARRAYCONTAINS", true) => Rule::PartialArrayContains,
            ("CONTAINS", _) => Rule::Contains,
            ("STARTSWITH" | "STRINGEQUALS", true) => Rule::CaseInsensitiveSearch,
            ("ENDSWITH", true) => Rule::CaseInsensitiveEndsWith,
            ("GETCURRENTDATETIME", _) if self.is_in_filter => Rule::GetCurrentDateTime,
            ("GETCURRENTTICKS", _) if self.is_in_filter => Rule::GetCurrentTicks,
            ("GETCURRENTTIMESTAMP", _) if self.is_in_filter => Rule::GetCurrentTimestamp,
            _ => return,
        };
        self.found.push(rule);
    }

    fn is_true(&self, expr: &Expr) -> bool {
        let value = match &expr.kind {
            ExprKind::Literal(value) => Some(value),
            ExprKind::Parameter(name) => {
                self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => None,
        };
        value.and_then(Value::as_bool) == Some(true)
    }
}

/// Whether a comparison has UPPER or LOWER on one of its sides.
fn compares_case(expr: &Expr) -> bool {
    let changes_case = |expr: &Expr| match &expr.kind {
        ExprKind::Call(call) => {
            !call.is_udf && matches!(function(call).as_str(), "UPPER" | "LOWER")
        }
        _ => false,
    };
    match &expr.kind {
        ExprKind::Binary { op, left, right } => {
            op.is_comparison() && (changes_case(left) || changes_case(right))
        }
        ExprKind::In { needle: operand, .. }
        | ExprKind::Between { operand, .. }
        | ExprKind::Like { operand, .. } => changes_case(operand),
        _ => false,
    }
}

/// Whether an expression of GROUP BY could be a computed property: it is more than a path, and
/// depends only on the document.
fn is_computable(expr: &Expr) -> bool {
    !is_path(expr) && is_deterministic(expr) && reads_document(expr)
}

fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Identifier(_) => true,
        ExprKind::Member { base, .. } => is_path(base),
        ExprKind::Index { base, index } => {
            is_path(base) && matches!(index.kind, ExprKind::Literal(_) | ExprKind::Parameter(_))
        }
        _ => false,
    }
}

fn is_deterministic(expr: &Expr) -> bool {
    let is_fixed = match &expr.kind {
        ExprKind::Call(call) => {
            let name = function(call);
            !call.is_udf && name != "RAND" && !name.starts_with("GETCURRENT")
        }
        ExprKind::Subquery { .. } | ExprKind::Verbatim(_) => false,
        _ => true,
    };
    is_fixed && expr.children().into_iter().all(is_deterministic)
}

fn reads_document(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Identifier(_)) || expr.children().into_iter().any(reads_document)
}

/// The normalized name of a function: case and underscores do not matter.
fn function(call: &Call) -> String {
    let mut name = call.name.text.replace('_', "");
    name.make_ascii_uppercase();
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str, parameters: &[(String, Value)]) -> Vec<u16> {
        let query = crate::parse(text).unwrap();
        let Some(advice) = of(&query, parameters) else { return Vec::new() };
        let advice = value::json::parse(advice.as_bytes()).unwrap();
        let id = |entry: &Value| {
            assert_eq!(entry.get("Params").as_array(), Some(&[][..]));
            entry.get("Id").as_str().unwrap().strip_prefix("QA").unwrap().parse().unwrap()
        };
        advice.as_array().unwrap().iter().map(id).collect()
    }

    #[test]
    fn each_rule_has_its_signs() {
        for (text, expected) in [
            ("SELECT VALUE ARRAY_CONTAINS(c.a, {x: 1}, true) FROM c", 1000),
            ("SELECT DISTINCT c.id FROM c JOIN t IN c.tags", 1001),
            ("SELECT * FROM c WHERE contains(c.name, 'a')", 1002),
            ("SELECT * FROM c WHERE CONTAINS(c.name, 'a', true)", 1002),
            ("SELECT * FROM c WHERE STARTSWITH(c.name, 'a', true)", 1003),
            ("SELECT * FROM c WHERE StringEquals(c.name, 'a', true)", 1003),
            ("SELECT * FROM c WHERE ENDSWITH(c.name, 'a', true)", 1004),
            ("SELECT COUNT(1) AS n FROM c GROUP BY LOWER(c.name)", 1005),
            ("SELECT COUNT(1) AS n FROM c GROUP BY c.a + 1", 1005),
            ("SELECT * FROM c WHERE 'a' < LOWER(c.name)", 1006),
            ("SELECT * FROM c WHERE UPPER(c.name) IN ('A', 'B')", 1006),
            ("SELECT * FROM c WHERE UPPER(c.name) LIKE 'A%'", 1006),
            ("SELECT * FROM c WHERE c.at > GetCurrentDateTime()", 1007),
            ("SELECT * FROM c WHERE NOT (c.at > GetCurrentTicks())", 1008),
            ("SELECT * FROM c WHERE c.a AND c.at > GetCurrentTimestamp() - 1", 1009),
            (
                "SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.t WHERE CONTAINS(t, 'a'))",
                1002,
            ),
            ("SELECT VALUE x FROM (SELECT DISTINCT t FROM c JOIN t IN c.t) x", 1001),
        ] {
            assert_eq!(ids(text, &[]), [expected], "{text}");
        }
    }

    #[test]
    fn what_is_well_written_is_left_alone() {
        for text in [
            "SELECT * FROM c",
            "SELECT DISTINCT c.a FROM c",
            "SELECT DISTINCT t FROM t IN c.tags",
            "SELECT c.id FROM c JOIN t IN c.tags",
            "SELECT * FROM c WHERE ARRAY_CONTAINS(c.a, 1) AND ARRAY_CONTAINS(c.a, {}, false)",
            "SELECT * FROM c WHERE STARTSWITH(c.a, 'x') AND ENDSWITH(c.a, 'x', false)",
            "SELECT * FROM c WHERE udf.contains(c.a, 'x', true)",
            "SELECT LOWER(c.a), GetCurrentDateTime() FROM c",
            "SELECT LOWER(c.a) = 'x' FROM c",
            "SELECT * FROM c WHERE c.at > GetCurrentDateTimeStatic()",
            "SELECT COUNT(1) AS n FROM c GROUP BY c.a.b, c['d'], c.e[0]",
            "SELECT COUNT(1) AS n FROM c GROUP BY udf.f(c.a), c.a + RAND()",
            "SELECT c.contains FROM c WHERE c.lower = 'x'",
        ] {
            assert!(ids(text, &[]).is_empty(), "{text}");
        }
    }

    #[test]
    fn rules_come_in_order_and_once() {
        let text = "SELECT DISTINCT c.id FROM c JOIN t IN c.t WHERE c.at > GetCurrentTicks() \
                    AND CONTAINS(t, 'a') AND CONTAINS(t, 'b')";
        let query = crate::parse(text).unwrap();
        assert_eq!(
            of(&query, &[]).unwrap(),
            r#"[{"Id":"QA1001","Params":[]},{"Id":"QA1002","Params":[]},{"Id":"QA1008","Params":[]}]"#
        );
    }

    #[test]
    fn parameters_count_by_their_value() {
        let text = "SELECT * FROM c WHERE ENDSWITH(c.a, @x, @i)";
        let given = |value: bool| vec![("@i".to_owned(), Value::from(value))];
        assert_eq!(ids(text, &given(true)), [1004]);
        assert!(ids(text, &given(false)).is_empty());
    }
}
