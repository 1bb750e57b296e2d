//! `RAND`: numbers that look random and follow from a seed, so that a query can be run again.

use std::sync::atomic::{AtomicU64, Ordering};

use value::Value;

use super::Function;

pub(super) static FUNCTIONS: &[Function] =
    &[Function::new("RAND", 0..=0, |_, context| Value::from(context.random.next()))];

/// A sequence of numbers. A counter that is scrambled (SplitMix64): every seed gives a different
/// sequence, and a shared reference is enough to take the next number.
pub(crate) struct Random(AtomicU64);

impl Random {
    /// The sequence of a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Random(AtomicU64::new(seed))
    }

    /// The next number, from 0 to just below 1.
    fn next(&self) -> f64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut bits = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        // The 53 bits that a double holds.
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_spread_and_follow_from_the_seed() {
        let (random, same, other) = (Random::new(7), Random::new(7), Random::new(8));
        let mut buckets = [0; 10];
        for _ in 0..10_000 {
            let number = random.next();
            assert!((0.0..1.0).contains(&number));
            assert_eq!(number.to_bits(), same.next().to_bits());
            assert_ne!(number.to_bits(), other.next().to_bits());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
            let bucket = (number * 10.0) as usize;
            buckets[bucket] += 1;
        }
        assert!(buckets.iter().all(|count| (800..1200).contains(count)), "{buckets:?}");
    }
}
