//! Paths whose hashes or ids collide, and documents of very many paths.

use std::{sync::Arc, time::Duration};

use engine::verify;
use protocol::Options;

use crate::stores::new_store;
use crate::{
    random::{
        policies::{Key, Policy},
        queries::Query,
        world::{answer, difference, documents, expected, open},
    },
    splitting::{merge, ranges, split},
};

/// Long enough never to end a page.
const UNHURRIED: Duration = Duration::from_mins(10);

/// Two names with one hash of 64 bits.
const TWINS: [&str; 2] = [
    "ov967bctvjkeb6qmizc4ny4tckrt11e17b6wtcaky7n6ai6gk002fvkh1d5k47jy31kr2gu0yodt41sff4g9yzplm9dycnffb9qoe8",
    "ov967bmx8y69bqck33hwdi39c4ftgh1ploaop46vfan6ai6gk002fvkh1d5k47jy31kr2gu0evlsxw31xcqyyzplm9dycnffbdgq7w",
];

/// Two names with different hashes that begin with the same bits, which are their id.
const COUSINS: [&str; 2] = ["a5f886d5", "a8a1fd73"];

/// Behind the names of [`TWINS`], this makes the second id of the first the first id of [`THIRD`].
const LINK: &str = "1298344";
const THIRD: &str = "p2425950";

fn id(name: &str, attempt: u32) -> u64 {
    index::key::id(index::path_hash([index::Step::Key(name)], attempt))
}

#[tokio::test]
async fn paths_of_one_hash_are_told_apart() {
    assert_eq!(id(TWINS[0], 0), id(TWINS[1], 0), "the names are chosen so");
    are_told_apart(&TWINS).await;
}

#[tokio::test]
async fn paths_of_one_id_are_told_apart() {
    assert_eq!(id(COUSINS[0], 0), id(COUSINS[1], 0), "the names are chosen so");
    are_told_apart(&COUSINS).await;
}

/// A path whose next id is taken, too.
#[tokio::test]
async fn chains_of_ids_are_told_apart() {
    let [first, second] = TWINS.map(|name| format!("{name}{LINK}"));
    assert_eq!((id(&first, 0), id(&first, 1)), (id(&second, 0), id(THIRD, 0)), "chosen so");
    are_told_apart(&[&second, THIRD, &first]).await;
    are_told_apart(&[&first, &second, THIRD]).await;
}

/// A document with some of the names, in each round with others.
fn text_of(names: &[&str], number: usize, round: usize) -> String {
    let key = number % 20;
    let mut members = vec![format!(r#""id":"d{number}","pk":{key}"#)];
    for (at, name) in names.iter().enumerate() {
        let (value, other) = ((number + at) % 5, names[(at + 1) % names.len()]);
        let turn = number / 20 + key + at + round;
        if turn.is_multiple_of(3) {
            members.push(format!(r#""{name}":{value}"#));
        }
        if turn % 4 == 1 {
            members.push(format!(r#""deep{at}":{{"{name}":{value},"{other}":{value}}}"#));
        }
    }
    format!("{{{}}}", members.join(","))
}

/// Each partition meets the names in its own order.
async fn are_told_apart(names: &[&str]) {
    let store = new_store();
    let db = open(Arc::clone(&store) as _, UNHURRIED).await.with_collection(70_000).await;
    for number in 0..120 {
        db.create(&text_of(names, number, 0)).await.expect("created");
    }
    for number in (0..120).step_by(7) {
        // From one to the other.
        let moved = text_of(names, number, 1);
        db.write(&moved, true, Options::default()).await.expect("replaced");
    }
    // The second time from what is stored, not from what is remembered.
    let again = open(Arc::clone(&store) as _, UNHURRIED).await;
    let all = documents(&db, &Options::default()).await;
    let policy = Policy::default_policy(Key::V2);
    let own = names.iter().map(|name| format!("c.{name}"));
    let deep = names.iter().map(|name| format!("c.deep0.{name}"));
    let paths: Vec<String> = own.chain(deep).collect();
    for db in [&db, &again] {
        for path in &paths {
            for text in [
                format!("SELECT VALUE c.id FROM c WHERE {path} = 1"),
                format!("SELECT VALUE COUNT(1) FROM c WHERE {path} >= 1"),
                format!("SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED({path})"),
                format!("SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED({path})"),
                format!("SELECT VALUE [c.id, {path}] FROM c ORDER BY {path}"),
                format!("SELECT TOP 5 VALUE c.id FROM c ORDER BY {path} DESC"),
                format!("SELECT TOP 5 VALUE c.id FROM c WHERE {path} > 0 ORDER BY {path}"),
            ] {
                let mut query = Query::plain(&text);
                if text.contains("ORDER BY") {
                    query = query.ordered_by("/any", text.ends_with("DESC"));
                }
                let expected = expected(&query, &policy, &all);
                assert!(expected.is_ok(), "{text}");
                for size in [2, 100] {
                    let actual = answer(db, &query, size, &Options::default()).await;
                    assert_eq!(difference(&expected, &actual), None, "{text}");
                }
            }
        }
    }
    for path in &paths[..names.len()] {
        let query = Query::plain(&format!("SELECT VALUE c.id FROM c WHERE {path} >= 0"));
        assert!(expected(&query, &policy, &all).is_ok_and(|rows| rows.len() > 10), "{path}");
    }
    drop((db, again));
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// The parts of a partition share its ids and are merged again; partitions that gave one id to two
/// paths are not, and stay as they are.
#[tokio::test]
async fn partitions_with_contradicting_ids_are_not_merged() {
    for is_contradictory in [false, true] {
        let store = new_store();
        let db = open(Arc::clone(&store) as _, UNHURRIED).await.with_collection(400).await;
        let [first, second] = COUSINS;
        let body = |number: usize, name: &str| {
            format!(r#"{{"id":"d{number}","pk":{},"{name}":{number}}}"#, number % 10)
        };
        for number in 0..10 {
            db.create(&format!(r#"{{"id":"{number}","pk":{number}}}"#)).await.expect("created");
        }
        if !is_contradictory {
            db.create(&body(0, first)).await.expect("created");
        }
        split(&db, "0").await.expect("split");
        for number in 1..40 {
            let probe = format!(r#"{{"id":"probe{number}","pk":{}}}"#, number % 10);
            let points = db.create(&probe).await.expect("created").meta.partitions;
            let name = if points[0].range_id == 1 { first } else { second };
            db.create(&body(number, name)).await.expect("created");
        }
        let merged = merge(&db, "1").await;
        assert_eq!(merged.is_err(), is_contradictory, "{merged:?}");
        assert_eq!(ranges(&db).await.len(), if is_contradictory { 2 } else { 1 });
        for number in 40..60 {
            db.create(&body(number, second)).await.expect("created");
            db.create(&body(number + 100, first)).await.expect("created");
        }
        let all = documents(&db, &Options::default()).await;
        let policy = Policy::default_policy(Key::V2);
        for name in COUSINS {
            let query = Query::plain(&format!("SELECT VALUE c.id FROM c WHERE c.{name} > 5"));
            let expected = expected(&query, &policy, &all);
            assert!(expected.as_ref().is_ok_and(|rows| rows.len() > 20));
            let actual = answer(&db, &query, 7, &Options::default()).await;
            assert_eq!(difference(&expected, &actual), None);
        }
        drop(db);
        let report = verify(store).await.expect("readable");
        assert!(report.is_clean(), "{report}");
    }
}

/// A document may have more paths than a partition remembers.
#[tokio::test]
async fn documents_of_very_many_paths_are_written() {
    let store = new_store();
    let db = open(Arc::clone(&store) as _, UNHURRIED).await.with_collection(400).await;
    let names = |letter: char| (0..66_000).map(move |number| format!(r#","{letter}{number}":1"#));
    let body = |id: &str, names: String| format!(r#"{{"id":"{id}","pk":1{names}}}"#);
    db.create(&body("x", names('x').collect())).await.expect("created");
    db.create(&body("y", names('y').collect())).await.expect("created");
    db.create(&body("both", names('x').chain(names('y')).collect())).await.expect("created");
    for (path, ids) in [("x7", ["\"x\"", "\"both\""]), ("y65999", ["\"y\"", "\"both\""])] {
        let query = Query::plain(&format!("SELECT VALUE c.id FROM c WHERE c.{path} = 1"));
        let rows = answer(&db, &query, 100, &Options::default()).await.expect("rows");
        assert_eq!(rows, ids);
    }
}
