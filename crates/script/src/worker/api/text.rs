//! Texts from values of scripts.

use rquickjs::{Array, Ctx, Error, Result, String as Text, Value};

use crate::worker::state::State;

impl State {
    /// Any value in words, as `String` says it.
    pub(crate) fn text<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<String> {
        if let Some(text) = value.as_string() {
            return self.well_formed(ctx, text);
        }
        let text: Text<'js> = self.language(ctx, "makeText")?.call((value.clone(),))?;
        self.well_formed(ctx, &text)
    }

    /// A text that survives the way out: half a surrogate pair does not.
    pub(crate) fn well_formed<'js>(&self, ctx: &Ctx<'js>, text: &Text<'js>) -> Result<String> {
        match text.to_string() {
            Err(Error::Utf8(_)) => {
                let (apply, whole) =
                    (self.language(ctx, "apply")?, self.language(ctx, "toWellFormed")?);
                apply.call((whole, text.clone(), Array::new(ctx.clone())?))
            }
            other => other,
        }
    }
}
