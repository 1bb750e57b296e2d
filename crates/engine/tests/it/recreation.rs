//! Deleting what holds data gives its space back.

use std::path::Path;

use protocol::{Operation, Options, request::DatabasePath};

use crate::{
    durability::on_disk,
    splitting::until,
    support::{Database, collection},
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
