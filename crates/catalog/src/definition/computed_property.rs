//! `computedProperties`: named expressions that queries use like stored properties.

use protocol::Error;
use sql::{
    Code,
    ast::Projection,
    program::{Computed, Program, Settings, check_computed_all},
};
use value::{Object, Value, json};

use super::{PartitionKeyDefinition, SYSTEM_PROPERTIES, index_path, read};

/// The most computed properties per collection.
const PROPERTIES_MAX: usize = 20;

/// Checks the properties and returns their JSON.
pub(super) fn parse(value: &Value) -> Result<Option<Value>, Error> {
    let Some(value) = read::given(value) else { return Ok(None) };
    let mut names = Vec::new();
    let mut entries = Vec::new();
    for property in read::bounded_array(value, "computedProperties", PROPERTIES_MAX)? {
        read::object(property, "computedProperties")?;
        let name = member(property, "name")?;
        let query = member(property, "query")?;
        if names.contains(&name) {
            return Err(Error::bad_request(format!(
                "Computed property name '{}' cannot be used in multiple definitions.",
                read::shown(name)
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

/// The text of a required member of a computed property.
///
/// COMPAT: SDK tests match both messages whole.
fn member<'a>(property: &'a Value, name: &str) -> Result<&'a str, Error> {
    match property.get(name).as_str() {
        None => Err(Error::bad_request("One of the specified inputs is invalid")),
        Some("") => Err(Error::bad_request(format!(
            "Computed property '{name}' is either empty or unspecified."
        ))),
        Some(text) => Ok(text),
    }
}

/// Compiles the properties; fails if one is invalid. In stored collections, invalid ones are
/// ignored, because earlier versions accepted any query.
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
    for (index, (name, query)) in definitions.iter().enumerate() {
        check_words(index, name, query)?;
    }
    // A filter on this name would be mistaken for a partition key filter and sent to the wrong
    // partition.
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

/// Rejects the cases for which the service has its own wording.
///
/// COMPAT: SDK tests match these messages whole.
fn check_words(index: usize, name: &str, text: &str) -> Result<(), Error> {
    if name == "id" || SYSTEM_PROPERTIES.contains(&name) {
        return Err(Error::bad_request(format!(
            "The system property name '{name}' cannot be used as a computed property name."
        )));
    }
    let malformed = |error: sql::Error| {
        // Here its code is a bare number, and it has no location.
        let mut details = Object::new();
        details.insert("severity", "Error");
        if let Some(number) = error.code.number() {
            details.insert("code", i64::from(number));
        }
        details.insert("message", error.message);
        let errors = vec![Value::Object(details)];
        let details = Value::Object(Object::from_iter([("errors".to_owned(), errors.into())]));
        Error::bad_request(format!(
            "Computed property at index ({index}) has a malformed query: '{}' Error details: '{}'",
            read::shown(text),
            json::print(&details)
        ))
    };
    let query = sql::parse(text).map_err(malformed)?;
    if let Err(errors) = Program::compile(&query, &Settings::default())
        && let Some(error) = errors.into_iter().find(|it| it.code == Code::UnresolvedIdentifier)
    {
        return Err(malformed(error));
    }
    if !matches!(query.select.projection, Projection::Value(_)) {
        return Err(Error::bad_request(format!(
            "Required VALUE expression missing from computed property query '{}' at index ({index}).",
            read::shown(text)
        )));
    }
    Ok(())
}

/// Rejects a spatial index on a computed property: only stored shapes are indexed. `indexing` is a
/// normalised policy.
pub(super) fn check_spatial(computed: &[Computed], indexing: Option<&Value>) -> Result<(), Error> {
    let spatial =
        indexing.map(|policy| policy.get("spatialIndexes").as_array().unwrap_or_default());
    let paths = spatial.unwrap_or_default().iter().filter_map(|index| index.get("path").as_str());
    for rule in paths.filter_map(|path| index_path::parse(path).ok()) {
        let place = computed.iter().position(|property| rule.starts_at(&property.name));
        if let Some(index) = place {
            return Err(Error::bad_request(format!(
                "Computed property '{}' at index ({index}) has a spatial index. Remove the spatial \
                 index on this path.",
                read::shown(&computed[index].name)
            )));
        }
    }
    Ok(())
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
        for bad in ["{}", "[1]", &list(21)] {
            assert!(parse(&value_of(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_members_are_refused_in_the_words_of_the_service() {
        const INVALID: &str = "One of the specified inputs is invalid";
        for (bad, message) in [
            ("[{}]", INVALID),
            (r#"[{"name":"a"}]"#, INVALID),
            (r#"[{"name":1,"query":"q"}]"#, INVALID),
            (
                r#"[{"name":"","query":"q"}]"#,
                "Computed property 'name' is either empty or unspecified.",
            ),
            (
                r#"[{"name":"a","query":""}]"#,
                "Computed property 'query' is either empty or unspecified.",
            ),
            (
                r#"[{"name":"x","query":"q"},{"name":"x","query":"r"}]"#,
                "Computed property name 'x' cannot be used in multiple definitions.",
            ),
        ] {
            assert_eq!(parse(&value_of(bad)).unwrap_err().message, message, "{bad}");
        }
    }

    #[test]
    fn bad_queries_are_refused_in_the_words_of_the_service() {
        let key = PartitionKeyDefinition {
            paths: Vec::new(),
            hashing: value::partition_key::Hashing::V2,
            is_system: false,
        };
        for (name, query, message) in [
            (
                "id",
                "SELECT VALUE c.a FROM c",
                "The system property name 'id' cannot be used as a computed property name.",
            ),
            (
                "x",
                "SELECT LOWER(c.name) FROM c",
                "Required VALUE expression missing from computed property query 'SELECT \
                 LOWER(c.name) FROM c' at index (0).",
            ),
            (
                "x",
                "SELECT LOWER(c.name) FROM r",
                r#"Computed property at index (0) has a malformed query: 'SELECT LOWER(c.name) FROM r' Error details: '{"errors":[{"severity":"Error","code":2001,"message":"Identifier 'c' could not be resolved."}]}'"#,
            ),
        ] {
            let json = format!(r#"[{{"name":"{name}","query":"{query}"}}]"#);
            assert_eq!(compile(&value_of(&json), &key).unwrap_err().message, message);
        }
        let json = r#"[{"name":"x","query":"SELECT VALUE c.a FROM c"}]"#;
        let computed = compile(&value_of(json), &key).unwrap();
        let indexing = |path: &str| {
            value_of(&format!(r#"{{"spatialIndexes":[{{"path":"{path}","types":["Point"]}}]}}"#))
        };
        check_spatial(&computed, Some(&indexing("/y/x/*"))).unwrap();
        assert_eq!(
            check_spatial(&computed, Some(&indexing("/x/*"))).unwrap_err().message,
            "Computed property 'x' at index (0) has a spatial index. Remove the spatial index on this \
             path."
        );
    }
}
