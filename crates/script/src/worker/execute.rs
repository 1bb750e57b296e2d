//! One execution in a fresh engine, from source to last word.

use std::{
    cell::{Cell, RefCell},
    io,
    rc::Rc,
    time::Instant,
};

use rquickjs::{
    Context, Ctx, Error, Function, Object, Persistent, Runtime, Value, context::EvalOptions,
};
use value::json;

use super::{
    Pipe,
    load::{self, LoadError},
    native::{self, State},
};
use crate::{
    job::{Failure, Property},
    wire::{Done, Mode, Run},
};

/// The API, ours, in one scope that scripts cannot look into.
const PRELUDE: &str = concat!(
    "(function (native, settingsText) {\n'use strict';\nconst settings = JSON.parse(settingsText);\n",
    include_str!("../prelude/base.js"),
    include_str!("../prelude/messages.js"),
    include_str!("../prelude/collection.js"),
    include_str!("../prelude/query.js"),
    include_str!("../prelude/spatial.js"),
    include_str!("../prelude/run.js"),
    "})"
);

/// Name of the prelude in stacks, where the prelude itself leaves it out.
const PRELUDE_NAME: &str = "sheaf:prelude";

/// Memory on top of a script's own for saying that it had too little.
const RESERVE_BYTES: usize = 4 << 20;

/// Runs a job and answers it. The answer is out before the engine is torn down, so nobody waits for
/// that. An error means that there is nobody to answer.
pub(crate) fn execute(run: &Run, pipe: &Rc<RefCell<Pipe>>, fresh: Fresh) -> io::Result<()> {
    let state = Rc::new(State::new(Rc::clone(pipe), run.limits.log_bytes_max));
    let engine = Engine::new(run, &state, fresh);
    let result = engine.run(run);
    if state.broken.get() {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let done = Done { log: state.log.take(), result: result.map(|()| state.left.take()) };
    let message = done.encode().or_else(|| too_large(done.log).encode());
    pipe.borrow_mut().send(&message.unwrap_or_default())
}

/// An engine that has run nothing yet, with the prelude read. Made ready while no script waits.
pub(crate) struct Fresh {
    // What lives in the engine goes before it.
    prelude: Persistent<Function<'static>>,
    context: Context,
    runtime: Runtime,
}

impl Fresh {
    pub(crate) fn new() -> Result<Fresh, Error> {
        let runtime = Runtime::new()?;
        let context = Context::full(&runtime)?;
        let prelude = context.with(|ctx| -> Result<_, Error> {
            let mut options = EvalOptions::default();
            options.filename = Some(PRELUDE_NAME.to_owned());
            let prelude: Function<'_> = ctx.eval_with_options(PRELUDE, options)?;
            Ok(Persistent::save(&ctx, prelude))
        })?;
        Ok(Fresh { prelude, context, runtime })
    }
}

fn too_large(log: String) -> Done {
    Done { log, result: Err(Failure::TooLarge) }
}

/// An engine with its limits set.
struct Engine {
    prelude: Persistent<Function<'static>>,
    context: Context,
    runtime: Runtime,
    state: Rc<State>,
    /// The time is up: whatever the script makes of that, this is what is reported.
    is_late: Rc<Cell<bool>>,
    /// A promise was rejected for want of memory, and nobody took notice.
    is_exhausted: Rc<Cell<bool>>,
    deadline: Instant,
    heap_bytes_max: usize,
}

/// Why a script stopped.
enum Stop<'js> {
    Failure(Failure),
    Thrown(Value<'js>),
}

/// An exception and the function that can describe it, kept while the engine is left alone: limits
/// can be changed only then.
type Kept = (Persistent<Value<'static>>, Persistent<Function<'static>>);

impl From<Failure> for Stop<'_> {
    fn from(failure: Failure) -> Self {
        Stop::Failure(failure)
    }
}

impl Engine {
    fn new(run: &Run, state: &Rc<State>, fresh: Fresh) -> Engine {
        let limits = &run.limits;
        let deadline = Instant::now() + limits.time;
        let Fresh { prelude, context, runtime } = fresh;
        let heap_bytes_max = usize::try_from(limits.heap_bytes_max).unwrap_or(usize::MAX);
        runtime.set_memory_limit(heap_bytes_max);
        runtime.set_max_stack_size(usize::try_from(limits.stack_bytes_max).unwrap_or(usize::MAX));
        let is_late = Rc::new(Cell::new(false));
        let (own_state, own_late) = (Rc::clone(state), Rc::clone(&is_late));
        // The engine asks every few thousand steps, and a script cannot catch the answer.
        runtime.set_interrupt_handler(Some(Box::new(move || {
            if Instant::now() >= deadline {
                own_late.set(true);
            }
            own_late.get() || own_state.broken.get()
        })));
        // A rejected promise is nobody's business, but one that ran out of memory is ours.
        let is_exhausted = Rc::new(Cell::new(false));
        let (own_exhausted, can_be_null) = (Rc::clone(&is_exhausted), can_throw_null(&run.source));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, _, reason, is_handled| {
                if is_out_of_memory(&ctx, &reason, can_be_null) {
                    own_exhausted.set(!is_handled);
                }
            },
        )));
        let state = Rc::clone(state);
        Engine { prelude, context, runtime, state, is_late, is_exhausted, deadline, heap_bytes_max }
    }

    fn run(&self, run: &Run) -> Result<(), Failure> {
        let stopped = self.context.with(|ctx| -> Result<Option<Kept>, Failure> {
            let api = self.prelude(&ctx, run).map_err(|_| Failure::OutOfMemory)?;
            let describe: Function<'_> = api.get("describe").map_err(|_| Failure::OutOfMemory)?;
            match self.script(&ctx, &api, run) {
                Ok(()) => Ok(None),
                Err(Stop::Failure(failure)) => Err(failure),
                Err(Stop::Thrown(thrown)) => {
                    Ok(Some((Persistent::save(&ctx, thrown), Persistent::save(&ctx, describe))))
                }
            }
        });
        match stopped {
            _ if self.is_late.get() => Err(Failure::TimedOut),
            Ok(None) if self.is_exhausted.get() => Err(Failure::OutOfMemory),
            Ok(None) => Ok(()),
            Ok(Some((thrown, describe))) => {
                Err(self.describe(thrown, describe, can_throw_null(&run.source)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The API: an object of functions that only we hold.
    fn prelude<'js>(&self, ctx: &Ctx<'js>, run: &Run) -> Result<Object<'js>, Error> {
        let prelude = self.prelude.clone().restore(ctx)?;
        prelude.call((native::object(ctx, &self.state)?, settings(run)))
    }

    fn script<'js>(&self, ctx: &Ctx<'js>, api: &Object<'js>, run: &Run) -> Result<(), Stop<'js>> {
        let thrown = |error: Error| caught(ctx, &error);
        let function = |name: &str| api.get::<_, Function<'js>>(name).map_err(thrown);
        let (start, rows, next) = (function("start")?, function("rows")?, function("next")?);
        let (finish, is_aborted) = (function("finish")?, function("isAborted")?);
        let reason = function("reason")?;
        let main =
            load::load(ctx, &file_name(&run.name), &run.source).map_err(|error| match error {
                LoadError::Failure(failure) => Stop::Failure(failure),
                LoadError::Thrown(thrown) => Stop::Thrown(thrown),
            })?;
        match run.mode {
            Mode::Compile => return Ok(()),
            Mode::Function => {
                let rows: String = rows.call((main, run.arguments.as_str())).map_err(thrown)?;
                self.state.left.borrow_mut().rows = Some(rows);
                return Ok(());
            }
            Mode::StoredProcedure | Mode::PreTrigger | Mode::PostTrigger => {}
        }
        let () = start.call((main, run.arguments.as_str())).map_err(thrown)?;
        // First what promises wait for, then the next callback, until neither is left.
        loop {
            while ctx.execute_pending_job() {
                self.check_time()?;
            }
            self.check_time()?;
            if is_aborted.call::<_, bool>(()).map_err(thrown)? {
                return Err(Stop::Thrown(reason.call(()).map_err(thrown)?));
            }
            if !next.call::<_, bool>(()).map_err(thrown)? {
                break;
            }
        }
        finish.call(()).map_err(thrown)
    }

    /// Jobs of promises that are each short would never be interrupted.
    fn check_time(&self) -> Result<(), Failure> {
        if self.is_late.get() || Instant::now() >= self.deadline {
            self.is_late.set(true);
            return Err(Failure::TimedOut);
        }
        Ok(())
    }

    fn describe(
        &self,
        thrown: Persistent<Value<'static>>,
        describe: Persistent<Function<'static>>,
        can_throw_null: bool,
    ) -> Failure {
        self.runtime.set_memory_limit(self.heap_bytes_max.saturating_add(RESERVE_BYTES));
        let described = self.context.with(|ctx| {
            let thrown = thrown.restore(&ctx)?;
            if thrown.is_null() && !can_throw_null {
                // When there is no room even for an error, the engine throws null.
                *self.state.failure.borrow_mut() = Some(Failure::OutOfMemory);
                return Ok(());
            }
            let called = describe.restore(&ctx)?.call::<_, ()>((thrown,));
            called.inspect_err(|_| drop(ctx.catch()))
        });
        let failure = self.state.failure.take();
        match (self.is_late.get(), described, failure) {
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

/// Whether a null can be the script's own: if not, it is the engine's, out of memory. What it had in
/// use does not tell, since by now most of that is free again.
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
            // Not even the message can be read: then it is so. What else may be thrown is dropped.
            drop(ctx.catch());
            matches!(failed, Error::Allocation | Error::Unknown)
        }
    }
}

fn caught<'js>(ctx: &Ctx<'js>, error: &Error) -> Stop<'js> {
    match error {
        Error::Exception => Stop::Thrown(ctx.catch()),
        // A text that is too long to be copied out is reported as one or the other.
        Error::Unknown if ctx.has_exception() => Stop::Thrown(ctx.catch()),
        Error::Allocation | Error::Unknown => Stop::Failure(Failure::OutOfMemory),
        other => Stop::Failure(Failure::Thrown {
            number: None,
            description: format!("Error: {other}"),
            stack: String::new(),
        }),
    }
}

/// What a script is called in stacks.
fn file_name(name: &str) -> String {
    let is_plain = |part: char| !part.is_control() && !r"():\/".contains(part);
    let plain: String = name.chars().filter(|part| is_plain(*part)).collect();
    if plain.is_empty() { "script.js".to_owned() } else { format!("{plain}.js") }
}

/// What the prelude needs to know, as JSON text.
fn settings(run: &Run) -> String {
    let mode = match run.mode {
        Mode::StoredProcedure => "storedProcedure",
        Mode::PreTrigger => "preTrigger",
        Mode::PostTrigger => "postTrigger",
        Mode::Function => "function",
        Mode::Compile => "compile",
    };
    let context = &run.context;
    let mut settings = Vec::new();
    let mut put = |name: &str, value: &dyn Fn(&mut Vec<u8>)| {
        settings.push(if settings.is_empty() { b'{' } else { b',' });
        json::quote(name, &mut settings);
        settings.push(b':');
        value(&mut settings);
    };
    let texts = [
        ("mode", mode),
        ("selfLink", &context.self_link),
        ("altLink", &context.alt_link),
        ("operationType", &context.operation_type),
        ("quotaCurrent", &context.quota.0),
        ("quotaMax", &context.quota.1),
    ];
    for (name, text) in texts {
        put(name, &|out| json::quote(text, out));
    }
    let bodies = [("requestBody", &context.request_body), ("responseBody", &context.response_body)];
    for (name, body) in bodies {
        put(name, &|out| match body {
            Some(text) => json::quote(text, out),
            None => out.extend_from_slice(b"null"),
        });
    }
    put("requestValues", &|out| write_properties(&context.request_values, out));
    put("responseValues", &|out| write_properties(&context.response_values, out));
    put("logging", &|out| out.extend_from_slice(context.logging.to_string().as_bytes()));
    let body_max = run.limits.body_bytes_max.to_string();
    put("bodyMax", &|out| out.extend_from_slice(body_max.as_bytes()));
    settings.push(b'}');
    String::from_utf8(settings).unwrap_or_default()
}

fn write_properties(properties: &[Property], out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, property) in properties.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"name\":");
        json::quote(&property.name, out);
        out.extend_from_slice(b",\"value\":");
        json::quote(&property.value, out);
        out.extend_from_slice(format!(",\"writable\":{}}}", property.writable).as_bytes());
    }
    out.push(b']');
}
