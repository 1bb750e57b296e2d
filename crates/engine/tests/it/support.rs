//! A database to test, and short words for requests.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use engine::{Clock, Engine, RateLimit};
use protocol::{
    Body, Context, Error, Operation, Options, Principal, Request, Response, Service,
    request::{BatchOperation, CollectionPath, DatabasePath, DocumentPath, ThroughputRequest},
};
use value::{Value, json, partition_key::PartitionKey};

use crate::stores::{new_store, starting};

/// A clock that stands still unless told.
#[derive(Debug)]
pub(crate) struct TestClock(pub(crate) AtomicU64);

impl Clock for TestClock {
    fn now_seconds(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl TestClock {
    pub(crate) fn at(seconds: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(seconds)))
    }

    pub(crate) fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }
}

pub(crate) struct Database {
    pub(crate) engine: Arc<Engine>,
}

impl Database {
    /// On a new store, of the kind that was chosen.
    pub(crate) async fn memory() -> Self {
        Self::open(new_store()).await
    }

    pub(crate) async fn open(store: Arc<dyn store::Store>) -> Self {
        Self::open_with(store, engine::Options::default()).await
    }

    /// On a new store, set up in another way than usual.
    pub(crate) async fn with_options(options: engine::Options) -> Self {
        Self::open_with(new_store(), options).await
    }

    pub(crate) async fn open_with(store: Arc<dyn store::Store>, options: engine::Options) -> Self {
        let clock = Arc::new(TestClock(AtomicU64::new(1_700_000_000)));
        // Tests are in a hurry; those of throughput have a clock of their own.
        let options =
            engine::Options { rate_limit: RateLimit::Never, scripts: workers(), ..options };
        let engine = starting(Engine::open(store, options, clock)).await;
        Self { engine: engine.expect("the store opens") }
    }

    /// With a clock that the test sets.
    pub(crate) async fn open_at(
        store: Arc<dyn store::Store>,
        options: engine::Options,
        clock: &Arc<TestClock>,
    ) -> Self {
        let options = engine::Options { rate_limit: RateLimit::Never, ..options };
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        let engine = starting(Engine::open(store, options, clock)).await;
        Self { engine: engine.expect("the store opens") }
    }

    pub(crate) async fn call(
        &self,
        operation: Operation,
        options: Options,
    ) -> Result<Response, Error> {
        let context = Context::new(Principal::of_key(), 1);
        self.engine.call(&context, Request { operation, options }).await
    }

    pub(crate) async fn create_database(&self, id: &str) -> Response {
        let body = Bytes::from(format!(r#"{{"id":"{id}"}}"#));
        let throughput = ThroughputRequest::default();
        let create = Operation::CreateDatabase { body, upsert: false, throughput };
        self.call(create, Options::default()).await.expect("a new database")
    }

    pub(crate) async fn create_collection(
        &self,
        body: &str,
        throughput: Option<i64>,
    ) -> Result<Response, Error> {
        let create = Operation::CreateCollection {
            database: DatabasePath("db".to_owned()),
            body: Bytes::from(body.to_owned()),
            upsert: false,
            throughput: ThroughputRequest { manual: throughput, ..ThroughputRequest::default() },
            partition_key_optional: true,
        };
        self.call(create, Options::default()).await
    }

    /// A database `db` with a collection `c` keyed by `/pk`.
    pub(crate) async fn with_collection(self, throughput: i64) -> Self {
        self.create_database("db").await;
        let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        self.create_collection(body, Some(throughput)).await.expect("a new collection");
        self
    }

    pub(crate) async fn create(&self, body: &str) -> Result<Response, Error> {
        self.write(body, false, Options::default()).await
    }

    pub(crate) async fn write(
        &self,
        body: &str,
        upsert: bool,
        options: Options,
    ) -> Result<Response, Error> {
        let body = Bytes::from(body.to_owned());
        self.call(Operation::CreateDocument { collection: collection(), body, upsert }, options)
            .await
    }

    pub(crate) async fn read(&self, id: &str, key: &str) -> Result<Response, Error> {
        self.call(Operation::ReadDocument(document(id)), keyed(key)).await
    }

    pub(crate) async fn delete(&self, id: &str, key: &str) -> Result<Response, Error> {
        self.call(Operation::DeleteDocument(document(id)), keyed(key)).await
    }

    pub(crate) async fn replace(
        &self,
        id: &str,
        body: &str,
        options: Options,
    ) -> Result<Response, Error> {
        let body = Bytes::from(body.to_owned());
        self.call(Operation::ReplaceDocument { path: document(id), body }, options).await
    }

    pub(crate) async fn patch(
        &self,
        id: &str,
        body: &str,
        options: Options,
    ) -> Result<Response, Error> {
        let patch = gateway::read::patch(body.as_bytes())?;
        self.call(Operation::PatchDocument { path: document(id), patch }, options).await
    }

    /// Every document, page after page.
    pub(crate) async fn all(&self, options: Options) -> Vec<String> {
        let mut ids = Vec::new();
        let mut options = options;
        loop {
            let list = Operation::ListDocuments(collection());
            let page = self.call(list, options.clone()).await.expect("a page");
            ids.extend(items(&page).iter().map(|item| text(item.get("id"))));
            match page.continuation {
                Some(token) => options.continuation = Some(token),
                None => return ids,
            }
        }
    }
}

/// Workers of the program that is built with the tests.
pub(crate) fn workers() -> script::PoolOptions {
    script::PoolOptions {
        program: env!("CARGO_BIN_EXE_engine-script-worker-test").into(),
        arguments: Vec::new(),
        workers: 2,
        waiting_max: 100,
    }
}

/// The operations of a batch, as clients write them.
pub(crate) fn batch_of(body: impl AsRef<[u8]>) -> Vec<BatchOperation> {
    gateway::read::batch(&Bytes::copy_from_slice(body.as_ref())).expect("a batch")
}

pub(crate) fn collection() -> CollectionPath {
    CollectionPath { database: DatabasePath("db".to_owned()), collection: "c".to_owned() }
}

pub(crate) fn document(id: &str) -> DocumentPath {
    DocumentPath { collection: collection(), document: id.to_owned() }
}

/// Options that name a partition key, as its header would.
pub(crate) fn keyed(header: &str) -> Options {
    let key = PartitionKey::parse_header(header).expect("a partition key header");
    Options { partition_key: Some(key), ..Options::default() }
}

pub(crate) fn resource(response: &Response) -> Value {
    match &response.body {
        Body::Resource(text) => json::parse(text).expect("JSON"),
        other => panic!("expected a resource, got {other:?}"),
    }
}

pub(crate) fn items(response: &Response) -> Vec<Value> {
    match &response.body {
        Body::Feed { items, .. } => {
            items.iter().map(|item| json::parse(item).expect("JSON")).collect()
        }
        other => panic!("expected a feed, got {other:?}"),
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}
