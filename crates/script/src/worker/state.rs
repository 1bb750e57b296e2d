//! State of one execution outside its engine: the pipe, the script's results, and engine values
//! that scripts cannot reach.

use std::{
    cell::{Cell, RefCell},
    io,
    rc::Rc,
    time::Instant,
};

use rquickjs::{Ctx, Error, Exception, Function, Object, Persistent, Result};

use super::{
    Pipe,
    ahead::{Ahead, Asked},
    api::{
        message::Message,
        replies::{Arrived, Tasks},
    },
};
use crate::{
    host::Reply,
    job::Failure,
    wire::{Ask, Left, Run},
};

pub(crate) struct State {
    pub(crate) ahead: Ahead,
    pub(crate) run: Run,
    /// When the script's time is up.
    deadline: Instant,
    /// The deadline has passed: the script must stop, even if it catches the error.
    is_late: Cell<bool>,
    /// The pipe failed: the script must stop, because nobody waits for it.
    pub(crate) broken: Cell<bool>,
    pub(crate) log: RefCell<String>,
    pub(crate) left: RefCell<Left>,
    pub(crate) failure: RefCell<Option<Failure>>,
    pub(crate) request: Message,
    pub(crate) response: Message,
    pub(crate) tasks: Tasks,
    /// An object without a prototype, holding the language functions saved before the script began,
    /// and API objects that are created only once.
    shared: RefCell<Option<Persistent<Object<'static>>>>,
    /// Where the numbers of `Math.random` are; 0 before the first.
    random: Cell<u64>,
}

/// What outlives an execution: the API's functions, which find the execution under way here.
#[derive(Default)]
pub(crate) struct Current {
    state: RefCell<Option<Rc<State>>>,
    shared: RefCell<Option<Persistent<Object<'static>>>>,
    /// All of our functions. Held, so that no script can have one finalized: [`Memory::restore`] brings
    /// back the engine's half of a function, not ours.
    ///
    /// [`Memory::restore`]: super::memory::Memory::restore
    functions: RefCell<Vec<Persistent<Function<'static>>>>,
}

impl Current {
    /// The execution under way.
    pub(crate) fn get(&self) -> Result<Rc<State>> {
        self.state.borrow().clone().ok_or(Error::Unknown)
    }

    /// Begins an execution.
    pub(crate) fn enter(&self, pipe: &Rc<RefCell<Pipe>>, run: Run) -> Rc<State> {
        let state = Rc::new(State::new(Rc::clone(pipe), run, self.shared.borrow().clone()));
        self.state.replace(Some(Rc::clone(&state)));
        state
    }

    /// Ends it.
    pub(crate) fn leave(&self) {
        self.state.take();
    }

    pub(crate) fn share<'js>(&self, ctx: &Ctx<'js>, shared: Object<'js>) {
        self.shared.replace(Some(Persistent::save(ctx, shared)));
    }

    /// Holds a function for good.
    pub(crate) fn hold<'js>(&self, ctx: &Ctx<'js>, function: &Function<'js>) {
        self.functions.borrow_mut().push(Persistent::save(ctx, function.clone()));
    }
}

impl State {
    fn new(
        pipe: Rc<RefCell<Pipe>>,
        run: Run,
        shared: Option<Persistent<Object<'static>>>,
    ) -> State {
        State {
            ahead: Ahead::new(pipe, run.promise),
            deadline: Instant::now() + run.limits.time,
            is_late: Cell::new(false),
            run,
            broken: Cell::new(false),
            log: RefCell::default(),
            left: RefCell::default(),
            failure: RefCell::default(),
            request: Message::default(),
            response: Message::default(),
            tasks: Tasks::default(),
            shared: RefCell::new(shared),
            random: Cell::new(0),
        }
    }

    pub(crate) fn shared<'js>(&self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let shared = self.shared.borrow().clone();
        shared.ok_or(Error::Unknown)?.restore(ctx)
    }

    /// The original language function, even if the script has replaced it.
    pub(crate) fn language<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
        self.shared(ctx)?.get(name)
    }

    /// A number for `Math.random`: every execution has its own, and the engine's begin again with
    /// each.
    pub(crate) fn random(&self) -> f64 {
        let mut state = self.random.get();
        while state == 0 {
            let mut seed = [0; 8];
            // Without random numbers, the address will do: nothing depends on them.
            state = match getrandom::fill(&mut seed) {
                Ok(()) => u64::from_le_bytes(seed),
                Err(_) => std::ptr::from_ref(self).addr() as u64,
            };
        }
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.set(state);
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Checks the clock.
    pub(crate) fn is_late(&self) -> bool {
        if !self.is_late.get() && Instant::now() >= self.deadline {
            self.is_late.set(true);
        }
        self.is_late.get()
    }

    /// Whether the script was stopped because its time was up.
    pub(crate) fn was_late(&self) -> bool {
        self.is_late.get()
    }

    /// Gives up on a host that is gone.
    pub(crate) fn note(&self, sent: &io::Result<()>) {
        if sent.is_err() {
            self.broken.set(true);
        }
    }

    /// Stops a script whose time is up. The engine checks the clock every few thousand script
    /// steps, but a long native call is a single step.
    pub(crate) fn check_time(&self, ctx: &Ctx<'_>) -> Result<()> {
        if self.is_late() { Err(Exception::throw_internal(ctx, "interrupted")) } else { Ok(()) }
    }

    /// Asks the host and waits for the answer, and for those to what was asked before.
    pub(crate) fn ask(&self, ctx: &Ctx<'_>, ask: &Ask) -> Result<Asked> {
        self.check_time(ctx)?;
        if !self.ahead.queue(ask) {
            let body = Some("The request is too large.".to_owned());
            return Ok(Asked::Done(Reply { status: 413, body, ..Reply::default() }));
        }
        let mut last = None;
        while self.ahead.is_waiting() {
            if let Some(earlier) = last.replace(self.receive(ctx)?) {
                self.arrive(ctx, earlier)?;
            }
        }
        last.ok_or_else(|| self.lose(ctx))
    }

    /// Waits for the answers to all that the script went ahead with.
    pub(crate) fn settle(&self, ctx: &Ctx<'_>) -> Result<()> {
        self.check_time(ctx)?;
        while self.ahead.is_waiting() {
            let answer = self.receive(ctx)?;
            self.arrive(ctx, answer)?;
        }
        Ok(())
    }

    /// Keeps the answer to something the script went ahead with for its callback.
    fn arrive(&self, ctx: &Ctx<'_>, answer: Asked) -> Result<()> {
        match answer {
            Asked::Done(reply) => self.tasks.arrive(ctx, Arrived::new(ctx, reply)?),
            // It was promised.
            Asked::Refused | Asked::Invalid(_) => return Err(self.lose(ctx)),
        }
        Ok(())
    }

    fn receive(&self, ctx: &Ctx<'_>) -> Result<Asked> {
        self.ahead.receive().map_err(|_| self.lose(ctx))
    }

    fn lose(&self, ctx: &Ctx<'_>) -> Error {
        self.broken.set(true);
        Exception::throw_internal(ctx, "the host is gone")
    }

    pub(crate) fn append_log(&self, text: &str) {
        let mut log = self.log.borrow_mut();
        let log_bytes_max = usize::try_from(self.run.limits.log_bytes_max).unwrap_or(usize::MAX);
        let room = log_bytes_max.saturating_sub(log.len());
        log.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// The text's length in script characters if that exceeds the limit of a body.
    pub(crate) fn is_too_long(&self, text: &str) -> Option<usize> {
        let max = usize::try_from(self.run.limits.body_bytes_max).unwrap_or(usize::MAX);
        // A text never has more UTF-16 units than bytes.
        if text.len() <= max {
            return None;
        }
        Some(text.encode_utf16().count()).filter(|count| *count > max)
    }
}
