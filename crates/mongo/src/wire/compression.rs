//! Compressed messages. Client and server agree on compressors when they greet each other.

use std::io::{Read as _, Write as _};

use super::Broken;
use super::header::{HEADER_BYTES, Header, MESSAGE_BYTES_MAX, finish, kind};

/// Bytes before the compressed ones: the kind of the message, its length, the compressor.
const PREFIX_BYTES: usize = 9;

/// zlib's usual level, and the one at which zstd is as cheap.
const ZLIB_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// Not at all, but in a compressed message's form.
    Noop,
    /// Blocks of snappy.
    Snappy,
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Compressor {
    /// The compressor of a name in `hello`; `None` for those that the server lacks.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "snappy" => Some(Self::Snappy),
            "zlib" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The name in `hello`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    fn of_id(id: u8) -> Option<Self> {
        [Self::Noop, Self::Snappy, Self::Zlib, Self::Zstd].get(usize::from(id)).copied()
    }

    fn compress(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Noop => Ok(bytes.to_vec()),
            Self::Snappy => {
                snap::raw::Encoder::new().compress_vec(bytes).map_err(std::io::Error::other)
            }
            Self::Zlib => {
                let level = flate2::Compression::new(ZLIB_LEVEL);
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL),
        }
    }

    /// Decompresses to exactly `length` bytes, and never takes more memory than for those.
    fn decompress(self, bytes: &[u8], length: usize) -> Result<Vec<u8>, Broken> {
        let broken = |_| Broken::Compression;
        let out = match self {
            Self::Noop => bytes.to_vec(),
            Self::Snappy => {
                if snap::raw::decompress_len(bytes).map_err(|_| Broken::Compression)? != length {
                    return Err(Broken::Compression);
                }
                snap::raw::Decoder::new().decompress_vec(bytes).map_err(|_| Broken::Compression)?
            }
            Self::Zlib => {
                let mut out = Vec::new();
                let limit = length as u64 + 1;
                let decoder = flate2::read::ZlibDecoder::new(bytes);
                decoder.take(limit).read_to_end(&mut out).map_err(broken)?;
                out
            }
            Self::Zstd => zstd::bulk::decompress(bytes, length).map_err(broken)?,
        };
        if out.len() == length { Ok(out) } else { Err(Broken::Compression) }
    }
}

/// A message that was compressed: the kind and the body of what is inside, and how it came.
pub fn unpack(body: &[u8]) -> Result<(i32, Vec<u8>, Compressor), Broken> {
    let (prefix, rest) = body.split_first_chunk::<PREFIX_BYTES>().ok_or(Broken::Length)?;
    let field = |at: usize| {
        i32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]])
    };
    let length = usize::try_from(field(4)).map_err(|_| Broken::Length)?;
    if length > MESSAGE_BYTES_MAX - HEADER_BYTES {
        return Err(Broken::Length);
    }
    let kind = field(0);
    if kind == kind::COMPRESSED {
        return Err(Broken::Kind(kind));
    }
    let compressor = Compressor::of_id(prefix[8]).ok_or(Broken::Compression)?;
    Ok((kind, compressor.decompress(rest, length)?, compressor))
}

/// The compressed form of a whole message; the message itself if that fails.
pub fn pack(message: Vec<u8>, compressor: Compressor) -> Vec<u8> {
    let Some((head, body)) = message.split_first_chunk::<HEADER_BYTES>() else { return message };
    let Ok(header) = Header::read(head) else { return message };
    let Ok(compressed) = compressor.compress(body) else { return message };
    let mut out = Vec::with_capacity(HEADER_BYTES + PREFIX_BYTES + compressed.len());
    Header::write(header.request_id, header.response_to, kind::COMPRESSED, &mut out);
    out.extend(header.kind.to_le_bytes());
    out.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.push(match compressor {
        Compressor::Noop => 0,
        Compressor::Snappy => 1,
        Compressor::Zlib => 2,
        Compressor::Zstd => 3,
    });
    out.extend(compressed);
    finish(0, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(body: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        Header::write(5, 4, kind::MSG, &mut message);
        message.extend(body);
        finish(0, &mut message);
        message
    }

    #[test]
    fn lengths_that_are_not_true_are_refused() {
        for id in 0..4 {
            let compressor = Compressor::of_id(id).unwrap();
            let packed = pack(message(b"some text, some text, some text"), compressor);
            let body = &packed[HEADER_BYTES..];
            for length in [0_i32, 1, 30, 32, 1_000_000, 47_999_985, -1] {
                let mut body = body.to_vec();
                body[4..8].copy_from_slice(&length.to_le_bytes());
                assert!(unpack(&body).is_err(), "{compressor:?} {length}");
            }
        }
    }

    #[test]
    fn messages_are_not_compressed_twice() {
        let mut body = kind::COMPRESSED.to_le_bytes().to_vec();
        body.extend([0, 0, 0, 0, 0]);
        assert_eq!(unpack(&body), Err(Broken::Kind(kind::COMPRESSED)));
    }

    proptest! {
        #[test]
        fn messages_come_back(body: Vec<u8>, id in 0_u8..4) {
            let compressor = Compressor::of_id(id).unwrap();
            let packed = pack(message(&body), compressor);
            let header = Header::read(packed.first_chunk().unwrap()).unwrap();
            prop_assert_eq!(header.kind, kind::COMPRESSED);
            prop_assert_eq!((header.request_id, header.response_to), (5, 4));
            prop_assert_eq!(unpack(&packed[HEADER_BYTES..]), Ok((kind::MSG, body, compressor)));
        }

        #[test]
        fn no_bytes_make_it_panic(body: Vec<u8>, id in 0_u8..5, length in 0_u32..1000) {
            let mut all = kind::MSG.to_le_bytes().to_vec();
            all.extend(length.to_le_bytes());
            all.push(id);
            all.extend(body);
            if let Ok((_, out, _)) = unpack(&all) {
                prop_assert_eq!(out.len(), length as usize);
            }
        }
    }
}
