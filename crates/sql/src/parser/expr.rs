//! Operators, by precedence climbing. The levels are those of the service's own grammar, which
//! differs from the grammars of its clients: all of `+ - | & ^` bind alike, shifts bind like
//! comparisons, and NOT binds tighter than anything with two operands.

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind, LogicalOp, UnaryOp};
use crate::error::Error;
use crate::token::{Keyword, TokenKind};
use std::mem;
use value::{Number, Value};

/// Every operator there is.
pub(super) const LOOSEST: u8 = CONDITIONAL;

const CONDITIONAL: u8 = 1;
const COALESCE: u8 = 2;
const OR: u8 = 3;
const AND: u8 = 4;
/// IN, LIKE and BETWEEN, which do not chain.
const PREDICATE: u8 = 5;
pub(super) const COMPARE: u8 = 6;
const CONCAT: u8 = 7;
const ADD: u8 = 8;
const MULTIPLY: u8 = 9;
const UNARY: u8 = 10;

impl Parser<'_> {
    /// An expression of operators that bind at least as tight as `level`.
    pub(super) fn expr_above(&mut self, level: u8) -> Result<Expr, Error> {
        // Printing may add parentheses, which take a step of their own: an expression without them
        // takes that step in advance, so that what is printed nests no deeper than what was read.
        let has_parentheses = self.is_sign(0, "(") && !self.opens_query_or_let();
        let steps = if has_parentheses { 1 } else { 2 };
        self.enter(steps)?;
        let siblings = mem::take(&mut self.height);
        let start = self.start();
        let left = self.operand()?;
        let expr = self.operators(left, level, start)?;
        self.height = self.height.max(siblings);
        self.nesting -= steps;
        Ok(expr)
    }

    /// An operand, with the operators before it.
    fn operand(&mut self) -> Result<Expr, Error> {
        let start = self.start();
        let op = match self.kind() {
            TokenKind::Sign("-") => UnaryOp::Minus,
            TokenKind::Sign("+") => UnaryOp::Plus,
            TokenKind::Sign("~") => UnaryOp::BitNot,
            TokenKind::Keyword(Keyword::Not) => UnaryOp::Not,
            TokenKind::Sign("(") if !self.opens_query_or_let() => return self.parenthesised(),
            _ => {
                let expr = self.primary()?;
                self.grow(self.height + 1)?;
                return self.accesses(expr, start);
            }
        };
        self.advance();
        let operand = self.expr_above(UNARY)?;
        let kind = match operand.kind {
            ExprKind::Literal(Value::Number(number)) if op == UnaryOp::Minus => {
                ExprKind::Literal(Value::Number(negated(&number)))
            }
            kind => {
                self.grow(self.height + 1)?;
                let operand = Box::new(Expr::new(kind, operand.span));
                ExprKind::Unary { op, operand }
            }
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// An expression in parentheses. A run of opening ones is read in a loop, not by recursion:
    /// chains of operators are printed as `(((a + b) + c) + d)`, and long ones come back.
    fn parenthesised(&mut self) -> Result<Expr, Error> {
        let first = self.at;
        while self.is_sign(0, "(") && !self.opens_query_or_let() {
            self.advance();
        }
        let last = self.at;
        // One of the two steps inside was counted for the parentheses.
        self.nesting -= 1;
        let mut expr = self.expr_above(LOOSEST)?;
        self.nesting += 1;
        for opening in (first..last).rev() {
            self.expect_sign(")")?;
            let start = self.tokens[opening].span.start;
            expr = self.accesses(expr, start)?;
            if opening > first {
                expr = self.operators(expr, CONDITIONAL, start)?;
            }
        }
        Ok(expr)
    }

    /// The operators after `left`, as long as they bind at least as tightly as `level`.
    fn operators(&mut self, left: Expr, level: u8, start: usize) -> Result<Expr, Error> {
        let mut left = left;
        // Behind a loose operator no tighter one can follow: its right side would have taken it,
        // unless the grammar forbids the combination, as in `a IN (1) = b`.
        let mut ceiling = UNARY;
        while let Some(found) = self.operator_level() {
            if found < level || found > ceiling {
                break;
            }
            ceiling = if found == PREDICATE { AND } else { found };
            let height = mem::take(&mut self.height);
            let kind = match found {
                CONDITIONAL => self.conditional(left)?,
                OR => self.logical(LogicalOp::Or, left)?,
                AND => self.logical(LogicalOp::And, left)?,
                PREDICATE => self.predicate(left)?,
                _ => self.binary(left, found)?,
            };
            // A chain of AND or OR grows sideways only.
            let is_chained =
                matches!(&kind, ExprKind::Logical { operands, .. } if operands.len() > 2);
            let grown =
                if is_chained { height.max(self.height + 1) } else { height.max(self.height) + 1 };
            self.grow(grown)?;
            left = Expr::new(kind, self.span_from(start));
        }
        Ok(left)
    }

    /// How tight the next token binds as an operator.
    fn operator_level(&self) -> Option<u8> {
        Some(match self.kind() {
            TokenKind::Sign("?") => CONDITIONAL,
            TokenKind::Sign("??") => COALESCE,
            TokenKind::Keyword(Keyword::Or) => OR,
            TokenKind::Keyword(Keyword::And) => AND,
            TokenKind::Keyword(Keyword::Not | Keyword::In | Keyword::Like | Keyword::Between) => {
                PREDICATE
            }
            TokenKind::Sign("=" | "!=" | "<" | "<=" | ">" | ">=" | "<<" | ">>" | ">>>") => COMPARE,
            TokenKind::Sign("||") => CONCAT,
            TokenKind::Sign("+" | "-" | "|" | "&" | "^") => ADD,
            TokenKind::Sign("*" | "/" | "%") => MULTIPLY,
            _ => return None,
        })
    }

    fn binary(&mut self, left: Expr, level: u8) -> Result<ExprKind, Error> {
        let TokenKind::Sign(sign) = *self.kind() else { return Err(self.unexpected()) };
        let op = BinaryOp::parse(sign).ok_or_else(|| self.unexpected())?;
        self.advance();
        let above = if op == BinaryOp::Coalesce { COALESCE } else { level + 1 };
        let right = Box::new(self.expr_above(above)?);
        Ok(ExprKind::Binary { op, left: Box::new(left), right })
    }

    fn logical(&mut self, op: LogicalOp, left: Expr) -> Result<ExprKind, Error> {
        self.advance();
        let right = self.expr_above(if op == LogicalOp::Or { AND } else { PREDICATE })?;
        let mut operands = match left.kind {
            ExprKind::Logical { op: inner, operands } if inner == op => operands,
            kind => vec![Expr::new(kind, left.span)],
        };
        operands.push(right);
        Ok(ExprKind::Logical { op, operands })
    }

    fn conditional(&mut self, condition: Expr) -> Result<ExprKind, Error> {
        self.advance();
        let then = Box::new(self.expr_above(LOOSEST)?);
        self.expect_sign(":")?;
        let otherwise = Box::new(self.expr_above(LOOSEST)?);
        Ok(ExprKind::Conditional { condition: Box::new(condition), then, otherwise })
    }

    /// IN, LIKE and BETWEEN, with or without NOT.
    ///
    /// COMPAT: the service allows BETWEEN only outside AND and OR. We accept it anywhere IN is
    /// allowed, as its documentation does; nobody can depend on the error.
    fn predicate(&mut self, left: Expr) -> Result<ExprKind, Error> {
        let operand = Box::new(left);
        let is_negated = self.takes_keyword(Keyword::Not);
        if self.takes_keyword(Keyword::In) {
            self.expect_sign("(")?;
            let items = self.exprs()?;
            self.expect_sign(")")?;
            return Ok(ExprKind::In { needle: operand, items, is_negated });
        }
        if self.takes_keyword(Keyword::Between) {
            let low = Box::new(self.expr_above(COMPARE)?);
            self.expect_keyword(Keyword::And)?;
            let high = Box::new(self.expr_above(COMPARE)?);
            return Ok(ExprKind::Between { operand, low, high, is_negated });
        }
        self.expect_keyword(Keyword::Like)?;
        let pattern = Box::new(self.expr_above(COMPARE)?);
        let mut escape = None;
        if self.takes_keyword(Keyword::Escape) {
            let TokenKind::String(text) = self.kind() else { return Err(self.unexpected()) };
            escape = Some(text.clone());
            self.advance();
        }
        Ok(ExprKind::Like { operand, pattern, escape, is_negated })
    }
}

impl BinaryOp {
    /// The operator that is written `sign`.
    pub(crate) fn parse(sign: &str) -> Option<BinaryOp> {
        Some(match sign {
            "??" => BinaryOp::Coalesce,
            "=" => BinaryOp::Equal,
            "!=" => BinaryOp::NotEqual,
            "<" => BinaryOp::Less,
            "<=" => BinaryOp::LessOrEqual,
            ">" => BinaryOp::Greater,
            ">=" => BinaryOp::GreaterOrEqual,
            "<<" => BinaryOp::ShiftLeft,
            ">>" => BinaryOp::ShiftRight,
            ">>>" => BinaryOp::ShiftRightZero,
            "||" => BinaryOp::Concat,
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Subtract,
            "|" => BinaryOp::BitOr,
            "&" => BinaryOp::BitAnd,
            "^" => BinaryOp::BitXor,
            "*" => BinaryOp::Multiply,
            "/" => BinaryOp::Divide,
            "%" => BinaryOp::Modulo,
            _ => return None,
        })
    }
}

/// The number with the other sign, exact where it is an integer. Zero becomes the negative one.
fn negated(number: &Number) -> Number {
    let double = Number::from_f64(-number.as_f64());
    match number.as_i64().and_then(i64::checked_neg) {
        Some(integer) if integer != 0 => Number::from_i64(integer),
        // The least integer has no positive counterpart: its digits were read as a double.
        _ if double.as_i64() == Some(i64::MIN) => Number::from_i64(i64::MIN),
        _ => double,
    }
}
