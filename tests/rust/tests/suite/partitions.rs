//! Partition keys and partitions.

use std::collections::BTreeSet;

use azure_data_cosmos::models::PartitionKeyValue;
use serde_json::{json, Value};

use crate::support::*;

fn keys() -> Vec<(Value, PartitionKeyValue)> {
    vec![
        (json!(""), "".into()),
        (json!("1"), "1".into()),
        (json!(1), 1.into()),
        (json!(0), 0.into()),
        (json!(-1), (-1).into()),
        (json!(1.5), PartitionKeyValue::try_from(1.5).unwrap()),
        (json!(true), true.into()),
        (json!(false), false.into()),
        (json!(null), PartitionKeyValue::NULL),
        (json!("größe 🦀"), "größe 🦀".into()),
        (json!("x".repeat(500)), "x".repeat(500).into()),
    ]
}

#[test]
fn keys_of_every_type_are_keys_of_their_own() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 25_000] {
            let container = container_with(&database, "/pk", Some(throughput)).await;
            for (pk, key) in keys() {
                container
                    .create_item(key, "a", json!({"id": "a", "pk": pk}), None)
                    .await
                    .unwrap_or_else(|error| panic!("{pk}: {error}"));
            }
            container
                .create_item(PartitionKeyValue::UNDEFINED, "a", json!({"id": "a"}), None)
                .await
                .unwrap();
            for (pk, key) in keys() {
                assert_eq!(read(&container, key, "a").await["pk"], pk);
            }
            assert_eq!(
                own(&read(&container, PartitionKeyValue::UNDEFINED, "a").await),
                json!({"id": "a"})
            );
            for (_, key) in keys() {
                container.delete_item(key, "a", None).await.unwrap();
            }
            read(&container, PartitionKeyValue::UNDEFINED, "a").await;
        }
    });
}

#[test]
fn three_partitions_hold_the_items_the_client_expects_there() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let container = container_with(&database, "/pk", Some(25_000)).await;
        let mut ranges = container.read_feed_ranges(None).await.unwrap();
        assert_eq!(ranges.len(), 3);
        ranges.sort_by_key(|range| range.min_inclusive().to_string());
        assert_eq!(ranges[0].min_inclusive().to_string(), "");
        assert_eq!(ranges[2].max_exclusive().to_string(), "FF");
        for pair in ranges.windows(2) {
            assert_eq!(pair[0].max_exclusive(), pair[1].min_inclusive());
        }

        // The range the client computes for a key is always the one that served it.
        let mut served = vec![BTreeSet::new(); 3];
        for n in 0..60 {
            let pk = format!("key-{n}");
            let response = container
                .create_item(pk.clone(), "same", json!({"id": "same", "pk": pk}), None)
                .await
                .unwrap();
            let id = response.headers().partition_key_range_id().unwrap().to_owned();
            let token = response.headers().session_token().unwrap().as_str().to_owned();
            assert_eq!(token.split(':').next(), Some(id.as_str()));
            let expected = container.feed_range_from_partition_key(pk.clone(), None).await.unwrap();
            let position = ranges.iter().position(|range| *range == expected[0]).unwrap();
            served[position].insert(id);
            assert_eq!(read(&container, pk.clone(), "same").await["pk"], pk);
        }
        for ids in &served {
            assert_eq!(ids.len(), 1);
        }
        assert_eq!(served.iter().flatten().collect::<BTreeSet<_>>().len(), 3);
    });
}

#[test]
fn hierarchical_keys() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let container =
            container_with(&database, ("/tenant", "/user", "/session"), Some(25_000)).await;
        let properties = container.read(None).await.unwrap().into_model().unwrap();
        assert_eq!(properties.partition_key.paths(), ["/tenant", "/user", "/session"]);
        for tenant in ["t0", "t1", "t2"] {
            for user in 0..3 {
                let body = json!({"id": "one", "tenant": tenant, "user": user, "session": "s"});
                container.create_item((tenant, user, "s"), "one", &body, None).await.unwrap();
                assert_eq!(own(&read(&container, (tenant, user, "s"), "one").await), body);
            }
        }
        refused(404, container.read_item(("t0", 0, "other"), "one", None).await);
        refused(400, container.read_item(("t0", 0), "one", None).await);
        container.delete_item(("t0", 0, "s"), "one", None).await.unwrap();
        refused(404, container.read_item(("t0", 0, "s"), "one", None).await);
    });
}

#[test]
fn many_tasks_write_at_once() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let container = container_with(&database, "/pk", Some(25_000)).await;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..200_i64 {
            let container = container.clone();
            tasks.spawn(async move {
                let (id, pk) = (format!("i{n}"), n % 9);
                container
                    .create_item(pk, &id, json!({"id": id, "pk": pk, "n": n}), None)
                    .await
                    .unwrap();
                assert_eq!(read(&container, pk, &id).await["n"], n);
            });
        }
        while let Some(result) = tasks.join_next().await {
            result.unwrap();
        }
    });
}
