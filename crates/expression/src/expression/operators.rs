//! All operators, by family.

use super::operator::Operator;

pub(super) mod accumulate;
mod angles;
mod arithmetic;
mod arrays;
mod bits;
mod boolean;
mod choice;
mod compare;
mod convert;
mod date_math;
mod date_parse;
mod date_parts;
mod date_text;
mod decimals;
mod extremes;
mod fields;
mod indexes;
mod logarithms;
mod loops;
mod objects;
mod random;
pub(super) mod regex;
mod replace;
mod rounding;
mod sets;
mod sorting;
mod strings;
mod substrings;
mod text;
mod trigonometry;
mod trim;
mod types;
mod zip;

/// An operator by its name.
pub(super) fn find(name: &str) -> Option<&'static Operator> {
    FAMILIES.iter().flat_map(|family| family.iter()).find(|operator| operator.name == name)
}

/// The names of all operators.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.iter()).map(|operator| operator.name)
}

static FAMILIES: &[&[Operator]] = &[
    compare::OPERATORS,
    boolean::OPERATORS,
    choice::OPERATORS,
    arithmetic::OPERATORS,
    rounding::OPERATORS,
    logarithms::OPERATORS,
    trigonometry::OPERATORS,
    bits::OPERATORS,
    strings::OPERATORS,
    substrings::OPERATORS,
    indexes::OPERATORS,
    replace::OPERATORS,
    trim::OPERATORS,
    regex::OPERATORS,
    arrays::OPERATORS,
    loops::OPERATORS,
    sorting::OPERATORS,
    extremes::OPERATORS,
    zip::OPERATORS,
    objects::OPERATORS,
    fields::OPERATORS,
    sets::OPERATORS,
    accumulate::OPERATORS,
    types::OPERATORS,
    convert::OPERATORS,
    date_parts::OPERATORS,
    date_text::OPERATORS,
    date_parse::OPERATORS,
    date_math::OPERATORS,
    random::OPERATORS,
];
