"""What a query tells beside its rows."""

import base64
import json
import urllib.parse

import pytest

from http_client import pk
from query_client import CROSS, QUERY, ask, ask_plan, body, ranges

METRICS = [
    "totalExecutionTimeInMs", "queryCompileTimeInMs", "queryLogicalPlanBuildTimeInMs", "queryPhysicalPlanBuildTimeInMs",
    "queryOptimizationTimeInMs", "VMExecutionTimeInMs", "indexLookupTimeInMs", "documentLoadTimeInMs",
    "systemFunctionExecuteTimeInMs", "userFunctionExecuteTimeInMs", "retrievedDocumentCount", "retrievedDocumentSize",
    "outputDocumentCount", "outputDocumentSize", "writeOutputTimeInMs", "indexUtilizationRatio",
]  # fmt: skip
COUNT = 50


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def filled(request, client, db):
    composite = [{"path": "/a", "order": "ascending"}, {"path": "/n", "order": "ascending"}]
    policy = {
        "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/x/?"}], "compositeIndexes": [composite],
    }  # fmt: skip
    coll = db.collection(indexingPolicy=policy, headers={"x-ms-offer-throughput": str(request.param)})
    for n in range(COUNT):
        item = {"id": f"i{n}", "pk": f"p{n % 5}", "n": n, "a": n % 4, "x": n, "text": "x" * 500}
        assert client.post(coll.docs, item).status == 201
    return coll


def metrics(client, docs, query, headers=None):
    answer = ask(client, docs, query, {"x-ms-documentdb-populatequerymetrics": "True"} | (headers or {}))
    assert answer.status == 200, answer
    pairs = [item.split("=") for item in answer.headers["x-ms-documentdb-query-metrics"].split(";")]
    assert [name for name, _ in pairs] == METRICS
    return {name: float(value) for name, value in pairs}


def test_metrics(client, filled):
    # With TOP, one page has all partitions.
    found = metrics(client, filled.docs, f"SELECT TOP {COUNT} * FROM c")
    assert all(value >= 0 for value in found.values())
    assert found["retrievedDocumentCount"] == found["outputDocumentCount"] == COUNT
    assert found["retrievedDocumentSize"] >= COUNT * 500
    assert found["outputDocumentSize"] >= COUNT * 500
    assert found["totalExecutionTimeInMs"] > 0
    assert found["indexUtilizationRatio"] == 1


def test_metrics_tell_of_the_index(client, filled):
    by_index = metrics(client, filled.docs, "SELECT VALUE c.n FROM c WHERE c.n = 7")
    assert (by_index["retrievedDocumentCount"], by_index["outputDocumentCount"]) == (1, 1)
    assert by_index["indexUtilizationRatio"] == 1
    by_scan = metrics(client, filled.docs, "SELECT VALUE c.n FROM c WHERE c.x = 7")
    assert (by_scan["retrievedDocumentCount"], by_scan["outputDocumentCount"]) == (COUNT, 1)
    assert by_scan["indexUtilizationRatio"] == pytest.approx(1 / COUNT, abs=0.01)
    counted = metrics(client, filled.docs, "SELECT VALUE COUNT(1) FROM c")
    assert (counted["retrievedDocumentCount"], counted["outputDocumentCount"]) == (0, 1)
    paged = metrics(client, filled.docs, "SELECT * FROM c", {"x-ms-max-item-count": "5"})
    assert paged["outputDocumentCount"] == 5


def test_a_time_that_was_spent_is_not_zero(client, filled):
    found = metrics(client, filled.docs, "SELECT VALUE c.n FROM c WHERE c.n = 7")
    for name in [
        "totalExecutionTimeInMs", "queryCompileTimeInMs", "queryPhysicalPlanBuildTimeInMs", "VMExecutionTimeInMs",
        "indexLookupTimeInMs", "documentLoadTimeInMs", "writeOutputTimeInMs",
    ]:  # fmt: skip
        assert found[name] >= 0.01, name


def test_metrics_must_be_asked_for(client, filled):
    for headers in ({}, {"x-ms-documentdb-populatequerymetrics": "false"}):
        answer = ask(client, filled.docs, "SELECT * FROM c", headers)
        assert "x-ms-documentdb-query-metrics" not in answer.headers
        assert "x-ms-cosmos-index-utilization" not in answer.headers


def first(client, docs, query):
    answer = ask(client, docs, query, {"x-ms-cosmos-populateindexmetrics": "True"})
    assert answer.status == 200, answer
    return json.loads(base64.b64decode(answer.headers["x-ms-cosmos-index-utilization"], validate=True))


def second(client, docs, query):
    answer = ask(client, docs, query, {"x-ms-cosmos-populateindexmetrics-V2": "True"})
    assert answer.status == 200, answer
    text = answer.headers["x-ms-cosmos-index-utilization"]
    assert "{" not in text and '"' not in text
    return json.loads(urllib.parse.unquote(text))


def test_index_metrics(client, filled):
    found = first(client, filled.docs, "SELECT * FROM c WHERE c.n = 7")
    assert list(found) == [
        "UtilizedSingleIndexes", "PotentialSingleIndexes", "UtilizedCompositeIndexes", "PotentialCompositeIndexes",
    ]  # fmt: skip
    [single] = found["UtilizedSingleIndexes"]
    assert single["IndexSpec"] == "/n/?" and single["IndexImpactScore"] in ("High", "Low")
    assert {"FilterExpression", "FilterPreciseSet", "IndexPreciseSet"} <= set(single)
    assert found["PotentialSingleIndexes"] == found["UtilizedCompositeIndexes"] == []
    assert second(client, filled.docs, "SELECT * FROM c WHERE c.n = 7") == {
        "UtilizedIndexes": {"SingleIndexes": [{"IndexSpec": "/n/?"}], "CompositeIndexes": []},
        "PotentialIndexes": {"SingleIndexes": [], "CompositeIndexes": []},
    }


def test_index_metrics_of_what_could_be(client, filled):
    found = first(client, filled.docs, "SELECT * FROM c WHERE c.x = 7")
    assert [item["IndexSpec"] for item in found["PotentialSingleIndexes"]] == ["/x/?"]
    assert found["UtilizedSingleIndexes"] == []
    found = first(client, filled.docs, "SELECT * FROM c WHERE c.text = 'x' AND c.n > 7")
    assert [item["IndexSpecs"] for item in found["PotentialCompositeIndexes"]] == [["/text ASC", "/n ASC"]]
    found = first(client, filled.docs, "SELECT * FROM c ORDER BY c.a, c.n")
    assert [item["IndexSpecs"] for item in found["UtilizedCompositeIndexes"]] == [["/a ASC", "/n ASC"]]


def test_index_metrics_of_select(client, filled):
    """What SELECT tests counts as used, what it only returns does not."""
    found = second(client, filled.docs, "SELECT VALUE STARTSWITH(c['ı'], 's', true) FROM c")
    assert found["UtilizedIndexes"]["SingleIndexes"] == [{"IndexSpec": "/ı/?"}]
    found = second(client, filled.docs, "SELECT 'x' AS x, c.id, c.text FROM c WHERE STARTSWITH(c.text, 'x', false)")
    assert found["UtilizedIndexes"]["SingleIndexes"] == [{"IndexSpec": "/text/?"}]


def test_index_metrics_of_equalities(client, filled):
    found = second(client, filled.docs, "SELECT * FROM c WHERE c.id = '1' AND c.text = 'x'")
    assert found == {
        "UtilizedIndexes": {"SingleIndexes": [{"IndexSpec": "/text/?"}, {"IndexSpec": "/id/?"}], "CompositeIndexes": []},
        "PotentialIndexes": {"SingleIndexes": [], "CompositeIndexes": []},
    }


def test_index_metrics_of_long_names(client, filled):
    """10,000 characters fit, in both forms. .NET takes more than others."""
    name, other = "a" * 10_000, "b" * 10_000
    text = f"SELECT * FROM c WHERE c.{name} = 0"
    assert second(client, filled.docs, text)["UtilizedIndexes"]["SingleIndexes"] == [{"IndexSpec": f"/{name}/?"}]
    [single] = first(client, filled.docs, text)["UtilizedSingleIndexes"]
    assert single["IndexSpec"] == f"/{name}/?"
    text += f" AND c.{other} > 0"
    asked = {"x-ms-cosmos-populateindexmetrics-V2": "True"}
    answer = ask(client, filled.docs, text, asked)
    assert answer.status == 200 and "x-ms-cosmos-index-utilization" not in answer.headers
    answer = ask(client, filled.docs, text, asked | {"User-Agent": "cosmos-netstandard-sdk/3.64.0"})
    found = json.loads(urllib.parse.unquote(answer.headers["x-ms-cosmos-index-utilization"]))
    assert found["UtilizedIndexes"]["SingleIndexes"] == [{"IndexSpec": f"/{other}/?"}, {"IndexSpec": f"/{name}/?"}]
    [composite] = found["PotentialIndexes"]["CompositeIndexes"]
    assert composite["IndexSpecs"] == [f"/{name} ASC", f"/{other} ASC"]


OPTIMISTIC = {"x-ms-cosmos-query-optimisticdirectexecute": "True"}


@pytest.mark.parametrize(
    "query, requires",
    [
        ("SELECT * FROM c", "False"), ("SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n", "False"),
        ("SELECT VALUE c.n FROM c WHERE c.n > 3 OFFSET 1 LIMIT 7", "False"), ("SELECT DISTINCT VALUE c.n FROM c", "True"),
        ("SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n DESC", "True"), ("SELECT VALUE COUNT(1) FROM c", "True"),
        ("SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n", "True"),
    ],
)  # fmt: skip
def test_one_partition_may_be_enough(client, filled, query, requires):
    """.NET keeps the pages of one partition only if it is told on each of them that they are the answer."""
    name = "x-ms-cosmos-query-requiresdistribution"
    for scope in (pk("p0"), {"x-ms-documentdb-partitionkeyrangeid": ranges(client, filled.path)[0]["id"]}):
        headers, seen = scope | OPTIMISTIC | {"x-ms-max-item-count": "3"}, 0
        while True:
            answer = ask(client, filled.docs, query, headers)
            assert (answer.status, answer.headers[name]) == (200, requires), answer
            seen += answer.json["_count"]
            if answer.continuation is None:
                break
            headers["x-ms-continuation"] = answer.continuation
        assert seen == len(ask(client, filled.docs, query, scope).json["Documents"])
        for other in ({}, {"x-ms-cosmos-query-optimisticdirectexecute": "False"}):
            assert name not in ask(client, filled.docs, query, scope | other).headers


def test_several_partitions_are_not_one(client, filled):
    answer = ask(client, filled.docs, "SELECT * FROM c", OPTIMISTIC)
    requires = "True" if len(ranges(client, filled.path)) > 1 else "False"
    assert answer.headers["x-ms-cosmos-query-requiresdistribution"] == requires


def test_whose_answer_it_is(client, filled):
    """Python and JavaScript keep session tokens by these headers."""
    ids = [one["id"] for one in ranges(client, filled.path)]
    whole = ask(client, filled.docs, "SELECT * FROM c")
    assert whole.headers["x-ms-content-path"] == filled.rid
    assert whole.headers["x-ms-alt-content-path"] == filled.path[1:]
    range_id = whole.headers["x-ms-documentdb-partitionkeyrangeid"]
    assert range_id in ids and whole.session == f"{range_id}:-1#{whole.headers['lsn']}"
    home = client.get(f"{filled.docs}/i0", pk("p0")).headers["x-ms-documentdb-partitionkeyrangeid"]
    for headers in (pk("p0"), pk("p0") | CROSS, {"x-ms-documentdb-partitionkeyrangeid": home}):
        answer = ask(client, filled.docs, "SELECT * FROM c", headers)
        assert answer.headers["x-ms-documentdb-partitionkeyrangeid"] == home
        assert answer.session.startswith(f"{home}:-1#") and "," not in answer.session


def test_sessions(client, filled):
    """A query that must see more than there is says so."""
    whole = ask(client, filled.docs, "SELECT * FROM c")
    query = "SELECT VALUE COUNT(1) FROM c"
    assert ask(client, filled.docs, query, {"x-ms-session-token": whole.session}).status == 200
    ahead = ",".join(f"{one['id']}:-1#999999" for one in ranges(client, filled.path))
    answer = ask(client, filled.docs, query, {"x-ms-session-token": ahead, "x-ms-consistency-level": "Session"})
    assert (answer.status, answer.substatus) == (404, 1002), answer
    weak = {"x-ms-session-token": ahead, "x-ms-consistency-level": "Eventual"}
    assert ask(client, filled.docs, query, weak).status == 200


def test_charges(client, filled):
    """More work costs more."""
    point = ask(client, filled.docs, "SELECT * FROM c WHERE c.n = 7").charge
    some = ask(client, filled.docs, "SELECT * FROM c WHERE c.n < 20").charge
    every = ask(client, filled.docs, "SELECT * FROM c").charge
    scan = ask(client, filled.docs, "SELECT VALUE 1 FROM c WHERE c.x = -1").charge
    assert 0 < point < some < every
    assert scan > point
    one = ask(client, filled.docs, "SELECT * FROM c", {"x-ms-max-item-count": "1"}).charge
    assert one < every
    # The same question costs the same.
    assert ask(client, filled.docs, "SELECT * FROM c").charge == every
    assert ask_plan(client, filled.docs, "SELECT * FROM c").charge > 0


@pytest.mark.parametrize(
    "size, count", [("1", 1), ("7", 7), ("-1", COUNT), ("1000", COUNT), ("5000", COUNT), (None, COUNT), ("0", COUNT)]
)
def test_page_sizes(client, filled, size, count):
    """-1 leaves it to the server; so does 0, which Java sends with TOP 0."""
    answer = ask(client, filled.docs, f"SELECT TOP {COUNT} * FROM c", {"x-ms-max-item-count": size})
    assert answer.status == 200, answer
    assert int(answer.headers["x-ms-item-count"]) == answer.json["_count"] == count


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ms-documentdb-query-iscontinuationexpected": "False"}, {"x-ms-documentdb-query-enable-scan": "True"},
        {"x-ms-documentdb-query-parallelizecrosspartitionquery": "true"}, {"x-ms-cosmos-query-optimisticdirectexecute": "True"},
        {"x-ms-cosmos-correlated-activityid": "x"}, {"x-ms-cosmos-populatequeryadvice": "true"},
        {"x-ms-cosmos-supported-serialization-formats": "JsonText,CosmosBinary"}, {"x-ms-cosmos-query-version": "1.4"},
        {"x-ms-documentdb-responsecontinuationtokenlimitinkb": "1"}, {"x-ms-indexing-directive": "Default"},
    ],
    ids=str,
)  # fmt: skip
def test_what_sdks_send_besides(client, filled, headers):
    answer = ask(client, filled.docs, "SELECT VALUE c.n FROM c WHERE c.n = 7", headers)
    assert answer.json["Documents"] == [7]


def test_by_resource_ids(client, db, filled):
    """.NET and Java address collections so."""
    path = f"/dbs/{db.rid}/colls/{filled.rid}/docs"
    answer = client.post(path, body("SELECT VALUE c.n FROM c WHERE c.n = 7"), QUERY | CROSS)
    assert answer.json["Documents"] == [7], answer
    assert ask_plan(client, path, "SELECT * FROM c").status == 200
