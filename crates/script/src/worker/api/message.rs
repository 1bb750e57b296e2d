//! The request and the response as scripts see them.

use std::{cell::RefCell, rc::Rc};

use rquickjs::{Ctx, Error, Function, IntoJs, Object, Persistent, Result, Value, function::Opt};

use super::{
    function, hide, native,
    parts::{self, Part},
};
use crate::{
    job::Property,
    wire::Mode,
    worker::state::{Current, State},
};

/// A script's changes to a request or response.
#[derive(Default)]
pub(crate) struct Message {
    /// The body, once it was read or set.
    body: RefCell<Option<Persistent<Value<'static>>>>,
    written: RefCell<Written>,
    /// Headers that were set, by index.
    values: RefCell<Vec<(usize, Persistent<Value<'static>>)>>,
}

/// The source of the body's text.
#[derive(Default)]
enum Written {
    #[default]
    Before,
    /// `None` for `undefined`.
    Set(Option<String>),
    /// The body is an object, which the script may still change, so it is written at the end.
    Last,
}

impl Message {
    /// The text of the body, given its text before the script began.
    pub(crate) fn written(
        &self,
        ctx: &Ctx<'_>,
        state: &State,
        before: Option<&str>,
    ) -> Result<Option<String>> {
        match self.written.take() {
            Written::Before => Ok(before.map(str::to_owned)),
            Written::Set(written) => Ok(written),
            Written::Last => {
                let body = self.body.take();
                body.map_or(Ok(None), |body| state.limited(ctx, body.restore(ctx)?))
            }
        }
    }

    /// The headers that the script changed.
    pub(crate) fn changed(
        &self,
        ctx: &Ctx<'_>,
        state: &State,
        properties: &[Property],
    ) -> Result<Vec<(String, String)>> {
        let mut values = self.values.take();
        values.sort_by_key(|(place, _)| *place);
        let mut changed = Vec::new();
        for (place, value) in values {
            let text = state.text(ctx, &value.restore(ctx)?)?;
            changed.push((properties[place].name.clone(), text));
        }
        Ok(changed)
    }
}

/// The request or the response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Response,
}

pub(crate) fn request<'js>(ctx: &Ctx<'js>, current: &Rc<Current>) -> Result<Object<'js>> {
    let methods = methods(ctx, current, Side::Request)?;
    let own = Rc::clone(current);
    let operation_type = move || Ok::<_, Error>(own.get()?.run.context.operation_type.clone());
    let name = "getOperationType";
    hide(&methods, name, function(ctx, current, name, operation_type)?)?;
    Object::new_proto(ctx.clone(), Some(&methods))
}

pub(crate) fn response<'js>(ctx: &Ctx<'js>, current: &Rc<Current>) -> Result<Object<'js>> {
    let methods = methods(ctx, current, Side::Response)?;
    let own = Rc::clone(current);
    let used = move || Ok::<_, Error>(own.get()?.run.context.quota.0.clone());
    let name = "getResourceQuotaCurrentUsage";
    hide(&methods, name, function(ctx, current, name, used)?)?;
    let own = Rc::clone(current);
    let max = move || Ok::<_, Error>(own.get()?.run.context.quota.1.clone());
    let name = "getMaxResourceQuota";
    hide(&methods, name, function(ctx, current, name, max)?)?;
    Object::new_proto(ctx.clone(), Some(&methods))
}

/// The methods that both have.
fn methods<'js>(ctx: &Ctx<'js>, current: &Rc<Current>, side: Side) -> Result<Object<'js>> {
    let methods = Object::new(ctx.clone())?;
    let add = |name: &str, method: Function<'js>| hide(&methods, name, method.with_name(name)?);
    let own = Rc::clone(current);
    let get = move |ctx: Ctx<'js>| own.get()?.body(&ctx, side);
    add("getBody", native(ctx, current, get)?)?;
    let own = Rc::clone(current);
    let set = move |ctx: Ctx<'js>, value: Opt<Value<'js>>| {
        own.get()?.set_body(&ctx, side, given(&ctx, value))
    };
    add("setBody", native(ctx, current, set)?)?;
    let own = Rc::clone(current);
    let append = move |ctx: Ctx<'js>, value: Opt<Value<'js>>| {
        let own = own.get()?;
        let whole = joined(&ctx, &own, own.body(&ctx, side)?, given(&ctx, value))?;
        own.set_body(&ctx, side, whole)
    };
    add("appendBody", native(ctx, current, append)?)?;
    let own = Rc::clone(current);
    let get = move |ctx: Ctx<'js>, name: Opt<Value<'js>>| {
        own.get()?.value(&ctx, side, &given(&ctx, name))
    };
    add("getValue", native(ctx, current, get)?)?;
    let own = Rc::clone(current);
    let set = move |ctx: Ctx<'js>, name: Opt<Value<'js>>, value: Opt<Value<'js>>| {
        own.get()?.set_value(&ctx, side, &given(&ctx, name), given(&ctx, value))
    };
    add("setValue", native(ctx, current, set)?)?;
    let own = Rc::clone(current);
    let append = move |ctx: Ctx<'js>, name: Opt<Value<'js>>, value: Opt<Value<'js>>| {
        let own = own.get()?;
        let name = given(&ctx, name);
        let before = own.value(&ctx, side, &name)?;
        let whole = joined(&ctx, &own, before, given(&ctx, value))?;
        own.set_value(&ctx, side, &name, whole)
    };
    add("appendValue", native(ctx, current, append)?)?;
    Ok(methods)
}

/// An optional argument.
fn given<'js>(ctx: &Ctx<'js>, value: Opt<Value<'js>>) -> Value<'js> {
    value.0.unwrap_or_else(|| Value::new_undefined(ctx.clone()))
}

/// Appends to a value. Text and numbers are joined as text, even if there is no value yet; an
/// object becomes the value itself.
fn joined<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    before: Value<'js>,
    value: Value<'js>,
) -> Result<Value<'js>> {
    let is_nothing = before.is_undefined() || before.is_null();
    if is_nothing || is_empty_text(ctx, state, &before)? {
        if value.is_object() && !value.is_function() {
            return Ok(value);
        }
        return sum(ctx, state, "".into_js(ctx)?, value);
    }
    sum(ctx, state, before, value)
}

fn is_empty_text<'js>(ctx: &Ctx<'js>, state: &State, value: &Value<'js>) -> Result<bool> {
    match value.as_string() {
        Some(text) => Ok(state.well_formed(ctx, text)?.is_empty()),
        None => Ok(false),
    }
}

fn sum<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    before: Value<'js>,
    value: Value<'js>,
) -> Result<Value<'js>> {
    let sum: Function<'js> = parts::get(ctx, state, Part::Sum)?.get("sum")?;
    sum.call((before, value))
}

impl State {
    fn message(&self, side: Side) -> (&Message, Option<&str>, &[Property]) {
        let context = &self.run.context;
        match side {
            Side::Request => {
                (&self.request, context.request_body.as_deref(), &context.request_values)
            }
            Side::Response => {
                (&self.response, context.response_body.as_deref(), &context.response_values)
            }
        }
    }

    /// The body; returns the same object each time.
    fn body<'js>(&self, ctx: &Ctx<'js>, side: Side) -> Result<Value<'js>> {
        let (message, written, _) = self.message(side);
        let known = message.body.borrow().clone();
        if let Some(body) = known {
            return body.restore(ctx);
        }
        let Some(written) = written else { return Ok(Value::new_undefined(ctx.clone())) };
        let body: Value<'js> = self.language(ctx, "parse")?.call((written,))?;
        *message.body.borrow_mut() = Some(Persistent::save(ctx, body.clone()));
        Ok(body)
    }

    fn set_body<'js>(&self, ctx: &Ctx<'js>, side: Side, value: Value<'js>) -> Result<()> {
        if side == Side::Request && self.run.mode != Mode::PreTrigger {
            return Err(self.fail(ctx, 400, "The body cannot be set here."));
        }
        // Report a body that is already too large immediately, while the script can still react.
        let text = self.limited(ctx, value.clone())?;
        let written = if value.is_object() { Written::Last } else { Written::Set(text) };
        let (message, ..) = self.message(side);
        message.written.replace(written);
        message.body.replace(Some(Persistent::save(ctx, value)));
        Ok(())
    }

    /// Converts a value to text; fails if it is too long.
    fn limited<'js>(&self, ctx: &Ctx<'js>, value: Value<'js>) -> Result<Option<String>> {
        self.check_time(ctx)?;
        let Some(written) = ctx.json_stringify(value)? else { return Ok(None) };
        let written = Self::copied(ctx, &written)?;
        match self.is_too_long(&written) {
            None => Ok(Some(written)),
            Some(length) => {
                let max = self.run.limits.body_bytes_max;
                let message = format!(
                    "The message of {length} characters is too large: the limit is {max}. Return \
                     less, and a continuation for the rest."
                );
                Err(self.fail(ctx, 413, &message))
            }
        }
    }

    /// A header name in the form used for comparison. `body` is valid too, and means the body.
    fn name<'js>(&self, ctx: &Ctx<'js>, name: &Value<'js>) -> Result<String> {
        Ok(self.text(ctx, name)?.to_lowercase())
    }

    /// The index of the header with this name; the last one wins.
    fn place(&self, side: Side, name: &str) -> Option<usize> {
        let (_, _, properties) = self.message(side);
        properties.iter().rposition(|property| property.name.to_lowercase() == name)
    }

    fn value<'js>(&self, ctx: &Ctx<'js>, side: Side, name: &Value<'js>) -> Result<Value<'js>> {
        let name = self.name(ctx, name)?;
        if name == "body" {
            return self.body(ctx, side);
        }
        let Some(place) = self.place(side, &name) else {
            return Ok(Value::new_undefined(ctx.clone()));
        };
        let (message, _, properties) = self.message(side);
        let set = message.values.borrow().iter().find(|(at, _)| *at == place).cloned();
        match set {
            Some((_, value)) => value.restore(ctx),
            None => properties[place].value.as_str().into_js(ctx),
        }
    }

    fn set_value<'js>(
        &self,
        ctx: &Ctx<'js>,
        side: Side,
        name: &Value<'js>,
        value: Value<'js>,
    ) -> Result<()> {
        let compared = self.name(ctx, name)?;
        if compared == "body" {
            return self.set_body(ctx, side, value);
        }
        let Some(place) = self.place(side, &compared) else {
            let name = self.text(ctx, name)?;
            let message = format!("There is no property \"{name}\" to set.");
            return Err(self.fail(ctx, 400, &message));
        };
        let (message, _, properties) = self.message(side);
        let property = &properties[place];
        if !property.writable {
            let message = format!("The property \"{}\" is read-only.", property.name);
            return Err(self.fail(ctx, 403, &message));
        }
        self.limited(ctx, value.clone())?;
        let value = Persistent::save(ctx, value);
        let mut values = message.values.borrow_mut();
        values.retain(|(at, _)| *at != place);
        values.push((place, value));
        Ok(())
    }
}
