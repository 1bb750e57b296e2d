//! ORDER BY: documents without a value, arrays and objects, and places that a client resumes from.

use bytes::Bytes;
use protocol::{
    Error, Operation, Options, Response,
    query::{QueryFeed, QueryOptions},
    rid::ChildRid,
};
use value::{Object, Value, distinct, json};

use crate::{
    random::{Rng, world},
    support::{Database, collection, items, keyed, text},
};

const DEFINITION: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "indexingPolicy":{"includedPaths":[{"path":"/*"}],
        "compositeIndexes":[[{"path":"/k"},{"path":"/v","order":"descending"}]]}}"#;

async fn database(throughput: i64) -> Database {
    let options =
        engine::Options { rate_limit: engine::RateLimit::Never, ..engine::Options::default() };
    let db = Database::with_options(options).await;
    db.create_database("db").await;
    db.create_collection(DEFINITION, Some(throughput)).await.expect("a new collection");
    db
}

/// One page of a query, with an account of what was read.
async fn page(
    db: &Database,
    query: &str,
    resume: Option<&str>,
    options: Options,
) -> Result<Response, Error> {
    let mut body = Object::new();
    body.insert("query", query);
    if let Some(resume) = resume {
        body.insert("resumeFilter", json::parse(resume.as_bytes()).expect("JSON"));
    }
    let content = Bytes::from(json::print(&body.into()));
    let feed = QueryFeed::Documents(collection());
    let asked = QueryOptions { enable_cross_partition: true, explain: true, ..options.query };
    let options = Options { query: asked, ..options };
    let body = gateway::read::query(&content, false)?;
    db.call(Operation::Query { feed, query: body }, options).await
}

/// The ids of all rows, page after page.
async fn ids(db: &Database, query: &str, resume: Option<&str>, size: u32) -> Vec<String> {
    let mut options = Options { max_item_count: Some(size), ..Options::default() };
    let mut ids = Vec::new();
    loop {
        let page = page(db, query, resume, options.clone()).await.expect("a page");
        ids.extend(items(&page).iter().map(|row| text(row.get("id"))));
        match page.continuation {
            Some(token) => options.continuation = Some(token),
            None => return ids,
        }
    }
}

/// All documents, by number.
async fn documents(db: &Database) -> Vec<Value> {
    let mut documents = world::documents(db, &Options::default()).await;
    documents.sort_by_key(number);
    documents
}

fn number(document: &Value) -> u64 {
    ChildRid::parse(&text(document.get("_rid"))).expect("a rid").number
}

/// The documents in the order of `v`, then by number, the whole reversed if it descends.
async fn sorted(db: &Database, descends: bool) -> Vec<Value> {
    let mut documents = documents(db).await;
    documents.sort_by(|a, b| distinct::compare(a.get("v"), b.get("v")));
    if descends {
        documents.reverse();
    }
    documents
}

fn ids_of(documents: &[Value]) -> Vec<String> {
    documents.iter().map(|document| text(document.get("id"))).collect()
}

/// What a page has read.
fn read(page: &Response, what: &str) -> i64 {
    let meta = page.meta.query.as_ref().expect("an account");
    let explain = json::parse(meta.explain.as_ref().expect("an account").as_bytes()).expect("JSON");
    explain.get("read").get(what).as_i64().expect("a number")
}

fn body(id: usize, v: Option<&str>) -> String {
    let v = v.map_or_else(String::new, |v| format!(r#","v":{v}"#));
    format!(r#"{{"id":"{id}","pk":"p{}","k":{}{v}}}"#, id % 7, id % 3)
}

/// What a partition remembers of a path stays right through every kind of write.
#[tokio::test]
async fn documents_without_a_value_are_returned_whatever_was_written_before() {
    for seed in 0..4 {
        let rng = &mut Rng::new(seed);
        // Few lack it, half of them do, or hardly any has it.
        let percent = [2, 50, 97, 10][usize::try_from(seed).expect("small")];
        let db = database(if seed % 2 == 0 { 400 } else { 20_000 }).await;
        let mut live: Vec<usize> = Vec::new();
        for id in 0..260 {
            let v = (!rng.chance(percent)).then(|| rng.below(50).to_string());
            db.create(&body(id, v.as_deref())).await.expect("created");
            live.push(id);
        }
        for round in 0..25 {
            for _ in 0..rng.below(4) {
                let at = rng.below(live.len());
                let (id, key) = (live[at], format!("[\"p{}\"]", live[at] % 7));
                if rng.chance(20) {
                    db.delete(&id.to_string(), &key).await.expect("deleted");
                    live.remove(at);
                } else {
                    let v = (!rng.chance(percent.max(40))).then(|| rng.below(50).to_string());
                    let document = body(id, v.as_deref());
                    db.replace(&id.to_string(), &document, keyed(&key)).await.expect("replaced");
                }
            }
            let size = [3, 40, 1000][rng.below(3)];
            for descends in [false, true] {
                let way = if descends { "DESC" } else { "ASC" };
                let expected = sorted(&db, descends).await;
                let query = format!("SELECT c.id FROM c ORDER BY c.v {way}");
                let place = format!("seed {seed}, round {round}: {query}, pages of {size}");
                assert_eq!(ids(&db, &query, None, size).await, ids_of(&expected), "{place}");
                let query = format!("SELECT c.id FROM c WHERE c.k = 1 ORDER BY c.v {way}");
                let is_one = |it: &Value| it.get("k").as_i64() == Some(1);
                let filtered: Vec<Value> = expected.into_iter().filter(is_one).collect();
                assert_eq!(ids(&db, &query, None, size).await, ids_of(&filtered), "{place}, k = 1");
            }
        }
    }
}

/// Once a query has compared, what it reads does not grow with the partition.
#[tokio::test]
async fn the_first_rows_cost_the_same_however_many_documents_there_are() {
    let mut costs = Vec::new();
    for count in [400, 1600] {
        let db = database(400).await;
        for id in 0..count {
            let v = (id % count != 7).then(|| id.to_string());
            db.create(&body(id, v.as_deref())).await.expect("created");
        }
        for way in ["ASC", "DESC"] {
            let query = format!("SELECT TOP 5 c.id FROM c ORDER BY c.v {way}");
            let first = page(&db, &query, None, Options::default()).await.expect("a page");
            assert_eq!(items(&first).len(), 5);
            let again = page(&db, &query, None, Options::default()).await.expect("a page");
            assert_eq!(items(&again), items(&first));
            costs.push((read(&again, "indexEntries"), read(&again, "documents")));
        }
    }
    assert_eq!(costs[..2], costs[2..], "index entries and documents, ASC and DESC");
    assert!(costs.iter().all(|(entries, documents)| *entries < 40 && *documents < 10), "{costs:?}");
}

/// Values of every type, with ties.
const VALUES: [Option<&str>; 22] = [
    None,
    Some("null"),
    Some("false"),
    Some("true"),
    Some("1"),
    Some("1"),
    Some("2.5"),
    Some("\"a\""),
    Some("\"a\""),
    Some("\"b\""),
    Some("[]"),
    Some("[1]"),
    Some("[1]"),
    Some("[0]"),
    Some("[\"a\"]"),
    Some("{}"),
    Some("{\"a\":1}"),
    Some("{\"b\":[2],\"a\":1}"),
    Some("{\"a\":1}"),
    None,
    None,
    Some("9007199254740993"),
];

/// How the .NET client writes a value that it resumes from.
fn resume_value(value: &Value) -> String {
    let kind = match value {
        Value::Undefined => return "[]".to_owned(),
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        scalar => return json::print(scalar),
    };
    let hash = distinct::hash(value);
    let word = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let (low, high) = (word(&hash[..8]), word(&hash[8..]));
    format!(r#"{{"type":"{kind}","low":{low},"high":{high}}}"#)
}

#[tokio::test]
async fn a_query_resumes_at_any_row() {
    for throughput in [400, 30_000] {
        let db = database(throughput).await;
        for (id, v) in VALUES.iter().enumerate() {
            db.create(&body(id, *v)).await.expect("created");
        }
        for descends in [false, true] {
            let rows = sorted(&db, descends).await;
            let query =
                format!("SELECT c.id FROM c ORDER BY c.v {}", if descends { "DESC" } else { "" });
            for size in [2, 1000] {
                assert_eq!(ids(&db, &query, None, size).await, ids_of(&rows), "{query}");
                for (at, row) in rows.iter().enumerate() {
                    let value = resume_value(row.get("v"));
                    let is_same =
                        |other: &&Value| distinct::compare(other.get("v"), row.get("v")).is_eq();
                    let first = rows.iter().position(|it| is_same(&it)).expect("itself");
                    let end = first + rows[first..].iter().take_while(is_same).count();
                    let rid = text(row.get("_rid"));
                    for (resume, from) in [
                        (format!(r#"{{"value":[{value}],"rid":"{rid}","exclude":false}}"#), at),
                        (format!(r#"{{"value":[{value}],"exclude":false}}"#), first),
                        (format!(r#"{{"value":[{value}],"exclude":true}}"#), end),
                    ] {
                        let found = ids(&db, &query, Some(&resume), size).await;
                        assert_eq!(found, ids_of(&rows[from..]), "{query} {resume}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_composite_order_resumes_and_has_arrays_by_their_hash() {
    let db = database(400).await;
    for (id, v) in VALUES.iter().enumerate() {
        db.create(&body(id, *v)).await.expect("created");
    }
    let mut rows = documents(&db).await;
    rows.sort_by(|a, b| {
        let keys = distinct::compare(a.get("k"), b.get("k"));
        keys.then_with(|| distinct::compare(b.get("v"), a.get("v")))
    });
    let query = "SELECT c.id FROM c ORDER BY c.k ASC, c.v DESC";
    for size in [3, 1000] {
        assert_eq!(ids(&db, query, None, size).await, ids_of(&rows));
        for (at, row) in rows.iter().enumerate() {
            let (k, v) = (json::print(row.get("k")), resume_value(row.get("v")));
            let rid = text(row.get("_rid"));
            let resume = format!(r#"{{"value":[{k},{v}],"rid":"{rid}","exclude":false}}"#);
            assert_eq!(ids(&db, query, Some(&resume), size).await, ids_of(&rows[at..]), "{resume}");
        }
    }
}

/// The place of a resume filter is sought in the index: what lies before it is not read.
#[tokio::test]
async fn resuming_is_a_seek() {
    let db = database(400).await;
    for id in 0..1500 {
        db.create(&body(id, Some(&id.to_string()))).await.expect("created");
    }
    let options = Options { max_item_count: Some(5), ..Options::default() };
    for (way, value) in [("ASC", 1400), ("DESC", 90)] {
        let query = format!("SELECT c.id, c.v FROM c ORDER BY c.v {way}");
        let resume = format!(r#"{{"value":[{value}],"exclude":true}}"#);
        // Once to learn that every document has the property.
        page(&db, &query, Some(&resume), options.clone()).await.expect("a page");
        let page = page(&db, &query, Some(&resume), options.clone()).await.expect("a page");
        let first = if way == "ASC" { value + 1 } else { value - 1 };
        assert_eq!(items(&page)[0].get("v").as_i64(), Some(first));
        assert!(read(&page, "indexEntries") < 50, "{way}: {}", read(&page, "indexEntries"));
        assert!(read(&page, "documents") < 10, "{way}: {}", read(&page, "documents"));
    }
}

/// Of a token and a resume filter, the later place counts.
#[tokio::test]
async fn a_token_goes_on_within_what_is_resumed() {
    let db = database(400).await;
    for id in 0..20 {
        db.create(&body(id, Some(&id.to_string()))).await.expect("created");
    }
    let query = "SELECT c.id FROM c ORDER BY c.v";
    let mut options = Options { max_item_count: Some(4), ..Options::default() };
    let first = page(&db, query, None, options.clone()).await.expect("a page");
    options.continuation = first.continuation;
    for (value, expected) in [(2, "4"), (9, "9")] {
        let resume = format!(r#"{{"value":[{value}],"exclude":false}}"#);
        let page = page(&db, query, Some(&resume), options.clone()).await.expect("a page");
        assert_eq!(ids_of(&items(&page))[0], expected, "from {value}");
    }
}

#[tokio::test]
async fn a_resume_filter_needs_an_order_and_a_value_for_each_of_its_items() {
    let db = database(400).await;
    db.create(&body(1, Some("1"))).await.expect("created");
    for (query, resume) in [
        ("SELECT * FROM c", r#"{"value":[1]}"#),
        ("SELECT VALUE COUNT(1) FROM c", r#"{"value":[1]}"#),
        ("SELECT c.k FROM c GROUP BY c.k", r#"{"value":[1]}"#),
        ("SELECT * FROM c ORDER BY c.v", r#"{"value":[]}"#),
        ("SELECT * FROM c ORDER BY c.v", r#"{"value":[1,2]}"#),
        ("SELECT * FROM c ORDER BY c.v", r#"{"value":[1],"rid":"x"}"#),
        ("SELECT * FROM c ORDER BY c.v", "7"),
    ] {
        let refused = page(&db, query, Some(resume), Options::default()).await;
        let refused = refused.expect_err("a bad resume filter");
        assert_eq!(refused.code, protocol::Code::BadRequest, "{query} {resume}");
    }
}
