//! Text to tokens. Lexing never fails: invalid text becomes the last token, and the parser reports
//! it if it gets that far.

use crate::error::{Code, Error, Span};
use crate::token::{Keyword, Token, TokenKind};
use value::Number;

/// The signs, the longer before those they begin with.
const SIGNS: [&str; 31] = [
    ">>>", ">>", ">=", ">", "<<", "<=", "<>", "<", "!=", "=", "||", "|", "??", "?", "(", ")", "[",
    "]", "{", "}", ",", ":", ".", "*", "/", "%", "+", "-", "&", "^", "~",
];

/// The tokens of `text`; the last is always `End` or `Invalid`.
pub fn tokenize(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next().unwrap_or_else(|error| {
            let span = error.span.unwrap_or_default();
            Token { kind: TokenKind::Invalid(Box::new(error)), span }
        });
        let is_last = matches!(token.kind, TokenKind::End | TokenKind::Invalid(_));
        tokens.push(token);
        if is_last {
            return tokens;
        }
    }
}

/// Whether `text` can be a name without quotes.
pub(crate) fn is_name(text: &str) -> bool {
    let is_word = text.bytes().all(is_word_byte) && !text.is_empty();
    let is_free = Keyword::parse(text).is_none_or(|keyword| !keyword.is_reserved());
    is_word && is_free && !text.as_bytes()[0].is_ascii_digit()
}

/// Names are ASCII; everything else needs brackets: `c["größe"]`.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Token, Error> {
        self.skip_blanks()?;
        let start = self.at;
        let kind = match self.peek(0) {
            None => TokenKind::End,
            Some(b'"' | b'\'') => self.string()?,
            Some(b'@') if self.peek(1).is_some_and(is_word_byte) => {
                self.at += 1;
                self.skip_word();
                TokenKind::Parameter
            }
            Some(byte) if byte.is_ascii_digit() => self.number()?,
            Some(b'.') if self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) => {
                self.number()?
            }
            Some(byte) if is_word_byte(byte) => {
                self.skip_word();
                Keyword::parse(&self.text[start..self.at])
                    .map_or(TokenKind::Name, TokenKind::Keyword)
            }
            Some(_) => self.sign()?,
        };
        Ok(Token { kind, span: Span::new(start, self.at) })
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_word(&mut self) {
        while self.peek(0).is_some_and(is_word_byte) {
            self.at += 1;
        }
    }

    fn skip_digits(&mut self) -> usize {
        let start = self.at;
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// Skips white space and comments. A block comment without an end takes the rest of the text
    /// with it, so that the complaint is the end of the file.
    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("--") {
                self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(unexpected_end(self.text));
                };
                self.at += end + 4;
            } else {
                let trimmed = rest.trim_start();
                if trimmed.len() == rest.len() {
                    return Ok(());
                }
                self.at += rest.len() - trimmed.len();
            }
        }
    }

    fn sign(&mut self) -> Result<TokenKind, Error> {
        let rest = &self.text[self.at..];
        let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
            let end = self.at + rest.chars().next().map_or(0, char::len_utf8);
            let span = Span::new(self.at, end);
            let message = format!("Syntax error, invalid token '{}'.", span.of(self.text));
            return Err(Error::new(Code::InvalidToken, message, span));
        };
        self.at += sign.len();
        Ok(TokenKind::Sign(if *sign == "<>" { "!=" } else { sign }))
    }

    /// Numbers are read leniently (`1.`, `.5`, `007`), as the clients' grammars do.
    fn number(&mut self) -> Result<TokenKind, Error> {
        let start = self.at;
        let rest = &self.text[start..];
        if rest.starts_with("0x") || rest.starts_with("0X") {
            self.skip_word();
            let digits = &self.text[start + 2..self.at];
            let number = u64::from_str_radix(digits, 16).map_err(|_| self.bad_number(start))?;
            // Beyond the integers of the service a number is a double.
            let exact = i64::try_from(number).map(Number::from_i64);
            return Ok(TokenKind::Number(
                exact.unwrap_or_else(|_| Number::from_f64(number as f64)),
            ));
        }
        self.skip_digits();
        if self.peek(0) == Some(b'.') {
            self.at += 1;
            self.skip_digits();
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let has_sign = matches!(self.peek(1), Some(b'+' | b'-'));
            self.at += if has_sign { 2 } else { 1 };
            if self.skip_digits() == 0 {
                return Err(self.bad_number(start));
            }
        }
        if self.peek(0).is_some_and(is_word_byte) {
            return Err(self.bad_number(start));
        }
        let text = &self.text[start..self.at];
        if let Ok(integer) = text.parse() {
            return Ok(TokenKind::Number(Number::from_i64(integer)));
        }
        match text.parse::<f64>() {
            Ok(double) if double.is_finite() => Ok(TokenKind::Number(Number::from_f64(double))),
            _ => Err(self.bad_number(start)),
        }
    }

    /// The complaint about the number from `start` and all that sticks to it.
    fn bad_number(&mut self, start: usize) -> Error {
        self.skip_word();
        let span = Span::new(start, self.at);
        let text = span.of(self.text);
        let message = format!("Syntax error, invalid numeric value token '{text}'.");
        Error::new(Code::InvalidNumber, message, span)
    }

    /// Reads a string in either quotes. Raw line breaks are allowed, doubled quotes are not.
    fn string(&mut self) -> Result<TokenKind, Error> {
        let start = self.at;
        let quote = if self.peek(0) == Some(b'"') { '"' } else { '\'' };
        // COMPAT: whatever is wrong with a string, the service points to its opening quote.
        let error = || {
            let message = format!("Syntax error, invalid string literal token '{quote}'.");
            Error::new(Code::InvalidString, message, Span::new(start, start + 1))
        };
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find([quote, '\\']).ok_or_else(error)?;
            out.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest[plain..].starts_with(quote) {
                return Ok(TokenKind::String(out));
            }
            out.push(self.escape().ok_or_else(error)?);
        }
    }

    /// Reads what follows a backslash. Half a surrogate pair is refused: no text can hold it.
    fn escape(&mut self) -> Option<char> {
        let byte = self.peek(0)?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\'' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex4()?;
                let mut units = vec![high];
                if (0xd800..0xdc00).contains(&high) {
                    (self.peek(0)? == b'\\' && self.peek(1)? == b'u').then(|| self.at += 2)?;
                    units.push(self.hex4()?);
                }
                char::decode_utf16(units).next()?.ok()?
            }
            _ => {
                // Step back: the byte may be the first of several.
                self.at -= 1;
                return None;
            }
        })
    }

    fn hex4(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }
}

/// The complaint that something is missing at the end.
pub(crate) fn unexpected_end(text: &str) -> Error {
    let end = Span::new(text.len(), text.len());
    Error::new(Code::UnexpectedEnd, "Syntax error, unexpected end-of-file.", end)
}

#[cfg(test)]
mod tests;
