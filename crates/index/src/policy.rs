//! The compiled policy, used by queries and writes. Immutable; share it behind an `Arc`.

use value::Value;

use crate::cells::Grid;
use crate::composite::Composite;
use crate::definition::{Definition, Directive, Mode};
use crate::path::{Path, Step, path_hash, value_at};
use crate::tree::{self, Tree};

/// Which values of a document are indexed, and how.
///
/// Unless nothing is indexed, `id`, `_ts` and the partition key's paths are indexed regardless of
/// the rules.
#[derive(Clone, Debug)]
pub struct Policy {
    mode: Mode,
    automatic: bool,
    pub(crate) tree: Tree,
    /// The paths that are indexed regardless of the rules.
    pub(crate) always: Vec<Path>,
    /// The paths where documents without a value have a term too, with their hashes.
    pub(crate) explicit: Vec<(Path, u64)>,
    composites: Vec<Composite>,
    /// One for each spatial index, by its number in the tree.
    pub(crate) grids: Vec<Grid>,
}

/// Which documents the index of a path contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// None.
    NotIndexed,
    /// Those with a value at the path.
    Wildcard,
    /// All; a document without a value has an undefined term.
    Explicit,
}

impl Policy {
    /// Compiles a policy for a collection with this partition key.
    pub fn new(definition: &Definition, partition_key: &[value::path::Path]) -> Policy {
        let mut tree = Tree::new(&definition.rules);
        let mut always = vec![Path::of_keys(&["id"]), Path::of_keys(&["_ts"])];
        for path in partition_key {
            let path = Path::of_keys(path.segments());
            if !always.contains(&path) {
                always.push(path);
            }
        }
        for path in &always {
            tree.include(path);
        }
        for (number, spatial) in definition.spatial.iter().enumerate() {
            tree.add_spatial(spatial, number);
        }
        let mut composites: Vec<Composite> = Vec::new();
        for mut composite in definition.composites.iter().filter_map(|it| Composite::new(it)) {
            // An index may be listed twice, for example with all directions reversed.
            if composites.iter().all(|other| other.members != composite.members) {
                composite.set_apart(&composites);
                composites.push(composite);
            }
        }
        let explicit = tree.explicit_paths().into_iter();
        Policy {
            mode: definition.mode,
            automatic: definition.automatic,
            explicit: explicit.map(|path| (path.clone(), path_hash(path.steps(), 0))).collect(),
            tree,
            always,
            composites,
            grids: definition.spatial.iter().map(|spatial| Grid::new(spatial.bounds)).collect(),
        }
    }

    /// Whether a document written with this directive is indexed. If not, it is found only by `id`,
    /// `_ts` and the partition key's paths.
    pub fn is_indexed(&self, directive: Directive) -> bool {
        !self.is_none()
            && match directive {
                Directive::Default => self.automatic,
                Directive::Include => true,
                Directive::Exclude => false,
            }
    }

    /// Which of the indexed documents the index of a path contains.
    pub fn coverage(&self, path: &Path) -> Coverage {
        let place = self.tree.place(path);
        if self.is_none() || path.0.is_empty() || !place.is_indexed() {
            Coverage::NotIndexed
        } else if place.is_explicit() {
            Coverage::Explicit
        } else {
            Coverage::Wildcard
        }
    }

    /// The composite indexes, except those over two arrays.
    pub fn composites(&self) -> &[Composite] {
        if self.is_none() { &[] } else { &self.composites }
    }

    /// Finds the composite index for this order (each path and whether it is descending), and
    /// whether to read it backward. It must have the same paths, and directions that are all equal
    /// or all reversed.
    pub fn composite_for_order(&self, order: &[(Path, bool)]) -> Option<(&Composite, bool)> {
        let serves = |composite: &'_ Composite| composite.serves(order);
        self.composites().iter().find_map(|composite| Some((composite, serves(composite)?)))
    }

    /// Whether geometries at this path are indexed.
    pub fn has_spatial(&self, path: &Path) -> bool {
        self.spatial(path).is_some()
    }

    /// The grid of the spatial index of this path.
    pub fn spatial(&self, path: &Path) -> Option<&Grid> {
        if self.is_none() || path.0.is_empty() {
            return None;
        }
        self.grids.get(self.tree.place(path).spatial()?)
    }

    /// How many of a document's scalar values count as indexed for the charge of a write. Each
    /// array element counts, system properties do not. If the document is not indexed by default,
    /// only the id and the partition key count; if the request excludes it, nothing does.
    pub fn indexed_values(&self, document: &Value, directive: Directive) -> usize {
        if self.is_none() || directive == Directive::Exclude {
            return 0;
        }
        if self.is_indexed(directive) {
            return tree::count(&self.tree, document);
        }
        let is_counted = |path: &&Path| {
            let is_ts = path.takes(&[Step::Key("_ts")]);
            !is_ts && is_scalar(value_at(document, &path.0))
        };
        self.always.iter().filter(is_counted).count()
    }

    /// Whether nothing is indexed: the mode is `none`.
    pub fn is_none(&self) -> bool {
        self.mode == Mode::None
    }

    /// Whether and when documents are indexed.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Undefined | Value::Array(_) | Value::Object(_))
}

#[cfg(test)]
mod tests;
