//! One execution, from source to report, in an engine that has not run anything before, as far as the
//! script can tell: it is put back after each.

use std::{
    cell::{Cell, RefCell},
    io,
    rc::Rc,
};

use rquickjs::{Context, Ctx, Error, Persistent, Runtime, Value};

use super::{
    Pipe, api,
    load::{self, LoadError},
    memory::Memory,
    state::{Current, State},
};
use crate::{
    job::Failure,
    wire::{Done, Mode, Run},
};

/// Extra memory for reporting that the script ran out of its own.
const RESERVE_BYTES: usize = 4 << 20;

/// How many jobs may run after a promise was rejected for lack of memory: one of them may still
/// handle it.
const EXHAUSTED_JOBS_MAX: u32 = 1000;

/// Runs a job and answers it. Sends the answer before putting the engine back, so that nobody waits for
/// that. An error means that the host is gone, or the engine unusable.
pub(crate) fn execute(
    run: Run,
    pipe: &Rc<RefCell<Pipe>>,
    engine: &'static Engine,
) -> io::Result<()> {
    let state = engine.current.enter(pipe, run);
    let result = Execution::new(engine, &state).run();
    state.note(&state.ahead.finish());
    if state.broken.get() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let done = Done { log: state.log.take(), result: result.map(|()| state.left.take()) };
    let message = done.encode().or_else(|| too_large(done.log).encode());
    pipe.borrow_mut().send(&message.unwrap_or_default())?;
    engine.put_back(state)
}

/// The engine of a worker, with the API.
pub(crate) struct Engine {
    context: Context,
    runtime: Runtime,
    current: Rc<Current>,
    memory: Rc<Memory>,
}

impl Engine {
    /// Creates an engine that ends with its process: tearing it down would only take time.
    pub(crate) fn new() -> Result<&'static Engine, Error> {
        let memory = Memory::new().ok_or(Error::Allocation)?;
        let runtime = Runtime::new_with_alloc(memory.source())?;
        let context = Context::full(&runtime)?;
        let current = Rc::new(Current::default());
        context.with(|ctx| api::install(&ctx, &current))?;
        memory.keep();
        Ok(Box::leak(Box::new(Engine { context, runtime, current, memory })))
    }

    /// Undoes all that an execution did to the engine.
    #[expect(unsafe_code, reason = "this is where nothing refers to the engine's memory")]
    fn put_back(&self, state: Rc<State>) -> io::Result<()> {
        self.runtime.set_interrupt_handler(None);
        self.runtime.set_host_promise_rejection_tracker(None);
        self.current.leave();
        // Whoever still has the state might still use the engine's values in it.
        Rc::into_inner(state).ok_or_else(|| io::Error::other("the execution is not over"))?;
        // SAFETY:
        // 1. Nobody is inside of `Context::with`: it does not return before the engine does.
        // 2. An engine's values live no longer than `Context::with`, except for `Persistent` ones. Those of an
        //    execution are in its `State` or owned by `Execution::run`, and gone; those of `Current` are
        //    neither dropped nor added to once the engine is created. The library keeps prototypes of
        //    classes, but there is one class, that of Rust functions, which has been used before.
        // 3. Rust functions are created by `api::native` only, and held by `Current`.
        unsafe { self.memory.restore() };
        Ok(())
    }
}

fn too_large(log: String) -> Done {
    Done { log, result: Err(Failure::TooLarge) }
}

/// An engine at work, with limits set.
struct Execution<'e> {
    engine: &'e Engine,
    state: &'e State,
    /// Unhandled promises that were rejected for lack of memory.
    exhausted: Rc<Cell<u32>>,
    heap_bytes_max: usize,
}

/// Why a script stopped.
enum Stop {
    Failure(Failure),
    /// An exception, kept until the engine is idle: only then can limits be changed.
    Thrown(Persistent<Value<'static>>),
}

impl Stop {
    fn thrown<'js>(ctx: &Ctx<'js>, thrown: Value<'js>) -> Stop {
        Stop::Thrown(Persistent::save(ctx, thrown))
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failure(failure)
    }
}

impl<'e> Execution<'e> {
    fn new(engine: &'e Engine, state: &'e Rc<State>) -> Self {
        let Run { limits, source, .. } = &state.run;
        let runtime = &engine.runtime;
        let heap_bytes_max = usize::try_from(limits.heap_bytes_max).unwrap_or(usize::MAX);
        runtime.set_memory_limit(heap_bytes_max);
        runtime.set_max_stack_size(usize::try_from(limits.stack_bytes_max).unwrap_or(usize::MAX));
        let own_state = Rc::clone(state);
        // The engine calls this every few thousand steps, and a script cannot catch the result.
        runtime.set_interrupt_handler(Some(Box::new(move || {
            // What a busy script asked for is carried out meanwhile.
            own_state.note(&own_state.ahead.send());
            own_state.is_late() || own_state.broken.get()
        })));
        // Rejected promises are ignored in general, but not if they ran out of memory.
        let exhausted = Rc::new(Cell::new(0_u32));
        let (own_exhausted, can_be_null) = (Rc::clone(&exhausted), can_throw_null(source));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, _, reason, is_handled| {
                if is_out_of_memory(&ctx, &reason, can_be_null) {
                    // This is also called when a promise rejected earlier gets handled.
                    let count = own_exhausted.get();
                    own_exhausted.set(if is_handled { count.saturating_sub(1) } else { count + 1 });
                }
            },
        )));
        Execution { engine, state, exhausted, heap_bytes_max }
    }

    fn run(&self) -> Result<(), Failure> {
        let result = self.run_to_end();
        match result {
            // Regardless of how the script ended.
            _ if self.state.was_late() => Err(Failure::TimedOut),
            Ok(()) if self.exhausted.get() > 0 => Err(Failure::OutOfMemory),
            Ok(()) => Ok(()),
            Err(Stop::Failure(failure)) => Err(failure),
            Err(Stop::Thrown(thrown)) => Err(self.describe(thrown)),
        }
    }

    fn run_to_end(&self) -> Result<(), Stop> {
        let state = self.state;
        let is_over = self.engine.context.with(|ctx| {
            api::adapt(&ctx, state.run.mode).map_err(|_| Failure::OutOfMemory)?;
            begin(&ctx, state)
        })?;
        if is_over {
            return Ok(());
        }
        // First the jobs of promises, then the next callback, until both are exhausted.
        loop {
            self.run_jobs()?;
            let is_last = self.engine.context.with(|ctx| {
                let thrown = |error: Error| caught(&ctx, &error);
                if let Some(reason) = state.tasks.aborted(&ctx).map_err(thrown)? {
                    return Err(Stop::thrown(&ctx, reason));
                }
                let is_last = !state.tasks.next(&ctx, state).map_err(thrown)?;
                if is_last {
                    api::finish(&ctx, state).map_err(thrown)?;
                }
                Ok(is_last)
            })?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Runs the jobs of promises. Exceptions in jobs are ignored, except running out of memory:
    /// then a promise may wait forever, or a chain continue without its beginning.
    fn run_jobs(&self) -> Result<(), Failure> {
        let mut patience = EXHAUSTED_JOBS_MAX;
        loop {
            self.check_time()?;
            // The engine also leaves an exception if it has no memory for the next job.
            let was_exhausted =
                self.engine.context.with(|ctx| ctx.has_exception() && self.is_memory(&ctx));
            patience = if self.exhausted.get() > 0 { patience - 1 } else { EXHAUSTED_JOBS_MAX };
            if was_exhausted || patience == 0 {
                return Err(Failure::OutOfMemory);
            }
            match self.engine.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(failed) => {
                    if failed.0.with(|ctx| self.is_memory(&ctx)) {
                        self.check_time()?;
                        return Err(Failure::OutOfMemory);
                    }
                }
            }
        }
    }

    /// Whether the pending exception is caused by lack of memory.
    fn is_memory(&self, ctx: &Ctx<'_>) -> bool {
        is_out_of_memory(ctx, &ctx.catch(), can_throw_null(&self.state.run.source))
    }

    /// Checked between jobs: short jobs would never be interrupted.
    fn check_time(&self) -> Result<(), Failure> {
        if self.state.is_late() { Err(Failure::TimedOut) } else { Ok(()) }
    }

    fn describe(&self, thrown: Persistent<Value<'static>>) -> Failure {
        self.engine.runtime.set_memory_limit(self.heap_bytes_max.saturating_add(RESERVE_BYTES));
        let described = self.engine.context.with(|ctx| {
            let thrown = thrown.restore(&ctx)?;
            if thrown.is_null() && !can_throw_null(&self.state.run.source) {
                // Without memory for an error object, the engine throws null.
                *self.state.failure.borrow_mut() = Some(Failure::OutOfMemory);
                return Ok(());
            }
            let described = api::describe(&ctx, self.state, thrown);
            described.inspect_err(|_| drop(ctx.catch()))
        });
        let failure = self.state.failure.take();
        match (self.state.was_late(), described, failure) {
            (true, ..) => Failure::TimedOut,
            (false, Ok(()), Some(failure)) => failure,
            _ => Failure::Thrown {
                number: None,
                description: "Error: an exception that cannot be described".to_owned(),
                stack: String::new(),
            },
        }
    }
}

/// Loads the script and calls it. Returns true if there is nothing more to run.
fn begin(ctx: &Ctx<'_>, state: &State) -> Result<bool, Stop> {
    let run = &state.run;
    let thrown = |error: Error| caught(ctx, &error);
    let main =
        load::load(ctx, &file_name(&run.name), &run.source).map_err(|error| match error {
            LoadError::Failure(failure) => Stop::Failure(failure),
            LoadError::Thrown(thrown) => Stop::thrown(ctx, thrown),
        })?;
    match run.mode {
        Mode::Compile => Ok(true),
        Mode::Function => {
            let rows = api::rows(ctx, state, &main).map_err(thrown)?;
            state.left.borrow_mut().rows = Some(rows.ok_or(Failure::TooLarge)?);
            Ok(true)
        }
        Mode::StoredProcedure | Mode::PreTrigger | Mode::PostTrigger => {
            api::start(ctx, state, main).map_err(thrown)?;
            Ok(false)
        }
    }
}

/// Whether the script itself may have thrown a null: if not, it came from the engine, out of
/// memory. The memory in use does not tell, because most of it is free again by now.
fn can_throw_null(source: &str) -> bool {
    ["throw", "abort", "reject"].iter().any(|word| source.contains(word))
}

/// Whether a promise was rejected because the engine had no memory left.
fn is_out_of_memory(ctx: &Ctx<'_>, reason: &Value<'_>, can_be_null: bool) -> bool {
    if reason.is_null() {
        return !can_be_null;
    }
    let Some(error) = reason.as_exception() else { return false };
    match error.as_object().get::<_, String>("message") {
        Ok(message) => message == "out of memory",
        Err(failed) => {
            // If even the message cannot be read, memory has run out. Drop any other exception.
            drop(ctx.catch());
            matches!(failed, Error::Allocation | Error::Unknown)
        }
    }
}

fn caught(ctx: &Ctx<'_>, error: &Error) -> Stop {
    match error {
        Error::Exception => Stop::thrown(ctx, ctx.catch()),
        // A text too long to be copied out is reported as either of these.
        Error::Unknown if ctx.has_exception() => Stop::thrown(ctx, ctx.catch()),
        Error::Allocation | Error::Unknown => Stop::Failure(Failure::OutOfMemory),
        other => Stop::Failure(Failure::Thrown {
            number: None,
            description: format!("Error: {other}"),
            stack: String::new(),
        }),
    }
}

/// The script's file name in stacks.
fn file_name(name: &str) -> String {
    let is_plain = |part: char| !part.is_control() && !r"():\/".contains(part);
    let plain: String = name.chars().filter(|part| is_plain(*part)).collect();
    if plain.is_empty() { "script.js".to_owned() } else { format!("{plain}.js") }
}
