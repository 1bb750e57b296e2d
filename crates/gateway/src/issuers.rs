//! Access tokens: JSON Web Tokens from issuers that the operator trusts, checked against key sets
//! in files. The server fetches nothing from the network.
//!
//! A token names its audience, its expiry, and the roles or the object id of its holder; the
//! operator defines what those may do. `ring` verifies the signatures. The server accepts only
//! asymmetric algorithms, and the key decides which of them, never the token alone.

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

/// Longest accepted token. Entra's have one to four thousand bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Largest accepted difference between clocks.
const LEEWAY: Duration = Duration::from_mins(5);
/// Most tokens in the cache of verified ones. SDKs send the same token for an hour, and verifying a
/// signature takes longer than a point read.
const KNOWN_MAX: usize = 1024;

/// A trusted issuer of tokens.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// The exact value of `iss` in its tokens.
    pub name: String,
    /// Accepted values of `aud`; a token must have one of them.
    pub audiences: Vec<String>,
    /// Its public keys.
    pub keys: KeySet,
    /// The role for each accepted value of `roles` and of `oid`.
    pub roles: BTreeMap<String, Role>,
}

/// The trusted issuers. Without any, the server accepts no access tokens.
#[derive(Default)]
pub struct Issuers {
    trusted: Vec<Issuer>,
    trusts_any: bool,
    /// Verified tokens by their digest: the role that each grants, and until when.
    known: Mutex<HashMap<[u8; 32], (Role, u64)>>,
}

impl Issuers {
    /// Trusts these issuers.
    pub fn new(issuers: Vec<Issuer>) -> Self {
        Self { trusted: issuers, ..Self::default() }
    }

    /// Accepts every token and gives it every right: for development on one machine.
    pub fn trusting_any() -> Self {
        Self { trusts_any: true, ..Self::default() }
    }

    /// Refuses a request under a name that is not this machine's if every token is trusted: a web
    /// page could make its own name resolve to this machine.
    pub(crate) fn check_name(&self, is_local: bool) -> Result<(), Error> {
        if self.trusts_any && !is_local {
            return Err(unauthorized("every token is trusted, but only under a loopback name"));
        }
        Ok(())
    }

    /// Verifies a token and returns the role that it grants.
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

    /// Checks every part of a token. Returns its role, and the time until which it is valid.
    fn check(&self, token: &str, now: u64) -> Result<(Role, u64), Error> {
        let malformed = || unauthorized("the access token is not a JSON Web Token");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
        let (head, claims) = signed.split_once('.').ok_or_else(malformed)?;
        let head = part(head).ok_or_else(malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| malformed())?;
        let claims = part(claims).ok_or_else(malformed)?;
        // `crit` lists extensions that the verifier must understand; we support none.
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
        // Every critical section leaves the map consistent.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Issuers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issuers").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

impl Issuer {
    /// Checks audience and times. Returns the time until which the token is valid.
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

    /// The highest role that the token's roles and object id grant.
    fn role(&self, claims: &Value) -> Option<Role> {
        let roles = claims.get("roles").as_array().into_iter().flatten();
        let names = roles.chain([claims.get("oid")]).filter_map(Value::as_str);
        names.filter_map(|name| self.roles.get(name)).copied().max()
    }
}

/// Decodes one part of a token: a JSON object in base64.
fn part(text: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    json::parse(&bytes).ok().filter(|value| value.as_object().is_some())
}

/// Reads a time in seconds, dropping any fraction.
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
