//! Values as MongoDB's shell and its error messages print them.

use std::fmt::Write as _;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bson::{RawBsonRef, RawDocument};

use crate::decimal::Decimal;

/// A value as error messages show it: `"x"`, `1`, `1.0`, `ObjectId('…')`, `{ a: 1 }`.
pub fn value(value: RawBsonRef<'_>) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// A document as error messages show it: `{ a: 1, b: "x" }`.
pub fn document(document: &RawDocument) -> String {
    value(RawBsonRef::Document(document))
}

fn write(value: RawBsonRef<'_>, out: &mut String) {
    use RawBsonRef as V;
    // Writing to a string cannot fail.
    let _ = match value {
        V::Double(double) => write_double(double, out),
        V::Int32(integer) => write!(out, "{integer}"),
        V::Int64(integer) => write!(out, "{integer}"),
        V::String(text) | V::Symbol(text) => write!(out, "\"{}\"", escaped(text)),
        V::Document(document) => {
            write_fields(document, out);
            Ok(())
        }
        V::Array(array) => {
            out.push('[');
            for (at, element) in array.into_iter().flatten().enumerate() {
                out.push_str(if at == 0 { " " } else { ", " });
                write(element, out);
            }
            write!(out, " ]")
        }
        V::Boolean(is_true) => write!(out, "{is_true}"),
        V::Null => write!(out, "null"),
        V::Undefined => write!(out, "undefined"),
        V::MinKey => write!(out, "MinKey"),
        V::MaxKey => write!(out, "MaxKey"),
        V::ObjectId(id) => write!(out, "ObjectId('{id}')"),
        V::DateTime(date) => write!(out, "new Date({})", date.timestamp_millis()),
        V::Timestamp(timestamp) => {
            write!(out, "Timestamp({}, {})", timestamp.time, timestamp.increment)
        }
        V::Binary(binary) => {
            let subtype = u8::from(binary.subtype);
            write!(out, "BinData({subtype}, {})", BASE64_STANDARD.encode(binary.bytes))
        }
        V::Decimal128(packed) => {
            write!(out, "Decimal128('{}')", Decimal::from(packed))
        }
        V::RegularExpression(regex) => write!(out, "/{}/{}", regex.pattern, regex.options),
        V::JavaScriptCode(code) => write!(out, "{code}"),
        V::JavaScriptCodeWithScope(code) => {
            let _ = write!(out, "CodeWScope( {}, ", code.code);
            write_fields(code.scope, out);
            write!(out, ")")
        }
        V::DbPointer(_) => write!(out, "DBPointer"),
    };
}

fn write_double(double: f64, out: &mut String) -> std::fmt::Result {
    if double.is_nan() {
        write!(out, "nan")
    } else if double.is_infinite() {
        write!(out, "{}inf", if double < 0.0 { "-" } else { "" })
    } else if double.fract() == 0.0 && double.abs() < 1e15 {
        write!(out, "{double:.1}")
    } else {
        write!(out, "{double}")
    }
}

fn write_fields(document: &RawDocument, out: &mut String) {
    let mut is_empty = true;
    for (name, value) in document.iter().flatten() {
        out.push_str(if is_empty { "{ " } else { ", " });
        is_empty = false;
        let _ = write!(out, "{}: ", name.as_str());
        write(value, out);
    }
    out.push_str(if is_empty { "{}" } else { " }" });
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use bson::{Bson, RawDocumentBuf, doc, oid::ObjectId};

    #[test]
    fn values_are_shown_as_in_the_shell() {
        let id = ObjectId::parse_str("0123456789abcdef01234567").unwrap();
        let document = doc! {
            "text": "a\"b", "int": 1, "long": 2_i64, "double": 1.0, "half": 0.5, "id": id,
            "list": [1, "x"], "none": Bson::Null, "is": true, "empty": {},
        };
        let raw = RawDocumentBuf::try_from(&document).unwrap();
        assert_eq!(
            super::document(&raw),
            "{ text: \"a\\\"b\", int: 1, long: 2, double: 1.0, half: 0.5, \
             id: ObjectId('0123456789abcdef01234567'), list: [ 1, \"x\" ], none: null, is: true, \
             empty: {} }"
        );
    }
}
