//! Triggers: scripts that a client names to run before and after a write, in its transaction.
//!
//! The key is locked, the pre-trigger rewrites the document, the write is staged, the post-trigger
//! sees the response, and all of it is queued together or not at all.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use catalog::scripts::{Script, ScriptKind, TriggerOperation, TriggerType};
use partition::{Refused, budget::Admission, charge::Meter};
use protocol::{Error, Options};
use query::{
    scope::{check_key, header_key, key_in_body},
    served::Served,
};
use script::{Context, Kind, Property, Turn};
use value::{
    Value,
    json::{self, Document},
    partition_key::PartitionKey,
};

use catalog::bodies;

use crate::{
    Inner,
    documents::{
        Place,
        incoming::{self, Incoming},
        scripted::{self, Ran, host::Session},
        stage::{Done, Stage},
        write::{Queued, Write},
    },
    usage,
};

/// A write with the triggers that its caller named.
pub(in crate::documents) struct Triggers<'a> {
    write: &'a Write<'a>,
    options: &'a Options,
    before: Option<Arc<Script>>,
    after: Option<Arc<Script>>,
}

impl<'a> Triggers<'a> {
    /// The triggers of a write; `None` if it has none. Refuses a name that does not fit.
    pub(in crate::documents) fn of(
        write: &'a Write<'a>,
        collection: &Served,
        options: &'a Options,
    ) -> Result<Option<Self>, Error> {
        if options.pre_triggers.is_empty() && options.post_triggers.is_empty() {
            return Ok(None);
        }
        let find = |names: &[String], kind| match names {
            [] => Ok(None),
            [name] => trigger(write, collection, name, kind).map(Some),
            _ => Err(Error::bad_request(
                "A request may name one pre-trigger and one post-trigger, not several.",
            )),
        };
        let before = find(&options.pre_triggers, TriggerType::Pre)?;
        let after = find(&options.post_triggers, TriggerType::Post)?;
        Ok(Some(Self { write, options, before, after }))
    }

    /// Carries out the write with its triggers, up to the point where it must take turns with
    /// others.
    pub(in crate::documents) async fn attempt(
        &self,
        engine: &Arc<Inner>,
        collection: &Arc<Served>,
        meter: &mut Meter,
        admission: &mut Admission<'_>,
    ) -> Result<Queued, Refused> {
        let (key, read) = self.key(collection)?;
        let place = Place::of(collection, &key)?;
        admission.enter(engine.now_s(), &place.partition.budget)?;
        let staged = self.stage(engine, collection, (&place, &key), read, meter).await;
        if !staged.as_ref().is_err_and(Refused::is_staged_again) {
            place.note_charge(engine, meter);
        }
        let staged = match staged {
            Ok((done, log, stage, turn)) => {
                let committed = stage.commit().await;
                drop(turn);
                match committed {
                    Ok(published) => Ok(((done, log), published)),
                    Err(refused) => Err(logged(refused, &log)),
                }
            }
            Err(refused) => Err(refused),
        };
        let staged = staged.map_err(|refused| scripted::told(refused, &place));
        let (done, published) = place.decided(staged)?;
        let (done, log) = match done {
            Ok((done, log)) => (Ok(done), log),
            Err(error) => (Err(error), String::new()),
        };
        let partition = Arc::clone(place.partition);
        let log = (!log.is_empty()).then_some(log);
        let quota_lists = usage::lists(engine, collection, self.options);
        let owner = collection.owner();
        Ok(Queued { done, published, partition, owner, quota_lists, log })
    }

    /// The key of the transaction, and the parsed document if it is the one to write. The header
    /// has the key before a trigger has made the document; clients that send no header have it in
    /// the document from the start.
    fn key(&self, collection: &Served) -> Result<(PartitionKey, Option<Document<'a>>), Error> {
        let body = match self.write {
            Write::Create { body, .. } | Write::Replace { body, .. } => *body,
            Write::Patch { .. } | Write::Delete { .. } => {
                return Ok((header_key(collection, self.options)?, None));
            }
        };
        let key = |value: &Value| match self.options.partition_key {
            Some(_) => header_key(collection, self.options),
            None => key_in_body(collection, value, self.options),
        };
        if self.before.is_some() {
            // A trigger may turn any body into an object.
            return Ok((key(&bodies::parse(body)?)?, None));
        }
        let read = incoming::read(body)?;
        Ok((key(&read.value)?, Some(read)))
    }

    async fn stage<'p>(
        &self,
        engine: &'p Arc<Inner>,
        collection: &'p Arc<Served>,
        (place, key): (&'p Place<'p>, &'p PartitionKey),
        read: Option<Document<'a>>,
        meter: &mut Meter,
    ) -> Result<(Done, String, Stage<'p>, Turn), Refused> {
        let body = match self.write {
            Write::Create { body, .. } | Write::Replace { body, .. } => *body,
            Write::Patch { .. } | Write::Delete { .. } => &[],
        };
        let mut stage = Stage::begin_script(engine, place, key, body.len()).await?;
        let turn = scripted::enter(engine).await?;
        let mut log = String::new();
        let staged =
            self.run(engine, collection, &turn, &mut stage, (body, read, &mut log), meter).await;
        match staged {
            Ok(done) => Ok((done, log, stage, turn)),
            Err(refused) => Err(logged(refused, &log)),
        }
    }

    /// Runs the triggers around the write, and notes their logs.
    async fn run(
        &self,
        engine: &Arc<Inner>,
        collection: &Arc<Served>,
        turn: &Turn,
        stage: &mut Stage<'_>,
        (body, read, logged): (&[u8], Option<Document<'_>>, &mut String),
        meter: &mut Meter,
    ) -> Result<Done, Refused> {
        let path = self.write.collection();
        let mut body = Cow::Borrowed(body);
        let context = || Context {
            operation_type: self.operation_type().to_owned(),
            request_values: self.request_values(),
            ..scripted::context(collection, self.options.enable_script_logging)
        };
        if let Some(script) = &self.before {
            let context = Context { request_body: text(&body)?, ..context() };
            let mut session = Session::new(engine, path, collection, stage, meter);
            let job = (Kind::PreTrigger, context);
            let ran = scripted::run(engine, turn, script, job, &mut session).await;
            if session.is_stale {
                return Err(Refused::Stale);
            }
            let Ran { outcome, log } = ran?;
            *logged = log;
            if let Some(rewritten) = outcome.request_body.filter(|_| !body.is_empty()) {
                body = Cow::Owned(rewritten.into_bytes());
            }
        }
        let mut done = self.write_body(&body, read, stage, meter).await?;
        if let Some(script) = &self.after {
            let quota = usage::quota(engine, collection);
            let context = Context {
                request_body: text(&body)?,
                response_body: text(&done.document)?,
                quota: (
                    format!("collectionSize={};", quota.collection_bytes / 1024),
                    format!("collectionSize={};", quota.collection_size_max_kb),
                ),
                ..context()
            };
            let mut session = Session::new(engine, path, collection, stage, meter);
            let job = (Kind::PostTrigger, context);
            let ran = scripted::run(engine, turn, script, job, &mut session).await;
            if session.is_stale {
                return Err(Refused::Stale);
            }
            let Ran { outcome, log } = ran?;
            logged.push_str(&log);
            if let Some(response) = outcome.response_body {
                done.document = response.into();
            }
        }
        if self.options.minimal_response {
            done.document = Bytes::new();
        }
        Ok(done)
    }

    async fn write_body(
        &self,
        body: &[u8],
        read: Option<Document<'_>>,
        stage: &mut Stage<'_>,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        // The post-trigger sees the document, whether or not the client wants it.
        let options = &Options { minimal_response: false, ..self.options.clone() };
        let collection = stage.place.collection;
        let incoming = || {
            let incoming = match read {
                Some(read) => Incoming::of(body, read, collection)?,
                None => Incoming::parse(body, collection)?,
            };
            check_key(collection, &incoming.value, stage.key, options)?;
            Ok::<_, Error>(incoming)
        };
        match self.write {
            Write::Create { upsert, .. } => {
                let incoming = incoming()?;
                stage.create(incoming, *upsert, options, meter).await
            }
            Write::Replace { path, .. } => {
                let incoming = incoming();
                let id = stage.linked(&path.document).await?;
                stage.replace(&id, incoming, options, meter).await
            }
            Write::Delete { path } => {
                let id = stage.linked(&path.document).await?;
                stage.delete(&id, options, meter).await
            }
            Write::Patch { .. } => Err(no_patch()),
        }
    }

    fn operation_type(&self) -> &'static str {
        match self.write {
            Write::Create { upsert: false, .. } => "Create",
            Write::Create { upsert: true, .. } => "Upsert",
            Write::Replace { .. } | Write::Patch { .. } => "Replace",
            Write::Delete { .. } => "Delete",
        }
    }

    /// Headers that scripts may read.
    fn request_values(&self) -> Vec<Property> {
        let Options { partition_key, if_match, .. } = self.options;
        let key = partition_key.as_ref().map(ToString::to_string);
        let values = [("x-ms-documentdb-partitionkey", key), ("If-Match", if_match.clone())];
        let values = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let property = |(name, value): (&str, String)| Property {
            name: name.to_owned(),
            value,
            writable: false,
        };
        values.map(property).collect()
    }
}

/// The trigger of this name, if it may run at this point of this write.
fn trigger(
    write: &Write<'_>,
    collection: &Served,
    name: &str,
    wanted: TriggerType,
) -> Result<Arc<Script>, Error> {
    let script = collection.scripts.find(ScriptKind::Trigger, name).ok_or_else(|| {
        Error::bad_request(format!("The trigger '{name}' was not found in the collection."))
    })?;
    let Some(kind) = &script.trigger else { return Err(Error::not_found()) };
    if kind.when != wanted {
        let (is, wanted) = (kind.when.name(), wanted.name());
        return Err(Error::bad_request(format!(
            "The trigger '{name}' is a {is}-trigger, and cannot be used as a {wanted}-trigger."
        )));
    }
    let fits = match (write, kind.operation) {
        (Write::Patch { .. }, _) => return Err(no_patch()),
        (_, TriggerOperation::All) => true,
        (Write::Create { upsert: false, .. }, operation) => operation == TriggerOperation::Create,
        (Write::Create { upsert: true, .. }, operation) => operation != TriggerOperation::Delete,
        (Write::Replace { .. }, operation) => {
            matches!(operation, TriggerOperation::Replace | TriggerOperation::Update)
        }
        (Write::Delete { .. }, operation) => operation == TriggerOperation::Delete,
    };
    if !fits {
        return Err(Error::bad_request(format!(
            "The trigger '{name}' is for the operation {}, not for this one.",
            kind.operation.name()
        )));
    }
    Ok(Arc::clone(script))
}

/// A refusal with the log so far.
fn logged(mut refused: Refused, log: &str) -> Refused {
    if let Refused::Error(error) = &mut refused
        && !log.is_empty()
    {
        let later = error.meta.script_log.take().unwrap_or_default();
        error.meta.script_log = Some(format!("{log}{later}"));
    }
    refused
}

fn no_patch() -> Error {
    Error::bad_request("Triggers cannot be used with patch.")
}

/// A body as text for scripts to parse; `None` if it is empty.
fn text(body: &[u8]) -> Result<Option<String>, Error> {
    if body.is_empty() {
        return Ok(None);
    }
    let mut compact = Vec::with_capacity(body.len());
    json::compact(body, &mut compact);
    let text = String::from_utf8(compact);
    text.map(Some).map_err(|_| Error::bad_request("The input content is not UTF-8."))
}
