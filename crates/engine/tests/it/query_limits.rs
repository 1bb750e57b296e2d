//! Queries that ask for too much: each ends with the right answer or with a clear error, whatever it
//! asks for, and never takes the database with it.

use std::time::Duration;

use engine::RateLimit;
use protocol::{
    Code, Error, Operation, Options,
    query::{QueryFeed, QueryOptions},
};

use crate::stores::new_store;
use crate::{
    random::{
        queries::Query,
        world::{open_with, page},
    },
    support::{Database, items},
};

const DOCUMENTS: usize = 40;

/// Few documents with long arrays, and not much patience: for what is too much.
async fn impatient() -> Database {
    database(Duration::from_millis(400)).await
}

/// The same, for what takes its time and is right in the end.
async fn patient() -> Database {
    database(Duration::from_mins(10)).await
}

async fn database(query_timeout: Duration) -> Database {
    let options = engine::Options {
        page_time: query_timeout / 2,
        query_timeout,
        rate_limit: RateLimit::Never,
        ..engine::Options::default()
    };
    let db = open_with(new_store(), options).await.with_collection(20_000).await;
    let numbers: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let (numbers, long) = (numbers.join(","), "a".repeat(4_000));
    for id in 0..DOCUMENTS {
        let body =
            format!(r#"{{"id":"d{id}","pk":{},"n":{id},"l":[{numbers}],"s":"{long}!"}}"#, id % 10);
        db.create(&body).await.expect("created");
    }
    db
}

/// The first pages of a query, or the first error.
async fn rows(db: &Database, text: String) -> Result<Vec<String>, Error> {
    let query = Query::plain(&text);
    let mut options = Options::default();
    let mut rows = Vec::new();
    for _ in 0..3 {
        let (items, continuation) = page(db, &query, options.clone()).await?;
        rows.extend(items);
        if continuation.is_none() {
            break;
        }
        options.continuation = continuation;
    }
    Ok(rows)
}

/// The query is refused or given up, in words that a client understands.
async fn assert_ends(db: &Database, text: String) -> Option<Code> {
    let start: String = text.chars().take(100).collect();
    match rows(db, text).await {
        Ok(_) => None,
        Err(error) => {
            let is_clear = matches!(error.code, Code::BadRequest | Code::Timeout | Code::TooLarge);
            assert!(is_clear, "{start}: {error:?}");
            assert!(!error.message.is_empty() || error.query.is_some(), "{start}");
            Some(error.code)
        }
    }
}

async fn assert_answers(db: &Database, text: String, expected: &[&str]) {
    let start: String = text.chars().take(100).collect();
    assert_eq!(rows(db, text).await.expect("rows"), expected, "{start}");
}

#[tokio::test]
async fn deep_and_long_texts() {
    let db = impatient().await;
    let repeat = |text: &str, count: usize| text.repeat(count);
    for depth in [10, 100, 1_000, 20_000] {
        for expression in [
            format!("{}1{}", repeat("(", depth), repeat(")", depth)),
            format!("{}1{}", repeat("[", depth), repeat("]", depth)),
            format!("{}1{}", repeat("{\"a\":", depth), repeat("}", depth)),
            format!("{}true", repeat("NOT ", depth)),
            format!("{}1", repeat("- ", depth)),
            format!("1{}", repeat(" + 1", depth)),
            format!("true{}", repeat(" AND true", depth)),
            format!("c.n{}", repeat(".a", depth)),
            format!("c.n{}", repeat("[0]", depth)),
            format!("{}1", repeat("c.n ?? ", depth)),
            format!("{}1", repeat("true ? 1 : ", depth)),
            format!("{}1{}", repeat("ABS(", depth), repeat(")", depth)),
            format!("{}1{}", repeat("(SELECT VALUE ", depth), repeat(")", depth)),
            format!("{}true{}", repeat("EXISTS(SELECT VALUE ", depth), repeat(")", depth)),
        ] {
            assert_ends(&db, format!("SELECT VALUE {expression} FROM c")).await;
            assert_ends(&db, format!("SELECT VALUE c.id FROM c WHERE {expression}")).await;
        }
    }
    let condition = (0..5_000).map(|number| format!("c.n = {number}")).collect::<Vec<_>>();
    let text = format!("SELECT VALUE COUNT(1) FROM c WHERE {}", condition.join(" OR "));
    // A store that waits may need longer than the impatient one has.
    let ended = assert_ends(&patient().await, text).await;
    assert!(matches!(ended, None | Some(Code::BadRequest)), "{ended:?}");
    let padded = |bytes: usize| format!("SELECT VALUE 1{}", " ".repeat(bytes));
    assert_answers(&db, padded(500 << 10), &["1"]).await;
    assert_eq!(assert_ends(&db, padded(513 << 10)).await, Some(Code::BadRequest));
    for text in ["", "\0", "SELECT", "SELECT \u{0}", "SELECT VALUE '", "/*", "SELECT * FROM"] {
        assert_eq!(assert_ends(&db, text.to_owned()).await, Some(Code::BadRequest), "{text:?}");
    }
}

#[tokio::test]
async fn long_lists() {
    let db = patient().await;
    let list = |range: std::ops::Range<usize>| {
        range.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    };
    let count = DOCUMENTS.to_string();
    let text = format!("SELECT VALUE COUNT(1) FROM c WHERE c.n IN ({})", list(0..50_000));
    assert_answers(&db, text, &[&count]).await;
    let text = format!("SELECT VALUE COUNT(1) FROM c WHERE c.n NOT IN ({})", list(1..50_000));
    assert_answers(&db, text, &["1"]).await;
    let text = format!("SELECT VALUE COUNT(1) FROM c WHERE c.pk IN ({})", list(0..50_000));
    assert_answers(&db, text, &[&count]).await;
    let text =
        format!("SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS([{}], c.n)", list(0..50_000));
    assert_answers(&db, text, &[&count]).await;
    let text = format!(
        "SELECT TOP 1 VALUE c.n FROM c WHERE c.n IN ({}) ORDER BY c.n DESC",
        list(0..50_000)
    );
    assert_answers(&db, text, &[&(DOCUMENTS - 1).to_string()]).await;
}

#[tokio::test]
async fn products_of_arrays() {
    let db = impatient().await;
    let joins = |count: usize| -> String {
        (0..count)
            .flat_map(|join| [" JOIN x", ["0", "1", "2", "3", "4"][join], " IN c.l"])
            .collect()
    };
    let text = format!("SELECT TOP 3 VALUE x4 FROM c{}", joins(5));
    assert_answers(&patient().await, text, &["0", "1", "2"]).await;
    for text in [
        format!("SELECT VALUE COUNT(1) FROM c{}", joins(5)),
        format!("SELECT VALUE c.id FROM c{} WHERE x0 + x1 + x2 + x3 < 0", joins(4)),
        format!(
            "SELECT c.id, x0, x1, x2, COUNT(1) AS k FROM c{} GROUP BY c.id, x0, x1, x2",
            joins(4)
        ),
        format!("SELECT VALUE MAKELIST([x0, x1, c.s]) FROM c{}", joins(2)),
        format!("SELECT VALUE MAKESET([x0, x1, x2, c.id]) FROM c{}", joins(4)),
        format!("SELECT VALUE c.id FROM c{} WHERE x2 + x3 < 0 ORDER BY c.n", joins(4)),
        format!("SELECT VALUE COUNT(1) FROM c{} ORDER BY c.n", joins(4)),
        format!(
            "SELECT VALUE d FROM (SELECT DISTINCT VALUE [x0, x1, x2, c.id] FROM c{}) AS d",
            joins(3)
        ),
        "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.l FROM c) AS d \
         JOIN a IN d JOIN b IN d JOIN e IN d JOIN f IN d JOIN g IN d"
            .to_owned(),
        "SELECT VALUE ARRAY(SELECT VALUE [x0, c.s] FROM x0 IN c.l JOIN x1 IN c.l JOIN x2 IN c.l) \
         FROM c"
            .to_owned(),
        format!("SELECT VALUE EXISTS(SELECT VALUE 1 FROM c{} WHERE x0 < 0) FROM c", joins(5)),
        format!("SELECT VALUE (SELECT VALUE COUNT(1) FROM c{}) FROM c", joins(5)),
    ] {
        assert!(assert_ends(&db, text.clone()).await.is_some(), "{text}");
    }
    // The first pages of these are soon found.
    let text = format!("SELECT DISTINCT VALUE [x0, x1, x2] FROM c{}", joins(4));
    assert_ends(&db, text).await;
}

#[tokio::test]
async fn much_in_memory() {
    let db = impatient().await;
    let sum = (0..DOCUMENTS).map(|number| number.to_string()).collect::<Vec<_>>().len();
    let rows = rows(&db, "SELECT VALUE ARRAY_LENGTH(MAKELIST(c)) FROM c".to_owned()).await;
    // An aggregate may stand inside a call; if it may not, it is refused.
    assert!(rows.is_err() || rows.is_ok_and(|rows| rows == [sum.to_string()]));
    for text in [
        "SELECT VALUE MAKELIST(c) FROM c",
        "SELECT DISTINCT VALUE c FROM c",
        "SELECT VALUE CONCAT(c.s, c.s, c.s, c.s, c.s, c.s, c.s, c.s) FROM c",
        "SELECT VALUE REPLACE(c.s, 'a', c.s) FROM c",
        "SELECT VALUE REPLICATE(c.s, 10000) FROM c",
        "SELECT VALUE REPLICATE(REPLICATE('a', 10000), 10000) FROM c",
        "SELECT VALUE StringToArray(REPLICATE('[', 9999)) FROM c",
        "SELECT VALUE StringSplit(c.s, '') FROM c",
        "SELECT VALUE ARRAY_CONCAT(c.l, c.l, c.l, c.l) FROM c",
    ] {
        assert_ends(&db, text.to_owned()).await;
    }
}

#[tokio::test]
async fn patterns_that_backtrack() {
    let db = impatient().await;
    for pattern in ["(a+)+$", "(a|aa)+$", "(a*)*b", "^(a?){50}a{50}$", "(?=(a+))a*b", "(.*a){12}"] {
        assert_ends(&db, format!("SELECT VALUE c.id FROM c WHERE RegexMatch(c.s, '{pattern}')"))
            .await;
    }
    for pattern in ["a{1000}{1000}", "((((a{100}){100}){100}){100})", "(", "\\\\1"] {
        assert_ends(&db, format!("SELECT VALUE c.id FROM c WHERE RegexMatch(c.s, '{pattern}')"))
            .await;
    }
    let db = patient().await;
    let wild = "%a".repeat(200);
    assert_answers(&db, format!("SELECT VALUE COUNT(1) FROM c WHERE c.s LIKE '{wild}%b'"), &["0"])
        .await;
    let all = DOCUMENTS.to_string();
    let text = format!("SELECT VALUE COUNT(1) FROM c WHERE c.s LIKE '{wild}%'");
    assert_answers(&db, text, &[&all]).await;
    let text = format!("SELECT VALUE COUNT(1) FROM c WHERE c.s LIKE '{}'", "_".repeat(4_001));
    assert_answers(&db, text, &[&all]).await;
}

/// Parameters come as JSON, which has a depth and a length of its own.
#[tokio::test]
async fn parameters_without_measure() {
    let db = impatient().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!("[{}0]", "0,".repeat(500_000));
    let long = format!("\"{}\"", "x".repeat(3 << 20));
    for value in [deep, wide, long] {
        for text in [
            "SELECT VALUE COUNT(1) FROM c WHERE c.n = @p",
            "SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS(@p, c.n)",
            "SELECT VALUE COUNT(1) FROM c WHERE CONTAINS(c.s, @p)",
            "SELECT VALUE COUNT(1) FROM c WHERE c.s LIKE @p OR RegexMatch(c.s, @p)",
            "SELECT TOP @p VALUE 1 FROM c",
        ] {
            let body =
                format!(r#"{{"query":"{text}","parameters":[{{"name":"@p","value":{value}}}]}}"#);
            let feed = QueryFeed::Documents(crate::support::collection());
            let answer = ask(&db, feed, body).await;
            if let Err(error) = answer {
                let is_clear = matches!(error.code, Code::BadRequest | Code::Timeout);
                assert!(is_clear, "{text}: {error:?}");
            }
        }
    }
}

async fn ask(db: &Database, feed: QueryFeed, body: String) -> Result<usize, Error> {
    let body = gateway::read::query(body.as_bytes(), false)?;
    let query = QueryOptions { enable_cross_partition: true, ..QueryOptions::default() };
    let options = Options { query, ..Options::default() };
    db.call(Operation::Query { feed, query: body }, options).await.map(|page| items(&page).len())
}

/// Queries over resources are as patient as those over documents.
#[tokio::test]
async fn resources_are_no_way_around() {
    let db = impatient().await;
    let list = format!("[{}0]", "0,".repeat(1000));
    let joins: String = ["x0", "x1", "x2", "x3", "x4"]
        .iter()
        .flat_map(|name| [" JOIN ", *name, " IN (SELECT VALUE ", &list, ")"])
        .collect();
    for select in ["VALUE COUNT(1)", "VALUE x0", "DISTINCT VALUE [x0, x1]", "VALUE MAKELIST(x0)"] {
        let body = format!(r#"{{"query":"SELECT {select} FROM c{joins}"}}"#);
        let answer = ask(&db, QueryFeed::Databases, body).await;
        let code = answer.expect_err("too many rows").code;
        assert!(matches!(code, Code::BadRequest | Code::Timeout), "{select}: {code:?}");
    }
    assert_eq!(
        ask(&db, QueryFeed::Databases, r#"{"query":"SELECT * FROM c"}"#.to_owned()).await.ok(),
        Some(1)
    );
}
