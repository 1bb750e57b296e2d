//! A hierarchical key that outgrows a partition: its first level is cut into several, by the levels
//! behind it.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use bytes::Bytes;
use engine::verify;
use protocol::{Code, Error, Operation, Options};
use store::{Batch, Direction, PageLimit, Store};
use store_lsm::LsmStore;
use value::{
    Value,
    partition_key::{Epk, Hashing, PartitionKey},
};

use crate::stores::{commit, new_store};
use crate::{
    random::{
        Rng,
        queries::Query,
        world::{answer, difference, documents, expected},
    },
    split_pages::{self, Content, UNHURRIED, reshape},
    splitting::{Keys, ids, merge, of_range, ranges, split, splits_under_load, until},
    support::{Database, collection, items, keyed, text},
};

const DEFINITION: &str =
    r#"{"paths":["/tenant","/user","/session"],"kind":"MultiHash","version":2}"#;

async fn create(db: &Database) {
    db.create_database("db").await;
    let body = format!(r#"{{"id":"c","partitionKey":{DEFINITION}}}"#);
    db.create_collection(&body, Some(400)).await.expect("a new collection");
}

/// One tenant with some users, one of whom has most of the sessions, and others beside it.
async fn fill(db: &Database) {
    for number in 0..120 {
        let user = if number % 3 == 0 { number % 17 } else { 99 };
        let body = format!(
            r#"{{"id":"d{number}","tenant":"acme","user":{user},"session":"{}","n":{number}}}"#,
            number % 40
        );
        db.create(&body).await.expect("created");
    }
}

/// The bounds of all ranges.
async fn bounds(db: &Database) -> Vec<(String, String, String)> {
    let list = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let page = db.call(list, Options::default()).await.expect("the ranges");
    let of = |range: &Value| {
        ["id", "minInclusive", "maxExclusive"].map(|name| text(range.get(name))).into()
    };
    items(&page).iter().map(of).collect()
}

async fn check_clean(db: Database, store: Arc<dyn Store>) {
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// Everything can be found in every way that it can be asked for.
async fn check_everything(db: &Database, expected: &[Value]) {
    assert_eq!(documents(db, &Options::default()).await, expected, "order and documents stay");
    // Each range has what lies between its bounds, and together they have everything.
    let now = bounds(db).await;
    assert_eq!((now[0].1.as_str(), now[now.len() - 1].2.as_str()), ("", "FF"));
    assert!(now.windows(2).all(|pair| pair[0].2 == pair[1].1), "{now:?}");
    let mut found = Vec::new();
    let query = Query::plain("SELECT VALUE c.id FROM c");
    for (id, min, max) in &now {
        let mine = documents(db, &of_range(id)).await;
        for document in &mine {
            let epk = key_of(document).effective(Hashing::MultiHash).to_string();
            assert!(*min <= epk && epk < *max, "{min} {epk} {max}");
        }
        let names: Vec<String> = mine.iter().map(|it| quoted(it, "id")).collect();
        assert_eq!(answer(db, &query, 7, &of_range(id)).await.expect("rows"), names);
        let count = Query::plain("SELECT VALUE COUNT(1) FROM c");
        let count = answer(db, &count, 7, &of_range(id)).await.expect("a count");
        assert_eq!(count, [mine.len().to_string()]);
        found.extend(mine.iter().map(|it| text(it.get("id"))));
    }
    let unique: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!((found.len(), unique.len()), (expected.len(), expected.len()));
    let rids: BTreeSet<String> = expected.iter().map(|it| text(it.get("_rid"))).collect();
    assert_eq!(rids.len(), expected.len());
    check_keys(db, expected, &query).await;
}

/// By full keys, and by the beginnings of keys.
async fn check_keys(db: &Database, expected: &[Value], query: &Query) {
    for document in expected {
        let key = key_of(document);
        let id = text(document.get("id"));
        db.read(&id, &key.to_string()).await.expect("found by its key");
        for levels in 1..=3 {
            let prefix = PartitionKey(key.0[..levels].to_vec());
            let matching = expected.iter().filter(|it| key_of(it).0.starts_with(&prefix.0));
            let matching: Vec<String> = matching.map(|it| quoted(it, "id")).collect();
            let options = keyed(&prefix.to_string());
            let found = answer(db, query, 50, &options).await.expect("rows");
            assert_eq!(found, matching, "{prefix}");
            let count = Query::plain("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0");
            let count = answer(db, &count, 50, &options).await.expect("a count");
            assert_eq!(count, [matching.len().to_string()], "{prefix}");
            if levels == 3 {
                // One partition has it.
                let list = Operation::ListDocuments(collection());
                let page = db.call(list, options).await.expect("a page");
                assert_eq!(page.meta.partitions.len(), 1);
            }
        }
    }
}

fn key_of(document: &Value) -> PartitionKey {
    let component = |name| value::partition_key::Component::of(document.get(name));
    PartitionKey(["tenant", "user", "session"].map(component).to_vec())
}

fn quoted(document: &Value, name: &str) -> String {
    value::json::print(document.get(name))
}

/// Splits whatever can be split until nothing can; how often it worked.
async fn split_to_the_end(db: &Database) -> usize {
    let mut count = 0;
    loop {
        let mut is_done = true;
        for id in ids(&ranges(db).await) {
            match split(db, id).await {
                Ok(_) => (count, is_done) = (count + 1, false),
                Err(error) => assert_eq!(error.code, Code::BadRequest, "{}", error.message),
            }
        }
        if is_done {
            return count;
        }
    }
}

#[tokio::test]
async fn a_tenant_is_split_between_its_users() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    create(&db).await;
    fill(&db).await;
    let before = documents(&db, &Options::default()).await;
    split(&db, "0").await.expect("split");
    let now = bounds(&db).await;
    let cut = Epk::parse_hex(&now[0].2).expect("a bound");
    // Behind the whole hash of the tenant, at a whole level.
    let tenant = PartitionKey::parse_header(r#"["acme"]"#).expect("a key");
    assert!(cut.as_bytes().starts_with(tenant.effective(Hashing::MultiHash).as_bytes()), "{cut}");
    assert_eq!(cut.as_bytes().len() % 16, 0);
    check_everything(&db, &before).await;
    // Numbers stay unique while both grow, in either order.
    for number in 0..40 {
        let body = format!(r#"{{"id":"new{number}","tenant":"acme","user":{number},"n":1}}"#);
        db.create(&body).await.expect("created");
    }
    let grown = documents(&db, &Options::default()).await;
    assert_eq!(grown.len(), 160);
    check_everything(&db, &grown).await;
    // In one again.
    let first = ranges(&db).await[0].0.clone();
    merge(&db, &first).await.expect("merged");
    assert_eq!(ranges(&db).await.len(), 1);
    check_everything(&db, &grown).await;
    check_clean(db, store).await;
}

#[tokio::test]
async fn a_tenant_is_split_down_to_single_keys() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    create(&db).await;
    for number in 0..40 {
        let body = format!(
            r#"{{"id":"d{number}","tenant":"acme","user":{},"session":{},"n":{number}}}"#,
            if number % 4 == 0 { number % 3 } else { 7 },
            number % 5
        );
        db.create(&body).await.expect("created");
    }
    let before = documents(&db, &Options::default()).await;
    let keys: BTreeSet<String> = before.iter().map(|it| key_of(it).to_string()).collect();
    split_to_the_end(&db).await;
    // Some of them lie beside keys that other tenants may come to have.
    assert_eq!(ranges(&db).await.len(), keys.len());
    check_everything(&db, &before).await;
    // New documents in all of them, then all in one again.
    for (number, key) in keys.iter().enumerate() {
        let parts = PartitionKey::parse_header(key).expect("a key").0;
        let [_, user, session] = &parts[..] else { panic!("three levels") };
        let body = format!(
            r#"{{"id":"new{number}","tenant":"acme","user":{},"session":{},"n":0}}"#,
            value::json::print(&user.to_value()),
            value::json::print(&session.to_value())
        );
        db.create(&body).await.expect("created");
    }
    let grown = documents(&db, &Options::default()).await;
    assert_eq!(grown.len(), before.len() + keys.len());
    check_everything(&db, &grown).await;
    while ranges(&db).await.len() > 1 {
        let now = ranges(&db).await;
        merge(&db, &now[now.len() / 2 - 1].0).await.expect("merged");
    }
    check_everything(&db, &grown).await;
    check_clean(db, store).await;
}

#[tokio::test]
async fn a_tenant_that_is_full_splits_by_itself() {
    let store = new_store();
    let mut options = engine::Options::default();
    options.sizes.partition = 50_000;
    let db = crate::random::world::open_with(Arc::clone(&store) as _, options).await;
    create(&db).await;
    let filler = "x".repeat(1000);
    for number in 0..200 {
        let body = format!(
            r#"{{"id":"{number}","tenant":"acme","user":{},"session":1,"f":"{filler}"}}"#,
            number % 25
        );
        db.create(&body).await.expect("created");
    }
    until("it is split", async || ranges(&db).await.len() >= 5).await;
    let all: BTreeSet<String> = db.all(Options::default()).await.into_iter().collect();
    assert_eq!(all.len(), 200);
    let tenant: BTreeSet<String> = db.all(keyed(r#"["acme"]"#)).await.into_iter().collect();
    assert_eq!(tenant, all);
    check_clean(db, store).await;
}

const TENANT: Keys = Keys {
    definition: DEFINITION,
    members: |key| format!(r#""tenant":"acme","user":{},"session":{key}"#, key % 5),
    header: |key| format!(r#"["acme",{},{key}]"#, key % 5),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_tenant_is_lost_in_memory() {
    let store = new_store();
    splits_under_load(Arc::clone(&store) as _, TENANT, 30).await;
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_tenant_is_lost_on_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || LsmStore::open(directory.path(), store_lsm::Options::default()).expect("a store");
    splits_under_load(open(), TENANT, 12).await;
    // Everything is where the catalog says, after a restart too, and numbers stay unique.
    let db = Database::open(open()).await;
    assert!(bounds(&db).await.len() > 1);
    for key in 0..100 {
        let members = (TENANT.members)(key);
        db.create(&format!(r#"{{"id":"later",{members}}}"#)).await.expect("created");
    }
    let all = documents(&db, &Options::default()).await;
    let rids: BTreeSet<String> = all.iter().map(|it| text(it.get("_rid"))).collect();
    assert_eq!(rids.len(), all.len());
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(open()).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn a_query_over_a_tenant_goes_on() {
    split_pages::goes_on(Content::OneTenant).await;
}

#[tokio::test]
async fn a_client_that_asks_by_ranges_of_a_tenant_misses_nothing() {
    split_pages::misses_nothing(Content::OneTenant).await;
}

#[tokio::test]
async fn what_is_added_up_of_a_tenant_counts_once() {
    split_pages::counts_once(Content::OneTenant).await;
}

/// Feeds go on by numbers, whatever becomes of the partitions between two pages.
#[tokio::test]
async fn a_feed_goes_on() {
    let db = Database::memory().await;
    create(&db).await;
    fill(&db).await;
    let expected = db.all(Options::default()).await;
    let tenant = Options { max_item_count: Some(7), ..keyed(r#"["acme"]"#) };
    let everything = Options { max_item_count: Some(7), ..Options::default() };
    for seed in 0..6 {
        let rng = &mut Rng::new(seed);
        for scope in [&tenant, &everything] {
            let (mut options, mut found) = (scope.clone(), Vec::new());
            loop {
                let list = Operation::ListDocuments(collection());
                let page = db.call(list, options.clone()).await.expect("a page");
                found.extend(items(&page).iter().map(|it| text(it.get("id"))));
                let Some(token) = page.continuation else { break };
                options.continuation = Some(token);
                reshape(&db, rng).await;
            }
            assert_eq!(found, expected, "seed {seed}");
        }
    }
    db.engine.close().await.expect("closed");
}

/// Any piece of the hash space can be asked for, within a range or across ranges.
#[tokio::test]
async fn pieces_between_any_two_keys() {
    let db = Database::memory().await;
    create(&db).await;
    fill(&db).await;
    let rng = &mut Rng::new(77);
    for _ in 0..5 {
        reshape(&db, rng).await;
    }
    let now = bounds(&db).await;
    assert!(now.len() > 1, "{now:?}");
    let all = documents(&db, &Options::default()).await;
    let epks: Vec<Epk> = all.iter().map(|it| key_of(it).effective(Hashing::MultiHash)).collect();
    let query = Query::plain("SELECT VALUE c.id FROM c");
    let count = Query::plain("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0");
    for _ in 0..60 {
        let (a, b) = (&epks[rng.below(epks.len())], &epks[rng.below(epks.len())]);
        let piece = (a.min(b).clone(), a.max(b).clone());
        for (id, min, max) in &now {
            let bound = |text: &str| Epk::parse_hex(text).expect("a bound");
            let (low, high) = (bound(min).max(piece.0.clone()), bound(max).min(piece.1.clone()));
            let matching = all.iter().zip(&epks).filter(|(_, epk)| low <= **epk && **epk < high);
            let matching: Vec<String> = matching.map(|(it, _)| quoted(it, "id")).collect();
            let scope = Options { epk_range: Some(piece.clone()), ..of_range(id) };
            assert_eq!(answer(&db, &query, 5, &scope).await.expect("rows"), matching);
            let total = answer(&db, &count, 5, &scope).await.expect("a count").concat();
            assert_eq!(total, matching.len().to_string());
            let listed = documents(&db, &scope).await;
            let listed: Vec<String> = listed.iter().map(|it| quoted(it, "id")).collect();
            assert_eq!(listed, matching);
        }
        let matching = epks.iter().filter(|epk| piece.0 <= **epk && **epk < piece.1).count();
        let scope = Options { epk_range: Some(piece), ..Options::default() };
        assert_eq!(answer(&db, &query, 5, &scope).await.expect("rows").len(), matching);
    }
    db.engine.close().await.expect("closed");
}

/// Whatever is asked of a tenant in pieces, the answer is that over all its documents.
#[tokio::test]
async fn cutting_makes_no_difference() {
    for seed in 0..6 {
        let rng = &mut Rng::new(10_000_000 + seed);
        let (db, policy) = split_pages::world(rng, Content::OneTenant, UNHURRIED).await;
        for _ in 0..8 {
            reshape(&db, rng).await;
        }
        let all = documents(&db, &Options::default()).await;
        for _ in 0..60 {
            let query = Query::random(rng, &policy);
            let size = [1, 2, 3, 5, 8, 13, 20][rng.below(7)];
            let actual = answer(&db, &query, size, &Options::default()).await;
            let wrong = difference(&expected(&query, &policy, &all), &actual);
            assert_eq!(wrong, None, "seed {seed}: {}", query.text);
        }
        db.engine.close().await.expect("closed");
    }
}

/// Documents are brought to a new indexing policy while their slot is cut and mended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_split_while_it_is_indexed_anew() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    create(&db).await;
    for number in 0..1500 {
        let (user, session) = (number % 7, number % 100);
        let body = format!(
            r#"{{"id":"d{number}","tenant":"acme","user":{user},"session":{session},"n":{number}}}"#
        );
        db.create(&body).await.expect("created");
    }
    for (round, path) in ["/n/?", "/other/?", "/user/?"].iter().enumerate() {
        let body = format!(
            r#"{{"id":"c","partitionKey":{DEFINITION},"indexingPolicy":{{"includedPaths":[
                {{"path":"/*"}}],"excludedPaths":[{{"path":"{path}"}}]}}}}"#
        );
        let replace = Operation::ReplaceCollection { path: collection(), body: Bytes::from(body) };
        db.call(replace, Options::default()).await.expect("replaced");
        for _ in 0..2 {
            let now = ranges(&db).await;
            split(&db, &now[round % now.len()].0).await.expect("split");
        }
        let now = ranges(&db).await;
        merge(&db, &now[round % (now.len() - 1)].0).await.expect("merged");
    }
    until("all follow the last policy", async || {
        let options = Options { populate_quota: true, ..Options::default() };
        let read = db.call(Operation::ReadCollection(collection()), options).await;
        read.expect("the collection").meta.index_progress == Some(100)
    })
    .await;
    assert_eq!(db.all(Options::default()).await.len(), 1500);
    check_clean(db, store).await;
}

/// Ranges that are no more are answered for, where clients do not look for the new ones.
#[tokio::test]
async fn old_ranges_are_answered_for() {
    let db = Database::memory().await;
    create(&db).await;
    fill(&db).await;
    split(&db, "0").await.expect("split");
    let halves = [db.all(of_range("1")).await, db.all(of_range("2")).await];
    split(&db, "1").await.expect("split");
    merge(&db, "4").await.expect("merged");
    let kept = |id: &str| Options { keeps_old_ranges: true, ..of_range(id) };
    assert_eq!([db.all(kept("1")).await, db.all(kept("2")).await], halves);
    assert_eq!(db.all(kept("0")).await, db.all(Options::default()).await);
    db.engine.close().await.expect("closed");
}

/// Changes rows of a key space behind the database's back; what `verify` says of it.
async fn tampered(store: &Arc<dyn Store>, name: &str, change: impl Fn(&str) -> String) -> String {
    let space = store.open(name, 0).await.expect("the key space");
    let all = (Bound::Unbounded, Bound::Unbounded);
    let limit = PageLimit { entries: 1000, bytes: 1 << 20 };
    let page = space.snapshot().scan(all, Direction::Forward, limit).await.expect("rows");
    let mut batch = Batch::default();
    for (key, row) in page.entries.into_iter().filter(|(key, _)| key[0] == b'C') {
        let text = String::from_utf8(row.to_vec()).expect("a row of the catalog is text");
        batch.put(key, change(&text));
    }
    commit(&*space, batch).await;
    verify(Arc::clone(store) as _).await.expect("readable").to_string()
}

/// A map whose ranges overlap, leave a gap or give the same numbers is found out.
#[tokio::test]
async fn verify_knows_the_rules_of_sharing() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    create(&db).await;
    fill(&db).await;
    split(&db, "0").await.expect("split");
    let cut = bounds(&db).await[0].2.clone();
    let same = |text: &str| text.to_owned();
    assert!(tampered(&store, "catalog", same).await.ends_with(" 0 problems"));
    // Another edge in the same slot. The database is not closed: that would close the store.
    let other = format!("{}{}", &cut[..62], if cut.ends_with("00") { "01" } else { "00" });
    let (min, moved) = (format!(r#""epkMin":"{cut}""#), format!(r#""epkMin":"{other}""#));
    let found = tampered(&store, "catalog", |text| text.replace(&min, &moved)).await;
    assert!(found.contains("leave a gap or overlap"), "{found}");
    tampered(&store, "catalog", |text| text.replace(&moved, &min)).await;
    let found =
        tampered(&store, "catalog", |text| text.replace(r#""offset":1"#, r#""offset":0"#)).await;
    assert!(found.contains("the same document numbers as range 2"), "{found}");
}

/// One full key cannot be cut, nor can a key that is not hierarchical.
#[tokio::test]
async fn one_key_stays_whole() {
    let db = Database::memory().await;
    create(&db).await;
    for number in 0..10 {
        let body = format!(r#"{{"id":"{number}","tenant":"a","user":"b","session":"c"}}"#);
        db.create(&body).await.expect("created");
    }
    let error: Error = split(&db, "0").await.expect_err("one key");
    assert_eq!(error.code, Code::BadRequest);
    // With another, it can.
    db.create(r#"{"id":"0","tenant":"a","user":"b","session":"d"}"#).await.expect("created");
    split(&db, "0").await.expect("two keys");
    let found = [db.all(of_range("1")).await.len(), db.all(of_range("2")).await.len()];
    assert!(found == [10, 1] || found == [1, 10], "{found:?}");
    db.engine.close().await.expect("closed");
}
