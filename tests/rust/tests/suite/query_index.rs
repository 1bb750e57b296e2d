//! What depends on the indexing policy, and what the client is told about the index.

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::models::ContainerProperties;
use azure_data_cosmos::models::ThroughputProperties;
use azure_data_cosmos::options::{CreateContainerOptions, QueryOptions};
use azure_data_cosmos::FeedScope;
use serde_json::{json, Value};

use crate::support::*;
use crate::things::*;

/// A container by its JSON: the SDK has no words for some of what it may hold.
async fn container_of(
    database: &DatabaseClient,
    throughput: u64,
    mut definition: Value,
) -> ContainerClient {
    let id = unique("c");
    definition["id"] = json!(id);
    definition["partitionKey"] = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
    let properties: ContainerProperties = serde_json::from_value(definition).unwrap();
    let options =
        CreateContainerOptions::default().with_throughput(ThroughputProperties::manual(throughput));
    database.create_container(properties, Some(options)).await.unwrap();
    database.container_client(id, None).await.unwrap()
}

fn policy(more: Value) -> Value {
    let mut policy = json!({
        "indexingMode": "consistent", "automatic": true, "includedPaths": [{"path": "/*"}],
    });
    for (name, value) in more.as_object().expect("an object") {
        policy[name] = value.clone();
    }
    json!({"indexingPolicy": policy})
}

async fn message_of(container: &ContainerClient, query: &str) -> String {
    match try_rows(container, query, everywhere()).await {
        Ok(rows) => panic!("{query}: {rows:?}"),
        Err(error) => {
            assert_eq!(u16::from(error.status().status_code()), 400, "{query}: {error}");
            let body = error.response().expect("an answer").body().clone();
            text(&body.into_single::<Value>().expect("JSON")["message"])
        }
    }
}

#[test]
fn composite_indexes() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let definition = policy(json!({"compositeIndexes": [
                [{"path": "/color", "order": "ascending"}, {"path": "/n", "order": "descending"}],
            ]}));
            let container = container_of(&database, throughput, definition).await;
            load(&container).await;
            let mut expected: Vec<usize> = (0..THINGS).collect();
            expected.sort_by_key(|n| (text(&thing(*n)["color"]), THINGS - n));
            let query = "SELECT VALUE c.n FROM c ORDER BY c.color, c.n DESC";
            assert_rows(&rows(&container, query).await, json!(expected));
            let pages = resumed(&container, query, everywhere(), 7).await;
            assert_rows(&pages.concat(), json!(expected));
            expected.reverse();
            let query = "SELECT VALUE c.n FROM c ORDER BY c.color DESC, c.n ASC";
            assert_rows(&rows(&container, query).await, json!(expected));
            let query = "SELECT TOP 3 VALUE c.n FROM c WHERE NOT c.even ORDER BY c.color, c.n DESC";
            assert_rows(&rows(&container, query).await, json!([59, 53, 47]));
            for order in ["c.color, c.n", "c.n DESC, c.color", "c.color, c.price"] {
                let message =
                    message_of(&container, &format!("SELECT * FROM c ORDER BY {order}")).await;
                let expected = "The order by query does not have a corresponding composite index \
                                that it can be served from.";
                assert!(message.contains(expected), "{message}");
            }
        }
    });
}

#[test]
fn excluded_paths() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let excluded = json!([{"path": "/price/?"}, {"path": "/nested/*"}]);
            let definition = policy(json!({"excludedPaths": excluded}));
            let container = container_of(&database, throughput, definition).await;
            load(&container).await;
            for order in ["c.price", "c.nested.deep DESC"] {
                let message =
                    message_of(&container, &format!("SELECT * FROM c ORDER BY {order}")).await;
                let expected =
                    "The index path corresponding to the specified order-by item is excluded.";
                assert!(message.contains(expected), "{message}");
            }
            // Filters go on without the index.
            let query = "SELECT VALUE c.n FROM c WHERE c.price BETWEEN 15 AND 18";
            assert_same_rows(&rows(&container, query).await, json!([10, 11, 12]));
        }
    });
}

#[test]
fn mixed_types_have_an_order() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let included = json!([{"path": "/*"}, {"path": "/v/?"}]);
            let definition = policy(json!({"includedPaths": included}));
            let container = container_of(&database, throughput, definition).await;
            let mut values = vec![
                json!(null),
                json!(false),
                json!(true),
                json!(-1e300),
                json!(-2.5),
                json!(0),
                json!(7),
                json!(9_007_199_254_740_991_i64),
                json!(""),
                json!("Z"),
                json!("a"),
                json!("größe"),
                json!("数据"),
                json!("🦀"),
            ];
            for (n, value) in values.iter().enumerate() {
                let (id, pk) = (format!("i{n}"), format!("p{n}"));
                let body = json!({"id": id, "pk": pk, "v": value});
                container.create_item(pk, &id, body, None).await.unwrap();
            }
            container
                .create_item("x", "missing", json!({"id": "missing", "pk": "x"}), None)
                .await
                .unwrap();
            let query = "SELECT VALUE c.v FROM c ORDER BY c.v";
            assert_rows(&rows(&container, query).await, json!(values));
            values.reverse();
            let query = "SELECT VALUE c.v FROM c ORDER BY c.v DESC";
            assert_rows(&rows(&container, query).await, json!(values));
            // The path is listed: documents without it come too, before all others.
            for (query, place) in [
                ("SELECT c.id, c.v FROM c ORDER BY c.v", 0),
                ("SELECT c.id, c.v FROM c ORDER BY c.v DESC", values.len()),
            ] {
                let found = rows(&container, query).await;
                assert_eq!(found.len(), values.len() + 1);
                assert_eq!(found[place]["id"], "missing");
                // Tokens hold values of any type.
                assert_eq!(resumed(&container, query, everywhere(), 1).await.concat(), found);
            }
        }
    });
}

#[test]
fn computed_properties() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let definition = json!({"computedProperties": [
                {"name": "upper", "query": "SELECT VALUE UPPER(c.color) FROM c"},
            ]});
            let container = container_of(&database, throughput, definition).await;
            load(&container).await;
            let query = "SELECT VALUE c.n FROM c WHERE c.upper = 'RED' AND c.n < 9";
            assert_same_rows(&rows(&container, query).await, json!([0, 3, 6]));
            let query = "SELECT DISTINCT TOP 100 VALUE c.upper FROM c";
            assert_same_rows(&rows(&container, query).await, json!(["RED", "GREEN", "BLUE"]));
            let found = rows(&container, "SELECT VALUE c.upper FROM c ORDER BY c.upper DESC").await;
            assert_eq!(found.len(), THINGS);
            assert_eq!((&found[0], &found[THINGS - 1]), (&json!("RED"), &json!("BLUE")));
            // They are no part of the document.
            assert!(rows(&container, "SELECT * FROM c")
                .await
                .iter()
                .all(|row| row["upper"].is_null()));
        }
    });
}

#[test]
fn spatial() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let spatial = json!([{"path": "/place/*", "types": ["Point", "Polygon"]}]);
            let definition = policy(json!({"spatialIndexes": spatial}));
            let container = container_of(&database, throughput, definition).await;
            for n in 0..20 {
                let (id, pk) = (format!("p{n}"), format!("k{n}"));
                let place = json!({"type": "Point", "coordinates": [n, 50]});
                let body = json!({"id": id, "pk": pk, "place": place});
                container.create_item(pk, &id, body, None).await.unwrap();
            }
            let query = "SELECT VALUE c.id FROM c \
                 WHERE ST_DISTANCE(c.place, {'type': 'Point', 'coordinates': [5, 50]}) < 100000";
            assert_same_rows(&rows(&container, query).await, json!(["p4", "p5", "p6"]));
            let query = "SELECT VALUE c.id FROM c \
                 WHERE ST_WITHIN(c.place, {'type': 'Polygon', 'coordinates': \
                 [[[8.5, 49], [11.5, 49], [11.5, 51], [8.5, 51], [8.5, 49]]]})";
            assert_same_rows(&rows(&container, query).await, json!(["p9", "p10", "p11"]));
        }
    });
}

#[test]
fn query_metrics() {
    on_runtime(async {
        for container in loaded().await {
            for scope in [FeedScope::partition("k3"), everywhere()] {
                let query = "SELECT * FROM c WHERE c.n < 22";
                let options = QueryOptions::default().with_populate_query_metrics(true);
                let pages = try_pages(container, query, scope.clone(), options).await.unwrap();
                for page in &pages {
                    let metrics = page.query_metrics().expect("metrics");
                    for name in
                        ["totalExecutionTimeInMs", "indexLookupTimeInMs", "indexUtilizationRatio"]
                    {
                        assert!(metrics.split(';').any(|one| one.starts_with(name)), "{metrics}");
                    }
                    let count = format!("outputDocumentCount={}", page.items().len());
                    assert!(metrics.split(';').any(|one| one == count), "{metrics}");
                    assert!(page
                        .headers()
                        .request_charge()
                        .is_some_and(|charge| charge.value() > 0.0));
                    assert!(page.headers().activity_id().is_some());
                }
                let pages =
                    try_pages(container, query, scope, QueryOptions::default()).await.unwrap();
                assert!(pages.iter().all(|page| page.query_metrics().is_none()));
            }
        }
    });
}

#[test]
fn index_metrics() {
    on_runtime(async {
        for container in loaded().await {
            let options = QueryOptions::default().with_populate_index_metrics(true);
            let query = "SELECT * FROM c WHERE c.color = 'red' AND c.price > 5";
            let scope = FeedScope::partition("k3");
            let pages = try_pages(container, query, scope.clone(), options).await.unwrap();
            // The SDK has decoded it.
            let metrics = pages[0].index_metrics().expect("metrics");
            let metrics: Value = serde_json::from_str(metrics).expect("JSON");
            let specs = metrics["UtilizedSingleIndexes"].as_array().expect("an array");
            let specs: Vec<_> = specs.iter().map(|one| one["IndexSpec"].clone()).collect();
            assert!(
                specs.contains(&json!("/color/?")) && specs.contains(&json!("/price/?")),
                "{metrics}"
            );
            assert_eq!(
                metrics["PotentialCompositeIndexes"][0]["IndexSpecs"],
                json!(["/color ASC", "/price ASC"]),
                "{metrics}"
            );
            let pages = try_pages(container, query, scope, QueryOptions::default()).await.unwrap();
            assert!(pages[0].index_metrics().is_none());
        }
    });
}
