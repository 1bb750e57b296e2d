//! Asks for confirmation before data is destroyed.

use std::io::{self, BufRead, IsTerminal as _, Read as _, Write};

use anyhow::anyhow;

use crate::failure::Failure;

/// Longest answer to read.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Confirms the deletion of `what`: by `--yes`, or if the user types the name on a terminal.
pub(crate) fn deletion(what: &str, name: &str, is_agreed: bool) -> Result<(), Failure> {
    if is_agreed {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!(
            "this would delete the {what} `{name}` with everything in it: confirm with --yes"
        )));
    }
    let (mut answer, mut question) = (io::stdin().lock().take(ANSWER_BYTES_MAX), io::stderr());
    if is_typed(what, name, &mut answer, &mut question).map_err(Failure::start)? {
        return Ok(());
    }
    Err(Failure::start(anyhow!("nothing was deleted")))
}

fn is_typed(
    what: &str,
    name: &str,
    answer: &mut impl BufRead,
    question: &mut impl Write,
) -> io::Result<bool> {
    write!(
        question,
        "This deletes the {what} `{name}` with everything in it. Type its name to continue: "
    )?;
    question.flush()?;
    let mut line = String::new();
    answer.read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_itself_agrees() {
        for (typed, expected) in [
            ("shop\n", true),
            ("shop", true),
            ("shop\r\n", true),
            ("Shop\n", false),
            ("y\n", false),
        ] {
            let mut question = Vec::new();
            let is_typed = is_typed("database", "shop", &mut typed.as_bytes(), &mut question);
            assert_eq!(is_typed.unwrap(), expected, "{typed}");
            assert!(String::from_utf8(question).unwrap().contains("database `shop`"));
        }
        assert!(!is_typed("database", "shop", &mut io::empty(), &mut io::sink()).unwrap());
    }
}
