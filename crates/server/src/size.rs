//! An amount of data in a setting: `50GB`, `512MB`, `64KB`, or a plain number of bytes.

use std::str::FromStr;

use crate::amount;

/// A size in bytes. Units are powers of 1024, as in the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Size(pub(crate) u64);

/// Less cannot hold a document.
const BYTES_MIN: u64 = 1024;

/// Far more than any machine has, and too little to overflow.
const BYTES_MAX: u64 = 1 << 50;

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (number, unit) = amount::parts(text).ok_or_else(|| invalid(text))?;
        let shift = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "kb" | "kib" => 10,
            "mb" | "mib" => 20,
            "gb" | "gib" => 30,
            "tb" | "tib" => 40,
            _ => return Err(invalid(text)),
        };
        let bytes = number.saturating_mul(1 << shift);
        if !(BYTES_MIN..=BYTES_MAX).contains(&bytes) {
            return Err(format!("`{text}` is out of range: use 1KB to 1024TB"));
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<toml::Value> for Size {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        amount::of_toml(&value, invalid)
    }
}

fn invalid(text: &str) -> String {
    format!("`{text}` is not a size: write 64KB, 512MB, 50GB or a number of bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        let parse = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(parse("1024"), Ok(1024));
        assert_eq!(parse("64KB"), Ok(64 << 10));
        assert_eq!(parse("512 mb"), Ok(512 << 20));
        assert_eq!(parse("50GB"), Ok(50 << 30));
        assert_eq!(parse("1TiB"), Ok(1 << 40));
        for bad in
            ["", "GB", "-1", "1.5GB", "10 pages", "0", "1023", "2000TB", "99999999999999999999GB"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
