//! Converts script values to texts.

use rquickjs::{Array, Ctx, Error, Result, String as Text, Value};

use crate::worker::state::State;

impl State {
    /// Converts any value to text, like `String`.
    pub(crate) fn text<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<String> {
        if let Some(text) = value.as_string() {
            return self.well_formed(ctx, text);
        }
        let text: Text<'js> = self.language(ctx, "makeText")?.call((value.clone(),))?;
        self.well_formed(ctx, &text)
    }

    /// Copies a text out of the engine.
    pub(crate) fn copied<'js>(ctx: &Ctx<'js>, text: &Text<'js>) -> Result<String> {
        match text.to_string() {
            // The engine had no memory for the copy; the pending exception says so.
            Err(Error::Unknown | Error::Allocation) if ctx.has_exception() => Err(Error::Exception),
            other => other,
        }
    }

    /// A text that can leave the engine unchanged; replaces unpaired surrogates.
    pub(crate) fn well_formed<'js>(&self, ctx: &Ctx<'js>, text: &Text<'js>) -> Result<String> {
        match Self::copied(ctx, text) {
            Err(Error::Utf8(_)) => {
                let (apply, whole) =
                    (self.language(ctx, "apply")?, self.language(ctx, "toWellFormed")?);
                apply.call((whole, text.clone(), Array::new(ctx.clone())?))
            }
            other => other,
        }
    }
}
