//! Quota and usage of a collection as text, kept for a moment: every answer beside a document has them.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use protocol::response::QuotaLists;

/// Quota and usage as they were a moment ago.
#[derive(Debug, Default)]
pub struct CachedLists(RwLock<Option<(Duration, Arc<QuotaLists>)>>);

impl CachedLists {
    /// What is kept, if it is not older than `age_max`; else what `make` gives, which is kept now.
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
