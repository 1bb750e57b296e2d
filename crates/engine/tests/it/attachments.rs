//! Attachments: the life of one, what it survives, and what it goes with.

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use engine::verify;
use protocol::{
    Body, Code, Error, Operation, Options, Outcome, Response,
    limits::{ATTACHMENTS_MAX, MEDIA_BYTES_MAX},
    query::{QueryFeed, QuerySource},
    request::{AttachmentPath, BatchMode, DatabasePath, MediaHead},
    rid::AttachmentRid,
};
use value::json;

use crate::stores::{commit, new_store};
use crate::support::{
    Database, TestClock, batch_of, collection, document, items, keyed, resource, text,
};

const KEY: &str = r#"["a"]"#;

fn path(attachment: &str) -> AttachmentPath {
    AttachmentPath { document: document("d"), attachment: attachment.to_owned() }
}

fn described(id: &str, more: &str) -> Bytes {
    let text = format!(r#"{{"id":"{id}","contentType":"text/plain","media":"http://m"{more}}}"#);
    Bytes::from(text)
}

pub(crate) fn head(slug: Option<&str>, content_type: &str) -> MediaHead {
    MediaHead { slug: slug.map(str::to_owned), content_type: content_type.to_owned() }
}

impl Database {
    async fn attach(&self, body: Bytes, upsert: bool) -> Result<Response, Error> {
        let create =
            Operation::CreateAttachment { document: document("d"), body, media: None, upsert };
        self.call(create, keyed(KEY)).await
    }

    /// Media for the document `d{number}` of the key `k{number}`.
    pub(crate) async fn attach_to(
        &self,
        number: usize,
        slug: &str,
        content: &str,
    ) -> Result<Response, Error> {
        let (document, media) =
            (document(&format!("d{number}")), Some(head(Some(slug), "text/plain")));
        let body = Bytes::from(content.to_owned());
        let create = Operation::CreateAttachment { document, body, media, upsert: true };
        self.call(create, keyed(&format!(r#"["k{number}"]"#))).await
    }

    async fn upload(
        &self,
        head: MediaHead,
        content: &[u8],
        upsert: bool,
    ) -> Result<Response, Error> {
        let body = Bytes::copy_from_slice(content);
        let (document, media) = (document("d"), Some(head));
        let create = Operation::CreateAttachment { document, body, media, upsert };
        self.call(create, keyed(KEY)).await
    }

    async fn attached(&self, name: &str) -> Result<Response, Error> {
        self.call(Operation::ReadAttachment(path(name)), keyed(KEY)).await
    }

    async fn names(&self) -> Vec<String> {
        let list = Operation::ListAttachments(document("d"));
        let page = self.call(list, keyed(KEY)).await.expect("a page");
        items(&page).iter().map(|item| text(item.get("id"))).collect()
    }

    /// Media by their link.
    pub(crate) async fn media(&self, link: &str) -> Result<(String, Bytes), Error> {
        let media = link.strip_prefix("/media/").expect("a link").to_owned();
        match self.call(Operation::ReadMedia(media), Options::default()).await?.body {
            Body::Media { content_type, content } => Ok((content_type, content)),
            other => panic!("no media: {other:?}"),
        }
    }
}

async fn with_document() -> Database {
    let db = Database::memory().await.with_collection(400).await;
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
    db
}

fn code(answer: Result<Response, Error>) -> Code {
    answer.expect_err("refused").code
}

#[tokio::test]
async fn the_life_of_an_attachment() {
    let db = with_document().await;
    let before = resource(&db.read("d", KEY).await.expect("read"));
    let created = db.attach(described("x", r#","n":1.0,"_ts":5"#), false).await.expect("created");
    assert_eq!(created.outcome, Outcome::Created);
    assert!(created.meta.charge > 1.0 && !created.meta.partitions.is_empty());
    let attachment = resource(&created);
    let rid = text(attachment.get("_rid"));
    let document = text(before.get("_self"));
    assert_eq!(text(attachment.get("_self")), format!("{document}attachments/{rid}/"));
    assert_eq!(json::print(attachment.get("n")), "1.0");
    assert_eq!(text(attachment.get("media")), "http://m");
    assert_eq!(attachment.get("_ts").as_i64(), Some(1_700_000_000));
    for name in ["x", &rid] {
        let read = db.attached(name).await.expect("read");
        assert_eq!(json::print(&resource(&read)), json::print(&attachment));
    }
    // The document is not another one for it.
    assert_eq!(resource(&db.read("d", KEY).await.expect("read")), before);

    for taken in ["x", &rid] {
        assert_eq!(code(db.attach(described(taken, ""), false).await), Code::Conflict);
    }
    let upserted = db.attach(described("x", r#","n":2"#), true).await.expect("upserted");
    assert_eq!(
        (upserted.outcome, text(resource(&upserted).get("_rid"))),
        (Outcome::Ok, rid.clone())
    );
    let other = db.attach(described("y", ""), true).await.expect("upserted");
    assert_eq!(other.outcome, Outcome::Created);
    assert_eq!(db.names().await, ["x", "y"]);

    let replace = |name: &str, body| Operation::ReplaceAttachment { path: path(name), body };
    let old = Options { if_match: created.etag.clone(), ..keyed(KEY) };
    let late = db.call(replace("x", described("x", "")), old).await;
    assert_eq!(code(late), Code::PreconditionFailed);
    let renamed = db.call(replace("x", described("z", "")), keyed(KEY)).await.expect("replaced");
    assert_eq!(text(resource(&renamed).get("_rid")), rid);
    assert_eq!(db.names().await, ["z", "y"]);
    assert_eq!(code(db.call(replace("z", described("y", "")), keyed(KEY)).await), Code::Conflict);
    assert_eq!(code(db.call(replace("x", described("x", "")), keyed(KEY)).await), Code::NotFound);
    let known = Options { if_none_match: renamed.etag.clone(), ..keyed(KEY) };
    let read = db.call(Operation::ReadAttachment(path("z")), known).await.expect("read");
    assert_eq!(read.outcome, Outcome::NotModified);

    let one = Options { max_item_count: Some(1), ..keyed(KEY) };
    let list = || Operation::ListAttachments(crate::support::document("d"));
    let first = db.call(list(), one.clone()).await.expect("a page");
    let next = Options { continuation: first.continuation, ..one };
    let second = db.call(list(), next).await.expect("a page");
    assert_eq!(text(items(&second)[0].get("id")), "y");
    assert_eq!(second.continuation, None);
    let body = QuerySource::new("SELECT VALUE a.id FROM a ORDER BY a.id");
    let query = Operation::Query {
        feed: QueryFeed::Attachments(crate::support::document("d")),
        query: body,
    };
    let rows = items(&db.call(query, keyed(KEY)).await.expect("rows"));
    assert_eq!(rows.iter().map(text).collect::<Vec<_>>(), ["y", "z"]);

    let delete = || Operation::DeleteAttachment(path("z"));
    assert_eq!(db.call(delete(), keyed(KEY)).await.expect("deleted").outcome, Outcome::Deleted);
    assert_eq!(code(db.call(delete(), keyed(KEY)).await), Code::NotFound);
    let again = resource(&db.attach(described("z", ""), false).await.expect("created"));
    assert_ne!(text(again.get("_rid")), rid, "no rid is given twice");
}

#[tokio::test]
async fn media_come_and_go() {
    let db = with_document().await;
    let made = db.upload(head(Some("pic"), "image/png"), b"\x80\xff\0", false).await.expect("made");
    assert_eq!(made.outcome, Outcome::Created);
    let made = resource(&made);
    assert_eq!(text(made.get("id")), "pic");
    assert_eq!(text(made.get("contentType")), "image/png");
    let (link, rid) = (text(made.get("media")), text(made.get("_rid")));
    assert_eq!(link, format!("/media/{rid}"));
    let media = db.media(&link).await.expect("media");
    assert_eq!(media, ("image/png".to_owned(), Bytes::from_static(b"\x80\xff\0")));

    // Who sends the description back keeps the media, and may add to it.
    let again = format!(r#"{{"id":"pic","contentType":"image/x","media":"{link}","by":"me"}}"#);
    let replace =
        |body: String| Operation::ReplaceAttachment { path: path("pic"), body: body.into() };
    let replaced = db.call(replace(again), keyed(KEY)).await.expect("replaced");
    assert_eq!(text(resource(&replaced).get("media")), link);
    assert_eq!(db.media(&link).await.expect("media").0, "image/x");
    let update = |head, body: &'static [u8]| Operation::ReplaceMedia {
        media: rid.clone(),
        head,
        body: Bytes::from_static(body),
    };
    let updated = db.call(update(head(None, "text/plain"), b""), Options::default()).await;
    assert_eq!(text(resource(&updated.expect("updated")).get("by")), "me");
    assert_eq!(db.media(&link).await.expect("media"), ("text/plain".to_owned(), Bytes::new()));
    let upserted =
        db.upload(head(Some("pic"), "text/plain"), b"new", true).await.expect("upserted");
    assert_eq!(upserted.outcome, Outcome::Ok);
    assert_eq!(db.media(&link).await.expect("media").1, "new");

    // Another link: the media are gone.
    let away = r#"{"id":"pic","contentType":"text/plain","media":"http://elsewhere"}"#;
    db.call(replace(away.to_owned()), keyed(KEY)).await.expect("replaced");
    assert_eq!(db.media(&link).await.expect_err("gone").code, Code::NotFound);
    assert_eq!(
        code(db.call(update(head(None, "text/plain"), b""), Options::default()).await),
        Code::NotFound
    );
    // A link to another's media is a link, and no more.
    let unnamed = resource(&db.upload(head(None, "text/plain"), b"1", false).await.expect("made"));
    assert_eq!(unnamed.get("id"), unnamed.get("_rid"));
    let copied = format!(
        r#"{{"id":"copy","contentType":"text/plain","media":"{}"}}"#,
        text(unnamed.get("media"))
    );
    db.attach(copied.into(), false).await.expect("created");
    let remove = Operation::DeleteAttachment(path("copy"));
    db.call(remove, keyed(KEY)).await.expect("deleted");
    assert_eq!(db.media(&text(unnamed.get("media"))).await.expect("media").1, "1");

    for bad in ["x", "AAAA", "obLD1IAAAAEBAAAAAAAAAAAAAAE=", &rid[..27]] {
        let read = db.call(Operation::ReadMedia(bad.to_owned()), Options::default()).await;
        assert_eq!(code(read), Code::NotFound, "{bad}");
    }
}

#[tokio::test]
async fn what_is_refused() {
    let db = with_document().await;
    for bad in ["", "5", "{}", r#"{"id":"a"}"#, r#"{"id":"a/b","contentType":"x","media":"m"}"#] {
        assert_eq!(code(db.attach(bad.into(), false).await), Code::BadRequest, "{bad}");
    }
    let junk = db.upload(head(Some("s"), "junt/test"), b"1", false).await;
    assert_eq!(code(junk), Code::BadRequest);
    let slug = db.upload(head(Some("a/b"), "text/plain"), b"1", false).await;
    assert_eq!(code(slug), Code::BadRequest);
    let large = vec![0; MEDIA_BYTES_MAX + 1];
    let large = db.upload(head(Some("s"), "text/plain"), &large, false).await;
    assert_eq!(code(large), Code::TooLarge);
    let create = Operation::CreateAttachment {
        document: document("nowhere"),
        body: described("x", ""),
        media: None,
        upsert: false,
    };
    assert_eq!(code(db.call(create.clone(), keyed(KEY)).await), Code::OwnerNotFound);
    assert_eq!(code(db.call(create, Options::default()).await), Code::BadRequest, "no key");
    let list = Operation::ListAttachments(document("nowhere"));
    assert_eq!(code(db.call(list, keyed(KEY)).await), Code::OwnerNotFound);
    for number in 0..ATTACHMENTS_MAX {
        db.attach(described(&format!("x{number}"), ""), false).await.expect("created");
    }
    assert_eq!(code(db.attach(described("one more", ""), false).await), Code::LimitReached);
    db.attach(described("x0", ""), true).await.expect("there is room for what is there");
}

/// Rows of attachments and media in a store's partitions.
pub(crate) async fn rows(store: &dyn store::Store) -> usize {
    let mut count = 0;
    for name in store.key_spaces().await.expect("names") {
        if !name.starts_with("p-") {
            continue;
        }
        let partition = store.open(&name, 0).await.expect("open");
        let range =
            (Bound::Included(Bytes::from_static(b"A")), Bound::Excluded(Bytes::from_static(b"C")));
        let limit = store::PageLimit { entries: 10_000, bytes: 1 << 24 };
        let page = partition.snapshot().scan(range, store::Direction::Forward, limit).await;
        count += page.expect("a page").entries.len();
    }
    count
}

#[tokio::test]
async fn they_go_with_their_document() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    for end in 0..3 {
        db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
        assert_eq!(db.names().await, [""; 0]);
        db.attach(described("x", ""), false).await.expect("created");
        let made = db.upload(head(Some("y"), "text/plain"), b"12345", false).await.expect("made");
        let link = text(resource(&made).get("media"));
        // A new version keeps them.
        db.write(r#"{"id":"d","pk":"a","v":2}"#, true, Options::default()).await.expect("replaced");
        assert_eq!(db.names().await, ["x", "y"]);
        assert_eq!(rows(&*store).await, 4);
        assert!(verify(Arc::clone(&store) as _).await.expect("readable").is_clean());
        match end {
            0 => drop(db.delete("d", KEY).await.expect("deleted")),
            1 => {
                // Gone and made anew in one transaction: another document.
                let body = br#"[{"operationType":"Delete","id":"d"},
                    {"operationType":"Create","resourceBody":{"id":"d","pk":"a"}}]"#;
                let batch = Operation::ExecuteBatch {
                    collection: collection(),
                    operations: batch_of(body),
                    mode: BatchMode::Atomic,
                };
                db.call(batch, keyed(KEY)).await.expect("run");
                assert_eq!(db.names().await, [""; 0]);
                db.delete("d", KEY).await.expect("deleted");
            }
            _ => {
                let delete = Operation::DeleteCollection(collection());
                db.call(delete, Options::default()).await.expect("deleted");
            }
        }
        assert_eq!(rows(&*store).await, 0);
        assert_eq!(db.media(&link).await.expect_err("gone").code, Code::NotFound);
        assert!(verify(Arc::clone(&store) as _).await.expect("readable").is_clean());
    }
}

#[tokio::test]
async fn verify_sees_what_is_missing() {
    for (prefix, length) in [(b'A', 9), (b'A', 13), (b'B', 13), (b'D', 9)] {
        let store = new_store();
        let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
        db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
        db.upload(head(Some("y"), "text/plain"), b"12345", false).await.expect("made");
        let names = store.key_spaces().await.expect("names");
        let name = names.iter().find(|name| name.starts_with("p-")).expect("a partition");
        let partition = store.open(name, 0).await.expect("open");
        let range = (Bound::Included(Bytes::from(vec![prefix])), Bound::Unbounded);
        let limit = store::PageLimit { entries: 100, bytes: 1 << 20 };
        let page = partition.snapshot().scan(range, store::Direction::Forward, limit).await;
        let page = page.expect("a page");
        let (key, _) = page.entries.iter().find(|(key, _)| key.len() == length).expect("a row");
        let mut batch = store::Batch::default();
        batch.delete(key.clone());
        commit(&*partition, batch).await;
        let report = verify(store).await.expect("readable");
        let found = report.problems.iter().any(|problem| problem.contains("attachment row"));
        assert!(found, "{}{length}: {report}", char::from(prefix));
    }
}

/// Nobody sees attachments of a document that has expired, and none come back with its id.
#[tokio::test]
async fn they_expire_with_their_document() {
    let (store, clock) = (new_store(), TestClock::at(1_700_000_000));
    let options = engine::Options::default();
    let db = Database::open_at(Arc::clone(&store) as _, options, &clock).await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"},"defaultTtl":10}"#;
    db.create_collection(body, None).await.expect("created");
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
    let made = db.upload(head(Some("y"), "text/plain"), b"12345", false).await.expect("made");
    let made = resource(&made);
    let (link, rid) = (text(made.get("media")), text(made.get("_rid")));
    clock.set(1_700_000_010);
    assert_eq!(code(db.attached("y").await), Code::OwnerNotFound);
    assert_eq!(code(db.attach(described("x", ""), true).await), Code::OwnerNotFound);
    assert_eq!(db.media(&link).await.expect_err("gone").code, Code::NotFound);
    let (head, body) = (head(None, "text/plain"), Bytes::new());
    let update = Operation::ReplaceMedia { media: rid, head, body };
    assert_eq!(code(db.call(update, Options::default()).await), Code::NotFound);
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created anew");
    assert_eq!(db.names().await, [""; 0]);
    assert_eq!(rows(&*store).await, 0);
    assert!(verify(store).await.expect("readable").is_clean());
}

/// A name that looks like the rid of a later attachment leads nobody astray: that rid is not given.
#[tokio::test]
async fn names_are_no_rids() {
    let db = with_document().await;
    let upload = async |slug: Option<&str>, content: &[u8]| {
        let media = head(slug, "text/plain");
        resource(&db.upload(media, content, false).await.expect("uploaded"))
    };
    let first = upload(None, b"first").await;
    let rid = AttachmentRid::parse(&text(first.get("_rid"))).expect("a rid");
    let later = |number: u32| AttachmentRid { number, ..rid }.to_string();
    let named = upload(Some(&later(rid.number + 2)), b"named").await;
    let last = upload(None, b"last").await;
    assert_eq!(text(last.get("_rid")), later(rid.number + 3), "one was left out");
    for (attachment, content) in [(&first, "first"), (&named, "named"), (&last, "last")] {
        let link = text(attachment.get("media"));
        let media = link.strip_prefix("/media/").expect("a link").to_owned();
        let body = Bytes::from(format!("new {content}"));
        let (head, media) = (head(None, "text/plain"), media);
        let replace = Operation::ReplaceMedia { media, head, body };
        db.call(replace, Options::default()).await.expect("replaced");
        assert_eq!(db.media(&link).await.expect("media").1, format!("new {content}"));
        for name in ["id", "_rid"] {
            let read = db.attached(&text(attachment.get(name))).await.expect("read");
            assert_eq!(text(resource(&read).get("media")), link);
        }
    }
}

/// A page costs what it returns, and a query what it reads.
#[tokio::test]
async fn pages_are_charged_one_by_one() {
    let db = with_document().await;
    let long = format!(r#","text":"{}""#, "x".repeat(20_000));
    for number in 0..10 {
        db.attach(described(&format!("x{number}"), &long), false).await.expect("created");
    }
    let mut options = Options { max_item_count: Some(1), ..keyed(KEY) };
    let mut charges = Vec::new();
    loop {
        let list = Operation::ListAttachments(document("d"));
        let page = db.call(list, options.clone()).await.expect("a page");
        assert_eq!(items(&page).len(), 1);
        charges.push(page.meta.charge);
        let Some(token) = page.continuation else { break };
        options.continuation = Some(token);
    }
    assert_eq!(charges.len(), 10);
    let list = Operation::ListAttachments(document("d"));
    let whole = db.call(list, keyed(KEY)).await.expect("a page").meta.charge;
    assert!(charges.iter().all(|charge| charge * 3.0 < whole), "{charges:?}, {whole}");
    let content = Bytes::from(r#"{"query":"SELECT VALUE 1 FROM c"}"#);
    let (feed, body) = (
        QueryFeed::Attachments(document("d")),
        gateway::read::query(&content, false).expect("a query"),
    );
    let query = db.call(Operation::Query { feed, query: body }, keyed(KEY)).await.expect("rows");
    assert!(query.meta.charge >= whole, "{}, {whole}", query.meta.charge);
}

/// Where no history is kept, attachments begin none.
#[tokio::test]
async fn they_make_no_history() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
    db.attach(described("x", ""), false).await.expect("created");
    db.engine.close().await.expect("closed");
    for name in store.key_spaces().await.expect("names") {
        let snapshot = store.open(&name, 0).await.expect("opens").snapshot();
        let rows = snapshot.get_many(&[Bytes::from("Mh")]).await.expect("readable");
        assert_eq!(rows, [None], "{name}");
    }
}

/// Writers of one document's attachments see each other, queued or not.
#[tokio::test]
async fn many_at_a_time_all_arrive() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("created");
    let db = Arc::new(db);
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let db = Arc::clone(&db);
            tokio::spawn(async move {
                let slug = format!("s{}", number % 40);
                db.upload(head(Some(&slug), "text/plain"), b"x", false).await.map_err(|it| it.code)
            })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        match task.await.expect("ended") {
            Ok(_) => made += 1,
            Err(code) => assert_eq!(code, Code::Conflict),
        }
    }
    assert_eq!((made, db.names().await.len()), (40, 40));
    assert!(verify(Arc::clone(&store) as _).await.expect("readable").is_clean());
    // Some add while the document goes: what came too late finds no document.
    let add = {
        let db = Arc::clone(&db);
        tokio::spawn(async move {
            for number in 0..20 {
                match db.attach(described(&format!("late{number}"), ""), false).await {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code, Code::OwnerNotFound),
                }
            }
        })
    };
    db.delete("d", KEY).await.expect("deleted");
    add.await.expect("ended");
    assert_eq!(rows(&*store).await, 0);
    assert!(verify(store).await.expect("readable").is_clean());
    let database = DatabasePath("db".to_owned());
    db.call(Operation::DeleteDatabase(database), Options::default()).await.expect("deleted");
}
