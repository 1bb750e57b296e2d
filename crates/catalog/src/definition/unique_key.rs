//! `uniqueKeyPolicy`: combinations of values that no two documents of a logical partition may
//! share. Fixed when the collection is created.

use protocol::Error;
use value::path::Path;
use value::{Object, Value};

use super::read;

/// The most unique keys per collection.
const KEYS_MAX: usize = 10;
/// The most paths per unique key.
const PATHS_MAX: usize = 16;

/// Parses the paths of each unique key. Also returns the policy's JSON as the service returns it.
pub(super) fn parse(value: &Value) -> Result<(Vec<Vec<Path>>, Object), Error> {
    let mut keys: Vec<Vec<Path>> = Vec::new();
    if let Some(policy) = read::given(value) {
        read::object(policy, "uniqueKeyPolicy")?;
        if let Some(list) = read::given(policy.get("uniqueKeys")) {
            for key in read::bounded_array(list, "uniqueKeys", KEYS_MAX)? {
                let paths = parse_key(key)?;
                if keys.iter().any(|other| is_same_set(other, &paths)) {
                    return Err(Error::bad_request("a unique key occurs twice"));
                }
                keys.push(paths);
            }
        }
    }
    let texts = |paths: &Vec<Path>| -> Vec<Value> {
        paths.iter().map(|path| path.as_str().into()).collect()
    };
    let list = keys
        .iter()
        .map(|paths| Value::from(Object::from_iter([("paths".into(), texts(paths).into())])));
    let json = Object::from_iter([("uniqueKeys".into(), list.collect::<Vec<_>>().into())]);
    Ok((keys, json))
}

fn parse_key(key: &Value) -> Result<Vec<Path>, Error> {
    read::object(key, "uniqueKeys")?;
    let mut paths = Vec::new();
    for element in read::bounded_array(key.get("paths"), "uniqueKeys.paths", PATHS_MAX)? {
        let path = read::path(element, "uniqueKeys.paths")?;
        if paths.contains(&path) {
            let path = read::shown(path.as_str());
            return Err(Error::bad_request(format!("a unique key has the path `{path}` twice")));
        }
        paths.push(path);
    }
    if paths.is_empty() {
        return Err(Error::bad_request("a unique key needs at least one path"));
    }
    Ok(paths)
}

/// Fails if the keys differ from `current`, in any order. Leaving them out is a change.
pub(super) fn check_unchanged(current: &[Vec<Path>], value: &Value) -> Result<(), Error> {
    let (keys, _) = parse(value)?;
    let is_known = |key: &Vec<Path>| current.iter().any(|other| is_same_set(other, key));
    if keys.len() == current.len() && keys.iter().all(is_known) {
        return Ok(());
    }
    Err(Error::bad_request(
        "The unique index cannot be modified. To change the unique index, remove the collection \
         and re-create a new one.",
    ))
}

/// Whether two lists without duplicates hold the same paths.
fn is_same_set(one: &[Path], other: &[Path]) -> bool {
    one.len() == other.len() && one.iter().all(|path| other.contains(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;
    use value::json::print;

    #[test]
    fn good_policies() {
        for (sent, returned, keys) in [
            ("null", r#"{"uniqueKeys":[]}"#, 0),
            ("{}", r#"{"uniqueKeys":[]}"#, 0),
            (r#"{"uniqueKeys":null}"#, r#"{"uniqueKeys":[]}"#, 0),
            (
                r#"{"uniqueKeys":[{"paths":["/a/b","/'c'"],"x":1},{"paths":["/a/b"]}]}"#,
                r#"{"uniqueKeys":[{"paths":["/a/b","/'c'"]},{"paths":["/a/b"]}]}"#,
                2,
            ),
        ] {
            let (parsed, json) = parse(&value_of(sent)).unwrap();
            assert_eq!((parsed.len(), print(&json.into()).as_str()), (keys, returned));
        }
    }

    #[test]
    fn bad_policies() {
        for sent in [
            "[]",
            r#"{"uniqueKeys":{}}"#,
            r#"{"uniqueKeys":["/a"]}"#,
            r#"{"uniqueKeys":[{}]}"#,
            r#"{"uniqueKeys":[{"paths":[]}]}"#,
            r#"{"uniqueKeys":[{"paths":"/a"}]}"#,
            r#"{"uniqueKeys":[{"paths":["a"]}]}"#,
            r#"{"uniqueKeys":[{"paths":["/a/*"]}]}"#,
            r#"{"uniqueKeys":[{"paths":["/a/[]/b"]}]}"#,
            r#"{"uniqueKeys":[{"paths":["/a","/'a'"]}]}"#,
            r#"{"uniqueKeys":[{"paths":["/a","/b"]},{"paths":["/b","/a"]}]}"#,
        ] {
            assert!(parse(&value_of(sent)).is_err(), "{sent}");
        }
    }

    #[test]
    fn sizes() {
        let paths = |from: usize, count: usize| {
            let texts: Vec<_> = (from..from + count).map(|n| format!(r#""/p{n}""#)).collect();
            format!(r#"{{"paths":[{}]}}"#, texts.join(","))
        };
        let keys = |count: usize| {
            let keys: Vec<_> = (0..count).map(|n| paths(n, 1)).collect();
            value_of(&format!(r#"{{"uniqueKeys":[{}]}}"#, keys.join(",")))
        };
        assert!(parse(&keys(10)).is_ok() && parse(&keys(11)).is_err());
        let wide = |count| value_of(&format!(r#"{{"uniqueKeys":[{}]}}"#, paths(0, count)));
        assert!(parse(&wide(16)).is_ok() && parse(&wide(17)).is_err());
    }

    #[test]
    fn they_cannot_change() {
        let sent = r#"{"uniqueKeys":[{"paths":["/a","/b"]},{"paths":["/c"]}]}"#;
        let (current, _) = parse(&value_of(sent)).unwrap();
        let same = r#"{"uniqueKeys":[{"paths":["/c"]},{"paths":["/b","/a"]}]}"#;
        check_unchanged(&current, &value_of(same)).unwrap();
        check_unchanged(&[], &Value::Undefined).unwrap();
        for changed in [
            "null",
            r#"{"uniqueKeys":[{"paths":["/c"]}]}"#,
            r#"{"uniqueKeys":[{"paths":["/a"]},{"paths":["/c"]}]}"#,
        ] {
            assert!(check_unchanged(&current, &value_of(changed)).is_err(), "{changed}");
        }
    }
}
