//! What a query tells beside its rows: index metrics, advice, and how it was run.

use protocol::{
    Operation, Options,
    query::{IndexMetricsVersion, QueryFeed, QueryMeta, QueryOptions, QuerySource},
};
use value::{Value, json};

use crate::{
    queries::query,
    support::{Database, collection},
};

/// A collection of 400 documents under four keys, with a composite index and a path left out.
async fn filled(throughput: i64) -> Database {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "indexingPolicy":{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],
        "excludedPaths":[{"path":"/hidden/?"}],"compositeIndexes":[[
        {"path":"/lot","order":"ascending"},{"path":"/n","order":"ascending"}]]}}"#;
    db.create_collection(body, Some(throughput)).await.expect("a new collection");
    for n in 0..400 {
        let (pk, lot) = (n % 4, n % 10);
        let document = format!(
            r#"{{"id":"{n}","pk":"{pk}","n":{n},"lot":{lot},"hidden":{n},"name":"name {n}"}}"#
        );
        db.create(&document).await.expect("created");
    }
    db
}

async fn told(db: &Database, text: &str, asked: QueryOptions) -> QueryMeta {
    let body = QuerySource::new(text);
    let query = QueryOptions { enable_cross_partition: true, ..asked };
    let options = Options { query, max_item_count: Some(10), ..Options::default() };
    let feed = QueryFeed::Documents(collection());
    let page = db.call(Operation::Query { feed, query: body }, options).await.expect("a page");
    page.meta.query.map(|meta| *meta).unwrap_or_default()
}

async fn explained(db: &Database, text: &str) -> Value {
    let meta = told(db, text, QueryOptions { explain: true, ..QueryOptions::default() }).await;
    assert_eq!((&meta.metrics, &meta.advice), (&None, &None));
    json::parse(meta.explain.expect("an account").as_bytes()).expect("JSON")
}

/// An index that knows nothing of one condition must not count by the other alone.
#[tokio::test]
async fn counts_are_right_whatever_is_indexed() {
    let db = filled(400).await;
    for (condition, expected) in [
        ("c.n >= 300 AND c.hidden < 310", 10_i64),
        ("c.hidden < 310 AND (c.n = 5 OR c.n = 320)", 1),
        ("c.n >= 300 AND c.lot = 3", 10),
        ("c.n >= 300 OR c.hidden < 10", 110),
    ] {
        let text = format!("SELECT VALUE COUNT(1) FROM c WHERE {condition}");
        let rows = query(&db, &text, &Value::Null, Options::default()).await.expect("a count");
        assert_eq!(rows, [Value::from(expected)], "{condition}");
    }
}

/// How the first partition was read, one step behind the other.
fn steps(explained: &Value) -> String {
    let first = &explained.get("partitions").as_array().expect("partitions")[0];
    let steps = first.get("access").as_array().expect("steps").iter();
    let text = |step: &Value| {
        let members = step.as_object().expect("a step").iter();
        let values = members.map(|(_, value)| json::print(value).replace('"', ""));
        values.collect::<Vec<_>>().join(" ")
    };
    steps.map(text).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn nothing_is_told_unasked() {
    let db = filled(400).await;
    let meta =
        told(&db, "SELECT * FROM c WHERE CONTAINS(c.name, 'x')", QueryOptions::default()).await;
    assert_eq!(meta, QueryMeta::default());
}

#[tokio::test]
async fn each_way_of_reading_is_told() {
    let db = filled(400).await;
    for (text, expected) in [
        ("SELECT * FROM c", "scan"),
        ("SELECT * FROM c WHERE c.hidden = 3", "scan"),
        // What comes in the order of creation is listed and sorted; what is added up is not.
        ("SELECT * FROM c WHERE c.lot = 3", "indexList 40"),
        ("SELECT * FROM c WHERE c.lot IN (3, 4) AND c.name = 'name 3'", "indexList 1"),
        ("SELECT VALUE SUM(c.n) FROM c WHERE c.lot = 3", "indexStream 1"),
        (
            "SELECT VALUE SUM(c.n) FROM c WHERE c.lot IN (3, 4) AND c.name = 'name 3'",
            "indexStream 3",
        ),
        ("SELECT * FROM c WHERE c.n > 390", "indexList 9"),
        ("SELECT * FROM c WHERE c.nowhere > 1", "indexList 0"),
        ("SELECT VALUE COUNT(1) FROM c", "countFromCounters 400"),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 300", "countFromIndex 100"),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.hidden >= 300", "scan"),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 300 AND c.hidden < 310", "indexList 100"),
        ("SELECT VALUE SUM(c.n) FROM c WHERE c.n >= 300", "indexList 100"),
        ("SELECT c.lot, COUNT(1) AS n FROM c GROUP BY c.lot", "scan"),
        ("SELECT * FROM c ORDER BY c.n DESC", "orderedWalk"),
        ("SELECT * FROM c WHERE c.n > 390 ORDER BY c.name", "sort 9"),
        ("SELECT * FROM c ORDER BY c.lot, c.n", "orderedWalk"),
    ] {
        let explained = explained(&db, text).await;
        assert_eq!(steps(&explained), expected, "{text}: {}", json::print(&explained));
    }
}

#[tokio::test]
async fn ranges_and_figures_are_those_of_the_page() {
    let db = filled(400).await;
    let text = "SELECT * FROM c WHERE c.n > 390 AND c.hidden < 395 AND STARTSWITH(c.name, 'name')";
    let explained = explained(&db, text).await;
    let partition = &explained.get("partitions").as_array().expect("partitions")[0];
    let index = json::print(partition.get("index"));
    assert_eq!(
        index,
        concat!(
            r#"{"and":[{"path":"/n","ranges":["> 390"]},"#,
            r#"{"path":"/name","ranges":["begins with \"name\""]}]}"#
        )
    );
    assert_eq!(partition.get("isIndexExact").as_bool(), Some(false));
    let filter = explained.get("residualFilter").as_str().expect("a filter");
    assert!(filter.contains("(c.hidden < 395)"), "{filter}");
    let read = explained.get("read");
    let figure = |name: &str| read.get(name).as_f64().expect(name);
    assert_eq!((figure("documents"), figure("documentsMatched")), (9.0, 4.0));
    assert!(figure("indexEntries") >= 9.0 && figure("documentBytes") > 500.0);
    assert_eq!(explained.get("rows").as_f64(), Some(4.0));
    assert!(explained.get("requestCharge").as_f64().expect("a charge") > 1.0);
}

#[tokio::test]
async fn every_partition_is_told_of() {
    let db = filled(30_000).await;
    let all = explained(&db, "SELECT VALUE COUNT(1) FROM c").await;
    assert_eq!(all.get("partitions").as_array().map(<[_]>::len), Some(3));
    let one = explained(&db, "SELECT VALUE COUNT(1) FROM c WHERE c.pk = '1'").await;
    assert_eq!(one.get("partitions").as_array().map(<[_]>::len), Some(1));
    let order = explained(&db, "SELECT * FROM c ORDER BY c.lot DESC, c.n DESC").await;
    let expected = r#"{"compositeIndex":["/lot DESC","/n DESC"]}"#;
    assert_eq!(json::print(order.get("order")), expected);
}

#[tokio::test]
async fn index_metrics_are_told_in_both_forms() {
    let db = filled(400).await;
    let text = "SELECT * FROM c WHERE c.lot = 1 AND c.n > 5 AND c.hidden = 2";
    let ask = async |version| {
        let asked = QueryOptions { index_metrics: Some(version), ..QueryOptions::default() };
        let meta = told(&db, text, asked).await;
        let (told, text) = meta.index_metrics.expect("index metrics");
        assert_eq!(told, version);
        json::parse(text.as_bytes()).expect("JSON")
    };
    let first = ask(IndexMetricsVersion::V1).await;
    let spec = |list: &str, at: usize| {
        let entry = &first.get(list).as_array().expect("a list")[at];
        entry.get("IndexSpec").as_str().expect("a spec").to_owned()
    };
    assert_eq!(spec("UtilizedSingleIndexes", 0), "/lot/?");
    assert_eq!(spec("UtilizedSingleIndexes", 1), "/n/?");
    assert_eq!(spec("PotentialSingleIndexes", 0), "/hidden/?");
    let composites = first.get("UtilizedCompositeIndexes").as_array().expect("a list");
    assert_eq!(json::print(composites[0].get("IndexSpecs")), r#"["/lot ASC","/n ASC"]"#);
    let second = ask(IndexMetricsVersion::V2).await;
    let singles = second.get("UtilizedIndexes").get("SingleIndexes");
    assert_eq!(json::print(singles), r#"[{"IndexSpec":"/n/?"},{"IndexSpec":"/lot/?"}]"#);
}

#[tokio::test]
async fn advice_is_told_where_there_is_some() {
    let db = filled(400).await;
    let asked = QueryOptions { populate_advice: true, ..QueryOptions::default() };
    let meta = told(&db, "SELECT * FROM c WHERE CONTAINS(c.name, '1')", asked.clone()).await;
    assert_eq!(meta.advice.as_deref(), Some(r#"[{"Id":"QA1002","Params":[]}]"#));
    assert_eq!(told(&db, "SELECT * FROM c", asked).await.advice, None);
}

/// A caller that tries one partition without a plan is told whether that was enough, on every page
/// the same.
#[tokio::test]
async fn one_partition_is_enough_or_not() {
    let asked = QueryOptions { is_optimistic: true, ..QueryOptions::default() };
    let (one, several) = (filled(400).await, filled(30_000).await);
    for (text, is_merged) in [
        ("SELECT * FROM c", false),
        ("SELECT TOP 5 VALUE c.n FROM c", false),
        ("SELECT TOP 15 VALUE c.n FROM c ORDER BY c.n", false),
        ("SELECT VALUE c.n FROM c WHERE c.n > 3 OFFSET 1 LIMIT 20", false),
        ("SELECT VALUE t FROM c JOIN t IN c.tags", false),
        ("SELECT DISTINCT VALUE c.lot FROM c", true),
        ("SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n DESC", true),
        ("SELECT TOP 5 VALUE c.lot FROM c GROUP BY c.lot", true),
        ("SELECT VALUE COUNT(1) FROM c", true),
        ("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.lot FROM c)", true),
    ] {
        let meta = told(&one, text, asked.clone()).await;
        assert_eq!(meta.requires_distribution, Some(is_merged), "{text}");
        let meta = told(&several, text, asked.clone()).await;
        assert_eq!(meta.requires_distribution, Some(true), "{text}");
    }
    let meta = told(&one, "SELECT DISTINCT c.n FROM c", QueryOptions::default()).await;
    assert_eq!(meta.requires_distribution, None);
    let named = "SELECT * FROM c WHERE c.pk = '1'";
    let meta = told(&several, named, asked).await;
    assert_eq!(meta.requires_distribution, Some(false));
}

/// What was done took time, printing the rows too.
#[tokio::test]
async fn query_metrics_have_the_times_that_were_spent() {
    let db = filled(400).await;
    let asked = QueryOptions { populate_metrics: true, ..QueryOptions::default() };
    let meta = told(&db, "SELECT VALUE c.name || '!' FROM c WHERE c.n > 3", asked).await;
    let metrics = meta.metrics.expect("metrics");
    for (name, time) in [
        ("total", metrics.total_ms),
        ("compile", metrics.compile_ms),
        ("plan", metrics.plan_ms),
        ("index", metrics.index_lookup_ms),
        ("load", metrics.document_load_ms),
        ("execution", metrics.execution_ms),
        ("output", metrics.write_output_ms),
    ] {
        assert!(time > 0.0, "{name}: {metrics:?}");
    }
}

/// One row has no order, so an aggregate needs no index for one.
#[tokio::test]
async fn aggregates_are_ordered_without_an_index() {
    let db = filled(400).await;
    for (text, expected) in [
        ("SELECT VALUE COUNT(1) FROM c ORDER BY c.name, c.n DESC", "[400]"),
        ("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 5 ORDER BY c.hidden", "[10]"),
        ("SELECT MAX(c.n) AS n FROM c ORDER BY c.absent DESC, c.pk", r#"[{"n":399}]"#),
        ("SELECT VALUE MAKELIST(c.n) FROM c WHERE c.n < 3 ORDER BY c.pk DESC, c.n", "[[2,1,0]]"),
    ] {
        let rows = query(&db, text, &Value::Null, Options::default()).await.expect("a row");
        let expected = json::parse(expected.as_bytes()).expect("JSON");
        assert_eq!(Value::from(rows), expected, "{text}");
    }
    let text = "SELECT VALUE c.n FROM c ORDER BY c.name, c.n DESC";
    query(&db, text, &Value::Null, Options::default()).await.expect_err("rows need one");
}
