//! Authentication: from the signature of a request to who is asking.
//!
//! The signature is an HMAC-SHA256 over verb, resource type, link and date; the body is not
//! covered, so nothing of it is needed here. SDKs differ in small ways in what they sign: all
//! accepted forms are computed and compared, in time that depends on the request alone.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use hyper::{HeaderMap, Method, header::HeaderValue};
use percent_encoding::percent_decode_str;
use protocol::{Code, Error, Principal};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use crate::{
    route::Signed,
    settings::{Key, Keys},
};

/// How far the date of a request may lie from the server's clock, either way.
const SKEW_MAX: Duration = Duration::from_mins(15);

/// What a request brings along.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A signature by a key of the account.
    Signature(Vec<u8>),
    /// The token of a permission.
    Resource(String),
    /// An access token of somebody else's.
    Access(String),
}

/// What a good signature is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// Who signed has a secret.
    Secret,
    /// Everybody has the key.
    Published,
}

impl Secrecy {
    /// Of a signature that matches the published key, or does not.
    pub(crate) fn of(is_published: Choice) -> Self {
        if bool::from(is_published) { Self::Published } else { Self::Secret }
    }
}

/// Finds out who signed a request.
pub(crate) fn verify(
    method: &Method,
    signed: &Signed,
    headers: &HeaderMap,
    signature: &[u8],
    keys: &Keys,
    now: SystemTime,
) -> Result<(Principal, Secrecy), Error> {
    let dates = Dates::read(headers)?;
    let payloads = payloads(method, signed, &dates);
    let (by_read_write, published) = any_match(&keys.read_write, &payloads, signature);
    let (by_read_only, also_published) = any_match(&keys.read_only, &payloads, signature);
    if !bool::from(by_read_write | by_read_only) {
        return Err(wrong_signature(&payloads));
    }
    dates.check(now)?;
    let principal =
        if bool::from(by_read_write) { Principal::of_key() } else { Principal::of_read_only_key() };
    Ok((principal, Secrecy::of(published | also_published)))
}

/// What `authorization` holds, which is percent-encoded by most clients: decoding leaves a plain one
/// as it is, since base64 has no `%`.
pub(crate) fn token(headers: &HeaderMap) -> Result<Token, Error> {
    let header = only(headers, "authorization").map_err(|_| malformed())?.ok_or_else(|| {
        unauthorized(
            "Required Header authorization is missing. Ensure a valid Authorization token is \
             passed.",
        )
    })?;
    let header = header.to_str().map_err(|_| malformed())?;
    let token = percent_decode_str(header.trim()).decode_utf8().map_err(|_| malformed())?;
    let mut parts = token.splitn(3, '&');
    let mut part = |name: &str| {
        parts.next()?.trim().split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let kind = part("type").ok_or_else(malformed)?;
    part("ver").ok_or_else(malformed)?;
    let secret = part("sig").ok_or_else(malformed)?;
    match kind.to_ascii_lowercase().as_str() {
        "master" => Ok(Token::Signature(STANDARD.decode(secret).map_err(|_| malformed())?)),
        "resource" => Ok(Token::Resource(secret.to_owned())),
        "aad" => Ok(Token::Access(secret.to_owned())),
        _ => Err(unauthorized(
            "The authorization token must be of type 'master', 'resource' or 'aad': this version \
             of Sheaf knows no others.",
        )),
    }
}

/// More than one header of a name of which there must be one.
struct Repeated;

/// The one header of this name. Of two, a proxy on the way may have looked at the other.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, Repeated> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() { Err(Repeated) } else { Ok(first) }
}

/// The dates a client may have signed, as sent.
struct Dates<'a> {
    x_ms_date: Option<&'a str>,
    date: Option<&'a str>,
}

impl<'a> Dates<'a> {
    fn read(headers: &'a HeaderMap) -> Result<Self, Error> {
        let read = |name| {
            let value = only(headers, name).map_err(|_| invalid_date())?;
            let value = value.map(|value| value.to_str().map_err(|_| invalid_date()));
            value.transpose().map(|text| text.map(str::trim).filter(|text| !text.is_empty()))
        };
        let dates = Self { x_ms_date: read("x-ms-date")?, date: read("date")? };
        match dates.x_ms_date.or(dates.date) {
            Some(_) => Ok(dates),
            None => Err(unauthorized(
                "The request has neither an x-ms-date nor a date header: one of them must be \
                 signed.",
            )),
        }
    }

    /// The last two lines of the payload. A payload without any date would be good forever, so
    /// `date` may stay unsigned only beside `x-ms-date`.
    fn lines(&self) -> Vec<String> {
        let date = self.date.map(str::to_ascii_lowercase);
        match self.x_ms_date.map(str::to_ascii_lowercase) {
            Some(first) => {
                let mut lines = vec![format!("{first}\n\n")];
                lines.extend(date.map(|second| format!("{first}\n{second}\n")));
                lines
            }
            None => date.map(|second| format!("\n{second}\n")).into_iter().collect(),
        }
    }

    fn check(&self, now: SystemTime) -> Result<(), Error> {
        let text = self.x_ms_date.or(self.date).unwrap_or_default();
        let date = parse_date(text).ok_or_else(invalid_date)?;
        let skew = now.duration_since(date).unwrap_or_else(|error| error.duration());
        if skew <= SKEW_MAX {
            return Ok(());
        }
        Err(Error::new(
            Code::Forbidden,
            format!(
                "The authorization token is not valid at the current time. Please create another \
                 token and retry (token date: {text}, current server time: {}).",
                httpdate::fmt_http_date(now)
            ),
        ))
    }
}

/// Reads an HTTP date in any case: Rust sends the lower-case form that it signs.
/// COMPAT: Go's layouts call the zone `UTC` or `+0000`.
pub(crate) fn parse_date(text: &str) -> Option<SystemTime> {
    let mut is_word_start = true;
    let capitalised = text.chars().map(|letter| {
        let cased =
            if is_word_start { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        is_word_start = !letter.is_ascii_alphabetic();
        cased
    });
    let mut date: String = capitalised.collect();
    let zone = [" Gmt", " Utc", " +0000"].into_iter().find(|zone| date.ends_with(zone));
    if let Some(zone) = zone {
        date.truncate(date.len() - zone.len());
        date.push_str(" GMT");
    }
    httpdate::parse_http_date(&date).ok()
}

/// Every text that the client may have signed; the first is the documented one.
fn payloads(method: &Method, signed: &Signed, dates: &Dates<'_>) -> Vec<String> {
    let verb = method.as_str().to_ascii_lowercase();
    let date_lines = dates.lines();
    let mut payloads = Vec::new();
    for kind in &signed.types {
        for link in &signed.links {
            for lines in &date_lines {
                payloads.push(format!("{verb}\n{kind}\n{link}\n{lines}"));
            }
        }
    }
    payloads
}

/// Compares with every key and payload, never stopping at a match: the time taken must not tell
/// which of them it was, nor how much of the signature was right. Gives whether there was a match, and
/// whether it was one of the published key.
fn any_match(keys: &[Key], payloads: &[String], signature: &[u8]) -> (Choice, Choice) {
    let (mut found, mut published) = (Choice::from(0), Choice::from(0));
    for key in keys {
        for payload in payloads {
            let is_match = sign(key, payload).ct_eq(signature);
            found |= is_match;
            published |= is_match & Choice::from(u8::from(key.is_published()));
        }
    }
    (found, published)
}

pub(crate) fn sign(key: &Key, payload: &str) -> Vec<u8> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key.bytes()).expect("HMAC takes a key of any length");
    mac.update(payload.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn unauthorized(message: impl Into<String>) -> Error {
    Error::new(Code::Unauthorized, message)
}

fn malformed() -> Error {
    unauthorized("The input authorization token has an invalid format.")
}

fn invalid_date() -> Error {
    unauthorized(
        "The input date header is invalid format. Please pass in RFC 1123 style date format.",
    )
}

/// Says what was signed here, so that who builds signatures by hand can compare. It is made of
/// the caller's own request; the key stays out of it.
fn wrong_signature(payloads: &[String]) -> Error {
    unauthorized(format!(
        "The input authorization token can't serve the request. The wrong key is being used or \
         the expected payload is not built as per the protocol. For more info: \
         https://aka.ms/cosmosdb-tsg-unauthorized. Server used the following payload to sign: \
         '{}'",
        payloads.first().map_or("", String::as_str)
    ))
}

#[cfg(test)]
mod tests;
