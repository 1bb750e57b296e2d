//! Patches. The SDK sends what is safe to repeat to the server; the rest it does itself, by read
//! and replace, unless it is told otherwise.

use azure_data_cosmos::models::{PatchInstructions, PatchOperation};
use azure_data_cosmos::options::{
    ContentResponseOnWrite, OperationOptions, PatchItemOptions, PatchStrategy, Precondition,
};
use futures::future::join_all;
use serde_json::{json, Value};

use crate::support::*;

fn on_the_server() -> PatchItemOptions {
    let mut operation = OperationOptions::default();
    operation.content_response_on_write = Some(ContentResponseOnWrite::Enabled);
    PatchItemOptions::default()
        .with_operation_options(operation)
        .with_strategy(PatchStrategy::ServerSide)
}

#[test]
fn the_server_applies_every_operation() {
    on_runtime(async {
        let container = container().await;
        let body =
            json!({"id": "a", "pk": "p", "n": 1, "f": 0.5, "old": 1, "tags": ["b"], "x": {"y": 1}});
        container.create_item("p", "a", &body, None).await.unwrap();
        let patch = PatchInstructions::from(vec![
            PatchOperation::add("/tags/0", json!("a")),
            PatchOperation::add("/tags/-", json!("d")),
            PatchOperation::set("/tags/2", json!("c")),
            PatchOperation::replace("/x/y", json!(null)),
            PatchOperation::remove("/old"),
            PatchOperation::increment("/n", 41),
            PatchOperation::increment("/f", 0.25),
            PatchOperation::move_value("/x", "/moved"),
        ]);
        let patched = container.patch_item("p", "a", patch, Some(on_the_server())).await.unwrap();
        assert_eq!(u16::from(patched.status().status_code()), 200);
        let etag = etag_of(&patched);
        let patched: Value = patched.into_model().unwrap();
        assert_eq!(
            own(&patched),
            json!({"id": "a", "pk": "p", "n": 42, "f": 0.75, "tags": ["a", "b", "c"], "moved": {"y": null}})
        );
        assert_eq!(patched["_etag"].as_str(), Some(&*etag));
        assert_eq!(read(&container, "p", "a").await, patched);
    });
}

#[test]
fn both_ways_come_to_the_same() {
    on_runtime(async {
        let container = container().await;
        for (id, strategy) in [
            ("a", PatchStrategy::Auto),
            ("b", PatchStrategy::ServerSide),
            ("c", PatchStrategy::ClientSide),
        ] {
            let body = json!({"id": id, "pk": "p", "n": 1, "tags": []});
            container.create_item("p", id, &body, None).await.unwrap();
            let patch = PatchInstructions::from(vec![
                PatchOperation::set("/n", json!(2)),
                PatchOperation::replace("/tags", json!([1.5])),
            ]);
            let options = PatchItemOptions::default().with_strategy(strategy);
            container.patch_item("p", id, patch, Some(options)).await.unwrap();
            let item = read(&container, "p", id).await;
            assert_eq!((&item["n"], &item["tags"]), (&json!(2), &json!([1.5])), "{id}");
        }
    });
}

#[test]
fn refusals_leave_the_item_as_it_was() {
    on_runtime(async {
        let container = container().await;
        let body = json!({"id": "a", "pk": "p", "s": "text"});
        container.create_item("p", "a", &body, None).await.unwrap();
        let before = read(&container, "p", "a").await;
        for operation in [
            PatchOperation::set("/id", json!("x")),
            PatchOperation::set("/pk", json!("x")),
            PatchOperation::replace("/absent", json!(1)),
            PatchOperation::add("/absent/x", json!(1)),
            PatchOperation::increment("/s", 1),
        ] {
            let patch =
                PatchInstructions::from(vec![PatchOperation::set("/n", json!(1)), operation]);
            refused(400, container.patch_item("p", "a", patch, Some(on_the_server())).await);
        }
        let set = || PatchInstructions::from(vec![PatchOperation::set("/n", json!(1))]);
        let stale =
            on_the_server().with_precondition(Precondition::if_match("\"stale\"".to_owned()));
        refused(412, container.patch_item("p", "a", set(), Some(stale)).await);
        refused(404, container.patch_item("p", "absent", set(), Some(on_the_server())).await);
        assert_eq!(read(&container, "p", "a").await, before);
    });
}

#[test]
fn increments_at_the_same_time_all_count() {
    on_runtime(async {
        let container = container().await;
        container
            .create_item("p", "a", &json!({"id": "a", "pk": "p", "n": 0}), None)
            .await
            .unwrap();
        let increments = (0..50).map(|_| {
            let patch = PatchInstructions::from(vec![PatchOperation::increment("/n", 1)]);
            container.patch_item("p", "a", patch, Some(on_the_server()))
        });
        for result in join_all(increments).await {
            result.unwrap();
        }
        assert_eq!(read(&container, "p", "a").await["n"], 50);
    });
}
