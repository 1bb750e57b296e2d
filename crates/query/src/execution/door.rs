//! Decides who answers a query that reads more than one partition key: this server, or the client
//! in pieces. If the pieces must be merged, a client that can follow a plan is told to, as by the
//! service; other clients get the whole answer.

use protocol::{Code, Error, Options, error::QueryFailure, query::Planning};
use sql::{
    ast::{ExprKind, Projection},
    plan::KeyRange,
};
use value::partition_key::{Component, PartitionKey};

use crate::{
    execution::{plan, prepared::Prepared},
    scope::Scope,
    served::Served,
};

/// The decision for a query.
pub(crate) enum Door {
    /// Answer it here, over this scope.
    Open(Scope),
    /// Refuse it with this error.
    Closed(Error),
}

/// Determines the scope of a query, and whether this server answers it.
pub(crate) fn open(
    prepared: &Prepared,
    collection: &Served,
    options: &Options,
) -> Result<Door, Error> {
    let is_named = options.partition_key.is_some()
        || options.range_id.is_some()
        || options.epk_range.is_some();
    if is_named || !prepared.program.shape().reads_container {
        return Scope::of(collection, options).map(Door::Open);
    }
    let ranges = plan::key_ranges(prepared, collection);
    match pinned(collection, ranges)? {
        Some(scope) => return Ok(Door::Open(scope)),
        // A collection without a partition key has only one.
        None if collection.definition.partition_key.is_system => {
            return Scope::of(collection, options).map(Door::Open);
        }
        None => {}
    }
    if !options.query.enable_cross_partition {
        return Ok(Door::Closed(must_be_enabled()));
    }
    if must_be_merged(prepared, options.query.planning) {
        return refuse(prepared, collection).map(Door::Closed);
    }
    let points: Option<Vec<Vec<PartitionKey>>> = ranges.iter().map(points).collect();
    match points {
        Some(keys) => Ok(Door::Open(Scope::around_keys(collection, &keys.concat()))),
        None => Scope::of(collection, options).map(Door::Open),
    }
}

/// The error for a query over several partition keys that does not enable cross-partition queries.
pub fn must_be_enabled() -> Error {
    Error::bad_request(
        "Cross partition query is required but disabled. Please set \
         x-ms-documentdb-query-enablecrosspartition to true, specify \
         x-ms-documentdb-partitionkey, or revise your query to avoid this exception.",
    )
}

/// The scope of a query whose filter allows only one partition key, or one prefix.
fn pinned(collection: &Served, ranges: &[KeyRange]) -> Result<Option<Scope>, Error> {
    let key = match ranges {
        [KeyRange::Point(values) | KeyRange::Prefix(values)] => key_of(values),
        _ => return Ok(None),
    };
    let keys = with_both_zeros(key.clone());
    if keys.len() > 1 {
        return Ok(Some(Scope::around_keys(collection, &keys)));
    }
    let options = Options { partition_key: Some(key), ..Options::default() };
    Scope::of(collection, &options).map(Some)
}

fn points(range: &KeyRange) -> Option<Vec<PartitionKey>> {
    match range {
        KeyRange::Point(values) => Some(with_both_zeros(key_of(values))),
        _ => None,
    }
}

/// The keys of documents that equal this one. `0` equals `-0`, but is another key and may be in
/// another partition.
///
/// COMPAT: the plan that clients follow names one key, as the service's does.
fn with_both_zeros(key: PartitionKey) -> Vec<PartitionKey> {
    let mut keys = vec![key];
    for at in 0..keys[0].0.len() {
        if matches!(keys[0].0[at], Component::Number(number) if number == 0.0) {
            let other = |key: &PartitionKey| {
                let mut other = key.clone();
                if let Component::Number(number) = &mut other.0[at] {
                    *number = -*number;
                }
                other
            };
            keys.extend(keys.iter().map(other).collect::<Vec<_>>());
        }
    }
    keys
}

/// The partition key with these values; arrays and objects count as absent.
pub(crate) fn key_of(values: &[value::Value]) -> PartitionKey {
    PartitionKey(values.iter().map(Component::of).collect())
}

/// Whether the client must merge the answers of several partitions, if that is more than
/// concatenating them. Grouping and inner queries count only in service mode, since few clients
/// that follow plans can merge them.
fn must_be_merged(prepared: &Prepared, planning: Planning) -> bool {
    let shape = prepared.program.shape();
    if shape.groups || shape.inner.is_some() {
        return planning == Planning::Service;
    }
    let is_cut = shape.limit.is_some() || shape.offset > 0;
    match planning {
        Planning::None => false,
        Planning::Early | Planning::EarlyParallel if is_cut || shape.is_distinct => false,
        Planning::Early | Planning::EarlyParallel if shape.is_aggregate => {
            is_early_aggregate(prepared)
        }
        Planning::EarlyParallel => true,
        Planning::Early => shape.top.is_some() || !shape.order.is_empty(),
        Planning::All | Planning::Service => {
            let is_ordered = shape.top.is_some() || !shape.order.is_empty();
            is_ordered || is_cut || shape.is_distinct || shape.is_aggregate
        }
    }
}

/// Whether clients of 2017 merge this aggregate correctly. They get MIN wrong if a partition has no
/// value.
fn is_early_aggregate(prepared: &Prepared) -> bool {
    let Projection::Value(expr) = &prepared.query.select.projection else { return false };
    let ExprKind::Call(call) = &expr.kind else { return false };
    ["COUNT", "SUM", "AVG", "MAX"].iter().any(|name| call.name.text.eq_ignore_ascii_case(name))
}

/// The service's error for a client that should follow the plan, with the plan.
fn refuse(prepared: &Prepared, collection: &Served) -> Result<Error, Error> {
    let plan = plan::plan_json(prepared, collection, false)?.1;
    let failure = QueryFailure { document: None, plan: Some(plan) };
    let error = Error::new(
        Code::CrossPartitionQuery,
        "The provided cross partition query can not be directly served by the gateway. This is a \
         first chance (internal) exception that all newer clients will know how to handle \
         gracefully. This exception is traced, but unless you see it bubble up as an exception \
         (which only happens on older SDK clients), then you can safely ignore this message.",
    );
    Ok(Error { query: Some(failure.into()), ..error })
}
