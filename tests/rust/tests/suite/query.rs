//! Every shape of query that the SDK takes, over one physical partition and over three.
//!
//! Over a whole container the SDK merges ORDER BY, DISTINCT, TOP and OFFSET LIMIT itself,
//! and has no way to add up aggregates: those it can ask of one logical partition.

use azure_data_cosmos::options::{QueryOptions, QueryPlanMode};
use azure_data_cosmos::{FeedScope, Query};
use serde_json::{json, Value};

use crate::support::*;
use crate::things::*;

#[test]
fn filters() {
    on_runtime(async {
        for container in loaded().await {
            let all = rows(container, "SELECT * FROM c").await;
            assert_same_rows(&all.iter().map(own).collect::<Vec<_>>(), things(|_| true).into());
            assert!(all.iter().all(|row| row["_rid"].is_string() && row["_ts"].is_number()));
            for (filter, wanted) in [
                ("c.n >= 10 AND c.n < 20", things(|n| (10..20).contains(&n))),
                ("c.even AND c.nested.deep = 3", things(|n| n % 2 == 0 && n % 5 == 3)),
                ("NOT IS_DEFINED(c.quarter)", things(|n| n % 4 != 0)),
                (
                    "c.n BETWEEN 5 AND 7 OR c.n IN (50, 1000)",
                    things(|n| [5, 6, 7, 50].contains(&n)),
                ),
                ("c.id LIKE 'd[12]5'", things(|n| n == 15 || n == 25)),
                ("STARTSWITH(c.color, 'GR', true)", things(|n| n % 3 == 1)),
                ("c.n > 1000", vec![]),
                ("false", vec![]),
                ("c.pk = 'k3'", things(|n| n % 9 == 3)),
                ("c.pk IN ('k3', 'k7', 'k0')", things(|n| [0, 3, 7].contains(&(n % 9)))),
                ("c.pk = 'k3' AND c.pk = 'k4'", vec![]),
            ] {
                let query = format!("SELECT VALUE c.id FROM c WHERE {filter}");
                assert_same_rows(&rows(container, query).await, members(&wanted, "id"));
            }
        }
    });
}

#[test]
fn projections() {
    on_runtime(async {
        for container in loaded().await {
            for (select, expected) in [
                (
                    "c.n, c.nested.deep AS d, c.n * 2, c.nested.deep",
                    json!([{"n": 7, "d": 2, "$1": 14, "deep": 2}]),
                ),
                (
                    "[c.n, c.missing, c.pk] AS a, {'x': true, 'y': c.missing} AS o",
                    json!([{"a": [7, "k7"], "o": {"x": true}}]),
                ),
                ("c.missing", json!([{}])),
                ("VALUE c.missing", json!([])),
                ("VALUE null", json!([null])),
                ("VALUE [c.n, [c.even]]", json!([[7, [false]]])),
                ("VALUE CONCAT(UPPER(c.pk), '!')", json!(["K7!"])),
            ] {
                let query = format!("SELECT {select} FROM c WHERE c.n = 7");
                assert_rows(&rows(container, query).await, expected);
            }
        }
    });
}

#[test]
fn order_by() {
    on_runtime(async {
        for container in loaded().await {
            let mut expected = things(|_| true);
            let found = rows(container, "SELECT * FROM c ORDER BY c.n").await;
            assert_rows(&found.iter().map(own).collect::<Vec<_>>(), expected.clone().into());
            expected.reverse();
            let found = rows(container, "SELECT * FROM c ORDER BY c.n DESC").await;
            assert_rows(&found.iter().map(own).collect::<Vec<_>>(), expected.clone().into());
            let found = rows(container, "SELECT VALUE c.price FROM c ORDER BY c.id DESC").await;
            assert_rows(&found, members(&expected, "price"));
            let found = rows(
                container,
                "SELECT c.n, c.price AS p FROM c WHERE c.n % 20 = 0 ORDER BY c.price DESC",
            );
            assert_rows(
                &found.await,
                json!([{"n": 40, "p": 60}, {"n": 20, "p": 30}, {"n": 0, "p": 0}]),
            );

            // Equal sort values: every row once, and in order.
            let found = rows(container, "SELECT c.color, c.n FROM c ORDER BY c.color").await;
            let colors: Vec<_> = found.iter().map(|row| text(&row["color"])).collect();
            assert!(colors.is_sorted());
            assert_same_rows(
                &found.iter().map(|row| row["n"].clone()).collect::<Vec<_>>(),
                (0..THINGS).collect(),
            );

            // A value that is missing has no place under a wildcard.
            let found = rows(container, "SELECT VALUE c.quarter FROM c ORDER BY c.quarter").await;
            assert_rows(&found, (0..15).collect());
        }
    });
}

#[test]
fn top_and_offset() {
    on_runtime(async {
        for container in loaded().await {
            for (query, expected) in [
                ("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC", json!([59, 58, 57])),
                ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 20 LIMIT 3", json!([20, 21, 22])),
                ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 58 LIMIT 9", json!([58, 59])),
                ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 100 LIMIT 5", json!([])),
                ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 0", json!([])),
                ("SELECT TOP 0 * FROM c", json!([])),
            ] {
                assert_rows(&rows(container, query).await, expected);
            }
            for (query, expected) in [
                ("SELECT TOP 7 * FROM c", 7),
                ("SELECT TOP 1000 * FROM c", THINGS),
                ("SELECT * FROM c OFFSET 45 LIMIT 10", 10),
                ("SELECT * FROM c OFFSET 55 LIMIT 10", 5),
            ] {
                assert_eq!(rows(container, query).await.len(), expected, "{query}");
            }
        }
    });
}

/// Without an order the SDK wants to know how many rows it may have to remember.
#[test]
fn distinct() {
    on_runtime(async {
        for container in loaded().await {
            for (query, expected) in [
                ("SELECT DISTINCT TOP 100 VALUE c.color FROM c", json!(["red", "green", "blue"])),
                (
                    "SELECT DISTINCT TOP 100 VALUE c.nested FROM c",
                    json!([{"deep": 0}, {"deep": 1}, {"deep": 2}, {"deep": 3}, {"deep": 4}]),
                ),
                // Rows that have nothing of what is asked for are all the same row.
                (
                    "SELECT DISTINCT TOP 100 c.quarter FROM c WHERE c.n < 8",
                    json!([{}, {"quarter": 0}, {"quarter": 1}]),
                ),
            ] {
                assert_same_rows(&rows(container, query).await, expected);
            }
            let query = "SELECT DISTINCT VALUE c.color FROM c ORDER BY c.color DESC";
            assert_rows(&rows(container, query).await, json!(["red", "green", "blue"]));
            for (query, expected) in [
                ("SELECT DISTINCT TOP 100 c.color, c.even FROM c", 6),
                ("SELECT DISTINCT TOP 2 VALUE c.color FROM c", 2),
                ("SELECT DISTINCT VALUE c.color FROM c OFFSET 2 LIMIT 5", 1),
                ("SELECT DISTINCT TOP 100 VALUE 1 FROM c", 1),
                ("SELECT DISTINCT TOP 100 * FROM c", THINGS),
            ] {
                assert_eq!(rows(container, query).await.len(), expected, "{query}");
            }
        }
    });
}

#[test]
fn joins_and_subqueries() {
    on_runtime(async {
        for container in loaded().await {
            for (query, expected) in [
                (
                    "SELECT c.id, t.name AS t, t.weight AS w FROM c JOIN t IN c.tags WHERE c.n = 2",
                    json!([{"id": "d02", "t": "t0", "w": 2}, {"id": "d02", "t": "t1", "w": 3}]),
                ),
                (
                    "SELECT VALUE c.n FROM c WHERE c.n < 7 AND \
                     EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t.name = 't2')",
                    json!([3]),
                ),
                (
                    "SELECT c.id, ARRAY(SELECT VALUE t.name FROM t IN c.tags) AS names, \
                     (SELECT VALUE MAX(t.weight) FROM t IN c.tags) AS heavy FROM c WHERE c.n = 3",
                    json!([{"id": "d03", "names": ["t0", "t1", "t2"], "heavy": 5}]),
                ),
                (
                    "SELECT VALUE twice FROM c JOIN (SELECT VALUE c.n * 2) AS twice WHERE twice > 115",
                    json!([116, 118]),
                ),
            ] {
                // The SDK cannot tell an aggregate in a subquery from one of the whole.
                let scope = match query.contains("MAX") {
                    true => FeedScope::partition("k3"),
                    false => everywhere(),
                };
                assert_same_rows(&rows_in(container, query, scope).await, expected);
            }
            let query = "SELECT a.name AS a, b.name AS b FROM c JOIN a IN c.tags JOIN b IN c.tags";
            assert_eq!(rows(container, query).await.len(), 15 * (1 + 4 + 9));
        }
    });
}

#[test]
fn parameters() {
    on_runtime(async {
        for container in loaded().await {
            for (filter, value, expected) in [
                ("c.n = @p", json!(5), json!([5])),
                ("c.price = @p", json!(7.5), json!([5])),
                ("c.id = @p", json!("d05"), json!([5])),
                ("c.pk = @p AND c.n < 20", json!("k3"), json!([3, 12])),
                ("c.nested = @p AND c.n < 8", json!({"deep": 1}), json!([1, 6])),
                ("ARRAY_CONTAINS(@p, c.n)", json!([5, 6, 59, 60]), json!([5, 6, 59])),
                ("c.n = 1 AND @p = null", json!(null), json!([1])),
                ("c.n = 1 AND LENGTH(@p) = 6", json!("größe🦀"), json!([])),
                ("c.n = 1 AND LENGTH(@p) = 7", json!("größe🦀"), json!([1])),
            ] {
                let query = Query::from(format!("SELECT VALUE c.n FROM c WHERE {filter}"))
                    .with_parameter("@p", value)
                    .unwrap();
                assert_same_rows(&rows(container, query).await, expected);
            }
            let query = Query::from("SELECT VALUE @p FROM c WHERE c.n = 0")
                .with_parameter("@p", "größe 数据 🦀 \\ \" ' \n")
                .unwrap();
            assert_rows(&rows(container, query).await, json!(["größe 数据 🦀 \\ \" ' \n"]));
        }
    });
}

#[test]
fn unicode() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let container = container_with(&database, "/größe", Some(throughput)).await;
            let words = ["Zebra", "apple", "größe", "äpfel", "яблоко", "数据", "🦀"];
            for (n, word) in words.iter().enumerate() {
                let body = json!({"id": word, "größe": word, "ключ": n});
                container.create_item(*word, word, body, None).await.unwrap();
            }
            for (filter, expected) in [
                ("c['größe'] = '🦀'", json!([6])),
                ("CONTAINS(c['größe'], 'ä') OR CONTAINS(c['größe'], 'ö')", json!([2, 3])),
                ("UPPER(c.id) = 'ÄPFEL'", json!([3])),
            ] {
                let query = format!("SELECT VALUE c['ключ'] FROM c WHERE {filter}");
                assert_same_rows(&rows(&container, query).await, expected);
            }
            let query = "SELECT VALUE c['größe'] FROM c ORDER BY c['größe']";
            assert_rows(&rows(&container, query).await, json!(words));
            assert_rows(&resumed(&container, query, everywhere(), 1).await.concat(), json!(words));
        }
    });
}

/// As every client sorts, and the service: characters above U+FFFF come before U+E000.
#[test]
fn strings_sort_by_utf16_units() {
    on_runtime(async {
        let client = client().await;
        let database = database(&client).await;
        for throughput in [400, 30_000] {
            let container = container_with(&database, "/pk", Some(throughput)).await;
            let words = ["z", "数", "🌲", "🦀", "\u{e000}", "ﬁ", "ｚ", "\u{fffd}"];
            for (n, word) in words.iter().enumerate() {
                let body = json!({"id": n.to_string(), "pk": n.to_string(), "word": word});
                container.create_item(n.to_string(), &n.to_string(), body, None).await.unwrap();
            }
            let query = "SELECT VALUE c.word FROM c ORDER BY c.word";
            assert_rows(&rows(&container, query).await, json!(words));
            assert_rows(&resumed(&container, query, everywhere(), 1).await.concat(), json!(words));
        }
    });
}

#[test]
fn aggregates_of_a_logical_partition() {
    on_runtime(async {
        for container in loaded().await {
            for (query, expected) in [
                ("SELECT VALUE COUNT(1) FROM c", json!([7])),
                ("SELECT VALUE COUNT(c.quarter) FROM c", json!([2])),
                ("SELECT VALUE SUM(c.n) FROM c", json!([210])),
                ("SELECT VALUE AVG(c.price) FROM c", json!([45])),
                ("SELECT VALUE MIN(c.n) FROM c", json!([3])),
                ("SELECT VALUE MAX(c.id) FROM c", json!(["d57"])),
                ("SELECT VALUE COUNTIF(c.n > 30) FROM c", json!([3])),
                ("SELECT VALUE AVG(c.n) FROM c WHERE c.n > 100", json!([])),
                ("SELECT VALUE COUNT(1) FROM c WHERE c.n > 100", json!([0])),
                (
                    "SELECT COUNT(1) AS k, SUM(c.n) AS s, MIN(c.color) AS lo, MAX(c.missing) AS no FROM c",
                    json!([{"k": 7, "s": 210, "lo": "red"}]),
                ),
                (
                    "SELECT c.even, COUNT(1) AS k, MAX(c.n) AS hi FROM c GROUP BY c.even",
                    json!([{"even": false, "k": 4, "hi": 57}, {"even": true, "k": 3, "hi": 48}]),
                ),
                ("SELECT VALUE c.even FROM c GROUP BY c.even", json!([true, false])),
                ("SELECT DISTINCT VALUE c.color FROM c", json!(["red"])),
                ("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.even FROM c)", json!([2])),
            ] {
                let found = rows_in(container, query, FeedScope::partition("k3")).await;
                assert_same_rows(&found, expected);
            }
            let query = "SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC";
            let found = rows_in(container, query, FeedScope::partition("k3")).await;
            assert_rows(&found, json!([57, 48]));
        }
    });
}

#[test]
fn aggregates_of_the_whole_are_beyond_the_sdk() {
    on_runtime(async {
        let [_, three] = loaded().await;
        for query in [
            "SELECT VALUE COUNT(1) FROM c",
            "SELECT VALUE MAX(c.n) FROM c",
            "SELECT SUM(c.n) AS s FROM c",
            "SELECT c.color, COUNT(1) AS k FROM c GROUP BY c.color",
        ] {
            refused(400, try_rows(three, query, everywhere()).await);
        }
    });
}

/// What the SDK plans by itself it must also get from the server, when told to ask.
#[test]
fn plans_of_the_server() {
    on_runtime(async {
        for container in loaded().await {
            for query in [
                "SELECT VALUE c.id FROM c",
                "SELECT VALUE c.id FROM c WHERE c.pk IN ('k3', 'k7')",
                "SELECT c.id FROM c WHERE c.even ORDER BY c.n DESC",
                "SELECT VALUE c.price FROM c WHERE c.pk = 'k3' ORDER BY c.n",
                "SELECT TOP 7 c.id FROM c ORDER BY c.n",
                "SELECT c.id, c.n * 2 AS twice FROM c ORDER BY c.n OFFSET 10 LIMIT 7",
                "SELECT DISTINCT VALUE c.color FROM c ORDER BY c.color",
                "SELECT DISTINCT TOP 100 c.color, c.even FROM c",
                "SELECT VALUE t.name FROM c JOIN t IN c.tags WHERE c.pk = 'k2'",
                "SELECT * FROM c WHERE false",
            ] {
                let ask = |mode| async move {
                    let options = QueryOptions::default().with_query_plan_mode(mode);
                    let pages = try_pages(container, query, everywhere(), options).await;
                    let pages = pages.unwrap_or_else(|error| panic!("{query}: {error}"));
                    pages.into_iter().flat_map(|page| page.into_items()).collect::<Vec<Value>>()
                };
                let own = ask(QueryPlanMode::LocalPreferred).await;
                let asked = ask(QueryPlanMode::GatewayOnly).await;
                if query.contains("ORDER BY") {
                    assert_rows(&asked, own.into());
                } else {
                    assert_same_rows(&asked, own.into());
                }
            }
        }
    });
}

#[test]
fn syntax_errors_say_where() {
    on_runtime(async {
        for container in loaded().await {
            for scope in [FeedScope::partition("k3"), everywhere()] {
                for (query, expected) in [
                    ("SELECT * FROM c WHERE c.n = = 1", "SC1001"),
                    ("SELECT * FROM c WHERE c.n = = 1", "Syntax error, incorrect syntax near '='."),
                    ("SELECT * FROM c WHERE c.n = = 1", r#""start":28,"end":29"#),
                    ("SELEC * FROM c", "SC1001"),
                    ("SELECT nosuch(c.n) FROM c", "SC2005"),
                    ("SELECT * FROM c WHERE x.n = 1", "SC2001"),
                ] {
                    let error = match try_rows(container, query, scope.clone()).await {
                        Ok(rows) => panic!("{query}: {rows:?}"),
                        Err(error) => error,
                    };
                    assert_eq!(u16::from(error.status().status_code()), 400, "{query}");
                    let body = error.response().expect("an answer").body();
                    let body: Value = body.clone().into_single().expect("JSON");
                    let message = text(&body["message"]);
                    assert!(message.contains(expected), "{query}: {message}");
                }
            }
        }
    });
}
