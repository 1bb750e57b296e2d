//! `computedProperties`: named expressions that queries use like stored properties. Only their
//! shape is checked here; the query is text until it is first used.

use protocol::Error;
use value::{Object, Value};

use super::read;

/// Most computed properties of a collection.
const PROPERTIES_MAX: usize = 20;

/// Checks the properties and answers with their JSON.
pub(super) fn parse(value: &Value) -> Result<Option<Value>, Error> {
    let Some(value) = read::given(value) else { return Ok(None) };
    let mut names = Vec::new();
    let mut entries = Vec::new();
    for property in read::bounded_array(value, "computedProperties", PROPERTIES_MAX)? {
        read::object(property, "computedProperties")?;
        let name = read::text(property.get("name"), "computedProperties.name")?;
        let query = read::text(property.get("query"), "computedProperties.query")?;
        if name.is_empty() || query.is_empty() || names.contains(&name) {
            // COMPAT: SDK tests match the first sentence.
            let name = read::shown(name);
            return Err(Error::bad_request(format!(
                "One of the specified inputs is invalid: the computed property `{name}` must have \
                 a name of its own and a query"
            )));
        }
        names.push(name);
        let mut entry = Object::new();
        entry.insert("name", name);
        entry.insert("query", query);
        entries.push(entry.into());
    }
    Ok(Some(Value::Array(entries)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;
    use value::json::print;

    fn list(count: usize) -> String {
        let entries: Vec<_> = (0..count)
            .map(|n| format!(r#"{{"name":"p{n}","query":"SELECT VALUE c.a FROM c"}}"#))
            .collect();
        format!("[{}]", entries.join(","))
    }

    #[test]
    fn shapes() {
        for good in ["[]".to_owned(), list(1), list(20)] {
            assert_eq!(print(&parse(&value_of(&good)).unwrap().unwrap()), good);
        }
        assert!(parse(&Value::Null).unwrap().is_none());
        for bad in [
            "{}",
            "[1]",
            "[{}]",
            r#"[{"name":"a"}]"#,
            r#"[{"name":1,"query":"q"}]"#,
            r#"[{"name":"","query":"q"}]"#,
            r#"[{"name":"a","query":""}]"#,
            r#"[{"name":"a","query":"q"},{"name":"a","query":"q"}]"#,
            &list(21),
        ] {
            assert!(parse(&value_of(bad)).is_err(), "{bad}");
        }
    }
}
