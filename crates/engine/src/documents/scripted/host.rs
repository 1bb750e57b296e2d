//! Carries out a script's operations like a client's, in the transaction of the script.

use std::sync::Arc;

use bytes::Bytes;
use partition::charge::{Meter, affordable_creations};
use protocol::{
    Body, BoxFuture, Code, Error, Options, Outcome,
    query::QuerySource,
    request::{CollectionPath, IndexingDirective},
};
use query::{execution::inside::Inside, scope::check_key, served::Served};
use script::{Answer, Call, Host, Operation, Promise, Reply, Target, host::Name};

use crate::{
    Inner,
    documents::{
        incoming::Incoming,
        scripted::queried,
        stage::{Done, Stage},
        staging::SCRIPT_BYTES_MAX,
    },
    usage,
};

/// Seconds' worth of the partition's throughput that one script may spend: it may run no longer.
const SPENDING_S: f64 = 5.0;

/// The most that a script may create before it waits for the answers. An expired document with the
/// id of a new one takes memory too, so it is not much.
const PROMISE_MAX: Promise = Promise { creations: 16, bytes: 128 * 1024 };

/// The query of `readDocuments`.
const EVERYTHING: &str = "SELECT * FROM root";

/// A transaction, as its script sees it.
pub(super) struct Session<'s, 'p> {
    pub(super) engine: &'s Arc<Inner>,
    path: &'s CollectionPath,
    collection: &'s Arc<Served>,
    pub(super) stage: &'s mut Stage<'p>,
    /// They contain the key of the transaction.
    options: Options,
    pub(super) meter: &'s mut Meter,
    /// At this charge the script's operations are refused.
    spending_max: f64,
    /// The collection's size and limit in megabytes (-1: no limit).
    size_mb: (u64, i64),
    /// The indexing policy has changed since the transaction began, which must restart.
    pub(super) is_stale: bool,
}

impl<'s, 'p> Session<'s, 'p> {
    pub(super) fn new(
        engine: &'s Arc<Inner>,
        path: &'s CollectionPath,
        collection: &'s Arc<Served>,
        stage: &'s mut Stage<'p>,
        meter: &'s mut Meter,
    ) -> Self {
        let rate = stage.place.partition.budget.enforced();
        let spending_max = rate.map_or(f64::INFINITY, |rate| meter.total() + SPENDING_S * rate);
        let options = Options { partition_key: Some(stage.key.clone()), ..Options::default() };
        let quota = usage::quota(engine, collection);
        let size_mb = (quota.collection_bytes >> 20, quota.collection_size_max_kb >> 10);
        let is_stale = false;
        Self { engine, path, collection, stage, options, meter, spending_max, size_mb, is_stale }
    }

    /// Charges for a script's work apart from its operations.
    pub(super) fn charge(&mut self) {
        self.meter.script();
    }

    async fn carry_out(&mut self, call: &Call) -> Result<Reply, Error> {
        let options = self.options_of(call)?;
        let name = match &call.target {
            Target::Document(name) => self.id(name).await?,
            Target::Documents => String::new(),
            Target::Attachments(document) => {
                return self.on_attachments(call, document, options).await;
            }
            Target::Attachment(document, name) => {
                return self.on_attachment(call, (document, name), &options).await;
            }
        };
        let done = match (&call.target, call.operation) {
            (Target::Documents, Operation::Query) => return self.query(call, options).await,
            (Target::Documents, Operation::ReadFeed) => return self.feed(options).await,
            (Target::Documents, Operation::Create | Operation::Upsert) => {
                let incoming = self.incoming(call)?;
                let upsert = call.operation == Operation::Upsert;
                self.stage.create(incoming, upsert, &options, self.meter).await?
            }
            (Target::Document(_), Operation::Read) => {
                self.stage.read(&name, &options, self.meter).await?
            }
            (Target::Document(_), Operation::Replace) => {
                let incoming = self.incoming(call);
                self.stage.replace(&name, incoming, &options, self.meter).await?
            }
            (Target::Document(_), Operation::Delete) => {
                self.stage.delete(&name, &options, self.meter).await?
            }
            _ => return Err(Error::bad_request("The link is not valid for this operation.")),
        };
        Ok(self.reply(call, done))
    }

    fn incoming<'b>(&self, call: &'b Call) -> Result<Incoming<'b>, Error> {
        let body = call.body.as_deref().unwrap_or_default().as_bytes();
        let incoming = Incoming::parse(body, self.collection)?;
        check_key(self.collection, &incoming.value, self.stage.key, &self.options)?;
        Ok(incoming)
    }

    fn options_of(&self, call: &Call) -> Result<Options, Error> {
        let indexing_directive = match call.index_action.as_deref() {
            None => IndexingDirective::Default,
            Some(action) => match action.to_ascii_lowercase().as_str() {
                "default" => IndexingDirective::Default,
                "include" => IndexingDirective::Include,
                "exclude" => IndexingDirective::Exclude,
                _ => return Err(Error::bad_request("The indexAction is unknown.")),
            },
        };
        let max_item_count = match call.page_size {
            None | Some(-1) => None,
            Some(size) => Some(
                u32::try_from(size)
                    .ok()
                    .filter(|size| *size > 0)
                    .ok_or_else(|| Error::bad_request("The pageSize must be positive, or -1."))?,
            ),
        };
        Ok(Options {
            if_match: call.if_match.clone(),
            if_none_match: call.if_none_match.clone(),
            indexing_directive,
            max_item_count,
            continuation: call.continuation.clone(),
            ..self.options.clone()
        })
    }

    async fn query(&mut self, call: &Call, options: Options) -> Result<Reply, Error> {
        let source = queried::source(call, self.meter).await?;
        self.page(source, options).await
    }

    async fn feed(&mut self, options: Options) -> Result<Reply, Error> {
        self.page(QuerySource::new(EVERYTHING), options).await
    }

    async fn page(&mut self, source: QuerySource, options: Options) -> Result<Reply, Error> {
        let view = self.stage.view().await?;
        let inside = Inside {
            reading: Arc::clone(&self.engine.reading),
            path: self.path.clone(),
            collection: Arc::clone(self.collection),
            view,
            options,
            source,
            now: self.stage.now,
        };
        let Some(page) = inside.page(self.meter).await? else {
            self.is_stale = true;
            return Err(Error::new(Code::RetryWith, "The indexing policy has changed."));
        };
        let items = match page.body {
            Body::Feed { items, .. } => items,
            _ => Vec::new(),
        };
        Ok(self.rows(&items, page.continuation))
    }

    /// The id of a document, given by name or rid.
    pub(super) async fn id(&mut self, name: &Name) -> Result<String, Error> {
        match name {
            Name::Id(id) => Ok(id.clone()),
            Name::Rid(rid) => match self.stage.id_of(rid).await? {
                Some(id) => Ok(id),
                None => Err(self.stage.refuse(Error::not_found(), self.meter)),
            },
        }
    }

    /// A page as a JSON array.
    pub(super) fn rows(&self, items: &[Bytes], continuation: Option<String>) -> Reply {
        let mut rows =
            Vec::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 2);
        rows.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                rows.push(b',');
            }
            rows.extend_from_slice(item);
        }
        rows.push(b']');
        Reply { status: 200, body: Some(text(rows)), continuation, size_mb: Some(self.size_mb) }
    }

    pub(super) fn reply(&self, call: &Call, Done { outcome, document, .. }: Done) -> Reply {
        let status = match outcome {
            Outcome::Ok => 200,
            Outcome::Created => 201,
            Outcome::Deleted => 204,
            Outcome::NotModified => 304,
        };
        let body = (!document.is_empty() && !call.is_brief).then(|| text(document.into()));
        Reply { status, body, continuation: None, size_mb: Some(self.size_mb) }
    }
}

impl Host for Session<'_, '_> {
    fn call(&mut self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async move {
            let is_spent = self.meter.total() >= self.spending_max || !self.stage.has_room();
            if is_spent && !call.is_promised {
                return Ok(Answer::Refused);
            }
            match self.carry_out(&call).await {
                Ok(reply) => Ok(Answer::Done(reply)),
                Err(error) => match status(error.code).filter(|_| !self.is_stale) {
                    Some(status) => {
                        let body = Some(error.message);
                        Ok(Answer::Done(Reply { status, body, ..Reply::default() }))
                    }
                    None => Err(error),
                },
            }
        })
    }

    /// As much as surely costs less than what the script may still spend.
    fn promise(&self) -> Promise {
        if self.stage.bytes() > SCRIPT_BYTES_MAX / 2 {
            return Promise::default();
        }
        let (creations, bytes) = affordable_creations(self.spending_max - self.meter.total());
        PROMISE_MAX.at_most(creations, bytes)
    }
}

/// The text of what we have written ourselves.
fn text(written: Vec<u8>) -> String {
    String::from_utf8(written)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The status code that a script gets in an error; `None` if the script must not see the error.
fn status(code: Code) -> Option<u16> {
    Some(match code {
        Code::BadRequest | Code::PartitionKeyMismatch => 400,
        Code::Forbidden
        | Code::PartitionKeyQuota
        | Code::CollectionQuota
        | Code::StorageFull
        | Code::LimitReached => 403,
        Code::NotFound => 404,
        Code::Timeout => 408,
        Code::Conflict => 409,
        Code::PreconditionFailed => 412,
        Code::TooLarge | Code::ResponseTooLarge => 413,
        Code::RetryWith => 449,
        _ => return None,
    })
}
