//! The version of the REST API that a client speaks, and the behaviour that depends on it.

use protocol::Error;

use crate::headers::{self, Lookup};

/// A version is a date, and dates of this form sort as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version([u8; 10]);

/// The known versions, oldest first.
const KNOWN: [Version; 21] = [
    Version(*b"2014-08-21"),
    Version(*b"2015-04-08"),
    Version(*b"2015-06-03"),
    Version(*b"2015-08-06"),
    Version(*b"2015-12-16"),
    Version(*b"2016-05-30"),
    Version(*b"2016-07-11"),
    Version(*b"2016-11-14"),
    Version(*b"2017-01-19"),
    Version(*b"2017-02-22"),
    Version(*b"2017-05-03"),
    Version(*b"2017-11-15"),
    Version(*b"2018-06-18"),
    Version(*b"2018-08-31"),
    Version(*b"2018-09-17"),
    Version(*b"2018-12-31"),
    Version(*b"2019-10-14"),
    Version(*b"2020-07-15"),
    Version(*b"2020-11-05"),
    Version(*b"2024-05-15"),
    Version(*b"2024-06-06"),
];

impl Version {
    /// The version of current SDKs, and the default for clients that send none.
    pub(crate) const CURRENT: Self = Self(*b"2020-07-15");

    const VECTOR_TOKENS: Self = Self(*b"2018-06-18");
    const PARTITION_KEY_REQUIRED: Self = Self(*b"2018-12-31");
    const PLANS_ON_REQUEST: Self = Self(*b"2018-12-31");
    const NO_LEGACY_INDEXES: Self = Self(*b"2020-07-15");

    /// Reads `x-ms-version`. Accepts versions later than all known ones, too.
    pub(crate) fn read(headers: &impl Lookup) -> Result<Self, Error> {
        match headers::text(headers, "x-ms-version")? {
            Some(text) => parse(text).filter(|version| version.is_served()).ok_or_else(unknown),
            None => Ok(Self::CURRENT),
        }
    }

    fn is_served(self) -> bool {
        KNOWN.last().is_some_and(|newest| self > *newest) || KNOWN.binary_search(&self).is_ok()
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

    /// Whether to hide the system key of a collection without a partition key. SDKs that do not
    /// know that key would require a value for it in every document.
    pub(crate) fn hides_system_key(self) -> bool {
        self < Self::PARTITION_KEY_REQUIRED
    }

    /// Whether the `indexes` of included paths survive the replacement of a policy.
    pub(crate) fn keeps_legacy_indexes(self) -> bool {
        self < Self::NO_LEGACY_INDEXES
    }

    /// Whether a client that names no capabilities expects the refusal of a query to contain its
    /// plan. SDKs of this age cannot ask for one.
    pub(crate) fn runs_plans(self) -> bool {
        self < Self::PLANS_ON_REQUEST
    }
}

/// The error for an unsupported version, in the service's wording.
fn unknown() -> Error {
    Error::bad_request(
        "Invalid API version. Ensure a valid x-ms-version header value is passed. Please update to \
         the latest version of Azure Cosmos DB SDK.",
    )
}

fn parse(text: &str) -> Option<Version> {
    // Preview versions start with their date.
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
    use hyper::HeaderMap;

    use super::*;

    #[test]
    fn old_versions_differ_in_five_ways() {
        let version = |text| parse(text).expect("a version");
        assert!(!version("2017-11-15").has_vector_tokens());
        assert!(version("2018-06-18").has_vector_tokens());
        assert!(version("2018-09-17").allows_no_partition_key());
        assert!(!version("2018-12-31").allows_no_partition_key());
        assert!(version("2018-09-17").runs_plans());
        assert!(!version("2018-12-31").runs_plans() && !Version::CURRENT.runs_plans());
        assert!(version("2018-09-17").hides_system_key());
        assert!(!version("2018-12-31").hides_system_key() && !Version::CURRENT.hides_system_key());
        assert!(version("2019-10-14").keeps_legacy_indexes());
        assert!(!Version::CURRENT.keeps_legacy_indexes());
        assert_eq!(version("2018-12-31-preview"), version("2018-12-31"));
        for bad in ["", "1", "2018-12-3", "2018/12/31", "2018-12-31x", "20181-2-31"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_known_versions_and_later_ones_are_served() {
        assert!(KNOWN.is_sorted() && KNOWN.contains(&Version::CURRENT));
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-ms-version", text.parse().expect("a header value"));
            Version::read(&headers)
        };
        for served in ["2014-08-21", "2018-12-31", "2020-11-05-preview", "2024-06-06", "2031-01-01"]
        {
            assert!(read(served).is_ok(), "{served}");
        }
        for unknown in ["2014-08-20", "2015-01-01", "2023-11-15", "2024-06-05", "x"] {
            let message = read(unknown).expect_err(unknown).message;
            assert!(message.starts_with("Invalid API version. Ensure a valid x-ms-version header"));
        }
        assert_eq!(Version::read(&HeaderMap::new()).ok(), Some(Version::CURRENT));
    }
}
