//! Rows as a table: a column for each property, numbers right-aligned, long values truncated.

use std::collections::HashMap;

use value::{Value, json};

/// Longest cell.
const CELL_CHARS_MAX: usize = 48;

/// Most columns; further properties are not shown.
const COLUMNS_MAX: usize = 40;

/// The column for rows that are not objects.
const VALUE: &str = "value";

/// Properties that the server adds to every document, and that few people want to read.
const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

struct Column {
    name: String,
    width: usize,
    /// Whether all its cells are numbers.
    is_numeric: bool,
}

/// The table of these rows; an empty text for none.
pub fn text(rows: &[Value]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let (columns, cells) = cells(rows);
    let mut text = String::new();
    let names = columns.iter().map(|column| shortened(&column.name)).collect::<Vec<_>>();
    let rules = columns.iter().map(|column| "-".repeat(column.width)).collect::<Vec<_>>();
    for line in [names, rules].iter().chain(&cells) {
        push_line(&mut text, &columns, line);
    }
    text
}

/// The columns in the order in which their names first appear, and the cells of each row.
fn cells(rows: &[Value]) -> (Vec<Column>, Vec<Vec<String>>) {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        for (name, _) in members(row) {
            if !places.contains_key(name) && columns.len() < COLUMNS_MAX {
                places.insert(name, columns.len());
                let width = shortened(name).chars().count();
                columns.push(Column { name: name.to_owned(), width, is_numeric: true });
            }
        }
    }
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows {
        let mut line = vec![String::new(); columns.len()];
        for (name, value) in members(row) {
            let Some(place) = places.get(name) else { continue };
            let column = &mut columns[*place];
            column.is_numeric &= matches!(value, Value::Number(_));
            let cell = cell(value);
            column.width = column.width.max(cell.chars().count());
            line[*place] = cell;
        }
        lines.push(line);
    }
    (columns, lines)
}

/// The names and values to show for a row.
fn members(row: &Value) -> Vec<(&str, &Value)> {
    match row {
        Value::Object(object) => {
            let shown: Vec<_> = object.iter().filter(|(name, _)| !SYSTEM.contains(name)).collect();
            // A row with only system properties shows those.
            if shown.is_empty() { object.iter().collect() } else { shown }
        }
        other => vec![(VALUE, other)],
    }
}

/// Formats a value on one line: strings without quotes, everything else as JSON.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text),
        other => shortened(&json::print(other)),
    }
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let short: String = letters.by_ref().take(CELL_CHARS_MAX).collect();
    if letters.next().is_none() {
        return short;
    }
    let kept: String = short.chars().take(CELL_CHARS_MAX - 1).collect();
    format!("{kept}…")
}

fn push_line(text: &mut String, columns: &[Column], cells: &[String]) {
    let start = text.len();
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if at > 0 {
            text.push_str("  ");
        }
        let padding = " ".repeat(column.width.saturating_sub(cell.chars().count()));
        let (before, after) =
            if column.is_numeric { (padding.as_str(), "") } else { ("", padding.as_str()) };
        text.push_str(before);
        text.push_str(cell);
        text.push_str(after);
    }
    text.truncate(start + text[start..].trim_end().len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&str]) -> String {
        let rows: Vec<Value> =
            rows.iter().map(|row| json::parse(row.as_bytes()).unwrap()).collect();
        text(&rows)
    }

    #[test]
    fn properties_are_columns() {
        let rows = [
            r#"{"id":"1","total":12.5,"_ts":7}"#,
            r#"{"id":"22","total":3,"tags":["new"],"_ts":8}"#,
            r#"{"id":"é","total":null}"#,
        ];
        let expected = "\
id  total  tags
--  -----  -------
1   12.5
22  3      [\"new\"]
é   null
";
        assert_eq!(table(&rows), expected);
        let expected = "n\n--\n 1\n10\n".replace("n\n--", " n\n--");
        assert_eq!(table(&[r#"{"n":1}"#, r#"{"n":10}"#]), expected);
    }

    #[test]
    fn other_rows_have_one_column() {
        assert_eq!(table(&["7", "12"]), "value\n-----\n    7\n   12\n");
        assert_eq!(table(&["\"a\""]), "value\n-----\na\n");
        assert_eq!(table(&[r#"{"_ts":5}"#]), "_ts\n---\n  5\n");
        assert_eq!(table(&["{}"]), "\n\n\n");
    }

    #[test]
    fn long_and_odd_texts_stay_on_their_line() {
        let long = format!("{{\"a\":\"{}\\n\"}}", "é".repeat(100));
        let text = table(&[&long, "{\"a\":\"x\\ny\\u001b[1m\"}"]);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= CELL_CHARS_MAX));
        assert!(!text.contains('\u{1b}'), "{text}");
        let wide: Vec<String> = (0..100).map(|at| format!("\"p{at}\":{at}")).collect();
        let wide = format!("{{{}}}", wide.join(","));
        assert!(table(&[&wide]).contains("p39") && !table(&[&wide]).contains("p40"));
    }
}
