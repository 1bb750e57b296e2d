//! Each test checks a request, drops and recreates what it names, and then carries the request out,
//! on the view that it was checked on or on a new one.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Body, Code, Context, Options, Principal, Response, Service as _,
    request::{AttachmentPath, EncryptionKeyPath, ScriptKind, ThroughputRequest, UserPath},
    token::TokenMark,
};
use store::memory::MemoryStore;
use value::{Value, json, partition_key::PartitionKey};

use super::*;
use partition::charge::Meter;

use crate::{Clock, Engine, access::check, call::Call, dispatch::dispatch};

struct Still;

impl Clock for Still {
    fn now_seconds(&self) -> u64 {
        1_700_000_000
    }
}

fn database_path() -> DatabasePath {
    DatabasePath("db".to_owned())
}

fn collection_path() -> CollectionPath {
    CollectionPath { database: database_path(), collection: "c".to_owned() }
}

fn document_path() -> DocumentPath {
    DocumentPath { collection: collection_path(), document: "d".to_owned() }
}

fn script_path() -> ScriptPath {
    let kind = ScriptKind::StoredProcedure;
    ScriptPath { collection: collection_path(), kind, script: "s".to_owned() }
}

fn keyed() -> Options {
    let partition_key = PartitionKey::parse_header(r#"["a"]"#).ok();
    Options { partition_key, ..Options::default() }
}

struct Account(Arc<Engine>);

impl Account {
    async fn open() -> Self {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::open(store, crate::Options::default(), Arc::new(Still)).await;
        let account = Self(engine.expect("opened"));
        account.make_database().await;
        account
    }

    async fn call(&self, operation: Operation, options: Options) -> Response {
        let principal = Principal::of_key();
        let context = Context::new(principal, 1);
        self.0.call(&context, Request { operation, options }).await.expect("done")
    }

    async fn make_database(&self) {
        let (body, throughput) =
            (Bytes::from_static(br#"{"id":"db"}"#), ThroughputRequest::default());
        let create = Operation::CreateDatabase { body, upsert: false, throughput };
        self.call(create, Options::default()).await;
        let database = database_path();
        let body = Bytes::from_static(br#"{"id":"u"}"#);
        self.call(Operation::CreateUser { database, body, upsert: false }, Options::default())
            .await;
        self.make_collection().await;
    }

    async fn make_collection(&self) {
        let body = br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        let create = Operation::CreateCollection {
            database: database_path(),
            body: Bytes::from_static(body),
            upsert: false,
            throughput: ThroughputRequest::default(),
            partition_key_optional: false,
        };
        self.call(create, Options::default()).await;
        self.make_document().await;
    }

    async fn make_document(&self) {
        let body = Bytes::from_static(br#"{"id":"d","pk":"a"}"#);
        let collection = collection_path();
        self.call(Operation::CreateDocument { collection, body, upsert: false }, keyed()).await;
        self.make_attachment().await;
    }

    async fn make_attachment(&self) {
        let body = br#"{"id":"x","contentType":"text/plain","media":"https://example.org/"}"#;
        let (document, body) = (document_path(), Bytes::from_static(body));
        let create = Operation::CreateAttachment { document, body, media: None, upsert: false };
        self.call(create, keyed()).await;
    }

    /// The holder of a token for the resource that `read` returns, by its rids.
    async fn holder(&self, read: Operation) -> Principal {
        let link = self_link(&self.call(read, keyed()).await);
        let body = format!(r#"{{"id":"p","permissionMode":"All","resource":"{link}"}}"#);
        let user = UserPath { database: database_path(), user: "u".to_owned() };
        let mark = TokenMark::new(1);
        let create = Operation::CreatePermission { user, body: Bytes::from(body), upsert: true };
        let made =
            self.call(create, Options { token_mark: Some(mark), ..Options::default() }).await;
        let made = value(&made);
        let grant = made.get("_token").as_str().and_then(|text| mark.read(text));
        Principal::of_token(grant.expect("a mark"))
    }

    /// The error of a request that is retried on a new view, if it is refused.
    async fn race(&self, who: &Principal, operation: Operation, between: Between) -> Option<Code> {
        let raced = self.race_by(who, operation, between, Call::again).await;
        raced.err().map(|error| error.code)
    }

    /// Checks a request, runs `between`, and carries the request out.
    async fn race_by(
        &self,
        who: &Principal,
        operation: Operation,
        between: Between,
        look: impl FnOnce(&mut Call),
    ) -> Result<Response, Error> {
        let mut request = Request { operation, options: keyed() };
        let mut call = Call::begin(&self.0.inner);
        check(&call.view, *who, &mut request).await.expect("granted");
        self.call(between.delete(), keyed()).await;
        match between {
            Between::Database => self.make_database().await,
            Between::Collection => self.make_collection().await,
            Between::Document => self.make_document().await,
            Between::Attachment => self.make_attachment().await,
        }
        look(&mut call);
        let mut meter = Meter::new(call.engine.options.charges, 1, None);
        dispatch(call, request, &mut meter).await
    }
}

/// What is dropped and recreated.
#[derive(Clone, Copy, Debug)]
enum Between {
    Database,
    Collection,
    Document,
    Attachment,
}

impl Between {
    fn delete(self) -> Operation {
        match self {
            Self::Database => Operation::DeleteDatabase(database_path()),
            Self::Collection => Operation::DeleteCollection(collection_path()),
            Self::Document => Operation::DeleteDocument(document_path()),
            Self::Attachment => Operation::DeleteAttachment(attachment_path()),
        }
    }
}

fn attachment_path() -> AttachmentPath {
    AttachmentPath { document: document_path(), attachment: "x".to_owned() }
}

fn value(response: &Response) -> Value {
    let Body::Resource(text) = &response.body else { panic!("no resource") };
    json::parse(text).expect("JSON")
}

fn self_link(response: &Response) -> String {
    value(response).get("_self").as_str().expect("a link").to_owned()
}

#[tokio::test]
async fn what_takes_the_place_of_a_collection_is_not_reached() {
    let account = Account::open().await;
    let body = || Bytes::from_static(br#"{"id":"e","pk":"a"}"#);
    for operation in [
        Operation::ReadCollection(collection_path()),
        Operation::DeleteCollection(collection_path()),
        Operation::ListDocuments(collection_path()),
        Operation::ReadDocument(document_path()),
        Operation::DeleteDocument(document_path()),
        Operation::CreateDocument { collection: collection_path(), body: body(), upsert: true },
        Operation::DeleteByPartitionKey(collection_path()),
        Operation::ListScripts { collection: collection_path(), kind: ScriptKind::StoredProcedure },
        Operation::ReadAttachment(attachment_path()),
        Operation::ListPartitionKeyRanges { path: collection_path(), known: None },
    ] {
        let name = operation.name();
        let who = account.holder(Operation::ReadCollection(collection_path())).await;
        let refused = account.race(&who, operation, Between::Collection).await;
        assert_eq!(refused, Some(Code::CollectionRidMismatch), "{name}");
    }
}

#[tokio::test]
async fn the_first_attempt_goes_by_the_view_that_let_it_in() {
    let account = Account::open().await;
    let read = || Operation::ReadCollection(collection_path());
    let list = || Operation::ListPartitionKeyRanges { path: collection_path(), known: None };
    let rid = |response: &Response| match &response.body {
        Body::Feed { owner_rid, .. } => owner_rid.clone(),
        _ => value(response).get("_rid").as_str().expect("a rid").to_owned(),
    };
    for operation in [read(), list()] {
        let name = operation.name();
        let who = account.holder(read()).await;
        let old = rid(&account.call(read(), keyed()).await);
        let found = account.race_by(&who, operation, Between::Collection, |_| ()).await;
        assert_eq!(rid(&found.expect("found")), old, "{name}");
        assert_ne!(rid(&account.call(read(), keyed()).await), old, "{name}");
    }
    // A dropped collection takes no writes; a catalog change is decided at its turn.
    let body = Bytes::from_static(br#"{"id":"e","pk":"a"}"#);
    let create = Operation::CreateDocument { collection: collection_path(), body, upsert: false };
    for (operation, expected) in [
        (create, Code::OwnerNotFound),
        (Operation::DeleteCollection(collection_path()), Code::CollectionRidMismatch),
    ] {
        let name = operation.name();
        let who = account.holder(read()).await;
        let raced = account.race_by(&who, operation, Between::Collection, |_| ()).await;
        assert_eq!(raced.expect_err(name).code, expected, "{name}");
    }
}

#[tokio::test]
async fn what_takes_the_place_of_a_database_is_not_reached() {
    let account = Account::open().await;
    let key = || EncryptionKeyPath { database: database_path(), key: "k".to_owned() };
    let create = || Operation::CreateCollection {
        database: database_path(),
        body: Bytes::from_static(
            br#"{"id":"e","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
        ),
        upsert: false,
        throughput: ThroughputRequest::default(),
        partition_key_optional: false,
    };
    for operation in [
        Operation::ReadDatabase(database_path()),
        Operation::DeleteDatabase(database_path()),
        Operation::ListCollections(database_path()),
        create(),
        Operation::ListEncryptionKeys(database_path()),
        Operation::ReadEncryptionKey(key()),
    ] {
        let name = operation.name();
        let who = account.holder(Operation::ReadDatabase(database_path())).await;
        let refused = account.race(&who, operation, Between::Database).await;
        let is_gone = matches!(refused, Some(Code::NotFound | Code::OwnerNotFound));
        assert!(is_gone, "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn what_takes_the_place_of_something_smaller_is_not_reached() {
    let account = Account::open().await;
    let document = || Operation::ReadDocument(document_path());
    let attachment = || Operation::ReadAttachment(attachment_path());
    for (granted, asked, between) in [
        (document(), document(), Between::Document),
        (document(), Operation::DeleteDocument(document_path()), Between::Document),
        (document(), Operation::ListAttachments(document_path()), Between::Document),
        (document(), attachment(), Between::Document),
        (attachment(), attachment(), Between::Attachment),
        (attachment(), attachment(), Between::Document),
    ] {
        let name = asked.name();
        let who = account.holder(granted).await;
        let refused = account.race(&who, asked, between).await;
        let is_gone = matches!(refused, Some(Code::NotFound | Code::OwnerNotFound));
        assert!(is_gone, "{name}, {between:?}: {refused:?}");
    }
}

#[tokio::test]
async fn who_means_another_collection_is_told_at_once() {
    let account = Account::open().await;
    let who = account.holder(Operation::ReadCollection(collection_path())).await;
    let operation = Operation::ReadCollection(collection_path());
    let options = Options { intended_collection_rid: Some("other".to_owned()), ..keyed() };
    let mut request = Request { operation, options };
    let call = Call::begin(&account.0.inner);
    let refused = check(&call.view, who, &mut request).await.expect_err("another");
    assert_eq!(refused.code, Code::CollectionRidMismatch);
}

/// This test cannot create scripts: that takes a worker.
#[test]
fn a_script_is_the_one_that_was_granted() {
    const RID: &str = "oAAAAIDQ8QEBAAAAAAAAgA==";
    assert!(ChildRid::parse(RID).is_some(), "a rid");
    for (granted, asked, expected) in [(RID, "s", RID), ("s", RID, RID), ("s", "s", "s")] {
        let path = |name: &str| ScriptPath { script: name.to_owned(), ..script_path() };
        for operation in [
            Operation::ReadScript(path(asked)),
            Operation::ReplaceScript { path: path(asked), body: Bytes::new() },
            Operation::DeleteScript(path(asked)),
            Operation::ExecuteProcedure { path: path(asked), body: Bytes::new() },
        ] {
            let mut request = Request { operation, options: Options::default() };
            pin(&Catalog::default(), &Link::Script(path(granted)), &mut request).expect("pinned");
            let Named::Script(pinned) = named(&mut request.operation) else { panic!("a script") };
            assert_eq!(pinned.script, expected, "{granted} {asked}");
        }
    }
}

/// Another document may have the rid of the granted one as its id.
#[tokio::test]
async fn a_document_is_the_one_that_was_granted() {
    let account = Account::open().await;
    let made = value(&account.call(Operation::ReadDocument(document_path()), keyed()).await);
    let rid = made.get("_rid").as_str().expect("a rid").to_owned();
    let body = Bytes::from(format!(r#"{{"id":"{rid}","pk":"a"}}"#));
    let create = Operation::CreateDocument { collection: collection_path(), body, upsert: false };
    account.call(create, keyed()).await;
    let who = account.holder(Operation::ReadDocument(document_path())).await;
    for name in ["d", &rid] {
        let path = DocumentPath { document: name.to_owned(), ..document_path() };
        let operation = Operation::ReadDocument(path);
        let mut request = Request { operation, options: keyed() };
        let call = Call::begin(&account.0.inner);
        check(&call.view, who, &mut request).await.expect("granted");
        let mut meter = Meter::new(account.0.inner.options.charges, 1, None);
        let read = value(&dispatch(call, request, &mut meter).await.expect("read"));
        assert_eq!(read.get("id").as_str(), Some("d"), "{name}");
    }
    let operation = Operation::DeleteDocument(document_path());
    let mut request = Request { operation, options: keyed() };
    let call = Call::begin(&account.0.inner);
    check(&call.view, who, &mut request).await.expect("granted");
    let mut meter = Meter::new(account.0.inner.options.charges, 1, None);
    dispatch(call, request, &mut meter).await.expect("deleted");
    let path = DocumentPath { document: rid.clone(), ..document_path() };
    let left = value(&account.call(Operation::ReadDocument(path), keyed()).await);
    assert_eq!(left.get("id").as_str(), Some(&*rid));
}

/// The collection does not exist at the check, but does in the database that is created later.
#[tokio::test]
async fn a_collection_that_was_not_there_is_not_the_next_one() {
    let account = Account::open().await;
    let who = account.holder(Operation::ReadDatabase(database_path())).await;
    account.call(Operation::DeleteCollection(collection_path()), keyed()).await;
    let body = Bytes::from_static(br#"{"id":"e","pk":"a"}"#);
    let create = Operation::CreateDocument { collection: collection_path(), body, upsert: false };
    assert!(account.race(&who, create, Between::Database).await.is_some());
}
