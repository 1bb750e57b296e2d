//! The hottest logical keys of a partition: which ones its request units are spent on.
//!
//! A Space-Saving sketch with a fixed number of counters. A key without a counter takes over the
//! smallest one; the count it inherits bounds how far the new key may be overstated. Every key that
//! spends more than a 64th of the partition's total has a counter. Older spending weighs less, so
//! the counters show the recent past.

use std::{
    hash::BuildHasher as _,
    sync::{Mutex, PoisonError},
};

use foldhash::fast::RandomState;

/// Keys counted at a time.
const KEYS_MAX: usize = 64;

/// The time after which spending weighs 1/e of its original value.
const MEMORY_MS: f64 = 10_000.0;

/// How far the scale may run ahead of the oldest count before all counts are rescaled: `e^20`
/// leaves a double enough precision.
const SCALE_MAX: f64 = 20.0;

/// Tracks request units spent per key.
#[derive(Debug, Default)]
pub struct HotKeys {
    sketch: Mutex<Sketch>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Sketch {
    /// The hashes of the keys of `counters`, in the same order: all of them are searched for each
    /// request.
    hashes: Vec<u64>,
    /// The request units spent on the keys of `counters`, in the same order.
    spent: Vec<f64>,
    counters: Vec<Counter>,
    /// When counting began; `None` before the first count.
    began: Option<i64>,
    /// The moment whose request units weigh 1. Later ones weigh more, so there is no need to age
    /// every counter on each update.
    scale: i64,
}

#[derive(Debug)]
struct Counter {
    key: Box<[u8]>,
    /// The part of what was spent that may belong to another key.
    overstated: f64,
}

impl HotKeys {
    /// Records request units spent by a request that names one key.
    pub fn note(&self, key: &[u8], units: f64, now_millis: i64) {
        if !units.is_finite() || units <= 0.0 {
            return;
        }
        let hash = self.hasher.hash_one(key);
        let mut sketch = self.sketch.lock().unwrap_or_else(PoisonError::into_inner);
        sketch.note(hash, key, units, now_millis);
    }

    /// The keys that spend most, hottest first, each with its recent request units per second. Errs
    /// low: it leaves out spending that may belong to another key.
    pub fn top(&self, count: usize, now_millis: i64) -> Vec<(Box<[u8]>, f64)> {
        let sketch = self.sketch.lock().unwrap_or_else(PoisonError::into_inner);
        sketch.top(count, now_millis)
    }
}

impl Sketch {
    fn note(&mut self, hash: u64, key: &[u8], units: f64, now: i64) {
        if self.began.is_none() {
            (self.began, self.scale) = (Some(now), now);
        }
        let units = units * self.weight(now);
        // Without an early end, so that the compiler compares several at a time.
        let known: u8 = self.hashes.iter().map(|other| u8::from(*other == hash)).sum();
        if known > 0 {
            let mut same = self.hashes.iter().enumerate().filter(|(_, other)| **other == hash);
            if let Some((at, _)) = same.find(|(at, _)| *self.counters[*at].key == *key) {
                self.spent[at] += units;
                return;
            }
        }
        let key = key.into();
        if self.counters.len() < KEYS_MAX {
            self.hashes.push(hash);
            self.spent.push(units);
            self.counters.push(Counter { key, overstated: 0.0 });
            return;
        }
        let mut least = (0, f64::INFINITY);
        for (at, spent) in self.spent.iter().enumerate() {
            if *spent < least.1 {
                least = (at, *spent);
            }
        }
        let (at, overstated) = least;
        self.hashes[at] = hash;
        self.spent[at] += units;
        self.counters[at] = Counter { key, overstated };
    }

    /// The weight of a request unit now. Moves the scale once it has drifted far.
    fn weight(&mut self, now: i64) -> f64 {
        let ages = age(self.scale, now) / MEMORY_MS;
        if ages <= SCALE_MAX {
            return ages.exp();
        }
        let fade = (-ages).exp();
        for (counter, spent) in self.counters.iter_mut().zip(&mut self.spent) {
            *spent *= fade;
            counter.overstated *= fade;
        }
        self.scale = now;
        1.0
    }

    fn top(&self, count: usize, now: i64) -> Vec<(Box<[u8]>, f64)> {
        let Some(began) = self.began else { return Vec::new() };
        let fade = (-age(self.scale, now) / MEMORY_MS).exp();
        // The total weight of a steady spender: less while counting is younger than the memory.
        let collected = MEMORY_MS * (1.0 - (-age(began, now).max(1000.0) / MEMORY_MS).exp());
        let rate =
            |counter: &Counter, spent| (spent - counter.overstated) * fade / collected * 1000.0;
        let spent = self.counters.iter().zip(&self.spent);
        let mut keys: Vec<(&Counter, f64)> =
            spent.map(|(counter, spent)| (counter, rate(counter, *spent))).collect();
        keys.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.key.cmp(&b.0.key)));
        // Below a hundredth of a unit per second a key counts as idle.
        let keys = keys.into_iter().filter(|(_, rate)| *rate >= 0.01).take(count);
        keys.map(|(counter, rate)| (counter.key.clone(), rate)).collect()
    }
}

/// Milliseconds elapsed; zero if the clock was set back.
fn age(since: i64, now: i64) -> f64 {
    now.saturating_sub(since).max(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hot: &HotKeys, count: usize, now: i64) -> Vec<String> {
        let keys = hot.top(count, now).into_iter();
        keys.map(|(key, _)| String::from_utf8_lossy(&key).into_owned()).collect()
    }

    /// The rate of one key.
    fn rate(hot: &HotKeys, key: &str, now: i64) -> f64 {
        let mut keys = hot.top(KEYS_MAX, now).into_iter();
        keys.find(|(name, _)| **name == *key.as_bytes()).map_or(0.0, |(_, rate)| rate)
    }

    /// Every millisecond in the range: a busy key, a less busy one, and a crowd of keys seen once.
    fn crowd(hot: &HotKeys, from: i64, to: i64) {
        for now in from..to {
            hot.note(b"busy", 2.0, now);
            if now % 2 == 0 {
                hot.note(b"second", 2.0, now);
            }
            for one in 0..4 {
                hot.note(format!("{now}-{one}").as_bytes(), 1.0, now);
            }
        }
    }

    #[test]
    fn heavy_hitters_are_found_in_a_crowd() {
        let hot = HotKeys::default();
        crowd(&hot, 0, 30_000);
        assert_eq!(names(&hot, 2, 30_000), ["busy", "second"]);
        let (busy, second) = (rate(&hot, "busy", 30_000), rate(&hot, "second", 30_000));
        assert!((1800.0..2050.0).contains(&busy), "{busy}");
        assert!((800.0..1050.0).contains(&second), "{second}");
    }

    #[test]
    fn memory_is_bounded() {
        let hot = HotKeys::default();
        for number in 0..100_000_i64 {
            hot.note(number.to_string().as_bytes(), 1.0, number);
        }
        assert_eq!(hot.sketch.lock().unwrap().counters.len(), KEYS_MAX);
        assert!(hot.top(usize::MAX, 100_000).len() <= KEYS_MAX);
    }

    #[test]
    fn a_steady_rate_is_told_from_the_first_second_on() {
        let hot = HotKeys::default();
        for now in 0..100_000 {
            hot.note(b"steady", 0.5, now);
            if now >= 1000 && now % 1000 == 0 {
                let rate = rate(&hot, "steady", now);
                assert!((495.0..=505.0).contains(&rate), "{rate} at {now}");
            }
        }
    }

    #[test]
    fn the_past_fades() {
        let hot = HotKeys::default();
        for now in 0..10_000 {
            hot.note(b"old", 1.0, now);
        }
        for now in 10_000..40_000 {
            hot.note(b"new", 0.2, now);
        }
        assert_eq!(names(&hot, 1, 40_000), ["new"]);
        assert!(rate(&hot, "old", 40_000) < 50.0);
        // An idle hour: far more than the scale may drift.
        assert!(hot.top(5, 3_640_000).is_empty());
        hot.note(b"again", 10.0, 3_640_000);
        assert_eq!(names(&hot, 5, 3_640_000), ["again"]);
    }

    #[test]
    fn odd_clocks_and_charges_do_no_harm() {
        let hot = HotKeys::default();
        assert!(hot.top(5, 0).is_empty());
        for (units, now) in [
            (1.0, 1000),
            (1.0, -5),
            (f64::NAN, 1),
            (f64::INFINITY, 1),
            (-1.0, 1),
            (0.0, 1),
            (1.0, i64::MAX),
            (1.0, i64::MIN),
        ] {
            hot.note(b"key", units, now);
        }
        for now in [i64::MIN, 0, i64::MAX] {
            assert!(hot.top(5, now).iter().all(|(_, rate)| rate.is_finite()));
        }
    }
}
