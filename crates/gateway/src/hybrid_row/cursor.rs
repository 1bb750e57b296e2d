//! Reads bytes in sequence. Numbers are little-endian.

use super::Error;

pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the remaining bytes without consuming them.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Error::Ended)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Error::Ended)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a length: seven bits per byte, the lowest first; all bytes but the last have the top
    /// bit set. A length counts bytes of a request, so five are more than enough.
    pub(super) fn length(&mut self) -> Result<usize, Error> {
        let mut length = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(length).map_err(|_| Error::Number);
            }
        }
        Err(Error::Number)
    }

    /// Reads a length and as many bytes as it says.
    pub(super) fn counted(&mut self) -> Result<&'a [u8], Error> {
        let length = self.length()?;
        self.take(length)
    }
}

/// Writes a length as [`Cursor::length`] reads it.
pub(super) fn write_length(mut length: usize, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = length.to_le_bytes();
        length >>= 7;
        if length == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        for (length, bytes) in [
            (0, &[0x00][..]),
            (1, &[0x01]),
            (127, &[0x7f]),
            (128, &[0x80, 0x01]),
            (300, &[0xac, 0x02]),
            (16_383, &[0xff, 0x7f]),
            (16_384, &[0x80, 0x80, 0x01]),
            (2 << 20, &[0x80, 0x80, 0x80, 0x01]),
        ] {
            let mut written = Vec::new();
            write_length(length, &mut written);
            assert_eq!(written, bytes, "{length}");
            let mut cursor = Cursor::new(bytes);
            assert_eq!(cursor.length(), Ok(length));
            assert!(cursor.is_at_end());
        }
        assert_eq!(Cursor::new(&[0xff]).length(), Err(Error::Ended));
        assert_eq!(Cursor::new(&[0xff; 5]).length(), Err(Error::Number));
        assert_eq!(Cursor::new(&[0xff; 20]).length(), Err(Error::Number));
    }

    #[test]
    fn no_more_than_there_is() {
        let mut cursor = Cursor::new(&[3, b'a', b'b']);
        assert_eq!(cursor.counted(), Err(Error::Ended));
        let mut cursor = Cursor::new(&[2, b'a', b'b', 7]);
        assert_eq!(cursor.counted(), Ok(&b"ab"[..]));
        assert_eq!((cursor.rest(), cursor.i32()), (&[7][..], Err(Error::Ended)));
        assert_eq!((cursor.byte(), cursor.byte()), (Ok(7), Err(Error::Ended)));
    }
}
