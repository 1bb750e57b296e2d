//! The values that a filter requires fields to be equal to: what an upsert begins with.

use bson::RawBsonRef;

use super::Filter;
use super::tree::{Comparison, Field, Node, Test};
use crate::error::{Code, Error, Result};
use crate::path::Path;

impl Filter {
    /// The paths that have to be equal to one value, with their values, in the order in which they
    /// were given. Fails if a path has two values, or if one lies inside another.
    pub fn equalities(&self) -> Result<Vec<(&Path, RawBsonRef<'_>)>> {
        let mut found = Vec::new();
        collect(&self.root, &mut found)?;
        Ok(found)
    }
}

fn collect<'f>(node: &'f Node, found: &mut Vec<(&'f Path, RawBsonRef<'f>)>) -> Result<()> {
    match node {
        Node::And(nodes) => nodes.iter().try_for_each(|node| collect(node, found)),
        Node::Or(nodes) if nodes.len() == 1 => collect(&nodes[0], found),
        Node::Field(Field { path, test }) => match test {
            Test::Compare(Comparison::Equal, value) => add(path, value.as_raw_bson_ref(), found),
            Test::In(set) => match (set.values(), set.patterns()) {
                ([value], []) => add(path, value.as_raw_bson_ref(), found),
                _ => Ok(()),
            },
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn add<'f>(
    path: &'f Path,
    value: RawBsonRef<'f>,
    found: &mut Vec<(&'f Path, RawBsonRef<'f>)>,
) -> Result<()> {
    let ambiguous = |what: String| {
        let text = format!("cannot infer query fields to set, {what}");
        Err(Error::new(Code::NOT_SINGLE_VALUE_FIELD, text))
    };
    for (other, _) in found.iter() {
        if *other == path {
            return ambiguous(format!("path '{}' is matched twice", path.text()));
        }
        if other.is_prefix_of(path) || path.is_prefix_of(other) {
            let (a, b) = (other.text(), path.text());
            let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
            return ambiguous(format!("both paths '{short}' and '{long}' are matched"));
        }
    }
    found.push((path, value));
    Ok(())
}
