//! The options of `VectorDistance`, which are checked wherever it is used.

use value::Value;

use crate::ast::{Call, Expr, ExprKind};
use crate::error::{Code, Error};

/// The options that are factors, and what they may be.
const FACTORS: [&str; 2] = ["searchListSizeMultiplier", "quantizedVectorListMultiplier"];
const FACTOR_RANGE: std::ops::RangeInclusive<f64> = 1.0..=100.0;

/// The place of the options among the arguments.
const OPTIONS: usize = 3;

/// The error for an option out of its range, if the call has one. Only literal numbers are checked:
/// that is what the service checks before a query runs.
pub(crate) fn check_options(call: &Call) -> Option<Error> {
    let options = call.args.get(OPTIONS)?;
    let ExprKind::Object(members) = &options.kind else { return None };
    members.iter().find_map(|member| {
        let name = FACTORS.iter().find(|name| **name == member.name.text)?;
        let number = literal_number(&member.value)?;
        if FACTOR_RANGE.contains(&number.as_f64()) {
            return None;
        }
        let message = format!(
            "The '{name}' value {} specified in the VectorDistance function is outside the \
             supported range. The value must be between 1 and 100.",
            number.text()
        );
        Some(Error::new(Code::VectorOption, message, options.span))
    })
}

fn literal_number(expr: &Expr) -> Option<&value::Number> {
    match &expr.kind {
        ExprKind::Literal(Value::Number(number)) => Some(number),
        _ => None,
    }
}
