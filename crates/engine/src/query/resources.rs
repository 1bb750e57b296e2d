//! Queries over the feeds of resources: all but documents. There are few of them, and nearly all are
//! in memory; SDKs find offers this way.

use std::time::Instant;

use bytes::Bytes;
use protocol::{
    Body, Error, Options, Response,
    limits::PAGE_ITEMS_DEFAULT,
    query::{QueryBody, QueryFeed},
};
use sql::{
    Query,
    program::{Program, Run, Settings},
};
use value::{Value, json};

use crate::{
    Inner,
    charge::Meter,
    collections, conflicts, databases,
    documents::attachments,
    encryption_keys::EncryptionKeys,
    family::requests::Requests as _,
    offers,
    query::{
        body::Text,
        memory,
        ordered::Order,
        page::Page,
        prepared::identity,
        token::{Origin, Place, Token},
    },
    ranges,
    scripts::Scripts,
    users::{Users, permissions::Permissions},
};

/// Whether a query over resources can keep its thread busy. Documents have a say of their own.
pub(crate) fn is_slow(feed: &QueryFeed, body: &QueryBody) -> bool {
    let is_slow =
        |text: Text| sql::parse(&text.query).is_ok_and(|query| sql::program::is_slow(&query));
    !matches!(feed, QueryFeed::Documents(_)) && Text::parse(body).is_ok_and(is_slow)
}

/// A page of a query over resources.
pub(crate) async fn resources(
    engine: &Inner,
    feed: &QueryFeed,
    body: &QueryBody,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let compiled = Compiled::new(body)?;
    let (mut response, values) = list(engine, feed, options, meter).await?;
    let owner = owner_of(&response);
    let (rows, continuation) = compiled.rows(engine, &owner, values, options).await?;
    (response.continuation, response.etag) = (continuation, None);
    if let Body::Feed { items, .. } = &mut response.body {
        *items = rows;
    }
    Ok(response)
}

/// A query over resources that are in memory, checked.
pub(crate) struct Compiled {
    text: Text,
    query: Query,
    program: Program,
}

impl Compiled {
    pub(crate) fn new(body: &QueryBody) -> Result<Self, Error> {
        let text = Text::parse(body)?;
        let refused =
            |errors: &[sql::Error]| Error::query(sql::error::to_json(errors, &text.query));
        let query = sql::parse(&text.query)
            .and_then(|query| sql::check_burden(&query, &text.parameters).map(|()| query))
            .map_err(|error| refused(&[error]))?;
        // Resources have no functions.
        let settings = Settings {
            parameters: &text.parameters,
            has_udf: Some(&|_| false),
            ..Settings::default()
        };
        let program = Program::compile(&query, &settings).map_err(|errors| refused(&errors))?;
        Ok(Self { text, query, program })
    }

    /// A page of the rows that these resources of an owner give, and where the next one begins.
    pub(crate) async fn rows(
        &self,
        engine: &Inner,
        owner: &str,
        values: Vec<Value>,
        options: &Options,
    ) -> Result<(Vec<Bytes>, Option<String>), Error> {
        let Self { text, query, program } = self;
        let identity = identity(query, text, owner.as_bytes());
        let shape = program.shape();
        let token = Token::of_page(options, &identity, shape, Origin::default)?;
        let now_millis = engine.clock.now_millis();
        let timeout = Instant::now() + engine.options.query_timeout;
        let is_cancelled = move || Instant::now() >= timeout;
        let held = engine.query_memory.hold();
        let more_bytes = |bytes| held.grant(bytes);
        let mut run = Run::new(now_millis, now_millis.unsigned_abs())
            .with_cancel(&is_cancelled)
            .with_memory_of(&more_bytes);
        let order = (!shape.order.is_empty()).then(|| Order {
            descends: shape.order.iter().map(|key| key.is_descending).collect(),
            index: None,
        });
        let host = memory::Host { functions: None, held: &held };
        let values = match &shape.inner {
            Some(inner) => memory::rows(inner, &values, None, host, &mut run).await?,
            None if !shape.reads_container => vec![Value::Undefined],
            None => values,
        };
        let rows = memory::rows(program, &values, order.as_ref(), host, &mut run).await?;
        let limit = options.max_item_count.unwrap_or(PAGE_ITEMS_DEFAULT) as usize;
        let mut page = Page::new(limit, token.skip, token.take);
        let from = if let Place::Ordinal(from) = token.place { from } else { 0 };
        let continuation = memory::fill(&mut page, &rows, from).map(|next| {
            let place = Place::Ordinal(next);
            let token = Token { skip: page.skip, take: page.take, origin: token.origin, place };
            token.encode(&identity)
        });
        Ok((page.items, continuation))
    }
}

/// The whole feed: the answer that a page of it would be, and its resources.
async fn list(
    engine: &Inner,
    feed: &QueryFeed,
    options: &Options,
    meter: &mut Meter,
) -> Result<(Response, Vec<Value>), Error> {
    let intended = options.intended_collection_rid.clone();
    let mut whole = Options {
        intended_collection_rid: intended,
        // Attachments lie with their document.
        partition_key: options.partition_key.clone(),
        max_item_count: Some(u32::MAX),
        tokens: options.tokens.clone(),
        hides_system_key: options.hides_system_key,
        ..Options::default()
    };
    if let QueryFeed::Conflicts(path) = feed {
        conflicts::check_scope(engine, path, options)?;
    }
    let mut values = Vec::new();
    meter.metadata_read();
    loop {
        // The pages of one feed are one request to the caller.
        let mut uncounted = *meter;
        let page = match feed {
            QueryFeed::Databases => databases::list(engine, &whole, &mut uncounted)?,
            QueryFeed::Collections(path) => {
                collections::list(engine, path, &whole, &mut uncounted)?
            }
            QueryFeed::Offers => offers::list(engine, &whole, &mut uncounted)?,
            QueryFeed::Scripts(path, kind) => {
                Scripts(path.clone(), *kind).list(engine, &whole, &mut uncounted)?
            }
            QueryFeed::PartitionKeyRanges(path) => {
                ranges::list(engine, path, None, &whole, &mut uncounted)?
            }
            QueryFeed::EncryptionKeys(path) => {
                EncryptionKeys(path.clone()).list(engine, &whole, &mut uncounted)?
            }
            QueryFeed::Users(path) => Users(path.clone()).list(engine, &whole, &mut uncounted)?,
            QueryFeed::Permissions(path) => {
                Permissions(path.clone()).list(engine, &whole, &mut uncounted)?
            }
            QueryFeed::Conflicts(path) => conflicts::list(engine, path, &whole, &mut uncounted)?,
            // They are read from the partition, which pays for it.
            QueryFeed::Attachments(path) => attachments::list(engine, path, &whole, meter).await?,
            QueryFeed::Documents(_) => {
                return Err(Error::bad_request("Documents are no resources of the catalog."));
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
