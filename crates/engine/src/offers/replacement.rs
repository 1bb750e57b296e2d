//! Reads the replacement of an offer.

use catalog::{Offer, Throughput};
use protocol::{Error, autoscale::Autoscale, limits::PARTITION_THROUGHPUT_MAX, request::Migration};
use value::{Object, Value};

use catalog::throughput::{self, Mode, Range, Rules};

use crate::offers::floor::{self, Holding};

/// COMPAT: the service's words.
const NEEDS_AUTOSCALE_HEADER: &str = "x-ms-cosmos-migrate-offer-to-autopilot must be supplied and \
     offercontent must not contain autopilotSettings for migration from manual throughput to \
     autoscale.";

/// The error for a change to manual throughput without its header. The words are ours.
const NEEDS_MANUAL_HEADER: &str = "x-ms-cosmos-migrate-offer-to-manual-throughput must be supplied \
     for migration from autoscale to manual throughput, and offercontent must contain \
     autopilotSettings otherwise.";

/// The throughput that replaces an offer's.
pub(crate) fn replacement(
    old: &Offer,
    body: &Value,
    migration: Option<Migration>,
    (rules, holding): (Rules, Holding),
) -> Result<Throughput, Error> {
    let range = |mode| floor::range(rules, old.highest, holding, mode);
    if let Some(migration) = migration {
        return migrated(&old.throughput, content(body)?, migration, range);
    }
    if is_v1(body)?
        && let Some(level) = by_level(old, body, (rules, holding))?
    {
        return Ok(level);
    }
    let content = content(body)?;
    match (floor::mode_of(&old.throughput), autoscale_settings(content)?) {
        (Mode::Autoscale, Some(settings)) => {
            throughput::autoscale(Autoscale::read(settings)?, &range(Mode::Autoscale))
        }
        (Mode::Autoscale, None) => Err(Error::bad_request(NEEDS_MANUAL_HEADER)),
        (Mode::Manual, Some(_)) => Err(Error::bad_request(NEEDS_AUTOSCALE_HEADER)),
        (Mode::Manual, None) => {
            let rate = content.get("offerThroughput").and_then(Value::as_i64).ok_or_else(|| {
                Error::bad_request("The 'content.offerThroughput' of the offer must be an integer.")
            })?;
            Ok(Throughput::Manual(range(Mode::Manual).check(rate)?))
        }
    }
}

/// The other kind of throughput, at a rate that the server chooses: callers change it afterwards.
fn migrated(
    old: &Throughput,
    content: &Object,
    migration: Migration,
    range: impl Fn(Mode) -> Range,
) -> Result<Throughput, Error> {
    match (migration, floor::mode_of(old)) {
        (Migration::ToAutoscale, Mode::Manual) => {
            if autoscale_settings(content)?.is_some() {
                return Err(Error::bad_request(NEEDS_AUTOSCALE_HEADER));
            }
            let max = range(Mode::Autoscale).nearest(old.rate());
            Ok(Throughput::Autoscale { max, increment_percent: None })
        }
        (Migration::ToManual, Mode::Autoscale) => Ok(Throughput::Manual(old.rate())),
        (Migration::ToAutoscale, Mode::Autoscale) => {
            Err(Error::bad_request("The offer already has autoscale throughput."))
        }
        (Migration::ToManual, Mode::Manual) => {
            Err(Error::bad_request("The offer already has manual throughput."))
        }
    }
}

/// The performance level in a replacement, unless the replacement changes the rate: SDKs that do
/// not support levels send the old level back and change the throughput beside it.
fn by_level(
    old: &Offer,
    body: &Value,
    (rules, holding): (Rules, Holding),
) -> Result<Option<Throughput>, Error> {
    let level = body.get("offerType").as_str().ok_or_else(|| {
        Error::bad_request("An offer of version V1 needs an 'offerType': S1, S2 or S3.")
    })?;
    match &old.throughput {
        Throughput::Level { name, rate } if name.eq_ignore_ascii_case(level) => {
            let given = body.get("content").get("offerThroughput");
            let is_same = matches!(given, Value::Undefined | Value::Null)
                || given.as_i64() == Some(i64::from(*rate));
            Ok(is_same.then(|| old.throughput.clone()))
        }
        Throughput::Autoscale { .. } => Err(Error::bad_request(NEEDS_MANUAL_HEADER)),
        _ if old.highest > PARTITION_THROUGHPUT_MAX => Err(Error::bad_request(format!(
            "A collection that had more than {PARTITION_THROUGHPUT_MAX} request units per second \
             cannot have the offer type {level}."
        ))),
        _ => {
            let level = throughput::performance_level(level, holding.kind, rules)?;
            // A level may be below the lowest rate for a client to choose, but not below the rate
            // that is needed.
            let least = level.rate();
            let range = Range { least, ..Range::new(rules, holding.kind, Mode::Manual) };
            floor::raised(range, old.highest, holding, Mode::Manual).check_least(least)?;
            Ok(Some(level))
        }
    }
}

fn is_v1(body: &Value) -> Result<bool, Error> {
    match body.get("offerVersion") {
        Value::Undefined | Value::Null => Ok(false),
        version => match version.as_str() {
            Some(version) if version.eq_ignore_ascii_case("V1") => Ok(true),
            Some(version) if version.eq_ignore_ascii_case("V2") => Ok(false),
            _ => Err(Error::bad_request("The 'offerVersion' of an offer must be V1 or V2.")),
        },
    }
}

fn content(body: &Value) -> Result<&Object, Error> {
    let content = body.get("content").as_object();
    content.ok_or_else(|| Error::bad_request("The 'content' of the offer must be an object."))
}

/// `null` counts as absent.
fn autoscale_settings(content: &Object) -> Result<Option<&Value>, Error> {
    match content.get("offerAutopilotSettings") {
        None | Some(Value::Null) => Ok(None),
        Some(settings @ Value::Object(_)) => Ok(Some(settings)),
        Some(_) => Err(Error::bad_request(
            "The 'content.offerAutopilotSettings' of the offer is not an object.",
        )),
    }
}

#[cfg(test)]
mod tests;
