//! Turns a script's source into its function.
//!
//! Clients send a function in one of several forms: a declaration, perhaps with helpers beside it,
//! an expression (`function (x) {…}`, `x => …`), or a method (`name(x) {…}`), which is how
//! JavaScript prints a function written as a method.

use rquickjs::{Ctx, Error, Function, Value, context::EvalOptions};

use crate::job::Failure;

/// Returns the function to call. On failure, creating the script is rejected with this error.
pub(crate) fn load<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &str,
) -> Result<Function<'js>, LoadError<'js>> {
    if let Some(declared) = declaration(source) {
        evaluate(ctx, name, source.to_owned())?;
        return named(ctx, declared);
    }
    // An expression may be written as a statement.
    let expression = source.trim_end().trim_end_matches(';');
    let as_expression = evaluate(ctx, name, format!("({expression}\n)"));
    let error = match as_expression {
        Ok(value) => return value.into_function().ok_or_else(not_a_function),
        // Do not count our parenthesis.
        Err(error) => moved(error, 1)?,
    };
    if is_method(source) {
        let object = evaluate(ctx, name, format!("({{{source}\n}})"));
        match object {
            Ok(object) => return only_function(object),
            Err(error) => {
                let error = moved(error, 2)?;
                if first_declared(source).is_none() {
                    return Err(error);
                }
            }
        }
    }
    // Statements that include a function: the first one that begins a line is the script.
    let Some(first) = first_declared(source) else { return Err(error) };
    evaluate(ctx, name, source.to_owned())?;
    named(ctx, first)
}

fn first_declared(source: &str) -> Option<&str> {
    source.lines().find_map(declaration)
}

/// Why the source has no function.
pub(crate) enum LoadError<'js> {
    /// The error is known.
    Failure(Failure),
    /// The top level threw an exception.
    Thrown(Value<'js>),
}

/// Moves a syntax error to its place in the author's text, `by` columns earlier; any other error
/// ends the search for a form.
fn moved(error: LoadError<'_>, by: u32) -> Result<LoadError<'_>, LoadError<'_>> {
    match error {
        LoadError::Failure(Failure::Syntax { message, line, column }) => {
            let column = if line == 1 { column.saturating_sub(by).max(1) } else { column };
            Ok(LoadError::Failure(Failure::Syntax { message, line, column }))
        }
        other => Err(other),
    }
}

/// The method of an object that has no other members.
fn only_function(object: Value<'_>) -> Result<Function<'_>, LoadError<'_>> {
    let object = object.into_object().ok_or_else(not_a_function)?;
    let mut values = object.values::<Value<'_>>();
    match (values.next(), values.next()) {
        (Some(Ok(value)), None) => value.into_function().ok_or_else(not_a_function),
        _ => Err(not_a_function()),
    }
}

fn not_a_function<'js>() -> LoadError<'js> {
    let message = "The body of a script must be a function".to_owned();
    LoadError::Failure(Failure::Syntax { message, line: 1, column: 1 })
}

fn named<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>, LoadError<'js>> {
    ctx.globals().get::<_, Function<'js>>(name).map_err(|_| not_a_function())
}

fn evaluate<'js>(ctx: &Ctx<'js>, name: &str, source: String) -> Result<Value<'js>, LoadError<'js>> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    ctx.eval_with_options(source, options).map_err(|error| match error {
        Error::Exception => {
            let thrown = ctx.catch();
            match syntax_error(&thrown, name) {
                Some(failure) => LoadError::Failure(failure),
                None => LoadError::Thrown(thrown),
            }
        }
        Error::Allocation => LoadError::Failure(Failure::OutOfMemory),
        other => {
            let message = format!("SyntaxError: {other}");
            LoadError::Failure(Failure::Syntax { message, line: 1, column: 1 })
        }
    })
}

/// Extracts a syntax error's position from the first line of its stack: `at name.js:3:14`.
fn syntax_error(thrown: &Value<'_>, name: &str) -> Option<Failure> {
    let object = thrown.as_object()?;
    if object.get::<_, String>("name").ok()? != "SyntaxError" {
        return None;
    }
    let message = object.get::<_, String>("message").unwrap_or_default();
    let stack = object.get::<_, String>("stack").unwrap_or_default();
    let place = stack.lines().next().unwrap_or_default().trim_end_matches(')');
    let after_name = place.rsplit_once(&format!("{name}:")).map_or("", |(_, after)| after);
    let mut numbers = after_name.split(':').map(|digits| digits.parse().unwrap_or(1));
    let line = numbers.next().unwrap_or(1);
    let column = numbers.next().unwrap_or(1);
    Some(Failure::Syntax { message: format!("SyntaxError: {message}"), line, column })
}

/// The name of the function, if the text begins with a declaration.
fn declaration(source: &str) -> Option<&str> {
    let rest = after_comments(word(after_async(source), "function")?);
    let rest = after_comments(rest.strip_prefix('*').unwrap_or(rest));
    identifier(rest)
}

/// Whether the text begins like a method: with a name and a parenthesis, and no `function` before
/// them.
fn is_method(source: &str) -> bool {
    let rest = after_async(source);
    identifier(rest).is_some_and(|name| {
        name != "function" && after_comments(&rest[name.len()..]).starts_with('(')
    })
}

fn after_async(source: &str) -> &str {
    let rest = after_comments(source);
    word(rest, "async").map_or(rest, after_comments)
}

fn identifier(text: &str) -> Option<&str> {
    let is_part = |part: char| part.is_alphanumeric() || part == '_' || part == '$';
    let end = text.find(|part| !is_part(part)).unwrap_or(text.len());
    let name = &text[..end];
    name.starts_with(|first: char| !first.is_numeric()).then_some(name)
}

fn word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    rest.starts_with(|next: char| next.is_whitespace() || "/*(".contains(next)).then_some(rest)
}

fn after_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|blank: char| blank.is_whitespace() || blank == '\u{feff}');
        let rest = if let Some(comment) = text.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::{declaration, is_method};

    #[test]
    fn finds_the_declared_name() {
        for source in [
            "function f(a) {}",
            "  /* why */ // and more\n function\tf (a) {}",
            "async function f() {}",
            "function* f() {}",
            "function f/**/(){}",
        ] {
            assert_eq!(declaration(source), Some("f"), "{source}");
        }
    }

    #[test]
    fn methods_are_told_from_calls_of_nothing() {
        for source in ["f() {}", " /* why */ async f (a) {}", "serverScript() { var x = 10; }"] {
            assert!(is_method(source), "{source}");
        }
        for source in ["function (a) {}", "async function f() {}", "(f)()", "x => x", "5()", ""] {
            assert!(!is_method(source), "{source}");
        }
    }

    #[test]
    fn expressions_declare_nothing() {
        for source in
            ["function (a) {}", "async x => x", "functional()", "(function f(){})", "", "/*"]
        {
            assert_eq!(declaration(source), None, "{source}");
        }
    }
}
