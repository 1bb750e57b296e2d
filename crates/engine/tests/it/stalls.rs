//! A store that does not answer: writers are told in time what is known, and nothing else about a write
//! changes. It is there when the store comes back, and so is what it held.

use std::time::Duration;

use bytes::Bytes;
use protocol::{
    Code, Operation, Options, Outcome,
    request::{AttachmentPath, BatchMode},
};

use crate::{
    batches::answers,
    refusals::{
        Answer, KEY, Request, World, attach, batch, code, create, delete, execute, filling,
    },
    support::{collection, document, keyed, resource},
};

const PATIENCE: Duration = Duration::from_millis(50);

async fn world() -> World {
    let options = engine::Options { store_patience: PATIENCE, ..engine::Options::default() };
    World::with(options).await
}

impl World {
    async fn answer(&self, (operation, options): Request) -> Answer {
        self.db.call(operation, options).await
    }

    /// The answer to a request that is not confirmed.
    async fn unconfirmed(&self, request: Request) -> Code {
        code(&self.answer(request).await)
    }

    async fn is_there(&self, id: &str) -> bool {
        self.db.read(id, KEY).await.is_ok()
    }
}

/// Nobody waits for more than the patience, and the write comes to be all the same.
#[tokio::test]
async fn a_write_that_is_not_confirmed_is_unknown_and_stays() {
    let world = world().await;
    let first = world.answer(create("z", r#","u":1"#)).await.expect("created").meta.item_lsn;
    world.gate.hold_commits();
    assert_eq!(world.unconfirmed(create("a", "")).await, Code::Unknown);
    assert!(!world.is_there("a").await, "nothing is published");
    // The key is free, and its next writers see the write.
    assert_eq!(world.unconfirmed(create("b", r#","u":2"#)).await, Code::Unknown);
    assert_eq!(world.unconfirmed(delete("b")).await, Code::Unknown);
    world.gate.release_commits();
    assert!(world.is_there("a").await);
    assert!(!world.is_there("b").await);
    assert_eq!(code(&world.answer(create("a", "")).await), Code::Conflict);
    let done = world.answer(create("b", r#","u":2"#)).await.expect("created");
    let each = first.map(|first| first + 4);
    assert_eq!(done.meta.item_lsn, each, "each of them was one transaction");
}

/// It has surely done nothing: that may be told, and why it was refused may not.
#[tokio::test]
async fn a_refusal_that_is_not_confirmed_is_unavailable() {
    let world = world().await;
    world.gate.hold_commits();
    assert_eq!(world.unconfirmed(create("a", "")).await, Code::Unknown);
    let refused = world.answer(create("a", "")).await.expect_err("refused");
    assert_eq!(refused.code, Code::Unavailable);
    assert!(refused.meta.retry_after_ms.is_some());
    assert_eq!(world.unconfirmed(create("b", "")).await, Code::Unavailable, "a unique value");
    assert_eq!(world.unconfirmed(delete("a")).await, Code::Unknown);
    assert_eq!(world.unconfirmed(delete("a")).await, Code::Unavailable);
    world.gate.release_commits();
    assert_eq!(code(&world.answer(delete("a")).await), Code::NotFound);
}

#[tokio::test]
async fn batches_are_told_like_writes() {
    let world = world().await;
    world.gate.hold_commits();
    let operations = r#"[{"operationType":"Create","resourceBody":{"id":"a","pk":"x","u":1}},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"x","u":2}}]"#;
    let atomic = || batch(BatchMode::Atomic, operations);
    assert_eq!(world.unconfirmed(atomic()).await, Code::Unknown);
    // Its answer would be what the operations were refused for.
    assert_eq!(world.unconfirmed(atomic()).await, Code::Unavailable);
    let operations = r#"[{"operationType":"Create","resourceBody":{"id":"a","pk":"x"}},
        {"operationType":"Create","resourceBody":{"id":"c","pk":"x","u":3}},
        {"operationType":"Delete","id":"b"},
        {"operationType":"Read","id":"c"}]"#;
    let bulk = batch(BatchMode::Independent { stops_at_failure: false }, operations);
    let done = world.answer(bulk).await.expect("answers");
    let unknown = Err(Code::Unknown);
    let expected = [Err(Code::Unavailable), unknown, unknown, Err(Code::NotFound)];
    assert_eq!(answers(&done), expected);
    world.gate.release_commits();
    assert!(world.is_there("a").await && world.is_there("c").await);
    assert!(!world.is_there("b").await);
}

#[tokio::test]
async fn scripts_are_told_like_writes() {
    let world = world().await;
    let create_a = "create({id: 'a', pk: 'x'});";
    world.db.procedure(create_a).await;
    world.gate.hold_commits();
    assert_eq!(world.unconfirmed(execute()).await, Code::Unknown);
    // It throws, and why is not known to be true.
    assert_eq!(world.unconfirmed(execute()).await, Code::Unavailable);
    world.gate.release_commits();
    assert!(world.is_there("a").await);
    world.db.procedure("find('SELECT VALUE c.id FROM c', (ids) => answer(ids[0]));").await;
    world.gate.hold_commits();
    assert_eq!(world.unconfirmed(create("b", r#","u":2"#)).await, Code::Unknown);
    // Its query waits for what was queued for the key.
    assert!(world.answer(execute()).await.is_err());
    world.gate.release_commits();
    let found = world.answer(execute()).await.expect("done");
    assert_eq!(resource(&found).as_str(), Some("a"));
}

#[tokio::test]
async fn attachments_are_told_like_writes() {
    let world = world().await;
    world.db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    world.gate.hold_commits();
    assert_eq!(world.unconfirmed(attach()).await, Code::Unknown);
    assert_eq!(world.unconfirmed(attach()).await, Code::Unavailable);
    world.gate.release_commits();
    let attachment = AttachmentPath { document: document("a"), attachment: "t".to_owned() };
    let read = Operation::ReadAttachment(attachment);
    world.db.call(read, keyed(KEY)).await.expect("found");
}

/// The documents of a key go when the store is back, though nobody waits for it.
#[tokio::test]
async fn deleting_a_key_goes_on() {
    let world = world().await;
    world.db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let clear = || (Operation::DeleteByPartitionKey(collection()), keyed(KEY));
    world.gate.hold_commits();
    // Nothing was begun: what was queued before must be published first.
    assert_eq!(world.unconfirmed(clear()).await, Code::Unavailable);
    world.gate.release_commits();
    assert!(world.is_there("a").await);
    world.answer(clear()).await.expect("deleted");
    assert!(!world.is_there("a").await);
}

/// A write that nobody waits for any more takes its memory until it is published, and no longer.
#[tokio::test]
async fn memory_is_given_back_when_the_store_is_back() {
    let world = world().await;
    let large = |number: u32| {
        let body = format!(r#"{{"id":"{number}","pk":"x"{}}}"#, filling(number, 1_900_000));
        let body = Bytes::from(body);
        let create = Operation::CreateDocument { collection: collection(), body, upsert: false };
        (create, Options::default())
    };
    world.gate.hold_commits();
    // As many as may be staged at a time.
    for number in 0..5 {
        assert_eq!(world.unconfirmed(large(number)).await, Code::Unknown);
    }
    let next = world.begin(large(5));
    tokio::time::sleep(2 * PATIENCE).await;
    assert!(!next.is_finished(), "there is no room for it");
    world.gate.release_commits();
    let created = next.await.expect("no panic").expect("created");
    assert_eq!(created.outcome, Outcome::Created);
    for number in 6..16 {
        world.answer(large(number)).await.expect("created");
    }
    for number in 0..16 {
        assert!(world.is_there(&number.to_string()).await, "{number}");
    }
}
