//! The Rust SDK, `azure_data_cosmos`, against a running Sheaf.
//!
//! `run` starts the server and sets `SHEAF_ENDPOINT`. The suite is run twice:
//! with item bodies in Cosmos binary JSON, the SDK's default, and in text.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::models::{
    ContainerProperties, ItemResponse, PartitionKeyDefinition, PartitionKeyValue,
    ThroughputProperties, TimeToLive, UniqueKey, UniqueKeyPolicy,
};
use azure_data_cosmos::options::{
    BinaryEncodingOptions, ConnectionPoolOptions, ContentResponseOnWrite, CreateContainerOptions,
    ItemReadOptions, ItemWriteOptions, OperationOptions, Precondition, Region,
    ServerCertificateValidation, SessionToken,
};
use azure_data_cosmos::{
    AccountReference, CosmosClient, CosmosError, CosmosRuntime, PartitionKey, RoutingStrategy,
};
use serde_json::{json, Value};
use tokio::runtime::Runtime;

/// The published emulator key.
const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Runs a test. The SDK's clients share their connections, and a connection lives on
/// the runtime that opened it: so all tests have one runtime.
fn on_runtime(test: impl Future<Output = ()>) {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime")).block_on(test);
}

fn endpoint() -> String {
    std::env::var("SHEAF_ENDPOINT").unwrap_or_else(|_| "http://127.0.0.1:8081/".to_owned())
}

fn account(endpoint: &str, key: &'static str) -> AccountReference {
    AccountReference::with_authentication_key(endpoint.parse().expect("an endpoint"), key)
}

fn routing() -> RoutingStrategy {
    RoutingStrategy::PreferredRegions(vec![Region::from("South Central US")])
}

async fn client() -> CosmosClient {
    CosmosClient::builder().build(account(&endpoint(), KEY), routing()).await.expect("a client")
}

/// A name no other test of this run uses.
fn unique(prefix: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let encoding = match std::env::var("AZURE_COSMOS_BINARY_ENCODING_ENABLED") {
        Ok(value) => value,
        Err(_) => "default".to_owned(),
    };
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{encoding}-{n}")
}

async fn database(client: &CosmosClient) -> DatabaseClient {
    let id = unique("rust");
    client.create_database(&id, None).await.expect("a database");
    client.database_client(id)
}

async fn container_with(
    database: &DatabaseClient,
    key: impl Into<PartitionKeyDefinition>,
    throughput: Option<u64>,
) -> ContainerClient {
    let id = unique("c");
    let properties = ContainerProperties::new(id.clone(), key.into());
    let options = throughput.map(|throughput| {
        CreateContainerOptions::default().with_throughput(ThroughputProperties::manual(throughput))
    });
    database.create_container(properties, options).await.expect("a container");
    database.container_client(id, None).await.expect("the container's client")
}

async fn container() -> ContainerClient {
    let client = client().await;
    let database = database(&client).await;
    container_with(&database, "/pk", None).await
}

fn with_content() -> ItemWriteOptions {
    let mut operation = OperationOptions::default();
    operation.content_response_on_write = Some(ContentResponseOnWrite::Enabled);
    ItemWriteOptions::default().with_operation_options(operation)
}

fn if_match(etag: &str) -> ItemWriteOptions {
    ItemWriteOptions::default().with_precondition(Precondition::if_match(etag.to_owned()))
}

#[track_caller]
fn status_of<T>(result: Result<T, CosmosError>) -> (u16, Option<u16>) {
    match result {
        Ok(_) => panic!("expected a failure, the call succeeded"),
        Err(error) => {
            let status = error.status();
            (u16::from(status.status_code()), status.sub_status().map(|sub| sub.value()))
        }
    }
}

#[track_caller]
fn refused<T>(expected: u16, result: Result<T, CosmosError>) {
    assert_eq!(status_of(result).0, expected);
}

fn etag_of(response: &ItemResponse) -> String {
    response.headers().etag().expect("an etag in the headers").to_string()
}

/// The members of an item that its user wrote.
fn own(item: &Value) -> Value {
    let members = item.as_object().expect("an object");
    Value::Object(
        members
            .iter()
            .filter(|(name, _)| !name.starts_with('_'))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

async fn read(container: &ContainerClient, key: impl Into<PartitionKey>, id: &str) -> Value {
    container.read_item(key, id, None).await.expect("the item").into_model().expect("its JSON")
}

// Databases and containers.

#[test]
fn databases_are_created_read_and_deleted() {
    on_runtime(async {
        let client = client().await;
        let id = unique("db");
        let created = client.create_database(&id, None).await.unwrap();
        assert_eq!(u16::from(created.status().status_code()), 201);
        let created = created.into_model().unwrap();
        assert_eq!(created.id.as_deref(), Some(id.as_str()));

        let database = client.database_client(id.clone());
        let read = database.read(None).await.unwrap();
        assert_eq!(u16::from(read.status().status_code()), 200);
        assert!(read.headers().request_charge().is_some());
        assert!(read.headers().activity_id().is_some());
        let read = read.into_model().unwrap();
        assert_eq!(read, created);
        let rid = read.system_properties.resource_id.unwrap();
        assert_eq!(
            read.system_properties.self_link.as_deref(),
            Some(format!("dbs/{rid}/").as_str())
        );

        refused(409, client.create_database(&id, None).await);
        refused(400, client.create_database(&"x".repeat(256), None).await);
        let deleted = database.delete(None).await.unwrap();
        assert_eq!(u16::from(deleted.status().status_code()), 204);
        refused(404, database.read(None).await);
        refused(404, database.delete(None).await);
    });
}

#[test]
fn containers_make_the_round_trip() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let id = unique("c");
        let properties = ContainerProperties::new(id.clone(), "/a/b".into())
            .with_default_ttl(TimeToLive::Seconds(3600))
            .with_unique_key_policy(
                UniqueKeyPolicy::default()
                    .with_unique_key(UniqueKey::default().with_path("/email")),
            );
        let created = database.create_container(properties.clone(), None).await.unwrap();
        assert_eq!(u16::from(created.status().status_code()), 201);
        let created = created.into_model().unwrap();
        assert_eq!(created.id, id);
        assert_eq!(created.partition_key.paths(), ["/a/b"]);
        assert_eq!(created.default_ttl, TimeToLive::Seconds(3600));
        assert_eq!(created.unique_key_policy.clone().unwrap().unique_keys.len(), 1);
        let policy = created.indexing_policy.clone().expect("an indexing policy");
        assert!(policy.automatic);

        let container = database.container_client(id.clone(), None).await.unwrap();
        let read = container.read(None).await.unwrap().into_model().unwrap();
        assert_eq!(read, created);

        let mut changed = read.clone();
        changed.default_ttl = TimeToLive::NoDefault;
        let replaced = container.replace(changed, None).await.unwrap();
        assert_eq!(u16::from(replaced.status().status_code()), 200);
        let replaced = replaced.into_model().unwrap();
        assert_eq!(replaced.default_ttl, TimeToLive::NoDefault);
        assert_eq!(replaced.system_properties.resource_id, created.system_properties.resource_id);
        assert_ne!(replaced.system_properties.etag, created.system_properties.etag);

        let mut other_key = replaced.clone();
        other_key.partition_key = "/other".into();
        refused(400, container.replace(other_key, None).await);

        refused(409, database.create_container(properties, None).await);
        container.delete(None).await.unwrap();
        refused(404, container.read(None).await);
    });
}

#[test]
fn bad_containers_are_refused() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for path in ["/a/*", "pk", ""] {
            let properties = ContainerProperties::new(unique("bad"), path.into());
            refused(400, database.create_container(properties, None).await);
        }
        for throughput in [100, 450] {
            let properties = ContainerProperties::new(unique("bad"), "/pk".into());
            let options = CreateContainerOptions::default()
                .with_throughput(ThroughputProperties::manual(throughput));
            refused(400, database.create_container(properties, Some(options)).await);
        }
        let properties = ContainerProperties::new(unique("bad"), "/pk".into());
        let nowhere = client.database_client("no such database");
        refused(404, nowhere.create_container(properties, None).await);
        refused(404, database.container_client("none", None).await);
    });
}

#[test]
fn resources_are_addressed_by_rid_too() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        let container = container_with(&database, "/pk", None).await;
        let database_rid = database.read(None).await.unwrap().into_model().unwrap();
        let database_rid = database_rid.system_properties.resource_id.unwrap();
        let container_rid = container.read(None).await.unwrap().into_model().unwrap();
        let container_rid = container_rid.system_properties.resource_id.unwrap();

        let by_rid =
            client.database_client(azure_data_cosmos::ResourceId::try_from(database_rid).unwrap());
        assert_eq!(
            by_rid.read(None).await.unwrap().into_model().unwrap().id.as_deref(),
            database.name()
        );
        let by_rid = by_rid
            .container_client(azure_data_cosmos::ResourceId::try_from(container_rid).unwrap(), None)
            .await
            .unwrap();
        assert_eq!(
            by_rid.read(None).await.unwrap().into_model().unwrap().id,
            container.read(None).await.unwrap().into_model().unwrap().id
        );
        assert_eq!(by_rid.read_feed_ranges(None).await.unwrap().len(), 1);
    });
}

// Items.

#[test]
fn items_are_created_read_replaced_upserted_and_deleted() {
    on_runtime(async {
        let container = container().await;
        let body =
            json!({"id": "a", "pk": "p", "n": 1, "nested": {"list": [1, "two", null, true]}});

        let created = container.create_item("p", "a", &body, Some(with_content())).await.unwrap();
        assert_eq!(u16::from(created.status().status_code()), 201);
        assert!(created.headers().session_token().is_some());
        let created_charge = created.headers().request_charge().unwrap().value();
        let created: Value = created.into_model().unwrap();
        assert_eq!(own(&created), body);

        let read_back = container.read_item("p", "a", None).await.unwrap();
        assert_eq!(u16::from(read_back.status().status_code()), 200);
        let read_charge = read_back.headers().request_charge().unwrap().value();
        assert!(read_charge > 0.0 && read_charge < created_charge);
        assert_eq!(etag_of(&read_back), created["_etag"].as_str().unwrap());
        let read_back: Value = read_back.into_model().unwrap();
        assert_eq!(read_back, created);

        let replaced = container
            .replace_item("p", "a", json!({"id": "a", "pk": "p", "n": 2}), Some(with_content()))
            .await
            .unwrap();
        assert_eq!(u16::from(replaced.status().status_code()), 200);
        let replaced: Value = replaced.into_model().unwrap();
        assert_eq!(own(&replaced), json!({"id": "a", "pk": "p", "n": 2}));
        assert_eq!(replaced["_rid"], created["_rid"]);
        assert_ne!(replaced["_etag"], created["_etag"]);

        let over = container
            .upsert_item("p", "a", json!({"id": "a", "pk": "p", "n": 3}), None)
            .await
            .unwrap();
        assert_eq!(u16::from(over.status().status_code()), 200);
        let fresh =
            container.upsert_item("p", "b", json!({"id": "b", "pk": "p"}), None).await.unwrap();
        assert_eq!(u16::from(fresh.status().status_code()), 201);
        assert_eq!(read(&container, "p", "a").await["n"], 3);

        let deleted = container.delete_item("p", "a", None).await.unwrap();
        assert_eq!(u16::from(deleted.status().status_code()), 204);
        refused(404, container.read_item("p", "a", None).await);
        refused(404, container.delete_item("p", "a", None).await);
    });
}

#[test]
fn writes_return_no_body_unless_asked() {
    on_runtime(async {
        let container = container().await;
        let created =
            container.create_item("p", "a", json!({"id": "a", "pk": "p"}), None).await.unwrap();
        let etag = etag_of(&created);
        assert!(created.into_body().is_empty());
        assert_eq!(read(&container, "p", "a").await["_etag"], etag);
    });
}

/// Every shape the binary encoding has a form of its own for, and what the two
/// encodings must agree on.
fn values() -> Value {
    json!({
        "id": "values",
        "pk": "p",
        "empty": "",
        "escapes": "quote \" backslash \\ newline \n tab \t nul \u{0} separator \u{2028}",
        "unicode": "Größe 数据 🦀 \u{10ffff}",
        "long": "long text ".repeat(10_000),
        "small integers": [0, 1, 31, 32, 127, 128, 255, 256, 65_535, 65_536, -1, -128, -129, -32_769],
        "large integers": [2_147_483_647_i64, 2_147_483_648_i64, -2_147_483_649_i64, 9_007_199_254_740_991_i64],
        "doubles": [1.5, 0.1, -1e-300, 1e300],
        "guid": "2f34cd29-25ac-4c47-bd4b-6f6d8e1b33a0",
        "hex": "0123456789abcdef",
        "HEX": "0123456789ABCDEF",
        "date": "2026-01-01T00:00:00.0000000Z",
        "digits": "12345678901234567890",
        "base64": "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=",
        "repeated": ["the same text", "the same text", "the same text"],
        "objects": [{"name": 1, "value": 2}, {"name": 3, "value": 4}, {}],
        "arrays": [[], [1], [[1, 2], [3, 4]], [1, "a", null, true, {"b": []}]],
        "many": (0..300).collect::<Vec<_>>(),
        "nothing": null,
        "yes": true,
        "no": false,
        "ключ": {"": "empty name"},
    })
}

#[test]
fn values_survive() {
    on_runtime(async {
        let container = container().await;
        let created =
            container.create_item("p", "values", values(), Some(with_content())).await.unwrap();
        assert_eq!(own(&created.into_model().unwrap()), values());
        assert_eq!(own(&read(&container, "p", "values").await), values());
    });
}

#[test]
fn both_encodings_store_the_same() {
    on_runtime(async {
        let plain = client().await;
        let database = database(&plain).await;
        let container = container_with(&database, "/pk", None).await;
        let name = container.read(None).await.unwrap().into_model().unwrap().id;
        for enabled in [true, false] {
            let client = CosmosClient::builder()
                .with_binary_encoding_options(BinaryEncodingOptions::new().with_enabled(enabled))
                .build(account(&endpoint(), KEY), routing())
                .await
                .unwrap();
            let same = client
                .database_client(database.name().unwrap().to_owned())
                .container_client(name.to_string(), None)
                .await
                .unwrap();
            same.upsert_item("p", "values", values(), None).await.unwrap();
            assert_eq!(own(&read(&same, "p", "values").await), values());
            assert_eq!(own(&read(&container, "p", "values").await), values());
        }
    });
}

#[test]
fn ids_of_every_kind() {
    on_runtime(async {
        let container = container().await;
        let longest = "x".repeat(255);
        let ids = [
            "simple",
            "with space",
            "größe",
            "数据",
            "🦀🦀",
            "a%20b",
            "100%",
            "a+b&c=d",
            "semi;colon,comma",
            "'quoted'",
            "\"double\"",
            "<angle>",
            "dash-dot.tilde~",
            "@:!$()*[]{}|^`",
            &longest,
        ];
        for id in ids {
            container
                .create_item("p", id, json!({"id": id, "pk": "p"}), None)
                .await
                .unwrap_or_else(|error| panic!("create {id}: {error}"));
            let item = container
                .read_item("p", id, None)
                .await
                .unwrap_or_else(|error| panic!("read {id}: {error}"));
            assert_eq!(item.into_model::<Value>().unwrap()["id"], id);
            container
                .delete_item("p", id, None)
                .await
                .unwrap_or_else(|error| panic!("delete {id}: {error}"));
        }
    });
}

#[test]
fn etags_guard_writes() {
    on_runtime(async {
        let container = container().await;
        let first = container
            .create_item("p", "a", json!({"id": "a", "pk": "p", "n": 1}), None)
            .await
            .unwrap();
        let first = etag_of(&first);
        let second = container
            .replace_item("p", "a", json!({"id": "a", "pk": "p", "n": 2}), Some(if_match(&first)))
            .await
            .unwrap();
        let second = etag_of(&second);

        let body = json!({"id": "a", "pk": "p", "n": 3});
        refused(412, container.replace_item("p", "a", &body, Some(if_match(&first))).await);
        refused(412, container.upsert_item("p", "a", &body, Some(if_match(&first))).await);
        refused(412, container.delete_item("p", "a", Some(if_match(&first))).await);
        assert_eq!(read(&container, "p", "a").await["n"], 2);
        container.delete_item("p", "a", Some(if_match(&second))).await.unwrap();
    });
}

#[test]
fn an_unchanged_item_is_not_sent_again() {
    on_runtime(async {
        let container = container().await;
        let created =
            container.create_item("p", "a", json!({"id": "a", "pk": "p"}), None).await.unwrap();
        let known = || {
            ItemReadOptions::default()
                .with_precondition(Precondition::if_none_match(etag_of(&created)))
        };
        match container.read_item("p", "a", Some(known())).await {
            Ok(response) => {
                assert_eq!(u16::from(response.status().status_code()), 304);
                assert!(response.into_body().is_empty());
            }
            Err(error) => assert_eq!(u16::from(error.status().status_code()), 304),
        }
        container
            .replace_item("p", "a", json!({"id": "a", "pk": "p", "n": 1}), None)
            .await
            .unwrap();
        let changed = container.read_item("p", "a", Some(known())).await.unwrap();
        assert_eq!(changed.into_model::<Value>().unwrap()["n"], 1);
    });
}

#[test]
fn errors_have_the_services_status() {
    on_runtime(async {
        let container = container().await;
        let body = json!({"id": "a", "pk": "p"});
        container.create_item("p", "a", &body, None).await.unwrap();
        refused(409, container.create_item("p", "a", &body, None).await);
        refused(
            404,
            container.replace_item("p", "none", json!({"id": "none", "pk": "p"}), None).await,
        );
        assert_eq!(
            status_of(container.create_item("q", "b", json!({"id": "b", "pk": "p"}), None).await),
            (400, Some(1001))
        );
        assert_eq!(
            status_of(container.replace_item("p", "a", json!({"id": "a", "pk": "q"}), None).await),
            (400, Some(1001))
        );
        refused(400, container.replace_item("p", "a", json!({"id": "b", "pk": "p"}), None).await);
        refused(400, container.create_item("p", "", json!({"pk": "p"}), None).await);
        refused(400, container.create_item("p", "", json!({"id": 7, "pk": "p"}), None).await);
        let long = "x".repeat(1024);
        refused(400, container.create_item("p", &long, json!({"id": long, "pk": "p"}), None).await);
        let big = json!({"id": "big", "pk": "p", "text": "x".repeat(2 * 1024 * 1024)});
        refused(413, container.create_item("p", "big", &big, None).await);
        refused(404, container.read_item("p", "big", None).await);
    });
}

#[test]
fn a_wrong_key_is_refused() {
    on_runtime(async {
        const WRONG: &str =
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==";
        let client = CosmosClient::builder().build(account(&endpoint(), WRONG), routing()).await;
        match client {
            Ok(client) => refused(401, client.create_database("never", None).await),
            Err(error) => assert_eq!(u16::from(error.status().status_code()), 401),
        }
    });
}

// Partition keys and partitions.

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

// Sessions and transport.

#[test]
fn session_tokens_grow_and_are_taken_back() {
    on_runtime(async {
        let container = container().await;
        let mut last = 0;
        for n in 0..5 {
            let response = container
                .upsert_item("p", "a", json!({"id": "a", "pk": "p", "n": n}), None)
                .await
                .unwrap();
            let token = response.headers().session_token().unwrap().clone();
            let lsn: u64 = token.as_str().split('#').nth(1).unwrap().parse().unwrap();
            assert!(lsn > last);
            last = lsn;
            let options = ItemReadOptions::default().with_session_token(token);
            let item = container.read_item("p", "a", Some(options)).await.unwrap();
            assert_eq!(item.into_model::<Value>().unwrap()["n"], n);
        }
        // The server answers 404/1002; after its retries the client says so in its own code.
        let future =
            ItemReadOptions::default().with_session_token(SessionToken::new("0:-1#999999999"));
        assert_eq!(
            status_of(container.read_item("p", "a", Some(future)).await),
            (503, Some(20310))
        );
    });
}

async fn http_versions(
    builder: azure_data_cosmos::CosmosRuntimeBuilder,
    endpoint: &str,
) -> BTreeSet<&'static str> {
    let client = CosmosClient::builder()
        .with_runtime(builder.build().await.unwrap())
        .build(account(endpoint, KEY), routing())
        .await
        .unwrap();
    let database = database(&client).await;
    let container = container_with(&database, "/pk", None).await;
    let response =
        container.create_item("p", "a", json!({"id": "a", "pk": "p"}), None).await.unwrap();
    let requests = response.diagnostics().requests();
    requests.iter().map(|request| request.transport_http_version().as_str()).collect()
}

#[test]
fn http_2_with_prior_knowledge_and_http_1() {
    on_runtime(async {
        let versions = http_versions(CosmosRuntime::builder(), &endpoint()).await;
        assert_eq!(versions, BTreeSet::from(["http2"]));

        let pool = ConnectionPoolOptions::builder().with_is_http2_allowed(false).build().unwrap();
        let versions =
            http_versions(CosmosRuntime::builder().with_connection_pool(pool), &endpoint()).await;
        assert_eq!(versions, BTreeSet::from(["http11"]));
    });
}

#[test]
fn https_on_the_same_port() {
    on_runtime(async {
        let endpoint = endpoint().replacen("http://", "https://", 1);
        let pool = ConnectionPoolOptions::builder()
            .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
            .build()
            .unwrap();
        let versions =
            http_versions(CosmosRuntime::builder().with_connection_pool(pool), &endpoint).await;
        assert_eq!(versions, BTreeSet::from(["http2"]));
    });
}
