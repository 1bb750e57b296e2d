//! Point operations.

use protocol::{Body, Code, Options, Outcome, request::IndexingDirective};

use crate::support::{Database, keyed, resource, text};

#[tokio::test]
async fn a_document_comes_back_byte_for_byte() {
    let db = Database::memory().await.with_collection(400).await;
    let body = r#"{"id":"a","pk":"x","n":1.0,"z":-0.0,"big":12345678901234567890,"e":1E5,"s":"é\u00e9\u0000"}"#;
    let created = db.create(body).await.expect("created");
    assert_eq!(created.outcome, Outcome::Created);
    let Body::Resource(text) = db.read("a", r#"["x"]"#).await.expect("read").body else {
        panic!("no body")
    };
    assert!(text.starts_with(&body.as_bytes()[..body.len() - 1]));
}

#[tokio::test]
async fn the_primary_key_is_partition_key_and_id() {
    let db = Database::memory().await.with_collection(25_000).await;
    for key in ["x", "y"] {
        db.create(&format!(r#"{{"id":"a","pk":"{key}"}}"#)).await.expect("one each");
    }
    let twice = db.create(r#"{"id":"a","pk":"x"}"#).await.expect_err("taken");
    assert_eq!(twice.code, Code::Conflict);
    assert!(!twice.meta.partitions.is_empty() && twice.meta.charge > 0.0);
    db.delete("a", r#"["x"]"#).await.expect("deleted");
    assert_eq!(db.read("a", r#"["x"]"#).await.expect_err("gone").code, Code::NotFound);
    db.read("a", r#"["y"]"#).await.expect("the other one stays");
}

#[tokio::test]
async fn kinds_of_keys_are_told_apart() {
    let db = Database::memory().await.with_collection(25_000).await;
    let keys = [
        (r#","pk":null"#, "[null]"),
        ("", "[{}]"),
        (r#","pk":0"#, "[0]"),
        (r#","pk":-0.0"#, "[-0.0]"),
        (r#","pk":false"#, "[false]"),
        (r#","pk":"""#, r#"[""]"#),
        (r#","pk":"0""#, r#"["0"]"#),
    ];
    for (index, (member, _)) in keys.iter().enumerate() {
        db.create(&format!(r#"{{"id":"a","n":{index}{member}}}"#)).await.expect("created");
    }
    for (index, (_, header)) in keys.iter().enumerate() {
        let found = resource(&db.read("a", header).await.expect("read"));
        assert_eq!(found.get("n").as_i64(), i64::try_from(index).ok(), "{header}");
    }
    let object = db.create(r#"{"id":"a","pk":{"x":1}}"#).await;
    assert_eq!(object.expect_err("counts as undefined").code, Code::Conflict);
}

#[tokio::test]
async fn header_and_body_must_agree() {
    let db = Database::memory().await.with_collection(400).await;
    let wrong = db.write(r#"{"id":"a","pk":"x"}"#, false, keyed(r#"["y"]"#)).await;
    assert_eq!(wrong.expect_err("refused").code, Code::PartitionKeyMismatch);
    let count = db.write(r#"{"id":"a","pk":"x"}"#, false, keyed(r#"["x","y"]"#)).await;
    assert_eq!(count.expect_err("refused").code, Code::PartitionKeyMismatch);
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let moved = db.replace("a", r#"{"id":"a","pk":"y"}"#, keyed(r#"["x"]"#)).await;
    assert_eq!(moved.expect_err("refused").code, Code::PartitionKeyMismatch);
    assert_eq!(db.all(Options::default()).await, ["a"]);
}

/// A part that is null in the header and absent in the body makes another key.
#[tokio::test]
async fn parts_of_hierarchical_keys_must_agree() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let definition =
        r#"{"id":"c","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}"#;
    db.create_collection(definition, Some(400)).await.expect("a collection");
    let (absent, null) = (r#"{"id":"1","a":"x"}"#, r#"{"id":"2","a":"x","b":null}"#);
    for (body, header, is_refused) in [
        (absent, r#"["x",null]"#, true),
        (absent, r#"["x"]"#, true),
        (absent, r#"["x",{}]"#, false),
        (null, r#"["x",{}]"#, true),
        (null, r#"["x",null]"#, false),
    ] {
        let code = db.write(body, true, keyed(header)).await.err().map(|error| error.code);
        assert_eq!(code, is_refused.then_some(Code::PartitionKeyMismatch), "{body} {header}");
    }
}

#[tokio::test]
async fn what_is_replaced_must_be_there_before_its_body_counts() {
    let db = Database::memory().await.with_collection(400).await;
    db.create(r#"{"id":"there","pk":"x"}"#).await.expect("created");
    let huge = format!(r#"{{"id":"a","pk":"x","t":"{}"}}"#, "x".repeat(2 << 20));
    for (bad, code) in [
        ("", Code::BadRequest),
        ("{", Code::BadRequest),
        (r#"{"pk":"x"}"#, Code::BadRequest),
        (r#"{"id":"there","pk":"y"}"#, Code::PartitionKeyMismatch),
        (r#"{"id":"there","pk":"x","ttl":0}"#, Code::BadRequest),
        (&huge, Code::TooLarge),
    ] {
        let replaced =
            async |id: &str, options| db.replace(id, bad, options).await.expect_err("refused");
        let missing = replaced("missing", keyed(r#"["x"]"#)).await;
        assert_eq!(missing.code, Code::NotFound, "{bad:.40}");
        assert!(missing.meta.charge > 0.0 && missing.meta.owner.is_some());
        assert_eq!(replaced("there", keyed(r#"["x"]"#)).await.code, code, "{bad:.40}");
    }
    // Without a header only the body tells where to look.
    let nowhere = db.replace("missing", "{", Options::default()).await;
    assert_eq!(nowhere.expect_err("refused").code, Code::BadRequest);
}

#[tokio::test]
async fn etags_guard_every_write() {
    let db = Database::memory().await.with_collection(400).await;
    let first = db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let etag = first.etag.expect("an etag");
    let if_match = |etag: &str| Options { if_match: Some(etag.to_owned()), ..keyed(r#"["x"]"#) };
    let body = r#"{"id":"a","pk":"x","n":2}"#;
    let second = db.replace("a", body, if_match(&format!("\"{etag}\""))).await.expect("replaced");
    assert_ne!(second.etag.as_deref(), Some(etag.as_str()));
    for stale in [
        db.replace("a", body, if_match(&etag)).await,
        db.write(body, true, if_match(&etag)).await,
        db.call(
            protocol::Operation::DeleteDocument(crate::support::document("a")),
            if_match(&etag),
        )
        .await,
    ] {
        let stale = stale.expect_err("stale");
        assert_eq!(stale.code, Code::PreconditionFailed);
        assert!(!stale.meta.partitions.is_empty() && stale.meta.owner.is_some());
    }
    db.write(body, true, if_match("*")).await.expect("anything goes");
    let current = text(resource(&db.read("a", r#"["x"]"#).await.expect("read")).get("_etag"));
    let known = Options { if_none_match: Some(current), ..keyed(r#"["x"]"#) };
    let read = protocol::Operation::ReadDocument(crate::support::document("a"));
    let unchanged = db.call(read, known).await.expect("unchanged");
    assert_eq!(unchanged.outcome, Outcome::NotModified);
}

#[tokio::test]
async fn documents_are_found_by_rid() {
    let db = Database::memory().await.with_collection(25_000).await;
    let created = db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let rid = text(resource(&created).get("_rid"));
    let read = db.read(&rid, r#"["x"]"#).await.expect("by rid");
    assert_eq!(text(resource(&read).get("id")), "a");
    assert_eq!(db.read(&rid, r#"["y"]"#).await.expect_err("another key").code, Code::NotFound);
    db.replace(&rid, r#"{"id":"a","pk":"x","n":1}"#, keyed(r#"["x"]"#)).await.expect("by rid");
    db.delete(&rid, r#"["x"]"#).await.expect("by rid");
    assert_eq!(db.read(&rid, r#"["x"]"#).await.expect_err("gone").code, Code::NotFound);
}

#[tokio::test]
async fn lsn_rises_by_one_per_write_and_tokens_from_the_future_are_refused() {
    let db = Database::memory().await.with_collection(400).await;
    for expected in 2..=6 {
        let body = format!(r#"{{"id":"a","pk":"x","n":{expected}}}"#);
        let written = db.write(&body, true, Options::default()).await.expect("written");
        assert_eq!(written.meta.partitions[0].lsn, expected);
    }
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect_err("a refused write takes no LSN");
    let read = |token: &str| {
        let session = protocol::session::SessionTokens::parse(token);
        let options = Options { session, ..keyed(r#"["x"]"#) };
        db.call(protocol::Operation::ReadDocument(crate::support::document("a")), options)
    };
    read("0:-1#6").await.expect("seen");
    assert_eq!(read("0:-1#7").await.expect_err("not yet").code, Code::SessionNotAvailable);
    assert_eq!(read("0:7").await.expect_err("not yet").code, Code::SessionNotAvailable);
}

#[tokio::test]
async fn bad_documents_leave_nothing_behind() {
    let db = Database::memory().await.with_collection(400).await;
    let deep = format!("{{\"id\":\"a\",\"x\":{}1{}}}", "[".repeat(128), "]".repeat(128));
    let long_id = format!("{{\"id\":\"{}\"}}", "x".repeat(1024));
    let long_key = format!("{{\"id\":\"a\",\"pk\":\"{}\"}}", "x".repeat(2049));
    for bad in [
        "",
        "[]",
        "1",
        "{",
        "{}",
        r#"{"id":1}"#,
        r#"{"id":""}"#,
        r#"{"id":"a\u0000"}"#,
        r#"{"id":"a","ttl":0}"#,
        r#"{"id":"a","id":"a"}"#,
        r#"{"id":"a","x":{"y":1,"\u0079":2}}"#,
        r#"{"id":"a","x":"\ud800"}"#,
        r#"{"id":"a","x":01}"#,
        r#"{"id":"a","x":1e400}"#,
        &deep,
        &long_id,
        &long_key,
    ] {
        let refused = db.create(bad).await.expect_err("refused");
        assert_eq!(refused.code, Code::BadRequest, "{bad:.40}");
    }
    let huge = format!("{{\"id\":\"a\",\"x\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(db.create(&huge).await.expect_err("refused").code, Code::TooLarge);
    assert!(db.all(Options::default()).await.is_empty());
}

/// Whether a document is indexed, and paid for, is the policy's to say unless the request does.
#[tokio::test]
async fn charges_follow_the_indexing_directive() {
    use IndexingDirective::{Default, Exclude, Include};
    // Five values, of which the id and the key always count unless the request says otherwise. A
    // consistent index is always automatic.
    const VALUES: [(&str, bool, IndexingDirective, f64); 9] = [
        ("consistent", true, Default, 5.0),
        ("consistent", true, Include, 5.0),
        ("consistent", true, Exclude, 0.0),
        ("consistent", false, Default, 5.0),
        ("consistent", false, Include, 5.0),
        ("consistent", false, Exclude, 0.0),
        ("lazy", false, Default, 2.0),
        ("lazy", false, Include, 5.0),
        ("lazy", false, Exclude, 0.0),
    ];
    for (mode, automatic, indexing_directive, values) in VALUES {
        let db = Database::memory().await;
        db.create_database("db").await;
        let key = r#"{"paths":["/pk"],"kind":"Hash","version":2}"#;
        let policy = format!(r#"{{"indexingMode":"{mode}","automatic":{automatic}}}"#);
        let body = format!(r#"{{"id":"c","partitionKey":{key},"indexingPolicy":{policy}}}"#);
        db.create_collection(&body, Some(400)).await.expect("a new collection");
        let options = Options { indexing_directive, ..Options::default() };
        let body = r#"{"id":"a","pk":"x","n":1,"list":[2,3]}"#;
        let charge = async |upsert: bool| {
            db.write(body, upsert, options.clone()).await.expect("written").meta.charge
        };
        let (created, replaced) = (charge(false).await, charge(true).await);
        let deleted = db.delete("a", r#"["x"]"#).await.expect("deleted").meta.charge;
        let expected = 5.0 + 0.4 * values;
        for (actual, expected) in
            [(created, expected), (replaced, 2.0 * expected), (deleted, expected)]
        {
            let place = (mode, automatic, indexing_directive);
            assert!((actual - expected).abs() < 0.02, "{place:?}: {actual} is not {expected}");
        }
    }
}

#[tokio::test]
async fn charges_follow_the_list() {
    let db = Database::memory().await.with_collection(400).await;
    let padding = "x".repeat(1024 - 28);
    let body = format!(r#"{{"id":"a","pk":"x","p":"{padding}"}}"#);
    let created = db.create(&body).await.expect("created").meta.charge;
    assert!((5.0..=7.5).contains(&created), "{created}");
    let read = db.read("a", r#"["x"]"#).await.expect("read").meta.charge;
    assert!((read - 1.0).abs() < 0.02, "{read}");
    let replaced = db.write(&body, true, Options::default()).await.expect("replaced").meta.charge;
    assert!((replaced - 2.0 * created).abs() < 0.02, "{replaced} is not twice {created}");
}
