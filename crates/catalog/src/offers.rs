//! The offers of an account, indexed by number and by resource.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::Offer;

/// All offers, in creation order.
#[derive(Clone, Default)]
pub struct Offers {
    by_number: BTreeMap<u32, Arc<Offer>>,
    /// The number of each resource's offer, by the resource's rid.
    by_resource: HashMap<String, u32>,
}

impl Offers {
    /// The offer with this number, which its rid contains.
    pub fn get(&self, number: u32) -> Option<&Arc<Offer>> {
        self.by_number.get(&number)
    }

    /// The offer of a resource, by the resource's rid.
    pub fn of(&self, resource_rid: &str) -> Option<&Arc<Offer>> {
        self.by_number.get(self.by_resource.get(resource_rid)?)
    }

    /// All offers in creation order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Arc<Offer>> + Clone {
        self.by_number.values()
    }

    /// Inserts or replaces an offer.
    pub fn insert(&mut self, offer: Arc<Offer>) {
        self.by_resource.insert(offer.resource_rid.clone(), offer.rid.0);
        self.by_number.insert(offer.rid.0, offer);
    }

    /// Removes an offer, when its resource is deleted.
    pub fn remove(&mut self, offer: &Offer) {
        self.by_number.remove(&offer.rid.0);
        if self.by_resource.get(&offer.resource_rid) == Some(&offer.rid.0) {
            self.by_resource.remove(&offer.resource_rid);
        }
    }
}
