//! Spatial data: the collection's `geospatialConfig`, and the `spatialIndexes` of its policy.

use index::Spatial;
use protocol::Error;
use value::{Object, Value};

use super::{index_path, read};

const TYPES: [&str; 4] = ["Point", "LineString", "Polygon", "MultiPolygon"];

/// The most spatial indexes: the service's limit for paths.
const INDEXES_MAX: usize = 1500;

/// The JSON of `geospatialConfig`, and whether it is `Geometry`, that is, points on a plane.
pub(super) fn parse_config(value: &Value) -> Result<(bool, Object), Error> {
    let mut kind = "Geography";
    if let Some(config) = read::given(value) {
        read::object(config, "geospatialConfig")?;
        if let Some(given) = read::given(config.get("type")) {
            kind = read::choice(given, "geospatialConfig.type", &["Geography", "Geometry"])?;
        }
    }
    Ok((kind == "Geometry", Object::from_iter([("type".into(), kind.into())])))
}

/// Parses the indexes. Also returns their JSON.
pub(super) fn parse(
    value: Option<&Value>,
    is_geometry: bool,
) -> Result<(Vec<Spatial>, Option<Value>), Error> {
    let Some(value) = value else { return Ok((Vec::new(), None)) };
    let mut indexes: Vec<Spatial> = Vec::new();
    let mut entries = Vec::new();
    for index in read::bounded_array(value, "spatialIndexes", INDEXES_MAX)? {
        read::object(index, "spatialIndexes")?;
        let member = |name| read::member(index, name).unwrap_or(&Value::Undefined);
        let text = read::text(member("path"), "spatialIndexes.path")?;
        let rule = index_path::parse(text)?;
        if indexes.iter().any(|index| index.rule == rule) {
            let text = read::shown(text);
            return Err(Error::bad_request(format!("the spatial path `{text}` occurs twice")));
        }
        let mut entry = Object::new();
        entry.insert("path", text);
        check_types(member("types"), text)?;
        entry.insert("types", TYPES.map(Value::from).to_vec());
        let (bounds, json) = parse_bounds(member("boundingBox"), is_geometry, text)?.unzip();
        if let Some(json) = json {
            entry.insert("boundingBox", json);
        }
        indexes.push(Spatial { rule, bounds });
        entries.push(entry.into());
    }
    Ok((indexes, Some(Value::Array(entries))))
}

/// The JSON of a geography index on this path.
pub(super) fn index_of(path: Value) -> Value {
    let types = Value::from(TYPES.map(Value::from).to_vec());
    Object::from_iter([("path".to_owned(), path), ("types".to_owned(), types)]).into()
}

/// Checks the types that a client names. Any of them results in an index of all four.
fn check_types(value: &Value, path: &str) -> Result<(), Error> {
    let types = match read::given(value) {
        Some(types) => read::bounded_array(types, "spatialIndexes.types", TYPES.len())?,
        None => &[],
    };
    if types.is_empty() {
        return Err(Error::bad_request(format!(
            "The spatial data types array cannot be empty. Assign at least one spatial type for the \
             'types' array for the path '{}'.",
            read::shown(path)
        )));
    }
    let mut seen = Vec::new();
    for element in types {
        let name = read::choice(element, "spatialIndexes.types", &TYPES)?;
        if seen.contains(&name) {
            return Err(Error::bad_request("a spatial index lists a type twice"));
        }
        seen.push(name);
    }
    Ok(())
}

/// Parses the bounds, which only a geometry index has; a geography index covers the Earth.
fn parse_bounds(
    value: &Value,
    is_geometry: bool,
    path: &str,
) -> Result<Option<([f64; 4], Object)>, Error> {
    let path = read::shown(path);
    match (value, is_geometry) {
        (Value::Undefined, false) => Ok(None),
        (Value::Undefined, true) => Err(Error::bad_request(format!(
            "Required parameter 'boundingBox' for 'Geometry' collection is missing in spatial path \
             '{path}'"
        ))),
        (_, false) => Err(Error::bad_request(format!(
            "Unexpected parameter 'boundingBox' for 'Geography' collection in spatial path '{path}'"
        ))),
        (value, true) => {
            read::object(value, "boundingBox")?;
            let mut bounds = Object::new();
            let mut corner = [0.0; 4];
            for (name, slot) in ["xmin", "ymin", "xmax", "ymax"].into_iter().zip(&mut corner) {
                let number = value.get(name);
                *slot = number
                    .as_f64()
                    .ok_or_else(|| read::wrong(&format!("boundingBox.{name}"), "a number"))?;
                bounds.insert(name, number.clone());
            }
            if corner[0] >= corner[2] || corner[1] >= corner[3] {
                return Err(Error::bad_request("a bounding box must have an area"));
            }
            Ok(Some((corner, bounds)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;
    use value::json::print;

    #[test]
    fn configs() {
        for (sent, is_geometry, returned) in [
            ("null", false, r#"{"type":"Geography"}"#),
            ("{}", false, r#"{"type":"Geography"}"#),
            (r#"{"type":"geography"}"#, false, r#"{"type":"Geography"}"#),
            (r#"{"type":"Geometry"}"#, true, r#"{"type":"Geometry"}"#),
        ] {
            let (flag, json) = parse_config(&value_of(sent)).unwrap();
            assert_eq!((flag, print(&json.into()).as_str()), (is_geometry, returned));
        }
        for bad in ["1", r#""Geometry""#, r#"{"type":"Flat"}"#, r#"{"type":1}"#] {
            assert!(parse_config(&value_of(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn indexes() {
        const BOX: &str = r#""boundingBox":{"xmin":0,"ymin":-1.5,"xmax":1,"ymax":2}"#;
        const ALL: &str = r#"["Point","LineString","Polygon","MultiPolygon"]"#;
        let geography = r#"[{"path":"/l/*","types":["Polygon","Point"]},{"path":"/m/?","types":["LineString"]}]"#;
        let geometry = format!(r#"[{{"path":"/l/*","types":["MultiPolygon"],{BOX}}}]"#);
        for (sent, is_geometry, returned) in [
            (
                geography,
                false,
                format!(r#"[{{"path":"/l/*","types":{ALL}}},{{"path":"/m/?","types":{ALL}}}]"#),
            ),
            (&geometry, true, format!(r#"[{{"path":"/l/*","types":{ALL},{BOX}}}]"#)),
            ("[]", true, "[]".to_owned()),
        ] {
            let (_, json) = parse(Some(&value_of(sent)), is_geometry).unwrap();
            assert_eq!(json.as_ref().map(print), Some(returned));
        }
        for none in [r#"[{"path":"/l/?"}]"#, r#"[{"path":"/l/?","types":[]}]"#] {
            assert_eq!(
                parse(Some(&value_of(none)), false).unwrap_err().message,
                "The spatial data types array cannot be empty. Assign at least one spatial type for \
                 the 'types' array for the path '/l/?'."
            );
        }
        assert!(parse(Some(&value_of(&geometry)), false).is_err());
        assert_eq!(
            parse(Some(&value_of(r#"[{"path":"/l/?","types":["Point"]}]"#)), true)
                .unwrap_err()
                .message,
            "Required parameter 'boundingBox' for 'Geometry' collection is missing in spatial path \
             '/l/?'"
        );
    }

    #[test]
    fn what_is_refused() {
        for sent in [
            "{}",
            "[1]",
            r#"[{"types":["Point"]}]"#,
            r#"[{"path":"/l","types":["Point"]}]"#,
            r#"[{"path":"/l/?"}]"#,
            r#"[{"path":"/l/?","types":"Point"}]"#,
            r#"[{"path":"/l/?","types":[]}]"#,
            r#"[{"path":"/l/?","types":["Circle"]}]"#,
            r#"[{"path":"/l/?","types":["Point","point"]}]"#,
            r#"[{"path":"/l/?","types":["Point"]},{"path":"/'l'/?","types":["Point"]}]"#,
        ] {
            assert!(parse(Some(&value_of(sent)), false).is_err(), "{sent}");
        }
        for bounds in [
            "1",
            "{}",
            r#"{"xmin":0,"ymin":0,"xmax":1}"#,
            r#"{"xmin":0,"ymin":0,"xmax":1,"ymax":"1"}"#,
            r#"{"xmin":1,"ymin":0,"xmax":1,"ymax":1}"#,
            r#"{"xmin":0,"ymin":2,"xmax":1,"ymax":1}"#,
        ] {
            let sent = format!(r#"[{{"path":"/l/?","types":["Point"],"boundingBox":{bounds}}}]"#);
            assert!(parse(Some(&value_of(&sent)), true).is_err(), "{bounds}");
        }
    }
}
