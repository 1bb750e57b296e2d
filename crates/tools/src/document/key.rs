//! The partition key of a document: given by a flag, or derived from the document and the
//! collection's definition.

use value::{Object, Value, path::Path};

use crate::{
    client::{Client, place::Place},
    collection,
    failure::Failure,
    partition_key,
};

/// The known parts of a document.
#[derive(Debug)]
pub(super) enum Keyed<'a> {
    /// Its id.
    Id(&'a str),
    /// The whole document.
    Body(&'a Value),
}

/// The header with the key of a document; none for a collection without a partition key.
pub(super) async fn header(
    client: &mut Client<'_>,
    place: &Place,
    said: Option<&str>,
    keyed: &Keyed<'_>,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let key = if let Some(text) = said {
        Some(partition_key::header(text)?)
    } else {
        let definition = collection::read(client, "document", place, Vec::new()).await?;
        found(&definition, keyed)?
    };
    Ok(key.map(|key| ("x-ms-documentdb-partitionkey", key)).into_iter().collect())
}

/// Derives the key from a definition and a document.
fn found(definition: &Value, keyed: &Keyed<'_>) -> Result<Option<String>, Failure> {
    let key = definition.get("partitionKey");
    let paths = key.get("paths").as_array().unwrap_or_default();
    let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
    if paths.is_empty() || key.get("systemKey").as_bool() == Some(true) {
        return Ok(None);
    }
    let levels = match keyed {
        Keyed::Id(id) if paths.iter().all(|path| *path == "/id") => vec![Value::from(*id)],
        Keyed::Id(_) => {
            return Err(Failure::usage(format!(
                "this collection finds documents by id and {}: give the value with --partition-key, \
                 as JSON",
                paths.join(" and ")
            )));
        }
        Keyed::Body(body) => {
            let levels = paths.iter().map(|path| level(body, path));
            levels.collect::<Result<Vec<_>, _>>()?
        }
    };
    Ok(Some(partition_key::header_of(levels)))
}

/// One level of a key; `{}` stands for an absent value.
fn level(body: &Value, path: &str) -> Result<Value, Failure> {
    let parsed = Path::parse(path)
        .map_err(|error| Failure::usage(format!("the partition key's path `{path}`: {error}")))?;
    match body.at(&parsed) {
        Value::Undefined => Ok(Object::new().into()),
        Value::Object(_) | Value::Array(_) => Err(Failure::usage(format!(
            "the document's {path} cannot be a partition key: it is an object or an array"
        ))),
        scalar => Ok(scalar.clone()),
    }
}

#[cfg(test)]
mod tests {
    use value::json;

    use super::*;

    fn key(definition: &str, keyed: &Keyed<'_>) -> Result<Option<String>, Failure> {
        found(&json::parse(definition.as_bytes()).unwrap(), keyed)
    }

    #[test]
    fn a_document_has_its_key_in_it() {
        let body = json::parse(br#"{"id":"1","a":{"b":"\u00e9"},"n":1.0,"o":{}}"#).unwrap();
        let of = |paths: &str| {
            key(&format!(r#"{{"partitionKey":{{"paths":{paths}}}}}"#), &Keyed::Body(&body))
        };
        assert_eq!(of(r#"["/id"]"#).unwrap().unwrap(), r#"["1"]"#);
        assert_eq!(of(r#"["/a/b","/n","/x"]"#).unwrap().unwrap(), r#"["\u00e9",1.0,{}]"#);
        assert_eq!(of("[]").unwrap(), None);
        assert!(of(r#"["/o"]"#).unwrap_err().message().contains("/o"));
        let hidden = r#"{"partitionKey":{"paths":["/_partitionKey"],"systemKey":true}}"#;
        assert_eq!(key(hidden, &Keyed::Body(&body)).unwrap(), None);
    }

    #[test]
    fn an_id_is_a_key_only_where_documents_are_partitioned_by_it() {
        let by_id = r#"{"partitionKey":{"paths":["/id"]}}"#;
        assert_eq!(key(by_id, &Keyed::Id("x")).unwrap().unwrap(), r#"["x"]"#);
        let other = r#"{"partitionKey":{"paths":["/customer"]}}"#;
        let failure = key(other, &Keyed::Id("x")).unwrap_err();
        assert!(failure.message().contains("id and /customer"), "{failure}");
        assert_eq!(key("{}", &Keyed::Id("x")).unwrap(), None);
    }
}
