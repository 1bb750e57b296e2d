//! Attachments move with their documents: over restarts, splits, merges, and to another key.

use std::sync::Arc;

use bytes::Bytes;
use engine::verify;
use protocol::{Operation, Options};

use crate::stores::new_store;
use crate::{
    attachments::{head, rows},
    durability::{on_disk, open},
    migration::{give, without_key},
    splitting::{merge, split, until},
    support::{Database, document, items, keyed, resource, text},
};

/// Every attachment of the documents, and its media, as text.
async fn state(db: &Database, documents: usize) -> Vec<(String, String)> {
    let mut state = Vec::new();
    for number in 0..documents {
        let list = Operation::ListAttachments(document(&format!("d{number}")));
        let page = db.call(list, keyed(&format!(r#"["k{number}"]"#))).await.expect("a page");
        for item in items(&page) {
            let (kind, content) = db.media(&text(item.get("media"))).await.expect("media");
            assert_eq!(kind, "text/plain");
            let content = String::from_utf8(content.to_vec()).expect("text");
            state.push((format!("d{number}/{}", text(item.get("id"))), content));
        }
    }
    state
}

#[tokio::test]
async fn they_survive_restarts_splits_and_merges() {
    const DOCUMENTS: usize = 12;
    let (dir, db) = on_disk().await;
    let db = Arc::new(db.with_collection(400).await);
    for number in 0..DOCUMENTS {
        db.create(&format!(r#"{{"id":"d{number}","pk":"k{number}"}}"#)).await.expect("created");
        db.attach_to(number, "first", &format!("one {number}")).await.expect("made");
    }
    // Written while the partition is copied, cut and joined again.
    let writer = {
        let db = Arc::clone(&db);
        tokio::spawn(async move {
            for round in 0..20 {
                for number in 0..DOCUMENTS {
                    let content = format!("two {number} {round}");
                    db.attach_to(number, "second", &content).await.expect("made");
                }
            }
        })
    };
    split(&db, "0").await.expect("split");
    split(&db, "1").await.expect("split");
    merge(&db, "3").await.expect("merged");
    writer.await.expect("written");
    let expected: Vec<_> = (0..DOCUMENTS)
        .flat_map(|number| {
            [
                (format!("d{number}/first"), format!("one {number}")),
                (format!("d{number}/second"), format!("two {number} 19")),
            ]
        })
        .collect();
    assert_eq!(state(&db, DOCUMENTS).await, expected);
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(open(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    let db = Database::open(open(dir.path())).await;
    assert_eq!(state(&db, DOCUMENTS).await, expected);
    // No number is given twice after all that.
    let next = resource(&db.attach_to(0, "third", "x").await.expect("made"));
    let rid = protocol::rid::AttachmentRid::parse(&text(next.get("_rid"))).expect("a rid");
    assert_eq!(rid.number, 3);
}

#[tokio::test]
async fn a_collection_that_is_given_a_key_keeps_them() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    let db = without_key(db, "").await;
    for number in 0..5 {
        db.create(&format!(r#"{{"id":"d{number}","pk":"k{number}"}}"#)).await.expect("created");
        let (document, media) =
            (document(&format!("d{number}")), Some(head(Some("a"), "text/plain")));
        let body = Bytes::from(format!("media {number}"));
        let create = Operation::CreateAttachment { document, body, media, upsert: false };
        db.call(create, Options::default()).await.expect("made without a key");
    }
    give(&db, r#"{"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#)
        .await
        .expect("given");
    let expected: Vec<_> =
        (0..5).map(|number| (format!("d{number}/a"), format!("media {number}"))).collect();
    assert_eq!(state(&db, 5).await, expected);
    // Dropped once nobody reads it.
    until("the old partition is gone", async || {
        store.key_spaces().await.expect("names").len() == 2
    })
    .await;
    assert_eq!(rows(&*store).await, 15);
    assert!(verify(store).await.expect("readable").is_clean());
}

/// Documents of one slot go to two partitions, and their attachments with them.
#[tokio::test]
async fn a_cut_inside_a_slot_takes_them_along() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    db.create_database("db").await;
    let key = r#"{"paths":["/tenant","/user"],"kind":"MultiHash","version":2}"#;
    let body = format!(r#"{{"id":"c","partitionKey":{key}}}"#);
    db.create_collection(&body, Some(400)).await.expect("a new collection");
    let attach = async |number: usize, content: String| {
        let (document, media) =
            (document(&format!("d{number}")), Some(head(Some("a"), "text/plain")));
        let create =
            Operation::CreateAttachment { document, body: content.into(), media, upsert: true };
        let made = db.call(create, keyed(&format!(r#"["acme",{number}]"#))).await.expect("made");
        text(resource(&made).get("media"))
    };
    let mut links = Vec::new();
    for number in 0..20 {
        let body = format!(r#"{{"id":"d{number}","tenant":"acme","user":{number}}}"#);
        db.create(&body).await.expect("created");
        links.push(attach(number, format!("old {number}")).await);
    }
    split(&db, "0").await.expect("split");
    let now = crate::splitting::ranges(&db).await;
    assert_eq!(now.len(), 2);
    for (number, link) in links.iter().enumerate() {
        assert_eq!(db.media(link).await.expect("media").1, format!("old {number}"));
        assert_eq!(attach(number, format!("new {number}")).await, *link);
        let (head, media) = (head(None, "text/plain"), link.replace("/media/", ""));
        let body = Bytes::from(format!("newest {number}"));
        let update = Operation::ReplaceMedia { media, head, body };
        db.call(update, Options::default()).await.expect("updated");
    }
    merge(&db, "1").await.expect("merged");
    for (number, link) in links.iter().enumerate() {
        assert_eq!(db.media(link).await.expect("media").1, format!("newest {number}"));
    }
    assert!(verify(store).await.expect("readable").is_clean());
}
