//! The hash by which the service and its .NET client order arrays among arrays and objects among
//! objects: MurmurHash3 x64-128, chained from a seed for each type. Equal values have equal hashes,
//! whatever the order of an object's members; only `-0` and `0` differ, as in the service.

use std::cmp::Ordering;

use crate::{Number, Value, hash::murmur3_128, order};

/// A hash or a seed, as (low, high).
type Words = (u64, u64);

const ROOT: Words = (0xbfc2_359e_afc0_e2b7, 0x8846_e002_84c4_cf1f);
const NULL: Words = (0x1380_f68b_b3b0_cfe4, 0x156c_918b_f564_ee48);
const FALSE: Words = (0xc1be_517f_e893_b40c, 0xe9fc_8a4c_531c_d0dd);
const TRUE: Words = (0xf86d_4abf_9a41_2e74, 0x7884_8836_5c8a_985d);
const NUMBER: Words = (0x2400_e8b8_94ce_9c2a, 0x790b_e1ea_bd7b_9481);
const STRING: Words = (0x61f5_3f0a_4420_4cfb, 0x0948_1be8_ef4b_56dd);
const ARRAY: Words = (0xfa57_3b01_4c4d_c18e, 0xa014_512c_858e_b115);
const OBJECT: Words = (0x77b2_85ac_511a_ef30, 0x3dcf_1872_4582_2449);
const ARRAY_INDEX: Words = (0xfe05_7204_216d_b999, 0x5b1c_c317_8bd9_c593);
const PROPERTY_NAME: Words = (0xc915_dde0_5849_2a8a, 0x7c8b_e2eb_a72e_4634);

/// Bytes of a hash.
pub const HASH_BYTES: usize = 16;

/// The hash of a value, as bytes that sort like hashes: the low word, then the high one, each with
/// its least significant byte first.
pub fn hash(value: &Value) -> [u8; HASH_BYTES] {
    from_words(hash_with(value, ROOT))
}

/// The bytes of a hash that a client sent as two words.
pub fn from_words((low, high): (u64, u64)) -> [u8; HASH_BYTES] {
    bytes_of((low, high))
}

/// Compares two values as ORDER BY does: by [`order::compare`], except that arrays compare by their
/// hashes, and objects too.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            hash(a).cmp(&hash(b))
        }
        _ => order::compare(a, b),
    }
}

fn hash_with(value: &Value, seed: Words) -> Words {
    match value {
        // Absent values do not change a hash.
        Value::Undefined => seed,
        Value::Null => chain(NULL, seed),
        Value::Bool(false) => chain(FALSE, seed),
        Value::Bool(true) => chain(TRUE, seed),
        Value::Number(number) => murmur3_128(&number_bytes(number), chain(NUMBER, seed)),
        Value::String(text) => murmur3_128(text.as_bytes(), chain(STRING, seed)),
        Value::Array(elements) => {
            let mut hash = chain(ARRAY, seed);
            let defined = elements.iter().enumerate().filter(|(_, value)| !value.is_undefined());
            for (index, element) in defined {
                let (low, carries) = ARRAY_INDEX.0.overflowing_add(index as u64);
                let place = (low, ARRAY_INDEX.1.wrapping_add(u64::from(carries)));
                hash = chain(hash_with(element, place), hash);
            }
            hash
        }
        Value::Object(members) => {
            // Members are mixed so that their order does not matter.
            let mut mixed = (0, 0);
            for (name, value) in members.iter().filter(|(_, value)| !value.is_undefined()) {
                let name = murmur3_128(name.as_bytes(), chain(STRING, PROPERTY_NAME));
                let (low, high) = hash_with(value, name);
                mixed = (mixed.0 ^ low, mixed.1 ^ high);
            }
            let hash = chain(OBJECT, seed);
            if mixed == (0, 0) { hash } else { chain(mixed, hash) }
        }
    }
}

/// Hashes a hash.
fn chain(words: Words, seed: Words) -> Words {
    murmur3_128(&bytes_of(words), seed)
}

fn bytes_of((low, high): Words) -> [u8; HASH_BYTES] {
    (u128::from(low) | u128::from(high) << 64).to_le_bytes()
}

/// A number as it is hashed: a double, and the bits of an exact 64-bit integer that the double
/// lacks.
fn number_bytes(number: &Number) -> [u8; 10] {
    let (double, extra) = match number.as_i64() {
        Some(integer) if is_wider_than_a_double(integer) => cut(integer),
        _ => (number.as_f64(), 0),
    };
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&double.to_bits().to_le_bytes());
    bytes[8..].copy_from_slice(&extra.to_le_bytes());
    bytes
}

/// Whether an integer's significant bits, from the first to the last set, do not fit into a double.
fn is_wider_than_a_double(integer: i64) -> bool {
    let bits = integer.unsigned_abs();
    integer != i64::MIN && bits != 0 && 64 - bits.leading_zeros() - bits.trailing_zeros() > 53
}

/// The double of an integer's first 53 bits, and the next ten bits in the upper end of 16.
fn cut(integer: i64) -> (f64, u16) {
    let bits = integer.unsigned_abs();
    let exponent = u64::from(bits.ilog2());
    let mantissa = (bits << (62 - exponent)) & (u64::MAX >> 2);
    let sign = u64::from(integer < 0) << 63;
    let double = f64::from_bits(sign | (exponent + 1023) << 52 | mantissa >> 10);
    #[expect(clippy::cast_possible_truncation, reason = "ten bits, moved up by six")]
    (double, ((mantissa & 0x3ff) << 6) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Values and the words of their hashes, as computed by version 3.64.0 of the .NET client.
    const HASHES: [(&str, u64, u64); 27] = [
        ("[]", 0xa2ef_3ca3_5953_8082, 0x7d54_f729_ff4a_63ff),
        ("[1]", 0x2bcf_2db1_b95f_9019, 0xc72f_3299_fdc3_e304),
        ("[1.5]", 0xb65d_e92f_910f_660c, 0x76fc_73c3_78e5_a07f),
        ("[0]", 0x0a56_3aff_da21_4c18, 0xaf2d_056e_3b38_3527),
        ("[-0.0]", 0x128f_9ccf_16d9_9d05, 0xb643_e666_70b0_2c47),
        ("[-1]", 0xcb88_1a96_cb20_0924, 0x64c4_9e3d_8d16_1f36),
        ("[9007199254740993]", 0xfb27_0efe_2d01_6ee5, 0xb785_6820_19b5_ec58),
        ("[9223372036854775807]", 0x9f67_7514_5697_9ea8, 0xf538_7abb_a2da_79ee),
        ("[1e300]", 0xc8bb_3d43_3c36_145c, 0x36e8_4f94_966c_42f9),
        (r#"["a"]"#, 0x30d7_3dbe_6068_cf09, 0xd937_2f83_f33c_f995),
        (r#"[""]"#, 0xc6c1_0009_d132_82c9, 0xd6f6_60ba_af7c_0e88),
        (r#"["é😀"]"#, 0x5449_9508_c79a_cbe0, 0xbe81_d5ba_7e84_d257),
        ("[null]", 0x2f80_ea62_35fb_6e41, 0x3e8e_8c77_4723_3835),
        ("[true,false]", 0x6c5c_7d8a_ca74_acc9, 0xf633_ed38_78e8_5567),
        ("[[1],[2]]", 0x3af7_cd3b_5ca6_39c1, 0xd12f_fc7f_34cf_bc4c),
        ("[{}]", 0x4402_c435_a1cb_5a28, 0xe244_686b_a6f0_955d),
        ("{}", 0x1438_743e_80b9_65d8, 0x14b8_6a60_aa01_a738),
        (r#"{"a":1}"#, 0x5bf6_d7aa_bb4d_67e7, 0x2ef0_a91a_c12e_3225),
        (r#"{"a":1,"b":[2]}"#, 0x8855_3727_d894_659c, 0x99d0_6fb0_75b6_616f),
        (r#"{"b":[2],"a":1}"#, 0x8855_3727_d894_659c, 0x99d0_6fb0_75b6_616f),
        (r#"{"a":{"b":null}}"#, 0xf383_bcac_0b79_1bda, 0x35a4_c23f_47a6_155a),
        (
            r#"{"a":"a string that is longer than sixteen bytes"}"#,
            0x97ed_fc41_98ec_0dec,
            0x39da_01f6_d62a_a9a4,
        ),
        ("[1,2,3]", 0xa18f_23b1_26bc_fd2e, 0x702b_4b29_71a9_2a7c),
        ("[3,2,1]", 0xcfaf_a88c_c85f_d73c, 0x636b_0575_4a13_b8e5),
        ("[100000000000000000000]", 0x8d1f_1cda_6aa8_239a, 0x992a_e0d5_f9c4_0357),
        ("[-9223372036854775808]", 0xf4e0_f353_423e_61a6, 0x9b0a_33a8_45ac_9ddb),
        ("[0.1]", 0x45a9_eb7f_cca5_0e7e, 0xb8e5_e7e1_c89c_db5b),
    ];

    fn parse(text: &str) -> Value {
        json::parse(text.as_bytes()).expect("JSON")
    }

    #[test]
    fn hashes_are_those_of_the_client() {
        for (text, low, high) in HASHES {
            assert_eq!(hash(&parse(text)), from_words((low, high)), "{text}");
        }
    }

    #[test]
    fn arrays_compare_by_hash_and_other_values_by_themselves() {
        // In the order of the client's own comparer.
        let sorted = [
            "[-0.0]", "[\"a\"]", "[1.5]", "[0]", "[1]", "[-1]", "[{}]", "[1,2,3]", "[3,2,1]",
            "[null]", "[1e300]", "[0.1]", "[]",
        ];
        assert!(sorted.map(parse).is_sorted_by(|a, b| compare(a, b).is_lt()));
        for [less, more] in [["1", "2"], ["\"z\"", "[]"], ["[2]", "{}"], ["null", "false"]] {
            assert_eq!(compare(&parse(less), &parse(more)), Ordering::Less, "{less} {more}");
        }
    }
}
