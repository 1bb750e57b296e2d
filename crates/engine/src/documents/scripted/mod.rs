//! Scripts at work on documents: stored procedures, and triggers around a write.
//!
//! A script holds the lock of its key from its start until its changes are queued, as every writer
//! does. A script that fails releases the lock and discards its changes. Meanwhile others can read
//! the key and write to other keys.

mod attachments;
mod host;
pub(crate) mod procedure;
mod queried;
pub(super) mod triggers;

use std::{sync::Arc, time::Duration};

use catalog::scripts::Script;
use partition::Refused;
use protocol::Error;
use query::served::Served;
use script::{Context, Failure, Job, Kind, Limits, Outcome, Report, Turn};
use tokio::time::timeout;

use crate::{
    Inner,
    documents::{Place, describe, scripted::host::Session},
};

/// How long a script waits for a worker. Its key is locked meanwhile.
const WORKER_PATIENCE: Duration = Duration::from_secs(5);

/// The result of a successful script, and its log.
struct Ran {
    outcome: Outcome,
    log: String,
}

/// The context that every script gets.
fn context(collection: &Served, logging: bool) -> Context {
    Context {
        self_link: collection.self_link(),
        alt_link: collection.owner().name_path.clone(),
        logging,
        ..Context::default()
    }
}

/// Waits for a worker. A script keeps its worker until its changes are queued, so the number of
/// workers limits the changes in memory.
async fn enter(engine: &Inner) -> Result<Turn, Error> {
    let turn = timeout(WORKER_PATIENCE, engine.workers.enter(&Kind::PreTrigger)).await;
    turn.unwrap_or(Err(Failure::Busy)).map_err(|failure| {
        let mut error = Error::new(failure.code(), format!("{failure}."));
        error.meta.retry_after_ms = Some(1000);
        error
    })
}

/// Runs one script on a transaction.
async fn run(
    engine: &Arc<Inner>,
    turn: &Turn,
    script: &Script,
    (kind, context): (Kind, Context),
    session: &mut Session<'_, '_>,
) -> Result<Ran, Error> {
    let job = Job {
        name: script.id.clone(),
        source: Arc::clone(&script.body),
        kind,
        context,
        limits: Limits::default(),
    };
    session.charge();
    let Report { log, result } = engine.workers.run_in(turn, job, session).await;
    match result {
        Ok(outcome) => Ok(Ran { outcome, log }),
        Err(failure) => Err(error(script, failure, log)),
    }
}

/// A refusal with session and owner, which SDKs need on every answer.
fn told(mut refused: Refused, place: &Place<'_>) -> Refused {
    if let Refused::Error(error) = &mut refused {
        describe(&mut error.meta, place, place.partition.lsn());
    }
    refused
}

/// The error that the caller of a failed script gets.
fn error(script: &Script, failure: Failure, log: String) -> Error {
    let code = failure.code();
    let number = match &failure {
        Failure::Thrown { number, .. } => *number,
        _ => None,
    };
    let mut error = match failure {
        Failure::Host(error) => *error,
        Failure::Thrown { .. } => Error::new(code, failure.to_string()),
        failure => Error::new(code, format!("The script '{}' failed: {failure}.", script.id)),
    };
    error.meta.sub_status = number.and_then(|number| u32::try_from(number).ok());
    if !log.is_empty() {
        error.meta.script_log = Some(log);
    }
    error
}
