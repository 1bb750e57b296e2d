//! Writers keep a ledger of what they were told, on a store that fails: every answer is success, surely
//! not executed, or unknown, and what is stored in the end agrees with all of them.
//!
//! Each document has one writer, and each write a value of its own. A writer therefore knows which
//! states its document can be in: after a success only one, after an unknown answer one more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use engine::verify;
use protocol::{Code, Error, Options, Response, request::BatchMode};
use store::{
    Store,
    testing::{Chances, Fault, Flaky, Random},
};

use crate::batches::{answers, execute};
use crate::stores::new_store;
use crate::support::{Database, keyed, resource};

/// What an answer says about the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Executed,
    /// Not executed, because of the state that the document was in.
    Refused,
    /// Not executed, because of the store.
    NotExecuted,
    Unknown,
}

/// What an error says about the write that it answers.
fn meaning(code: Code) -> Answer {
    match code {
        code if code.leaves_write_unknown() => Answer::Unknown,
        Code::Conflict | Code::NotFound => Answer::Refused,
        _ => Answer::NotExecuted,
    }
}

fn classify(answer: &Result<Response, Error>) -> Answer {
    answer.as_ref().map_or_else(|error| meaning(error.code), |_| Answer::Executed)
}

/// An answer to each operation of a batch that is all or nothing.
fn classify_batch(answer: &Result<Response, Error>) -> Answer {
    let Ok(response) = answer else { return classify(answer) };
    let meanings =
        answers(response).into_iter().map(|it| it.map_or_else(meaning, |_| Answer::Executed));
    let meanings: Vec<_> = meanings.collect();
    match meanings {
        all if all.iter().all(|it| *it == Answer::Executed) => Answer::Executed,
        all if all.contains(&Answer::Unknown) => Answer::Unknown,
        all if all.contains(&Answer::Refused) => Answer::Refused,
        _ => Answer::NotExecuted,
    }
}

/// The id of documents that show that writes are taken.
const PROBE: &str = "probe";
const WRITERS: u64 = 6;
const DOCUMENTS: u64 = 8;
const OPERATIONS: u64 = 60;
const ROUNDS: u64 = 4;

/// The state of a document: its value, or that it is absent.
type State = Option<u64>;

/// One writer, its documents, and the states in which they can be.
struct Writer {
    name: String,
    random: Random,
    value: u64,
    possible: BTreeMap<String, BTreeSet<State>>,
    counts: [u64; 4],
}

impl Writer {
    fn new(seed: u64, number: u64) -> Self {
        let random = Random::new(seed * 1_000 + number);
        let name = format!("w{number}");
        Self { name, random, value: 0, possible: BTreeMap::new(), counts: [0; 4] }
    }

    fn key(&self) -> String {
        format!(r#"["{}"]"#, self.name)
    }

    fn body(&self, id: &str) -> String {
        format!(r#"{{"id":"{id}","pk":"{}","v":{}}}"#, self.name, self.value)
    }

    fn states(&mut self, id: &str) -> &mut BTreeSet<State> {
        self.possible.entry(id.to_owned()).or_insert_with(|| BTreeSet::from([None]))
    }

    /// Writes down an answer: what was written, and in which states the write can be executed.
    fn note(&mut self, id: &str, written: State, answer: Answer, can: impl Fn(&State) -> bool) {
        self.counts[answer as usize] += 1;
        let states = self.states(id);
        match answer {
            Answer::Executed => {
                assert!(states.iter().any(can), "{id}: executed in one of {states:?}");
                *states = BTreeSet::from([written]);
            }
            Answer::Unknown => {
                states.insert(written);
            }
            Answer::Refused => {
                assert!(states.iter().any(|state| !can(state)), "{id}: refused in {states:?}");
            }
            Answer::NotExecuted => {}
        }
    }

    /// One operation on one document, at random.
    async fn operate(&mut self, db: &Database) {
        self.value += 1;
        let (value, key) = (self.value, self.key());
        let id = format!("{}-{}", self.name, self.random.below(DOCUMENTS));
        let body = self.body(&id);
        match self.random.below(7) {
            0 | 1 => {
                let answer = classify(&db.create(&body).await);
                self.note(&id, Some(value), answer, Option::is_none);
            }
            2 => {
                let answer = classify(&db.write(&body, true, Options::default()).await);
                self.note(&id, Some(value), answer, |_| true);
            }
            3 => {
                let answer = classify(&db.replace(&id, &body, keyed(&key)).await);
                self.note(&id, Some(value), answer, Option::is_some);
            }
            4 => {
                let answer = classify(&db.delete(&id, &key).await);
                self.note(&id, None, answer, Option::is_some);
            }
            5 => self.write_pair(db).await,
            _ => self.look(db, &id).await,
        }
    }

    /// Two documents that are only ever written together.
    async fn write_pair(&mut self, db: &Database) {
        let ids = ["left", "right"].map(|side| format!("{}-{side}", self.name));
        let bodies = ids.each_ref().map(|id| self.body(id));
        let [left, right] =
            bodies.map(|body| format!(r#"{{"operationType":"Upsert","resourceBody":{body}}}"#));
        let batch = format!("[{left},{right}]");
        let done = execute(db, &batch, BatchMode::Atomic, keyed(&self.key())).await;
        for id in &ids {
            self.note(id, Some(self.value), classify_batch(&done), |_| true);
        }
    }

    /// Reads a document: whatever is there was written, and was not refused.
    async fn look(&mut self, db: &Database, id: &str) {
        if let Some(found) = read(db, id, &self.key()).await {
            let states = self.states(id);
            assert!(states.contains(&found), "{id}: {found:?} was read, not one of {states:?}");
        }
    }

    /// Compares all documents with the ledger. From now on there is no doubt about any.
    async fn settle(&mut self, db: &Database) {
        let key = self.key();
        for (id, states) in &mut self.possible {
            let found = read(db, id, &key).await.expect("the store does not fail now");
            assert!(states.contains(&found), "{id}: {found:?} is stored, not one of {states:?}");
            *states = BTreeSet::from([found]);
        }
        let pair =
            ["left", "right"].map(|side| self.possible.get(&format!("{}-{side}", self.name)));
        assert_eq!(pair[0], pair[1], "{}: half a batch is stored", self.name);
    }
}

/// The state of a document, or `None` if it cannot be read now.
async fn read(db: &Database, id: &str, key: &str) -> Option<State> {
    match db.read(id, key).await {
        Ok(response) => {
            let value = resource(&response).get("v").as_i64().expect("a number");
            Some(Some(u64::try_from(value).expect("not negative")))
        }
        Err(error) if error.code == Code::NotFound => Some(None),
        Err(error) => {
            let codes = [Code::Unavailable, Code::NotNow, Code::NotHere];
            assert!(codes.contains(&error.code), "{id}: {error}");
            None
        }
    }
}

/// Waits until the database has opened again what it lost, which it does by itself. A partition that takes
/// a write has settled all that came before.
async fn wait_until_healed(db: &Database, flaky: &Flaky, writers: &[Writer]) {
    flaky.calm();
    for writer in writers {
        let probe = format!(r#"{{"id":"{PROBE}","pk":"{}"}}"#, writer.name);
        while db.write(&probe, true, Options::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Starts the database again on what is stored: what the store still had on its way is settled.
async fn restart(
    flaky: &Flaky,
    db: Arc<Database>,
    inner: &Arc<dyn Store>,
    seed: u64,
) -> (Arc<Flaky>, Arc<Database>) {
    flaky.calm();
    drop(db);
    let flaky = Arc::new(Flaky::new(Arc::clone(inner), seed));
    let db = Arc::new(Database::open(Arc::clone(&flaky) as _).await);
    (flaky, db)
}

/// Runs all writers while the store fails. A stalled batch is released after a while.
async fn run(db: &Arc<Database>, flaky: &Flaky, writers: Vec<Writer>) -> Vec<Writer> {
    let tasks: Vec<_> = writers
        .into_iter()
        .map(|mut writer| {
            let db = Arc::clone(db);
            tokio::spawn(async move {
                for _ in 0..OPERATIONS {
                    writer.operate(&db).await;
                }
                writer
            })
        })
        .collect();
    while tasks.iter().any(|task| !task.is_finished()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        flaky.release();
    }
    let mut writers = Vec::new();
    for task in tasks {
        writers.push(task.await.expect("a writer"));
    }
    writers
}

/// Gives how many answers were of each kind, and how many faults there were.
async fn keep_a_ledger(seed: u64, faults: &[Fault]) -> ([u64; 4], u64) {
    let inner = new_store();
    let mut flaky = Arc::new(Flaky::new(Arc::clone(&inner), seed));
    let db = Database::open(Arc::clone(&flaky) as _).await.with_collection(25_000).await;
    let mut db = Arc::new(db);
    let mut writers: Vec<_> = (0..WRITERS).map(|number| Writer::new(seed, number)).collect();
    let mut count = 0;
    for round in 0..ROUNDS {
        flaky.set_chances(Chances { writes: 20, reads: 2, calls: 20, faults: faults.to_vec() });
        writers = run(&db, &flaky, writers).await;
        count += flaky.faults();
        // A partition that was fenced has another owner: here, the next start.
        if faults.contains(&Fault::Fenced) || round % 2 == 1 {
            (flaky, db) = restart(&flaky, db, &inner, seed * 100 + round).await;
        } else {
            wait_until_healed(&db, &flaky, &writers).await;
        }
        for writer in &mut writers {
            writer.settle(&db).await;
        }
    }
    let stored = db.all(Options::default()).await.into_iter().filter(|id| id != PROBE);
    let stored: BTreeSet<_> = stored.collect();
    let all = writers.iter().flat_map(|writer| &writer.possible);
    let expected = all.filter(|(_, states)| !states.contains(&None)).map(|(id, _)| id.clone());
    assert_eq!(stored, expected.collect::<BTreeSet<_>>());
    let report = verify(flaky).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    let counts = |kind: usize| writers.iter().map(|writer| writer.counts[kind]).sum();
    ([0, 1, 2, 3].map(counts), count)
}

/// Seeds of one run. More of them, by `SHEAF_LEDGER_SEEDS`, are a soak.
const SEEDS: u64 = 4;

/// Several seeds; a failure says which one.
async fn keep_ledgers(faults: &'static [Fault]) {
    let seeds =
        std::env::var("SHEAF_LEDGER_SEEDS").map_or(SEEDS, |it| it.parse().expect("a number"));
    let mut totals = ([0; 4], 0);
    for seed in 1..=seeds {
        let kept = tokio::spawn(keep_a_ledger(seed, faults)).await;
        let (answers, faults) = kept.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        totals.1 += faults;
        for (total, count) in totals.0.iter_mut().zip(answers) {
            *total += count;
        }
    }
    let ([executed, refused, _, unknown], faults) = totals;
    let each = |count: u64| count / seeds;
    assert!(each(executed) > 40 && each(refused) > 15, "{totals:?}");
    assert!(each(unknown) > 4 && each(faults) > 4, "{totals:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_hold_on_a_store_that_cannot_be_reached() {
    keep_ledgers(&[Fault::Unavailable, Fault::Stalled]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_hold_on_a_store_that_loses_its_own() {
    keep_ledgers(&[Fault::Applied, Fault::Late]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_hold_on_a_store_that_does_everything_wrong() {
    let all = &[Fault::Unavailable, Fault::Applied, Fault::Fenced, Fault::Late, Fault::Stalled];
    keep_ledgers(all).await;
}
