//! Arrays as sets: results have no duplicates and keep the order of first appearance.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use value::{Value, order};

use super::{Function, array};

pub(super) static FUNCTIONS: &[Function] = &[
    // COMPAT: the documented results are in the order of the second array.
    Function::new("SETINTERSECT", 2..=2, |args, _| {
        combine(args, |a, b| {
            let kept = of(a);
            distinct(b.iter().filter(|value| kept.contains(&Ordered(value))))
        })
    }),
    Function::new("SETUNION", 2..=2, |args, _| combine(args, |a, b| distinct(a.iter().chain(b)))),
    Function::new("SETDIFFERENCE", 2..=2, |args, _| {
        combine(args, |a, b| {
            let dropped = of(b);
            distinct(a.iter().filter(|value| !dropped.contains(&Ordered(value))))
        })
    }),
    Function::new("SETEQUAL", 2..=2, |args, _| combine(args, |a, b| Value::from(of(a) == of(b)))),
];

/// A value by the total order, so that sets of them cost less than the square of their size.
pub(super) struct Ordered<'a>(pub(super) &'a Value);

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(self.0, other.0)
    }
}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered<'_> {}

fn combine(args: &[Value], combine: fn(&[Value], &[Value]) -> Value) -> Value {
    array(args, 0).zip(array(args, 1)).map(|(a, b)| combine(a, b)).unwrap_or_default()
}

/// The values as a set.
pub(super) fn of(values: &[Value]) -> BTreeSet<Ordered<'_>> {
    values.iter().map(Ordered).collect()
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Value {
    let mut seen = BTreeSet::new();
    let distinct = values.filter(|value| seen.insert(Ordered(value))).cloned();
    Value::from(distinct.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn sets_are_combined() {
        check(&[
            ("SetIntersect", "[[1,2,3],[2,3,4]]", "[2,3]"),
            ("SetIntersect", r#"[[1,2,"A","B"],["A",1,1]]"#, r#"["A",1]"#),
            ("SetIntersect", "[[1],[2]]", "[]"),
            ("SetIntersect", "[[1],1]", ""),
            ("SetUnion", "[[1,2],[2,3]]", "[1,2,3]"),
            ("SetUnion", r#"[[{"a":1,"b":2}],[{"b":2,"a":1},"1"]]"#, r#"[{"a":1,"b":2},"1"]"#),
            ("SetDifference", "[[1,2,3],[2]]", "[1,3]"),
            ("SetDifference", "[[1,1,2],[2]]", "[1]"),
            ("SetEqual", "[[1,2],[2,1,1]]", "true"),
            ("SetEqual", "[[1,2],[2]]", "false"),
            ("SetEqual", r#"["~",[2]]"#, ""),
        ]);
    }
}
