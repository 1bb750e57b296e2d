//! MurmurHash3, the hash that places partition keys: the 32-bit form for version 1 and the x64
//! 128-bit form for version 2 (Austin Appleby's public-domain algorithm).

/// MurmurHash3 x86, 32 bits.
pub fn murmur3_32(data: &[u8], seed: u32) -> u32 {
    let (blocks, tail) = data.as_chunks::<4>();
    let mut hash = seed;
    for block in blocks {
        hash ^= scramble_32(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let mut block = [0; 4];
        block[..tail.len()].copy_from_slice(tail);
        hash ^= scramble_32(u32::from_le_bytes(block));
    }
    // The algorithm mixes the length in modulo 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "the algorithm takes the low 32 bits")]
    let length = data.len() as u32;
    finish_32(hash ^ length)
}

fn scramble_32(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

fn finish_32(mut hash: u32) -> u32 {
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// MurmurHash3 x64, 128 bits, as (low, high). The seed is one 64-bit word for each half.
pub fn murmur3_128(data: &[u8], seed: (u64, u64)) -> (u64, u64) {
    let (blocks, tail) = data.as_chunks::<16>();
    let (mut low, mut high) = seed;
    for block in blocks {
        let (first, second) = halves(block);
        low = (low ^ scramble_low(first)).rotate_left(27).wrapping_add(high);
        low = low.wrapping_mul(5).wrapping_add(0x52dc_e729);
        high = (high ^ scramble_high(second)).rotate_left(31).wrapping_add(low);
        high = high.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // A tail padded with zeros equals the byte-wise form: a zero word scrambles to zero.
    let mut block = [0; 16];
    block[..tail.len()].copy_from_slice(tail);
    let (first, second) = halves(&block);
    low ^= scramble_low(first);
    high ^= scramble_high(second);

    let length = data.len() as u64;
    low ^= length;
    high ^= length;
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    low = finish_64(low);
    high = finish_64(high);
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    (low, high)
}

/// The two little-endian words of a block.
fn halves(block: &[u8; 16]) -> (u64, u64) {
    let value = u128::from_le_bytes(*block);
    #[expect(clippy::cast_possible_truncation, reason = "splits the block into its halves")]
    (value as u64, (value >> 64) as u64)
}

fn scramble_low(word: u64) -> u64 {
    word.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f)
}

fn scramble_high(word: u64) -> u64 {
    word.wrapping_mul(0x4cf5_ad43_2745_937f).rotate_left(33).wrapping_mul(0x87c3_7b91_1142_53d5)
}

fn finish_64(mut word: u64) -> u64 {
    word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_bits() {
        // Published test values of the algorithm.
        assert_eq!(murmur3_32(b"", 0), 0);
        assert_eq!(murmur3_32(b"", 1), 0x514e_28b7);
        assert_eq!(murmur3_32(b"hello", 0), 0x248b_fa47);
        assert_eq!(murmur3_32(b"hello, world", 0), 0x149b_bb7f);
        // The service's own values for encoded components.
        assert_eq!(murmur3_32(&[0], 0), 0x514e_28b7);
        assert_eq!(murmur3_32(&[1], 0), 0xe45a_d1ab);
        assert_eq!(murmur3_32(b"\x08asdf\0", 0), 0xb02b_abc2);
    }

    #[test]
    fn one_hundred_and_twenty_eight_bits() {
        assert_eq!(murmur3_128(b"", (0, 0)), (0, 0));
        assert_eq!(murmur3_128(b"hello", (0, 0)), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
        let fox = b"The quick brown fox jumps over the lazy dog";
        assert_eq!(murmur3_128(fox, (0, 0)), (0xe34b_bc7b_bc07_1b6c, 0x7a43_3ca9_c49a_9347));
    }
}
