//! Random indexing policies, and what they mean for ORDER BY, told from their rules alone.

use value::{Value, json};

use crate::random::{Rng, queries::OrderBy};

/// An indexing policy.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// As the definition of a collection has it; `null` for the default.
    pub(crate) json: String,
    /// The collection's partition key, which is indexed whatever the rules say.
    pub(crate) key: Key,
    rules: Vec<Rule>,
    composites: Vec<Vec<(&'static str, bool)>>,
    is_none: bool,
}

/// A partition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    V1,
    V2,
    /// Of two levels.
    Hierarchical,
}

impl Key {
    pub(crate) fn paths(self) -> &'static [&'static str] {
        if self == Self::Hierarchical { &["/pk", "/a"] } else { &["/pk"] }
    }

    pub(crate) fn json(self) -> &'static str {
        match self {
            Self::V1 => r#"{"paths":["/pk"],"kind":"Hash","version":1}"#,
            Self::V2 => r#"{"paths":["/pk"],"kind":"Hash","version":2}"#,
            Self::Hierarchical => r#"{"paths":["/pk","/a"],"kind":"MultiHash","version":2}"#,
        }
    }

    /// The key of a document, as its header has it.
    pub(crate) fn header(self, body: &str) -> String {
        let document = json::parse(body.as_bytes()).expect("a document");
        let component = |path: &&str| match document.get(&path[1..]) {
            Value::Undefined | Value::Array(_) | Value::Object(_) => "{}".to_owned(),
            scalar => json::print(scalar),
        };
        format!("[{}]", self.paths().iter().map(component).collect::<Vec<_>>().join(","))
    }
}

#[derive(Clone, Debug)]
struct Rule {
    path: &'static str,
    is_included: bool,
}

/// What an ORDER BY comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ordering {
    Served,
    Refused,
}

const COMPOSITES: [&[(&str, bool)]; 5] = [
    &[("/a", false), ("/n", false)],
    &[("/a", false), ("/s", true)],
    &[("/s", true), ("/n", false), ("/id", false)],
    &[("/o/a", false), ("/a", false)],
    &[("/pk", false), ("/_ts", true)],
];

const SPATIAL: &str = r#"{"path":"/g/?","types":["Point","LineString","Polygon","MultiPolygon"]}"#;

/// What a policy may name, each in one of several ways.
const NAMED: [&[&str]; 6] = [
    &["/a/?", "/a/*"],
    &["/n/?", "/n/*"],
    &["/s/?", "/s/*"],
    &["/o/*", "/o/?", "/o/a/?", "/o/b/*"],
    &["/l/*", "/l/[]/?", "/l/[]/a/?", "/l/?"],
    &["/\"k k\"/?", "/\"k k\"/*"],
];

impl Policy {
    /// What a collection has that names none.
    pub(crate) fn default_policy(key: Key) -> Self {
        let rules = vec![Rule { path: "/*", is_included: true }];
        Self { json: "null".to_owned(), key, rules, composites: Vec::new(), is_none: false }
    }

    pub(crate) fn random(rng: &mut Rng) -> Self {
        let key = [Key::V2, Key::V2, Key::V1, Key::Hierarchical][rng.below(4)];
        Self::default_policy(key).changed(rng)
    }

    /// Another policy for the same collection.
    pub(crate) fn changed(&self, rng: &mut Rng) -> Self {
        let key = self.key;
        let composites: Vec<_> =
            COMPOSITES.iter().filter(|_| rng.chance(50)).map(|members| members.to_vec()).collect();
        let mut rules = vec![Rule { path: "/*", is_included: true }];
        let (mut is_none, mut is_automatic, mut mode) = (false, true, "consistent");
        match rng.below(8) {
            0 => return Self::default_policy(key),
            1 => rules.extend(named(rng, false)),
            2 => rules.extend(named(rng, true)),
            3 => {
                rules[0].is_included = false;
                rules.extend(named(rng, true));
            }
            4 => rules[0].is_included = false,
            5 => (is_none, is_automatic, mode, rules) = (true, false, "none", Vec::new()),
            // A consistent index is always automatic.
            6 => (is_automatic, mode) = (false, "lazy"),
            _ => {}
        }
        let composites = if is_none { Vec::new() } else { composites };
        let paths = |is_included: bool| {
            let rules = rules.iter().filter(|rule| rule.is_included == is_included);
            let paths: Vec<String> = rules
                .map(|rule| format!("{{\"path\":\"{}\"}}", rule.path.replace('"', "\\\"")))
                .collect();
            paths.join(",")
        };
        let json = format!(
            r#"{{"indexingMode":"{mode}","automatic":{is_automatic},"includedPaths":[{}],"excludedPaths":[{}],"compositeIndexes":[{}],"spatialIndexes":[{}]}}"#,
            paths(true),
            paths(false),
            composites.iter().map(|members| composite_json(members)).collect::<Vec<_>>().join(","),
            if is_none || rng.chance(50) { "" } else { SPATIAL },
        );
        Self { json, key, rules, composites, is_none }
    }

    /// The order of one of its composite indexes, as it is or reversed.
    pub(crate) fn composite(&self, rng: &mut Rng) -> Option<Vec<(&'static str, bool)>> {
        if self.composites.is_empty() {
            return None;
        }
        let members = &self.composites[rng.below(self.composites.len())];
        let is_reversed = rng.chance(50);
        Some(members.iter().map(|(path, descends)| (*path, descends ^ is_reversed)).collect())
    }

    /// What becomes of an ORDER BY under this policy.
    pub(crate) fn ordering(&self, order: &[OrderBy]) -> Ordering {
        // No index has elements of arrays in order, so none is missed.
        if order.iter().any(|key| key.path.is_empty()) {
            return Ordering::Served;
        }
        let [key] = order else {
            return if order.is_empty() || self.composites.iter().any(|it| serves(it, order)) {
                Ordering::Served
            } else {
                Ordering::Refused
            };
        };
        match self.rule(key.path) {
            _ if self.is_none => Ordering::Refused,
            _ if ["/id", "/_ts"].contains(&key.path) || self.key.paths().contains(&key.path) => {
                Ordering::Served
            }
            Some(rule) if rule.is_included => Ordering::Served,
            _ => Ordering::Refused,
        }
    }

    /// The rule for a path: the deepest, and `/?` before `/*`.
    fn rule(&self, path: &str) -> Option<&Rule> {
        let applies = |rule: &&Rule| {
            if let Some(own) = rule.path.strip_suffix("/?") {
                return own == path;
            }
            let rest = path.strip_prefix(rule.path.trim_end_matches("/*"));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.rules
            .iter()
            .filter(applies)
            .max_by_key(|rule| (rule.path.matches('/').count(), rule.path.ends_with("/?")))
    }
}

fn named(rng: &mut Rng, is_included: bool) -> Vec<Rule> {
    let mut rules = Vec::new();
    for ways in NAMED {
        if rng.chance(60) {
            rules.push(Rule { path: rng.pick(ways), is_included });
        }
    }
    rules
}

fn serves(members: &[(&str, bool)], order: &[OrderBy]) -> bool {
    members.len() == order.len()
        && members.iter().zip(order).all(|(member, key)| member.0 == key.path)
        && (members.iter().zip(order).all(|(member, key)| member.1 == key.descends)
            || members.iter().zip(order).all(|(member, key)| member.1 != key.descends))
}

fn composite_json(members: &[(&str, bool)]) -> String {
    let member = |(path, descends): &(&str, bool)| {
        let order = if *descends { "descending" } else { "ascending" };
        format!(r#"{{"path":"{path}","order":"{order}"}}"#)
    };
    format!("[{}]", members.iter().map(member).collect::<Vec<_>>().join(","))
}
