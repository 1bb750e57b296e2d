//! From a script's source to the function that it is.
//!
//! A body is a function in one of the forms that clients send: a declaration, perhaps with helpers
//! beside it, or an expression (`function (x) {…}`, `x => …`).

use rquickjs::{Ctx, Error, Function, Value, context::EvalOptions};

use crate::job::Failure;

/// The function to call. The failure is what creating the script is refused with.
pub(crate) fn load<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &str,
) -> Result<Function<'js>, LoadError<'js>> {
    if let Some(declared) = declaration(source) {
        evaluate(ctx, name, source.to_owned())?;
        return named(ctx, declared);
    }
    let as_expression = evaluate(ctx, name, format!("({source}\n)"));
    let error = match as_expression {
        Ok(value) => return value.into_function().ok_or_else(not_a_function),
        Err(LoadError::Failure(Failure::Syntax { message, line, column })) => {
            // The parenthesis is not the author's.
            let column = if line == 1 { column.saturating_sub(1).max(1) } else { column };
            LoadError::Failure(Failure::Syntax { message, line, column })
        }
        Err(error) => return Err(error),
    };
    // Statements with a function among them: the first that begins a line is the script.
    let first = source.lines().find_map(declaration);
    let Some(first) = first else { return Err(error) };
    evaluate(ctx, name, source.to_owned())?;
    named(ctx, first)
}

/// Why there is no function.
pub(crate) enum LoadError<'js> {
    /// It is known what is wrong.
    Failure(Failure),
    /// Something was thrown at the top level.
    Thrown(Value<'js>),
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

/// The place of a syntax error is in the first line of its stack: `at name.js:3:14`.
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

/// The name of the function that the text begins with the declaration of.
fn declaration(source: &str) -> Option<&str> {
    let mut rest = after_comments(source);
    if let Some(after) = word(rest, "async") {
        rest = after_comments(after);
    }
    rest = after_comments(word(rest, "function")?);
    rest = after_comments(rest.strip_prefix('*').unwrap_or(rest));
    let is_part = |part: char| part.is_alphanumeric() || part == '_' || part == '$';
    let end = rest.find(|part| !is_part(part)).unwrap_or(rest.len());
    let name = &rest[..end];
    let begins_well = name.starts_with(|first: char| !first.is_numeric());
    begins_well.then_some(name)
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
    use super::declaration;

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
    fn expressions_declare_nothing() {
        for source in
            ["function (a) {}", "async x => x", "functional()", "(function f(){})", "", "/*"]
        {
            assert_eq!(declaration(source), None, "{source}");
        }
    }
}
