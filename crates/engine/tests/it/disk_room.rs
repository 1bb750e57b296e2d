//! A disk that is almost full: what goes on, what is refused, and that it comes back by itself.

use std::sync::Arc;

use engine::{Disk, DiskLevel, Options};
use protocol::{Code, Operation, request::BatchMode};

use crate::{
    batches::{answers, execute},
    splitting::split,
    support::{Database, collection, keyed},
};

const RESERVE: u64 = 1 << 30;
const KEY: &str = "[\"k\"]";

async fn database() -> (Database, Arc<Disk>) {
    let disk = Arc::new(Disk::default());
    let options = Options { disk: Arc::clone(&disk), ..Options::default() };
    let database = Database::with_options(options).await.with_collection(400).await;
    for id in ["a", "b", "c", "d"] {
        database.create(&document(id)).await.expect("room");
    }
    (database, disk)
}

fn document(id: &str) -> String {
    format!(r#"{{"id":"{id}","pk":"k"}}"#)
}

fn batch(operations: &[&str]) -> String {
    format!("[{}]", operations.join(","))
}

#[tokio::test]
async fn what_grows_is_refused_and_comes_back() {
    let (database, disk) = database().await;
    assert_eq!(disk.note(RESERVE - 1, RESERVE), Some(DiskLevel::Low));
    let patch = r#"{"operations":[{"op":"set","path":"/x","value":1}]}"#;
    let refused = [
        database.create(&document("e")).await,
        database.write(&document("a"), true, keyed(KEY)).await,
        database.replace("a", &document("a"), keyed(KEY)).await,
        database.patch("a", patch, keyed(KEY)).await,
        database.create_collection(r#"{"id":"other"}"#, None).await,
    ];
    assert_eq!(split(&database, "0").await.expect_err("no room").code, Code::StorageFull);
    for answer in refused {
        let refused = answer.expect_err("no room");
        assert_eq!(refused.code, Code::StorageFull, "{refused}");
        assert!(refused.message.contains("disk is almost full"), "{refused}");
    }
    assert_eq!(database.read("e", KEY).await.expect_err("absent").code, Code::NotFound);
    database.read("a", KEY).await.expect("reads go on");
    assert_eq!(database.all(keyed(KEY)).await.len(), 4);
    database.delete("a", KEY).await.expect("deletions go on");
    disk.note(2 * RESERVE, RESERVE);
    database.create(&document("e")).await.expect("room again");
}

/// A batch does what its operations do: one that only deletes is let in.
#[tokio::test]
async fn batches_are_looked_at_by_operation() {
    let (database, disk) = database().await;
    disk.note(RESERVE - 1, RESERVE);
    let read = r#"{"operationType":"Read","id":"a"}"#;
    let delete = r#"{"operationType":"Delete","id":"b"}"#;
    let create = format!(r#"{{"operationType":"Create","resourceBody":{}}}"#, document("e"));
    let run = async |mode, operations: &[&str]| {
        answers(&execute(&database, &batch(operations), mode, keyed(KEY)).await.expect("answered"))
    };
    let answered = run(BatchMode::Atomic, &[read, delete, &create]).await;
    let lost = Err(Code::FailedDependency);
    assert_eq!(answered, [lost, lost, Err(Code::StorageFull)]);
    let answered = run(BatchMode::Atomic, &[read, delete]).await;
    assert!(answered.iter().all(Result::is_ok), "{answered:?}");
    disk.note(0, RESERVE);
    let delete = r#"{"operationType":"Delete","id":"c"}"#;
    let answered = run(BatchMode::Atomic, &[read, delete]).await;
    assert_eq!(answered, [lost, Err(Code::StorageFull)]);
    let answered = run(BatchMode::Atomic, &[read]).await;
    assert!(answered.iter().all(Result::is_ok), "{answered:?}");
}

/// With next to nothing left, deletions could fail in the journal, too.
#[tokio::test]
async fn a_full_disk_is_only_read() {
    let (database, disk) = database().await;
    assert_eq!(disk.note(RESERVE / 5, RESERVE), Some(DiskLevel::Out));
    let refused = database.delete("a", KEY).await.expect_err("no room");
    assert_eq!(refused.code, Code::StorageFull);
    let options = protocol::Options::default();
    let refused = database.call(Operation::DeleteCollection(collection()), options).await;
    assert_eq!(refused.expect_err("no room").code, Code::StorageFull);
    database.read("a", KEY).await.expect("reads go on");
    assert_eq!(disk.note(RESERVE / 2, RESERVE), Some(DiskLevel::Low));
    database.delete("a", KEY).await.expect("deletions are back");
}
