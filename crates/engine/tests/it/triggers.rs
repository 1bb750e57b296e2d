//! Triggers at work: in the transaction of the write that names them.

use bytes::Bytes;
use protocol::{Code, Error, Operation, Options, Outcome, Response, request::ScriptKind};
use value::{Value, json};

use crate::{
    access::granted,
    support::{Database, document, keyed, resource},
};

const KEY: &str = r#"["x"]"#;

async fn database() -> Database {
    let db = Database::memory().await.with_collection(400).await;
    db.create(r#"{"id":"meta","pk":"x","count":0}"#).await.expect("created");
    for (id, when, operation, source) in [
        (
            "stamp",
            "Pre",
            "All",
            "const request = getContext().getRequest(); const doc = request.getBody();
             doc.stamped = request.getOperationType(); request.setBody(doc);",
        ),
        ("move", "Pre", "All", "const r = __.request; r.setBody({ ...r.getBody(), pk: 'y' });"),
        ("break", "Pre", "Create", "__.request.setBody('text');"),
        ("refuse", "Pre", "All", "throw new Error(403, 'not today');"),
        (
            "count",
            "Post",
            "All",
            "const made = __.response.getBody(); console.log('id %s', made ? made.id : 'none');
             if (!__.queryDocuments(__.getSelfLink(), 'SELECT * FROM c WHERE c.id = \"meta\"', (e, rows) => {
                if (e) throw e; const meta = rows[0]; meta.count += 1;
                __.replaceDocument(meta._self, meta, { etag: meta._etag }, (e) => { if (e) throw e; });
             })) throw new Error('refused');",
        ),
        ("count2", "Post", "Replace", "__.response.setBody({ ...__.response.getBody(), seen: true });"),
        ("late", "Pre", "Upsert", "const doc = __.request.getBody(); __.request.setBody(doc);
             if (!__.readDocuments(__.getSelfLink(), () => { doc.late = true; })) throw new Error('refused');"),
        ("fail", "Post", "All", "throw new Error('after all');"),
        ("gone", "Post", "Delete", "__.createDocument(__.getAltLink(), { id: 'left', pk: 'x' });"),
    ] {
        let source = format!("function t() {{ {source} }}");
        let mut body = format!(
            r#"{{"id":"{id}","triggerType":"{when}","triggerOperation":"{operation}","body":"#
        )
        .into_bytes();
        json::quote(&source, &mut body);
        body.push(b'}');
        let body = String::from_utf8(body).expect("text");
        db.register(ScriptKind::Trigger, &body).await;
    }
    db
}

fn with(pre: &[&str], post: &[&str]) -> Options {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Options { pre_triggers: names(pre), post_triggers: names(post), ..keyed(KEY) }
}

impl Database {
    async fn put(&self, id: &str, options: Options) -> Result<Response, Error> {
        self.write(&format!(r#"{{"id":"{id}","pk":"x"}}"#), false, options).await
    }

    async fn counted(&self) -> Option<i64> {
        resource(&self.read("meta", KEY).await.expect("there")).get("count").as_i64()
    }
}

#[tokio::test]
async fn upserts_have_triggers_of_their_own() {
    let db = database().await;
    let body = r#"{"id":"a","pk":"x"}"#;
    for outcome in [Outcome::Created, Outcome::Ok] {
        let put = db.write(body, true, with(&["late"], &[])).await.expect("upserted");
        assert_eq!(put.outcome, outcome);
        // What a callback changes in the body counts, too.
        assert_eq!(resource(&put).get("late").as_bool(), Some(true));
    }
    let refused = db.replace("a", body, with(&["late"], &[])).await.expect_err("no upsert");
    assert_eq!(refused.code, Code::BadRequest, "{refused}");
}

#[tokio::test]
async fn before_and_after_a_write() {
    let db = database().await;
    let made = db.put("a", with(&["stamp"], &["count"])).await.expect("created");
    assert_eq!(made.outcome, Outcome::Created);
    assert_eq!(resource(&made).get("stamped").as_str(), Some("Create"));
    assert_eq!(resource(&made), resource(&db.read("a", KEY).await.expect("stored")));
    assert_eq!(db.counted().await, Some(1));
    let body = r#"{"id":"a","pk":"x","n":1}"#;
    let put = db.write(body, true, with(&["stamp"], &["count"])).await.expect("upserted");
    assert_eq!(resource(&put).get("stamped").as_str(), Some("Upsert"));
    let put = db.replace("a", body, with(&["stamp"], &["count2"])).await.expect("replaced");
    assert_eq!(resource(&put).get("stamped").as_str(), Some("Replace"));
    assert_eq!(resource(&put).get("seen").as_bool(), Some(true));
    let stored = resource(&db.read("a", KEY).await.expect("stored"));
    assert_eq!(*stored.get("seen"), Value::Undefined);
    assert_eq!(stored.get("_etag").as_str(), put.etag.map(|etag| format!("\"{etag}\"")).as_deref());
    let delete = Operation::DeleteDocument(document("a"));
    db.call(delete, with(&[], &["gone"])).await.expect("deleted");
    assert_eq!(db.all(keyed(KEY)).await, ["meta", "left"]);
    assert_eq!(db.counted().await, Some(2));
}

#[tokio::test]
async fn one_transaction_with_the_write() {
    let db = database().await;
    for (id, options, code, number) in [
        ("a", with(&["refuse"], &["count"]), Code::BadRequest, Some(403)),
        ("a", with(&[], &["fail"]), Code::BadRequest, None),
        ("a", with(&["move"], &[]), Code::PartitionKeyMismatch, None),
        ("a", with(&["break"], &[]), Code::BadRequest, None),
        ("meta", with(&["stamp"], &["count"]), Code::Conflict, None),
    ] {
        let error = db.put(id, options.clone()).await.expect_err("refused");
        assert_eq!((error.code, error.meta.sub_status), (code, number), "{options:?}: {error}");
        assert!(!error.meta.partitions.is_empty());
        assert_eq!(db.all(keyed(KEY)).await, ["meta"]);
        assert_eq!(db.counted().await, Some(0));
    }
}

#[tokio::test]
async fn a_body_that_is_none_is_refused_as_ever() {
    let db = database().await;
    for body in ["{", "", "[1", "\u{0}"] {
        let error = db.write(body, false, with(&["stamp"], &[])).await.expect_err(body);
        assert_eq!(error.code, Code::BadRequest, "{body}: {error}");
        assert!(error.message.contains("invalid JSON"), "{error}");
    }
}

#[tokio::test]
async fn the_log_of_one_survives_the_failure_of_the_other() {
    let db = database().await;
    let options = Options { enable_script_logging: true, ..with(&[], &["count"]) };
    db.delete("meta", KEY).await.expect("deleted");
    let error = db.put("a", options).await.expect_err("no metadata");
    assert_eq!(error.meta.script_log.as_deref().map(str::trim), Some("id a"), "{error}");
    assert!(error.meta.owner.is_some());
}

#[tokio::test]
async fn names_must_fit() {
    let db = database().await;
    for (options, part) in [
        (with(&["none"], &[]), "'none' was not found"),
        (with(&["count"], &[]), "is a Post-trigger"),
        (with(&[], &["stamp"]), "is a Pre-trigger"),
        (with(&["stamp", "move"], &[]), "one pre-trigger"),
        (with(&[], &["count2"]), "for the operation Replace"),
        (with(&["late"], &[]), "for the operation Upsert"),
    ] {
        let error = db.put("a", options).await.expect_err(part);
        assert_eq!(error.code, Code::BadRequest);
        assert!(error.message.contains(part), "{error}");
    }
    let patch = r#"[{"op":"set","path":"/n","value":1}]"#;
    let error = db.patch("meta", patch, with(&["stamp"], &[])).await.expect_err("no patch");
    assert!(error.message.contains("patch"), "{error}");
    assert_eq!(db.all(keyed(KEY)).await, ["meta"]);
}

#[tokio::test]
async fn what_they_log_and_what_is_not_wanted() {
    let db = database().await;
    let options = Options {
        enable_script_logging: true,
        minimal_response: true,
        ..with(&["stamp"], &["count"])
    };
    let made = db.put("a", options).await.expect("created");
    assert!(matches!(made.body, protocol::Body::Empty) && made.etag.is_some());
    assert_eq!(made.meta.script_log.as_deref().map(str::trim), Some("id a"));
    let twice = made.meta.charge - db.put("b", keyed(KEY)).await.expect("created").meta.charge;
    assert!(twice > 9.0, "{twice}");
}

/// `count` writes another document: who may write one only may not have it run.
#[tokio::test]
async fn a_token_of_a_document_runs_none() {
    let db = database().await;
    db.user("u", false).await.expect("a user");
    db.put("a", keyed(KEY)).await.expect("created");
    let own = granted(&db, "1", "All", "dbs/db/colls/c/docs/a", Some(KEY)).await;
    let of_key = granted(&db, "2", "All", "dbs/db/colls/c", Some(KEY)).await;
    let replace = || {
        let body = Bytes::from_static(br#"{"id":"a","pk":"x"}"#);
        Operation::ReplaceDocument { path: document("a"), body }
    };
    db.call_as(&own, replace(), keyed(KEY)).await.expect("its own document");
    for options in [with(&[], &["count"]), with(&["stamp"], &[])] {
        for operation in [replace(), Operation::DeleteDocument(document("a"))] {
            let refused = db.call_as(&own, operation, options.clone()).await;
            assert_eq!(refused.expect_err("too little").code, Code::Forbidden);
        }
        db.call_as(&of_key, replace(), options).await.expect("all of the key");
    }
}
