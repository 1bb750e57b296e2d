//! The API that scripts see. Each script gets a new one, so it consists of Rust functions: parsing
//! its text each time took longer than most scripts run. Only rarely used parts are JavaScript,
//! parsed on first use ([`parts`]).
//!
//! Only texts and numbers cross to the host, so a script cannot affect messages even if it has
//! changed every prototype. For the same reason nothing is looked up where a script could have put
//! something else: properties are defined, never assigned, and needed language functions are saved
//! before the script begins.

mod callbacks;
pub(crate) mod errors;
pub(crate) mod message;
pub(crate) mod operations;
pub(crate) mod parts;
pub(crate) mod replies;
mod text;

use std::rc::Rc;

use rquickjs::{
    Array, Coerced, Ctx, Error, Function, IntoJs, Object, Result, Value,
    function::{Args, IntoJsFunc, Opt, Rest},
    object::Property,
};

use self::parts::Part;
use super::state::{Current, State};
use crate::{message::MESSAGE_BYTES_MAX, wire::Mode};

const ERROR_CODES: [(&str, u16); 8] = [
    ("BadRequest", 400),
    ("Forbidden", 403),
    ("NotFound", 404),
    ("Conflict", 409),
    ("PreconditionFailed", 412),
    ("RequestEntityTooLarge", 413),
    ("RetryWith", 449),
    ("InternalServerError", 500),
];

/// Installs the API, for all executions.
pub(crate) fn install(ctx: &Ctx<'_>, current: &Rc<Current>) -> Result<()> {
    let shared = take_language(ctx)?;
    let globals = ctx.globals();
    hide(&globals, "Error", errors::constructor(ctx, current, &shared)?)?;
    let codes = Object::new(ctx.clone())?;
    for (name, code) in ERROR_CODES {
        show(&codes, name, code)?;
    }
    hide(&globals, "ErrorCodes", codes)?;
    hide(&globals, "console", console(ctx, current)?)?;
    let own = Rc::clone(current);
    let random = move || Ok::<_, Error>(own.get()?.random());
    let math: Object<'_> = globals.get("Math")?;
    hide(&math, "random", function(ctx, current, "random", random)?)?;
    add_context(ctx, current, &globals, &shared)?;
    parts::lend(ctx, current, &shared)?;
    current.share(ctx, shared);
    Ok(())
}

/// Removes what a script of this kind does not have.
pub(crate) fn adapt(ctx: &Ctx<'_>, mode: Mode) -> Result<()> {
    let globals = ctx.globals();
    match mode {
        Mode::Function => {
            globals.remove("getContext")?;
            globals.remove("__")
        }
        Mode::PreTrigger => globals.get::<_, Object<'_>>("__")?.remove("response"),
        Mode::StoredProcedure | Mode::PostTrigger | Mode::Compile => Ok(()),
    }
}

/// Adds a property like those of object literals.
fn show<'js>(object: &Object<'js>, name: &str, value: impl IntoJs<'js>) -> Result<()> {
    object.prop(name, Property::from(value).writable().configurable().enumerable())
}

/// Adds a property like class methods and globals.
fn hide<'js>(object: &Object<'js>, name: &str, value: impl IntoJs<'js>) -> Result<()> {
    object.prop(name, Property::from(value).writable().configurable())
}

fn function<'js, P>(
    ctx: &Ctx<'js>,
    current: &Current,
    name: &str,
    body: impl IntoJsFunc<'js, P> + 'js,
) -> Result<Function<'js>> {
    native(ctx, current, body)?.with_name(name)
}

/// Makes a function of a Rust function. Every one is made here and [held](Current::hold), and none
/// after the API has been installed.
#[expect(clippy::disallowed_methods, reason = "it is held")]
fn native<'js, P>(
    ctx: &Ctx<'js>,
    current: &Current,
    body: impl IntoJsFunc<'js, P> + 'js,
) -> Result<Function<'js>> {
    let function = Function::new(ctx.clone(), body)?;
    current.hold(ctx, &function);
    Ok(function)
}

/// Saves the language functions that the API needs before a script can change them.
fn take_language<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let globals = ctx.globals();
    let shared = Object::new_proto(ctx.clone(), None)?;
    let take = |owner: &str, names: &[&str]| -> Result<()> {
        let owner: Object<'js> = globals.get(owner)?;
        names.iter().try_for_each(|name| shared.set(*name, owner.get::<_, Value<'js>>(*name)?))
    };
    take("JSON", &["parse", "stringify"])?;
    take("Reflect", &["apply", "construct"])?;
    take("Object", &["defineProperty"])?;
    take("Array", &["isArray"])?;
    let take = |owner: &str, names: &[&str]| -> Result<()> {
        let owner: Object<'js> = globals.get::<_, Object<'js>>(owner)?.get("prototype")?;
        names.iter().try_for_each(|name| shared.set(*name, owner.get::<_, Value<'js>>(*name)?))
    };
    take("Array", &["sort"])?;
    take("Function", &["toString"])?;
    take("String", &["toWellFormed"])?;
    take("Object", &["isPrototypeOf"])?;
    for (name, own) in
        [("String", "makeText"), ("Error", "NativeError"), ("InternalError", "NativeInternalError")]
    {
        shared.set(own, globals.get::<_, Value<'js>>(name)?)?;
    }
    Ok(shared)
}

fn console<'js>(ctx: &Ctx<'js>, current: &Rc<Current>) -> Result<Object<'js>> {
    let own = Rc::clone(current);
    let log = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| -> Result<()> {
        let own = own.get()?;
        if own.run.context.logging {
            let write: Function<'js> = parts::get(&ctx, &own, Part::Log)?.get("write")?;
            let text: String = write.call((list(&ctx, values.0)?,))?;
            own.append_log(&text);
        }
        Ok(())
    };
    let console = Object::new(ctx.clone())?;
    show(&console, "log", function(ctx, current, "log", log)?)?;
    Ok(console)
}

/// Creates an array without invoking array setters.
fn list<'js>(ctx: &Ctx<'js>, values: Vec<Value<'js>>) -> Result<Array<'js>> {
    let list = Array::new(ctx.clone())?;
    for (at, value) in values.into_iter().enumerate() {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let property = Property::from(value).writable().configurable().enumerable();
        list.as_object().prop(at, property)?;
    }
    Ok(list)
}

/// Adds `getContext()`, `__`, and their members.
fn add_context<'js>(
    ctx: &Ctx<'js>,
    current: &Rc<Current>,
    globals: &Object<'js>,
    shared: &Object<'js>,
) -> Result<()> {
    let collection = operations::collection(ctx, current, shared)?;
    let request = message::request(ctx, current)?;
    let response = message::response(ctx, current)?;
    shared.set("response", response.clone())?;
    let alias = Object::new_proto(ctx.clone(), Some(&collection))?;
    show(&alias, "request", request.clone())?;
    show(&alias, "response", response.clone())?;
    let context = Object::new(ctx.clone())?;
    for (name, object) in [("Collection", collection), ("Request", request), ("Response", response)]
    {
        shared.set(name, object)?;
        let own = Rc::clone(current);
        let get = move |ctx: Ctx<'js>| -> Result<Object<'js>> {
            let own = own.get()?;
            if own.run.mode == Mode::PreTrigger && name == "Response" {
                return Err(own.fail(&ctx, 400, "A pre-trigger has no response."));
            }
            own.shared(&ctx)?.get(name)
        };
        let getter = format!("get{name}");
        show(&context, &getter, function(ctx, current, &getter, get)?)?;
    }
    let own = Rc::clone(current);
    let abort = move |ctx: Ctx<'js>, error: Opt<Value<'js>>| -> Result<()> {
        let error = error.0.unwrap_or_else(|| Value::new_undefined(ctx.clone()));
        own.get()?.tasks.abort(&ctx, &error);
        Err(ctx.throw(error))
    };
    show(&context, "abort", function(ctx, current, "abort", abort)?)?;
    shared.set("Context", context)?;
    let own = Rc::clone(current);
    let get_context =
        move |ctx: Ctx<'js>| -> Result<Object<'js>> { own.get()?.shared(&ctx)?.get("Context") };
    hide(globals, "getContext", function(ctx, current, "getContext", get_context)?)?;
    hide(globals, "__", alias)
}

/// Calls a stored procedure or trigger, ignoring its return value, even a promise.
pub(crate) fn start<'js>(ctx: &Ctx<'js>, state: &State, main: Function<'js>) -> Result<()> {
    let arguments = state.run.arguments.as_str();
    let values: Value<'js> = match arguments {
        "" | "null" => Array::new(ctx.clone())?.into_value(),
        _ => state.language(ctx, "parse")?.call((arguments,))?,
    };
    let values = match values.as_object() {
        Some(_) if values.is_array() => values,
        Some(object) => elements(ctx, state, object)?.into_value(),
        None => {
            let message = "The arguments of a stored procedure must be an array.";
            return Err(state.fail(ctx, 400, message));
        }
    };
    let nothing = Value::new_undefined(ctx.clone());
    let _: Value<'js> = state.language(ctx, "apply")?.call((main, nothing, values))?;
    Ok(())
}

/// The most arguments that the engine passes to a function.
const ARGUMENTS_MAX: u32 = 65_535;

/// The elements of an array-like object, as many as its `length` says. Unlike here, the engine's
/// own `apply` does not treat a negative length as zero.
fn elements<'js>(ctx: &Ctx<'js>, state: &State, object: &Object<'js>) -> Result<Array<'js>> {
    let length: Coerced<f64> = object.get("length")?;
    if length.0 > f64::from(ARGUMENTS_MAX) {
        let message = format!("A function takes at most {ARGUMENTS_MAX} arguments.");
        return Err(state.fail(ctx, 400, &message));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nothing is zero")]
    let length = length.0 as u32;
    let elements = (0..length).map(|at| object.get(at)).collect::<Result<Vec<Value<'js>>>>()?;
    list(ctx, elements)
}

/// Calls a function for each row. Arguments and results are boxed; a value without JSON form is
/// undefined, that is, an empty box. Returns no text if it is too long for a message.
pub(crate) fn rows<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    main: &Function<'js>,
) -> Result<Option<String>> {
    let all: Array<'js> = state.language(ctx, "parse")?.call((state.run.arguments.as_str(),))?;
    let mut out = String::from("[");
    for at in 0..all.len() {
        let row: Array<'js> = all.get(at)?;
        let mut arguments = Args::new(ctx.clone(), row.len());
        for place in 0..row.len() {
            let content: Array<'js> = row.get(place)?;
            let is_undefined = content.is_empty();
            let undefined = || Value::new_undefined(ctx.clone());
            arguments.push_arg(if is_undefined { undefined() } else { content.get(0)? })?;
        }
        let result: Value<'js> = main.call_arg(arguments)?;
        out.push_str(if at == 0 { "[" } else { ",[" });
        let is_sayable = result.as_number().is_none_or(f64::is_finite);
        if is_sayable && let Some(written) = ctx.json_stringify(result)? {
            out.push_str(&State::copied(ctx, &written)?);
        }
        out.push(']');
        if out.len() > MESSAGE_BYTES_MAX {
            return Ok(None);
        }
    }
    out.push(']');
    Ok(Some(out))
}

/// Collects the results of a script that succeeded.
pub(crate) fn finish(ctx: &Ctx<'_>, state: &State) -> Result<()> {
    let is_pre_trigger = state.run.mode == Mode::PreTrigger;
    let context = &state.run.context;
    let request_values = state.request.changed(ctx, state, &context.request_values)?;
    let mut response_values = Vec::new();
    if !is_pre_trigger {
        response_values = state.response.changed(ctx, state, &context.response_values)?;
    }
    let body = if is_pre_trigger {
        state.request.written(ctx, state, context.request_body.as_deref())?
    } else {
        state.response.written(ctx, state, context.response_body.as_deref())?
    };
    let mut left = state.left.borrow_mut();
    (left.request_values, left.response_values) = (request_values, response_values);
    if is_pre_trigger {
        left.request_body = body;
    } else {
        left.response_body = body;
    }
    Ok(())
}

/// Records a thrown value in [`State::failure`].
pub(crate) fn describe<'js>(ctx: &Ctx<'js>, state: &State, thrown: Value<'js>) -> Result<()> {
    let describe: Function<'js> = parts::get(ctx, state, Part::Describe)?.get("describe")?;
    describe.call((thrown,))
}
