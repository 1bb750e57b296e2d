//! The top-level members of a stored document, found without building its values.

use std::borrow::Cow;
use std::ops::Range;

use super::string::{self, plain_end};
use super::{Error, ErrorKind, skip_white_space, unexpected};

/// A top-level member of a document's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key, unescaped.
    pub key: Cow<'a, str>,
    /// From the key's opening quote to the end of the value.
    pub span: Range<usize>,
    /// The value alone.
    pub value: Range<usize>,
}

/// The top-level members of a text that is an object. For texts that [`parse`](super::parse) has
/// accepted: values are skipped without checking.
pub fn members(text: &[u8]) -> Result<Vec<Member<'_>>, Error> {
    let text =
        str::from_utf8(text).map_err(|error| ErrorKind::InvalidUtf8.at(error.valid_up_to()))?;
    let bytes = text.as_bytes();
    let mut members = Vec::with_capacity(16);
    let mut at = skip_white_space(bytes, 0);
    if bytes.get(at).is_some_and(|byte| *byte != b'{') {
        return Err(ErrorKind::NotAnObject.at(at));
    }
    at = skip_white_space(bytes, expect(bytes, at, b'{')?);
    if bytes.get(at) == Some(&b'}') {
        return finish(bytes, at + 1, members);
    }
    loop {
        let start = at;
        let string::Quoted { text: key, end, .. } = string::read(text, start)?;
        at = expect(bytes, skip_white_space(bytes, end), b':')?;
        let value_start = skip_white_space(bytes, at);
        at = skip_value(bytes, value_start)?;
        members.push(Member { key, span: start..at, value: value_start..at });
        at = skip_white_space(bytes, at);
        match bytes.get(at) {
            Some(b'}') => return finish(bytes, at + 1, members),
            Some(b',') => at = skip_white_space(bytes, at + 1),
            _ => return Err(unexpected(bytes, at)),
        }
    }
}

/// The spans of the elements of a text that is an array. Elements are skipped without checking;
/// callers parse the ones they use.
pub fn elements(text: &[u8]) -> Result<Vec<Range<usize>>, Error> {
    let mut elements = Vec::new();
    let mut at = skip_white_space(text, expect(text, skip_white_space(text, 0), b'[')?);
    if text.get(at) == Some(&b']') {
        at += 1;
    } else {
        loop {
            let end = skip_value(text, at)?;
            elements.push(at..end);
            at = skip_white_space(text, end);
            match text.get(at) {
                Some(b',') => at = skip_white_space(text, at + 1),
                _ => break,
            }
        }
        at = expect(text, at, b']')?;
    }
    let end = skip_white_space(text, at);
    if end < text.len() { Err(ErrorKind::Trailing.at(end)) } else { Ok(elements) }
}

fn finish<'a>(bytes: &[u8], at: usize, members: Vec<Member<'a>>) -> Result<Vec<Member<'a>>, Error> {
    let at = skip_white_space(bytes, at);
    if at < bytes.len() { Err(ErrorKind::Trailing.at(at)) } else { Ok(members) }
}

fn expect(bytes: &[u8], at: usize, byte: u8) -> Result<usize, Error> {
    if bytes.get(at) == Some(&byte) { Ok(at + 1) } else { Err(unexpected(bytes, at)) }
}

/// The offset after the value at `at`.
pub(super) fn skip_value(bytes: &[u8], at: usize) -> Result<usize, Error> {
    match bytes.get(at) {
        Some(b'"') => skip_string(bytes, at),
        Some(b'{' | b'[') => skip_container(bytes, at),
        None => Err(ErrorKind::UnexpectedEnd.at(bytes.len())),
        _ => {
            let scalar = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.');
            match bytes[at..].iter().take_while(scalar).count() {
                0 => Err(unexpected(bytes, at)),
                length => Ok(at + length),
            }
        }
    }
}

/// The offset after the closing quote of the string that starts at `at`.
fn skip_string(bytes: &[u8], at: usize) -> Result<usize, Error> {
    string_end(bytes, at).map(|(end, _)| end)
}

/// The offset after the closing quote of the string that starts at `at`, and whether the string has
/// no escape.
#[inline]
pub(super) fn string_end(bytes: &[u8], at: usize) -> Result<(usize, bool), Error> {
    let (mut at, mut is_plain) = (at + 1, true);
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, is_plain)),
            // The escaped character cannot end the string.
            Some(b'\\') => (at, is_plain) = (at + 2, false),
            // A control character.
            Some(_) => at += 1,
            None => return Err(ErrorKind::UnexpectedEnd.at(bytes.len())),
        }
    }
}

/// The offset after the bracket that closes the one at `at`. Counting is enough, because the kinds
/// of brackets match in an accepted text.
fn skip_container(bytes: &[u8], mut at: usize) -> Result<usize, Error> {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = skip_string(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(ErrorKind::UnexpectedEnd.at(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{parse, parse_document, print};
    use crate::testing::json_value;
    use crate::{Object, Value};
    use proptest::prelude::*;

    #[test]
    fn spans_cover_key_and_value() {
        let text = br#" { "a" : 1 , "b\n":{"x":"}\""},"c":[ ] } "#;
        let spans: Vec<_> = members(text)
            .unwrap()
            .into_iter()
            .map(|member| {
                let text = |range: Range<usize>| str::from_utf8(&text[range]).unwrap();
                (member.key, text(member.span), text(member.value))
            })
            .collect();
        assert_eq!(spans[0], ("a".into(), r#""a" : 1"#, "1"));
        assert_eq!(spans[1], ("b\n".into(), r#""b\n":{"x":"}\""}"#, r#"{"x":"}\""}"#));
        assert_eq!(spans[2], ("c".into(), r#""c":[ ]"#, "[ ]"));
        assert_eq!(parse_document(text).unwrap().members, members(text).unwrap());
    }

    #[test]
    fn elements_are_where_they_are() {
        let text = br#" [ {"a":[1,"]"]} ,2 , "x,y",[] ] "#;
        let spans = elements(text).unwrap();
        let texts: Vec<_> =
            spans.into_iter().map(|it| str::from_utf8(&text[it]).unwrap()).collect();
        assert_eq!(texts, [r#"{"a":[1,"]"]}"#, "2", r#""x,y""#, "[]"]);
        assert_eq!(elements(b"[ ]").unwrap(), []);
        for bad in ["", "{}", "[", "[1", "[1,]", "[,1]", "[1]]", "[1 2]", "[{]", "1"] {
            assert!(elements(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let kind = |text: &[u8]| members(text).unwrap_err().kind;
        assert_eq!(kind(b""), ErrorKind::UnexpectedEnd);
        assert_eq!(kind(b"[1]"), ErrorKind::NotAnObject);
        assert_eq!(kind(b"{"), ErrorKind::UnexpectedEnd);
        assert_eq!(kind(br#"{"a":"#), ErrorKind::UnexpectedEnd);
        assert_eq!(kind(br#"{"a":[}"#), ErrorKind::UnexpectedEnd);
        assert_eq!(kind(br#"{"a":1,}"#), ErrorKind::Unexpected('}'));
        assert_eq!(kind(br#"{"a":1} x"#), ErrorKind::Trailing);
        assert_eq!(kind(br#"{"a":"\"#), ErrorKind::UnexpectedEnd);
        assert_eq!(members(b"{}").unwrap(), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes: Vec<u8>) {
            let _ = members(&bytes);
            let _ = parse_document(&bytes);
            let _ = elements(&bytes);
        }

        #[test]
        fn each_value_span_parses_to_the_member(
            value in proptest::collection::vec(("\\PC*", json_value()), 0..8)
        ) {
            let object: Object = value.into_iter().collect();
            let text = print(&object.clone().into());
            let document = parse_document(text.as_bytes()).unwrap();
            let from_parse = document.members;
            prop_assert_eq!(document.value, Value::from(object.clone()));
            prop_assert_eq!(&from_parse, &members(text.as_bytes()).unwrap());
            for member in from_parse {
                let value = parse(&text.as_bytes()[member.value]).unwrap();
                prop_assert_eq!(Some(&value), object.get(&member.key));
            }
        }
    }
}
