//! Sets the throughput of each partition from the catalog's offers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use catalog::{Database, Offer, Throughput, offers::Offers};
use partition::{
    Partition,
    budget::{Budget, Shared, lock},
};
use protocol::rid::{CollectionRid, DatabaseRid};
use query::served::{Served, View};

use crate::{Inner, options::RateLimit};

/// Autoscale never falls below its maximum divided by this.
const AUTOSCALE_FLOOR: u32 = 10;

/// Autoscale reports its current throughput in steps of this size.
const CURRENT_STEP: u32 = 100;

/// The throughput that databases share, by the database's number.
pub(crate) type SharedBudgets = Mutex<HashMap<u32, Arc<Shared>>>;

/// Gives every partition its share of throughput, where that has changed. Called whenever the
/// catalog or the partitions change, before anyone sees it.
pub(crate) fn apply(engine: &Inner, view: &View) {
    let before = engine.view();
    let (catalog, old) = (&view.catalog, &before.catalog);
    let mut all_shared = lock(&engine.shared_budgets);
    all_shared.retain(|number, _| catalog.databases.contains_key(number));
    let has_same_offers = Arc::ptr_eq(&catalog.offers, &old.offers);
    for (number, database) in &catalog.databases {
        let is_same = |old: &Arc<Database>| Arc::ptr_eq(old, database);
        if has_same_offers && old.databases.get(number).is_some_and(is_same) {
            continue;
        }
        let rid = database.rid.to_string();
        let offer = catalog.offers.of(&rid);
        let change = Change {
            engine,
            before: &before,
            offers: (&old.offers, &catalog.offers),
            is_shared_new: !is_same_offer(old.offers.of(&rid), offer),
            shared: offer.map(|offer| {
                let shared = all_shared.entry(*number).or_default();
                let rate = f64::from(offer.throughput.rate());
                shared.set_rate(is_enforced(engine, offer).then_some(rate), engine.now_s());
                (Arc::clone(shared), rate)
            }),
        };
        for collection in database.collections.values() {
            if let Some(collection) = view.by_rid(collection.rid) {
                change.apply(collection);
            }
        }
    }
}

fn is_enforced(engine: &Inner, offer: &Offer) -> bool {
    match engine.options.rate_limit {
        RateLimit::Always => true,
        RateLimit::Provisioned => offer.is_asked,
        RateLimit::Never => false,
    }
}

fn is_same_offer(one: Option<&Arc<Offer>>, other: Option<&Arc<Offer>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// The effect of a catalog change on the collections of one database.
struct Change<'a> {
    engine: &'a Inner,
    before: &'a View,
    /// The offers before and after the change.
    offers: (&'a Offers, &'a Offers),
    /// The budget that the database's collections share, and its rate.
    shared: Option<(Arc<Shared>, f64)>,
    is_shared_new: bool,
}

impl Change<'_> {
    fn apply(&self, collection: &Arc<Served>) {
        let now_s = self.engine.now_s();
        let rid = collection.rid.to_string();
        let (old, offer) = (self.offers.0.of(&rid), self.offers.1.of(&rid));
        let was = self.before.by_rid(collection.rid);
        let is_same = was.is_some_and(|was| Arc::ptr_eq(was, collection));
        if is_same && is_same_offer(old, offer) && !self.is_shared_new {
            return;
        }
        let partitions = &collection.partitions;
        match (offer, &self.shared) {
            (Some(offer), _) => {
                let share = f64::from(offer.throughput.rate()) / collection.ranges.len() as f64;
                let is_enforced = is_enforced(self.engine, offer);
                if let Some(was) = was.filter(|_| !is_same && is_enforced) {
                    inherit(&was.partitions, partitions, share, now_s);
                }
                for partition in partitions {
                    partition.budget.set_own(share, is_enforced, now_s);
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

/// Gives new partitions the remaining throughput or debt of the ones they replace.
fn inherit(old: &[Arc<Partition>], new: &[Arc<Partition>], share: f64, now_s: f64) {
    let without = |these: &[Arc<Partition>], those: &[Arc<Partition>]| -> Vec<Arc<Budget>> {
        let is_new = |one: &&Arc<Partition>| !those.iter().any(|other| Arc::ptr_eq(one, other));
        these.iter().filter(is_new).map(|partition| Arc::clone(&partition.budget)).collect()
    };
    Budget::inherit(&without(old, new), &without(new, old), share, now_s);
}

/// The throughput that an offer currently stands for. Autoscale follows the busiest second of the
/// last minute, at the busiest partition, between a tenth of its maximum and the maximum.
pub(crate) fn current(engine: &Inner, view: &View, offer: &Offer) -> u32 {
    let Throughput::Autoscale { max, .. } = &offer.throughput else {
        return offer.throughput.rate();
    };
    let least = max / AUTOSCALE_FLOOR;
    let peak = peak(engine, view, offer).ceil().clamp(f64::from(least), f64::from(*max));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two positive numbers of 32 bits"
    )]
    let current = peak as u32;
    current.next_multiple_of(CURRENT_STEP).min(*max)
}

fn peak(engine: &Inner, view: &View, offer: &Offer) -> f64 {
    let now_s = engine.now_s();
    let Some(rid) = CollectionRid::parse(&offer.resource_rid) else {
        let database = DatabaseRid::parse(&offer.resource_rid);
        let all_shared = lock(&engine.shared_budgets);
        let shared = database.and_then(|rid| all_shared.get(&rid.0));
        return shared.map_or(0.0, |shared| shared.peak(now_s));
    };
    view.by_rid(rid).map_or(0.0, |collection| {
        let partitions = &collection.partitions;
        let peaks = partitions.iter().map(|it| it.budget.peak(now_s));
        peaks.fold(0.0, f64::max) * collection.ranges.len() as f64
    })
}
