//! The five consistency levels on one node.

use engine::Options as EngineOptions;
use protocol::{
    Code, Operation, Options, Response,
    query::{QueryFeed, QuerySource},
    request::ConsistencyLevel,
    session::SessionTokens,
};

use crate::support::{Database, collection, document, keyed};

const LEVELS: [ConsistencyLevel; 5] = [
    ConsistencyLevel::Strong,
    ConsistencyLevel::BoundedStaleness,
    ConsistencyLevel::Session,
    ConsistencyLevel::ConsistentPrefix,
    ConsistencyLevel::Eventual,
];

const KEY: &str = "[\"k\"]";

async fn database(default_consistency: ConsistencyLevel) -> Database {
    let options = EngineOptions { default_consistency, ..EngineOptions::default() };
    let db = Database::with_options(options).await.with_collection(400).await;
    db.create(r#"{"id":"a","pk":"k"}"#).await.expect("made");
    db
}

fn asking(level: Option<ConsistencyLevel>, session: Option<&str>) -> Options {
    let session = session.map(|text| SessionTokens::parse(text).expect("a token"));
    Options { consistency: level, session, ..keyed(KEY) }
}

/// The three ways to read documents.
async fn reads(db: &Database, options: &Options) -> [Result<Response, protocol::Error>; 3] {
    let read = db.call(Operation::ReadDocument(document("a")), options.clone()).await;
    let list = db.call(Operation::ListDocuments(collection()), options.clone()).await;
    let body = QuerySource::new("SELECT * FROM c");
    let query = Operation::Query { feed: QueryFeed::Documents(collection()), query: body };
    [read, list, db.call(query, options.clone()).await]
}

async fn charges(db: &Database, options: &Options) -> [f64; 3] {
    reads(db, options).await.map(|answer| answer.expect("read").meta.charge)
}

#[tokio::test]
async fn reads_at_the_strong_levels_cost_double() {
    let single = charges(&database(ConsistencyLevel::Session).await, &asking(None, None)).await;
    let double = single.map(|charge| 2.0 * charge);
    for account in LEVELS {
        let db = database(account).await;
        for level in LEVELS.into_iter().filter(|level| *level >= account) {
            let is_double = level < ConsistencyLevel::Session;
            let expected = if is_double { double } else { single };
            let paid = charges(&db, &asking(Some(level), None)).await;
            let is_near = paid.iter().zip(expected).all(|(paid, expected)| {
                // Charges have two decimals.
                (paid - expected).abs() < 0.011
            });
            assert!(is_near, "{level:?} on {account:?}: {paid:?}, not {expected:?}");
        }
    }
}

#[tokio::test]
async fn writes_and_metadata_cost_the_same_at_every_level() {
    let mut seen = Vec::new();
    for account in LEVELS {
        let db = database(account).await;
        let made = db.create(r#"{"id":"b","pk":"k"}"#).await.expect("made").meta.charge;
        let conflict = db.create(r#"{"id":"b","pk":"k"}"#).await.expect_err("taken").meta.charge;
        let removed = db.delete("b", KEY).await.expect("deleted").meta.charge;
        let read = db.call(Operation::ReadCollection(collection()), Options::default()).await;
        let read = read.expect("a collection").meta.charge;
        // As the wire has them, with two decimals.
        seen.push([made, conflict, removed, read].map(|charge| format!("{charge:.2}")));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
}

#[tokio::test]
async fn an_absent_document_costs_double_too() {
    let db = database(ConsistencyLevel::Strong).await;
    let absent = db.read("none", KEY).await.expect_err("absent");
    assert_eq!(absent.code, Code::NotFound);
    assert!((absent.meta.charge - 2.0).abs() < 0.001, "{}", absent.meta.charge);
}

#[tokio::test]
async fn only_session_reads_look_at_the_token() {
    for account in LEVELS {
        let db = database(account).await;
        let weakened = LEVELS.into_iter().filter(|level| *level >= account).map(Some);
        for level in weakened.chain([None]) {
            let is_session = level.unwrap_or(account) == ConsistencyLevel::Session;
            for answer in reads(&db, &asking(level, Some("0:-1#1000"))).await {
                let code = answer.err().map(|error| error.code);
                let expected = is_session.then_some(Code::SessionNotAvailable);
                assert_eq!(code, expected, "{level:?} on {account:?}");
            }
            for token in ["0:-1#1", "0:1", "9:-1#1000", "9:-1#1000,0:-1#1", ""] {
                for answer in reads(&db, &asking(level, Some(token))).await {
                    answer.expect("seen already, or of another partition");
                }
            }
        }
    }
}

#[tokio::test]
async fn every_answer_tells_the_session() {
    for account in LEVELS {
        let db = database(account).await;
        for answer in reads(&db, &asking(None, None)).await {
            let points = answer.expect("read").meta.partitions;
            assert_eq!(points.iter().map(|it| (it.range_id, it.lsn)).collect::<Vec<_>>(), [(0, 2)]);
        }
        let ahead = asking(Some(ConsistencyLevel::Session), Some("0:5"));
        if account <= ConsistencyLevel::Session {
            for answer in reads(&db, &ahead).await {
                let points = answer.expect_err("ahead").meta.partitions;
                assert_eq!(points.iter().map(|it| it.lsn).collect::<Vec<_>>(), [2]);
            }
        }
    }
}
