//! The tests that every store must pass.
//!
//! [`run`] takes a factory of empty stores and panics at the first broken promise. Each case gets
//! its own store. Waiting for a completion blocks the calling thread, which is only acceptable in a
//! test. File-based stores also run [`run_files`], and stores whose disk a test can control run
//! [`run_disk`].
//!
//! `writes` tests what a batch does, `scans` ranges and pages, `partitions` creating and dropping
//! key spaces, `epochs` who may write to them, `copies` the results of `copy`, `compactions` that
//! readers do not notice one, `durability` that nothing is visible too early and what a crash
//! leaves, and `model` compares a long random run with a plain map.

mod compactions;
mod copies;
mod durability;
mod epochs;
mod model;
mod partitions;
mod scans;
mod writes;

use std::{
    collections::BTreeMap,
    future::Future,
    ops::Bound,
    pin::pin,
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::Duration,
};

use bytes::Bytes;

pub use self::durability::Disk;
use crate::{
    Batch, Direction, Durability, Files, KeyRange, KeySpace, PageLimit, Result, Snapshot, Store,
};

/// Runs all cases against stores that `factory` makes; each call must give a new, empty one.
pub async fn run(factory: impl Fn() -> Arc<dyn Store>) {
    writes::reads_back_what_it_wrote(&*factory()).await;
    writes::later_change_of_a_key_wins(&*factory()).await;
    writes::keeps_empty_and_large_entries(&*factory()).await;
    writes::refuses_impossible_keys(&*factory()).await;
    writes::completes_once_and_in_order(&*factory()).await;
    writes::keeps_the_order_of_concurrent_batches(&*factory()).await;
    writes::completions_may_submit(&*factory()).await;
    writes::completions_may_panic(&*factory()).await;
    writes::buffered_batches_are_visible(&*factory()).await;
    writes::barriers_wait_for_what_was_queued(&*factory()).await;
    writes::snapshots_are_frozen(&*factory()).await;
    writes::snapshots_see_whole_batches(&*factory()).await;
    scans::respects_all_bounds(&*factory()).await;
    scans::pages_add_up(&*factory()).await;
    scans::takes_impossible_bounds(&*factory()).await;
    partitions::are_independent(&*factory()).await;
    partitions::drop_and_open_again(&*factory()).await;
    partitions::refuse_bad_names(&*factory()).await;
    partitions::close_refuses_later_writes(&*factory()).await;
    epochs::a_higher_one_fences(&*factory()).await;
    epochs::nothing_is_published_behind_a_fence(&*factory()).await;
    epochs::go_with_their_partition(&*factory()).await;
    copies::take_what_is_asked_for(&*factory()).await;
    copies::refuse_a_target_in_use(&*factory()).await;
    copies::refuse_a_closed_store(&*factory()).await;
    for seed in 1..=3 {
        model::random_operations(&*factory(), seed).await;
    }
}

/// Runs the cases for stores in files; each call of `factory` must give a new, empty one.
pub async fn run_files(factory: impl Fn() -> Arc<dyn Files>) {
    compactions::change_nothing(&*factory()).await;
    compactions::change_nothing_while_writers_run(&*factory()).await;
    compactions::refuse_what_they_cannot_do(&*factory()).await;
}

/// Runs the cases for stores whose disk can be paused; each call of `factory` must give a new,
/// empty store with its disk.
pub async fn run_disk(factory: impl Fn() -> (Arc<dyn Store>, Arc<dyn Disk>)) {
    let (store, disk) = factory();
    durability::nothing_is_visible_before_it_is_durable(&*store, &*disk).await;
    let (store, disk) = factory();
    durability::what_was_seen_survives(&*store, &*disk).await;
    let (store, disk) = factory();
    durability::buffered_batches_survive_a_barrier(&*store, &*disk).await;
    let (store, disk) = factory();
    durability::key_spaces_and_a_close_survive(&*store, &*disk).await;
    let (store, disk) = factory();
    durability::an_open_settles_what_waits(&*store, &*disk).await;
}

/// A page limit that no test here reaches.
const ALL: PageLimit = PageLimit { entries: usize::MAX, bytes: usize::MAX };

/// The range of all keys.
const EVERYTHING: KeyRange = (Bound::Unbounded, Bound::Unbounded);

/// How long a completion may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_mins(1);

/// The epoch of cases that are not about epochs.
const EPOCH: u64 = 0;

async fn open(engine: &dyn Store, name: &str) -> Arc<dyn KeySpace> {
    engine.open(name, EPOCH).await.expect("a partition can be opened")
}

/// Submits without waiting for completion.
fn submit(partition: &dyn KeySpace, batch: Batch) -> Receiver<Result<()>> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| {
        let _ = sender.send(result);
    });
    partition.submit(batch, Durability::Durable, done);
    receiver
}

/// Waits until everything submitted before is published and durable.
fn barrier(key_space: &dyn KeySpace) -> Result<()> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| {
        let _ = sender.send(result);
    });
    key_space.barrier(Durability::Durable, done);
    wait(&receiver)
}

fn wait(receiver: &Receiver<Result<()>>) -> Result<()> {
    receiver.recv_timeout(PATIENCE).expect("a batch ends")
}

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future where `await` is not possible: among the threads of a scope.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park_timeout(PATIENCE),
        }
    }
}

fn commit(partition: &dyn KeySpace, batch: Batch) {
    wait(&submit(partition, batch)).expect("a batch can be committed");
}

/// A batch from pairs; `None` deletes.
fn batch<'a>(changes: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Batch {
    let mut batch = Batch::default();
    for (key, value) in changes {
        match value {
            Some(value) => batch.put(key.as_bytes().to_vec(), value.as_bytes().to_vec()),
            None => batch.delete(key.as_bytes().to_vec()),
        }
    }
    batch
}

fn put(partition: &dyn KeySpace, key: &str, value: &str) {
    commit(partition, batch([(key, Some(value))]));
}

async fn get(snapshot: &dyn Snapshot, key: &str) -> Option<Bytes> {
    let keys = [Bytes::copy_from_slice(key.as_bytes())];
    snapshot.get_many(&keys).await.expect("a key can be read").remove(0)
}

async fn scan(snapshot: &dyn Snapshot, range: KeyRange, way: Direction) -> Vec<(Bytes, Bytes)> {
    let page = snapshot.scan(range, way, ALL).await.expect("a range can be read");
    assert!(!page.has_more, "a page without limit is the last one");
    page.entries
}

/// Checks that the snapshot holds exactly `expected`.
async fn assert_holds(snapshot: &dyn Snapshot, expected: &BTreeMap<Bytes, Bytes>) {
    let entries = scan(snapshot, EVERYTHING, Direction::Forward).await;
    let expected: Vec<_> = expected.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert_eq!(entries, expected);
}
