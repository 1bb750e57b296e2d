//! A transaction: the operations of a batch on one logical key, all or nothing.
//!
//! The key is locked once. Each operation sees what those before it have done; what is queued in the
//! end is one transaction with one LSN. When one fails, nothing is queued.

use std::time::{Duration, Instant};

use partition::{
    Refused,
    budget::{self, Admission, Asked},
    charge::Meter,
    locks::Turn,
};
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    etag::Etag,
    request::{BatchKind, BatchOperation, CollectionPath},
    response::BatchResult,
};
use query::scope::{check_key, header_key};
use value::partition_key::PartitionKey;

use crate::{
    Inner,
    call::Call,
    documents::{
        Place, RowReader,
        batch::{check_answer, done, failed, left_out, operation, part},
        describe,
        incoming::Incoming,
        locate,
        patching::{self, Asked as Condition, Checked},
        read_found, refuse,
        stage::{Done, Stage},
        write::Retries,
    },
};

/// Bytes of documents that a transaction may read and make. The request bounds most of them, but
/// not those that are patched, deleted or replaced.
const TRANSACTION_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) struct Batch<'a> {
    pub(super) path: &'a CollectionPath,
    pub(super) operations: Vec<BatchOperation>,
    /// Whether any of them has one.
    pub(super) has_condition: bool,
    pub(super) options: &'a Options,
}

/// How long the conditions of patches may take together: the key is locked meanwhile.
const CONDITIONS_PATIENCE: Duration = Duration::from_secs(1);

/// What became of the operations, and the LSN of the transaction or of what it has read.
struct Ended {
    results: Vec<BatchResult>,
    lsn: u64,
}

/// How far a transaction has come.
#[derive(Default)]
struct Progress {
    results: Vec<BatchResult>,
    /// Bytes of documents in them.
    bytes: usize,
    /// Time that patches have taken.
    patching: Duration,
}

impl Progress {
    fn push(&mut self, Done { outcome, etag, document }: Done, charge: f64) {
        self.bytes += document.len();
        let document = Some(document).filter(|document| !document.is_empty());
        self.results.push(done(outcome, etag.map(Etag::text), document, charge));
    }
}

impl Batch<'_> {
    pub(super) async fn run(self, call: Call, meter: &mut Meter) -> Result<Response, Error> {
        let ends = [self.operations.first(), self.operations.last()];
        let content = ends.map(|end| end.map_or(&[][..], operation::mark));
        let asked = Asked::new(budget::Kind::Batch, self.path, content, self.options, meter);
        let mut admission = Admission::new(asked);
        let mut retries = Retries::new(call);
        loop {
            let mut spent = *meter;
            let attempt = self.attempt(&retries.call, &mut spent, &mut admission).await;
            let Some(answer) = retries.ended(attempt).await else { continue };
            *meter = spent;
            admission.settle(retries.call.engine.now_s(), meter.total());
            return answer;
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        meter: &mut Meter,
        admission: &mut Admission<'_>,
    ) -> Result<Response, Refused> {
        let engine = &call.engine;
        let collection = call.collection(self.path, self.options)?;
        let key = header_key(&collection, self.options)?;
        self.check_keys(&key)?;
        let place = Place::of(&collection, &key)?;
        admission.enter(engine.now_s(), &place.partition.budget)?;
        let reads = self.operations.iter().filter(|operation| operation.is_read()).count();
        if reads > 0 && self.options.is_session_read(engine.options.default_consistency) {
            let session = place.partition.check_session(self.options.session.as_ref());
            session.map_err(|error| refuse(error, &place, place.partition.lsn(), meter))?;
        }
        let ended = if reads == self.operations.len() {
            self.look(engine, &place, &key, meter).await.map_err(Refused::from)
        } else {
            match self.transact(engine, &place, &key, meter).await {
                Ok(ended) => Ok(ended),
                Err(refused) => Err(place.confirmed(refused).await),
            }
        };
        if !ended.as_ref().is_err_and(Refused::is_staged_again) {
            place.note_charge(engine, meter);
        }
        let Ended { results, lsn } = ended?;
        let mut meta = Meta::default();
        describe(&mut meta, &place, lsn);
        let (outcome, body) = (Outcome::Ok, Body::Batch(results));
        Ok(Response { outcome, body, etag: None, continuation: None, meta })
    }

    /// Operations of a transaction need not name a key; one that does must name this one.
    fn check_keys(&self, key: &PartitionKey) -> Result<(), Error> {
        let is_other = |named: &PartitionKey| {
            named != key && self.options.partition_key.as_ref() != Some(named)
        };
        let mut named = self.operations.iter().filter_map(|operation| operation.key.as_ref());
        if named.any(is_other) {
            return Err(Error::new(
                Code::PartitionKeyMismatch,
                "One or more operations within the batch request have a different partition key \
                 value than the request.",
            ));
        }
        Ok(())
    }

    /// Reads alone need no lock: one snapshot shows all of them the same.
    async fn look(
        &self,
        engine: &Inner,
        place: &Place<'_>,
        key: &PartitionKey,
        meter: &mut Meter,
    ) -> Result<Ended, Error> {
        let (snapshot, lsn) = place.partition.read()?;
        let reader = RowReader::Snapshot(&*snapshot);
        let now = engine.clock.now_seconds();
        let before = *meter;
        let mut progress = Progress::default();
        for operation in &self.operations {
            let mut spent = part(engine, operation, self.options, meter);
            let BatchKind::Read { id } = &operation.kind else { continue };
            let found = match check_answer(progress.bytes) {
                Ok(()) => match locate(place, key, id, &reader, now).await? {
                    Some(found) => Ok(found),
                    None => Err(refuse(Error::not_found(), place, lsn, &mut spent)),
                },
                Err(error) => Err(error),
            };
            match found {
                Ok(found) => {
                    let read =
                        read_found(found, &operation::options(operation, self.options), &mut spent);
                    meter.add(&spent);
                    progress.push(operation::told(operation, read), spent.total());
                }
                Err(error) => {
                    *meter = before;
                    let results = self.failed(progress, error, &spent, meter);
                    return Ok(Ended { results, lsn });
                }
            }
        }
        Ok(Ended { results: progress.results, lsn })
    }

    async fn transact(
        &self,
        engine: &Inner,
        place: &Place<'_>,
        key: &PartitionKey,
        meter: &mut Meter,
    ) -> Result<Ended, Refused> {
        let mut bytes = 0;
        for operation in &self.operations {
            bytes += operation::bytes(operation);
            if let BatchKind::Patch { id, .. } = &operation.kind {
                bytes += patching::stored_length(place, id).await?;
            }
        }
        let bytes = bytes.min(TRANSACTION_BYTES_MAX);
        let turn = if self.has_condition { Turn::Long } else { Turn::Short };
        let mut stage = Stage::begin_turn(engine, place, key, bytes, turn).await?;
        let before = *meter;
        let mut progress = Progress::default();
        for operation in &self.operations {
            let mut spent = part(engine, operation, self.options, meter);
            let result = match check_answer(progress.bytes).and_then(|()| check_size(&stage)) {
                Ok(()) => self.apply(operation, &mut stage, &mut progress, &mut spent).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(done) => {
                    meter.add(&spent);
                    progress.push(operation::told(operation, done), spent.total());
                }
                Err(error) if is_own(error.code) => {
                    *meter = before;
                    let results = self.failed(progress, error, &spent, meter);
                    drop(stage);
                    return Ok(Ended { results, lsn: place.unsettled().lsn().await? });
                }
                Err(error) => {
                    *meter = before;
                    return Err(error.into());
                }
            }
        }
        let committed = match stage.commit().await {
            Ok(published) => published.lsn().await.map_err(Refused::from),
            Err(refused) => Err(refused),
        };
        // Nothing was done if it was refused.
        let lsn = committed.inspect_err(|_| *meter = before)?;
        Ok(Ended { results: progress.results, lsn })
    }

    async fn apply(
        &self,
        operation: &BatchOperation,
        stage: &mut Stage<'_>,
        progress: &mut Progress,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let options = &operation::options(operation, self.options);
        let (collection, key) = (stage.place.collection, stage.key);
        let parse = |body| {
            let incoming = Incoming::parse(body, collection)?;
            check_key(collection, &incoming.value, key, options)?;
            Ok::<_, Error>(incoming)
        };
        match &operation.kind {
            BatchKind::Create { body } => stage.create(parse(body)?, false, options, meter).await,
            BatchKind::Upsert { body } => stage.create(parse(body)?, true, options, meter).await,
            BatchKind::Read { id } => stage.read(id, options, meter).await,
            BatchKind::Replace { id, body } => stage.replace(id, parse(body), options, meter).await,
            BatchKind::Delete { id } => stage.delete(id, options, meter).await,
            BatchKind::Patch { id, patch } => {
                let patch = patch.as_ref().map_err(Clone::clone)?;
                let patch = Checked::new(patch, collection)?;
                let began = Instant::now();
                let left = CONDITIONS_PATIENCE.saturating_sub(progress.patching);
                let asked = Some(Condition::within(left));
                let done = stage.patch(id, &patch, asked, options, meter).await;
                if patch.has_condition() {
                    progress.patching += began.elapsed();
                }
                done?.ok_or_else(|| {
                    let message = "The conditions of the batch take too long.";
                    stage.refuse(Error::new(Code::Timeout, message), meter)
                })
            }
        }
    }

    /// The results when the operation behind `progress` has failed. Those before it have cost a look
    /// each, since nothing of them is kept. If the answer is too large, that is told of the last
    /// operation, as the service does: it is the answer to all of them.
    fn failed(
        &self,
        progress: Progress,
        error: Error,
        spent: &Meter,
        meter: &mut Meter,
    ) -> Vec<BatchResult> {
        let mut looked = meter.part(1);
        looked.lookup();
        let tried = progress.results.len();
        let mut results = Vec::with_capacity(self.operations.len());
        for _ in 0..tried {
            meter.add(&looked);
            results.push(left_out(looked.total()));
        }
        meter.add(spent);
        let is_of_all = error.code == Code::ResponseTooLarge;
        let failed = failed(error, spent.total());
        if is_of_all {
            results.resize_with(self.operations.len().saturating_sub(1), || left_out(0.0));
            results.push(failed);
        } else {
            results.push(failed);
            results.resize_with(self.operations.len(), || left_out(0.0));
        }
        results
    }
}

fn check_size(stage: &Stage<'_>) -> Result<(), Error> {
    if stage.bytes() <= TRANSACTION_BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(
        Code::TooLarge,
        format!("The documents of a transaction may have {TRANSACTION_BYTES_MAX} bytes together."),
    ))
}

/// Whether a failure is the operation's own, and not the whole request's.
fn is_own(code: Code) -> bool {
    matches!(
        code,
        Code::BadRequest
            | Code::PartitionKeyMismatch
            | Code::PartitionKeyQuota
            | Code::CollectionQuota
            | Code::StorageFull
            | Code::NotFound
            | Code::Conflict
            | Code::PreconditionFailed
            | Code::PatchConditionFailed
            | Code::Timeout
            | Code::TooLarge
            | Code::ResponseTooLarge
    )
}
