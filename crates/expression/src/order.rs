//! The total order of BSON values: by class first, then by value. Every value equals itself, NaN
//! included, and numbers are compared across their kinds.

use std::cmp::Ordering;

use bson::{RawArray, RawBsonRef, RawDocument};

use crate::{class::Class, collation::Collation, number::Number};

/// Compares two values. `collation` orders strings, also inside arrays and documents; without one
/// they are ordered by their bytes.
pub fn compare(a: RawBsonRef<'_>, b: RawBsonRef<'_>, collation: Option<&Collation>) -> Ordering {
    Class::of(a).cmp(&Class::of(b)).then_with(|| compare_alike(a, b, collation))
}

/// Compares what may be missing, which counts as null.
pub fn compare_optional(
    a: Option<RawBsonRef<'_>>,
    b: Option<RawBsonRef<'_>>,
    collation: Option<&Collation>,
) -> Ordering {
    compare(a.unwrap_or(RawBsonRef::Null), b.unwrap_or(RawBsonRef::Null), collation)
}

/// Compares two strings.
pub fn compare_text(a: &str, b: &str, collation: Option<&Collation>) -> Ordering {
    match collation {
        Some(collation) => collation.compare(a, b),
        None => a.cmp(b),
    }
}

/// Compares two values of the same class.
fn compare_alike(a: RawBsonRef<'_>, b: RawBsonRef<'_>, collation: Option<&Collation>) -> Ordering {
    use RawBsonRef as V;
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return a.compare(b);
    }
    match (a, b) {
        (V::String(a) | V::Symbol(a), V::String(b) | V::Symbol(b)) => compare_text(a, b, collation),
        (V::Document(a), V::Document(b)) => compare_documents(a, b, collation),
        (V::Array(a), V::Array(b)) => compare_arrays(a, b, collation),
        (V::Binary(a), V::Binary(b)) => (a.bytes.len(), u8::from(a.subtype), a.bytes).cmp(&(
            b.bytes.len(),
            u8::from(b.subtype),
            b.bytes,
        )),
        (V::ObjectId(a), V::ObjectId(b)) => a.bytes().cmp(&b.bytes()),
        (V::Boolean(a), V::Boolean(b)) => a.cmp(&b),
        (V::DateTime(a), V::DateTime(b)) => a.timestamp_millis().cmp(&b.timestamp_millis()),
        (V::Timestamp(a), V::Timestamp(b)) => (a.time, a.increment).cmp(&(b.time, b.increment)),
        (V::RegularExpression(a), V::RegularExpression(b)) => {
            (a.pattern.as_str(), a.options.as_str()).cmp(&(b.pattern.as_str(), b.options.as_str()))
        }
        (V::DbPointer(a), V::DbPointer(b)) => pointer(a).cmp(&pointer(b)),
        (V::JavaScriptCode(a), V::JavaScriptCode(b)) => a.cmp(b),
        (V::JavaScriptCodeWithScope(a), V::JavaScriptCodeWithScope(b)) => {
            a.code.cmp(b.code).then_with(|| compare_documents(a.scope, b.scope, None))
        }
        _ => Ordering::Equal,
    }
}

/// The namespace and the id of a pointer, whose parts the library does not show. Both are BSON
/// itself, so the bytes of the value say everything.
fn pointer(value: bson::raw::RawDbPointerRef<'_>) -> Vec<u8> {
    let mut document = bson::RawDocumentBuf::new();
    document.append(bson::raw::cstr!(""), RawBsonRef::DbPointer(value));
    document.into_bytes()
}

/// Compares documents field by field: by the class of the value, then the name, then the value.
pub fn compare_documents(
    a: &RawDocument,
    b: &RawDocument,
    collation: Option<&Collation>,
) -> Ordering {
    let (mut a, mut b) = (a.iter(), b.iter());
    loop {
        match (a.next(), b.next()) {
            (Some(Ok((name_a, a))), Some(Ok((name_b, b)))) => {
                let order = Class::of(a)
                    .cmp(&Class::of(b))
                    .then_with(|| name_a.as_str().cmp(name_b.as_str()))
                    .then_with(|| compare_alike(a, b, collation));
                if order.is_ne() {
                    return order;
                }
            }
            (None, None) => return Ordering::Equal,
            // Documents were checked when they arrived; an invalid one ends here.
            (a, b) => return a.is_some().cmp(&b.is_some()),
        }
    }
}

fn compare_arrays(a: &RawArray, b: &RawArray, collation: Option<&Collation>) -> Ordering {
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    loop {
        match (a.next(), b.next()) {
            (Some(Ok(a)), Some(Ok(b))) => {
                let order = compare(a, b, collation);
                if order.is_ne() {
                    return order;
                }
            }
            (None, None) => return Ordering::Equal,
            (a, b) => return a.is_some().cmp(&b.is_some()),
        }
    }
}
