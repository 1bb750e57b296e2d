//! How the tests ask, and the documents most of them ask about.

use std::num::NonZeroU32;

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::feed::{ContinuationToken, QueryFeedPage};
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use azure_data_cosmos::{CosmosError, FeedScope, Query};
use futures::TryStreamExt;
use serde_json::{json, Value};
use tokio::sync::OnceCell;

use crate::support::*;

pub const THINGS: usize = 60;
const COLORS: [&str; 3] = ["red", "green", "blue"];

/// Document number n; every member of it is a function of n.
pub fn thing(n: usize) -> Value {
    let mut thing = json!({
        "id": format!("d{n:02}"),
        "pk": format!("k{}", n % 9),
        "n": n,
        "color": COLORS[n % 3],
        "price": n as f64 * 1.5,
        "even": n.is_multiple_of(2),
        "nested": {"deep": n % 5},
    });
    if n.is_multiple_of(4) {
        thing["quarter"] = json!(n / 4);
    } else {
        let tags = (0..n % 4).map(|tag| json!({"name": format!("t{tag}"), "weight": n + tag}));
        thing["tags"] = tags.collect();
    }
    thing
}

pub fn things(wanted: impl Fn(usize) -> bool) -> Vec<Value> {
    (0..THINGS).filter(|n| wanted(*n)).map(thing).collect()
}

pub async fn load(container: &ContainerClient) {
    for thing in things(|_| true) {
        let (id, pk) = (text(&thing["id"]), text(&thing["pk"]));
        container.create_item(pk, &id, &thing, None).await.expect("a document");
    }
}

/// The documents in a container of one physical partition and in one of three. Tests
/// that only read share them.
pub async fn loaded() -> &'static [ContainerClient; 2] {
    static LOADED: OnceCell<[ContainerClient; 2]> = OnceCell::const_new();
    LOADED
        .get_or_init(|| async {
            let client = client().await;
            let database = database(&client).await;
            let one = container_with(&database, "/pk", Some(400)).await;
            let three = container_with(&database, "/pk", Some(30_000)).await;
            assert_eq!(one.read_feed_ranges(None).await.unwrap().len(), 1);
            assert_eq!(three.read_feed_ranges(None).await.unwrap().len(), 3);
            load(&one).await;
            load(&three).await;
            [one, three]
        })
        .await
}

pub fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

pub fn everywhere() -> FeedScope {
    FeedScope::full_container()
}

pub fn by(size: u32) -> QueryOptions {
    let hint = match NonZeroU32::new(size) {
        Some(size) => MaxItemCountHint::Limit(size),
        None => MaxItemCountHint::ServerDecides,
    };
    QueryOptions::default().with_max_item_count(hint)
}

pub async fn try_pages(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
    options: QueryOptions,
) -> Result<Vec<QueryFeedPage<Value>>, CosmosError> {
    let rows = container.query_items::<Value>(query, scope, Some(options)).await?;
    rows.into_pages().try_collect().await
}

pub async fn try_rows(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
) -> Result<Vec<Value>, CosmosError> {
    container.query_items::<Value>(query, scope, None).await?.try_collect().await
}

pub async fn rows_in(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
) -> Vec<Value> {
    let query = query.into();
    let named = format!("{query:?}");
    match try_rows(container, query, scope).await {
        Ok(rows) => rows,
        Err(error) => panic!("{named}: {error}"),
    }
}

pub async fn rows(container: &ContainerClient, query: impl Into<Query>) -> Vec<Value> {
    rows_in(container, query, everywhere()).await
}

/// The pages of a query, each read from the token of the one before, as a client would
/// that keeps no state.
pub async fn resumed(
    container: &ContainerClient,
    query: &str,
    scope: FeedScope,
    size: u32,
) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut token: Option<ContinuationToken> = None;
    loop {
        let mut options = by(size);
        if let Some(token) = token {
            // What a client keeps is the token's text.
            options = options
                .with_continuation_token(ContinuationToken::from_string(token.as_str().to_owned()));
        }
        let rows = container.query_items::<Value>(query, scope.clone(), Some(options)).await;
        let mut rest = rows.unwrap_or_else(|error| panic!("{query}: {error}")).into_pages();
        match rest.try_next().await.unwrap_or_else(|error| panic!("{query}: {error}")) {
            Some(page) => pages.push(page.into_items()),
            None => return pages,
        }
        token = Some(rest.to_continuation_token().unwrap());
        assert!(pages.len() < 1000, "{query}: no end");
    }
}

/// Numbers are equal by value: 1 is 1.0.
pub fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().expect("a double")),
        Value::Array(elements) => elements.iter().map(plain).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        other => other.clone(),
    }
}

fn list(rows: &Value) -> Vec<Value> {
    rows.as_array().expect("an array").iter().map(plain).collect()
}

fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(Value::to_string);
    rows
}

#[track_caller]
pub fn assert_rows(actual: &[Value], expected: Value) {
    assert_eq!(actual.iter().map(plain).collect::<Vec<_>>(), list(&expected));
}

#[track_caller]
pub fn assert_same_rows(actual: &[Value], expected: Value) {
    assert_eq!(sorted(actual.iter().map(plain).collect()), sorted(list(&expected)));
}

/// The members `name` of these documents.
pub fn members(documents: &[Value], name: &str) -> Value {
    documents.iter().map(|document| document[name].clone()).collect()
}
