//! Describes what a query cost and how it was executed.

use std::fmt::Write as _;

use value::Value;

/// The sums over the pages of a query.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pages: usize,
    rows: usize,
    charge: f64,
    /// How the first page was executed.
    plan: Option<Value>,
    /// The figures of all pages.
    read: Vec<(String, f64)>,
}

impl Summary {
    pub(super) fn add(&mut self, charge: f64, rows: usize, explain: Option<Value>) {
        self.pages += 1;
        self.rows += rows;
        self.charge += charge;
        let Some(explain) = explain else { return };
        if let Some(read) = explain.get("read").as_object() {
            for (name, value) in read.iter() {
                let value = value.as_f64().unwrap_or(0.0);
                match self.read.iter_mut().find(|(known, _)| known == name) {
                    Some((_, sum)) => *sum += value,
                    None => self.read.push((name.to_owned(), value)),
                }
            }
        }
        self.plan.get_or_insert(explain);
    }

    /// The whole summary; `has_more` says that rows were left on the server.
    pub(super) fn text(&self, has_more: bool) -> String {
        let mut text = String::new();
        if let Some(plan) = &self.plan {
            self.push_plan(&mut text, plan);
        }
        let more = if has_more { ", and there are more" } else { "" };
        let (rows, pages) = (counted(self.rows, "row"), counted(self.pages, "page"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{rows}{more}; {pages}, {:.2} RU", self.charge);
        text
    }

    fn push_plan(&self, text: &mut String, plan: &Value) {
        let partitions = plan.get("partitions").as_array().unwrap_or_default();
        for partition in partitions {
            push_partition(text, partition);
        }
        if let Some(order) = plan.get("order").as_object() {
            let (kind, members) = match (order.get("index"), order.get("compositeIndex")) {
                (Some(Value::Array(members)), _) => ("index", members.as_slice()),
                (_, Some(Value::Array(members))) => ("composite index", members.as_slice()),
                _ => ("", &[][..]),
            };
            let members: Vec<&str> = members.iter().filter_map(Value::as_str).collect();
            let _ = match members.as_slice() {
                [] => writeln!(text, "order: no index has it"),
                members => writeln!(text, "order: {kind} {}", members.join(", ")),
            };
        }
        if let Some(filter) = plan.get("residualFilter").as_str() {
            let _ = writeln!(text, "checked on each document: {filter}");
        }
        let figure = |name: &str| {
            self.read.iter().find(|(known, _)| known == name).map_or(0.0, |(_, sum)| *sum)
        };
        let _ = writeln!(
            text,
            "read: {:.0} index entries, {:.0} documents of {:.0} bytes, of which {:.0} matched",
            figure("indexEntries"),
            figure("documents"),
            figure("documentBytes"),
            figure("documentsMatched"),
        );
        if figure("functionCalls") > 0.0 {
            let _ = writeln!(
                text,
                "functions: {:.0} calls in {:.0} messages",
                figure("functionCalls"),
                figure("functionMessages"),
            );
        }
    }
}

fn push_partition(text: &mut String, partition: &Value) {
    let accesses = partition.get("access").as_array().unwrap_or_default();
    let accesses: Vec<String> = accesses.iter().map(access).collect();
    let how = if accesses.is_empty() { "not read".to_owned() } else { accesses.join(", then ") };
    let range = partition.get("range").as_str().unwrap_or("?");
    let documents = partition.get("documents").as_f64().unwrap_or(0.0);
    let _ = writeln!(text, "partition {range} ({documents:.0} documents): {how}");
    push_index(text, partition.get("index"), 1);
}

fn access(access: &Value) -> String {
    let number = |name: &str| access.get(name).as_f64();
    let found = |words: &str| match number("candidates") {
        Some(candidates) => format!("{words}, {candidates:.0} candidates"),
        None => words.to_owned(),
    };
    let counted = |words: &str| format!("{words}: {:.0}", number("count").unwrap_or(0.0));
    match access.get("kind").as_str().unwrap_or_default() {
        "scan" => "all documents are read".to_owned(),
        "indexStream" => {
            format!("{:.0} terms of the index are followed", number("terms").unwrap_or(0.0))
        }
        "indexList" => found("a list from the index"),
        "orderedWalk" => found("the index is walked in order"),
        "sort" => found("documents are sorted"),
        "countFromCounters" => counted("counted without reading"),
        "countFromIndex" => counted("counted in the index"),
        other => other.to_owned(),
    }
}

/// Adds what the index knows of the filter, one path per line.
fn push_index(text: &mut String, index: &Value, depth: usize) {
    let indent = "  ".repeat(depth.min(20));
    let mut line = |words: &str| {
        let _ = writeln!(text, "{indent}{words}");
    };
    match index {
        Value::String(words) if words == "everything" => {}
        Value::String(words) => line(words),
        other => {
            for word in ["and", "or"] {
                if let Some(parts) = other.get(word).as_array() {
                    line(if word == "and" { "all of" } else { "any of" });
                    for part in parts {
                        push_index(text, part, depth + 1);
                    }
                    return;
                }
            }
            let path = other.get("path").as_str().unwrap_or("?");
            if let Some(cells) = other.get("spatialCells").as_f64() {
                return line(&format!("{path} in {cells:.0} ranges of cells"));
            }
            let ranges = other.get("ranges").as_array().unwrap_or_default();
            let ranges: Vec<&str> = ranges.iter().filter_map(Value::as_str).collect();
            let checks = other.get("checksValues").as_bool() == Some(true);
            let checks = if checks { ", each value checked" } else { "" };
            line(&format!("{path} {}{checks}", ranges.join("; ")));
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use value::json;

    use super::*;

    #[test]
    fn a_plan_reads_like_an_account() {
        let explain = concat!(
            r#"{"partitions":[{"range":"0","documents":1200,"access":[{"kind":"orderedWalk","#,
            r#""candidates":17}],"index":{"and":[{"path":"/a","ranges":["= 5","= 6"]},"#,
            r#"{"path":"/b","ranges":["strings"],"checksValues":true}]},"isIndexExact":false}],"#,
            r#""order":{"index":["/ts DESC"]},"residualFilter":"(c.a = 5)","#,
            r#""read":{"indexEntries":40,"documents":17,"documentBytes":900,"documentsMatched":3,"#,
            r#""functionCalls":17,"functionMessages":1},"#,
            r#""rows":3,"requestCharge":3.5}"#,
        );
        let mut summary = Summary::default();
        for _ in 0..2 {
            summary.add(3.5, 3, Some(json::parse(explain.as_bytes()).unwrap()));
        }
        let expected = "\
partition 0 (1200 documents): the index is walked in order, 17 candidates
  all of
    /a = 5; = 6
    /b strings, each value checked
order: index /ts DESC
checked on each document: (c.a = 5)
read: 80 index entries, 34 documents of 1800 bytes, of which 6 matched
functions: 34 calls in 2 messages
6 rows, and there are more; 2 pages, 7.00 RU
";
        assert_eq!(summary.text(true), expected);
    }

    #[test]
    fn without_a_plan_there_is_one_line() {
        let mut summary = Summary::default();
        summary.add(2.0, 1, None);
        assert_eq!(summary.text(false), "1 row; 1 page, 2.00 RU\n");
    }

    #[test]
    fn any_answer_has_a_text() {
        for odd in ["{}", "[]", "1", r#"{"partitions":[1,{"index":[],"access":[{}]}],"order":{}}"#]
        {
            let mut summary = Summary::default();
            summary.add(0.0, 0, Some(json::parse(odd.as_bytes()).unwrap()));
            assert!(summary.text(false).ends_with("0 rows; 1 page, 0.00 RU\n"));
        }
    }
}
