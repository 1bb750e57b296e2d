//! A collection's quota and usage as text, cached briefly, because every document answer contains
//! them.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use protocol::response::QuotaLists;

/// The cached quota and usage, and their age.
#[derive(Debug, Default)]
pub struct CachedLists(RwLock<Option<(Duration, Arc<QuotaLists>)>>);

impl CachedLists {
    /// Returns the cached text if it is not older than `age_max`; otherwise calls `make`, and
    /// caches the result.
    pub fn get(
        &self,
        now: Duration,
        age_max: Duration,
        make: impl FnOnce() -> QuotaLists,
    ) -> Arc<QuotaLists> {
        if let Some((made, lists)) = &*self.0.read().unwrap_or_else(PoisonError::into_inner)
            && now.saturating_sub(*made) < age_max
        {
            return Arc::clone(lists);
        }
        let lists = Arc::new(make());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some((now, Arc::clone(&lists)));
        lists
    }
}
