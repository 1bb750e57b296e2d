//! Resource tokens: made for permissions, and verified when clients present them.
//!
//! A token names its permission and the second in which it expires, under an HMAC with a key of the
//! account. The primary key signs; either key verifies, so regenerating a key invalidates the
//! tokens made with it. Clients see `type=resource&ver=1&sig=<HMAC>;<content>;`.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use protocol::{
    Body, Code, Error, Response,
    rid::PermissionRid,
    token::{Grant, TokenMark},
};
use subtle::ConstantTimeEq;

use crate::{
    auth::Secrecy,
    settings::{Key, Keys},
};

/// A prefix of the signed bytes. No signature of a request covers a text that begins like this, so
/// none can pass for a token.
const PURPOSE: &[u8] = b"sheaf resource token\n";

/// The first byte of the content. Version 1, which counted generations, is no longer accepted.
const VERSION: u8 = 2;

/// Version, permission, generation, expiry, and a nonce that makes every token unique.
const CONTENT_BYTES: usize = 1 + 16 + 8 + 8 + 8;

/// Makes the tokens for one answer, with the keys in force at the time.
pub(crate) struct Mint {
    keys: Arc<Keys>,
    /// The second in which the tokens expire, since 1970.
    expiry: u64,
    mark: TokenMark,
}

impl Mint {
    /// Prepares tokens that are valid for `seconds`; `None` if there is no key or no randomness.
    pub(crate) fn new(keys: Arc<Keys>, now: SystemTime, seconds: u32) -> Option<Self> {
        keys.read_write.first()?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let expiry = seconds_of(now + Duration::from_secs(seconds.into()));
        Some(Self { keys, expiry, mark: TokenMark::new(u128::from_be_bytes(random)) })
    }

    /// The placeholder for tokens in the answer.
    pub(crate) fn mark(&self) -> TokenMark {
        self.mark
    }

    /// Replaces the placeholders in a response with tokens.
    pub(crate) fn fill(&self, mut response: Response) -> Result<Response, Error> {
        let filled = |text: &Bytes| self.mark.replace(text, |grant| self.token(grant));
        match &mut response.body {
            Body::Resource(text) => *text = filled(text)?.into(),
            Body::Feed { items, .. } => {
                for item in items {
                    *item = filled(item)?.into();
                }
            }
            Body::Empty | Body::Media { .. } | Body::Batch(_) => {}
        }
        Ok(response)
    }

    fn token(&self, grant: Grant) -> Result<String, Error> {
        let token = self.mint(grant);
        token
            .ok_or_else(|| Error::new(Code::Internal, "Cannot generate random numbers for tokens."))
    }

    /// Makes a token. No two tokens have the same text.
    fn mint(&self, grant: Grant) -> Option<String> {
        let key = self.keys.read_write.first()?;
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).ok()?;
        let mut content = vec![VERSION];
        content.extend_from_slice(&grant.permission.bytes());
        content.extend_from_slice(&grant.generation.to_be_bytes());
        content.extend_from_slice(&self.expiry.to_be_bytes());
        content.extend_from_slice(&nonce);
        let (mac, content) = (STANDARD.encode(sign(key, &content)), STANDARD.encode(&content));
        Some(format!("type=resource&ver=1&sig={mac};{content};"))
    }
}

/// Verifies a token and returns what it grants. `text` is the part after `sig=`. With the published
/// key anybody can make a token, so the result says whether the key is secret.
pub(crate) fn verify(text: &str, keys: &Keys, now: SystemTime) -> Result<(Grant, Secrecy), Error> {
    let (mac, content) = decode(text).ok_or_else(invalid)?;
    let is_signer = |key: &&Key| bool::from(sign(key, &content).as_slice().ct_eq(&mac));
    let key = keys.read_write.iter().find(is_signer).ok_or_else(invalid)?;
    let (grant, expiry) = read(&content).ok_or_else(invalid)?;
    if seconds_of(now) >= expiry {
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(expiry));
        return Err(Error::new(
            Code::Forbidden,
            format!(
                "The authorization token is not valid at the current time. Please create another \
                 token and retry (token end time: {date}, current server time: {}).",
                httpdate::fmt_http_date(now)
            ),
        ));
    }
    Ok((grant, Secrecy::of(key.is_published())))
}

/// Splits a signature into HMAC and content. The final semicolon belongs to it, but may get lost on
/// the way.
fn decode(signature: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mac, content) = signature.trim().trim_end_matches(';').split_once(';')?;
    Some((STANDARD.decode(mac).ok()?, STANDARD.decode(content).ok()?))
}

/// Parses the signed content into the grant and its expiry.
fn read(content: &[u8]) -> Option<(Grant, u64)> {
    let content: [u8; CONTENT_BYTES] = content.try_into().ok()?;
    let number =
        |at: usize| content[at..at + 8].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    if content[0] != VERSION {
        return None;
    }
    let permission = PermissionRid::from_bytes(&content[1..17])?;
    Some((Grant { permission, generation: number(17) }, number(25)))
}

fn sign(key: &Key, content: &[u8]) -> [u8; 32] {
    key.mac(&[PURPOSE, content])
}

fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The error for any invalid token. It gives no details, so that forgers learn nothing.
fn invalid() -> Error {
    Error::new(
        Code::Unauthorized,
        "The input authorization token can't serve the request: it is not a resource token of this \
         account, or the key that signed it has been regenerated.",
    )
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::HeaderValue};
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use protocol::rid::{DatabaseRid, UserRid};

    use super::*;
    use crate::{
        auth::{self, Token},
        settings::PUBLISHED_KEY,
    };

    const NOW: u64 = 1_700_000_000;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn grant() -> Grant {
        let user = UserRid { database: DatabaseRid(0xA1B2_C3D4), number: 1 };
        Grant { permission: PermissionRid { user, number: 7 }, generation: u64::MAX - 3 }
    }

    fn keys(texts: &[&str]) -> Arc<Keys> {
        let read_write = texts.iter().map(|text| Key::parse(text).expect("a key")).collect();
        Arc::new(Keys { read_write, read_only: vec![Key::parse("cmVhZA==").expect("a key")] })
    }

    fn check(token: &str, keys: &Keys, now: u64) -> Result<Option<Grant>, Code> {
        let value = HeaderValue::from_str(token).expect("a header");
        let headers = HeaderMap::from_iter([(hyper::header::AUTHORIZATION, value)]);
        match auth::token(&headers).map_err(|error| error.code)? {
            Token::Resource(text) => {
                let verified = verify(&text, keys, at(now));
                verified.map(|(grant, _)| Some(grant)).map_err(|error| error.code)
            }
            _ => Ok(None),
        }
    }

    fn token(keys: &Arc<Keys>) -> String {
        let mint = Mint::new(Arc::clone(keys), at(NOW), 10).expect("keys");
        mint.mint(grant()).expect("a token")
    }

    #[test]
    fn a_token_is_good_until_it_expires() {
        let keys = keys(&[PUBLISHED_KEY]);
        let token = token(&keys);
        assert!(token.starts_with("type=resource&ver=1&sig=") && token.ends_with(';'), "{token}");
        let encoded = utf8_percent_encode(&token, NON_ALPHANUMERIC).to_string();
        for text in [&token, &encoded, token.trim_end_matches(';')] {
            assert_eq!(check(text, &keys, NOW), Ok(Some(grant())));
            assert_eq!(check(text, &keys, NOW + 9), Ok(Some(grant())));
            assert_eq!(check(text, &keys, NOW + 10), Err(Code::Forbidden));
        }
        assert_ne!(self::token(&keys), token, "never the same twice");
        assert_eq!(check("type=master&ver=1.0&sig=aaaa", &keys, NOW), Ok(None));
    }

    #[test]
    fn a_token_goes_with_its_key() {
        const OTHER: &str = "b3RoZXI=";
        let token = token(&keys(&[PUBLISHED_KEY]));
        assert_eq!(check(&token, &keys(&[OTHER, PUBLISHED_KEY]), NOW), Ok(Some(grant())));
        assert_eq!(check(&token, &keys(&[OTHER]), NOW), Err(Code::Unauthorized));
        assert_eq!(check(&token, &Keys::default(), NOW), Err(Code::Unauthorized));
        // A read-only key makes no tokens.
        let by_reader = self::token(&keys(&["cmVhZA=="]));
        assert_eq!(check(&by_reader, &keys(&[PUBLISHED_KEY]), NOW), Err(Code::Unauthorized));
    }

    #[test]
    fn no_byte_of_a_token_can_be_changed() {
        let keys = keys(&[PUBLISHED_KEY]);
        let token = token(&keys);
        let (mac, content) = decode(&token["type=resource&ver=1&sig=".len()..]).expect("two parts");
        let text = |mac: &[u8], content: &[u8]| {
            let (mac, content) = (STANDARD.encode(mac), STANDARD.encode(content));
            format!("type=resource&ver=1&sig={mac};{content};")
        };
        assert_eq!(check(&text(&mac, &content), &keys, NOW), Ok(Some(grant())));
        for bit in 0..8 * mac.len() {
            let mut mac = mac.clone();
            mac[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(&text(&mac, &content), &keys, NOW), Err(Code::Unauthorized));
        }
        for bit in 0..8 * content.len() {
            let mut content = content.clone();
            content[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(&text(&mac, &content), &keys, NOW), Err(Code::Unauthorized));
        }
        for bad in [
            "type=resource",
            "type=resource&ver=1",
            "type=resource&ver=1&sig=",
            "type=resource&ver=1&sig=;;",
            "type=resource&ver=1&sig=aaaa",
            "type=resource&sig=aaaa;bbbb;",
            "type=resource&ver=1&sig=aaaa;bbbb;",
            "type=resource&ver=1&sig=aaaa;bbbb;cccc;",
            &text(&[], &content),
            &text(&mac, &[]),
            &text(&mac[1..], &content),
            &text(&mac, &content[1..]),
        ] {
            assert_eq!(check(bad, &keys, NOW), Err(Code::Unauthorized), "{bad}");
        }
    }
}
