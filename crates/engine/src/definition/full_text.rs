//! Full text: the collection's `fullTextPolicy`, and the `fullTextIndexes` of its policy. Both are
//! stored and returned as they were sent.

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

/// Most paths. The service publishes no limit; these are looked up one by one.
const PATHS_MAX: usize = 100;

/// Checks `fullTextPolicy` and answers with its JSON.
pub(super) fn parse_policy(value: &Value) -> Result<Option<Value>, Error> {
    let Some(policy) = read::given(value) else { return Ok(None) };
    read::object(policy, "fullTextPolicy")?;
    if let Some(language) = read::given(policy.get("defaultLanguage")) {
        read::text(language, "fullTextPolicy.defaultLanguage")?;
    }
    if let Some(paths) = read::given(policy.get("fullTextPaths")) {
        for entry in parse_paths(paths, "fullTextPaths")?.1 {
            if let Some(language) = read::given(entry.get("language")) {
                read::text(language, "fullTextPaths.language")?;
            }
        }
    }
    Ok(Some(policy.clone()))
}

/// Checks the shape of `fullTextIndexes` and answers with its JSON.
pub(super) fn parse_indexes(value: Option<&Value>) -> Result<Option<Value>, Error> {
    let Some(value) = value else { return Ok(None) };
    parse_paths(value, "fullTextIndexes")?;
    Ok(Some(value.clone()))
}

/// Checks that every full-text index (of a checked indexing policy) is in the full-text policy.
pub(super) fn check_indexes(indexing: &Object, policy: Option<&Value>) -> Result<(), Error> {
    let Some(indexes) = indexing.get("fullTextIndexes") else { return Ok(()) };
    let known = match policy.and_then(|policy| read::given(policy.get("fullTextPaths"))) {
        Some(paths) => parse_paths(paths, "fullTextPaths")?.0,
        None => Vec::new(),
    };
    for path in parse_paths(indexes, "fullTextIndexes")?.0 {
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

/// The paths of a list of objects, each without wildcards and there once, and the list.
fn parse_paths<'a>(value: &'a Value, what: &str) -> Result<(Vec<Path>, &'a [Value]), Error> {
    let entries = read::bounded_array(value, what, PATHS_MAX)?;
    let mut paths = Vec::new();
    for entry in entries {
        read::object(entry, what)?;
        let path = read::path(entry.get("path"), &format!("{what}.path"))?;
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
