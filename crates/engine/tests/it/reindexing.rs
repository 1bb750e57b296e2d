//! Changes of the indexing policy while the database is at work or is killed at it.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use engine::verify;
use protocol::{Operation, Options, request::IndexingDirective};

use crate::stores::new_store;
use crate::{
    gated::GatedStore,
    random::{
        KEYS, Rng, document,
        policies::{Key, Policy},
        queries::Query,
        world::{Script, Write, answer, definition, difference, documents, expected, open},
    },
    support::{Database, collection},
};

/// Long enough never to end a page.
const UNHURRIED: Duration = Duration::from_mins(10);

async fn change_policy(db: &Database, policy: &Policy) {
    let body = Bytes::from(definition(policy));
    let replace = Operation::ReplaceCollection { path: collection(), body };
    db.call(replace, Options::default()).await.expect("replaced");
}

/// How far the documents have followed the policy, in percent.
async fn progress(db: &Database) -> u8 {
    let options = Options { populate_quota: true, ..Options::default() };
    let read = db.call(Operation::ReadCollection(collection()), options).await;
    read.expect("read").meta.index_progress.expect("progress")
}

/// Waits until all documents have.
async fn settle(db: &Database) {
    let mut last = 0;
    loop {
        let now = progress(db).await;
        assert!(now >= last, "progress went back from {last} to {now}");
        last = now;
        if now == 100 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A query whose rows do not change when only `noise` does.
fn quiet_query(rng: &mut Rng, policy: &Policy) -> Query {
    loop {
        let query = Query::random(rng, policy);
        if !query.text.contains("VALUE c ") {
            return query;
        }
    }
}

/// Writes the same documents again and again, with something new in them that no query asks for,
/// and others that come and go.
async fn make_noise(db: &Database, script: &Script, is_over: &AtomicBool) {
    for round in 0_u32.. {
        for (number, write) in script.writes.iter().enumerate() {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            let Write::Upsert { body, directive } = write else { continue };
            let body = body.strip_suffix('}').expect("an object");
            let body = format!(r#"{body},"noise":{{"{round}":[{number}]}}}}"#);
            Write::Upsert { body, directive: *directive }.run(db).await;
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_stay_right_while_the_policy_changes() {
    for seed in 0..2 {
        let rng = &mut Rng::new(4_000_000 + seed);
        let mut policy = Policy::random(rng);
        let store = new_store();
        let db = Arc::new(open(Arc::clone(&store) as _, UNHURRIED).await);
        db.create_database("db").await;
        db.create_collection(&definition(&policy), Some(20_000)).await.expect("created");
        // Each document once, so that writing it again changes nothing that counts.
        let mut script = Script::random(rng, &policy, 250);
        script.writes.retain(|write| matches!(write, Write::Upsert { .. }));
        script.run(&db).await;
        let mut last: Vec<Write> = Vec::new();
        for write in script.writes.into_iter().rev() {
            let id = |write: &Write| match write {
                Write::Upsert { body, .. } => body.split(',').next().map(str::to_owned),
                Write::Delete { .. } => None,
            };
            if last.iter().all(|other| id(other) != id(&write)) {
                last.push(write);
            }
        }
        let script = Script { writes: last };
        let all = documents(&db, &Options::default()).await;
        let is_over = Arc::new(AtomicBool::new(false));
        let noise = tokio::spawn({
            let (db, is_over) = (Arc::clone(&db), Arc::clone(&is_over));
            async move { make_noise(&db, &script, &is_over).await }
        });
        for change in 0..6 {
            let next = policy.changed(rng);
            let before = quiet_query(rng, &policy);
            let everywhere = Options::default();
            // One query is under way when the policy changes.
            let (asked, ()) =
                tokio::join!(answer(&db, &before, 1000, &everywhere), change_policy(&db, &next));
            check(&before, [&policy, &next], &all, &asked, (seed, change));
            for _ in 0..12 {
                let query = quiet_query(rng, &next);
                let asked = answer(&db, &query, 1000, &Options::default()).await;
                check(&query, [&next, &next], &all, &asked, (seed, change));
            }
            // At times the next change does not wait for the end of this one.
            if change % 3 != 0 {
                settle(&db).await;
            }
            policy = next;
        }
        is_over.store(true, Ordering::Relaxed);
        noise.await.expect("noise");
        settle(&db).await;
        let report = verify(store).await.expect("readable");
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}

/// The answer must be right by one of the policies.
fn check(
    query: &Query,
    policies: [&Policy; 2],
    all: &[value::Value],
    actual: &Result<Vec<String>, protocol::Error>,
    place: (u64, u32),
) {
    let differences = policies.map(|policy| difference(&expected(query, policy, all), actual));
    let [Some(difference), Some(_)] = differences else { return };
    panic!("{place:?} {}\n{:?}\n{}\n{difference}", query.text, query.parameters, policies[1].json);
}

/// Writers that have begun under a policy are held until it is replaced and every document that is
/// there follows the new one. What they write then must follow it too: nothing brings it to the new
/// one later, and the old one is forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_staged_by_an_old_policy_are_staged_again() {
    const WRITERS: usize = 12;
    let rng = &mut Rng::new(6_500_000);
    let mut policy = Policy::default_policy(Key::V2);
    let store = Arc::new(GatedStore::new());
    let db = Arc::new(open(Arc::clone(&store) as _, UNHURRIED).await);
    db.create_database("db").await;
    db.create_collection(&definition(&policy), Some(20_000)).await.expect("created");
    for round in 0..8 {
        store.gate.set_open(false);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                // Keys of their own: a writer is held with the lock of its key.
                let (id, key) = (format!("d{writer}"), (round * WRITERS + writer).to_string());
                let body = document(rng, &id, &key);
                let db = Arc::clone(&db);
                tokio::spawn(async move { db.create(&body).await.map(|_| ()) })
            })
            .collect();
        store.gate.holds(WRITERS).await;
        policy = policy.changed(rng);
        change_policy(&db, &policy).await;
        settle(&db).await;
        store.gate.set_open(true);
        for writer in writers {
            writer.await.expect("a writer").expect("created");
        }
        let report = verify(Arc::clone(&store.inner) as _).await.expect("readable");
        assert!(report.is_clean(), "round {round}: {report}");
        let all = documents(&db, &Options::default()).await;
        assert_eq!(all.len(), (round + 1) * WRITERS);
        for _ in 0..20 {
            let query = Query::random(rng, &policy);
            let asked = answer(&db, &query, 100, &Options::default()).await;
            check(&query, [&policy, &policy], &all, &asked, (round as u64, 0));
        }
    }
}

/// Many writers at few keys while the policy is replaced again and again, done with or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_and_changes_of_the_policy_do_not_mix() {
    const WRITERS: u64 = 12;
    /// Writes between two changes.
    const WRITES: usize = 100;
    for seed in 0..2 {
        let rng = &mut Rng::new(6_000_000 + seed);
        let mut policy = Policy::random(rng);
        let store = new_store();
        let db = Arc::new(open(Arc::clone(&store) as _, UNHURRIED).await);
        db.create_database("db").await;
        db.create_collection(&definition(&policy), Some(20_000)).await.expect("created");
        let is_over = Arc::new(AtomicBool::new(false));
        let written = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (db, policy) = (Arc::clone(&db), policy.clone());
                let (is_over, written) = (Arc::clone(&is_over), Arc::clone(&written));
                let mut rng = Rng::new(7_000_000 + seed * WRITERS + writer);
                tokio::spawn(async move {
                    while !is_over.load(Ordering::Relaxed) {
                        let (id, key) = (format!("d{writer}-{}", rng.below(4)), KEYS[rng.below(2)]);
                        let body = document(&mut rng, &id, key);
                        let write = if rng.chance(20) {
                            Write::Delete { id, key: policy.key.header(&body) }
                        } else {
                            Write::Upsert { body, directive: IndexingDirective::Default }
                        };
                        write.run(&db).await;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for change in 0..8 {
            let before = written.load(Ordering::Relaxed);
            while written.load(Ordering::Relaxed) < before + WRITES {
                assert!(writers.iter().all(|writer| !writer.is_finished()), "a writer failed");
                tokio::task::yield_now().await;
            }
            // At times the last change is done with when the next one comes.
            if change % 3 == 0 {
                settle(&db).await;
            }
            policy = policy.changed(rng);
            change_policy(&db, &policy).await;
        }
        is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.expect("a writer");
        }
        settle(&db).await;
        let report = verify(Arc::clone(&store) as _).await.expect("readable");
        assert!(report.is_clean(), "seed {seed}: {report}");
        let all = documents(&db, &Options::default()).await;
        assert!(!all.is_empty());
        for number in 0..60 {
            let query = Query::random(rng, &policy);
            let asked = answer(&db, &query, 100, &Options::default()).await;
            check(&query, [&policy, &policy], &all, &asked, (seed, number));
        }
    }
}

/// Runs something in a runtime of its own, and stops at once everything that it has started.
pub(crate) fn until_killed<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Changes the policy, and the process ends so many steps later.
fn killed_while_reindexing(open_store: &dyn Fn() -> Arc<dyn store::Store>, seed: u64) {
    let rng = &mut Rng::new(5_000_000 + seed);
    let first = Policy::random(rng);
    let script = Script::random(rng, &first, 150);
    let policies = [first.clone(), first.changed(rng), first.changed(rng)];
    until_killed(async {
        let db = open(open_store(), UNHURRIED).await;
        db.create_database("db").await;
        db.create_collection(&definition(&policies[0]), Some(20_000)).await.expect("created");
        script.run(&db).await;
    });
    for (policy, steps) in policies[1..].iter().zip([rng.below(10), rng.below(60)]) {
        until_killed(async {
            let db = open(open_store(), UNHURRIED).await;
            change_policy(&db, policy).await;
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
        });
    }
    until_killed(async {
        let db = open(open_store(), UNHURRIED).await;
        let all = documents(&db, &Options::default()).await;
        for round in 0..2 {
            for _ in 0..15 {
                let query = Query::random(rng, &policies[2]);
                let asked = answer(&db, &query, 100, &Options::default()).await;
                check(&query, [&policies[2], &policies[2]], &all, &asked, (seed, round));
            }
            settle(&db).await;
        }
        db.engine.close().await.expect("closed");
    });
}

#[test]
fn what_a_kill_interrupts_goes_on() {
    for seed in 0..6 {
        // The kill ends the runtime, not the store: a store with threads of its own would still
        // write what was queued. The next test ends that too.
        let store = Arc::new(store::memory::MemoryStore::new());
        killed_while_reindexing(&|| Arc::clone(&store) as _, seed);
        let report = until_killed(verify(store)).expect("readable");
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}

#[test]
fn what_a_kill_interrupts_goes_on_on_disk() {
    for seed in 0..2 {
        let dir = tempfile::tempdir().expect("a directory");
        let open_store = || -> Arc<dyn store::Store> {
            store_lsm::LsmStore::open(dir.path(), store_lsm::Options::default()).expect("opens")
        };
        killed_while_reindexing(&open_store, 100 + seed);
        let report = until_killed(verify(open_store())).expect("readable");
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
}

/// The entries that an earlier policy made for documents without a value do not return these twice.
#[test]
fn entries_of_a_policy_of_the_past_are_passed_over() {
    let store = new_store();
    let definition = |paths: &str| {
        let key = Key::V2.json();
        let policy = format!(r#"{{"includedPaths":[{paths}],"excludedPaths":[]}}"#);
        format!(r#"{{"id":"c","partitionKey":{key},"indexingPolicy":{policy}}}"#)
    };
    let named = definition(r#"{"path":"/*"},{"path":"/a/?"}"#);
    until_killed(async {
        let db = open(Arc::clone(&store) as _, UNHURRIED).await;
        db.create_database("db").await;
        db.create_collection(&named, Some(400)).await.expect("created");
        for number in 0..300 {
            let a = if number % 2 == 0 { String::new() } else { format!(r#","a":{number}"#) };
            db.create(&format!(r#"{{"id":"d{number}","pk":1{a}}}"#)).await.expect("created");
        }
        let body = Bytes::from(definition(r#"{"path":"/*"}"#));
        let replace = Operation::ReplaceCollection { path: collection(), body };
        db.call(replace, Options::default()).await.expect("replaced");
    });
    until_killed(async {
        let db = open(Arc::clone(&store) as _, UNHURRIED).await;
        assert!(progress(&db).await < 100);
        let query = Query::plain("SELECT VALUE c.id FROM c ORDER BY c.a");
        let ids = |parity: usize| (0..300).skip(parity).step_by(2).map(|n| format!("\"d{n}\""));
        let expected: Vec<String> = ids(0).chain(ids(1)).collect();
        for _ in 0..2 {
            let rows = answer(&db, &query, 100, &Options::default()).await.expect("rows");
            assert_eq!(rows, expected);
            settle(&db).await;
        }
    });
}
