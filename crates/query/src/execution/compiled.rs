//! Queries over values in the caller's memory, as pages with tokens.

use std::time::Instant;

use bytes::Bytes;
use protocol::{Error, Options, limits::PAGE_ITEMS_DEFAULT, query::QuerySource};
use sql::{
    Query,
    program::{Program, Run, Settings},
};
use value::Value;

use crate::{
    execution::{
        memory,
        ordered::Order,
        page::Page,
        prepared::identity,
        token::{Place, Token},
    },
    reading::Reading,
    scope::Origin,
};

/// Whether a query over such values can keep its thread busy for long.
pub fn is_slow(source: &QuerySource) -> bool {
    sql::parse(&source.text).is_ok_and(|query| sql::program::is_slow(&query))
}

/// A checked query over resources in memory.
pub struct Compiled {
    source: QuerySource,
    query: Query,
    program: Program,
}

impl Compiled {
    /// Checks and compiles a query.
    pub fn new(source: QuerySource) -> Result<Self, Error> {
        let refused =
            |errors: &[sql::Error]| Error::query(sql::error::to_json(errors, &source.text));
        let query = sql::parse(&source.text)
            .and_then(|query| sql::check_burden(&query, &source.parameters).map(|()| query))
            .map_err(|error| refused(&[error]))?;
        // Resources have no user-defined functions.
        let settings = Settings {
            parameters: &source.parameters,
            has_udf: Some(&|_| false),
            ..Settings::default()
        };
        let program = Program::compile(&query, &settings).map_err(|errors| refused(&errors))?;
        Ok(Self { source, query, program })
    }

    /// A page of the rows over an owner's resources, and the continuation of the next one.
    pub async fn rows(
        &self,
        reading: &Reading,
        owner: &str,
        values: Vec<Value>,
        options: &Options,
    ) -> Result<(Vec<Bytes>, Option<String>), Error> {
        let Self { source, query, program } = self;
        let identity = identity(query, source, owner.as_bytes());
        let shape = program.shape();
        let token = Token::of_page(options, &identity, shape, Origin::default)?;
        let now_millis = reading.clock.now_millis();
        let timeout = Instant::now() + reading.rules.query_timeout;
        let is_cancelled = move || Instant::now() >= timeout;
        let held = reading.query_memory.hold();
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
