//! The sweep: removes expired documents in the background, in small steps and without a charge.
//!
//! Readers never see an expired document, so the sweep need not hurry: it rests as long as it
//! works. Each removal is an ordinary transaction of its key, with its own LSN. The sweep also
//! removes expiry rows that no document needs, which earlier builds left.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use partition::{
    Partition, Refused, errors,
    keys::{self, LogicalKey, u64_at},
    locks::Turn,
    rows::{Damaged, Header},
};
use protocol::{Code, Error, rid::CollectionRid};
use query::{expiry::Expiry, rounds::Rounds, scope::document_key, served::Served};
use value::{json, partition_key::PartitionKey};

use crate::{
    Inner,
    documents::{
        Place,
        stage::{Published, Stage},
    },
};

/// Documents per step, and those that are read at once.
const STEP: usize = 64;
const READ: usize = 16;
/// Bytes of documents removed in one transaction, unless it is a single document.
const TRANSACTION_BYTES: usize = 1 << 20;
/// The longest rest after a step.
const REST_MAX: Duration = Duration::from_millis(200);

/// A partition, as its collection and its range.
type At = (CollectionRid, u32);

/// Sweeps all collections until the database closes. Partitions take turns, a step each, so that
/// constant expiry in one does not delay the others.
pub(crate) async fn look_after(engine: Arc<Inner>) {
    // Where the next step of a partition begins, if its last one left something.
    let mut open: BTreeMap<At, Bytes> = BTreeMap::new();
    let (mut rounds, mut known) = (Rounds::default(), BTreeSet::new());
    loop {
        if open.is_empty() {
            tokio::select! {
                () = tokio::time::sleep(engine.options.sweep_interval) => {}
                () = engine.closing() => return,
            }
        }
        let began = Instant::now();
        if engine.is_due(&mut rounds) {
            known = engine.view().with_expiry();
        }
        let mut turn = known.clone();
        open.retain(|at, _| turn.contains(at));
        // Partitions with nothing left wait for the next full round.
        while !turn.is_empty() {
            for at in &turn {
                let after = open.remove(at);
                // A queued removal is carried out in any case.
                let swept = tokio::select! {
                    swept = step(&engine, *at, after) => swept,
                    () = engine.closing() => return,
                };
                match swept {
                    Ok(Some(after)) => drop(open.insert(*at, after)),
                    Ok(None) => {}
                    Err(error) if is_passing(error.code) => {}
                    Err(error) => {
                        tracing::warn!(%error, collection = %at.0, "the sweep starts again");
                    }
                }
            }
            if began.elapsed() >= engine.options.sweep_interval {
                break;
            }
            turn = open.keys().copied().collect();
        }
    }
}

/// Whether the error is temporary and gone by the next round.
fn is_passing(code: Code) -> bool {
    matches!(
        code,
        Code::PartitionSplitting
            | Code::NotNow
            | Code::Unknown
            | Code::OwnerNotFound
            | Code::TooManyRequests
            | Code::StorageFull
    )
}

/// The partition and its collection, as they are now.
fn current(engine: &Inner, (rid, range_id): At) -> Option<(Arc<Served>, Arc<Partition>)> {
    let view = engine.view();
    let collection = view.by_rid(rid)?;
    let partition = collection.partitions.iter().find(|it| it.range.id == range_id)?;
    Some((Arc::clone(collection), Arc::clone(partition)))
}

/// Sweeps one step of a partition, and rests as long as it took; returns where the next step
/// begins, if anything is left.
async fn step(engine: &Inner, at: At, after: Option<Bytes>) -> Result<Option<Bytes>, Error> {
    let began = Instant::now();
    let Some((collection, partition)) = current(engine, at) else { return Ok(None) };
    let step = Step { engine, collection: &collection, partition: &partition };
    let after = step.run(after).await?;
    drop((collection, partition));
    if after.is_some() {
        tokio::time::sleep(began.elapsed().min(REST_MAX)).await;
    }
    Ok(after)
}

/// Some rows that are due.
struct Step<'a> {
    engine: &'a Inner,
    collection: &'a Served,
    partition: &'a Arc<Partition>,
}

/// An expired document.
struct Expired {
    id: String,
    bytes: usize,
}

/// Expired documents by their logical keys.
type ByKey = BTreeMap<Vec<u8>, (PartitionKey, Vec<Expired>)>;

impl Step<'_> {
    /// Examines the rows after `after`; returns the last of them if there are more.
    async fn run(&self, after: Option<Bytes>) -> Result<Option<Bytes>, Error> {
        let expiry = Expiry::new(self.collection, self.engine.clock.now_seconds());
        let (snapshot, _) = self.partition.read()?;
        let due = expiry.due(&*snapshot, after, STEP).await?;
        // Requests go first; the sweep can wait for the next round.
        if !due.rows.is_empty() {
            self.partition.admit().await?;
        }
        let mut expired = ByKey::new();
        for row_keys in due.rows.chunks(READ) {
            let numbers = row_keys.iter().map(|row_key| keys::number_at(row_key));
            let numbers: Option<Vec<u64>> = numbers.collect();
            let numbers = numbers.ok_or_else(|| errors::from_damaged(Damaged("T")))?;
            let wanted: Vec<Bytes> = numbers.iter().map(|it| keys::document(*it)).collect();
            let rows = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
            for ((row_key, number), row) in row_keys.iter().zip(numbers).zip(rows) {
                match row {
                    Some(row) => self.look_at(row_key, number, &row, expiry, &mut expired).await?,
                    // Numbers are never reused, so no writer needs this row.
                    None => self.forget(row_key)?,
                }
            }
        }
        let mut queued = Vec::new();
        for (key, documents) in expired.into_values() {
            self.remove(&key, &documents, &mut queued).await?;
        }
        for published in queued {
            published.lsn().await?;
        }
        Ok(due.rows.last().cloned().filter(|_| due.has_more))
    }

    /// Notes an expired document; removes an expiry row that its document does not need.
    async fn look_at(
        &self,
        row_key: &Bytes,
        number: u64,
        row: &Bytes,
        expiry: Expiry,
        expired: &mut ByKey,
    ) -> Result<(), Error> {
        let time = u64_at(row_key, 1).ok_or_else(|| errors::from_damaged(Damaged("T")))?;
        let (header, text) = Header::decode(row).map_err(errors::from_damaged)?;
        let document = json::parse(&text).map_err(|_| errors::from_damaged(Damaged("D")))?;
        let key = document_key(self.collection, &document);
        let place = Place::of(self.collection, &key)?;
        if expiry.is_over(&header, &text) {
            let id = document.get("id").as_str().unwrap_or_default().to_owned();
            let group = expired.entry(place.key.as_bytes().to_vec());
            let (_, ids) = group.or_insert_with(|| (key, Vec::new()));
            ids.push(Expired { id, bytes: text.len() });
        }
        let definition = self.collection.definition_of(header.index_generation);
        if header.expiry(definition.default_ttl) != Some(time) {
            let key = place_key(self.collection, &document);
            self.forget_stale(row_key, time, number, &key).await?;
        }
        Ok(())
    }

    /// Removes documents of one key, a transaction at a time.
    async fn remove(
        &self,
        key: &PartitionKey,
        documents: &[Expired],
        queued: &mut Vec<Published>,
    ) -> Result<(), Error> {
        let mut rest = documents;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |document: &&Expired| {
                bytes += document.bytes;
                bytes <= TRANSACTION_BYTES
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (now, later) = rest.split_at(count);
            rest = later;
            match self.remove_together(key, now).await {
                // One transaction cannot hold all their terms.
                Err(Refused::Error(error)) if error.code == Code::TooLarge && now.len() > 1 => {
                    for document in now.chunks(1) {
                        queued.push(self.remove_together(key, document).await.map_err(refused)?);
                    }
                }
                published => queued.push(published.map_err(refused)?),
            }
        }
        Ok(())
    }

    async fn remove_together(
        &self,
        key: &PartitionKey,
        documents: &[Expired],
    ) -> Result<Published, Refused> {
        let place = Place::of(self.collection, key)?;
        let bytes = documents.iter().map(|document| document.bytes).sum();
        let mut stage = Stage::begin(self.engine, &place, key, bytes).await?;
        for document in documents {
            // Looking up an expired document removes it; a renewed one stays.
            stage.newest(&document.id).await?;
        }
        stage.commit().await
    }

    /// Removes an expiry row if its document is unchanged and does not need it.
    async fn forget_stale(
        &self,
        row_key: &Bytes,
        time: u64,
        number: u64,
        key: &[u8],
    ) -> Result<(), Error> {
        let _guard = self.partition.lock(key, Turn::Short).await;
        let rows = self.partition.newest(&[keys::document(number)]).await?;
        if let Some(row) = rows.into_iter().next().flatten() {
            let (header, _) = Header::decode(&row).map_err(errors::from_damaged)?;
            let definition = self.collection.definition_of(header.index_generation);
            if header.expiry(definition.default_ttl) == Some(time) {
                return Ok(());
            }
        }
        self.forget(row_key)
    }

    fn forget(&self, row_key: &Bytes) -> Result<(), Error> {
        self.partition.forget_unlogged(row_key)
    }
}

/// The lock of a document's key.
fn place_key(collection: &Served, document: &value::Value) -> Vec<u8> {
    let key = document_key(collection, document);
    LogicalKey::new(collection.slot(&key), &key).as_bytes().to_vec()
}

/// The error of a removal that was not queued: the definition has changed, or other partitions take
/// over.
fn refused(refused: Refused) -> Error {
    match refused {
        Refused::Stale => errors::moving(),
        Refused::Error(error) => error,
    }
}
