//! The document that an update inserts if the query matches nothing.

use std::borrow::Cow;

use bson::oid::ObjectId;
use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::insert::check_id;
use super::matching::ArrayFilters;
use super::node::{Children, Node, changed_twice, check_elements, write_document};
use super::replace::{with_id, with_timestamps};
use super::sort::find;
use super::tree::Fields;
use super::{Context, ID, Kind, Update, immutable};
use crate::error::{Code, Error, Result};
use crate::path::Path;
use crate::writer::Elements;

impl Update {
    /// The document to insert: what the query says, which is
    /// [`Filter::equalities`](crate::filter::Filter::equalities), and the update. `id` is for a
    /// document without one.
    pub fn upsert(
        &self,
        equalities: &[(&Path, RawBsonRef<'_>)],
        id: ObjectId,
        context: &Context,
    ) -> Result<RawDocumentBuf> {
        let base = base(equalities)?;
        let new = match &self.kind {
            Kind::Operators { fields, filters } => {
                self.operate_on_new(fields, filters, &base, context)?
            }
            Kind::Replacement(replacement) => {
                let new = with_timestamps(replacement, context.timestamp)?;
                keep_id(&base, new)?
            }
            Kind::Pipeline(stages) => keep_id(&base, stages.transform(&base, context)?)?,
        };
        let generated = match new.get("_id")? {
            Some(id) => {
                check_id(id)?;
                None
            }
            None => Some(RawBsonRef::ObjectId(id)),
        };
        let document = with_id(&new, generated)?;
        check_elements(document.iter_elements(), 0)?;
        let max = self.options.document_max;
        if document.as_bytes().len() > max {
            return Err(Error::new(
                Code::DOCUMENT_TOO_LARGE,
                format!("Document to upsert is larger than {max}"),
            ));
        }
        Ok(document)
    }

    fn operate_on_new(
        &self,
        fields: &Fields,
        filters: &ArrayFilters,
        base: &RawDocument,
        context: &Context,
    ) -> Result<RawDocumentBuf> {
        let context = Context { matched: None, ..*context };
        let mut root = Children::of(Elements::of(base))?;
        let mut applier = self.applier(filters, base, &context);
        applier.is_insert = true;
        // What the query does not say is free to choose.
        applier.immutable.retain(|path| find(RawBsonRef::Document(base), path).is_some());
        applier.run(fields, &mut root)?;
        let new = write_document(&root, base.as_bytes().len() + 64)?;
        immutable::check_documents(base, &new, &applier.immutable)?;
        Ok(new)
    }
}

/// A document with the id that the query asks for.
fn keep_id(base: &RawDocument, new: RawDocumentBuf) -> Result<RawDocumentBuf> {
    let Some(id) = base.get("_id")? else { return Ok(new) };
    if new.get("_id")?.is_some() {
        immutable::check_documents(base, &new, &[&ID])?;
    }
    with_id(&new, Some(id))
}

/// The document that has the values which the query asks for, and no more.
fn base(equalities: &[(&Path, RawBsonRef<'_>)]) -> Result<RawDocumentBuf> {
    let mut root = Children::default();
    for (path, value) in equalities {
        let (last, outer) = match path.parts().split_last() {
            Some((last, outer)) => (last.name.as_str(), outer),
            None => continue,
        };
        let mut children = &mut root;
        for part in outer {
            children = below(children, &part.name)?;
        }
        children.push(Cow::Borrowed(last), Node::Given(*value));
    }
    write_document(&root, 64)
}

fn below<'c, 'a>(children: &'c mut Children<'a>, name: &'a str) -> Result<&'c mut Children<'a>> {
    let known = children.items.iter().position(|child| child.name == name);
    let at = known.unwrap_or(children.items.len());
    if known.is_none() {
        children.push(Cow::Borrowed(name), Node::Document(Children::default()));
    }
    match &mut children.items[at].node {
        Node::Document(children) => Ok(children),
        _ => Err(changed_twice()),
    }
}
