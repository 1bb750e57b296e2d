//! Queries over values that a caller has in memory, as pages with tokens.

use std::time::Instant;

use bytes::Bytes;
use protocol::{Error, Options, limits::PAGE_ITEMS_DEFAULT, query::QueryBody};
use sql::{
    Query,
    program::{Program, Run, Settings},
};
use value::Value;

use crate::{
    Inner,
    query::{
        body::Text,
        memory,
        ordered::Order,
        page::Page,
        prepared::identity,
        token::{Place, Token},
    },
    scope::Origin,
};

/// Whether a query over such values can keep its thread busy.
pub(crate) fn is_slow(body: &QueryBody) -> bool {
    let is_slow =
        |text: Text| sql::parse(&text.query).is_ok_and(|query| sql::program::is_slow(&query));
    Text::parse(body).is_ok_and(is_slow)
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
