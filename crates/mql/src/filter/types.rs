//! Sets of BSON types: the operand of `$type`, and of `bsonType` in schemas.

use bson::RawBsonRef;
use bson::spec::ElementType;

use crate::error::{Error, Result};
use crate::number::Number;

/// The names of all types with their numbers.
const TYPES: [(&str, i64); 21] = [
    ("double", 1),
    ("string", 2),
    ("object", 3),
    ("array", 4),
    ("binData", 5),
    ("undefined", 6),
    ("objectId", 7),
    ("bool", 8),
    ("date", 9),
    ("null", 10),
    ("regex", 11),
    ("dbPointer", 12),
    ("javascript", 13),
    ("symbol", 14),
    ("javascriptWithScope", 15),
    ("int", 16),
    ("timestamp", 17),
    ("long", 18),
    ("decimal", 19),
    ("minKey", -1),
    ("maxKey", 127),
];

/// The kinds of numbers.
const NUMBERS: [&str; 4] = ["double", "int", "long", "decimal"];

/// Some of the BSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types {
    /// A bit for each type: see [`bit`].
    bits: u32,
}

impl Types {
    /// Reads the operand of `$type`. `path` is what the operator belongs to.
    pub(super) fn parse(path: &str, operand: RawBsonRef<'_>) -> Result<Self> {
        let RawBsonRef::Array(array) = operand else { return Self::one(operand) };
        let mut types = Self::default();
        for element in array {
            types = types.and(Self::one(element?)?);
        }
        if types.is_empty() {
            let text = format!("{path} must match at least one type");
            return Err(Error::failed_to_parse(text));
        }
        Ok(types)
    }

    fn one(value: RawBsonRef<'_>) -> Result<Self> {
        if let Some(name) = value.as_str() {
            return Self::named(name);
        }
        let Some(number) = Number::of(value) else {
            let text = "type must be represented as a number or a string";
            return Err(Error::type_mismatch(text));
        };
        let code = number.exact_i64();
        if let Some((_, known)) = TYPES.iter().find(|(_, known)| Some(*known) == code) {
            return Ok(Self { bits: bit(*known) });
        }
        let hint = if code == Some(0) { ". Instead use {$exists:false}." } else { "" };
        let shown = code.map_or_else(|| number.to_f64().to_string(), |code| code.to_string());
        Err(Error::bad_value(format!("Invalid numerical type code: {shown}{hint}")))
    }

    /// The type of a name, or all kinds of numbers.
    pub(super) fn named(name: &str) -> Result<Self> {
        if name == "number" {
            return Ok(NUMBERS.iter().fold(Self::default(), |all, one| all.and(Self::exact(one))));
        }
        let types = Self::exact(name);
        if types.is_empty() {
            return Err(Error::bad_value(format!("Unknown type name alias: {name}")));
        }
        Ok(types)
    }

    fn exact(name: &str) -> Self {
        let known = TYPES.iter().find(|(known, _)| *known == name);
        Self { bits: known.map_or(0, |(_, code)| bit(*code)) }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits }
    }

    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Whether both have a type in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.bits & other.bits != 0
    }

    /// Whether a value's type is among them.
    pub fn contain(self, value: RawBsonRef<'_>) -> bool {
        let code = match value.element_type() {
            ElementType::MinKey => -1,
            other => i64::from(other as u8),
        };
        self.bits & bit(code) != 0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let among = TYPES.iter().filter(move |(_, code)| self.bits & bit(*code) != 0);
        among.map(|(name, _)| *name)
    }
}

/// The bit of a type by its number.
fn bit(code: i64) -> u32 {
    match code {
        1..=19 => 1 << code,
        -1 => 1 << 20,
        _ => 1 << 21,
    }
}
