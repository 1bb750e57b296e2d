//! Updates against tables of documents before and after.

mod arrays;
mod elements;
mod insert;
mod paths;
mod properties;
mod replace;
mod scalars;
mod upsert;

use bson::{Bson, DateTime, Document, RawArrayBuf, RawDocumentBuf, Timestamp, doc};

use super::{Applied, Context, Update, UpdateOptions};
use crate::error::Result;

pub(super) const CONTEXT: Context = Context {
    now: DateTime::from_millis(1000),
    timestamp: Timestamp { time: 7, increment: 3 },
    matched: None,
};

pub(super) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

pub(super) fn parse_with(
    update: &Document,
    filters: &[Document],
    options: UpdateOptions,
) -> Result<Update> {
    let filters: Vec<Bson> = filters.iter().cloned().map(Bson::Document).collect();
    let filters = RawArrayBuf::try_from(filters).unwrap();
    Update::parse(&raw(update), Some(&filters), options)
}

pub(super) fn parse(update: &Document) -> Result<Update> {
    parse_with(update, &[], UpdateOptions::default())
}

pub(super) fn apply(document: &Document, update: &Document) -> Result<Applied> {
    parse(update)?.apply(&raw(document), &CONTEXT)
}

pub(super) fn document(raw: &RawDocumentBuf) -> Document {
    Document::try_from(raw).unwrap()
}

/// Documents before, updates, and documents after. Where nothing changes, the document is not
/// modified; where something does, the description of the changes leads to the same document.
#[track_caller]
pub(super) fn check(cases: &[(Document, Document, Document)]) {
    for (before, update, after) in cases {
        let applied = apply(before, update).unwrap_or_else(|error| panic!("{update}: {error:?}"));
        assert_eq!(document(&applied.document), *after, "{before} {update}");
        assert_eq!(applied.is_modified, before != after, "{before} {update}");
        if let Some(changes) = applied.changes {
            let again = properties::replay(before, &changes);
            assert_eq!(again, *after, "{before} {update} {changes:?}");
        }
    }
}

/// Documents, updates, and the errors they give.
#[track_caller]
pub(super) fn check_errors(cases: &[(Document, Document, i32, &str)]) {
    for (before, update, code, message) in cases {
        let error = apply(before, update).expect_err(&update.to_string());
        let found = (error.code.number(), error.message.as_str());
        assert_eq!(found, (*code, *message), "{before} {update}");
    }
}

/// What changed, as change streams tell it.
pub(super) fn changes(before: &Document, update: &Document) -> Document {
    let changes = apply(before, update).unwrap().changes.unwrap();
    let truncated: Vec<Bson> = changes
        .truncated
        .iter()
        .map(|(field, size)| doc! {"field": field, "newSize": i32::try_from(*size).unwrap()}.into())
        .collect();
    doc! {"updated": document(&changes.updated), "removed": changes.removed, "truncated": truncated}
}

#[test]
fn compiled_updates_are_shared_between_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    check(&parse(&doc! {"$pull": {"a": {"$gt": 1}}}).unwrap());
}
