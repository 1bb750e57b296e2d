//! Offers: the throughput of databases and collections, as a resource of its own.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response, continuation::Feed, response::FeedKind,
    rid::OfferRid,
};
use store::Batch;
use value::{Object, Value, json};

use crate::{
    Inner,
    budget::rates,
    catalog::{Catalog, Offer, Throughput, number, quoted, storage, to_bytes},
    charge::Meter,
    control::{AsyncPlan, Change},
    databases::invalid_body,
    feeds::{Page, is_unchanged, require_match},
    throughput::{self, Kind, THROUGHPUT_MIN},
};

pub(crate) fn read(
    engine: &Inner,
    offer: &str,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let catalog = engine.catalog();
    let offer = find(&catalog, offer)?;
    let current = rates::current(engine, &catalog, offer);
    if is_unchanged(options, offer.version.etag) {
        let answer = answer(Outcome::NotModified, offer, current);
        return Ok(Response { body: Body::Empty, ..answer });
    }
    Ok(answer(Outcome::Ok, offer, current))
}

pub(crate) fn list(
    engine: &Inner,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let catalog = engine.catalog();
    let items = catalog.offers.iter().map(|(key, offer)| (u64::from(*key), offer));
    let page = Page::take(Feed::Offers, &[], options, items, |offer| {
        to_json(offer, rates::current(engine, &catalog, offer))
    })?;
    Ok(page.answer(String::new(), FeedKind::Offers, Meta::default()))
}

struct Replace {
    offer: String,
    body: Value,
    options: Options,
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    offer: String,
    body: &[u8],
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let body = json::parse(body).map_err(|error| invalid_body(&error))?;
    meter.metadata_write();
    let offer = engine.change(Replace { offer, body, options }).await?;
    let current = rates::current(engine, &engine.catalog(), &offer);
    Ok(answer(Outcome::Ok, &offer, current))
}

impl AsyncPlan<Arc<Offer>> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<Arc<Offer>>, Error> {
        let old = Arc::clone(find(&catalog, &self.offer)?);
        require_match(&self.options, old.version.etag)?;
        check_identity(&old, &self.body)?;
        let throughput = replacement(&old, &self.body)?;
        throughput::check_kind(&throughput, kind_of(&catalog, &old))?;
        let (rate, least) = (throughput.rate(), min_throughput(&old));
        if rate < least {
            return Err(Error::bad_request(format!(
                "Requested throughput {rate} is less than required minimum throughput {least}"
            )));
        }
        let mut offer = Offer::clone(&old);
        offer.highest = offer.highest.max(throughput.rate());
        offer.throughput = throughput;
        offer.is_asked = true;
        offer.version = engine.new_version();
        let mut batch = Batch::default();
        storage::put_offer(&mut batch, &offer);
        let offer = Arc::new(offer);
        catalog.offers.insert(offer.rid.0, Arc::clone(&offer));
        Ok(Change::new(batch, catalog, offer))
    }
}

fn find<'a>(catalog: &'a Catalog, offer: &str) -> Result<&'a Arc<Offer>, Error> {
    OfferRid::parse(offer).and_then(|rid| catalog.offers.get(&rid.0)).ok_or_else(Error::not_found)
}

/// A replacement must be of the same offer of the same resource.
fn check_identity(offer: &Offer, body: &Value) -> Result<(), Error> {
    let rid = offer.rid.to_string();
    let expected = [
        ("id", rid.as_str()),
        ("_rid", &rid),
        ("resource", &offer.resource),
        ("offerResourceId", &offer.resource_rid),
    ];
    if body.as_object().is_none() {
        return Err(Error::bad_request("The input content is invalid: an offer is an object."));
    }
    for (name, value) in expected {
        let given = body.get(name);
        let is_same =
            given.as_str().is_some_and(|given| given.trim_matches('/') == value.trim_matches('/'));
        if !given.is_undefined() && !is_same {
            return Err(Error::bad_request(format!(
                "The property '{name}' of an offer cannot change."
            )));
        }
    }
    Ok(())
}

fn replacement(old: &Offer, body: &Value) -> Result<Throughput, Error> {
    let content = body.get("content");
    let settings = content.get("offerAutopilotSettings");
    match (&old.throughput, settings.as_object()) {
        (Throughput::Autoscale { .. }, Some(_)) => throughput::autoscale_settings(settings),
        (Throughput::Autoscale { .. }, None) | (_, Some(_)) => Err(Error::bad_request(
            "Changing between manual and autoscale throughput is not supported yet.",
        )),
        (_, None) => {
            let rate = content.get("offerThroughput").as_i64().ok_or_else(|| {
                Error::bad_request("The offer has no valid 'content.offerThroughput'.")
            })?;
            Ok(Throughput::Manual(throughput::manual_rate(rate)?))
        }
    }
}

fn kind_of(catalog: &Catalog, offer: &Offer) -> Kind {
    let mut collections = catalog.databases.values().flat_map(|db| db.collections.values());
    collections.find(|collection| collection.rid.to_string() == offer.resource_rid).map_or(
        Kind::Database,
        |collection| Kind::Collection {
            is_partitioned: !collection.definition.partition_key.is_system,
        },
    )
}

fn answer(outcome: Outcome, offer: &Offer, current: u32) -> Response {
    Response {
        outcome,
        body: Body::Resource(to_json(offer, current)),
        etag: Some(offer.version.etag.to_string()),
        continuation: None,
        meta: Meta { min_throughput: Some(min_throughput(offer)), ..Meta::default() },
    }
}

/// A hundredth of the most it ever had, or a tenth for autoscale's maximum.
fn min_throughput(offer: &Offer) -> u32 {
    match offer.throughput {
        Throughput::Autoscale { .. } => (offer.highest / 10).next_multiple_of(1000).max(1000),
        _ => (offer.highest / 100).next_multiple_of(100).max(THROUGHPUT_MIN),
    }
}

/// `current` is the throughput that it stands for at the moment.
fn to_json(offer: &Offer, current: u32) -> Bytes {
    let mut object = Object::new();
    let rid = offer.rid.to_string();
    object.insert("resource", offer.resource.as_str());
    let (kind, version) = match &offer.throughput {
        Throughput::Level { name, .. } => (name.as_str(), "V1"),
        _ => ("Invalid", "V2"),
    };
    object.insert("offerType", kind);
    object.insert("offerResourceId", offer.resource_rid.as_str());
    object.insert("offerVersion", version);
    object.insert("content", Value::Object(content(offer, current)));
    object.insert("id", rid.as_str());
    object.insert("_rid", rid.as_str());
    object.insert("_self", format!("offers/{rid}/"));
    object.insert("_etag", quoted(offer.version.etag));
    object.insert("_ts", number(offer.version.ts));
    to_bytes(object)
}

fn content(offer: &Offer, current: u32) -> Object {
    let mut content = Object::new();
    content.insert("offerThroughput", i64::from(current));
    content.insert("offerIsRUPerMinuteThroughputEnabled", false);
    let mut minimum = Object::new();
    minimum.insert("maxThroughputEverProvisioned", i64::from(offer.highest));
    minimum.insert("maxConsumedStorageEverInKB", 0_i64);
    content.insert("offerMinimumThroughputParameters", Value::Object(minimum));
    if let Throughput::Autoscale { max, upgrade_policy } = &offer.throughput {
        let mut settings = Object::new();
        settings.insert("tier", 0_i64);
        settings.insert("maximumTierThroughput", 0_i64);
        settings.insert("autoUpgrade", false);
        settings.insert("maxThroughput", i64::from(*max));
        if let Some(policy) = upgrade_policy {
            settings.insert("autoUpgradePolicy", policy.clone());
        }
        content.insert("offerAutopilotSettings", Value::Object(settings));
    }
    content
}
