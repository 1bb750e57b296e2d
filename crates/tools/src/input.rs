//! Reads the input of commands: a file, or stdin.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::Path,
};

use value::{Value, json};

use crate::{failure::Failure, output};

/// Far more than a request may have: a longer input is a mistake.
const BYTES_MAX: u64 = 64 << 20;

/// Some programs put this before a text to mark it as UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a file, or of stdin for `-`. `what` describes the expected content.
pub(crate) fn bytes(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    let (read, name) = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            output::say(&format!("type {what}, then ctrl-d on a line of its own"));
        }
        (limited(io::stdin().lock()), "stdin".to_owned())
    } else {
        (File::open(path).and_then(limited), format!("`{}`", path.display()))
    };
    let mut bytes =
        read.map_err(|error| Failure::usage(format!("cannot read {what} from {name}: {error}")))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Failure::usage(format!("{what} in {name} has more than {BYTES_MAX} bytes")));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// The JSON of a file, or of stdin.
pub(crate) fn json(path: &Path, what: &str) -> Result<Value, Failure> {
    parse(&bytes(path, what)?, what)
}

/// Parses bytes that were read as `what`.
pub(crate) fn parse(bytes: &[u8], what: &str) -> Result<Value, Failure> {
    json::parse(bytes).map_err(|error| Failure::usage(format!("{what} is not JSON: {error}")))
}

fn limited(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_problems_named() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("a.json");
        std::fs::write(&file, b"\xef\xbb\xbf{\"a\":1}").unwrap();
        assert_eq!(json(&file, "the document").unwrap().get("a").as_i64(), Some(1));
        std::fs::write(&file, b"{").unwrap();
        let failure = json(&file, "the document").unwrap_err();
        assert!(failure.message().starts_with("the document is not JSON"), "{failure}");
        let failure = bytes(&scratch.path().join("b"), "the document").unwrap_err();
        assert!(failure.message().starts_with("cannot read the document from `"), "{failure}");
    }
}
