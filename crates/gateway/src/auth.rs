//! Authentication: checks a request's signature and returns the principal.
//!
//! The signature is an HMAC-SHA256 over verb, resource type, link and date. It does not cover the
//! body, so this module does not need it. SDKs differ in small ways in what they sign: the module
//! compares each accepted form, in time that does not depend on how much of the signature is right.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::{Method, header::HeaderValue};
use protocol::{Code, Error, Principal};
use subtle::ConstantTimeEq;

use crate::{
    headers::Lookup,
    percent,
    route::Signed,
    settings::{Key, Keys},
};

/// Largest difference between a request's date and the server's clock, either way.
const SKEW_MAX: Duration = Duration::from_mins(15);

/// The credential in a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A signature with a key of the account; `None` if it cannot be one, by its length.
    Signature(Option<Signature>),
    /// A resource token, made for a permission.
    Resource(String),
    /// An access token from another issuer.
    Access(String),
}

/// An HMAC-SHA256.
pub(crate) type Signature = [u8; 32];

/// How the tokens of most clients begin: percent-encoded, with large or small letters, or plain.
const USUAL: [&str; 3] = [
    "type%3Dmaster%26ver%3D1.0%26sig%3D",
    "type%3dmaster%26ver%3d1.0%26sig%3d",
    "type=master&ver=1.0&sig=",
];

/// Room for the base64 of a signature, and for the bytes that the decoder wants to have for it.
const SIGNATURE_ROOM: usize = 48;

/// Whether a valid credential proves that its sender knows a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// The key is secret.
    Secret,
    /// The key is published, so everybody has it.
    Published,
}

impl Secrecy {
    /// `Published` if the key is the published one.
    pub(crate) fn of(is_published: bool) -> Self {
        if is_published { Self::Published } else { Self::Secret }
    }
}

/// Checks the signature and the date of a request, and returns who signed it.
pub(crate) fn verify(
    method: &Method,
    signed: &Signed<'_>,
    headers: &impl Lookup,
    signature: Option<&Signature>,
    keys: &Keys,
    now: SystemTime,
) -> Result<(Principal, Secrecy), Error> {
    let dates = Dates::read(headers)?;
    let payloads = payloads(method, signed, &dates);
    let found = |keys: &[Key]| signer(keys, &payloads, signature?).map(Key::is_published);
    let (principal, is_published) = match found(&keys.read_write) {
        Some(is_published) => (Principal::of_key(), is_published),
        None => match found(&keys.read_only) {
            Some(is_published) => (Principal::of_read_only_key(), is_published),
            None => return Err(wrong_signature(&payloads)),
        },
    };
    dates.check(now)?;
    Ok((principal, Secrecy::of(is_published)))
}

/// Reads the `authorization` header. Most clients percent-encode it; decoding does not change a
/// plain one, since base64 has no `%`.
pub(crate) fn token(headers: &impl Lookup) -> Result<Token, Error> {
    let header = only(headers, "authorization").map_err(|_| malformed())?.ok_or_else(|| {
        unauthorized(
            "Required Header authorization is missing. Ensure a valid Authorization token is \
             passed.",
        )
    })?;
    let header = header.to_str().map_err(|_| malformed())?;
    let header = header.trim();
    if let Some(signature) = usual_signature(header) {
        return Ok(Token::Signature(Some(signature)));
    }
    let token = percent::decode(header).ok_or_else(malformed)?;
    let mut parts = token.splitn(3, '&');
    let mut part = |name: &str| {
        parts.next()?.trim().split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let kind = part("type").ok_or_else(malformed)?;
    part("ver").ok_or_else(malformed)?;
    let secret = part("sig").ok_or_else(malformed)?;
    let is = |name: &str| kind.eq_ignore_ascii_case(name);
    match () {
        () if is("master") => {
            let signature = STANDARD.decode(secret).map_err(|_| malformed())?;
            Ok(Token::Signature(signature.try_into().ok()))
        }
        () if is("resource") => Ok(Token::Resource(secret.to_owned())),
        () if is("aad") => Ok(Token::Access(secret.to_owned())),
        () => Err(unauthorized(
            "The authorization token must be of type 'master', 'resource' or 'aad': this version \
             of Sheaf knows no others.",
        )),
    }
}

/// Returns the signature of a token that has the usual form; any other one is to be read as a whole.
fn usual_signature(token: &str) -> Option<Signature> {
    let encoded = USUAL.iter().find_map(|start| token.strip_prefix(start))?;
    let (mut text, mut bytes) = ([0; SIGNATURE_ROOM], [0; SIGNATURE_ROOM]);
    let text = percent::decode_to(encoded, &mut text)?;
    let length = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}

/// The error for a header that must not occur more than once.
struct Repeated;

/// Returns the only header of this name. Refuses two, since a proxy on the way may have checked the
/// other.
fn only<'a>(headers: &'a impl Lookup, name: &str) -> Result<Option<&'a HeaderValue>, Repeated> {
    let mut all = headers.values(name);
    let first = all.next();
    if all.next().is_some() { Err(Repeated) } else { Ok(first) }
}

/// The dates a client may have signed, as sent.
struct Dates<'a> {
    x_ms_date: Option<&'a str>,
    date: Option<&'a str>,
}

impl<'a> Dates<'a> {
    fn read(headers: &'a impl Lookup) -> Result<Self, Error> {
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

    /// The pairs that the last two lines of the payload may have. A payload without a date would be
    /// valid forever, so a client may leave `date` unsigned only if it signs `x-ms-date`.
    fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let (first, second) = (self.x_ms_date.unwrap_or_default(), self.date);
        let alone = self.x_ms_date.map(|first| (first, ""));
        alone.into_iter().chain(second.map(|second| (first, second)))
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

/// Parses an HTTP date in any case: the Rust SDK sends the lower-case form that it signs.
/// COMPAT: Go's layouts call the zone `UTC` or `+0000`.
pub(crate) fn parse_date(text: &str) -> Option<SystemTime> {
    // Most clients send this form.
    if let Ok(date) = httpdate::parse_http_date(text) {
        return Some(date);
    }
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

/// Every text that the client may have signed, the documented one first.
fn payloads(method: &Method, signed: &Signed<'_>, dates: &Dates<'_>) -> Vec<String> {
    let mut payloads = Vec::with_capacity(1);
    for kind in &signed.types {
        for link in &signed.links {
            for (first, second) in dates.pairs() {
                payloads.push(payload(method, kind, link, (first, second)));
            }
        }
    }
    payloads
}

/// Builds the text to sign: resource type and link as they are, the rest in lower case.
fn payload(method: &Method, kind: &str, link: &str, (first, second): (&str, &str)) -> String {
    let bytes = method.as_str().len() + kind.len() + link.len() + first.len() + second.len() + 5;
    let mut text = String::with_capacity(bytes);
    let push_lower = |text: &mut String, part: &str| {
        let start = text.len();
        text.push_str(part);
        text[start..].make_ascii_lowercase();
        text.push('\n');
    };
    push_lower(&mut text, method.as_str());
    text.push_str(kind);
    text.push('\n');
    text.push_str(link);
    text.push('\n');
    push_lower(&mut text, first);
    push_lower(&mut text, second);
    text
}

/// Returns the first key that made the signature. Each comparison takes the same time however much
/// of the signature is right. The search stops at a match, so its time tells which key matched, but
/// only to a client that has a key.
fn signer<'a>(keys: &'a [Key], payloads: &[String], signature: &Signature) -> Option<&'a Key> {
    keys.iter()
        .find(|key| payloads.iter().any(|payload| bool::from(sign(key, payload).ct_eq(signature))))
}

/// Signs a text.
pub(crate) fn sign(key: &Key, payload: &str) -> Signature {
    key.mac(&[payload.as_bytes()])
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

/// An error that shows the text that the server signed, so that people who build signatures by hand
/// can compare. The text comes from the caller's own request and does not contain the key.
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
