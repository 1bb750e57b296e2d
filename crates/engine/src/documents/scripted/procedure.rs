//! Stored procedures: called with arguments on one partition key, all or nothing.

use std::{fmt::Display, sync::Arc};

use bytes::Bytes;
use catalog::scripts::ScriptKind;
use partition::{
    Refused,
    budget::{self, Admission, Asked},
    charge::Meter,
};
use protocol::{Body, Error, Meta, Options, Outcome, Response, request::ScriptPath};
use query::scope::header_key;
use script::Kind;
use value::{Value, json};

use crate::{
    call::Call,
    documents::{
        Place, describe, refuse,
        scripted::{self, Ran, host::Session},
        stage::Stage,
        write::Retries,
    },
};

/// Most arguments of a stored procedure.
const ARGUMENTS_MAX: usize = 500_000;

const NOT_AN_ARRAY: &str = "The arguments of a stored procedure must be an array.";

/// Runs a stored procedure. The body is a JSON array of its arguments, or nothing.
pub(crate) async fn execute(
    call: Call,
    path: &ScriptPath,
    body: &Bytes,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let execution = Execution { path, arguments: arguments(body)?, options };
    let content = [path.script.as_bytes(), body];
    let asked = Asked::new(budget::Kind::Script, &path.collection, content, options, meter);
    let mut admission = Admission::new(asked);
    let mut retries = Retries::new(call);
    loop {
        let mut spent = *meter;
        let attempt = execution.attempt(&retries.call, &mut spent, &mut admission).await;
        let Some(answer) = retries.ended(attempt).await else { continue };
        *meter = spent;
        admission.settle(retries.call.engine.now_s(), meter.total());
        return answer;
    }
}

/// The text of the arguments, which `Function.apply` will get: SDKs send an array, `null` means no
/// arguments, and an object has as many as its `length` says.
fn arguments(body: &[u8]) -> Result<Arc<str>, Error> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok("[]".into());
    }
    let invalid = |reason: &dyn Display| {
        Error::bad_request(format!(
            "The arguments of the stored procedure are invalid JSON: {reason}"
        ))
    };
    let is_too_many = match json::check(body).map_err(|error| invalid(&error))? {
        Some(elements) => elements > ARGUMENTS_MAX,
        None => match json::parse(body).map_err(|error| invalid(&error))? {
            Value::Null => false,
            Value::Object(object) => {
                let length = object.get("length").and_then(Value::as_f64);
                length.is_some_and(|it| it > ARGUMENTS_MAX as f64)
            }
            _ => return Err(Error::bad_request(NOT_AN_ARRAY)),
        },
    };
    if is_too_many {
        return Err(Error::bad_request(format!(
            "A stored procedure takes at most {ARGUMENTS_MAX} arguments."
        )));
    }
    // The worker takes the text unchanged.
    Ok(str::from_utf8(body).map_err(|error| invalid(&error))?.into())
}

struct Execution<'a> {
    path: &'a ScriptPath,
    arguments: Arc<str>,
    options: &'a Options,
}

impl Execution<'_> {
    async fn attempt(
        &self,
        call: &Call,
        meter: &mut Meter,
        admission: &mut Admission<'_>,
    ) -> Result<Response, Refused> {
        let Self { path, options, .. } = *self;
        let engine = &call.engine;
        let collection = call.collection(&path.collection, options)?;
        let script = collection.scripts.find(ScriptKind::StoredProcedure, &path.script);
        let script = Arc::clone(script.ok_or_else(|| {
            meter.lookup();
            Error::not_found()
        })?);
        let key = header_key(&collection, options)?;
        let place = Place::of(&collection, &key)?;
        admission.enter(engine.now_s(), &place.partition.budget)?;
        if options.is_session_read(engine.options.default_consistency) {
            let session = place.partition.check_session(options.session.as_ref());
            session.map_err(|error| refuse(error, &place, place.partition.lsn(), meter))?;
        }
        let mut stage = Stage::begin_script(engine, &place, &key, self.arguments.len()).await?;
        let turn =
            scripted::enter(engine).await.map_err(|error| scripted::told(error.into(), &place))?;
        let mut session = Session::new(engine, &path.collection, &collection, &mut stage, meter);
        let kind = Kind::StoredProcedure { arguments: Arc::clone(&self.arguments) };
        let context = scripted::context(&collection, options.enable_script_logging);
        let ran = scripted::run(engine, &turn, &script, (kind, context), &mut session).await;
        if session.is_stale {
            return Err(Refused::Stale);
        }
        let staged = match ran {
            Ok(ran) => stage.commit().await.map(|published| (ran, published)),
            Err(error) => {
                drop(stage);
                Err(Refused::from(error))
            }
        };
        drop(turn);
        if !staged.as_ref().is_err_and(Refused::is_staged_again) {
            place.note_charge(engine, meter);
        }
        let told = |refused| scripted::told(refused, &place);
        let (ran, published) = place.decided(staged).map_err(told)?;
        let lsn = published.lsn().await.map_err(|error| told(error.into()))?;
        let Ran { outcome, log } = ran.map_err(|error| told(error.into()))?;
        let script_log = (!log.is_empty()).then_some(log);
        let mut meta = Meta { script_log, ..Meta::default() };
        describe(&mut meta, &place, lsn);
        let body = outcome.response_body.map_or(Body::Empty, |body| Body::Resource(body.into()));
        Ok(Response { outcome: Outcome::Ok, body, etag: None, continuation: None, meta })
    }
}
