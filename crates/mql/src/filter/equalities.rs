//! The values that a filter requires fields to be equal to: what an upsert begins with.

use bson::RawBsonRef;

use super::Filter;
use super::tree::{Comparison, Field, Node, Test};
use crate::error::{Code, Error, Result};
use crate::path::Path;

/// A path, and the value that it has to lead to.
type Equality<'f> = (&'f Path, RawBsonRef<'f>);

impl Filter {
    /// The paths that have to be equal to one value, with their values, in the order in which they
    /// were given. Fails if a path has two values, or if one lies inside another.
    pub fn equalities(&self) -> Result<Vec<Equality<'_>>> {
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        check(&found)?;
        Ok(found)
    }
}

fn collect<'f>(node: &'f Node, found: &mut Vec<Equality<'f>>) {
    match node {
        Node::And(nodes) => nodes.iter().for_each(|node| collect(node, found)),
        Node::Or(nodes) if nodes.len() == 1 => collect(&nodes[0], found),
        Node::Field(Field { path, test: Test::Compare(Comparison::Equal, value) }) => {
            found.push((path, value.as_raw_bson_ref()));
        }
        Node::Field(Field { path, test: Test::In(set) }) => {
            if let ([value], []) = (set.values(), set.patterns()) {
                found.push((path, value.as_raw_bson_ref()));
            }
        }
        _ => {}
    }
}

/// Refuses paths that are equal, or that lie inside each other.
fn check(found: &[Equality<'_>]) -> Result<()> {
    let mut paths: Vec<&Path> = found.iter().map(|(path, _)| *path).collect();
    // What lies inside a path comes right behind it.
    let names = |path: &Path| path.parts().iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    paths.sort_by_cached_key(|path| names(path));
    for pair in paths.windows(2) {
        let (outer, inner) = (pair[0], pair[1]);
        let what = if outer == inner {
            format!("path '{}' is matched twice", outer.text())
        } else if outer.is_prefix_of(inner) {
            format!("both paths '{}' and '{}' are matched", outer.text(), inner.text())
        } else {
            continue;
        };
        let text = format!("cannot infer query fields to set, {what}");
        return Err(Error::new(Code::NOT_SINGLE_VALUE_FIELD, text));
    }
    Ok(())
}
