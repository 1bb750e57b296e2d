//! Text to value, by recursive descent over bytes known to be UTF-8.

use std::{borrow::Cow, collections::HashSet};

use super::members::Member;
use super::{DEPTH_MAX, Error, ErrorKind, skip_white_space, string, unexpected};
use crate::{Number, Object, Value};

/// Parses a text that is one JSON value.
pub fn parse(text: &[u8]) -> Result<Value, Error> {
    let mut parser = Parser::new(text)?;
    let value = parser.value(1)?;
    parser.finish()?;
    Ok(value)
}

/// Checks a text as [`parse`] does, without building its value. Returns how many elements it has if it is
/// an array, and `None` for every other value.
pub fn check(text: &[u8]) -> Result<Option<usize>, Error> {
    let mut parser = Parser::new(text)?;
    let is_array = parser.peek() == Some(b'[');
    let elements = if is_array { Some(parser.check_array(1)?) } else { None };
    if !is_array {
        parser.check(1)?;
    }
    parser.finish()?;
    Ok(elements)
}

/// A text that is an object: its value, and what a write needs to set system properties without
/// re-serializing the rest.
#[derive(Debug)]
pub struct Document<'a> {
    /// Its value.
    pub value: Value,
    /// The spans of its members.
    pub members: Vec<Member<'a>>,
    /// Whether [`compact`](super::compact) would change nothing.
    pub is_compact: bool,
    /// How many bytes escaping raw control characters adds.
    pub escape_bytes: usize,
}

/// Parses a text that is one object.
pub fn parse_document(text: &[u8]) -> Result<Document<'_>, Error> {
    let mut parser = Parser::new(text)?;
    let start = parser.at;
    let mut members = Vec::with_capacity(16);
    if parser.peek() != Some(b'{') {
        // If the text is not JSON at all, report that error instead.
        parser.value(1)?;
        parser.finish()?;
        return Err(ErrorKind::NotAnObject.at(start));
    }
    let object = parser.object(1, Some(&mut members))?;
    parser.finish()?;
    let Parser { has_white_space, escape_bytes, .. } = parser;
    let is_compact = !has_white_space && escape_bytes == 0;
    Ok(Document { value: Value::Object(object), members, is_compact, escape_bytes })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Outside strings.
    has_white_space: bool,
    /// How many bytes escaping raw control characters adds.
    escape_bytes: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Result<Self, Error> {
        let text =
            str::from_utf8(text).map_err(|error| ErrorKind::InvalidUtf8.at(error.valid_up_to()))?;
        let mut parser = Parser { text, at: 0, has_white_space: false, escape_bytes: 0 };
        parser.white_space();
        Ok(parser)
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.white_space();
        if self.at < self.text.len() { Err(ErrorKind::Trailing.at(self.at)) } else { Ok(()) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn white_space(&mut self) {
        let start = self.at;
        self.at = skip_white_space(self.text.as_bytes(), start);
        self.has_white_space |= self.at > start;
    }

    fn unexpected(&self) -> Error {
        unexpected(self.text.as_bytes(), self.at)
    }

    /// Parses a value; `depth` counts it and the arrays and objects around it.
    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        match self.peek() {
            Some(b'"') => self.string().map(|text| Value::String(text.into_owned())),
            Some(b'{') => self.object(depth, None).map(Value::Object),
            Some(b'[') => self.array(depth).map(Value::Array),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn literal(&mut self, literal: &str, value: Value) -> Result<Value, Error> {
        for byte in literal.bytes() {
            if !self.eat(byte) {
                return Err(self.unexpected());
            }
        }
        Ok(value)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        let string::Quoted { text, end, escape_bytes } = string::read(self.text, self.at)?;
        self.at = end;
        self.escape_bytes += escape_bytes;
        Ok(text)
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, Error> {
        self.open(depth)?;
        let mut elements = Vec::new();
        if self.eat(b']') {
            return Ok(elements);
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if self.closes(b']')? {
                return Ok(elements);
            }
        }
    }

    /// Parses an object; records its members in `members` if the caller wants their spans.
    fn object(
        &mut self,
        depth: usize,
        mut members: Option<&mut Vec<Member<'a>>>,
    ) -> Result<Object, Error> {
        self.open(depth)?;
        let mut object = Object::new();
        if self.eat(b'}') {
            return Ok(object);
        }
        loop {
            let start = self.at;
            let key = self.string()?;
            if object.contains_key(&key) {
                return Err(ErrorKind::DuplicateKey(key.into_owned()).at(start));
            }
            self.white_space();
            if !self.eat(b':') {
                return Err(self.unexpected());
            }
            self.white_space();
            let value_start = self.at;
            let value = self.value(depth + 1)?;
            if let Some(members) = members.as_deref_mut() {
                let (span, value) = (start..self.at, value_start..self.at);
                members.push(Member { key: key.clone(), span, value });
            }
            object.push_unique(key.into_owned(), value);
            if self.closes(b'}')? {
                return Ok(object);
            }
        }
    }

    /// Checks a value like [`value`](Self::value).
    fn check(&mut self, depth: usize) -> Result<(), Error> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.check_object(depth),
            Some(b'[') => self.check_array(depth).map(drop),
            _ => self.value(depth).map(drop),
        }
    }

    /// Returns how many elements it has.
    fn check_array(&mut self, depth: usize) -> Result<usize, Error> {
        self.open(depth)?;
        if self.eat(b']') {
            return Ok(0);
        }
        let mut elements = 0;
        loop {
            self.check(depth + 1)?;
            elements += 1;
            if self.closes(b']')? {
                return Ok(elements);
            }
        }
    }

    fn check_object(&mut self, depth: usize) -> Result<(), Error> {
        self.open(depth)?;
        if self.eat(b'}') {
            return Ok(());
        }
        let mut keys = Keys::default();
        loop {
            let start = self.at;
            let key = self.string()?;
            if keys.contains(&key) {
                return Err(ErrorKind::DuplicateKey(key.into_owned()).at(start));
            }
            keys.add(key);
            self.white_space();
            if !self.eat(b':') {
                return Err(self.unexpected());
            }
            self.white_space();
            self.check(depth + 1)?;
            if self.closes(b'}')? {
                return Ok(());
            }
        }
    }

    /// Skips an opening bracket.
    fn open(&mut self, depth: usize) -> Result<(), Error> {
        if depth > DEPTH_MAX {
            return Err(ErrorKind::TooDeep.at(self.at));
        }
        self.at += 1;
        self.white_space();
        Ok(())
    }

    /// Skips the token after an element: returns true for the closing bracket, and requires a comma
    /// otherwise.
    fn closes(&mut self, bracket: u8) -> Result<bool, Error> {
        self.white_space();
        if self.eat(bracket) {
            return Ok(true);
        }
        if !self.eat(b',') {
            return Err(self.unexpected());
        }
        self.white_space();
        Ok(false)
    }

    fn number(&mut self) -> Result<Number, Error> {
        let start = self.at;
        let shape = Shape::scan(&self.text.as_bytes()[start..])
            .ok_or_else(|| ErrorKind::InvalidNumber.at(start))?;
        self.at += shape.length;
        if let Some(double) = shape.simple() {
            return Ok(Number::from_f64(double));
        }
        let text = &self.text[start..self.at];
        let double: f64 = text.parse().map_err(|_| ErrorKind::InvalidNumber.at(start))?;
        if double.is_infinite() {
            return Err(ErrorKind::NumberOutOfRange.at(start));
        }
        Ok(Number::with_text(double, Some(text)))
    }
}

/// The keys of an object that is only checked.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    /// So many are faster compared one by one.
    const FEW_MAX: usize = 16;

    fn contains(&self, key: &str) -> bool {
        self.few.iter().any(|other| other == key) || self.many.contains(key)
    }

    fn add(&mut self, key: Cow<'a, str>) {
        if self.few.len() < Self::FEW_MAX {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
    }
}

/// The form of a number, recorded while its grammar is checked.
struct Shape {
    is_negative: bool,
    /// All digits before an exponent as one integer; meaningless when there are too many.
    mantissa: u64,
    digits: usize,
    fraction_digits: usize,
    has_exponent: bool,
    length: usize,
}

impl Shape {
    /// Scans the longest number at the start of `bytes`; `None` if the grammar is violated.
    fn scan(bytes: &[u8]) -> Option<Shape> {
        let is_negative = bytes.first() == Some(&b'-');
        let mut at = usize::from(is_negative);
        let mut mantissa = 0_u64;
        let mut digits = |at: &mut usize| {
            let start = *at;
            while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
                *at += 1;
            }
            *at - start
        };
        let leading_zero = bytes.get(at) == Some(&b'0');
        let whole_digits = digits(&mut at);
        if whole_digits == 0 || (leading_zero && whole_digits > 1) {
            return None;
        }
        let mut fraction_digits = 0;
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            fraction_digits = digits(&mut at);
            if fraction_digits == 0 {
                return None;
            }
        }
        let has_exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
        if has_exponent {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            let exponent_digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let count = exponent_digits.count();
            if count == 0 {
                return None;
            }
            at += count;
        }
        let digits = whole_digits + fraction_digits;
        Some(Shape { is_negative, mantissa, digits, fraction_digits, has_exponent, length: at })
    }

    /// The double of a short plain number, if it is certain to print as written.
    ///
    /// A decimal of at most fifteen digits is the only one of that length for its double, so that
    /// is what prints, unless it has a trailing zero or is small enough for an exponent. Both
    /// operands of the division are exact, so its result is rounded once, correctly.
    fn simple(&self) -> Option<f64> {
        const POWERS: [f64; 16] =
            [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        if self.has_exponent || self.digits > 15 {
            return None;
        }
        let mut double = self.mantissa as f64;
        if self.fraction_digits > 0 {
            double /= POWERS[self.fraction_digits];
            if self.mantissa.is_multiple_of(10) || double < 1e-6 {
                return None;
            }
        } else if self.is_negative && self.mantissa == 0 {
            return None;
        }
        Some(if self.is_negative { -double } else { double })
    }
}

#[cfg(test)]
mod tests;
