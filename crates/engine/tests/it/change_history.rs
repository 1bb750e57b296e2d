//! The change feed of all versions and deletes: what it gives, for how long, and from where.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use engine::{Engine, RateLimit, verify};
use protocol::{
    Code, Error, Operation, Options, Outcome, Response,
    request::{BatchMode, ChangeMode},
};
use value::{Value, json};

use crate::stores::{new_store, starting};
use crate::{
    batches::execute,
    changes::{changes, etag},
    durability::open,
    migration::{BY_DEVICE, give},
    random::Rng,
    splitting::{merge, ranges, split, until},
    support::{Database, TestClock, collection, items, keyed, resource, text},
};

const NOW: u64 = 1_700_000_000;

async fn read(db: &Database, position: &str, options: Options) -> Result<Response, Error> {
    let options = Options { if_none_match: Some(position.to_owned()), ..options };
    let (collection, mode) = (collection(), ChangeMode::All);
    db.call(Operation::ReadChanges { collection, mode, since: None }, options).await
}

async fn now(db: &Database) -> String {
    let page = read(db, "*", Options::default()).await.expect("the position behind everything");
    assert_eq!(page.outcome, Outcome::NotModified);
    etag(&page)
}

/// Everything from a position to the end.
async fn follow(db: &Database, position: &str, options: &Options) -> (Vec<Value>, String) {
    let (mut found, mut position) = (Vec::new(), position.to_owned());
    loop {
        let page = read(db, &position, options.clone()).await.expect("a page");
        position = etag(&page);
        if page.outcome == Outcome::NotModified {
            return (found, position);
        }
        found.extend(items(&page));
    }
}

/// A collection whose changes are kept for ten minutes.
async fn kept(store: Arc<dyn store::Store>, clock: Arc<TestClock>, more: &str) -> Database {
    let options = engine::Options { rate_limit: RateLimit::Never, ..engine::Options::default() };
    let engine = starting(Engine::open(store, options, clock)).await.expect("open");
    let db = Database { engine };
    db.create_database("db").await;
    let policy = r#""changeFeedPolicy":{"retentionDuration":10}"#;
    let body = format!(r#"{{"id":"c",{more}{policy}}}"#);
    db.create_collection(&body, Some(400)).await.expect("created");
    db
}

const BY_KEY: &str = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"#;

fn clock() -> Arc<TestClock> {
    Arc::new(TestClock(AtomicU64::new(NOW)))
}

async fn verified(db: Database, store: Arc<dyn store::Store>) {
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

fn summary(change: &Value) -> String {
    let metadata = change.get("metadata");
    let n = |name: &str| change.get(name).get("n").as_i64();
    format!(
        "{} {} {:?} {:?}",
        metadata.get("operationType").as_str().expect("an operation"),
        metadata.get("lsn").as_i64().expect("an LSN"),
        n("previous"),
        n("current"),
    )
}

#[tokio::test]
async fn every_version_and_the_end() {
    let store = new_store();
    let db = kept(Arc::clone(&store), clock(), BY_KEY).await;
    let start = now(&db).await;
    assert_eq!(start, "1");
    db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created");
    db.write(r#"{"id":"a","pk":"x","n":2}"#, true, Options::default()).await.expect("replaced");
    let patch = r#"{"operations":[{"op":"incr","path":"/n","value":1}]}"#;
    db.patch("a", patch, keyed(r#"["x"]"#)).await.expect("patched");
    let batch = r#"[{"operationType":"Delete","id":"a"},
        {"operationType":"Create","resourceBody":{"id":"a","pk":"x","n":9}},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"x","n":10}}]"#;
    execute(&db, batch, BatchMode::Atomic, keyed(r#"["x"]"#)).await.expect("done");
    db.delete("a", r#"["x"]"#).await.expect("deleted");
    for size in [1, 2, 3, 100] {
        let options = Options { max_item_count: Some(size), ..Options::default() };
        let (found, end) = follow(&db, &start, &options).await;
        let found: Vec<String> = found.iter().map(summary).collect();
        let expected = [
            "create 2 None Some(1)",
            "replace 3 None Some(2)",
            "replace 4 None Some(3)",
            "delete 5 Some(3) None",
            "create 5 None Some(9)",
            "create 5 None Some(10)",
            "delete 6 Some(9) None",
        ];
        assert_eq!(found, expected, "pages of {size}");
        assert_eq!(end, "6");
    }
    let (found, _) = follow(&db, "5", &Options::default()).await;
    let gone = json::print(found[0].get("metadata"));
    let expected = format!(
        r#"{{"operationType":"delete","lsn":6,"crts":{NOW},"previousImageLSN":5,"timeToLiveExpired":false,"id":"a","partitionKey":{{"pk":"x"}}}}"#
    );
    assert_eq!(gone, expected);
    assert_eq!(found[0].get("current"), &json::parse(b"{}").expect("an object"));
    // Whole documents, with what the server adds.
    let (found, _) = follow(&db, "1", &keyed(r#"["x"]"#)).await;
    assert_eq!(found[0].get("current").get("_ts").as_i64(), Some(1_700_000_000));
    assert!(follow(&db, "1", &keyed(r#"["y"]"#)).await.0.is_empty());
    // Of the version that was replaced there is the LSN, and nothing else.
    let replaced = json::print(found[1].get("metadata"));
    let expected =
        format!(r#"{{"operationType":"replace","lsn":3,"crts":{NOW},"previousImageLSN":2}}"#);
    assert_eq!(replaced, expected);
    assert!(found[1].get("previous").is_undefined());
    verified(db, store).await;
}

#[tokio::test]
async fn the_policy_decides() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    let replace = |minutes: Option<u32>| {
        let policy = minutes.map_or(String::new(), |minutes| {
            format!(r#","changeFeedPolicy":{{"retentionDuration":{minutes}}}"#)
        });
        let key = r#"{"paths":["/pk"],"kind":"Hash","version":2}"#;
        let body = Bytes::from(format!(r#"{{"id":"c","partitionKey":{key}{policy}}}"#));
        let path = collection();
        db.call(Operation::ReplaceCollection { path, body }, Options::default())
    };
    db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created");
    let off = read(&db, "*", Options::default()).await;
    assert_eq!(off.expect_err("off").code, Code::BadRequest);
    replace(Some(10)).await.expect("on");
    let start = now(&db).await;
    db.create(r#"{"id":"b","pk":"x","n":2}"#).await.expect("created");
    assert_eq!(follow(&db, &start, &Options::default()).await.0.len(), 1);
    let before = read(&db, "1", Options::default()).await;
    assert_eq!(before.expect_err("of before").code, Code::BadRequest);
    let beginning =
        Operation::ReadChanges { collection: collection(), mode: ChangeMode::All, since: None };
    let beginning = db.call(beginning, Options::default()).await;
    let beginning = beginning.expect_err("the beginning");
    assert_eq!(beginning.code, Code::BadRequest);
    let advice = "You must read the change feed from within the retention period.";
    assert!(beginning.message.ends_with(advice), "{beginning}");
    // A gap is told.
    replace(None).await.expect("off");
    db.create(r#"{"id":"c","pk":"x","n":3}"#).await.expect("created");
    replace(Some(10)).await.expect("on again");
    let gap = read(&db, &start, Options::default()).await;
    assert_eq!(gap.expect_err("a gap").code, Code::BadRequest);
    let start = now(&db).await;
    db.delete("a", r#"["x"]"#).await.expect("deleted");
    let (found, _) = follow(&db, &start, &Options::default()).await;
    assert_eq!(found.iter().map(summary).collect::<Vec<_>>(), ["delete 5 Some(1) None"]);
    // Where it is off, everything is given back.
    replace(None).await.expect("off");
    until("the rows are swept", async || history_rows(&*store).await == 0).await;
    verified(db, store).await;
}

/// The operator may have every collection keep its versions, as accounts with continuous backup do.
#[tokio::test]
async fn the_operator_decides_where_no_policy_does() {
    let (dir, clock) = (tempfile::tempdir().expect("a directory"), clock());
    let store = open(dir.path());
    let options = |retention: Option<u64>| engine::Options {
        all_versions_retention: retention.map(Duration::from_secs),
        ..engine::Options::default()
    };
    let db = Database::open_at(Arc::clone(&store), options(Some(100)), &clock).await;
    let db = db.with_collection(400).await;
    let read_it = Operation::ReadCollection(collection());
    let shown = db.call(read_it, Options::default()).await.expect("read");
    assert!(resource(&shown).get("changeFeedPolicy").is_undefined(), "nobody set one");
    let start = now(&db).await;
    for n in 0..20 {
        db.create(&format!(r#"{{"id":"a{n}","pk":"k{n}","n":{n}}}"#)).await.expect("created");
    }
    db.delete("a3", r#"["k3"]"#).await.expect("deleted");
    assert_eq!(follow(&db, &start, &Options::default()).await.0.len(), 21);
    split(&db, "0").await.expect("split");
    assert_eq!(follow(&db, &start, &Options::default()).await.0.len(), 21);
    // A policy of its own counts, if it is one.
    for (minutes, seconds) in [("0", 101), ("10", 601)] {
        let key = r#"{"paths":["/pk"],"kind":"Hash","version":2}"#;
        let policy = format!(r#""changeFeedPolicy":{{"retentionDuration":{minutes}}}"#);
        let body = Bytes::from(format!(r#"{{"id":"c","partitionKey":{key},{policy}}}"#));
        let replace = Operation::ReplaceCollection { path: collection(), body };
        db.call(replace, Options::default()).await.expect("replaced");
        let start = now(&db).await;
        db.create(&format!(r#"{{"id":"{minutes}","pk":"x"}}"#)).await.expect("created");
        let second = clock.0.load(Ordering::Relaxed);
        clock.set(second + seconds - 2);
        assert_eq!(follow(&db, &start, &Options::default()).await.0.len(), 1, "{minutes}");
        clock.set(second + seconds);
        until("the old rows are swept", async || history_rows(&*store).await == 0).await;
    }
    // Without the setting, what it kept is given back.
    let body = Bytes::from(format!(r#"{{"id":"c",{}}}"#, BY_KEY.trim_end_matches(',')));
    let replace = Operation::ReplaceCollection { path: collection(), body };
    db.call(replace, Options::default()).await.expect("replaced");
    db.create(r#"{"id":"last","pk":"x"}"#).await.expect("created");
    assert_eq!(history_rows(&*store).await, 1);
    db.engine.close().await.expect("closed");
    drop((db, store));
    let store = open(dir.path());
    let db = Database::open_at(Arc::clone(&store), options(None), &clock).await;
    assert_eq!(read(&db, "*", Options::default()).await.expect_err("off").code, Code::BadRequest);
    until("the rows are swept", async || history_rows(&*store).await == 0).await;
    db.engine.close().await.expect("closed");
    drop((db, store));
    let report = verify(open(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// Rows of the history, in all partitions.
async fn history_rows(store: &dyn store::Store) -> usize {
    let mut count = 0;
    for name in store::Store::key_spaces(store).await.expect("names") {
        let partition = store::Store::open(store, &name, 0).await.expect("open");
        let range = (
            std::ops::Bound::Included(Bytes::from_static(b"H")),
            std::ops::Bound::Excluded(Bytes::from_static(b"I")),
        );
        let limit = store::PageLimit { entries: 10_000, bytes: 64 << 20 };
        let snapshot = store::KeySpace::snapshot(&*partition);
        let page = snapshot.scan(range, store::Direction::Forward, limit).await.expect("a page");
        count += if name.starts_with("p-") { page.entries.len() } else { 0 };
    }
    count
}

#[tokio::test]
async fn what_is_old_is_swept() {
    let (store, clock) = (new_store(), clock());
    let db = kept(Arc::clone(&store), Arc::clone(&clock), BY_KEY).await;
    for number in 0..700 {
        let body = format!(r#"{{"id":"a{number}","pk":"x","n":{number}}}"#);
        db.create(&body).await.expect("created");
    }
    clock.0.store(NOW + 500, Ordering::Relaxed);
    for number in 0..5 {
        let body = format!(r#"{{"id":"b{number}","pk":"x","n":{number}}}"#);
        db.create(&body).await.expect("created");
    }
    assert_eq!(follow(&db, "691", &Options::default()).await.0.len(), 15);
    clock.0.store(NOW + 601, Ordering::Relaxed);
    until("the old rows are swept", async || history_rows(&*store).await == 5).await;
    for position in ["0", "691", "700"] {
        let old = read(&db, position, Options::default()).await;
        assert_eq!(old.expect_err("swept").code, Code::BadRequest, "{position}");
    }
    assert_eq!(follow(&db, "701", &Options::default()).await.0.len(), 5);
    verified(db, store).await;
}

/// A document whose time is up is gone from the one feed at once, and its end is in the other.
#[tokio::test]
async fn what_expires_is_marked() {
    let (store, clock) = (new_store(), clock());
    let definition = format!(r#"{BY_KEY}"defaultTtl":10,"#);
    let db = kept(Arc::clone(&store), Arc::clone(&clock), &definition).await;
    let start = now(&db).await;
    db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created");
    db.create(r#"{"id":"b","pk":"x","n":2,"ttl":-1}"#).await.expect("created");
    let latest = async || {
        let page = changes(&db, None, None, Options::default()).await.expect("a page");
        items(&page).iter().map(|item| text(item.get("id"))).collect::<Vec<_>>()
    };
    assert_eq!(latest().await, ["a", "b"]);
    clock.0.store(NOW + 10, Ordering::Relaxed);
    assert_eq!(latest().await, ["b"]);
    until("it is swept", async || {
        let (found, _) = follow(&db, &start, &Options::default()).await;
        found.len() == 3
    })
    .await;
    let (found, _) = follow(&db, &start, &Options::default()).await;
    assert_eq!(summary(&found[2]), "delete 4 Some(1) None");
    let metadata = found[2].get("metadata");
    assert_eq!(metadata.get("timeToLiveExpired").as_bool(), Some(true));
    assert_eq!(text(metadata.get("id")), "a");
    verified(db, store).await;
}

#[tokio::test]
async fn a_new_key_ends_the_history() {
    let store = new_store();
    let db = kept(Arc::clone(&store), clock(), "").await;
    db.create(r#"{"id":"a","deviceId":"x"}"#).await.expect("created");
    give(&db, BY_DEVICE).await.expect("given");
    let old = read(&db, "0", Options::default()).await;
    assert_eq!(old.expect_err("of before").code, Code::BadRequest);
    let start = now(&db).await;
    db.create(r#"{"id":"b","deviceId":"y"}"#).await.expect("created");
    assert_eq!(follow(&db, &start, &Options::default()).await.0.len(), 1);
    verified(db, store).await;
}

/// What was done to each key, in order: an id, and its new number or that it was deleted.
type Done = BTreeMap<String, Vec<(String, Option<i64>)>>;

/// A writer who remembers.
struct Writer {
    is_deep: bool,
    done: Done,
    alive: BTreeSet<(String, String)>,
}

impl Writer {
    async fn write(&mut self, db: &Database, rng: &mut Rng, n: i64) {
        let (key, id) = (format!("k{}", rng.below(6)), rng.below(5).to_string());
        let place = (key.clone(), id.clone());
        if !rng.chance(30) {
            let body = format!(r#"{{"id":"{id}","t":"acme","pk":"{key}","n":{n}}}"#);
            db.write(&body, true, Options::default()).await.expect("written");
            self.alive.insert(place);
            self.done.entry(key).or_default().push((id, Some(n)));
        } else if self.alive.remove(&place) {
            let full =
                if self.is_deep { format!(r#"["acme","{key}"]"#) } else { format!(r#"["{key}"]"#) };
            db.delete(&id, &full).await.expect("deleted");
            self.done.entry(key).or_default().push((id, None));
        }
    }
}

async fn reshape(db: &Database, rng: &mut Rng) {
    let now = ranges(db).await;
    let range = &now[rng.below(now.len())].0;
    let is_split = now.len() < 4 && rng.chance(60);
    let result = if is_split { split(db, range).await } else { merge(db, range).await };
    let is_refused = |error: &Error| error.code == Code::BadRequest;
    assert!(result.as_ref().err().is_none_or(is_refused), "{result:?}");
}

/// What a reader of these changes knows was done.
fn replayed(changes: &[Value]) -> Done {
    let mut replayed = Done::new();
    let mut last: BTreeMap<(String, String), Option<i64>> = BTreeMap::new();
    for change in changes {
        let kind = text(change.get("metadata").get("operationType"));
        let document = change.get(if kind == "delete" { "previous" } else { "current" });
        let (key, id) = (text(document.get("pk")), text(document.get("id")));
        let n = if kind == "delete" { None } else { document.get("n").as_i64() };
        // Each change begins where the one before it ended.
        let before = last.insert((key.clone(), id.clone()), n).flatten();
        match kind.as_str() {
            "delete" => assert_eq!(document.get("n").as_i64(), before, "{key}/{id}"),
            _ => assert!(change.get("previous").is_undefined(), "{key}/{id}"),
        }
        assert_eq!(kind == "create", before.is_none());
        replayed.entry(key).or_default().push((id, n));
    }
    replayed
}

/// Replaying the feed gives exactly what the writers did, through splits and merges.
async fn replays(seed: u64, is_deep: bool) {
    let mut rng = Rng::new(seed);
    let store = new_store();
    let key = if is_deep {
        r#""partitionKey":{"paths":["/t","/pk"],"kind":"MultiHash","version":2},"#
    } else {
        BY_KEY
    };
    let db = kept(Arc::clone(&store), clock(), key).await;
    let start = now(&db).await;
    let mut position = start.clone();
    let mut read_so_far = Vec::new();
    let mut writer = Writer { is_deep, done: Done::new(), alive: BTreeSet::new() };
    for n in 0..150 {
        writer.write(&db, &mut rng, n).await;
        if rng.chance(8) {
            reshape(&db, &mut rng).await;
        }
        if rng.chance(20) {
            let size = 1 + u32::try_from(rng.below(4)).expect("small");
            let options = Options { max_item_count: Some(size), ..Options::default() };
            let page = read(&db, &position, options).await.expect("a page");
            position = etag(&page);
            if page.outcome == Outcome::Ok {
                read_so_far.extend(items(&page));
            }
        }
    }
    read_so_far.extend(follow(&db, &position, &Options::default()).await.0);
    assert_eq!(replayed(&read_so_far), writer.done);
    let at_once = follow(&db, &start, &Options::default()).await.0;
    assert_eq!(replayed(&at_once), writer.done);
    verified(db, store).await;
}

#[tokio::test]
async fn replaying_gives_what_was_done() {
    for seed in 0..8 {
        replays(seed, false).await;
    }
}

#[tokio::test]
async fn replaying_a_tenant_that_is_cut() {
    for seed in 50..58 {
        replays(seed, true).await;
    }
}
