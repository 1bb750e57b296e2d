//! A checked and compiled query, with what it needs to read.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use index::Coverage;
use protocol::{Code, Error, Options, error::QueryFailure, query::QuerySource};
use sql::{
    Query,
    filter::{self, Filter},
    program::{PathStep, Program, Settings},
};
use value::{Value, hash::murmur3_128, json};

use crate::{
    execution::{
        functions,
        ordered::{Order, OrderIndex},
        token::Token,
    },
    plans::{Key, Plan, Plans},
    scope::Scope,
    served::Served,
    sought::{Sought, coverage},
};

/// A query ready to run over one collection.
pub(crate) struct Prepared {
    pub(crate) source: Arc<QuerySource>,
    plan: Arc<Plan>,
}

impl Deref for Prepared {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl Prepared {
    /// Checks and compiles a query, unless that was done lately.
    pub(crate) fn new(
        source: Arc<QuerySource>,
        collection: &Served,
        plans: &Plans,
        now_millis: i64,
    ) -> Result<Self, Error> {
        let key = Key::new(&source, collection.row());
        if let Some(plan) = plans.plan(&key, collection.row()) {
            return Ok(Self { source, plan });
        }
        let refused = |error: sql::Error| Error::query(sql::error::to_json(&[error], &source.text));
        let query = if let Some(query) = plans.tree(&source.text) {
            query
        } else {
            let query = Arc::new(sql::parse(&source.text).map_err(refused)?);
            plans.keep_tree(&source.text, &query);
            query
        };
        sql::check_burden(&query, &source.parameters).map_err(refused)?;
        let plan = Arc::new(Plan::new(query, &source, collection, now_millis)?);
        plans.keep_plan(&key, &source, collection.row(), &plan);
        Ok(Self { source, plan })
    }

    /// Where a page begins: where the client's last one ended, or at the start.
    pub(crate) fn token(
        &self,
        options: &Options,
        scope: &Scope,
        collection: &Served,
    ) -> Result<Token, Error> {
        let origin = || scope.origin(collection);
        Token::of_page(options, &self.identity, self.program.shape(), origin)
    }

    /// The filter with the texts of its predicates, for index metrics.
    pub(crate) fn filter_with_texts(&self, collection: &Served) -> Filter {
        let Plan { program, query, now_millis, .. } = &*self.plan;
        filter_of(program, query, &self.source, collection, (*now_millis, true))
    }

    /// What the filter asks of the partitions of the collection that this was prepared for.
    pub(crate) fn sought(&self, collection: &Served) -> &Sought {
        self.sought.get_or_init(|| Sought::of(&self.filter, collection))
    }

    /// The seed of random numbers. Each page of a query has its own time, and so its own seed.
    pub(crate) fn seed(&self, now_millis: i64) -> u64 {
        murmur3_128(&self.identity, (now_millis.unsigned_abs(), 0)).0
    }

    /// The order of the rows, if the query has one; refused if it needs an index that is missing.
    pub(crate) fn order(&self, collection: &Served) -> Result<Option<Order>, Error> {
        let shape = self.program.shape();
        if shape.order.is_empty() {
            return Ok(None);
        }
        let descends: Vec<bool> = shape.order.iter().map(|key| key.is_descending).collect();
        if shape.groups || shape.inner.is_some() || shape.is_aggregate {
            // Groups, rows of inner queries and lists are sorted in memory; no index has them.
            return Ok(Some(Order { descends, index: None }));
        }
        let paths: Option<Vec<index::Path>> =
            shape.order.iter().map(|key| key.path.as_deref().and_then(index_path)).collect();
        match paths.as_deref() {
            // A computed property, or an element of an array, has no index.
            None => Ok(Some(Order { descends, index: None })),
            Some([path]) => path_order(collection, path, descends).map(Some),
            Some(paths) => composite_order(collection, paths, descends).map(Some),
        }
    }
}

impl Plan {
    fn new(
        query: Arc<Query>,
        source: &QuerySource,
        collection: &Served,
        now_millis: i64,
    ) -> Result<Self, Error> {
        let refused =
            |errors: &[sql::Error]| Error::query(sql::error::to_json(errors, &source.text));
        let definition = &collection.definition;
        let settings = Settings {
            parameters: &source.parameters,
            computed: &definition.computed,
            has_udf: Some(&|name| functions::find(collection, name).is_some()),
            is_planar: definition.is_geometry,
            ..Settings::default()
        };
        let mut unknown_function = None;
        let program = Program::compile(&query, &settings).or_else(|errors| {
            if !errors.iter().all(|error| error.code == sql::Code::UnknownUdf) {
                return Err(refused(&errors));
            }
            // A query that never actually calls the function gets its answer.
            unknown_function = Some(refused(&errors));
            let settings = Settings { has_udf: None, ..settings };
            Program::compile(&query, &settings).map_err(|errors| refused(&errors))
        })?;
        // Texts are printed for those who ask for index metrics.
        let filter = filter_of(&program, &query, source, collection, (now_millis, false));
        let identity = identity(&query, source, &collection.numbering());
        let (sought, key_ranges) = (OnceLock::new(), OnceLock::new());
        Ok(Self {
            query,
            program,
            filter,
            sought,
            unknown_function,
            identity,
            key_ranges,
            now_millis,
        })
    }
}

/// The filter of a query at a time, with the texts of its predicates or without.
fn filter_of(
    program: &Program,
    query: &Query,
    source: &QuerySource,
    collection: &Served,
    (now_millis, has_texts): (i64, bool),
) -> Filter {
    // The outer query must not filter what the inner one reads.
    if program.shape().inner.is_some() {
        return Filter::All;
    }
    let definition = &collection.definition;
    let names: Vec<String> =
        definition.computed.iter().map(|computed| computed.name.clone()).collect();
    let settings = filter::Settings {
        now_millis: Some(now_millis),
        is_planar: definition.is_geometry,
        computed: &names,
        without_texts: !has_texts,
    };
    filter::of_with(query, &source.parameters, &settings)
}

/// An order by one path uses that path's index.
fn path_order(
    collection: &Served,
    path: &index::Path,
    descends: Vec<bool>,
) -> Result<Order, Error> {
    let policy = &collection.definition.indexing;
    let own = policy.coverage(path);
    if own == Coverage::NotIndexed {
        return Err(not_served(
            "The index path corresponding to the specified order-by item is excluded.",
        ));
    }
    let has_absent = own == Coverage::Explicit;
    let index = (coverage(collection, path) == own)
        .then(|| OrderIndex::Path { path: path.clone(), has_absent });
    Ok(Order { descends, index })
}

/// An order by several paths needs a composite index.
fn composite_order(
    collection: &Served,
    paths: &[index::Path],
    descends: Vec<bool>,
) -> Result<Order, Error> {
    let order: Vec<(index::Path, bool)> =
        paths.iter().cloned().zip(descends.iter().copied()).collect();
    let policy = &collection.definition.indexing;
    let Some((composite, _)) = policy.composite_for_order(&order) else {
        return Err(not_served(
            "The order by query does not have a corresponding composite index that it can be \
             served from.",
        ));
    };
    let id = composite.id;
    let index = OrderIndex::Composite { id, members: paths.to_vec() };
    let index = (!collection.is_reindexing()).then_some(index);
    Ok(Order { descends, index })
}

fn not_served(message: &str) -> Error {
    let mut document = br#"{"Errors":["#.to_vec();
    json::quote(message, &mut document);
    document.extend_from_slice(b"]}");
    let document = String::from_utf8_lossy(&document).into_owned();
    let failure = QueryFailure { document: Some(document), plan: None };
    Error { query: Some(failure.into()), ..Error::new(Code::BadRequest, message) }
}

/// The path of a sort key; `None` if it leads into an array, since no index orders by array
/// elements.
fn index_path(steps: &[PathStep]) -> Option<index::Path> {
    let segment = |step: &PathStep| match step {
        PathStep::Key(name) => Some(index::Segment::Key(name.clone())),
        PathStep::Index(_) => None,
    };
    steps.iter().map(segment).collect::<Option<_>>().map(index::Path)
}

/// The identity of a query over a feed.
///
/// COMPAT: SDKs that resume an ORDER BY send the old token with a query whose filter they have
/// narrowed to the rest. The position in the order is the same, so the filter of such a query is
/// not part of its identity.
pub(crate) fn identity(query: &Query, source: &QuerySource, owner: &[u8]) -> Vec<u8> {
    let mut bytes = owner.to_vec();
    let is_walked =
        query.group_by.is_empty() && !query.select.is_distinct && !filter::may_aggregate(query);
    if query.order_by.is_some() && is_walked {
        let unfiltered = Query { filter: None, ..query.clone() };
        bytes.extend_from_slice(unfiltered.to_string().as_bytes());
    } else {
        bytes.extend_from_slice(source.text.as_bytes());
    }
    for (name, value) in &source.parameters {
        bytes.push(0);
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        match value {
            Value::Undefined => {}
            value => json::write(value, &mut bytes),
        }
    }
    bytes
}
