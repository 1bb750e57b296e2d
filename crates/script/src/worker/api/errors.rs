//! Errors of the API, and `Error` as scripts expect it: they were written for an engine whose
//! errors take a number, `new Error(404, 'not found')`.

use std::rc::Rc;

use rquickjs::{Array, Ctx, Error, Function, Object, Result, Value, function::Constructor};

use super::{hide, list, native};
use crate::worker::state::{Current, State};

impl State {
    /// Creates an API error.
    pub(crate) fn error<'js>(
        &self,
        ctx: &Ctx<'js>,
        number: u16,
        message: &str,
    ) -> Result<Object<'js>> {
        let native: Constructor<'js> = self.shared(ctx)?.get("NativeError")?;
        let error: Object<'js> = native.construct((message,))?;
        hide(&error, "number", number)?;
        hide(&error, "description", message)?;
        Ok(error)
    }

    /// Throws an API error.
    pub(crate) fn fail(&self, ctx: &Ctx<'_>, number: u16, message: &str) -> Error {
        match self.error(ctx, number, message) {
            Ok(error) => ctx.throw(error.into_value()),
            Err(error) => error,
        }
    }

    /// Creates an error from the arguments of `Error`.
    fn numbered<'js>(
        &self,
        ctx: &Ctx<'js>,
        values: Array<'js>,
        target: Value<'js>,
    ) -> Result<Value<'js>> {
        let native: Value<'js> = self.shared(ctx)?.get("NativeError")?;
        let construct: Function<'js> = self.language(ctx, "construct")?;
        let number = match values.len() {
            0 | 1 => None,
            _ => Some(values.get::<Value<'js>>(0)?).filter(Value::is_number),
        };
        let Some(number) = number else { return construct.call((native, values, target)) };
        let message = list(ctx, vec![values.get(1)?])?;
        let error: Object<'js> = construct.call((native, message, target))?;
        hide(&error, "number", number)?;
        hide(&error, "description", error.get::<_, Value<'js>>("message")?)?;
        Ok(error.into_value())
    }
}

/// Creates the `Error` constructor.
pub(crate) fn constructor<'js>(
    ctx: &Ctx<'js>,
    current: &Rc<Current>,
    shared: &Object<'js>,
) -> Result<Value<'js>> {
    let handler = Object::new_proto(ctx.clone(), None)?;
    let own = Rc::clone(current);
    let construct = move |ctx: Ctx<'js>,
                          _: Value<'js>,
                          values: Array<'js>,
                          target: Value<'js>|
          -> Result<Value<'js>> {
        let own = own.get()?;
        let shared = own.shared(&ctx)?;
        let is_plain = shared.get::<_, Value<'js>>("Error")? == target;
        let target = if is_plain { shared.get("NativeError")? } else { target };
        own.numbered(&ctx, values, target)
    };
    handler.set("construct", native(ctx, current, construct)?)?;
    let own = Rc::clone(current);
    let apply = move |ctx: Ctx<'js>, _: Value<'js>, _: Value<'js>, values: Array<'js>| {
        let own = own.get()?;
        let target = own.shared(&ctx)?.get("NativeError")?;
        own.numbered(&ctx, values, target)
    };
    handler.set("apply", native(ctx, current, apply)?)?;
    let native: Object<'js> = shared.get("NativeError")?;
    let proxy: Constructor<'js> = ctx.globals().get("Proxy")?;
    let constructor: Value<'js> = proxy.construct((native.clone(), handler))?;
    shared.set("Error", constructor.clone())?;
    hide(&native.get::<_, Object<'js>>("prototype")?, "constructor", constructor.clone())?;
    Ok(constructor)
}
