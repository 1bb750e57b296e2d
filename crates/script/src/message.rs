//! The encoding of messages: integers are big-endian, texts follow their length, options follow a
//! byte.
//!
//! Our own code on both sides writes and reads messages, never the script: whatever a script does
//! to its globals, messages stay well-formed. Reading checks everything, because the other side of
//! the pipe may be compromised.

use std::io;

/// The most bytes of one message, in either direction. A page of documents is at most 4 MB; the
/// sender splits the rows for a function into batches.
pub(crate) const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// A malformed message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub(crate) struct Malformed;

impl From<Malformed> for io::Error {
    fn from(error: Malformed) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// Builds a message, starting with room for its length.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Bytes before the first field: the length and the tag.
    pub(crate) const BEGIN_BYTES: usize = 5;

    pub(crate) fn new(tag: u8) -> Writer {
        Writer(vec![0, 0, 0, 0, tag])
    }

    /// An empty message with room for about this many bytes.
    pub(crate) fn with_room(tag: u8, length: usize) -> Writer {
        let mut bytes = Vec::with_capacity(length + Self::BEGIN_BYTES);
        bytes.extend_from_slice(&[0, 0, 0, 0, tag]);
        Writer(bytes)
    }

    pub(crate) fn byte(&mut self, value: u8) -> &mut Writer {
        self.0.push(value);
        self
    }

    pub(crate) fn flag(&mut self, value: bool) -> &mut Writer {
        self.byte(u8::from(value))
    }

    pub(crate) fn number(&mut self, value: u64) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Writer {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) -> &mut Writer {
        match text {
            None => self.flag(false),
            Some(text) => self.flag(true).text(text),
        }
    }

    /// The message with its length in front, unless it is too long to be sent.
    pub(crate) fn finish(mut self) -> Option<Vec<u8>> {
        let length = self.0.len() - 4;
        if length > MESSAGE_BYTES_MAX {
            return None;
        }
        let length = u32::try_from(length).ok()?;
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        Some(self.0)
    }
}

/// Decodes a message's length prefix; fails if the message is too long.
pub(crate) fn length(prefix: [u8; 4]) -> Result<usize, Malformed> {
    let length = usize::try_from(u32::from_be_bytes(prefix)).map_err(|_| Malformed)?;
    if (1..=MESSAGE_BYTES_MAX).contains(&length) { Ok(length) } else { Err(Malformed) }
}

/// Reads a message field by field.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Reader<'a> {
        Reader(message)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_be_bytes(bytes))
    }

    pub(crate) fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let length = self.narrow()?;
        let bytes = self.take(length)?;
        str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed)
    }

    pub(crate) fn optional(&mut self) -> Result<Option<String>, Malformed> {
        if self.flag()? { self.text().map(Some) } else { Ok(None) }
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::new(7);
        writer.text("é").optional(None).optional(Some("x")).number(u64::MAX).flag(true);
        let bytes = writer.finish().unwrap();
        assert_eq!(length(bytes[..4].try_into().unwrap()), Ok(bytes.len() - 4));
        let mut reader = Reader::new(&bytes[4..]);
        assert_eq!(reader.byte(), Ok(7));
        assert_eq!(reader.text().as_deref(), Ok("é"));
        assert_eq!(reader.optional(), Ok(None));
        assert_eq!(reader.optional(), Ok(Some("x".to_owned())));
        assert_eq!(reader.number(), Ok(u64::MAX));
        assert_eq!(reader.flag(), Ok(true));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(length([0; 4]), Err(Malformed));
        assert_eq!(length([255; 4]), Err(Malformed));
        assert_eq!(Reader::new(&[255; 8]).text(), Err(Malformed));
        assert_eq!(Reader::new(&[0, 0, 0, 0, 0, 0, 0, 1, 255]).text(), Err(Malformed));
        assert_eq!(Reader::new(&[2]).flag(), Err(Malformed));
        assert_eq!(Reader::new(&[0]).end(), Err(Malformed));
    }
}
