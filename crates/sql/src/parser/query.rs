//! The clauses of a query.

use super::Parser;
use super::expr::LOOSEST;
use crate::ast::{
    Collection, Count, Direction, Expr, Name, OffsetLimit, OrderBy, OrderByKind, OrderItem,
    Projection, Query, Select, SelectItem, Source, Step, Top,
};
use crate::error::{Code, Error};
use crate::token::{Keyword, TokenKind};
use std::mem;

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Result<Box<Query>, Error> {
        self.enter(1)?;
        let start = self.start();
        let query = Box::new(Query {
            select: self.select()?,
            from: self.from()?,
            filter: self.filter()?,
            group_by: self.group_by()?,
            order_by: self.order_by()?,
            offset_limit: self.offset_limit()?,
            span: self.span_from(start),
        });
        self.nesting -= 1;
        Ok(query)
    }

    fn filter(&mut self) -> Result<Option<Expr>, Error> {
        if !self.takes_keyword(Keyword::Where) {
            return Ok(None);
        }
        self.expr_above(LOOSEST).map(Some)
    }

    fn select(&mut self) -> Result<Select, Error> {
        self.expect_keyword(Keyword::Select)?;
        let is_distinct = self.takes_keyword(Keyword::Distinct);
        let start = self.start();
        let top = if self.takes_keyword(Keyword::Top) {
            let count = self.top_count()?;
            Some(Top { count, span: self.span_from(start) })
        } else {
            None
        };
        let star = self.token(0).span;
        let projection = if self.takes_sign("*") {
            Projection::Star(star)
        } else if self.takes_keyword(Keyword::Value) {
            let expr = self.expr_above(LOOSEST)?;
            // The documentation allows a name here, which has nothing to name.
            self.alias()?;
            Projection::Value(expr)
        } else {
            Projection::List(self.select_items()?)
        };
        Ok(Select { is_distinct, top, projection })
    }

    fn select_items(&mut self) -> Result<Vec<SelectItem>, Error> {
        let mut items = Vec::new();
        loop {
            let expr = self.expr_above(LOOSEST)?;
            items.push(SelectItem { expr, alias: self.alias()? });
            if !self.takes_sign(",") {
                return Ok(items);
            }
        }
    }

    /// The name of a selected property. A string will do, with or without AS.
    fn alias(&mut self) -> Result<Option<Name>, Error> {
        let has_as = self.takes_keyword(Keyword::As);
        if let TokenKind::String(text) = self.kind() {
            let name = Name { text: text.clone(), span: self.token(0).span };
            self.advance();
            return Ok(Some(name));
        }
        self.name_if(has_as)
    }

    /// A name, which must be there if `is_required`.
    fn name_if(&mut self, is_required: bool) -> Result<Option<Name>, Error> {
        if is_required || self.is_name(0) { self.expect_name().map(Some) } else { Ok(None) }
    }

    /// Any number is grammatical after TOP.
    fn top_count(&mut self) -> Result<Count, Error> {
        let message = "The count value provided for a TOP clause must be an integer.";
        self.count(Code::TopCount, message, |_| true)
    }

    /// Behind OFFSET and LIMIT only whole numbers are.
    fn offset_limit(&mut self) -> Result<Option<OffsetLimit>, Error> {
        let start = self.start();
        if !self.takes_keyword(Keyword::Offset) {
            return Ok(None);
        }
        let message = "The OFFSET count value exceeds the maximum allowed value.";
        let is_whole = |number: f64| number.fract() == 0.0;
        let offset = self.count(Code::OffsetCount, message, is_whole)?;
        self.expect_keyword(Keyword::Limit)?;
        let message = "The LIMIT count value exceeds the maximum allowed value.";
        let limit = self.count(Code::LimitCount, message, is_whole)?;
        Ok(Some(OffsetLimit { offset, limit, span: self.span_from(start) }))
    }

    fn count(
        &mut self,
        code: Code,
        message: &str,
        is_grammatical: impl Fn(f64) -> bool,
    ) -> Result<Count, Error> {
        let number = match self.kind() {
            TokenKind::Parameter => return Ok(Count::Parameter(self.take_name())),
            TokenKind::Number(number) if is_grammatical(number.as_f64()) => number.clone(),
            _ => return Err(self.unexpected()),
        };
        let count = number.as_i64().and_then(|count| u32::try_from(count).ok());
        if count.is_none() {
            self.defer(Error::new(code, message, self.token(0).span));
        }
        self.advance();
        // With an error deferred, the query is never seen and any number will do.
        Ok(Count::Literal(count.unwrap_or_default()))
    }

    fn from(&mut self) -> Result<Vec<Source>, Error> {
        if !self.takes_keyword(Keyword::From) {
            return Ok(Vec::new());
        }
        let mut sources = vec![self.source()?];
        while self.takes_keyword(Keyword::Join) {
            sources.push(self.source()?);
        }
        Ok(sources)
    }

    fn source(&mut self) -> Result<Source, Error> {
        let start = self.start();
        let is_iterator = self.is_name(0) && self.is_keyword(1, Keyword::In);
        let (collection, alias) = if is_iterator {
            let alias = self.expect_name()?;
            self.advance();
            (self.collection()?, Some(alias))
        } else {
            let collection = self.collection()?;
            let has_as = self.takes_keyword(Keyword::As);
            (collection, self.name_if(has_as)?)
        };
        Ok(Source { collection, alias, is_iterator, span: self.span_from(start) })
    }

    fn collection(&mut self) -> Result<Collection, Error> {
        if self.takes_sign("(") {
            let siblings = mem::take(&mut self.height);
            let query = self.query()?;
            self.grow(self.height + 1)?;
            self.height = self.height.max(siblings);
            self.expect_sign(")")?;
            return Ok(Collection::Subquery(query));
        }
        let root = self.expect_name()?;
        let mut steps = Vec::new();
        loop {
            if self.takes_sign(".") {
                steps.push(Step::Member(self.expect_name()?));
            } else if self.takes_sign("[") {
                steps.push(self.bracket_step()?);
                self.expect_sign("]")?;
            } else {
                return Ok(Collection::Path { root, steps });
            }
        }
    }

    fn bracket_step(&mut self) -> Result<Step, Error> {
        let span = self.token(0).span;
        let step = match self.kind() {
            TokenKind::String(text) => Some(Step::Key(Name { text: text.clone(), span })),
            TokenKind::Number(number) => {
                number.as_i64().and_then(|index| u64::try_from(index).ok()).map(Step::Index)
            }
            _ => None,
        };
        let step = step.ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(step)
    }

    fn group_by(&mut self) -> Result<Vec<Expr>, Error> {
        if !self.takes_keyword(Keyword::Group) {
            return Ok(Vec::new());
        }
        self.expect_keyword(Keyword::By)?;
        self.exprs()
    }

    fn order_by(&mut self) -> Result<Option<OrderBy>, Error> {
        let start = self.start();
        if !self.takes_keyword(Keyword::Order) {
            return Ok(None);
        }
        self.expect_keyword(Keyword::By)?;
        // RANK may be the name of a source, but then no other word follows it.
        let kind = if self.is_keyword(0, Keyword::Rank) && self.is_name(1) {
            self.advance();
            OrderByKind::Rank(self.score()?)
        } else {
            OrderByKind::Items(self.order_items()?)
        };
        Ok(Some(OrderBy { kind, span: self.span_from(start) }))
    }

    fn order_items(&mut self) -> Result<Vec<OrderItem>, Error> {
        let mut items = Vec::new();
        loop {
            let expr = self.expr_above(LOOSEST)?;
            let direction = if self.takes_keyword(Keyword::Asc) {
                Some(Direction::Ascending)
            } else {
                self.takes_keyword(Keyword::Desc).then_some(Direction::Descending)
            };
            items.push(OrderItem { expr, direction });
            if !self.takes_sign(",") {
                return Ok(items);
            }
        }
    }
}
