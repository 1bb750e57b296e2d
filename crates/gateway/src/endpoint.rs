//! Where clients reach the server: a scheme, a host, and a port if it is not the scheme's own.

use std::fmt;

use hyper::{HeaderMap, Uri};
use protocol::Error;

use crate::{
    host::{named, split},
    names::Names,
};

/// The URL of an account. Its path is always `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    scheme: &'static str,
    authority: String,
}

/// What a proxy that is trusted says of the request that it got, as an extension of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// `http` or `https`.
    pub scheme: Option<&'static str>,
    /// The name and port that its client called.
    pub host: Option<Authority>,
}

/// A host, and perhaps a port, that is known to be well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority(String);

impl Authority {
    /// Reads `host` or `host:port`.
    pub fn parse(text: &str) -> Option<Self> {
        split(text).map(|_| Self(text.to_ascii_lowercase()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Endpoint {
    /// Reads `https://host:port/`. The error says what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let text: String = text.chars().take(100).collect();
            format!("`{text}` is no endpoint: write https://host:port, without a path")
        };
        let (scheme, rest) = text.trim().split_once("://").ok_or_else(wrong)?;
        let scheme = scheme_of(scheme).ok_or_else(wrong)?;
        let Authority(authority) =
            Authority::parse(rest.strip_suffix('/').unwrap_or(rest)).ok_or_else(wrong)?;
        Ok(Self { scheme, authority })
    }

    /// The host, and the port if it is said.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The host alone; an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        split(&self.authority).map_or("", |(host, _)| host.trim_matches(['[', ']']))
    }

    /// Where the sender of a request reaches the server: where the operator says; else where a trusted
    /// proxy was called; else where the request itself went.
    pub(crate) fn of_request(
        names: &Names,
        scheme: &str,
        forwarded: Option<&Forwarded>,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<Self, Error> {
        if let Some(advertised) = &names.advertised {
            return Ok(advertised.clone());
        }
        let said = scheme_of(scheme).unwrap_or("http");
        let scheme = forwarded.and_then(|it| it.scheme).unwrap_or(said);
        let host = forwarded.and_then(|it| it.host.as_ref()).map(Authority::as_str);
        let missing = || Error::bad_request("The Host header is missing or invalid.");
        let authority = host.or_else(|| named(headers, uri)).ok_or_else(missing)?.to_owned();
        Ok(Self { scheme, authority })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}/", self.scheme, self.authority)
    }
}

/// The scheme of this name, in any case.
pub fn scheme_of(name: &str) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|scheme| name.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HOST, HeaderValue};

    use super::*;

    #[test]
    fn endpoints_are_a_scheme_and_a_host() {
        let shown = |text: &str| Endpoint::parse(text).map(|endpoint| endpoint.to_string());
        assert_eq!(shown("https://DB.example"), Ok("https://db.example/".to_owned()));
        assert_eq!(shown(" HTTP://[::1]:8081/ "), Ok("http://[::1]:8081/".to_owned()));
        let host = |text: &str| Endpoint::parse(text).map(|endpoint| endpoint.host().to_owned());
        assert_eq!(host("https://db.example:443/"), Ok("db.example".to_owned()));
        assert_eq!(host("http://[::1]:8081"), Ok("::1".to_owned()));
        for bad in [
            "",
            "db.example",
            "ftp://db.example",
            "https://",
            "https://db.example/path",
            "https://me@db.example",
            "https://db.example?x",
            "https://db.example//",
            "https://db.example:port",
        ] {
            assert!(shown(bad).expect_err(bad).contains("is no endpoint"), "{bad}");
        }
    }

    #[test]
    fn what_the_operator_says_wins_over_proxies_and_those_over_the_request() {
        let headers: HeaderMap =
            [(HOST, HeaderValue::from_static("localhost:8081"))].into_iter().collect();
        let uri = Uri::from_static("/");
        let told = |names: &Names, forwarded: Option<&Forwarded>| {
            Endpoint::of_request(names, "http", forwarded, &headers, &uri).expect("one").to_string()
        };
        let unnamed = Names::default();
        assert_eq!(told(&unnamed, None), "http://localhost:8081/");
        let scheme = Forwarded { scheme: Some("https"), host: None };
        assert_eq!(told(&unnamed, Some(&scheme)), "https://localhost:8081/");
        let both = Forwarded { host: Authority::parse("db.example"), ..scheme };
        assert_eq!(told(&unnamed, Some(&both)), "https://db.example/");
        let advertised = Some(Endpoint::parse("https://own.example").expect("an endpoint"));
        let named = Names { advertised, ..Names::default() };
        assert_eq!(told(&named, Some(&both)), "https://own.example/");
    }
}
