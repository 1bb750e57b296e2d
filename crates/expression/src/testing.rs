//! Values for tests.

use bson::raw::CString;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document, RawBson, Regex, Timestamp, oid::ObjectId};
use proptest::prelude::*;

/// A field's name.
pub(crate) fn name(text: &str) -> CString {
    CString::try_from(text).expect("a name without a zero byte")
}

/// One value of each class, in ascending order.
pub(crate) fn one_of_each_class() -> Vec<RawBson> {
    [
        Bson::MinKey,
        Bson::Undefined,
        Bson::Null,
        Bson::Int32(1),
        Bson::String("a".to_owned()),
        Bson::Document(Document::new()),
        Bson::Array(Vec::new()),
        Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: vec![1] }),
        Bson::ObjectId(ObjectId::from_bytes([7; 12])),
        Bson::Boolean(false),
        Bson::DateTime(DateTime::from_millis(0)),
        Bson::Timestamp(Timestamp { time: 0, increment: 0 }),
        Bson::RegularExpression(Regex { pattern: name("a"), options: name("") }),
        Bson::JavaScriptCode("f".to_owned()),
        Bson::MaxKey,
    ]
    .map(|value| value.try_into().expect("a value"))
    .into()
}

/// Values that are close to each other: few texts, few numbers of all kinds, small containers.
pub(crate) fn value() -> impl Strategy<Value = RawBson> {
    bson().prop_map(|value| value.try_into().expect("a value"))
}

/// As [`value`], not yet encoded.
pub(crate) fn bson() -> impl Strategy<Value = Bson> {
    let scalar = prop_oneof![
        Just(Bson::Null),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        any::<bool>().prop_map(Bson::Boolean),
        (-3..3_i32).prop_map(Bson::Int32),
        (-3..3_i64).prop_map(Bson::Int64),
        any::<i64>().prop_map(Bson::Int64),
        (9_007_199_254_740_990..9_007_199_254_740_996_i64).prop_map(Bson::Int64),
        (-6..6_i32).prop_map(|half| Bson::Double(f64::from(half) / 2.0)),
        any::<f64>().prop_map(Bson::Double),
        ("-?[0-9]{1,3}(\\.[0-9]{1,2})?(E-?[0-9]{1,3})?")
            .prop_map(|text| Bson::Decimal128(text.parse().expect("a decimal"))),
        "[ab\u{0}\u{1}é]{0,3}".prop_map(Bson::String),
        "[ab]{0,2}".prop_map(Bson::Symbol),
        (-2..2_i64).prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
        (0..3_u32, 0..3_u32)
            .prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
        proptest::collection::vec(0..3_u8, 0..3)
            .prop_map(|bytes| Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes })),
        (0..3_u8).prop_map(|byte| Bson::ObjectId(ObjectId::from_bytes([byte; 12]))),
        "[ab]{0,2}".prop_map(Bson::JavaScriptCode),
        "[ab]{0,2}".prop_map(|text| Bson::RegularExpression(Regex {
            pattern: name(&text),
            options: name("i")
        })),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            proptest::collection::vec(("[abc]{1,2}", inner), 0..4)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}
