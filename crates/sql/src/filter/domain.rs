//! The types that a value must have for an expression over it to be defined.

use super::interval::{self, ARRAY, FALSE, Interval, NUMBER, OBJECT, STRING, TRUE};
use super::scope::function_key;
use crate::ast::{BinaryOp, Call, Expr, ExprKind, UnaryOp};

/// The values of the only name in the expression for which it may be defined.
pub(super) fn domain(expr: &Expr) -> Vec<Interval> {
    let both = |a, b| interval::intersection(a, b);
    match &expr.kind {
        ExprKind::Identifier(_) => interval::defined(),
        ExprKind::Member { base, .. }
        | ExprKind::Index { base, .. }
        | ExprKind::In { needle: base, .. }
        | ExprKind::Between { operand: base, .. } => domain(base),
        ExprKind::Unary { op: UnaryOp::Not, operand } => match &operand.kind {
            ExprKind::Identifier(_) => interval::of_types(FALSE, TRUE),
            _ => domain(operand),
        },
        ExprKind::Unary { operand, .. } => typed(operand, NUMBER),
        ExprKind::Binary { op, left, right } => match op {
            BinaryOp::Coalesce => interval::anything(),
            BinaryOp::Concat => both(&typed(left, STRING), &typed(right, STRING)),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual => both(&domain(left), &domain(right)),
            _ => both(&typed(left, NUMBER), &typed(right, NUMBER)),
        },
        ExprKind::Like { operand, pattern, .. } => {
            both(&typed(operand, STRING), &typed(pattern, STRING))
        }
        // An undefined condition chooses, too.
        ExprKind::Conditional { then, otherwise, .. } => {
            interval::union([domain(then), domain(otherwise)].concat())
        }
        ExprKind::Call(call) => of_call(call),
        _ => interval::anything(),
    }
}

/// The values of an operand that must be of a type.
fn typed(expr: &Expr, kind: u8) -> Vec<Interval> {
    match &expr.kind {
        ExprKind::Identifier(_) => interval::of_type(kind),
        _ => domain(expr),
    }
}

fn of_call(call: &Call) -> Vec<Interval> {
    let name = function_key(&call.name.text);
    let strict = STRICT.iter().find(|(_, _, names)| names.contains(&name.as_str()));
    let Some((kind, count, _)) = strict else { return interval::anything() };
    let each = call.args.iter().take(*count).map(|argument| typed(argument, *kind));
    each.fold(interval::anything(), |all, each| interval::intersection(&all, &each))
}

/// Functions that are undefined unless their first arguments are of a type: the type, how many
/// arguments, and the names as [`function_key`] gives them.
const STRICT: &[(u8, usize, &[&str])] = &[
    (
        STRING,
        1,
        &[
            "LOWER",
            "UPPER",
            "REVERSE",
            "TRIM",
            "LTRIM",
            "RTRIM",
            "REPLACE",
            "REPLICATE",
            "LENGTH",
            "LEFT",
            "RIGHT",
            "SUBSTRING",
            "LASTINDEXOF",
            "SUBSTRINGAFTER",
            "SUBSTRINGBEFORE",
            "LASTSUBSTRINGAFTER",
            "LASTSUBSTRINGBEFORE",
            "STRINGSPLIT",
            "STRINGTOARRAY",
            "STRINGTOBOOLEAN",
            "STRINGTONULL",
            "STRINGTONUMBER",
            "STRINGTOOBJECT",
            "CONTAINSALLCI",
            "CONTAINSALLCS",
            "CONTAINSANYCI",
            "CONTAINSANYCS",
            "REGEXMATCH",
            "REGEXEXTRACT",
            "REGEXEXTRACTALL",
            "REGEXREPLACE",
            "REGEXREPLACEALL",
            "DATETIMETOTICKS",
            "DATETIMETOTIMESTAMP",
            "YEAR",
            "MONTH",
            "DAY",
        ],
    ),
    (STRING, 2, &["CONTAINS", "STARTSWITH", "ENDSWITH", "STRINGEQUALS", "INDEXOF"]),
    (STRING, usize::MAX, &["CONCAT"]),
    (
        NUMBER,
        1,
        &[
            "ABS",
            "ACOS",
            "ASIN",
            "ATAN",
            "CEILING",
            "COS",
            "COT",
            "DEGREES",
            "EXP",
            "FLOOR",
            "LOG",
            "LOG10",
            "RADIANS",
            "ROUND",
            "SIGN",
            "SIN",
            "SQRT",
            "SQUARE",
            "TAN",
            "TRUNC",
            "NUMBERBIN",
            "INTBITNOT",
            "TICKSTODATETIME",
            "TIMESTAMPTODATETIME",
        ],
    ),
    (
        NUMBER,
        2,
        &[
            "ATN2",
            "POWER",
            "INTADD",
            "INTSUB",
            "INTMUL",
            "INTDIV",
            "INTMOD",
            "INTBITAND",
            "INTBITOR",
            "INTBITXOR",
            "INTBITLEFTSHIFT",
            "INTBITRIGHTSHIFT",
        ],
    ),
    (
        ARRAY,
        1,
        &[
            "ARRAYLENGTH",
            "ARRAYSLICE",
            "ARRAYSUM",
            "ARRAYAVG",
            "ARRAYMEDIAN",
            "ARRAYMIN",
            "ARRAYMAX",
            "ARRAYCONTAINS",
            "ARRAYCONTAINSANY",
            "ARRAYCONTAINSALL",
        ],
    ),
    (ARRAY, 2, &["ARRAYCONCAT", "SETINTERSECT", "SETUNION", "SETDIFFERENCE", "SETEQUAL"]),
    (OBJECT, 1, &["OBJECTTOARRAY", "STAREA"]),
    (OBJECT, 2, &["STDISTANCE", "STWITHIN", "STINTERSECTS"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use value::{Value, json};

    /// The value of a call; `None` if there is no such function with this many arguments.
    fn call(name: &str, args: &[&str]) -> Option<Value> {
        let parameters: Vec<_> = args
            .iter()
            .enumerate()
            .map(|(place, text)| (format!("@{place}"), json::parse(text.as_bytes()).unwrap()))
            .collect();
        let names: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("SELECT VALUE {name}({})", names.join(", "));
        let query = crate::parse(&text).unwrap();
        let mut values = crate::eval::run(&query, &parameters, &[], 0).ok()?;
        Some(values.pop().unwrap_or_default())
    }

    #[test]
    fn strict_functions_are_undefined_for_other_types() {
        let values = [
            ("null", 0),
            ("true", TRUE),
            ("1", NUMBER),
            ("\"2024-01-01\"", STRING),
            ("[1]", ARRAY),
            (r#"{"type":"Point","coordinates":[1,1]}"#, OBJECT),
        ];
        let mut tried = 0;
        for (kind, count, names) in STRICT {
            for name in *names {
                for arity in 1..=4_usize {
                    for pick in 0..values.len().pow(u32::try_from(arity).unwrap()) {
                        let picked = |place| {
                            values[pick / values.len().pow(u32::try_from(place).unwrap())
                                % values.len()]
                        };
                        let picked: Vec<_> = (0..arity).map(picked).collect();
                        if picked.iter().take(*count).all(|(_, of)| of == kind) {
                            continue;
                        }
                        let args: Vec<_> = picked.iter().map(|(text, _)| *text).collect();
                        let Some(value) = call(name, &args) else { break };
                        assert!(value.is_undefined(), "{name}{args:?} is {value:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 10_000, "{tried}");
    }
}
