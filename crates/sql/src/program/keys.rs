//! Finding an expression among those of GROUP BY, in about constant time however many there are.

use std::collections::HashMap;

use value::Value;

use super::select::key_of;
use super::walk;
use crate::ast::{Expr, ExprKind};

/// The expressions of a GROUP BY, found by how they are written: `c.a` and `c["a"]` are alike.
pub(super) struct Keys {
    /// The place of the first of those that are alike.
    places: HashMap<Writing, usize>,
    /// Whether some are more than paths. Only then need others be printed to be looked for.
    has_texts: bool,
}

/// A canonical form that is equal for expressions written alike.
#[derive(PartialEq, Eq, Hash)]
enum Writing {
    /// The steps of a path, from the last to the first, and the name it begins with.
    Path(Vec<u8>, String),
    /// The text of anything else.
    Text(String),
}

impl Keys {
    pub(super) fn new(exprs: &[Expr]) -> Keys {
        let mut places = HashMap::new();
        for (place, expr) in exprs.iter().enumerate() {
            let writing = path(expr).unwrap_or_else(|| Writing::Text(expr.to_string()));
            places.entry(writing).or_insert(place);
        }
        let has_texts = places.keys().any(|writing| matches!(writing, Writing::Text(_)));
        Keys { places, has_texts }
    }

    /// The place of the first key that is written like the expression.
    pub(super) fn position(&self, expr: &Expr) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let writing = match path(expr) {
            Some(path) => path,
            None if self.has_texts => Writing::Text(expr.to_string()),
            None => return None,
        };
        self.places.get(&writing).copied()
    }

    /// Whether an expression is a key, or a path that continues one.
    pub(super) fn covers(&self, expr: &Expr) -> bool {
        let is_deeper = match &expr.kind {
            ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => {
                walk::root_of(expr).is_some() && self.covers(base)
            }
            _ => false,
        };
        is_deeper || self.position(expr).is_some()
    }
}

/// The canonical form of a path such as `c.a["b"][0]`; `None` if it is not such a path.
fn path(expr: &Expr) -> Option<Writing> {
    let mut steps = Vec::new();
    let mut rest = expr;
    loop {
        rest = match &rest.kind {
            ExprKind::Identifier(root) => {
                return Some(Writing::Path(key_of(&steps), root.clone()));
            }
            ExprKind::Member { base, name } => {
                steps.push(Value::from(name.text.as_str()));
                base
            }
            ExprKind::Index { base, index } => {
                let ExprKind::Literal(step) = &index.kind else { return None };
                steps.push(step.clone());
                base
            }
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Projection;

    fn exprs(text: &str) -> Vec<Expr> {
        let query = crate::parse(&format!("SELECT {text}")).unwrap();
        let Projection::List(items) = query.select.projection else { panic!("a list") };
        items.into_iter().map(|item| item.expr).collect()
    }

    #[test]
    fn keys_are_found_by_how_they_are_written() {
        let keys = Keys::new(&exprs("c.a, c['b'][0].x, UPPER(c.s), c.a, c['0'], c.l[1]"));
        for (text, place) in [
            ("c.a", Some(0)),
            ("c[\"a\"]", Some(0)),
            ("c.b[0]['x']", Some(1)),
            ("c.b[0.0].x", Some(1)),
            ("c.b['0'].x", None),
            ("UPPER(c.s)", Some(2)),
            ("UPPER(c['s'])", None),
            ("c[0]", None),
            ("d.a", None),
            ("c", None),
            ("c.l[2]", None),
        ] {
            assert_eq!(keys.position(&exprs(text)[0]), place, "{text}");
        }
        for (text, expected) in
            [("c.a.b[7]", true), ("c.a['x']", true), ("c", false), ("UPPER(c.s).x", false)]
        {
            assert_eq!(keys.covers(&exprs(text)[0]), expected, "{text}");
        }
        assert_eq!(Keys::new(&[]).position(&exprs("c.a")[0]), None);
    }
}
