//! Prints rows to stdout in one of three formats.

use std::io::{self, Write};

use value::{Value, json};

use super::Format;
use crate::table;

/// Rows per table: the columns must be known before the first line is printed.
const TABLE_ROWS_MAX: usize = 10_000;

/// Prints rows as they arrive.
pub(super) struct Rows<W> {
    format: Format,
    out: W,
    count: u64,
    /// The rows of the next table.
    waiting: Vec<Value>,
}

impl<W: Write> Rows<W> {
    pub(super) fn new(format: Format, out: W) -> Self {
        Self { format, out, count: 0, waiting: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Value) -> io::Result<()> {
        self.count += 1;
        match self.format {
            Format::Table => {
                self.waiting.push(row);
                if self.waiting.len() >= TABLE_ROWS_MAX { self.table() } else { Ok(()) }
            }
            Format::Lines => writeln!(self.out, "{}", json::print(&row)),
            Format::Json => {
                let start = if self.count == 1 { "[\n  " } else { ",\n  " };
                write!(self.out, "{start}{}", json::print(&row))
            }
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        match self.format {
            Format::Table => self.table()?,
            Format::Lines => {}
            Format::Json if self.count == 0 => writeln!(self.out, "[]")?,
            Format::Json => writeln!(self.out, "\n]")?,
        }
        self.out.flush()
    }

    fn table(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        write!(self.out, "{}", table::text(&rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: Format, rows: &[&str]) -> String {
        let mut out = Vec::new();
        let mut printer = Rows::new(format, &mut out);
        for row in rows {
            printer.push(json::parse(row.as_bytes()).unwrap()).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_have_three_forms() {
        let rows = [r#"{"a":1}"#, "[2]"];
        assert_eq!(printed(Format::Lines, &rows), "{\"a\":1}\n[2]\n");
        assert_eq!(printed(Format::Json, &rows), "[\n  {\"a\":1},\n  [2]\n]\n");
        assert!(json::parse(printed(Format::Json, &rows).as_bytes()).is_ok());
        assert!(printed(Format::Table, &rows).starts_with("a "));
    }

    #[test]
    fn nothing_is_also_an_answer() {
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        assert_eq!(printed(Format::Lines, &[]), "");
        assert_eq!(printed(Format::Table, &[]), "");
    }
}
