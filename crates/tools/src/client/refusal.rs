//! Formats a server's error for people: the reasons, each under its position in the query if it has
//! one.

use value::{Value, json};

/// Longest part of a query line to show around a position.
const LINE_CHARS_MAX: usize = 100;

/// The text of the refusal of `what`.
pub(crate) fn text(what: &str, status: u16, body: &[u8], query: &str) -> String {
    let mut lines = vec![head(what, status, body)];
    let body = json::parse(body).unwrap_or(Value::Undefined);
    let message = body.get("message").as_str().unwrap_or_default();
    match document(message) {
        Some(document) => {
            for reason in reasons(&document) {
                lines.extend(reason.lines(query));
            }
        }
        None => lines.extend(plain(message).map(|text| format!("  {text}"))),
    }
    lines.join("\n")
}

/// The first line of the refusal of `what`, without the reasons.
pub(crate) fn head(what: &str, status: u16, body: &[u8]) -> String {
    let body = json::parse(body).unwrap_or(Value::Undefined);
    format!("the {what} was refused ({})", meaning(status, &body))
}

fn meaning(status: u16, body: &Value) -> String {
    match body.get("code").as_str() {
        Some(code) => format!("{status} {code}"),
        None => status.to_string(),
    }
}

/// The JSON after `Message: ` in a message.
fn document(message: &str) -> Option<Value> {
    let start = message.find("Message: {")? + "Message: ".len();
    let end = message[start..].find("\r\nActivityId").map_or(message.len(), |end| start + end);
    json::parse(message[start..end].trim().as_bytes()).ok()
}

/// The message without the parts for developers of the server.
fn plain(message: &str) -> Option<&str> {
    let ends = ["\r\nActivityId", " Server used the following payload", " For more info: "];
    let end = ends.iter().filter_map(|end| message.find(end)).min().unwrap_or(message.len());
    let text = message[..end].trim();
    (!text.is_empty()).then_some(text)
}

/// One reason.
struct Reason {
    text: String,
    /// Its position in the query, in UTF-16 units.
    place: Option<(usize, usize)>,
}

/// Parses the reasons. Those in a query have positions, all others are plain text.
fn reasons(document: &Value) -> Vec<Reason> {
    let texts = document.get("Errors").as_array().unwrap_or_default().iter();
    let texts = texts.filter_map(Value::as_str);
    let mut reasons: Vec<Reason> =
        texts.map(|text| Reason { text: text.to_owned(), place: None }).collect();
    for error in document.get("errors").as_array().unwrap_or_default() {
        let message = error.get("message").as_str().unwrap_or_default();
        let text = match error.get("code") {
            Value::String(code) => format!("{code}: {message}"),
            number @ Value::Number(_) => format!("SC{}: {message}", json::print(number)),
            _ => message.to_owned(),
        };
        let end = |name: &str| {
            let number = error.get("location").get(name).as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place that is none is cut off at the ends of the query"
            )]
            Some(number as usize)
        };
        reasons.push(Reason { text, place: end("start").zip(end("end")) });
    }
    reasons
}

impl Reason {
    fn lines(&self, query: &str) -> Vec<String> {
        let mut lines = self.place.map_or_else(Vec::new, |place| marked(query, place));
        lines.push(format!("  {}", self.text));
        lines
    }
}

/// The line of the query with the position, and an underline below it.
fn marked(query: &str, (start, end): (usize, usize)) -> Vec<String> {
    let (start, end) = (byte_at(query, start), byte_at(query, end));
    let line_start = query[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = query[start..].find('\n').map_or(query.len(), |at| start + at);
    let line = query[line_start..line_end].trim_end();
    let before = query[line_start..start].chars().count();
    let length = query[start..end.clamp(start, line_end)].chars().count();
    // Show a long line from a little before the position.
    let skipped = if before < LINE_CHARS_MAX / 2 { 0 } else { before - LINE_CHARS_MAX / 4 };
    let is_plain = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String = line.chars().skip(skipped).take(LINE_CHARS_MAX).map(is_plain).collect();
    let room = LINE_CHARS_MAX.saturating_sub(before - skipped);
    let sign = "^".repeat(length.clamp(1, room.max(1)));
    vec![format!("  {shown}"), format!("  {}{sign}", " ".repeat(before - skipped))]
}

/// The byte offset of a number of UTF-16 units; the end if the text is shorter.
fn byte_at(text: &str, units: usize) -> usize {
    let mut seen = 0;
    for (at, letter) in text.char_indices() {
        if seen >= units {
            return at;
        }
        seen += letter.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(message: &str) -> Vec<u8> {
        let mut object = value::Object::new();
        object.insert("code", "BadRequest");
        object.insert("message", message);
        json::print(&object.into()).into_bytes()
    }

    fn at(start: usize, end: usize, query: &str) -> String {
        let document = format!(
            r#"{{"errors":[{{"severity":"Error","location":{{"start":{start},"end":{end}}},"code":"SC2005","message":"no."}}]}}"#
        );
        text("query", 400, &body(&format!("Message: {document}\r\nActivityId: 1, x")), query)
    }

    #[test]
    fn places_are_marked() {
        let expected = "\
the query was refused (400 BadRequest)
  SELECT BAD(1)
         ^^^
  SC2005: no.";
        assert_eq!(at(7, 10, "SELECT BAD(1)"), expected);
        let several = at(13, 14, "SELECT *\nFROMé😀 x\nWHERE 1");
        assert!(several.contains("\n  FROMé😀 x\n      ^\n"), "{several}");
        // An emoji is two units and one column.
        let emoji = at(9, 10, "SELECT 😀x");
        assert!(emoji.contains("\n          ^\n"), "{emoji}");
    }

    #[test]
    fn places_that_are_none_do_no_harm() {
        for query in ["", "é", "a\nb", &"x".repeat(1000)] {
            for (start, end) in [(0, 0), (1, 0), (5, 9), (900, 2000), (usize::MAX, usize::MAX)] {
                let text = at(start, end, query);
                assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
                assert!(text.ends_with("SC2005: no."), "{text}");
            }
        }
    }

    #[test]
    fn other_refusals_keep_their_words() {
        let message = "Message: {\"Errors\":[\"Resource Not Found.\"]}\r\nActivityId: 1, Request";
        let expected = "the query was refused (404 BadRequest)\n  Resource Not Found.";
        assert_eq!(text("query", 404, &body(message), "q"), expected);
        let message = "Wrong key.\r\nActivityId: 1";
        assert!(text("query", 401, &body(message), "q").ends_with("\n  Wrong key."));
        let message =
            "Wrong key. For more info: x. Server used the following payload to sign: 'get\n'";
        assert!(text("query", 401, &body(message), "q").ends_with("\n  Wrong key."));
        assert_eq!(text("split", 502, b"<html>", ""), "the split was refused (502)");
    }
}
