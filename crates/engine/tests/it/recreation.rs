//! Deleting what holds data gives its space back, and what is made in its place begins behind it.

use std::{path::Path, sync::Arc};

use engine::verify;
use protocol::{Code, Operation, Options, request::DatabasePath, session::SessionTokens};

use crate::{
    durability::{on_disk, open},
    splitting::{split, until},
    support::{Database, collection, document, keyed},
};

/// Bytes of all files in a directory.
fn size(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let of = |path: &Path| match path.metadata() {
        Ok(data) if data.is_dir() => size(path),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(|entry| of(&entry.path())).sum()
}

/// Documents that no compression makes smaller by much.
async fn fill(db: &Database, megabytes: u64) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut digits = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:016x}")
    };
    for number in 0..megabytes * 2 {
        let text: String = (0..32 * 1024).map(|_| digits()).collect();
        let body = format!(r#"{{"id":"d{number}","pk":"k{number}","text":"{text}"}}"#);
        db.create(&body).await.expect("created");
    }
}

#[tokio::test]
async fn space_is_given_back() {
    const MEGABYTE: u64 = 1 << 20;
    let (dir, db) = on_disk().await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"},
        "indexingPolicy":{"indexingMode":"none","automatic":false}}"#;
    db.create_collection(body, Some(25_000)).await.expect("created");
    let tables = dir.path().join("keyspaces");
    for end in ["collection", "database"] {
        fill(&db, 12).await;
        let partitions = db.engine.statistics().len();
        assert_eq!(partitions, 3);
        let full: u64 = db.engine.statistics().iter().map(|it| it.bytes).sum();
        assert!(full > 12 * MEGABYTE, "{full}");
        if end == "collection" {
            let delete = Operation::DeleteCollection(collection());
            db.call(delete, Options::default()).await.expect("deleted");
        } else {
            let delete = Operation::DeleteDatabase(DatabasePath("db".to_owned()));
            db.call(delete, Options::default()).await.expect("deleted");
            db.create_database("db").await;
        }
        assert!(db.engine.statistics().is_empty());
        until("their key spaces are dropped", async || size(&tables) < MEGABYTE).await;
        // Made again, it is empty, and numbers its documents anew.
        db.create_collection(body, Some(25_000)).await.expect("created");
        assert!(db.all(Options::default()).await.is_empty());
        assert!(db.engine.statistics().iter().all(|it| it.bytes == 0));
    }
    db.engine.close().await.expect("closed");
}

const BODY: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

/// The session that a look at the collection begins: a range, and its LSN.
async fn session(db: &Database) -> (u32, u64) {
    let read = Operation::ReadCollection(collection());
    let seen = db.call(read, Options::default()).await.expect("read").meta.partitions;
    let [point] = &seen[..] else { panic!("one range, not {seen:?}") };
    (point.range_id, point.lsn)
}

async fn write(db: &Database, number: u32) -> u64 {
    let body = format!(r#"{{"id":"d","pk":"k{number}"}}"#);
    let written = db.write(&body, true, Options::default()).await.expect("written");
    written.meta.partitions[0].lsn
}

#[tokio::test]
async fn lsns_begin_behind_those_of_earlier_collections() {
    let (dir, mut db) = on_disk().await;
    db.create_database("db").await;
    db.create_collection(BODY, Some(400)).await.expect("created");
    // COMPAT: documentdb 1.15 takes zero for no session at all.
    let (range, mut highest) = session(&db).await;
    assert_eq!((range, highest), (0, 1));
    for end in ["collection", "database", "restart"] {
        for number in 0..20 {
            highest = highest.max(write(&db, number).await);
        }
        split(&db, "0").await.expect("split");
        for number in 0..20 {
            highest = highest.max(write(&db, number).await);
        }
        let delete = match end {
            "database" => Operation::DeleteDatabase(DatabasePath("db".to_owned())),
            _ => Operation::DeleteCollection(collection()),
        };
        db.call(delete, Options::default()).await.expect("deleted");
        if end == "restart" {
            db.engine.close().await.expect("closed");
            drop(db);
            db = Database::open(open(dir.path())).await;
        }
        if end == "database" {
            db.create_database("db").await;
        }
        db.create_collection(BODY, Some(400)).await.expect("created");
        // A client that has seen the earlier collection reads this one.
        let seen = SessionTokens(vec![("0".to_owned(), highest)]);
        let options = || Options { session: Some(seen.clone()), ..keyed(r#"["k0"]"#) };
        let read = Operation::ReadDocument(document("d"));
        let missing = db.call(read.clone(), options()).await.expect_err("not there");
        assert_eq!(missing.code, Code::NotFound, "{end}");
        assert!(session(&db).await.1 > highest, "{end}");
        assert!(write(&db, 0).await > highest, "{end}");
        db.call(read, options()).await.expect("there");
        let ahead = SessionTokens(vec![("0".to_owned(), highest + 1000)]);
        let options = Options { session: Some(ahead), ..options() };
        let refused = db
            .call(Operation::ReadDocument(document("d")), options)
            .await
            .expect_err("ahead of the collection");
        assert_eq!(refused.code, Code::SessionNotAvailable);
        assert_eq!(
            refused.message,
            "The read/write session is not available for the input session token."
        );
    }
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(open(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn writers_that_race_with_a_delete_get_no_lsn_behind_it() {
    let db = Arc::new(Database::memory().await.with_collection(400).await);
    for _ in 0..10 {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let db = Arc::clone(&db);
                tokio::spawn(async move {
                    let mut highest = 0;
                    loop {
                        let body = format!(r#"{{"id":"d","pk":"w{writer}"}}"#);
                        match db.write(&body, true, Options::default()).await {
                            Ok(written) => highest = highest.max(written.meta.partitions[0].lsn),
                            Err(error) => return (highest, error.code),
                        }
                    }
                })
            })
            .collect();
        until("they write", async || session(&db).await.1 > 20).await;
        db.call(Operation::DeleteCollection(collection()), Options::default())
            .await
            .expect("deleted");
        let mut highest = 0;
        for writer in writers {
            let (lsn, code) = writer.await.expect("ended");
            assert_eq!(code, Code::OwnerNotFound);
            highest = highest.max(lsn);
        }
        db.create_collection(BODY, Some(400)).await.expect("created");
        assert!(session(&db).await.1 > highest);
    }
}
