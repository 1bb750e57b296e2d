//! What to run, within which limits, and its result.

use std::{sync::Arc, time::Duration};

use protocol::{Code, Error};
use value::Value;

/// The kind of script, which determines its environment and what it may do.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Called by a client with arguments.
    StoredProcedure {
        /// JSON text of the argument to `Function.apply`: an array, an array-like object, or
        /// `null`.
        arguments: Arc<str>,
    },
    /// Runs before an operation and may rewrite its document.
    PreTrigger,
    /// Runs after an operation and sees its answer.
    PostTrigger,
    /// A function for SQL queries, called once for each row of arguments. It has no context.
    Function {
        /// The arguments, row by row.
        rows: Vec<Vec<Value>>,
    },
    /// Only checks that the source is a function, without calling it.
    Compile,
}

/// A header of a request or a response, as scripts see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name; scripts may write it in any case.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether `setValue` is allowed.
    pub writable: bool,
}

/// The environment of a script.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The collection's link by rids.
    pub self_link: String,
    /// The collection's link by names.
    pub alt_link: String,
    /// For a trigger: `Create`, `Replace`, `Upsert` or `Delete`.
    pub operation_type: String,
    /// For a trigger: JSON text of the request's document, if any.
    pub request_body: Option<String>,
    /// Headers of the request.
    pub request_values: Vec<Property>,
    /// For a post-trigger: JSON text of the response's document, if any.
    pub response_body: Option<String>,
    /// Headers of the response.
    pub response_values: Vec<Property>,
    /// The results of `getResourceQuotaCurrentUsage` and `getMaxResourceQuota`.
    pub quota: (String, String),
    /// Whether to keep the output of `console.log`.
    pub logging: bool,
}

/// One execution.
#[derive(Clone, Debug)]
pub struct Job {
    /// The script's id, for stack traces.
    pub name: String,
    /// Its source, shared because it may be large.
    pub source: Arc<str>,
    /// Its kind.
    pub kind: Kind,
    /// Its environment.
    pub context: Context,
    /// Its limits.
    pub limits: Limits,
}

/// Hard limits of one execution.
#[derive(Clone, Debug)]
pub struct Limits {
    /// After this time operations are refused, so that the script can wrap up.
    pub accepting: Duration,
    /// After this time the script is stopped.
    pub time: Duration,
    /// A script inside a long native call cannot be stopped: its worker is killed after this
    /// additional time.
    pub grace: Duration,
    /// The most bytes that its objects may take.
    pub heap_bytes_max: u64,
    /// Its stack size in bytes.
    pub stack_bytes_max: u32,
    /// The most characters of a body that it sets.
    pub body_bytes_max: u32,
    /// The most bytes of log output; the rest is cut off.
    pub log_bytes_max: u32,
    /// The most operations; more are refused.
    pub operations_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            accepting: Duration::from_secs(4),
            time: Duration::from_secs(5),
            grace: Duration::from_millis(250),
            heap_bytes_max: 64 << 20,
            stack_bytes_max: 512 << 10,
            body_bytes_max: 4 << 20,
            log_bytes_max: 16 << 10,
            operations_max: 20_000,
        }
    }
}

/// The result of a script that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// JSON text of the response's body, if there is one.
    pub response_body: Option<String>,
    /// For a pre-trigger: JSON text of the request's body.
    pub request_body: Option<String>,
    /// Headers of the request that the script changed.
    pub request_values: Vec<(String, String)>,
    /// Headers of the response that the script changed.
    pub response_values: Vec<(String, String)>,
    /// For a function: a value for each row.
    pub rows: Vec<Value>,
}

/// A finished execution.
#[derive(Debug)]
pub struct Report {
    /// Its log output, even if it failed.
    pub log: String,
    /// Its result.
    pub result: Result<Outcome, Failure>,
}

/// Why a script failed. Nothing that it did may be kept.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An uncaught exception, or `abort`.
    #[error(
        "Encountered exception while executing Javascript. Exception = {description}\r\nStack trace: {description}\n{stack}"
    )]
    Thrown {
        /// The first argument of `new Error(number, message)`, or the number of an operation's
        /// error.
        number: Option<i64>,
        /// For example `Error: not enough gold`.
        description: String,
        /// The script's stack frames, one per line.
        stack: String,
    },
    /// The source is not JavaScript, or not a function.
    #[error("{message} at line {line}, column {column}")]
    Syntax {
        /// The error message.
        message: String,
        /// Counted from 1.
        line: u32,
        /// Counted from 1.
        column: u32,
    },
    /// It ran too long.
    #[error("The script exceeded its execution time")]
    TimedOut,
    /// It exceeded its memory limit.
    #[error("The script exceeded its memory limit")]
    OutOfMemory,
    /// It produced a body that is too large.
    #[error("The script's result is too large: return less, and a continuation for the rest")]
    TooLarge,
    /// An operation failed in a way that the script cannot handle.
    #[error(transparent)]
    Host(Box<Error>),
    /// Too many scripts are waiting for a worker.
    #[error("Too many scripts are waiting to run")]
    Busy,
    /// The worker died, could not be started, or sent an invalid message.
    #[error("The script's worker process was lost: {0}")]
    WorkerLost(String),
}

impl Failure {
    /// What the caller can do about it.
    pub fn code(&self) -> Code {
        match self {
            Failure::Thrown { .. } | Failure::Syntax { .. } => Code::BadRequest,
            Failure::TimedOut => Code::Timeout,
            Failure::OutOfMemory => Code::LimitReached,
            Failure::TooLarge => Code::TooLarge,
            Failure::Host(error) => error.code,
            Failure::Busy => Code::TooManyRequests,
            Failure::WorkerLost(_) => Code::Internal,
        }
    }
}
