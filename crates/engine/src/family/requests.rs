//! Create, read, replace, delete and list, as for every family.

use std::sync::Arc;

use catalog::{
    Catalog,
    child_rows::{self, Stored as _},
    children::Child as _,
};
use partition::{charge::Meter, errors};
use protocol::{Body, Code, Error, Meta, Options, Outcome, Owner, Response};
use query::{paging::Page, served::View};
use store::Batch;

use crate::{
    Inner,
    call::Call,
    conditions::{answer_read, require_match},
    control::{AsyncPlan, Change},
    family::{Family, Parent as _},
};

/// The requests that every family serves.
pub(crate) trait Requests: Family {
    async fn create(
        self,
        call: Call,
        (body, upsert): (&[u8], bool),
        options: Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let draft = self.parse(body)?;
        let put = Put { family: self, place: Place::New { upsert }, draft, options };
        put.answer(call, meter).await
    }

    async fn replace(
        call: Call,
        path: Self::Path,
        body: &[u8],
        options: Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let (family, name) = Self::of(path);
        let draft = family.parse(body)?;
        Put { family, place: Place::Of(name), draft, options }.answer(call, meter).await
    }

    fn read(
        call: &Call,
        path: Self::Path,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        meter.metadata_read();
        let (family, name) = Self::of(path);
        let found = find(&call.view.catalog, &family, &name, options)?;
        let answer = |outcome| found.answer(outcome, options);
        if !Self::CAN_BE_UNCHANGED {
            return Ok(answer(Outcome::Ok));
        }
        Ok(answer_read(options, found.child.version().etag, answer))
    }

    async fn delete(
        engine: &Arc<Inner>,
        path: Self::Path,
        options: Options,
        meter: &mut Meter,
    ) -> Result<Response, Error> {
        let (family, name) = Self::of(path);
        let deleted = engine.change(Delete { family, name, options }).await;
        let owner = Some(meter.metadata_write(deleted)?);
        let (outcome, body) = (Outcome::Deleted, Body::Empty);
        let meta = Meta { owner, ..Meta::default() };
        Ok(Response { outcome, body, etag: None, continuation: None, meta })
    }

    fn list(&self, call: &Call, options: &Options, meter: &mut Meter) -> Result<Response, Error> {
        meter.metadata_read();
        let parent = self.parent(&call.view.catalog, options)?;
        let (feed, kind) = self.feed();
        let items = self.children(&parent).iter().map(|child| (child.number(), child));
        let print = |child: &Arc<Self::Child>| Self::to_json(child, options);
        let page = Page::take(feed, &parent.rid_bytes(), options, items, print)?;
        let owner = parent.owner();
        let rid = owner.rid.clone();
        Ok(page.answer(rid, kind, Meta { owner: Some(owner), ..Meta::default() }))
    }
}

impl<F: Family> Requests for F {}

/// A child and its parent.
struct Found<F: Family> {
    parent: F::Parent,
    child: Arc<F::Child>,
}

/// A child to create or replace.
pub(crate) struct Put<F: Family> {
    family: F,
    place: Place,
    pub(crate) draft: F::Draft,
    options: Options,
}

/// The place of a child.
enum Place {
    /// Under the name in its draft.
    New { upsert: bool },
    /// In place of the child that a link names.
    Of(String),
}

impl<F: Family> Put<F> {
    async fn answer(self, call: Call, meter: &mut Meter) -> Result<Response, Error> {
        let options = self.options.clone();
        let put = match F::prepare(&self, &call).await {
            Ok(()) => call.leave().change(self).await,
            Err(error) => Err(error),
        };
        let (outcome, found) = meter.metadata_write(put)?;
        Ok(found.answer(outcome, &options))
    }

    /// Finds the parent, and the child to replace if there is one.
    pub(crate) async fn find(
        &self,
        view: &View,
    ) -> Result<(F::Parent, Option<Arc<F::Child>>), Error> {
        let Self { family, place, draft, options } = self;
        let parent = family.parent(&view.catalog, options)?;
        let children = family.children(&parent);
        let id = F::id(draft);
        // An id must not equal another child's rid: it would take over that child's links.
        let namesake = children.find(id);
        let old = match place {
            Place::New { upsert } => {
                family.check(view, &parent, namesake, draft).await?;
                if let Some(old) = namesake {
                    if !upsert || old.id() != id {
                        return Err(errors::taken());
                    }
                    require_match(options, old.version().etag)?;
                }
                namesake
            }
            Place::Of(name) => {
                let old = children.find(name).ok_or_else(Error::not_found)?;
                require_match(options, old.version().etag)?;
                F::check_name(id, old, namesake)?;
                family.check(view, &parent, Some(old), draft).await?;
                Some(old)
            }
        };
        let (max, owner, kind) = family.limit();
        if old.is_none() && children.count() >= max {
            let message = format!("A {owner} may have at most {max} {kind}.");
            return Err(Error::new(Code::LimitReached, message));
        }
        family.check_room(&parent, old, draft)?;
        let old = old.cloned();
        Ok((parent, old))
    }
}

impl<F: Family> AsyncPlan<(Outcome, Found<F>)> for Put<F> {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<(Outcome, Found<F>)>, Error> {
        let (mut parent, old) = self.find(&engine.view()).await?;
        let owner = self.family.parent_rid(&parent);
        let children = self.family.children_mut(&mut parent);
        let mut batch = Batch::default();
        let (outcome, rid) = if let Some(old) = &old {
            (Outcome::Ok, old.rid())
        } else {
            let rid = children.take_rid(owner);
            children.put_next(&mut batch, owner);
            (Outcome::Created, rid)
        };
        let child = F::make(self.draft, rid, engine.new_version(), old.as_deref());
        child_rows::put(&mut batch, &child);
        let child = Arc::new(child);
        children.insert(Arc::clone(&child));
        parent.store(&mut catalog);
        Ok(Change::new(batch, catalog, (outcome, Found { parent, child })))
    }
}

struct Delete<F> {
    family: F,
    name: String,
    options: Options,
}

impl<F: Family> AsyncPlan<Arc<Owner>> for Delete<F> {
    async fn run(self, _: &Arc<Inner>, mut catalog: Catalog) -> Result<Change<Arc<Owner>>, Error> {
        let Self { family, name, options } = self;
        let Found { mut parent, child } = find(&catalog, &family, &name, &options)?;
        require_match(&options, child.version().etag)?;
        let mut batch = Batch::default();
        child_rows::delete(&mut batch, &*child);
        family.children_mut(&mut parent).remove(&child);
        parent.store(&mut catalog);
        Ok(Change::new(batch, catalog, parent.owner()))
    }
}

fn find<F: Family>(
    catalog: &Catalog,
    family: &F,
    name: &str,
    options: &Options,
) -> Result<Found<F>, Error> {
    let parent = family.parent(catalog, options)?;
    let child = Arc::clone(family.children(&parent).find(name).ok_or_else(Error::not_found)?);
    Ok(Found { parent, child })
}

impl<F: Family> Found<F> {
    fn answer(&self, outcome: Outcome, options: &Options) -> Response {
        Response {
            outcome,
            body: Body::Resource(F::to_json(&self.child, options)),
            etag: Some(self.child.version().etag.to_string()),
            continuation: None,
            meta: Meta { owner: Some(self.parent.owner()), ..Meta::default() },
        }
    }
}
