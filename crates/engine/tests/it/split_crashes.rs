//! A crash at every single step of a split or merge: the next start finds it before or after, with
//! every document once and nothing left over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use engine::verify;
use protocol::Options;
use store::{
    Batch, BoxFuture, Completion, Debt, Durability, Error, Keep, KeySpace, Result, Snapshot,
    Statistics, Store, memory::MemoryStore, testing::Slow,
};

use crate::stores::new_store;
use crate::{
    random::world::documents,
    splitting::{merge, ranges, split},
    support::{Database, text},
};

/// A store that dies after so many changes: from then on nothing changes any more.
pub(crate) struct Mortal {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) left: Arc<AtomicI64>,
}

/// Takes one of the changes that are left.
fn live_on(left: &AtomicI64) -> Result<()> {
    if left.fetch_sub(1, Ordering::SeqCst) > 0 { Ok(()) } else { Err(dead()) }
}

fn dead() -> Error {
    Error::Closed("the store is dead".to_owned())
}

struct MortalPartition {
    inner: Arc<dyn KeySpace>,
    left: Arc<AtomicI64>,
}

impl KeySpace for MortalPartition {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.inner.snapshot()
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        match live_on(&self.left) {
            Ok(()) => self.inner.submit(batch, durability, done),
            Err(error) => done(Err(error)),
        }
    }

    fn barrier(&self, durability: Durability, done: Completion) {
        match live_on(&self.left) {
            Ok(()) => self.inner.barrier(durability, done),
            Err(error) => done(Err(error)),
        }
    }

    fn debt(&self) -> Debt {
        self.inner.debt()
    }
}

impl Store for Mortal {
    fn open<'a>(&'a self, name: &'a str, epoch: u64) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            // A dead process claims no epoch.
            if self.left.load(Ordering::SeqCst) <= 0 {
                return Err(dead());
            }
            // A new name is a change.
            if !self.inner.key_spaces().await?.iter().any(|it| it == name) {
                live_on(&self.left)?;
            }
            let inner = self.inner.open(name, epoch).await?;
            let left = Arc::clone(&self.left);
            Ok(Arc::new(MortalPartition { inner, left }) as Arc<dyn KeySpace>)
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.inner.key_spaces()
    }

    fn drop_key_space<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            live_on(&self.left)?;
            self.inner.drop_key_space(name).await
        })
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            live_on(&self.left)?;
            self.inner.copy(from, to, keep).await
        })
    }

    fn queue_bytes(&self) -> usize {
        self.inner.queue_bytes()
    }

    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// Splits, writes, and merges again; counts the writes that are acknowledged.
async fn reshape(
    db: &Database,
    acknowledged: &mut i64,
) -> std::result::Result<(), protocol::Error> {
    let later = |round: u32| format!(r#"{{"id":"later","pk":"3","t":"a","round":{round}}}"#);
    split(db, "0").await?;
    db.write(&later(1), true, Options::default()).await?;
    *acknowledged = 1;
    merge(db, "1").await?;
    db.write(&later(2), true, Options::default()).await?;
    *acknowledged = 2;
    Ok(())
}

/// A life of the database: the store outlives it.
async fn live(store: &Arc<dyn Store>) -> (Database, Arc<AtomicI64>) {
    let left = Arc::new(AtomicI64::new(i64::MAX));
    let mortal = Mortal { inner: Arc::clone(store), left: Arc::clone(&left) };
    (Database::open(Arc::new(mortal)).await, left)
}

#[tokio::test]
async fn every_step_may_be_the_last() {
    die_at_every_step(r#"{"paths":["/pk"],"kind":"Hash","version":2}"#).await;
}

/// All documents have the same first level, so the cut is inside their slot.
#[tokio::test]
async fn every_step_may_be_the_last_inside_a_slot() {
    die_at_every_step(r#"{"paths":["/t","/pk"],"kind":"MultiHash","version":2}"#).await;
}

async fn die_at_every_step(partition_key: &str) {
    let (mut before, mut between, mut after) = (0, 0, 0);
    for steps in 0.. {
        let store = new_store();
        let (db, left) = live(&store).await;
        db.create_database("db").await;
        let body = format!(r#"{{"id":"c","partitionKey":{partition_key}}}"#);
        db.create_collection(&body, Some(400)).await.expect("a new collection");
        for number in 0..20 {
            let key = number % 5;
            let body = format!(r#"{{"id":"{number}","pk":"{key}","t":"a","v":{number}}}"#);
            db.create(&body).await.expect("created");
        }
        left.store(steps, Ordering::SeqCst);
        let mut acknowledged = 0;
        let is_alive = reshape(&db, &mut acknowledged).await.is_ok();
        left.store(0, Ordering::SeqCst);
        db.engine.close().await.expect("closed");
        drop(db);

        let (db, _) = live(&store).await;
        let now = ranges(&db).await;
        match now.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>()[..] {
            ["0"] => before += 1,
            ["1", "2"] => between += 1,
            ["3"] => after += 1,
            ref other => panic!("after {steps} steps the ranges are {other:?}"),
        }
        let stored = documents(&db, &Options::default()).await;
        let mut all: Vec<String> = stored.iter().map(|it| text(it.get("id"))).collect();
        all.sort_unstable();
        let mut expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        if acknowledged > 0 {
            let later = stored.iter().find(|it| it.get("id").as_str() == Some("later"));
            assert_eq!(later.and_then(|it| it.get("round").as_i64()), Some(acknowledged));
            expected.push("later".to_owned());
        }
        expected.sort_unstable();
        assert_eq!(all, expected, "after {steps} steps");
        // It goes on as if nothing had happened.
        let first = &now[0].0;
        if now.len() == 2 {
            merge(&db, first).await.expect("merged");
        } else {
            split(&db, first).await.expect("split");
        }
        db.engine.close().await.expect("closed");
        drop(db);

        let (db, _) = live(&store).await;
        let serving = ranges(&db).await.len();
        db.engine.close().await.expect("closed");
        let names = store.key_spaces().await.expect("names");
        assert_eq!(names.len(), serving + 1, "after {steps} steps: {names:?}");
        let report = verify(store).await.expect("readable");
        assert!(report.is_clean(), "after {steps} steps: {report}");
        if is_alive {
            break;
        }
    }
    assert!(before > 5 && between > 5 && after > 0, "{before} {between} {after}");
}

/// What the start does in the background does not refuse an administrator.
#[tokio::test]
async fn a_split_can_follow_a_start_at_once() {
    let slow = Slow::new(Arc::new(MemoryStore::new()), 7, Duration::from_millis(5));
    let store: Arc<dyn Store> = Arc::new(slow);
    let (db, _) = live(&store).await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    db.create_collection(body, Some(400)).await.expect("a new collection");
    for key in 0..4 {
        db.create(&format!(r#"{{"id":"{key}","pk":"{key}"}}"#)).await.expect("created");
    }
    db.engine.close().await.expect("closed");
    drop(db);

    // The store is slow in three of four calls.
    for _ in 0..4 {
        let (db, _) = live(&store).await;
        // Lets the background begin.
        tokio::task::yield_now().await;
        let first = ranges(&db).await.swap_remove(0).0;
        split(&db, &first).await.expect("split");
        let first = ranges(&db).await.swap_remove(0).0;
        merge(&db, &first).await.expect("merged");
        db.engine.close().await.expect("closed");
    }
}
