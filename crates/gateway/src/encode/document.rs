//! The headers of the usual answer about one document.
//!
//! There are about twenty, always the same ones. Inserting each by its name costs more than
//! anything else in the gateway, so this module clones a template and replaces only the values that
//! differ. Any other headers are inserted afterwards.

use std::sync::LazyLock;

use bytes::BytesMut;
use hyper::{HeaderMap, header::HeaderValue};
use percent_encoding::utf8_percent_encode;
use protocol::{
    Meta, PartitionPoint, guid,
    meta::{Owner, QuotaLists},
};

use super::{
    Asked, CONSTANT, CONTENT_PATH, PATH, WRITTEN, session_separator, write_charge, write_millis,
    write_number,
};

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
    Etag,
    Activity,
    Duration,
    Quota,
    Usage,
}

const FIELDS: [(&str, Field); 17] = [
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
    ("x-ms-activity-id", Field::Activity),
    ("x-ms-request-duration-ms", Field::Duration),
];

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

    /// Builds the headers. `None` if a text is not a valid header value.
    pub(super) fn head(&self, asked: &Asked<'_>) -> Option<HeaderMap> {
        let Template { headers, places } = if asked.is_write { &*WRITE } else { &*READ };
        let mut headers = headers.clone();
        let values = self.values(asked)?;
        for (place, slot) in places.iter().zip(headers.values_mut()) {
            if let Some(field) = place {
                slot.clone_from(&values[*field as usize]);
            }
        }
        Some(headers)
    }

    /// Formats a value for each field, in the order of declaration.
    fn values(&self, asked: &Asked<'_>) -> Option<[HeaderValue; 12]> {
        let PartitionPoint { range_id, lsn } = *self.point;
        let mut texts = Texts { text: BytesMut::with_capacity(384), ends: [0; 10], count: 0 };
        texts.add(|text| write_charge(text, self.meta.charge));
        texts.add(|text| {
            write_number(text, range_id.into(), 1);
            text.extend_from_slice(session_separator(asked.version).as_bytes());
            write_number(text, lsn, 1);
        });
        texts.add(|text| write_number(text, range_id.into(), 1));
        texts.add(|text| write_number(text, lsn, 1));
        texts.add(|text| write_number(text, self.item_lsn, 1));
        texts.add(|text| {
            for part in utf8_percent_encode(&self.owner.name_path, PATH) {
                text.extend_from_slice(part.as_bytes());
            }
        });
        texts.add(|text| text.extend_from_slice(self.owner.rid.as_bytes()));
        texts.add(|text| {
            text.extend_from_slice(b"\"");
            text.extend_from_slice(self.etag.as_bytes());
            text.extend_from_slice(b"\"");
        });
        texts.add(|text| text.extend_from_slice(&guid::ascii(asked.activity_id)));
        texts.add(|text| write_millis(text, asked.elapsed));
        let [charge, session, range_id, lsn, item_lsn, path, rid, etag, activity, duration] =
            texts.values()?;
        let [quota, usage] = [&self.lists.quota, &self.lists.usage]
            .map(|list| HeaderValue::from_maybe_shared(list.clone()).ok());
        Some([
            charge, session, range_id, lsn, item_lsn, path, rid, etag, activity, duration, quota?,
            usage?,
        ])
    }
}

/// Texts that share one buffer.
struct Texts {
    text: BytesMut,
    /// Where each of them ends.
    ends: [usize; 10],
    count: usize,
}

impl Texts {
    fn add(&mut self, write: impl FnOnce(&mut BytesMut)) {
        write(&mut self.text);
        self.ends[self.count] = self.text.len();
        self.count += 1;
    }

    /// The texts as header values; `None` if one of them is not a valid value.
    fn values(self) -> Option<[HeaderValue; 10]> {
        let text = self.text.freeze();
        let (mut start, mut is_valid) = (0, true);
        let values = self.ends.map(|end| {
            let part = text.slice(start..end);
            start = end;
            HeaderValue::from_maybe_shared(part).unwrap_or_else(|_| {
                is_valid = false;
                HeaderValue::from_static("")
            })
        });
        is_valid.then_some(values)
    }
}
