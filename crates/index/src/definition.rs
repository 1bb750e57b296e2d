//! An indexing policy as a collection's definition writes it, parsed but not yet compiled.

use crate::path::Path;
use crate::rule::Rule;

/// What a policy says. Nothing here is checked: rules are as the engine accepted them.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Whether and when documents are indexed.
    pub mode: Mode,
    /// Whether a document is indexed when the request does not say.
    pub automatic: bool,
    /// The included and excluded paths, each with whether it is included.
    pub rules: Vec<(Rule, bool)>,
    /// The members of each composite index, each with whether it descends.
    pub composites: Vec<Vec<(Path, bool)>>,
    /// The spatial indexes.
    pub spatial: Vec<Spatial>,
}

/// Whether and when documents are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With the write.
    Consistent,
    /// COMPAT: an old mode that indexed later. It is kept and returned, and indexes with the write.
    Lazy,
    /// Never: documents are read by id, or scanned.
    None,
}

/// A spatial index. The kinds of geometry that the policy names for it do not matter here: all are
/// indexed, so that a query need not look elsewhere for the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Spatial {
    /// Where the geometries are.
    pub rule: Rule,
    /// The plane's least and greatest coordinates (x, y, x, y); `None` for the Earth.
    pub bounds: Option<[f64; 4]>,
}

/// What a request says about indexing its document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directive {
    /// Nothing: the policy's `automatic` decides.
    #[default]
    Default,
    /// Index it.
    Include,
    /// Do not.
    Exclude,
}
