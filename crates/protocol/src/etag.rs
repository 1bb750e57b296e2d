//! Etags: a new opaque value for each version of a resource.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::guid;

/// The version of a resource: 16 bytes, printed in the service's 8-4-4-4-12 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Etag(pub u128);

impl Etag {
    /// Parses an etag with or without quotes, with hex digits in either case.
    pub fn parse(text: &str) -> Option<Self> {
        guid::parse(strip_quotes(text)).map(Self)
    }

    /// The text that clients see. It is faster than formatting.
    pub fn text(self) -> String {
        guid::text(self.0)
    }
}

/// Generates the etags of the versions that are written in this run of a server.
#[derive(Debug)]
pub struct Etags {
    /// Tells this run's etags from those of other runs.
    boot: u32,
    counter: AtomicU32,
}

impl Etags {
    /// A generator for this run, of which `boot` is a random number.
    pub fn new(boot: u32) -> Self {
        Self { boot, counter: AtomicU32::new(0) }
    }

    /// An etag that no version had before. The last group contains the second of the write, as in the
    /// service's own etags.
    pub fn next(&self, ts: u64) -> Etag {
        let counter = self.counter.fetch_add(1, Ordering::Relaxed);
        // Truncating is fine: time and counter only need to differ from their neighbours.
        let ts = (ts & 0xFFFF_FFFF) as u32;
        Etag(u128::from(counter) << 96 | u128::from(self.boot) << 64 | u128::from(ts) << 16)
    }
}

/// Removes the quotes (and a weak marker) from an etag header.
pub fn strip_quotes(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&guid::text(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        let etags = Etags::new(0xdead_beef);
        etags.next(0x5b1f_8e29);
        let etag = etags.next(0x5b1f_8e2a);
        assert_eq!(etag.to_string(), "00000001-dead-beef-0000-5b1f8e2a0000");
        assert_eq!(etag.text(), etag.to_string());
        assert_eq!(Etag::parse("\"00000001-DEAD-beef-0000-5b1f8e2a0000\""), Some(etag));
        assert_eq!(Etag::parse(&etag.to_string()), Some(etag));
        for bad in [
            "",
            "*",
            "1",
            "00000001-dead-beef-0000-5b1f8e2a000g",
            "+000d826-dead-beef-0000-5b1f8e2a0000",
        ] {
            assert_eq!(Etag::parse(bad), None, "{bad}");
        }
    }
}
