//! Which document numbers a range may give in a slot that it shares with other ranges.
//!
//! Numbers are in `_rid`s, and paging relies on them, so they must be unique within a slot, no
//! matter which range holds which part of it. So ranges that share a slot also divide its
//! sequences, by remainder.

/// The sequences with the same remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// A power of two.
    pub step: u64,
    /// Less than the step.
    pub offset: u64,
}

/// The largest step: of 2^36 sequences it leaves a million, which should be enough for any
/// partition.
const STEP_MAX: u64 = 1 << 16;

/// The sequences that a partition may give in a slot that it shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedSlot {
    /// The shared slot.
    pub slot: u32,
    /// The sequences in it that belong to this partition.
    pub class: Class,
}

impl Class {
    /// All sequences.
    pub const ALL: Self = Self { step: 1, offset: 0 };

    /// Creates a class from stored values; `None` if they are invalid.
    pub(crate) fn new(step: u64, offset: u64) -> Option<Self> {
        (step.is_power_of_two() && offset < step).then_some(Self { step, offset })
    }

    /// Its first sequence that is at least this one.
    pub fn at_least(self, sequence: u64) -> u64 {
        let behind = sequence.saturating_sub(self.offset).div_ceil(self.step);
        self.offset + behind * self.step
    }

    /// Whether the classes have a sequence in common. Then one contains the other.
    pub fn overlaps(self, other: Self) -> bool {
        let step = self.step.min(other.step);
        self.offset % step == other.offset % step
    }

    fn halves(self) -> [Self; 2] {
        let step = self.step * 2;
        [Self { step, ..self }, Self { step, offset: self.offset + self.step }]
    }
}

/// Classes for `count` partitions that come to share a slot with the owners of `taken`. They are as
/// large as possible and include the classes of partitions that no longer exist. `None` if too
/// little is left.
pub fn share(taken: &[Class], count: usize) -> Option<Vec<Class>> {
    let mut free = Vec::new();
    gather(Class::ALL, taken, &mut free);
    free.sort_by_key(|class| class.step);
    while free.len() < count {
        let largest = *free.first().filter(|class| class.step < STEP_MAX)?;
        free.splice(..1, largest.halves());
        free.sort_by_key(|class| class.step);
    }
    free.truncate(count);
    Some(free)
}

/// Finds the largest free classes within this one.
fn gather(class: Class, taken: &[Class], free: &mut Vec<Class>) {
    let mut overlapping = taken.iter().filter(|taken| taken.overlaps(class)).peekable();
    if overlapping.peek().is_none() {
        free.push(class);
    } else if overlapping.all(|taken| taken.step > class.step) {
        for half in class.halves() {
            gather(half, taken, free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_a_class() {
        let class = Class { step: 4, offset: 3 };
        let found: Vec<u64> = [0, 3, 4, 7, 8].map(|least| class.at_least(least)).to_vec();
        assert_eq!(found, [3, 3, 7, 7, 11]);
        assert_eq!(Class::ALL.at_least(9), 9);
        assert_eq!(Class::new(3, 0), None);
        assert_eq!(Class::new(4, 4), None);
    }

    #[test]
    fn classes_are_shared_without_overlap() {
        let class = |step, offset| Class { step, offset };
        assert_eq!(share(&[], 1), Some(vec![Class::ALL]));
        assert_eq!(share(&[], 2), Some(vec![class(2, 0), class(2, 1)]));
        assert_eq!(share(&[class(2, 1)], 2), Some(vec![class(4, 0), class(4, 2)]));
        // Classes without an owner are reused.
        assert_eq!(share(&[class(8, 0)], 1), Some(vec![class(2, 1)]));
        assert_eq!(share(&[class(4, 0)], 2), Some(vec![class(2, 1), class(4, 2)]));
        assert_eq!(share(&[Class::ALL], 1), None);
    }

    #[test]
    fn whoever_comes_and_goes_nobody_gives_the_same_number() {
        let mut held = vec![Class::ALL];
        let mut random = 1_u64;
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % held.len();
            held.remove(at);
            let is_merge = held.len() > 1 && (held.len() > 6 || random >> 63 == 0);
            if is_merge {
                held.remove(at % held.len());
            }
            let new = share(&held, if is_merge { 1 } else { 2 }).expect("something is free");
            held.extend(new);
            for (at, class) in held.iter().enumerate() {
                assert!(!held[at + 1..].iter().any(|other| other.overlaps(*class)), "{held:?}");
            }
            // However often this repeats, at most eight share it at a time.
            assert!(held.iter().all(|class| class.step <= 1 << 7), "{held:?}");
        }
    }
}
