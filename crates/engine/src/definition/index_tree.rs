//! The included and excluded paths of an indexing policy as a tree of path segments, so that one
//! walk over a document meets the rule for each of its values: the deepest path that leads to a
//! value decides, and at equal depth `/?` beats `/*`.

use std::collections::BTreeMap;

use value::Value;

use super::SYSTEM_PROPERTIES;
use super::index_path::{Ending, IndexPath, Segment};

/// A policy's paths, ready for matching.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// What `/?` here says about a scalar: included or excluded.
    scalar: Option<bool>,
    /// What `/*` here says about this place and everything below that has no rule of its own.
    subtree: Option<bool>,
    properties: BTreeMap<String, Tree>,
    elements: Option<Box<Tree>>,
    /// Whether any rule here or below includes something. Where none does, and nothing is
    /// inherited, the document's values need not be looked at.
    has_included: bool,
}

impl Tree {
    /// The tree of these paths; the flag tells the included ones from the excluded.
    pub(super) fn new<'a>(paths: impl Iterator<Item = (&'a IndexPath, bool)> + Clone) -> Tree {
        let mut root = Tree::default();
        for (path, is_included) in paths.clone().filter(|(path, _)| path.tuple.is_empty()) {
            let node = root.node(&path.segments, is_included);
            match path.ending {
                Ending::Scalar => node.scalar = Some(is_included),
                Ending::Subtree => node.subtree = Some(is_included),
            }
        }
        // The members of a tuple are indexed too, unless a path of their own says otherwise.
        for (path, is_included) in paths {
            for member in &path.tuple {
                let names = member.iter().cloned().map(Segment::Property);
                let segments: Vec<_> = path.segments.iter().cloned().chain(names).collect();
                root.node(&segments, is_included).scalar.get_or_insert(is_included);
            }
        }
        root
    }

    /// How many scalars of the document are indexed. The service's own properties do not count.
    pub(super) fn count(&self, document: &Value) -> usize {
        let subtree = self.subtree.unwrap_or(false);
        let Value::Object(object) = document else { return 0 };
        if !self.has_included {
            return 0;
        }
        object
            .iter()
            .filter(|(key, _)| !(key.starts_with('_') && SYSTEM_PROPERTIES.contains(key)))
            .map(|(key, value)| count(self.properties.get(key), subtree, value))
            .sum()
    }

    /// Whether a scalar behind these property names is indexed.
    pub(super) fn includes<S: AsRef<str>>(&self, names: &[S]) -> bool {
        let mut node = Some(self);
        let mut subtree = self.subtree.unwrap_or(false);
        for name in names {
            node = node.and_then(|node| node.properties.get(name.as_ref()));
            subtree = node.and_then(|node| node.subtree).unwrap_or(subtree);
        }
        node.and_then(|node| node.scalar).unwrap_or(subtree)
    }

    /// The node that these segments lead to, made on the way if need be.
    fn node(&mut self, segments: &[Segment], is_included: bool) -> &mut Tree {
        let mut node = self;
        node.has_included |= is_included;
        for segment in segments {
            node = match segment {
                Segment::Property(name) => node.properties.entry(name.clone()).or_default(),
                Segment::Elements => node.elements.get_or_insert_default(),
            };
            node.has_included |= is_included;
        }
        node
    }
}

/// How many scalars of `value` are indexed. `node` is where the paths' tree stands at this value,
/// `inherited` what the deepest `/*` above says. No deeper than the document, so at most
/// [`value::json::DEPTH_MAX`] calls.
fn count(node: Option<&Tree>, inherited: bool, value: &Value) -> usize {
    let subtree = node.and_then(|node| node.subtree).unwrap_or(inherited);
    if !subtree && !node.is_some_and(|node| node.has_included) {
        return 0;
    }
    match value {
        Value::Undefined => 0,
        Value::Array(elements) => {
            let node = node.and_then(|node| node.elements.as_deref());
            elements.iter().map(|element| count(node, subtree, element)).sum()
        }
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| {
                count(node.and_then(|node| node.properties.get(key)), subtree, value)
            })
            .sum(),
        _ => usize::from(node.and_then(|node| node.scalar).unwrap_or(subtree)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    fn tree(included: &[&str], excluded: &[&str]) -> Tree {
        let parse = |texts: &[&str], flag| -> Vec<(IndexPath, bool)> {
            texts.iter().map(|text| (IndexPath::parse(text).unwrap(), flag)).collect()
        };
        let paths = [parse(included, true), parse(excluded, false)].concat();
        Tree::new(paths.iter().map(|(path, flag)| (path, *flag)))
    }

    #[test]
    fn counts_follow_the_most_specific_path() {
        let document = value_of(
            r#"{"id":"x","a":{"b":1,"c":{"d":2,"e":[3,4,{"f":5}]}},"g":[[6],[]],"h":null,
                "_ts":1,"_etag":"e","_rid":"r","_self":"s","_attachments":"t","_own":{"_ts":7}}"#,
        );
        let cases: &[(&[&str], &[&str], usize)] = &[
            (&["/*"], &[], 9),
            (&["/"], &["/a/*"], 4),
            (&["/*"], &["/a/?"], 9),
            (&["/*"], &["/a/b/?"], 8),
            (&["/*"], &["/a/b/*"], 8),
            // Deeper wins, in both directions and repeatedly.
            (&["/*", "/a/c/*"], &["/a/*"], 8),
            (&["/a/*"], &["/*", "/a/c/*"], 1),
            (&["/a/*", "/a/c/e/*"], &["/*", "/a/c/*"], 4),
            // `/?` beats `/*` at the same depth.
            (&["/a/b/?"], &["/*", "/a/b/*"], 1),
            (&["/a/c/d/*"], &["/*", "/a/c/d/?"], 0),
            // A scalar rule says nothing about what is below.
            (&["/a/?"], &["/*"], 0),
            (&["/a/c/e/?"], &["/*"], 0),
            (&["/a/c/e/[]/?"], &["/*"], 2),
            (&["/a/c/e/[]/*"], &["/*"], 3),
            (&["/a/c/e/[]/f/?"], &["/*"], 1),
            (&["/g/[]/?"], &["/*"], 0),
            (&["/g/[]/[]/?"], &["/*"], 1),
            (&["/*"], &["/g/[]/*"], 8),
            (&["/h/?"], &["/*"], 1),
            (&["/absent/?"], &["/*"], 0),
            (&[], &["/*"], 0),
            // A name below the top level is nobody's system property.
            (&["/_own/*"], &["/*"], 1),
            (&["/_ts/?", "/_etag/?"], &["/*"], 0),
            (&["/a/c/e/[]/{f, g}/?"], &["/*"], 1),
            (&["/a/c/e/[]/{f, g}/?"], &["/*", "/a/c/e/[]/f/?"], 0),
        ];
        for (included, excluded, expected) in cases {
            let counted = tree(included, excluded).count(&document);
            assert_eq!(counted, *expected, "{included:?} {excluded:?}");
        }
        assert_eq!(tree(&["/*"], &[]).count(&value_of("[1]")), 0);
    }

    #[test]
    fn single_paths() {
        let tree = tree(&["/a/*", "/b/c/?"], &["/*", "/a/x/?"]);
        let includes = |names: &[&str]| tree.includes(names);
        assert!(includes(&["a"]) && includes(&["a", "y", "z"]) && includes(&["b", "c"]));
        assert!(!includes(&["a", "x"]) && !includes(&["b"]) && !includes(&["b", "c", "d"]));
    }
}
