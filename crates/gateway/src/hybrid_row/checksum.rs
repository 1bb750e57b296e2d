//! CRC-32 as in ISO 3309, which zip files use: polynomial 0xEDB88320, reflected; the register
//! starts with all ones and is inverted at the end.

const POLYNOMIAL: u32 = 0xedb8_8320;

/// The effect of each byte on an empty register.
static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u32;
    while byte < 256 {
        let mut register = byte;
        let mut bit = 0;
        while bit < 8 {
            let carry = register & 1;
            register >>= 1;
            if carry == 1 {
                register ^= POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte as usize] = register;
        byte += 1;
    }
    table
}

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for byte in bytes {
        let [low, ..] = register.to_le_bytes();
        register = (register >> 8) ^ TABLE[usize::from(low ^ byte)];
    }
    !register
}

#[cfg(test)]
mod tests {
    use super::crc32;

    /// The check value from the algorithm's definition, and other well-known values.
    #[test]
    fn known_values() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"a"), 0xe8b7_be43);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
        assert_eq!(crc32(&[0; 32]), 0x190a_55ad);
    }
}
