//! Stored formats: directories that landed versions wrote, kept as they were, and opened by this one.

use std::path::Path;

use bytes::Bytes;
use engine::verify;
use protocol::{
    Code, Operation, Options,
    request::{DatabasePath, ScriptKind},
};
use value::Value;

use crate::{
    changes::follow,
    durability::{fill, open},
    queries::query,
    support::{Database, collection, document, items, keyed, resource, text},
    users::{holder, minting, permission, rights},
};

/// What the collection of a fixture is made with since format 3: each policy that has rows of its own.
const DEFINITION: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/serial"]}]}}"#;

#[tokio::test]
async fn the_fixtures_of_all_formats_open() {
    for format in [1, 2, 3] {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/formats");
        let dir = tempfile::tempdir().expect("a directory");
        copy_tree(&fixtures.join(format.to_string()), dir.path());
        let db = Database::open(open(dir.path())).await;
        check_documents(&db, format).await;
        if format >= 3 {
            check_the_rest(&db).await;
        }
        db.engine.close().await.expect("closed");
        drop(db);
        let report = verify(open(dir.path())).await.expect("readable");
        assert!(report.is_clean(), "{report}");
    }
}

async fn check_documents(db: &Database, format: u8) {
    assert_eq!(db.all(Options::default()).await.len(), 50);
    let read = resource(&db.read("d3", r#"["k3"]"#).await.expect("read"));
    assert_eq!(read.get("again").as_bool(), Some(true));
    db.create(r#"{"id":"new","pk":"k3","serial":-1}"#).await.expect("still writable");
    // The first format has no index: documents get theirs after the start.
    let asked = "SELECT VALUE COUNT(1) FROM c WHERE c.again = true";
    let count = query(db, asked, &Value::Undefined, Options::default()).await;
    assert_eq!(count.expect("a count"), [Value::from(20)], "format {format}");
    let (pages, _) = follow(db, None, &Options::default()).await;
    assert_eq!(pages.concat().len(), 51, "format {format}");
}

/// What came with format 3.
async fn check_the_rest(db: &Database) {
    let twin = db.create(r#"{"id":"twin","pk":"k3","serial":3}"#).await.expect_err("a twin");
    assert_eq!(twin.code, Code::Conflict);
    let long = resource(&db.read("d0", r#"["k0"]"#).await.expect("read"));
    assert_eq!(long.get("ttl").as_i64(), Some(i64::from(i32::MAX)));
    for kind in [ScriptKind::StoredProcedure, ScriptKind::Trigger, ScriptKind::Function] {
        let list = Operation::ListScripts { collection: collection(), kind };
        let page = db.call(list, Options::default()).await.expect("a page");
        assert_eq!(items(&page).len(), 1, "{kind:?}");
    }
    let read = Operation::ReadPermission(permission("u", "p"));
    let shown = resource(&db.call(read, minting()).await.expect("read"));
    let read = Operation::ReadCollection(collection());
    db.call_as(&holder(&shown), read, Options::default()).await.expect("let in");
    let list = Operation::ListEncryptionKeys(DatabasePath("db".to_owned()));
    let page = db.call(list, Options::default()).await.expect("a page");
    assert_eq!(items(&page)[0].get("wrappedDataEncryptionKey").as_str(), Some("QUJD"));
    let list = Operation::ListAttachments(document("d1"));
    let page = db.call(list, keyed(r#"["k1"]"#)).await.expect("a page");
    let (_, content) = db.media(&text(items(&page)[0].get("media"))).await.expect("media");
    assert_eq!(content, "content of d1");
}

/// Makes a fixture, only when asked: `SHEAF_WRITE_FIXTURE=dir cargo test -p engine fixture`.
#[tokio::test]
async fn fixture_content_is_reproducible() {
    let chosen = std::env::var_os("SHEAF_WRITE_FIXTURE");
    let temporary = tempfile::tempdir().expect("a directory");
    let dir = chosen.as_ref().map_or_else(|| temporary.path(), Path::new);
    let db = Database::open(open(dir)).await;
    db.create_database("db").await;
    db.create_collection(DEFINITION, Some(25_000)).await.expect("a new collection");
    fill(&db).await;
    let long = format!(r#"{{"id":"d0","pk":"k0","serial":0,"again":true,"ttl":{}}}"#, i32::MAX);
    db.write(&long, true, Options::default()).await.expect("replaced");
    db.attach_to(1, "m", "content of d1").await.expect("attached");
    db.register(ScriptKind::StoredProcedure, r#"{"id":"s","body":"function () {}"}"#).await;
    let trigger =
        r#"{"id":"s","body":"function () {}","triggerType":"Pre","triggerOperation":"All"}"#;
    db.register(ScriptKind::Trigger, trigger).await;
    db.register(ScriptKind::Function, r#"{"id":"s","body":"function () {}"}"#).await;
    db.user("u", false).await.expect("a user");
    db.permit("u", rights("p", "Read", "dbs/db/colls/c", None)).await.expect("a permission");
    let key = r#"{"id":"k","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"QUJD","keyWrapMetadata":{"type":"t","name":"n","value":"v","algorithm":"a"}}"#;
    let (database, body) = (DatabasePath("db".to_owned()), Bytes::from(key));
    let create = Operation::CreateEncryptionKey { database, body, upsert: false };
    db.call(create, Options::default()).await.expect("a key");
    assert_eq!(db.all(Options::default()).await.len(), 50);
    db.engine.close().await.expect("closed");
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("the fixture is there") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}
