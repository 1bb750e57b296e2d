//! An indexing policy as written in a collection's definition, parsed but not yet compiled.

use crate::path::Path;
use crate::rule::Rule;

/// An indexing policy. Not validated here: the rules are as the engine accepted them.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Whether and when documents are indexed.
    pub mode: Mode,
    /// Whether a document is indexed by default, without a directive in the request.
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
    /// Together with the write.
    Consistent,
    /// COMPAT: an old mode that indexed later. Stored and returned, but indexes together with the
    /// write.
    Lazy,
    /// Never: documents can only be read by id, or scanned.
    None,
}

/// A spatial index. The geometry types that the policy lists for it do not matter here: all are
/// indexed, so a query finds the others in the same place.
#[derive(Clone, Debug, PartialEq)]
pub struct Spatial {
    /// Where the geometries are.
    pub rule: Rule,
    /// The plane's least and greatest coordinates (x, y, x, y); `None` for the Earth.
    pub bounds: Option<[f64; 4]>,
}

/// The indexing directive of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directive {
    /// The policy's `automatic` decides.
    #[default]
    Default,
    /// Index the document.
    Include,
    /// Do not index the document.
    Exclude,
}
