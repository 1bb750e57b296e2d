//! Passes the host's answers to the script's callbacks.
//!
//! Callbacks wait until the script's main function has returned, and run in the order in which
//! their operations were requested.

use std::{cell::RefCell, collections::VecDeque};

use rquickjs::{Ctx, Error, Function, Object, Persistent, Result, String as Text, Value};

use super::show;
use crate::{host::Reply, worker::state::State};

/// The answer to an operation, with its texts in the engine, where they count toward the script's
/// memory.
pub(crate) struct Arrived<'js> {
    pub(crate) status: u16,
    pub(crate) body: Option<Text<'js>>,
    pub(crate) continuation: Option<Text<'js>>,
    /// Megabytes in the collection and the most it may hold.
    pub(crate) size: Option<(f64, f64)>,
}

impl<'js> Arrived<'js> {
    pub(crate) fn new(ctx: &Ctx<'js>, reply: Reply) -> Result<Arrived<'js>> {
        let text =
            |text: Option<String>| text.map(|text| Text::from_str(ctx.clone(), &text)).transpose();
        Ok(Arrived {
            status: reply.status,
            body: text(reply.body)?,
            continuation: text(reply.continuation)?,
            size: reply.size_mb.map(|(size, size_max)| (size as f64, size_max as f64)),
        })
    }

    pub(crate) fn too_large(ctx: &Ctx<'js>, message: &str) -> Result<Arrived<'js>> {
        let body = Some(Text::from_str(ctx.clone(), message)?);
        Ok(Arrived { status: 413, body, continuation: None, size: None })
    }

    /// The first argument of callbacks.
    pub(crate) fn error(&self, ctx: &Ctx<'js>, state: &State) -> Result<Option<Object<'js>>> {
        if self.status < 400 {
            return Ok(None);
        }
        let message = self.body.as_ref().map(Text::to_string).transpose()?.unwrap_or_default();
        let error = state.error(ctx, self.status, &message)?;
        show(&error, "body", message)?;
        Ok(Some(error))
    }

    /// The last argument of callbacks.
    pub(crate) fn options(&self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let options = Object::new(ctx.clone())?;
        show(&options, "statusCode", self.status)?;
        if let Some(continuation) = &self.continuation {
            show(&options, "continuation", continuation.clone())?;
        }
        if let Some((size, size_max)) = self.size {
            show(&options, "currentCollectionSizeInMB", size)?;
            show(&options, "maxCollectionSizeInMB", size_max)?;
        }
        if self.status == 304 {
            show(&options, "notModified", true)?;
        }
        Ok(options)
    }
}

/// The queue of callbacks, and whether it was aborted.
#[derive(Default)]
pub(crate) struct Tasks {
    waiting: RefCell<VecDeque<Task>>,
    /// The answers to those that the script went ahead with, in the order of the questions.
    arrived: RefCell<VecDeque<Kept>>,
    /// The argument of `abort`.
    aborted: RefCell<Option<Persistent<Value<'static>>>>,
}

/// A callback and its arguments.
pub(crate) enum Task {
    /// An internal function.
    Own(Persistent<Function<'static>>),
    /// A script's callback, if there is one, and its arguments.
    Reply { callback: Option<Persistent<Function<'static>>>, is_delete: bool, answer: Kept },
    /// A callback that waits for the next answer to what the script went ahead with.
    Ahead { callback: Option<Persistent<Function<'static>>> },
}

/// An answer that waits for its turn.
pub(crate) struct Kept {
    status: u16,
    body: Option<Persistent<Text<'static>>>,
    continuation: Option<Persistent<Text<'static>>>,
    size: Option<(f64, f64)>,
}

impl Kept {
    fn new<'js>(ctx: &Ctx<'js>, arrived: Arrived<'js>) -> Kept {
        let Arrived { status, body, continuation, size } = arrived;
        let save = |text: Option<Text<'js>>| text.map(|text| Persistent::save(ctx, text));
        Kept { status, body: save(body), continuation: save(continuation), size }
    }

    fn restore<'js>(self, ctx: &Ctx<'js>) -> Result<Arrived<'js>> {
        let restore = |text: Option<Persistent<Text<'static>>>| {
            text.map(|text| text.restore(ctx)).transpose()
        };
        let (body, continuation) = (restore(self.body)?, restore(self.continuation)?);
        Ok(Arrived { status: self.status, body, continuation, size: self.size })
    }
}

impl Task {
    pub(crate) fn reply<'js>(
        ctx: &Ctx<'js>,
        arrived: Arrived<'js>,
        callback: Option<Function<'js>>,
        is_delete: bool,
    ) -> Task {
        let callback = callback.map(|callback| Persistent::save(ctx, callback));
        Task::Reply { callback, is_delete, answer: Kept::new(ctx, arrived) }
    }

    pub(crate) fn ahead<'js>(ctx: &Ctx<'js>, callback: Option<Function<'js>>) -> Task {
        Task::Ahead { callback: callback.map(|callback| Persistent::save(ctx, callback)) }
    }

    fn run(self, ctx: &Ctx<'_>, state: &State) -> Result<()> {
        let (callback, is_delete, answer) = match self {
            Task::Own(function) => return function.restore(ctx)?.call(()),
            Task::Reply { callback, is_delete, answer } => (callback, is_delete, answer),
            Task::Ahead { callback } => (callback, false, state.tasks.arrived(ctx, state)?),
        };
        let arrived = answer.restore(ctx)?;
        let error = arrived.error(ctx, state)?;
        let Some(callback) = callback else {
            // An error without a callback ends the script.
            return error.map_or(Ok(()), |error| Err(ctx.throw(error.into_value())));
        };
        let callback = callback.restore(ctx)?;
        let options = arrived.options(ctx)?;
        let undefined = || Value::new_undefined(ctx.clone());
        let has_resource = error.is_none() && arrived.status != 304;
        let error = error.map_or_else(undefined, Object::into_value);
        // It may return anything.
        let _: Value<'_> = if is_delete {
            callback.call((error, options))?
        } else {
            let resource = match arrived.body.filter(|_| has_resource) {
                Some(body) => state.language(ctx, "parse")?.call((body,))?,
                None => undefined(),
            };
            callback.call((error, resource, options))?
        };
        Ok(())
    }
}

impl Tasks {
    pub(crate) fn later(&self, task: Task) {
        self.waiting.borrow_mut().push_back(task);
    }

    /// Keeps the next answer to what the script went ahead with.
    pub(crate) fn arrive<'js>(&self, ctx: &Ctx<'js>, arrived: Arrived<'js>) {
        self.arrived.borrow_mut().push_back(Kept::new(ctx, arrived));
    }

    /// The next one, waited for if need be.
    fn arrived(&self, ctx: &Ctx<'_>, state: &State) -> Result<Kept> {
        if self.arrived.borrow().is_empty() {
            state.settle(ctx)?;
        }
        self.arrived.borrow_mut().pop_front().ok_or(Error::Unknown)
    }

    /// Runs the next task; false if there is none.
    pub(crate) fn next(&self, ctx: &Ctx<'_>, state: &State) -> Result<bool> {
        let task = self.waiting.borrow_mut().pop_front();
        task.map_or(Ok(false), |task| task.run(ctx, state).map(|()| true))
    }

    /// Only the first call counts.
    pub(crate) fn abort<'js>(&self, ctx: &Ctx<'js>, error: &Value<'js>) {
        let mut aborted = self.aborted.borrow_mut();
        aborted.get_or_insert_with(|| Persistent::save(ctx, error.clone()));
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.borrow().is_some()
    }

    /// The argument of `abort`.
    pub(crate) fn aborted<'js>(&self, ctx: &Ctx<'js>) -> Result<Option<Value<'js>>> {
        self.aborted.borrow().clone().map(|error| error.restore(ctx)).transpose()
    }
}
