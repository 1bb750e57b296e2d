//! Decides which names are this server's own, and which could be a web page's.
//!
//! A signature with the published key proves nothing. Such a server is protected only because
//! nobody outside this machine, or outside a closed network, can connect. A page in a browser there
//! can connect, too, once its own name resolves to the server's address; but then it uses that
//! name. So the server refuses the published key under any name that somebody could have
//! registered, unless the operator says that the name is the server's.

use std::{borrow::Cow, net::Ipv4Addr};

use hyper::{HeaderMap, Uri};
use protocol::{Code, Error};

use crate::{
    endpoint::{Authority, Endpoint, Forwarded, scheme_of},
    host::{named, split},
};

/// Suffixes of names that nobody can register.
const RESERVED: [&str; 5] = [".localhost", ".internal", ".local", ".test", ".home.arpa"];

/// The names that the operator gave the server.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The endpoint to advertise; without it, the server advertises the one that the client used.
    pub advertised: Option<Endpoint>,
    /// Further names: the machine's, and the one on which the server listens.
    pub others: Vec<String>,
}

impl Names {
    /// Returns the endpoint at which the sender of a request reaches the server: the advertised
    /// one; else the one that a trusted proxy reports; else the one that the request names.
    pub(crate) fn endpoint(
        &self,
        scheme: &str,
        forwarded: Option<&Forwarded>,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<Endpoint, Error> {
        if let Some(advertised) = &self.advertised {
            return Ok(advertised.clone());
        }
        let said = scheme_of(scheme).unwrap_or("http");
        let scheme = forwarded.and_then(|it| it.scheme).unwrap_or(said);
        let host = forwarded.and_then(|it| it.host.as_ref()).map(Authority::as_str);
        let missing = || Error::bad_request("The Host header is missing or invalid.");
        let host = host.or_else(|| named(headers, uri)).ok_or_else(missing)?;
        Ok(Endpoint::new(scheme, host))
    }

    /// Whether `host:port` is the advertised host. The port does not matter, since a proxy listens
    /// on another one.
    pub(crate) fn is_advertised(&self, authority: &str) -> bool {
        let advertised = self.advertised.as_ref().and_then(|endpoint| split(endpoint.authority()));
        match (split(authority), advertised) {
            (Some((host, _)), Some((advertised, _))) => bare(host) == bare(advertised),
            _ => false,
        }
    }

    /// Refuses a request that calls the server by a foreign name. For requests with the published
    /// key.
    pub(crate) fn check<'a>(
        &self,
        authorities: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Error> {
        match authorities.into_iter().find(|authority| !self.is_own(authority)) {
            None => Ok(()),
            Some(foreign) => Err(Error::new(
                Code::Forbidden,
                format!(
                    "The published key is not accepted under the name `{foreign}`, because a web \
                     page could make its own name resolve to this server. Use localhost or an \
                     address, set --advertise, or create your own keys with `sheaf keys regenerate \
                     all`."
                ),
            )),
        }
    }

    /// Whether no web page can have this name, or the operator says that it is the server's.
    fn is_own(&self, authority: &str) -> bool {
        let Some((host, _)) = split(authority) else { return false };
        let name = bare(host);
        let is_single = !name.as_bytes().contains(&b'.');
        // `split` has checked the address in the brackets.
        name.starts_with('[')
            || is_single
            || name.parse::<Ipv4Addr>().is_ok()
            || RESERVED.iter().any(|suffix| name.ends_with(suffix))
            || self.is_advertised(authority)
            || self.others.iter().any(|other| bare(other) == name)
    }
}

/// Normalises a name for comparison: in lower case, without the final dot of a full name.
fn bare(host: &str) -> Cow<'_, str> {
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HOST, HeaderValue};

    use super::*;

    fn names() -> Names {
        let advertised = Some(Endpoint::parse("https://DB.example:8443").expect("an endpoint"));
        Names { advertised, others: vec!["box.corp.example".to_owned()] }
    }

    #[test]
    fn names_that_no_page_can_have() {
        for own in [
            "localhost:8081",
            "127.0.0.1",
            "10.0.0.7:80",
            "[::1]:8081",
            "[2001:db8::1]",
            "sheaf:8081",
            "shop.localhost",
            "host.docker.internal:8081",
            "sheaf.default.svc.cluster.local",
            "db.example",
            "DB.EXAMPLE.:443",
            "box.corp.example:8081",
        ] {
            assert!(names().check([own]).is_ok(), "{own}");
        }
        assert!(names().check([]).is_ok(), "a request of HTTP/1.0 has no name");
    }

    #[test]
    fn names_that_a_page_may_have() {
        for foreign in [
            "evil.example",
            "evil.example:8081",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "db.example.evil.example",
            "xdb.example",
            "127.0.0.1.nip.io",
            "1.2.3",
            "",
        ] {
            let refused = names().check(["localhost", foreign]).expect_err(foreign);
            assert_eq!(refused.code, Code::Forbidden);
        }
        assert!(Names::default().check(["db.example"]).is_err());
    }

    #[test]
    fn the_advertised_host_is_known_on_any_port() {
        assert!(names().is_advertised("db.example:8081") && names().is_advertised("Db.Example."));
        assert!(!names().is_advertised("evil.example") && !names().is_advertised("localhost"));
        assert!(!Names::default().is_advertised("localhost"));
    }

    #[test]
    fn what_the_operator_says_wins_over_proxies_and_those_over_the_request() {
        let headers: HeaderMap =
            [(HOST, HeaderValue::from_static("localhost:8081"))].into_iter().collect();
        let uri = Uri::from_static("/");
        let told = |names: &Names, forwarded: Option<&Forwarded>| {
            names.endpoint("http", forwarded, &headers, &uri).expect("one").to_string()
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
