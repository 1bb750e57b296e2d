//! `$inc`, `$mul` and `$bit`.

use bson::{Decimal128, RawBson, RawBsonRef};

use crate::class::type_name;
use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::show;

/// The sum or the product of a field's value and the operand. `id` gives the document's, as messages
/// show it.
pub(super) fn combine(
    is_product: bool,
    field: &str,
    value: RawBsonRef<'_>,
    operand: Number,
    id: impl Fn() -> String,
) -> Result<Number> {
    let name = if is_product { "$mul" } else { "$inc" };
    let Some(current) = Number::of(value) else {
        return Err(Error::type_mismatch(format!(
            "Cannot apply {name} to a value of non-numeric type. {{{}}} has the field '{field}' of \
             non-numeric type {}",
            id(),
            type_name(value)
        )));
    };
    let result =
        if is_product { current.checked_mul(operand) } else { current.checked_add(operand) };
    result.ok_or_else(|| {
        Error::bad_value(format!(
            "Failed to apply {name} operations to current value ({}) for document {{{}}}",
            described(current),
            id()
        ))
    })
}

fn described(number: Number) -> String {
    match number {
        Number::Int32(integer) => format!("(NumberInt){integer}"),
        Number::Int64(integer) => format!("(NumberLong){integer}"),
        Number::Double(double) => format!("(NumberDouble){double}"),
        Number::Decimal(decimal) => format!("(NumberDecimal){decimal}"),
    }
}

/// What multiplying a missing field gives: zero of the operand's kind.
pub(super) fn zero_like(operand: Number) -> RawBson {
    match operand {
        Number::Int32(_) => RawBson::Int32(0),
        Number::Int64(_) => RawBson::Int64(0),
        Number::Double(_) => RawBson::Double(0.0),
        Number::Decimal(_) => RawBson::Decimal128(Decimal128::from(Decimal::ZERO)),
    }
}

/// One operation of `$bit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    operation: Operation,
    operand: Integer,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug)]
enum Integer {
    Short(i32),
    Long(i64),
}

impl Integer {
    fn of(value: RawBsonRef<'_>) -> Option<Self> {
        match value {
            RawBsonRef::Int32(short) => Some(Self::Short(short)),
            RawBsonRef::Int64(long) => Some(Self::Long(long)),
            _ => None,
        }
    }

    fn long(self) -> i64 {
        match self {
            Self::Short(short) => short.into(),
            Self::Long(long) => long,
        }
    }
}

impl Bits {
    /// Reads `{and: 1, or: 2, xor: 4}`.
    pub(super) fn parse(value: RawBsonRef<'_>) -> Result<Vec<Self>> {
        const FORMAT: &str = "{$bit: {field: {and/or/xor: #}}";
        let RawBsonRef::Document(document) = value else {
            return Err(Error::bad_value(format!(
                "The $bit modifier is not compatible with a {}. You must pass in an embedded \
                 document: {FORMAT}",
                type_name(value)
            )));
        };
        let mut all = Vec::new();
        for field in document {
            let (name, value) = field?;
            let shown = || format!("{{{name}: {}}}", show::value(value));
            let operation = match name.as_str() {
                "and" => Operation::And,
                "or" => Operation::Or,
                "xor" => Operation::Xor,
                unknown => {
                    return Err(Error::bad_value(format!(
                        "The $bit modifier only supports 'and', 'or', and 'xor', not '{unknown}' \
                         which is an unknown operator: {}",
                        shown()
                    )));
                }
            };
            let operand = Integer::of(value).ok_or_else(|| {
                Error::bad_value(format!(
                    "The $bit modifier field must be an Integer(32/64 bit); a '{}' is not \
                     supported here: {}",
                    type_name(value),
                    shown()
                ))
            })?;
            all.push(Self { operation, operand });
        }
        if all.is_empty() {
            return Err(Error::bad_value(format!(
                "You must pass in at least one bitwise operation. The format is: {FORMAT}"
            )));
        }
        Ok(all)
    }

    /// Applies operations one after the other.
    pub(super) fn apply(
        all: &[Self],
        field: &str,
        value: RawBsonRef<'_>,
        id: impl Fn() -> String,
    ) -> Result<RawBson> {
        let Some(start) = Integer::of(value) else {
            return Err(Error::bad_value(format!(
                "Cannot apply $bit to a value of non-integral type.{} has the field {field} of \
                 non-integer type {}",
                id(),
                type_name(value)
            )));
        };
        Ok(match all.iter().fold(start, |value, bits| bits.combine(value)) {
            Integer::Short(short) => RawBson::Int32(short),
            Integer::Long(long) => RawBson::Int64(long),
        })
    }

    fn combine(self, value: Integer) -> Integer {
        match (value, self.operand) {
            (Integer::Short(a), Integer::Short(b)) => Integer::Short(match self.operation {
                Operation::And => a & b,
                Operation::Or => a | b,
                Operation::Xor => a ^ b,
            }),
            (a, b) => Integer::Long(match self.operation {
                Operation::And => a.long() & b.long(),
                Operation::Or => a.long() | b.long(),
                Operation::Xor => a.long() ^ b.long(),
            }),
        }
    }
}
