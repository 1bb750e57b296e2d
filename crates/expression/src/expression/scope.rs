//! What an expression is evaluated in: the document, the values of variables, and what the caller
//! knows about the time and the query.

use std::cell::Cell;

use bson::{DateTime, RawArray, RawBsonRef, RawDocument, Timestamp};

use super::Computed;
use crate::collation::Collation;
use crate::error::Result;

/// What is the same for all documents of a query.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// `$$NOW`.
    pub now: DateTime,
    /// `$$CLUSTER_TIME`.
    pub cluster_time: Timestamp,
    /// `$$USER_ROLES`.
    pub user_roles: Option<&'a RawArray>,
    /// How strings are compared.
    pub collation: Option<&'a Collation>,
    /// Where `$rand` and `$sampleRate` take their numbers from.
    pub random: &'a Random,
}

/// Called now and then by expressions that run long, such as loops over arrays. An error ends the
/// evaluation: so a query that was cancelled, or that has had its time, stops in the middle of a document.
pub type Checkpoint<'a> = dyn Fn() -> Result<()> + 'a;

impl<'a> Context<'a> {
    /// The context of a query without roles and collation.
    pub fn new(now: DateTime, cluster_time: Timestamp, random: &'a Random) -> Self {
        Self { now, cluster_time, user_roles: None, collation: None, random }
    }
}

/// The document and the variables that an expression sees.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// `$$ROOT`.
    pub root: RawBsonRef<'a>,
    /// `$$CURRENT`, in which `"$a"` is looked up. Only `$redact` makes it differ from the root.
    pub current: RawBsonRef<'a>,
    /// The values of variables, the innermost first.
    pub frame: Option<&'a Frame<'a>>,
    /// The rest.
    pub context: &'a Context<'a>,
    /// Whether to go on.
    pub checkpoint: Option<&'a Checkpoint<'a>>,
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { root, current, frame, context, checkpoint: _ } = self;
        write!(f, "Scope {{ {root:?}, {current:?}, {frame:?}, {context:?} }}")
    }
}

impl<'a> Scope<'a> {
    /// The scope of a document, without variables of its own.
    pub fn new(document: &'a RawDocument, context: &'a Context<'a>) -> Self {
        let root = RawBsonRef::Document(document);
        Self { root, current: root, frame: None, context, checkpoint: None }
    }

    /// The scope with a check whether to go on.
    #[must_use]
    pub fn with_checkpoint(self, checkpoint: &'a Checkpoint<'a>) -> Self {
        Self { checkpoint: Some(checkpoint), ..self }
    }

    /// Asks whether to go on.
    pub(super) fn check(&self) -> Result<()> {
        self.checkpoint.map_or(Ok(()), |checkpoint| checkpoint())
    }

    /// A frame of values inside this scope, in the order of the names that were given to
    /// [`Variables::with`](super::Variables::with).
    pub fn frame<'s>(&self, values: &'s [Computed<'s>]) -> Frame<'s>
    where
        'a: 's,
    {
        Frame { values, parent: self.frame }
    }

    /// The scope with the frame in place.
    pub fn within<'s>(&self, frame: &'s Frame<'s>) -> Scope<'s>
    where
        'a: 's,
    {
        Scope { frame: Some(frame), ..*self }
    }
}

/// The values of variables that were defined together.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    values: &'a [Computed<'a>],
    parent: Option<&'a Frame<'a>>,
}

impl<'a> Frame<'a> {
    /// A value by the number of frames to leave, and its position.
    pub(super) fn value(&self, leave: usize, position: usize) -> Option<&'a Computed<'a>> {
        let mut frame = self;
        for _ in 0..leave {
            frame = frame.parent?;
        }
        frame.values.get(position)
    }
}

/// A source of random numbers, which depend on its seed alone.
#[derive(Debug)]
pub struct Random(Cell<u64>);

impl Random {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next number, from 0 to below 1 (the generator is SplitMix64).
    pub fn next(&self) -> f64 {
        let state = self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let bits = (mixed ^ (mixed >> 31)) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}
