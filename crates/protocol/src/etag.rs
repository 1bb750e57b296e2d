//! Etags: a new opaque value for each version of a resource.

use std::fmt;

use crate::guid;

/// The version of a resource: 16 bytes, printed in the service's 8-4-4-4-12 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Etag(pub u128);

impl Etag {
    /// Composes a unique etag: `ts` is the second of the write, `boot` a random number of this
    /// server run, and `counter` counts the writes of this run. The last group contains the time,
    /// as in the service's own etags.
    pub fn compose(ts: u32, boot: u32, counter: u32) -> Self {
        Self(u128::from(counter) << 96 | u128::from(boot) << 64 | u128::from(ts) << 16)
    }

    /// Parses an etag with or without quotes, with hex digits in either case.
    pub fn parse(text: &str) -> Option<Self> {
        guid::parse(strip_quotes(text)).map(Self)
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
        let etag = Etag::compose(0x5b1f_8e2a, 0xdead_beef, 0xd826);
        assert_eq!(etag.to_string(), "0000d826-dead-beef-0000-5b1f8e2a0000");
        assert_eq!(Etag::parse("\"0000D826-dead-beef-0000-5b1f8e2a0000\""), Some(etag));
        assert_eq!(Etag::parse(&etag.to_string()), Some(etag));
        for bad in [
            "",
            "*",
            "1",
            "0000d826-dead-beef-0000-5b1f8e2a000g",
            "+000d826-dead-beef-0000-5b1f8e2a0000",
        ] {
            assert_eq!(Etag::parse(bad), None, "{bad}");
        }
    }
}
