//! One budget for the memory of all queries: what is too much for one is refused, what is too much
//! for many at a time is told to come back, and what is done gives all of it back.

use std::sync::Arc;

use protocol::{Code, Error, Options};

use crate::{
    random::{queries::Query, world::page},
    support::Database,
};

const DOCUMENTS: usize = 40;

/// Forty documents of four kilobytes, each with a list of a hundred numbers.
async fn database() -> Database {
    let options = engine::Options { query_memory: 4 << 20, ..engine::Options::default() };
    let db = Database::with_options(options).await.with_collection(400).await;
    let numbers: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let (numbers, long) = (numbers.join(","), "a".repeat(4_000));
    for id in 0..DOCUMENTS {
        let body =
            format!(r#"{{"id":"d{id}","pk":{},"n":{id},"l":[{numbers}],"s":"{long}"}}"#, id % 4);
        db.create(&body).await.expect("created");
    }
    db
}

/// So many rows of each document, each of four kilobytes, by way of what keeps them all in memory.
fn nested(rows: usize) -> String {
    format!(
        "SELECT VALUE r.n FROM (SELECT DISTINCT c.s, c.n, x FROM c JOIN x IN c.l WHERE x < {rows}) r"
    )
}

fn grouped(rows: usize) -> String {
    format!(
        "SELECT COUNT(1) AS k FROM c JOIN x IN c.l WHERE x < {rows} GROUP BY CONCAT(c.s, c.id), x"
    )
}

fn collected(rows: usize) -> String {
    format!(
        "SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT VALUE CONCAT(c.s, ToString(x)) FROM x IN c.l \
         WHERE x < {rows})) FROM c"
    )
}

/// How many rows the first page has.
async fn count(db: &Database, text: &str) -> Result<usize, Error> {
    let options = Options { max_item_count: Some(1000), ..Options::default() };
    page(db, &Query::plain(text), options).await.map(|(items, _)| items.len())
}

#[tokio::test]
async fn what_is_too_much_for_one_query_is_refused() {
    let db = database().await;
    for few in [nested(4), grouped(4)] {
        assert_eq!(count(&db, &few).await.expect("rows"), 4 * DOCUMENTS, "{few}");
    }
    assert_eq!(count(&db, &collected(4)).await.expect("rows"), DOCUMENTS);
    for much in [nested(100), grouped(100)] {
        let refused = count(&db, &much).await.expect_err("too much");
        assert_eq!(refused.code, Code::BadRequest, "{much}");
        assert!(refused.message.contains("maximum memory"), "{refused}");
    }
    // It is all given back: the same again, many times.
    for _ in 0..20 {
        count(&db, &nested(4)).await.expect("rows");
    }
}

#[tokio::test]
async fn what_is_too_much_for_many_is_told_to_come_back() {
    let db = Arc::new(database().await);
    let text = nested(8);
    count(&db, &text).await.expect("alone it has room");
    let queries: Vec<_> = (0..10)
        .map(|_| {
            let (db, text) = (Arc::clone(&db), text.clone());
            tokio::spawn(async move { count(&db, &text).await })
        })
        .collect();
    let mut refused = 0;
    for query in queries {
        match query.await.expect("no panic") {
            Ok(rows) => assert_eq!(rows, 8 * DOCUMENTS),
            Err(error) => {
                assert_eq!(error.code, Code::TooManyRequests, "{error}");
                assert_eq!(error.meta.retry_after_ms, Some(1000));
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "ten of them have no room together");
    assert_eq!(count(&db, &text).await.expect("room again"), 8 * DOCUMENTS);
}
