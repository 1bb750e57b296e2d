//! Partitions that another process owns: whoever asks sees no difference, and nothing reaches them but
//! through the seam.

use std::{
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use catalog::{
    groups::Group,
    range::Range,
    storage::{self, CATALOG, CATALOG_FORMAT, Loaded},
};
use engine::{Elsewhere, Engine, PartitionView, RateLimit, Readable, Target};
use partition::{
    Partition, budget::Budget, creations::Creations, position::Position, rows::Counters,
};
use protocol::{
    BoxFuture, Code, Context, Error, Operation, Options, Request, Response, Service,
    request::{BatchMode, ChangeMode},
    rid::CollectionRid,
    session::SessionTokens,
};
use store::{Batch, Direction, PageLimit, Store};
use value::Value;

use crate::{
    batches::{answers, execute},
    queries::query,
    random::{
        Rng,
        policies::Policy,
        queries::Query,
        world::{Script, World, answer, documents},
    },
    stores::{commit, new_store},
    support::{Database, TestClock, collection, document, items, keyed, resource, text},
};

/// Enough for seven partitions.
const THROUGHPUT: i64 = 70_000;

/// How long each call across takes at most.
const DELAY_MAX_US: u64 = 300;

/// Another process, which owns some partitions.
struct Other {
    engine: Arc<Engine>,
    called: AtomicUsize,
    viewed: Arc<AtomicUsize>,
}

impl Elsewhere for Other {
    fn own_name(&self) -> &'static str {
        "local"
    }

    fn partition(&self, collection: CollectionRid, range: &Arc<Range>) -> Arc<dyn Readable> {
        let inner = self.engine.partition(collection, range.id).expect("open at its owner");
        Arc::new(Delayed {
            inner,
            range: Arc::clone(range),
            budget: Arc::default(),
            creations: Creations::default(),
            viewed: Arc::clone(&self.viewed),
        })
    }

    fn call<'a>(
        &'a self,
        target: &'a Target,
        context: &'a Context,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(async move {
            assert_eq!(target.group, "other");
            let number = self.called.fetch_add(1, Ordering::Relaxed);
            delay(number).await;
            let context = Context { hops: context.hops + 1, ..context.clone() };
            self.engine.call(&context, request).await
        })
    }
}

/// A partition of the other process. Each call takes a while, and nothing is remembered here.
struct Delayed {
    inner: Arc<dyn Readable>,
    range: Arc<Range>,
    budget: Arc<Budget>,
    creations: Creations,
    viewed: Arc<AtomicUsize>,
}

impl Readable for Delayed {
    fn range(&self) -> &Arc<Range> {
        &self.range
    }

    fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    fn view(&self) -> BoxFuture<'_, Result<PartitionView, Error>> {
        Box::pin(async {
            let number = self.viewed.fetch_add(1, Ordering::Relaxed);
            delay(number).await;
            let view = self.inner.view().await;
            delay(number + 1).await;
            view
        })
    }

    fn history_from(&self) -> BoxFuture<'_, Result<Position, Error>> {
        Box::pin(async {
            delay(1).await;
            self.inner.history_from().await
        })
    }

    fn lsn(&self) -> u64 {
        self.inner.lsn()
    }

    fn creations(&self) -> &Creations {
        &self.creations
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn here(&self) -> Option<&Partition> {
        None
    }
}

/// Different times, so that answers overtake each other.
async fn delay(number: usize) {
    let micros = (number as u64).wrapping_mul(7919) % DELAY_MAX_US;
    tokio::time::sleep(Duration::from_micros(micros)).await;
}

/// Gives every second range of the collection to another owner, behind the database's back.
async fn give_away(store: &dyn Store) -> (CollectionRid, Vec<u32>) {
    let key_space = store.open(CATALOG, 0).await.expect("the catalog");
    let all = (Bound::Unbounded, Bound::Unbounded);
    let limit = PageLimit { entries: 10_000, bytes: 64 << 20 };
    let rows = key_space.snapshot().scan(all, Direction::Forward, limit).await.expect("rows");
    let loaded = Loaded::new(&rows.entries, CATALOG_FORMAT).expect("readable");
    let path = collection();
    let mut changed = (**loaded.catalog.collection(&path).expect("the collection")).clone();
    let mut given = Vec::new();
    for range in changed.ranges.iter_mut().skip(1).step_by(2) {
        *range = Arc::new(Range { group: "other".to_owned(), ..(**range).clone() });
        given.push(range.id);
    }
    let mut batch = Batch::default();
    storage::put_collection(&mut batch, &changed);
    let group = Group { epoch: 0, owner: "somebody else".to_owned() };
    storage::put_group(&mut batch, "other", &group);
    commit(&*key_space, batch).await;
    (changed.rid, given)
}

/// A process that owns only a part of the collection. The one that opened it first is the other.
async fn apart(store: &Arc<dyn Store>, first: &Database) -> (Database, Arc<Other>) {
    let (rid, given) = give_away(&**store).await;
    let other = Arc::new(Other {
        engine: Arc::clone(&first.engine),
        called: AtomicUsize::new(0),
        viewed: Arc::default(),
    });
    let options = engine::Options { rate_limit: RateLimit::Never, ..engine::Options::default() };
    let elsewhere = Arc::clone(&other) as Arc<dyn Elsewhere>;
    let clock = TestClock::at(1_700_000_000);
    let engine = Engine::open_among(Arc::clone(store), options, clock, Some(elsewhere));
    let engine = engine.await.expect("the store opens");
    assert!(!given.is_empty());
    assert!(given.iter().all(|range| engine.partition(rid, *range).is_none()), "not open here");
    (Database { engine }, other)
}

/// All pages of the change feed from its beginning.
async fn changes(db: &Database, size: u32) -> Vec<Value> {
    let mut options = Options { max_item_count: Some(size), ..Options::default() };
    let mut all = Vec::new();
    loop {
        let operation = Operation::ReadChanges {
            collection: collection(),
            mode: ChangeMode::Latest,
            since: None,
        };
        let page = db.call(operation, options.clone()).await.expect("a page");
        let found = items(&page);
        options.if_none_match = page.etag;
        if found.is_empty() {
            return all;
        }
        all.extend(found);
    }
}

#[tokio::test]
async fn what_is_elsewhere_is_read_as_if_it_were_here() {
    for seed in 0..4 {
        let rng = &mut Rng::new(seed);
        let policy = Policy::random(rng);
        let script = Script::random(rng, &policy, 40);
        let world = World::new(&policy, &script, THROUGHPUT).await;
        let (db, other) = apart(&world.store, &world.db).await;

        let everywhere = Options::default();
        assert_eq!(documents(&db, &everywhere).await, world.documents);
        assert_eq!(changes(&db, 3).await, changes(&world.db, 3).await);
        for _ in 0..24 {
            let query = Query::random(rng, &policy);
            for size in [1000, 3] {
                let [expected, actual] = [
                    answer(&world.db, &query, size, &everywhere).await,
                    answer(&db, &query, size, &everywhere).await,
                ]
                .map(|answer| answer.map_err(|error| (error.code, error.message)));
                assert_eq!(actual, expected, "seed {seed}: {}", query.text);
            }
        }
        assert!(other.viewed.load(Ordering::Relaxed) > 100);
        assert_eq!(other.called.load(Ordering::Relaxed), 0, "only reads of several partitions");
    }
}

#[tokio::test]
async fn a_request_about_one_partition_is_carried_out_by_its_owner() {
    let store = new_store();
    let first = Database::open(Arc::clone(&store)).await.with_collection(THROUGHPUT).await;
    let (db, other) = apart(&store, &first).await;
    for number in 0..40 {
        let body = format!(r#"{{"id":"{number}","pk":"{number}","n":{number}}}"#);
        let created = db.create(&body).await.expect("created");
        // What was written is read under its session.
        let seen = created.meta.partitions.iter().map(|it| (it.range_id.to_string(), it.lsn));
        let session = SessionTokens(seen.collect());
        let key = format!(r#"["{number}"]"#);
        let options = Options { session: Some(session), ..keyed(&key) };
        let read = Operation::ReadDocument(document(&number.to_string()));
        let read = db.call(read, options).await.expect("read");
        assert_eq!(resource(&read).get("n").as_i64(), Some(number));
        let operations = format!(
            r#"[{{"operationType":"Patch","id":"{number}","resourceBody":{{"operations":[
                {{"op":"incr","path":"/n","value":100}}]}}}},
                {{"operationType":"Create","resourceBody":{{"id":"b{number}","pk":"{number}"}}}}]"#
        );
        let done = execute(&db, &operations, BatchMode::Atomic, keyed(&key)).await.expect("done");
        assert!(answers(&done).iter().all(Result::is_ok), "{:?}", answers(&done));
        db.delete(&format!("b{number}"), &key).await.expect("deleted");
        let again = db.create(&body).await.expect_err("it exists");
        assert_eq!(again.code, Code::Conflict);
    }
    let called = other.called.load(Ordering::Relaxed);
    assert!((40..200).contains(&called), "{called} requests were handed on");

    let all = documents(&db, &Options::default()).await;
    let mut numbers: Vec<_> = all.iter().filter_map(|it| it.get("n").as_i64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (100..140).collect::<Vec<_>>());
    assert_eq!(changes(&db, 7).await.len(), 40);

    // Figures count what is elsewhere, too.
    let options = Options { populate_quota: true, ..Options::default() };
    let read = db.call(Operation::ReadCollection(collection()), options).await.expect("read");
    assert_eq!(read.meta.quota.expect("figures").documents_count, 40);
    let ranges = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let ranges = items(&db.call(ranges, Options::default()).await.expect("ranges"));
    let ids: Vec<String> = ranges.iter().map(|range| text(range.get("id"))).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6"]);

    // A session that has seen more of a partition elsewhere than its owner has.
    let session = SessionTokens(vec![("1".to_owned(), 1_000_000)]);
    let options = Options { session: Some(session), ..Options::default() };
    let none = Value::Array(Vec::new());
    let error =
        query(&db, "SELECT VALUE c.n FROM c", &none, options).await.expect_err("not seen yet");
    assert_eq!(error.code, Code::SessionNotAvailable);
}
