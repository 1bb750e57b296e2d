//! The version of the REST API that a caller speaks, and what hangs on it.

use hyper::HeaderMap;
use protocol::Error;

use crate::headers;

/// A version is a date, and dates of this form sort as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version([u8; 10]);

impl Version {
    /// What current SDKs send, and what a caller that says nothing gets.
    pub(crate) const NEWEST: Self = Self(*b"2020-07-15");

    const VECTOR_TOKENS: Self = Self(*b"2018-06-18");
    const PARTITION_KEY_REQUIRED: Self = Self(*b"2018-12-31");
    const PLANS_ON_REQUEST: Self = Self(*b"2018-12-31");

    /// Reads `x-ms-version`.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Error> {
        let name = "x-ms-version";
        let Some(text) = headers::text(headers, name)? else { return Ok(Self::NEWEST) };
        parse(text).ok_or_else(|| headers::invalid(name, text))
    }

    /// Whether session tokens may have the form `0:-1#42`.
    ///
    /// COMPAT: the documentdb package of Node 1.15 dies on anything but `0:42`.
    pub(crate) fn has_vector_tokens(self) -> bool {
        self >= Self::VECTOR_TOKENS
    }

    /// Whether a collection may be created without a partition key.
    pub(crate) fn allows_no_partition_key(self) -> bool {
        self < Self::PARTITION_KEY_REQUIRED
    }

    /// Whether a caller that says nothing of its capabilities waits to be handed a plan with the
    /// refusal of a query: SDKs of this age cannot ask for one.
    pub(crate) fn runs_plans(self) -> bool {
        self < Self::PLANS_ON_REQUEST
    }
}

fn parse(text: &str) -> Option<Version> {
    // Previews carry their date first.
    let (date, rest) = text.as_bytes().split_at_checked(10)?;
    let bytes: [u8; 10] = date.try_into().ok()?;
    let is_date = bytes.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    (is_date && (rest.is_empty() || rest[0] == b'-')).then_some(Version(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_differ_in_three_ways() {
        let version = |text| parse(text).expect("a version");
        assert!(!version("2017-11-15").has_vector_tokens());
        assert!(version("2018-06-18").has_vector_tokens());
        assert!(version("2018-09-17").allows_no_partition_key());
        assert!(!version("2018-12-31").allows_no_partition_key());
        assert!(version("2018-09-17").runs_plans());
        assert!(!version("2018-12-31").runs_plans() && !Version::NEWEST.runs_plans());
        assert_eq!(version("2018-12-31-preview"), version("2018-12-31"));
        for bad in ["", "1", "2018-12-3", "2018/12/31", "2018-12-31x", "20181-2-31"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
