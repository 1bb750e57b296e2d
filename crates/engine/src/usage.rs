//! The size of a collection: its quota, and the statistics of its partitions.

use std::{collections::HashMap, ops::Bound, sync::Arc, time::Duration};

use bytes::Bytes;
use catalog::number;
use partition::{
    errors,
    keys::{LogicalKey, META_KEY},
    rows::KeyCounters,
};
use protocol::{
    Error, Operation, Options, Request,
    limits::DOCUMENT_BYTES_MAX,
    response::{Quota, QuotaLists},
};
use query::{
    readable::{PartitionView, Readable},
    served::Served,
};
use store::{Direction, PageLimit};
use value::{Object, Value, json};

use crate::{Inner, call::Call};

/// Logical keys that one request examines, over all partitions. Keys are stored in the order of
/// their hashes, so the first ones are as good a sample as any.
const SAMPLE_MAX: usize = 20_000;

/// Keys read at a time.
const PAGE: PageLimit = PageLimit { entries: 1000, bytes: 1 << 20 };

/// Largest keys reported per partition.
const LARGEST_MAX: usize = 10;

/// Hottest keys examined in addition to the sample: keys with many writes are often large.
const HOT_MAX: usize = 64;

/// A collection's limits and usage.
pub(crate) fn quota(engine: &Inner, collection: &Served) -> Quota {
    let kilobytes = |bytes: u64| i64::try_from(bytes / 1024).unwrap_or(i64::MAX);
    let has_key = !collection.definition.partition_key.is_system;
    let sizes = &engine.options.sizes;
    // Without a limit, report the capacity of its partitions: more are created as it grows.
    let partitions = collection.ranges.len() as u64;
    let limit =
        sizes.of_collection(has_key).unwrap_or_else(|| partitions.saturating_mul(sizes.partition));
    let mut quota = Quota {
        document_size_max_kb: kilobytes(DOCUMENT_BYTES_MAX as u64),
        collection_size_max_kb: kilobytes(limit),
        ..Quota::default()
    };
    for partition in &collection.readable {
        let counters = partition.counters();
        quota.documents_count += counters.documents;
        quota.documents_bytes += counters.bytes;
        quota.collection_bytes += counters.bytes + counters.index_bytes;
    }
    quota
}

/// The maximum age of the quota and usage in document answers.
const LISTS_AGE_MAX: Duration = Duration::from_secs(1);

/// The quota and usage of a collection for answers about its documents and scripts, if the caller
/// may know them.
pub(crate) fn lists(
    engine: &Inner,
    collection: &Served,
    options: &Options,
) -> Option<Arc<QuotaLists>> {
    if options.hides_usage {
        return None;
    }
    let now = engine.clock.monotonic();
    let make = || quota(engine, collection).lists();
    Some(collection.quota_lists.get(now, LISTS_AGE_MAX, make))
}

/// The quota and usage of a collection for an answer about one of its scripts.
pub(crate) fn lists_beside_script(call: &Call, request: &Request) -> Option<Arc<QuotaLists>> {
    let path = match &request.operation {
        Operation::CreateScript { collection, .. } => collection,
        Operation::ReadScript(path)
        | Operation::ReplaceScript { path, .. }
        | Operation::DeleteScript(path) => &path.collection,
        _ => return None,
    };
    lists(&call.engine, call.view.collection(path).ok()?, &request.options)
}

/// Statistics per partition: the number of documents, their kilobytes, and the largest logical
/// keys.
pub(crate) async fn statistics(engine: &Inner, collection: &Served) -> Result<Value, Error> {
    let now = engine.clock.now_millis();
    let sample = SAMPLE_MAX / collection.ranges.len().max(1);
    let mut all = Vec::with_capacity(collection.ranges.len());
    for partition in &collection.readable {
        all.push(of_partition(&**partition, sample.max(1), now).await?);
    }
    Ok(Value::Array(all))
}

async fn of_partition(partition: &dyn Readable, sample: usize, now: i64) -> Result<Value, Error> {
    let counters = partition.counters();
    let (sampled, mut keys) = key_sizes(partition, sample, now).await?;
    keys.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let largest = keys.iter().take(LARGEST_MAX).filter_map(|(key, bytes)| {
        let key = LogicalKey::decode(key.get(META_KEY.len()..)?)?;
        let mut object = Object::new();
        object.insert("partitionKey", json::parse(key.to_string().as_bytes()).ok()?);
        object.insert("sizeInKB", number(bytes.div_ceil(1024)));
        Some(Value::Object(object))
    });
    let mut object = Object::new();
    object.insert("id", partition.range().id.to_string());
    object.insert("sizeInKB", number((counters.bytes + counters.index_bytes).div_ceil(1024)));
    object.insert("documentCount", number(counters.documents));
    object.insert("sampledDistinctPartitionKeyCount", number(sampled as u64));
    object.insert("partitionKeys", Value::Array(largest.collect()));
    Ok(Value::Object(object))
}

/// The number of keys in the sample, and the bytes of each of them and of the hottest keys.
async fn key_sizes(
    partition: &dyn Readable,
    sample: usize,
    now: i64,
) -> Result<(usize, Vec<(Bytes, u64)>), Error> {
    let PartitionView { snapshot, .. } = partition.view().await?;
    let mut sizes = HashMap::new();
    let mut start = Bound::Included(Bytes::from_static(META_KEY));
    let end = Bytes::from([META_KEY, &[u8::MAX; 4]].concat());
    while sizes.len() < sample {
        let limit = PageLimit { entries: PAGE.entries.min(sample - sizes.len()), ..PAGE };
        let range = (start, Bound::Excluded(end.clone()));
        let page = snapshot.scan(range, Direction::Forward, limit).await;
        let page = page.map_err(errors::from_store)?;
        let Some((last, _)) = page.entries.last() else { break };
        start = Bound::Excluded(last.clone());
        for (key, row) in page.entries {
            sizes.insert(key, decode(&row)?);
        }
        if !page.has_more {
            break;
        }
        tokio::task::yield_now().await;
    }
    let sampled = sizes.len();
    let hot = partition.here().map_or_else(Vec::new, |it| it.hot.top(HOT_MAX, now)).into_iter();
    let hot: Vec<Bytes> = hot.map(|(key, _)| [META_KEY, &key].concat().into()).collect();
    let rows = snapshot.get_many(&hot).await.map_err(errors::from_store)?;
    for (key, row) in hot.into_iter().zip(rows) {
        if let Some(row) = row {
            sizes.insert(key, decode(&row)?);
        }
    }
    Ok((sampled, sizes.into_iter().collect()))
}

fn decode(row: &[u8]) -> Result<u64, Error> {
    KeyCounters::decode(row).map(|counters| counters.bytes).map_err(errors::from_damaged)
}
