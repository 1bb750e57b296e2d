//! Parts of a container: logical partitions, prefixes of keys, feed ranges.

use azure_data_cosmos::feed::FeedRange;
use azure_data_cosmos::models::{EffectivePartitionKey, PartitionKeyValue};
use azure_data_cosmos::FeedScope;
use serde_json::{json, Value};

use crate::support::*;
use crate::things::*;

#[test]
fn a_logical_partition() {
    on_runtime(async {
        for container in loaded().await {
            for (query, expected) in [
                ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", json!([57, 48, 39, 30, 21, 12, 3])),
                ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 2", json!([12, 21])),
                ("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n", json!([3, 12])),
                ("SELECT * FROM c WHERE c.pk = 'k4'", json!([])),
            ] {
                let found = rows_in(container, query, FeedScope::partition("k3")).await;
                assert_rows(&found, expected);
            }
            let found = rows_in(container, "SELECT * FROM c", FeedScope::partition("none")).await;
            assert_rows(&found, json!([]));
        }
    });
}

#[test]
fn keys_of_every_type() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let keys: [(Value, PartitionKeyValue); 8] = [
            (json!("1"), "1".into()),
            (json!(1), 1.into()),
            (json!(1.5), PartitionKeyValue::try_from(1.5).unwrap()),
            (json!(true), true.into()),
            (json!(false), false.into()),
            (json!(null), PartitionKeyValue::NULL),
            (json!("größe 🦀"), "größe 🦀".into()),
            (json!(""), "".into()),
        ];
        for throughput in [400, 30_000] {
            let container = container_with(&database, "/pk", Some(throughput)).await;
            for (pk, key) in &keys {
                let body = json!({"id": "a", "pk": pk});
                container.create_item(key.clone(), "a", body, None).await.unwrap();
            }
            let none = PartitionKeyValue::UNDEFINED;
            container.create_item(none.clone(), "a", json!({"id": "a"}), None).await.unwrap();
            for (pk, key) in &keys {
                let query = "SELECT VALUE c.pk FROM c";
                let found = rows_in(&container, query, FeedScope::partition(key.clone())).await;
                assert_rows(&found, json!([pk]));
                let query = format!("SELECT VALUE c.pk FROM c WHERE c.pk = {pk}");
                assert_rows(&rows(&container, query).await, json!([pk]));
            }
            let found = rows_in(&container, "SELECT c.pk FROM c", FeedScope::partition(none)).await;
            assert_rows(&found, json!([{}]));
            let query = "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.pk)";
            assert_rows(&rows(&container, query).await, json!(["a"]));
        }
    });
}

#[test]
fn feed_ranges_are_the_whole() {
    on_runtime(async {
        for container in loaded().await {
            let ranges = container.read_feed_ranges(None).await.unwrap();
            for query in ["SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n"] {
                let mut found = Vec::new();
                for range in &ranges {
                    let part = rows_in(container, query, FeedScope::range(range.clone())).await;
                    assert!(!part.is_empty());
                    let pages = resumed(container, query, FeedScope::range(range.clone()), 4).await;
                    assert_eq!(pages.concat(), part);
                    found.extend(part);
                }
                assert_same_rows(&found, (0..THINGS).collect());
            }
        }
    });
}

#[test]
fn ranges_need_not_be_those_of_partitions() {
    on_runtime(async {
        // Hashes in hexadecimal digits; they end before 40.
        let bounds = ["", "0A", "1F", "30", "FF"]
            .map(|digits| EffectivePartitionKey::try_from(digits).unwrap());
        for container in loaded().await {
            let mut found = Vec::new();
            for pair in bounds.windows(2) {
                let range = FeedRange::new(pair[0].clone(), pair[1].clone()).unwrap();
                let query = "SELECT VALUE c.n FROM c ORDER BY c.n";
                let part = rows_in(container, query, FeedScope::range(range.clone())).await;
                assert!(part.len() < THINGS);
                let query = "SELECT VALUE c.n FROM c";
                let unordered = rows_in(container, query, FeedScope::range(range.clone())).await;
                assert_same_rows(&unordered, json!(part));
                let pages = resumed(container, query, FeedScope::range(range), 3).await;
                assert_same_rows(&pages.concat(), json!(part));
                found.extend(part);
            }
            assert_same_rows(&found, (0..THINGS).collect());
        }
    });
}

#[test]
fn a_key_has_a_range() {
    on_runtime(async {
        for container in loaded().await {
            for key in ["k1", "k3", "k7"] {
                let ranges = container.feed_range_from_partition_key(key, None).await.unwrap();
                let query = format!("SELECT VALUE c.n FROM c WHERE c.pk = '{key}'");
                let all = rows(container, query.as_str()).await;
                assert!(!all.is_empty());
                let found = rows_in(container, query, FeedScope::range(ranges[0].clone())).await;
                assert_eq!(found, all);
            }
        }
    });
}

#[test]
fn prefixes_of_hierarchical_keys() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let key = ("/tenant", "/user", "/session");
            let container = container_with(&database, key, Some(throughput)).await;
            for n in 0..48 {
                let (id, tenant) = (format!("i{n:02}"), format!("t{}", n % 4));
                let (user, session) = (n / 4 % 3, format!("s{}", n / 12));
                let body =
                    json!({"id": id, "tenant": tenant, "user": user, "session": session, "n": n});
                container.create_item((tenant, user, session), &id, body, None).await.unwrap();
            }
            let ordered = "SELECT VALUE c.n FROM c ORDER BY c.n";
            for (scope, expected) in [
                (FeedScope::partition("t1"), json!([1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45])),
                (FeedScope::partition(("t1", 2)), json!([9, 21, 33, 45])),
                (FeedScope::partition(("t1", 2, "s3")), json!([45])),
                (FeedScope::partition("t9"), json!([])),
            ] {
                let found = rows_in(&container, ordered, scope.clone()).await;
                assert_rows(&found, expected.clone());
                let found = rows_in(&container, "SELECT VALUE c.n FROM c", scope.clone()).await;
                assert_same_rows(&found, expected.clone());
                let pages = resumed(&container, "SELECT VALUE c.n FROM c", scope.clone(), 5).await;
                assert_same_rows(&pages.concat(), expected.clone());
                let pages = resumed(&container, ordered, scope, 3).await;
                assert_rows(&pages.concat(), expected);
            }
            for (filter, expected) in [
                ("c.tenant = 't1' AND c.user = 2", json!([9, 21, 33, 45])),
                ("c.tenant = 't1' AND c.user = 2 AND c.session = 's3'", json!([45])),
                ("c.user = 2 AND c.n < 12", json!([8, 9, 10, 11])),
                ("c.tenant IN ('t1', 't2') AND c.n < 8", json!([1, 2, 5, 6])),
            ] {
                let query = format!("SELECT VALUE c.n FROM c WHERE {filter} ORDER BY c.n");
                assert_rows(&rows(&container, query).await, expected);
            }
            let scope = FeedScope::partition(("t1", 2, "s3"));
            let found = rows_in(&container, "SELECT VALUE COUNT(1) FROM c", scope).await;
            assert_rows(&found, json!([1]));
        }
    });
}
