//! Aggregates: one value of many. None of them sees undefined.

use value::{Value, order};

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

impl Aggregate {
    /// The aggregate of that name, in any case and with or without underscores.
    pub fn lookup(name: &str) -> Option<Aggregate> {
        let name: String =
            name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_uppercase()).collect();
        Some(match name.as_str() {
            "COUNT" => Aggregate::Count,
            "COUNTIF" => Aggregate::CountIf,
            "SUM" => Aggregate::Sum,
            "AVG" => Aggregate::Avg,
            "MIN" => Aggregate::Min,
            "MAX" => Aggregate::Max,
            "MAKELIST" => Aggregate::MakeList,
            "MAKESET" => Aggregate::MakeSet,
            _ => return None,
        })
    }

    /// The aggregate of the values; undefined ones among them are passed over.
    pub fn of(self, values: impl IntoIterator<Item = Value>) -> Value {
        let values: Vec<Value> = values.into_iter().filter(|value| !value.is_undefined()).collect();
        match self {
            Aggregate::Count => count(values.len()),
            Aggregate::CountIf => {
                count(values.iter().filter(|value| value.as_bool() == Some(true)).count())
            }
            Aggregate::Sum => sum(&values).map_or(Value::Undefined, Value::from),
            Aggregate::Avg if values.is_empty() => Value::Undefined,
            Aggregate::Avg => {
                sum(&values).map_or(Value::Undefined, |sum| Value::from(sum / values.len() as f64))
            }
            Aggregate::Min | Aggregate::Max if values.iter().any(is_composite) => Value::Undefined,
            Aggregate::Min => values.into_iter().min_by(order::compare).unwrap_or_default(),
            Aggregate::Max => values.into_iter().max_by(order::compare).unwrap_or_default(),
            Aggregate::MakeList => Value::from(values),
            Aggregate::MakeSet => Value::from(distinct(values)),
        }
    }
}

/// The first of each set of equal values, in their order.
pub(super) fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for value in values {
        let mut key = Vec::new();
        value::key::encode(&value, &mut key);
        if seen.insert(key) {
            kept.push(value);
        }
    }
    kept
}

fn count(count: usize) -> Value {
    Value::from(count as f64)
}

/// The sum of numbers, 0 without any; none if something else is among them.
fn sum(values: &[Value]) -> Option<f64> {
    values.iter().map(Value::as_f64).sum()
}

fn is_composite(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(aggregate: Aggregate, text: &str) -> Value {
        let values = value::json::parse(text.as_bytes()).unwrap();
        aggregate.of(values.as_array().unwrap().to_vec())
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
        let values = [Value::Undefined, Value::from(4.0)];
        assert_eq!(Aggregate::Count.of(values.clone()), Value::from(1.0));
        assert_eq!(Aggregate::Avg.of(values), Value::from(4.0));
    }
}
