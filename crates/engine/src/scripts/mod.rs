//! Stored procedures, triggers and functions as resources: create, read, replace, delete, list.
//!
//! A source is compiled by a worker before the catalog changes, never while others wait for it.

mod compile;
pub(crate) mod definition;
pub(crate) mod idle;

use std::sync::Arc;

use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    continuation::Feed,
    request::{CollectionPath, ScriptKind, ScriptPath},
    response::FeedKind,
};
use store::Batch;

use crate::{
    Inner,
    catalog::{
        Catalog, Collection,
        scripts::{Script, Scripts},
        storage,
    },
    charge::Meter,
    check_intended,
    control::{AsyncPlan, Change},
    feeds::{Page, is_unchanged, require_match},
    scripts::definition::{Definition, check_room},
};

/// A script and the collection that it belongs to.
pub(crate) struct Found {
    pub(crate) collection: Arc<Collection>,
    pub(crate) script: Arc<Script>,
}

/// The script that a request is about.
pub(crate) fn find(engine: &Inner, path: &ScriptPath, options: &Options) -> Result<Found, Error> {
    find_in(&engine.catalog(), path, options)
}

fn find_in(catalog: &Catalog, path: &ScriptPath, options: &Options) -> Result<Found, Error> {
    let collection = owner(catalog, &path.collection, options)?;
    let script = collection.scripts.find(path.kind, &path.script).ok_or_else(Error::not_found)?;
    let script = Arc::clone(script);
    Ok(Found { collection, script })
}

fn owner(
    catalog: &Catalog,
    path: &CollectionPath,
    options: &Options,
) -> Result<Arc<Collection>, Error> {
    let collection = catalog.collection(path).map_err(|_| Error::owner_not_found())?;
    check_intended(collection, options)?;
    Ok(Arc::clone(collection))
}

pub(crate) async fn create(
    engine: &Arc<Inner>,
    collection: CollectionPath,
    kind: ScriptKind,
    (body, upsert): (&[u8], bool),
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let definition = Definition::parse(kind, body)?;
    let create = Create { collection, kind, definition, upsert, options };
    // What is refused anyway need not be compiled first; the change looks again.
    let checked = create.place(&engine.catalog()).map(|_| ());
    let created = match checked {
        Ok(()) => {
            compile::compile(engine, &create.definition.id, &create.definition.body).await?;
            engine.change(create).await
        }
        Err(error) => Err(error),
    };
    let (outcome, found) = meter.metadata_write(created)?;
    Ok(answer(outcome, &found))
}

struct Create {
    collection: CollectionPath,
    kind: ScriptKind,
    definition: Definition,
    upsert: bool,
    options: Options,
}

impl Create {
    /// The collection, and the script that is to be replaced, if there is one.
    fn place(&self, catalog: &Catalog) -> Result<(Arc<Collection>, Option<Arc<Script>>), Error> {
        let collection = owner(catalog, &self.collection, &self.options)?;
        let Definition { id, body, .. } = &self.definition;
        // By rid too: a name must not take over another script's links.
        let old = collection.scripts.find(self.kind, id).cloned();
        if let Some(old) = &old {
            if !self.upsert || old.id != *id {
                return Err(conflict());
            }
            require_match(&self.options, old.version.etag)?;
        }
        let old_bytes = old.as_ref().map(|old| old.body.len());
        check_room(&collection.scripts, self.kind, old_bytes, body.len())?;
        Ok((collection, old))
    }
}

impl AsyncPlan<(Outcome, Found)> for Create {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let (collection, old) = self.place(&catalog)?;
        let mut scripts = Scripts::clone(&collection.scripts);
        let mut batch = Batch::default();
        let (outcome, rid) = if let Some(old) = old {
            (Outcome::Ok, old.rid)
        } else {
            let owner = collection.rid;
            let named = |number| owner.script(self.kind, number).to_string();
            let number = scripts.of_mut(self.kind).take_number(named);
            storage::put_next_script(&mut batch, owner, self.kind, &scripts);
            (Outcome::Created, owner.script(self.kind, number))
        };
        let Definition { id, body, trigger, properties } = self.definition;
        let version = engine.new_version();
        let script = Script { rid, kind: self.kind, id, body, version, trigger, properties };
        Ok(put(catalog, batch, &collection, scripts, script, outcome))
    }
}

/// Puts a script in its place, new or changed.
fn put(
    catalog: Catalog,
    mut batch: Batch,
    collection: &Collection,
    mut scripts: Scripts,
    script: Script,
    outcome: Outcome,
) -> Change<(Outcome, Found)> {
    storage::put_script(&mut batch, &script);
    let script = Arc::new(script);
    scripts.insert(Arc::clone(&script));
    let (catalog, collection) = with_scripts(catalog, collection, scripts);
    Change::new(batch, catalog, (outcome, Found { collection, script }))
}

/// The catalog with other scripts in a collection. The collection's own version stays: it is not
/// the collection that changed.
fn with_scripts(
    mut catalog: Catalog,
    collection: &Collection,
    scripts: Scripts,
) -> (Catalog, Arc<Collection>) {
    let collection = Arc::new(Collection { scripts: scripts.into(), ..collection.clone() });
    if let Some(database) = catalog.database_mut(collection.rid.database) {
        database.insert_collection(Arc::clone(&collection));
    }
    (catalog, collection)
}

pub(crate) fn read(
    engine: &Inner,
    path: &ScriptPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let found = find(engine, path, options)?;
    if is_unchanged(options, found.script.version.etag) {
        return Ok(Response { body: Body::Empty, ..answer(Outcome::NotModified, &found) });
    }
    Ok(answer(Outcome::Ok, &found))
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    path: ScriptPath,
    body: &[u8],
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let definition = Definition::parse(path.kind, body)?;
    let replace = Replace { path, definition, options };
    let checked = replace.place(&engine.catalog()).map(|_| ());
    let replaced = match checked {
        Ok(()) => {
            compile::compile(engine, &replace.definition.id, &replace.definition.body).await?;
            engine.change(replace).await
        }
        Err(error) => Err(error),
    };
    let (outcome, found) = meter.metadata_write(replaced)?;
    Ok(answer(outcome, &found))
}

struct Replace {
    path: ScriptPath,
    definition: Definition,
    options: Options,
}

impl Replace {
    fn place(&self, catalog: &Catalog) -> Result<Found, Error> {
        let found = find_in(catalog, &self.path, &self.options)?;
        require_match(&self.options, found.script.version.etag)?;
        let Definition { id, body, .. } = &self.definition;
        let scripts = &found.collection.scripts;
        // It may be given another name, but not another's.
        let is_other = |other: &Arc<Script>| other.rid != found.script.rid;
        if scripts.find(self.path.kind, id).is_some_and(is_other) {
            return Err(conflict());
        }
        check_room(scripts, self.path.kind, Some(found.script.body.len()), body.len())?;
        Ok(found)
    }
}

impl AsyncPlan<(Outcome, Found)> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let Found { collection, script: old } = self.place(&catalog)?;
        let Definition { id, body, trigger, properties } = self.definition;
        let (rid, kind, version) = (old.rid, old.kind, engine.new_version());
        let script = Script { rid, kind, id, body, version, trigger, properties };
        let scripts = Scripts::clone(&collection.scripts);
        Ok(put(catalog, Batch::default(), &collection, scripts, script, Outcome::Ok))
    }
}

pub(crate) async fn delete(
    engine: &Arc<Inner>,
    path: ScriptPath,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let deleted = engine.change(Delete { path, options }).await;
    let found = meter.metadata_write(deleted)?;
    Ok(Response { body: Body::Empty, etag: None, ..answer(Outcome::Deleted, &found) })
}

struct Delete {
    path: ScriptPath,
    options: Options,
}

impl AsyncPlan<Found> for Delete {
    async fn run(self, _engine: &Arc<Inner>, catalog: Catalog) -> Result<Change<Found>, Error> {
        let Found { collection, script } = find_in(&catalog, &self.path, &self.options)?;
        require_match(&self.options, script.version.etag)?;
        let mut batch = Batch::default();
        storage::delete_script(&mut batch, &script);
        let mut scripts = Scripts::clone(&collection.scripts);
        scripts.remove(&script);
        let (catalog, collection) = with_scripts(catalog, &collection, scripts);
        Ok(Change::new(batch, catalog, Found { collection, script }))
    }
}

pub(crate) fn list(
    engine: &Inner,
    path: &CollectionPath,
    kind: ScriptKind,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let collection = engine.collection(path, options)?;
    let feed = match kind {
        ScriptKind::StoredProcedure => Feed::StoredProcedures,
        ScriptKind::Trigger => Feed::Triggers,
        ScriptKind::Function => Feed::UserDefinedFunctions,
    };
    let items = collection.scripts.of(kind).iter().map(|script| (script.rid.number, script));
    let print = |script: &Arc<Script>| script.to_json();
    let page = Page::take(feed, &collection.rid.bytes(), options, items, print)?;
    let meta = Meta { owner: Some(collection.owner()), ..Meta::default() };
    Ok(page.answer(collection.rid.to_string(), FeedKind::Scripts(kind), meta))
}

fn answer(outcome: Outcome, found: &Found) -> Response {
    let Found { collection, script } = found;
    Response {
        outcome,
        body: Body::Resource(script.to_json()),
        etag: Some(script.version.etag.to_string()),
        continuation: None,
        meta: Meta { owner: Some(collection.owner()), ..Meta::default() },
    }
}

fn conflict() -> Error {
    Error::new(Code::Conflict, "Resource with specified id or name already exists.")
}
