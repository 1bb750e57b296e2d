//! Runs user-defined functions: sends calls to the worker processes, many at a time.
//! [`ahead`](super::ahead) determines which calls are needed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use catalog::scripts::{Script, ScriptKind};
use protocol::{BoxFuture, Error};
use script::{Answer, Call, Context, Failure, Host, Job, Kind, Limits, Pool};
use sql::program::{Answers, Halt, Question};
use tokio::time::timeout;
use value::{Value, hash::murmur3_128};

use crate::{
    execution::{figures::Figures, page::too_large},
    served::Served,
};

/// Calls per message to a worker: few at first, more while they are quick. All of them share the
/// time limit of one script.
const FIRST_CALLS: usize = 64;
const CALLS_MAX: usize = 4096;

/// Below the first limit, a message gets more calls; above the second, fewer. Waiting for a worker
/// counts too, so slow is close to the time limit of a script.
const QUICK: Duration = Duration::from_millis(100);
const SLOW: Duration = Duration::from_secs(2);

/// Bytes of arguments per message, unless a single call has more.
const CALL_BYTES_MAX: usize = 4 << 20;

/// The functions of a collection, for one page of a query.
pub(crate) struct Functions<'a> {
    collection: &'a Served,
    workers: &'a Pool,
    figures: Arc<Figures>,
    /// When the page must be done.
    timeout: Instant,
    /// The seed of the random numbers, and how many documents there were.
    seed: u64,
    units: AtomicU64,
    /// Calls per message.
    calls: AtomicUsize,
    /// Most bytes of answers that were held at one time.
    answer_bytes: AtomicUsize,
    /// The error for a call of a function that does not exist.
    unknown: Option<Error>,
}

impl<'a> Functions<'a> {
    pub(crate) fn new(
        collection: &'a Served,
        workers: &'a Pool,
        figures: &Arc<Figures>,
        timeout: Instant,
        seed: u64,
        unknown: Option<Error>,
    ) -> Self {
        Self {
            collection,
            workers,
            figures: Arc::clone(figures),
            timeout,
            seed,
            units: AtomicU64::new(0),
            calls: AtomicUsize::new(FIRST_CALLS),
            answer_bytes: AtomicUsize::new(0),
            unknown,
        }
    }

    /// An empty set of answers, for the next document or group.
    pub(crate) fn unanswered(&self) -> Answers {
        let unit = self.units.fetch_add(1, Ordering::Relaxed);
        Answers::new(murmur3_128(&unit.to_be_bytes(), (self.seed, 0)).0)
    }

    /// Fails when time is up.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        self.figures.check_time()
    }

    /// Reserves memory for so many bytes of answers. Later answers replace earlier ones, so only
    /// the maximum is held until the page is done.
    pub(crate) fn hold_answers(&self, bytes: usize) -> Result<(), Halt> {
        let most = self.answer_bytes.fetch_max(bytes, Ordering::Relaxed);
        self.figures.held.take(bytes.saturating_sub(most))
    }

    /// The figures of the page.
    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The answers to some questions, in their order. All calls of one function are sent together,
    /// as far as the message limit allows.
    pub(crate) async fn answer(&self, questions: &[&Question]) -> Result<Vec<Value>, Trouble> {
        let mut answers = vec![Value::Undefined; questions.len()];
        let mut order: Vec<usize> = (0..questions.len()).collect();
        order.sort_by_key(|at| &questions[*at].function);
        let mut rest = &order[..];
        while let Some(first) = rest.first() {
            let function = &questions[*first].function;
            let (mut count, mut bytes) = (0, 0);
            let calls = self.calls.load(Ordering::Relaxed);
            for at in rest.iter().take(calls) {
                let question = questions[*at];
                bytes += question.weight();
                if question.function != *function || count > 0 && bytes > CALL_BYTES_MAX {
                    break;
                }
                count += 1;
            }
            let (batch, others) = rest.split_at(count);
            rest = others;
            let rows = batch.iter().map(|at| questions[*at].arguments.clone()).collect();
            let values = self.call(function, rows).await?;
            for (at, value) in batch.iter().zip(values) {
                answers[*at] = value;
            }
        }
        Ok(answers)
    }

    /// Sends one message to a worker, with the arguments of some calls.
    async fn call(&self, function: &str, rows: Vec<Vec<Value>>) -> Result<Vec<Value>, Trouble> {
        let started = Instant::now();
        let calls = rows.len();
        let Some(script) = find(self.collection, function) else {
            let refusal = self.unknown.clone();
            let message = || format!("there is no function '{function}'");
            return Err(
                refusal.map_or_else(|| Failure::WorkerLost(message()).into(), Trouble::Other)
            );
        };
        let limits = Limits::default();
        let left = self.timeout.saturating_duration_since(started);
        let job = Job {
            name: script.id.clone(),
            source: Arc::clone(&script.body),
            kind: Kind::Function { rows },
            context: Context::default(),
            limits: Limits { time: limits.time.min(left), ..limits },
        };
        // Limit the wait: workers may be busy for longer than this query has left.
        let patience = left + job.limits.grace;
        let report = timeout(patience, self.workers.run(job, &mut NoDatabase)).await;
        self.figures.calls(calls, started);
        let taken = started.elapsed();
        if taken > SLOW {
            self.calls.store((calls / 2).max(1), Ordering::Relaxed);
        } else if taken < QUICK && calls == self.calls.load(Ordering::Relaxed) {
            self.calls.store((2 * calls).min(CALLS_MAX), Ordering::Relaxed);
        }
        let report = report.map_err(|_| Failure::TimedOut)?;
        report.result.map(|outcome| outcome.rows).map_err(Trouble::Failed)
    }
}

/// The reason why calls were not answered.
pub(crate) enum Trouble {
    Failed(Failure),
    /// The answers are too large to keep together.
    TooMuch,
    Other(Error),
}

impl Trouble {
    /// The factor by which to reduce the number of calls before a retry; `None` if a retry is
    /// useless. A timeout is not retried: the caller has waited long enough.
    pub(crate) fn divisor(&self) -> Option<usize> {
        match self {
            Self::Failed(Failure::Thrown { .. }) => Some(2),
            // Each of these failures also takes long.
            Self::Failed(Failure::OutOfMemory | Failure::TooLarge) | Self::TooMuch => Some(8),
            Self::Failed(_) | Self::Other(_) => None,
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Failed(failure) => script_error(&failure),
            Trouble::TooMuch => too_large("the results of user-defined functions are too large"),
            Trouble::Other(error) => error,
        }
    }
}

/// A function of a collection.
pub(crate) fn find<'a>(collection: &'a Served, name: &str) -> Option<&'a Arc<Script>> {
    collection.scripts.find(ScriptKind::Function, name)
}

/// The database a function sees: none, since it only computes.
struct NoDatabase;

impl Host for NoDatabase {
    fn call(&mut self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async { Ok(Answer::Refused) })
    }
}

/// The error for a failed script.
fn script_error(failure: &Failure) -> Error {
    if let Failure::Host(error) = failure {
        return Error::clone(error);
    }
    let mut error = Error::new(failure.code(), failure.to_string());
    match failure {
        Failure::Busy => error.meta.retry_after_ms = Some(1000),
        Failure::WorkerLost(reason) => {
            tracing::error!(%reason, "a script's worker process was lost");
        }
        Failure::Thrown { number: Some(number), .. } => {
            error.meta.sub_status = u32::try_from(*number).ok();
        }
        _ => {}
    }
    error
}
