//! The `indexes` of an included path, as used from 2015 to 2018. Every value now has an index of
//! full precision, so they are only checked and returned; only a spatial one still has an effect.

use protocol::Error;
use value::Value;

use super::read;

const TYPES: [&str; 6] = ["String", "Number", "Point", "LineString", "Polygon", "MultiPolygon"];

/// Checks the array. Returns the part to keep, and whether it requests a spatial index.
///
/// COMPAT: entries are returned as sent, because old clients read their precision back. An array
/// that only repeats the default, a range or hash index without a precision, is left out: current
/// SDK tests send one and expect none.
pub(super) fn parse(value: &Value) -> Result<(Option<Value>, bool), Error> {
    let entries = read::array(value, "includedPaths.indexes")?;
    let mut seen = Vec::new();
    let mut says_something = false;
    for entry in entries {
        let (data_type, is_default) = parse_entry(entry)?;
        if seen.contains(&data_type) {
            return Err(Error::bad_request(format!(
                "an included path has two indexes for the data type {data_type}"
            )));
        }
        seen.push(data_type);
        says_something |= !is_default;
    }
    let is_spatial = seen.iter().any(|data_type| !matches!(*data_type, "String" | "Number"));
    Ok((says_something.then(|| value.clone()), is_spatial))
}

/// The data type of an entry, and whether the entry only repeats the default.
fn parse_entry(entry: &Value) -> Result<(&'static str, bool), Error> {
    read::object(entry, "includedPaths.indexes")?;
    let member = |name| read::member(entry, name).unwrap_or(&Value::Undefined);
    let kind = read::choice(member("kind"), "indexes.kind", &["Range", "Hash", "Spatial"])?;
    let is_spatial = kind == "Spatial";
    let data_type = match member("dataType") {
        // The first SDKs left it out.
        Value::Undefined if !is_spatial => "String",
        given => read::choice(given, "indexes.dataType", &TYPES)?,
    };
    if is_spatial == matches!(data_type, "String" | "Number") {
        return Err(Error::bad_request(format!("there is no {kind} index for {data_type}")));
    }
    let precision = member("precision");
    if precision.is_undefined() {
        return Ok((data_type, !is_spatial));
    }
    let max = match data_type {
        "String" => 100,
        "Number" => 8,
        _ => -1,
    };
    // -1 means the highest precision.
    if read::integer(precision, "indexes.precision", -1..=max)? == 0 {
        return Err(Error::bad_request("an index cannot have the precision 0"));
    }
    Ok((data_type, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;
    use value::json::print;

    #[test]
    fn what_comes_back() {
        for sent in [
            r#"[{"kind":"Hash","dataType":"Number","precision":2}]"#,
            r#"[{"kind":"range","dataType":"string","precision":-1}]"#,
            r#"[{"kind":"Hash","dataType":"String","precision":20},{"kind":"Range","dataType":"Number"}]"#,
            r#"[{"kind":"Spatial","dataType":"Point"}]"#,
        ] {
            let (returned, is_spatial) = parse(&value_of(sent)).unwrap();
            assert_eq!(returned.as_ref().map(print).as_deref(), Some(sent));
            assert_eq!(is_spatial, sent.contains("Spatial"));
        }
        for dropped in [
            "[]",
            r#"[{"kind":"Hash","dataType":"String"},{"kind":"Range","dataType":"Number"}]"#,
            r#"[{"kind":"Range"}]"#,
        ] {
            assert_eq!(parse(&value_of(dropped)).unwrap(), (None, false), "{dropped}");
        }
    }

    #[test]
    fn what_is_refused() {
        for sent in [
            "{}",
            "[1]",
            "[{}]",
            r#"[{"kind":"Tree","dataType":"String"}]"#,
            r#"[{"kind":"Hash","dataType":"Date"}]"#,
            r#"[{"kind":"Hash","dataType":"Point"}]"#,
            r#"[{"kind":"Spatial","dataType":"Number"}]"#,
            r#"[{"kind":"Spatial"}]"#,
            r#"[{"kind":"Hash","dataType":"String","precision":0}]"#,
            r#"[{"kind":"Hash","dataType":"String","precision":101}]"#,
            r#"[{"kind":"Range","dataType":"Number","precision":9}]"#,
            r#"[{"kind":"Range","dataType":"Number","precision":"8"}]"#,
            r#"[{"kind":"Range","dataType":"Number","precision":-2}]"#,
            r#"[{"kind":"Range","dataType":"Number"},{"kind":"Hash","dataType":"Number"}]"#,
        ] {
            assert!(parse(&value_of(sent)).is_err(), "{sent}");
        }
    }
}
