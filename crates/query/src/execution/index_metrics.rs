//! Index metrics: the indexes that a query uses, and those it could use if the policy had them.
//!
//! They describe the query and the policy, not the data: `explain` tells what a page really did.

use index::{Coverage, Path, Policy};
use protocol::{Options, query::IndexMetricsVersion};
use sql::filter::{
    Argument, Filter, IndexUse, Test, TestKind, order_path, paths_of_aggregate,
    predicates_of_select,
};

use crate::{
    execution::{
        ordered::{Order, OrderIndex},
        prepared::Prepared,
    },
    served::Served,
    sought::{DEFINED, coverage, index_path},
};

/// Most entries of each list: the metrics are a header, which must stay short.
const ENTRIES_MAX: usize = 64;

/// Most members of a composite index, as in policies.
const MEMBERS_MAX: usize = 8;

/// The metrics of a query, as JSON of the requested version.
pub(crate) fn of(
    prepared: &Prepared,
    collection: &Served,
    order: Option<&Order>,
    (options, version): (&Options, IndexMetricsVersion),
) -> String {
    let definition = &collection.definition;
    let key_paths = &definition.partition_key.paths;
    let named = options.partition_key.as_ref().map_or(0, |key| key.0.len());
    let computed: Vec<String> = definition.computed.iter().map(|one| one.name.clone()).collect();
    let (query, parameters) = (&prepared.query, &prepared.source.parameters);
    let aggregates = paths_of_aggregate(query, parameters, &computed);
    let sum = |name: &str| matches!(name, "SUM" | "AVG");
    let sums = aggregates.into_iter().filter(|aggregate| sum(&aggregate.name));
    let group = query.group_by.iter().filter_map(|key| order_path(query, key, &computed));
    let filter = prepared.filter_with_texts(collection);
    let asked = Asked {
        filter: &filter,
        projected: predicates_of_select(query, parameters, &computed),
        group: group.map(|path| index_path(&path)).collect(),
        order: order.map(order_paths).unwrap_or_default(),
        sums: sums
            .filter_map(|aggregate| match aggregate.argument {
                Argument::Path(path) => Some(index_path(&path)),
                Argument::Constant(_) | Argument::Other => None,
            })
            .collect(),
        key: key_paths.iter().take(named).map(|path| Path::of_keys(path.segments())).collect(),
    };
    let coverage = |path: &Path| coverage(collection, path);
    let metrics = Metrics::new(&asked, &definition.indexing, &coverage);
    match version {
        IndexMetricsVersion::V1 => metrics.first(),
        IndexMetricsVersion::V2 => metrics.second(),
    }
}

/// The paths of an order; empty if no index has it.
fn order_paths(order: &Order) -> Vec<(Path, bool)> {
    let paths = match &order.index {
        Some(OrderIndex::Path { path, .. }) => std::slice::from_ref(path),
        Some(OrderIndex::Composite { members, .. }) => members.as_slice(),
        None => &[],
    };
    paths.iter().cloned().zip(order.descends.iter().copied()).collect()
}

/// The parts of a query that indexes can serve.
struct Asked<'a> {
    filter: &'a Filter,
    /// The predicates of SELECT.
    projected: Vec<Filter>,
    /// The paths of GROUP BY.
    group: Vec<Path>,
    /// The paths of ORDER BY, each with whether it descends.
    order: Vec<(Path, bool)>,
    /// The aggregated paths.
    sums: Vec<Path>,
    /// The paths of the partition key that the request names.
    key: Vec<Path>,
}

/// The index of one path.
struct Single {
    path: Path,
    /// The condition in WHERE it serves; empty for ORDER BY.
    expression: String,
    is_filter_precise: bool,
    is_index_precise: bool,
    is_high: bool,
}

/// The members of a composite index, each with whether it descends.
type Composite = Vec<(Path, bool)>;

/// The four lists.
#[derive(Default)]
struct Metrics {
    utilized: Vec<Single>,
    potential: Vec<Single>,
    utilized_composites: Vec<Composite>,
    potential_composites: Vec<Composite>,
}

impl Metrics {
    fn new(asked: &Asked<'_>, policy: &Policy, coverage: &dyn Fn(&Path) -> Coverage) -> Self {
        let mut metrics = Self::default();
        let singles = Singles { policy, coverage };
        singles.add(asked.filter, true, &mut metrics);
        for filter in &asked.projected {
            singles.add_projected(filter, &mut metrics);
        }
        let is_filtered = |path: &Path| metrics.utilized.iter().any(|entry| entry.path == *path);
        let folded = match asked.order.as_slice() {
            [(path, _)] if is_filtered(path) => Some(path),
            _ => None,
        };
        let paths = match asked.order.as_slice() {
            [(path, _)] => std::slice::from_ref(path),
            // If no other index is used, the partition key's is.
            [] if metrics.utilized.is_empty() => asked.key.as_slice(),
            _ => &[],
        };
        for path in paths {
            let entry = Single {
                path: path.clone(),
                expression: String::new(),
                is_filter_precise: true,
                is_index_precise: true,
                is_high: true,
            };
            push(&mut metrics.utilized, entry);
        }
        metrics.composites(asked, policy);
        if let Some(path) = folded {
            metrics.fold_order(path);
        }
        for list in [&mut metrics.utilized_composites, &mut metrics.potential_composites] {
            list.truncate(ENTRIES_MAX);
        }
        metrics
    }

    fn composites(&mut self, asked: &Asked<'_>, policy: &Policy) {
        let shape = Shape::new(asked);
        if asked.order.len() > 1 {
            // An order by several paths needs its composite index.
            self.utilized_composites.push(asked.order.clone());
        }
        // COMPAT: this server combines the indexes of the single paths; the service uses a
        // composite index if one fits, and reports that.
        for composite in policy.composites() {
            let is_known = self.utilized_composites.iter().any(|known| {
                known.len() == composite.members.len()
                    && known.iter().zip(&composite.members).all(|(a, b)| a.0 == b.0)
            });
            if shape.is_served_by(&composite.members) && !is_known {
                self.utilized_composites.push(composite.members.clone());
            }
        }
        for wanted in shape.wanted() {
            let is_there = self.utilized_composites.iter().any(|known| {
                known.len() == wanted.len()
                    && wanted.iter().all(|(path, _)| known.iter().any(|(other, _)| other == path))
            });
            if !is_there {
                self.potential_composites.push(wanted);
            }
        }
    }

    /// Removes the index of a path that is both filtered and ordered by, if other paths are
    /// filtered and no composite index has this one: it is read for the order, and reported there.
    ///
    /// COMPAT: as in recorded answers of the service.
    fn fold_order(&mut self, path: &Path) {
        let mut composites = self.utilized_composites.iter().chain(&self.potential_composites);
        let is_member = composites.any(|members| members.iter().any(|(member, _)| member == path));
        let has_others = self.utilized.iter().any(|entry| entry.path != *path);
        if has_others && !is_member {
            self.utilized.retain(|entry| entry.path != *path);
        }
    }

    /// The first version. It escapes slashes.
    fn first(&self) -> String {
        let single = |entry: &Single| {
            format!(
                r#"{{"FilterExpression":{},"IndexSpec":{},"FilterPreciseSet":{},"IndexPreciseSet":{},"IndexImpactScore":"{}"}}"#,
                quoted(&entry.expression).replace('/', r"\/"),
                quoted(&single_spec(entry)).replace('/', r"\/"),
                entry.is_filter_precise,
                entry.is_index_precise,
                score(entry.is_high),
            )
        };
        let composite = |members: &Composite| {
            let specs = composite_specs(members).replace('/', r"\/");
            format!(r#"{{"IndexSpecs":{specs},"IndexPreciseSet":false,"IndexImpactScore":"High"}}"#)
        };
        format!(
            r#"{{"UtilizedSingleIndexes":{},"PotentialSingleIndexes":{},"UtilizedCompositeIndexes":{},"PotentialCompositeIndexes":{}}}"#,
            list(&self.utilized, single),
            list(&self.potential, single),
            list(&self.utilized_composites, composite),
            list(&self.potential_composites, composite),
        )
    }

    /// The second version. COMPAT: only potential indexes have a score, since clients show it only
    /// there; utilized indexes come in reverse order.
    fn second(&self) -> String {
        let single = |entry: &Single| format!(r#"{{"IndexSpec":{}}}"#, quoted(&single_spec(entry)));
        let composite =
            |members: &Composite| format!(r#"{{"IndexSpecs":{}}}"#, composite_specs(members));
        let potential = |entry: &Single| {
            let spec = quoted(&single_spec(entry));
            format!(r#"{{"IndexSpec":{spec},"IndexImpactScore":"{}"}}"#, score(entry.is_high))
        };
        let potential_composite = |members: &Composite| {
            let specs = composite_specs(members);
            format!(r#"{{"IndexSpecs":{specs},"IndexImpactScore":"High"}}"#)
        };
        format!(
            r#"{{"UtilizedIndexes":{{"SingleIndexes":{},"CompositeIndexes":{}}},"PotentialIndexes":{{"SingleIndexes":{},"CompositeIndexes":{}}}}}"#,
            list(self.utilized.iter().rev(), single),
            list(&self.utilized_composites, composite),
            list(&self.potential, potential),
            list(&self.potential_composites, potential_composite),
        )
    }
}

/// Sorts the tests of a filter into those that an index answers and those that none does.
struct Singles<'a> {
    policy: &'a Policy,
    coverage: &'a dyn Fn(&Path) -> Coverage,
}

impl Singles<'_> {
    /// `is_used` is false within an OR that has a part without an index: no index is used then.
    fn add(&self, filter: &Filter, is_used: bool, metrics: &mut Metrics) {
        match filter {
            Filter::All | Filter::Always | Filter::Nothing => {}
            Filter::And(filters) => {
                for filter in filters {
                    self.add(filter, is_used, metrics);
                }
            }
            Filter::Or(filters) => {
                let is_used = is_used && self.is_answered(filter);
                for filter in filters {
                    self.add(filter, is_used, metrics);
                }
            }
            Filter::Test(test) => {
                let path = index_path(&test.path);
                let list = match (self.answers(test, &path), is_used) {
                    (true, true) => &mut metrics.utilized,
                    (false, _) if self.is_missing(test, &path) => &mut metrics.potential,
                    _ => return,
                };
                push(list, single(test, path));
            }
        }
    }

    /// Adds the tests in SELECT that the index can answer from some ranges.
    fn add_projected(&self, filter: &Filter, metrics: &mut Metrics) {
        match filter {
            Filter::And(filters) | Filter::Or(filters) => {
                for filter in filters {
                    self.add_projected(filter, metrics);
                }
            }
            Filter::Test(test) if test.use_ < IndexUse::Full => {
                let path = index_path(&test.path);
                if self.answers(test, &path) {
                    push(&mut metrics.utilized, single(test, path));
                }
            }
            _ => {}
        }
    }

    /// Whether the index narrows the documents that pass.
    fn is_answered(&self, filter: &Filter) -> bool {
        match filter {
            Filter::All | Filter::Always => false,
            Filter::Nothing => true,
            Filter::And(filters) => filters.iter().any(|filter| self.is_answered(filter)),
            Filter::Or(filters) => filters.iter().all(|filter| self.is_answered(filter)),
            Filter::Test(test) => self.answers(test, &index_path(&test.path)),
        }
    }

    /// Whether the policy has an index that answers the test.
    fn answers(&self, test: &Test, path: &Path) -> bool {
        match (&test.kind, (self.coverage)(path)) {
            (TestKind::Spatial { .. }, _) => self.policy.has_spatial(path),
            (_, Coverage::NotIndexed) => false,
            (_, Coverage::Explicit) => true,
            (_, Coverage::Wildcard) => !has_undefined(&test.kind),
        }
    }

    /// Whether another policy would answer it: this one excludes the path, or includes it in a way
    /// that says nothing about documents without it.
    fn is_missing(&self, test: &Test, path: &Path) -> bool {
        match (&test.kind, self.policy.coverage(path)) {
            (TestKind::Spatial { .. }, _) => !self.policy.has_spatial(path),
            (_, Coverage::NotIndexed) => true,
            (_, Coverage::Wildcard) => has_undefined(&test.kind),
            // The index is being built.
            (_, Coverage::Explicit) => false,
        }
    }
}

fn single(test: &Test, path: Path) -> Single {
    Single {
        path,
        expression: test.text.clone(),
        is_filter_precise: test.is_exact,
        is_index_precise: test.use_ <= IndexUse::Precise,
        is_high: test.use_ < IndexUse::Full,
    }
}

fn has_undefined(kind: &TestKind) -> bool {
    match kind {
        TestKind::Intervals(intervals) | TestKind::Values { intervals, .. } => {
            intervals.iter().any(|interval| interval.low.as_slice() < &[DEFINED][..])
        }
        TestKind::Spatial { .. } => false,
    }
}

fn push(list: &mut Vec<Single>, entry: Single) {
    if list.len() < ENTRIES_MAX && list.iter().all(|known| known.path != entry.path) {
        list.push(entry);
    }
}

/// The parts of a query that composite indexes can serve.
struct Shape {
    /// Paths with an equality, in the order of the query.
    equal: Vec<Path>,
    /// Paths that may come last: in a range, ordered by, or aggregated.
    last: Vec<(Path, bool)>,
    /// Whether it groups by several paths, all with equalities.
    groups_equal: bool,
}

impl Shape {
    fn new(asked: &Asked<'_>) -> Self {
        let filters = match asked.filter {
            Filter::And(filters) => filters.as_slice(),
            one => std::slice::from_ref(one),
        };
        let (mut equal, mut last) = (Vec::new(), Vec::new());
        for filter in filters {
            let Filter::Test(test) = filter else { continue };
            // Each element of an array has its own entry, so different elements may pass different
            // tests.
            if !test.path.is_single_valued() || matches!(test.kind, TestKind::Spatial { .. }) {
                continue;
            }
            match test.use_ {
                IndexUse::Seek => equal.push(index_path(&test.path)),
                IndexUse::Precise => last.push((index_path(&test.path), false)),
                IndexUse::Expanded | IndexUse::Full => {}
            }
        }
        let mut others = asked.sums.iter().map(|path| (path.clone(), false)).collect::<Vec<_>>();
        if let [order] = asked.order.as_slice() {
            // A path that is also filtered gets the direction of the order.
            last.retain(|(path, _)| *path != order.0);
            others.insert(0, order.clone());
        }
        for other in others {
            if !last.iter().any(|(path, _)| *path == other.0) && !equal.contains(&other.0) {
                last.push(other);
            }
        }
        let groups_equal =
            asked.group.len() > 1 && asked.group.iter().all(|path| equal.contains(path));
        Self { equal, last, groups_equal }
    }

    /// Whether a composite index serves it: equalities first, then at most one other path.
    fn is_served_by(&self, members: &[(Path, bool)]) -> bool {
        let Some(((last, _), first)) = members.split_last() else { return false };
        first.iter().all(|(path, _)| self.equal.contains(path))
            && (self.equal.contains(last) || self.last.iter().any(|(path, _)| path == last))
    }

    /// The composite indexes that would serve it best: one for each path that may come last.
    /// Equalities alone are served as well by the indexes of single paths.
    fn wanted(&self) -> Vec<Composite> {
        let ascending = |path: &Path| (path.clone(), false);
        if self.last.is_empty() {
            let all = self.equal.len() > 1 && self.groups_equal;
            return all
                .then(|| self.equal.iter().take(MEMBERS_MAX).map(ascending).collect())
                .into_iter()
                .collect();
        }
        if self.equal.is_empty() {
            return Vec::new();
        }
        let first = || self.equal.iter().take(MEMBERS_MAX - 1).map(ascending);
        let last = self.last.iter().take(ENTRIES_MAX);
        last.map(|last| first().chain([last.clone()]).collect()).collect()
    }
}

fn list<'a, T: 'a>(
    entries: impl IntoIterator<Item = &'a T>,
    print: impl Fn(&T) -> String,
) -> String {
    let texts: Vec<String> = entries.into_iter().map(print).collect();
    format!("[{}]", texts.join(","))
}

fn single_spec(entry: &Single) -> String {
    format!("{}/?", entry.path)
}

fn composite_specs(members: &Composite) -> String {
    list(members, |(path, descends)| {
        let word = if *descends { "DESC" } else { "ASC" };
        quoted(&format!("{path} {word}"))
    })
}

fn quoted(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    value::json::quote(text, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn score(is_high: bool) -> &'static str {
    if is_high { "High" } else { "Low" }
}

#[cfg(test)]
mod tests;
