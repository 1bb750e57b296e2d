//! `$bitsAllSet` and its kin.

use bson::RawBsonRef;

use super::operand;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::show;

/// Which bits have to be what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitsKind {
    /// `$bitsAllSet`
    AllSet,
    /// `$bitsAnySet`
    AnySet,
    /// `$bitsAllClear`
    AllClear,
    /// `$bitsAnyClear`
    AnyClear,
}

impl BitsKind {
    pub(super) fn of(operator: &str) -> Option<Self> {
        match operator {
            "$bitsAllSet" => Some(Self::AllSet),
            "$bitsAnySet" => Some(Self::AnySet),
            "$bitsAllClear" => Some(Self::AllClear),
            "$bitsAnyClear" => Some(Self::AnyClear),
            _ => None,
        }
    }
}

/// A test of bits, in integers and in binary data, whose lowest bit is that of the first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    kind: BitsKind,
    positions: Vec<u32>,
    /// The positions below 64. Those above are the sign of an integer.
    mask: u64,
}

impl Bits {
    pub(super) fn parse(
        path: &str,
        operator: &str,
        kind: BitsKind,
        operand: RawBsonRef<'_>,
    ) -> Result<Self> {
        let mut positions = match operand {
            RawBsonRef::Array(array) => {
                let mut positions = Vec::new();
                for (place, element) in array.into_iter().enumerate() {
                    positions.push(position(place, element?)?);
                }
                positions
            }
            RawBsonRef::Binary(binary) => set_bits(binary.bytes),
            value if Number::of(value).is_some() => {
                let mask = operand::natural(operator, value).map_err(Error::failed_to_parse)?;
                set_bits(&mask.to_le_bytes())
            }
            other => {
                return Err(Error::bad_value(format!(
                    "{path} takes an Array, a number, or a BinData but received: {operator}: {}",
                    show::value(other)
                )));
            }
        };
        positions.sort_unstable();
        positions.dedup();
        let mask = positions.iter().fold(0, |mask, position| mask | 1 << (*position).min(63));
        Ok(Self { kind, positions, mask })
    }

    pub(super) fn matches(&self, value: RawBsonRef<'_>) -> bool {
        match value {
            RawBsonRef::Binary(binary) => self.test(|position| {
                let byte = usize::try_from(position / 8).ok().and_then(|at| binary.bytes.get(at));
                byte.is_some_and(|byte| byte & (1 << (position % 8)) != 0)
            }),
            RawBsonRef::Double(double) => Number::Double(double)
                .exact_i64()
                .is_some_and(|integer| self.matches_integer(integer)),
            other => {
                let integer = Number::of(other).and_then(Number::truncated_i64);
                integer.is_some_and(|integer| self.matches_integer(integer))
            }
        }
    }

    fn matches_integer(&self, integer: i64) -> bool {
        let set = u64::from_le_bytes(integer.to_le_bytes()) & self.mask;
        match self.kind {
            BitsKind::AllSet => set == self.mask,
            BitsKind::AnySet => set != 0,
            BitsKind::AllClear => set == 0,
            BitsKind::AnyClear => set != self.mask,
        }
    }

    fn test(&self, is_set: impl Fn(u32) -> bool) -> bool {
        let mut positions = self.positions.iter().copied();
        match self.kind {
            BitsKind::AllSet => positions.all(is_set),
            BitsKind::AnySet => positions.any(is_set),
            BitsKind::AllClear => positions.all(|position| !is_set(position)),
            BitsKind::AnyClear => positions.any(|position| !is_set(position)),
        }
    }
}

/// A position in a list of them.
fn position(place: usize, value: RawBsonRef<'_>) -> Result<u32> {
    let failed = |what: String| Error::bad_value(format!("Failed to parse bit position. {what}"));
    let name = place.to_string();
    let natural = operand::natural(&name, value).map_err(failed)?;
    match i32::try_from(natural).map(i32::unsigned_abs) {
        Ok(position) => Ok(position),
        Err(_) => Err(failed(format!("Cannot represent {name}: {} in an int", show::value(value)))),
    }
}

fn set_bits(bytes: &[u8]) -> Vec<u32> {
    let bits = (0_u32..).zip(bytes).flat_map(|(at, byte)| {
        (0..8).filter(move |bit| byte & (1 << bit) != 0).map(move |bit| at * 8 + bit)
    });
    bits.collect()
}
