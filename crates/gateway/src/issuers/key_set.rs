//! The public keys of an issuer, from a JSON Web Key Set.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use value::{Value, json};

/// Most keys in a set.
const KEYS_MAX: usize = 64;
/// Most keys to try for one token. Anybody can send a token that does not name its key, and
/// verifying a signature takes as long as some requests. An issuer of such tokens has two keys: the
/// current and the next.
const TRIED_MAX: usize = 4;

/// The usable keys of a set; there is at least one.
#[derive(Clone, Debug)]
pub struct KeySet(Vec<PublicKey>);

#[derive(Clone, Debug)]
struct PublicKey {
    id: Option<String>,
    /// The only algorithm that the key allows, if it names one.
    algorithm: Option<String>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
}

impl KeySet {
    /// Parses a key set. Skips keys of unknown kinds, as the standard requires.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let set = json::parse(text).map_err(|error| format!("not JSON: {error}"))?;
        let keys = set.get("keys").as_array().ok_or("there is no array `keys`")?;
        if keys.len() > KEYS_MAX {
            return Err(format!("there are more than {KEYS_MAX} keys"));
        }
        let keys: Vec<PublicKey> = keys.iter().filter_map(PublicKey::read).collect();
        if keys.is_empty() {
            return Err("there is no RSA, P-256 or P-384 key for signatures".to_owned());
        }
        Ok(Self(keys))
    }

    /// Whether one of the keys made this signature. Tries the key with this id; without an id, the
    /// first few keys for the algorithm.
    pub(super) fn verifies(
        &self,
        algorithm: &str,
        id: Option<&str>,
        signed: &str,
        signature: &[u8],
    ) -> bool {
        let is_meant = |key: &&PublicKey| id.is_none_or(|id| key.id.as_deref() == Some(id));
        let keys = self.0.iter().filter(is_meant);
        keys.filter(|key| key.algorithm.as_deref().is_none_or(|only| only == algorithm))
            .filter(|key| key.kind.is_for(algorithm))
            .take(TRIED_MAX)
            .any(|key| key.kind.verifies(algorithm, signed.as_bytes(), signature))
    }
}

impl PublicKey {
    fn read(key: &Value) -> Option<Self> {
        let text = |name: &str| key.get(name).as_str();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == length && y.len() == length).then(|| [&[4], &x[..], &y[..]].concat())
        };
        let kind = match (text("kty")?, text("crv")) {
            ("RSA", _) => Kind::Rsa { modulus: bytes("n")?, exponent: bytes("e")? },
            ("EC", Some("P-256")) => Kind::P256(point(32)?),
            ("EC", Some("P-384")) => Kind::P384(point(48)?),
            _ => return None,
        };
        let owned = |name| text(name).map(str::to_owned);
        Some(Self { id: owned("kid"), algorithm: owned("alg"), kind })
    }
}

impl Kind {
    fn is_for(&self, algorithm: &str) -> bool {
        match self {
            Self::Rsa { .. } => rsa(algorithm).is_some(),
            Self::P256(_) => algorithm == "ES256",
            Self::P384(_) => algorithm == "ES384",
        }
    }

    fn verifies(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => {
                let Some(parameters) = rsa(algorithm) else { return false };
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, signed, signature).is_ok()
            }
            Self::P256(point) if algorithm == "ES256" => {
                verifies(&ECDSA_P256_SHA256_FIXED, point, signed, signature)
            }
            Self::P384(point) if algorithm == "ES384" => {
                verifies(&ECDSA_P384_SHA384_FIXED, point, signed, signature)
            }
            Self::P256(_) | Self::P384(_) => false,
        }
    }
}

fn verifies(
    algorithm: &'static signature::EcdsaVerificationAlgorithm,
    point: &[u8],
    signed: &[u8],
    signature: &[u8],
) -> bool {
    UnparsedPublicKey::new(algorithm, point).verify(signed, signature).is_ok()
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &RSA_PSS_2048_8192_SHA256,
        "PS384" => &RSA_PSS_2048_8192_SHA384,
        "PS512" => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}
