//! Random queries, most of them valid.

use value::{Value, json};

use crate::random::{
    Rng,
    policies::Policy,
    predicates::{Conditions, path},
};

/// A query with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) parameters: Vec<(String, Value)>,
    /// What it orders documents by; empty if it does not, or if it orders groups.
    pub(crate) order: Vec<OrderBy>,
    /// Whether its rows come in the order of documents, each from one document.
    pub(crate) is_plain: bool,
}

/// A key of ORDER BY.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderBy {
    /// As an indexing policy writes it; empty for an element of an array.
    pub(crate) path: &'static str,
    pub(crate) descends: bool,
}

const ORDERS: [(&str, &str); 12] = [
    ("c.a", "/a"),
    ("c.n", "/n"),
    ("c.s", "/s"),
    ("c.s", "/s"),
    ("c.b", "/b"),
    ("c.o.a", "/o/a"),
    ("c.id", "/id"),
    ("c.pk", "/pk"),
    ("c._ts", "/_ts"),
    ("c.l", "/l"),
    ("c[\"k k\"]", "/\"k k\""),
    ("c.l[0]", ""),
];

impl Query {
    /// A query that is written by hand.
    pub(crate) fn plain(text: &str) -> Self {
        let text = text.to_owned();
        Self { text, parameters: Vec::new(), order: Vec::new(), is_plain: false }
    }

    /// The same, with what its ORDER BY says.
    pub(crate) fn ordered_by(self, path: &'static str, descends: bool) -> Self {
        Self { order: vec![OrderBy { path, descends }], ..self }
    }

    pub(crate) fn random(rng: &mut Rng, policy: &Policy) -> Self {
        let mut conditions = Conditions { parameters: Vec::new() };
        let mut order = Vec::new();
        let mut is_plain = false;
        let text = match rng.below(10) {
            0..=3 => {
                is_plain = true;
                rows(rng, &mut conditions)
            }
            4 | 5 => {
                order = self::order(rng, policy);
                let by = order_by(&order);
                let filter = filter(rng, &mut conditions, "c");
                let (source, alias) = joined(rng, 25);
                let select = select(rng, alias);
                let offset = offset(rng);
                format!("SELECT {select} FROM {source}{filter}{by}{offset}")
            }
            6 | 7 => {
                let text = aggregate(rng, &mut conditions);
                if rng.chance(20) {
                    order = self::order(rng, policy);
                }
                if order.is_empty() { text } else { text + &order_by(&order) }
            }
            8 => group(rng, &mut conditions),
            _ => nested(rng, &mut conditions),
        };
        let parameters = conditions.parameters.into_iter();
        let parse = |text: String| json::parse(text.as_bytes()).expect("a JSON constant");
        let parameters = parameters.map(|(name, text)| (name, parse(text))).collect();
        // Rows of DISTINCT, TOP and OFFSET depend on the documents before.
        is_plain &= ["DISTINCT", "TOP", "OFFSET"].iter().all(|word| !text.contains(word));
        Self { text, parameters, order, is_plain }
    }
}

/// A query without ORDER BY.
fn rows(rng: &mut Rng, conditions: &mut Conditions) -> String {
    if rng.chance(12) {
        let (source, select) =
            (rng.pick(&["x IN c.l", "x IN c.o.b", "c.o AS x", "c.l[0] AS x"]), rng.below(3));
        let select = ["VALUE x", "x.a, x.b", "DISTINCT VALUE x.a"][select];
        let filter = filter(rng, conditions, "x");
        return format!("SELECT {select} FROM {source}{filter}");
    }
    let (source, alias) = joined(rng, 25);
    let select = select(rng, alias);
    let filter = filter(rng, conditions, alias);
    let offset = offset(rng);
    format!("SELECT {select} FROM {source}{filter}{offset}")
}

/// The collection, at times joined with its arrays; and an alias to speak about.
fn joined(rng: &mut Rng, percent: usize) -> (String, &'static str) {
    if !rng.chance(percent) {
        return ("c".to_owned(), "c");
    }
    let join = rng.pick(&[
        "JOIN x IN c.l",
        "JOIN x IN c.l JOIN y IN c.l",
        "JOIN x IN c.l JOIN y IN x.b",
        "JOIN (SELECT VALUE x FROM x IN c.l WHERE x > 0) AS x",
        "JOIN x IN (SELECT VALUE c.l)",
    ]);
    (format!("c {join}"), if rng.chance(50) { "c" } else { "x" })
}

fn filter(rng: &mut Rng, conditions: &mut Conditions, alias: &str) -> String {
    if rng.chance(20) { String::new() } else { format!(" WHERE {}", conditions.any(rng, alias, 2)) }
}

fn select(rng: &mut Rng, alias: &str) -> String {
    let distinct = if rng.chance(20) { "DISTINCT " } else { "" };
    let top = if rng.chance(15) { format!("TOP {} ", rng.below(9)) } else { String::new() };
    let what = match rng.below(7) {
        0 | 1 if alias == "c" => "VALUE c".to_owned(),
        2 => format!("VALUE {}", path(rng, alias)),
        3 => format!("c.id, {alias}.a"),
        4 => format!("VALUE [c.id, {}, {}]", path(rng, "c"), path(rng, alias)),
        5 => "c.id, (SELECT VALUE COUNT(1) FROM z IN c.l) AS k".to_owned(),
        6 => "VALUE {\"a\": c.a, \"b\": c.n}".to_owned(),
        _ => "VALUE c.id".to_owned(),
    };
    format!("{distinct}{top}{what}")
}

fn offset(rng: &mut Rng) -> String {
    if !rng.chance(15) {
        return String::new();
    }
    format!(" OFFSET {} LIMIT {}", rng.below(12), rng.below(20))
}

fn order(rng: &mut Rng, policy: &Policy) -> Vec<OrderBy> {
    if rng.chance(35)
        && let Some(members) = policy.composite(rng)
    {
        return members.into_iter().map(|(path, descends)| OrderBy { path, descends }).collect();
    }
    let count = if rng.chance(90) { 1 } else { 2 };
    let one = |rng: &mut Rng| OrderBy {
        path: ORDERS[rng.below(ORDERS.len())].1,
        descends: rng.chance(50),
    };
    (0..count).map(|_| one(rng)).collect()
}

fn order_by(order: &[OrderBy]) -> String {
    let key = |key: &OrderBy| {
        let (expression, _) = ORDERS.iter().find(|(_, path)| *path == key.path).expect("known");
        format!("{expression}{}", if key.descends { " DESC" } else { "" })
    };
    format!(" ORDER BY {}", order.iter().map(key).collect::<Vec<_>>().join(", "))
}

const AGGREGATES: [&str; 8] =
    ["COUNT", "SUM", "AVG", "MIN", "MAX", "MAKELIST", "MAKESET", "COUNTIF"];

fn aggregates(rng: &mut Rng, alias: &str) -> String {
    let one = |rng: &mut Rng, name: usize| {
        let function = rng.pick(&AGGREGATES);
        let path = path(rng, alias);
        let argument = if function == "COUNTIF" { format!("{path} = 1") } else { path };
        format!("{function}({argument}) AS v{name}")
    };
    (0..=rng.below(3)).map(|name| one(rng, name)).collect::<Vec<_>>().join(", ")
}

fn aggregate(rng: &mut Rng, conditions: &mut Conditions) -> String {
    let (source, alias) = joined(rng, 20);
    let select = match rng.below(4) {
        0 | 1 => "VALUE COUNT(1)".to_owned(),
        2 => format!("VALUE {}({})", rng.pick(&AGGREGATES[..7]), path(rng, alias)),
        _ => aggregates(rng, alias),
    };
    let filter = filter(rng, conditions, alias);
    format!("SELECT {select} FROM {source}{filter}")
}

fn group(rng: &mut Rng, conditions: &mut Conditions) -> String {
    let (source, alias) = joined(rng, 20);
    let filter = filter(rng, conditions, alias);
    let keys = rng.pick(&["c.a", "c.n", "c.s", "c.a, c.n", "c.pk", "c.o.a"]);
    let select = match rng.below(4) {
        0 => format!("{keys}, COUNT(1) AS k"),
        1 => format!("VALUE [{keys}, COUNT(1)]"),
        2 => format!("{keys}, {}", aggregates(rng, alias)),
        _ => format!("DISTINCT VALUE {}({})", rng.pick(&AGGREGATES[..5]), path(rng, alias)),
    };
    let order = match rng.below(4) {
        0 => format!(" ORDER BY {}", keys.split(',').next().unwrap_or_default()),
        1 => format!(" ORDER BY {} DESC", keys.split(',').next().unwrap_or_default()),
        _ => String::new(),
    };
    let offset = offset(rng);
    format!("SELECT {select} FROM {source}{filter} GROUP BY {keys}{order}{offset}")
}

fn nested(rng: &mut Rng, conditions: &mut Conditions) -> String {
    let (source, alias) = joined(rng, 20);
    let filter = filter(rng, conditions, alias);
    match rng.below(5) {
        0 => {
            let path = path(rng, alias);
            format!(
                "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE {path} FROM {source}{filter})"
            )
        }
        1 => format!(
            "SELECT VALUE d FROM (SELECT DISTINCT c.a, c.n FROM {source}{filter}) AS d \
             WHERE d.a > 1{}",
            offset(rng)
        ),
        2 => format!(
            "SELECT d.a, d.k FROM (SELECT c.a, COUNT(1) AS k FROM {source}{filter} GROUP BY c.a) \
             AS d WHERE d.k > 1"
        ),
        3 => format!("SELECT VALUE r.id FROM (SELECT VALUE c FROM c{filter}) AS r WHERE r.n > 0"),
        _ => format!(
            "SELECT COUNT(1) AS k, MAX(d) AS m FROM (SELECT DISTINCT VALUE {} FROM {source}{filter}) AS d",
            path(rng, alias)
        ),
    }
}
