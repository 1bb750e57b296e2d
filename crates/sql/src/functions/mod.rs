//! The built-in functions: values in, a value out. One file per family, one table line per
//! function; what a function does with wrong types is to return `Undefined`, never an error.
//!
//! Not here: aggregates, which belong to the executor. Full text and vectors are known by name and
//! arity only, so that a query that uses them is refused with the right words.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use value::Value;

mod array;
mod calendar;
mod conditional;
mod convert;
mod date_format;
mod date_time;
mod identity;
mod integer;
mod math;
mod pattern;
mod position;
mod random;
mod regex;
mod search;
mod set;
pub mod spatial;
mod string;
#[cfg(test)]
mod testing;
mod types;

pub(crate) use random::Random;

/// Longest string that a function makes out of several, in bytes: twice the largest item. Without
/// it, a few nested `REPLACE` would multiply a short string into gigabytes.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The environment of functions, and what they keep from row to row. One per query: it may be sent
/// and shared between threads, but its locks are not made for contention.
pub(crate) struct Context {
    /// The request's time, in milliseconds since 1970: what `GetCurrentDateTime` and its kin say.
    pub(crate) now_millis: i64,
    /// Whether shapes lie in a plane (`geospatialConfig` of type Geometry) instead of on the Earth.
    pub(crate) is_planar: bool,
    /// The generator for `RAND`.
    pub(crate) random: Random,
    patterns: pattern::Cache,
    shapes: spatial::Cache,
}

impl Context {
    /// The context of a query that runs at a time, over shapes on the Earth. The time is also the
    /// seed of `RAND`, so that whoever fixes the one has fixed the other.
    pub(crate) fn new(now_millis: i64) -> Self {
        Context {
            now_millis,
            is_planar: false,
            random: Random::new(now_millis.unsigned_abs()),
            patterns: pattern::Cache::default(),
            shapes: spatial::Cache::default(),
        }
    }
}

/// A built-in function.
pub(crate) struct Function {
    /// The name as the service prints it in errors: upper-case however it was written.
    pub(crate) name: &'static str,
    /// How many arguments it takes; the end is `usize::MAX` where there is no limit.
    pub(crate) arity: RangeInclusive<usize>,
    /// Whether it can be computed; of the others only name and arity are known, and a query that
    /// calls one is to be refused.
    pub(crate) is_supported: bool,
    /// Computes it. The caller has checked the arity.
    pub(crate) call: fn(&[Value], &Context) -> Value,
}

impl Function {
    const fn new(
        name: &'static str,
        arity: RangeInclusive<usize>,
        call: fn(&[Value], &Context) -> Value,
    ) -> Self {
        Function { name, arity, is_supported: true, call }
    }

    const fn unsupported(name: &'static str, arity: RangeInclusive<usize>) -> Self {
        Function { name, arity, is_supported: false, call: |_, _| Value::Undefined }
    }
}

static FAMILIES: [&[Function]; 15] = [
    types::FUNCTIONS,
    string::FUNCTIONS,
    position::FUNCTIONS,
    convert::FUNCTIONS,
    array::FUNCTIONS,
    set::FUNCTIONS,
    math::FUNCTIONS,
    integer::FUNCTIONS,
    conditional::FUNCTIONS,
    date_time::FUNCTIONS,
    regex::FUNCTIONS,
    spatial::FUNCTIONS,
    random::FUNCTIONS,
    identity::FUNCTIONS,
    search::FUNCTIONS,
];

/// Names that differ from the printed one by more than case and underscores.
static ALIASES: [(&str, &str); 2] = [("IS_BOOLEAN", "IS_BOOL"), ("INTMULTIPLY", "INTMUL")];

/// Every function by its printed name and by that name's key.
static BY_NAME: LazyLock<HashMap<String, &'static Function>> = LazyLock::new(|| {
    let functions = FAMILIES.iter().copied().flatten();
    let mut by_name: HashMap<_, _> = functions
        .flat_map(|function| [(function.name.to_owned(), function), (key(function.name), function)])
        .collect();
    for (alias, name) in ALIASES {
        if let Some(function) = by_name.get(name).copied() {
            by_name.insert(key(alias), function);
        }
    }
    by_name
});

/// The function called `name`. Case does not matter, nor do underscores; a name as it is printed
/// is found without making another string.
// COMPAT: the service takes `ARRAYLENGTH` for `ARRAY_LENGTH` and `STRING_EQUALS` for
// `StringEquals`.
pub(crate) fn lookup(name: &str) -> Option<&'static Function> {
    BY_NAME.get(name).or_else(|| BY_NAME.get(&key(name))).copied()
}

/// The names of the functions that can be computed, as the service prints them.
pub fn names() -> impl Iterator<Item = &'static str> {
    let functions = FAMILIES.iter().copied().flatten();
    functions.filter(|function| function.is_supported).map(|function| function.name)
}

/// A name in upper case and without underscores, but for a leading one: that marks the internal
/// functions.
fn key(name: &str) -> String {
    let is_kept = |(place, c): &(usize, char)| *place == 0 || *c != '_';
    name.char_indices().filter(is_kept).map(|(_, c)| c.to_ascii_uppercase()).collect()
}

/// The string at `index`.
fn text(args: &[Value], index: usize) -> Option<&str> {
    args.get(index)?.as_str()
}

/// The array at `index`.
fn array(args: &[Value], index: usize) -> Option<&[Value]> {
    args.get(index)?.as_array()
}

/// The number at `index`.
fn double(args: &[Value], index: usize) -> Option<f64> {
    args.get(index)?.as_f64()
}

/// The number at `index` if it is a 64-bit integer.
fn integer(args: &[Value], index: usize) -> Option<i64> {
    args.get(index)?.as_i64()
}

/// The finite number at `index` without its fraction: positions and counts.
fn truncated(args: &[Value], index: usize) -> Option<i64> {
    let double = double(args, index).filter(|double| double.is_finite())?;
    #[expect(clippy::cast_possible_truncation, reason = "positions beyond i64 saturate")]
    integer(args, index).or(Some(double as i64))
}

/// The optional boolean at `index`, false when it is not given.
fn flag(args: &[Value], index: usize) -> Option<bool> {
    args.get(index).map_or(Some(false), Value::as_bool)
}

/// A position or count from below zero counts as zero.
fn clamp_to_usize(position: i64) -> usize {
    usize::try_from(position.max(0)).unwrap_or(usize::MAX)
}

/// A length as a value.
fn length(length: usize) -> Value {
    Value::from(i64::try_from(length).unwrap_or(i64::MAX))
}

/// OR in three-valued logic: one true decides, then one undefined (`None`).
fn any(terms: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(false);
    for term in terms {
        match term {
            Some(true) => return Some(true),
            Some(false) => {}
            None => result = None,
        }
    }
    result
}

/// AND in three-valued logic: one false decides, then one undefined (`None`).
fn all(terms: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any(terms.into_iter().map(|term| term.map(|term| !term))).map(|any| !any)
}

#[cfg(test)]
mod tests {
    use super::{FAMILIES, key, lookup};

    #[test]
    fn names_are_found_in_any_spelling() {
        let cases = [
            ("abs", Some("ABS")),
            ("Is_Boolean", Some("IS_BOOL")),
            ("STRING_TO_ARRAY", Some("STRINGTOARRAY")),
            ("IndexOf", Some("INDEX_OF")),
            ("intmultiply", Some("INTMUL")),
            ("containsallci", Some("CONTAINS_ALL_CI")),
            ("_TRY_ARRAY_CONTAINS", Some("_TRY_ARRAY_CONTAINS")),
            ("TRY_ARRAY_CONTAINS", None),
            ("_ABS", None),
            ("nope", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(lookup(name).map(|function| function.name), expected, "{name}");
        }
    }

    #[test]
    fn every_function_has_one_line() {
        let all: Vec<_> = FAMILIES.iter().copied().flatten().collect();
        for function in &all {
            let same = all.iter().filter(|other| key(other.name) == key(function.name)).count();
            assert_eq!(same, 1, "{}", function.name);
            assert!(!function.arity.is_empty(), "{}", function.name);
        }
    }

    #[test]
    fn a_context_can_be_sent_and_shared() {
        fn check<T: Send + Sync>() {}
        check::<super::Context>();
    }

    #[test]
    fn no_arguments_of_any_kind_panic() {
        use value::{Object, Value};
        let context = super::Context::new(0);
        let kinds = [
            Value::Undefined,
            Value::Null,
            Value::from(true),
            Value::from(-1.5),
            Value::from(i64::MAX),
            Value::from(i64::MIN),
            Value::from(f64::NAN),
            Value::from(f64::INFINITY),
            Value::from("day"),
            Value::from("9999-12-31T23:59:59.9999999Z"),
            Value::from("0001-01-01"),
            Value::from("\u{1F600}a"),
            Value::from(vec![Value::from(1.0)]),
            Value::from(Object::new()),
        ];
        for function in FAMILIES.iter().copied().flatten() {
            let most = (*function.arity.end()).min(3);
            for count in *function.arity.start()..=most.max(*function.arity.start()) {
                for pick in 0..kinds.len().pow(u32::try_from(count.min(3)).unwrap()) {
                    let args: Vec<_> = (0..count)
                        .map(|place| {
                            let place = u32::try_from(place % 3).unwrap();
                            kinds[pick / kinds.len().pow(place) % kinds.len()].clone()
                        })
                        .collect();
                    (function.call)(&args, &context);
                }
            }
        }
    }
}
