//! Arithmetic on 64-bit integers, which wraps around. Both `2` and `2.0` are integers.

use value::Value;

use super::{Function, integer};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("INTADD", 2..=2, |args, _| two(args, |a, b| Some(a.wrapping_add(b)))),
    Function::new("INTSUB", 2..=2, |args, _| two(args, |a, b| Some(a.wrapping_sub(b)))),
    Function::new("INTMUL", 2..=2, |args, _| two(args, |a, b| Some(a.wrapping_mul(b)))),
    Function::new("INTDIV", 2..=2, |args, _| two(args, |a, b| (b != 0).then(|| a.wrapping_div(b)))),
    Function::new("INTMOD", 2..=2, |args, _| two(args, |a, b| (b != 0).then(|| a.wrapping_rem(b)))),
    Function::new("INTBITAND", 2..=2, |args, _| two(args, |a, b| Some(a & b))),
    Function::new("INTBITOR", 2..=2, |args, _| two(args, |a, b| Some(a | b))),
    Function::new("INTBITXOR", 2..=2, |args, _| two(args, |a, b| Some(a ^ b))),
    Function::new("INTBITNOT", 1..=1, |args, _| {
        integer(args, 0).map(|a| Value::from(!a)).unwrap_or_default()
    }),
    Function::new("INTBITLEFTSHIFT", 2..=2, |args, _| {
        two(args, |a, b| Some(a.wrapping_shl(shift(b))))
    }),
    Function::new("INTBITRIGHTSHIFT", 2..=2, |args, _| {
        two(args, |a, b| Some(a.wrapping_shr(shift(b))))
    }),
];

fn two(args: &[Value], compute: fn(i64, i64) -> Option<i64>) -> Value {
    let result = integer(args, 0).zip(integer(args, 1)).and_then(|(a, b)| compute(a, b));
    result.map(Value::from).unwrap_or_default()
}

/// The low six bits of a shift count, as processors and .NET take it.
fn shift(count: i64) -> u32 {
    u32::try_from(count & 63).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn integers_are_computed() {
        check(&[
            ("IntAdd", "[2,0.5]", ""),
            ("IntAdd", "[2.0,5]", "7"),
            ("IntAdd", "[9007199254740992,1]", "9007199254740993"),
            ("IntAdd", "[9223372036854775807,1]", "-9223372036854775808"),
            ("IntSub", "[2,5]", "-3"),
            ("IntMul", "[6,7]", "42"),
            ("IntMul", r#"[6,"7"]"#, ""),
            ("IntDiv", "[-7,2]", "-3"),
            ("IntDiv", "[7,0]", ""),
            ("IntMod", "[7,4]", "3"),
            ("IntMod", "[-12,-5]", "-2"),
            ("IntMod", "[12,-5]", "2"),
            ("IntMod", "[7,0]", ""),
            ("IntBitAnd", "[6,3]", "2"),
            ("IntBitOr", "[6,3]", "7"),
            ("IntBitXor", "[6,3]", "5"),
            ("IntBitNot", "[8]", "-9"),
            ("IntBitLeftShift", "[1,10]", "1024"),
            ("IntBitLeftShift", "[1,40]", "1099511627776"),
            ("IntBitRightShift", "[-16,2]", "-4"),
            ("IntBitRightShift", r#"["~",2]"#, ""),
        ]);
    }
}
