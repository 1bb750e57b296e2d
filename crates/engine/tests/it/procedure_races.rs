//! Stored procedures among other writers: who waits for whom.

use std::{sync::Arc, time::Duration};

use protocol::{Code, Operation, Options};

use crate::support::{Database, collection, items, keyed, resource, text};

const KEY: &str = r#"["x"]"#;

async fn database() -> Database {
    Database::memory().await.with_collection(400).await
}

#[tokio::test]
async fn a_procedure_holds_up_its_own_key_and_no_other() {
    let db = Arc::new(database().await);
    db.procedure("create({ id: 'mine', pk: 'x' }, () => { for (;;); });").await;
    let running = tokio::spawn({
        let db = Arc::clone(&db);
        async move { db.call_procedure("[]", keyed(KEY)).await.map(|_| ()) }
    });
    // Other keys can be written all the while; this one can be read.
    let mut written = 0;
    while !running.is_finished() {
        db.create(&format!(r#"{{"id":"o{written}","pk":"y"}}"#)).await.expect("another key");
        assert_eq!(db.read("mine", KEY).await.expect_err("not yet").code, Code::NotFound);
        written += 1;
        tokio::task::yield_now().await;
    }
    assert_eq!(running.await.expect("ended").expect_err("too long").code, Code::Timeout);
    assert!(written > 1, "{written}");
    db.create(r#"{"id":"mine","pk":"x"}"#).await.expect("the key is free at once");
}

#[tokio::test]
async fn many_at_a_time_are_all_done_whole() {
    let db = Arc::new(database().await);
    db.procedure(
        "const doc = (n) => ({ id: 'd' + n, pk: args[0], v: 'v'.repeat(2000) });
         create(doc(0), () => create(doc(1), () => create(doc(2), () => answer('all'))));",
    )
    .await;
    let mut tasks = Vec::new();
    for key in 0..64 {
        let db = Arc::clone(&db);
        tasks.push(tokio::spawn(async move {
            let options = keyed(&format!(r#"["k{key}"]"#));
            let answer = db.call_procedure(&format!(r#"["k{key}"]"#), options.clone()).await;
            match answer {
                Ok(answer) => assert_eq!(text(&resource(&answer)), "all"),
                Err(error) => assert_eq!(error.code, Code::TooManyRequests),
            }
            let documents = db.all(options).await.len();
            assert!(documents == 3 || documents == 0, "{documents} of key {key}");
            documents
        }));
    }
    let mut documents = 0;
    for task in tasks {
        documents += task.await.expect("done");
    }
    assert!(documents > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_wait_for_a_script_hold_up_nobody_else() {
    let db = Arc::new(database().await);
    db.procedure("for (;;);").await;
    let running = tokio::spawn({
        let db = Arc::clone(&db);
        async move { db.call_procedure("[]", keyed(KEY)).await.map(|_| ()) }
    });
    // Until the script has its key, writes to it go through.
    let mut tries = 0;
    loop {
        tries += 1;
        let id = format!("t{tries}");
        let write = format!(r#"{{"id":"{id}","pk":"x"}}"#);
        let write = db.create(&write);
        if tokio::time::timeout(Duration::from_millis(100), write).await.is_err() {
            break;
        }
    }
    let large = Arc::new("v".repeat(1_900_000));
    let mut waiting = Vec::new();
    for n in 0..12 {
        let (db, large) = (Arc::clone(&db), Arc::clone(&large));
        waiting.push(tokio::spawn(async move {
            db.create(&format!(r#"{{"id":"large{n}","pk":"x","v":"{large}"}}"#)).await.map(|_| ())
        }));
    }
    for n in 0..20 {
        db.create(&format!(r#"{{"id":"o{n}","pk":"y"}}"#)).await.expect("another key");
        tokio::task::yield_now().await;
    }
    assert!(!running.is_finished(), "the others were done before the script was");
    assert_eq!(running.await.expect("ended").expect_err("too long").code, Code::Timeout);
    for task in waiting {
        task.await.expect("ended").expect("written when the key was free");
    }
}

#[tokio::test]
async fn increments_at_the_same_time_are_all_there() {
    let db = Arc::new(database().await);
    db.create(r#"{"id":"n","pk":"x","n":0}"#).await.expect("created");
    db.procedure(
        "must(coll.readDocument(coll.getAltLink() + '/docs/n', (e, d) => { d.n += 1;
            must(coll.replaceDocument(d._self, d, { etag: d._etag }, (e) => { if (e) throw e; })); }));",
    )
    .await;
    let patch = r#"[{"op":"incr","path":"/n","value":1}]"#;
    let mut tasks = Vec::new();
    for task in 0..8 {
        let db = Arc::clone(&db);
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                if task % 2 == 0 {
                    db.call_procedure("[]", keyed(KEY)).await.expect("executed");
                } else {
                    db.patch("n", patch, keyed(KEY)).await.expect("patched");
                }
            }
        }));
    }
    for task in tasks {
        task.await.expect("done");
    }
    let n = resource(&db.read("n", KEY).await.expect("there"));
    assert_eq!(n.get("n").as_i64(), Some(40));
}

#[tokio::test]
async fn a_split_meanwhile_does_no_harm() {
    let db = Arc::new(database().await);
    db.procedure(
        "const end = Date.now() + 300; let n = 0;
         const go = () => { if (Date.now() < end) create({ id: args[0] + n++, pk: 'x' }, go); else answer(n); };
         go();",
    )
    .await;
    let running = tokio::spawn({
        let db = Arc::clone(&db);
        async move {
            let mut made = 0;
            for round in 0..3 {
                let answer = db.call_procedure(&format!(r#"["r{round}-"]"#), keyed(KEY)).await;
                made += resource(&answer.expect("executed")).as_i64().unwrap_or(0);
            }
            made
        }
    });
    let mut splits = 0;
    while !running.is_finished() {
        let list = Operation::ListPartitionKeyRanges { path: collection(), known: None };
        let ranges = items(&db.call(list, Options::default()).await.expect("ranges"));
        for range in ranges.iter().map(|range| text(range.get("id"))) {
            if db
                .call(Operation::SplitPartition { path: collection(), range }, Options::default())
                .await
                .is_ok()
            {
                splits += 1;
            }
        }
        tokio::task::yield_now().await;
    }
    let made = running.await.expect("done");
    assert!(splits > 0 && made > 0);
    let documents = db.all(keyed(KEY)).await;
    assert_eq!(documents.len(), usize::try_from(made).expect("a count"));
}
