//! Mathematics in doubles. Results may be NaN or infinite; the executor does not print those.

use std::f64::consts::PI;

use value::Value;

use super::{Function, double, integer};

/// Doubles have 17 digits, so that rounding beyond this many decimals changes nothing, and the
/// powers of ten up to here are exact.
const ROUND_DIGITS_MAX: i64 = 22;

pub(super) static FUNCTIONS: &[Function] =
    &[
        Function::new("ABS", 1..=1, |args, _| one(args, f64::abs)),
        Function::new("ACOS", 1..=1, |args, _| one(args, f64::acos)),
        Function::new("ASIN", 1..=1, |args, _| one(args, f64::asin)),
        Function::new("ATAN", 1..=1, |args, _| one(args, f64::atan)),
        Function::new("ATN2", 2..=2, |args, _| two(args, f64::atan2)),
        Function::new("CEILING", 1..=1, |args, _| one(args, f64::ceil)),
        Function::new("COS", 1..=1, |args, _| one(args, f64::cos)),
        Function::new("COT", 1..=1, |args, _| one(args, |x| x.tan().recip())),
        Function::new("DEGREES", 1..=1, |args, _| one(args, f64::to_degrees)),
        Function::new("EXP", 1..=1, |args, _| one(args, f64::exp)),
        Function::new("FLOOR", 1..=1, |args, _| one(args, f64::floor)),
        Function::new("LOG", 1..=2, |args, _| {
            if args.len() > 1 { two(args, log) } else { one(args, f64::ln) }
        }),
        Function::new("LOG10", 1..=1, |args, _| one(args, f64::log10)),
        Function::new("NUMBERBIN", 1..=2, |args, _| {
            if args.len() > 1 { bin(args).unwrap_or_default() } else { one(args, f64::floor) }
        }),
        Function::new("PI", 0..=0, |_, _| Value::from(PI)),
        Function::new("POWER", 2..=2, |args, _| two(args, f64::powf)),
        Function::new("RADIANS", 1..=1, |args, _| one(args, f64::to_radians)),
        Function::new("ROUND", 1..=2, |args, _| {
            if args.len() > 1 { round(args).unwrap_or_default() } else { one(args, f64::round) }
        }),
        Function::new("SIGN", 1..=1, |args, _| {
            one(args, |x| if x == 0.0 { 0.0 } else { x.signum() })
        }),
        Function::new("SIN", 1..=1, |args, _| one(args, f64::sin)),
        Function::new("SQRT", 1..=1, |args, _| one(args, f64::sqrt)),
        Function::new("SQUARE", 1..=1, |args, _| one(args, |x| x * x)),
        Function::new("TAN", 1..=1, |args, _| one(args, f64::tan)),
        Function::new("TRUNC", 1..=1, |args, _| one(args, f64::trunc)),
    ];

fn one(args: &[Value], compute: fn(f64) -> f64) -> Value {
    double(args, 0).map(|x| Value::from(compute(x))).unwrap_or_default()
}

fn two(args: &[Value], compute: fn(f64, f64) -> f64) -> Value {
    double(args, 0)
        .zip(double(args, 1))
        .map(|(x, y)| Value::from(compute(x, y)))
        .unwrap_or_default()
}

/// The logarithm to a base; exact where the quotient of natural logarithms is not.
#[expect(clippy::float_cmp, reason = "these very bases have functions of their own")]
fn log(x: f64, base: f64) -> f64 {
    if base == 10.0 {
        x.log10()
    } else if base == 2.0 {
        x.log2()
    } else {
        x.ln() / base.ln()
    }
}

/// Rounds down to a multiple of a size, of either sign.
fn bin(args: &[Value]) -> Option<Value> {
    let (x, size) = (double(args, 0)?, double(args, 1)?);
    (size != 0.0).then(|| Value::from((x / size).floor() * size))
}

/// Rounds to decimals, or with a negative number of digits to powers of ten; half away from zero.
fn round(args: &[Value]) -> Option<Value> {
    let (x, digits) = (double(args, 0)?, integer(args, 1)?);
    if digits > ROUND_DIGITS_MAX {
        return Some(Value::from(x));
    }
    let power = 10_f64.powi(i32::try_from(digits.unsigned_abs()).unwrap_or(i32::MAX));
    let rounded = if digits >= 0 { (x * power).round() / power } else { round_up_to(x, power) };
    Some(Value::from(if x.is_finite() && !rounded.is_finite() { x } else { rounded }))
}

/// Rounds to a multiple of a power of ten, which may be infinite.
fn round_up_to(x: f64, power: f64) -> f64 {
    let quotient = (x / power).round();
    if quotient == 0.0 { 0.0 } else { quotient * power }
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn numbers_are_computed() {
        check(&[
            ("ABS", "[-7]", "7"),
            ("ABS", r#"["7"]"#, ""),
            ("ABS", r#"["~"]"#, ""),
            ("CEILING", "[1.2]", "2"),
            ("FLOOR", "[-1.2]", "-2"),
            ("ROUND", "[2.5]", "3"),
            ("ROUND", "[-2.5]", "-3"),
            ("ROUND", "[2.49]", "2"),
            ("ROUND", "[2.345678,2]", "2.35"),
            ("ROUND", "[1250,-2]", "1300"),
            ("ROUND", "[1250,-999]", "0"),
            ("ROUND", "[1e300,20]", "1e+300"),
            ("ROUND", "[0.1,99]", "0.1"),
            ("ROUND", "[0.1,0.5]", ""),
            ("TRUNC", "[-3.9]", "-3"),
            ("SIGN", "[0]", "0"),
            ("SIGN", "[-3]", "-1"),
            ("SQRT", "[81]", "9"),
            ("SQUARE", "[-3]", "9"),
            ("POWER", "[2,10]", "1024"),
            ("POWER", "[2,null]", ""),
            ("EXP", "[0]", "1"),
            ("LOG", "[1]", "0"),
            ("LOG", "[8,2]", "3"),
            ("LOG", "[2,10]", "0.3010299956639812"),
            ("LOG", r#"[8,"2"]"#, ""),
            ("LOG10", "[1000]", "3"),
            ("PI", "[]", "3.141592653589793"),
            ("DEGREES", "[3.141592653589793]", "180"),
            ("RADIANS", "[180]", "3.141592653589793"),
            ("COS", "[0]", "1"),
            ("SIN", "[0]", "0"),
            ("TAN", "[0]", "0"),
            ("ASIN", "[0]", "0"),
            ("ACOS", "[1]", "0"),
            ("ATAN", "[0]", "0"),
            ("ATN2", "[35.175643,129.44]", "0.265344532064832"),
            ("NumberBin", "[47.3,10]", "40"),
            ("NumberBin", "[47.3]", "47"),
            ("NumberBin", "[5,0]", ""),
            ("NumberBin", "[37.752,-100]", "100"),
            ("NumberBin", "[37.752,0.1]", "37.7"),
            ("NumberBin", r#"[1,"~"]"#, ""),
        ]);
    }
}
