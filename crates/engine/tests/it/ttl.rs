//! Time to live: what has expired is gone in the very second for everyone, and is swept later.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use engine::verify;
use protocol::{Code, Operation, Options, Outcome, Response, request::BatchMode};
use value::{Value, json};

use crate::stores::new_store;
use crate::{
    queries::query,
    support::{Database, TestClock, batch_of, collection, items, keyed, resource},
};

/// When the tests begin.
const START: u64 = 1_700_000_000;

pub(crate) fn on_disk(dir: &std::path::Path) -> Arc<dyn store::Store> {
    store_lsm::LsmStore::open(dir, store_lsm::Options::default()).expect("the store opens")
}

/// No sweep while a test lasts.
pub(crate) fn unswept() -> engine::Options {
    engine::Options { sweep_interval: Duration::from_hours(1), ..engine::Options::default() }
}

/// A sweep that never rests.
fn swept() -> engine::Options {
    engine::Options { sweep_interval: Duration::from_millis(1), ..engine::Options::default() }
}

pub(crate) fn definition(default_ttl: Option<i32>) -> String {
    let ttl = default_ttl.map(|ttl| format!(r#","defaultTtl":{ttl}"#)).unwrap_or_default();
    let order = r#"[{"path":"/w","order":"ascending"},{"path":"/v","order":"ascending"}]"#;
    format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}}{ttl},
            "indexingPolicy":{{"includedPaths":[{{"path":"/*"}}],"compositeIndexes":[{order}]}}}}"#
    )
}

struct World {
    store: Arc<dyn store::Store>,
    clock: Arc<TestClock>,
    db: Database,
}

impl World {
    async fn new(options: engine::Options, default_ttl: Option<i32>) -> Self {
        Self::on(new_store(), options, default_ttl).await
    }

    async fn on(
        store: Arc<dyn store::Store>,
        options: engine::Options,
        default_ttl: Option<i32>,
    ) -> Self {
        let clock = TestClock::at(START);
        let db = Database::open_at(Arc::clone(&store), options, &clock).await;
        db.create_database("db").await;
        db.create_collection(&definition(default_ttl), Some(400)).await.expect("a collection");
        Self { store, clock, db }
    }

    fn at(&self, seconds: u64) {
        self.clock.set(START + seconds);
    }

    async fn set_ttl(&self, default_ttl: Option<i32>) {
        let body = Bytes::from(definition(default_ttl));
        let replace = Operation::ReplaceCollection { path: collection(), body };
        self.db.call(replace, Options::default()).await.expect("replaced");
    }

    async fn rows(&self, text: &str) -> Vec<Value> {
        let rows = query(&self.db, text, &Value::Undefined, Options::default()).await;
        rows.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The ids that are there.
    async fn ids(&self) -> Vec<String> {
        self.db.all(Options::default()).await
    }

    /// How many are stored, whether or not anyone can see them.
    fn stored(&self) -> u64 {
        self.db.engine.statistics().iter().map(|partition| partition.documents).sum()
    }

    async fn until_stored(&self, documents: u64) {
        while self.stored() != documents {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn close(self) {
        self.db.engine.close().await.expect("closed");
        let report = verify(self.store).await.expect("readable");
        assert!(report.is_clean(), "{report}");
    }
}

/// Everything that can be asked, by its name, as text: the same whether the document is gone because
/// it has expired or because it was never there.
#[expect(clippy::too_many_lines, reason = "a table")]
async fn everything(world: &World) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let db = &world.db;
    let mut note = |name: &str, answer: String| seen.push((name.to_owned(), answer));
    let status = |answer: Result<Response, protocol::Error>| match answer {
        Ok(response) => format!("{:?}", response.outcome),
        Err(error) => format!("{:?}", error.code),
    };
    note("read", status(db.read("x", r#"["k"]"#).await));
    let body = r#"{"id":"x","pk":"k","v":2}"#;
    let stale = Options { if_match: Some("\"nobody's\"".to_owned()), ..keyed(r#"["k"]"#) };
    note("replace", status(db.replace("x", body, stale.clone()).await));
    note(
        "patch",
        status(
            db.patch("x", r#"{"operations":[{"op":"add","path":"/v","value":2}]}"#, stale.clone())
                .await,
        ),
    );
    note(
        "delete",
        status(db.call(Operation::DeleteDocument(crate::support::document("x")), stale).await),
    );
    for (name, operations) in [
        ("batch read", r#"[{"operationType":"Read","id":"x"}]"#),
        ("batch delete", r#"[{"operationType":"Delete","id":"x","ifMatch":"\"nobody's\""}]"#),
        (
            "batch replace",
            r#"[{"operationType":"Replace","id":"x","ifMatch":"\"nobody's\"","resourceBody":{"id":"x","pk":"k"}}]"#,
        ),
    ] {
        let execute = Operation::ExecuteBatch {
            collection: collection(),
            operations: batch_of(operations),
            mode: BatchMode::Atomic,
        };
        let answer = db.call(execute, keyed(r#"["k"]"#)).await.expect("a batch");
        let protocol::Body::Batch(results) = answer.body else { panic!("results") };
        note(name, format!("{:?}", results.iter().map(|it| it.answer).collect::<Vec<_>>()));
    }
    note("feed", world.ids().await.join(","));
    note("feed of the key", db.all(keyed(r#"["k"]"#)).await.join(","));
    for text in [
        "SELECT * FROM c",
        "SELECT c.id FROM c WHERE c.v = 1",
        "SELECT c.id FROM c WHERE c.v > 0",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'k'",
        "SELECT VALUE COUNT(1) FROM c WHERE c.v = 1",
        "SELECT VALUE COUNT(1) FROM c WHERE c.v > 0 OR c.w = 3",
        "SELECT VALUE COUNT(1) FROM c WHERE c.v > 0 AND c.w > 0",
        "SELECT VALUE SUM(c.v) FROM c",
        "SELECT c.v, COUNT(1) AS n FROM c GROUP BY c.v",
        "SELECT DISTINCT VALUE [c.v, c.tags] FROM c",
        "SELECT c.id FROM c ORDER BY c.v",
        "SELECT c.id FROM c ORDER BY c.v DESC",
        "SELECT TOP 4 c.id FROM c ORDER BY c.w, c.v",
        "SELECT c.id, t FROM c JOIN t IN c.tags",
        "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 'a')",
        "SELECT VALUE c.id FROM c WHERE c.id = 'x'",
        "SELECT c.id FROM c OFFSET 0 LIMIT 5",
    ] {
        let rows: Vec<String> = world.rows(text).await.iter().map(without_versions).collect();
        note(text, rows.join(" "));
        if text.contains("COUNT") {
            let rows = query(db, text, &Value::Undefined, keyed(r#"["k"]"#)).await.expect("rows");
            note(&format!("{text} of a key"), rows.iter().map(json::print).collect());
        }
    }
    seen
}

/// What two databases with the same documents have in common.
fn without_versions(row: &Value) -> String {
    let mut row = row.clone();
    if let Value::Object(object) = &mut row {
        for name in ["_rid", "_self", "_etag"] {
            object.remove(name);
        }
    }
    json::print(&row)
}

const OTHERS: [&str; 3] = [
    r#"{"id":"a","pk":"k","v":1,"w":3,"tags":["a"]}"#,
    r#"{"id":"b","pk":"l","v":2,"w":2,"tags":["b","a"],"ttl":100000}"#,
    r#"{"id":"z","pk":"k","v":7,"w":1,"tags":[],"ttl":-1}"#,
];

/// At every second before its last a document is seen by all; from then on by none.
#[tokio::test]
async fn nobody_sees_a_document_in_the_second_it_expires() {
    let without = World::new(unswept(), Some(-1)).await;
    let world = World::new(unswept(), Some(-1)).await;
    for body in OTHERS {
        without.db.create(body).await.expect("created");
        world.db.create(body).await.expect("created");
    }
    let body = r#"{"id":"x","pk":"k","v":1,"w":3,"tags":["a","c"],"ttl":10}"#;
    world.db.create(body).await.expect("created");
    world.at(9);
    let before = everything(&world).await;
    let gone = everything(&without).await;
    for ((name, seen), (_, unseen)) in before.iter().zip(&gone) {
        assert_ne!(seen, unseen, "{name}: it is still there");
    }
    for seconds in [10, 11, 1000] {
        world.at(seconds);
        assert_eq!(everything(&world).await, gone, "after {seconds} seconds");
    }
    assert_eq!(world.stored(), 4, "nothing was swept");
    world.close().await;
}

/// What has expired stands in nobody's way: its id can be used again, and is counted once.
#[tokio::test]
async fn an_expired_id_can_be_used_again() {
    let world = World::new(unswept(), Some(5)).await;
    let db = &world.db;
    for (number, upsert) in [false, true].into_iter().enumerate() {
        world.at(number as u64 * 100);
        let body = r#"{"id":"x","pk":"k","v":1}"#;
        let first = db.write(body, upsert, Options::default()).await.expect("created");
        let again = db.write(body, false, Options::default()).await;
        assert_eq!(again.map(|_| ()).map_err(|error| error.code), Err(Code::Conflict));
        world.at(number as u64 * 100 + 5);
        let second = db.write(body, upsert, Options::default()).await.expect("created anew");
        assert_eq!(second.outcome, Outcome::Created);
        let rid = |response: &Response| resource(response).get("_rid").as_str().map(str::to_owned);
        assert_ne!(rid(&first), rid(&second), "it is another document");
        assert_eq!(world.rows("SELECT VALUE COUNT(1) FROM c WHERE c.v = 1").await, [1.into()]);
        assert_eq!(world.stored(), 1);
    }
    // In a transaction, too.
    world.at(1000);
    let operations = r#"[{"operationType":"Create","resourceBody":{"id":"x","pk":"k","v":2}},
        {"operationType":"Read","id":"x"},{"operationType":"Delete","id":"x"},
        {"operationType":"Upsert","resourceBody":{"id":"x","pk":"k","v":3}}]"#;
    let execute = Operation::ExecuteBatch {
        collection: collection(),
        operations: batch_of(operations),
        mode: BatchMode::Atomic,
    };
    let answer = db.call(execute, keyed(r#"["k"]"#)).await.expect("a batch");
    let protocol::Body::Batch(results) = answer.body else { panic!("results") };
    assert!(results.iter().all(|result| result.answer.is_ok()), "{results:?}");
    assert_eq!(world.rows("SELECT VALUE c.v FROM c").await, [3.into()]);
    assert_eq!(world.stored(), 1);
    world.close().await;
}

/// Every write renews; a document's own time goes before the collection's, which alone turns it on.
#[tokio::test]
async fn the_rules_of_time_to_live() {
    let world = World::new(unswept(), Some(10)).await;
    let db = &world.db;
    for (id, ttl) in [("default", ""), ("short", r#","ttl":3"#), ("never", r#","ttl":-1"#)] {
        db.create(&format!(r#"{{"id":"{id}","pk":"k"{ttl}}}"#)).await.expect("created");
    }
    world.at(3);
    assert_eq!(world.ids().await, ["default", "never"]);
    world.at(9);
    let patch = r#"{"operations":[{"op":"add","path":"/v","value":1}]}"#;
    db.patch("default", patch, keyed(r#"["k"]"#)).await.expect("patched");
    world.at(18);
    assert_eq!(world.ids().await, ["default", "never"], "a write has renewed it");
    let patch = r#"{"operations":[{"op":"add","path":"/ttl","value":1}]}"#;
    db.patch("never", patch, keyed(r#"["k"]"#)).await.expect("patched");
    world.at(19);
    assert_eq!(world.ids().await, Vec::<String>::new());
    for bad in ["null", "0", "-2", "1.5", "\"5\"", "true", "[]", "{}", "2147483648", "1e300"] {
        let created = db.create(&format!(r#"{{"id":"bad","pk":"k","ttl":{bad}}}"#)).await;
        let error = created.expect_err(bad);
        assert_eq!(error.code, Code::BadRequest, "{bad}");
        assert!(error.message.starts_with("The input ttl '"), "{error}");
        let patch = format!(r#"{{"operations":[{{"op":"add","path":"/ttl","value":{bad}}}]}}"#);
        db.create(r#"{"id":"good","pk":"k"}"#).await.expect("created");
        let patched = db.patch("good", &patch, keyed(r#"["k"]"#)).await;
        assert_eq!(patched.expect_err(bad).code, Code::BadRequest, "{bad}");
        db.delete("good", r#"["k"]"#).await.expect("deleted");
    }
    world.close().await;
}

/// A change of the collection's time counts at once for documents of every age, in every direction.
#[tokio::test]
async fn changes_of_the_default_count_at_once() {
    let world = World::new(unswept(), None).await;
    let db = &world.db;
    for (id, ttl) in [("plain", ""), ("own", r#","ttl":50"#), ("never", r#","ttl":-1"#)] {
        db.create(&format!(r#"{{"id":"{id}","pk":"k","v":1{ttl}}}"#)).await.expect("created");
    }
    world.at(60);
    let steps: [(Option<i32>, &[&str]); 9] = [
        (None, &["plain", "own", "never"]),
        (Some(-1), &["plain", "never"]),
        (Some(60), &["never"]),
        (Some(61), &["plain", "never"]),
        (None, &["plain", "own", "never"]),
        (Some(10), &["never"]),
        (Some(100), &["plain", "never"]),
        (Some(1), &["never"]),
        (None, &["plain", "own", "never"]),
    ];
    for (default_ttl, expected) in steps {
        world.set_ttl(default_ttl).await;
        for _ in 0..3 {
            let count = Value::from(i64::try_from(expected.len()).expect("few"));
            assert_eq!(world.ids().await, expected, "{default_ttl:?}");
            for text in [
                "SELECT VALUE COUNT(1) FROM c",
                "SELECT VALUE COUNT(1) FROM c WHERE c.v = 1",
                "SELECT VALUE SUM(c.v) FROM c",
            ] {
                let rows = world.rows(text).await;
                assert_eq!(rows, std::slice::from_ref(&count), "{text}, {default_ttl:?}");
            }
            let ordered = world.rows("SELECT VALUE c.id FROM c ORDER BY c.v").await;
            assert_eq!(ordered.len(), expected.len());
            // Later the rows have followed, and say the same.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
    }
    world.close().await;
}

/// The sweep removes what has expired and nothing else, terms and all.
#[tokio::test]
async fn what_has_expired_is_swept() {
    let world = World::new(swept(), Some(-1)).await;
    for number in 0..300 {
        let ttl = if number % 3 == 0 { 10 } else { 1000 };
        let body =
            format!(r#"{{"id":"d{number}","pk":"k{}","ttl":{ttl},"v":{number}}}"#, number % 5);
        world.db.create(&body).await.expect("created");
    }
    world.at(9);
    assert_eq!(world.ids().await.len(), 300);
    world.at(10);
    assert_eq!(world.ids().await.len(), 200);
    world.until_stored(200).await;
    assert_eq!(world.ids().await.len(), 200);
    world.at(1000);
    world.until_stored(0).await;
    world.close().await;
}

/// A shorter time reaches what was written before, in the background, and a restart goes on with it.
#[tokio::test]
async fn the_sweep_follows_changes_and_restarts() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::on(on_disk(dir.path()), swept(), None).await;
    for number in 0..100 {
        let body = format!(r#"{{"id":"d{number}","pk":"k{}"}}"#, number % 5);
        world.db.create(&body).await.expect("created");
    }
    world.set_ttl(Some(1000)).await;
    world.set_ttl(Some(10)).await;
    world.at(10);
    let World { store, clock, db } = world;
    db.engine.close().await.expect("closed");
    drop((db, store));
    let store = on_disk(dir.path());
    let db = Database::open_at(Arc::clone(&store), swept(), &clock).await;
    let world = World { store, clock, db };
    assert_eq!(world.ids().await, Vec::<String>::new());
    world.until_stored(0).await;
    world.db.engine.close().await.expect("closed");
    drop(world);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// Splits take what is to expire along.
#[tokio::test]
async fn the_sweep_goes_on_behind_a_split() {
    let world = World::new(swept(), Some(100)).await;
    for number in 0..100 {
        let body = format!(r#"{{"id":"d{number}","pk":"k{number}"}}"#);
        world.db.create(&body).await.expect("created");
    }
    let split = Operation::SplitPartition { path: collection(), range: "0".to_owned() };
    world.db.call(split, Options::default()).await.expect("split");
    world.at(99);
    assert_eq!(world.ids().await.len(), 100);
    world.at(100);
    let count = world.rows("SELECT VALUE COUNT(1) FROM c").await;
    assert_eq!(count, [0.into()]);
    world.until_stored(0).await;
    world.close().await;
}

/// Pages of a query do not go back to what has expired between them.
#[tokio::test]
async fn pages_go_on_past_what_expires() {
    let world = World::new(unswept(), Some(-1)).await;
    for number in 0..20 {
        let ttl = if number % 2 == 0 { 10 } else { 1000 };
        let body = format!(r#"{{"id":"d{number:02}","pk":"k","ttl":{ttl},"v":{number}}}"#);
        world.db.create(&body).await.expect("created");
    }
    for text in ["SELECT VALUE c.v FROM c", "SELECT VALUE c.v FROM c ORDER BY c.v"] {
        world.at(0);
        let content = Bytes::from(format!(r#"{{"query":"{text}"}}"#));
        let mut options = Options { max_item_count: Some(3), ..keyed(r#"["k"]"#) };
        let mut rows = Vec::new();
        loop {
            let body = gateway::read::query(&content, false).expect("a query");
            let feed = protocol::query::QueryFeed::Documents(collection());
            let page = world.db.call(Operation::Query { feed, query: body }, options.clone()).await;
            let page = page.expect("a page");
            rows.extend(items(&page).iter().filter_map(Value::as_i64));
            let Some(token) = page.continuation else { break };
            options.continuation = Some(token);
            world.at(10);
        }
        assert_eq!(rows, [0, 1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 19], "{text}");
    }
    world.close().await;
}

/// What has expired takes no room, though it is still there.
#[tokio::test]
async fn a_full_key_has_room_for_what_expires() {
    let mut options = unswept();
    options.sizes.logical_partition = 10 << 10;
    let world = World::new(options, Some(5)).await;
    let body = |id: &str| format!(r#"{{"id":"{id}","pk":"k","text":"{}"}}"#, "x".repeat(6000));
    world.db.create(&body("a")).await.expect("created");
    let refused = world.db.create(&body("b")).await.expect_err("full");
    assert_eq!(refused.code, Code::PartitionKeyQuota);
    world.at(5);
    world.db.create(&body("b")).await.expect("there is room");
    assert_eq!(world.stored(), 2);
    world.close().await;
}

/// What a write removes on its way is not taken off twice.
#[tokio::test]
async fn what_is_buried_makes_room_once() {
    let mut options = unswept();
    options.sizes.logical_partition = 20 << 10;
    let world = World::new(options, Some(-1)).await;
    let body = |id: &str, length: usize, ttl: &str| {
        format!(r#"{{"id":"{id}","pk":"k","text":"{}"{ttl}}}"#, "x".repeat(length))
    };
    world.db.create(&body("x", 9000, r#","ttl":5"#)).await.expect("created");
    world.db.create(&body("y", 10_000, "")).await.expect("created");
    world.at(5);
    let refused = world.db.create(&body("x", 18_000, "")).await.expect_err("10,000 are taken");
    assert_eq!(refused.code, Code::PartitionKeyQuota);
    world.db.create(&body("x", 9500, "")).await.expect("there is room for so much");
    let refused = world.db.create(&body("z", 2000, "")).await.expect_err("full");
    assert_eq!(refused.code, Code::PartitionKeyQuota);
    world.close().await;
}
