//! Access tokens: JSON Web Tokens of issuers that the operator trusts, checked against key sets in
//! files. Nothing is fetched from the network.
//!
//! A token says for whom and until when it is valid, and names the roles or the object id of its
//! holder; the operator says what those may do. `ring` verifies the signatures. Only asymmetric
//! algorithms are accepted, and the key decides which of them, never the token alone.

mod key_set;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use protocol::{Code, Error, Role};
use sha2::{Digest as _, Sha256};
use value::{Value, json};

pub use self::key_set::KeySet;

/// Longest token. Those of Entra have one to four thousand bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// How far clocks may differ.
const LEEWAY: Duration = Duration::from_mins(5);
/// Tokens that are known to be good: SDKs send the same one for an hour, and checking a signature
/// takes longer than a point read.
const KNOWN_MAX: usize = 1024;

/// An issuer of tokens.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// What its tokens say in `iss`, to the letter.
    pub name: String,
    /// What `aud` must be, or contain: one of these.
    pub audiences: Vec<String>,
    /// Its public keys.
    pub keys: KeySet,
    /// What the values of `roles`, and of `oid`, may do.
    pub roles: BTreeMap<String, Role>,
}

/// Whose tokens are good. Without an issuer, nobody's.
#[derive(Default)]
pub struct Issuers {
    trusted: Vec<Issuer>,
    trusts_any: bool,
    /// By the digest of a token, what it grants and until when.
    known: Mutex<HashMap<[u8; 32], (Role, u64)>>,
}

impl Issuers {
    /// The tokens of these issuers are good.
    pub fn new(issuers: Vec<Issuer>) -> Self {
        Self { trusted: issuers, ..Self::default() }
    }

    /// Every token is good for everything: for development on one machine.
    pub fn trusting_any() -> Self {
        Self { trusts_any: true, ..Self::default() }
    }

    /// Whoever trusts everybody answers under names of this machine only: web pages that have their
    /// own name stand for it may not come in.
    pub(crate) fn check_name(&self, is_local: bool) -> Result<(), Error> {
        if self.trusts_any && !is_local {
            return Err(unauthorized("every token is trusted, but only under a loopback name"));
        }
        Ok(())
    }

    /// What a token grants.
    pub fn verify(&self, token: &str, now: SystemTime) -> Result<Role, Error> {
        if self.trusts_any && !token.is_empty() {
            return Ok(Role::Owner);
        }
        if self.trusted.is_empty() {
            return Err(unauthorized("access tokens are not accepted by this server"));
        }
        if token.len() > TOKEN_BYTES_MAX {
            return Err(unauthorized("the access token is too long"));
        }
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let known = self.known().get(&digest).copied();
        if let Some((role, _)) = known.filter(|(_, until)| now < *until) {
            return Ok(role);
        }
        let (role, until) = self.check(token, now)?;
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(digest, (role, until));
        Ok(role)
    }

    /// Checks everything; what the token grants, and until when.
    fn check(&self, token: &str, now: u64) -> Result<(Role, u64), Error> {
        let malformed = || unauthorized("the access token is not a JSON Web Token");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
        let (head, claims) = signed.split_once('.').ok_or_else(malformed)?;
        let head = part(head).ok_or_else(malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| malformed())?;
        let claims = part(claims).ok_or_else(malformed)?;
        // Extensions that must be understood: we understand none.
        if *head.get("crit") != Value::Undefined {
            return Err(malformed());
        }
        let name = claims.get("iss").as_str().unwrap_or_default();
        let issuer = self.trusted.iter().find(|issuer| issuer.name == name);
        let issuer =
            issuer.ok_or_else(|| unauthorized("the issuer of the token is not trusted"))?;
        let algorithm = head.get("alg").as_str().unwrap_or_default();
        if !issuer.keys.verifies(algorithm, head.get("kid").as_str(), signed, &signature) {
            return Err(unauthorized("the signature of the access token is wrong"));
        }
        let until = issuer.check_claims(&claims, now)?;
        let role = issuer.role(&claims).ok_or_else(|| {
            Error::new(
                Code::ActionNotGranted,
                "Request blocked by Auth: the principal of the access token has no role. Learn \
                 more: https://aka.ms/cosmos-native-rbac.",
            )
        })?;
        Ok((role, until))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], (Role, u64)>> {
        // Every critical section leaves the map whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Issuers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issuers").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

impl Issuer {
    /// For whom the token is, and when; until when it is good.
    fn check_claims(&self, claims: &Value, now: u64) -> Result<u64, Error> {
        let is_ours = |audience: &str| self.audiences.iter().any(|ours| ours == audience);
        let audience = claims.get("aud");
        let is_for_us = match audience.as_array() {
            Some(all) => all.iter().filter_map(Value::as_str).any(is_ours),
            None => audience.as_str().is_some_and(is_ours),
        };
        if !is_for_us {
            return Err(unauthorized("the access token is for another audience"));
        }
        let leeway = LEEWAY.as_secs();
        let expires = seconds(claims.get("exp"))
            .ok_or_else(|| unauthorized("the access token does not say when it expires"))?;
        let until = expires.saturating_add(leeway);
        if now >= until {
            return Err(unauthorized("the access token has expired"));
        }
        let begins = match claims.get("nbf") {
            Value::Undefined => 0,
            said => seconds(said)
                .ok_or_else(|| unauthorized("the access token does not say when it begins"))?,
        };
        if now.saturating_add(leeway) < begins {
            return Err(unauthorized("the access token is not valid yet"));
        }
        Ok(until)
    }

    /// The best of what its roles and its object may do.
    fn role(&self, claims: &Value) -> Option<Role> {
        let roles = claims.get("roles").as_array().into_iter().flatten();
        let names = roles.chain([claims.get("oid")]).filter_map(Value::as_str);
        names.filter_map(|name| self.roles.get(name)).copied().max()
    }
}

/// One part of a token: an object as JSON as base64.
fn part(text: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    json::parse(&bytes).ok().filter(|value| value.as_object().is_some())
}

/// A time of a claim: a number of seconds, which may have a fraction.
fn seconds(value: &Value) -> Option<u64> {
    const LATEST: f64 = 1e12;
    let seconds = value.as_f64().filter(|seconds| (0.0..=LATEST).contains(seconds))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    let whole = seconds as u64;
    Some(whole)
}

fn unauthorized(reason: &str) -> Error {
    Error::new(Code::Unauthorized, format!("The input authorization token is not valid: {reason}."))
}

#[cfg(test)]
mod tests;
