//! Networks: addresses that share their first bits, written `10.0.0.0/8` or `2001:db8::/32`.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use serde::Deserialize;

/// Bits of an address of either kind.
const BITS: u8 = 128;
/// The leading bits that all IPv4 addresses share when written as IPv6.
const IPV4_PREFIX: u8 = 96;

/// A network. IPv4 addresses are stored as IPv6, so that an IPv4 client of an IPv6 socket is in the
/// same networks as on an IPv4 socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    base: u128,
    prefix: u8,
}

impl Network {
    /// Whether the address is one of this network.
    pub fn contains(self, address: IpAddr) -> bool {
        (bits(address) ^ self.base) & mask(self.prefix) == 0
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    /// A single address is a network of one.
    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let wrong = || NotANetwork(text.chars().take(100).collect());
        let text = text.trim();
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (common, longest) = if address.is_ipv4() { (IPV4_PREFIX, 32) } else { (0, BITS) };
        let length = match length {
            None => longest,
            // `parse` accepts a sign, but a network has none.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|length| *length <= longest).ok_or_else(wrong)?
            }
            Some(_) => return Err(wrong()),
        };
        let prefix = common + length;
        Ok(Self { base: bits(address) & mask(prefix), prefix })
    }
}

impl TryFrom<String> for Network {
    type Error = NotANetwork;

    fn try_from(text: String) -> Result<Self, NotANetwork> {
        text.parse()
    }
}

/// The error for a text that is not a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotANetwork(String);

impl fmt::Display for NotANetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is not a network: write 10.0.0.0/8, 2001:db8::/32 or ::1", self.0)
    }
}

impl std::error::Error for NotANetwork {}

/// The address as the bits of an IPv6 address.
fn bits(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => Ipv6Addr::to_bits(address.to_ipv6_mapped()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn mask(prefix: u8) -> u128 {
    // All bits for 128, none for 0, where a shift would be too wide.
    u128::MAX.checked_shl(u32::from(BITS - prefix)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.1.2") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.1.2.3/8", "10.0.0.1"), "the rest of the bits does not count");
        assert!(holds("192.168.1.7", "192.168.1.7") && !holds("192.168.1.7", "192.168.1.6"));
        assert!(holds("192.168.1.6/31", "192.168.1.7"));
        assert!(holds("2001:db8::/32", "2001:db8:1::5") && !holds("2001:db8::/32", "2001:db9::"));
        assert!(holds("::1", "::1") && !holds("::1", "::2"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("::/0", "1.2.3.4") && holds("::/0", "2001:db8::1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.1.1"), "an IPv4 client of an IPv6 socket");
    }

    #[test]
    fn bad_networks_are_named() {
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "example", "10.0.0.0/", "1.2.3.4/+8"] {
            let error = bad.parse::<Network>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` is not a network")), "{error}");
        }
    }
}
