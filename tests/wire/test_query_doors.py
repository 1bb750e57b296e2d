"""Who answers a query that reads several partition keys: the server, or a client that can follow a
plan and is refused with it. And how a request says that it is a query."""

import json

import pytest

from http_client import Client, pk
from planner import follow
from query_client import CROSS, PLANS, QUERY, ask, ask_plan, body, ranges, rows
from server import Server

# What a client must merge itself, if it can.
MERGED = [
    "SELECT * FROM c ORDER BY c.n",
    "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT TOP 5 * FROM c",
    "SELECT TOP 5 c.n FROM c ORDER BY c.n",
    "SELECT * FROM c OFFSET 1 LIMIT 2",
    "SELECT DISTINCT c.g FROM c",
    "SELECT DISTINCT VALUE c.g FROM c",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT VALUE SUM(c.n) FROM c",
    "SELECT VALUE AVG(c.n) FROM c",
    "SELECT VALUE MIN(c.n) FROM c",
    "SELECT VALUE MAX(c.n) FROM c WHERE c.n > 3",
    "SELECT COUNT(1) AS n, MAX(c.n) AS m FROM c",
]
# What is put together without a look at it.
PLAIN = [
    "SELECT * FROM c",
    "SELECT c.n FROM c WHERE c.n > 3",
    "SELECT VALUE t FROM c JOIN t IN c.tags",
    "SELECT VALUE t FROM t IN c.tags",
    "SELECT c.n, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS tags FROM c",
    "SELECT * FROM c WHERE c.pk IN ('a', 'b')",
]
COUNT = 40


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def filled(request, client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": str(request.param)})
    fill(client, coll.docs)
    return coll


def fill(client, docs):
    for n in range(COUNT):
        item = {"id": f"i{n}", "pk": "abcdefgh"[n % 8], "n": n, "g": n % 3, "tags": ["x", "y"][: n % 3]}
        assert client.post(docs, item).status == 201


def text_of(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize("query", MERGED)
def test_a_planning_client_is_refused_with_the_plan(client, filled, query):
    answer = ask(client, filled.docs, query, PLANS)
    assert (answer.status, answer.substatus) == (400, 1004), answer
    assert "can not be directly served by the gateway" in answer.message
    assert json.loads(answer.json["additionalErrorInfo"]) == ask_plan(client, filled.docs, query).json


@pytest.mark.parametrize("query", MERGED + PLAIN)
def test_other_clients_get_the_answer(client, filled, query):
    by_plan = follow(client, filled.docs, query)
    direct = rows(client, filled.docs, query)
    if "TOP 5 *" in query or "OFFSET" in query:
        assert len(by_plan) == len(direct)
    else:
        assert text_of(by_plan) == text_of(direct)
    if "ORDER BY" in query:
        assert by_plan == direct


@pytest.mark.parametrize("query", PLAIN)
def test_a_planning_client_is_not_refused_what_needs_no_merging(client, filled, query):
    assert text_of(rows(client, filled.docs, query, PLANS)) == text_of(rows(client, filled.docs, query))


@pytest.mark.parametrize("query", MERGED + PLAIN)
def test_one_key_is_answered(client, filled, query):
    """By header, or by the filter."""
    expected = rows(client, filled.docs, query, pk("a") | {"x-ms-documentdb-query-enablecrosspartition": None})
    assert text_of(rows(client, filled.docs, query, pk("a") | PLANS)) == text_of(expected)
    if "WHERE" not in query and "IN c.tags" not in query:
        before, middle, after = query.partition("FROM c")
        pinned = f"{before}{middle} WHERE c.pk = 'a'{after}"
        for headers in ({}, PLANS):
            found = rows(client, filled.docs, pinned, headers | {"x-ms-documentdb-query-enablecrosspartition": None})
            assert text_of(found) == text_of(expected)


@pytest.mark.parametrize("query", MERGED + PLAIN)
def test_one_range_is_answered(client, filled, query):
    for item in ranges(client, filled.path):
        named = {"x-ms-documentdb-partitionkeyrangeid": item["id"]}
        answer = ask(client, filled.docs, query, PLANS | named)
        assert answer.status == 200, answer


@pytest.mark.parametrize("value", [None, "false", "False"])
@pytest.mark.parametrize("query", [MERGED[0], MERGED[7], *PLAIN])
def test_cross_partition_must_be_asked_for(client, filled, query, value):
    for headers in ({}, PLANS):
        answer = ask(client, filled.docs, query, headers | {"x-ms-documentdb-query-enablecrosspartition": value})
        assert (answer.status, answer.substatus) == (400, 0), answer
        assert "Cross partition query is required but disabled" in answer.message


def test_groups_are_made_here(client, filled):
    """Python follows plans but cannot group: the answer is of use to everybody."""
    query = "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g"
    expected = [{"g": g, "n": len(range(g, COUNT, 3))} for g in range(3)]
    for headers in ({}, PLANS):
        assert text_of(rows(client, filled.docs, query, headers)) == text_of(expected)
    assert text_of(follow(client, filled.docs, query)) == text_of(expected)


@pytest.mark.parametrize("query", MERGED)
def test_go_is_answered(client, filled, query):
    """It names capabilities as others do, and cannot merge."""
    go = PLANS | {"User-Agent": "azsdk-go-azcosmos/v1.4.1 (go1.24.2; linux)"}
    assert text_of(rows(client, filled.docs, query, go)) == text_of(rows(client, filled.docs, query))


def test_old_clients_are_handed_plans(filled, server):
    """They do not say what they can do, and have no endpoint to ask for plans."""
    old = Client(server.port, version="2017-11-15")
    answer = ask(old, filled.docs, "SELECT * FROM c ORDER BY c.n")
    assert (answer.status, answer.substatus) == (400, 1004)
    info = json.loads(answer.json["additionalErrorInfo"])["queryInfo"]
    assert info["orderBy"] == ["Ascending"]
    # Whoever wants to ask all partitions at once is handed the plan of any query that it can run so.
    parallel = {"x-ms-documentdb-query-parallelizecrosspartitionquery": "true"}
    answer = ask(old, filled.docs, "SELECT * FROM c", parallel)
    assert (answer.status, answer.substatus) == (400, 1004)
    assert json.loads(answer.json["additionalErrorInfo"])["queryInfo"]["orderBy"] == []
    for query in ("SELECT * FROM c WHERE c.pk = 'a'", "SELECT DISTINCT c.g FROM c"):
        assert ask(old, filled.docs, query, parallel).status == 200, query
    old.close()


@pytest.mark.parametrize("who, planning, other", [("service", 400, 400), ("direct", 200, 200), ("auto", 400, 200)])
def test_the_setting(who, planning, other):
    with Server("--cross-partition", who) as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        client.post("/dbs/d/colls", {"id": "c", "partitionKey": key})
        docs = "/dbs/d/colls/c/docs"
        for query in MERGED:
            assert ask(client, docs, query, PLANS).status == planning
            assert ask(client, docs, query).status == other
        answer = ask(client, docs, "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g")
        assert (answer.status, answer.substatus) == ((400, 1004) if who == "service" else (200, 0)), answer
        client.close()


TRAP = {"query": "SELECT VALUE c.n FROM c WHERE c.n = 1", "parameters": [], "id": "trap", "pk": "a"}


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ms-documentdb-isquery": "true"},
        {"x-ms-documentdb-isquery": "True", "Content-Type": "application/query+json"},
        {"x-ms-documentdb-isquery": "True", "Content-Type": "application/json"},
        {"Content-Type": "application/query+json"},
        {"Content-Type": "application/query+json; charset=utf-8"},
        {"Content-Type": "Application/Query+JSON"},
        {"x-ms-documentdb-query": "true"},
    ],
    ids=str,
)
@pytest.mark.parametrize("more", [{}, {"x-ms-documentdb-is-upsert": "true"}], ids=["", "upsert"])
def test_every_sign_of_a_query(client, filled, headers, more):
    for scope in (CROSS, pk("b"), pk("b") | CROSS):
        answer = client.post(filled.docs, TRAP, headers | more | scope)
        assert (answer.status, answer.json["Documents"]) == (200, [1]), answer
    assert client.get(f"{filled.docs}/trap", pk("a")).status == 404


def test_plans_are_told_by_their_header_alone(client, filled):
    for value in ("True", "true"):
        headers = {"x-ms-cosmos-is-query-plan-request": value, "Content-Type": "application/json"}
        for scope in ({}, CROSS, pk("a"), {"x-ms-documentdb-is-upsert": "true"}):
            answer = client.post(filled.docs, TRAP, headers | scope)
            assert answer.status == 200 and "queryInfo" in answer.json, answer
    assert client.get(f"{filled.docs}/trap", pk("a")).status == 404


def test_the_text_alone(client, filled):
    """As `application/sql` it is the body, otherwise a JSON string."""
    text = "SELECT VALUE c.n FROM c WHERE c.n < 2 AND c.pk = 'a'"
    for headers in ({"Content-Type": "application/sql"}, {"Content-Type": "application/sql; charset=utf-8"}):
        answer = client.post(filled.docs, text, CROSS | headers)
        assert answer.json["Documents"] == [0], answer
    answer = client.post(filled.docs, json.dumps(text), CROSS | QUERY)
    assert answer.json["Documents"] == [0], answer


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"5", b"{}", b'{"query":null}', b'{"query":5}', b'{"query":["SELECT 1"]}', b"\xff",
        b'{"query":"SELECT 1","parameters":{}}', b'{"query":"SELECT 1","parameters":[1]}',
        b'{"query":"SELECT 1","parameters":[{"value":1}]}', b'{"query":"SELECT 1","parameters":[{"name":"x","value":1}]}',
        b'{"query":"SELECT 1","parameters":[{"name":5,"value":1}]}', b'{"query":"SELECT 1"} x',
    ],
    ids=lambda content: content.decode(errors="replace"),
)  # fmt: skip
def test_bodies_that_are_no_query(client, filled, content):
    assert client.post(filled.docs, content, QUERY | CROSS).status == 400
    assert ask_plan(client, filled.docs, "").status == 400
    plan = {"x-ms-cosmos-is-query-plan-request": "True"}
    assert client.post(filled.docs, content, plan | CROSS).status == 400
    assert client.post("/dbs", content, QUERY).status == 400


@pytest.mark.parametrize("content", [{"query": "SELECT VALUE 1"}, {"query": "SELECT VALUE 1", "parameters": None},
                                     {"query": "SELECT VALUE 1", "parameters": []}, {"query": "SELECT VALUE 1", "more": 1}])  # fmt: skip
def test_bodies_without_parameters(client, filled, content):
    assert client.post(filled.docs, content, QUERY | CROSS).json["Documents"] == [1]


def test_queries_are_not_for_single_resources(client, filled):
    for path in (filled.path, f"{filled.docs}/i0", "/"):
        answer = client.post(path, body("SELECT 1"), QUERY | CROSS | pk("a"))
        assert answer.status in (400, 405), answer
