//! Queries of a transaction over its own key, which see its changes.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use partition::charge::Meter;
use protocol::{Error, Meta, Options, Response, query::QuerySource, request::CollectionPath};
use store::Snapshot;
use tokio::runtime::Handle;

use crate::{
    execution::{INLINE_BYTES_MAX, Work, apart, prepared::Prepared},
    reading::Reading,
    scope::Scope,
    served::Served,
};

/// A query of a transaction.
pub struct Inside {
    /// The state that readers share.
    pub reading: Arc<Reading>,
    /// The path by which the request named the collection.
    pub path: CollectionPath,
    /// The collection that the transaction writes to.
    pub collection: Arc<Served>,
    /// The transaction's view of the rows.
    pub view: Arc<dyn Snapshot>,
    /// Options with the key of the transaction.
    pub options: Options,
    /// The query.
    pub source: QuerySource,
    /// The second of the transaction: documents expired for its writes are expired here, too.
    pub now: u64,
}

impl Inside {
    /// A page of the rows; `None` if the indexing policy has changed since the transaction began.
    /// The transaction was already admitted, so its queries are not admitted again.
    pub async fn page(self, meter: &mut Meter) -> Result<Option<Response>, Error> {
        if self.source.bytes > INLINE_BYTES_MAX {
            return apart::run_at_once(meter, move |meter, is_abandoned| {
                let work = self.work()?;
                Handle::current().block_on(work.run_inside(meter, is_abandoned))
            })
            .await;
        }
        let work = self.work()?;
        if !work.prepared.program.shape().is_slow {
            return work.run_inside(meter, &Arc::default()).await;
        }
        apart::run_at_once(meter, move |meter, is_abandoned| {
            Handle::current().block_on(work.run_inside(meter, is_abandoned))
        })
        .await
    }

    fn work(self) -> Result<Work, Error> {
        let Inside { reading, path, collection, view, options, source, now } = self;
        let started = Instant::now();
        let now_millis = i64::try_from(now.saturating_mul(1000)).unwrap_or(i64::MAX);
        let prepared = Prepared::new(Arc::new(source), &collection, &reading.plans, now_millis)?;
        let scope = Scope::of(&collection, &options)?;
        let (compiled, view) = (started.elapsed(), Some(view));
        Ok(Work {
            reading,
            path,
            collection,
            prepared,
            scope,
            options,
            now_millis,
            started,
            compiled,
            begun_in: None,
            view,
        })
    }
}

impl Work {
    async fn run_inside(
        &self,
        meter: &mut Meter,
        is_abandoned: &Arc<AtomicBool>,
    ) -> Result<Option<Response>, Error> {
        let Some(course) = self.course()? else {
            return Ok(Some(self.answer(Vec::new(), None, Meta::default())));
        };
        self.run_admitted(course, meter, is_abandoned, &mut Vec::new()).await
    }
}
