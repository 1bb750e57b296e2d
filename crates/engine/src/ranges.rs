//! Partition key ranges: the physical partitions of a collection, as SDKs route by them.

use bytes::Bytes;
use catalog::{number, quoted, to_bytes};
use partition::charge::Meter;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response,
    etag::strip_quotes,
    request::CollectionPath,
    response::FeedKind,
    rid::{ChildKind, ChildRid},
};
use query::{readable::Readable, served::Served};
use value::{Object, Value};

use crate::{call::Call, conditions::is_unchanged};

/// All current ranges, or "not modified" to a caller who has them. SDKs repeat the request until
/// they get that.
pub(crate) fn list(
    call: &Call,
    path: &CollectionPath,
    known: Option<&str>,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let collection = call.collection(path, options)?;
    let version = collection.map_etag();
    let is_known = known.is_some_and(|known| strip_quotes(known) == version);
    let (outcome, body) = if is_known {
        (Outcome::NotModified, Body::Empty)
    } else {
        let items = collection.readable.iter().map(|partition| to_json(&collection, &**partition));
        let owner_rid = collection.rid.to_string();
        let items = items.collect();
        (Outcome::Ok, Body::Feed { owner_rid, kind: FeedKind::PartitionKeyRanges, items })
    };
    let meta = Meta { owner: Some(collection.owner()), ..Meta::default() };
    Ok(Response { outcome, body, etag: Some(version), continuation: None, meta })
}

/// One range, by id or by rid.
pub(crate) fn read(
    call: &Call,
    path: &CollectionPath,
    range: &str,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let collection = call.collection(path, options)?;
    let partition = collection.readable.iter().find(|partition| {
        let id = partition.range().id;
        id.to_string() == range || rid(&collection, id).to_string() == range
    });
    let partition = partition.ok_or_else(Error::not_found)?;
    let etag = collection.version.etag;
    let (outcome, body) = if is_unchanged(options, etag) {
        (Outcome::NotModified, Body::Empty)
    } else {
        (Outcome::Ok, Body::Resource(to_json(&collection, &**partition)))
    };
    let meta = Meta { owner: Some(collection.owner()), ..Meta::default() };
    Ok(Response { outcome, body, etag: Some(etag.to_string()), continuation: None, meta })
}

fn rid(collection: &Served, range_id: u32) -> ChildRid {
    ChildRid {
        collection: collection.rid,
        kind: ChildKind::PartitionKeyRange,
        number: u64::from(range_id) + 1,
    }
}

fn to_json(collection: &Served, partition: &dyn Readable) -> Bytes {
    let range = partition.range();
    let rid = rid(collection, range.id);
    let (min, max) = collection.epk_bounds(range);
    let mut object = Object::new();
    object.insert("_rid", rid.to_string());
    object.insert("id", range.id.to_string());
    object.insert("_etag", quoted(collection.version.etag));
    object.insert("minInclusive", min);
    object.insert("maxExclusive", max);
    object.insert("ridPrefix", i64::from(range.id));
    object.insert("_self", format!("{}pkranges/{rid}/", collection.self_link()));
    let fraction = 1.0 / collection.ranges.len() as f64;
    object.insert("throughputFraction", fraction);
    object.insert("status", "online");
    let parents = range.parents.iter().map(|id| Value::from(id.to_string()));
    object.insert("parents", Value::Array(parents.collect()));
    object.insert("_ts", number(collection.version.ts));
    object.insert("_lsn", number(partition.lsn()));
    to_bytes(object)
}
