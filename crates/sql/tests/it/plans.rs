//! Query plans: those of the service, which lie beside the repository (without them there is
//! nothing to check), and our own.

use sql::plan::{HybridInfo, Info, KeyRange, Plan, QueryInfo};
use value::{Object, Value};

use crate::plan_files::{
    self, check_ranges, container_of, entries, equal, info_of, key_paths, parameters_of, text,
    vectors_of,
};

/// The plan of an entry, or the document with which it is refused.
fn plan_of(entry: &Value, paths: &[Vec<String>]) -> Result<Plan, Value> {
    let vectors = vectors_of(entry);
    let container = container_of(entry, paths, &vectors);
    plan_files::plan_of(text(entry, "query"), &parameters_of(entry), &container)
}

#[test]
fn plans_are_those_of_the_service() {
    let (mut planned, mut refused, mut wrong) = (0, 0, Vec::new());
    for (place, entry) in entries("../../../shared/spec/sql-plans.json").iter().enumerate() {
        let query = text(entry, "query");
        let paths = key_paths(entry.get("partitionKeyPaths"));
        let result = match (plan_of(entry, &paths), entry.get("error")) {
            (Err(actual), Value::Undefined) => Err(value::json::print(&actual)),
            (Err(actual), expected) => {
                refused += 1;
                equal("error", &actual, expected)
            }
            (Ok(_), expected @ Value::Object(_)) => {
                Err(format!("planned, expected {}", value::json::print(expected)))
            }
            (Ok(plan), _) => {
                planned += 1;
                check_entry(&plan, entry)
            }
        };
        if let Err(difference) = result {
            wrong.push(format!("{place}: {query}\n    {difference}"));
        }
    }
    println!("{planned} plans and {refused} refusals as expected");
    assert!(wrong.is_empty(), "{} entries:\n{}", wrong.len(), wrong.join("\n"));
}

fn check_entry(plan: &Plan, entry: &Value) -> Result<(), String> {
    match (&plan.info, entry.get("plan"), entry.get("serverPlan"), entry.get("hybridXml")) {
        (_, expected @ Value::Object(_), _, _) => {
            equal("queryInfo", &info_of(plan), expected.get("queryInfo"))?;
            let ranges = expected.get("queryRanges").as_array().expect("ranges");
            check_ranges(plan, ranges.to_vec())
        }
        (_, _, expected @ Value::Object(_), _) => check_raw_plan(plan, expected),
        (Info::Hybrid(info), _, _, Value::String(expected)) => {
            equal("hybrid", &Value::from(xml_of(info)), &Value::from(expected.as_str()))
        }
        _ => Err("another kind of plan".to_owned()),
    }
}

/// Compares with a plan as the service's library returns it: null members are missing, and
/// booleans are 0 or 1.
fn check_raw_plan(plan: &Plan, expected: &Value) -> Result<(), String> {
    let expected = match &plan.info {
        Info::Query(_) => expected.get("queryInfo"),
        Info::Hybrid(_) => expected.get("hybridSearchQueryInfo"),
    };
    contains(&info_of(plan), expected, "info")
}

fn contains(actual: &Value, expected: &Value, place: &str) -> Result<(), String> {
    match (actual, expected) {
        (Value::Object(_), Value::Object(members)) => members
            .iter()
            .try_for_each(|(name, expected)| contains(actual.get(name), expected, name)),
        (Value::Array(items), Value::Array(expected)) if items.len() == expected.len() => {
            items.iter().zip(expected).try_for_each(|(item, e)| contains(item, e, place))
        }
        (Value::Bool(bit), Value::Number(number)) if number.as_i64() == Some(i64::from(*bit)) => {
            Ok(())
        }
        _ => equal(place, actual, expected),
    }
}

/// The plan in the form that the collected entries have for rankings.
fn xml_of(info: &HybridInfo) -> String {
    let components: String = info.components.iter().map(component_xml).collect();
    let counts = [("Skip", info.skip), ("Take", info.take)];
    let counts =
        counts.iter().filter_map(|(name, count)| Some(format!("<{name}>{}</{name}>", (*count)?)));
    format!(
        "<HybridSearchQueryInfo><GlobalStatisticsQuery>{}</GlobalStatisticsQuery>{components}{}\
         <RequiresGlobalStatistics>{}</RequiresGlobalStatistics></HybridSearchQueryInfo>",
        info.global_statistics_query,
        counts.collect::<String>(),
        if info.requires_global_statistics { "True" } else { "False" },
    )
}

fn component_xml(info: &QueryInfo) -> String {
    let count = |name: &str, count: Option<u32>| match count {
        Some(count) => format!("<{name}>{count}</{name}>"),
        None => format!("<{name} />"),
    };
    format!(
        "<componentQueryInfo><DistinctType>{}</DistinctType>{}{}{}<GroupByExpressions /><OrderBy>\
         <SortOrder>{:?}</SortOrder></OrderBy><OrderByExpressions><OrderByExpression>{}\
         </OrderByExpression></OrderByExpressions><Aggregates /><GroupByAliasToAggregateType />\
         <GroupByAliases /><HasSelectValue>{}</HasSelectValue><RewrittenQuery>{}</RewrittenQuery>\
         </componentQueryInfo>",
        info.distinct.text(),
        count("Top", info.top),
        count("Offset", info.offset),
        count("Limit", info.limit),
        info.order_by[0],
        info.order_by_expressions[0],
        if info.has_select_value { "True" } else { "False" },
        info.rewritten_query,
    )
}

/// Our own plans: what differs from a plan that changes nothing, the ranges (all of them unless
/// said otherwise) and the features that they need.
fn check_own(file: &str, default_paths: &[&str]) {
    let default_paths: Vec<_> = default_paths.iter().map(|path| plan_files::names(path)).collect();
    let entries = entries(&format!("testdata/plans/{file}.json"));
    assert!(!entries.is_empty(), "{file} is not there");
    let mut wrong = Vec::new();
    for entry in &entries {
        let paths = match entry.get("partitionKeyPaths") {
            Value::Undefined => default_paths.clone(),
            paths => key_paths(paths),
        };
        let result = match (plan_of(entry, &paths), entry.get("refusal")) {
            (Ok(plan), Value::Undefined) => check_own_plan(&plan, entry),
            (Ok(_), _) => Err("planned".to_owned()),
            (Err(refusal), expected) => equal("refusal", &refusal, expected),
        };
        if let Err(difference) = result {
            wrong.push(format!("{}\n    {difference}", text(entry, "query")));
        }
    }
    assert!(wrong.is_empty(), "{} entries of {file}:\n{}", wrong.len(), wrong.join("\n"));
}

fn check_own_plan(plan: &Plan, entry: &Value) -> Result<(), String> {
    let expected = match (entry.get("info"), entry.get("hybrid")) {
        (info @ Value::Object(_), _) => with_defaults(info),
        (_, hybrid) => {
            let mut hybrid = hybrid.as_object().expect("info or hybrid").clone();
            let components = hybrid.get("componentQueryInfos").and_then(Value::as_array);
            let components: Vec<_> =
                components.expect("components").iter().map(with_defaults).collect();
            hybrid.insert("componentQueryInfos", components);
            Value::from(hybrid)
        }
    };
    equal("info", &info_of(plan), &expected)?;
    let all = [Value::from("all")];
    let ranges = entry.get("ranges").as_array().unwrap_or(&all);
    check_ranges(plan, ranges.iter().map(own_range).collect())?;
    let features: Vec<_> =
        plan.features.iter().map(|feature| Value::from(feature.text())).collect();
    let expected = entry.get("features").as_array().unwrap_or_default().to_vec();
    equal("features", &Value::from(features), &Value::from(expected))
}

/// The members given, and those of a plan that changes nothing.
fn with_defaults(info: &Value) -> Value {
    let default = value::json::parse(QueryInfo::default().to_json().as_bytes()).expect("our JSON");
    let mut all: Object = default.as_object().expect("an object").clone();
    for (name, member) in info.as_object().expect("an object").iter() {
        assert!(all.insert(name, member.clone()).is_some(), "{name} is no member of a plan");
    }
    Value::from(all)
}

/// A range as our own files write it.
fn own_range(range: &Value) -> Value {
    let values = |name: &str| range.get(name).as_array().map(<[Value]>::to_vec);
    plan_files::range_value(&match (range.as_str(), values("point"), values("prefix")) {
        (Some("all"), _, _) => KeyRange::All,
        (Some("nothing"), _, _) => KeyRange::Nothing,
        (_, Some(values), _) => KeyRange::Point(values),
        (_, _, Some(values)) => KeyRange::Prefix(values),
        _ => return range.clone(),
    })
}

#[test]
fn order_by() {
    check_own("order_by", &["/pk"]);
}

#[test]
fn aggregates() {
    check_own("aggregates", &["/pk"]);
}

#[test]
fn group_by() {
    check_own("group_by", &["/pk"]);
}

#[test]
fn distinct() {
    check_own("distinct", &["/pk"]);
}

#[test]
fn limits() {
    check_own("limits", &["/pk"]);
}

#[test]
fn ranges() {
    check_own("ranges", &["/pk"]);
}

#[test]
fn hierarchies_of_keys() {
    check_own("hierarchy", &["/a", "/b", "/c"]);
}

#[test]
fn ranking() {
    check_own("ranking", &["/pk"]);
}

#[test]
fn refusals() {
    check_own("refusals", &["/pk"]);
}

/// Whatever can be run can be planned, and what is sent to partitions can be parsed.
#[test]
fn collected_cases_are_planned() {
    let paths = [plan_files::names("/pk")];
    let mut rewritten = 0;
    for case in entries("../../../shared/spec/sql-cases.json") {
        let query = text(&case, "query");
        match plan_of(&case, &paths) {
            Ok(Plan { info: Info::Query(info), .. }) if !info.rewritten_query.is_empty() => {
                let placeholder = "({documentdb-formattableorderbyquery-filter})";
                let sent = info.rewritten_query.replace(placeholder, "true");
                sql::parse(&sent).unwrap_or_else(|error| panic!("{query}: {sent}: {error}"));
                rewritten += 1;
            }
            Ok(_) => {}
            // Partitions run such queries, clients cannot merge them.
            Err(refusal) => {
                assert!(refusal.get("Errors").as_array().is_some(), "{query}: {refusal:?}");
            }
        }
    }
    println!("{rewritten} cases are rewritten");
}

/// Plans a query over a hierarchy of three keys and returns its ranges.
fn ranges_of(query: &str, parameters: &[(String, Value)]) -> Vec<KeyRange> {
    let paths: Vec<_> = ["/a", "/b", "/c"].into_iter().map(plan_files::names).collect();
    let container = container_of(&Value::Undefined, &paths, &[]);
    let plan = plan_files::plan_of(query, parameters, &container).expect("a plan");
    plan.ranges
}

fn joined(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

/// Texts near the longest that is allowed: each must be planned in time that grows with the text.
#[test]
fn long_filters_are_planned() {
    let count = 20_000;
    let parameters: Vec<_> =
        (0..count).map(|n| (format!("@p{n}"), Value::from(i64::try_from(n).unwrap()))).collect();
    let names = joined(count, ", ", |n| format!("@p{n}"));
    let query = format!("SELECT * FROM c WHERE c.a IN ({names})");
    assert_eq!(ranges_of(&query, &parameters).len(), count);

    let pairs = joined(10_000, " OR ", |n| format!("(c.a = {n} AND c.b = {n})"));
    assert_eq!(ranges_of(&format!("SELECT * FROM c WHERE {pairs}"), &[]).len(), 10_000);

    let both = joined(10_000, " AND ", |n| format!("(c.a = {n} OR c.b = {n})"));
    assert!(!ranges_of(&format!("SELECT * FROM c WHERE {both}"), &[]).is_empty());

    let squares = joined(2_000, " OR ", |n| {
        let values = joined(8, ", ", |m| (n * 8 + m).to_string());
        format!("(c.a IN ({values}) AND c.b IN ({values}) AND c.c IN ({values}))")
    });
    let ranges = ranges_of(&format!("SELECT * FROM c WHERE {squares}"), &[]);
    assert!(ranges.len() <= 2_000 * 24 + 4_096, "{} ranges", ranges.len());
}

#[test]
fn combined_values_are_bounded() {
    let values = joined(1_000, ", ", |n| n.to_string());
    let query = format!("SELECT * FROM c WHERE c.a IN ({values}) AND c.b IN ({values})");
    let ranges = ranges_of(&query, &[]);
    assert_eq!(ranges.len(), 1_000);
    assert!(
        ranges.iter().all(|range| matches!(range, KeyRange::Prefix(prefix) if prefix.len() == 1))
    );
}

#[test]
fn nested_filters_are_planned() {
    let deep = format!("{}c.a = 1{}", "NOT (".repeat(60), ")".repeat(60));
    let ranges = ranges_of(&format!("SELECT * FROM c WHERE {deep}"), &[]);
    assert_eq!(ranges, [KeyRange::Prefix(vec![Value::from(1_i64)])]);
}

#[test]
fn features_are_compared_as_clients_write_them() {
    let paths = [plan_files::names("/pk")];
    let container = container_of(&Value::Undefined, &paths, &[]);
    let query = "SELECT c.a, COUNT(1) FROM c GROUP BY c.a OFFSET 0 LIMIT 1";
    let plan = plan_files::plan_of(query, &[], &container).expect("a plan");
    assert!(plan.missing(&["groupby", "OFFSETANDLIMIT", "Top"].map(str::to_owned)).is_empty());
    let missing = plan.missing(&["Aggregate", "Top"].map(str::to_owned));
    assert_eq!(
        sql::plan::missing_text(&missing),
        "Query contains the following features, which the calling client does not support: \
         GroupBy, OffsetAndLimit"
    );
}

#[test]
fn the_answer_has_the_members_that_clients_read() {
    let paths = [plan_files::names("/pk")];
    let container = container_of(&Value::Undefined, &paths, &[]);
    let plan = plan_files::plan_of("SELECT TOP 1 * FROM c", &[], &container).expect("a plan");
    let range =
        sql::plan::HexRange { min: String::new(), max: "FF".to_owned(), is_max_inclusive: false };
    let expected = concat!(
        r#"{"partitionedQueryExecutionInfoVersion":2,"queryInfo":{"distinctType":"None","top":1,"#,
        r#""offset":null,"limit":null,"orderBy":[],"orderByExpressions":[],"groupByExpressions":[],"#,
        r#""groupByAliases":[],"aggregates":[],"groupByAliasToAggregateType":{},"#,
        r#""rewrittenQuery":"","hasSelectValue":false,"dCountInfo":null,"#,
        r#""hasNonStreamingOrderBy":false},"queryRanges":[{"min":"","max":"FF","#,
        r#""isMinInclusive":true,"isMaxInclusive":false}]}"#,
    );
    assert_eq!(plan.to_json(&[range]), expected);
}
