//! Full text: the collection's `fullTextPolicy`, and the `fullTextIndexes` of its policy. Both are
//! stored and returned as sent. Error texts are the service's; SDK tests match them.

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

/// The most paths. The service publishes no limit; these are looked up one by one.
const PATHS_MAX: usize = 100;

/// The languages that the service supports.
const LANGUAGES: [&str; 7] = ["en-US", "de-DE", "es-ES", "fr-FR", "it-IT", "pt-BR", "pt-PT"];

/// The Windows language id of US English, which the first clients sent.
const ENGLISH_NUMBER: &str = "1033";

/// Fails unless the language is a known name or number.
fn check_language(value: &Value, what: &str) -> Result<(), Error> {
    match read::given(value) {
        None => Ok(()),
        Some(number) if is_english_number(number) => Ok(()),
        Some(language) => read::text(language, what).map(|_| ()),
    }
}

fn is_english_number(value: &Value) -> bool {
    value.as_str() == Some(ENGLISH_NUMBER) || value.as_i64() == ENGLISH_NUMBER.parse().ok()
}

/// Checks `fullTextPolicy` and returns its JSON.
pub(super) fn parse_policy(value: &Value) -> Result<Option<Value>, Error> {
    let Some(policy) = read::given(value) else { return Ok(None) };
    read::object(policy, "fullTextPolicy")?;
    check_language(policy.get("defaultLanguage"), "fullTextPolicy.defaultLanguage")?;
    if let Some(paths) = read::given(policy.get("fullTextPaths")) {
        for entry in parse_paths(paths, "fullTextPaths", invalid_path)?.1 {
            check_language(entry.get("language"), "fullTextPaths.language")?;
        }
    }
    Ok(Some(policy.clone()))
}

/// Checks the languages of a checked policy. An unchanged `current` policy is exempt, because any
/// language was once accepted.
pub(super) fn check_languages(policy: Option<&Value>, current: &Value) -> Result<(), Error> {
    let Some(policy) = policy.filter(|policy| *policy != current) else { return Ok(()) };
    let paths = policy.get("fullTextPaths").as_array().unwrap_or_default();
    let languages = paths.iter().map(|entry| entry.get("language"));
    for language in std::iter::once(policy.get("defaultLanguage")).chain(languages) {
        if let Some(language) = read::given(language).and_then(Value::as_str)
            && !LANGUAGES.contains(&language)
            && language != ENGLISH_NUMBER
        {
            let given = read::shown(language);
            return Err(Error::bad_request(format!(
                "The Full Text Policy contains an unsupported language {given}. Supported languages \
                 are: {}.",
                LANGUAGES.map(|name| format!("\"{name}\"")).join(", ")
            )));
        }
    }
    Ok(())
}

/// Checks the shape of `fullTextIndexes` and returns its JSON.
pub(super) fn parse_indexes(value: Option<&Value>) -> Result<Option<Value>, Error> {
    let Some(value) = value else { return Ok(None) };
    parse_paths(value, "fullTextIndexes", |position, entry| {
        match read::given(entry.get("path")) {
            Some(_) => {
                format!("Full-text index specification at index ({position}) contains invalid path")
            }
            None => format!("Missing path in full-text index specification at index ({position})"),
        }
    })?;
    Ok(Some(value.clone()))
}

/// The service's wording for an invalid path in the policy.
fn invalid_path(_position: usize, entry: &Value) -> String {
    let given = read::shown(entry.get("path").as_str().unwrap_or_default());
    format!("The Full Text Policy contains an invalid Path: {given}")
}

/// Checks that every full-text index of a checked indexing policy is in the full-text policy.
pub(super) fn check_indexes(indexing: &Object, policy: Option<&Value>) -> Result<(), Error> {
    let Some(indexes) = indexing.get("fullTextIndexes") else { return Ok(()) };
    let known = match policy.and_then(|policy| read::given(policy.get("fullTextPaths"))) {
        Some(paths) => parse_paths(paths, "fullTextPaths", invalid_path)?.0,
        None => Vec::new(),
    };
    for path in parse_paths(indexes, "fullTextIndexes", invalid_path)?.0 {
        if !known.contains(&path) {
            let path = read::shown(path.as_str());
            return Err(Error::bad_request(format!(
                "The path of the Full Text Index {path} does not match the path specified in the \
                 Full Text Policy"
            )));
        }
    }
    Ok(())
}

/// Parses a list of objects with distinct paths without wildcards. Returns the paths and the list.
/// `refusal` words the error for an entry's bad path.
fn parse_paths<'a>(
    value: &'a Value,
    what: &str,
    refusal: impl Fn(usize, &Value) -> String,
) -> Result<(Vec<Path>, &'a [Value]), Error> {
    let entries = read::bounded_array(value, what, PATHS_MAX)?;
    let mut paths = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        read::object(entry, what)?;
        let path = read::path(entry.get("path"), what)
            .map_err(|_| Error::bad_request(refusal(position, entry)))?;
        if paths.contains(&path) {
            let path = read::shown(path.as_str());
            return Err(Error::bad_request(format!("`{what}` has the path `{path}` twice")));
        }
        paths.push(path);
    }
    Ok((paths, entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    #[test]
    fn policies() {
        for good in [
            "null",
            "{}",
            r#"{"defaultLanguage":"en-US","fullTextPaths":[]}"#,
            r#"{"fullTextPaths":[{"path":"/a"},{"path":"/b/c","language":"de-DE"}]}"#,
        ] {
            assert!(parse_policy(&value_of(good)).is_ok(), "{good}");
        }
        for bad in [
            "[]",
            r#"{"defaultLanguage":1}"#,
            r#"{"fullTextPaths":{}}"#,
            r#"{"fullTextPaths":["/a"]}"#,
            r#"{"fullTextPaths":[{"path":"/a/*"}]}"#,
            r#"{"fullTextPaths":[{"path":"/a","language":1}]}"#,
            r#"{"fullTextPaths":[{"path":"/a"},{"path":"/a"}]}"#,
        ] {
            assert!(parse_policy(&value_of(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn languages_of_new_policies() {
        let none = &Value::Undefined;
        let policy = |default: &str, own: &str| {
            value_of(&format!(
                r#"{{"defaultLanguage":"{default}","fullTextPaths":[{{"path":"/a","language":"{own}"}}]}}"#
            ))
        };
        check_languages(None, none).unwrap();
        for language in LANGUAGES.into_iter().chain(["1033"]) {
            check_languages(Some(&policy(language, language)), none).unwrap();
        }
        let numbered =
            value_of(r#"{"defaultLanguage":1033,"fullTextPaths":[{"path":"/a","language":1033}]}"#);
        assert_eq!(parse_policy(&numbered).unwrap().as_ref(), Some(&numbered));
        check_languages(Some(&numbered), none).unwrap();
        for bad in [policy("spa-SPA", "en-US"), policy("en-US", "spa-SPA")] {
            let message = check_languages(Some(&bad), none).unwrap_err().message;
            assert!(message.starts_with(
                "The Full Text Policy contains an unsupported language spa-SPA. Supported languages \
                 are: \"en-US\", "
            ));
            // It was there before languages were checked.
            check_languages(Some(&bad), &bad).unwrap();
        }
        let empty = check_languages(Some(&policy("", "en-US")), none).unwrap_err().message;
        assert!(empty.contains("unsupported language . Supported languages are:"), "{empty}");
    }

    #[test]
    fn paths_are_refused_in_the_words_of_the_service() {
        let policy = value_of(r#"{"fullTextPaths":[{"path":"abstract","language":"en-US"}]}"#);
        assert_eq!(
            parse_policy(&policy).unwrap_err().message,
            "The Full Text Policy contains an invalid Path: abstract"
        );
        for (indexes, message) in [
            (
                r#"[{"path":"/a"},{"path":"abstract"}]"#,
                "Full-text index specification at index (1) contains invalid path",
            ),
            (
                r#"[{"not_path":"abstract"}]"#,
                "Missing path in full-text index specification at index (0)",
            ),
        ] {
            assert_eq!(parse_indexes(Some(&value_of(indexes))).unwrap_err().message, message);
        }
    }

    #[test]
    fn every_index_needs_its_place_in_the_policy() {
        let indexing = |paths: &str| {
            let indexes = parse_indexes(Some(&value_of(paths))).unwrap().unwrap();
            Object::from_iter([("fullTextIndexes".to_owned(), indexes)])
        };
        let policy = value_of(r#"{"fullTextPaths":[{"path":"/a"}]}"#);
        check_indexes(&Object::new(), None).unwrap();
        check_indexes(&indexing("[]"), None).unwrap();
        check_indexes(&indexing(r#"[{"path":"/'a'"}]"#), Some(&policy)).unwrap();
        assert!(check_indexes(&indexing(r#"[{"path":"/b"}]"#), Some(&policy)).is_err());
        assert!(check_indexes(&indexing(r#"[{"path":"/a"}]"#), None).is_err());
        for bad in ["{}", "[1]", "[{}]", r#"[{"path":"/a/?"}]"#] {
            assert!(parse_indexes(Some(&value_of(bad))).is_err(), "{bad}");
        }
    }
}
