//! The address at which clients reach the server: a scheme, a host, and a port unless it is the
//! scheme's default.

use std::fmt;

use crate::host::split;

/// The URL of an account. Its path is always `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    scheme: &'static str,
    authority: String,
}

/// What a trusted proxy says about the request that it forwards. The server attaches it to the
/// request as an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// `http` or `https`.
    pub scheme: Option<&'static str>,
    /// The host and port that the proxy's client called.
    pub host: Option<Authority>,
}

/// A well-formed host with an optional port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority(String);

impl Authority {
    /// Reads `host` or `host:port`.
    pub fn parse(text: &str) -> Option<Self> {
        split(text).map(|_| Self(text.to_ascii_lowercase()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Endpoint {
    /// Makes an endpoint of a well-formed authority.
    pub(crate) fn new(scheme: &'static str, authority: &str) -> Self {
        Self { scheme, authority: authority.to_owned() }
    }

    /// Parses `https://host:port/`. The error says what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let text: String = text.chars().take(100).collect();
            format!("`{text}` is not an endpoint: write https://host:port, without a path")
        };
        let (scheme, rest) = text.trim().split_once("://").ok_or_else(wrong)?;
        let scheme = scheme_of(scheme).ok_or_else(wrong)?;
        let Authority(authority) =
            Authority::parse(rest.strip_suffix('/').unwrap_or(rest)).ok_or_else(wrong)?;
        Ok(Self { scheme, authority })
    }

    /// Returns the host, with the port if there is one.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the host alone; an IPv6 address comes without brackets.
    pub fn host(&self) -> &str {
        split(&self.authority).map_or("", |(host, _)| host.trim_matches(['[', ']']))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}/", self.scheme, self.authority)
    }
}

/// Returns the scheme with this name, in any case.
pub fn scheme_of(name: &str) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|scheme| name.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
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
            assert!(shown(bad).expect_err(bad).contains("is not an endpoint"), "{bad}");
        }
    }
}
