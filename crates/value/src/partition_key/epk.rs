//! Effective partition keys: points of the hash space, and the bounds of partitions in it.

use std::fmt::{self, Write as _};

/// The longest effective partition key accepted from a client. Version 1 keys are the longest, at
/// some 330 bytes for three components.
pub const EPK_BYTES_MAX: usize = 512;

/// A point of the hash space, which extends from [`Epk::min`] up to, but not including,
/// [`Epk::max`]. Ordered by bytes, which is also the order of the upper-case hexadecimal text that
/// clients exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epk(Vec<u8>);

/// Why a text is not an effective partition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EpkError {
    /// The text has an odd number of characters.
    #[error("effective partition key with an odd number of digits")]
    OddLength,
    /// The text is longer than any key.
    #[error("effective partition key longer than {EPK_BYTES_MAX} bytes")]
    TooLong,
    /// A character is not a hexadecimal digit.
    #[error("effective partition key that is not hexadecimal at offset {0}")]
    NotHexadecimal(usize),
}

impl Epk {
    /// The beginning of the hash space, written as the empty text.
    pub fn min() -> Epk {
        Epk(Vec::new())
    }

    /// The end of the hash space, written `FF`: above every key.
    pub fn max() -> Epk {
        Epk(vec![0xff])
    }

    /// The point with these bytes.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Epk {
        Epk(bytes.into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Parses hexadecimal text in either case: some clients send lower case.
    pub fn parse_hex(text: &str) -> Result<Epk, EpkError> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(EpkError::OddLength);
        }
        if pairs.len() > EPK_BYTES_MAX {
            return Err(EpkError::TooLong);
        }
        let byte = |(index, [high, low]): (usize, &[u8; 2])| {
            let digit = |at: usize, digit: u8| {
                let value =
                    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
                value.ok_or(EpkError::NotHexadecimal(at))
            };
            Ok(digit(index * 2, *high)? << 4 | digit(index * 2 + 1, *low)?)
        };
        pairs.iter().enumerate().map(byte).collect::<Result<_, _>>().map(Epk)
    }
}

impl fmt::Display for Epk {
    /// Upper-case hexadecimal.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A format for each byte would cost more than all else that is done for a token.
        let digit = |nibble: u8| char::from(b"0123456789ABCDEF"[usize::from(nibble & 0xf)]);
        self.0.iter().try_for_each(|byte| {
            formatter.write_char(digit(byte >> 4))?;
            formatter.write_char(digit(*byte))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hexadecimal_text() {
        let parsed = Epk::parse_hex("05c1Ff").unwrap();
        assert_eq!(parsed.as_bytes(), [5, 0xc1, 0xff]);
        assert_eq!(parsed.to_string(), "05C1FF");
        assert_eq!(Epk::parse_hex(""), Ok(Epk::min()));
        assert_eq!(Epk::parse_hex("ff"), Ok(Epk::max()));
        assert_eq!(Epk::parse_hex("0"), Err(EpkError::OddLength));
        assert_eq!(Epk::parse_hex("0x"), Err(EpkError::NotHexadecimal(1)));
        assert_eq!(Epk::parse_hex(&"0".repeat(1026)), Err(EpkError::TooLong));
    }

    proptest! {
        #[test]
        fn text_reads_back_and_sorts_alike(a: [u8; 3], b: Vec<u8>) {
            let (a, b) = (Epk::from_bytes(a), Epk::from_bytes(b));
            prop_assert_eq!(Epk::parse_hex(&a.to_string()), Ok(a.clone()));
            prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.cmp(&b));
        }

        #[test]
        fn any_text_is_answered_without_a_panic(text in ".*") {
            let _ = Epk::parse_hex(&text);
        }
    }
}
