//! Random numbers determined by a seed.

/// A pseudo-random sequence: the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence of a seed. Neighbouring seeds give unrelated sequences.
    pub fn new(seed: u64) -> Self {
        // splitmix64's finalizer; xorshift below needs a state that is not zero.
        let mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    /// The next number, from 0 to `below` - 1; 0 if `below` is 0.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below.max(1)
    }

    /// True half of the time.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}
