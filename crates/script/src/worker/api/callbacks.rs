//! Which arguments a callback can see.
//!
//! The resource that an operation returns is sent, parsed and dropped again if the callback is only
//! told whether there was an error, as in `(error) => { if (error) throw error; }`.

use rquickjs::{Array, Ctx, Function, Result, String as Text};

use crate::worker::state::State;

/// Whether the callback surely cannot see more than its first argument.
///
/// Only arrow functions are sure: they have no `arguments`. The number of parameters that a function
/// reports does not count those with a default, so its text decides.
pub(crate) fn sees_one_argument<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    callback: &Function<'js>,
) -> Result<bool> {
    let (apply, text) = (state.language(ctx, "apply")?, state.language(ctx, "toString")?);
    let text: Text<'js> = apply.call((text, callback.clone(), Array::new(ctx.clone())?))?;
    Ok(text.to_string().is_ok_and(|text| is_short_arrow(&text)))
}

/// Whether this is the text of an arrow function of at most one plain parameter.
fn is_short_arrow(text: &str) -> bool {
    let (parameter, rest) = match text.strip_prefix('(') {
        Some(inside) => inside.split_once(')').unwrap_or_default(),
        None => text.split_at(text.find(|part| !is_part(part)).unwrap_or(text.len())),
    };
    parameter.trim().chars().all(is_part) && rest.trim_start().starts_with("=>")
}

fn is_part(part: char) -> bool {
    part.is_alphanumeric() || part == '_' || part == '$'
}

#[cfg(test)]
mod tests {
    use super::is_short_arrow;

    #[test]
    fn arrows_of_one_plain_parameter() {
        for text in ["(error) => { }", "() => 1", "e=>{}", "( _e ) => x", "$ => $"] {
            assert!(is_short_arrow(text), "{text}");
        }
        for text in [
            "(error, made) => { }",
            "(error, ...rest) => { }",
            "(...all) => { }",
            "([error]) => { }",
            "(error = 1) => { }",
            "(a, b = (c) => d) => { }",
            "(a = ()) => { }",
            "async (error) => { }",
            "function (error) { return () => 1; }",
            "function(error) { }",
            "method(error) { }",
            "class { }",
            "(error /* one */) => { }",
            "function () { [native code] }",
            "",
        ] {
            assert!(!is_short_arrow(text), "{text}");
        }
    }
}
