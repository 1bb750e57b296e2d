//! Trusted proxies: clients get the endpoint from their forwarding headers (`Forwarded` of RFC
//! 7239, or `X-Forwarded-Proto` and `X-Forwarded-Host`). A forwarded request never counts as one
//! from this machine.

use std::net::IpAddr;

use gateway::{Authority, Forwarded, scheme_of};
use hyper::{HeaderMap, header::ToStrError};
use net::Network;

/// The networks of trusted proxies; none by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Vec<Network>);

/// The error for an invalid header of a trusted proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(&'static str);

impl Malformed {
    /// The message for the client, which names the header.
    pub(crate) fn message(self) -> String {
        format!("The {} header is invalid.", self.0)
    }
}

impl Proxies {
    /// Trusts these networks.
    pub(crate) fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// The endpoint in the sender's forwarding headers; `None` if the sender is not trusted, or
    /// sends none.
    pub(crate) fn read(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<Option<Forwarded>, Malformed> {
        const PROTO: Malformed = Malformed("X-Forwarded-Proto");
        const HOST: Malformed = Malformed("X-Forwarded-Host");
        if !self.trusts(peer) {
            return Ok(None);
        }
        if headers.contains_key("forwarded") {
            return self.standard(headers).map(Some);
        }
        let scheme = last(headers, "x-forwarded-proto").map_err(|_| PROTO)?;
        let scheme = scheme.map(|text| scheme_of(text).ok_or(PROTO)).transpose()?;
        let host = last(headers, "x-forwarded-host").map_err(|_| HOST)?;
        let host = host.map(|text| Authority::parse(text).ok_or(HOST)).transpose()?;
        let is_said = scheme.is_some() || host.is_some();
        Ok(is_said.then_some(Forwarded { scheme, host }))
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The hop of `Forwarded` to trust. Every proxy appends its own hop, and an untrusted sender
    /// may have invented all hops before its own.
    fn standard(&self, headers: &HeaderMap) -> Result<Forwarded, Malformed> {
        const WRONG: Malformed = Malformed("Forwarded");
        let mut hops = Vec::new();
        for line in headers.get_all("forwarded") {
            hops.extend(hops_of(line.to_str().map_err(|_| WRONG)?).ok_or(WRONG)?);
        }
        let is_proxy = |hop: &Hop| hop.by_whom().is_some_and(|address| self.trusts(address));
        let mut hop = hops.pop().ok_or(WRONG)?;
        while is_proxy(&hop) {
            let Some(before) = hops.pop() else { break };
            hop = before;
        }
        let scheme = hop.proto.map(|text| scheme_of(&text).ok_or(WRONG)).transpose()?;
        let host = hop.host.map(|text| Authority::parse(&text).ok_or(WRONG)).transpose()?;
        Ok(Forwarded { scheme, host })
    }
}

/// One element of `Forwarded`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hop {
    from: Option<String>,
    host: Option<String>,
    proto: Option<String>,
}

impl Hop {
    /// The address of the hop's client, if present: `192.0.2.1:80` or `[2001:db8::1]:80`.
    fn by_whom(&self) -> Option<IpAddr> {
        let text = self.from.as_deref()?;
        if let Some(rest) = text.strip_prefix('[') {
            return rest.split_once(']')?.0.parse().ok();
        }
        text.split(':').next()?.parse().ok()
    }
}

/// Parses the hops in a line; `None` if it does not follow RFC 7239.
fn hops_of(line: &str) -> Option<Vec<Hop>> {
    let (mut hops, mut rest) = (Vec::new(), line);
    let mut hop = Hop::default();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let (name, after) = token(rest);
        if !name.is_empty() {
            let (value, after) = value(after.strip_prefix('=')?)?;
            let place = match name.to_ascii_lowercase().as_str() {
                "for" => Some(&mut hop.from),
                "host" => Some(&mut hop.host),
                "proto" => Some(&mut hop.proto),
                _ => None,
            };
            // Reject duplicates: another program may have used the other value.
            if place.is_some_and(|place| place.replace(value).is_some()) {
                return None;
            }
            rest = after.trim_start_matches([' ', '\t']);
        }
        match rest.chars().next() {
            Some(';') => {}
            Some(',') => hops.push(std::mem::take(&mut hop)),
            None => {
                hops.push(hop);
                return Some(hops);
            }
            Some(_) => return None,
        }
        rest = &rest[1..];
    }
}

/// The token at the beginning of a text, and the rest.
fn token(text: &str) -> (&str, &str) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    text.split_at(end)
}

/// The value at the beginning of a text, a token or in quotes, and the rest. COMPAT: many proxies
/// send ports and IPv6 addresses without the quotes.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        let is_plain =
            !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        return is_plain.then(|| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(character),
        }
    }
    None
}

/// The last value of a header that may be a list: the one that the sender itself added.
fn last<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ToStrError> {
    let Some(line) = headers.get_all(name).iter().next_back() else { return Ok(None) };
    line.to_str().map(|text| text.rsplit(',').next().map(str::trim))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn proxies() -> Proxies {
        Proxies::new(["10.0.0.0/8", "::1"].map(|text| text.parse().unwrap()).to_vec())
    }

    fn read(peer: &str, headers: &[(&'static str, &'static str)]) -> Result<String, Malformed> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let said = proxies().read(peer.parse().unwrap(), &headers.collect())?;
        Ok(said.map_or_else(String::new, |it| {
            let host = it.host.as_ref().map_or("-", Authority::as_str);
            format!("{}://{host}", it.scheme.unwrap_or("-"))
        }))
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "db.example:8443")];
        assert_eq!(read("10.1.2.3", &headers).unwrap(), "https://db.example:8443");
        assert_eq!(read("::ffff:10.1.2.3", &headers).unwrap(), "https://db.example:8443");
        assert_eq!(read("127.0.0.1", &headers).unwrap(), "");
        assert_eq!(read("10.1.2.3", &[]).unwrap(), "");
        let nobody = Proxies::default();
        let header =
            (HeaderName::from_static("x-forwarded-proto"), HeaderValue::from_static("https"));
        let headers = [header].into_iter().collect();
        assert_eq!(nobody.read("127.0.0.1".parse().unwrap(), &headers), Ok(None));
    }

    #[test]
    fn the_last_hop_is_the_one_to_believe() {
        for (lines, expected) in [
            (&["for=192.0.2.1;proto=https;host=db.example"][..], "https://db.example"),
            (&["For=192.0.2.1; Proto=HTTPS; Host=\"db.example:8443\""], "https://db.example:8443"),
            (
                &["proto=http;host=made.up, for=192.0.2.1;proto=https;host=db.example"],
                "https://db.example",
            ),
            (&["proto=http;host=made.up", "proto=https;host=db.example"], "https://db.example"),
            // A trusted proxy in front of another one.
            (
                &["for=192.0.2.1;proto=https;host=db.example, for=10.0.0.2;proto=http;host=inner"],
                "https://db.example",
            ),
            (&["for=192.0.2.1;proto=https, for=\"[::1]:4711\";proto=http"], "https://-"),
            (&["for=10.0.0.2;proto=https"], "https://-"),
            (&["for=unknown;proto=https;by=_hidden"], "https://-"),
            (&["for=192.0.2.1"], "-://-"),
            (&["for=[2001:db8::1]:80;host=db.example:443;"], "-://db.example:443"),
        ] {
            let headers: Vec<_> = lines.iter().map(|line| ("forwarded", *line)).collect();
            assert_eq!(read("10.1.2.3", &headers).unwrap(), expected, "{lines:?}");
        }
        let lists =
            [("x-forwarded-proto", "http, https"), ("x-forwarded-host", "made.up, db.example")];
        assert_eq!(read("10.1.2.3", &lists).unwrap(), "https://db.example");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            "proto=ftp",
            "host=\"a b\"",
            "host=<b>",
            "proto=https;proto=http",
            "proto",
            "proto=",
            "host=\"open",
            "host=\"a\"b",
            "=x",
            "for=1 2",
        ] {
            assert_eq!(
                read("10.1.2.3", &[("forwarded", bad)]),
                Err(Malformed("Forwarded")),
                "{bad}"
            );
        }
        assert!(read("10.1.2.3", &[("x-forwarded-proto", "wss")]).is_err());
        assert!(read("10.1.2.3", &[("x-forwarded-host", "a/b")]).is_err());
        assert_eq!(read("127.0.0.1", &[("forwarded", "proto=ftp")]), Ok(String::new()));
    }
}
