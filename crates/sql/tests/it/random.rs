//! Random texts never panic, and what is printed is a fixed point of parsing and printing.

use proptest::prelude::*;

/// Words and signs that make queries when strung together by chance.
const PIECES: [&str; 48] = [
    "SELECT",
    "VALUE",
    "*",
    "FROM",
    "c",
    "JOIN",
    "IN",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ".",
    "'a'",
    "\"b\"",
    "1",
    "2.5",
    "@p",
    "=",
    "<",
    "+",
    "-",
    "||",
    "??",
    "?",
    "GROUP",
    "ORDER",
    "BY",
    "OFFSET",
    "LIMIT",
    "TOP",
    "EXISTS",
    "ARRAY",
    "LET",
    "RANK",
    "BETWEEN",
    "LIKE",
    "udf",
    "f",
    "null",
    "undefined",
];

/// Expressions of the grammar, in sloppy spelling.
fn expr() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("c".to_owned()),
        Just("rank".to_owned()),
        Just("@p".to_owned()),
        Just("undefined".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        (-1e30..1e30).prop_map(|number: f64| format!("{number:e}")),
        any::<f32>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| number.to_string()),
        "[a-z '\n😀]{0,6}".prop_map(|text| format!("\"{text}\"")),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        let op = prop::sample::select(vec![
            "=", "!=", "<>", "<", ">=", "<<", ">>>", "||", "+", "-", "|", "&", "^", "*", "/", "%",
            "AND", "OR", "??", "LIKE",
        ]);
        prop_oneof![
            (two.clone(), op).prop_map(|((a, b), op)| format!("{a} {op} {b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("- {a}")),
            inner.clone().prop_map(|a| format!("NOT {a}")),
            inner.clone().prop_map(|a| format!("({a}).x[\"y\"]")),
            inner.clone().prop_map(|a| format!("EXISTS(SELECT VALUE {a} FROM x IN c.y) ")),
            inner.prop_map(|a| format!("(LET x = ({a}) IN x)")),
            two.clone().prop_map(|(a, b)| format!("c[{a}][{b}]")),
            two.clone().prop_map(|(a, b)| format!("[{a}, {{k: {b}}}, f({a})]")),
            two.prop_map(|(a, b)| format!("({a}) NOT IN ({b}, 1)")),
            three.clone().prop_map(|(a, b, c)| format!("({a}) BETWEEN ({b}) AND ({c})")),
            three.prop_map(|(a, b, c)| format!("({a}) ? {b} : {c}")),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,80}") {
        let _ = sql::parse(&text);
        let _ = sql::parse(&format!("SELECT {text}"));
    }

    #[test]
    fn any_pieces_are_answered(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..30)) {
        let text = format!("SELECT {}", pieces.join(" "));
        match sql::parse(&text) {
            Ok(query) => {
                let printed = query.to_string();
                prop_assert_eq!(sql::parse(&printed).unwrap().to_string(), printed);
            }
            Err(error) => {
                let (start, end) = error.location(&text).unwrap();
                prop_assert!(start <= end && end <= text.len());
            }
        }
    }

    #[test]
    fn printing_is_a_fixed_point(a in expr(), b in expr(), name in "[a-z$ \"]{1,4}") {
        let mut quoted = Vec::new();
        value::json::quote(&name, &mut quoted);
        let name = String::from_utf8(quoted).unwrap();
        let text = format!("SELECT {a} AS {name}, 1 FROM c.x JOIN y WHERE {b} ORDER BY {a} DESC");
        // Chance may build what the grammar forbids, such as a LIKE behind a LIKE.
        if let Ok(query) = sql::parse(&text) {
            let printed = query.to_string();
            let again = sql::parse(&printed);
            prop_assert!(again.is_ok(), "{}: {:?}", printed, again);
            prop_assert_eq!(again.unwrap().to_string(), printed);
        }
    }
}
