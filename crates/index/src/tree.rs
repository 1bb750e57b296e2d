//! The rules of a policy as a tree of path segments, so that one walk over a document finds the
//! rule for each value. The deepest matching path wins; at equal depth `/?` wins over `/*`.

use std::collections::BTreeMap;

use value::Value;

use crate::definition::Spatial;
use crate::path::{Path, Segment, Step};
use crate::rule::{Ending, Rule};

/// The system properties at the top level of every document, except `_ts`, which is always indexed.
///
/// COMPAT: `/*` does not index them, because nobody searches for them (`_rid` and `_self` contain
/// the document's number anyway); a path that names one of them does.
const UNINDEXED: [&str; 4] = ["_rid", "_self", "_etag", "_attachments"];

/// A node in the tree of a policy's rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// What the rule `/?` says about this place: included or excluded.
    value: Option<bool>,
    /// What the rule `/*` says about this place and everything below without its own rule.
    subtree: Option<bool>,
    /// Whether `/?` is included by name, so that documents without a value here have a term too.
    is_explicit: bool,
    /// The number of the spatial index of `/?` here.
    shape: Option<usize>,
    /// The spatial index of `/*` here.
    shapes: Option<usize>,
    properties: BTreeMap<String, Tree>,
    /// The [marks](mark) of all properties. Most names of a document have no rule of their own, and
    /// are seen here to have none.
    marks: u64,
    elements: Option<Box<Tree>>,
    /// Whether any rule here or below includes something. If not, and nothing is inherited, the
    /// walk can skip the document's values.
    has_included: bool,
}

/// The position of a document walk in the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'t> {
    node: Option<&'t Tree>,
    /// What the deepest `/*` so far says.
    subtree: bool,
    shapes: Option<usize>,
}

impl Tree {
    /// Builds the tree; the flag is true for included paths.
    pub(crate) fn new(rules: &[(Rule, bool)]) -> Tree {
        let mut root = Tree::default();
        for (rule, is_included) in rules.iter().filter(|(rule, _)| rule.tuple.is_empty()) {
            let node = root.node(rule.path.steps(), *is_included);
            match rule.ending {
                Ending::Scalar => {
                    node.value = Some(*is_included);
                    node.is_explicit = *is_included && !rule.path.has_elements();
                }
                Ending::Subtree => node.subtree = Some(*is_included),
            }
        }
        // The members of a tuple are indexed too, unless another path decides otherwise.
        for (rule, is_included) in rules {
            for member in &rule.tuple {
                let names = member.iter().map(|name| Step::Key(name));
                let node = root.node(rule.path.steps().chain(names), *is_included);
                node.value.get_or_insert(*is_included);
            }
        }
        for name in UNINDEXED {
            if !root.properties.contains_key(name) {
                root.property(name).subtree = Some(false);
            }
        }
        root
    }

    /// Indexes the value at `path` regardless of the rules.
    pub(crate) fn include(&mut self, path: &Path) {
        self.node(path.steps(), true).value = Some(true);
    }

    /// Adds a spatial index with its number.
    pub(crate) fn add_spatial(&mut self, spatial: &Spatial, number: usize) {
        let node = self.node(spatial.rule.path.steps(), true);
        match spatial.rule.ending {
            Ending::Scalar => node.shape = Some(number),
            Ending::Subtree => node.shapes = Some(number),
        }
    }

    /// The place of the document itself.
    pub(crate) fn root(&self) -> Place<'_> {
        let subtree = self.subtree.unwrap_or(false);
        Place { node: Some(self), subtree, shapes: self.shapes }
    }

    /// The place that `path` leads to.
    pub(crate) fn place(&self, path: &Path) -> Place<'_> {
        path.steps().fold(self.root(), Place::step)
    }

    /// The paths that are included by name: see [`Place::is_explicit`].
    pub(crate) fn explicit_paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect_explicit(&mut Vec::new(), &mut paths);
        paths
    }

    /// Recurses no deeper than the deepest rule, which is no deeper than a document can be.
    fn collect_explicit(&self, path: &mut Vec<Segment>, paths: &mut Vec<Path>) {
        if self.is_explicit {
            paths.push(Path(path.clone()));
        }
        for (name, tree) in &self.properties {
            path.push(Segment::Key(name.clone()));
            tree.collect_explicit(path, paths);
            path.pop();
        }
    }

    /// The node of a property, created if missing.
    fn property(&mut self, name: &str) -> &mut Tree {
        self.marks |= mark(name);
        self.properties.entry(name.to_owned()).or_default()
    }

    /// The node at these steps, created if missing.
    fn node<'a>(&mut self, steps: impl Iterator<Item = Step<'a>>, is_included: bool) -> &mut Tree {
        let mut node = self;
        node.has_included |= is_included;
        for step in steps {
            node = match step {
                Step::Key(name) => node.property(name),
                Step::Element => node.elements.get_or_insert_default(),
            };
            node.has_included |= is_included;
        }
        node
    }
}

impl<'t> Place<'t> {
    /// The place one step further down.
    #[inline]
    pub(crate) fn step(self, step: Step<'_>) -> Place<'t> {
        // Below the last rule all places are alike.
        let Some(node) = self.node else { return self };
        let node = match step {
            Step::Key(name) if node.marks & mark(name) == 0 => None,
            Step::Key(name) => node.properties.get(name),
            Step::Element => node.elements.as_deref(),
        };
        Place {
            node,
            subtree: node.and_then(|node| node.subtree).unwrap_or(self.subtree),
            shapes: node.and_then(|node| node.shapes).or(self.shapes),
        }
    }

    /// Whether the value here is indexed, whatever its type; for an array or object, its existence.
    pub(crate) fn is_indexed(self) -> bool {
        self.node.and_then(|node| node.value).unwrap_or(self.subtree)
    }

    /// Whether a policy path names exactly this place, so that documents without a value here have
    /// a term saying so.
    pub(crate) fn is_explicit(self) -> bool {
        self.node.is_some_and(|node| node.is_explicit)
    }

    /// The number of the spatial index that covers this place.
    pub(crate) fn spatial(self) -> Option<usize> {
        self.node.and_then(|node| node.shape).or(self.shapes)
    }

    /// Whether nothing here and below is indexed.
    pub(crate) fn is_bare(self) -> bool {
        !self.subtree && self.shapes.is_none() && !self.node.is_some_and(|node| node.has_included)
    }
}

/// One bit of 64, by the length of a name and its first and last byte.
fn mark(name: &str) -> u64 {
    let byte = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte));
    let bytes = name.as_bytes();
    1 << ((name.len() * 11 + byte(bytes.first()) * 5 + byte(bytes.last())) % 64)
}

/// How many scalars of the document are indexed. The service's own properties do not count.
pub(crate) fn count(tree: &Tree, document: &Value) -> usize {
    let Value::Object(object) = document else { return 0 };
    let root = tree.root();
    object
        .iter()
        .filter(|(name, _)| !(*name == "_ts" || UNINDEXED.contains(name)))
        .map(|(name, value)| count_below(root.step(Step::Key(name)), value))
        .sum()
}

/// Recurses no deeper than the document, so at most [`value::json::DEPTH_MAX`] calls.
fn count_below(place: Place<'_>, value: &Value) -> usize {
    if place.node.is_none() {
        return if place.subtree { scalars(value) } else { 0 };
    }
    if place.is_bare() {
        return 0;
    }
    match value {
        Value::Undefined => 0,
        Value::Array(elements) => {
            let place = place.step(Step::Element);
            elements.iter().map(|element| count_below(place, element)).sum()
        }
        Value::Object(object) => {
            object.iter().map(|(name, value)| count_below(place.step(Step::Key(name)), value)).sum()
        }
        _ => usize::from(place.is_indexed()),
    }
}

/// All scalars of a value. Recurses as deep as the value.
fn scalars(value: &Value) -> usize {
    match value {
        Value::Undefined => 0,
        Value::Array(elements) => elements.iter().map(scalars).sum(),
        Value::Object(object) => object.iter().map(|(_, value)| scalars(value)).sum(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value_of;

    fn tree(included: &[&str], excluded: &[&str]) -> Tree {
        let parse = |texts: &[&str], flag| -> Vec<(Rule, bool)> {
            texts.iter().map(|text| (Rule::parse(text).unwrap(), flag)).collect()
        };
        Tree::new(&[parse(included, true), parse(excluded, false)].concat())
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
            // Deeper rules win, in both directions and repeatedly.
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
            // Below the top level a name is not a system property.
            (&["/_own/*"], &["/*"], 1),
            (&["/_ts/?", "/_etag/?"], &["/*"], 0),
            (&["/a/c/e/[]/{f, g}/?"], &["/*"], 1),
            (&["/a/c/e/[]/{f, g}/?"], &["/*", "/a/c/e/[]/f/?"], 0),
        ];
        for (included, excluded, expected) in cases {
            let counted = count(&tree(included, excluded), &document);
            assert_eq!(counted, *expected, "{included:?} {excluded:?}");
        }
        assert_eq!(count(&tree(&["/*"], &[]), &value_of("[1]")), 0);
    }

    #[test]
    fn single_paths() {
        let tree = tree(&["/a/*", "/b/c/?"], &["/*", "/a/x/?"]);
        let includes = |names: &[&str]| tree.place(&Path::of_keys(names)).is_indexed();
        assert!(includes(&["a"]) && includes(&["a", "y", "z"]) && includes(&["b", "c"]));
        assert!(!includes(&["a", "x"]) && !includes(&["b"]) && !includes(&["b", "c", "d"]));
    }
}
