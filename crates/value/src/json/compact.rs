//! Text to text: the form in which documents are stored.

use super::print::escape;
use super::string::plain_end;

/// Appends a text that [`parse`](super::parse) has accepted, or a value within one, without white
/// space outside strings and with raw control characters in strings escaped. Everything else is
/// copied unchanged: number text, escapes, the order of members.
pub fn compact(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'"' => at = copy_string(text, at, out),
            _ => {
                let rest = &text[at..];
                let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"');
                let length = rest.iter().position(ends).unwrap_or(rest.len());
                out.extend_from_slice(&rest[..length]);
                at += length;
            }
        }
    }
}

/// Copies the string whose opening quote is at `start`; returns the offset after it.
fn copy_string(text: &[u8], start: usize, out: &mut Vec<u8>) -> usize {
    let mut from = start;
    let mut at = start + 1;
    loop {
        at = plain_end(text, at);
        match text.get(at) {
            Some(b'"') => {
                at += 1;
                break;
            }
            // The escaped character cannot end the string.
            Some(b'\\') => at = (at + 2).min(text.len()),
            Some(control) => {
                out.extend_from_slice(&text[from..at]);
                escape(*control, out);
                at += 1;
                from = at;
            }
            None => break,
        }
    }
    out.extend_from_slice(&text[from..at]);
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{parse, parse_document, print};
    use crate::testing::json_value;
    use proptest::prelude::*;

    fn compacted(text: &str) -> String {
        let mut out = Vec::new();
        compact(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn white_space_goes_and_all_else_stays() {
        let text = " { \"a b\" :\t[ 1.0 ,\r\n-0, 1E5 ] , \"\\u00e9\\\" \\\\\" : \" { , } \" } ";
        let expected = "{\"a b\":[1.0,-0,1E5],\"\\u00e9\\\" \\\\\":\" { , } \"}";
        assert_eq!(compacted(text), expected);
        assert_eq!(compacted(expected), expected);
    }

    #[test]
    fn raw_control_characters_are_escaped() {
        let text = "{\"a\tb\":\"\r\n\u{8}\u{c}\0\u{1f}\\n \"}";
        assert_eq!(compacted(text), r#"{"a\tb":"\r\n\b\f\u0000\u001f\n "}"#);
        assert_eq!(parse(compacted(text).as_bytes()), parse(text.as_bytes()));
    }

    /// Any text of a value, with spaces between its tokens and raw control characters in strings.
    fn spaced(text: &str) -> String {
        let mut out = String::new();
        let mut is_in_string = false;
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    other => {
                        out.push(char);
                        out.extend(other);
                    }
                },
                '"' => {
                    is_in_string = !is_in_string;
                    out.push(char);
                }
                ',' | ':' | '{' | '[' if !is_in_string => {
                    out.push_str(" \n");
                    out.push(char);
                    out.push('\t');
                }
                _ => out.push(char),
            }
        }
        out
    }

    proptest! {
        #[test]
        fn compacting_undoes_spacing(value in json_value()) {
            let text = print(&value);
            prop_assert_eq!(&compacted(&text), &text);
            prop_assert_eq!(compacted(&spaced(&text)), text);
        }

        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes: Vec<u8>) {
            compact(&bytes, &mut Vec::new());
        }

        /// The parser's predictions match what compacting does.
        #[test]
        fn the_parser_knows_what_is_compact(value in json_value()) {
            let text = print(&vec![value].into()).replacen('[', "{\"a\":", 1);
            let text = format!("{}}}", &text[..text.len() - 1]);
            for text in [text.clone(), spaced(&text)] {
                let document = parse_document(text.as_bytes()).unwrap();
                prop_assert_eq!(document.is_compact, compacted(&text) == text);
                prop_assert!(compacted(&text).len() <= text.len() + document.escape_bytes);
            }
        }
    }
}
