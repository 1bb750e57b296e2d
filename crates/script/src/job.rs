//! What is run, within which limits, and what comes of it.

use std::{sync::Arc, time::Duration};

use protocol::{Code, Error};
use value::Value;

/// What a script is, which decides what it finds and what it may do.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Called by a client with arguments.
    StoredProcedure {
        /// JSON text of what `Function.apply` takes: an array, an object like one, or `null`.
        arguments: Arc<str>,
    },
    /// Runs before an operation and may rewrite its document.
    PreTrigger,
    /// Runs after an operation and sees its answer.
    PostTrigger,
    /// A function of the SQL dialect, called once for each row of arguments. It has no context.
    Function {
        /// The arguments, row by row.
        rows: Vec<Vec<Value>>,
    },
    /// Nothing is called: is the source a function?
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

/// What a script finds around it.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The collection's link by rids.
    pub self_link: String,
    /// The collection's link by names.
    pub alt_link: String,
    /// Of a trigger: `Create`, `Replace`, `Upsert` or `Delete`.
    pub operation_type: String,
    /// Of a trigger: JSON text of the document in the request, if it has one.
    pub request_body: Option<String>,
    /// Headers of the request.
    pub request_values: Vec<Property>,
    /// Of a post-trigger: JSON text of the document in the response, if it has one.
    pub response_body: Option<String>,
    /// Headers of the response.
    pub response_values: Vec<Property>,
    /// What `getResourceQuotaCurrentUsage` and `getMaxResourceQuota` answer.
    pub quota: (String, String),
    /// Whether `console.log` is kept.
    pub logging: bool,
}

/// One execution.
#[derive(Clone, Debug)]
pub struct Job {
    /// The script's id, for stack traces.
    pub name: String,
    /// Its body, shared with whoever keeps it: it may be large.
    pub source: Arc<str>,
    /// What it is.
    pub kind: Kind,
    /// What it finds.
    pub context: Context,
    /// How far it may go.
    pub limits: Limits,
}

/// Hard limits of one execution.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From here on operations are refused, so that the script can wrap up.
    pub accepting: Duration,
    /// Then the script is stopped.
    pub time: Duration,
    /// A script inside one long native call cannot be stopped: its worker is killed this much later.
    pub grace: Duration,
    /// Bytes that its objects may take.
    pub heap_bytes_max: u64,
    /// Bytes of stack.
    pub stack_bytes_max: u32,
    /// Characters of a body that it sets.
    pub body_bytes_max: u32,
    /// Bytes of what it logs: the rest is cut off.
    pub log_bytes_max: u32,
    /// Operations; more are refused.
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

/// What a script that ended well leaves.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// JSON text of the response's body, if the script set one or there was one.
    pub response_body: Option<String>,
    /// Of a pre-trigger: JSON text of the request's body.
    pub request_body: Option<String>,
    /// Headers of the request that the script changed.
    pub request_values: Vec<(String, String)>,
    /// Headers of the response that the script changed.
    pub response_values: Vec<(String, String)>,
    /// Of a function: a value for each row.
    pub rows: Vec<Value>,
}

/// An execution that is over.
#[derive(Debug)]
pub struct Report {
    /// What it logged, also when it failed.
    pub log: String,
    /// What came of it.
    pub result: Result<Outcome, Failure>,
}

/// Why a script did not end well. Nothing that it did may stay.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An exception that nobody caught, or `abort`.
    #[error(
        "Encountered exception while executing Javascript. Exception = {description}\r\nStack trace: {description}\n{stack}"
    )]
    Thrown {
        /// The first argument of `new Error(number, message)`, or the number of an operation's error.
        number: Option<i64>,
        /// Such as `Error: not enough gold`.
        description: String,
        /// Frames of the script, one to a line.
        stack: String,
    },
    /// The source is not JavaScript, or not a function.
    #[error("{message} at line {line}, column {column}")]
    Syntax {
        /// What is wrong.
        message: String,
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
    /// It ran too long.
    #[error("The script exceeded its execution time")]
    TimedOut,
    /// It wanted more memory than it may have.
    #[error("The script exceeded its memory limit")]
    OutOfMemory,
    /// It made a body that is larger than one may be.
    #[error("The script's result is too large: return less, and a continuation for the rest")]
    TooLarge,
    /// An operation failed in a way that no script can deal with.
    #[error(transparent)]
    Host(Box<Error>),
    /// Too many scripts are waiting for a worker.
    #[error("Too many scripts are waiting to run")]
    Busy,
    /// The worker died, or could not be started, or talked nonsense.
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
