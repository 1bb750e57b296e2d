"""The plan endpoint: its shape, its ranges, its refusals."""

import json
from pathlib import Path

import pytest

from http_client import UNDEFINED, pk
from query_client import FEATURES, ask, ask_plan, body, errors, plan, ranges, rows

SPEC = Path(__file__).resolve().parents[3] / "shared" / "spec"
WHOLE = {"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}
NOTHING = {"min": "", "max": "", "isMinInclusive": True, "isMaxInclusive": True}


def load(name):
    path = SPEC / name
    return json.loads(path.read_text()) if path.exists() else []


@pytest.fixture(scope="module")
def hierarchical(db):
    key = {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}
    return db.collection(partitionKey=key, headers={"x-ms-offer-throughput": "30000"})


def test_the_shape(client, wide):
    answer = ask_plan(client, wide.docs, "SELECT * FROM c")
    assert answer.json == {
        "partitionedQueryExecutionInfoVersion": 2,
        "queryInfo": {
            "distinctType": "None", "top": None, "offset": None, "limit": None, "orderBy": [], "orderByExpressions": [],
            "groupByExpressions": [], "groupByAliases": [], "aggregates": [], "groupByAliasToAggregateType": {},
            "rewrittenQuery": "", "hasSelectValue": False, "dCountInfo": None, "hasNonStreamingOrderBy": False,
        },
        "queryRanges": [WHOLE],
    }  # fmt: skip
    assert answer.headers["x-ms-content-path"] == wide.rid
    assert answer.charge > 0 and answer.continuation is None and "x-ms-item-count" not in answer.headers


@pytest.mark.parametrize(
    "query, info, rewritten",
    [
        ("SELECT * FROM c ORDER BY c.k DESC", {"orderBy": ["Descending"], "orderByExpressions": ["c.k"]},
         'SELECT c._rid, [{"item": c.k}] AS orderByItems, c AS payload FROM c '
         "WHERE ({documentdb-formattableorderbyquery-filter}) ORDER BY c.k DESC"),
        ("SELECT VALUE COUNT(1) FROM c", {"aggregates": ["Count"], "hasSelectValue": True},
         'SELECT VALUE [{"item": COUNT(1)}] FROM c'),
        ("SELECT VALUE AVG(c.x) FROM c", {"aggregates": ["Average"], "hasSelectValue": True},
         'SELECT VALUE [{"item": {"sum": SUM(c.x), "count": COUNT(c.x)}}] FROM c'),
        ("SELECT TOP 4 * FROM c", {"top": 4}, ""),
        ("SELECT * FROM c OFFSET 3 LIMIT 4", {"offset": 3, "limit": 4}, "SELECT * FROM c OFFSET 0 LIMIT 7"),
        ("SELECT DISTINCT c.a FROM c", {"distinctType": "Unordered"}, ""),
        ("SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a", {"distinctType": "Ordered", "orderBy": ["Ascending"]}, None),
        ("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",
         {"groupByExpressions": ["c.g"], "groupByAliases": ["g", "n"],
          "groupByAliasToAggregateType": {"g": None, "n": "Count"}},
         'SELECT [{"item": c.g}] AS groupByItems, {"g": c.g, "n": {"item": COUNT(1)}} AS payload FROM c GROUP BY c.g'),
    ],
    ids=str,
)  # fmt: skip
def test_rewrites(client, wide, query, info, rewritten):
    found = plan(client, wide.docs, query)["queryInfo"]
    assert {name: found[name] for name in info} == info
    if rewritten is not None:
        assert " ".join(found["rewrittenQuery"].split()) == rewritten


@pytest.fixture(scope="module")
def filled(client, wide):
    for number, value in enumerate([1, 2, "a", "b", "ü", "", None, True, False, 1.5]):
        assert client.post(wide.docs, {"id": f"i{number}", "pk": value}).status == 201
    assert client.post(wide.docs, {"id": "none"}).status == 201
    return wide


@pytest.mark.parametrize("value", [1, 2, "a", "ü", "", None, True, False, 1.5, UNDEFINED], ids=repr)
def test_a_point_is_where_the_key_is(client, filled, value):
    if value == UNDEFINED:
        found = plan(client, filled.docs, "SELECT * FROM c WHERE c.pk = {}")
    else:
        found = plan(client, filled.docs, "SELECT * FROM c WHERE @pk = c.pk", {"pk": value})
    [point] = found["queryRanges"]
    assert point["isMinInclusive"] and point["isMaxInclusive"] and point["min"] == point["max"]
    at = point["min"]
    assert at == at.upper() and len(at) == 32
    by_header = rows(client, filled.docs, "SELECT * FROM c", pk(value))
    assert len(by_header) == 1
    scope = {"x-ms-read-key-type": "EffectivePartitionKeyRange", "x-ms-start-epk": at, "x-ms-end-epk": at + "FF"}
    [home] = [item for item in ranges(client, filled.path) if item["minInclusive"] <= at < item["maxExclusive"]]
    named = {"x-ms-documentdb-partitionkeyrangeid": home["id"]}
    assert rows(client, filled.docs, "SELECT * FROM c", scope | named) == by_header


@pytest.mark.parametrize(
    "where, count",
    [
        ("c.pk IN ('a', 'b', 'x')", 3),
        ("c.pk = 'a' OR c.pk = 'b'", 2),
        ("c.pk = 'a' OR c.pk = 'a'", 1),
        ("(c.pk = 'a' OR c.pk = 'b') AND c.pk = 'b'", 1),
        ("c['pk'] = 'a' AND c.x > 5", 1),
        ("ARRAY_CONTAINS(['a', 'b'], c.pk)", 2),
    ],
)
def test_several_points(client, filled, where, count):
    found = plan(client, filled.docs, f"SELECT * FROM c WHERE {where}")["queryRanges"]
    assert len(found) == count
    assert found == sorted(found, key=lambda item: item["min"])
    assert all(item["min"] == item["max"] and item["isMaxInclusive"] for item in found)


@pytest.mark.parametrize("where", ["c.pk > 'a'", "c.pk != 'a'", "c.pk = 'a' OR c.x = 1", "STARTSWITH(c.pk, 'a')",
                                   "NOT (c.pk = 'a')", "c.PK = 'a'", "c.x.pk = 'a'", "true"])  # fmt: skip
def test_everywhere(client, filled, where):
    assert plan(client, filled.docs, f"SELECT * FROM c WHERE {where}")["queryRanges"] == [WHOLE]


@pytest.mark.parametrize(
    "query", ["SELECT 5", "SELECT * FROM c WHERE false", "SELECT * FROM c WHERE c.pk = 'a' AND c.pk = 'b'"]
)
def test_nowhere(client, filled, query):
    assert plan(client, filled.docs, query)["queryRanges"] == [NOTHING]
    assert rows(client, filled.docs, query) in ([], [{"$1": 5}])


def test_hierarchical_keys(client, hierarchical):
    def of(where):
        return plan(client, hierarchical.docs, f"SELECT * FROM c WHERE {where}")["queryRanges"]

    [whole] = of("c.a = 'x' AND c.b = 'y'")
    assert whole["min"] == whole["max"] and len(whole["min"]) == 64
    [prefix] = of("c.a = 'x'")
    assert prefix["min"] == whole["min"][:32] and prefix["max"] == prefix["min"] + "FF"
    assert prefix["isMinInclusive"] and not prefix["isMaxInclusive"]
    assert of("c.b = 'y'") == [WHOLE]
    assert len(of("c.a = 'x' AND c.b IN ('y', 'z')")) == 2


NEEDS = {
    "SELECT * FROM c ORDER BY c.x": "OrderBy",
    "SELECT * FROM c ORDER BY c.x, c.y": "MultipleOrderBy",
    "SELECT TOP 1 * FROM c": "Top",
    "SELECT * FROM c OFFSET 1 LIMIT 1": "OffsetAndLimit",
    "SELECT DISTINCT c.x FROM c": "Distinct",
    "SELECT VALUE COUNT(1) FROM c": "Aggregate",
    "SELECT c.x, COUNT(1) FROM c GROUP BY c.x": "GroupBy",
}


@pytest.mark.parametrize("query, feature", NEEDS.items())
def test_features_that_a_client_lacks(client, wide, query, feature):
    listed = [name for name in FEATURES.split(", ") if name != feature]
    for separator in (",", ", "):
        answer = ask_plan(client, wide.docs, query, features=separator.join(listed))
        assert answer.status == 400, answer
        assert "which the calling client does not support" in answer.message and feature in answer.message
        assert ask_plan(client, wide.docs, query, features=separator.join([*listed, feature])).status == 200


def test_lists_need_no_feature(client, wide):
    """.NET merges them without saying so."""
    features = ", ".join(name for name in FEATURES.split(", ") if name != "ListAndSetAggregate")
    for name, kind in (("MAKELIST", "MakeList"), ("MAKESET", "MakeSet")):
        answer = ask_plan(client, wide.docs, f"SELECT VALUE {name}(c.x) FROM c", features=features)
        assert answer.status == 200, answer
        assert answer.json["queryInfo"]["aggregates"] == [kind]


@pytest.mark.parametrize("case", load("sql-errors.json"), ids=lambda case: " ".join(case["query"].split()))
def test_errors_of_the_service(client, wide, case):
    """Aggregates in expressions are what clients with CompositeAggregate can do."""
    features = FEATURES.replace("CompositeAggregate, ", "")
    headers = {"x-ms-cosmos-supported-query-features": features}
    answer = client.post(wide.docs, body(case["query"]), headers | {"x-ms-cosmos-is-query-plan-request": "True"})
    if answer.status == 200:
        # What only the indexes can tell is found when the query runs.
        answer = ask(client, wide.docs, case["query"])
        assert case["messageContains"] in errors(answer)["Errors"]
        return
    assert answer.message.startswith("Gateway Failed to Retrieve Query Plan: Message: {")
    if case["error"] is not None:
        assert errors(answer) == case["error"]
    assert case.get("messageContains", "") in answer.message
    assert case.get("errorCodes", []) in ([], [found.get("code") for found in errors(answer).get("errors", [])])


def test_plans_are_for_documents(client, db, wide):
    for path in ("/dbs", f"{db.path}/colls", "/offers", f"{wide.path}/pkranges"):
        assert ask_plan(client, path, "SELECT * FROM c").status == 400
    assert ask_plan(client, f"{db.path}/colls/none/docs", "SELECT * FROM c").status == 404
