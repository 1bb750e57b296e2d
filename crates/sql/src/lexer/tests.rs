use super::*;

/// The tokens in short: kinds with their decoded content.
fn shown(text: &str) -> String {
    let show = |token: &Token| match &token.kind {
        TokenKind::Name => format!("name:{}", token.span.of(text)),
        TokenKind::Keyword(keyword) => format!("{keyword:?}"),
        TokenKind::Parameter => token.span.of(text).to_owned(),
        TokenKind::Number(number) => number.text().into_owned(),
        TokenKind::String(string) => format!("{string:?}"),
        TokenKind::Sign(sign) => (*sign).to_owned(),
        TokenKind::End => "end".to_owned(),
        TokenKind::Invalid(error) => {
            let span = error.span.unwrap();
            format!("{} {}-{}", error.code, span.start, span.end)
        }
    };
    tokenize(text).iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn texts_become_tokens() {
    for (text, expected) in [
        ("", "end"),
        (" \t\r\n\u{a0}", "end"),
        ("SELECT select c_1 _x rank", "Select Select name:c_1 name:_x Rank end"),
        ("a--b\nc -- d", "name:a name:c end"),
        ("a/*b\n*/c/**/", "name:a name:c end"),
        ("a//b", "name:a / / name:b end"),
        ("@p @value", "@p @value end"),
        ("1 007 1. .5 1.5e3 2E-1", "1 7 1 0.5 1500 0.2 end"),
        ("0x1F 0xFFFFFFFFFFFFFFFF", "31 18446744073709552000 end"),
        ("9223372036854775807", "9223372036854775807 end"),
        ("9223372036854775808", "9223372036854776000 end"),
        (r#"'a"b' "a'b""#, r#""a\"b" "a'b" end"#),
        (r#""\"\'\\\/\b\f\n\r\t\u0041\uD83D\uDE00""#, "\"\\\"'\\\\/\\u{8}\\u{c}\\n\\r\\tA😀\" end"),
        ("\"a\nb\"", r#""a\nb" end"#),
        ("'a''b'", r#""a" "b" end"#),
        (">>> >> >= > << <= <> < != =", ">>> >> >= > << <= != < != = end"),
        ("||| ?? ? ([{}]) ,:.*/%+-&^~", "|| | ?? ? ( [ { } ] ) , : . * / % + - & ^ ~ end"),
        ("c[0].x", "name:c [ 0 ] . name:x end"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_token_ends_the_list() {
    for (text, expected) in [
        ("1;2", "1 SC1010 1-2"),
        ("#", "SC1010 0-1"),
        ("$x", "SC1010 0-1"),
        ("!a", "SC1010 0-1"),
        ("@", "SC1010 0-1"),
        ("é", "SC1010 0-2"),
        ("1e", "SC1011 0-2"),
        ("1e+", "SC1011 0-3"),
        ("12ab", "SC1011 0-4"),
        ("0x", "SC1011 0-2"),
        ("1e999", "SC1011 0-5"),
        ("a 'b", "name:a SC1012 2-3"),
        (r"'\x'", "SC1012 0-1"),
        (r"'\é'", "SC1012 0-1"),
        (r"'\uD800'", "SC1012 0-1"),
        (r"'\u12'", "SC1012 0-1"),
        (r"'\", "SC1012 0-1"),
        ("a /* b", "name:a SC1002 6-6"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn names_that_need_no_quotes() {
    for (text, expected) in
        [("a", true), ("rank", true), ("value", false), ("", false), ("1a", false), ("a b", false)]
    {
        assert_eq!(is_name(text), expected, "{text}");
    }
}
