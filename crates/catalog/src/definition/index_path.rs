//! The paths of indexing policies, with the service's error texts.

use index::{Path, Rule, RuleError, parse_composite_path};
use protocol::Error;

use super::read::shown;

/// Parses an entry of `includedPaths`, `excludedPaths` or `spatialIndexes`.
pub(super) fn parse(text: &str) -> Result<Rule, Error> {
    Rule::parse(text).map_err(|error| refused(text, error))
}

/// Parses a member of a composite index.
pub(super) fn parse_composite(text: &str) -> Result<Path, Error> {
    parse_composite_path(text).map_err(|error| refused(text, error))
}

/// The message hints at the usual mistake: a name such as `first-name` needs quotes.
fn refused(text: &str, RuleError { position }: RuleError) -> Error {
    let text = shown(text);
    Error::bad_request(format!(
        "The indexing path '{text}' could not be accepted, failed near position '{position}'. \
         Please ensure that the path is a valid path. Common errors include invalid characters or \
         absence of quotes around labels."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_where() {
        for error in
            [parse("/a/first-name/?").unwrap_err(), parse_composite("/a/first-name").unwrap_err()]
        {
            let begins = error.message.split('.').next().unwrap_or_default().to_owned();
            assert!(begins.starts_with("The indexing path '/a/first-name"), "{begins}");
            assert!(
                begins.ends_with("could not be accepted, failed near position '3'"),
                "{begins}"
            );
        }
    }
}
