//! Recursive descent, one token ahead (two or three where a word may also be a name). The first
//! token that fits nothing is the error; that is what the service reports.
//!
//! Recursion passes through as few functions as can be, and lists are loops rather than closures:
//! unoptimised builds must reach the limits on a small stack too.
//!
//! - `query`: the clauses,
//! - `expr`: operators and their precedence,
//! - `primary`: everything else in an expression.

mod expr;
mod primary;
mod query;

use crate::ast::{Expr, Name, Query};
use crate::error::{Code, Error, Span};
use crate::lexer::{tokenize, unexpected_end};
use crate::token::{Keyword, Token, TokenKind};
use crate::{HEIGHT_MAX, NESTING_MAX, TEXT_UNITS_MAX};
use expr::LOOSEST;

pub(crate) fn parse(text: &str) -> Result<Query, Error> {
    if text.len() > TEXT_UNITS_MAX && text.encode_utf16().count() > TEXT_UNITS_MAX {
        let message = format!(
            "The SQL query text exceeded the maximum limit of {TEXT_UNITS_MAX} characters."
        );
        return Err(Error::without_span(Code::TooLong, message));
    }
    let mut parser =
        Parser { text, tokens: tokenize(text), at: 0, nesting: 0, height: 0, deferred: None };
    let query = parser.query()?;
    if !matches!(parser.kind(), TokenKind::End) {
        return Err(parser.unexpected());
    }
    match parser.deferred {
        Some(error) => Err(error),
        None => Ok(*query),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// How deep we are within expressions and queries, in the steps of `NESTING_MAX`.
    nesting: usize,
    /// The height of the highest tree among the expressions read since the enclosing began.
    height: usize,
    /// The first error other than a syntax error. The service reports these only if the whole text
    /// is grammatical, so it is kept until the end.
    deferred: Option<Error>,
}

impl Parser<'_> {
    /// The token `ahead` of the next. The last one is never left.
    fn token(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> &TokenKind {
        &self.token(0).kind
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    /// Where the next token starts.
    fn start(&self) -> usize {
        self.token(0).span.start
    }

    /// From `start` to the end of the token just read.
    fn span_from(&self, start: usize) -> Span {
        let end = self.tokens[self.at.saturating_sub(1)].span.end;
        Span::new(start, end.max(start))
    }

    fn is_sign(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.token(ahead).kind, TokenKind::Sign(found) if found == sign)
    }

    fn is_keyword(&self, ahead: usize, keyword: Keyword) -> bool {
        matches!(self.token(ahead).kind, TokenKind::Keyword(found) if found == keyword)
    }

    /// Reads `sign` if it is next.
    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(0, sign);
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Reads `keyword` if it is next.
    fn takes_keyword(&mut self, keyword: Keyword) -> bool {
        let is_next = self.is_keyword(0, keyword);
        if is_next {
            self.advance();
        }
        is_next
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), Error> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_keyword(&mut self, keyword: Keyword) -> Result<(), Error> {
        if self.takes_keyword(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Whether the token can be a name.
    fn is_name(&self, ahead: usize) -> bool {
        match self.token(ahead).kind {
            TokenKind::Name => true,
            TokenKind::Keyword(keyword) => !keyword.is_reserved(),
            _ => false,
        }
    }

    fn expect_name(&mut self) -> Result<Name, Error> {
        if self.is_name(0) { Ok(self.take_name()) } else { Err(self.unexpected()) }
    }

    /// Takes the next token as a name, whatever it is.
    fn take_name(&mut self) -> Name {
        let span = self.token(0).span;
        self.advance();
        Name { text: span.of(self.text).to_owned(), span }
    }

    /// The complaint about the next token.
    fn unexpected(&self) -> Error {
        let token = self.token(0);
        match &token.kind {
            TokenKind::End => unexpected_end(self.text),
            TokenKind::Invalid(error) => (**error).clone(),
            _ => {
                let near = token.span.of(self.text);
                let message = format!("Syntax error, incorrect syntax near '{near}'.");
                Error::new(Code::Syntax, message, token.span)
            }
        }
    }

    /// Keeps an error of the meaning until the grammar is known to be fine.
    fn defer(&mut self, error: Error) {
        self.deferred.get_or_insert(error);
    }

    /// Goes `steps` deeper. Errors end the parse, so that only success must come back up.
    fn enter(&mut self, steps: usize) -> Result<(), Error> {
        self.nesting += steps;
        if self.nesting > NESTING_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Sets the height of the tree just made.
    fn grow(&mut self, height: usize) -> Result<(), Error> {
        if height > HEIGHT_MAX {
            return Err(self.too_deep());
        }
        self.height = height;
        Ok(())
    }

    fn too_deep(&self) -> Error {
        let message = "The SQL query exceeded the maximum nesting depth.";
        Error::new(Code::TooDeep, message, self.token(0).span)
    }

    /// One or more expressions with commas between them.
    fn exprs(&mut self) -> Result<Vec<Expr>, Error> {
        let mut items = Vec::new();
        loop {
            items.push(self.expr_above(LOOSEST)?);
            if !self.takes_sign(",") {
                return Ok(items);
            }
        }
    }
}

#[cfg(test)]
mod tests;
