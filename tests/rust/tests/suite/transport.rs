//! Sessions and transport.

use std::collections::BTreeSet;

use azure_data_cosmos::options::{
    ConnectionPoolOptions, ItemReadOptions, ServerCertificateValidation, SessionToken,
};
use azure_data_cosmos::{CosmosClient, CosmosRuntime};
use serde_json::{json, Value};

use crate::support::*;

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
