//! Random documents, indexing policies and queries. The same seed always gives the same, so that a
//! failure names all it takes to see it again.

pub(crate) mod policies;
pub(crate) mod predicates;
pub(crate) mod queries;
pub(crate) mod world;

/// Splitmix: small, and good enough to choose by.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eaf)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).expect("below a usize")
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// Numbers that differ by little, or not at all, or not as doubles.
const NUMBERS: [&str; 25] = [
    "0",
    "-0",
    "1",
    "1.0",
    "2",
    "3",
    "4",
    "-1",
    "0.5",
    "0.1",
    "10",
    "1e300",
    "-1e300",
    "1.7e308",
    "5e-324",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9007199254740994",
    "9223372036854775807",
    "9223372036854775806",
    "-9223372036854775808",
    "18446744073709551615",
    "100",
    "7",
];

/// Strings whose order is easily got wrong.
const STRINGS: [&str; 20] = [
    r#""""#,
    r#""a""#,
    r#""A""#,
    r#""ab""#,
    r#""abc""#,
    r#""b""#,
    r#""B""#,
    r#""é""#,
    r#""É""#,
    r#""\u0000""#,
    r#""a\u0000""#,
    r#""a\u0000b""#,
    r#""a\u0001""#,
    r#""\uffff""#,
    r#""😀""#,
    r#""10""#,
    r#""1""#,
    r#""%""#,
    r#""a_c""#,
    r#""null""#,
];

/// A string that the index has to cut, or just not: they differ behind the cut, or not at all.
fn long_string(rng: &mut Rng) -> String {
    let length = [250, 254, 255, 256, 257, 258, 300, 700, 1500][rng.below(9)];
    let end = rng.pick(&["", "a", "b", "é", r"\u0000"]);
    match rng.below(6) {
        0 => format!("\"{}{end}\"", r"\u0000".repeat(length / 2)),
        1 => format!("\"{}{end}\"", "é".repeat(length / 2)),
        _ => format!("\"{}{end}\"", "x".repeat(length)),
    }
}

pub(crate) fn number(rng: &mut Rng) -> String {
    rng.pick(&NUMBERS).to_owned()
}

pub(crate) fn string(rng: &mut Rng) -> String {
    if rng.chance(12) { long_string(rng) } else { rng.pick(&STRINGS).to_owned() }
}

pub(crate) fn scalar(rng: &mut Rng) -> String {
    match rng.below(10) {
        0 => "null".to_owned(),
        1 => rng.pick(&["true", "false"]).to_owned(),
        2..6 => number(rng),
        _ => string(rng),
    }
}

/// Any value, at most so deep, as JSON.
pub(crate) fn value(rng: &mut Rng, depth: usize) -> String {
    match rng.below(6) {
        0 if depth > 0 => array(rng, depth - 1),
        1 if depth > 0 => object(rng, depth - 1),
        _ => scalar(rng),
    }
}

pub(crate) fn array(rng: &mut Rng, depth: usize) -> String {
    let elements: Vec<String> = (0..rng.below(5)).map(|_| value(rng, depth)).collect();
    format!("[{}]", elements.join(","))
}

pub(crate) fn object(rng: &mut Rng, depth: usize) -> String {
    let mut members = Vec::new();
    for name in ["a", "b", "n"] {
        if rng.chance(60) {
            members.push(format!("\"{name}\":{}", value(rng, depth)));
        }
    }
    format!("{{{}}}", members.join(","))
}

/// A shape as GeoJSON, on a small grid so that shapes meet.
pub(crate) fn shape(rng: &mut Rng) -> String {
    let x = [-180.0, -135.0, -90.0, -45.0, 0.0, 45.0, 90.0, 135.0][rng.below(8)];
    let y = [-80.0, -60.0, -40.0, -20.0, 0.0, 20.0, 40.0, 60.0, 75.0][rng.below(9)];
    let (east, north) = (x + 20.0, y + [1.0, 1.5, 4.0, 10.5][rng.below(4)]);
    match rng.below(4) {
        0 => format!(r#"{{"type":"LineString","coordinates":[[{x},{y}],[{east},{north}]]}}"#),
        1 => format!(
            r#"{{"type":"Polygon","coordinates":[[[{x},{y}],[{east},{y}],[{east},{north}],[{x},{north}],[{x},{y}]]]}}"#
        ),
        _ => format!(r#"{{"type":"Point","coordinates":[{x},{y}]}}"#),
    }
}

/// The partition keys of random documents; "" is none.
pub(crate) const KEYS: [&str; 10] =
    [r#""a""#, r#""b""#, r#""é""#, "1", "2.5", "null", "true", "", "9007199254740993", "-0"];

/// A document with this id: properties with a type each, which it does not always keep to, or they
/// are absent.
pub(crate) fn document(rng: &mut Rng, id: &str, key: &str) -> String {
    let mut members = vec![format!("\"id\":{}", quote(id))];
    if !key.is_empty() {
        members.push(format!("\"pk\":{key}"));
    }
    for name in ["a", "b", "n", "s", "l", "o", "g", "k k", "é"] {
        if rng.chance(20) {
            continue;
        }
        let value = match name {
            _ if rng.chance(12) => value(rng, 2),
            // Few values, so that they meet.
            "a" => rng.pick(&["1", "2", "\"a\"", "\"b\"", "null", "true"]).to_owned(),
            "n" => number(rng),
            "s" => string(rng),
            "l" => array(rng, 1),
            "o" => object(rng, 2),
            "g" => shape(rng),
            _ => scalar(rng),
        };
        members.push(format!("\"{name}\":{value}"));
    }
    format!("{{{}}}", members.join(","))
}

pub(crate) fn quote(text: &str) -> String {
    let mut quoted = Vec::new();
    value::json::quote(text, &mut quoted);
    String::from_utf8(quoted).expect("JSON is UTF-8")
}
