//! Strings by position: lengths and positions count UTF-16 units, as the service does. Cutting a
//! surrogate pair leaves U+FFFD, because half a pair is not valid text.

use value::Value;

use super::{Function, clamp_to_usize, length, text, truncated};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("LENGTH", 1..=1, |args, _| {
        text(args, 0).map(|text| length(units(text))).unwrap_or_default()
    }),
    Function::new("LEFT", 2..=2, |args, _| left(args).unwrap_or_default()),
    Function::new("RIGHT", 2..=2, |args, _| right(args).unwrap_or_default()),
    Function::new("SUBSTRING", 3..=3, |args, _| substring(args).unwrap_or_default()),
    Function::new("INDEX_OF", 2..=3, |args, _| index_of(args).unwrap_or_default()),
    Function::new("LASTINDEXOF", 2..=3, |args, _| last_index_of(args).unwrap_or_default()),
    Function::new("SUBSTRINGAFTER", 2..=2, |args, _| {
        around(args, |text, by| text.split_once(by).map(|(_, after)| after))
    }),
    Function::new("SUBSTRINGBEFORE", 2..=2, |args, _| {
        around(args, |text, by| text.split_once(by).map(|(before, _)| before))
    }),
    Function::new("LASTSUBSTRINGAFTER", 2..=2, |args, _| {
        around(args, |text, by| text.rsplit_once(by).map(|(_, after)| after))
    }),
    Function::new("LASTSUBSTRINGBEFORE", 2..=2, |args, _| {
        around(args, |text, by| text.rsplit_once(by).map(|(before, _)| before))
    }),
];

fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// At most `count` units from `start` on.
fn slice(text: &str, start: usize, count: usize) -> Value {
    if text.is_ascii() {
        let start = start.min(text.len());
        let end = start.saturating_add(count).min(text.len());
        return Value::from(&text[start..end]);
    }
    let units: Vec<u16> = text.encode_utf16().skip(start).take(count).collect();
    Value::from(String::from_utf16_lossy(&units))
}

/// The byte at which unit `position` begins, or the next character where that is half a pair;
/// `None` beyond the end.
fn byte_of_unit(text: &str, position: usize) -> Option<usize> {
    let mut unit = 0;
    for (byte, c) in text.char_indices() {
        if unit >= position {
            return Some(byte);
        }
        unit += c.len_utf16();
    }
    (unit >= position).then_some(text.len())
}

fn left(args: &[Value]) -> Option<Value> {
    Some(slice(text(args, 0)?, 0, clamp_to_usize(truncated(args, 1)?)))
}

fn right(args: &[Value]) -> Option<Value> {
    let (text, count) = (text(args, 0)?, clamp_to_usize(truncated(args, 1)?));
    Some(slice(text, units(text).saturating_sub(count), count))
}

fn substring(args: &[Value]) -> Option<Value> {
    let start = clamp_to_usize(truncated(args, 1)?);
    Some(slice(text(args, 0)?, start, clamp_to_usize(truncated(args, 2)?)))
}

/// The first position at or after the optional start, or -1.
fn index_of(args: &[Value]) -> Option<Value> {
    let (whole, part) = (text(args, 0)?, text(args, 1)?);
    let start = if args.len() > 2 { clamp_to_usize(truncated(args, 2)?) } else { 0 };
    let found = byte_of_unit(whole, start)
        .and_then(|start| whole[start..].find(part).map(|byte| start + byte));
    Some(place(whole, found))
}

/// The last place at which the part ends at or before the optional last unit.
fn last_index_of(args: &[Value]) -> Option<Value> {
    let (whole, part) = (text(args, 0)?, text(args, 1)?);
    let end = match args.get(2) {
        Some(_) => clamp_to_usize(truncated(args, 2)?.saturating_add(1)),
        None => usize::MAX,
    };
    // A part that ends within a pair cannot match: the whole character after it does no harm.
    let end = byte_of_unit(whole, end).unwrap_or(whole.len());
    Some(place(whole, whole[..end].rfind(part)))
}

fn place(whole: &str, byte: Option<usize>) -> Value {
    byte.map_or_else(|| Value::from(-1_i64), |byte| length(units(&whole[..byte])))
}

/// The text on one side of a delimiter; undefined if the delimiter does not occur.
fn around(args: &[Value], side: for<'a> fn(&'a str, &str) -> Option<&'a str>) -> Value {
    let found = text(args, 0).zip(text(args, 1)).and_then(|(text, by)| side(text, by));
    found.map(Value::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn strings_are_cut() {
        check(&[
            ("LENGTH", r#"["a😀"]"#, "3"),
            ("LENGTH", "[4]", ""),
            ("LEFT", r#"["lamp",2]"#, r#""la""#),
            ("LEFT", r#"["lamp",0]"#, r#""""#),
            ("LEFT", r#"["lamp",-1]"#, r#""""#),
            ("LEFT", r#"["lamp",99]"#, r#""lamp""#),
            ("LEFT", r#"["lamp","2"]"#, ""),
            ("LEFT", r#"["a😀b",3]"#, r#""a😀""#),
            ("LEFT", r#"["a😀b",2]"#, "\"a\u{FFFD}\""),
            ("RIGHT", r#"["lamp",3]"#, r#""amp""#),
            ("RIGHT", r#"["lamp",99]"#, r#""lamp""#),
            ("RIGHT", r#"["é😀b",3]"#, r#""😀b""#),
            ("SUBSTRING", r#"["abcdef",2,3]"#, r#""cde""#),
            ("SUBSTRING", r#"["abcdef",4,99]"#, r#""ef""#),
            ("SUBSTRING", r#"["abcdef",9,1]"#, r#""""#),
            ("SUBSTRING", r#"["abcdef",-2,2]"#, r#""ab""#),
            ("SUBSTRING", r#"["abcdef",1,-1]"#, r#""""#),
            ("SUBSTRING", r#"["abcdef",1,"~"]"#, ""),
            ("SUBSTRINGAFTER", r#"["k=v=w","="]"#, r#""v=w""#),
            ("SUBSTRINGBEFORE", r#"["k=v=w","="]"#, r#""k""#),
            ("LASTSUBSTRINGAFTER", r#"["k=v=w","="]"#, r#""w""#),
            ("LASTSUBSTRINGBEFORE", r#"["k=v=w","="]"#, r#""k=v""#),
            ("SUBSTRINGAFTER", r#"["k","="]"#, ""),
        ]);
    }

    #[test]
    fn places_are_found() {
        check(&[
            ("INDEX_OF", r#"["banana","an"]"#, "1"),
            ("INDEX_OF", r#"["banana","an",2]"#, "3"),
            ("INDEX_OF", r#"["banana","z"]"#, "-1"),
            ("INDEX_OF", r#"["banana","a",6]"#, "-1"),
            ("INDEX_OF", r#"["banana","",6]"#, "6"),
            ("INDEX_OF", r#"["banana","a",99]"#, "-1"),
            ("INDEX_OF", r#"["😀b","b"]"#, "2"),
            ("INDEX_OF", r#"["😀b","b",1]"#, "2"),
            ("INDEX_OF", r#"["banana",1]"#, ""),
            ("LASTINDEXOF", r#"["banana","an"]"#, "3"),
            ("LASTINDEXOF", r#"["banana","z"]"#, "-1"),
            ("LASTINDEXOF", r#"["abcdeabc","abc",6]"#, "0"),
            ("LASTINDEXOF", r#"["abcdeabc","abc",7]"#, "5"),
            ("LASTINDEXOF", r#"["abc","a",-1]"#, "-1"),
        ]);
    }
}
