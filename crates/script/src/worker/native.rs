//! What the prelude can call. Texts, numbers and nothing else cross here, so that a script that has
//! bent every prototype still cannot bend a message.

use std::{
    cell::{Cell, RefCell},
    io,
    rc::Rc,
};

use rquickjs::{Ctx, Exception, Function, Object, Result};

use super::Pipe;
use crate::{
    host::{Answer, Reply},
    job::Failure,
    links::Resource,
    wire::{Answered, Ask, Left, operation},
};

/// What an execution leaves behind, filled in by the prelude.
pub(crate) struct State {
    pipe: Rc<RefCell<Pipe>>,
    /// The pipe failed: the script has to stop, since nobody waits for it.
    pub(crate) broken: Cell<bool>,
    reply: RefCell<Reply>,
    pub(crate) log: RefCell<String>,
    log_bytes_max: usize,
    pub(crate) left: RefCell<Left>,
    pub(crate) failure: RefCell<Option<Failure>>,
}

impl State {
    pub(crate) fn new(pipe: Rc<RefCell<Pipe>>, log_bytes_max: u32) -> State {
        State {
            pipe,
            broken: Cell::new(false),
            reply: RefCell::default(),
            log: RefCell::default(),
            log_bytes_max: usize::try_from(log_bytes_max).unwrap_or(usize::MAX),
            left: RefCell::default(),
            failure: RefCell::default(),
        }
    }

    /// Asks the host and waits. The number says what came of it: 0 refused, 1 invalid, 2 done.
    fn ask(&self, ask: &Ask) -> io::Result<u8> {
        let Some(message) = ask.encode() else {
            let body = Some("The request is too large.".to_owned());
            *self.reply.borrow_mut() = Reply { status: 413, body, ..Reply::default() };
            return Ok(2);
        };
        let mut pipe = self.pipe.borrow_mut();
        pipe.send(&message)?;
        let (outcome, reply) = match Answered::decode(&pipe.receive()?)? {
            Answered::Answer(Answer::Refused) => (0, Reply::default()),
            Answered::Invalid(message) => (1, Reply { body: Some(message), ..Reply::default() }),
            Answered::Answer(Answer::Done(reply)) => (2, reply),
        };
        *self.reply.borrow_mut() = reply;
        Ok(outcome)
    }

    fn append_log(&self, text: &str) {
        let mut log = self.log.borrow_mut();
        let room = self.log_bytes_max.saturating_sub(log.len());
        log.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

/// The object that the prelude is given.
pub(crate) fn object<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    add_calls(ctx, &native, state)?;
    add_results(ctx, &native, state)?;
    Ok(native)
}

/// Asking the host, and reading its last answer piece by piece.
fn add_calls<'js>(ctx: &Ctx<'js>, native: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    let call = move |ctx: Ctx<'js>,
                     number: u8,
                     is_attachment: u8,
                     link: String,
                     body: Option<String>,
                     options: String| {
        let Some(operation) = operation(number) else {
            return Err(Exception::throw_internal(&ctx, "no such operation"));
        };
        let resource = if is_attachment == 0 { Resource::Document } else { Resource::Attachment };
        let ask = Ask { operation, resource, link, body, options };
        own.ask(&ask).map_err(|_| {
            own.broken.set(true);
            Exception::throw_internal(&ctx, "the host is gone")
        })
    };
    native.set("call", Function::new(ctx.clone(), call)?)?;
    let own = Rc::clone(state);
    native.set("status", Function::new(ctx.clone(), move || own.reply.borrow().status)?)?;
    let own = Rc::clone(state);
    native.set("body", Function::new(ctx.clone(), move || own.reply.borrow_mut().body.take())?)?;
    let own = Rc::clone(state);
    let message = move || own.reply.borrow_mut().body.take().unwrap_or_default();
    native.set("message", Function::new(ctx.clone(), message)?)?;
    let own = Rc::clone(state);
    let continuation = move || own.reply.borrow_mut().continuation.take();
    native.set("continuation", Function::new(ctx.clone(), continuation)?)?;
    let own = Rc::clone(state);
    let size = move || own.reply.borrow().size_mb.map(|(size, _)| size as f64);
    native.set("size", Function::new(ctx.clone(), size)?)?;
    let own = Rc::clone(state);
    let size_max = move || own.reply.borrow().size_mb.map(|(_, size_max)| size_max as f64);
    native.set("sizeMax", Function::new(ctx.clone(), size_max)?)
}

/// Saying what the script leaves.
fn add_results<'js>(ctx: &Ctx<'js>, native: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    let log = move |text: String| own.append_log(&text);
    native.set("log", Function::new(ctx.clone(), log)?)?;
    let own = Rc::clone(state);
    let value = move |is_request: bool, name: String, value: String| {
        let mut left = own.left.borrow_mut();
        let left = &mut *left;
        let values = if is_request { &mut left.request_values } else { &mut left.response_values };
        values.push((name, value));
    };
    native.set("value", Function::new(ctx.clone(), value)?)?;
    let own = Rc::clone(state);
    let bodies = move |response: Option<String>, request: Option<String>| {
        let mut left = own.left.borrow_mut();
        left.response_body = response;
        left.request_body = request;
    };
    native.set("bodies", Function::new(ctx.clone(), bodies)?)?;
    let own = Rc::clone(state);
    let failure = move |is_memory: bool,
                        number: Option<f64>,
                        description: String,
                        stack: String| {
        *own.failure.borrow_mut() =
            Some(if is_memory { Failure::OutOfMemory } else { thrown(number, description, stack) });
    };
    native.set("failure", Function::new(ctx.clone(), failure)?)?;
    native.set("guid", Function::new(ctx.clone(), guid)?)
}

/// Characters of a description that are kept: it travels in a response's body.
const DESCRIPTION_BYTES_MAX: usize = 16 << 10;

fn thrown(number: Option<f64>, mut description: String, stack: String) -> Failure {
    description.truncate(description.floor_char_boundary(DESCRIPTION_BYTES_MAX));
    #[expect(clippy::cast_possible_truncation, reason = "the prelude passes integers only")]
    let number = number.map(|number| number as i64);
    Failure::Thrown { number, description, stack }
}

/// A random id in the usual form.
fn guid(ctx: Ctx<'_>) -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| Exception::throw_internal(&ctx, "no random numbers"))?;
    let mut number = u128::from_be_bytes(bytes);
    number = number & !(0xf << 76) | 4 << 76;
    number = number & !(0b11 << 62) | 0b10 << 62;
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(parts.join("-"))
}
