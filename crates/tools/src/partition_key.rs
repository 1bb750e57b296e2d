//! Partition keys on command lines: JSON, one value or an array of them.

use std::fmt::Write as _;

use value::{Value, json};

use crate::failure::Failure;

/// The header for a key that the user typed.
pub(crate) fn header(text: &str) -> Result<String, Failure> {
    Ok(header_of(match parse(text, "the partition key")? {
        Value::Array(levels) => levels,
        one => vec![one],
    }))
}

/// The header for a key: its array, in ASCII.
pub(crate) fn header_of(levels: Vec<Value>) -> String {
    let mut ascii = String::new();
    for letter in json::print(&levels.into()).chars() {
        if letter.is_ascii() {
            ascii.push(letter);
            continue;
        }
        let mut units = [0; 2];
        for unit in letter.encode_utf16(&mut units) {
            // Writing to a string cannot fail.
            let _ = write!(ascii, "\\u{unit:04x}");
        }
    }
    ascii
}

/// Parses JSON that the user typed as `what`.
pub(crate) fn parse(text: &str, what: &str) -> Result<Value, Failure> {
    json::parse(text.as_bytes()).map_err(|error| {
        let hint = "a string needs quotes, as in '\"text\"'";
        Failure::usage(format!("{what} is not JSON ({error}); {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_keys_become_arrays() {
        assert_eq!(header("\"ada\"").unwrap(), r#"["ada"]"#);
        assert_eq!(header("[\"a\", 1]").unwrap(), r#"["a",1]"#);
        assert_eq!(header("\"é😀\"").unwrap(), r#"["\u00e9\ud83d\ude00"]"#);
        assert!(header("ada").unwrap_err().message().contains("quotes"));
    }
}
