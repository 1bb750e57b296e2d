//! How the time of a partition in memory ends, and what comes after: see `partition::tenure`.

use std::sync::Arc;

use protocol::{Code, Operation, Options, request::DatabasePath};
use store::testing::{Fault, Flaky};

use crate::{
    stores::new_store,
    support::{Database, collection},
};

/// A database with one partition, on a store that can be made to fail.
async fn flaky() -> (Arc<Flaky>, Database) {
    let flaky = Arc::new(Flaky::new(new_store(), 1));
    let db = Database::open(Arc::clone(&flaky) as _).await.with_collection(400).await;
    (flaky, db)
}

fn body(id: &str) -> String {
    format!(r#"{{"id":"{id}","pk":"a"}}"#)
}

/// Fails the batch of the next write of a document that is not there yet. Before it, the store is asked
/// for rows of the key and of the paths; afterwards nothing is planned any more.
async fn fail_a_write(flaky: &Flaky, db: &Database, id: &str, fault: Fault) -> Code {
    for step in 0.. {
        flaky.fail_in(step, fault);
        let answer = db.create(&body(id)).await;
        flaky.calm();
        match answer {
            // A read failed before the batch was made: nothing was written.
            Err(error) if !error.code.leaves_write_unknown() => {
                let codes = [Code::Unavailable, Code::NotHere];
                assert!(codes.contains(&error.code), "{error}");
                if error.code == Code::NotHere {
                    return error.code;
                }
            }
            Err(error) => return error.code,
            Ok(_) => panic!("no batch failed within {step} steps"),
        }
    }
    unreachable!("the loop ends by a return")
}

#[tokio::test]
async fn a_partition_is_opened_again_after_a_failed_write() {
    for fault in [Fault::Unavailable, Fault::Applied, Fault::Late] {
        let (flaky, db) = flaky().await;
        let before = db.create(&body("before")).await.expect("created");
        assert_eq!(fail_a_write(&flaky, &db, "lost", fault).await, Code::Unknown, "{fault:?}");
        // The writer waits until the partition is open again, and notices nothing else.
        let after = db.create(&body("after")).await.expect("taken again");
        let lsn = |point: &protocol::Response| point.meta.item_lsn.expect("an LSN");
        let lost = db.read("lost", r#"["a"]"#).await;
        let is_stored = lost.is_ok();
        if fault == Fault::Applied {
            assert!(is_stored, "it was applied");
        }
        assert_eq!(lsn(&after), lsn(&before) + 1 + u64::from(is_stored), "{fault:?}");
        assert!(db.read("before", r#"["a"]"#).await.is_ok());
        assert_eq!(db.engine.failure(), None);
    }
}

#[tokio::test]
async fn a_fenced_partition_answers_nothing() {
    let (flaky, db) = flaky().await;
    db.create(&body("before")).await.expect("created");
    let code = fail_a_write(&flaky, &db, "lost", Fault::Fenced).await;
    assert!([Code::Unknown, Code::NotHere].contains(&code), "{code:?}");
    // A write that the store refuses for the epoch tells the partition, if a read did not.
    let written = db.create(&body("late")).await.expect_err("another has it");
    assert!([Code::Unknown, Code::NotHere].contains(&written.code), "{written}");
    let list = Operation::ListDocuments(collection());
    for error in [
        db.create(&body("later")).await.expect_err("a write"),
        db.read("before", r#"["a"]"#).await.expect_err("a read"),
        db.call(list, Options::default()).await.expect_err("a feed"),
    ] {
        assert_eq!(error.code, Code::NotHere, "{error}");
        assert!(error.meta.retry_after_ms.is_some());
    }
}

#[tokio::test]
async fn a_change_of_the_catalog_outlives_failures() {
    let (flaky, db) = flaky().await;
    for step in 0..6 {
        flaky.fail_in(step, Fault::Applied);
        let id = format!("c{step}");
        let body = format!(r#"{{"id":"{id}","partitionKey":{{"paths":["/pk"],"kind":"Hash"}}}}"#);
        let created = db.create_collection(&body, None).await;
        flaky.calm();
        let list = Operation::ListCollections(DatabasePath("db".to_owned()));
        let listed = db.call(list, Options::default()).await.expect("the list");
        let is_listed = crate::support::items(&listed)
            .iter()
            .any(|it| it.get("id").as_str() == Some(id.as_str()));
        match created {
            Ok(_) => assert!(is_listed, "step {step}"),
            Err(error) => {
                assert!(!error.code.leaves_write_unknown(), "step {step}: {error}");
                assert!(!is_listed, "step {step}: {error}");
                // It can be created now.
                db.create_collection(&body, None).await.expect("created");
            }
        }
    }
}
