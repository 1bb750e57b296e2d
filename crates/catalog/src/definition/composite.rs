//! `compositeIndexes`: indexes over several properties, needed for `ORDER BY` with more than one
//! path.

use index::Path;
use protocol::Error;
use value::{Object, Value};

use super::{index_path, read};

/// The most composite indexes per collection.
const INDEXES_MAX: usize = 100;
/// The most paths per composite index.
const PATHS_MAX: usize = 8;

/// The members of an index: each path, and whether it is descending.
pub(super) type Members = Vec<(Path, bool)>;

/// Parses the indexes. Also returns their JSON, in which each path has its order.
pub(super) fn parse(value: Option<&Value>) -> Result<(Vec<Members>, Option<Value>), Error> {
    let Some(value) = value else { return Ok((Vec::new(), None)) };
    let indexes = read::bounded_array(value, "compositeIndexes", INDEXES_MAX)?;
    let indexes = indexes.iter().map(parse_index).collect::<Result<Vec<_>, _>>()?;
    let (indexes, json): (Vec<_>, Vec<_>) = indexes.into_iter().unzip();
    Ok((indexes, Some(json.into())))
}

fn parse_index(value: &Value) -> Result<(Members, Value), Error> {
    let members = read::bounded_array(value, "compositeIndexes", PATHS_MAX)?;
    if members.len() < 2 {
        return Err(Error::bad_request("a composite index needs at least two paths"));
    }
    let mut parsed = Members::new();
    let mut entries = Vec::new();
    for member in members {
        read::object(member, "compositeIndexes")?;
        let path = read::member(member, "path").unwrap_or(&Value::Undefined);
        let path = read::text(path, "compositeIndexes.path")?;
        let place = index_path::parse_composite(path)?;
        if parsed.iter().any(|(other, _)| *other == place) {
            let path = read::shown(path);
            return Err(Error::bad_request(format!(
                "a composite index has the path `{path}` twice"
            )));
        }
        let order = match read::member(member, "order") {
            Some(order) => {
                read::choice(order, "compositeIndexes.order", &["ascending", "descending"])?
            }
            None => "ascending",
        };
        parsed.push((place, order == "descending"));
        let mut entry = Object::new();
        entry.insert("path", path);
        entry.insert("order", order);
        entries.push(entry.into());
    }
    Ok((parsed, Value::Array(entries)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    fn index(paths: usize) -> String {
        let paths: Vec<_> = (0..paths).map(|n| format!(r#"{{"path":"/p{n}"}}"#)).collect();
        format!("[{}]", paths.join(","))
    }

    #[test]
    fn sizes() {
        for (sent, is_good) in [
            (format!("[{}]", index(1)), false),
            (format!("[{}]", index(2)), true),
            (format!("[{}]", index(8)), true),
            (format!("[{}]", index(9)), false),
            (format!("[{}]", vec![index(2); 100].join(",")), true),
            (format!("[{}]", vec![index(2); 101].join(",")), false),
            ("[]".to_owned(), true),
        ] {
            assert_eq!(parse(Some(&value_of(&sent))).is_ok(), is_good, "{sent}");
        }
        assert_eq!(parse(None).unwrap(), (Vec::new(), None));
    }

    #[test]
    fn what_is_refused() {
        for sent in [
            "{}",
            "[{}]",
            "[[]]",
            "[[1,2]]",
            r#"[[{"path":"/a"},{"order":"ascending"}]]"#,
            r#"[[{"path":"/a"},{"path":1}]]"#,
            r#"[[{"path":"/a"},{"path":"/'a'"}]]"#,
            r#"[[{"path":"/a"},{"path":"/b/?"}]]"#,
            r#"[[{"path":"/a"},{"path":"/b/*"}]]"#,
            r#"[[{"path":"/a"},{"path":"/b","order":"up"}]]"#,
            r#"[[{"path":"/a"},{"path":"/b","order":1}]]"#,
        ] {
            assert!(parse(Some(&value_of(sent))).is_err(), "{sent}");
        }
    }
}
