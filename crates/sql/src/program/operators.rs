//! Operators over values. Whatever an operator is not made for gives undefined, never an error.

use value::{Value, order};

use crate::ast::{BinaryOp, UnaryOp};

/// 2^32.
const U32_END: f64 = 4_294_967_296.0;

/// The value of `op operand`, for the operators that do not give true or false.
pub(super) fn unary(op: UnaryOp, operand: &Value) -> Value {
    match (op, operand) {
        (UnaryOp::Minus, Value::Number(number)) => Value::from(-number.as_f64()),
        (UnaryOp::Plus, Value::Number(_)) => operand.clone(),
        (UnaryOp::BitNot, Value::Number(number)) => {
            Value::from(f64::from(!to_int32(number.as_f64())))
        }
        _ => Value::Undefined,
    }
}

/// The value of `left op right`, for the operators that do not give true or false.
pub(super) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
    match (op, left, right) {
        (BinaryOp::Concat, Value::String(left), Value::String(right)) => {
            Value::from(format!("{left}{right}"))
        }
        (BinaryOp::Concat, ..) => Value::Undefined,
        (_, Value::Number(left), Value::Number(right)) => {
            arithmetic(op, left.as_f64(), right.as_f64()).map_or(Value::Undefined, Value::from)
        }
        _ => Value::Undefined,
    }
}

/// The value of `left op right`, for comparison operators; `None` is undefined.
pub(super) fn comparison(op: BinaryOp, left: &Value, right: &Value) -> Option<bool> {
    match op {
        BinaryOp::Equal => equal(left, right),
        BinaryOp::NotEqual => equal(left, right).map(|is_equal| !is_equal),
        _ => ordered(op, left, right),
    }
}

/// AND.
pub(super) fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Equality.
///
/// COMPAT: values of different types are unequal, although the documentation calls the comparison
/// undefined: `c.x != null` returns everything that is defined and not null.
fn equal(left: &Value, right: &Value) -> Option<bool> {
    if left.is_undefined() || right.is_undefined() {
        return None;
    }
    Some(left == right)
}

/// An ordering operator: of two values of one type, arrays and objects excepted.
fn ordered(op: BinaryOp, left: &Value, right: &Value) -> Option<bool> {
    let ordering = match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::String(_), Value::String(_)) => Some(order::compare(left, right)),
        _ => return None,
    };
    // Without an order one side is NaN, which is neither less nor greater than anything.
    Some(ordering.is_some_and(|ordering| match op {
        BinaryOp::Less => ordering.is_lt(),
        BinaryOp::LessOrEqual => ordering.is_le(),
        BinaryOp::Greater => ordering.is_gt(),
        _ => ordering.is_ge(),
    }))
}

/// Arithmetic is that of doubles, bit operations are those of JavaScript.
fn arithmetic(op: BinaryOp, left: f64, right: f64) -> Option<f64> {
    let shift = to_uint32(right) % 32;
    Some(match op {
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
        _ => return None,
    })
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

    #[test]
    fn the_table_of_and() {
        for (a, b, expected) in [
            (Some(true), Some(true), Some(true)),
            (Some(true), Some(false), Some(false)),
            (Some(true), None, None),
            (Some(false), Some(false), Some(false)),
            (Some(false), None, Some(false)),
            (None, None, None),
        ] {
            assert_eq!(and(a, b), expected);
            assert_eq!(and(b, a), expected);
        }
    }

    #[test]
    fn comparison_across_types() {
        let (one, undefined) = (Value::from(1.0), Value::Undefined);
        assert_eq!(comparison(BinaryOp::Equal, &one, &Value::from("1")), Some(false));
        assert_eq!(comparison(BinaryOp::NotEqual, &one, &Value::Null), Some(true));
        assert_eq!(comparison(BinaryOp::Equal, &one, &undefined), None);
        assert_eq!(comparison(BinaryOp::NotEqual, &undefined, &undefined), None);
        assert_eq!(comparison(BinaryOp::Less, &one, &Value::from("2")), None);
        assert_eq!(comparison(BinaryOp::Less, &Value::Null, &Value::Null), Some(false));
        assert_eq!(comparison(BinaryOp::LessOrEqual, &Value::Null, &Value::Null), Some(true));
        let (no, yes) = (Value::Bool(false), Value::Bool(true));
        assert_eq!(comparison(BinaryOp::Less, &no, &yes), Some(true));
        let array = Value::from(vec![one]);
        assert_eq!(comparison(BinaryOp::GreaterOrEqual, &array, &array), None);
        assert_eq!(comparison(BinaryOp::Equal, &array, &array), Some(true));
        let nan = Value::from(f64::NAN);
        assert_eq!(comparison(BinaryOp::GreaterOrEqual, &nan, &nan), Some(false));
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
