//! The rules of reserved throughput: what may be asked for, and the offers that record it.

use std::sync::Arc;

use protocol::{
    Error, limits::PARTITION_THROUGHPUT_MAX, request::ThroughputRequest, rid::OfferRid,
};
use store::Batch;
use value::{Value, json};

use crate::{
    Inner,
    catalog::{Catalog, Offer, Throughput, storage},
};

/// Least throughput of anything.
pub(crate) const THROUGHPUT_MIN: u32 = 400;
/// Most throughput of anything.
const THROUGHPUT_MAX: u32 = 1_000_000;
/// Throughput comes in steps.
const STEP: u32 = 100;
/// Least maximum, and the step, of autoscale.
const AUTOSCALE_STEP: u32 = 1000;

/// What throughput is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Database,
    /// A collection, and whether it has a partition key.
    Collection {
        is_partitioned: bool,
    },
}

/// The throughput that a request asks for, checked; `None` if it asks for none.
pub(crate) fn requested(
    request: &ThroughputRequest,
    kind: Kind,
) -> Result<Option<Throughput>, Error> {
    let throughput = match (&request.manual, &request.autoscale, &request.level) {
        (Some(_), Some(_), _) => {
            return Err(Error::bad_request(
                "Throughput and autoscale settings cannot both be specified.",
            ));
        }
        (Some(rate), None, _) => Throughput::Manual(manual_rate(*rate)?),
        (None, Some(settings), _) => autoscale(settings)?,
        (None, None, Some(level)) => performance_level(level)?,
        (None, None, None) => return Ok(None),
    };
    check_kind(&throughput, kind)?;
    Ok(Some(throughput))
}

/// Refuses what one partition without a key cannot give.
pub(crate) fn check_kind(throughput: &Throughput, kind: Kind) -> Result<(), Error> {
    let is_single = kind == Kind::Collection { is_partitioned: false };
    if is_single && throughput.rate() > PARTITION_THROUGHPUT_MAX {
        return Err(Error::bad_request(format!(
            "A collection without a partition key may have at most {PARTITION_THROUGHPUT_MAX} \
             request units per second."
        )));
    }
    Ok(())
}

/// A fixed rate, by the service's rules and words.
pub(crate) fn manual_rate(rate: i64) -> Result<u32, Error> {
    if rate < i64::from(THROUGHPUT_MIN) {
        return Err(Error::bad_request(format!(
            "Requested throughput {rate} is less than required minimum throughput {THROUGHPUT_MIN}"
        )));
    }
    u32::try_from(rate)
        .ok()
        .filter(|rate| *rate <= THROUGHPUT_MAX && rate.is_multiple_of(STEP))
        .ok_or_else(|| {
            Error::bad_request(format!(
                "The offer should have valid throughput values between {THROUGHPUT_MIN} and \
                 {THROUGHPUT_MAX} inclusive in increments of {STEP}."
            ))
        })
}

fn autoscale(settings: &str) -> Result<Throughput, Error> {
    let settings = json::parse(settings.as_bytes()).map_err(|error| {
        Error::bad_request(format!("The autoscale settings are invalid: {error}"))
    })?;
    autoscale_settings(&settings)
}

/// Autoscale settings, from the header or an offer's content.
pub(crate) fn autoscale_settings(settings: &Value) -> Result<Throughput, Error> {
    let max = settings
        .get("maxThroughput")
        .as_i64()
        .and_then(|max| u32::try_from(max).ok())
        .filter(|max| {
            (AUTOSCALE_STEP..=THROUGHPUT_MAX).contains(max) && max.is_multiple_of(AUTOSCALE_STEP)
        })
        .ok_or_else(|| {
            Error::bad_request(format!(
                "The autoscale maxThroughput should be between {AUTOSCALE_STEP} and \
                 {THROUGHPUT_MAX} inclusive in increments of {AUTOSCALE_STEP}."
            ))
        })?;
    let policy = settings.get("autoUpgradePolicy");
    let upgrade_policy = (!policy.is_undefined()).then(|| policy.clone());
    Ok(Throughput::Autoscale { max, upgrade_policy })
}

fn performance_level(level: &str) -> Result<Throughput, Error> {
    let (name, rate) = match level.to_ascii_uppercase().as_str() {
        "S1" => ("S1", 250),
        "S2" => ("S2", 1000),
        "S3" => ("S3", 2500),
        _ => return Err(Error::bad_request(format!("The offer type `{level}` is unknown."))),
    };
    Ok(Throughput::Level { name: name.to_owned(), rate })
}

/// How many physical partitions carry this throughput.
pub(crate) fn partition_count(throughput: Option<&Throughput>, is_partitioned: bool) -> u32 {
    match throughput {
        Some(throughput) if is_partitioned => {
            throughput.rate().div_ceil(PARTITION_THROUGHPUT_MAX).max(1)
        }
        _ => 1,
    }
}

/// Adds the offer of a new resource, given by self link and rid.
pub(crate) fn add_offer(
    engine: &Inner,
    catalog: &mut Catalog,
    batch: &mut Batch,
    (resource, resource_rid): (String, String),
    throughput: Throughput,
    is_asked: bool,
) {
    let offer = Offer {
        rid: OfferRid(catalog.next_offer),
        version: engine.new_version(),
        resource,
        resource_rid,
        highest: throughput.rate(),
        throughput,
        is_asked,
    };
    catalog.next_offer += 1;
    storage::put_offer(batch, &offer);
    storage::put_next(batch, catalog);
    catalog.offers.insert(offer.rid.0, offer.into());
}

/// Removes the offer of a deleted resource, if it has one.
pub(crate) fn remove_offer(catalog: &mut Catalog, batch: &mut Batch, resource_rid: &str) {
    if let Some(offer) = catalog.offer_of(resource_rid).map(Arc::clone) {
        storage::delete_offer(batch, &offer);
        catalog.offers.remove(&offer.rid.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manual(rate: i64) -> Result<Option<Throughput>, Error> {
        let request = ThroughputRequest { manual: Some(rate), ..ThroughputRequest::default() };
        requested(&request, Kind::Collection { is_partitioned: true })
    }

    #[test]
    fn manual_throughput_has_a_minimum_a_maximum_and_steps() {
        assert_eq!(manual(400).expect("the least"), Some(Throughput::Manual(400)));
        assert_eq!(manual(1_000_000).expect("the most"), Some(Throughput::Manual(1_000_000)));
        for bad in [i64::MIN, -200, 0, 399, 450, 1_000_100, i64::MAX] {
            assert!(manual(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn twenty_five_thousand_units_need_three_partitions() {
        let count = |rate| partition_count(Some(&Throughput::Manual(rate)), true);
        assert_eq!([count(400), count(10_000), count(10_100), count(25_000)], [1, 1, 2, 3]);
        assert_eq!(partition_count(Some(&Throughput::Manual(10_000)), false), 1);
    }

    #[test]
    fn autoscale_and_levels() {
        let autoscale = |text: &str| {
            let request = ThroughputRequest {
                autoscale: Some(text.to_owned()),
                ..ThroughputRequest::default()
            };
            requested(&request, Kind::Database)
        };
        assert!(matches!(
            autoscale(r#"{"maxThroughput":4000}"#),
            Ok(Some(Throughput::Autoscale { max: 4000, .. }))
        ));
        for bad in ["", "{}", "[]", r#"{"maxThroughput":4500}"#, r#"{"maxThroughput":"x"}"#] {
            assert!(autoscale(bad).is_err(), "{bad}");
        }
        let level =
            ThroughputRequest { level: Some("s2".to_owned()), ..ThroughputRequest::default() };
        let level = requested(&level, Kind::Database).expect("a level").expect("a throughput");
        assert_eq!(level.rate(), 1000);
    }
}
