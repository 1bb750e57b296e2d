//! `$regexMatch`, `$regexFind` and `$regexFindAll`.

use bson::RawBsonRef;
use bson::raw::cstr;
use fancy_regex::{Captures, Regex, RegexBuilder};

use super::strings::count;
use crate::error::{Error, Result};
use crate::expression::build::{Fields, List};
use crate::expression::operator::{Call, Form, Names, Operator, Prepared};
use crate::expression::{Computed, Scope};

/// The names of arguments, with errors that name the operator.
macro_rules! names {
    ($operator:literal) => {
        Names {
            not_object: (
                51_103,
                concat!($operator, " expects an object of named arguments but found: {}"),
            ),
            unknown: (31_024, concat!($operator, " found an unknown argument: {}")),
            fields: &[
                ("input", Some((31_022, concat!($operator, " requires 'input' parameter")))),
                ("regex", Some((31_023, concat!($operator, " requires 'regex' parameter")))),
                ("options", None),
            ],
        }
    };
}

static MATCH: Names = names!("$regexMatch");
static FIND: Names = names!("$regexFind");
static FIND_ALL: Names = names!("$regexFindAll");

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$regexMatch", Form::Named(&MATCH), |call, scope| {
        search(
            call,
            scope,
            || false.into(),
            |pattern, text, _| {
                pattern
                    .regex
                    .is_match(text)
                    .map(Computed::from)
                    .map_err(|error| failed(call, &error))
            },
        )
    })
    .prepared(prepare),
    Operator::new("$regexFind", Form::Named(&FIND), |call, scope| {
        search(
            call,
            scope,
            || Computed::NULL,
            |pattern, text, _| {
                let captures =
                    pattern.regex.captures(text).map_err(|error| failed(call, &error))?;
                match captures {
                    Some(captures) => {
                        let start = captures.get(0).map_or(0, |whole| whole.start());
                        Ok(found(&captures, text[..start].chars().count())?.finish().into())
                    }
                    None => Ok(Computed::NULL),
                }
            },
        )
    })
    .prepared(prepare),
    Operator::new("$regexFindAll", Form::Named(&FIND_ALL), |call, scope| {
        search(
            call,
            scope,
            || Computed::from(bson::RawArrayBuf::new()),
            |pattern, text, scope| find_all(call, pattern, text, scope),
        )
    })
    .prepared(prepare),
];

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub(in crate::expression) struct Pattern {
    regex: Regex,
}

/// Steps that matching one text may take before it is given up.
const BACKTRACK_MAX: usize = 1_000_000;

impl Pattern {
    fn new(name: &str, pattern: &str, options: &str) -> Result<Self> {
        if pattern.contains('\0') {
            return Err(Error::location(
                51_109,
                format!("{name}: regular expression cannot contain an embedded null byte"),
            ));
        }
        if options.contains('\0') {
            return Err(Error::location(
                51_110,
                format!(
                    "{name}: regular expression options string cannot contain an embedded null byte"
                ),
            ));
        }
        let mut builder = RegexBuilder::new(pattern);
        builder.backtrack_limit(BACKTRACK_MAX);
        for option in options.chars() {
            match option {
                'i' => builder.case_insensitive(true),
                'm' => builder.multi_line(true),
                's' => builder.dot_matches_new_line(true),
                'x' => builder.verbose_mode(true),
                'u' => &mut builder,
                unknown => {
                    return Err(Error::location(
                        51_108,
                        format!("{name}: invalid flag in regex options: {unknown}"),
                    ));
                }
            };
        }
        match builder.build() {
            Ok(regex) => Ok(Self { regex }),
            Err(error) => Err(Error::location(51_111, format!("Invalid Regex in {name}: {error}"))),
        }
    }
}

/// Compiles the expression once if it is constant.
fn prepare(call: &Call) -> Result<Prepared> {
    let constant = |at: usize| call.arguments.get(at).and_then(super::super::node::Node::constant);
    match (constant(1), constant(2)) {
        (Some(regex), Some(options)) => Ok(match compile(call, &regex, &options)? {
            Some(pattern) => Prepared::Pattern(Box::new(pattern)),
            None => Prepared::Nothing,
        }),
        _ => Ok(Prepared::Nothing),
    }
}

/// The expression from the arguments; `None` if there is none.
fn compile(call: &Call, regex: &Computed<'_>, options: &Computed<'_>) -> Result<Option<Pattern>> {
    let name = call.name();
    let options = match options.as_ref() {
        None | Some(RawBsonRef::Null | RawBsonRef::Undefined) => None,
        Some(RawBsonRef::String(options)) => Some(options),
        Some(_) => {
            let text = format!("{name} needs 'options' to be of type string");
            return Err(Error::location(51_106, text));
        }
    };
    match regex.as_ref() {
        None | Some(RawBsonRef::Null | RawBsonRef::Undefined) => Ok(None),
        Some(RawBsonRef::String(pattern)) => {
            Pattern::new(name, pattern, options.unwrap_or_default()).map(Some)
        }
        Some(RawBsonRef::RegularExpression(regex)) => {
            let own = regex.options.as_str();
            if options.is_some_and(|options| !options.is_empty()) && !own.is_empty() {
                return Err(Error::location(
                    51_107,
                    format!(
                        "{name}: found regex option(s) specified in both 'regex' and 'option' fields"
                    ),
                ));
            }
            let options = options.filter(|options| !options.is_empty()).unwrap_or(own);
            Pattern::new(name, regex.pattern.as_str(), options).map(Some)
        }
        Some(_) => {
            let text = format!("{name} needs 'regex' to be of type string or regex");
            Err(Error::location(51_105, text))
        }
    }
}

/// Runs a search, or gives what there is without a text or an expression.
fn search<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    nothing: impl FnOnce() -> Computed<'a>,
    run: impl FnOnce(&Pattern, &str, &Scope<'a>) -> Result<Computed<'a>>,
) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    let computed;
    let pattern = match &call.prepared {
        Prepared::Pattern(pattern) => Some(pattern.as_ref()),
        Prepared::Nothing => {
            computed = compile(call, &call.value(1, scope)?, &call.value(2, scope)?)?;
            computed.as_ref()
        }
    };
    let name = call.name();
    match (input.as_text(), pattern) {
        (Some(text), Some(pattern)) => run(pattern, text, scope),
        (None, _) if !input.is_nullish() => {
            let text = format!("{name} needs 'input' to be of type string");
            Err(Error::location(51_104, text))
        }
        _ => Ok(nothing()),
    }
}

fn failed(call: &Call, error: &fancy_regex::Error) -> Error {
    let name = call.name();
    let text = format!("Error occurred while executing the regular expression in {name}: {error}");
    Error::location(51_156, text)
}

/// `{match, idx, captures}`, the position in characters.
fn found(captures: &Captures<'_, str>, position: usize) -> Result<Fields> {
    let mut fields = Fields::default();
    let Some(whole) = captures.get(0) else { return Ok(fields) };
    fields.append(cstr!("match"), RawBsonRef::String(whole.as_str()))?;
    fields.append(cstr!("idx"), count(position).or_null())?;
    let mut groups = List::default();
    for group in captures.iter().skip(1) {
        groups.push(group.map(|group| RawBsonRef::String(group.as_str())))?;
    }
    fields.append(cstr!("captures"), groups.finish().as_raw_bson_ref())?;
    Ok(fields)
}

fn find_all<'a>(
    call: &Call,
    pattern: &Pattern,
    text: &str,
    scope: &Scope<'a>,
) -> Result<Computed<'a>> {
    let mut all = List::default();
    let (mut byte, mut position) = (0, 0);
    for captures in pattern.regex.captures_iter(text) {
        scope.check()?;
        let captures = captures.map_err(|error| failed(call, &error))?;
        let start = captures.get(0).map_or(byte, |whole| whole.start());
        position += text[byte..start].chars().count();
        byte = start;
        all.push(Some(found(&captures, position)?.finish().as_raw_bson_ref()))?;
    }
    Ok(all.finish().into())
}
