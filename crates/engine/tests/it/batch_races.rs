//! Transfers between the documents of one key, by batches, with everything else going on: the sum
//! never changes, whoever looks.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use engine::verify;
use protocol::{Code, Error, Options, Outcome, request::BatchMode};
use value::Value;

use crate::stores::new_store;
use crate::{
    batches::{answers, document, execute, results},
    queries::query,
    splitting::{ids, merge, ranges, split, until},
    support::{Database, keyed},
};

const ACCOUNTS: usize = 4;
const SUM: i64 = 400;

fn key(bank: usize) -> Options {
    keyed(&format!(r#"["bank{bank}"]"#))
}

async fn open_banks(db: &Database, banks: usize) {
    for bank in 0..banks {
        let create = |id| {
            format!(
                r#"{{"operationType":"Create","resourceBody":{{"id":"{id}","pk":"bank{bank}","n":100}}}}"#
            )
        };
        let all: Vec<_> = (0..ACCOUNTS).map(create).collect();
        let batch = format!("[{}]", all.join(","));
        let done = execute(db, &batch, BatchMode::Atomic, key(bank)).await.expect("opened");
        assert_eq!(answers(&done), vec![Ok(Outcome::Created); ACCOUNTS]);
    }
}

/// Adds to one what it takes from the other.
async fn by_patch(db: &Database, bank: usize, from: usize, to: usize, amount: i64) {
    let incr = |id, by| {
        format!(
            r#"{{"operationType":"Patch","id":"{id}","resourceBody":[{{"op":"incr","path":"/n","value":{by}}}]}}"#
        )
    };
    let batch = format!("[{},{}]", incr(from, -amount), incr(to, amount));
    let done = execute(db, &batch, BatchMode::Atomic, key(bank)).await.expect("transferred");
    assert_eq!(answers(&done), [Ok(Outcome::Ok); 2]);
}

/// Reads both, and replaces both if neither has changed; until it gets through. In between the second
/// is deleted and made anew.
async fn by_etag(db: &Database, bank: usize, from: usize, to: usize, amount: i64) {
    loop {
        let read = format!(
            r#"[{{"operationType":"Read","id":"{from}"}},{{"operationType":"Read","id":"{to}"}}]"#
        );
        let read = execute(db, &read, BatchMode::Atomic, key(bank)).await.expect("both are there");
        let both = results(&read);
        let n = |at: usize| document(&both[at]).get("n").as_i64().expect("a number");
        let etag = |at: usize| both[at].etag.clone().expect("an etag");
        let body = |id, n| format!(r#""resourceBody":{{"id":"{id}","pk":"bank{bank}","n":{n}}}"#);
        let batch = format!(
            r#"[{{"operationType":"Replace","id":"{from}","ifMatch":"{}",{}}},
                {{"operationType":"Delete","id":"{to}","ifMatch":"{}"}},
                {{"operationType":"Create",{}}}]"#,
            etag(0),
            body(from, n(0) - amount),
            etag(1),
            body(to, n(1) + amount),
        );
        let done = execute(db, &batch, BatchMode::Atomic, key(bank)).await.expect("answered");
        match *answers(&done) {
            [Ok(Outcome::Ok), Ok(Outcome::Deleted), Ok(Outcome::Created)] => return,
            [Err(Code::PreconditionFailed), _, _] | [_, Err(Code::PreconditionFailed), _] => {}
            ref other => panic!("{other:?}"),
        }
    }
}

async fn check(db: &Database, bank: usize) {
    let read = |id| format!(r#"{{"operationType":"Read","id":"{id}"}}"#);
    let all: Vec<_> = (0..ACCOUNTS).map(read).collect();
    let batch = format!("[{}]", all.join(","));
    let done = execute(db, &batch, BatchMode::Atomic, key(bank)).await.expect("read");
    assert_eq!(answers(&done), vec![Ok(Outcome::Ok); ACCOUNTS]);
    let amounts = results(&done).iter().map(|it| document(it).get("n").as_i64().expect("a number"));
    assert_eq!(amounts.sum::<i64>(), SUM);
    let sum = query(db, "SELECT VALUE SUM(c.n) FROM c", &Value::Array(Vec::new()), key(bank)).await;
    assert_eq!(sum.expect("a sum")[0].as_i64(), Some(SUM));
}

struct Race {
    db: Arc<Database>,
    banks: usize,
    is_over: Arc<AtomicBool>,
    transfers: Arc<AtomicU64>,
}

impl Race {
    /// Each writer makes so many transfers, half of them of each kind.
    fn start(&self, writers: usize, rounds: usize) -> Vec<tokio::task::JoinHandle<()>> {
        let write = |writer: usize| {
            let (db, banks, transfers) =
                (Arc::clone(&self.db), self.banks, Arc::clone(&self.transfers));
            tokio::spawn(async move {
                for round in 0..rounds {
                    let bank = (writer + round) % banks;
                    let from = (writer + 3 * round) % ACCOUNTS;
                    let to = (from + 1 + round % (ACCOUNTS - 1)) % ACCOUNTS;
                    let amount = [1, 2, 3, 5, 7, 11, 13][round % 7];
                    if round % 2 == 0 {
                        by_patch(&db, bank, from, to, amount).await;
                    } else {
                        by_etag(&db, bank, from, to, amount).await;
                    }
                    transfers.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let read = |reader: usize| {
            let (db, banks, is_over) =
                (Arc::clone(&self.db), self.banks, Arc::clone(&self.is_over));
            tokio::spawn(async move {
                let mut round = reader;
                while !is_over.load(Ordering::Relaxed) {
                    check(&db, round % banks).await;
                    round += 1;
                    tokio::task::yield_now().await;
                }
            })
        };
        (0..writers).map(write).chain((0..2).map(read)).collect()
    }

    fn writes(&self) -> u64 {
        self.transfers.load(Ordering::Relaxed)
    }
}

async fn transfers(store: Arc<dyn store::Store>, banks: usize, rounds: usize, is_split: bool) {
    const WRITERS: usize = 6;
    let db = Database::open(Arc::clone(&store)).await.with_collection(400).await;
    let (is_over, transfers) = (Arc::default(), Arc::default());
    let race = Race { db: Arc::new(db), banks, is_over, transfers };
    let db = &race.db;
    open_banks(db, banks).await;
    let tasks = race.start(WRITERS, rounds);
    let all = (WRITERS * rounds) as u64;
    let mut round = 0;
    while is_split && race.writes() < all * 9 / 10 {
        let before = race.writes();
        let now = ranges(db).await;
        let now = ids(&now);
        if now.len() > 3 || round % 3 == 2 && now.len() > 1 {
            merge(db, now[round % (now.len() - 1)]).await.expect("merged");
        } else {
            let done = split(db, now[round % now.len()]).await;
            let is_one_key = |error: &Error| error.code == Code::BadRequest;
            assert!(done.is_ok() || done.is_err_and(|error| is_one_key(&error)));
        }
        round += 1;
        let enough = (before + 20).min(all);
        until("transfers go on", async || race.writes() >= enough).await;
    }
    until("all transfers are made", async || race.writes() == all).await;
    race.is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no panic");
    }
    for bank in 0..banks {
        check(db, bank).await;
    }
    assert!(!is_split || round > 3, "{round} splits and merges");
    assert_eq!(db.all(Options::default()).await.len(), banks * ACCOUNTS);
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_sum_never_changes() {
    transfers(new_store(), 2, 500, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nor_while_partitions_are_split_and_merged() {
    transfers(new_store(), 6, 300, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nor_on_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let store =
        store_lsm::LsmStore::open(dir.path(), store_lsm::Options::default()).expect("opens");
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    let race =
        Race { db: Arc::new(db), banks: 1, is_over: Arc::default(), transfers: Arc::default() };
    open_banks(&race.db, 1).await;
    let tasks = race.start(4, 60);
    until("all transfers are made", async || race.writes() == 240).await;
    race.is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no panic");
    }
    race.db.engine.close().await.expect("closed");
    drop((race, store));
    let again = store_lsm::LsmStore::open(dir.path(), store_lsm::Options::default());
    let again: Arc<dyn store::Store> = again.expect("opens again");
    let report = verify(Arc::clone(&again)).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    let db = Database::open(again).await;
    check(&db, 0).await;
    db.engine.close().await.expect("closed");
}
