//! Partition statistics as JSON, for `/_sheaf/partitions` and `sheaf top`.

use protocol::operator::{HotKey, PartitionStatistics};
use value::{Object, Value, json};

/// The page.
pub(crate) fn page(partitions: &[PartitionStatistics]) -> String {
    let mut body = Object::new();
    body.insert("partitions", Value::Array(partitions.iter().map(partition).collect()));
    json::print(&body.into())
}

fn partition(partition: &PartitionStatistics) -> Value {
    let mut object = Object::new();
    object.insert("database", partition.database.as_str());
    object.insert("collection", partition.collection.as_str());
    object.insert("range", partition.range_id.to_string());
    object.insert("documents", count(partition.documents));
    object.insert("documentBytes", count(partition.bytes));
    object.insert("indexBytes", count(partition.index_bytes));
    object.insert("lsn", count(partition.lsn));
    object.insert("queuedWrites", count(partition.queued as u64));
    object.insert("isUnsplittable", partition.is_unsplittable);
    object.insert("requestUnitsPerSecond", rounded(partition.used_per_second));
    object.insert("reservedRequestUnitsPerSecond", rounded(partition.reserved_per_second));
    object.insert("admittedRequests", count(partition.admitted));
    object.insert("throttledRequests", count(partition.throttled));
    object.insert("hottestKeys", Value::Array(partition.hottest.iter().map(hot_key).collect()));
    object.into()
}

fn hot_key(hot: &HotKey) -> Value {
    let mut object = Object::new();
    // As in the header, an absent part is `{}`.
    let key = json::parse(hot.key.to_string().as_bytes()).unwrap_or_default();
    object.insert("partitionKey", key);
    object.insert("requestUnitsPerSecond", rounded(hot.units_per_second));
    object.into()
}

/// Counts stay far below 2^53.
fn count(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Rounded to two decimals, like charges.
fn rounded(figure: f64) -> Value {
    Value::from((figure * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use value::partition_key::PartitionKey;

    use super::*;

    #[test]
    fn figures_are_named() {
        let hot = |key: &str, units_per_second| HotKey {
            key: PartitionKey::parse_header(key).unwrap(),
            units_per_second,
        };
        let one = PartitionStatistics {
            database: "d\"".to_owned(),
            collection: "c".to_owned(),
            range_id: 3,
            documents: 1,
            bytes: 2,
            index_bytes: 4,
            lsn: 5,
            queued: 6,
            is_unsplittable: true,
            used_per_second: 7.125,
            reserved_per_second: 400.0,
            admitted: 8,
            throttled: 9,
            hottest: vec![hot("[\"a\",1]", 1.234), hot("[{}]", 1.0)],
        };
        assert_eq!(
            page(&[one]),
            r#"{"partitions":[{"database":"d\"","collection":"c","range":"3","documents":1,"documentBytes":2,"indexBytes":4,"lsn":5,"queuedWrites":6,"isUnsplittable":true,"requestUnitsPerSecond":7.13,"reservedRequestUnitsPerSecond":400,"admittedRequests":8,"throttledRequests":9,"hottestKeys":[{"partitionKey":["a",1],"requestUnitsPerSecond":1.23},{"partitionKey":[{}],"requestUnitsPerSecond":1}]}]}"#
        );
        assert_eq!(page(&[]), r#"{"partitions":[]}"#);
    }
}
