//! Encoding of the rows of attachments.

use bytes::Bytes;
use protocol::{
    Error,
    etag::Etag,
    rid::{AttachmentRid, ChildRid},
};
use value::{Object, Value, json};

use crate::{errors, keys::u64_at, rows::Damaged};

/// The format of both rows.
const FORMAT: u8 = 1;

/// The length that stands for no media.
const NO_MEDIA: u32 = u32::MAX;

/// The attachments of one document: the row keyed by the document's number alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The number of the next attachment. Numbers are never reused.
    pub next: u32,
    /// In creation order.
    pub entries: Vec<Entry>,
}

/// An attachment in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The attachment's number within the document.
    pub number: u32,
    /// Size of the media in bytes, if it is stored here.
    pub media: Option<u32>,
    /// The attachment's name.
    pub id: String,
}

impl Default for List {
    fn default() -> Self {
        Self { next: 1, entries: Vec::new() }
    }
}

impl List {
    /// Encodes the row.
    pub fn encode(&self) -> Bytes {
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.next.to_be_bytes());
        for entry in &self.entries {
            out.extend_from_slice(&entry.number.to_be_bytes());
            out.extend_from_slice(&entry.media.unwrap_or(NO_MEDIA).to_be_bytes());
            let length = u16::try_from(entry.id.len()).expect("a name has 255 characters at most");
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(entry.id.as_bytes());
        }
        out.into()
    }

    /// Decodes the row.
    pub fn decode(row: &[u8]) -> Result<Self, Damaged> {
        let read = || {
            let (format, mut rest) = row.split_first()?;
            let next = take(&mut rest)?;
            let mut entries = Vec::new();
            while !rest.is_empty() {
                let number = take(&mut rest)?;
                let media = Some(take(&mut rest)?).filter(|length| *length != NO_MEDIA);
                let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
                let id = rest.get(2..2 + length)?;
                rest = &rest[2 + length..];
                let id = String::from_utf8(id.to_vec()).ok()?;
                entries.push(Entry { number, media, id });
            }
            (*format == FORMAT).then_some(Self { next, entries })
        };
        read().ok_or(Damaged("A"))
    }

    /// Decodes the list from a row, which may be missing.
    pub fn decode_row(row: Option<Bytes>) -> Result<Self, Error> {
        match row {
            Some(row) => Self::decode(&row).map_err(errors::from_damaged),
            None => Ok(Self::default()),
        }
    }

    /// Finds the attachment with this name or, failing that, this rid.
    pub fn find(&self, document: ChildRid, name: &str) -> Option<&Entry> {
        let named = self.entries.iter().find(|entry| entry.id == name);
        named.or_else(|| {
            let rid = AttachmentRid::parse(name).filter(|rid| rid.document == document)?;
            self.entries.iter().find(|entry| entry.number == rid.number)
        })
    }

    /// Finds the attachment with this rid or, failing that, this name: links to media are rids.
    pub fn find_linked(&self, document: ChildRid, rid: &str) -> Option<&Entry> {
        let number = AttachmentRid::parse(rid).filter(|rid| rid.document == document)?.number;
        let linked = self.entries.iter().find(|entry| entry.number == number);
        linked.or_else(|| self.find(document, rid))
    }

    /// The number for a new attachment. Skips numbers whose rid is another attachment's name, since
    /// both would match a lookup.
    pub fn free_number(&self, document: ChildRid) -> u32 {
        let is_named = |number: &u32| {
            let rid = AttachmentRid { document, number: *number }.to_string();
            self.entries.iter().any(|entry| entry.id == rid)
        };
        (self.next..u32::MAX).find(|number| !is_named(number)).unwrap_or(u32::MAX)
    }

    /// The total size of all media.
    pub fn media_bytes(&self) -> u64 {
        self.entries.iter().filter_map(|entry| entry.media).map(u64::from).sum()
    }
}

fn take(rest: &mut &[u8]) -> Option<u32> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u32::from_be_bytes(*number))
}

/// One attachment, without what its key implies.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The etag of this version.
    pub etag: Etag,
    /// When it was last written, in seconds.
    pub ts: u64,
    /// The properties that the client sent.
    pub properties: Object,
}

impl Attachment {
    /// Encodes the row.
    pub fn encode(&self) -> Bytes {
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.etag.0.to_be_bytes());
        out.extend_from_slice(&self.ts.to_be_bytes());
        out.extend_from_slice(json::print(&Value::Object(self.properties.clone())).as_bytes());
        out.into()
    }

    /// Decodes the row.
    pub fn decode(row: &[u8]) -> Result<Self, Damaged> {
        let read = || {
            let etag = u128::from(u64_at(row, 1)?) << 64 | u128::from(u64_at(row, 9)?);
            let ts = u64_at(row, 17)?;
            let Value::Object(properties) = json::parse(row.get(25..)?).ok()? else { return None };
            (row[0] == FORMAT).then_some(Self { etag: Etag(etag), ts, properties })
        };
        read().ok_or(Damaged("A"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back() {
        let entry = |number, media, id: &str| Entry { number, media, id: id.to_owned() };
        let entries = vec![entry(1, None, "a"), entry(7, Some(0), ""), entry(9, Some(5), "é")];
        let list = List { next: 10, entries };
        let row = list.encode();
        assert_eq!(List::decode(&row), Ok(list.clone()));
        assert_eq!(list.media_bytes(), 5);
        let whole = [5, 16, 26, row.len()];
        for length in (0..row.len()).filter(|length| !whole.contains(length)) {
            assert!(List::decode(&row[..length]).is_err(), "{length}");
        }
        let properties = Object::from_iter([("id".to_owned(), "x".into())]);
        let attachment = Attachment { etag: Etag(u128::MAX - 3), ts: 7, properties };
        let row = attachment.encode();
        let read = Attachment::decode(&row).expect("a whole row");
        assert_eq!((read.etag, read.ts), (attachment.etag, attachment.ts));
        assert_eq!(read.properties.get("id"), Some(&"x".into()));
        for length in 0..row.len() {
            assert!(Attachment::decode(&row[..length]).is_err(), "{length}");
        }
    }
}
