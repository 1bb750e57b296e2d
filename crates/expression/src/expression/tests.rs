//! Tables of expressions and what they come to.

use bson::{Bson, DateTime, Document, RawBson, RawDocumentBuf, Timestamp, bson, doc};

use super::*;

mod arithmetic;
mod arrays;
mod dates;
mod folding;
mod objects;
mod strings;
mod structure;
mod types;

/// What an expression should come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// A value.
    Is(Bson),
    /// Nothing.
    Missing,
    /// An error with this number and this message.
    Fails(i32, String),
}

pub(super) fn is(value: impl Into<Bson>) -> Outcome {
    Outcome::Is(value.into())
}

pub(super) fn fails(code: i32, message: &str) -> Outcome {
    Outcome::Fails(code, message.to_owned())
}

pub(super) const NULL: Outcome = Outcome::Is(Bson::Null);
pub(super) const MISSING: Outcome = Outcome::Missing;

/// The document of most cases.
pub(super) fn document() -> Document {
    doc! {
        "_id": 1,
        "null": null,
        "text": "héllo",
        "int": 7,
        "long": 8_i64,
        "double": 2.5,
        "decimal": decimal("1.50"),
        "true": true,
        "list": [1, 2, 3],
        "items": [{"a": 1, "b": [1]}, {"a": 2}, 3, [{"a": 4}], {"b": 5}],
        "object": {"a": 1, "b": {"c": 2}, "x.y": 3, "$z": 4},
        "date": date("2024-02-29T12:34:56.789Z"),
        "empty": [],
    }
}

pub(super) fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

pub(super) fn date(text: &str) -> Bson {
    Bson::DateTime(DateTime::parse_rfc3339_str(text).unwrap())
}

/// Evaluates an expression for a document.
pub(super) fn evaluate(expression: &Bson, document: &Document) -> Outcome {
    evaluate_with(expression, document, None)
}

pub(super) fn evaluate_with(
    expression: &Bson,
    document: &Document,
    collation: Option<&crate::Collation>,
) -> Outcome {
    let raw = RawDocumentBuf::try_from(document).unwrap();
    let expression = RawBson::try_from(expression.clone()).unwrap();
    let random = Random::new(1);
    let context = Context {
        now: DateTime::from_millis(1_700_000_000_000),
        cluster_time: Timestamp { time: 5, increment: 6 },
        user_roles: None,
        collation,
        random: &random,
    };
    let result = Expression::parse(expression.as_raw_bson_ref(), &Variables::new())
        .and_then(|compiled| Ok(compiled.evaluate(&Scope::new(&raw, &context))?.into_owned()));
    match result {
        Ok(None) => Outcome::Missing,
        Ok(Some(value)) => Outcome::Is(value.try_into().unwrap()),
        Err(error) => Outcome::Fails(error.code.number(), error.message),
    }
}

/// Checks a table. Each expression with a list of arguments is also evaluated with its constants in
/// fields of the document, so that nothing is folded.
pub(super) fn check(cases: &[(Bson, Outcome)]) {
    let document = document();
    for (expression, expected) in cases {
        assert_eq!(evaluate(expression, &document), *expected, "{expression}");
        let (unfolded, document) = with_fields(expression, &document);
        let found = evaluate(&unfolded, &document);
        match (expected, &found) {
            // What is refused while parsing may be found later, with a message of its own.
            (Outcome::Fails(..), Outcome::Fails(..)) => {}
            _ => assert_eq!(found, *expected, "{unfolded}"),
        }
    }
}

/// Moves the constant arguments of an operator into fields.
fn with_fields(expression: &Bson, document: &Document) -> (Bson, Document) {
    let mut document = document.clone();
    let Bson::Document(call) = expression else { return (expression.clone(), document) };
    let mut call = call.clone();
    for (operator, arguments) in call.iter_mut() {
        if operator == "$literal" || !operator.starts_with('$') {
            continue;
        }
        let Bson::Array(arguments) = arguments else { continue };
        for (at, argument) in arguments.iter_mut().enumerate() {
            let is_constant = match &*argument {
                Bson::Document(_) | Bson::Array(_) => false,
                Bson::String(text) => !text.starts_with('$'),
                _ => true,
            };
            if is_constant {
                let name = format!("field{at}");
                document.insert(name.clone(), argument.clone());
                *argument = bson!(format!("${name}"));
            }
        }
    }
    (Bson::Document(call), document)
}
