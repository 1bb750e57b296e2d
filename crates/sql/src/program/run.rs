//! The environment and limits of one execution of a program: the time, the host of user-defined
//! functions, and the bounds on steps and memory that stop excessive queries.

use std::borrow::Cow;

use value::Value;

use super::answers::{Answers, Attended, Question};
use crate::functions;

/// How many steps pass between two questions whether the query was cancelled.
const STEPS_BETWEEN_CHECKS: usize = 1024;

/// The default memory limit of a query, in bytes.
const MEMORY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Why a program ended before its last row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Halt {
    /// The caller cancelled it.
    #[error("the query was cancelled")]
    Cancelled,
    /// It would hold more than its memory limit.
    #[error("the query needs more memory than it may use")]
    OutOfMemory,
    /// It would hold more than its host can spare now.
    #[error("the memory for queries is in use")]
    Busy,
    /// A user-defined function failed or does not exist.
    #[error("{0}")]
    Udf(String),
    /// The answer of a user-defined function is still to come.
    #[error("a user-defined function has not answered yet")]
    Waiting,
    /// The receiver of its rows wants no more of them.
    #[error("no more rows are wanted")]
    Stopped,
}

/// User-defined functions that answer at once.
pub trait Udfs {
    /// Calls the function; arguments may be undefined. The error ends the query.
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String>;
}

/// Asked by a run that is to hold so many bytes, more than ever before: how many it may hold.
pub type MoreBytes<'a> = &'a (dyn Fn(usize) -> Result<usize, Halt> + Sync);

/// One execution of a program, over as many documents as there are. One thread at a time.
pub struct Run<'a> {
    pub(super) context: functions::Context,
    udfs: Option<&'a (dyn Udfs + Sync)>,
    /// Answers of functions that do not answer at once.
    attended: Option<Attended>,
    /// How many rows were left out because they wait.
    waits: usize,
    is_cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
    steps_to_check: usize,
    steps: u64,
    bytes_max: usize,
    /// How much it may hold before it requests more.
    bytes_granted: usize,
    more_bytes: Option<MoreBytes<'a>>,
    /// Held by values that are gone once the row is: what [`mark`](Self::mark) and
    /// [`release`](Self::release) count.
    transient_bytes: usize,
    /// Held until the end of the run: the state of aggregates.
    retained_bytes: usize,
}

impl<'a> Run<'a> {
    /// A run at a time, in milliseconds since 1970, with what random numbers begin from.
    pub fn new(now_millis: i64, seed: u64) -> Run<'a> {
        Run {
            context: new_context(now_millis, seed),
            udfs: None,
            attended: None,
            waits: 0,
            is_cancelled: None,
            steps_to_check: STEPS_BETWEEN_CHECKS,
            steps: 0,
            bytes_max: MEMORY_BYTES_MAX,
            bytes_granted: usize::MAX,
            more_bytes: None,
            transient_bytes: 0,
            retained_bytes: 0,
        }
    }

    /// Asked every thousand steps or so; the answer `true` ends the run.
    #[must_use]
    pub fn with_cancel(mut self, is_cancelled: &'a (dyn Fn() -> bool + Sync)) -> Run<'a> {
        self.is_cancelled = Some(is_cancelled);
        self
    }

    /// The user-defined functions that the query may call.
    #[must_use]
    pub fn with_udfs(mut self, udfs: &'a (dyn Udfs + Sync)) -> Run<'a> {
        self.udfs = Some(udfs);
        self
    }

    /// Shapes lie in a plane instead of on the Earth.
    #[must_use]
    pub fn with_plane(mut self, is_planar: bool) -> Run<'a> {
        self.context.is_planar = is_planar;
        self
    }

    /// How many bytes of values the query may hold at a time.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: usize) -> Run<'a> {
        self.bytes_max = bytes;
        self
    }

    /// Whom to ask before it holds more than it was granted, within its limit. At first that is
    /// nothing.
    #[must_use]
    pub fn with_memory_of(mut self, more_bytes: MoreBytes<'a>) -> Run<'a> {
        (self.bytes_granted, self.more_bytes) = (0, Some(more_bytes));
        self
    }

    /// The work done so far: rows examined and functions called.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts one unit of work.
    pub(super) fn step(&mut self) -> Result<(), Halt> {
        self.work(1)
    }

    /// Counts some units of work.
    pub(super) fn work(&mut self, units: usize) -> Result<(), Halt> {
        self.steps = self.steps.saturating_add(units as u64);
        self.steps_to_check = self.steps_to_check.saturating_sub(units);
        if self.steps_to_check > 0 {
            return Ok(());
        }
        self.steps_to_check = STEPS_BETWEEN_CHECKS;
        match self.is_cancelled {
            Some(is_cancelled) if is_cancelled() => Err(Halt::Cancelled),
            _ => Ok(()),
        }
    }

    /// Counts bytes that are held until [`release`](Self::release) to an earlier mark.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Halt> {
        self.transient_bytes = self.transient_bytes.saturating_add(bytes);
        self.check_memory()
    }

    /// Counts bytes that are held until the end of the run.
    pub(super) fn retain(&mut self, bytes: usize) -> Result<(), Halt> {
        self.retained_bytes = self.retained_bytes.saturating_add(bytes);
        self.check_memory()
    }

    fn check_memory(&mut self) -> Result<(), Halt> {
        let bytes = self.transient_bytes.saturating_add(self.retained_bytes);
        if bytes > self.bytes_max {
            return Err(Halt::OutOfMemory);
        }
        if let Some(more_bytes) = self.more_bytes.filter(|_| bytes > self.bytes_granted) {
            self.bytes_granted = more_bytes(bytes)?;
        }
        Ok(())
    }

    /// How much is held right now.
    pub(super) fn mark(&self) -> usize {
        self.transient_bytes
    }

    /// Forgets what was held since the mark: its values are gone.
    pub(super) fn release(&mut self, mark: usize) {
        self.transient_bytes = self.transient_bytes.min(mark);
    }

    /// Forgets the bytes of one value that is gone, while later ones are still there.
    pub(super) fn drop_bytes(&mut self, bytes: usize) {
        self.transient_bytes = self.transient_bytes.saturating_sub(bytes);
    }

    /// A value to keep: a borrowed one is counted and then copied; an owned one was already counted
    /// when it was created.
    pub(super) fn own(&mut self, value: Cow<'_, Value>) -> Result<Value, Halt> {
        match value {
            Cow::Owned(value) => Ok(value),
            Cow::Borrowed(value) => {
                self.hold(weight(value))?;
                Ok(value.clone())
            }
        }
    }

    /// Counts a value that was just made.
    pub(super) fn made<'v>(&mut self, value: Value) -> Result<Cow<'v, Value>, Halt> {
        self.hold(weight(&value))?;
        Ok(Cow::Owned(value))
    }

    /// From here on, calls of user-defined functions are answered from these, those of one
    /// document or group, evaluated from its beginning.
    pub fn attend(&mut self, answers: Answers) {
        self.context.random = functions::Random::new(answers.seed);
        self.attended = Some(Attended::new(answers));
    }

    /// Returns the answers, and the questions without one.
    pub fn leave(&mut self) -> Option<(Answers, Vec<Question>)> {
        self.attended.take().map(|attended| (attended.answers, attended.questions))
    }

    /// Calls a user-defined function from a place in the query.
    pub(super) fn call_udf(
        &mut self,
        site: usize,
        name: &str,
        args: Vec<Value>,
    ) -> Result<Value, Halt> {
        match (self.udfs, &mut self.attended) {
            (Some(udfs), _) => udfs.call(name, &args).map_err(Halt::Udf),
            (None, Some(attended)) => attended.call(site, name, args),
            (None, None) => {
                Err(Halt::Udf(format!("The user-defined function '{name}' does not exist.")))
            }
        }
    }

    /// How many rows were left out so far because they wait.
    pub(super) fn waits(&self) -> usize {
        self.waits
    }

    /// A row is left out because it waits. Nothing that it held since the mark is left.
    pub(super) fn wait(&mut self, mark: usize) {
        self.waits += 1;
        self.release(mark);
    }

    /// Waits, if a row was left out since there were so many.
    pub(super) fn check_waits(&self, before: usize) -> Result<(), Halt> {
        if self.waits > before { Err(Halt::Waiting) } else { Ok(()) }
    }
}

/// The environment of functions.
pub(super) fn new_context(now_millis: i64, seed: u64) -> functions::Context {
    let mut context = functions::Context::new(now_millis);
    context.random = functions::Random::new(seed);
    context
}

/// About how many bytes a value takes.
pub fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    match value {
        Value::String(text) => own + text.len(),
        Value::Array(items) => own + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => {
            let member = |(name, value): (&str, &Value)| 24 + name.len() + weight(value);
            own + members.iter().map(member).sum::<usize>()
        }
        _ => own,
    }
}
