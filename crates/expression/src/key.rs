//! Bytes that sort like values: one value's bytes are less than another's exactly if the value is.
//! Equal values of different types (`1`, `1.0`) have the same bytes, so they serve for sorting, for
//! grouping and for finding duplicates. No encoding is the beginning of another.

use bson::{RawBsonRef, RawDocument};

use crate::{class::Class, collation::Collation, decimal::Decimal, number::Number};

/// Ends what has no fixed length. All classes are greater, so what ends first is less.
const END: u8 = 0;
/// After a zero byte of a text: it is not the end.
const NOT_THE_END: u8 = 0xFF;
/// The number is the double itself.
const EXACT: u8 = 0x80;
/// The number lies between this double and the next one; its digits follow.
const BETWEEN: u8 = 0x81;

/// Appends the key of a value.
pub fn encode(value: RawBsonRef<'_>, collation: Option<&Collation>, out: &mut Vec<u8>) {
    let class = Class::of(value);
    out.push(class as u8);
    encode_content(value, collation, out);
}

/// The key of what may be missing, which counts as null.
pub fn of(value: Option<RawBsonRef<'_>>, collation: Option<&Collation>) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    encode(value.unwrap_or(RawBsonRef::Null), collation, &mut out);
    out
}

/// Inverts bytes from `start` on, so that they sort in descending order.
pub fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

fn encode_content(value: RawBsonRef<'_>, collation: Option<&Collation>, out: &mut Vec<u8>) {
    use RawBsonRef as V;
    if let Some(number) = Number::of(value) {
        return encode_number(number, out);
    }
    match value {
        V::String(text) | V::Symbol(text) => encode_text(text, collation, out),
        V::Document(document) => encode_document(document, collation, out),
        V::Array(array) => {
            for element in array.into_iter().flatten() {
                encode(element, collation, out);
            }
            out.push(END);
        }
        V::Binary(binary) => {
            let length = u32::try_from(binary.bytes.len()).unwrap_or(u32::MAX);
            out.extend(length.to_be_bytes());
            out.push(binary.subtype.into());
            out.extend(binary.bytes);
        }
        V::ObjectId(id) => out.extend(id.bytes()),
        V::Boolean(is_true) => out.push(is_true.into()),
        V::DateTime(date) => out.extend(sortable_i64(date.timestamp_millis())),
        V::Timestamp(timestamp) => {
            out.extend(timestamp.time.to_be_bytes());
            out.extend(timestamp.increment.to_be_bytes());
        }
        V::RegularExpression(regex) => {
            encode_bytes(regex.pattern.as_str().as_bytes(), out);
            encode_bytes(regex.options.as_str().as_bytes(), out);
        }
        V::DbPointer(_) => {
            let mut document = bson::RawDocumentBuf::new();
            document.append(bson::raw::cstr!(""), value);
            encode_bytes(document.as_bytes(), out);
        }
        V::JavaScriptCode(code) => encode_bytes(code.as_bytes(), out),
        V::JavaScriptCodeWithScope(code) => {
            encode_bytes(code.code.as_bytes(), out);
            encode_document(code.scope, None, out);
        }
        _ => {}
    }
}

fn sortable_i64(integer: i64) -> [u8; 8] {
    (integer ^ i64::MIN).to_be_bytes()
}

fn encode_text(text: &str, collation: Option<&Collation>, out: &mut Vec<u8>) {
    match collation {
        Some(collation) => encode_bytes(&collation.key(text), out),
        None => encode_bytes(text.as_bytes(), out),
    }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.push(*byte);
        if *byte == END {
            out.push(NOT_THE_END);
        }
    }
    out.extend([END, END]);
}

fn encode_document(document: &RawDocument, collation: Option<&Collation>, out: &mut Vec<u8>) {
    for (name, value) in document.iter().flatten() {
        out.push(Class::of(value) as u8);
        encode_bytes(name.as_str().as_bytes(), out);
        encode_content(value, collation, out);
    }
    out.push(END);
}

/// The greatest double that is not greater, and the digits of what it leaves out.
fn encode_number(number: Number, out: &mut Vec<u8>) {
    if number.is_nan() {
        out.extend([0; 8]);
        return out.push(EXACT);
    }
    let (double, is_exact) = number.floor_f64();
    let bits = double.to_bits();
    let sortable = if double.is_sign_negative() { !bits } else { bits | 1 << 63 };
    out.extend(sortable.to_be_bytes());
    out.push(if is_exact { EXACT } else { BETWEEN });
    if !is_exact {
        encode_digits(number.to_decimal(), out);
    }
}

/// Where the first digit stands, then the digits without trailing zeros. All numbers that share a
/// double share a sign, too, so a negative one only has its bytes inverted.
fn encode_digits(decimal: Decimal, out: &mut Vec<u8>) {
    let Decimal::Finite { is_negative, coefficient, exponent } = decimal else { return };
    let start = out.len();
    let text = coefficient.to_string();
    let place = exponent + i32::try_from(text.len()).unwrap_or(0);
    out.extend((place ^ i32::MIN).to_be_bytes());
    out.extend(text.trim_end_matches('0').bytes());
    out.push(END);
    if is_negative {
        invert(&mut out[start..]);
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawBson, raw::cstr};
    use proptest::prelude::*;

    use super::*;
    use crate::{order::compare, testing};

    fn key(value: &RawBson) -> Vec<u8> {
        of(Some(value.as_raw_bson_ref()), None)
    }

    #[test]
    fn one_value_of_each_class_sorts_by_class() {
        let sorted = testing::one_of_each_class();
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                let order = compare(a.as_raw_bson_ref(), b.as_raw_bson_ref(), None);
                assert_eq!(order, i.cmp(&j), "{a:?} {b:?}");
                assert_eq!(key(a).cmp(&key(b)), i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn equal_numbers_have_one_key() {
        let decimal: bson::Decimal128 = "1.000".parse().unwrap();
        let ones = [
            RawBson::Int32(1),
            RawBson::Int64(1),
            RawBson::Double(1.0),
            RawBson::Decimal128(decimal),
        ];
        for one in &ones {
            assert_eq!(key(one), key(&ones[0]));
        }
    }

    #[test]
    fn fields_are_compared_by_class_then_name_then_value() {
        let document = |name: &str, value: RawBson| {
            let mut document = bson::RawDocumentBuf::new();
            document.append(testing::name(name), value);
            RawBson::Document(document)
        };
        let sorted = [
            RawBson::Document(bson::RawDocumentBuf::new()),
            document("b", RawBson::Int32(1)),
            document("a", RawBson::String("x".to_owned())),
            document("a", RawBson::Boolean(true)),
            document("b", RawBson::Boolean(false)),
        ];
        for pair in sorted.windows(2) {
            assert!(key(&pair[0]) < key(&pair[1]), "{pair:?}");
            assert!(
                compare(pair[0].as_raw_bson_ref(), pair[1].as_raw_bson_ref(), None).is_lt(),
                "{pair:?}"
            );
        }
        let mut longer = bson::RawDocumentBuf::new();
        longer.append(cstr!("b"), 1);
        longer.append(cstr!("a"), 1);
        assert!(key(&sorted[1]) < key(&RawBson::Document(longer)));
    }

    proptest! {
        #[test]
        fn keys_sort_like_values(a in testing::value(), b in testing::value()) {
            let order = compare(a.as_raw_bson_ref(), b.as_raw_bson_ref(), None);
            prop_assert_eq!(key(&a).cmp(&key(&b)), order);
            let back = compare(b.as_raw_bson_ref(), a.as_raw_bson_ref(), None);
            prop_assert_eq!(order, back.reverse());
        }

        #[test]
        fn order_is_transitive(a in testing::value(), b in testing::value(), c in testing::value()) {
            let mut sorted = [&a, &b, &c];
            sorted.sort_by(|a, b| compare(a.as_raw_bson_ref(), b.as_raw_bson_ref(), None));
            let ends = compare(sorted[0].as_raw_bson_ref(), sorted[2].as_raw_bson_ref(), None);
            prop_assert!(ends.is_le());
        }

        #[test]
        fn no_key_begins_another(a in testing::value(), b in testing::value()) {
            let (a, b) = (key(&a), key(&b));
            prop_assert!(a == b || !b.starts_with(&a));
        }
    }
}
