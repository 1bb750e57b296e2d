//! Aggregates: one value of many, seen one by one. None of them counts undefined.

use std::borrow::Cow;
use std::collections::BTreeSet;

use value::{Object, Value, order};

use super::run::weight;
use super::select::key_of;

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// How many values there are.
    Count,
    /// How many values are `true`.
    CountIf,
    /// Their sum.
    Sum,
    /// Their mean.
    Avg,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// All of them, in an array.
    MakeList,
    /// Each of them once, in an array.
    MakeSet,
}

/// Every aggregate, by the name that states are written with.
const NAMES: [(&str, Aggregate); 8] = [
    ("COUNT", Aggregate::Count),
    ("COUNTIF", Aggregate::CountIf),
    ("SUM", Aggregate::Sum),
    ("AVG", Aggregate::Avg),
    ("MIN", Aggregate::Min),
    ("MAX", Aggregate::Max),
    ("MAKELIST", Aggregate::MakeList),
    ("MAKESET", Aggregate::MakeSet),
];

impl Aggregate {
    /// The aggregate of that name, in any case and with or without underscores.
    pub fn lookup(name: &str) -> Option<Aggregate> {
        let name: String =
            name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_uppercase()).collect();
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, aggregate)| *aggregate)
    }

    /// Its name in upper case.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

/// The state of an aggregate. Partial ones, from several partitions, can be
/// [merged](Accumulator::merge); a state can be saved and continued.
#[derive(Clone, Debug)]
pub struct Accumulator {
    aggregate: Aggregate,
    /// How many defined values there were; those that are true for COUNTIF.
    count: u64,
    /// The sum of the numbers.
    sum: f64,
    /// Whether a value was seen that leaves the aggregate without a result: anything but a number
    /// for SUM and AVG, an array or object for MIN and MAX.
    is_spoilt: bool,
    /// The extreme so far, or the values of the list or set.
    values: Vec<Value>,
    /// The keys of the set's values.
    seen: BTreeSet<Vec<u8>>,
}

impl Accumulator {
    /// The aggregate of nothing.
    pub fn new(aggregate: Aggregate) -> Accumulator {
        Accumulator {
            aggregate,
            count: 0,
            sum: 0.0,
            is_spoilt: false,
            values: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// The aggregate it belongs to.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// Adds a value. Returns how many bytes it holds more than before.
    pub(crate) fn add(&mut self, value: Cow<'_, Value>) -> usize {
        if value.is_undefined() {
            return 0;
        }
        match self.aggregate {
            Aggregate::Count => self.count += 1,
            Aggregate::CountIf => self.count += u64::from(value.as_bool() == Some(true)),
            Aggregate::Sum | Aggregate::Avg => match value.as_f64() {
                Some(number) => {
                    self.sum += number;
                    self.count += 1;
                }
                None => self.is_spoilt = true,
            },
            Aggregate::Min | Aggregate::Max => return self.add_extreme(value),
            Aggregate::MakeList => return self.keep(value),
            Aggregate::MakeSet => {
                let key = key_of([value.as_ref()]);
                let bytes = key.len();
                return if self.seen.insert(key) { bytes + self.keep(value) } else { 0 };
            }
        }
        0
    }

    /// Counts documents without reading them: for [`crate::program::Shape::counts_all`].
    pub fn add_count(&mut self, count: u64) {
        self.count += count;
    }

    fn add_extreme(&mut self, value: Cow<'_, Value>) -> usize {
        if matches!(value.as_ref(), Value::Array(_) | Value::Object(_)) {
            self.is_spoilt = true;
            return 0;
        }
        let is_better = self.values.first().is_none_or(|best| {
            let ordering = order::compare(&value, best);
            if self.aggregate == Aggregate::Min { ordering.is_lt() } else { ordering.is_ge() }
        });
        if !is_better {
            return 0;
        }
        let before: usize = self.values.iter().map(weight).sum();
        self.values.clear();
        self.keep(value).saturating_sub(before)
    }

    fn keep(&mut self, value: Cow<'_, Value>) -> usize {
        let bytes = weight(&value);
        self.values.push(value.into_owned());
        bytes
    }

    /// The aggregate of what was seen so far.
    pub fn value(&self) -> Value {
        match self.aggregate {
            Aggregate::Count | Aggregate::CountIf => {
                Value::from(i64::try_from(self.count).unwrap_or(i64::MAX))
            }
            _ if self.is_spoilt => Value::Undefined,
            Aggregate::Sum => Value::from(self.sum),
            Aggregate::Avg if self.count == 0 => Value::Undefined,
            Aggregate::Avg => Value::from(self.sum / self.count as f64),
            Aggregate::Min | Aggregate::Max => self.values.first().cloned().unwrap_or_default(),
            Aggregate::MakeList | Aggregate::MakeSet => Value::from(self.values.clone()),
        }
    }

    /// Adds what another accumulator of the same aggregate has seen, as if it had come after.
    pub fn merge(&mut self, other: &Accumulator) {
        self.count += other.count;
        self.sum += other.sum;
        self.is_spoilt |= other.is_spoilt;
        match self.aggregate {
            Aggregate::Min | Aggregate::Max | Aggregate::MakeList | Aggregate::MakeSet => {
                for value in &other.values {
                    self.add(Cow::Borrowed(value));
                }
            }
            _ => {}
        }
    }

    /// How many bytes the values it holds take.
    pub fn bytes(&self) -> usize {
        let keys: usize = self.seen.iter().map(Vec::len).sum();
        keys + self.values.iter().map(weight).sum::<usize>()
    }

    /// Its state as JSON can hold it.
    pub fn to_value(&self) -> Value {
        let mut state = Object::new();
        state.insert("aggregate", self.aggregate.name());
        state.insert("count", i64::try_from(self.count).unwrap_or(i64::MAX));
        state.insert("sum", packed(&Value::from(self.sum)));
        state.insert("isSpoilt", self.is_spoilt);
        state.insert("values", self.values.iter().map(packed).collect::<Vec<_>>());
        Value::from(state)
    }

    /// Restores an accumulator from its state; `None` if it is invalid.
    pub fn from_value(state: &Value) -> Option<Accumulator> {
        let mut accumulator =
            Accumulator::new(Aggregate::lookup(state.get("aggregate").as_str()?)?);
        accumulator.sum = unpacked(state.get("sum"))?.as_f64()?;
        accumulator.is_spoilt = state.get("isSpoilt").as_bool()?;
        for value in state.get("values").as_array()? {
            accumulator.add(Cow::Owned(unpacked(value)?));
        }
        accumulator.count = u64::try_from(state.get("count").as_i64()?).ok()?;
        Some(accumulator)
    }
}

/// A value in a form that survives JSON: itself in an array, or where NaN or an infinity is in it
/// the digits of its key bytes.
fn packed(value: &Value) -> Value {
    if is_finite(value) {
        return Value::from(vec![value.clone()]);
    }
    let digits = key_of([value]).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let text = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
    Value::from(text.collect::<String>())
}

fn unpacked(value: &Value) -> Option<Value> {
    let text = match value {
        Value::Array(items) => return items.first().cloned(),
        Value::String(text) => text,
        _ => return None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.as_bytes().chunks(2) {
        bytes.push(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?);
    }
    let (value, _) = value::key::decode(&bytes).ok()?;
    Some(value)
}

/// Whether JSON can hold the value.
pub(super) fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_finite(),
        Value::Array(items) => items.iter().all(is_finite),
        Value::Object(members) => members.iter().all(|(_, value)| is_finite(value)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accumulated(aggregate: Aggregate, text: &str) -> Accumulator {
        let mut accumulator = Accumulator::new(aggregate);
        let values = value::json::parse(text.as_bytes()).unwrap();
        for value in values.as_array().unwrap() {
            accumulator.add(Cow::Borrowed(value));
        }
        accumulator
    }

    fn of(aggregate: Aggregate, text: &str) -> Value {
        accumulated(aggregate, text).value()
    }

    #[test]
    fn empty_sets() {
        assert_eq!(of(Aggregate::Count, "[]"), Value::from(0.0));
        assert_eq!(of(Aggregate::Sum, "[]"), Value::from(0.0));
        for aggregate in [Aggregate::Avg, Aggregate::Min, Aggregate::Max] {
            assert_eq!(of(aggregate, "[]"), Value::Undefined);
        }
        assert_eq!(of(Aggregate::MakeList, "[]"), Value::from(Vec::new()));
    }

    #[test]
    fn mixed_types() {
        let mixed = r#"[3, "a", null, true]"#;
        assert_eq!(of(Aggregate::Sum, mixed), Value::Undefined);
        assert_eq!(of(Aggregate::Avg, mixed), Value::Undefined);
        assert_eq!(of(Aggregate::Min, mixed), Value::Null);
        assert_eq!(of(Aggregate::Max, mixed), Value::from("a"));
        assert_eq!(of(Aggregate::CountIf, mixed), Value::from(1.0));
        assert_eq!(of(Aggregate::Min, "[1, []]"), Value::Undefined);
        assert_eq!(of(Aggregate::Max, "[1, {}]"), Value::Undefined);
    }

    #[test]
    fn sets_keep_the_first_of_equals() {
        let set = of(Aggregate::MakeSet, r#"[1, 1.0, "1", {"a":1,"b":2}, {"b":2,"a":1}]"#);
        assert_eq!(set.as_array().unwrap().len(), 3);
    }

    #[test]
    fn undefined_is_passed_over() {
        for (aggregate, expected) in [(Aggregate::Count, 1.0), (Aggregate::Avg, 4.0)] {
            let mut accumulator = Accumulator::new(aggregate);
            accumulator.add(Cow::Owned(Value::Undefined));
            accumulator.add(Cow::Owned(Value::from(4.0)));
            assert_eq!(accumulator.value(), Value::from(expected));
        }
    }

    #[test]
    fn parts_merge_and_states_survive_json() {
        for (_, aggregate) in NAMES {
            for (first, second) in [
                ("[]", "[]"),
                ("[1, 2.5]", "[]"),
                ("[]", "[3, 1]"),
                ("[1, 2]", "[2, 5]"),
                ("[1]", r#"["a", true]"#),
                ("[[1]]", "[{}, null]"),
            ] {
                let joined = format!("{first}{second}").replace("[]", "").replace("][", ",");
                // Arrays within would be cut by the joining above: keep those apart.
                if first.starts_with("[[") {
                    continue;
                }
                let joined = if joined.is_empty() { "[]".to_owned() } else { joined };
                let mut part = accumulated(aggregate, first);
                let text = value::json::print(&accumulated(aggregate, second).to_value());
                let state = value::json::parse(text.as_bytes()).unwrap();
                part.merge(&Accumulator::from_value(&state).unwrap());
                assert_eq!(part.value(), of(aggregate, &joined), "{aggregate:?} of {joined}");
            }
        }
    }

    #[test]
    fn what_json_cannot_hold_survives() {
        let mut accumulator = Accumulator::new(Aggregate::MakeList);
        accumulator.add(Cow::Owned(Value::from(vec![Value::from(f64::INFINITY), Value::Null])));
        accumulator.add(Cow::Owned(Value::from(f64::NAN)));
        let text = value::json::print(&accumulator.to_value());
        let state = value::json::parse(text.as_bytes()).unwrap();
        assert_eq!(Accumulator::from_value(&state).unwrap().value(), accumulator.value());
        for bad in ["null", "{}", r#"{"aggregate":"SUM","count":-1}"#, r#"{"aggregate":"X"}"#] {
            assert!(
                Accumulator::from_value(&value::json::parse(bad.as_bytes()).unwrap()).is_none()
            );
        }
    }
}
