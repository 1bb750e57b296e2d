//! Operands: literals, names, calls, constructors, subqueries, and the accesses after them.

use super::Parser;
use super::expr::{COMPARE, LOOSEST};
use crate::ast::{Call, Expr, ExprKind, Name, Property, SubqueryKind};
use crate::error::Error;
use crate::token::{Keyword, TokenKind};
use std::mem;
use value::Value;

impl Parser<'_> {
    /// Whether the parenthesis that is next is followed by a query or a LET. LET may be a name,
    /// but then neither a name nor a value can follow it.
    pub(super) fn opens_query_or_let(&self) -> bool {
        self.is_keyword(1, Keyword::Select)
            || (self.is_keyword(1, Keyword::Let) && self.is_name(2) && self.is_sign(3, "="))
    }

    pub(super) fn primary(&mut self) -> Result<Expr, Error> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Sign("[") => self.array(),
            TokenKind::Sign("{") => self.object(),
            TokenKind::Sign("(") if self.is_keyword(1, Keyword::Let) => self.let_in(),
            TokenKind::Sign("(") => self.subquery(SubqueryKind::Scalar),
            TokenKind::Name => self.name_or_call(),
            TokenKind::Keyword(keyword) => match keyword {
                Keyword::Exists => self.word_and_subquery(SubqueryKind::Exists),
                Keyword::Array => self.word_and_subquery(SubqueryKind::Array),
                Keyword::Udf => self.udf(),
                Keyword::Left | Keyword::Right => self.keyword_call(),
                Keyword::Let | Keyword::Rank => self.name_or_call(),
                _ => self.literal(),
            },
            _ => self.literal(),
        }?;
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// The accesses after `base`: `.name` and `[index]`.
    pub(super) fn accesses(&mut self, base: Expr, start: usize) -> Result<Expr, Error> {
        let mut base = base;
        loop {
            let height = self.height;
            let kind = if self.takes_sign(".") {
                ExprKind::Member { base: Box::new(base), name: self.expect_name()? }
            } else if self.takes_sign("[") {
                let index = Box::new(self.expr_above(LOOSEST)?);
                self.expect_sign("]")?;
                ExprKind::Index { base: Box::new(base), index }
            } else {
                return Ok(base);
            };
            self.grow(self.height.max(height) + 1)?;
            base = Expr::new(kind, self.span_from(start));
        }
    }

    fn literal(&mut self) -> Result<ExprKind, Error> {
        let value = match self.kind() {
            TokenKind::Number(number) => Value::Number(number.clone()),
            TokenKind::String(text) => Value::String(text.clone()),
            TokenKind::Keyword(Keyword::True) => Value::Bool(true),
            TokenKind::Keyword(Keyword::False) => Value::Bool(false),
            TokenKind::Keyword(Keyword::Null) => Value::Null,
            TokenKind::Keyword(Keyword::Undefined) => Value::Undefined,
            TokenKind::Parameter => return Ok(ExprKind::Parameter(self.take_name().text)),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(ExprKind::Literal(value))
    }

    /// LEFT and RIGHT are reserved, but functions too.
    fn keyword_call(&mut self) -> Result<ExprKind, Error> {
        let name = self.take_name();
        self.call(name, false)
    }

    fn array(&mut self) -> Result<ExprKind, Error> {
        self.advance();
        if self.takes_sign("]") {
            return Ok(ExprKind::Array(Vec::new()));
        }
        let items = self.exprs()?;
        self.expect_sign("]")?;
        Ok(ExprKind::Array(items))
    }

    fn object(&mut self) -> Result<ExprKind, Error> {
        self.advance();
        if self.takes_sign("}") {
            return Ok(ExprKind::Object(Vec::new()));
        }
        let mut properties = Vec::new();
        loop {
            let name = self.property_name()?;
            self.expect_sign(":")?;
            properties.push(Property { name, value: self.expr_above(LOOSEST)? });
            if !self.takes_sign(",") {
                break;
            }
        }
        self.expect_sign("}")?;
        Ok(ExprKind::Object(properties))
    }

    fn property_name(&mut self) -> Result<Name, Error> {
        let TokenKind::String(text) = self.kind() else { return self.expect_name() };
        let name = Name { text: text.clone(), span: self.token(0).span };
        self.advance();
        Ok(name)
    }

    /// `(LET name = value IN body)`.
    fn let_in(&mut self) -> Result<ExprKind, Error> {
        self.advance();
        self.advance();
        let name = self.expect_name()?;
        self.expect_sign("=")?;
        // IN ends the value, so it cannot be one of its operators.
        let value = Box::new(self.expr_above(COMPARE)?);
        self.expect_keyword(Keyword::In)?;
        let body = Box::new(self.expr_above(COMPARE)?);
        self.expect_sign(")")?;
        Ok(ExprKind::Let { name, value, body })
    }

    fn word_and_subquery(&mut self, kind: SubqueryKind) -> Result<ExprKind, Error> {
        self.advance();
        self.subquery(kind)
    }

    fn subquery(&mut self, kind: SubqueryKind) -> Result<ExprKind, Error> {
        self.expect_sign("(")?;
        let query = self.query()?;
        self.expect_sign(")")?;
        Ok(ExprKind::Subquery { kind, query })
    }

    fn udf(&mut self) -> Result<ExprKind, Error> {
        self.advance();
        self.expect_sign(".")?;
        let name = self.expect_name()?;
        self.call(name, true)
    }

    fn name_or_call(&mut self) -> Result<ExprKind, Error> {
        let name = self.take_name();
        if !self.is_sign(0, "(") {
            return Ok(ExprKind::Identifier(name.text));
        }
        // These three are names like any other, except before a subquery.
        let words = [
            ("ALL", SubqueryKind::All),
            ("FIRST", SubqueryKind::First),
            ("LAST", SubqueryKind::Last),
        ];
        let word = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&name.text));
        match word {
            Some((_, kind)) if self.is_keyword(1, Keyword::Select) => self.subquery(*kind),
            _ => self.call(name, false),
        }
    }

    /// The single call after RANK.
    pub(super) fn score(&mut self) -> Result<Expr, Error> {
        let start = self.start();
        let siblings = mem::take(&mut self.height);
        let name = self.expect_name()?;
        let kind = self.call(name, false)?;
        self.grow(self.height + 1)?;
        self.height = self.height.max(siblings);
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// The arguments of the function just named.
    fn call(&mut self, name: Name, is_udf: bool) -> Result<ExprKind, Error> {
        self.expect_sign("(")?;
        if self.takes_sign(")") {
            return Ok(ExprKind::Call(Call { name, is_udf, args: Vec::new() }));
        }
        let args = self.exprs()?;
        self.expect_sign(")")?;
        Ok(ExprKind::Call(Call { name, is_udf, args }))
    }
}
