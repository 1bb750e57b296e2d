//! What an accumulator has gathered so far.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use bson::raw::CString;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf};
use expression::number::Number;
use expression::{Average, Collation, Deviation, Error, Result, Sum, class, key, order, show};

use crate::percentile::Percentiles;

/// What a value costs besides its bytes.
const OVERHEAD: usize = 48;

/// One accumulator of one group.
#[derive(Debug)]
pub(crate) enum State {
    Sum(Sum),
    Average(Average),
    Deviation(Deviation, u32),
    /// The least or greatest value.
    Extreme(Ordering, Option<RawBson>),
    /// The first or the last value.
    First(Option<RawBson>),
    Last(RawBson),
    Count(i64),
    Push(RawArrayBuf),
    Set(HashSet<Vec<u8>>, RawArrayBuf),
    Merge(Merged),
    FirstN(usize, Vec<RawBson>),
    LastN(usize, VecDeque<RawBson>),
    Ranked(Ranked),
    Percentiles(Percentiles),
}

/// The fields of documents that are merged, each at the place of its first appearance.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    fields: Vec<(CString, RawBson)>,
    positions: HashMap<String, usize>,
}

/// The first or last few values of an order.
#[derive(Debug)]
pub(crate) struct Ranked {
    /// How many.
    pub(crate) n: usize,
    /// Whether the end of the order is kept rather than its beginning.
    pub(crate) keeps_last: bool,
    /// Whether the outcome is the value itself instead of an array.
    pub(crate) is_single: bool,
    pub(crate) kept: BTreeMap<(Vec<u8>, u64), RawBson>,
    pub(crate) next: u64,
}

impl State {
    /// Takes in a value, and says how many bytes more it holds. `place` is the key of an order, for
    /// those that need one.
    pub(crate) fn add(
        &mut self,
        value: Option<RawBsonRef<'_>>,
        place: Option<Vec<u8>>,
        collation: Option<&Collation>,
    ) -> Result<usize> {
        let null_or = || value.map_or(RawBson::Null, RawBson::from);
        let number = value.and_then(Number::of);
        match self {
            Self::Sum(sum) => number.into_iter().for_each(|number| sum.add(number)),
            Self::Average(average) => number.into_iter().for_each(|number| average.add(number)),
            Self::Deviation(deviation, _) => {
                if let Some(number) = number {
                    deviation.add(number);
                }
            }
            Self::Count(count) => *count += 1,
            Self::Percentiles(found) => {
                return Ok(number.map_or(0, |number| found.add(number)));
            }
            Self::Extreme(wanted, found) => return Ok(extreme(value, *wanted, found, collation)),
            Self::First(Some(_)) => {}
            Self::First(found) => {
                let bytes = value.map_or(0, size);
                *found = Some(null_or());
                return Ok(bytes);
            }
            Self::Last(found) => {
                let before = size(found.as_raw_bson_ref());
                *found = null_or();
                return Ok(size(found.as_raw_bson_ref()).saturating_sub(before));
            }
            Self::Push(list) => return Ok(value.map_or(0, |value| push(list, value))),
            Self::Set(seen, list) => {
                let Some(value) = value else { return Ok(0) };
                let key = key::of(Some(value), collation);
                let bytes = key.len();
                if seen.insert(key) {
                    return Ok(bytes + OVERHEAD + push(list, value));
                }
            }
            Self::Merge(merged) => return merged.add(value),
            Self::FirstN(n, list) => {
                if list.len() < *n {
                    list.push(null_or());
                    return Ok(value.map_or(0, size) + OVERHEAD);
                }
            }
            Self::LastN(n, list) => {
                let freed = if list.len() == *n { list.pop_front() } else { None };
                list.push_back(null_or());
                let freed = freed.map_or(0, |value| size(value.as_raw_bson_ref()) + OVERHEAD);
                return Ok((value.map_or(0, size) + OVERHEAD).saturating_sub(freed));
            }
            Self::Ranked(ranked) => return Ok(ranked.add(value, place.unwrap_or_default())),
        }
        Ok(0)
    }

    /// What it comes to.
    pub(crate) fn finish(self) -> RawBson {
        match self {
            Self::Sum(sum) => sum.total().into(),
            Self::Average(average) => average.value().unwrap_or(RawBson::Null),
            Self::Deviation(deviation, freedom) => {
                deviation.value(freedom).map_or(RawBson::Null, RawBson::Double)
            }
            Self::Extreme(_, found) | Self::First(found) => found.unwrap_or(RawBson::Null),
            Self::Last(found) => found,
            Self::Percentiles(found) => found.finish(),
            Self::Count(count) => {
                i32::try_from(count).map_or(RawBson::Int64(count), RawBson::Int32)
            }
            Self::Push(list) | Self::Set(_, list) => RawBson::Array(list),
            Self::Merge(merged) => {
                let mut document = RawDocumentBuf::new();
                for (name, value) in &merged.fields {
                    document.append(name, value.as_raw_bson_ref());
                }
                RawBson::Document(document)
            }
            Self::FirstN(_, list) => array(list),
            Self::LastN(_, list) => array(list),
            Self::Ranked(ranked) if ranked.is_single => {
                ranked.kept.into_values().next().unwrap_or(RawBson::Null)
            }
            Self::Ranked(ranked) => array(ranked.kept.into_values()),
        }
    }
}

impl Merged {
    fn add(&mut self, value: Option<RawBsonRef<'_>>) -> Result<usize> {
        let document = match value {
            None | Some(RawBsonRef::Null | RawBsonRef::Undefined) => return Ok(0),
            Some(RawBsonRef::Document(document)) => document,
            Some(other) => {
                let (shown, found) = (show::value(other), class::type_name(other));
                return Err(Error::location(
                    40_400,
                    format!(
                        "$mergeObjects requires object inputs, but input {shown} is of type {found}"
                    ),
                ));
            }
        };
        let mut grown = 0;
        for field in document {
            let (name, value) = field?;
            let bytes = size(value);
            if let Some(at) = self.positions.get(name.as_str()) {
                let old = &mut self.fields[*at].1;
                grown += bytes.saturating_sub(size(old.as_raw_bson_ref()));
                *old = value.into();
            } else {
                grown += bytes + 2 * name.len() + OVERHEAD;
                self.positions.insert(name.as_str().to_owned(), self.fields.len());
                self.fields.push((name.to_owned(), value.into()));
            }
        }
        Ok(grown)
    }
}

impl Ranked {
    fn add(&mut self, value: Option<RawBsonRef<'_>>, place: Vec<u8>) -> usize {
        let bytes = place.len() + value.map_or(0, size) + OVERHEAD;
        self.kept.insert((place, self.next), value.map_or(RawBson::Null, RawBson::from));
        self.next += 1;
        if self.kept.len() <= self.n {
            return bytes;
        }
        let dropped = if self.keeps_last { self.kept.pop_first() } else { self.kept.pop_last() };
        let freed = dropped.map_or(0, |((place, _), value)| {
            place.len() + size(value.as_raw_bson_ref()) + OVERHEAD
        });
        bytes.saturating_sub(freed)
    }
}

fn extreme(
    value: Option<RawBsonRef<'_>>,
    wanted: Ordering,
    found: &mut Option<RawBson>,
    collation: Option<&Collation>,
) -> usize {
    let Some(value) = value else { return 0 };
    if matches!(value, RawBsonRef::Null | RawBsonRef::Undefined) {
        return 0;
    }
    let is_wanted = found
        .as_ref()
        .is_none_or(|found| order::compare(value, found.as_raw_bson_ref(), collation) == wanted);
    if !is_wanted {
        return 0;
    }
    let before = found.as_ref().map_or(0, |found| size(found.as_raw_bson_ref()));
    *found = Some(value.into());
    size(value).saturating_sub(before)
}

fn push(list: &mut RawArrayBuf, value: RawBsonRef<'_>) -> usize {
    let before = list.as_bytes().len();
    list.push(value);
    list.as_bytes().len() - before
}

fn array(values: impl IntoIterator<Item = RawBson>) -> RawBson {
    let mut list = RawArrayBuf::new();
    for value in values {
        list.push(value.as_raw_bson_ref());
    }
    RawBson::Array(list)
}

/// About how many bytes a value holds.
pub(crate) fn size(value: RawBsonRef<'_>) -> usize {
    match value {
        RawBsonRef::Document(document) => document.as_bytes().len(),
        RawBsonRef::Array(array) => array.as_bytes().len(),
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) => text.len(),
        RawBsonRef::JavaScriptCode(code) => code.len(),
        RawBsonRef::Binary(binary) => binary.bytes.len(),
        RawBsonRef::RegularExpression(regex) => regex.pattern.len() + regex.options.len(),
        RawBsonRef::JavaScriptCodeWithScope(code) => code.code.len() + code.scope.as_bytes().len(),
        _ => 16,
    }
}
