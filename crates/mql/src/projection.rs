//! Projections: which fields of a document a client gets, and which values are computed for it.
//!
//! [`Projection::parse`] compiles the `projection` of `find` or the specification of `$project`;
//! [`Projection::apply`] then runs it for one document after another. Fields that are copied keep
//! their bytes.
//!
//! In reading order: `tree` (what a projection is made of), `parse` (fields and their kinds),
//! `operators` (`$slice`, `$elemMatch`, `$meta`), `run`.

use bson::{RawDocument, RawDocumentBuf};

use crate::error::Result;
use crate::expression::{Expression, Scope, Variables};
use crate::filter::FilterOptions;
use crate::writer::{Elements, Writer};

mod operators;
mod parse;
mod run;
#[cfg(test)]
mod tests;
mod tree;

use run::Run;
use tree::{Branch, Kind};

/// Where a projection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In `find` and `findAndModify`, which also have `$slice`, `$elemMatch`, `$meta` and `a.$`.
    Find,
    /// In `$project`.
    Aggregate,
}

/// What a projection needs besides its document.
#[derive(Clone, Debug)]
pub struct ProjectionOptions {
    /// Where it stands.
    pub mode: Mode,
    /// The variables that expressions may use.
    pub variables: Variables,
    /// For the conditions of `$elemMatch`.
    pub filter: FilterOptions,
}

impl ProjectionOptions {
    /// Without variables and collation.
    pub fn new(mode: Mode) -> Self {
        Self { mode, variables: Variables::new(), filter: FilterOptions::default() }
    }
}

/// A compiled projection.
#[derive(Debug)]
pub struct Projection {
    root: Branch,
    kind: Kind,
    /// The `_id` that is computed: it comes first.
    id: Option<Expression>,
    needs_match: bool,
}

impl Projection {
    /// Compiles a projection.
    pub fn parse(document: &RawDocument, options: &ProjectionOptions) -> Result<Self> {
        parse::projection(document, options)
    }

    /// Whether it names fields to leave out rather than fields to give.
    pub fn is_exclusion(&self) -> bool {
        self.kind == Kind::Exclusion
    }

    /// Whether it needs the position of the array element that the query matched.
    pub fn needs_match(&self) -> bool {
        self.needs_match
    }

    /// Projects a document, which is also the root of the scope that expressions are evaluated in.
    /// `matched` is the position of the array element that the query matched.
    pub fn apply(
        &self,
        document: &RawDocument,
        scope: &Scope<'_>,
        matched: Option<usize>,
    ) -> Result<RawDocumentBuf> {
        let mut writer = Writer::with_capacity(match self.kind {
            Kind::Exclusion => document.as_bytes().len(),
            Kind::Inclusion => 256.min(document.as_bytes().len()),
        });
        if let Some(id) = &self.id
            && let Some(value) = id.evaluate(scope)?.as_ref()
        {
            writer.field("_id", value);
        }
        let run = Run { kind: self.kind, document, scope, matched };
        run.fields(&self.root, Elements::of(document), self.needs_match, &mut writer)?;
        writer.finish()
    }
}
