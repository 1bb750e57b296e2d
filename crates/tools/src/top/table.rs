//! The table: a line for each partition, the busiest first.

use value::{Value, json};

/// Longest name of a database or collection, and longest key, before truncation.
const NAME_CHARS_MAX: usize = 24;
const KEY_CHARS_MAX: usize = 32;

/// Hot keys on one line.
const HOT_MAX: usize = 3;

/// The statistics of a partition. A figure that the server does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Partition {
    database: String,
    collection: String,
    range: String,
    /// Whether it is full and cannot be split.
    is_unsplittable: bool,
    documents: f64,
    bytes: f64,
    /// Request units per second: used, and reserved.
    used: Option<f64>,
    reserved: Option<f64>,
    /// Requests since the server started: served, and refused with 429.
    admitted: Option<f64>,
    throttled: Option<f64>,
    hottest: Vec<(String, f64)>,
}

impl Partition {
    /// Parses a partition in the server's answer.
    pub(super) fn read(value: &Value) -> Self {
        let text = |name| value.get(name).as_str().unwrap_or_default().to_owned();
        let figure = |name| number(value.get(name));
        let hot = |hot: &Value| {
            let key = json::print(hot.get("partitionKey"));
            Some((key, number(hot.get("requestUnitsPerSecond"))?))
        };
        let hottest = value.get("hottestKeys").as_array().unwrap_or_default();
        let bytes = figure("documentBytes").unwrap_or(0.0) + figure("indexBytes").unwrap_or(0.0);
        Self {
            database: text("database"),
            collection: text("collection"),
            range: text("range"),
            is_unsplittable: matches!(value.get("isUnsplittable"), Value::Bool(true)),
            documents: figure("documents").unwrap_or(0.0),
            bytes,
            used: figure("requestUnitsPerSecond"),
            reserved: figure("reservedRequestUnitsPerSecond"),
            admitted: figure("admittedRequests"),
            throttled: figure("throttledRequests"),
            hottest: hottest.iter().filter_map(hot).collect(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.database, &self.collection, &self.range)
            == (&other.database, &other.collection, &other.range)
    }

    /// Its activity, for sorting.
    fn activity(&self) -> f64 {
        self.used.unwrap_or_else(|| self.hottest.iter().map(|(_, rate)| rate).sum())
    }

    /// The percentage of its requests that it refused since an earlier look, or since the server
    /// started.
    fn throttled_percent(&self, before: &[Self]) -> Option<f64> {
        let before = before.iter().find(|before| before.is_same(self));
        let since = |now: f64, then: Option<f64>| (now - then.unwrap_or(0.0)).max(0.0);
        let refused = since(self.throttled?, before.and_then(|it| it.throttled));
        let served = since(self.admitted?, before.and_then(|it| it.admitted));
        let all = refused + served;
        Some(if all > 0.0 { 100.0 * refused / all } else { 0.0 })
    }

    fn cells(&self, before: &[Self]) -> Vec<String> {
        let rate = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), rate);
        let percent = self.throttled_percent(before);
        let hottest = self.hottest.iter().take(HOT_MAX).map(|(key, units)| {
            format!("{} {}", shortened(key, KEY_CHARS_MAX), self::rate(*units))
        });
        vec![
            shortened(&self.database, NAME_CHARS_MAX),
            shortened(&self.collection, NAME_CHARS_MAX),
            shortened(&self.range, NAME_CHARS_MAX) + if self.is_unsplittable { "*" } else { "" },
            format!("{:.0}", self.documents),
            size(self.bytes),
            rate(self.used),
            rate(self.reserved),
            percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0} %")),
            hottest.collect::<Vec<_>>().join("  "),
        ]
    }
}

const TITLES: [&str; 9] = [
    "DATABASE",
    "COLLECTION",
    "RANGE",
    "DOCUMENTS",
    "SIZE",
    "RU/S",
    "RESERVED",
    "THROTTLED",
    "HOTTEST KEYS (RU/S)",
];

/// The columns of figures, which are right-aligned.
const FIGURES: std::ops::Range<usize> = 3..8;

/// The table of these partitions, with a limited number of rows; `before` is the result of an
/// earlier look.
pub(super) fn text(partitions: &[Partition], before: &[Partition], rows_max: usize) -> String {
    let mut sorted: Vec<&Partition> = partitions.iter().collect();
    sorted.sort_by(|a, b| {
        b.activity().total_cmp(&a.activity()).then_with(|| b.bytes.total_cmp(&a.bytes))
    });
    let shown = sorted.iter().take(rows_max).map(|partition| partition.cells(before));
    let lines: Vec<Vec<String>> =
        [TITLES.map(str::to_owned).to_vec()].into_iter().chain(shown).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> =
        (0..TITLES.len()).map(|column| width(column).unwrap_or_default()).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width - cell.chars().count());
            let is_figure = FIGURES.contains(&column);
            let (left, right) = if is_figure { (space.as_str(), "") } else { ("", space.as_str()) };
            row.extend([left, cell, right, "  "]);
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    if sorted.iter().any(|partition| partition.is_unsplittable) {
        text.push_str("* full, and cannot be split: it contains only one key\n");
    }
    let left = sorted.len().saturating_sub(rows_max);
    if left > 0 {
        text.extend(["and ", &left.to_string(), " more\n"]);
    }
    text
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(number.as_f64()),
        _ => None,
    }
}

/// Formats a rate: with one decimal below 100, with none above.
fn rate(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") }
}

fn size(bytes: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let (mut figure, mut unit) = (bytes, 0);
    while figure >= 1024.0 && unit + 1 < units.len() {
        figure /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && figure < 100.0);
    format!("{figure:.decimals$} {}", units[unit])
}

/// Truncates a text, and removes everything that could move the cursor.
fn shortened(text: &str, chars_max: usize) -> String {
    let shown = |letter: char| if letter.is_control() { '?' } else { letter };
    if text.chars().count() <= chars_max {
        return text.chars().map(shown).collect();
    }
    text.chars().take(chars_max - 1).map(shown).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(said: &str) -> Partition {
        Partition::read(&json::parse(said.as_bytes()).unwrap())
    }

    const PLAIN: &str = r#"{"database":"shop","collection":"orders","range":"0","documents":12,
        "documentBytes":2048,"indexBytes":1024,"hottestKeys":[
        {"partitionKey":["ada"],"requestUnitsPerSecond":123.4},
        {"partitionKey":[{}],"requestUnitsPerSecond":0.5}]}"#;

    #[test]
    fn the_busiest_come_first() {
        let idle = partition(r#"{"database":"shop","collection":"idle","range":"7"}"#);
        let text = text(&[idle, partition(PLAIN)], &[], 40);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "DATABASE  COLLECTION  RANGE  DOCUMENTS    SIZE  RU/S  RESERVED  THROTTLED  HOTTEST KEYS (RU/S)",
                "shop      orders      0             12  3.0 KB     -         -          -  [\"ada\"] 123  [{}] 0.5",
                "shop      idle        7              0     0 B     -         -          -",
            ]
        );
    }

    #[test]
    fn refusals_count_since_the_last_look() {
        let at = |admitted: u32, throttled: u32| {
            partition(&format!(
                r#"{{"range":"0","requestUnitsPerSecond":399.6,"reservedRequestUnitsPerSecond":400,
                "admittedRequests":{admitted},"throttledRequests":{throttled}}}"#
            ))
        };
        let now = at(400, 100);
        assert_eq!(now.throttled_percent(&[]), Some(20.0));
        assert_eq!(now.throttled_percent(&[at(325, 75)]), Some(25.0));
        assert_eq!(now.throttled_percent(std::slice::from_ref(&now)), Some(0.0));
        // A restarted server counts from zero again.
        assert_eq!(now.throttled_percent(&[at(1000, 1000)]), Some(0.0));
        let text = text(&[now], &[], 40);
        assert!(text.contains(" 400       400       20 %"), "{text}");
    }

    #[test]
    fn what_cannot_split_is_marked() {
        let full = partition(r#"{"range":"4","isUnsplittable":true}"#);
        let text = text(&[full], &[], 40);
        assert!(text.contains(" 4* ") && text.contains("\n* full, and cannot be split"), "{text}");
    }

    #[test]
    fn long_tables_and_odd_names_are_cut() {
        let many = vec![partition(PLAIN); 5];
        let cut = text(&many, &[], 2);
        assert_eq!(cut.lines().count(), 4);
        assert!(cut.ends_with("and 3 more\n"), "{cut}");
        assert_eq!(shortened("a\u{1b}[2Jb\u{9b}", 24), "a?[2Jb?");
        assert_eq!(shortened(&"é".repeat(30), 24).chars().count(), 24);
    }

    #[test]
    fn sizes_and_rates_are_short() {
        assert_eq!(size(0.0), "0 B");
        assert_eq!(size(1023.0), "1023 B");
        assert_eq!(size(1536.0), "1.5 KB");
        assert_eq!(size(50.0 * 1024.0 * 1024.0 * 1024.0), "50.0 GB");
        assert_eq!(size(300.0 * 1024.0 * 1024.0), "300 MB");
        assert_eq!((rate(0.04).as_str(), rate(1234.5).as_str()), ("0.0", "1234"));
    }
}
