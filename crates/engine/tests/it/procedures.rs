//! Stored procedures at work: transactions of one key.

use std::sync::Arc;

use bytes::Bytes;
use engine::{Engine, RateLimit, SystemClock};
use proptest::prelude::*;
use protocol::{
    Body, Code, Error, Operation, Options, Response,
    query::{QueryFeed, QuerySource},
    request::{ScriptKind, ScriptPath},
};
use value::{Value, json};

use crate::stores::new_store;
use crate::support::{Database, collection, document, items, keyed, resource, text, workers};

const KEY: &str = r#"["x"]"#;

/// What the procedures of these tests use: operations that must be accepted and succeed.
const HELP: &str = r"
    const coll = getContext().getCollection();
    const link = coll.getSelfLink();
    const answer = (value) => getContext().getResponse().setBody(value);
    const must = (accepted) => { if (!accepted) throw new Error('refused'); };
    const create = (doc, then) => must(coll.createDocument(link, doc, (e, d) => { if (e) throw e; if (then) then(d); }));
    const find = (sql, then) => must(coll.queryDocuments(link, sql, (e, rows) => { if (e) throw e; then(rows); }));
";

/// Answers with what callbacks are told of the collection.
const SIZE_MAX: &str =
    "coll.readDocuments(link, (e, found, options) => answer(options.maxCollectionSizeInMB));";

async fn database() -> Database {
    Database::memory().await.with_collection(400).await
}

impl Database {
    pub(crate) async fn register(&self, kind: ScriptKind, body: &str) {
        let body = Bytes::from(body.to_owned());
        let create = Operation::CreateScript { collection: collection(), kind, body, upsert: true };
        self.call(create, Options::default()).await.expect("a script");
    }

    /// Makes a procedure `p` of these statements.
    pub(crate) async fn procedure(&self, statements: &str) {
        let source = format!("function p(...args) {{ {HELP} {statements} }}");
        let mut body = br#"{"id":"p","body":"#.to_vec();
        json::quote(&source, &mut body);
        body.push(b'}');
        let body = String::from_utf8(body).expect("text");
        self.register(ScriptKind::StoredProcedure, &body).await;
    }

    pub(crate) async fn call_procedure(
        &self,
        arguments: &str,
        options: Options,
    ) -> Result<Response, Error> {
        let (kind, script) = (ScriptKind::StoredProcedure, "p".to_owned());
        let path = ScriptPath { collection: collection(), kind, script };
        let body = Bytes::from(arguments.to_owned());
        self.call(Operation::ExecuteProcedure { path, body }, options).await
    }

    /// Makes a procedure of these statements and runs it once.
    async fn run(&self, statements: &str) -> Result<Value, Error> {
        self.procedure(statements).await;
        self.call_procedure("[]", keyed(KEY)).await.map(|response| match response.body {
            Body::Empty => Value::Undefined,
            _ => resource(&response),
        })
    }

    async fn query(&self, query: &str) -> Vec<Value> {
        let body = QuerySource::new(query);
        let feed = QueryFeed::Documents(collection());
        let page =
            self.call(Operation::Query { feed, query: body }, keyed(KEY)).await.expect("rows");
        items(&page)
    }
}

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("JSON")
}

#[tokio::test]
async fn a_procedure_answers_with_what_it_sets() {
    let db = database().await;
    db.procedure("answer({ args, none: undefined });").await;
    for (arguments, seen) in [
        (r#"["a",{"b":[1.5,null]}]"#, r#"["a",{"b":[1.5,null]}]"#),
        ("", "[]"),
        (" \n", "[]"),
        // As in `Function.apply`.
        (" null ", "[]"),
        ("{}", "[]"),
        (r#"{"0":4}"#, "[]"),
        (r#"{"0":"one","1":"two","length":2}"#, r#"["one","two"]"#),
        (r#"{"1":"two","length":"2","other":3}"#, r#"[null,"two"]"#),
        (r#"{"0":1,"length":-1}"#, "[]"),
    ] {
        let answer = db.call_procedure(arguments, keyed(KEY)).await.expect(arguments);
        assert_eq!(resource(&answer), parsed(&format!(r#"{{"args":{seen}}}"#)), "{arguments}");
        assert!(!answer.meta.partitions.is_empty() && answer.meta.owner.is_some());
        assert!(answer.meta.charge > 4.0 && answer.meta.script_log.is_none());
    }
    assert!(db.run("").await.expect("nothing").is_undefined());
    let many = format!("[0{}]", ",0".repeat(500_000));
    // The engine takes no more than a number of arguments, whatever the length is written as.
    let lengths = [r#"{"length":"99999999999"}"#, r#"{"length":400000}"#, r#"{"length":500001}"#];
    for bad in ["[", "nope", "7", "true", r#""text""#, &many].into_iter().chain(lengths) {
        let refused =
            db.call_procedure(bad, keyed(KEY)).await.expect_err(&bad[..bad.len().min(20)]);
        assert_eq!(refused.code, Code::BadRequest, "{refused}");
    }
    assert_eq!(
        db.call_procedure("[]", Options::default()).await.expect_err("key").code,
        Code::BadRequest
    );
}

#[tokio::test]
async fn a_body_is_what_it_is_when_the_script_ends() {
    let db = database().await;
    let late = "const doc = { id: 'a', pk: 'x' }; answer(doc); doc.early = 1;
        create(doc, (made) => { doc.late = made.id; });";
    let body = db.run(late).await.expect("made");
    assert_eq!(body, parsed(r#"{"id":"a","pk":"x","early":1,"late":"a"}"#));
    // What is set in place of it counts, and what cannot be written is an error.
    let text = db.run("const doc = {}; answer(doc); doc.n = 1; answer('text');").await;
    assert_eq!(text.expect("made"), Value::from("text"));
    let circle = db.run("const doc = {}; answer(doc); doc.doc = doc;").await;
    assert_eq!(circle.expect_err("a circle").code, Code::BadRequest);
    let large = "const doc = {}; answer(doc); doc.text = 'x'.repeat(5000000);";
    let large = db.run(large).await.expect_err("too large");
    assert_eq!((large.code, large.meta.sub_status), (Code::BadRequest, Some(413)), "{large}");
}

#[tokio::test]
async fn an_empty_continuation_begins_afresh() {
    let db = database().await;
    for id in ["a", "b"] {
        db.create(&format!(r#"{{"id":"{id}","pk":"x"}}"#)).await.expect("created");
    }
    for call in [
        "__.readDocuments(__.getSelfLink(), { continuation: '' }, (e, rows) => answer(rows.length))",
        "__.queryDocuments(__.getSelfLink(), 'SELECT * FROM c', { continuation: '' },
            (e, rows) => answer(rows.length))",
        "__.filter(() => true, { continuation: '' }, (e, rows) => answer(rows.length))",
    ] {
        let read = db.run(&format!("if (!({call})) throw new Error('refused');")).await;
        assert_eq!(read.expect(call), Value::from(2), "{call}");
    }
}

#[tokio::test]
async fn what_it_wrote_is_there_when_it_is_answered() {
    let db = database().await;
    let made = db
        .run("create({ id: 'a', pk: 'x', n: 1 }, (d) => { create({ pk: 'x' }, (e) => answer([d.id, d._self, e.id])); });")
        .await
        .expect("made");
    let Value::Array(made) = made else { panic!("{made:?}") };
    let stored = resource(&db.read("a", KEY).await.expect("stored"));
    assert_eq!((stored.get("n").as_i64(), stored.get("_self")), (Some(1), &made[1]));
    db.read(made[2].as_str().expect("an id"), KEY).await.expect("stored, too");
    assert_eq!(stored.get("_etag").as_str().map(str::len), Some(38));
}

#[tokio::test]
async fn a_throw_leaves_no_trace() {
    let db = database().await;
    db.create(r#"{"id":"kept","pk":"x","n":1}"#).await.expect("created");
    for (end, code, number) in [
        ("throw new Error('no gold');", Code::BadRequest, None),
        ("throw new Error(404, 'no gold');", Code::BadRequest, Some(404)),
        ("getContext().abort(new Error(409, 'no gold'));", Code::BadRequest, Some(409)),
        ("create({ id: 'new', pk: 'x' });", Code::BadRequest, Some(409)),
        ("create({ id: 'other', pk: 'y' });", Code::BadRequest, Some(400)),
        ("create({ id: 'n' });", Code::BadRequest, Some(400)),
        ("for (;;);", Code::Timeout, None),
    ] {
        let statements = format!(
            "create({{ id: 'new', pk: 'x' }}, () => {{
                coll.deleteDocument(coll.getAltLink() + '/docs/kept', (e) => {{ if (e) throw e; {end} }});
            }});"
        );
        let error = db.run(&statements).await.expect_err(end);
        assert_eq!((error.code, error.meta.sub_status), (code, number), "{end}: {error}");
        assert!(!error.meta.partitions.is_empty() && error.meta.charge > 4.0, "{end}");
        assert_eq!(db.all(keyed(KEY)).await, ["kept"], "{end}");
    }
    let error = db.run("throw new Error(404, 'no gold');").await.expect_err("thrown");
    let begin = "Encountered exception while executing Javascript. Exception = Error: no gold\r\n";
    assert!(error.message.starts_with(begin), "{}", error.message);
}

#[tokio::test]
async fn every_operation_has_its_options_and_errors() {
    let db = database().await;
    let statements = r"
        const out = [];
        const docs = coll.getAltLink() + '/docs/';
        const note = (e, d, o) => out.push([e ? e.number : 0, d ? (d.n ?? null) : null, (o ?? d).statusCode]);
        create({ id: 'a', pk: 'x', n: 1 }, (a) => {
            must(coll.readDocument(a._self, note));
            must(coll.readDocument(docs + 'a', { ifNoneMatch: a._etag }, note));
            must(coll.readDocument(docs + 'absent', note));
            must(coll.replaceDocument(a._self, { id: 'a', pk: 'x', n: 2 }, { etag: a._etag }, note));
            must(coll.replaceDocument(a._self, { id: 'a', pk: 'x', n: 3 }, { etag: a._etag }, note));
            must(coll.replaceDocument(a._self, { id: 'b', pk: 'y', n: 3 }, note));
            must(coll.upsertDocument(link, { id: 'a', pk: 'x', n: 4 }, note));
            must(coll.upsertDocument(link, { id: 'c', pk: 'x', n: 5 }, { indexAction: 'exclude' }, note));
            must(coll.deleteDocument(docs + 'a', { etag: a._etag }, note));
            must(coll.deleteDocument(docs + 'a', note));
            must(coll.deleteDocument(docs + 'a', (e) => { out.push([e.number]); answer(out); }));
        });";
    let out = db.run(statements).await.expect("done");
    let expected = "[[0,1,200],[0,null,304],[404,null,null],[0,2,200],[412,null,null],[400,null,null],\
                    [0,4,200],[0,5,201],[412,null,null],[0,null,204],[404]]";
    let expected: Vec<Value> = match parsed(expected) {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    let Value::Array(out) = out else { panic!("{out:?}") };
    for (at, (seen, expected)) in out.iter().zip(&expected).enumerate() {
        // Errors have no options of a kind that this test knows.
        let (Value::Array(seen), Value::Array(expected)) = (seen, expected) else { panic!("{at}") };
        let length = if expected[0].as_i64() == Some(0) { 3 } else { 1 };
        assert_eq!(seen[..length], expected[..length], "{at}");
    }
    assert_eq!(out.len(), expected.len());
    assert_eq!(db.all(keyed(KEY)).await, ["c"]);
    assert_eq!(db.query("SELECT VALUE c.n FROM c WHERE c.n = 5").await.len(), 1);
}

#[tokio::test]
async fn queries_see_what_the_procedure_has_done() {
    let db = database().await;
    for n in 0..5 {
        db.create(&format!(r#"{{"id":"old{n}","pk":"x","n":{n},"tags":["t{n}"]}}"#))
            .await
            .expect("made");
    }
    db.create(r#"{"id":"foreign","pk":"y","n":2}"#).await.expect("made");
    let statements = r#"
        const out = {};
        const docs = coll.getAltLink() + '/docs/';
        const ask = (name, sql, then) => find(sql, (rows) => { out[name] = rows; then(); });
        ask('before', 'SELECT VALUE c.id FROM c ORDER BY c.n', () => {
          create({ id: 'new', pk: 'x', n: 2.5, tags: ['t9'], deep: { only: true } });
          must(coll.deleteDocument(docs + 'old1'));
          must(coll.replaceDocument(docs + 'old0', { id: 'old0', pk: 'x', n: 9 }));
          create({ id: 'gone', pk: 'x', n: 3 });
          must(coll.deleteDocument(docs + 'gone'));
          ask('order', 'SELECT VALUE c.id FROM c ORDER BY c.n', () =>
          ask('down', 'SELECT TOP 2 VALUE c.id FROM c ORDER BY c.n DESC', () =>
          ask('count', 'SELECT VALUE COUNT(1) FROM c', () =>
          ask('where', 'SELECT VALUE c.id FROM c WHERE c.n > 2 AND c.n < 4', () =>
          ask('path', 'SELECT VALUE c.id FROM c WHERE c.deep.only = true', () =>
          ask('join', "SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t = 't9'", () =>
          ask('old', "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 't1')", () =>
          ask('sum', 'SELECT VALUE SUM(c.n) FROM c', () => {
            must(coll.deleteDocument(docs + 'new'));
            create({ id: 'old1', pk: 'x', n: 1 });
            ask('again', 'SELECT VALUE c.id FROM c ORDER BY c.n', () => {
              must(coll.readDocuments(link, { pageSize: 2 }, (e, rows, o) => {
                out.feed = rows.length; out.more = typeof o.continuation; answer(out);
              }));
            });
          }))))))));
        });"#;
    let out = db.run(statements).await.expect("done");
    for (name, expected) in [
        ("before", r#"["old0","old1","old2","old3","old4"]"#),
        ("order", r#"["old2","new","old3","old4","old0"]"#),
        ("down", r#"["old0","old4"]"#),
        ("count", "[5]"),
        ("where", r#"["new","old3"]"#),
        ("path", r#"["new"]"#),
        ("join", r#"["new"]"#),
        ("old", "[]"),
        ("sum", "[20.5]"),
        ("again", r#"["old1","old2","old3","old4","old0"]"#),
        ("feed", "2"),
        ("more", r#""string""#),
    ] {
        let mut seen = out.get(name).clone();
        if name == "where"
            && let Value::Array(rows) = &mut seen
        {
            rows.sort_by_key(|row| row.as_str().map(str::to_owned));
        }
        assert_eq!(seen, parsed(expected), "{name}");
    }
    let after = db.query("SELECT VALUE c.id FROM c ORDER BY c.n").await;
    assert_eq!(Value::Array(after), *out.get("again"));
}

#[tokio::test]
async fn attachments_are_part_of_the_transaction() {
    let db = database().await;
    let statements = r"
        const out = [];
        const note = (e, a, o) => out.push(e ? e.number : a && a.id ? [a.id, a.n ?? null] : (o ?? a).statusCode);
        create({ id: 'd', pk: 'x' }, (d) => {
            const first = { id: 'a', contentType: 'text/plain', media: 'http://elsewhere/a', n: 1 };
            must(coll.createAttachment(d._self, first, (e, a) => {
                if (e) throw e;
                note(e, a);
                must(coll.createAttachment(d._self, first, note));
                must(coll.upsertAttachment(d._self, { ...first, n: 2 }, note));
                must(coll.createAttachment(d._self, { ...first, id: 'b', n: 5 }, note));
                must(coll.readAttachment(a._self, note));
                must(coll.readAttachment(coll.getAltLink() + '/docs/d/attachments/none', note));
                must(coll.replaceAttachment(a._self, { ...first, n: 3 }, note));
                must(coll.readAttachments(d._self, { pageSize: 1 }, (e, rows, o) => out.push([rows.length, typeof o.continuation])));
                must(coll.queryAttachments(d._self, 'SELECT VALUE c.n FROM c WHERE c.n > 3', (e, rows) => out.push(rows)));
                must(coll.deleteAttachment(a._self, (e, o) => { note(e, undefined, o); answer(out); if (args[0]) throw new Error('no'); }));
            }));
        });";
    db.procedure(statements).await;
    db.call_procedure("[true]", keyed(KEY)).await.expect_err("thrown");
    assert!(db.all(keyed(KEY)).await.is_empty());
    let answer = db.call_procedure("[]", keyed(KEY)).await.expect("done");
    let expected = r#"[["a",1],409,["a",2],["b",5],["a",2],404,["a",3],[1,"string"],[5],204]"#;
    assert_eq!(resource(&answer), parsed(expected));
    let list = Operation::ListAttachments(document("d"));
    let left = items(&db.call(list, keyed(KEY)).await.expect("listed"));
    assert_eq!(left.iter().map(|it| text(it.get("id"))).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn pages_of_a_query_go_on_in_the_next_execution() {
    let db = database().await;
    for n in 0..7 {
        db.create(&format!(r#"{{"id":"d{n}","pk":"x","n":{n}}}"#)).await.expect("made");
    }
    db.procedure(
        "must(coll.queryDocuments(link, 'SELECT VALUE c.n FROM c ORDER BY c.n', { pageSize: 3, continuation: args[0] },
            (e, rows, options) => { if (e) throw e; answer([rows, options.continuation ?? null]); }));",
    )
    .await;
    let mut seen = Vec::new();
    let mut arguments = "[]".to_owned();
    loop {
        let answer = resource(&db.call_procedure(&arguments, keyed(KEY)).await.expect("a page"));
        let Value::Array(answer) = answer else { panic!("{answer:?}") };
        let Value::Array(rows) = &answer[0] else { panic!("{answer:?}") };
        seen.extend(rows.iter().filter_map(Value::as_i64));
        if answer[1] == Value::Null {
            break;
        }
        arguments = json::print(&Value::Array(vec![answer[1].clone()]));
    }
    assert_eq!(seen, (0..7).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_link_by_rid_means_that_document() {
    let db = database().await;
    let first = resource(&db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created"));
    let rid = text(first.get("_rid"));
    db.create(&format!(r#"{{"id":"{rid}","pk":"x","n":2}}"#)).await.expect("created");
    let statements = format!(
        "must(coll.readDocument(link + 'docs/{rid}', (e, d) => {{ if (e) throw e;
            must(coll.readDocument(coll.getAltLink() + '/docs/{rid}', (e, b) => answer([d.n, b.n]))); }}));"
    );
    assert_eq!(db.run(&statements).await.expect("done"), parsed("[1,2]"));
}

#[tokio::test]
async fn it_runs_in_collections_without_a_key() {
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("created");
    db.procedure("create({ id: 'a', n: 1 }, () => find('SELECT VALUE c.n FROM c', answer));").await;
    let answer = db.call_procedure("[]", Options::default()).await.expect("done");
    assert_eq!(resource(&answer), parsed("[1]"));
    db.procedure(SIZE_MAX).await;
    let answer = db.call_procedure("[]", Options::default()).await.expect("10 GB");
    assert_eq!(resource(&answer), parsed("10240"));
    assert_eq!(database().await.run(SIZE_MAX).await.expect("50 GB"), parsed("51200"));
}

#[tokio::test]
async fn a_procedure_that_spends_too_much_is_told_to_wrap_up() {
    let rate_limit = RateLimit::Always;
    let options = engine::Options { rate_limit, scripts: workers(), ..engine::Options::default() };
    let store = new_store();
    let engine =
        Engine::open(store, options, Arc::new(SystemClock)).await.expect("the store opens");
    let db = Database { engine }.with_collection(400).await;
    db.procedure(
        "let n = 0; const go = () => { if (n === args[0] || !coll.createDocument(link, { pk: 'x', v: 'v'.repeat(1000) },
            (e) => { if (e) throw e; n++; go(); })) answer(n); }; go();",
    )
    .await;
    let answer = db.call_procedure("[100000]", keyed(KEY)).await.expect("done");
    let made = resource(&answer).as_i64().expect("a number");
    assert!((100..1000).contains(&made), "{made}");
    // Five seconds' worth, and the operation that was over it.
    assert!((2000.0..2030.0).contains(&answer.meta.charge), "{}", answer.meta.charge);
    let throttled = db.call_procedure("[1]", keyed(KEY)).await.expect_err("in debt");
    assert_eq!(throttled.code, Code::TooManyRequests);
    assert!(throttled.meta.retry_after_ms.is_some());
}

#[tokio::test]
async fn what_it_logs_comes_with_the_answer_if_asked_for() {
    let db = database().await;
    db.procedure(
        "console.log('n = %s', 1); console.log({ a: 1 }); if (args[0]) throw new Error('e');",
    )
    .await;
    let asked = Options { enable_script_logging: true, ..keyed(KEY) };
    let answer = db.call_procedure("[]", asked.clone()).await.expect("done");
    let log = answer.meta.script_log.expect("a log");
    assert!(log.contains("n = 1") && log.contains(r#"{"a":1}"#), "{log}");
    let error = db.call_procedure("[true]", asked).await.expect_err("thrown");
    assert!(error.meta.script_log.is_some_and(|log| log.contains("n = 1")));
    assert!(db.call_procedure("[]", keyed(KEY)).await.expect("done").meta.script_log.is_none());
}

#[tokio::test]
async fn large_transactions_end_before_memory_does() {
    let db = database().await;
    db.procedure(
        "let n = 0; const big = 'v'.repeat(1000000);
         const go = () => { if (!coll.createDocument(link, { pk: 'x', big }, { indexAction: 'exclude' },
            (e) => { if (e) throw e; n++; go(); })) answer(n); }; go();",
    )
    .await;
    let made = resource(&db.call_procedure("[]", keyed(KEY)).await.expect("done"));
    let made = usize::try_from(made.as_i64().expect("a number")).expect("a count");
    assert!((8..=32).contains(&made), "{made}");
    assert_eq!(db.all(keyed(KEY)).await.len(), made);
}

/// What a random transaction does to one of a few documents.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, i8),
    Delete(u8),
    Ask,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// What queries inside a transaction see is what queries see when it is committed.
    #[test]
    fn inside_is_as_outside(
        stored in proptest::collection::vec((0_u8..6, -3_i8..3), 0..6),
        steps in proptest::collection::vec(prop_oneof![
            3 => (0_u8..6, -3_i8..3).prop_map(|(id, n)| Step::Put(id, n)),
            2 => (0_u8..6).prop_map(Step::Delete),
            1 => Just(Step::Ask),
        ], 1..12),
    ) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let db = database().await;
            for (id, n) in stored {
                db.write(&format!(r#"{{"id":"d{id}","pk":"x","n":{n},"tags":[{n}]}}"#), true, Options::default()).await.expect("stored");
            }
            let queries = [
                "SELECT c.id, c.n FROM c ORDER BY c.n",
                "SELECT VALUE c.id FROM c WHERE c.n >= 0",
                "SELECT VALUE COUNT(1) FROM c",
                "SELECT VALUE COUNT(1) FROM c WHERE c.n < 1",
                "SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t = 1",
                "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
                "SELECT * FROM c",
            ];
            let step = |step: &Step| match step {
                Step::Put(id, n) => format!(
                    "must(coll.upsertDocument(link, {{ id: 'd{id}', pk: 'x', n: {n}, tags: [{n}] }}));"
                ),
                Step::Delete(id) => format!(
                    "must(coll.deleteDocument(docs + 'd{id}', (e) => {{ if (e && e.number !== 404) throw e; }}));"
                ),
                Step::Ask => "find('SELECT * FROM c WHERE c.n > 0', () => {});".to_owned(),
            };
            let ask = |query: &&str| format!("find('{query}', (rows) => out.push(rows));");
            let mut code = vec!["const out = []; const docs = coll.getAltLink() + '/docs/';".to_owned()];
            code.extend(steps.iter().map(step));
            code.extend(queries.iter().map(ask));
            code.push("find('SELECT VALUE 1', () => answer(out));".to_owned());
            let code = code.join("\n");
            let Value::Array(inside) = db.run(&code).await.expect("done") else { panic!("rows") };
            for (query, inside) in queries.iter().zip(inside) {
                let outside = db.query(query).await;
                assert_eq!(inside, Value::Array(outside), "{query} after {steps:?}");
            }
        });
    }
}
