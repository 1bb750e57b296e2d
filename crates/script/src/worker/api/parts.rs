//! The parts of the API written in JavaScript. Each is parsed when a script first uses it, in the
//! script's own engine. It is a function of `shared`, which holds the language functions saved
//! before the script began, and the Rust functions that parts may call.

use std::rc::Rc;

use rquickjs::{
    Ctx, Error, Function, Object, Persistent, Result, String as Text, Value, context::EvalOptions,
    function::Opt,
};

use super::{
    native,
    operations::{Tail, checked_options, perform, tail},
    replies::{Arrived, Task},
    show,
};
use crate::{
    host::Operation,
    job::Failure,
    links::Resource,
    wire::{Ask, AskOptions, Manner, Mode},
    worker::state::{Current, State},
};

/// Name of the parts in stacks, from which their frames are removed.
const FILE_NAME: &str = "sheaf:api";

/// A part of the API.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Query,
    Spatial,
    Log,
    Describe,
    Sum,
}

/// A source that evaluates to a function. It has no parentheses around it, because they would make
/// the engine parse it twice.
macro_rules! part {
    ($name:literal) => {
        concat!(
            "0, function (shared) {\n'use strict';\n",
            include_str!("../../parts/common.js"),
            include_str!(concat!("../../parts/", $name, ".js")),
            "}"
        )
    };
}

impl Part {
    fn name_and_source(self) -> (&'static str, &'static str) {
        match self {
            Part::Query => ("query", part!("query")),
            Part::Spatial => ("spatial", part!("spatial")),
            Part::Log => ("log", part!("log")),
            Part::Describe => ("describe", part!("describe")),
            Part::Sum => ("sum", part!("sum")),
        }
    }
}

/// The result of a part: an object of functions.
pub(crate) fn get<'js>(ctx: &Ctx<'js>, state: &State, part: Part) -> Result<Object<'js>> {
    let shared = state.shared(ctx)?;
    let (name, source) = part.name_and_source();
    if let Some(known) = shared.get(name)? {
        return Ok(known);
    }
    shared.set("isPreTrigger", state.run.mode == Mode::PreTrigger)?;
    let mut options = EvalOptions::default();
    options.filename = Some(FILE_NAME.to_owned());
    let part: Function<'js> = ctx.eval_with_options(source, options)?;
    let part: Object<'js> = part.call((shared.clone(),))?;
    shared.set(name, part.clone())?;
    Ok(part)
}

/// Adds the Rust functions that parts may call.
pub(crate) fn lend<'js>(ctx: &Ctx<'js>, current: &Rc<Current>, shared: &Object<'js>) -> Result<()> {
    lend_operations(ctx, current, shared)?;
    let own = Rc::clone(current);
    let failure =
        move |is_memory: bool, number: Option<f64>, description: String, stack: String| {
            *own.get()?.failure.borrow_mut() = Some(if is_memory {
                Failure::OutOfMemory
            } else {
                thrown(number, description, &stack)
            });
            Ok::<_, Error>(())
        };
    shared.set("failure", native(ctx, current, failure)?)?;
    let own = Rc::clone(current);
    let fail =
        move |ctx: Ctx<'js>, number: u16, message: String| own.get()?.error(&ctx, number, &message);
    shared.set("fail", native(ctx, current, fail)?)
}

fn lend_operations<'js>(ctx: &Ctx<'js>, current: &Rc<Current>, shared: &Object<'js>) -> Result<()> {
    let own = Rc::clone(current);
    let later = move |ctx: Ctx<'js>, task: Function<'js>| {
        own.get()?.tasks.later(Task::Own(Persistent::save(&ctx, task)));
        Ok::<_, Error>(())
    };
    shared.set("later", native(ctx, current, later)?)?;
    let own = Rc::clone(current);
    let read_tail = move |ctx: Ctx<'js>, name: String, required: usize, values: Vec<Value<'js>>| {
        let Tail { options, callback } = tail(&ctx, own.get()?.as_ref(), &name, &values, required)?;
        let tail = Object::new_proto(ctx.clone(), None)?;
        tail.set("options", options.map_or_else(|| Object::new_proto(ctx, None), Ok)?)?;
        if let Some(callback) = callback {
            tail.set("callback", callback)?;
        }
        Ok::<_, Error>(tail)
    };
    shared.set("tail", native(ctx, current, read_tail)?)?;
    let own = Rc::clone(current);
    let checked = move |ctx: Ctx<'js>, options: Object<'js>| {
        let options = checked_options(&ctx, own.get()?.as_ref(), Some(&options))?;
        let checked = Object::new_proto(ctx, None)?;
        checked.set("pageSize", options.page_size.map(|size| size as f64))?;
        checked.set("continuation", options.continuation)?;
        Ok::<_, Error>(checked)
    };
    shared.set("checkedOptions", native(ctx, current, checked)?)?;
    let own = Rc::clone(current);
    // Runs a query, or reads a page of all documents if there is no text.
    let ask =
        move |ctx: Ctx<'js>, body: Option<String>, size: f64, continuation: Opt<Option<String>>| {
            let operation = if body.is_some() { Operation::Query } else { Operation::ReadFeed };
            #[expect(clippy::cast_possible_truncation, reason = "the parts pass integers only")]
            let page_size = Some(size as i64);
            let continuation = continuation.0.flatten();
            let options = AskOptions { page_size, continuation, ..AskOptions::default() };
            let own = own.get()?;
            let link = own.run.context.self_link.clone();
            let (resource, manner) = (Resource::Document, Manner::default());
            let ask = Ask { operation, resource, link, body, options, manner };
            let arrived = perform(&ctx, &own, &ask)?;
            arrived.map(|arrived| reply(&ctx, arrived)).transpose()
        };
    shared.set("perform", native(ctx, current, ask)?)?;
    let own = Rc::clone(current);
    let error =
        move |ctx: Ctx<'js>, reply: Object<'js>| arrived(&reply)?.error(&ctx, own.get()?.as_ref());
    shared.set("replyError", native(ctx, current, error)?)?;
    let options = move |ctx: Ctx<'js>, reply: Object<'js>| arrived(&reply)?.options(&ctx);
    shared.set("replyOptions", native(ctx, current, options)?)
}

/// Converts an answer to the form that parts use.
fn reply<'js>(ctx: &Ctx<'js>, arrived: Arrived<'js>) -> Result<Object<'js>> {
    let reply = Object::new_proto(ctx.clone(), None)?;
    show(&reply, "status", arrived.status)?;
    show(&reply, "body", arrived.body)?;
    show(&reply, "continuation", arrived.continuation)?;
    if let Some((size, size_max)) = arrived.size {
        show(&reply, "size", size)?;
        show(&reply, "sizeMax", size_max)?;
    }
    Ok(reply)
}

fn arrived<'js>(reply: &Object<'js>) -> Result<Arrived<'js>> {
    let size: Option<f64> = reply.get("size")?;
    let size_max: Option<f64> = reply.get("sizeMax")?;
    Ok(Arrived {
        status: reply.get("status")?,
        body: reply.get::<_, Option<Text<'js>>>("body")?,
        continuation: reply.get("continuation")?,
        size: size.zip(size_max),
    })
}

/// The most characters of a description, which is sent in a response's body.
const DESCRIPTION_BYTES_MAX: usize = 16 << 10;

/// The most frames of a stack, and characters per frame.
const FRAMES_MAX: usize = 50;
const FRAME_CHARS_MAX: usize = 300;

fn thrown(number: Option<f64>, mut description: String, stack: &str) -> Failure {
    description.truncate(description.floor_char_boundary(DESCRIPTION_BYTES_MAX));
    #[expect(clippy::cast_possible_truncation, reason = "the parts pass integers only")]
    let number = number.map(|number| number as i64);
    Failure::Thrown { number, description, stack: own_frames(stack) }
}

/// The frames of a stack that belong to the script.
fn own_frames(stack: &str) -> String {
    let mut own = String::new();
    for line in stack.split('\n').take(FRAMES_MAX) {
        let is_ours = line.contains("(sheaf:api") || line.contains("(native)");
        if !line.is_empty() && !is_ours {
            own.extend(line.chars().take(FRAME_CHARS_MAX));
            own.push('\n');
        }
    }
    own
}
