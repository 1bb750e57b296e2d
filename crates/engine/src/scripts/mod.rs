//! Stored procedures, triggers and functions as resources.
//!
//! A worker compiles a source before the catalog changes, so that other changes do not wait for it.

mod compile;
pub(crate) mod idle;

use std::sync::Arc;

use bytes::Bytes;
use catalog::{
    Catalog, Collection, Version,
    children::Children,
    script_bodies::{Definition, check_bytes},
    scripts::Script,
};
use protocol::{
    Error, Options,
    continuation::Feed,
    limits::{FUNCTIONS_MAX, STORED_PROCEDURES_MAX, TRIGGERS_MAX},
    request::{CollectionPath, ScriptKind, ScriptPath},
    response::FeedKind,
    rid::{ChildRid, CollectionRid},
};

use query::served::check_intended;

use crate::{
    call::Call,
    family::{Family, requests::Put},
};

/// The scripts of one kind of this collection.
pub(crate) struct Scripts(pub(crate) CollectionPath, pub(crate) ScriptKind);

impl Family for Scripts {
    type Path = ScriptPath;
    type Parent = Arc<Collection>;
    type Child = Script;
    type Draft = Definition;

    fn of(path: ScriptPath) -> (Self, String) {
        (Self(path.collection, path.kind), path.script)
    }

    fn feed(&self) -> (Feed, FeedKind) {
        let feed = match self.1 {
            ScriptKind::StoredProcedure => Feed::StoredProcedures,
            ScriptKind::Trigger => Feed::Triggers,
            ScriptKind::Function => Feed::UserDefinedFunctions,
        };
        (feed, FeedKind::Scripts(self.1))
    }

    fn limit(&self) -> (usize, &'static str, &'static str) {
        let (max, name) = match self.1 {
            ScriptKind::StoredProcedure => (STORED_PROCEDURES_MAX, "stored procedures"),
            ScriptKind::Trigger => (TRIGGERS_MAX, "triggers"),
            ScriptKind::Function => (FUNCTIONS_MAX, "user defined functions"),
        };
        (max, "collection", name)
    }

    fn parent(&self, catalog: &Catalog, options: &Options) -> Result<Arc<Collection>, Error> {
        let collection = catalog.collection(&self.0).map_err(|_| Error::owner_not_found())?;
        check_intended(collection, options)?;
        Ok(Arc::clone(collection))
    }

    fn parent_rid(&self, collection: &Arc<Collection>) -> (CollectionRid, ScriptKind) {
        (collection.rid, self.1)
    }

    fn children<'a>(&self, collection: &'a Arc<Collection>) -> &'a Children<Script> {
        collection.scripts.of(self.1)
    }

    fn children_mut<'a>(&self, collection: &'a mut Arc<Collection>) -> &'a mut Children<Script> {
        Arc::make_mut(&mut Arc::make_mut(collection).scripts).of_mut(self.1)
    }

    fn parse(&self, body: &[u8]) -> Result<Definition, Error> {
        Definition::parse(self.1, body)
    }

    fn id(draft: &Definition) -> &str {
        &draft.id
    }

    fn make(draft: Definition, rid: ChildRid, version: Version, _: Option<&Script>) -> Script {
        let Definition { kind, id, body, trigger, properties } = draft;
        Script { rid, kind, id, body, version, trigger, properties }
    }

    fn to_json(script: &Script, _: &Options) -> Bytes {
        script.to_json()
    }

    fn check_room(
        &self,
        collection: &Arc<Collection>,
        old: Option<&Arc<Script>>,
        draft: &Definition,
    ) -> Result<(), Error> {
        let old_bytes = old.map_or(0, |old| old.body.len());
        check_bytes(collection.scripts.bytes() - old_bytes + draft.body.len())
    }

    async fn prepare(put: &Put<Self>, call: &Call) -> Result<(), Error> {
        // Check first, to compile nothing that is refused anyway; the change checks again.
        put.find(&call.view).await?;
        compile::compile(&call.engine, &put.draft.id, &put.draft.body).await
    }
}
