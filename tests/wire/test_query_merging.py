"""Clients that follow plans merge what the ranges say, and come to the server's own answer: for
every aggregate over values of all types, groups, sets, orders and counts, made at random."""

import pytest

from planner import follow
from query_client import plain, rows
from test_query_index import Maker

AGGREGATES = ["COUNT(1)", "COUNT({})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNTIF(IS_NUMBER({}))"]
# Numbers that every client holds exactly, and whose sums do not depend on the order.
SCALARS = [None, True, False, 0, 1, -1, 1.5, 2, 3, 1000000, "", "a", "A", "ab", "b", "ä", "z", "日本", "1", "null"]
PATHS = ["c.a", "c.b", "c.o.x", "c.o.y.z", "c.n", "c.m", "c.none", "c.l[0]"]


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def docs(request, client, db):
    composite = [[{"path": "/m", "order": "ascending"}, {"path": "/n", "order": "descending"}]]
    policy = {"includedPaths": [{"path": "/*"}, {"path": "/b/?"}], "excludedPaths": [], "compositeIndexes": composite}
    coll = db.collection(indexingPolicy=policy, headers={"x-ms-offer-throughput": str(request.param)})
    maker = Maker(3, SCALARS)
    for n in range(120):
        item = maker.document(n) | {"pk": f"p{n % 17}", "n": n, "m": n % 4}
        assert client.post(coll.docs, item).status == 201
    return coll.docs


def same(client, docs, query, is_ordered=False):
    direct, by_plan = (
        [plain(row) for row in found] for found in (rows(client, docs, query), follow(client, docs, query))
    )
    if not is_ordered:
        direct.sort(), by_plan.sort()
    assert direct == by_plan, query
    return direct


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_aggregates(client, docs, aggregate):
    for path in PATHS:
        of = aggregate.format(path)
        for where in ("true", f"IS_NUMBER({path})", f"IS_PRIMITIVE({path})", "c.n > 90", "c.n < 0"):
            same(client, docs, f"SELECT VALUE {of} FROM c WHERE {where}")
        same(client, docs, f"SELECT {of} AS v, COUNT(1) AS n, MAX(c.n) FROM c")


@pytest.mark.parametrize("key", ["c.m", "c.a", "c.b", "c.o.x", "c.none", "c.n % 7", "c.l", "IS_DEFINED(c.b)"])
def test_groups(client, docs, key):
    for aggregate in AGGREGATES:
        of = aggregate.format("c.o.x")
        same(client, docs, f"SELECT {key} AS k, {of} AS v FROM c GROUP BY {key}")
        same(client, docs, f"SELECT VALUE {of} FROM c WHERE IS_NUMBER(c.o.x) GROUP BY {key}")
    same(client, docs, f"SELECT {key} AS k, c.m AS m, SUM(c.n) AS s FROM c GROUP BY {key}, c.m")
    same(client, docs, f"SELECT VALUE {key} FROM c GROUP BY {key}")


@pytest.mark.parametrize("path", PATHS)
def test_sets(client, docs, path):
    assert len(set(same(client, docs, f"SELECT DISTINCT VALUE {path} FROM c"))) <= 120
    same(client, docs, f"SELECT DISTINCT {path} AS v, c.m FROM c")
    same(client, docs, f"SELECT DISTINCT VALUE t FROM c JOIN t IN c.l WHERE IS_DEFINED({path})")


@pytest.mark.parametrize("order", ["c.n", "c.n DESC", "c.m, c.n DESC", "c.m DESC, c.n"])
def test_orders(client, docs, order):
    for query in (
        "SELECT VALUE c.id FROM c ORDER BY {}",
        "SELECT TOP 11 VALUE c.id FROM c ORDER BY {}",
        "SELECT VALUE c.id FROM c WHERE c.n > 50 ORDER BY {} OFFSET 7 LIMIT 23",
        "SELECT c.id, c.a, [c.n] AS list FROM c ORDER BY {}",
        "SELECT * FROM c WHERE c.o.y.z = 2 ORDER BY {}",
        "SELECT VALUE c.a FROM c ORDER BY {}",
    ):
        same(client, docs, query.format(order), is_ordered=True)


@pytest.mark.parametrize("path", ["c.a", "c.b", "c.o.x", "c.m", "c.none"])
def test_orders_with_ties(client, docs, path):
    """Ties come in any order, each document once; DISTINCT has none."""
    for direction in ("ASC", "DESC"):
        same(client, docs, f"SELECT VALUE c.id FROM c ORDER BY {path} {direction}")
        where = f"WHERE IS_PRIMITIVE({path})"
        same(client, docs, f"SELECT VALUE {path} FROM c {where} ORDER BY {path} {direction}", is_ordered=True)
        same(client, docs, f"SELECT DISTINCT VALUE {path} FROM c {where} ORDER BY {path} {direction}", is_ordered=True)


def test_counts_of_sets(client, docs):
    for path in PATHS:
        same(client, docs, f"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE {path} FROM c)")
        same(client, docs, f"SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE {path} FROM c)")
