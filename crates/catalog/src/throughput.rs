//! Reserved throughput: what a request asks for, and the offers that record it.

pub mod range;

use std::sync::Arc;

use protocol::{
    Error, autoscale::Autoscale, limits::PARTITION_THROUGHPUT_MAX, request::ThroughputRequest,
    rid::OfferRid,
};
use store::Batch;

pub use crate::throughput::range::{Kind, Mode, Range, Rules};
use crate::{Catalog, HighWater, Offer, Throughput, Version, limits::Limits, storage};

/// The checked throughput that a request asks for; `None` if it asks for none.
pub fn requested(
    request: &ThroughputRequest,
    kind: Kind,
    rules: Rules,
) -> Result<Option<Throughput>, Error> {
    let range = |mode| Range::new(rules, kind, mode);
    match (&request.manual, &request.autoscale, &request.level) {
        (None, None, None) => Ok(None),
        (Some(rate), None, None) => Ok(Some(Throughput::Manual(range(Mode::Manual).check(*rate)?))),
        (None, Some(settings), None) => autoscale(*settings, &range(Mode::Autoscale)).map(Some),
        (None, None, Some(level)) => performance_level(level, kind, rules).map(Some),
        (Some(_), Some(_), _) => Err(Error::bad_request(
            "Throughput and autoscale settings cannot both be specified: give one of the headers \
             'x-ms-offer-throughput' and 'x-ms-cosmos-offer-autopilot-settings'.",
        )),
        (_, _, Some(_)) => Err(Error::bad_request(
            "The header 'x-ms-offer-type' cannot be specified together with a throughput or \
             autoscale settings.",
        )),
    }
}

/// The throughput of a collection created without asking for any.
pub fn unasked(kind: Kind, rules: Rules) -> Throughput {
    Throughput::Manual(Range::new(rules, kind, Mode::Manual).least)
}

/// Autoscale settings, checked.
pub fn autoscale(settings: Autoscale, range: &Range) -> Result<Throughput, Error> {
    let Autoscale { max, increment_percent } = settings;
    Ok(Throughput::Autoscale { max: range.check(max)?, increment_percent })
}

/// Parses a legacy performance level. Its rate may be below what can be requested as a number.
pub fn performance_level(level: &str, kind: Kind, rules: Rules) -> Result<Throughput, Error> {
    let (name, rate) = match level.to_ascii_uppercase().as_str() {
        "S1" => ("S1", 250),
        "S2" => ("S2", 1000),
        "S3" => ("S3", 2500),
        _ => {
            return Err(Error::bad_request(format!(
                "The offer type '{level}' is unknown: use S1, S2 or S3."
            )));
        }
    };
    match kind {
        Kind::Database => Err(Error::bad_request(format!(
            "A database cannot have the offer type {name}: give it throughput in request units."
        ))),
        // In those years, partitioned collections started above these levels.
        Kind::Collection { is_partitioned: true } if rules.limits != Limits::Current => {
            let range = Range::new(rules, kind, Mode::Manual);
            range.check(i64::from(rate))?;
            Ok(Throughput::Level { name: name.to_owned(), rate })
        }
        Kind::Collection { .. } => Ok(Throughput::Level { name: name.to_owned(), rate }),
    }
}

/// How many physical partitions a collection with this throughput needs. The operator configures
/// how much manual throughput one of them carries; for autoscale it is always the maximum.
pub fn partition_count(
    partition_throughput: u32,
    throughput: Option<&Throughput>,
    is_partitioned: bool,
) -> u32 {
    match throughput {
        Some(throughput) if is_partitioned => {
            let each = match throughput {
                Throughput::Autoscale { .. } => PARTITION_THROUGHPUT_MAX,
                Throughput::Manual(_) | Throughput::Level { .. } => partition_throughput,
            };
            throughput.rate().div_ceil(each.max(1)).max(1)
        }
        _ => 1,
    }
}

/// How many physical partitions a new collection gets if it shares its database's throughput.
pub fn shared_partition_count(shared: &Throughput, is_partitioned: bool) -> u32 {
    if is_partitioned { shared.rate().div_ceil(PARTITION_THROUGHPUT_MAX).max(1) } else { 1 }
}

/// Adds the offer of a new resource, identified by self link and rid.
pub fn add_offer(
    version: Version,
    catalog: &mut Catalog,
    batch: &mut Batch,
    (resource, resource_rid): (String, String),
    throughput: Throughput,
    is_asked: bool,
) {
    let offer = Offer {
        rid: OfferRid(catalog.next_offer),
        version,
        resource,
        resource_rid,
        highest: throughput.rate(),
        storage_kb: HighWater::default(),
        throughput,
        is_asked,
    };
    catalog.next_offer += 1;
    storage::put_offer(batch, &offer);
    storage::put_next(batch, catalog);
    Arc::make_mut(&mut catalog.offers).insert(offer.into());
}

/// Removes the offer of a deleted resource, if it has one.
pub fn remove_offer(catalog: &mut Catalog, batch: &mut Batch, resource_rid: &str) {
    if let Some(offer) = catalog.offers.of(resource_rid).map(Arc::clone) {
        storage::delete_offer(batch, &offer);
        Arc::make_mut(&mut catalog.offers).remove(&offer);
    }
}

#[cfg(test)]
mod tests;
