//! One execution: the host's side of the conversation with a worker.

use std::time::Duration;

use protocol::Error;
use tokio::time::Instant;
use value::{Value, json};

use crate::{
    host::{Answer, Call, Host, Operation, Promise, Reply},
    job::{Failure, Job, Kind, Outcome, Report},
    links::{self, Resource},
    message::Malformed,
    process::Process,
    wire::{Answered, Ask, Done, Left, Mode, Run, Said, Told},
};

/// The most bytes of a function's results, over all rows.
const ROWS_BYTES_MAX: usize = 8 << 20;

/// How an execution ended.
pub(crate) enum Ended {
    /// The worker reported the end and is ready for the next job.
    Report(Report),
    /// The worker is unusable.
    Lost {
        failure: Failure,
        /// Whether the worker had not sent anything yet, so nothing has been done.
        before_first_word: bool,
    },
}

/// The message that starts a job.
pub(crate) fn run_message(job: &Job, promise: Promise) -> Result<Vec<u8>, Failure> {
    let message = |mode, arguments: &str| Run::message(mode, arguments, job, promise);
    let message = match &job.kind {
        Kind::StoredProcedure { arguments } => message(Mode::StoredProcedure, arguments),
        Kind::PreTrigger => message(Mode::PreTrigger, ""),
        Kind::PostTrigger => message(Mode::PostTrigger, ""),
        Kind::Function { rows } => message(Mode::Function, &boxed_rows(rows)),
        Kind::Compile => message(Mode::Compile, ""),
    };
    message.ok_or(Failure::TooLarge)
}

/// What a worker may go ahead with at the beginning of a job.
pub(crate) fn first_promise(job: &Job, host: &dyn Host) -> Promise {
    promise(job, 0, Duration::ZERO, host)
}

/// What the host promises, as far as the job's own limits allow it.
fn promise(job: &Job, operations: u32, elapsed: Duration, host: &dyn Host) -> Promise {
    // What was promised in time may come late.
    if !may_operate(job) || elapsed >= job.limits.accepting / 2 {
        return Promise::default();
    }
    let Promise { creations, bytes } = host.promise();
    let left = job.limits.operations_max.saturating_sub(operations);
    Promise { creations: creations.min(left), bytes }
}

fn may_operate(job: &Job) -> bool {
    !matches!(job.kind, Kind::Function { .. } | Kind::Compile)
}

/// Sends the job and answers the script's requests until it is done. `promised` is what the message
/// of the job promised.
pub(crate) async fn drive(
    process: &mut Process,
    (run, mut promised): (&[u8], Promise),
    job: &Job,
    begin: Instant,
    host: &mut dyn Host,
) -> Ended {
    let lost = |error: std::io::Error, before_first_word| Ended::Lost {
        failure: Failure::WorkerLost(error.to_string()),
        before_first_word,
    };
    if let Err(error) = process.send(run).await {
        return lost(error, true);
    }
    let mut operations = 0;
    let mut answers = Vec::new();
    loop {
        let said = match process.receive().await {
            Ok(message) => Said::decode(&message).map_err(std::io::Error::from),
            Err(error) => return lost(error, operations == 0),
        };
        let ask = match said {
            Err(error) => return lost(error, false),
            Ok(Said::Done(done)) => return Ended::Report(report(done, job)),
            Ok(Said::Ask(ask)) => ask,
        };
        operations += 1;
        let manner = ask.manner;
        if !is_in_order(&ask, &mut promised) {
            return lost(Malformed.into(), false);
        }
        let is_accepting = manner.is_promised
            || (operations <= job.limits.operations_max
                && begin.elapsed() < job.limits.accepting
                && may_operate(job));
        let answered = match answer(ask, is_accepting, job, host).await {
            Ok(answered) => answered,
            Err(error) => {
                let failure = Failure::Host(Box::new(error));
                return Ended::Lost { failure, before_first_word: false };
            }
        };
        if !manner.is_followed {
            promised = promise(job, operations, begin.elapsed(), host);
        }
        let told = Told { answered, promise: promised };
        answers
            .extend_from_slice(&told.encode().or_else(|| too_large().encode()).unwrap_or_default());
        // The worker does not read before it has sent all of them.
        if !manner.is_followed {
            if let Err(error) = process.send(&answers).await {
                return lost(error, false);
            }
            answers.clear();
        }
    }
}

/// Whether a worker may ask for this now. Only what was promised may be followed by more or be sure
/// of being accepted, which bounds the answers that wait to be sent.
fn is_in_order(ask: &Ask, promised: &mut Promise) -> bool {
    if !ask.manner.is_promised {
        return !ask.manner.is_followed;
    }
    let body = ask.body.as_deref().unwrap_or_default();
    ask.operation == Operation::Create
        && ask.resource == Resource::Document
        && promised.take(body.len())
}

async fn answer(
    ask: Ask,
    is_accepting: bool,
    job: &Job,
    host: &mut dyn Host,
) -> Result<Answered, Error> {
    let context = &job.context;
    let target = links::resolve(
        &ask.link,
        ask.operation,
        ask.resource,
        &context.self_link,
        &context.alt_link,
    );
    let target = match target {
        Ok(target) => target,
        Err(message) => return Ok(Answered::Invalid(message)),
    };
    if !is_accepting {
        return Ok(Answered::Answer(Answer::Refused));
    }
    let options = ask.options;
    let call = Call {
        operation: ask.operation,
        target,
        body: ask.body,
        if_match: options.if_match,
        if_none_match: options.if_none_match,
        index_action: options.index_action,
        page_size: options.page_size,
        continuation: options.continuation,
        enable_scan: options.enable_scan,
        is_promised: ask.manner.is_promised,
        is_brief: ask.manner.is_brief,
    };
    let mut answer = host.call(call).await?;
    if let Answer::Done(reply) = &mut answer
        && ask.manner.is_brief
        && reply.status < 400
    {
        reply.body = None;
    }
    Ok(Answered::Answer(answer))
}

/// The answer to the script if the real one does not fit into a message.
fn too_large() -> Told {
    let body = Some("The answer is too large.".to_owned());
    let reply = Reply { status: 413, body, ..Reply::default() };
    Told { answered: Answered::Answer(Answer::Done(reply)), promise: Promise::default() }
}

/// Validates a worker's report, which is not trusted: bodies must be JSON or absent.
fn report(done: Done, job: &Job) -> Report {
    let rows_expected = match &job.kind {
        Kind::Function { rows } => rows.len(),
        _ => 0,
    };
    Report { log: done.log, result: done.result.and_then(|left| outcome(left, rows_expected)) }
}

fn outcome(left: Left, rows_expected: usize) -> Result<Outcome, Failure> {
    for body in [&left.response_body, &left.request_body].into_iter().flatten() {
        json::parse(body.as_bytes()).map_err(|error| Failure::Thrown {
            number: Some(400),
            description: format!("Error: the body that the script set is not valid: {error}"),
            stack: String::new(),
        })?;
    }
    let rows = match &left.rows {
        None => Vec::new(),
        // Parsed values take many times as much memory as their text.
        Some(text) if text.len() > ROWS_BYTES_MAX => return Err(Failure::TooLarge),
        Some(text) => unboxed_rows(text)?,
    };
    if rows.len() != rows_expected {
        return Err(Failure::WorkerLost("a row is missing".to_owned()));
    }
    Ok(Outcome {
        response_body: left.response_body,
        request_body: left.request_body,
        request_values: left.request_values,
        response_values: left.response_values,
        rows,
    })
}

/// Boxes each argument, because JSON has no undefined: an empty box is undefined.
fn boxed_rows(rows: &[Vec<Value>]) -> String {
    let boxed = |argument: &Value| {
        let content = if argument.is_undefined() { Vec::new() } else { vec![argument.clone()] };
        Value::Array(content)
    };
    let rows = rows.iter().map(|row| Value::Array(row.iter().map(boxed).collect()));
    json::print(&Value::Array(rows.collect()))
}

fn unboxed_rows(text: &str) -> Result<Vec<Value>, Failure> {
    let thrown = |description: String| Failure::Thrown {
        number: Some(400),
        description,
        stack: String::new(),
    };
    let rows = json::parse(text.as_bytes())
        .map_err(|error| thrown(format!("Error: a function's result is not valid: {error}")))?;
    let Value::Array(rows) = rows else {
        return Err(Failure::WorkerLost("no rows".to_owned()));
    };
    let unboxed = rows.into_iter().map(|row| match row {
        Value::Array(content) => content.into_iter().next().unwrap_or_default(),
        other => other,
    });
    Ok(unboxed.collect())
}
