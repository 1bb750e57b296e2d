"""Queries that are refused: the text says what is wrong and where."""

import pytest

from http_client import pk
from query_client import CROSS, QUERY, ask, ask_plan, body, error, errors


@pytest.mark.parametrize(
    "query, code, message, place",
    [
        ("selectttt", "SC1001", "Syntax error, incorrect syntax near 'selectttt'.", (0, 9)),
        ("SELECT c.a, FROM c", "SC1001", "Syntax error, incorrect syntax near 'FROM'.", (12, 16)),
        ("SELECT TOP -1 c.name FROM c", "SC1001", "Syntax error, incorrect syntax near '-'.", (11, 12)),
        ("SELECT c.* FROM c", "SC1001", "Syntax error, incorrect syntax near '*'.", (9, 10)),
        ("SELECT", "SC1002", "Syntax error, unexpected end-of-file.", (6, 6)),
        ("", "SC1002", "Syntax error, unexpected end-of-file.", (0, 0)),
        ("SELECT * FROM c WHERE", "SC1002", "Syntax error, unexpected end-of-file.", (21, 21)),
        ("SELECT * FROM c;", "SC1010", "Syntax error, invalid token ';'.", (15, 16)),
        ("SELECT 'abc FROM c", "SC1012", "Syntax error, invalid string literal token '''.", (7, 8)),
        ("SELECT x.a FROM c", "SC2001", "Identifier 'x' could not be resolved.", (7, 8)),
        ("SELECT * FROM root r WHERE root.a = 1", "SC2001", "Identifier 'root' could not be resolved.", (27, 31)),
        ("SELECT BADFUNC(r.age) FROM Root r", "SC2005", "'BADFUNC' is not a recognized built-in function name.", (7, 14)),
        ("SELECT ABS() FROM c", "SC2050", "The ABS function requires 1 argument(s).", (7, 12)),
        ("SELECT TOP 1.5 * FROM c", "SC2060", "The count value provided for a TOP clause must be an integer.", (11, 14)),
        ("SELECT * FROM c GROUP BY c.a", "SC2041", "'SELECT *' is not allowed with GROUP BY.", (7, 8)),
        ("SELECT 'ü', BADFUNC(1) FROM c", "SC2005", "'BADFUNC' is not a recognized built-in function name.", (12, 19)),
        ("SELECT '🦀', BADFUNC(1) FROM c", "SC2005", "'BADFUNC' is not a recognized built-in function name.", (13, 20)),
    ],
)  # fmt: skip
def test_what_and_where(client, wide, query, code, message, place):
    """Places count UTF-16 code units, as the service's and its clients' strings do."""
    for scope in ({}, pk("a")):
        answer = ask(client, wide.docs, query, scope)
        assert error(answer) == (code, message, place)
        assert answer.message.startswith("Message: {") and "\r\nActivityId: " in answer.message
    planned = ask_plan(client, wide.docs, query)
    assert error(planned) == (code, message, place)
    assert planned.message.startswith("Gateway Failed to Retrieve Query Plan: Message: {")


@pytest.mark.parametrize("query", ["selectttt", "SELECT x.a FROM c"])
def test_on_every_feed(client, db, wide, query):
    for path in ("/dbs", f"{db.path}/colls", "/offers", f"{wide.path}/pkranges"):
        assert error(ask(client, path, query))[0] in ("SC1001", "SC2001")


def test_several_errors(client, wide):
    query = "SELECT c.a, c.b, COUNT(1) FROM c GROUP BY c.k"
    found = errors(ask(client, wide.docs, query))["errors"]
    assert [(item["code"], item["location"]) for item in found] == [
        ("SC2102", {"start": 7, "end": 10}), ("SC2102", {"start": 12, "end": 15}),
    ]  # fmt: skip


def test_order_by_what_is_no_path(client, wide):
    answer = ask(client, wide.docs, "SELECT * FROM c ORDER BY LOWER(c.a)")
    assert errors(answer) == {
        "errors": [
            {
                "severity": "Error", "code": 2206,
                "message": "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.",
            }
        ]
    }  # fmt: skip


COMPOSITE = "The order by query does not have a corresponding composite index that it can be served from."
EXCLUDED = "The index path corresponding to the specified order-by item is excluded."
CORRELATED = "Order-by over correlated collections is not supported."


@pytest.fixture(scope="module")
def picky(db):
    """A collection with a composite index, and a path that no index covers."""
    composite = [{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]
    policy = {
        "indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/x/*"}],
        "compositeIndexes": [composite],
    }  # fmt: skip
    return db.collection(indexingPolicy=policy, headers={"x-ms-offer-throughput": "30000"})


@pytest.mark.parametrize("order, message", [
    ("c.a, c.b", COMPOSITE), ("c.b DESC, c.a", COMPOSITE), ("c.a, c.b DESC, c.c", COMPOSITE), ("c.c, c.d", COMPOSITE),
    ("c.x", EXCLUDED), ("c.x.y DESC", EXCLUDED),
    ("c.a, c.b DESC", None), ("c.a DESC, c.b", None), ("c.a", None), ("c.b DESC", None), ("c['a']", None),
])  # fmt: skip
def test_orders_that_no_index_has(client, picky, order, message):
    for scope in ({}, pk("a")):
        answer = ask(client, picky.docs, f"SELECT * FROM c ORDER BY {order}", scope)
        if message is None:
            assert answer.status == 200, answer
        else:
            assert errors(answer) == {"Errors": [message]}


def test_orders_by_what_is_joined(client, wide):
    answer = ask(client, wide.docs, "SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t.x")
    assert answer.status == 400 and CORRELATED in answer.message


def test_parameters(client, wide):
    """A parameter may have any value; a name may not come twice, nor be forgotten."""
    query = "SELECT VALUE @p"
    for value in (1, "x", None, True, [1, {"a": []}], {"ü": "🦀"}):
        assert ask(client, wide.docs, query, None, {"p": value}).json["Documents"] == [value]
    # A parameter without a value is undefined.
    nothing = {"query": query, "parameters": [{"name": "@p"}]}
    assert client.post(wide.docs, nothing, QUERY | CROSS).json["Documents"] == []


def test_places_that_are_not_there(client, db, wide):
    query = body("SELECT * FROM c")
    for path in (
        "/dbs/none/colls",
        "/dbs/none/colls/none/docs",
        f"{db.path}/colls/none/docs",
        f"{db.path}/colls/none/pkranges",
    ):
        answer = client.post(path, query, QUERY | CROSS)
        assert answer.status == 404, answer
    stale = {"x-ms-cosmos-intended-collection-rid": db.rid}
    answer = client.post(wide.docs, query, QUERY | CROSS | stale)
    assert (answer.status, answer.substatus) == (400, 1024)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ms-max-item-count": "x"}, {"x-ms-max-item-count": "-2"}, {"x-ms-max-item-count": "1.5"},
        {"x-ms-documentdb-query-enablecrosspartition": "perhaps"}, {"x-ms-documentdb-isquery": "perhaps"},
        {"x-ms-documentdb-populatequerymetrics": "x"}, {"x-ms-documentdb-partitionkey": "x"},
        {"x-ms-documentdb-partitionkey": '["a","b"]'}, {"x-ms-documentdb-responsecontinuationtokenlimitinkb": "x"},
        {"x-ms-start-epk": "zz", "x-ms-end-epk": "FF"},
    ],
    ids=str,
)  # fmt: skip
def test_headers_that_make_no_sense(client, wide, headers):
    answer = ask(client, wide.docs, "SELECT * FROM c", headers)
    assert answer.status == 400, answer
