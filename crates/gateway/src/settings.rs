//! The operator's settings: the keys, and the properties that the account reports.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use protocol::{limits::REQUEST_BYTES_MAX, request::ConsistencyLevel};

use sha2::Sha256;

use crate::names::Names;

/// The key that Microsoft publishes for its emulator. Every SDK sample contains it, so it protects
/// nothing. The server uses it only where nobody outside this machine can connect.
pub const PUBLISHED_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The settings of the gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The keys at startup; see [`crate::Gateway::set_keys`].
    pub keys: Keys,
    /// The account's name. Must not be `localhost`: the JavaScript SDK then reads the account
    /// again before every request.
    pub account_id: String,
    /// The one region. SDKs match it with their preferred regions, so use a name that Azure uses.
    pub region: String,
    /// The consistency of requests that do not name one. A request may not ask for a stronger one.
    pub default_consistency: ConsistencyLevel,
    /// How far a read may lag behind writes under bounded staleness.
    pub staleness: Staleness,
    /// Which clients are refused a cross-partition query whose results they can merge themselves.
    pub cross_partition: CrossPartition,
    /// Limits on a request.
    pub limits: Limits,
    /// The names of the server.
    pub names: Names,
}

impl Default for Settings {
    /// An account without keys: it refuses every request.
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            account_id: "sheaf".to_owned(),
            region: "South Central US".to_owned(),
            default_consistency: ConsistencyLevel::Session,
            staleness: Staleness::default(),
            cross_partition: CrossPartition::default(),
            limits: Limits::default(),
            names: Names::default(),
        }
    }
}

/// How far reads may lag behind writes. With one replica they never lag; the gateway only shows the
/// values to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// The lag as a number of writes.
    pub prefix_max: u32,
    /// The lag in seconds.
    pub interval_seconds_max: u64,
}

impl Default for Staleness {
    /// The service's default.
    fn default() -> Self {
        Self { prefix_max: 100, interval_seconds_max: 5 }
    }
}

/// Which clients the server treats as ones that run query plans themselves. To such a client the
/// service refuses a query whose results need merging over partitions, and the client merges them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrossPartition {
    /// Clients whose headers show that they run plans.
    #[default]
    Auto,
    /// All clients, as the service does.
    Service,
    /// No client: the server answers every query directly.
    Direct,
}

/// Limits on a request before it reaches the database.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest body. A larger one gets a 413, and the server does not read it to its end.
    pub body_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body_bytes_max: REQUEST_BYTES_MAX }
    }
}

/// The keys of the account: a primary and a secondary of each kind, so that the operator can
/// replace one while the other is in use.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Keys with full access.
    pub read_write: Vec<Key>,
    /// Keys that may read and query.
    pub read_only: Vec<Key>,
}

/// A master key. Its bytes never reach a log: `Debug` hides them.
#[derive(Clone)]
pub struct Key {
    /// An HMAC that is already initialised with the key, which saves work on every signature.
    keyed: Hmac<Sha256>,
    is_published: bool,
}

impl Key {
    /// Parses the base64 text that the operator and the SDKs have.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| KeyError::NotBase64)?;
        let is_published = text.trim() == PUBLISHED_KEY;
        if bytes.is_empty() {
            return Err(KeyError::Empty);
        }
        let keyed = Hmac::new_from_slice(&bytes).expect("HMAC takes a key of any length");
        Ok(Self { keyed, is_published })
    }

    /// Generates the text of a new key: 64 random bytes, as many as the service's keys have.
    pub fn generate() -> Result<String, KeyError> {
        let mut bytes = [0; 64];
        getrandom::fill(&mut bytes).map_err(|_| KeyError::NoRandomness)?;
        Ok(STANDARD.encode(bytes))
    }

    /// Computes the HMAC-SHA256 of these parts in sequence.
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Whether this is the published key.
    pub(crate) fn is_published(&self) -> bool {
        self.is_published
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The reason why a text is not a key. It does not repeat the text, which may be most of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not base64 with padding.
    #[error("a key must be base64 text")]
    NotBase64,
    /// The operating system provides no random numbers.
    #[error("cannot generate random numbers on this machine")]
    NoRandomness,
    /// The key is empty, so anyone could sign with it.
    #[error("a key must not be empty")]
    Empty,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_base64_and_stay_hidden() {
        let key = Key::parse(&format!(" {PUBLISHED_KEY}\n")).expect("the published key");
        let keys = Keys { read_write: vec![key], read_only: vec![] };
        assert_eq!(format!("{keys:?}"), "Keys { read_write: [***], read_only: [] }");
        let (one, other) = (Key::generate().unwrap(), Key::generate().unwrap());
        assert!(one != other && Key::parse(&one).is_ok());
        assert_eq!(STANDARD.decode(one).unwrap().len(), 64);
        assert_eq!(Key::parse("").err(), Some(KeyError::Empty));
        assert_eq!(Key::parse("no key").err(), Some(KeyError::NotBase64));
    }
}
