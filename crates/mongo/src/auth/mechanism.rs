//! The two mechanisms, which differ in their hash and in what becomes of the password.

use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// A mechanism of SASL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// The older one.
    ScramSha1,
    /// The one that drivers prefer.
    ScramSha256,
}

impl Mechanism {
    /// The mechanism of a name in `saslStart`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "SCRAM-SHA-1" => Some(Self::ScramSha1),
            "SCRAM-SHA-256" => Some(Self::ScramSha256),
            _ => None,
        }
    }

    /// The name in `saslStart`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ScramSha1 => "SCRAM-SHA-1",
            Self::ScramSha256 => "SCRAM-SHA-256",
        }
    }

    /// How often the password is hashed, as MongoDB does by default.
    pub fn iterations(self) -> u32 {
        match self {
            Self::ScramSha1 => 10_000,
            Self::ScramSha256 => 15_000,
        }
    }

    /// Bytes of a salt.
    pub fn salt_bytes(self) -> usize {
        match self {
            Self::ScramSha1 => 16,
            Self::ScramSha256 => 28,
        }
    }

    /// What counts as the password.
    pub(super) fn password(self, user: &str, password: &str) -> Vec<u8> {
        match self {
            Self::ScramSha1 => {
                let digest = Md5::digest(format!("{user}:mongo:{password}"));
                digest.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
            }
            Self::ScramSha256 => match stringprep::saslprep(password) {
                Ok(prepared) => prepared.into_owned().into_bytes(),
                Err(_) => password.as_bytes().to_vec(),
            },
        }
    }

    pub(super) fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::ScramSha1 => Sha1::digest(bytes).to_vec(),
            Self::ScramSha256 => Sha256::digest(bytes).to_vec(),
        }
    }

    pub(super) fn hmac(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        const ANY_LENGTH: &str = "HMAC takes keys of any length";
        match self {
            Self::ScramSha1 => {
                let mac = Hmac::<Sha1>::new_from_slice(key).expect(ANY_LENGTH);
                mac.chain_update(bytes).finalize().into_bytes().to_vec()
            }
            Self::ScramSha256 => {
                let mac = Hmac::<Sha256>::new_from_slice(key).expect(ANY_LENGTH);
                mac.chain_update(bytes).finalize().into_bytes().to_vec()
            }
        }
    }

    /// PBKDF2 with the mechanism's HMAC, of which the first block is all that SCRAM needs.
    pub(super) fn salted(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        match self {
            Self::ScramSha1 => iterated(Hmac::<Sha1>::new_from_slice(password), salt, iterations),
            Self::ScramSha256 => {
                iterated(Hmac::<Sha256>::new_from_slice(password), salt, iterations)
            }
        }
    }
}

/// Begins each HMAC with the state that has taken in the password.
fn iterated<M: hmac::Mac + Clone, E: std::fmt::Debug>(
    keyed: Result<M, E>,
    salt: &[u8],
    iterations: u32,
) -> Vec<u8> {
    let keyed = keyed.expect("HMAC takes keys of any length");
    let mut block = salt.to_vec();
    block.extend(1_u32.to_be_bytes());
    let mut last = keyed.clone().chain_update(&block).finalize().into_bytes();
    let mut sum = last.to_vec();
    for _ in 1..iterations {
        last = keyed.clone().chain_update(&last).finalize().into_bytes();
        for (sum, byte) in sum.iter_mut().zip(&last) {
            *sum ^= byte;
        }
    }
    sum
}
