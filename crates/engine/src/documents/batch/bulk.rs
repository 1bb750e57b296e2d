//! Operations that have nothing to do with each other: each has its own key, and its own fate.
//!
//! They are queued one after the other and waited for together, so that they share commits; refusals
//! wait with them for what they were decided on. A read waits for what was queued before it.

use catalog::area::Area;
use partition::charge::Meter;
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, PartitionPoint, Response,
    request::{BatchKind, BatchOperation, CollectionPath, DocumentPath},
    response::BatchResult,
};
use query::{scope::Scope, served::Served};
use value::partition_key::PartitionKey;

use crate::{
    call::Call,
    documents::{
        self,
        batch::{check_answer, done, failed, left_out, operation, part},
        write::{Queued, Retries, Write},
    },
};

pub(super) struct Bulk<'a> {
    pub(super) path: &'a CollectionPath,
    pub(super) operations: Vec<BatchOperation>,
    pub(super) stops_at_failure: bool,
    pub(super) options: &'a Options,
}

/// What is known of an operation.
enum Slot {
    /// Its write is queued or refused, at this charge.
    Queued(Box<Queued>, f64),
    Ended(BatchResult),
}

/// How far a bulk has come.
struct Progress {
    slots: Vec<Slot>,
    /// Bytes of documents in the answer.
    bytes: usize,
    points: Vec<PartitionPoint>,
    has_failed: bool,
    /// How long all of them together wait for partitions, and what the next one goes by: what one had
    /// to look up again is known to those behind it.
    retries: Retries,
}

impl Bulk<'_> {
    pub(super) async fn run(self, call: Call, meter: &mut Meter) -> Result<Response, Error> {
        let collection = call.collection(self.path, self.options)?;
        let area = self.area(&collection)?;
        let mut progress = Progress::new(call);
        for operation in &self.operations {
            if progress.has_failed && self.stops_at_failure {
                progress.slots.push(Slot::Ended(left_out(0.0)));
                continue;
            }
            let mut spent = part(&progress.retries.call.engine, operation, self.options, meter);
            let tried = match self.check(operation, &collection, area.as_ref(), &progress) {
                Ok(()) => self.try_one(operation, &mut progress, &mut spent).await,
                Err(error) => Err(error),
            };
            meter.add(&spent);
            if let Err(error) = tried {
                progress.fail(error, spent.total());
            }
        }
        progress.settle().await;
        let ended = progress.slots.into_iter().filter_map(|slot| match slot {
            Slot::Ended(result) => Some(result),
            Slot::Queued(..) => None,
        });
        let body = Body::Batch(ended.collect());
        let partitions = Scope::points(&collection, self.options, progress.points).await?;
        let meta = Meta { partitions, owner: Some(collection.owner()), ..Meta::default() };
        Ok(Response { outcome: Outcome::Ok, body, etag: None, continuation: None, meta })
    }

    /// The range that the caller believes its documents to be in.
    fn area(&self, collection: &Served) -> Result<Option<Area>, Error> {
        let Some(range_id) = &self.options.range_id else { return Ok(None) };
        match collection.range_by_id(range_id) {
            // COMPAT: JavaScript hashes some keys its own way, and does not recover when it is told.
            Ok(_) if self.options.keeps_old_ranges => Ok(None),
            Ok(place) => Ok(Some(collection.ranges[place].area.clone())),
            Err(gone) => match collection.past_range(range_id) {
                Some(_) if self.options.keeps_old_ranges => Ok(None),
                _ => Err(gone),
            },
        }
    }

    /// Refuses what need not be tried.
    fn check(
        &self,
        operation: &BatchOperation,
        collection: &Served,
        area: Option<&Area>,
        progress: &Progress,
    ) -> Result<(), Error> {
        check_answer(progress.bytes)?;
        match (area, self.key(operation)) {
            (Some(area), Some(key)) if is_elsewhere(collection, area, key) => Err(Error::new(
                Code::PartitionGone,
                "The partition key is not in the requested partition key range.",
            )),
            _ => Ok(()),
        }
    }

    fn key<'b>(&'b self, operation: &'b BatchOperation) -> Option<&'b PartitionKey> {
        operation.key.as_ref().or(self.options.partition_key.as_ref())
    }

    async fn try_one(
        &self,
        operation: &BatchOperation,
        progress: &mut Progress,
        meter: &mut Meter,
    ) -> Result<(), Error> {
        let partition_key = self.key(operation).cloned();
        let options = &Options { partition_key, ..operation::options(operation, self.options) };
        let path =
            |id: &String| DocumentPath { collection: self.path.clone(), document: id.clone() };
        let collection = self.path;
        let queued = match &operation.kind {
            BatchKind::Create { body } => {
                Write::Create { collection, body, upsert: false }
                    .queue(options, meter, &mut progress.retries)
                    .await
            }
            BatchKind::Upsert { body } => {
                Write::Create { collection, body, upsert: true }
                    .queue(options, meter, &mut progress.retries)
                    .await
            }
            BatchKind::Replace { id, body } => {
                Write::Replace { path: &path(id), body }
                    .queue(options, meter, &mut progress.retries)
                    .await
            }
            BatchKind::Delete { id } => {
                Write::Delete { path: &path(id) }.queue(options, meter, &mut progress.retries).await
            }
            BatchKind::Patch { id, patch } => {
                let patch = patch.as_ref().map_err(Clone::clone)?;
                Write::Patch { path: &path(id), patch }
                    .queue(options, meter, &mut progress.retries)
                    .await
            }
            BatchKind::Read { id } => {
                progress.settle().await;
                let mut response =
                    documents::read(&progress.retries.call, &path(id), options, meter).await?;
                if operation.is_minimal {
                    response.body = Body::Empty;
                }
                progress.bytes += document_bytes(&response);
                let result = progress.answered(response, meter.total());
                progress.slots.push(Slot::Ended(result));
                return Ok(());
            }
        }?;
        progress.bytes += queued.document_bytes();
        progress.has_failed |= queued.is_refused();
        progress.slots.push(Slot::Queued(queued.into(), meter.total()));
        Ok(())
    }
}

impl Progress {
    fn new(call: Call) -> Self {
        let (slots, points, retries) = (Vec::new(), Vec::new(), Retries::new(call));
        Self { slots, bytes: 0, points, has_failed: false, retries }
    }

    fn fail(&mut self, error: Error, charge: f64) {
        self.has_failed = true;
        self.slots.push(Slot::Ended(failed(error, charge)));
    }

    /// Waits for all that is queued.
    async fn settle(&mut self) {
        for at in 0..self.slots.len() {
            if matches!(self.slots[at], Slot::Ended(_)) {
                continue;
            }
            let slot = std::mem::replace(&mut self.slots[at], Slot::Ended(left_out(0.0)));
            let Slot::Queued(queued, charge) = slot else { continue };
            let result = match queued.answer().await {
                Ok(response) => self.answered(response, charge),
                Err(error) => {
                    self.has_failed = true;
                    failed(error, charge)
                }
            };
            self.slots[at] = Slot::Ended(result);
        }
    }

    /// The result of an operation from its answer; notes how far its partition had come.
    fn answered(&mut self, response: Response, charge: f64) -> BatchResult {
        for point in response.meta.partitions {
            let known = self.points.iter_mut().find(|it| it.range_id == point.range_id);
            match known {
                Some(known) => known.lsn = known.lsn.max(point.lsn),
                None => self.points.push(point),
            }
        }
        let document = match response.body {
            Body::Resource(document) => Some(document),
            _ => None,
        };
        done(response.outcome, response.etag, document, charge)
    }
}

fn document_bytes(response: &Response) -> usize {
    match &response.body {
        Body::Resource(document) => document.len(),
        _ => 0,
    }
}

/// Whether a key that is named in full lies outside an area.
fn is_elsewhere(collection: &Served, area: &Area, key: &PartitionKey) -> bool {
    let definition = &collection.definition.partition_key;
    key.0.len() == definition.paths.len()
        && !area.has_key(collection.slot(key), || key.effective(definition.hashing))
}
