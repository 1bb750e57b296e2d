//! Conflicts between writes in different regions. With one region there are none, so the feed is
//! always empty; clients that look for them get the service's answers.

use bytes::Bytes;
use partition::charge::Meter;
use protocol::{
    Error, Meta, Options, Response, continuation::Feed, request::CollectionPath, response::FeedKind,
};
use query::{execution, paging::Page, scope::named_key};

use crate::call::Call;

/// Refuses a query of the conflicts of all partition keys unless the request allows cross-partition
/// queries.
pub(crate) fn check_scope(
    call: &Call,
    path: &CollectionPath,
    options: &Options,
) -> Result<(), Error> {
    let collection = call.collection(path, options)?;
    let is_named = options.partition_key.is_some() || options.range_id.is_some();
    if is_named
        || options.query.enable_cross_partition
        || collection.definition.partition_key.is_system
    {
        return Ok(());
    }
    Err(execution::must_be_enabled())
}

pub(crate) fn list(
    call: &Call,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let collection = call.collection(path, options)?;
    let nothing = std::iter::empty::<(u64, &Bytes)>();
    let page =
        Page::take(Feed::Conflicts, &collection.rid.bytes(), options, nothing, Bytes::clone)?;
    let meta = Meta { owner: Some(collection.owner()), ..Meta::default() };
    Ok(page.answer(collection.rid.to_string(), FeedKind::Conflicts, meta))
}

/// Reads or deletes a conflict, which never exists.
pub(crate) fn find(
    call: &Call,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let collection = call.collection(path, options)?;
    named_key(&collection, options.partition_key.as_ref())?;
    Err(Error::not_found())
}
