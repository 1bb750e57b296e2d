//! Whether a request addresses the server by a name of this machine.
//!
//! A web page can make its own name resolve to 127.0.0.1 at any moment. The browser then connects
//! from this machine and lets the page read the answers. But `Host` still has the page's name, so
//! the server grants access without a signature only under names of this machine.
//!
//! A client of a proxy on this machine does not count as local either, if the proxy identifies
//! itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::{HeaderMap, Uri, header::HOST, http::uri::Authority};

use crate::host::split;

/// Headers that proxies add.
const FORWARDED: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// Whether a proxy forwarded the request.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(*name))
}

/// Whether every name by which the request addresses the server is a loopback name or address;
/// there must be one. A forwarded request never counts: its client is elsewhere, whatever name the
/// proxy uses.
pub fn is_called_local(headers: &HeaderMap, uri: &Uri) -> bool {
    if is_forwarded(headers) {
        return false;
    }
    let named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let mut hosts = named.chain(uri.authority().map(Authority::as_str)).peekable();
    hosts.peek().is_some() && hosts.all(is_local)
}

/// Whether `host` or `host:port` is a loopback name or address.
fn is_local(host: &str) -> bool {
    let Some((host, _)) = split(host) else { return false };
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok_and(is_loopback);
    }
    let name = host.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    // Nobody can register a name below `localhost`.
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(is_loopback)
}

fn is_loopback(address: impl Into<IpAddr>) -> bool {
    address.into().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn called(hosts: &[&'static str], uri: &'static str) -> bool {
        let headers = hosts.iter().map(|host| (HOST, HeaderValue::from_static(host)));
        is_called_local(&headers.collect(), &Uri::from_static(uri))
    }

    #[test]
    fn names_of_this_machine() {
        for host in [
            "localhost",
            "LocalHost:8081",
            "localhost.:8081",
            "shop.localhost",
            "127.0.0.1",
            "127.1.2.3:8081",
            "[::1]",
            "[::1]:8081",
            "[::ffff:127.0.0.1]:8081",
        ] {
            assert!(called(&[host], "/"), "{host}");
        }
        assert!(called(&[], "http://localhost:8081/"), "as in HTTP/2");
    }

    #[test]
    fn what_a_proxy_sent_on_is_not_local() {
        for name in FORWARDED {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("localhost:8081"));
            assert!(is_called_local(&headers, &Uri::from_static("/")));
            headers.insert(name, HeaderValue::from_static(""));
            assert!(!is_called_local(&headers, &Uri::from_static("/")), "{name}");
        }
    }

    #[test]
    fn names_of_others() {
        for host in [
            "",
            "evil.example",
            "evil.example:8081",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "[::1",
            "[::1]evil.example",
            "::1",
            "localhost:",
            "localhost:a",
            "a@localhost",
        ] {
            assert!(!called(&[host], "/"), "{host}");
        }
        assert!(!called(&[], "/"), "without a name");
        assert!(!called(&["localhost", "evil.example"], "/"));
        assert!(!called(&["localhost"], "http://evil.example/"));
    }
}
