//! Splits and merges: documents of one or more neighbouring partitions go to new ones, online.
//!
//! 1. The old partitions begin a log of what they commit ([`partition::log`]).
//! 2. A snapshot of them is copied into the new key spaces by slot ([`source`]), and by key where a
//!    slot is cut ([`sides`]).
//! 3. The log is replayed until the copy is nearly up to date ([`replay`]).
//! 4. In one catalog change ([`switch`]) the old partitions stop, the rest of the log is replayed,
//!    and the catalog names the new ones. Waiting writers are staged again there.
//! 5. The old key spaces are dropped once nobody reads them any more.
//!
//! The commit of the catalog is the switch: before it the old partitions are authoritative and the
//! new key spaces are marked as being filled; after it, the new partitions are authoritative. A
//! crash leaves one state or the other, and the next start drops the rest. See docs/adr/0007.

pub(crate) mod balance;
mod cut;
mod inside;
pub(crate) mod rekey;
mod replay;
mod sides;
mod source;
mod switch;

use std::{
    collections::{BTreeSet, HashSet},
    mem::replace,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use catalog::{
    area::{Area, Edge},
    numbers::{Class, SharedSlot, share},
    range::{PARENTS_MAX, Range, key_space},
    to_bytes,
};
use partition::{Partition, errors, tenure::End};
use protocol::{
    Body, Code, Error, Meta, Outcome, Response, operator::Reshapes, request::CollectionPath,
    rid::CollectionRid,
};
use query::served::Served;
use tokio::sync::{Notify, oneshot};
use value::{Object, Value};

use crate::{
    Inner,
    control::Unchanged,
    missing_collection,
    reshape::{
        rekey::Rekey,
        replay::{Child, Parent},
        sides::{Keys, Sides},
        source::{Intake, Source},
        switch::Switch,
    },
};

/// How often to check whether the old partitions are still read.
const READERS_STEP: Duration = Duration::from_millis(20);

/// The result of a split or merge.
pub(crate) struct Reshaped {
    pub(crate) parents: Vec<u32>,
    pub(crate) children: Vec<Arc<Partition>>,
    /// How long writes were stopped.
    pub(crate) pause: Duration,
}

/// The state that splits and merges share.
#[derive(Default)]
pub(crate) struct Reshaping {
    /// The collections whose partitions are being split or merged.
    busy: Mutex<HashSet<CollectionRid>>,
    done: Mutex<Reshapes>,
    /// Signals that throughput has changed, which may require splits.
    pub(crate) wanted: Notify,
}

impl Reshaping {
    fn busy(&self) -> MutexGuard<'_, HashSet<CollectionRid>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, parents: usize, pause: Duration) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if parents == 1 {
            done.splits += 1;
        } else {
            done.merges += 1;
        }
        done.longest_pause = done.longest_pause.max(pause);
    }

    /// The splits and merges since the start.
    pub(crate) fn done(&self) -> Reshapes {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Splits a range in two, for an administrator.
pub(crate) async fn split(
    engine: &Arc<Inner>,
    path: &CollectionPath,
    range: &str,
) -> Result<Response, Error> {
    let (turn, collection) = Turn::begin(engine, path)?;
    let partition = find(&collection, range)?;
    if collection.definition.partition_key.is_system {
        return Err(Error::bad_request(
            "The range cannot be split: its collection has no partition key. Give it one first.",
        ));
    }
    let cut = cut::middle(&collection, partition).await?.ok_or_else(|| {
        Error::bad_request(
            "The range cannot be split: all its documents have one partition key, or share one \
             hash slot.",
        )
    })?;
    let reshaped = run(engine, turn, vec![Arc::clone(partition)], &[cut], None).await?;
    Ok(answer(&collection, &reshaped))
}

/// Merges a range with its right neighbour, for an administrator.
pub(crate) async fn merge(
    engine: &Arc<Inner>,
    path: &CollectionPath,
    range: &str,
) -> Result<Response, Error> {
    let (turn, collection) = Turn::begin(engine, path)?;
    let partition = find(&collection, range)?;
    let right =
        collection.partitions.iter().find(|it| it.range.area.start == partition.range.area.end);
    let right = right.ok_or_else(|| {
        Error::bad_request("The range cannot be merged: it is the last one of its collection.")
    })?;
    let size = |partition: &Partition| {
        let counters = partition.counters();
        counters.bytes + counters.index_bytes
    };
    if size(partition) + size(right) >= engine.options.sizes.partition {
        return Err(Error::bad_request(
            "The ranges cannot be merged: together they are larger than a partition may be.",
        ));
    }
    let needed = balance::partitions_needed(engine, &engine.catalog(), &collection);
    if collection.ranges.len() <= needed as usize {
        return Err(Error::bad_request(format!(
            "The ranges cannot be merged: the collection's throughput needs {needed} partitions. \
             Lower it first."
        )));
    }
    let parents = vec![Arc::clone(partition), Arc::clone(right)];
    let reshaped = run(engine, turn, parents, &[], None).await?;
    Ok(answer(&collection, &reshaped))
}

fn find<'a>(collection: &'a Served, range: &str) -> Result<&'a Arc<Partition>, Error> {
    let mut partitions = collection.partitions.iter();
    partitions.find(|it| it.range.id.to_string() == range).ok_or_else(Error::not_found)
}

fn answer(collection: &Served, reshaped: &Reshaped) -> Response {
    let children = reshaped.children.iter().map(|partition| {
        let (min, max) = collection.epk_bounds(&partition.range);
        let mut child = Object::new();
        child.insert("id", partition.range.id.to_string());
        child.insert("minInclusive", min);
        child.insert("maxExclusive", max);
        Value::Object(child)
    });
    let mut object = Object::new();
    let parents = reshaped.parents.iter().map(|id| Value::from(id.to_string()));
    object.insert("parents", Value::Array(parents.collect()));
    object.insert("children", Value::Array(children.collect()));
    object.insert("writesPausedMs", reshaped.pause.as_secs_f64() * 1000.0);
    Response {
        outcome: Outcome::Ok,
        body: Body::Resource(to_bytes(object)),
        etag: None,
        continuation: None,
        meta: Meta { owner: Some(collection.owner()), ..Meta::default() },
    }
}

/// The right to reshape a collection, held by one task at a time.
pub(crate) struct Turn {
    engine: Arc<Inner>,
    rid: CollectionRid,
}

impl Turn {
    /// Takes the turn and returns the collection as it is then: its partitions change only in a
    /// turn.
    pub(crate) fn begin(
        engine: &Arc<Inner>,
        path: &CollectionPath,
    ) -> Result<(Self, Arc<Served>), Error> {
        let rid = engine.catalog().collection(path).map_err(missing_collection)?.rid;
        let turn = Self::take(engine, rid)?;
        let collection = Arc::clone(switch::find(&engine.view(), rid)?);
        Ok((turn, collection))
    }

    pub(crate) fn take(engine: &Arc<Inner>, rid: CollectionRid) -> Result<Self, Error> {
        if !engine.reshaping.busy().insert(rid) {
            return Err(Error::new(
                Code::Conflict,
                "A range of this collection is being split or merged. Wait until it is done.",
            ));
        }
        Ok(Self { engine: Arc::clone(engine), rid })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.engine.reshaping.busy().remove(&self.rid);
    }
}

/// Moves the documents of `parents`, which are neighbours, into new partitions cut at these edges;
/// unchanged, or rewritten for another partition key. Runs in its own task: a caller that
/// disconnects does not stop it, closing does.
pub(crate) async fn run(
    engine: &Arc<Inner>,
    turn: Turn,
    parents: Vec<Arc<Partition>>,
    cuts: &[Edge],
    rekey: Option<Rekey>,
) -> Result<Reshaped, Error> {
    let (sender, receiver) = oneshot::channel();
    let view = engine.view();
    let collection = switch::find(&view, turn.rid)?;
    let ranges = ranges(collection, &parents, cuts)?;
    let (keys, cuts) = (Keys::of(collection), cuts.to_vec());
    // A waiting caller must not keep the old partitions.
    drop(view);
    let inner = Arc::clone(engine);
    engine.background.run(async move {
        let engine = inner;
        let is_rekey = rekey.is_some();
        let is_switch_lost = AtomicBool::new(false);
        let (rid, parents_of) = (turn.rid, parents.as_slice());
        let work =
            Work { engine: &engine, rid, keys, parents: parents_of, cuts, ranges, is_switch_lost };
        let moving = async {
            match rekey {
                None => work.run().await,
                Some(rekey) => rekey.run(&work).await,
            }
        };
        let moved = tokio::select! {
            moved = moving => moved,
            // Do not roll back: the switch may be in progress. The next start cleans up.
            () = engine.closing() => return,
        };
        let moved = match moved {
            Ok(moved) => moved,
            Err(error) => {
                if work.is_switch_lost.load(Ordering::Relaxed) {
                    // The turn is never released: another attempt would drop the new partitions.
                    std::mem::forget(turn);
                } else {
                    work.call_off().await;
                }
                drop(sender.send(Err(error)));
                return;
            }
        };
        drop(turn);
        let (children, pause) = moved;
        let ids: Vec<u32> = parents.iter().map(|parent| parent.range.id).collect();
        if !is_rekey {
            engine.reshaping.count(parents.len(), pause);
        }
        let millis = pause.as_secs_f64() * 1000.0;
        tracing::info!(parents = ?ids, children = children.len(), millis, "partitions reshaped");
        drop(sender.send(Ok(Reshaped { parents: ids, children, pause })));
        give_back_unread(&engine, parents).await;
    });
    receiver.await.map_err(|_| errors::shut_down())?
}

/// The new ranges. Their ids are used up only by the switch: until then nobody sees them.
fn ranges(
    collection: &Served,
    parents: &[Arc<Partition>],
    cuts: &[Edge],
) -> Result<Vec<Arc<Range>>, Error> {
    let mut ancestors: Vec<u32> = Vec::new();
    for parent in parents {
        ancestors.extend(parent.range.parents.iter().chain([&parent.range.id]));
    }
    ancestors.sort_unstable();
    ancestors.dedup();
    let known = ancestors.split_off(ancestors.len().saturating_sub(PARENTS_MAX));
    let first = parents.first().map(|first| first.range.area.start.clone());
    let mut start = first.ok_or_else(Error::not_found)?;
    let ends = cuts.iter().cloned().chain(parents.last().map(|last| last.range.area.end.clone()));
    let mut ranges = Vec::new();
    for (id, end) in (collection.next_range_id..).zip(ends) {
        let area = Area { start: replace(&mut start, end.clone()), end };
        ranges.push(Range::new(id, area, known.clone()));
    }
    share_numbers(collection, parents, &mut ranges)?;
    Ok(ranges.into_iter().map(Arc::new).collect())
}

/// Gives the new ranges disjoint number classes in slots that they share, with each other or with
/// remaining partitions.
fn share_numbers(
    collection: &Served,
    parents: &[Arc<Partition>],
    ranges: &mut [Range],
) -> Result<(), Error> {
    let slots: BTreeSet<u32> = ranges.iter().flat_map(|range| range.area.shared_slots()).collect();
    let is_parent = |it: &Arc<Partition>| parents.iter().any(|parent| Arc::ptr_eq(parent, it));
    for slot in slots {
        let others = collection.partitions.iter().filter(|it| !is_parent(it));
        let taken = others.flat_map(|it| &it.range.shared).filter(|shared| shared.slot == slot);
        let taken: Vec<Class> = taken.map(|shared| shared.class).collect();
        let sharing = ranges.iter_mut().filter(|range| range.area.is_cut_inside(slot));
        let sharing: Vec<_> = sharing.collect();
        let classes = share(&taken, sharing.len()).ok_or_else(|| {
            Error::bad_request("The range cannot be split: it has no document numbers left.")
        })?;
        for (range, class) in sharing.into_iter().zip(classes) {
            range.shared.push(SharedSlot { slot, class });
        }
    }
    Ok(())
}

/// Drops the old key spaces once nobody reads them: requests hold the catalog that names them.
async fn give_back_unread(engine: &Inner, parents: Vec<Arc<Partition>>) {
    for parent in parents {
        let (name, unread) = (parent.name.clone(), Arc::downgrade(&parent));
        drop(parent);
        while unread.strong_count() > 0 {
            if engine.is_closed() {
                // The catalog remembers the rest, and the next start drops it.
                return;
            }
            tokio::time::sleep(READERS_STEP).await;
        }
        engine.give_back(vec![name]).await;
    }
}

/// The error for a row that this build does not know: it must not be left behind.
fn unknown_row() -> Error {
    Error::new(Code::Internal, "The partition has rows unknown to this build.")
}

/// The error for one id that two partitions gave to different paths; one index cannot have both.
fn contradictory_names() -> Error {
    Error::bad_request("The ranges cannot be merged: their indexes use one id for different paths.")
}

/// A split or merge in progress.
struct Work<'a> {
    engine: &'a Arc<Inner>,
    rid: CollectionRid,
    keys: Keys,
    parents: &'a [Arc<Partition>],
    cuts: Vec<Edge>,
    ranges: Vec<Arc<Range>>,
    /// Whether it is unknown if the catalog names the new partitions.
    is_switch_lost: AtomicBool,
}

impl Work<'_> {
    async fn run(&self) -> Result<(Vec<Arc<Partition>>, Duration), Error> {
        let mut snapshots = Vec::new();
        let mut parents = Vec::new();
        for partition in self.parents {
            let (snapshot, next) = partition.begin_log().await?;
            snapshots.push(snapshot);
            parents.push(Parent { partition: Arc::clone(partition), next });
        }
        let source = Source::new(snapshots);
        let sides = Arc::new(Sides::new(self.keys.clone(), &source, &self.cuts).await?);
        let mut children = Vec::new();
        for range in &self.ranges {
            children.push(self.fill(&source, &sides, range).await?);
        }
        // A snapshot keeps deleted rows.
        drop((source, sides));
        replay::until_level(&self.keys, &mut parents, &mut children).await?;
        let switch = Switch { rid: self.rid, keys: self.keys.clone(), parents, children };
        let switched = self.engine.change_to_end(switch).await;
        let (children, stopped) = switched.map_err(|unchanged| self.note_unchanged(unchanged))?;
        Ok((children, stopped.elapsed()))
    }

    /// A switch whose outcome is unknown is never rolled back: the catalog may name the new
    /// partitions by now, and the old ones must not take a write again. The next start cleans up.
    fn note_unchanged(&self, unchanged: Unchanged) -> Error {
        if unchanged.is_lost {
            self.is_switch_lost.store(true, Ordering::Relaxed);
            self.parents.iter().for_each(|parent| parent.end_with(End::Broken));
        }
        unchanged.error
    }

    fn is_serving(&self, partition: &Arc<Partition>) -> bool {
        switch::serves(&self.engine.view(), self.rid, partition)
    }

    /// Undoes everything so far. Whatever cannot be removed here, the next attempt or the next
    /// start removes.
    async fn call_off(&self) {
        for parent in self.parents {
            {
                // A deletion stops partitions before its commit, so wait until none is in progress.
                let _turn = self.engine.control.lock().await;
                // A replaced or deleted partition must never take a write again.
                if !self.is_serving(parent) {
                    continue;
                }
                parent.cancel_move();
            }
            if let Err(error) = parent.end_log().await {
                tracing::warn!(%error, parent.name, "cannot remove the log of a split");
            }
        }
        self.engine.moved.notify_waiters();
        for range in &self.ranges {
            let name = key_space(self.rid, range.id);
            if let Err(error) = self.engine.store.drop_key_space(&name).await {
                tracing::warn!(%error, name, "cannot remove a part of a split");
            }
        }
    }

    /// Creates a new partition and copies its rows.
    async fn fill(
        &self,
        source: &Source,
        sides: &Arc<Sides>,
        range: &Arc<Range>,
    ) -> Result<Child, Error> {
        let name = key_space(self.rid, range.id);
        let store = &self.engine.store;
        // An earlier failed attempt may have left a key space.
        store.drop_key_space(&name).await.map_err(errors::from_store)?;
        let intake = Arc::new(Intake::new(range.area.clone(), Arc::clone(sides)));
        let counting = Arc::clone(&intake);
        let keep = move |key: &[u8], row: &[u8]| counting.takes(key, row);
        store.copy(source, &name, &keep).await.map_err(errors::from_store)?;
        let counters = intake.counted().ok_or_else(unknown_row)?;
        if source.is_contradictory.load(Ordering::Relaxed) {
            return Err(contradictory_names());
        }
        let partition = self.engine.open_partition(self.rid, range).await?;
        Ok(Child { partition: Arc::new(partition), counters })
    }
}
