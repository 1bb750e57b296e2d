//! `computedProperties`: named expressions that queries use like stored properties.

use protocol::Error;
use sql::program::{Computed, check_computed_all};
use value::{Object, Value};

use super::{PartitionKeyDefinition, read};

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

/// The properties ready for use; refused if one cannot be. Those of a stored collection that cannot
/// are left alone and not used: earlier versions took any query.
pub(super) fn compile(
    value: &Value,
    partition_key: &PartitionKeyDefinition,
) -> Result<Vec<Computed>, Error> {
    parse(value)?;
    // COMPAT: SDK tests match the first sentence.
    let invalid = |what: String| {
        Error::bad_request(format!("One of the specified inputs is invalid: {what}"))
    };
    let definitions = definitions(value);
    // A filter by that name would be taken for one by the key, and sent to the wrong partition.
    let roots = partition_key.paths.iter().filter_map(|path| path.segments().first());
    for root in roots {
        if definitions.iter().any(|(name, _)| name == root) {
            return Err(invalid(format!(
                "The computed property '{}' has the name of the partition key.",
                read::shown(root)
            )));
        }
    }
    check_computed_all(&definitions).map_err(invalid)
}

fn definitions(value: &Value) -> Vec<(&str, &str)> {
    let properties = value.as_array().unwrap_or_default().iter();
    properties
        .filter_map(|property| {
            Some((property.get("name").as_str()?, property.get("query").as_str()?))
        })
        .collect()
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
