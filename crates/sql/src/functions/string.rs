//! Strings: comparing, searching for a part, changing case, trimming and putting together.
//! Comparison is ordinal; ignoring case means comparing the upper-case characters.

use std::collections::HashSet;

use value::Value;

use super::{Function, TEXT_BYTES_MAX, all, any, array, flag, text, truncated};

/// Longest result of `REPLICATE`, in UTF-16 units, as documented.
const REPLICATE_UNITS_MAX: usize = 10_000;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("CONCAT", 2..=usize::MAX, |args, _| concat(args).unwrap_or_default()),
    Function::new("CONTAINS", 2..=3, |args, _| compare(args, |a, b| a.contains(b))),
    Function::new("STARTSWITH", 2..=3, |args, _| compare(args, |a, b| a.starts_with(b))),
    Function::new("ENDSWITH", 2..=3, |args, _| compare(args, |a, b| a.ends_with(b))),
    Function::new("STRINGEQUALS", 2..=3, |args, _| compare(args, |a, b| a == b)),
    Function::new("CONTAINS_ALL_CI", 2..=usize::MAX, |args, _| {
        contains_each(args, true).and_then(all).map(Value::from).unwrap_or_default()
    }),
    Function::new("CONTAINS_ALL_CS", 2..=usize::MAX, |args, _| {
        contains_each(args, false).and_then(all).map(Value::from).unwrap_or_default()
    }),
    Function::new("CONTAINS_ANY_CI", 2..=usize::MAX, |args, _| {
        contains_each(args, true).and_then(any).map(Value::from).unwrap_or_default()
    }),
    Function::new("CONTAINS_ANY_CS", 2..=usize::MAX, |args, _| {
        contains_each(args, false).and_then(any).map(Value::from).unwrap_or_default()
    }),
    Function::new("LOWER", 1..=1, |args, _| change(args, lower)),
    Function::new("UPPER", 1..=1, |args, _| change(args, upper)),
    Function::new("REVERSE", 1..=1, |args, _| change(args, |text| text.chars().rev().collect())),
    Function::new("TRIM", 1..=2, |args, _| trim(args, true, true).unwrap_or_default()),
    Function::new("LTRIM", 1..=2, |args, _| trim(args, true, false).unwrap_or_default()),
    Function::new("RTRIM", 1..=2, |args, _| trim(args, false, true).unwrap_or_default()),
    Function::new("REPLACE", 3..=3, |args, _| replace(args).unwrap_or_default()),
    Function::new("REPLICATE", 2..=2, |args, _| replicate(args).unwrap_or_default()),
    Function::new("STRINGJOIN", 2..=2, |args, _| join(args).unwrap_or_default()),
    Function::new("STRINGSPLIT", 2..=2, |args, _| split(args).unwrap_or_default()),
];

fn concat(args: &[Value]) -> Option<Value> {
    let parts = args.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    let size: usize = parts.iter().map(|part| part.len()).sum();
    (size <= TEXT_BYTES_MAX).then(|| Value::from(parts.concat()))
}

/// Compares the first two arguments, ignoring case if the third is true.
fn compare(args: &[Value], holds: fn(&str, &str) -> bool) -> Value {
    let (Some(a), Some(b), Some(ignores_case)) = (text(args, 0), text(args, 1), flag(args, 2))
    else {
        return Value::Undefined;
    };
    Value::from(if ignores_case { holds(&upper(a), &upper(b)) } else { holds(a, b) })
}

/// Whether the first string contains each of the others; `None` for arguments that are not strings.
fn contains_each(args: &[Value], ignores_case: bool) -> Option<Vec<Option<bool>>> {
    let (whole, parts) = args.split_first()?;
    let whole = whole.as_str()?;
    let contains: Vec<_> = if ignores_case {
        let whole = upper(whole);
        parts.iter().map(|part| Some(whole.contains(&upper(part.as_str()?)))).collect()
    } else {
        parts.iter().map(|part| Some(whole.contains(part.as_str()?))).collect()
    };
    Some(contains)
}

fn change(args: &[Value], change: fn(&str) -> String) -> Value {
    text(args, 0).map(|text| Value::from(change(text))).unwrap_or_default()
}

/// Upper case, character by character: lengths stay, so that `ß` is its own upper case.
// COMPAT: the invariant culture of .NET, which also leaves the dotless i alone.
fn upper(text: &str) -> String {
    let upper = |c: char| match c {
        '\u{131}' => c,
        _ => single(c.to_uppercase()).unwrap_or(c),
    };
    text.chars().map(upper).collect()
}

/// Lower case, character by character.
fn lower(text: &str) -> String {
    text.chars().map(|c| single(c.to_lowercase()).unwrap_or(c)).collect()
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// Takes white space, or the characters of the second argument, off the ends.
fn trim(args: &[Value], trims_start: bool, trims_end: bool) -> Option<Value> {
    let mut rest = text(args, 0)?;
    let set = match args.get(1) {
        Some(set) => Some(set.as_str()?.chars().collect::<HashSet<_>>()),
        None => None,
    };
    let goes = |c: char| match &set {
        Some(set) => set.contains(&c),
        None => c.is_whitespace(),
    };
    if trims_start {
        rest = rest.trim_start_matches(goes);
    }
    if trims_end {
        rest = rest.trim_end_matches(goes);
    }
    Some(Value::from(rest))
}

fn replace(args: &[Value]) -> Option<Value> {
    let (whole, find, by) = (text(args, 0)?, text(args, 1)?, text(args, 2)?);
    if find.is_empty() {
        return Some(Value::from(whole));
    }
    if by.len() > find.len() {
        let grown = whole.matches(find).count().saturating_mul(by.len() - find.len());
        if whole.len().saturating_add(grown) > TEXT_BYTES_MAX {
            return None;
        }
    }
    Some(Value::from(whole.replace(find, by)))
}

fn replicate(args: &[Value]) -> Option<Value> {
    let part = text(args, 0)?;
    let count = usize::try_from(truncated(args, 1)?).ok()?;
    let units = part.encode_utf16().count().saturating_mul(count);
    (units <= REPLICATE_UNITS_MAX).then(|| Value::from(part.repeat(count)))
}

fn join(args: &[Value]) -> Option<Value> {
    let (parts, separator) = (array(args, 0)?, text(args, 1)?);
    let parts = parts.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let size = size.saturating_add(parts.len().saturating_mul(separator.len()));
    (size <= TEXT_BYTES_MAX).then(|| Value::from(parts.join(separator)))
}

fn split(args: &[Value]) -> Option<Value> {
    let (whole, separator) = (text(args, 0)?, text(args, 1)?);
    if separator.is_empty() {
        return Some(Value::from(vec![Value::from(whole)]));
    }
    Some(Value::from(whole.split(separator).map(Value::from).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use value::Value;

    use crate::functions::testing::check;
    use crate::functions::{Context, lookup};

    #[test]
    fn parts_are_found() {
        check(&[
            ("CONTAINS", r#"["Harbor","ARB"]"#, "false"),
            ("CONTAINS", r#"["Harbor","ARB",true]"#, "true"),
            ("CONTAINS", r#"["Harbor","ARB",1]"#, ""),
            ("CONTAINS", r#"["Harbor","~"]"#, ""),
            ("CONTAINS", r#"["Harbor",1]"#, ""),
            ("CONTAINS", r#"["",""]"#, "true"),
            ("STARTSWITH", r#"["Harbor","har"]"#, "false"),
            ("STARTSWITH", r#"["Harbor","har",true]"#, "true"),
            ("ENDSWITH", r#"["Harbor","bor"]"#, "true"),
            ("ENDSWITH", r#"["Harbor","BOR",false]"#, "false"),
            ("StringEquals", r#"["a","A"]"#, "false"),
            ("StringEquals", r#"["ä","Ä",true]"#, "true"),
            ("StringEquals", "[null,null]", ""),
            ("CONTAINS_ALL_CI", r#"["Red Fox","red","FOX"]"#, "true"),
            ("CONTAINS_ALL_CS", r#"["Red Fox","red","Fox"]"#, "false"),
            ("CONTAINS_ALL_CS", r#"["Red Fox","~","owl"]"#, "false"),
            ("CONTAINS_ALL_CS", r#"["Red Fox","~","Fox"]"#, ""),
            ("CONTAINS_ANY_CI", r#"["Red Fox","~","fox"]"#, "true"),
            ("CONTAINS_ANY_CS", r#"["Red Fox","~","fox"]"#, ""),
            ("CONTAINS_ANY_CS", r#"[1,"fox"]"#, ""),
        ]);
    }

    #[test]
    fn strings_are_changed() {
        check(&[
            ("CONCAT", r#"["a","b","c"]"#, r#""abc""#),
            ("CONCAT", r#"["a",1]"#, ""),
            ("CONCAT", r#"["a","~"]"#, ""),
            ("LOWER", r#"["MiX 1"]"#, r#""mix 1""#),
            ("UPPER", r#"["MiX ß"]"#, r#""MIX ß""#),
            ("UPPER", "[1]", ""),
            ("REVERSE", r#"["ab😀"]"#, r#""😀ba""#),
            ("LTRIM", r#"["  x "]"#, r#""x ""#),
            ("RTRIM", r#"["  x "]"#, r#""  x""#),
            ("TRIM", r#"["--x--","-"]"#, r#""x""#),
            ("TRIM", r#"["-_-x-_-","-_"]"#, r#""x""#),
            ("LTRIM", r#"["AdventureWorks","Adventure"]"#, r#""Works""#),
            ("LTRIM", r#"["AdventureWorks","Works"]"#, r#""AdventureWorks""#),
            ("TRIM", r#"["x",1]"#, ""),
            ("REPLACE", r#"["a-b-c","-","+"]"#, r#""a+b+c""#),
            ("REPLACE", r#"["abc","","y"]"#, r#""abc""#),
            ("REPLACE", r#"["abc","b",1]"#, ""),
            ("REPLICATE", r#"["ab",3]"#, r#""ababab""#),
            ("REPLICATE", r#"["ab",1.9]"#, r#""ab""#),
            ("REPLICATE", r#"["ab",0]"#, r#""""#),
            ("REPLICATE", r#"["ab",-1]"#, ""),
            ("REPLICATE", r#"["ab",5001]"#, ""),
            ("REPLICATE", r#"["",9223372036854775807]"#, r#""""#),
            ("StringJoin", r#"[["a","b"],"-"]"#, r#""a-b""#),
            ("StringJoin", r#"[["a",1],"-"]"#, ""),
            ("StringJoin", r#"[[],"-"]"#, r#""""#),
            ("StringSplit", r#"["a,b,",","]"#, r#"["a","b",""]"#),
            ("StringSplit", r#"["ab",""]"#, r#"["ab"]"#),
            ("StringSplit", r#"[1,""]"#, ""),
        ]);
    }

    #[test]
    fn results_are_bounded() {
        let call = lookup("REPLACE").unwrap().call;
        let args = ["a".repeat(5000), "a".to_owned(), "b".repeat(5000)].map(Value::from);
        assert!(call(&args, &Context::new(0)).is_undefined());
    }
}
