//! Queries over the feeds of all resources except documents. There are few resources, and nearly
//! all are in memory; SDKs find offers this way.

use partition::charge::Meter;
use protocol::{
    Body, Error, Options, Response,
    query::{QueryFeed, QuerySource},
};
use query::execution::{
    INLINE_BYTES_MAX, apart,
    compiled::{self, Compiled},
};
use tokio::runtime::Handle;
use value::{Value, json};

use crate::{
    call::Call,
    collections, conflicts, databases,
    documents::attachments,
    encryption_keys::EncryptionKeys,
    family::requests::Requests as _,
    offers, ranges,
    scripts::Scripts,
    users::{Users, permissions::Permissions},
};

/// A page of a query over any feed except documents.
pub(crate) async fn page(
    call: &Call,
    feed: &QueryFeed,
    source: QuerySource,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    if source.bytes <= INLINE_BYTES_MAX && !compiled::is_slow(&source) {
        return answer(call, feed, source, options, meter).await;
    }
    let (own, feed, options) = (call.clone(), feed.clone(), options.clone());
    apart::run(&call.engine, meter, move |meter, _| {
        Handle::current().block_on(answer(&own, &feed, source, &options, meter))
    })
    .await
}

async fn answer(
    call: &Call,
    feed: &QueryFeed,
    source: QuerySource,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let compiled = Compiled::new(source)?;
    let (mut response, values) = list(call, feed, options, meter).await?;
    let owner = owner_of(&response);
    let (rows, continuation) = compiled.rows(&call.engine, &owner, values, options).await?;
    (response.continuation, response.etag) = (continuation, None);
    if let Body::Feed { items, .. } = &mut response.body {
        *items = rows;
    }
    Ok(response)
}

/// The whole feed: the answer with a page of it, and its resources.
async fn list(
    call: &Call,
    feed: &QueryFeed,
    options: &Options,
    meter: &mut Meter,
) -> Result<(Response, Vec<Value>), Error> {
    let intended = options.intended_collection_rid.clone();
    let mut whole = Options {
        intended_collection_rid: intended,
        // Attachments are stored with their document.
        partition_key: options.partition_key.clone(),
        max_item_count: Some(u32::MAX),
        token_mark: options.token_mark,
        hides_system_key: options.hides_system_key,
        ..Options::default()
    };
    if let QueryFeed::Conflicts(path) = feed {
        conflicts::check_scope(call, path, options)?;
    }
    let mut values = Vec::new();
    meter.metadata_read();
    loop {
        // To the caller, the pages of one feed are one request.
        let mut uncounted = *meter;
        let page = match feed {
            QueryFeed::Databases => databases::list(call, &whole, &mut uncounted)?,
            QueryFeed::Collections(path) => collections::list(call, path, &whole, &mut uncounted)?,
            QueryFeed::Offers => offers::list(call, &whole, &mut uncounted)?,
            QueryFeed::Scripts(path, kind) => {
                Scripts(path.clone(), *kind).list(call, &whole, &mut uncounted)?
            }
            QueryFeed::PartitionKeyRanges(path) => {
                ranges::list(call, path, None, &whole, &mut uncounted)?
            }
            QueryFeed::EncryptionKeys(path) => {
                EncryptionKeys(path.clone()).list(call, &whole, &mut uncounted)?
            }
            QueryFeed::Users(path) => Users(path.clone()).list(call, &whole, &mut uncounted)?,
            QueryFeed::Permissions(path) => {
                Permissions(path.clone()).list(call, &whole, &mut uncounted)?
            }
            QueryFeed::Conflicts(path) => conflicts::list(call, path, &whole, &mut uncounted)?,
            // These are read from the partition, which pays for the read.
            QueryFeed::Attachments(path) => attachments::list(call, path, &whole, meter).await?,
            QueryFeed::Documents(_) => {
                return Err(Error::bad_request("Documents are not resources of the catalog."));
            }
        };
        if let Body::Feed { items, .. } = &page.body {
            values.extend(items.iter().filter_map(|item| json::parse(item).ok()));
        }
        match &page.continuation {
            Some(token) => whole.continuation = Some(token.clone()),
            None => return Ok((page, values)),
        }
    }
}

fn owner_of(response: &Response) -> String {
    match &response.body {
        Body::Feed { owner_rid, kind, .. } => format!("{owner_rid}{kind:?}"),
        _ => String::new(),
    }
}
