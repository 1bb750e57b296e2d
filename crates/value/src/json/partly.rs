//! A stored document as a value of which only some members are needed: the others are skipped.

use super::members::{skip_value, string_end};
use super::{Error, ErrorKind, skip_white_space, string, unexpected};
use crate::{Object, Value};

/// Which top-level members of a document are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Every one.
    #[default]
    All,
    /// Those with these names, each of them once.
    Some(Vec<String>),
}

/// More names than this are not worth looking for.
const NAMES_MAX: usize = 16;

impl Wanted {
    /// Wants a member, too.
    pub fn add(&mut self, name: &str) {
        let Self::Some(names) = self else { return };
        if names.iter().any(|known| known == name) {
            return;
        }
        if names.len() < NAMES_MAX {
            names.push(name.to_owned());
        } else {
            *self = Self::All;
        }
    }
}

/// Parses those members of an object that are wanted, in their order. For texts that
/// [`parse`](super::parse) has accepted: others are skipped without checking, and what follows the
/// last wanted one is not looked at. A text of any other value is parsed as a whole.
pub fn parse_wanted(text: &[u8], wanted: &Wanted) -> Result<Value, Error> {
    let start = skip_white_space(text, 0);
    let (Wanted::Some(names), Some(b'{')) = (wanted, text.get(start)) else {
        return super::parse(text);
    };
    let mut object = Object::with_capacity(names.len());
    let mut at = skip_white_space(text, start + 1);
    if text.get(at) == Some(&b'}') {
        return Ok(Value::Object(object));
    }
    while object.len() < names.len() {
        let (name, end) = wanted_name(text, at, names)?;
        at = skip_white_space(text, end);
        if text.get(at) != Some(&b':') {
            return Err(unexpected(text, at));
        }
        let value_start = skip_white_space(text, at + 1);
        at = match name {
            None => skip_value(text, value_start)?,
            Some(name) if object.contains_key(name) => {
                return Err(ErrorKind::DuplicateKey(name.clone()).at(value_start));
            }
            Some(name) => {
                let (value, end) = value_at(text, value_start)?;
                object.push_unique(name.clone(), value);
                end
            }
        };
        at = skip_white_space(text, at);
        match text.get(at) {
            Some(b'}') => break,
            Some(b',') => at = skip_white_space(text, at + 1),
            _ => return Err(unexpected(text, at)),
        }
    }
    Ok(Value::Object(object))
}

/// The value at `at`, and the offset after it.
fn value_at(text: &[u8], at: usize) -> Result<(Value, usize), Error> {
    if text.get(at) == Some(&b'"') {
        let (end, is_plain) = string_end(text, at)?;
        if is_plain && let Ok(content) = str::from_utf8(&text[at + 1..end - 1]) {
            return Ok((Value::String(content.to_owned()), end));
        }
    }
    let end = skip_value(text, at)?;
    Ok((super::parse(&text[at..end])?, end))
}

/// Which of the names the key at `at` is, if it is one, and the offset after it.
fn wanted_name<'n>(
    text: &[u8],
    at: usize,
    names: &'n [String],
) -> Result<(Option<&'n String>, usize), Error> {
    if text.get(at) != Some(&b'"') {
        return Err(unexpected(text, at));
    }
    let (end, is_plain) = string_end(text, at)?;
    if is_plain {
        let key = &text[at + 1..end - 1];
        return Ok((names.iter().find(|name| name.as_bytes() == key), end));
    }
    let quoted = str::from_utf8(&text[at..end])
        .map_err(|error| ErrorKind::InvalidUtf8.at(error.valid_up_to()))?;
    let key = string::read(quoted, 0)?.text;
    Ok((names.iter().find(|name| **name == key), end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{parse, print};
    use crate::testing::json_value;

    fn wanted(names: &[&str]) -> Wanted {
        Wanted::Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn wanted_members_come_in_their_order() {
        let text = br#" { "a" : {"b":[1,"}"]} , "c\u0064":2,"e":"\"","f":null } "#;
        let printed = |names: &[&str]| print(&parse_wanted(text, &wanted(names)).unwrap());
        assert_eq!(printed(&["f", "cd"]), r#"{"cd":2,"f":null}"#);
        assert_eq!(printed(&["e", "z"]), r#"{"e":"\""}"#);
        assert_eq!(printed(&[]), "{}");
        assert_eq!(parse_wanted(text, &Wanted::All), parse(text));
        assert_eq!(parse_wanted(b"[1]", &wanted(&["a"])), parse(b"[1]"));
        assert_eq!(parse_wanted(b" { } ", &wanted(&["a"])), parse(b"{}"));
    }

    #[test]
    fn wanted_values_are_whole() {
        let value = |text: &[u8]| parse_wanted(text, &wanted(&["a"])).map(|it| print(&it));
        let escaped = br#"{"a":"x\u0079\\","b":"#;
        assert_eq!(value(escaped).unwrap(), r#"{"a":"xy\\"}"#);
        assert_eq!(value("{\"a\":\"ä\tz\"}".as_bytes()).unwrap(), r#"{"a":"ä\tz"}"#);
        for bad in [&b"{\"a\":\"\xff\"}"[..], br#"{"a":"x"#, br#"{"a":"x\""#, br#"{"a":}"#] {
            assert!(value(bad).is_err());
        }
    }

    #[test]
    fn too_many_names_are_all() {
        let mut wanted = Wanted::Some(Vec::new());
        for number in 0..NAMES_MAX {
            wanted.add(&number.to_string());
            wanted.add("0");
        }
        assert!(matches!(&wanted, Wanted::Some(names) if names.len() == NAMES_MAX));
        wanted.add("x");
        assert_eq!(wanted, Wanted::All);
        wanted.add("y");
        assert_eq!(wanted, Wanted::All);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes: Vec<u8>, open: bool) {
            let bytes = if open { [b"{\"a\":", &bytes[..]].concat() } else { bytes };
            let _ = parse_wanted(&bytes, &wanted(&["a", "b"]));
        }

        #[test]
        fn what_is_wanted_is_as_in_the_whole(
            members in proptest::collection::vec(("[a-d]{1,2}", json_value()), 0..8),
            names in proptest::collection::vec("[a-d]{1,2}", 0..4),
        ) {
            let object: Object = members.into_iter().collect();
            let mut wanted = Wanted::Some(Vec::new());
            for name in &names {
                wanted.add(name);
            }
            let text = print(&object.clone().into());
            let partly = parse_wanted(text.as_bytes(), &wanted).unwrap();
            let expected = object.into_iter().filter(|(name, _)| names.contains(name));
            prop_assert_eq!(print(&partly), print(&Value::from(expected.collect::<Object>())));
        }
    }
}
