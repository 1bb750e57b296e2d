//! Expressions as text.

use super::Printer;
use crate::ast::{BinaryOp, Expr, ExprKind, LogicalOp, SubqueryKind, UnaryOp};
use crate::error::quote;
use value::{Number, Value};

impl Printer {
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(value) => self.value(value),
            ExprKind::Parameter(name) | ExprKind::Identifier(name) => self.text(name),
            ExprKind::Verbatim(text) => self.text(text),
            ExprKind::Member { base, name } => {
                self.guarded(base);
                self.member(&name.text);
            }
            ExprKind::Index { base, index } => {
                self.guarded(base);
                self.text("[");
                self.expr(index);
                self.text("]");
            }
            ExprKind::Call(call) => {
                self.text(if call.is_udf { "udf." } else { "" });
                self.text(&call.name.text);
                self.items("(", &call.args, ")");
            }
            ExprKind::Array(items) => self.items("[", items, "]"),
            ExprKind::Object(properties) => {
                self.text("{");
                self.list(properties, |printer, property| {
                    quote(&property.name.text, &mut printer.out);
                    printer.text(": ");
                    printer.expr(&property.value);
                });
                self.text("}");
            }
            ExprKind::Subquery { kind, query } => {
                self.text(kind.text());
                self.subquery(query);
            }
            _ => {
                self.text("(");
                self.operator(expr);
                self.text(")");
            }
        }
    }

    /// What is printed within parentheses of its own.
    fn operator(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Unary { op, operand } => {
                self.text(op.text());
                self.guarded(operand);
            }
            ExprKind::Binary { op, left, right } => self.spaced(left, op.text(), right),
            ExprKind::Logical { op, operands } => self.logical(*op, operands),
            ExprKind::Conditional { condition, then, otherwise } => {
                self.spaced(condition, "?", then);
                self.text(" : ");
                self.expr(otherwise);
            }
            ExprKind::In { needle, items, is_negated } => {
                self.expr(needle);
                self.text(if *is_negated { " NOT IN " } else { " IN " });
                self.items("(", items, ")");
            }
            ExprKind::Between { operand, low, high, is_negated } => {
                self.expr(operand);
                self.text(if *is_negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.spaced(low, "AND", high);
            }
            ExprKind::Like { operand, pattern, escape, is_negated } => {
                self.spaced(operand, if *is_negated { "NOT LIKE" } else { "LIKE" }, pattern);
                if let Some(escape) = escape {
                    self.text(" ESCAPE ");
                    quote(escape, &mut self.out);
                }
            }
            ExprKind::Let { name, value, body } => {
                self.text("LET ");
                self.text(&name.text);
                self.text(" = ");
                self.spaced(value, "IN", body);
            }
            // The others are printed without parentheses, by the caller.
            _ => {}
        }
    }

    fn spaced(&mut self, left: &Expr, word: &str, right: &Expr) {
        self.expr(left);
        self.text(" ");
        self.text(word);
        self.text(" ");
        self.expr(right);
    }

    /// `((a AND b) AND c)`, the outermost parentheses excepted.
    fn logical(&mut self, op: LogicalOp, operands: &[Expr]) {
        let word = if op == LogicalOp::And { " AND " } else { " OR " };
        for _ in 2..operands.len() {
            self.text("(");
        }
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                self.text(word);
            }
            self.expr(operand);
            if index > 0 && index + 1 < operands.len() {
                self.text(")");
            }
        }
    }

    /// Numbers need parentheses where a sign or a point next to them would become theirs.
    fn guarded(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Literal(Value::Number(_))) {
            self.text("(");
            self.expr(expr);
            self.text(")");
        } else {
            self.expr(expr);
        }
    }

    fn items(&mut self, open: &str, items: &[Expr], close: &str) {
        self.text(open);
        self.list(items, Self::expr);
        self.text(close);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Undefined => self.text("undefined"),
            Value::Null => self.text("null"),
            Value::Bool(true) => self.text("true"),
            Value::Bool(false) => self.text("false"),
            Value::Number(number) => self.text(&format_number(number)),
            Value::String(text) => quote(text, &mut self.out),
            Value::Array(items) => {
                self.text("[");
                self.list(items, Self::value);
                self.text("]");
            }
            Value::Object(object) => {
                let members: Vec<_> = object.iter().collect();
                self.text("{");
                self.list(&members, |printer, (name, value)| {
                    quote(name, &mut printer.out);
                    printer.text(": ");
                    printer.value(value);
                });
                self.text("}");
            }
        }
    }
}

/// A number as the service writes it into queries: integers exactly, everything else with the 17
/// digits of C's `%.17g`, so that `0.1` is `0.10000000000000001`.
fn format_number(number: &Number) -> String {
    let double = number.as_f64();
    if let Some(integer) = number.as_i64().filter(|_| double != 0.0 || double.is_sign_positive()) {
        // Several integers are the same double from here on: the one that was written comes back.
        let text = number.text();
        let is_plain = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        let is_large = integer.unsigned_abs() >= 1 << f64::MANTISSA_DIGITS;
        return if is_large && is_plain { text.into_owned() } else { integer.to_string() };
    }
    // Rust prints `d.dddde-7`: the exponent decides between the two forms of `%g`.
    let scientific = format!("{double:.16e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| {
        let has_point = text.contains('.');
        let end = if has_point { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        end.to_owned()
    };
    match usize::try_from(16 - exponent) {
        Ok(decimals) if exponent >= -4 => trimmed(&format!("{double:.decimals$}")),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(digits), exponent.unsigned_abs())
        }
    }
}

impl SubqueryKind {
    fn text(self) -> &'static str {
        match self {
            SubqueryKind::Scalar => "",
            SubqueryKind::Exists => "EXISTS",
            SubqueryKind::Array => "ARRAY",
            SubqueryKind::All => "ALL",
            SubqueryKind::First => "FIRST",
            SubqueryKind::Last => "LAST",
        }
    }
}

impl UnaryOp {
    fn text(self) -> &'static str {
        match self {
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "NOT ",
        }
    }
}

impl BinaryOp {
    fn text(self) -> &'static str {
        match self {
            BinaryOp::Coalesce => "??",
            BinaryOp::Equal => "=",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessOrEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterOrEqual => ">=",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::ShiftRightZero => ">>>",
            BinaryOp::Concat => "||",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::BitOr => "|",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
        }
    }
}
