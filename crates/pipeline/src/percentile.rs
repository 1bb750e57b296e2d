//! `$percentile` and `$median`: the value below which a part of all numbers lies.

use bson::{RawArrayBuf, RawBson, RawBsonRef};
use expression::number::Number;
use expression::{Error, Expression, Result, Variables, show};

use crate::refuse;

/// The arguments of `$percentile` or `$median`.
pub(crate) struct Arguments {
    pub(crate) input: Expression,
    /// From 0 to 1.
    pub(crate) parts: Vec<f64>,
}

impl Arguments {
    /// Reads `{input, method, p}`, of which `$median` has no `p`.
    pub(crate) fn parse(
        operator: &str,
        argument: RawBsonRef<'_>,
        variables: &Variables,
    ) -> Result<Self> {
        let document = refuse::document(argument, 7_429_703, |_| {
            format!("specification must be an object; found {operator}: {}", show::value(argument))
        })?;
        let has_parts = operator == "$percentile";
        let (mut input, mut method, mut parts) = (None, None, None);
        for field in document {
            let (name, value) = field?;
            match name.as_str() {
                "input" => input = Some(Expression::parse(value, variables)?),
                "method" => method = Some(value),
                "p" if has_parts => parts = Some(read_parts(value, variables)?),
                other => {
                    let message = format!("BSON field '{operator}.{other}' is an unknown field.");
                    return Err(Error::location(40_415, message));
                }
            }
        }
        let missing = |name: &str| {
            let message = format!("BSON field '{operator}.{name}' is missing but a required field");
            Error::location(40_414, message)
        };
        let method = method.ok_or_else(|| missing("method"))?;
        if method.as_str() != Some("approximate") {
            return Err(Error::bad_value(
                "Currently only 'approximate' can be used as percentile 'method'.",
            ));
        }
        let input = input.ok_or_else(|| missing("input"))?;
        let parts = if has_parts { parts.ok_or_else(|| missing("p"))? } else { vec![0.5] };
        Ok(Self { input, parts })
    }
}

fn read_parts(value: RawBsonRef<'_>, variables: &Variables) -> Result<Vec<f64>> {
    let refuse = |location, found: &str| {
        Error::location(
            location,
            format!(
                "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: \
                 {found}"
            ),
        )
    };
    let expression = Expression::parse(value, variables)?;
    let constant = expression.constant();
    let shown = show::value(value);
    let array = constant.as_ref().and_then(|constant| constant.as_array());
    let array = array.filter(|array| !array.is_empty());
    let array = array.ok_or_else(|| refuse(7_750_301, &shown))?;
    let mut parts = Vec::new();
    for element in array {
        let element = element?;
        let shown = show::value(element);
        let number = Number::of(element).ok_or_else(|| refuse(7_750_302, &shown))?.to_f64();
        if !(0.0..=1.0).contains(&number) {
            return Err(refuse(7_750_303, &shown));
        }
        parts.push(number);
    }
    Ok(parts)
}

/// Numbers of which percentiles are wanted.
#[derive(Debug)]
pub(crate) struct Percentiles {
    /// From 0 to 1.
    pub(crate) parts: Vec<f64>,
    /// Whether the outcome is the value itself instead of an array.
    pub(crate) is_single: bool,
    pub(crate) numbers: Vec<f64>,
}

impl Percentiles {
    /// Takes in a number, and says how many bytes more it holds.
    pub(crate) fn add(&mut self, number: Number) -> usize {
        let number = number.to_f64();
        if number.is_nan() {
            return 0;
        }
        self.numbers.push(number);
        size_of::<f64>()
    }

    pub(crate) fn finish(mut self) -> RawBson {
        self.numbers.sort_unstable_by(f64::total_cmp);
        let mut found = RawArrayBuf::new();
        for part in &self.parts {
            let value = at(&self.numbers, *part);
            if self.is_single {
                return value;
            }
            found.push(value);
        }
        RawBson::Array(found)
    }
}

/// The least number that at least this part of all numbers does not exceed.
fn at(sorted: &[f64], part: f64) -> RawBson {
    let rank = Number::Double((part * sorted.len() as f64).ceil()).truncated_i64();
    let rank = rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(0);
    let found = sorted.get(rank.saturating_sub(1)).or_else(|| sorted.last());
    found.map_or(RawBson::Null, |number| RawBson::Double(*number))
}
