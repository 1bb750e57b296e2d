//! Sets and changes where a partition's request units come from.

use std::sync::Arc;

use crate::budget::{Budget, Shared, Source, bucket::Bucket, lock};

impl Budget {
    /// Gives the partition its own share, which is enforced or only counted.
    pub fn set_own(&self, share: f64, is_enforced: bool, now_s: f64) {
        let mut state = lock(&self.0);
        state.reserved = share;
        match (&mut state.source, is_enforced) {
            (Source::Own(bucket), true) => bucket.set_rate(share, now_s),
            (source, true) => *source = Source::Own(Bucket::new(share, now_s).into()),
            (source, false) => *source = Source::Unlimited,
        }
    }

    /// Lets the partition spend its database's shared throughput of `rate` request units per
    /// second.
    pub fn set_shared(&self, shared: &Arc<Shared>, rate: f64) {
        self.set_source(Source::Shared(Arc::clone(shared)), rate);
    }

    /// Removes the partition's limit.
    pub fn set_unlimited(&self) {
        self.set_source(Source::Unlimited, 0.0);
    }

    fn set_source(&self, source: Source, reserved: f64) {
        let mut state = lock(&self.0);
        state.reserved = reserved;
        state.source = source;
    }

    /// Passes the parents' balance or debt to the children of a split or merge. Each child has this
    /// share from now on.
    pub fn inherit(parents: &[Arc<Self>], children: &[Arc<Self>], share: f64, now_s: f64) {
        let mut parents: Vec<_> = parents.iter().map(|parent| lock(&parent.0)).collect();
        let mut buckets: Vec<&mut Bucket> = Vec::new();
        for parent in &mut parents {
            if let Source::Own(bucket) = &mut parent.source {
                buckets.push(bucket);
            }
        }
        let part = 1.0 / children.len() as f64;
        for child in children {
            let heir = Bucket::heir(share, part, &mut buckets, now_s);
            lock(&child.0).source = Source::Own(heir.into());
        }
    }

    /// Request units spent in the busiest second of the last minute.
    pub fn peak(&self, now_s: f64) -> f64 {
        lock(&self.0).usage.peak(now_s)
    }
}

impl Shared {
    /// Sets what the database may spend per second; `None` to enforce no limit.
    pub fn set_rate(&self, rate: Option<f64>, now_s: f64) {
        let mut state = lock(&self.0);
        match (&mut state.bucket, rate) {
            (Some(bucket), Some(rate)) => bucket.set_rate(rate, now_s),
            (bucket, rate) => *bucket = rate.map(|rate| Bucket::new(rate, now_s)),
        }
    }

    /// Request units spent in the busiest second of the last minute.
    pub fn peak(&self, now_s: f64) -> f64 {
        lock(&self.0).usage.peak(now_s)
    }
}
