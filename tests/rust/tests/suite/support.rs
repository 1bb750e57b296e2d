//! The account under test, and what every module needs of it.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::models::{
    ContainerProperties, ItemResponse, PartitionKeyDefinition, ThroughputProperties,
};
use azure_data_cosmos::options::{
    ContentResponseOnWrite, CreateContainerOptions, ItemWriteOptions, OperationOptions,
    Precondition, Region,
};
use azure_data_cosmos::{
    AccountReference, CosmosClient, CosmosError, PartitionKey, RoutingStrategy,
};
use serde_json::Value;
use tokio::runtime::Runtime;

/// The published emulator key.
pub const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Runs a test. The SDK's clients share their connections, and a connection lives on
/// the runtime that opened it: so all tests have one runtime.
pub fn on_runtime(test: impl Future<Output = ()>) {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime")).block_on(test);
}

pub fn endpoint() -> String {
    std::env::var("SHEAF_ENDPOINT").unwrap_or_else(|_| "http://127.0.0.1:8081/".to_owned())
}

pub fn account(endpoint: &str, key: &'static str) -> AccountReference {
    AccountReference::with_authentication_key(endpoint.parse().expect("an endpoint"), key)
}

pub fn routing() -> RoutingStrategy {
    RoutingStrategy::PreferredRegions(vec![Region::from("South Central US")])
}

pub async fn client() -> CosmosClient {
    CosmosClient::builder().build(account(&endpoint(), KEY), routing()).await.expect("a client")
}

/// A name no other test of this run uses.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let encoding = match std::env::var("AZURE_COSMOS_BINARY_ENCODING_ENABLED") {
        Ok(value) => value,
        Err(_) => "default".to_owned(),
    };
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{encoding}-{n}")
}

pub async fn database(client: &CosmosClient) -> DatabaseClient {
    let id = unique("rust");
    client.create_database(&id, None).await.expect("a database");
    client.database_client(id)
}

pub async fn container_with(
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

pub async fn container() -> ContainerClient {
    let client = client().await;
    let database = database(&client).await;
    container_with(&database, "/pk", None).await
}

pub fn with_content() -> ItemWriteOptions {
    let mut operation = OperationOptions::default();
    operation.content_response_on_write = Some(ContentResponseOnWrite::Enabled);
    ItemWriteOptions::default().with_operation_options(operation)
}

pub fn if_match(etag: &str) -> ItemWriteOptions {
    ItemWriteOptions::default().with_precondition(Precondition::if_match(etag.to_owned()))
}

#[track_caller]
pub fn status_of<T>(result: Result<T, CosmosError>) -> (u16, Option<u16>) {
    match result {
        Ok(_) => panic!("expected a failure, the call succeeded"),
        Err(error) => {
            let status = error.status();
            (u16::from(status.status_code()), status.sub_status().map(|sub| sub.value()))
        }
    }
}

#[track_caller]
pub fn refused<T>(expected: u16, result: Result<T, CosmosError>) {
    assert_eq!(status_of(result).0, expected);
}

pub fn etag_of(response: &ItemResponse) -> String {
    response.headers().etag().expect("an etag in the headers").to_string()
}

/// The members of an item that its user wrote.
pub fn own(item: &Value) -> Value {
    let members = item.as_object().expect("an object");
    Value::Object(
        members
            .iter()
            .filter(|(name, _)| !name.starts_with('_'))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

pub async fn read(container: &ContainerClient, key: impl Into<PartitionKey>, id: &str) -> Value {
    container.read_item(key, id, None).await.expect("the item").into_model().expect("its JSON")
}
