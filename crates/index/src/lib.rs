//! The index: the entries that a document gets, and the entries that a filter reads. A
//! policy turns a document into *terms*, the sorted keys that a write adds to its partition; a
//! query asks the policy what is indexed and scans ranges of terms. Synchronous, free of I/O, and
//! deterministic: the same document and policy always give the same terms.
//!
//! In reading order:
//! - `path`: places in a document, and their hashes,
//! - `rule`: the paths of indexing policies, which name sets of places,
//! - `definition`, `tree`, `policy`: the policy as it is written, as a tree of rules, and compiled,
//! - `composite`: indexes over several paths together,
//! - `terms`: from a document to its terms,
//! - [`Kind`], [`key`], `encoding`, `clip`: the bytes of a term, and the ranges to scan for a range of values,
//! - [`older`]: what earlier builds wrote, for the upgrade,
//! - [`cells`], `geometry`, `ring`: the spatial index.

pub mod cells;
pub mod key;
pub mod older;

mod clip;
mod composite;
mod definition;
mod encoding;
mod geometry;
mod kind;
mod path;
mod policy;
mod ring;
mod rule;
mod terms;
mod tree;

pub use clip::{clip, descending};
pub use composite::{Composite, ELEMENTS_MAX};
pub use definition::{Definition, Directive, Mode, Spatial};
pub use encoding::{
    CONTAINERS, Decoded, STRING_BYTES_MAX, decode_descending, decode_value, encode_descending,
    encode_value, encode_whole, has_container,
};
pub use kind::Kind;
pub use path::{Path, Segment, Step, path_hash, value_at};
pub use policy::{Coverage, Policy};
pub use rule::{Ending, Rule, RuleError, parse_composite_path};
pub use terms::{HashIds, PathIds, Term, Terms};

#[cfg(test)]
mod testing;
