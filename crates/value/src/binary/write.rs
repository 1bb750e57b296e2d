//! Translates JSON text to binary JSON. Writes only the plainest form of each value, which every
//! reader knows: no dictionary, no packed strings, no arrays of numbers.

use super::PREAMBLE;
use crate::{Number, Value, json};

const INT8: u8 = 0xc8;
const INT16: u8 = 0xc9;
const INT32: u8 = 0xca;
const INT64: u8 = 0xcb;
const DOUBLE: u8 = 0xcc;
const NULL: u8 = 0xd0;
const FALSE: u8 = 0xd1;
const TRUE: u8 = 0xd2;
const ARRAY: u8 = 0xe0;
const OBJECT: u8 = 0xe8;

/// Added to the marker of an array or object: its byte length follows in one byte, or in four.
const LENGTH_OF_ONE: u8 = 2;
const LENGTH_OF_FOUR: u8 = 4;

/// Translates JSON text to binary JSON.
pub fn from_text(text: &[u8]) -> Result<Vec<u8>, json::Error> {
    let value = json::parse(text)?;
    let mut out = Vec::with_capacity(text.len() + 16);
    out.push(PREAMBLE);
    write(&value, &mut out);
    Ok(out)
}

/// Appends a value. The parser bounds its depth and size, so lengths fit into 32 bits.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        // Parsed text contains no undefined values.
        Value::Undefined | Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => write_number(number, out),
        Value::String(string) => write_string(string, out),
        Value::Array(elements) => write_list(ARRAY, elements.is_empty(), out, |out| {
            for element in elements {
                write(element, out);
            }
        }),
        Value::Object(object) => write_list(OBJECT, object.is_empty(), out, |out| {
            for (key, member) in object.iter() {
                write_string(key, out);
                write(member, out);
            }
        }),
    }
}

/// Integers are written exactly in the fewest bytes, everything else as a double.
fn write_number(number: &Number, out: &mut Vec<u8>) {
    let double = number.as_f64();
    // As an integer, negative zero would lose its sign.
    let integer = number.as_i64().filter(|integer| *integer != 0 || double.is_sign_positive());
    let Some(integer) = integer else {
        out.push(DOUBLE);
        return out.extend_from_slice(&double.to_le_bytes());
    };
    if let Ok(byte) = u8::try_from(integer) {
        if byte > 0x1f {
            out.push(INT8);
        }
        out.push(byte);
    } else if let Ok(integer) = i16::try_from(integer) {
        out.push(INT16);
        out.extend_from_slice(&integer.to_le_bytes());
    } else if let Ok(integer) = i32::try_from(integer) {
        out.push(INT32);
        out.extend_from_slice(&integer.to_le_bytes());
    } else {
        out.push(INT64);
        out.extend_from_slice(&integer.to_le_bytes());
    }
}

fn write_string(string: &str, out: &mut Vec<u8>) {
    let length = string.len();
    if length < 0x40 {
        out.push(0x80 | low_byte(length));
    } else if let Ok(length) = u8::try_from(length) {
        out.extend_from_slice(&[0xc0, length]);
    } else if let Ok(length) = u16::try_from(length) {
        out.push(0xc1);
        out.extend_from_slice(&length.to_le_bytes());
    } else {
        out.push(0xc2);
        out.extend_from_slice(&four_bytes(length));
    }
    out.extend_from_slice(string.as_bytes());
}

/// Appends an array or object with the elements that `elements` appends. Short ones are shifted to
/// use a one-byte length; longer ones are not worth the copying.
fn write_list(marker: u8, is_empty: bool, out: &mut Vec<u8>, elements: impl FnOnce(&mut Vec<u8>)) {
    if is_empty {
        return out.push(marker);
    }
    let at = out.len();
    out.extend_from_slice(&[marker + LENGTH_OF_FOUR, 0, 0, 0, 0]);
    let start = out.len();
    elements(out);
    let length = out.len() - start;
    if let Ok(byte) = u8::try_from(length) {
        out[at] = marker + LENGTH_OF_ONE;
        out[at + 1] = byte;
        out.copy_within(start.., at + 2);
        out.truncate(at + 2 + length);
    } else {
        out[at + 1..start].copy_from_slice(&four_bytes(length));
    }
}

fn four_bytes(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn low_byte(length: usize) -> u8 {
    length.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        binary::{is_binary, to_text},
        testing::json_value,
    };

    proptest! {
        #[test]
        fn any_value_comes_back(value in json_value()) {
            let binary = from_text(json::print(&value).as_bytes()).unwrap();
            let again = json::parse(&to_text(&binary).unwrap()).unwrap();
            prop_assert_eq!(again, value);
        }
    }

    fn hex(text: &str) -> String {
        let bytes: Vec<String> =
            from_text(text.as_bytes()).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.concat()
    }

    /// The bytes that the Rust SDK sends for this document, except for the form of its length.
    #[test]
    fn bytes_of_the_format() {
        for (text, expected) in [
            (r#"{"id":"Item 1","pk":"a"}"#, "80ea0f8269648649 74656d2031 82706b8161"),
            ("[]", "80e0"),
            ("{}", "80e8"),
            ("[null,false,true]", "80e203d0d1d2"),
            ("[0,31,32,255,256,-1]", "80e20c001fc820c8ffc90001c9ffff"),
            ("[32768,-32769]", "80e20aca00800000ca ff7fffff"),
            ("9007199254740993", "80cb0100000000002000"),
            ("-0", "80cc0000000000000080"),
            ("1.5", "80cc000000000000f83f"),
            (r#""""#, "8080"),
        ] {
            assert_eq!(hex(text), expected.replace(' ', ""), "{text}");
        }
    }

    #[test]
    fn every_length_comes_back_as_it_was() {
        for length in [0, 1, 63, 64, 255, 256, 65_535, 65_536, 70_000] {
            let string = "x".repeat(length);
            for text in [
                format!(r#""{string}""#),
                format!(r#"[["{string}"],1]"#),
                format!(r#"{{"{string}":{{}}}}"#),
            ] {
                let binary = from_text(text.as_bytes()).unwrap();
                assert!(is_binary(&binary));
                assert_eq!(to_text(&binary).unwrap(), text.as_bytes(), "{length}");
            }
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "nul", "[1,]"] {
            assert!(from_text(text.as_bytes()).is_err(), "{text}");
        }
    }
}
