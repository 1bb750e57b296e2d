//! Items.

use azure_data_cosmos::options::{BinaryEncodingOptions, ItemReadOptions, Precondition};
use azure_data_cosmos::CosmosClient;
use serde_json::{json, Value};

use crate::support::*;

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
fn another_id_renames() {
    on_runtime(async {
        let container = container().await;
        for id in ["a", "taken"] {
            container.create_item("p", id, json!({"id": id, "pk": "p"}), None).await.unwrap();
        }
        let taken = json!({"id": "taken", "pk": "p"});
        refused(409, container.replace_item("p", "a", taken, None).await);
        container.replace_item("p", "a", json!({"id": "b", "pk": "p"}), None).await.unwrap();
        container.read_item("p", "b", None).await.unwrap();
        refused(404, container.read_item("p", "a", None).await);
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
