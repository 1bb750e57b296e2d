//! The name by which a request addresses the server. A request must have exactly one: if it had
//! two, a proxy on the way may have checked the other.

use hyper::{
    HeaderMap, Uri, Version,
    header::HOST,
    http::{
        request::Parts,
        uri::{Authority, Scheme},
    },
};
use protocol::Error;

/// Longest host name (253 bytes) with a port.
const HOST_BYTES_MAX: usize = 260;

/// Whether a byte may be in a host name.
const IN_HOST: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        byte += 1;
    }
    table
};

/// Refuses a request that does not name the server, names it twice, or uses an invalid name.
pub(crate) fn check(Parts { version, headers, uri, .. }: &Parts) -> Result<(), Error> {
    let mut named = headers.get_all(HOST).iter();
    let (first, second) = (named.next(), named.next());
    if second.is_some() {
        return Err(Error::bad_request("The request has more than one Host header."));
    }
    let said = match first {
        Some(value) => {
            let invalid = || Error::bad_request("The Host header is invalid.");
            Some(value.to_str().ok().and_then(|text| split(text.trim())).ok_or_else(invalid)?)
        }
        None if *version == Version::HTTP_11 => {
            return Err(Error::bad_request("The Host header is missing."));
        }
        None => None,
    };
    let Some(authority) = uri.authority() else { return Ok(()) };
    let invalid = || Error::bad_request("The host of the request target is invalid.");
    let target = split(authority.as_str()).ok_or_else(invalid)?;
    match said {
        Some(said) if !is_same(said, target, uri.scheme()) => Err(Error::bad_request(
            "The Host header and the host of the request target are not the same.",
        )),
        _ => Ok(()),
    }
}

/// Returns the name and port that the client called: `Host`, or the authority of an HTTP/2 request.
pub(crate) fn named<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let host = match headers.get(HOST) {
        Some(value) => value.to_str().unwrap_or_default().trim(),
        None => uri.authority().map_or("", Authority::as_str),
    };
    split(host).map(|_| host)
}

/// Splits `host` or `host:port`; `None` if the text is neither. An IPv6 address keeps its brackets.
pub(crate) fn split(text: &str) -> Option<(&str, Option<u16>)> {
    if text.len() > HOST_BYTES_MAX {
        return None;
    }
    let end = match text.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => text.bytes().position(|byte| byte == b':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    let is_valid = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(|byte| IN_HOST[usize::from(byte)]),
    };
    if !is_valid {
        return None;
    }
    match rest.strip_prefix(':') {
        None => rest.is_empty().then_some((host, None)),
        // `parse` would accept a sign.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().map(|port| (host, Some(port)))
        }
        Some(_) => None,
    }
}

/// Whether two names are the same host and port. Either may omit the scheme's default port.
fn is_same(
    (host, port): (&str, Option<u16>),
    (other, other_port): (&str, Option<u16>),
    scheme: Option<&Scheme>,
) -> bool {
    let usual = scheme.map(|scheme| if *scheme == Scheme::HTTPS { 443 } else { 80 });
    host.eq_ignore_ascii_case(other) && port.or(usual) == other_port.or(usual)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn checked(version: Version, hosts: &[&str], uri: &str) -> Result<(), String> {
        let mut request = Request::builder().version(version).uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        check(&parts).map_err(|error| error.message)
    }

    #[test]
    fn a_request_has_one_name_for_the_server() {
        for (version, hosts, uri) in [
            (Version::HTTP_11, &["localhost"][..], "/"),
            (Version::HTTP_11, &["[::1]:8081"], "/dbs"),
            (Version::HTTP_11, &["LOCALHOST:8081"], "http://localhost:8081/"),
            (Version::HTTP_11, &["localhost"], "http://localhost:80/"),
            (Version::HTTP_2, &["localhost:443"], "https://localhost/"),
            (Version::HTTP_2, &[], "https://localhost/"),
            (Version::HTTP_10, &[], "/"),
        ] {
            assert_eq!(checked(version, hosts, uri), Ok(()), "{hosts:?} {uri}");
        }
        for (version, hosts, uri, expected) in [
            (Version::HTTP_11, &["a", "a"][..], "/", "more than one Host"),
            (Version::HTTP_10, &["a", "b"], "/", "more than one Host"),
            (Version::HTTP_11, &[], "/", "Host header is missing"),
            (Version::HTTP_11, &[], "http://localhost/", "Host header is missing"),
            (Version::HTTP_11, &[""], "/", "Host header is invalid"),
            (Version::HTTP_11, &["a b"], "/", "Host header is invalid"),
            (Version::HTTP_11, &["a,b"], "/", "Host header is invalid"),
            (Version::HTTP_11, &["me@localhost"], "/", "Host header is invalid"),
            (Version::HTTP_11, &["localhost"], "http://evil.example/", "not the same"),
            (Version::HTTP_11, &["localhost:81"], "http://localhost/", "not the same"),
            (Version::HTTP_11, &["localhost"], "http://me@localhost/", "target is invalid"),
            (Version::HTTP_2, &["localhost"], "https://evil.example/", "not the same"),
        ] {
            let refused = checked(version, hosts, uri).expect_err(uri);
            assert!(refused.contains(expected), "{hosts:?} {uri}: {refused}");
        }
    }

    #[test]
    fn names_have_a_host_and_perhaps_a_port() {
        assert_eq!(split("localhost"), Some(("localhost", None)));
        assert_eq!(split("10.0.0.1:80"), Some(("10.0.0.1", Some(80))));
        assert_eq!(split("[::1]:8081"), Some(("[::1]", Some(8081))));
        for bad in
            ["", ":80", "a:", "a:+1", "a:65536", "a:1:2", "[::1", "[::1]a", "[a]", "a/b", "<b>"]
        {
            assert_eq!(split(bad), None, "{bad}");
        }
        assert_eq!(split(&"a".repeat(300)), None);
    }
}
