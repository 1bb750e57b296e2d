//! Offers: the throughput of databases and collections, as a separate resource.

pub(crate) mod floor;
mod replacement;

use std::sync::Arc;

use bytes::Bytes;
use catalog::{Catalog, Database, Offer, Throughput, number, quoted, storage, to_bytes};
use partition::charge::Meter;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response, continuation::Feed, request::Migration,
    response::FeedKind, rid::OfferRid,
};
use query::paging::Page;
use store::Batch;
use value::{Object, Value};

use catalog::throughput::{Kind, Rules};

use catalog::bodies;

use crate::{
    Inner,
    call::Call,
    conditions::{answer_read, require_match},
    control::{AsyncPlan, Change},
    offers::floor::Holding,
    rates,
};

pub(crate) fn read(
    Call { engine, view }: &Call,
    offer: &str,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let offer = find(&view.catalog, offer)?;
    let holding = Holding::of(offer, view);
    let current = rates::current(engine, view, offer);
    let answer = |outcome| answer(outcome, offer, (holding, current), Rules::from(&engine.options));
    Ok(answer_read(options, offer.version.etag, answer))
}

pub(crate) fn list(
    Call { engine, view }: &Call,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let items = view.catalog.offers.values().map(|offer| (u64::from(offer.rid.0), offer));
    let print = |offer: &Arc<Offer>| {
        to_json(offer, Holding::of(offer, view), rates::current(engine, view, offer))
    };
    let page = Page::take(Feed::Offers, &[], options, items, print)?;
    Ok(page.answer(String::new(), FeedKind::Offers, Meta::default()))
}

struct Replace {
    offer: String,
    body: Value,
    migration: Option<Migration>,
    options: Options,
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    offer: String,
    body: &[u8],
    migration: Option<Migration>,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let body = bodies::definition(body)?;
    let replaced = engine.change(Replace { offer, body, migration, options }).await;
    let (offer, holding) = meter.metadata_write(replaced)?;
    engine.reshaping.wanted.notify_one();
    let current = rates::current(engine, &engine.view(), &offer);
    Ok(answer(Outcome::Ok, &offer, (holding, current), Rules::from(&engine.options)))
}

impl AsyncPlan<(Arc<Offer>, Holding)> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<(Arc<Offer>, Holding)>, Error> {
        let old = Arc::clone(find(&catalog, &self.offer)?);
        require_match(&self.options, old.version.etag)?;
        check_identity(&old, &self.body)?;
        let holding = Holding::of(&old, &engine.view());
        let rules = Rules::from(&engine.options);
        let throughput =
            replacement::replacement(&old, &self.body, self.migration, (rules, holding))?;
        // Cloning the old one keeps its mark of the stored data, too.
        let mut offer = Offer::clone(&old);
        offer.highest = offer.highest.max(throughput.rate());
        offer.throughput = throughput;
        offer.is_asked = true;
        offer.version = engine.new_version();
        let mut batch = Batch::default();
        storage::put_offer(&mut batch, &offer);
        let offer = Arc::new(offer);
        Arc::make_mut(&mut catalog.offers).insert(Arc::clone(&offer));
        Ok(Change::new(batch, catalog, (offer, holding)))
    }
}

/// Refuses another collection that would share a database's throughput if it has no partition key,
/// or if the throughput is too low for one more.
pub(crate) fn check_room(
    catalog: &Catalog,
    database: &Database,
    shared: &Offer,
    kind: Kind,
) -> Result<(), Error> {
    if kind == (Kind::Collection { is_partitioned: false }) {
        return Err(Error::bad_request("Shared throughput collection should have a partition key"));
    }
    let rate = shared.throughput.rate();
    let count = floor::sharing(catalog, database).count();
    let least = floor::least_shared(floor::mode_of(&shared.throughput), count + 1);
    if u64::from(rate) < least {
        return Err(Error::bad_request(format!(
            "{count} collections share the throughput of the database, {rate}, which is less than \
             the minimum throughput {least} for one more: raise it, or give the collection throughput \
             of its own."
        )));
    }
    Ok(())
}

fn find<'a>(catalog: &'a Catalog, offer: &str) -> Result<&'a Arc<Offer>, Error> {
    let rid = OfferRid::parse(offer).ok_or_else(|| {
        Error::bad_request("The id of the offer is not valid: expected 4 base64 characters.")
    })?;
    catalog.offers.get(rid.0).ok_or_else(Error::not_found)
}

/// Refuses a replacement unless it has the ids of the same offer and resource.
fn check_identity(offer: &Offer, body: &Value) -> Result<(), Error> {
    let rid = offer.rid.to_string();
    let expected = [
        ("id", rid.as_str()),
        ("_rid", &rid),
        ("resource", &offer.resource),
        ("offerResourceId", &offer.resource_rid),
    ];
    if body.as_object().is_none() {
        return Err(Error::bad_request("The input content is invalid: it is not an object."));
    }
    if body.get("id").is_undefined() && body.get("_rid").is_undefined() {
        return Err(Error::bad_request("The offer has neither an 'id' nor a '_rid'."));
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

/// The answer with an offer, its limits and the throughput that it currently stands for.
fn answer(
    outcome: Outcome,
    offer: &Offer,
    (holding, current): (Holding, u32),
    rules: Rules,
) -> Response {
    let mode = floor::mode_of(&offer.throughput);
    let least = floor::range(rules, offer.highest, holding, mode).least;
    Response {
        outcome,
        body: Body::Resource(to_json(offer, holding, current)),
        etag: Some(offer.version.etag.to_string()),
        continuation: None,
        meta: Meta { min_throughput: Some(least), ..Meta::default() },
    }
}

fn to_json(offer: &Offer, holding: Holding, current: u32) -> Bytes {
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
    object.insert("content", Value::Object(content(offer, holding, current)));
    object.insert("id", rid.as_str());
    object.insert("_rid", rid.as_str());
    object.insert("_self", format!("offers/{rid}/"));
    object.insert("_etag", quoted(offer.version.etag));
    object.insert("_ts", number(offer.version.ts));
    to_bytes(object)
}

fn content(offer: &Offer, holding: Holding, current: u32) -> Object {
    let mut content = Object::new();
    content.insert("offerThroughput", i64::from(current));
    content.insert("offerIsRUPerMinuteThroughputEnabled", false);
    let mut minimum = Object::new();
    minimum.insert("maxThroughputEverProvisioned", i64::from(offer.highest));
    minimum.insert("maxConsumedStorageEverInKB", number(holding.storage_kb));
    content.insert("offerMinimumThroughputParameters", Value::Object(minimum));
    if let Throughput::Autoscale { max, increment_percent } = offer.throughput {
        let mut settings = Object::new();
        settings.insert("tier", 0_i64);
        settings.insert("maximumTierThroughput", 0_i64);
        settings.insert("autoUpgrade", false);
        settings.insert("maxThroughput", i64::from(max));
        if let Some(percent) = increment_percent {
            let (mut policy, mut throughput) = (Object::new(), Object::new());
            throughput.insert("incrementPercent", i64::from(percent));
            policy.insert("throughputPolicy", Value::Object(throughput));
            settings.insert("autoUpgradePolicy", Value::Object(policy));
        }
        content.insert("offerAutopilotSettings", Value::Object(settings));
    }
    content
}
