//! Prints a tree in the form of the queries that the service rewrites: one clause per line, every
//! operator in parentheses, strings in double quotes, aliases after AS, subqueries on separate
//! lines.
//!
//! The output parses to a tree that prints the same.

mod expr;

use crate::ast::{
    Collection, Count, Direction, Expr, Name, OrderByKind, Projection, Query, Source, Step,
};
use crate::error::quote;
use crate::lexer::is_name;
use std::fmt;

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.query(self);
        formatter.write_str(&printer.out)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.expr(self);
        formatter.write_str(&printer.out)
    }
}

#[derive(Default)]
struct Printer {
    out: String,
    /// How many subqueries we are within.
    depth: usize,
}

impl Printer {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
    }

    /// Prints `items` with commas between them.
    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            print(self, item);
        }
    }

    fn query(&mut self, query: &Query) {
        self.select(query);
        for (index, source) in query.from.iter().enumerate() {
            self.line();
            self.text(if index == 0 { "FROM " } else { "JOIN " });
            self.source(source);
        }
        if let Some(filter) = &query.filter {
            self.line();
            self.text("WHERE ");
            self.expr(filter);
        }
        if !query.group_by.is_empty() {
            self.line();
            self.text("GROUP BY ");
            self.list(&query.group_by, Self::expr);
        }
        self.order_and_limit(query);
    }

    fn select(&mut self, query: &Query) {
        self.text(if query.select.is_distinct { "SELECT DISTINCT " } else { "SELECT " });
        if let Some(top) = &query.select.top {
            self.text("TOP ");
            self.count(&top.count);
            self.text(" ");
        }
        match &query.select.projection {
            Projection::Star(_) => self.text("*"),
            Projection::Value(expr) => {
                self.text("VALUE ");
                self.expr(expr);
            }
            Projection::List(items) => self.list(items, |printer, item| {
                printer.expr(&item.expr);
                printer.alias(item.alias.as_ref());
            }),
        }
    }

    fn alias(&mut self, alias: Option<&Name>) {
        let Some(alias) = alias else { return };
        self.text(" AS ");
        if is_name(&alias.text) {
            self.text(&alias.text);
        } else {
            quote(&alias.text, &mut self.out);
        }
    }

    fn count(&mut self, count: &Count) {
        match count {
            Count::Literal(number) => self.text(&number.to_string()),
            Count::Parameter(name) => self.text(&name.text),
        }
    }

    fn source(&mut self, source: &Source) {
        match &source.alias {
            Some(alias) if source.is_iterator => {
                self.text(&alias.text);
                self.text(" IN ");
                self.collection(&source.collection);
            }
            alias => {
                self.collection(&source.collection);
                self.alias(alias.as_ref());
            }
        }
    }

    fn collection(&mut self, collection: &Collection) {
        match collection {
            Collection::Subquery(query) => self.subquery(query),
            Collection::Path { root, steps } => {
                self.text(&root.text);
                for step in steps {
                    match step {
                        Step::Member(name) => self.member(&name.text),
                        Step::Key(name) => self.key(&name.text),
                        Step::Index(index) => self.text(&format!("[{index}]")),
                    }
                }
            }
        }
    }

    /// `.name`, unless only brackets can hold the name.
    fn member(&mut self, name: &str) {
        if is_name(name) {
            self.text(".");
            self.text(name);
        } else {
            self.key(name);
        }
    }

    fn key(&mut self, name: &str) {
        self.text("[");
        quote(name, &mut self.out);
        self.text("]");
    }

    fn subquery(&mut self, query: &Query) {
        self.text("(");
        self.depth += 1;
        self.line();
        self.query(query);
        self.depth -= 1;
        self.line();
        self.text(")");
    }

    fn order_and_limit(&mut self, query: &Query) {
        if let Some(order_by) = &query.order_by {
            self.line();
            self.text("ORDER BY ");
            match &order_by.kind {
                OrderByKind::Rank(score) => {
                    self.text("RANK ");
                    self.expr(score);
                }
                OrderByKind::Items(items) => self.list(items, |printer, item| {
                    printer.expr(&item.expr);
                    printer.text(match item.direction {
                        None => "",
                        Some(Direction::Ascending) => " ASC",
                        Some(Direction::Descending) => " DESC",
                    });
                }),
            }
        }
        if let Some(clause) = &query.offset_limit {
            self.line();
            self.text("OFFSET ");
            self.count(&clause.offset);
            self.text(" LIMIT ");
            self.count(&clause.limit);
        }
    }
}

#[cfg(test)]
mod tests;
