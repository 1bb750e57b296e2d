//! Formats a collection for people: as a row of a list, or with all details.

use std::fmt::Write as _;

use value::{Object, Value};

use crate::throughput::Offers;

/// The row of a list.
pub(super) fn row(collection: &Value, offers: &Offers) -> Value {
    let mut row = Object::new();
    row.insert("id", collection.get("id").clone());
    row.insert("partition key", partition_key(collection));
    row.insert("throughput", offers.text(collection, "shared"));
    row.insert("ttl", ttl(collection));
    row.into()
}

/// The paths of the partition key, or a note that there is none.
pub(super) fn partition_key(collection: &Value) -> String {
    let key = collection.get("partitionKey");
    let is_hidden = key.get("systemKey").as_bool() == Some(true);
    match paths(key) {
        paths if is_hidden || paths.is_empty() => "none".to_owned(),
        paths => paths,
    }
}

/// Lines of names and their values.
pub(super) fn text(database: &str, collection: &Value, offers: &Offers) -> String {
    let id = collection.get("id").as_str().unwrap_or_default();
    let statistics = collection.get("statistics").as_array().unwrap_or_default();
    let sum = |name: &str| statistics.iter().filter_map(|it| it.get(name).as_i64()).sum::<i64>();
    let mut lines = vec![
        ("collection", id.to_owned()),
        ("database", database.to_owned()),
        ("partition key", partition_key(collection)),
        ("throughput", offers.text(collection, "shared").to_owned()),
        ("ttl", ttl(collection)),
        ("unique keys", unique_keys(collection)),
        ("indexing", indexing(collection.get("indexingPolicy"))),
    ];
    if !statistics.is_empty() {
        lines.push(("partitions", statistics.len().to_string()));
        lines.push(("documents", sum("documentCount").to_string()));
        lines.push(("size", format!("{} KB", sum("sizeInKB"))));
    }
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let plain = |text: String| text.replace(char::is_control, "\u{fffd}");
    lines.into_iter().fold(String::new(), |mut out, (name, text)| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:width$}  {}", plain(text));
        out
    })
}

fn paths(of: &Value) -> String {
    let paths = of.get("paths").as_array().unwrap_or_default();
    paths.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn ttl(collection: &Value) -> String {
    match collection.get("defaultTtl").as_i64() {
        None => "off".to_owned(),
        Some(-1) => "on".to_owned(),
        Some(seconds) => format!("{seconds} s"),
    }
}

fn unique_keys(collection: &Value) -> String {
    let keys = collection.get("uniqueKeyPolicy").get("uniqueKeys").as_array().unwrap_or_default();
    if keys.is_empty() {
        return "none".to_owned();
    }
    keys.iter().map(paths).collect::<Vec<_>>().join("; ")
}

fn indexing(policy: &Value) -> String {
    let paths = |name: &str| {
        let paths = policy.get(name).as_array().unwrap_or_default();
        let paths: Vec<&str> = paths.iter().filter_map(|it| it.get("path").as_str()).collect();
        if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") }
    };
    let mode = policy.get("indexingMode").as_str().unwrap_or("consistent");
    let (included, excluded) = (paths("includedPaths"), paths("excludedPaths"));
    let mut text = format!("{mode}: {included} without {excluded}");
    let composites = policy.get("compositeIndexes").as_array().unwrap_or_default().len();
    if composites > 0 {
        let _ = write!(text, "; {composites} composite");
    }
    text
}

#[cfg(test)]
mod tests {
    use value::json;

    use super::*;

    const COLLECTION: &str = r#"{"id":"c","partitionKey":{"paths":["/a","/b"]},"defaultTtl":60,
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/x"]},{"paths":["/y","/z"]}]},
        "indexingPolicy":{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],
        "excludedPaths":[{"path":"/\"_etag\"/?"}],"compositeIndexes":[[]]},
        "statistics":[{"documentCount":3,"sizeInKB":1},{"documentCount":4,"sizeInKB":2}]}"#;

    #[test]
    fn everything_is_told() {
        let collection = json::parse(COLLECTION.as_bytes()).unwrap();
        let expected = "\
collection     c
database       shop
partition key  /a, /b
throughput     unknown
ttl            60 s
unique keys    /x; /y, /z
indexing       consistent: /* without /\"_etag\"/?; 1 composite
partitions     2
documents      7
size           3 KB
";
        assert_eq!(text("shop", &collection, &Offers::default()), expected);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let plain = json::parse(
            br#"{"id":"\u001b[2Jc","partitionKey":{"systemKey":true,"paths":["/_partitionKey"]}}"#,
        );
        let plain = plain.unwrap();
        assert_eq!(partition_key(&plain), "none");
        assert_eq!((ttl(&plain).as_str(), unique_keys(&plain).as_str()), ("off", "none"));
        assert!(!text("d", &plain, &Offers::default()).contains('\u{1b}'));
        assert_eq!(row(&plain, &Offers::default()).get("throughput").as_str(), Some("unknown"));
    }
}
