//! What each partition may spend, as the catalog's offers say.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use protocol::rid::{CollectionRid, DatabaseRid};

use crate::{
    Inner,
    budget::{Budget, Shared, lock},
    catalog::{Catalog, Offer, Throughput},
    options::RateLimit,
    partition::Partition,
};

/// Autoscale never falls below this part of its maximum.
const AUTOSCALE_FLOOR: u32 = 10;

/// The current throughput of autoscale is shown in steps.
const CURRENT_STEP: u32 = 100;

/// What databases share, by their number.
pub(crate) type SharedBudgets = Mutex<HashMap<u32, Arc<Shared>>>;

/// Gives every partition its share. Called whenever the catalog changes, before anyone sees it.
pub(crate) fn apply(engine: &Inner, catalog: &Catalog) {
    let now_s = engine.now_s();
    let offers: HashMap<&str, &Offer> =
        catalog.offers.values().map(|offer| (offer.resource_rid.as_str(), &**offer)).collect();
    let offer_of = |rid: &str| offers.get(rid).copied();
    let is_enforced = |offer: &Offer| match engine.options.rate_limit {
        RateLimit::Always => true,
        RateLimit::Provisioned => offer.is_asked,
        RateLimit::Never => false,
    };
    let before = engine.catalog();
    let mut all_shared = lock(&engine.shared_budgets);
    all_shared.retain(|number, _| catalog.databases.contains_key(number));
    for (number, database) in &catalog.databases {
        let shared = offer_of(&database.rid.to_string()).map(|offer| {
            let shared = all_shared.entry(*number).or_default();
            let rate = f64::from(offer.throughput.rate());
            shared.set_rate(is_enforced(offer).then_some(rate), now_s);
            (Arc::clone(shared), rate)
        });
        for collection in database.collections.values() {
            let partitions = &collection.partitions;
            match (offer_of(&collection.rid.to_string()), &shared) {
                (Some(offer), _) => {
                    let share = f64::from(offer.throughput.rate()) / partitions.len() as f64;
                    let old = before.databases.get(number);
                    let old = old.and_then(|it| it.collections.get(&collection.rid.number));
                    if let Some(old) = old.filter(|old| !Arc::ptr_eq(old, collection))
                        && is_enforced(offer)
                    {
                        inherit(&old.partitions, partitions, share, now_s);
                    }
                    for partition in partitions {
                        partition.budget.set_own(share, is_enforced(offer), now_s);
                    }
                }
                (None, Some((shared, rate))) => {
                    for partition in partitions {
                        partition.budget.set_shared(shared, *rate);
                    }
                }
                (None, None) => {
                    for partition in partitions {
                        partition.budget.set_unlimited();
                    }
                }
            }
        }
    }
}

/// Gives partitions that take the place of others what those have left, or owe.
fn inherit(old: &[Arc<Partition>], new: &[Arc<Partition>], share: f64, now_s: f64) {
    let without = |these: &[Arc<Partition>], those: &[Arc<Partition>]| -> Vec<Arc<Budget>> {
        let is_new = |one: &&Arc<Partition>| !those.iter().any(|other| Arc::ptr_eq(one, other));
        these.iter().filter(is_new).map(|partition| Arc::clone(&partition.budget)).collect()
    };
    Budget::inherit(&without(old, new), &without(new, old), share, now_s);
}

/// The throughput that an offer stands for at the moment. Autoscale follows the busiest second of
/// the last minute, at the busiest partition, between a tenth of its maximum and the maximum.
pub(crate) fn current(engine: &Inner, catalog: &Catalog, offer: &Offer) -> u32 {
    let Throughput::Autoscale { max, .. } = &offer.throughput else {
        return offer.throughput.rate();
    };
    let least = max / AUTOSCALE_FLOOR;
    let peak = peak(engine, catalog, offer).ceil().clamp(f64::from(least), f64::from(*max));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two positive numbers of 32 bits"
    )]
    let current = peak as u32;
    current.next_multiple_of(CURRENT_STEP).min(*max)
}

fn peak(engine: &Inner, catalog: &Catalog, offer: &Offer) -> f64 {
    let now_s = engine.now_s();
    let Some(rid) = CollectionRid::parse(&offer.resource_rid) else {
        let database = DatabaseRid::parse(&offer.resource_rid);
        let all_shared = lock(&engine.shared_budgets);
        let shared = database.and_then(|rid| all_shared.get(&rid.0));
        return shared.map_or(0.0, |shared| shared.peak(now_s));
    };
    let database = catalog.databases.get(&rid.database.0);
    let collection = database.and_then(|database| database.collections.get(&rid.number));
    collection.map_or(0.0, |collection| {
        let partitions = &collection.partitions;
        let peaks = partitions.iter().map(|it| it.budget.peak(now_s));
        peaks.fold(0.0, f64::max) * partitions.len() as f64
    })
}
