//! `$getField`, `$setField` and `$unsetField`, for names with dots and dollars.

use bson::RawBsonRef;

use crate::error::{Error, Result};
use crate::expression::build::Fields;
use crate::expression::node::{Node, Source};
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::parser::Parser;
use crate::expression::paths::FieldPath;
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$getField", Form::Custom(parse_get), get),
    Operator::new("$setField", Form::Custom(|p, o, v| parse_set(&SET, p, o, v)), set),
    Operator::new("$unsetField", Form::Custom(|p, o, v| parse_set(&UNSET, p, o, v)), set),
];

static GET: Names = Names {
    not_object: (3_041_701, "$getField found an unknown argument: {}"),
    unknown: (3_041_701, "$getField found an unknown argument: {}"),
    fields: &[
        ("field", Some((3_041_702, "$getField requires 'field' to be specified"))),
        ("input", Some((3_041_703, "$getField requires 'input' to be specified"))),
    ],
};

static SET: Names = Names {
    not_object: (4_161_100, "$setField only supports an object as its argument"),
    unknown: (4_161_101, "$setField found an unknown argument: {}"),
    fields: &[
        ("field", Some((4_161_102, "$setField requires 'field' to be specified"))),
        ("input", Some((4_161_109, "$setField requires 'input' to be specified"))),
        ("value", Some((4_161_103, "$setField requires 'value' to be specified"))),
    ],
};

static UNSET: Names = Names {
    not_object: (4_161_100, "$unsetField only supports an object as its argument"),
    unknown: (4_161_101, "$unsetField found an unknown argument: {}"),
    fields: &[
        ("field", Some((4_161_102, "$unsetField requires 'field' to be specified"))),
        ("input", Some((4_161_109, "$unsetField requires 'input' to be specified"))),
    ],
};

/// `{field, input}`, or the field alone, which is then one of the document.
fn parse_get(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let is_named = value.as_document().is_some_and(|document| {
        let first = document.iter().flatten().next();
        first.is_none_or(|(name, _)| !name.as_str().starts_with('$'))
    });
    let arguments = if is_named {
        GET.arguments(parser, value)?
    } else {
        let current = match parser.variables.find("CURRENT") {
            Some((leave, position)) => Source::Variable(leave, position),
            None => Source::Current,
        };
        let input = Node::Field { source: current, path: FieldPath::whole() };
        vec![parser.operand(value)?, input]
    };
    if let Some(field) = arguments[0].constant() {
        field_name(operator.name, 3_041_704, &field)?;
    }
    operator.call(arguments)
}

fn field_name<'v>(name: &str, code: i32, field: &'v Computed<'_>) -> Result<&'v str> {
    field.as_text().ok_or_else(|| {
        let found = field.type_name();
        Error::location(
            code,
            format!("{name} requires 'field' to evaluate to type String, but got {found}"),
        )
    })
}

fn get<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (field, input) = (call.value(0, scope)?, call.value(1, scope)?);
    let name = field_name(call.name(), 3_041_704, &field)?;
    if input.is_nullish() {
        return Ok(if input == Computed::Missing { Computed::Missing } else { Computed::NULL });
    }
    Ok(input.part(|value| value.as_document()?.get(name).ok().flatten()))
}

/// The arguments become `[field, input, value]`; without a value the field is left out.
fn parse_set(
    names: &'static Names,
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let document = names.document(value)?;
    let name = operator.name;
    if let Some(RawBsonRef::String(field)) = document.get("field")?
        && field.starts_with('$')
    {
        return Err(Error::location(
            4_161_108,
            format!(
                "'field' argument to {name} must be a constant, found a field path: {field}. \
                     Did you mean to use $literal?"
            ),
        ));
    }
    let arguments = names.arguments(parser, value)?;
    if let Some(field) = arguments[0].constant() {
        field_name(name, 4_161_107, &field)?
    } else {
        let text = format!(
            "{name} requires 'field' to evaluate to a constant, got a non-constant argument"
        );
        return Err(Error::location(4_161_106, text));
    };
    operator.call(arguments)
}

fn set<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (field, input) = (call.value(0, scope)?, call.value(1, scope)?);
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(document) = input.as_document() else {
        let (name, found) = (call.name(), input.type_name());
        return Err(Error::location(
            4_161_105,
            format!("{name} requires 'input' to evaluate to type Object, but got {found}"),
        ));
    };
    let name = field_name(call.name(), 4_161_107, &field)?;
    let value = call.value(2, scope)?;
    let mut rest = value.as_ref();
    let mut fields = Fields::default();
    for element in document {
        let (other, old) = element?;
        if other.as_str() != name {
            fields.append(other, old)?;
        } else if let Some(value) = rest.take() {
            fields.append(other, value)?;
        }
    }
    if let Some(value) = rest {
        fields.append_text(name, value)?;
    }
    Ok(fields.finish().into())
}
