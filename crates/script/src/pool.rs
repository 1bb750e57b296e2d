//! A bounded number of workers, started on demand.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError},
    time::{Instant, timeout_at},
};

use crate::{
    drive::{self, Ended},
    host::Host,
    job::{Failure, Job, Kind, Report},
    process::Process,
};

/// How workers are started, and how many.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The program. On Linux, `/proc/self/exe` is best, because it stays valid when the file is
    /// replaced.
    pub program: PathBuf,
    /// Its arguments, which must lead to [`crate::worker::main`].
    pub arguments: Vec<OsString>,
    /// How many scripts may run at a time. As many functions and compilations may run in addition:
    /// a script's query may call a function, which must not wait for the script.
    pub workers: usize,
    /// How many scripts may wait for a worker; more are rejected. The same number again for
    /// functions.
    pub waiting_max: usize,
}

/// The workers.
pub struct Pool {
    options: PoolOptions,
    scripts: Lane,
    functions: Lane,
    idle: Mutex<Vec<Process>>,
}

/// Limits how many may run and how many may wait.
struct Lane {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The right to run scripts, one after the other.
#[must_use]
pub struct Turn(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit);

impl Lane {
    fn new(options: &PoolOptions) -> Lane {
        Lane {
            running: Arc::new(Semaphore::new(options.workers.max(1))),
            waiting: Arc::new(Semaphore::new(options.waiting_max)),
        }
    }

    async fn enter(&self) -> Result<OwnedSemaphorePermit, Failure> {
        match Arc::clone(&self.running).try_acquire_owned() {
            Ok(permit) => return Ok(permit),
            Err(TryAcquireError::NoPermits) => {}
            Err(TryAcquireError::Closed) => return Err(Failure::Busy),
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| Failure::Busy)?;
        Arc::clone(&self.running).acquire_owned().await.map_err(|_| Failure::Busy)
    }
}

impl Pool {
    /// Creates a pool that has no workers yet.
    pub fn new(options: PoolOptions) -> Pool {
        let (scripts, functions) = (Lane::new(&options), Lane::new(&options));
        Pool { options, scripts, functions, idle: Mutex::default() }
    }

    /// Waits for a turn and runs one script.
    pub async fn run(&self, job: Job, host: &mut dyn Host) -> Report {
        match self.enter(&job.kind).await {
            Ok(turn) => self.run_in(&turn, job, host).await,
            Err(failure) => Report { log: String::new(), result: Err(failure) },
        }
    }

    /// Waits until a script of this kind may run.
    pub async fn enter(&self, kind: &Kind) -> Result<Turn, Failure> {
        let lane = match kind {
            Kind::Function { .. } | Kind::Compile => &self.functions,
            _ => &self.scripts,
        };
        lane.enter().await.map(Turn)
    }

    /// Runs one script until it ends or its time is up. When this returns, the worker is either
    /// ready for the next script or gone.
    ///
    /// Dropping the future kills its worker.
    pub async fn run_in(&self, _turn: &Turn, job: Job, host: &mut dyn Host) -> Report {
        let failed = |failure| Report { log: String::new(), result: Err(failure) };
        let promise = drive::first_promise(&job, host);
        let run = match drive::run_message(&job, promise) {
            Ok(run) => run,
            Err(failure) => return failed(failure),
        };
        let begin = Instant::now();
        let kill_at = begin + job.limits.time + job.limits.grace;
        loop {
            let mut process = match self.worker() {
                Ok(process) => process,
                Err(error) => return failed(Failure::WorkerLost(error.to_string())),
            };
            let driven = drive::drive(&mut process, (&run, promise), &job, begin, host);
            let ended = timeout_at(kill_at, driven).await;
            match ended {
                Ok(Ended::Report(report)) => {
                    if is_exhausting(&report) {
                        process.kill().await;
                    } else {
                        self.put_back(process);
                    }
                    return report;
                }
                Ok(Ended::Lost { before_first_word: true, .. }) if process.idle_since.is_some() => {
                    // It died while idle. The script has done nothing yet, so give it another
                    // worker.
                    process.kill().await;
                }
                Ok(Ended::Lost { failure, .. }) => {
                    process.kill().await;
                    return failed(failure);
                }
                Err(_) => {
                    process.kill().await;
                    return failed(Failure::TimedOut);
                }
            }
        }
    }

    /// Ends workers that have been idle for this long.
    pub fn release(&self, idle_for: Duration) {
        let is_fresh =
            |process: &Process| process.idle_since.is_some_and(|since| since.elapsed() < idle_for);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).retain(is_fresh);
    }

    fn worker(&self) -> std::io::Result<Process> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let start = || Process::start(&self.options.program, &self.options.arguments);
        idle.map_or_else(start, Ok)
    }

    fn put_back(&self, mut process: Process) {
        process.idle_since = Some(Instant::now());
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}

/// Whether a script used so much that its worker is discarded: a new one is cheap, and has none of
/// the old one's memory.
fn is_exhausting(report: &Report) -> bool {
    matches!(report.result, Err(Failure::TimedOut | Failure::OutOfMemory | Failure::TooLarge))
}
