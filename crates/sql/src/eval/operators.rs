//! Operators over values. Whatever an operator is not made for gives undefined, never an error.

use value::{Value, order};

use crate::ast::{BinaryOp, LogicalOp, UnaryOp};

/// 2^32.
const U32_END: f64 = 4_294_967_296.0;

/// The value of `op operand`.
pub(super) fn unary(op: UnaryOp, operand: &Value) -> Value {
    match (op, operand) {
        (UnaryOp::Not, Value::Bool(operand)) => Value::Bool(!operand),
        (UnaryOp::Minus, Value::Number(number)) => Value::from(-number.as_f64()),
        (UnaryOp::Plus, Value::Number(_)) => operand.clone(),
        (UnaryOp::BitNot, Value::Number(number)) => {
            Value::from(f64::from(!to_int32(number.as_f64())))
        }
        _ => Value::Undefined,
    }
}

/// The value of `left op right`.
pub(super) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
    match op {
        BinaryOp::Coalesce => if left.is_undefined() { right } else { left }.clone(),
        BinaryOp::Equal => equal(left, right),
        BinaryOp::NotEqual => not(&equal(left, right)),
        BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual => {
            compare(op, left, right)
        }
        BinaryOp::Concat => match (left, right) {
            (Value::String(left), Value::String(right)) => Value::from(format!("{left}{right}")),
            _ => Value::Undefined,
        },
        _ => match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => Value::from(arithmetic(op, left, right)),
            _ => Value::Undefined,
        },
    }
}

/// NOT.
pub(super) fn not(operand: &Value) -> Value {
    unary(UnaryOp::Not, operand)
}

/// AND and OR: one operand of false, or of true, decides; otherwise one that is no boolean makes
/// the whole undefined.
pub(super) fn logical(op: LogicalOp, operands: impl IntoIterator<Item = Value>) -> Value {
    let deciding = op == LogicalOp::Or;
    let mut result = Value::Bool(!deciding);
    for operand in operands {
        match operand {
            Value::Bool(operand) if operand == deciding => return Value::Bool(deciding),
            Value::Bool(_) => {}
            _ => result = Value::Undefined,
        }
    }
    result
}

/// Equality.
///
/// COMPAT: values of different types are unequal, though the documentation calls the comparison
/// undefined: `c.x != null` returns whatever is there and not null.
pub(super) fn equal(left: &Value, right: &Value) -> Value {
    if left.is_undefined() || right.is_undefined() {
        return Value::Undefined;
    }
    Value::Bool(left == right)
}

/// An ordering operator: of two values of one type, arrays and objects excepted.
pub(super) fn compare(op: BinaryOp, left: &Value, right: &Value) -> Value {
    let ordering = match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::String(_), Value::String(_)) => Some(order::compare(left, right)),
        _ => return Value::Undefined,
    };
    // Without an order one side is NaN, which is neither less nor greater than anything.
    Value::Bool(ordering.is_some_and(|ordering| match op {
        BinaryOp::Less => ordering.is_lt(),
        BinaryOp::LessOrEqual => ordering.is_le(),
        BinaryOp::Greater => ordering.is_gt(),
        _ => ordering.is_ge(),
    }))
}

/// Arithmetic is that of doubles, bit operations are those of JavaScript.
fn arithmetic(op: BinaryOp, left: f64, right: f64) -> f64 {
    let shift = to_uint32(right) % 32;
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Modulo => left % right,
        BinaryOp::BitOr => f64::from(to_int32(left) | to_int32(right)),
        BinaryOp::BitAnd => f64::from(to_int32(left) & to_int32(right)),
        BinaryOp::BitXor => f64::from(to_int32(left) ^ to_int32(right)),
        BinaryOp::ShiftLeft => f64::from(to_int32(left).wrapping_shl(shift)),
        BinaryOp::ShiftRight => f64::from(to_int32(left).wrapping_shr(shift)),
        BinaryOp::ShiftRightZero => f64::from(to_uint32(left).wrapping_shr(shift)),
        _ => unreachable!("handled by `binary`"),
    }
}

/// JavaScript's `ToUint32`: whole, modulo 2^32; NaN and the infinities are 0.
fn to_uint32(double: f64) -> u32 {
    if !double.is_finite() {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the remainder lies within 0..2^32"
    )]
    let bits = double.trunc().rem_euclid(U32_END) as u32;
    bits
}

/// JavaScript's `ToInt32`: the same bits with a sign.
fn to_int32(double: f64) -> i32 {
    to_uint32(double).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Value = Value::Bool(true);
    const F: Value = Value::Bool(false);
    const U: Value = Value::Undefined;

    #[test]
    fn the_tables_of_and_and_or() {
        for (a, b, and, or) in [
            (T, T, T, T),
            (T, F, F, T),
            (T, U, U, T),
            (F, F, F, F),
            (F, U, F, U),
            (U, U, U, U),
            (Value::from(1.0), T, U, T),
            (Value::from(0.0), F, F, U),
            (Value::Null, U, U, U),
        ] {
            for (a, b) in [(a.clone(), b.clone()), (b, a)] {
                let operands = [a, b];
                assert_eq!(logical(LogicalOp::And, operands.clone()), and, "{operands:?}");
                assert_eq!(logical(LogicalOp::Or, operands.clone()), or, "{operands:?}");
            }
        }
    }

    #[test]
    fn the_table_of_not() {
        assert_eq!(not(&T), F);
        assert_eq!(not(&F), T);
        for other in [U, Value::Null, Value::from(0.0), Value::from("")] {
            assert_eq!(not(&other), U);
        }
    }

    #[test]
    fn comparison_across_types() {
        let one = Value::from(1.0);
        assert_eq!(binary(BinaryOp::Equal, &one, &Value::from("1")), F);
        assert_eq!(binary(BinaryOp::NotEqual, &one, &Value::Null), T);
        assert_eq!(binary(BinaryOp::Equal, &one, &U), U);
        assert_eq!(binary(BinaryOp::NotEqual, &U, &U), U);
        assert_eq!(binary(BinaryOp::Less, &one, &Value::from("2")), U);
        assert_eq!(binary(BinaryOp::Less, &Value::Null, &Value::Null), F);
        assert_eq!(binary(BinaryOp::LessOrEqual, &Value::Null, &Value::Null), T);
        assert_eq!(binary(BinaryOp::Less, &F, &T), T);
        let array = Value::from(vec![one]);
        assert_eq!(binary(BinaryOp::GreaterOrEqual, &array, &array), U);
        assert_eq!(binary(BinaryOp::Equal, &array, &array), T);
    }

    #[test]
    fn bits_are_those_of_javascript() {
        let bits = |op, left, right| binary(op, &Value::from(left), &Value::from(right));
        assert_eq!(bits(BinaryOp::ShiftRightZero, 100.0, 0.0), Value::from(100.0));
        assert_eq!(bits(BinaryOp::ShiftRightZero, -1.0, 28.0), Value::from(15.0));
        assert_eq!(bits(BinaryOp::ShiftRight, -8.0, 1.0), Value::from(-4.0));
        assert_eq!(bits(BinaryOp::ShiftLeft, 1.0, 33.0), Value::from(2.0));
        assert_eq!(bits(BinaryOp::BitOr, U32_END + 5.0, 0.0), Value::from(5.0));
        assert_eq!(unary(UnaryOp::BitNot, &Value::from(0.0)), Value::from(-1.0));
        assert_eq!(bits(BinaryOp::Modulo, -7.0, 3.0), Value::from(-1.0));
    }
}
