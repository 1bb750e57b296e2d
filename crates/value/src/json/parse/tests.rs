//! What the parser accepts, what it rejects, and its error messages.

use super::*;
use crate::json::{members, print};
use crate::testing::json_value;
use proptest::prelude::*;

fn kind(text: impl AsRef<[u8]>) -> ErrorKind {
    let error = parse(text.as_ref()).unwrap_err();
    assert_eq!(check(text.as_ref()).as_ref(), Err(&error));
    error.kind
}

/// Whether `check` accepts what `parse` does, and says the same of what it does not.
fn agree(text: &[u8]) -> bool {
    check(text) == parse(text).map(|value| value.as_array().map(<[Value]>::len))
}

#[test]
fn arrays_are_counted() {
    assert_eq!(check(b" [ ] "), Ok(Some(0)));
    assert_eq!(check(br#"[1,[2,3],{"a":[4]},"5",null]"#), Ok(Some(5)));
    for text in ["{}", r#"{"a":[1]}"#, "null", "true", "1.5", r#""[]""#] {
        assert_eq!(check(text.as_bytes()), Ok(None), "{text}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_found_among_many() {
    for count in [1, 2, 15, 16, 17, 18, 40] {
        let keys: Vec<String> = (0..count).map(|key| format!(r#""k{key}":0"#)).collect();
        assert!(agree(format!("{{{}}}", keys.join(",")).as_bytes()));
        for twice in [0, count / 2, count - 1] {
            let text = format!(r#"{{{},"\u006b{twice}":1}}"#, keys.join(","));
            assert_eq!(kind(text), ErrorKind::DuplicateKey(format!("k{twice}")));
        }
    }
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn values_of_every_type() {
    let text = " { \"a\" : [ null , true , false ] ,\r\n\t\"b\":{},\"\":\"\" } ";
    let value = parse(text.as_bytes()).unwrap();
    assert_eq!(print(&value), r#"{"a":[null,true,false],"b":{},"":""}"#);
}

#[test]
fn strings_are_unescaped() {
    let value = parse(br#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\u0000 plain text""#).unwrap();
    assert_eq!(value.as_str(), Some("\"\\/\u{8}\u{c}\n\r\tAé😀\0 plain text"));
}

#[test]
fn numbers_are_read_exactly() {
    let texts = [
        "0",
        "-0",
        "0.1",
        "-0.5",
        "123456789012345",
        "1234567890123456",
        "0.30000000000000004",
        "1e300",
        "1E-300",
        "1e+2",
        "5e-324",
        "0.000001",
        "0.0000001",
        "2.50",
        "100",
        "-12.75",
        "9007199254740993",
        "1e-400",
        "123456789.123456",
        "0.000000000000001",
    ];
    for text in texts {
        let value = parse(text.as_bytes()).unwrap();
        let expected: f64 = text.parse().unwrap();
        assert_eq!(value.as_f64().map(f64::to_bits), Some(expected.to_bits()), "{text}");
        assert_eq!(print(&value), text);
    }
}

#[test]
fn broken_texts_are_refused() {
    let refused = [
        "", " ", "{", "[", "[1", "[1,", "{\"a\"", "{\"a\":", "{\"a\":1", "\"", "\"a", "tru", "nul",
    ];
    for text in refused {
        assert_eq!(kind(text), ErrorKind::UnexpectedEnd, "{text}");
    }
    for (text, char) in [
        ("[1,]", ']'),
        ("{\"a\":1,}", '}'),
        ("{a:1}", 'a'),
        ("{\"a\" 1}", '1'),
        ("[1 2]", '2'),
        ("+1", '+'),
        (".5", '.'),
        ("NaN", 'N'),
        ("Infinity", 'I'),
        ("nulx", 'x'),
        ("'a'", '\''),
        ("\u{feff}1", '\u{feff}'),
        ("/**/1", '/'),
        ("\u{a0}1", '\u{a0}'),
    ] {
        assert_eq!(kind(text), ErrorKind::Unexpected(char), "{text}");
    }
    for text in ["1 2", "{}x", "null,", "\"a\"\"b\"", "[]]"] {
        assert_eq!(kind(text), ErrorKind::Trailing, "{text}");
    }
    for text in ["01", "-01", "00", "-", "1.", "-.5", "1e", "1e+", "1.e5", "--1"] {
        assert_eq!(kind(text), ErrorKind::InvalidNumber, "{text}");
    }
    for text in ["1e400", "-1e400", "1e99999999999999999999"] {
        assert_eq!(kind(text), ErrorKind::NumberOutOfRange, "{text}");
    }
    assert_eq!(kind(format!("[1{}]", "0".repeat(400))), ErrorKind::NumberOutOfRange);
}

#[test]
fn broken_strings_are_refused() {
    for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\u0041""#, r#""\ud800\ud800""#] {
        assert_eq!(kind(text), ErrorKind::LoneSurrogate, "{text}");
    }
    for text in [r#""\x""#, r#""\u12g4""#, r#""\u+123""#, r#""\'""#] {
        assert_eq!(kind(text), ErrorKind::InvalidEscape, "{text}");
    }
    assert_eq!(kind(b"\"\xff\""), ErrorKind::InvalidUtf8);
    // A surrogate encoded as UTF-8 is not UTF-8.
    assert_eq!(kind(b"\"\xed\xa0\x80\""), ErrorKind::InvalidUtf8);
}

#[test]
fn raw_control_characters_are_taken_as_they_are() {
    for (text, expected) in
        [("\"a\tb\"", "a\tb"), ("\"\r\n\0\"", "\r\n\0"), ("\"\\n\u{1f}\\u0041\n\"", "\n\u{1f}A\n")]
    {
        assert_eq!(parse(text.as_bytes()).unwrap().as_str(), Some(expected), "{text:?}");
    }
    assert_eq!(kind("\"\n"), ErrorKind::UnexpectedEnd);
    assert_eq!(kind("\n\0"), ErrorKind::Unexpected('\0'));
}

#[test]
fn duplicate_keys_are_refused_after_unescaping() {
    assert_eq!(kind(r#"{"a":1,"\u0061":2}"#), ErrorKind::DuplicateKey("a".into()));
    assert_eq!(kind(r#"{"x":{"é":1,"\u00e9":2}}"#), ErrorKind::DuplicateKey("é".into()));
    assert!(parse(br#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
}

#[test]
fn a_hundred_thousand_keys_stay_cheap() {
    let members: Vec<_> = (0..100_000).map(|n| format!("\"key{n}\":{n}")).collect();
    let mut text = format!("{{{}}}", members.join(","));
    assert_eq!(parse(text.as_bytes()).unwrap().as_object().map(Object::len), Some(100_000));
    text.insert_str(text.len() - 1, ",\"key777\":0");
    assert_eq!(kind(text), ErrorKind::DuplicateKey("key777".into()));
}

#[test]
fn depth_is_bounded() {
    assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
    assert_eq!(kind(nested(DEPTH_MAX + 1)), ErrorKind::TooDeep);
    assert_eq!(kind("[".repeat(1_000_000)), ErrorKind::TooDeep);
    assert_eq!(kind("{\"a\":".repeat(1_000_000)), ErrorKind::TooDeep);
}

#[test]
fn documents_must_be_objects() {
    let kind = |text: &str| parse_document(text.as_bytes()).unwrap_err().kind;
    for text in ["1", "[{}]", "\"x\"", "null"] {
        assert_eq!(kind(text), ErrorKind::NotAnObject);
    }
    assert_eq!(kind("x"), ErrorKind::Unexpected('x'));
    assert_eq!(kind("{} {}"), ErrorKind::Trailing);
}

#[test]
fn errors_say_what_and_where() {
    let message = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(message(r#"{"a":1,"a":2}"#), "duplicate key `a` at offset 7");
    assert_eq!(message("[1,x]"), "unexpected character `x` at offset 3");
    assert_eq!(message("[1"), "unexpected end of the text at offset 2");
    assert_eq!(message(&nested(200)), "nested deeper than 128 levels at offset 128");
}

proptest! {
    #[test]
    fn any_bytes_are_answered_without_a_panic(bytes: Vec<u8>) {
        prop_assert!(agree(&bytes));
    }

    #[test]
    fn what_is_checked_is_what_is_parsed(value in json_value(), at: usize, byte: u8) {
        let mut text = print(&value).into_bytes();
        prop_assert!(agree(&text));
        let at = at % text.len();
        text[at] = byte;
        prop_assert!(agree(&text));
        text.truncate(at);
        prop_assert!(agree(&text));
    }

    #[test]
    fn texts_that_look_like_json_are_answered_without_a_panic(
        text in r#"[\[\]{}",:\\u0-9a-fA-F.eE+\-truefalsn ]{0,60}"#
    ) {
        prop_assert!(agree(text.as_bytes()));
        if let Ok(value) = parse(text.as_bytes()) {
            let again = parse(print(&value).as_bytes()).unwrap();
            prop_assert_eq!(&again, &value);
            if value.as_object().is_some() {
                prop_assert!(members(text.as_bytes()).is_ok());
            }
        }
    }

    #[test]
    fn short_decimals_are_read_like_the_standard_library_does(
        text in "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,9})?"
    ) {
        let value = parse(text.as_bytes()).unwrap();
        let expected: f64 = text.parse().unwrap();
        prop_assert_eq!(value.as_f64().map(f64::to_bits), Some(expected.to_bits()));
        prop_assert_eq!(print(&value), text);
    }
}
