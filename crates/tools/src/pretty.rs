//! JSON for people: a member on each line, indented.

use value::{Value, json};

/// The indented text of a value, without a final line break.
pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value, 0);
    out
}

/// A JSON array with one element per line.
pub(crate) fn lines(values: &[Value]) -> String {
    if values.is_empty() {
        return "[]\n".to_owned();
    }
    let lines: Vec<String> = values.iter().map(json::print).collect();
    format!("[\n  {}\n]\n", lines.join(",\n  "))
}

/// Recursive; the parser limits the depth.
fn push(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            out.push('{');
            for (at, (name, member)) in object.iter().enumerate() {
                begin_line(out, at, depth + 1);
                out.push_str(&json::print(&Value::from(name)));
                out.push_str(": ");
                push(out, member, depth + 1);
            }
            end(out, depth, '}');
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                begin_line(out, at, depth + 1);
                push(out, item, depth + 1);
            }
            end(out, depth, ']');
        }
        other => out.push_str(&json::print(other)),
    }
}

fn begin_line(out: &mut String, at: usize, depth: usize) {
    if at > 0 {
        out.push(',');
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

fn end(out: &mut String, depth: usize, bracket: char) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(bracket);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_on_lines() {
        let value = json::parse(br#"{"a":1.50,"b":[{},[],"\n",{"c":null}],"d":{}}"#).unwrap();
        let expected = "{\n  \"a\": 1.50,\n  \"b\": [\n    {},\n    [],\n    \"\\n\",\n    {\n      \
                        \"c\": null\n    }\n  ],\n  \"d\": {}\n}";
        assert_eq!(text(&value), expected);
        assert_eq!(json::parse(text(&value).as_bytes()).unwrap(), value);
    }

    #[test]
    fn lists_have_a_line_for_each() {
        assert_eq!(lines(&[]), "[]\n");
        assert_eq!(lines(&[Value::from("a"), Value::Null]), "[\n  \"a\",\n  null\n]\n");
    }
}
