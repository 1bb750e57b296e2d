//! The collection: operations on its documents and their attachments.
//!
//! An operation is carried out when it is requested; its callback runs later. The return value
//! tells whether it was accepted: false means that the script is running out of time or request
//! units.

use std::rc::Rc;

use rquickjs::{
    Atom, Ctx, Error, Exception, Filter, Function, Object, Result, Value,
    function::{Rest, This},
    object::Property,
};

use super::{
    callbacks, function, hide, list,
    parts::{self, Part},
    replies::{Arrived, Task},
    show,
};
use crate::{
    host::Operation,
    job::Context,
    links::{self, Resource},
    wire::{Ask, AskOptions, Manner},
    worker::{
        ahead::Asked,
        state::{Current, State},
    },
};

const OPERATIONS: [(&str, Operation, Resource); 14] = {
    use Operation::{Create, Delete, Query, Read, ReadFeed, Replace, Upsert};
    use Resource::{Attachment, Document};
    [
        ("readDocument", Read, Document),
        ("readDocuments", ReadFeed, Document),
        ("queryDocuments", Query, Document),
        ("createDocument", Create, Document),
        ("upsertDocument", Upsert, Document),
        ("replaceDocument", Replace, Document),
        ("deleteDocument", Delete, Document),
        ("readAttachment", Read, Attachment),
        ("readAttachments", ReadFeed, Attachment),
        ("queryAttachments", Query, Attachment),
        ("createAttachment", Create, Attachment),
        ("upsertAttachment", Upsert, Attachment),
        ("replaceAttachment", Replace, Attachment),
        ("deleteAttachment", Delete, Attachment),
    ]
};

/// The names of the query API, which is written in JavaScript.
const QUERIES: [&str; 7] =
    ["filter", "map", "pluck", "flatten", "sortBy", "sortByDescending", "unwind"];
const GEOMETRY: [&str; 5] = ["distance", "intersects", "within", "isValid", "isValidDetailed"];

/// The collection that the script belongs to.
pub(crate) fn collection<'js>(
    ctx: &Ctx<'js>,
    current: &Rc<Current>,
    shared: &Object<'js>,
) -> Result<Object<'js>> {
    let methods = Object::new(ctx.clone())?;
    let own = Rc::clone(current);
    let link = move || Ok::<_, Error>(own.get()?.run.context.self_link.clone());
    hide(&methods, "getSelfLink", function(ctx, current, "getSelfLink", link)?)?;
    let own = Rc::clone(current);
    let link = move || Ok::<_, Error>(own.get()?.run.context.alt_link.clone());
    hide(&methods, "getAltLink", function(ctx, current, "getAltLink", link)?)?;
    for (name, operation, resource) in OPERATIONS {
        let own = Rc::clone(current);
        let call = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| {
            operate(&ctx, own.get()?.as_ref(), (name, operation, resource), &values.0)
        };
        hide(&methods, name, function(ctx, current, name, call)?)?;
    }
    add_queries(ctx, current, &methods)?;
    shared.set("collectionPrototype", methods.clone())?;
    Object::new_proto(ctx.clone(), Some(&methods))
}

/// Adds the query API and geometry. The functions exist from the start, but their code is parsed
/// on the first call.
fn add_queries<'js>(ctx: &Ctx<'js>, current: &Rc<Current>, methods: &Object<'js>) -> Result<()> {
    let lazy = |name: &'static str, part: Part| {
        let own = Rc::clone(current);
        let call = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| -> Result<Value<'js>> {
            let answer: Function<'js> =
                parts::get(&ctx, own.get()?.as_ref(), part)?.get("answer")?;
            answer.call((name, list(&ctx, values.0)?))
        };
        function(ctx, current, name, call)
    };
    for name in QUERIES {
        hide(methods, name, lazy(name, Part::Query)?)?;
    }
    let own = Rc::clone(current);
    let chain = move |ctx: Ctx<'js>| -> Result<Value<'js>> {
        parts::get(&ctx, own.get()?.as_ref(), Part::Query)?
            .get::<_, Function<'js>>("chain")?
            .call(())
    };
    hide(methods, "chain", function(ctx, current, "chain", chain)?)?;
    // Meant to name the variables that a query's functions use. Ours are closures and have them
    // anyway.
    let proxy = |ctx: Ctx<'js>, this: This<Value<'js>>| Object::new_proto(ctx, this.0.as_object());
    hide(methods, "proxy", function(ctx, current, "proxy", proxy)?)?;
    let spatial = Object::new(ctx.clone())?;
    for name in GEOMETRY {
        show(&spatial, name, lazy(name, Part::Spatial)?)?;
    }
    hide(methods, "spatial", spatial)
}

/// Runs one operation, given its function's arguments; returns whether it was accepted.
fn operate<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    (name, operation, resource): (&str, Operation, Resource),
    values: &[Value<'js>],
) -> Result<bool> {
    use Operation::{Create, Query, Replace, Upsert};
    let has_body = matches!(operation, Query | Create | Upsert | Replace);
    let Tail { options, callback } = tail(ctx, state, name, values, if has_body { 2 } else { 1 })?;
    let body = match operation {
        Query => Some(query_text(ctx, state, name, &values[1])?),
        Create | Upsert => Some(new_text(ctx, state, name, &values[1], options.as_ref())?),
        Replace => {
            Some(resource_text(ctx, state, name, &resource_of(ctx, state, name, &values[1])?)?)
        }
        _ => None,
    };
    let Some(link) = values[0].as_string() else {
        return Err(state.fail(ctx, 400, "A link must be a string."));
    };
    let link = state.well_formed(ctx, link)?;
    let options = checked_options(ctx, state, options.as_ref())?;
    let is_brief = match &callback {
        None => true,
        Some(callback) => callbacks::sees_one_argument(ctx, state, callback)?,
    };
    let manner = Manner { is_brief, ..Manner::default() };
    let mut ask = Ask { operation, resource, link, body, options, manner };
    if go_ahead(state, &mut ask) {
        state.tasks.later(Task::ahead(ctx, callback));
        return Ok(true);
    }
    let arrived = perform(ctx, state, &ask)?;
    let Some(arrived) = arrived else { return Ok(false) };
    state.tasks.later(Task::reply(ctx, arrived, callback, operation == Operation::Delete));
    Ok(true)
}

/// The options and callback after a function's required arguments.
pub(crate) struct Tail<'js> {
    pub(crate) options: Option<Object<'js>>,
    pub(crate) callback: Option<Function<'js>>,
}

/// Parses them. Options may be left out.
pub(crate) fn tail<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    values: &[Value<'js>],
    required: usize,
) -> Result<Tail<'js>> {
    let fail = |message: String| Err(state.fail(ctx, 400, &message));
    if values.len() < required {
        let given = values.len();
        return fail(format!("Function {name} needs at least {required} arguments, not {given}."));
    }
    let given = |at: usize| values.get(at).filter(|value| !value.is_undefined());
    let (mut options, mut callback) = (given(required), given(required + 1));
    if options.is_some_and(Value::is_function) && callback.is_none() {
        callback = options.take();
    }
    let options = match options.filter(|options| !options.is_null()) {
        Some(options) if !options.is_object() || options.is_function() => {
            return fail(format!("Function {name}: options must be an object."));
        }
        options => options.and_then(Value::as_object).cloned(),
    };
    let callback = match callback.filter(|callback| !callback.is_null()) {
        Some(callback) if !callback.is_function() => {
            return fail(format!("Function {name}: callback must be a function."));
        }
        callback => callback.and_then(Value::as_function).cloned(),
    };
    Ok(Tail { options, callback })
}

/// The options that the host understands.
pub(crate) fn checked_options<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    options: Option<&Object<'js>>,
) -> Result<AskOptions> {
    let Some(options) = options else { return Ok(AskOptions::default()) };
    let text = |name: &str| -> Result<Option<String>> {
        let value: Value<'js> = options.get(name)?;
        if value.is_undefined() || value.is_null() {
            return Ok(None);
        }
        match value.as_string() {
            Some(text) => state.well_formed(ctx, text).map(Some),
            None => Err(state.fail(ctx, 400, &format!("The option {name} must be a string."))),
        }
    };
    let index_action = text("indexAction")?.map(|action| action.to_lowercase());
    if let Some(action) = &index_action
        && !["default", "include", "exclude"].contains(&action.as_str())
    {
        let message = r#"The option indexAction must be "default", "include" or "exclude"."#;
        return Err(state.fail(ctx, 400, message));
    }
    let page_size: Value<'js> = options.get("pageSize")?;
    let page_size = match page_size.as_number() {
        None if page_size.is_undefined() || page_size.is_null() => None,
        Some(size) if size.fract() == 0.0 && size >= -1.0 && size != 0.0 =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "an integer that fits")]
            Some(size.min(f64::from(u32::MAX)) as i64)
        }
        _ => {
            let message = "The option pageSize must be -1 or a positive integer.";
            return Err(state.fail(ctx, 400, message));
        }
    };
    Ok(AskOptions {
        if_match: text("etag")?,
        if_none_match: text("ifNoneMatch")?,
        index_action,
        page_size,
        // Scripts pass on the continuation of an earlier call, which may be empty.
        continuation: text("continuation")?.filter(|token| !token.is_empty()),
        enable_scan: options.get::<_, Value<'js>>("enableScan")?.as_bool() == Some(true),
    })
}

/// Queues the creation of a document that the host promised not to refuse, so that the script need
/// not wait. False if there is no such promise.
fn go_ahead(state: &State, ask: &mut Ask) -> bool {
    let is_creation = ask.operation == Operation::Create && ask.resource == Resource::Document;
    if !is_creation || state.tasks.is_aborted() || state.is_late() {
        return false;
    }
    let Context { self_link, alt_link, .. } = &state.run.context;
    let body = ask.body.as_deref().unwrap_or_default();
    // The host answers what is wrong with a link or a body at once.
    if links::resolve(&ask.link, ask.operation, ask.resource, self_link, alt_link).is_err()
        || state.is_too_long(body).is_some()
        || !state.ahead.take(body.len())
    {
        return false;
    }
    ask.manner.is_promised = true;
    state.ahead.queue(ask)
}

/// Carries out one operation; returns `None` if it was refused.
pub(crate) fn perform<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    ask: &Ask,
) -> Result<Option<Arrived<'js>>> {
    if state.tasks.is_aborted() {
        return Ok(None);
    }
    if let Some(length) = ask.body.as_deref().and_then(|body| state.is_too_long(body)) {
        let message = format!("The body of {length} characters is too large.");
        return Arrived::too_large(ctx, &message).map(Some);
    }
    match state.ask(ctx, ask)? {
        Asked::Refused => Ok(None),
        Asked::Invalid(message) => Err(state.fail(ctx, 400, &message)),
        Asked::Done(reply) => Arrived::new(ctx, reply).map(Some),
    }
}

fn no_resource(ctx: &Ctx<'_>, state: &State, name: &str) -> Error {
    let message = format!("Function {name}: the body must be an object or a JSON string.");
    state.fail(ctx, 400, &message)
}

/// Parses a resource given as an object or as JSON text.
fn resource_of<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    body: &Value<'js>,
) -> Result<Object<'js>> {
    let mut resource = body.clone();
    if body.is_string() {
        resource = state.language(ctx, "parse")?.call((body.clone(),)).map_err(|error| {
            match error {
                Error::Exception => {
                    let thrown = ctx.catch();
                    let message = thrown.as_exception().and_then(Exception::message);
                    // Running out of memory is not an error in the text.
                    match message {
                        Some(message) if message != "out of memory" => {
                            no_resource(ctx, state, name)
                        }
                        _ => ctx.throw(thrown),
                    }
                }
                other => other,
            }
        })?;
    }
    let is_array: bool = state.language(ctx, "isArray")?.call((resource.clone(),))?;
    let is_resource = !is_array && !resource.is_function();
    resource.into_object().filter(|_| is_resource).ok_or_else(|| no_resource(ctx, state, name))
}

/// Its JSON text.
fn resource_text<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    resource: &Object<'js>,
) -> Result<String> {
    match ctx.json_stringify(resource.clone())? {
        Some(written) => State::copied(ctx, &written),
        None => Err(no_resource(ctx, state, name)),
    }
}

/// The JSON text of a new resource. Adds an id if missing; the caller's object is not changed.
fn new_text<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    body: &Value<'js>,
    options: Option<&Object<'js>>,
) -> Result<String> {
    let mut resource = resource_of(ctx, state, name, body)?;
    let id: Value<'js> = resource.get("id")?;
    let is_empty = match id.as_string() {
        Some(id) => state.well_formed(ctx, id)?.is_empty(),
        None => id.is_undefined() || id.is_null(),
    };
    let is_wanted = is_empty
        && match options {
            None => true,
            Some(options) => {
                let refused: Value<'js> = options.get("disableAutomaticIdGeneration")?;
                refused.as_bool() != Some(true)
            }
        };
    if is_wanted {
        let copy = Object::new(ctx.clone())?;
        for property in
            resource.own_props::<Atom<'js>, Value<'js>>(Filter::new().string().enum_only())
        {
            let (name, value) = property?;
            copy.prop(name, Property::from(value).writable().configurable().enumerable())?;
        }
        show(&copy, "id", guid(ctx)?)?;
        resource = copy;
    }
    resource_text(ctx, state, name, &resource)
}

/// The JSON text of a query given as text or as `{ query, parameters }`.
fn query_text<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    name: &str,
    query: &Value<'js>,
) -> Result<String> {
    let spec = Object::new_proto(ctx.clone(), None)?;
    let text = match query.as_object() {
        Some(query) if !query.is_function() => query.get("query")?,
        _ => query.clone(),
    };
    if !text.is_string() {
        let message =
            format!("Function {name}: the query must be a string or {{ query, parameters }}.");
        return Err(state.fail(ctx, 400, &message));
    }
    spec.set("query", text)?;
    if let Some(query) = query.as_object() {
        let parameters: Value<'js> = query.get("parameters")?;
        if !parameters.is_undefined() {
            spec.set("parameters", parameters)?;
        }
    }
    match ctx.json_stringify(spec)? {
        Some(written) => State::copied(ctx, &written),
        None => Ok(String::new()),
    }
}

/// A random id in the usual GUID format.
fn guid(ctx: &Ctx<'_>) -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Exception::throw_internal(ctx, "no random numbers"))?;
    let mut number = u128::from_be_bytes(bytes);
    number = number & !(0xf << 76) | 4 << 76;
    number = number & !(0b11 << 62) | 0b10 << 62;
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(parts.join("-"))
}
