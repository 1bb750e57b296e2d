//! Value to text, without white space.

use super::string::plain_end;
use crate::Value;

/// The value as JSON text.
pub fn print(value: &Value) -> String {
    let mut out = Vec::new();
    write(value, &mut out);
    String::from_utf8(out).expect("write copies strings and adds ASCII")
}

/// Appends the value as JSON text. Omits undefined members, but writes undefined elements, and an
/// undefined value by itself, as `null`, because JSON has no other way to keep their place.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined | Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => number.write(out),
        Value::String(text) => quote(text, out),
        Value::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(element, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            out.push(b'{');
            let defined = object.iter().filter(|(_, value)| !value.is_undefined());
            for (index, (key, value)) in defined.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                quote(key, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
    }
}

/// Appends a JSON string, escaping only what must be escaped.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut at = 0;
    loop {
        let end = plain_end(bytes, at);
        out.extend_from_slice(&bytes[at..end]);
        let Some(&byte) = bytes.get(end) else { break };
        escape(byte, out);
        at = end + 1;
    }
    out.push(b'"');
}

/// Appends the escape of a quote, a backslash or a control character.
pub(super) fn escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;
    use crate::json::parse;
    use crate::testing::json_value;
    use proptest::prelude::*;

    #[test]
    fn strings_are_escaped_as_little_as_possible() {
        let mut out = Vec::new();
        quote("a\"b\\c/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}é😀", &mut out);
        let expected = r#""a\"b\\c/\b\f\n\r\t\u0000\u001f"#.to_owned() + "\u{7f}é😀\"";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn undefined_is_left_out_of_objects_and_null_in_arrays() {
        let mut object = Object::new();
        object.insert("a", Value::Undefined);
        object.insert("b", vec![Value::Undefined, 1.into()]);
        assert_eq!(print(&object.into()), r#"{"b":[null,1]}"#);
    }

    #[test]
    fn numbers_come_back_as_they_were_written() {
        let text = "[1,1.0,-0,-0.0,1E3,0.10,12345678901234567890,1e-7,0.0000001,1.5]";
        assert_eq!(print(&parse(text.as_bytes()).unwrap()), text);
    }

    proptest! {
        #[test]
        fn parsing_what_was_printed_gives_the_same_value(value in json_value()) {
            let text = print(&value);
            let parsed = parse(text.as_bytes()).unwrap();
            prop_assert_eq!(&parsed, &value);
            prop_assert_eq!(print(&parsed), text);
        }
    }
}
