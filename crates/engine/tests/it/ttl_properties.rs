//! Random writes with times to live, random changes of the default, at random times: whoever asks
//! sees what a model of the rules says, by the index as by a scan.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use engine::verify;
use protocol::{Operation, Options};
use value::Value;

use crate::{
    queries::query,
    random::Rng,
    support::{Database, TestClock, collection, keyed},
    ttl::{definition, on_disk},
};

const START: u64 = 1_700_000_000;

struct Modelled {
    ts: u64,
    ttl: Option<i64>,
    v: usize,
}

impl Modelled {
    fn is_alive(&self, default_ttl: Option<i32>, now: u64) -> bool {
        let Some(default_ttl) = default_ttl else { return true };
        let ttl = self.ttl.unwrap_or_else(|| i64::from(default_ttl));
        ttl == -1 || self.ts + u64::try_from(ttl).expect("positive") > now
    }
}

type Model = BTreeMap<(String, String), Modelled>;

fn random_default(rng: &mut Rng) -> Option<i32> {
    match rng.below(4) {
        0 => None,
        1 => Some(-1),
        _ => Some(i32::try_from(1 + rng.below(12)).expect("small")),
    }
}

async fn check(db: &Database, model: &Model, default_ttl: Option<i32>, now: u64, rng: &mut Rng) {
    let alive: Vec<_> = model.iter().filter(|(_, it)| it.is_alive(default_ttl, now)).collect();
    let v = rng.below(4);
    let key = format!("k{}", rng.below(3));
    let some: Vec<_> = alive.iter().filter(|(_, it)| it.v == v).collect();
    let here = alive.iter().filter(|((pk, _), _)| *pk == key).count();
    let count = |number: usize| vec![Value::from(i64::try_from(number).expect("few"))];
    let header = keyed(&format!(r#"["{key}"]"#));
    let cases = [
        ("SELECT VALUE COUNT(1) FROM c".to_owned(), alive.len(), Options::default()),
        ("SELECT VALUE COUNT(1) FROM c".to_owned(), here, header),
        (format!("SELECT VALUE COUNT(1) FROM c WHERE c.v = {v}"), some.len(), Options::default()),
        // The same by documents: what the index does not know.
        (
            format!("SELECT VALUE COUNT(1) FROM c WHERE c.v + 0 = {v}"),
            some.len(),
            Options::default(),
        ),
    ];
    for (text, expected, options) in cases {
        let rows = query(db, &text, &Value::Undefined, options).await.expect("rows");
        assert_eq!(rows, count(expected), "{text} at {now}, default {default_ttl:?}");
    }
    let mut expected: Vec<&str> = alive.iter().map(|((_, id), _)| id.as_str()).collect();
    expected.sort_unstable();
    let text = "SELECT VALUE c.id FROM c ORDER BY c.id";
    let rows = query(db, text, &Value::Undefined, Options::default()).await.expect("rows");
    let ids: Vec<&str> = rows.iter().filter_map(Value::as_str).collect();
    assert_eq!(ids, expected, "at {now}, default {default_ttl:?}");
    let mut feed = db.all(Options::default()).await;
    feed.sort_unstable();
    assert_eq!(feed, expected, "at {now}, default {default_ttl:?}");
}

fn stored(db: &Database) -> u64 {
    db.engine.statistics().iter().map(|partition| partition.documents).sum()
}

#[expect(clippy::too_many_lines, reason = "one arm for each thing that can happen")]
async fn run(seed: u64, is_swept: bool) {
    let sweep_interval = if is_swept { Duration::from_millis(1) } else { Duration::from_hours(1) };
    let mut rng = Rng::new(seed);
    let (dir, clock) = (tempfile::tempdir().expect("a directory"), TestClock::at(START));
    let options = || engine::Options { sweep_interval, ..engine::Options::default() };
    let mut db = Database::open_at(on_disk(dir.path()), options(), &clock).await;
    db.create_database("db").await;
    let mut default_ttl = random_default(&mut rng);
    db.create_collection(&definition(default_ttl), Some(25_000)).await.expect("a collection");
    let (mut model, mut now) = (Model::new(), START);
    for _ in 0..250 {
        let (key, id) = (format!("k{}", rng.below(3)), format!("d{}", rng.below(12)));
        let header = format!(r#"["{key}"]"#);
        let place = (key.clone(), format!("{key}-{id}"));
        let is_there = model.get(&place).is_some_and(|it| it.is_alive(default_ttl, now));
        match rng.below(10) {
            0..=4 => {
                let v = rng.below(4);
                let ttl = match rng.below(3) {
                    0 => None,
                    1 => Some(-1),
                    _ => Some(i64::try_from(1 + rng.below(12)).expect("small")),
                };
                let own = ttl.map(|ttl| format!(r#","ttl":{ttl}"#)).unwrap_or_default();
                let body = format!(r#"{{"id":"{}","pk":"{key}","v":{v}{own}}}"#, place.1);
                let upsert = rng.chance(50);
                let written = db.write(&body, upsert, Options::default()).await;
                assert_eq!(written.is_ok(), upsert || !is_there, "{body} at {now}");
                if written.is_ok() {
                    model.insert(place, Modelled { ts: now, ttl, v });
                }
            }
            5 => {
                let deleted = db.delete(&place.1, &header).await;
                assert_eq!(deleted.is_ok(), is_there, "{place:?} at {now}");
                if is_there {
                    model.remove(&place);
                }
            }
            6 => {
                let patch = r#"{"operations":[{"op":"set","path":"/v","value":3}]}"#;
                let patched = db.patch(&place.1, patch, keyed(&header)).await;
                assert_eq!(patched.is_ok(), is_there, "{place:?} at {now}");
                if let Some(document) = model.get_mut(&place).filter(|_| is_there) {
                    (document.ts, document.v) = (now, 3);
                }
            }
            7 if rng.chance(30) => {
                // What was swept does not come back; what was not does.
                if is_swept {
                    model.retain(|_, it| it.is_alive(default_ttl, now));
                    while stored(&db) != model.len() as u64 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                default_ttl = random_default(&mut rng);
                let body = Bytes::from(definition(default_ttl));
                let replace = Operation::ReplaceCollection { path: collection(), body };
                db.call(replace, Options::default()).await.expect("replaced");
            }
            8 if rng.chance(10) => {
                db.engine.close().await.expect("closed");
                drop(db);
                db = Database::open_at(on_disk(dir.path()), options(), &clock).await;
            }
            _ => {
                now += rng.below(4) as u64;
                clock.set(now);
            }
        }
        check(&db, &model, default_ttl, now, &mut rng).await;
    }
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn random_lives_unswept() {
    for seed in 0..4 {
        run(seed, false).await;
    }
}

#[tokio::test]
async fn random_lives_swept() {
    for seed in 10..14 {
        run(seed, true).await;
    }
}
