//! The first sixteen bytes of each message.

use super::Broken;

/// How many bytes a header has.
pub const HEADER_BYTES: usize = 16;

/// The most bytes of a message, header included.
pub const MESSAGE_BYTES_MAX: usize = 48_000_000;

/// Kinds of messages.
pub mod kind {
    /// A reply to [`QUERY`].
    pub const REPLY: i32 = 1;
    /// How clients begin, before they know what the server speaks.
    pub const QUERY: i32 = 2004;
    /// A message of any kind, compressed.
    pub const COMPRESSED: i32 = 2012;
    /// Everything else.
    pub const MSG: i32 = 2013;
    /// An older way to forget cursors. It has no reply and may be ignored.
    pub const KILL_CURSORS: i32 = 2007;
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the message, header included.
    pub length: usize,
    /// The sender's number of the message.
    pub request_id: i32,
    /// The number of the message that it answers.
    pub response_to: i32,
    /// What the body is: see [`kind`].
    pub kind: i32,
}

impl Header {
    /// Reads a header, and refuses lengths that no message has.
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Self, Broken> {
        let [a, b, c, d] = [0, 4, 8, 12]
            .map(|at| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        let length = usize::try_from(a).map_err(|_| Broken::Length)?;
        if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(Broken::Length);
        }
        Ok(Self { length, request_id: b, response_to: c, kind: d })
    }

    /// Appends the header of a message whose length will be known later: see [`finish`].
    pub fn write(request_id: i32, response_to: i32, kind: i32, out: &mut Vec<u8>) {
        for field in [0, request_id, response_to, kind] {
            out.extend(field.to_le_bytes());
        }
    }
}

/// Sets the length of the message that begins at `start` and ends with the buffer.
pub fn finish(start: usize, out: &mut [u8]) {
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_and_written() {
        let mut bytes = Vec::new();
        Header::write(7, 3, kind::MSG, &mut bytes);
        bytes.extend([1, 2, 3]);
        finish(0, &mut bytes);
        let first = bytes.first_chunk().unwrap();
        let header = Header { length: 19, request_id: 7, response_to: 3, kind: kind::MSG };
        assert_eq!(Header::read(first), Ok(header));
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for length in [i32::MIN, -1, 0, 15, 48_000_001, i32::MAX] {
            let mut bytes = [0; HEADER_BYTES];
            bytes[..4].copy_from_slice(&length.to_le_bytes());
            assert_eq!(Header::read(&bytes), Err(Broken::Length), "{length}");
        }
    }
}
