//! Random writes, splits and merges: whoever follows the change feed has the collection in the end,
//! from wherever it went on.

use std::{collections::BTreeMap, sync::Arc};

use engine::verify;
use protocol::{Code, Options, Outcome, request::BatchMode};
use value::{
    Value,
    partition_key::{Epk, Hashing, PartitionKey},
};

use crate::stores::new_store;
use crate::{
    batches::execute,
    changes::{changes, etag},
    random::Rng,
    splitting::{merge, ranges, split},
    support::{Database, items, keyed, text},
};

const KEYS: usize = 7;

/// What a reader of the feed has.
#[derive(Clone)]
struct Copy {
    scope: Options,
    position: Option<String>,
    documents: BTreeMap<String, Value>,
    /// The last LSN of each key.
    seen: BTreeMap<String, i64>,
}

impl Copy {
    fn new(scope: Options) -> Self {
        Self { scope, position: None, documents: BTreeMap::new(), seen: BTreeMap::new() }
    }

    /// Reads one page; whether it held anything.
    async fn read(&mut self, db: &Database, size: u32) -> bool {
        let options = Options { max_item_count: Some(size), ..self.scope.clone() };
        let page = changes(db, self.position.as_deref(), None, options).await.expect("a page");
        self.position = Some(etag(&page));
        if page.outcome == Outcome::NotModified {
            return false;
        }
        let items = items(&page);
        assert!(!items.is_empty(), "an empty page stops some readers");
        for item in items {
            let (key, lsn) = (text(item.get("pk")), item.get("_lsn").as_i64().expect("an LSN"));
            let id = format!("{key}/{}", text(item.get("id")));
            let last = self.seen.insert(key.clone(), lsn).unwrap_or(0);
            assert!(lsn >= last, "{key}: {lsn} behind {last}");
            // Of a transaction, the page has everything that is still the latest.
            let newer = self.documents.insert(id.clone(), item);
            let was = newer.and_then(|it| it.get("_lsn").as_i64());
            assert!(was.is_none_or(|was| was < lsn), "{id} came twice with {lsn}");
        }
        true
    }

    async fn finish(&mut self, db: &Database, rng: &mut Rng) {
        while self.read(db, 1 + u32::try_from(rng.below(9)).expect("small")).await {}
    }

    /// It has every document of its scope, as it is.
    fn check(&self, all: &BTreeMap<String, Value>, admits: &dyn Fn(&str) -> bool) {
        for (id, document) in all.iter().filter(|(id, _)| admits(id)) {
            let copied = self.documents.get(id).unwrap_or_else(|| panic!("{id} never came"));
            assert_eq!(copied.get("_etag"), document.get("_etag"), "{id}");
            assert_eq!(copied.get("n"), document.get("n"), "{id}");
        }
        assert!(self.documents.keys().all(|id| admits(id)), "beyond its scope");
    }
}

fn key(number: usize) -> String {
    format!("k{number}")
}

/// Keys under a tenant, whose slot is cut; or each with a slot of its own.
fn full_key(is_deep: bool, key: &str) -> String {
    if is_deep { format!(r#"["acme","{key}"]"#) } else { format!(r#"["{key}"]"#) }
}

async fn write(db: &Database, rng: &mut Rng, is_deep: bool, n: &mut u32) {
    let key = key(rng.below(KEYS));
    *n += 1;
    let id = rng.below(12);
    let body = |id: usize, n: u32| format!(r#"{{"id":"{id}","t":"acme","pk":"{key}","n":{n}}}"#);
    let choice = rng.below(10);
    if choice < 2 {
        let _ = db.delete(&id.to_string(), &full_key(is_deep, &key)).await;
    } else if choice < 4 {
        let upsert = |id| {
            let body = body(id, *n);
            format!(r#"{{"operationType":"Upsert","resourceBody":{body}}}"#)
        };
        let batch: Vec<String> = (0..=rng.below(6)).map(|at| upsert((id + at) % 12)).collect();
        let batch = format!("[{}]", batch.join(","));
        let options = keyed(&full_key(is_deep, &key));
        execute(db, &batch, BatchMode::Atomic, options).await.expect("done");
    } else {
        db.write(&body(id, *n), true, Options::default()).await.expect("written");
    }
}

async fn everything(db: &Database) -> BTreeMap<String, Value> {
    let list = |token| {
        let options = Options { continuation: token, ..Options::default() };
        db.call(protocol::Operation::ListDocuments(crate::support::collection()), options)
    };
    let mut all = BTreeMap::new();
    let mut token = None;
    loop {
        let page = list(token).await.expect("a page");
        for item in items(&page) {
            all.insert(format!("{}/{}", text(item.get("pk")), text(item.get("id"))), item);
        }
        match page.continuation {
            Some(next) => token = Some(next),
            None => return all,
        }
    }
}

async fn reshape(db: &Database, rng: &mut Rng) {
    let ranges = ranges(db).await;
    let at = rng.below(ranges.len());
    let done = if ranges.len() < 5 && rng.chance(60) {
        split(db, &ranges[at].0).await
    } else {
        merge(db, &ranges[at].0).await
    };
    if let Err(error) = done {
        assert_eq!(error.code, Code::BadRequest, "{error}");
    }
}

/// On disk where it is to be opened again.
fn store(directory: Option<&tempfile::TempDir>) -> Arc<dyn store::Store> {
    match directory {
        None => new_store(),
        Some(directory) => {
            let options = store_lsm::Options::default();
            store_lsm::LsmStore::open(directory.path(), options).expect("the store opens")
        }
    }
}

/// Whether a reader is to have a document of this key.
type Admits = Box<dyn Fn(&str) -> bool>;

/// Readers of the whole, of one key, and of what lies before and behind another.
fn readers(is_deep: bool) -> Vec<(Copy, Admits)> {
    let hashing = if is_deep { Hashing::MultiHash } else { Hashing::V2 };
    let epk = move |key: &str| {
        let key = PartitionKey::parse_header(&full_key(is_deep, key)).expect("a key");
        key.effective(hashing)
    };
    let key_of = |id: &str| id.split('/').next().unwrap_or_default().to_owned();
    let (cut, same) = (epk("k3"), epk("k3"));
    let part = |min, max| Options { epk_range: Some((min, max)), ..Options::default() };
    let below = Copy::new(part(Epk::min(), cut.clone()));
    let above = Copy::new(part(cut.clone(), Epk::max()));
    vec![
        (Copy::new(Options::default()), Box::new(|_| true)),
        (Copy::new(keyed(&full_key(is_deep, "k1"))), Box::new(move |id| key_of(id) == "k1")),
        (below, Box::new(move |id| epk(&key_of(id)) < cut)),
        (above, Box::new(move |id| epk(&key_of(id)) >= same)),
    ]
}

async fn create(store: &Arc<dyn store::Store>, is_deep: bool) -> Database {
    let db = Database::open(Arc::clone(store)).await;
    db.create_database("db").await;
    let definition = if is_deep {
        r#"{"paths":["/t","/pk"],"kind":"MultiHash","version":2}"#
    } else {
        r#"{"paths":["/pk"],"kind":"Hash","version":2}"#
    };
    let body = format!(r#"{{"id":"c","partitionKey":{definition}}}"#);
    db.create_collection(&body, Some(400)).await.expect("created");
    db
}

async fn round(seed: u64, is_deep: bool) {
    let mut rng = Rng::new(seed);
    let directory = seed.is_multiple_of(4).then(|| tempfile::tempdir().expect("a directory"));
    let mut store = store(directory.as_ref());
    let mut db = create(&store, is_deep).await;
    let mut readers = readers(is_deep);
    let mut kept: Vec<(usize, Copy)> = Vec::new();
    let mut n = 0;
    for step in 0..220 {
        match rng.below(10) {
            0 if step % 2 == 0 => reshape(&db, &mut rng).await,
            0..6 => write(&db, &mut rng, is_deep, &mut n).await,
            6 if directory.is_some() && step % 4 == 0 => {
                db.engine.close().await.expect("closed");
                drop((db, store));
                store = self::store(directory.as_ref());
                db = Database::open(Arc::clone(&store)).await;
            }
            _ => {
                let at = rng.below(readers.len());
                let size = 1 + u32::try_from(rng.below(5)).expect("small");
                readers[at].0.read(&db, size).await;
                if rng.chance(15) {
                    kept.push((at, readers[at].0.clone()));
                }
            }
        }
    }
    let all = everything(&db).await;
    kept.extend(readers.iter().enumerate().map(|(at, (copy, _))| (at, copy.clone())));
    for (at, mut copy) in kept {
        copy.finish(&db, &mut rng).await;
        copy.check(&all, &readers[at].1);
    }
    db.engine.close().await.expect("closed");
    if directory.is_some() {
        drop((db, store));
        store = self::store(directory.as_ref());
    }
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn readers_have_the_collection_in_the_end() {
    for seed in 0..12 {
        round(seed, false).await;
    }
}

#[tokio::test]
async fn readers_of_a_tenant_that_is_cut_have_it_too() {
    for seed in 100..110 {
        round(seed, true).await;
    }
}
