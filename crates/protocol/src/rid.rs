//! Resource ids: the `_rid` of every resource, and the links made of them.
//!
//! The text form is base64 with `/` written as `-`. The bytes nest: a collection's rid begins with
//! its database's, a document's with its collection's. SDKs decode this layout, so it cannot
//! change; the tests below check it.

use std::fmt;

use base64::{
    Engine as _,
    alphabet::Alphabet,
    engine::{
        GeneralPurpose,
        general_purpose::{PAD, STANDARD},
    },
};

use crate::paths::ScriptKind;

/// A document's number in its collection: slot (24 bits) and sequence (36 bits).
pub type DocNum = u64;

/// Document numbers have 60 bits; the nibble above holds the resource type.
pub const DOCNUM_MAX: DocNum = (1 << 60) - 1;

/// The top bit of the second word distinguishes a collection from a user.
const COLLECTION_BIT: u32 = 0x8000_0000;

/// A database. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseRid(pub u32);

/// A collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionRid {
    /// The database it lives in.
    pub database: DatabaseRid,
    /// Its number there, without the type bit.
    pub number: u32,
}

/// A child of a collection: its kind and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildRid {
    /// The collection it lives in.
    pub collection: CollectionRid,
    /// Its kind.
    pub kind: ChildKind,
    /// Its number: at most [`DOCNUM_MAX`].
    pub number: u64,
}

/// The kind of a collection's child; the value is the type nibble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the resource types of the service")]
#[repr(u8)]
pub enum ChildKind {
    Document = 0,
    Conflict = 4,
    PartitionKeyRange = 5,
    UserDefinedFunction = 6,
    Trigger = 7,
    StoredProcedure = 8,
}

/// An attachment of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttachmentRid {
    /// The document that it belongs to.
    pub document: ChildRid,
    /// Its number there.
    pub number: u32,
}

/// A client encryption key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncryptionKeyRid {
    /// The database it lives in.
    pub database: DatabaseRid,
    /// Its number there.
    pub number: u32,
}

/// A user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserRid {
    /// The database it lives in.
    pub database: DatabaseRid,
    /// Its number there: 31 bits, never zero.
    pub number: u32,
}

/// A permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermissionRid {
    /// The user it belongs to.
    pub user: UserRid,
    /// Its number there: at most [`DOCNUM_MAX`].
    pub number: u64,
}

/// An offer: 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferRid(pub u32);

impl DatabaseRid {
    /// The rid's bytes.
    pub fn bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 4] = decode(text)?.try_into().ok()?;
        Some(Self(u32::from_be_bytes(bytes)))
    }
}

impl CollectionRid {
    /// The rid's bytes.
    pub fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.database.bytes());
        bytes[4..].copy_from_slice(&(self.number | COLLECTION_BIT).to_be_bytes());
        bytes
    }

    /// Decodes the bytes; `None` for a user's rid or another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 8] = bytes.try_into().ok()?;
        let (database, number) = (word(&bytes[..4]), word(&bytes[4..]));
        (number & COLLECTION_BIT != 0)
            .then_some(Self { database: DatabaseRid(database), number: number & !COLLECTION_BIT })
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&decode(text)?)
    }

    /// The rid of a document here.
    pub fn document(self, number: DocNum) -> ChildRid {
        ChildRid { collection: self, kind: ChildKind::Document, number }
    }

    /// The rid of a script here.
    pub fn script(self, kind: ScriptKind, number: u64) -> ChildRid {
        let kind = match kind {
            ScriptKind::StoredProcedure => ChildKind::StoredProcedure,
            ScriptKind::Trigger => ChildKind::Trigger,
            ScriptKind::Function => ChildKind::UserDefinedFunction,
        };
        ChildRid { collection: self, kind, number }
    }
}

impl ChildKind {
    /// The kind of script; `None` for other children.
    pub fn script(self) -> Option<ScriptKind> {
        match self {
            Self::StoredProcedure => Some(ScriptKind::StoredProcedure),
            Self::Trigger => Some(ScriptKind::Trigger),
            Self::UserDefinedFunction => Some(ScriptKind::Function),
            Self::Document | Self::Conflict | Self::PartitionKeyRange => None,
        }
    }
}

impl ChildRid {
    /// The rid's bytes: the child's part is little-endian, so the nibble is in the last byte.
    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.collection.bytes());
        let child = self.number & DOCNUM_MAX | (self.kind as u64) << 60;
        bytes[8..].copy_from_slice(&child.to_le_bytes());
        bytes
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&decode(text)?)
    }

    /// Decodes the bytes; `None` for a child of a user or another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        let collection = CollectionRid::from_bytes(&bytes[..8])?;
        let child = bytes[8..].iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        let kind = match child >> 60 {
            0 => ChildKind::Document,
            4 => ChildKind::Conflict,
            5 => ChildKind::PartitionKeyRange,
            6 => ChildKind::UserDefinedFunction,
            7 => ChildKind::Trigger,
            8 => ChildKind::StoredProcedure,
            _ => return None,
        };
        Some(Self { collection, kind, number: child & DOCNUM_MAX })
    }
}

impl AttachmentRid {
    /// The rid's bytes: the document's and the number.
    pub fn bytes(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&self.document.bytes());
        bytes[16..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 20] = decode(text)?.try_into().ok()?;
        let document = ChildRid::from_bytes(&bytes[..16])?;
        let this = Self { document, number: word(&bytes[16..]) };
        (document.kind == ChildKind::Document).then_some(this)
    }
}

/// Distinguishes a client encryption key from other children of a database that belong to no user.
const ENCRYPTION_KEY: u32 = 2;

impl EncryptionKeyRid {
    /// The rid's bytes: the database, four zeros in place of a user, number and kind little-endian.
    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.database.bytes());
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..].copy_from_slice(&ENCRYPTION_KEY.to_le_bytes());
        bytes
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&decode(text)?)
    }

    /// Decodes the bytes; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        let little =
            |at: usize| bytes[at..at + 4].iter().rev().fold(0, |sum, b| sum << 8 | u32::from(*b));
        let this = Self { database: DatabaseRid(word(&bytes[..4])), number: little(8) };
        (this.bytes() == bytes).then_some(this)
    }
}

impl UserRid {
    /// The rid's bytes.
    pub fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.database.bytes());
        bytes[4..].copy_from_slice(&(self.number & !COLLECTION_BIT).to_be_bytes());
        bytes
    }

    /// Decodes the bytes; `None` for a collection's rid or another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 8] = bytes.try_into().ok()?;
        let (database, number) = (word(&bytes[..4]), word(&bytes[4..]));
        (number & COLLECTION_BIT == 0).then_some(Self { database: DatabaseRid(database), number })
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&decode(text)?)
    }
}

impl PermissionRid {
    /// The rid's bytes: the user, and the number little-endian.
    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.user.bytes());
        bytes[8..].copy_from_slice(&(self.number & DOCNUM_MAX).to_le_bytes());
        bytes
    }

    /// Decodes the bytes; `None` for a child of a collection or another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        let user = UserRid::from_bytes(&bytes[..8])?;
        let number = bytes[8..].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        (number <= DOCNUM_MAX).then_some(Self { user, number })
    }

    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&decode(text)?)
    }
}

impl OfferRid {
    /// Parses the text form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 3] = decode(text)?.try_into().ok()?;
        Some(Self(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])))
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// The letters of rids: those of base64, but `-` for `/`.
const LETTERS: GeneralPurpose = GeneralPurpose::new(
    &match Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-") {
        Ok(alphabet) => alphabet,
        Err(_) => panic!("64 different letters are an alphabet"),
    },
    PAD,
);

/// Most characters of a rid: an attachment's.
const TEXT_BYTES_MAX: usize = 28;

/// Writes the text form of a rid.
fn write(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = [0; TEXT_BYTES_MAX];
    let length = LETTERS.encode_slice(bytes, &mut text).map_err(|_| fmt::Error)?;
    f.write_str(str::from_utf8(&text[..length]).map_err(|_| fmt::Error)?)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    // Most names are seen to be no rid here.
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-=/".contains(&byte);
    if text.len() > TEXT_BYTES_MAX || !text.len().is_multiple_of(4) || !text.bytes().all(is_letter)
    {
        return None;
    }
    STANDARD.decode(text.replace('-', "/")).ok()
}

impl fmt::Display for DatabaseRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for CollectionRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for ChildRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for AttachmentRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for EncryptionKeyRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for UserRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for PermissionRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.bytes(), f)
    }
}

impl fmt::Display for OfferRid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0.to_le_bytes()[..3], f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLLECTION: CollectionRid =
        CollectionRid { database: DatabaseRid(0xA1B2_C3D4), number: 1 };

    fn child(kind: ChildKind, number: u64) -> String {
        ChildRid { collection: COLLECTION, kind, number }.to_string()
    }

    /// An example of every kind that SDKs decode.
    #[test]
    fn prints_the_documented_layout() {
        assert_eq!(DatabaseRid(0xA1B2_C3D4).to_string(), "obLD1A==");
        assert_eq!(COLLECTION.to_string(), "obLD1IAAAAE=");
        assert_eq!(child(ChildKind::Document, 1), "obLD1IAAAAEBAAAAAAAAAA==");
        assert_eq!(child(ChildKind::Document, 17), "obLD1IAAAAERAAAAAAAAAA==");
        assert_eq!(child(ChildKind::Conflict, 1), "obLD1IAAAAEBAAAAAAAAQA==");
        assert_eq!(child(ChildKind::PartitionKeyRange, 1), "obLD1IAAAAEBAAAAAAAAUA==");
        assert_eq!(child(ChildKind::UserDefinedFunction, 1), "obLD1IAAAAEBAAAAAAAAYA==");
        assert_eq!(child(ChildKind::Trigger, 1), "obLD1IAAAAEBAAAAAAAAcA==");
        assert_eq!(child(ChildKind::StoredProcedure, 1), "obLD1IAAAAEBAAAAAAAAgA==");
        assert_eq!(OfferRid(0x12_3456).to_string(), "VjQS");
        let attachment = AttachmentRid { document: COLLECTION.document(1), number: 1 };
        assert_eq!(attachment.to_string(), "obLD1IAAAAEBAAAAAAAAAAAAAAE=");
        assert_eq!(AttachmentRid::parse("obLD1IAAAAEBAAAAAAAAAAAAAAE="), Some(attachment));
        assert_eq!(AttachmentRid::parse("obLD1IAAAAEBAAAAAAAAAA=="), None, "a document");
        let key = EncryptionKeyRid { database: DatabaseRid(0xA1B2_C3D4), number: 1 };
        assert_eq!(key.to_string(), "obLD1AAAAAABAAAAAgAAAA==");
        assert_eq!(EncryptionKeyRid::parse("obLD1AAAAAABAAAAAgAAAA=="), Some(key));
        assert_eq!(
            EncryptionKeyRid::parse("obLD1AAAAAABAAAAAQAAAA=="),
            None,
            "a type of the user's"
        );
        assert_eq!(EncryptionKeyRid::parse("obLD1AAAAAEBAAAAAAAAAA=="), None, "a permission");
        let user = UserRid { database: DatabaseRid(0xA1B2_C3D4), number: 1 };
        let permission = PermissionRid { user, number: 1 };
        assert_eq!(user.to_string(), "obLD1AAAAAE=");
        assert_eq!(permission.to_string(), "obLD1AAAAAEBAAAAAAAAAA==");
        assert_eq!(UserRid::parse("obLD1AAAAAE="), Some(user));
        assert_eq!(UserRid::parse("obLD1IAAAAE="), None, "a collection");
        assert_eq!(PermissionRid::parse("obLD1AAAAAEBAAAAAAAAAA=="), Some(permission));
        assert_eq!(PermissionRid::parse("obLD1IAAAAEBAAAAAAAAAA=="), None, "a document");
    }

    #[test]
    fn parses_what_it_prints_and_nothing_else() {
        assert_eq!(DatabaseRid::parse("obLD1A=="), Some(DatabaseRid(0xA1B2_C3D4)));
        assert_eq!(CollectionRid::parse("obLD1IAAAAE="), Some(COLLECTION));
        assert_eq!(CollectionRid::parse("obLD1AAAAAE="), None, "a user's rid");
        assert_eq!(
            ChildRid::parse(&COLLECTION.document(DOCNUM_MAX).to_string()),
            Some(COLLECTION.document(DOCNUM_MAX))
        );
        assert_eq!(OfferRid::parse("VjQS"), Some(OfferRid(0x12_3456)));
        for bad in ["", "x", "obLD1A=", "db", "obLD1IAAAAEBAAAAAAAAEA==", &"A".repeat(4000)] {
            assert_eq!(DatabaseRid::parse(bad), None);
            assert_eq!(ChildRid::parse(bad), None);
        }
    }
}
