//! What is refused, or changes nothing, is told only when what it was decided on is published: with
//! commits held back, so that nothing is published until the test says so.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use engine::{Limits, Sizes};
use protocol::{
    Code, Error, Operation, Options, Outcome, Response,
    request::{AttachmentPath, BatchMode, ScriptKind},
};
use tokio::task::JoinHandle;

use crate::{
    batches::answers,
    gated::{Gate, GatedStore},
    support::{Database, batch_of, collection, document, keyed, resource},
};

pub(crate) const KEY: &str = r#"["x"]"#;

pub(crate) type Request = (Operation, Options);
pub(crate) type Answer = Result<Response, Error>;

pub(crate) struct World {
    pub(crate) db: Arc<Database>,
    pub(crate) gate: Arc<Gate>,
}

impl World {
    async fn new() -> Self {
        Self::with(engine::Options::default()).await
    }

    pub(crate) async fn with(options: engine::Options) -> Self {
        let store = GatedStore::new();
        let gate = Arc::clone(&store.gate);
        let db = Database::open_with(Arc::new(store), options).await;
        db.create_database("db").await;
        let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
            "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}}"#;
        db.create_collection(body, Some(25_000)).await.expect("a collection");
        Self { db: Arc::new(db), gate }
    }

    pub(crate) fn begin(&self, (operation, options): Request) -> JoinHandle<Answer> {
        let db = Arc::clone(&self.db);
        tokio::spawn(async move { db.call(operation, options).await })
    }

    /// Makes a request that stays pending, then another that is decided on it, and checks that the
    /// other is not told before the first is published, and holds up nobody meanwhile.
    async fn decided_on(&self, pending: Request, decided: Request) -> Answer {
        let (first, second) = self.both(pending, decided).await;
        self.gate.release_commits();
        first.await.expect("no panic").expect("written");
        second.await.expect("no panic")
    }

    async fn both(
        &self,
        pending: Request,
        decided: Request,
    ) -> (JoinHandle<Answer>, JoinHandle<Answer>) {
        self.gate.hold_commits();
        let first = self.begin(pending);
        self.gate.holds_commits(1).await;
        let second = self.begin(decided);
        is_not_told(&second).await;
        // The key is free, whoever waits to be answered.
        let other = self.begin(create("other", r#","u":"other""#));
        self.gate.holds_commits(2).await;
        is_not_told(&second).await;
        assert!(!first.is_finished() && !other.is_finished());
        (first, second)
    }
}

/// Gives a request all the time that it needs to be answered.
async fn is_not_told(request: &JoinHandle<Answer>) {
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(!request.is_finished(), "it tells of what is not published");
}

fn body(id: &str, more: &str) -> Bytes {
    Bytes::from(format!(r#"{{"id":"{id}","pk":"x"{more}}}"#))
}

pub(crate) fn create(id: &str, more: &str) -> Request {
    let body = body(id, more);
    (Operation::CreateDocument { collection: collection(), body, upsert: false }, keyed(KEY))
}

fn replace(id: &str, etag: Option<String>) -> Request {
    let body = body(id, "");
    let options = Options { if_match: etag, ..keyed(KEY) };
    (Operation::ReplaceDocument { path: document(id), body }, options)
}

pub(crate) fn delete(id: &str) -> Request {
    (Operation::DeleteDocument(document(id)), keyed(KEY))
}

pub(crate) fn batch(mode: BatchMode, operations: &str) -> Request {
    let operations = batch_of(operations);
    (Operation::ExecuteBatch { collection: collection(), operations, mode }, keyed(KEY))
}

pub(crate) fn code(answer: &Answer) -> Code {
    answer.as_ref().expect_err("refused").code
}

/// The LSN of an answer's session.
fn lsn(answer: &Answer) -> u64 {
    let meta = match answer {
        Ok(response) => &response.meta,
        Err(error) => &error.meta,
    };
    meta.partitions.first().expect("a session").lsn
}

#[tokio::test]
async fn a_conflict_is_told_when_the_other_document_is_there() {
    let world = World::new().await;
    let refused = world.decided_on(create("a", ""), create("a", "")).await;
    assert_eq!(code(&refused), Code::Conflict);
    let read = world.db.read("a", KEY).await;
    assert_eq!(read.as_ref().expect("found").outcome, Outcome::Ok);
    assert!(lsn(&refused) >= read.expect("found").meta.item_lsn.expect("an LSN"));
}

#[tokio::test]
async fn readers_never_wait() {
    let world = World::new().await;
    let (first, second) = world.both(create("a", ""), create("a", "")).await;
    let read = world.db.read("a", KEY).await;
    assert_eq!(code(&read), Code::NotFound);
    assert_eq!(world.db.all(keyed(KEY)).await, Vec::<String>::new());
    world.gate.release_commits();
    first.await.expect("no panic").expect("created");
    assert_eq!(code(&second.await.expect("no panic")), Code::Conflict);
}

#[tokio::test]
async fn a_missing_document_is_told_when_it_is_gone() {
    let world = World::new().await;
    world.db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let refused = world.decided_on(delete("a"), delete("a")).await;
    assert_eq!(code(&refused), Code::NotFound);
    let read = world.db.read("a", KEY).await;
    assert_eq!(code(&read), Code::NotFound);
    assert!(lsn(&refused) >= 2, "the LSN is that of the deletion at least");
}

#[tokio::test]
async fn a_wrong_etag_is_told_when_the_right_one_can_be_read() {
    let world = World::new().await;
    let created = world.db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let old = created.etag.clone();
    let refused = world.decided_on(replace("a", None), replace("a", old.clone())).await;
    assert_eq!(code(&refused), Code::PreconditionFailed);
    assert_ne!(world.db.read("a", KEY).await.expect("read").etag, old);
}

#[tokio::test]
async fn unique_values_are_taken_when_their_document_is_there() {
    let world = World::new().await;
    let refused = world.decided_on(create("a", r#","u":1"#), create("b", r#","u":1"#)).await;
    assert_eq!(code(&refused), Code::Conflict);
    world.db.read("a", KEY).await.expect("found");
}

fn sizes(change: impl Fn(&mut Sizes)) -> engine::Options {
    let mut sizes = Sizes::of(Limits::Current);
    change(&mut sizes);
    engine::Options { sizes, ..engine::Options::default() }
}

pub(crate) fn filling(unique: u32, bytes: usize) -> String {
    format!(r#","u":{unique},"filling":"{}""#, "x".repeat(bytes))
}

#[tokio::test]
async fn a_key_is_full_when_what_fills_it_is_there() {
    let world = World::with(sizes(|sizes| sizes.logical_partition = 10 * 1024)).await;
    let (large, small) = (filling(1, 9000), filling(2, 4000));
    let refused = world.decided_on(create("a", &large), create("b", &small)).await;
    assert_eq!(code(&refused), Code::PartitionKeyQuota);
    assert!(lsn(&refused) >= 1);
}

#[tokio::test]
async fn a_collection_is_full_when_what_fills_it_is_there() {
    let world = World::with(sizes(|sizes| sizes.collection = Some(20 * 1024))).await;
    world.gate.hold_commits();
    let first = world.begin(create("a", &filling(1, 15_000)));
    world.gate.holds_commits(1).await;
    // Most of these keys are in other partitions than the one that fills up.
    let refused: Vec<_> = (0..12)
        .map(|key| {
            let filling = filling(1, 9000);
            let body = Bytes::from(format!(r#"{{"id":"a","pk":"k{key}"{filling}}}"#));
            let collection = collection();
            let create = Operation::CreateDocument { collection, body, upsert: false };
            world.begin((create, Options::default()))
        })
        .collect();
    for request in &refused {
        is_not_told(request).await;
    }
    world.gate.release_commits();
    first.await.expect("no panic").expect("created");
    for request in refused {
        assert_eq!(code(&request.await.expect("no panic")), Code::CollectionQuota);
    }
}

#[tokio::test]
async fn a_transaction_that_fails_waits_like_a_write() {
    let world = World::new().await;
    let operations = r#"[{"operationType":"Create","resourceBody":{"id":"b","pk":"x","u":2}},
        {"operationType":"Create","resourceBody":{"id":"a","pk":"x"}}]"#;
    let batch = batch(BatchMode::Atomic, operations);
    let done = world.decided_on(create("a", ""), batch).await;
    assert!(lsn(&done) >= 1);
    let done = done.expect("answers");
    assert_eq!(answers(&done), [Err(Code::FailedDependency), Err(Code::Conflict)]);
}

/// It has read what is pending, and written nothing in the end.
#[tokio::test]
async fn a_transaction_that_changes_nothing_waits_for_what_it_has_read() {
    let world = World::new().await;
    let operations = r#"[{"operationType":"Read","id":"a"},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"x","u":2}},
        {"operationType":"Delete","id":"b"}]"#;
    let batch = batch(BatchMode::Atomic, operations);
    let done = world.decided_on(create("a", ""), batch).await;
    assert!(lsn(&done) >= 1);
    let expected = [Ok(Outcome::Ok), Ok(Outcome::Created), Ok(Outcome::Deleted)];
    assert_eq!(answers(&done.expect("answers")), expected);
}

/// A bulk request waits once: what comes behind a refusal is queued meanwhile.
#[tokio::test]
async fn a_bulk_request_waits_at_its_end() {
    let world = World::new().await;
    world.gate.hold_commits();
    let first = world.begin(create("a", ""));
    world.gate.holds_commits(1).await;
    let operations = r#"[{"operationType":"Create","resourceBody":{"id":"a","pk":"x"}},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"x","u":2}},
        {"operationType":"Delete","id":"missing"},
        {"operationType":"Create","resourceBody":{"id":"c","pk":"x","u":3}}]"#;
    let mode = BatchMode::Independent { stops_at_failure: false };
    let bulk = world.begin(batch(mode, operations));
    world.gate.holds_commits(3).await;
    is_not_told(&bulk).await;
    world.gate.release_commits();
    first.await.expect("no panic").expect("created");
    let done = bulk.await.expect("no panic").expect("answers");
    let created = Ok(Outcome::Created);
    let expected = [Err(Code::Conflict), created, Err(Code::NotFound), created];
    assert_eq!(answers(&done), expected);
}

/// One that stops at a failure knows of it at once, though it is told later.
#[tokio::test]
async fn a_bulk_request_stops_at_a_refusal() {
    let world = World::new().await;
    let operations = r#"[{"operationType":"Create","resourceBody":{"id":"a","pk":"x"}},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"x","u":2}}]"#;
    let mode = BatchMode::Independent { stops_at_failure: true };
    let done = world.decided_on(create("a", ""), batch(mode, operations)).await;
    let expected = [Err(Code::Conflict), Err(Code::FailedDependency)];
    assert_eq!(answers(&done.expect("answers")), expected);
}

pub(crate) fn execute() -> Request {
    let (kind, script) = (ScriptKind::StoredProcedure, "p".to_owned());
    let path = protocol::request::ScriptPath { collection: collection(), kind, script };
    (Operation::ExecuteProcedure { path, body: Bytes::from("[]") }, keyed(KEY))
}

#[tokio::test]
async fn a_script_that_throws_waits_for_what_it_has_read() {
    let world = World::new().await;
    world.db.procedure("create({id: 'a', pk: 'x'});").await;
    let refused = world.decided_on(create("a", ""), execute()).await;
    assert!(lsn(&refused) >= 1);
    assert!(refused.is_err());
}

#[tokio::test]
async fn a_script_that_only_reads_waits_for_what_it_has_read() {
    let world = World::new().await;
    let link = "coll.getAltLink() + '/docs/a'";
    world
        .db
        .procedure(&format!(
            "must(coll.readDocument({link}, (e, d) => {{ if (e) throw e; answer(d.id); }}));"
        ))
        .await;
    let done = world.decided_on(create("a", ""), execute()).await;
    assert!(lsn(&done) >= 1);
    assert_eq!(resource(&done.expect("done")).as_str(), Some("a"));
}

#[tokio::test]
async fn a_write_with_a_trigger_is_refused_like_any_other() {
    let world = World::new().await;
    let trigger =
        r#"{"id":"t","triggerType":"Pre","triggerOperation":"All","body":"function t() {}"}"#;
    world.db.register(ScriptKind::Trigger, trigger).await;
    let (operation, options) = create("a", "");
    let options = Options { pre_triggers: vec!["t".to_owned()], ..options };
    let refused = world.decided_on(create("a", ""), (operation, options)).await;
    assert_eq!(code(&refused), Code::Conflict);
    assert!(lsn(&refused) >= 1);
}

pub(crate) fn attach() -> Request {
    let body = r#"{"id":"t","contentType":"text/plain","media":"http://m"}"#.into();
    let document = document("a");
    let attach = Operation::CreateAttachment { document, body, media: None, upsert: false };
    (attach, keyed(KEY))
}

#[tokio::test]
async fn attachments_are_refused_like_documents() {
    let world = World::new().await;
    world.db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let refused = world.decided_on(attach(), attach()).await;
    assert_eq!(code(&refused), Code::Conflict);
    let attachment = AttachmentPath { document: document("a"), attachment: "t".to_owned() };
    let read = Operation::ReadAttachment(attachment);
    world.db.call(read, keyed(KEY)).await.expect("found");
}

/// What a refusal was decided on did not come to be: then it is not true.
#[tokio::test]
async fn a_refusal_fails_with_what_it_was_decided_on() {
    let world = World::new().await;
    let (first, second) = world.both(create("a", ""), create("a", "")).await;
    world.gate.fail_commits();
    // The first may have been written, the second surely was not.
    assert_eq!(code(&first.await.expect("no panic")), Code::Unknown);
    assert_eq!(code(&second.await.expect("no panic")), Code::Unavailable);
    // And so it is with those that come later.
    let later = world.db.create(r#"{"id":"a","pk":"x"}"#).await;
    assert_eq!(code(&later), Code::Unavailable);
    assert_eq!(code(&world.db.read("a", KEY).await), Code::NotFound);
}

/// Refusals that wait have given back the memory of their documents: more of them wait here than
/// may be staged at a time.
#[tokio::test]
async fn those_who_wait_take_no_room() {
    let world = World::new().await;
    world.gate.hold_commits();
    let first = world.begin(create("a", ""));
    world.gate.holds_commits(1).await;
    let large = filling(1, 1_900_000);
    let refused: Vec<_> = (0..20).map(|_| world.begin(create("a", &large))).collect();
    let other = world.begin(create("other", &filling(2, 1_900_000)));
    world.gate.holds_commits(2).await;
    world.gate.release_commits();
    first.await.expect("no panic").expect("created");
    other.await.expect("no panic").expect("created");
    for request in refused {
        assert_eq!(code(&request.await.expect("no panic")), Code::Conflict);
    }
}
