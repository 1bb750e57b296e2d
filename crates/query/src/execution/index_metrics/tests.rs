use index::{Definition, Mode, Rule, Spatial, parse_composite_path};
use sql::filter;

use super::*;

/// A policy that indexes everything except the excluded paths, with these composite indexes.
fn policy(excluded: &[&str], composites: &[&str]) -> Policy {
    let mut rules = vec![(Rule::parse("/*").unwrap(), true)];
    rules.extend(excluded.iter().map(|text| (Rule::parse(text).unwrap(), false)));
    let member = |text: &str| {
        let (path, order) = text.trim().split_once(' ').unwrap();
        (parse_composite_path(path).unwrap(), order == "DESC")
    };
    let definition = Definition {
        mode: Mode::Consistent,
        automatic: true,
        rules,
        composites: composites.iter().map(|text| text.split(',').map(member).collect()).collect(),
        spatial: vec![Spatial { rule: Rule::parse("/at/?").unwrap(), bounds: None }],
    };
    Policy::new(&definition, &[])
}

fn metrics(policy: &Policy, condition: &str, order: &[(&str, bool)], sums: &[&str]) -> Metrics {
    let text = match condition {
        "" => "SELECT * FROM c".to_owned(),
        condition => format!("SELECT * FROM c WHERE {condition}"),
    };
    metrics_of(policy, &text, order, sums)
}

fn metrics_of(policy: &Policy, text: &str, order: &[(&str, bool)], sums: &[&str]) -> Metrics {
    let query = sql::parse(text).unwrap();
    let filter = filter::of(&query, &[]);
    let group = query.group_by.iter().filter_map(|key| order_path(&query, key, &[]));
    let asked = Asked {
        filter: &filter,
        projected: predicates_of_select(&query, &[], &[]),
        group: group.map(|path| index_path(&path)).collect(),
        order: order.iter().map(|(path, descends)| (path_of(path), *descends)).collect(),
        sums: sums.iter().map(|path| path_of(path)).collect(),
        key: Vec::new(),
    };
    Metrics::new(&asked, policy, &|path| policy.coverage(path))
}

fn path_of(text: &str) -> Path {
    parse_composite_path(text).unwrap()
}

/// The four lists, concatenated.
fn shown(metrics: &Metrics) -> String {
    let singles = |list: &[Single]| {
        let text = |entry: &Single| {
            format!("{}{}", single_spec(entry), if entry.is_high { "" } else { " low" })
        };
        list.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let composites = |list: &[Composite]| {
        let text = |members: &Composite| composite_specs(members).replace('"', "");
        list.iter().map(text).collect::<Vec<_>>().join(" ")
    };
    format!(
        "{} | {} | {} | {}",
        singles(&metrics.utilized),
        singles(&metrics.potential),
        composites(&metrics.utilized_composites),
        composites(&metrics.potential_composites)
    )
}

#[test]
fn filters_use_the_indexes_of_their_paths() {
    let policy = policy(&["/hidden/*"], &[]);
    for (condition, expected) in [
        ("", " |  |  | "),
        ("c.price > 500", "/price/? |  |  | "),
        ("c.price > 500 AND STARTSWITH(c.name, 'T')", "/price/?, /name/? |  |  | "),
        ("c.Item = 'v' AND c.Price > 2", "/Item/?, /Price/? |  |  | [/Item ASC,/Price ASC]"),
        ("c.a = 1 AND c.b = 2", "/a/?, /b/? |  |  | "),
        ("c.a = 1 OR c.b = 2", "/a/?, /b/? |  |  | "),
        ("c.a.b = 1", "/a/b/? |  |  | "),
        ("c['a b'] = 1", "/\"a b\"/? |  |  | "),
        ("c['é'] = 1", "/é/? |  |  | "),
        ("CONTAINS(c.a, 'x')", "/a/? low |  |  | "),
        ("c.a != 1 AND c.b = 1", "/a/? low, /b/? |  |  | "),
        ("ARRAY_CONTAINS(c.tags, 'x')", "/tags/[]/? |  |  | "),
        ("c.hidden.x = 1", " | /hidden/x/? |  | "),
        ("c.hidden.x = 1 AND c.a = 1", "/a/? | /hidden/x/? |  | "),
        // An OR that has a part without an index uses no index.
        ("c.hidden.x = 1 OR c.a = 1", " | /hidden/x/? |  | "),
        // Documents without a path are only indexed if the path is included by name.
        ("NOT IS_DEFINED(c.a)", " | /a/? low |  | "),
        ("c.a + c.b = 1", " |  |  | "),
        ("ST_DISTANCE(c.at, {'type':'Point','coordinates':[1,2]}) < 9", "/at/? |  |  | "),
        ("ST_DISTANCE(c.to, {'type':'Point','coordinates':[1,2]}) < 9", " | /to/? |  | "),
    ] {
        assert_eq!(shown(&metrics(&policy, condition, &[], &[])), expected, "{condition}");
    }
}

#[test]
fn each_range_could_have_a_composite_index() {
    let policy = policy(&[], &[]);
    let shown = shown(&metrics(
        &policy,
        "c.name = 'x' AND c.town = 'y' AND c.age > 1 AND c.ts > 2",
        &[],
        &[],
    ));
    let expected = "[/name ASC,/town ASC,/age ASC] [/name ASC,/town ASC,/ts ASC]";
    assert_eq!(shown.rsplit(" | ").next(), Some(expected));
}

#[test]
fn composite_indexes_serve_equalities_and_one_range_at_their_end() {
    let policy = policy(&[], &["/name ASC,/age ASC", "/name ASC,/age ASC,/ts DESC"]);
    for (condition, order, sums, expected) in [
        ("c.name = 'x' AND c.age = 18", &[][..], &[][..], "[/name ASC,/age ASC] | "),
        ("c.age > 18 AND c.name = 'x'", &[], &[], "[/name ASC,/age ASC] | "),
        ("c.name != 'x' AND c.age > 18", &[], &[], " | "),
        ("c.name = 'x'", &[], &[], " | "),
        ("c.name > 'x' AND c.age = 1", &[], &[], " | [/age ASC,/name ASC]"),
        (
            "c.name = 'x' AND c.age = 1 AND c.ts > 5",
            &[],
            &[],
            "[/name ASC,/age ASC] [/name ASC,/age ASC,/ts DESC] | ",
        ),
        (
            "c.name = 'x' AND c.age < 1 AND c.ts = 5",
            &[],
            &[],
            "[/name ASC,/age ASC] | [/name ASC,/ts ASC,/age ASC]",
        ),
        ("", &[("/name", true), ("/age", true)], &[], "[/name DESC,/age DESC] | "),
        ("c.name = 'x'", &[("/age", false)], &[], "[/name ASC,/age ASC] | "),
        ("c.name = 'x'", &[("/town", true)], &[], " | [/name ASC,/town DESC]"),
        ("c.name = 'x' AND c.town > 'y'", &[("/town", true)], &[], " | [/name ASC,/town DESC]"),
        ("c.name = 'x'", &[], &["/age"], "[/name ASC,/age ASC] | "),
        ("c.name = 'x'", &[], &["/town"], " | [/name ASC,/town ASC]"),
    ] {
        let shown = shown(&metrics(&policy, condition, order, sums));
        let composites = shown.splitn(3, " | ").nth(2);
        assert_eq!(composites, Some(expected), "{condition} {order:?} {sums:?}");
    }
}

#[test]
fn orders_use_the_index_of_their_path() {
    let policy = policy(&[], &[]);
    let by = |condition| shown(&metrics(&policy, condition, &[("/ts", true)], &[]));
    assert_eq!(by(""), "/ts/? |  |  | ");
    assert_eq!(by("c.ts > 5"), "/ts/? |  |  | ");
    assert_eq!(by("c.a > 5"), "/a/?, /ts/? |  |  | ");
}

#[test]
fn an_order_reads_the_index_that_it_filters() {
    let policy = policy(&[], &[]);
    let by = |condition| shown(&metrics(&policy, condition, &[("/id", false)], &[]));
    assert_eq!(by("c.id = '1'"), "/id/? |  |  | ");
    assert_eq!(by("c.id = '1' AND c.name = 'a'"), "/name/? |  |  | ");
    assert_eq!(by("c.id > '1' AND c.name > 'a'"), "/name/? |  |  | ");
    assert_eq!(by("c.id = '1' AND c.name > 'a'"), "/id/?, /name/? |  |  | [/id ASC,/name ASC]");
}

#[test]
fn groups_of_equalities_could_have_a_composite_index() {
    let policy = policy(&[], &[]);
    let by = |rest: &str| {
        let text = format!("SELECT VALUE COUNT(1) FROM c WHERE {rest}");
        shown(&metrics_of(&policy, &text, &[], &[]))
    };
    let both = "c.id = '1' AND c.name = 'a' GROUP BY";
    assert_eq!(by(&format!("{both} c.id")), "/id/?, /name/? |  |  | ");
    assert_eq!(by(&format!("{both} c.id, c.name")), "/id/?, /name/? |  |  | [/id ASC,/name ASC]");
    assert_eq!(by("c.id = '1' GROUP BY c.id, c.name"), "/id/? |  |  | ");
}

#[test]
fn predicates_of_select_use_indexes() {
    let policy = policy(&["/h/?"], &[]);
    for (select, expected) in [
        ("VALUE STARTSWITH(c.a, 's', true)", "/a/? |  |  | "),
        ("VALUE {x: c.a > 1, y: [c.b = 2, c.c]}", "/a/?, /b/? |  |  | "),
        ("c.a, c.b AS x, c.c.d", " |  |  | "),
        ("VALUE UPPER(c.a)", " |  |  | "),
        ("VALUE c.h = 1", " |  |  | "),
        ("COUNT(1)", " |  |  | "),
        ("'x' AS x, c.id, c.a FROM c WHERE STARTSWITH(c.a, 'T')", "/a/? |  |  | "),
    ] {
        let text = if select.contains("FROM") {
            format!("SELECT {select}")
        } else {
            format!("SELECT {select} FROM c")
        };
        assert_eq!(shown(&metrics_of(&policy, &text, &[], &[])), expected, "{select}");
    }
}

#[test]
fn the_first_form() {
    let policy = policy(&["/h/?"], &["/name ASC,/age ASC"]);
    let metrics =
        metrics(&policy, "c.name = \"Tim\" AND c.age > 1 AND c.h = 2", &[("/ts", false)], &[]);
    assert_eq!(
        metrics.first(),
        concat!(
            r#"{"UtilizedSingleIndexes":[{"FilterExpression":"(ROOT.name = \"Tim\")","#,
            r#""IndexSpec":"\/name\/?","FilterPreciseSet":true,"IndexPreciseSet":true,"#,
            r#""IndexImpactScore":"High"},{"FilterExpression":"(ROOT.age > 1)","#,
            r#""IndexSpec":"\/age\/?","FilterPreciseSet":true,"IndexPreciseSet":true,"#,
            r#""IndexImpactScore":"High"},{"FilterExpression":"","IndexSpec":"\/ts\/?","#,
            r#""FilterPreciseSet":true,"IndexPreciseSet":true,"IndexImpactScore":"High"}],"#,
            r#""PotentialSingleIndexes":[{"FilterExpression":"(ROOT.h = 2)","IndexSpec":"\/h\/?","#,
            r#""FilterPreciseSet":true,"IndexPreciseSet":true,"IndexImpactScore":"High"}],"#,
            r#""UtilizedCompositeIndexes":[{"IndexSpecs":["\/name ASC","\/age ASC"],"#,
            r#""IndexPreciseSet":false,"IndexImpactScore":"High"}],"#,
            r#""PotentialCompositeIndexes":[{"IndexSpecs":["\/name ASC","\/h ASC","\/age ASC"],"#,
            r#""IndexPreciseSet":false,"IndexImpactScore":"High"},"#,
            r#"{"IndexSpecs":["\/name ASC","\/h ASC","\/ts ASC"],"#,
            r#""IndexPreciseSet":false,"IndexImpactScore":"High"}]}"#,
        )
    );
}

#[test]
fn the_second_form() {
    let policy = policy(&["/h/?"], &["/name ASC,/age ASC"]);
    let metrics = metrics(&policy, "c.name = 'Tim' AND c.age > 1 AND c.h = 2", &[], &[]);
    assert_eq!(
        metrics.second(),
        concat!(
            r#"{"UtilizedIndexes":{"SingleIndexes":[{"IndexSpec":"/age/?"},{"IndexSpec":"/name/?"}],"#,
            r#""CompositeIndexes":[{"IndexSpecs":["/name ASC","/age ASC"]}]},"#,
            r#""PotentialIndexes":{"SingleIndexes":[{"IndexSpec":"/h/?","IndexImpactScore":"High"}],"#,
            r#""CompositeIndexes":[{"IndexSpecs":["/name ASC","/h ASC","/age ASC"],"#,
            r#""IndexImpactScore":"High"}]}}"#,
        )
    );
}

#[test]
fn long_filters_stay_within_bounds() {
    let policy = policy(&[], &[]);
    let equal = (0..300).map(|at| format!("c.e{at} = 1"));
    let condition: Vec<String> = equal.chain((0..300).map(|at| format!("c.r{at} > 1"))).collect();
    let metrics = metrics(&policy, &condition.join(" AND "), &[], &[]);
    assert_eq!(metrics.utilized.len(), ENTRIES_MAX);
    assert_eq!(metrics.potential_composites.len(), ENTRIES_MAX);
    assert!(metrics.potential_composites.iter().all(|members| members.len() == MEMBERS_MAX));
}
