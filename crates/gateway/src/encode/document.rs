//! The headers of the usual answer about one document.
//!
//! There are about twenty, always the same ones. Inserting each by its name costs more than
//! anything else in the gateway, so this module clones a template and replaces only the values that
//! differ. Any other headers are inserted afterwards.

use std::{fmt::Write as _, sync::LazyLock};

use bytes::{Bytes, BytesMut};
use hyper::{HeaderMap, header::HeaderValue};
use percent_encoding::utf8_percent_encode;
use protocol::{
    Meta, PartitionPoint,
    meta::{Owner, QuotaLists},
};

use super::{CONSTANT, CONTENT_PATH, PATH, WRITTEN, write_charge};
use crate::version::Version;

/// A header value that differs between answers about documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Charge,
    SessionToken,
    RangeId,
    Lsn,
    ItemLsn,
    AltContentPath,
    ContentPath,
    Quota,
    Usage,
    Etag,
}

const FIELDS: [(&str, Field); 15] = [
    ("x-ms-request-charge", Field::Charge),
    ("x-ms-session-token", Field::SessionToken),
    ("x-ms-documentdb-partitionkeyrangeid", Field::RangeId),
    ("lsn", Field::Lsn),
    ("x-ms-cosmos-llsn", Field::Lsn),
    ("x-ms-quorum-acked-lsn", Field::Lsn),
    ("x-ms-cosmos-quorum-acked-llsn", Field::Lsn),
    ("x-ms-global-committed-lsn", Field::Lsn),
    ("x-ms-item-lsn", Field::ItemLsn),
    ("x-ms-cosmos-item-llsn", Field::ItemLsn),
    ("x-ms-alt-content-path", Field::AltContentPath),
    (CONTENT_PATH, Field::ContentPath),
    ("x-ms-resource-quota", Field::Quota),
    ("x-ms-resource-usage", Field::Usage),
    ("etag", Field::Etag),
];

/// Headers that [`super::response`] sets later; the template reserves their places.
const LATER: [&str; 2] = ["x-ms-activity-id", "x-ms-request-duration-ms"];

/// The content type of a document.
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A complete set of headers, and the field that belongs in each place; `None` for a constant
/// value.
struct Template {
    headers: HeaderMap,
    places: Vec<Option<Field>>,
}

impl Template {
    fn new(is_write: bool) -> Self {
        let mut headers = HeaderMap::with_capacity(32);
        let written = WRITTEN.iter().filter(|_| is_write);
        for (name, value) in CONSTANT.iter().chain(&JSON).chain(written) {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        for (name, _) in FIELDS {
            headers.insert(name, HeaderValue::from_static(""));
        }
        for name in LATER {
            headers.insert(name, HeaderValue::from_static(""));
        }
        let field = |name: &str| FIELDS.iter().find(|(it, _)| *it == name).map(|(_, field)| *field);
        let places = headers.keys().map(|name| field(name.as_str())).collect();
        Self { headers, places }
    }
}

static READ: LazyLock<Template> = LazyLock::new(|| Template::new(false));
static WRITE: LazyLock<Template> = LazyLock::new(|| Template::new(true));

/// The metadata that the usual answer about a document has.
pub(super) struct Parts<'a> {
    meta: &'a Meta,
    point: &'a PartitionPoint,
    item_lsn: u64,
    owner: &'a Owner,
    lists: &'a QuotaLists,
    etag: &'a str,
}

impl<'a> Parts<'a> {
    /// Collects the metadata; `None` if any of it is missing.
    pub(super) fn of(meta: &'a Meta, etag: Option<&'a str>) -> Option<Self> {
        if meta.quota.is_some() {
            return None;
        }
        Some(Self {
            meta,
            point: meta.partitions.last()?,
            item_lsn: meta.item_lsn?,
            owner: meta.owner.as_ref()?,
            lists: meta.quota_lists.as_deref()?,
            etag: etag?,
        })
    }

    /// Builds the headers, complete except for [`LATER`]. `None` if a text is not a valid header
    /// value.
    pub(super) fn head(&self, version: Version, is_write: bool) -> Option<HeaderMap> {
        let Template { headers, places } = if is_write { &*WRITE } else { &*READ };
        let mut headers = headers.clone();
        let values = self.values(version)?;
        for (place, slot) in places.iter().zip(headers.values_mut()) {
            if let Some(field) = place {
                slot.clone_from(&values[*field as usize]);
            }
        }
        Some(headers)
    }

    /// Formats a value for each field, in the order of declaration. All of them share one buffer.
    fn values(&self, version: Version) -> Option<[HeaderValue; 10]> {
        let mut text = BytesMut::with_capacity(320);
        let mut ends = [0; 7];
        let PartitionPoint { range_id, lsn } = self.point;
        let separator = if version.has_vector_tokens() { ":-1#" } else { ":" };
        write_charge(&mut text, self.meta.charge);
        ends[0] = text.len();
        write!(text, "{range_id}{separator}{lsn}").ok()?;
        ends[1] = text.len();
        write!(text, "{range_id}").ok()?;
        ends[2] = text.len();
        write!(text, "{lsn}").ok()?;
        ends[3] = text.len();
        write!(text, "{}", self.item_lsn).ok()?;
        ends[4] = text.len();
        for part in utf8_percent_encode(&self.owner.name_path, PATH) {
            text.extend_from_slice(part.as_bytes());
        }
        ends[5] = text.len();
        write!(text, "\"{}\"", self.etag).ok()?;
        ends[6] = text.len();
        let text = text.freeze();
        let value = |bytes: Bytes| HeaderValue::from_maybe_shared(bytes).ok();
        let part = |at: usize| {
            let start = if at == 0 { 0 } else { ends[at - 1] };
            value(text.slice(start..ends[at]))
        };
        Some([
            part(0)?,
            part(1)?,
            part(2)?,
            part(3)?,
            part(4)?,
            part(5)?,
            HeaderValue::from_str(&self.owner.rid).ok()?,
            value(self.lists.quota.clone())?,
            value(self.lists.usage.clone())?,
            part(6)?,
        ])
    }
}
