//! User-defined functions in queries.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use protocol::{
    Code, Error, Operation, Options, Response,
    query::{QueryFeed, QueryOptions, QuerySource},
    request::ScriptKind,
};
use sql::{
    eval,
    program::{Program, Run, Settings, Udfs},
};
use value::{Value, json};

use crate::{
    queries::query,
    splitting::split,
    support::{Database, collection, items, keyed},
};

const TAX: &str = "function tax(income) {
    if (income === undefined) throw 'no input';
    if (income < 1000) return income * 0.1;
    return income < 10000 ? income * 0.2 : income * 0.4;
}";

impl Database {
    async fn function(&self, id: &str, body: &str) {
        let (id, body) = (json::print(&id.into()), json::print(&body.into()));
        let body = Bytes::from(format!(r#"{{"id":{id},"body":{body}}}"#));
        let (collection, kind) = (collection(), ScriptKind::Function);
        let create = Operation::CreateScript { collection, kind, body, upsert: true };
        self.call(create, Options::default()).await.expect("a function");
    }

    /// One page of a query over all partitions.
    async fn page(&self, text: &str, options: Options) -> Result<Response, Error> {
        let body = QuerySource::new(text);
        let query = QueryOptions { enable_cross_partition: true, ..options.query.clone() };
        let feed = QueryFeed::Documents(collection());
        self.call(Operation::Query { feed, query: body }, Options { query, ..options }).await
    }

    /// All rows.
    async fn rows(&self, text: &str) -> Result<Vec<Value>, Error> {
        query(self, text, &Value::Null, Options::default()).await
    }
}

fn values(text: &str) -> Vec<Value> {
    json::parse(text.as_bytes()).expect("JSON").as_array().expect("a list").to_vec()
}

async fn numbered(count: usize) -> Database {
    let db = Database::memory().await.with_collection(400).await;
    for n in 0..count {
        db.create(&format!(r#"{{"id":"{n:05}","pk":"k","n":{n}}}"#)).await.expect("created");
    }
    db
}

/// Functions in JavaScript that the test also has in Rust.
const SOURCES: [(&str, &str); 5] = [
    ("double", "x => typeof x === 'number' ? 2 * x : undefined"),
    ("isBig", "x => typeof x === 'number' ? x > 20 : undefined"),
    ("isKnown", "function (x) { return x !== undefined; }"),
    ("same", "x => x"),
    ("pair", "(...all) => all.map((x) => [x])"),
];

struct Here;

impl Udfs for Here {
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String> {
        let first = args.first().cloned().unwrap_or_default();
        let number = first.as_f64();
        Ok(match name {
            "double" => number.map_or(Value::Undefined, |number| Value::from(number * 2.0)),
            "isBig" => number.map_or(Value::Undefined, |number| Value::Bool(number > 20.0)),
            "isKnown" => Value::Bool(!first.is_undefined()),
            "same" => first,
            "pair" => {
                let boxed = |arg: &Value| match arg {
                    // JSON has no place for undefined in an array.
                    Value::Undefined => Value::from(vec![Value::Null]),
                    arg => Value::from(vec![arg.clone()]),
                };
                Value::from(args.iter().map(boxed).collect::<Vec<_>>())
            }
            other => return Err(format!("no {other}")),
        })
    }
}

const QUERIES: [&str; 28] = [
    "SELECT VALUE udf.double(c.n) FROM c",
    "SELECT c.id, udf.isKnown(c.a) AS known, udf.pair(c.a, c.n) AS p FROM c",
    "SELECT * FROM c WHERE udf.isBig(c.n)",
    "SELECT VALUE c.id FROM c WHERE udf.isBig(c.n) AND c.n < 30",
    "SELECT VALUE c.id FROM c WHERE c.n < 30 AND NOT udf.isBig(c.n)",
    "SELECT VALUE c.id FROM c WHERE c.n = 3 OR udf.isBig(c.n)",
    "SELECT TOP 5 VALUE udf.double(c.n) FROM c WHERE udf.isBig(c.n)",
    "SELECT VALUE udf.double(c.n) FROM c ORDER BY c.n DESC",
    "SELECT VALUE udf.double(c.n) FROM c WHERE udf.isBig(c.n) ORDER BY c.n",
    "SELECT TOP 3 VALUE udf.double(c.n) FROM c WHERE udf.isBig(c.n) ORDER BY c.n DESC",
    "SELECT VALUE udf.same(c.a) FROM c WHERE udf.isKnown(c.a) ORDER BY c.n OFFSET 2 LIMIT 5",
    "SELECT VALUE udf.double(udf.double(udf.double(c.n))) FROM c",
    "SELECT VALUE [c.id, x, udf.double(x)] FROM c JOIN x IN c.l WHERE udf.isKnown(x) AND x != 2",
    "SELECT VALUE ARRAY(SELECT VALUE udf.double(x) FROM x IN c.l WHERE udf.isKnown(x)) FROM c",
    "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.l WHERE udf.same(x) = 2)",
    "SELECT VALUE d FROM c JOIN (SELECT VALUE udf.double(c.n)) AS d WHERE d > 10 AND d < 40",
    "SELECT VALUE SUM(udf.double(c.n)) FROM c",
    "SELECT VALUE COUNT(1) FROM c WHERE udf.isBig(c.n)",
    "SELECT COUNT(1) AS n, udf.same(7) AS m FROM c",
    "SELECT udf.same(c.a) AS a, COUNT(1) AS n FROM c GROUP BY udf.same(c.a)",
    "SELECT udf.pair(c.a) AS a, MAX(udf.double(c.n)) AS n FROM c GROUP BY c.a",
    "SELECT DISTINCT VALUE udf.isBig(c.n) FROM c",
    "SELECT DISTINCT VALUE udf.same(c.a) FROM c ORDER BY c.a",
    "SELECT VALUE udf.pair(d) FROM (SELECT DISTINCT VALUE udf.same(c.a) FROM c) AS d",
    "SELECT VALUE udf.double(d.n) FROM (SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a) AS d \
     WHERE udf.isKnown(d.a)",
    "SELECT udf.same(d.a) AS a, COUNT(1) AS n FROM (SELECT DISTINCT c.a, c.pk FROM c) AS d \
     GROUP BY d.a",
    "SELECT VALUE udf.double(n) FROM (SELECT VALUE COUNT(1) FROM c WHERE udf.isBig(c.n)) AS n",
    "SELECT VALUE udf.double(21)",
];

/// Rows are what the executor in memory says, however many partitions there are, however long the
/// pages.
#[tokio::test]
async fn the_number_of_an_error_is_told() {
    let db = numbered(1).await;
    db.function("bad", "function bad() { throw new Error(32766, 'Error'); }").await;
    let error = db.rows("SELECT VALUE udf.bad(c.n) FROM c").await.expect_err("thrown");
    assert_eq!((error.code, error.meta.sub_status), (Code::BadRequest, Some(32766)), "{error}");
    db.function("bad", "function bad() { throw new Error('Error'); }").await;
    let error = db.rows("SELECT VALUE udf.bad(c.n) FROM c").await.expect_err("thrown");
    assert_eq!((error.code, error.meta.sub_status), (Code::BadRequest, None), "{error}");
}

#[tokio::test]
async fn rows_are_those_of_the_executor_in_memory() {
    for throughput in [400, 30_000] {
        let db = Database::memory().await.with_collection(throughput).await;
        let mut documents = Vec::new();
        for n in 0..40 {
            let a = ["", r#","a":"x""#, r#","a":null"#, r#","a":[1]"#][n % 4];
            let l = ["", r#","l":[]"#, r#","l":[1,2,"z"]"#][n % 3];
            let text = format!(r#"{{"id":"{n:02}","pk":"k{}","n":{n}{a}{l}}}"#, n % 5);
            let created = db.create(&text).await.expect("created");
            documents.push(crate::support::resource(&created));
        }
        for (name, source) in SOURCES {
            db.function(name, source).await;
        }
        for text in QUERIES {
            let parsed = sql::parse(text).expect("a query");
            let program = Program::compile(&parsed, &Settings::default()).expect("a program");
            let run = &mut Run::new(0, 0).with_udfs(&Here);
            let expected = eval::values(&program, &documents, run);
            let expected = expected.expect("rows");
            for size in [1, 7, 1000] {
                let options = Options { max_item_count: Some(size), ..Options::default() };
                let found = query(&db, text, &Value::Null, options).await;
                let mut found = found.unwrap_or_else(|error| panic!("{text}: {error:?}"));
                let mut expected = expected.clone();
                let has_order = text.contains("ORDER BY");
                if !has_order && text.contains("TOP") {
                    // Which ones come first depends on the partitions.
                    assert_eq!(found.len(), expected.len(), "{text}");
                    continue;
                }
                if !has_order {
                    found.sort_by(value::order::compare);
                    expected.sort_by(value::order::compare);
                }
                assert_eq!(found, expected, "{text} by {size} of {throughput}");
            }
        }
    }
}

#[tokio::test]
async fn the_tax() {
    let db = Database::memory().await.with_collection(400).await;
    db.function("tax", TAX).await;
    for (id, income) in [("1", "500"), ("2", "5000"), ("3", "50000")] {
        let document = format!(r#"{{"id":"{id}","pk":"k","income":{income}}}"#);
        db.create(&document).await.expect("created");
    }
    let text = "SELECT c.id, udf.tax(c.income) AS tax FROM c WHERE udf.tax(c.income) > 100";
    let expected = r#"[{"id":"2","tax":1000},{"id":"3","tax":20000}]"#;
    assert_eq!(db.rows(text).await.expect("rows"), values(expected));
    let options = keyed(r#"["k"]"#);
    assert_eq!(query(&db, text, &Value::Null, options).await.expect("rows"), values(expected));

    db.create(r#"{"id":"4","pk":"k"}"#).await.expect("created");
    let error = db.rows(text).await.expect_err("an exception");
    assert_eq!(error.code, Code::BadRequest);
    let message = "Encountered exception while executing Javascript. Exception = no input\r\n";
    assert!(error.message.starts_with(message), "{}", error.message);
    // Documents that the rest of the filter leaves out are not asked about.
    let guarded = text.replace("WHERE", "WHERE IS_DEFINED(c.income) AND");
    assert_eq!(db.rows(&guarded).await.expect("rows"), values(expected));
    let guarded = format!("{text} AND c.income > 0");
    assert_eq!(db.rows(&guarded).await.expect("rows"), values(expected));
}

#[tokio::test]
async fn unknown_functions_are_refused_when_they_are_called() {
    let db = numbered(1).await;
    db.function("Tax", TAX).await;
    for (text, expected) in [
        ("SELECT VALUE udf.tax(1) FROM c WHERE false", "[]"),
        ("SELECT VALUE c.n FROM c WHERE c.n = -1 AND udf.tax(c.n)", "[]"),
        ("SELECT VALUE COUNT(udf.tax(c.n)) FROM c WHERE c.n = -1", "[0]"),
        ("SELECT udf.tax(c.n) AS tax FROM c WHERE c.n = -1 GROUP BY udf.tax(c.n)", "[]"),
    ] {
        assert_eq!(db.rows(text).await.expect("nothing is called"), values(expected), "{text}");
    }
    for text in [
        "SELECT VALUE c.n FROM c WHERE udf.tax(c.n) > udf.Tax(1)",
        "SELECT VALUE COUNT(udf.tax(c.n)) FROM c",
        "SELECT c.n FROM c WHERE udf.tax(c.n) ORDER BY c.n",
        "SELECT VALUE udf.tax(1)",
    ] {
        assert_eq!(db.rows(text).await.expect_err("a call").code, Code::BadRequest, "{text}");
    }
    let error = db.page("SELECT VALUE udf.tax(1) FROM c", Options::default()).await;
    let error = error.expect_err("names are case-sensitive");
    assert_eq!(error.code, Code::BadRequest);
    let document = error.query.expect("a list").document.expect("a document");
    let expected = r#"{"severity":"Error","location":{"start":17,"end":20},"code":"SC2004","message":"'tax' is not a recognized user-defined function name."}"#;
    assert!(document.contains(expected), "{document}");
    for feed in [QueryFeed::Databases, QueryFeed::Offers] {
        let body = QuerySource::new("SELECT VALUE udf.Tax(1) FROM c");
        let error = db.call(Operation::Query { feed, query: body }, Options::default()).await;
        assert_eq!(error.expect_err("no functions there").code, Code::BadRequest);
    }
    let patch = r#"{"condition":"from c where udf.Tax(1) > 0","operations":[]}"#;
    let error = db.patch("00000", patch, keyed(r#"["k"]"#)).await.expect_err("nor there");
    assert_eq!(error.code, Code::BadRequest);
    let many = ["udf.Tax(1)"; 11].join(", ");
    let error = db.rows(&format!("SELECT VALUE [{many}]")).await.expect_err("too many");
    assert!(error.query.expect("a list").document.expect("a document").contains("SC3005"));
    let many = ["udf.Tax(1)"; 10].join(", ");
    assert!(db.rows(&format!("SELECT VALUE [{many}]")).await.is_ok());
}

#[tokio::test]
async fn a_failure_beyond_the_last_row_is_not_met() {
    let db = numbered(100).await;
    db.function("picky", "n => { if (n === 20) throw new Error('twenty'); return n > 4; }").await;
    let text = "SELECT TOP 10 VALUE c.n FROM c WHERE udf.picky(c.n)";
    let rows = db.rows(text).await.expect("it ends before");
    assert_eq!(rows.len(), 10);
    for text in [
        "SELECT VALUE c.n FROM c WHERE udf.picky(c.n)",
        "SELECT TOP 16 VALUE c.n FROM c WHERE udf.picky(c.n)",
        "SELECT VALUE COUNT(1) FROM c WHERE udf.picky(c.n)",
        "SELECT c.n FROM c WHERE udf.picky(c.n) ORDER BY c.n",
    ] {
        let error = db.rows(text).await.expect_err("twenty");
        assert!(error.message.contains("Exception = Error: twenty"), "{}", error.message);
        assert!(error.message.contains("picky.js:1"), "{}", error.message);
    }
    // Pages before the failure are whole.
    let options = Options { max_item_count: Some(10), ..Options::default() };
    let page = db.page("SELECT VALUE c.n FROM c WHERE udf.picky(c.n)", options.clone()).await;
    let page = page.expect("a page");
    assert_eq!(items(&page).len(), 10);
    let options = Options { continuation: page.continuation, ..options };
    let error = db.page("SELECT VALUE c.n FROM c WHERE udf.picky(c.n)", options).await;
    assert!(error.expect_err("twenty").message.contains("twenty"));
}

#[tokio::test]
async fn hostile_functions_end() {
    let options =
        engine::Options { query_timeout: Duration::from_millis(500), ..Default::default() };
    let hasty = Database::with_options(options).await.with_collection(400).await;
    hasty.function("endless", "n => { while (n > 10) {} return n; }").await;
    let error = hasty.rows("SELECT VALUE udf.endless(11)").await.expect_err("endless");
    assert_eq!(error.code, Code::Timeout);

    let db = numbered(50).await;
    db.function("bomb", "n => { const all = []; for (;;) all.push('x'.repeat(1000) + n); }").await;
    db.function("deep", "function deep(n) { return deep(n + 1) + 1; }").await;
    let code = async |text: &str| db.rows(text).await.map_err(|error| error.code);
    assert_eq!(code("SELECT VALUE udf.bomb(c.n) FROM c").await, Err(Code::LimitReached));
    assert_eq!(code("SELECT VALUE udf.deep(c.n) FROM c").await, Err(Code::BadRequest));
    assert_eq!(code("SELECT VALUE COUNT(1) FROM c").await, Ok(vec![Value::from(50)]));
}

#[tokio::test]
async fn calls_are_sent_together() {
    let db = numbered(1000).await;
    db.function("double", SOURCES[0].1).await;
    let query = QueryOptions { explain: true, populate_metrics: true, ..QueryOptions::default() };
    let options = Options { max_item_count: Some(1000), query, ..Options::default() };
    let read = async |text: &str| {
        let page = db.page(text, options.clone()).await.expect("a page");
        let meta = page.meta.query.clone().expect("what was asked for");
        let explain = json::parse(meta.explain.expect("an account").as_bytes()).expect("JSON");
        let count = |name: &str| explain.get("read").get(name).as_i64().unwrap_or_default();
        let figures = (count("functionCalls"), count("functionMessages"), count("documents"));
        (figures, meta.metrics.expect("metrics").functions_ms, page.meta.charge)
    };
    let ((calls, messages, _), time, charge) = read("SELECT VALUE udf.double(c.n) FROM c").await;
    assert_eq!(calls, 1000);
    assert!(messages < 50, "{messages} messages");
    assert!(time > 0.0);
    let (none, no_time, plain) = read("SELECT VALUE c.n FROM c").await;
    assert_eq!((none.0, none.1, no_time), (0, 0, 0.0));
    assert!((charge - plain - 30.0).abs() < 0.01, "{charge} and {plain}");
    // The index leaves five; the function is not asked about the others.
    let text = "SELECT VALUE c.n FROM c WHERE c.n < 5 AND udf.double(c.n) > 4";
    let ((calls, messages, documents), _, _) = read(text).await;
    assert_eq!((calls, messages, documents), (5, 1, 5));
    // Not many more rows are asked about than are wanted.
    let text = "SELECT TOP 5 VALUE udf.double(c.n) FROM c";
    assert_eq!(read(text).await.0.0, 6);
    let text = "SELECT TOP 5 VALUE udf.double(c.n) FROM c ORDER BY c.n DESC";
    assert!(read(text).await.0.0 <= 6);
    let text = "SELECT VALUE udf.double(udf.double(c.n)) FROM c WHERE c.n < 10";
    assert_eq!(read(text).await.0, (20, 2, 10));
}

#[tokio::test]
async fn each_row_has_an_answer_of_its_own() {
    let db = numbered(50).await;
    db.function("chance", "() => Math.random()").await;
    let rows = db.rows("SELECT DISTINCT VALUE udf.chance() FROM c").await.expect("rows");
    assert_eq!(rows.len(), 50);
    db.function("same", "x => x").await;
    let rows = db.rows("SELECT DISTINCT VALUE udf.same(RAND()) FROM c").await.expect("rows");
    assert_eq!(rows.len(), 50);
}

#[tokio::test]
async fn large_documents_and_large_results() {
    let db = Database::memory().await.with_collection(400).await;
    let long = "x".repeat(300_000);
    for n in 0..40 {
        let document = format!(r#"{{"id":"{n:02}","pk":"k","n":{n},"long":"{long}"}}"#);
        db.create(&document).await.expect("created");
    }
    db.function("size", "document => document.long.length + document.n").await;
    let rows = db.rows("SELECT VALUE SUM(udf.size(c)) FROM c").await;
    assert_eq!(rows.expect("a sum"), values("[12000780]"));
    db.function("whole", "document => document").await;
    let rows = db.rows("SELECT VALUE udf.whole(c).id FROM c").await.expect("rows");
    assert_eq!(rows.len(), 40);
    // Ten times its argument: many of them do not fit into a message.
    db.function("more", "text => text.repeat(10)").await;
    let rows = db.rows("SELECT VALUE LENGTH(udf.more(c.long)) FROM c").await.expect("rows");
    assert_eq!(rows, vec![Value::from(3_000_000); 40]);
    db.function("most", "text => text.repeat(150)").await;
    let error = db.rows("SELECT VALUE LENGTH(udf.most(c.long)) FROM c").await.expect_err("45 MB");
    assert!(matches!(error.code, Code::TooLarge | Code::LimitReached), "{error:?}");
}

#[tokio::test]
async fn a_function_is_what_it_is_when_the_page_begins() {
    let db = Database::memory().await.with_collection(400).await;
    for n in 0..30 {
        db.create(&format!(r#"{{"id":"{n}","pk":"{n}","n":{n}}}"#)).await.expect("created");
    }
    db.function("f", "n => n").await;
    let text = "SELECT VALUE udf.f(c.n) FROM c ORDER BY c.n";
    let options = Options { max_item_count: Some(20), ..Options::default() };
    let first = db.page(text, options.clone()).await.expect("a page");
    db.function("f", "n => -n").await;
    split(&db, "0").await.expect("split");
    let options = Options { continuation: first.continuation.clone(), ..options };
    let second = db.page(text, options).await.expect("a page");
    let mut found = String::new();
    for row in items(&first).iter().chain(&items(&second)) {
        write!(found, "{} ", json::print(row)).expect("written");
    }
    let expected: Vec<String> =
        (0..20).chain((20..30).map(|n: i32| -n)).map(|n| n.to_string()).collect();
    assert_eq!(found.trim_end(), expected.join(" "));
}
