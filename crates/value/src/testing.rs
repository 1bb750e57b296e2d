//! Random values for the property tests of the other modules.

use proptest::prelude::*;

use crate::{Number, Value};

/// Any JSON value: everything except undefined, NaN and the infinities.
pub(crate) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |double| double.is_finite()).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        Just(Value::Number(Number::with_text(1.0, Some("1.0")))),
        ".*".prop_map(Value::from),
        "[ab\\x00\\x01\u{ff}]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("[ab\\x00\"\\\\é]{0,3}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Any value, including undefined (alone or as an element or member), NaN and the infinities.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let undefined = Just(Value::Undefined);
    let extreme = prop_oneof![Just(f64::NAN), Just(-f64::NAN), Just(f64::INFINITY), Just(-0.0)];
    let element = prop_oneof![1 => undefined.clone(), 4 => json_value()];
    prop_oneof![
        1 => undefined,
        1 => extreme.prop_map(Value::from),
        8 => json_value(),
        1 => proptest::collection::vec(element.clone(), 0..4).prop_map(Value::from),
        1 => proptest::collection::vec(("[ab]{0,2}", element), 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect())),
    ]
}
