//! One body for every form, the ways they can be broken, and the bounds.

use super::*;
use proptest::prelude::*;

/// The bytes of a body written in hexadecimal, without its first byte.
fn body(hex: &str) -> Vec<u8> {
    let mut body = vec![PREAMBLE];
    body.extend(hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    body
}

#[track_caller]
fn check(hex: &str, expected: &str) {
    let text = to_text(&body(hex)).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), expected, "{hex}");
}

fn kind(hex: &str) -> ErrorKind {
    to_text(&body(hex)).unwrap_err().kind
}

#[test]
fn the_body_of_a_client() {
    let hex = "ED 0F 02 82 69 64 86 49 74 65 6D 20 31 82 70 6B 81 61";
    check(hex, r#"{"id":"Item 1","pk":"a"}"#);
    assert!(is_binary(&body(hex)));
    assert!(!is_binary(b"{}"));
    assert_eq!(to_text(b"{}").unwrap_err().kind, ErrorKind::NotBinary);
    assert_eq!(to_text(b"").unwrap_err().kind, ErrorKind::NotBinary);
}

#[test]
fn literals_and_numbers() {
    for (hex, text) in [
        ("D0", "null"),
        ("D1", "false"),
        ("D2", "true"),
        ("00", "0"),
        ("1F", "31"),
        ("C8 FF", "255"),
        ("D7 FE", "254"),
        ("D8 80", "-128"),
        ("C9 00 80", "-32768"),
        ("D9 FF 7F", "32767"),
        ("CA FF FF FF FF", "-1"),
        ("DA 00 00 00 80", "-2147483648"),
        ("CB FF FF FF FF FF FF FF 7F", "9223372036854775807"),
        ("DB 00 00 00 00 00 00 00 80", "-9223372036854775808"),
        ("DC FF FF FF FF", "4294967295"),
        ("C7 FF FF FF FF FF FF FF FF", "18446744073709551615"),
        ("CC 9A 99 99 99 99 99 B9 3F", "0.1"),
        ("CC 00 00 00 00 00 00 08 40", "3"),
        ("CC 00 00 00 00 00 00 00 80", "-0.0"),
        ("CE 00 00 00 00 00 00 E0 BF", "-0.5"),
        ("CD 00 00 20 C0", "-2.5"),
    ] {
        check(hex, text);
    }
    assert_eq!(kind("CC 00 00 00 00 00 00 F0 7F"), ErrorKind::NumberOutOfRange);
    assert_eq!(kind("CD 00 00 C0 7F"), ErrorKind::NumberOutOfRange);
    assert_eq!(kind("CF 00 00"), ErrorKind::UnexpectedMarker(0xcf));
}

#[test]
fn plain_strings() {
    check("80", r#""""#);
    check("83 61 22 0A", r#""a\"\n""#);
    check("C0 02 C3 A9", r#""é""#);
    check("C1 01 00 78", r#""x""#);
    check("C2 01 00 00 00 78", r#""x""#);
    let longest = format!("BF{}", " 61".repeat(63));
    check(&longest, &format!("\"{}\"", "a".repeat(63)));
    assert_eq!(kind("81 FF"), ErrorKind::InvalidString);
    assert_eq!(kind("82 61"), ErrorKind::Truncated);
    assert_eq!(kind("C2 FF FF FF FF 61"), ErrorKind::Truncated);
}

#[test]
fn dictionary_strings() {
    check("20", r#""$s""#);
    check("2C", r#""id""#);
    check("3F", r#""_id""#);
    for hex in ["40", "5F", "60 00", "67 FF"] {
        assert_eq!(kind(hex), ErrorKind::UserString);
    }
}

#[test]
fn compact_strings() {
    for (hex, text) in [
        ("71 01 00 6D 61 6E", "bWFu"),
        ("71 01 01 6D 61", "bWE="),
        ("71 01 02 6D", "bQ=="),
        ("71 01 FE 6D 61", "bWE"),
        ("71 01 FD 6D", "bQ"),
        ("71 00 00", ""),
        ("72 01 00 00 FB EF FF", "++//"),
        ("73 01 00 FB EF FF", "--__"),
        ("74 01 00 FD 6D", "bQ"),
        ("78 03 21 03", "123"),
        ("79 02 BA", "AB"),
        ("7A 0B 13 53 1C C2 42 0E", "2024-01-13T"),
        ("7B 03 41 10 02", "ABC"),
        ("7C 03 61 20 08", "abc"),
        ("7D 04 20 01 00 0C", "!  #"),
        ("7E 03 61 F1 18", "abc"),
        ("7F 03 00 61 F1 18", "abc"),
        ("78 00", ""),
        ("7E 00", ""),
    ] {
        check(hex, &format!("{text:?}"));
    }
}

#[test]
fn broken_compact_strings() {
    assert_eq!(kind("71 01 03 00"), ErrorKind::InvalidString);
    assert_eq!(kind("71 00 01"), ErrorKind::InvalidString);
    assert_eq!(kind("78 01 1F"), ErrorKind::InvalidString);
    assert_eq!(kind("7B 01 FF 01"), ErrorKind::InvalidString);
    assert_eq!(kind("7C 01 7F 01"), ErrorKind::InvalidString);
    assert_eq!(kind("70"), ErrorKind::UnexpectedMarker(0x70));
}

#[test]
fn guids() {
    let bytes = "10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE";
    check(&format!("75 {bytes}"), r#""01234567-89ab-cdef-0123-456789abcdef""#);
    check(&format!("76 {bytes}"), r#""01234567-89AB-CDEF-0123-456789ABCDEF""#);
    check(&format!("77 {bytes}"), r#""\"01234567-89ab-cdef-0123-456789abcdef\"""#);
    check(&format!("D3 {bytes}"), r#""76543210-ba98-fedc-1032-547698badcfe""#);
}

#[test]
fn blobs() {
    check("DD 01 6D", r#""bQ==""#);
    check("DE 00 00", r#""""#);
    check("DF 02 00 00 00 6D 61", r#""bWE=""#);
}

#[test]
fn references_lead_to_strings_of_the_body() {
    // Offsets count from the body's first byte: the string `ab` is at 3.
    check("E2 05 82 61 62 C3 03", r#"["ab","ab"]"#);
    check("E2 06 82 61 62 C4 03 00", r#"["ab","ab"]"#);
    check("E2 07 82 61 62 C5 03 00 00", r#"["ab","ab"]"#);
    check("E2 08 82 61 62 C6 03 00 00 00", r#"["ab","ab"]"#);
    check("EA 05 82 61 62 C3 03", r#"{"ab":"ab"}"#);
    // To itself, to a number, beyond the body.
    assert_eq!(kind("C3 01"), ErrorKind::InvalidReference);
    assert_eq!(kind("E2 03 05 C3 03"), ErrorKind::InvalidReference);
    assert_eq!(kind("C6 FF FF FF FF"), ErrorKind::InvalidReference);
}

#[test]
fn arrays_and_objects() {
    for (hex, text) in [
        ("E0", "[]"),
        ("E1 E0", "[[]]"),
        ("E2 00", "[]"),
        ("E2 02 01 02", "[1,2]"),
        ("E3 02 00 01 02", "[1,2]"),
        ("E4 02 00 00 00 01 02", "[1,2]"),
        ("E5 02 02 01 02", "[1,2]"),
        ("E6 02 00 02 00 01 02", "[1,2]"),
        ("E7 02 00 00 00 02 00 00 00 01 02", "[1,2]"),
        ("E8", "{}"),
        ("E9 2C D0", r#"{"id":null}"#),
        ("EB 03 00 81 61 01", r#"{"a":1}"#),
        ("EC 03 00 00 00 81 61 01", r#"{"a":1}"#),
        ("ED 03 01 81 61 01", r#"{"a":1}"#),
        ("EE 03 00 01 00 81 61 01", r#"{"a":1}"#),
        ("EF 03 00 00 00 01 00 00 00 81 61 01", r#"{"a":1}"#),
        ("EA 06 81 61 01 81 61 02", r#"{"a":1,"a":2}"#),
    ] {
        check(hex, text);
    }
    assert_eq!(kind("EA 04 81 61 01 E8"), ErrorKind::UnexpectedMarker(0xe8));
    assert_eq!(kind("E5 02 03 01 02"), ErrorKind::WrongCount);
    assert_eq!(kind("ED 03 02 81 61 01"), ErrorKind::WrongCount);
    assert_eq!(kind("E2 01 C8 05"), ErrorKind::Truncated);
    assert_eq!(kind("E2 05 01"), ErrorKind::Truncated);
    assert_eq!(kind("E9 01 01"), ErrorKind::UnexpectedMarker(1));
    assert_eq!(kind("E9 81 61"), ErrorKind::Truncated);
    assert_eq!(kind("D0 D0"), ErrorKind::Trailing);
    assert_eq!(kind(""), ErrorKind::Truncated);
    for marker in ["D4", "D5", "D6", "F4", "F8", "FF"] {
        assert!(matches!(kind(marker), ErrorKind::UnexpectedMarker(_)));
    }
}

#[test]
fn arrays_of_numbers() {
    for (hex, text) in [
        ("F0 D7 03 01 02 FF", "[1,2,255]"),
        ("F0 D8 02 01 FF", "[1,-1]"),
        ("F1 D9 01 00 00 80", "[-32768]"),
        ("F0 DA 00", "[]"),
        ("F0 CD 01 00 00 80 3F", "[1]"),
        ("F0 CE 01 00 00 00 00 00 00 F8 3F", "[1.5]"),
        ("F0 DC 01 FF FF FF FF", "[4294967295]"),
        ("F0 DB 01 FF FF FF FF FF FF FF FF", "[-1]"),
        ("F2 F0 D7 02 03 01 02 03 04 05 06", "[[1,2],[3,4],[5,6]]"),
        ("F3 F1 D8 01 00 02 00 01 FF", "[[1],[-1]]"),
        ("F2 F0 D7 00 02", "[[],[]]"),
    ] {
        check(hex, text);
    }
    assert_eq!(kind("F0 C8 01 01"), ErrorKind::UnexpectedMarker(0xc8));
    assert_eq!(kind("F2 F1 D7 01 01 01"), ErrorKind::UnexpectedMarker(0xf1));
    assert_eq!(kind("F1 D7 FF FF 01"), ErrorKind::Truncated);
}

#[test]
fn depth_and_length_are_bounded() {
    let mut deep = vec![0xe1; json::DEPTH_MAX - 1];
    deep.insert(0, PREAMBLE);
    deep.push(0xe0);
    assert!(json::parse(&to_text(&deep).unwrap()).is_ok());
    deep.insert(1, 0xe1);
    assert_eq!(to_text(&deep).unwrap_err().kind, ErrorKind::TooDeep);

    // A long string and many references to it.
    let mut body = vec![PREAMBLE, 0xe4, 0, 0, 0, 0, 0xc1, 0xff, 0xff];
    body.extend(vec![b'x'; 0xffff]);
    body.extend([0xc3, 6].repeat(1000));
    let length = u32::try_from(body.len() - 6).unwrap();
    body[2..6].copy_from_slice(&length.to_le_bytes());
    assert_eq!(to_text(&body).unwrap_err().kind, ErrorKind::TooLong);

    // Many arrays of many empty arrays.
    let mut body = vec![PREAMBLE, 0xe4, 0, 0, 0, 0];
    body.extend([0xf3, 0xf1, 0xd7, 0, 0, 0xff, 0xff].repeat(1000));
    let length = u32::try_from(body.len() - 6).unwrap();
    body[2..6].copy_from_slice(&length.to_le_bytes());
    assert_eq!(to_text(&body).unwrap_err().kind, ErrorKind::TooLong);
}

#[test]
fn errors_say_what_and_where() {
    let message = to_text(&body("E2 02 01 40")).unwrap_err().to_string();
    assert_eq!(message, "user string without a dictionary at offset 4 of a binary body");
}

proptest! {
    #[test]
    fn any_bytes_give_valid_text_or_an_error(mut bytes: Vec<u8>) {
        bytes.insert(0, PREAMBLE);
        if let Ok(text) = to_text(&bytes) {
            let parsed = json::parse(&text);
            let is_duplicate =
                matches!(&parsed, Err(error) if matches!(error.kind, json::ErrorKind::DuplicateKey(_)));
            prop_assert!(parsed.is_ok() || is_duplicate);
        }
    }
}
