//! Databases full of random documents, and what queries over them should give.

use std::{sync::Arc, time::Duration};

use engine::{Engine, RateLimit};
use protocol::{
    Code, Error, Operation, Options,
    query::{QueryFeed, QueryOptions},
    request::IndexingDirective,
    rid::ChildRid,
};
use sql::program::{Program, Settings};
use value::{Object, Value, json};

use crate::stores::{new_store, starting};
use crate::{
    random::{
        KEYS, Rng, document,
        policies::{Ordering, Policy},
        queries::Query,
    },
    support::{Database, TestClock, collection, items, text},
};

const NOW_SECONDS: u64 = 1_700_000_000;

/// Far more pages than any answer here has: a query that goes on for ever is stopped.
const PAGES_MAX: usize = 20_000;

/// A database without throttling.
pub(crate) async fn open(store: Arc<dyn store::Store>, page_time: Duration) -> Database {
    let options =
        engine::Options { page_time, rate_limit: RateLimit::Never, ..engine::Options::default() };
    open_with(store, options).await
}

pub(crate) async fn open_with(store: Arc<dyn store::Store>, options: engine::Options) -> Database {
    let clock = Arc::new(TestClock(NOW_SECONDS.into()));
    let options = engine::Options { rate_limit: RateLimit::Never, ..options };
    let engine = starting(Engine::open(store, options, clock)).await.expect("the store opens");
    Database { engine }
}

/// The definition of the collection under test.
pub(crate) fn definition(policy: &Policy) -> String {
    let key = policy.key.json();
    match policy.json.as_str() {
        "null" => format!(r#"{{"id":"c","partitionKey":{key}}}"#),
        policy => format!(r#"{{"id":"c","partitionKey":{key},"indexingPolicy":{policy}}}"#),
    }
}

/// What is written into a database: the same, whatever its partitions.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) writes: Vec<Write>,
}

#[derive(Clone, Debug)]
pub(crate) enum Write {
    Upsert { body: String, directive: IndexingDirective },
    Delete { id: String, key: String },
}

impl Script {
    /// So many documents, some of which are replaced or deleted again.
    pub(crate) fn random(rng: &mut Rng, policy: &Policy, documents: usize) -> Self {
        Self::of_keys(rng, policy, documents, &KEYS)
    }

    /// The same, with these partition keys.
    pub(crate) fn of_keys(
        rng: &mut Rng,
        policy: &Policy,
        documents: usize,
        choices: &[&'static str],
    ) -> Self {
        let has_directives = rng.chance(30);
        // The partition key of each document as a body has it, and its last body.
        let mut keys: Vec<&str> = Vec::new();
        let mut bodies: Vec<String> = Vec::new();
        let mut writes = Vec::new();
        for number in 0..documents * 5 / 4 {
            let is_new = keys.len() < documents && !(number > 3 && rng.chance(15));
            let number = if is_new { keys.len() } else { rng.below(keys.len()) };
            if is_new {
                keys.push(rng.pick(choices));
            } else if rng.chance(30) {
                let key = policy.key.header(&bodies[number]);
                writes.push(Write::Delete { id: format!("d{number}"), key });
                continue;
            }
            let body = document(rng, &format!("d{number}"), keys[number]);
            match bodies.get_mut(number) {
                Some(last) => last.clone_from(&body),
                None => bodies.push(body.clone()),
            }
            let directive = match rng.below(6) {
                0 if has_directives => IndexingDirective::Include,
                1 if has_directives => IndexingDirective::Exclude,
                _ => IndexingDirective::Default,
            };
            writes.push(Write::Upsert { body, directive });
        }
        Self { writes }
    }

    pub(crate) async fn run(&self, db: &Database) {
        for write in &self.writes {
            write.run(db).await;
        }
    }
}

impl Write {
    /// What it deletes may be gone already.
    pub(crate) async fn run(&self, db: &Database) {
        match self {
            Self::Upsert { body, directive } => {
                let options = Options { indexing_directive: *directive, ..Options::default() };
                db.write(body, true, options).await.expect("written");
            }
            Self::Delete { id, key } => {
                let deleted = db.delete(id, key).await;
                let is_gone = |error: &Error| error.code == Code::NotFound;
                assert!(deleted.is_ok() || deleted.as_ref().is_err_and(is_gone), "{deleted:?}");
            }
        }
    }
}

/// A collection twice: as it is, and in a hurry, where a page ends behind every document.
pub(crate) struct World {
    pub(crate) store: Arc<dyn store::Store>,
    pub(crate) db: Database,
    pub(crate) hurried: Database,
    /// In the order of the feed.
    pub(crate) documents: Vec<Value>,
}

impl World {
    pub(crate) async fn new(policy: &Policy, script: &Script, throughput: i64) -> Self {
        let store = new_store();
        let db = open(Arc::clone(&store) as _, Duration::from_mins(1)).await;
        db.create_database("db").await;
        db.create_collection(&definition(policy), Some(throughput)).await.expect("created");
        script.run(&db).await;
        let hurried = open(Arc::clone(&store) as _, Duration::ZERO).await;
        let documents = documents(&db, &Options::default()).await;
        Self { store, db, hurried, documents }
    }
}

/// The documents of a scope, in the order of the feed.
pub(crate) async fn documents(db: &Database, scope: &Options) -> Vec<Value> {
    let mut documents = Vec::new();
    let mut options = scope.clone();
    loop {
        let page = db.call(Operation::ListDocuments(collection()), options.clone()).await;
        let page = page.expect("a page of the feed");
        documents.extend(items(&page));
        match page.continuation {
            Some(token) => options.continuation = Some(token),
            None => return documents,
        }
    }
}

/// The rows that a query should give over these documents, as text; why not, if it should be
/// refused.
pub(crate) fn expected(
    query: &Query,
    policy: &Policy,
    documents: &[Value],
) -> Result<Vec<String>, String> {
    let parsed = sql::parse(&query.text).map_err(|error| error.to_string())?;
    // All rows become one: no index is asked for their order.
    let collapses = parsed.group_by.is_empty() && sql::filter::may_aggregate(&parsed);
    if !collapses && policy.ordering(&query.order) == Ordering::Refused {
        return Err("no index has the order".to_owned());
    }
    let now_millis = i64::try_from(NOW_SECONDS * 1000).expect("a time");
    let mut documents = documents.to_vec();
    if !follows_feed(query) {
        documents.sort_by_key(number);
    }
    let rows = sql::eval::run(&parsed, &query.parameters, &documents, now_millis);
    Ok(rows.map_err(|error| error.to_string())?.iter().map(json::print).collect())
}

/// Whether rows come in the order of the feed. What is sorted, grouped or added up goes by numbers.
pub(crate) fn follows_feed(query: &Query) -> bool {
    let Ok(parsed) = sql::parse(&query.text) else { return false };
    let settings = Settings { parameters: &query.parameters, ..Settings::default() };
    Program::compile(&parsed, &settings).is_ok_and(|program| {
        let shape = program.shape();
        let is_by_number = shape.groups || shape.is_aggregate || shape.inner.is_some();
        shape.order.is_empty() && !is_by_number
    })
}

/// The number of a document.
pub(crate) fn number(document: &Value) -> u64 {
    ChildRid::parse(&text(document.get("_rid"))).expect("a rid").number
}

/// How many documents its partition had seen when a document was created.
pub(crate) fn sequence(document: &Value) -> u64 {
    number(document) & ((1 << 36) - 1)
}

/// One page of a query.
pub(crate) async fn page(
    db: &Database,
    query: &Query,
    options: Options,
) -> Result<(Vec<String>, Option<String>), Error> {
    let parameter = |(name, value): &(String, Value)| {
        let mut parameter = Object::new();
        parameter.insert("name", name.as_str());
        parameter.insert("value", value.clone());
        Value::Object(parameter)
    };
    let mut body = Object::new();
    body.insert("query", query.text.as_str());
    body.insert("parameters", Value::Array(query.parameters.iter().map(parameter).collect()));
    let body = gateway::read::query(json::print(&body.into()).as_bytes(), false)?;
    let enabled = QueryOptions { enable_cross_partition: true, ..options.query.clone() };
    let options = Options { query: enabled, ..options };
    let feed = QueryFeed::Documents(collection());
    let page = db.call(Operation::Query { feed, query: body }, options).await?;
    if let Some(token) = &page.continuation {
        assert!(token.len() < 1024, "a token of {} bytes", token.len());
    }
    Ok((items(&page).iter().map(json::print).collect(), page.continuation))
}

/// All pages of a query, with at most so many rows each.
pub(crate) async fn answer(
    db: &Database,
    query: &Query,
    size: u32,
    scope: &Options,
) -> Result<Vec<String>, Error> {
    let mut options = Options { max_item_count: Some(size), ..scope.clone() };
    let mut rows = Vec::new();
    for _ in 0..PAGES_MAX {
        let (items, continuation) = page(db, query, options.clone()).await?;
        assert!(items.len() <= size as usize, "{} rows in a page of {size}", items.len());
        rows.extend(items);
        match continuation {
            Some(token) => options.continuation = Some(token),
            None => return Ok(rows),
        }
    }
    panic!("a query without end: {}", query.text);
}

/// What is wrong with an answer, if something is.
pub(crate) fn difference(
    expected: &Result<Vec<String>, String>,
    actual: &Result<Vec<String>, Error>,
) -> Option<String> {
    match (expected, actual) {
        (Ok(expected), Ok(actual)) if expected == actual => None,
        (Err(_), Err(error)) if error.code == Code::BadRequest => None,
        (Ok(expected), Ok(actual)) => {
            let at = expected.iter().zip(actual).take_while(|(a, b)| a == b).count();
            let row = |rows: &[String]| -> String {
                rows.get(at).map_or("none", String::as_str).chars().take(200).collect()
            };
            Some(format!(
                "{} rows, not {}; row {at} is {}, not {}",
                actual.len(),
                expected.len(),
                row(actual),
                row(expected)
            ))
        }
        (Ok(expected), Err(error)) => {
            Some(format!("{:?} {}, not {} rows", error.code, error.message, expected.len()))
        }
        (Err(why), Ok(actual)) => Some(format!("{} rows, though {why}", actual.len())),
        (Err(why), Err(error)) => Some(format!("{:?} {}, though {why}", error.code, error.message)),
    }
}
