//! The classes of BSON types. Values of one class are compared by value, values of different classes
//! by class.

use bson::RawBsonRef;

/// A class, by the first byte of its keys: see `docs/adr/0014-short-index-keys.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Less than everything.
    MinKey = 0x04,
    /// The deprecated type; as what an array is sorted by, also the empty array.
    Undefined = 0x10,
    /// Null. Where values are sorted, a field that is missing counts as null.
    Null = 0x20,
    /// All four kinds of numbers.
    Number = 0x50,
    /// Strings and symbols.
    String = 0x64,
    /// Documents.
    Object = 0x84,
    /// Arrays.
    Array = 0x88,
    /// Binary data.
    Binary = 0x90,
    /// Object ids.
    ObjectId = 0x98,
    /// `false`, then `true`.
    Boolean = 0xA0,
    /// Dates.
    Date = 0xA8,
    /// Timestamps of the oplog.
    Timestamp = 0xB0,
    /// Regular expressions.
    Regex = 0xB8,
    /// The deprecated pointer.
    DbPointer = 0xC0,
    /// JavaScript.
    Code = 0xC8,
    /// JavaScript with variables.
    CodeWithScope = 0xD0,
    /// Greater than everything.
    MaxKey = 0xF0,
}

impl Class {
    /// The class of a value.
    pub fn of(value: RawBsonRef<'_>) -> Self {
        match value {
            RawBsonRef::MinKey => Self::MinKey,
            RawBsonRef::Undefined => Self::Undefined,
            RawBsonRef::Null => Self::Null,
            RawBsonRef::Double(_)
            | RawBsonRef::Int32(_)
            | RawBsonRef::Int64(_)
            | RawBsonRef::Decimal128(_) => Self::Number,
            RawBsonRef::String(_) | RawBsonRef::Symbol(_) => Self::String,
            RawBsonRef::Document(_) => Self::Object,
            RawBsonRef::Array(_) => Self::Array,
            RawBsonRef::Binary(_) => Self::Binary,
            RawBsonRef::ObjectId(_) => Self::ObjectId,
            RawBsonRef::Boolean(_) => Self::Boolean,
            RawBsonRef::DateTime(_) => Self::Date,
            RawBsonRef::Timestamp(_) => Self::Timestamp,
            RawBsonRef::RegularExpression(_) => Self::Regex,
            RawBsonRef::DbPointer(_) => Self::DbPointer,
            RawBsonRef::JavaScriptCode(_) => Self::Code,
            RawBsonRef::JavaScriptCodeWithScope(_) => Self::CodeWithScope,
            RawBsonRef::MaxKey => Self::MaxKey,
        }
    }
}

/// The name of a value's type, as `$type` and error messages have it.
pub fn type_name(value: RawBsonRef<'_>) -> &'static str {
    match value {
        RawBsonRef::MinKey => "minKey",
        RawBsonRef::Undefined => "undefined",
        RawBsonRef::Null => "null",
        RawBsonRef::Double(_) => "double",
        RawBsonRef::Int32(_) => "int",
        RawBsonRef::Int64(_) => "long",
        RawBsonRef::Decimal128(_) => "decimal",
        RawBsonRef::String(_) => "string",
        RawBsonRef::Symbol(_) => "symbol",
        RawBsonRef::Document(_) => "object",
        RawBsonRef::Array(_) => "array",
        RawBsonRef::Binary(_) => "binData",
        RawBsonRef::ObjectId(_) => "objectId",
        RawBsonRef::Boolean(_) => "bool",
        RawBsonRef::DateTime(_) => "date",
        RawBsonRef::Timestamp(_) => "timestamp",
        RawBsonRef::RegularExpression(_) => "regex",
        RawBsonRef::DbPointer(_) => "dbPointer",
        RawBsonRef::JavaScriptCode(_) => "javascript",
        RawBsonRef::JavaScriptCodeWithScope(_) => "javascriptWithScope",
        RawBsonRef::MaxKey => "maxKey",
    }
}
