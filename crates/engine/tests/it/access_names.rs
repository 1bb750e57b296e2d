//! Resource tokens by names and by rids: the same document, the same attachment.

use bytes::Bytes;
use protocol::{
    Code, Operation, Options,
    request::{AttachmentPath, CollectionPath, DatabasePath, DocumentPath},
};

use crate::{
    access::granted,
    attachments::head,
    support::{Database, collection, document, keyed, resource, text},
    users::rights,
};

/// The path of a document's or an attachment's `_self` link.
fn by_rid(link: &str) -> (DocumentPath, Option<AttachmentPath>) {
    let parts: Vec<&str> = link.split('/').collect();
    let collection = CollectionPath {
        database: DatabasePath(parts[1].to_owned()),
        collection: parts[3].to_owned(),
    };
    let document = DocumentPath { collection, document: parts[5].to_owned() };
    let attachment = (parts.get(6) == Some(&"attachments"))
        .then(|| AttachmentPath { document: document.clone(), attachment: parts[7].to_owned() });
    (document, attachment)
}

#[tokio::test]
async fn a_document_by_its_rid_is_read_by_name_without_a_key() {
    let db = Database::memory().await.with_collection(400).await;
    db.user("u", false).await.expect("a user");
    let made = resource(&db.create(r#"{"id":"x","pk":"a"}"#).await.expect("created"));
    db.create(r#"{"id":"x","pk":"b"}"#).await.expect("another of the name");
    let link = text(made.get("_self"));
    let who = granted(&db, "p", "Read", &link, Some(r#"["a"]"#)).await;
    for path in [document("x"), by_rid(&link).0] {
        for options in [Options::default(), keyed(r#"["a"]"#)] {
            let read = Operation::ReadDocument(path.clone());
            let read = db.call_as(&who, read, options).await.expect("the permission has the key");
            assert_eq!(text(resource(&read).get("pk")), "a");
        }
        let read = Operation::ReadDocument(path);
        db.call_as(&who, read, keyed(r#"["b"]"#)).await.expect_err("another");
    }
    // A permission whose key is not the document's is for nothing.
    let who = granted(&db, "q", "Read", &link, Some(r#"["b"]"#)).await;
    for options in [Options::default(), keyed(r#"["b"]"#), keyed(r#"["a"]"#)] {
        let read = Operation::ReadDocument(document("x"));
        db.call_as(&who, read, options).await.expect_err("another");
    }
}

#[tokio::test]
async fn a_collection_without_keys_has_one() {
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("a collection without a key");
    db.user("u", false).await.expect("a user");
    let made = resource(&db.create(r#"{"id":"x"}"#).await.expect("created"));
    db.create(r#"{"id":"y"}"#).await.expect("created");
    let link = text(made.get("_self"));
    let who = granted(&db, "p", "Read", &link, None).await;
    for options in [Options::default(), keyed("[]"), keyed("[{}]")] {
        for path in [document("x"), by_rid(&link).0] {
            let read = Operation::ReadDocument(path);
            db.call_as(&who, read, options.clone()).await.expect("read");
        }
        let other = Operation::ReadDocument(document("y"));
        let refused = db.call_as(&who, other, options).await.expect_err("another");
        assert_eq!(refused.code, Code::Forbidden);
    }
    // How many others there are is told to who may read them.
    for populate_quota in [false, true] {
        let options = Options { populate_quota, ..Options::default() };
        let read = || Operation::ReadCollection(collection());
        let seen = db.call_as(&who, read(), options.clone()).await.expect("the way there");
        assert_eq!(seen.meta.quota, None);
        assert!(db.call(read(), options).await.expect("read").meta.quota.is_some());
    }
}

#[tokio::test]
async fn an_attachment_is_the_same_by_name_by_rid_and_by_its_media() {
    const KEY: &str = r#"["a"]"#;
    let db = Database::memory().await.with_collection(400).await;
    db.user("u", false).await.expect("a user");
    db.user("v", false).await.expect("a user");
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
    let attach = async |slug| {
        let media = Some(head(Some(slug), "text/plain"));
        let body = Bytes::from_static(b"words");
        let create =
            Operation::CreateAttachment { document: document("d"), body, media, upsert: false };
        resource(&db.call(create, keyed(KEY)).await.expect("made"))
    };
    let (one, other) = (attach("one").await, attach("other").await);
    let link = text(one.get("_self"));
    let ways = |id: &str, link: &str, rid: String| {
        let (rid_document, by_rid) = by_rid(link);
        let by_rid = by_rid.expect("an attachment");
        let mixed =
            AttachmentPath { document: document("d"), attachment: by_rid.attachment.clone() };
        let other_mix = AttachmentPath { document: rid_document, attachment: id.to_owned() };
        let named = AttachmentPath { document: document("d"), attachment: id.to_owned() };
        let read = Operation::ReadAttachment;
        [read(named), read(mixed), read(other_mix), read(by_rid), Operation::ReadMedia(rid)]
    };
    let named = "dbs/db/colls/c/docs/d/attachments/one";
    for (user, id, resource, key) in [
        ("u", "1", named, None),
        ("u", "2", named, Some(KEY)),
        ("v", "1", link.as_str(), None),
        ("v", "2", link.as_str(), Some(KEY)),
    ] {
        let made = db.permit(user, rights(id, "Read", resource, key)).await.expect("permitted");
        let who = crate::users::holder(&crate::support::resource(&made));
        for read in ways("one", &link, text(one.get("_rid"))) {
            let shown = format!("{resource} {key:?}: {read:?}");
            let answer = db.call_as(&who, read, keyed_unless_media(&shown, KEY)).await;
            answer.expect(&shown);
        }
        for read in ways("other", &text(other.get("_self")), text(other.get("_rid"))) {
            let shown = format!("{resource} {key:?}: {read:?}");
            let refused = db.call_as(&who, read, keyed_unless_media(&shown, KEY)).await;
            assert_eq!(refused.expect_err(&shown).code, Code::Forbidden, "{shown}");
        }
        // One for each, whatever it is called.
        for again in [named, link.as_str()] {
            let again = db.permit(user, rights("again", "All", again, key)).await;
            assert_eq!(again.expect_err("a second").code, Code::Conflict);
        }
    }
}

/// Media are asked for without a key.
fn keyed_unless_media(shown: &str, key: &str) -> Options {
    if shown.contains("ReadMedia") { Options::default() } else { keyed(key) }
}

#[tokio::test]
async fn one_permission_for_a_document_whatever_it_is_called() {
    let db = Database::memory().await.with_collection(400).await;
    db.user("u", false).await.expect("a user");
    db.user("v", false).await.expect("a user");
    let made = resource(&db.create(r#"{"id":"x","pk":"a"}"#).await.expect("created"));
    let other = resource(&db.create(r#"{"id":"y","pk":"a"}"#).await.expect("created"));
    let (link, other) = (text(made.get("_self")), text(other.get("_self")));
    let named = "dbs/db/colls/c/docs/x";
    for (user, first, second) in [("u", named, link.as_str()), ("v", link.as_str(), named)] {
        db.permit(user, rights("p", "Read", first, None)).await.expect("the first");
        let again = db.permit(user, rights("q", "All", second, None)).await;
        assert_eq!(again.expect_err("a second").code, Code::Conflict);
        db.permit(user, rights("q", "All", &other, None)).await.expect("of another document");
        db.permit(user, rights("r", "All", second, Some(r#"["a"]"#))).await.expect("of a key");
    }
}
