//! Updates: operators such as `$set`, replacements and pipelines, and what is inserted.
//!
//! [`Update::parse`] checks a whole update and compiles it to a tree of operators by their paths;
//! [`Update::apply`] goes down this tree and the document at the same time. What it does not reach
//! keeps its exact bytes.
//!
//! In reading order:
//! - `path`: paths with `$`, `$[]` and `$[id]`, `tree`: operators by their paths,
//! - `operator`: how operators are read; `arithmetic`, `array` and `sort` hold the larger ones,
//! - `node`: the document while it changes,
//! - `apply`: down both trees, `operate`: one operator at its place, `refuse`: what it must not do
//!   there, `rename`, `immutable`,
//! - `matching`: conditions and array filters,
//! - `replace`: whole documents, `changes`: what change streams tell,
//! - [`upsert`](Update::upsert) and [`insert`]: new documents.

use std::fmt::Debug;
use std::sync::LazyLock;

use bson::{DateTime, RawArray, RawDocument, RawDocumentBuf, Timestamp};

use crate::error::{Code, Error, Result};
use crate::filter::FilterOptions;
use crate::path::Path;

mod apply;
mod arithmetic;
mod array;
mod changes;
mod immutable;
pub mod insert;
mod matching;
mod node;
mod operate;
mod operator;
mod parse;
mod path;
mod refuse;
mod rename;
mod replace;
mod sort;
#[cfg(test)]
mod tests;
mod tree;
mod upsert;

pub use changes::Changes;

use apply::Applier;
use matching::ArrayFilters;
use node::Children;
use tree::Fields;

use crate::writer::Elements;

/// The largest document, in bytes, unless a collection allows less.
pub const DOCUMENT_MAX: usize = 16 * 1024 * 1024;

/// `_id`
static ID: LazyLock<Path> = LazyLock::new(|| Path::new("_id"));

/// What an update needs besides its document.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// For the conditions of `$pull` and array filters; its collation is that of the whole update.
    pub filter: FilterOptions,
    /// Whether all documents that match are updated.
    pub is_multi: bool,
    /// What must stay besides `_id`: the fields of the shard key.
    pub immutable: Vec<Path>,
    /// The largest document, in bytes.
    pub document_max: usize,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self {
            filter: FilterOptions::default(),
            is_multi: false,
            immutable: Vec::new(),
            document_max: DOCUMENT_MAX,
        }
    }
}

/// What an update is told about the document and the time.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The date for `$currentDate`.
    pub now: DateTime,
    /// The timestamp for `$currentDate`, and for empty timestamps.
    pub timestamp: Timestamp,
    /// The position of the array element that the query matched, which `$` stands for.
    pub matched: Option<usize>,
}

/// The stages of an update by pipeline, compiled by whoever knows stages.
pub trait Transform: Debug + Send + Sync {
    /// Runs a document through the stages.
    fn transform(&self, document: &RawDocument, context: &Context) -> Result<RawDocumentBuf>;
}

/// A compiled update.
#[derive(Debug)]
pub struct Update {
    kind: Kind,
    options: UpdateOptions,
}

#[derive(Debug)]
enum Kind {
    Operators { fields: Fields, filters: ArrayFilters },
    Replacement(RawDocumentBuf),
    Pipeline(Box<dyn Transform>),
}

/// A document after an update.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The document; the one before if nothing changed.
    pub document: RawDocumentBuf,
    /// Whether anything changed.
    pub is_modified: bool,
    /// What changed; `None` for a replacement, and if nothing did.
    pub changes: Option<Changes>,
}

impl Update {
    /// Reads an update that is a document: operators if the first field begins with `$`, otherwise a
    /// replacement.
    pub fn parse(
        update: &RawDocument,
        array_filters: Option<&RawArray>,
        options: UpdateOptions,
    ) -> Result<Self> {
        Ok(Self { kind: parse::document(update, array_filters, &options)?, options })
    }

    /// An update by pipeline.
    pub fn of_pipeline(
        stages: Box<dyn Transform>,
        array_filters: Option<&RawArray>,
        options: UpdateOptions,
    ) -> Result<Self> {
        if array_filters.is_some_and(|filters| !filters.is_empty()) {
            return Err(Error::failed_to_parse(
                "arrayFilters may not be specified for pipeline-syle updates",
            ));
        }
        Ok(Self { kind: Kind::Pipeline(stages), options })
    }

    /// Whether it replaces the whole document.
    pub fn is_replacement(&self) -> bool {
        matches!(self.kind, Kind::Replacement(_))
    }

    /// Whether it needs [`Context::matched`].
    pub fn needs_match(&self) -> bool {
        matches!(&self.kind, Kind::Operators { fields, .. } if fields.needs_match())
    }

    /// Updates a document.
    pub fn apply(&self, document: &RawDocument, context: &Context) -> Result<Applied> {
        let applied = match &self.kind {
            Kind::Operators { fields, filters } => {
                self.operate(fields, filters, document, context)?
            }
            Kind::Replacement(replacement) => {
                let new = replace::with_timestamps(replacement, context.timestamp)?;
                self.replace(document, &new)?
            }
            Kind::Pipeline(stages) => {
                let new = stages.transform(document, context)?;
                let mut applied = self.replace(document, &new)?;
                if applied.is_modified {
                    applied.changes = Some(changes::between(document, &applied.document)?);
                }
                applied
            }
        };
        if applied.is_modified {
            self.check_size(&applied.document)?;
        }
        Ok(applied)
    }

    /// All paths that must stay.
    fn immutable(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&*ID).chain(&self.options.immutable)
    }

    fn applier<'a>(
        &'a self,
        filters: &'a ArrayFilters,
        original: &'a RawDocument,
        context: &'a Context,
    ) -> Applier<'a> {
        Applier {
            original,
            context,
            is_insert: false,
            collation: self.options.filter.collation.as_deref(),
            filters,
            immutable: self.immutable().collect(),
            document_max: self.options.document_max,
            padded: 0,
            path: Vec::new(),
        }
    }

    fn operate(
        &self,
        fields: &Fields,
        filters: &ArrayFilters,
        document: &RawDocument,
        context: &Context,
    ) -> Result<Applied> {
        let mut root = Children::of(Elements::of(document))?;
        let mut applier = self.applier(filters, document, context);
        if !applier.run(fields, &mut root)? {
            return Ok(unchanged(document));
        }
        let new = node::write_document(&root, document.as_bytes().len() + 64)?;
        immutable::check_documents(document, &new, &applier.immutable)?;
        let changes = Some(changes::of_tree(&root)?);
        Ok(Applied { document: new, is_modified: true, changes })
    }

    fn replace(&self, old: &RawDocument, new: &RawDocument) -> Result<Applied> {
        let has_id = new.get("_id")?.is_some();
        let immutable: Vec<&Path> = self.immutable().skip(usize::from(!has_id)).collect();
        immutable::check_documents(old, new, &immutable)?;
        let document = replace::with_id(new, old.get("_id")?)?;
        if document.as_bytes() == old.as_bytes() {
            return Ok(unchanged(old));
        }
        node::check_elements(document.iter_elements(), 0)?;
        Ok(Applied { document, is_modified: true, changes: None })
    }

    fn check_size(&self, document: &RawDocument) -> Result<()> {
        let max = self.options.document_max;
        if document.as_bytes().len() <= max { Ok(()) } else { Err(too_large(max)) }
    }
}

fn unchanged(document: &RawDocument) -> Applied {
    Applied { document: document.to_owned(), is_modified: false, changes: None }
}

fn too_large(max: usize) -> Error {
    let message = format!("Resulting document after update is larger than {max}");
    Error::new(Code::DOCUMENT_TOO_LARGE, message)
}

/// The error for a field at the top of a document whose name looks like an operator.
fn dollar_prefixed(name: &str) -> Error {
    Error::new(
        Code::DOLLAR_PREFIXED_FIELD_NAME,
        format!(
            "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of \
             an update's replacement document. Consider using an aggregation pipeline with \
             $replaceWith."
        ),
    )
}
