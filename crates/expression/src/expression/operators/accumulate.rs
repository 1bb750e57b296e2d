//! Accumulators as expressions: `$sum`, `$avg`, `$min`, `$max`, `$stdDevPop` and `$stdDevSamp`. They take
//! the elements of a single array, or several arguments as they are.

use std::cmp::Ordering;

use bson::{RawBson, RawBsonRef};

use super::arithmetic::divided;
use super::arrays::elements;
use crate::decimal::Decimal;
use crate::error::Result;
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;
use crate::order;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$sum", |call, scope| {
        over(call, scope, |values| {
            let mut sum = Sum::default();
            values.iter().filter_map(|value| Number::of(*value)).for_each(|n| sum.add(n));
            sum.total().into()
        })
    }),
    Operator::any("$avg", |call, scope| {
        over(call, scope, |values| {
            let mut average = Average::default();
            values.iter().filter_map(|value| Number::of(*value)).for_each(|n| average.add(n));
            average.value().map_or(Computed::NULL, Computed::from)
        })
    }),
    Operator::any("$min", |call, scope| extreme(call, scope, Ordering::Less)).collated(),
    Operator::any("$max", |call, scope| extreme(call, scope, Ordering::Greater)).collated(),
    Operator::any("$stdDevPop", |call, scope| {
        over(call, scope, |values| deviation(values, 0).map_or(Computed::NULL, Computed::from))
    }),
    Operator::any("$stdDevSamp", |call, scope| {
        over(call, scope, |values| deviation(values, 1).map_or(Computed::NULL, Computed::from))
    }),
];

/// Accumulates the arguments, or the elements of a single one that is an array.
fn over<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    accumulate: impl for<'v> FnOnce(&[RawBsonRef<'v>]) -> Computed<'v>,
) -> Result<Computed<'a>> {
    let values: Vec<Computed<'a>> =
        call.arguments.iter().map(|node| node.evaluate(scope)).collect::<Result<_>>()?;
    let values: Vec<RawBsonRef<'_>> = match values.as_slice() {
        [single] => match single.as_array() {
            Some(array) => elements(array),
            None => single.as_ref().into_iter().collect(),
        },
        several => several.iter().filter_map(Computed::as_ref).collect(),
    };
    Ok(accumulate(&values).detach())
}

fn extreme<'a>(call: &'a Call, scope: &Scope<'a>, wanted: Ordering) -> Result<Computed<'a>> {
    let collation = scope.context.collation;
    over(call, scope, |values| {
        let mut found: Option<RawBsonRef<'_>> = None;
        for value in values {
            let is_null = matches!(value, RawBsonRef::Null | RawBsonRef::Undefined);
            if !is_null
                && found.is_none_or(|found| order::compare(*value, found, collation) == wanted)
            {
                found = Some(*value);
            }
        }
        found.map_or(Computed::NULL, Computed::Borrowed)
    })
}

/// A sum that does not depend much on the order of what is added: what a double loses is kept aside.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    integers: i128,
    is_long: bool,
    double: Option<(f64, f64)>,
    decimal: Option<Decimal>,
}

impl Sum {
    /// Adds a number.
    pub fn add(&mut self, number: Number) {
        match number {
            Number::Int32(integer) => self.integers += i128::from(integer),
            Number::Int64(integer) => {
                self.is_long = true;
                self.integers += i128::from(integer);
            }
            Number::Double(double) => {
                self.double = Some(compensated(self.double.unwrap_or((0.0, 0.0)), double));
            }
            Number::Decimal(decimal) => {
                let sum = Number::Decimal(self.decimal.unwrap_or(Decimal::ZERO));
                let sum = sum.checked_add(Number::Decimal(decimal));
                self.decimal = Some(sum.map_or(Decimal::NaN, Number::to_decimal));
            }
        }
    }

    /// The sum: zero if nothing was added.
    pub fn total(&self) -> Number {
        if let Some(decimal) = self.decimal {
            let integers = Number::Decimal(Decimal::from_big(&self.integers.into()));
            let double = self.double.map(|(sum, lost)| Number::Double(sum + lost));
            return [Some(integers), double]
                .into_iter()
                .flatten()
                .fold(Number::Decimal(decimal), |sum, next| sum.checked_add(next).unwrap_or(sum));
        }
        if let Some(double) = self.double {
            let (sum, lost) = compensated(double, self.integers as f64);
            return Number::Double(if sum.is_finite() { sum + lost } else { sum });
        }
        match (i32::try_from(self.integers), i64::try_from(self.integers)) {
            (Ok(short), _) if !self.is_long => Number::Int32(short),
            (_, Ok(long)) => Number::Int64(long),
            _ => Number::Double(self.integers as f64),
        }
    }
}

/// The average of the numbers that were added.
#[derive(Clone, Debug, Default)]
pub struct Average {
    sum: Sum,
    count: i64,
}

impl Average {
    /// Adds a number.
    pub fn add(&mut self, number: Number) {
        self.sum.add(number);
        self.count += 1;
    }

    /// The average; `None` if nothing was added.
    pub fn value(&self) -> Option<RawBson> {
        divided(self.sum.total(), Number::Int64(self.count)).map(RawBson::from)
    }
}

/// Adds a double, and what is lost by it to what was lost before (Neumaier).
fn compensated((sum, lost): (f64, f64), next: f64) -> (f64, f64) {
    let total = sum + next;
    let error = if sum.abs() >= next.abs() { (sum - total) + next } else { (next - total) + sum };
    (total, if error.is_finite() { lost + error } else { lost })
}

/// The standard deviation of the numbers among the values; `freedom` is what is taken from their
/// count. `None` if there are too few.
fn deviation(values: &[RawBsonRef<'_>], freedom: u32) -> Option<f64> {
    let mut deviation = Deviation::default();
    values.iter().filter_map(|value| Number::of(*value)).for_each(|n| deviation.add(n));
    deviation.value(freedom)
}

/// A standard deviation that grows with each number (Welford).
#[derive(Clone, Debug, Default)]
pub struct Deviation {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Deviation {
    /// Takes in a number.
    pub fn add(&mut self, number: Number) {
        let number = number.to_f64();
        self.count += 1;
        let delta = number - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (number - self.mean);
    }

    /// The deviation; `freedom` is what is taken from the count of the numbers. `None` if there are
    /// too few.
    pub fn value(&self, freedom: u32) -> Option<f64> {
        let degrees = self.count.checked_sub(freedom.into()).filter(|degrees| *degrees > 0)?;
        Some((self.squares / degrees as f64).sqrt())
    }
}
