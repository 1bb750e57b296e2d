"""COUNT and its kin, GROUP BY, DISTINCT, TOP, OFFSET LIMIT."""

from collections import Counter

import pytest
from azure.cosmos import PartitionKey, exceptions
from shop import ITEMS, KEYS

ODD = [c["n"] for c in ITEMS if "note" in c]
AGGREGATES = {
    "COUNT(1)": 60, "COUNT(c.n)": 60, "COUNT(c.note)": 30, "COUNT(c.none)": 0, "SUM(c.n)": 1770, "SUM(c.price)": 2212.5,
    "AVG(c.n)": 29.5, "MIN(c.n)": 0, "MAX(c.n)": 59, "MIN(c.size.h)": -59, "MAX(c.size.h)": 0, "MIN(c.name)": "",
    "MAX(c.name)": "🦀 crab", "MIN(c.in_stock)": False, "MAX(c.in_stock)": True,
    "COUNTIF(c.n > 49)": 10, "SUM(c.none)": 0, "SUM(c.n * 2)": 3540, "MAX(LENGTH(c.name))": 8,
}  # fmt: skip


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_of_all(everywhere, aggregate):
    assert everywhere(f"SELECT VALUE {aggregate} FROM c") == [AGGREGATES[aggregate]]


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_of_one_key(shop, aggregate):
    """The server's sums of each key add up to the client's of all."""
    found = [next(iter(shop.query_items(f"SELECT VALUE {aggregate} FROM c", partition_key=key))) for key in KEYS]
    kind, whole = aggregate.partition("(")[0], AGGREGATES[aggregate]
    if kind in ("COUNT", "COUNTIF", "SUM"):
        assert sum(found) == whole
    elif kind == "AVG":
        counts = Counter(c["pk"] for c in ITEMS)
        assert sum(average * counts[key] for average, key in zip(found, KEYS)) / 60 == pytest.approx(whole)
    else:
        assert (min if kind == "MIN" else max)(found) == whole


def test_with_a_filter(everywhere):
    assert everywhere("SELECT VALUE COUNT(1) FROM c WHERE c.n > 49") == [10]
    assert everywhere("SELECT VALUE COUNT(1) FROM c WHERE c.size.w = 3") == [10]
    assert everywhere("SELECT VALUE SUM(c.n) FROM c WHERE IS_DEFINED(c.note)") == [sum(ODD)]
    assert everywhere("SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags") == [sum(len(c["tags"]) for c in ITEMS)]
    assert everywhere("SELECT VALUE AVG(t.count) FROM t IN c.parts") == [
        pytest.approx(sum(p["count"] for c in ITEMS for p in c["parts"]) / sum(len(c["parts"]) for c in ITEMS))
    ]


def test_over_nothing(shop, everywhere):
    assert everywhere("SELECT VALUE COUNT(1) FROM c WHERE c.n < 0") == [0]
    assert everywhere("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 0") == [0]
    where = "FROM c WHERE c.n < 0"
    for kind in ("AVG", "MIN", "MAX"):
        assert list(shop.query_items(f"SELECT VALUE {kind}(c.n) {where}", partition_key=KEYS[0])) == []


def test_several_at_once(shop):
    """On one key; across keys this client has no way to merge them, and says so."""
    query = "SELECT COUNT(1) AS n, MAX(c.n) AS most, AVG(c.g) AS g FROM c"
    mine = [c for c in ITEMS if c["pk"] == KEYS[4]]
    [row] = shop.query_items(query, partition_key=KEYS[4])
    assert row == {"n": len(mine), "most": mine[-1]["n"], "g": pytest.approx(sum(c["g"] for c in mine) / len(mine))}
    [value] = shop.query_items("SELECT VALUE {'n': COUNT(1), 'half': MAX(c.n) / 2} FROM c", partition_key=KEYS[4])
    assert value == {"n": len(mine), "half": mine[-1]["n"] / 2}
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        list(shop.query_items(query, enable_cross_partition_query=True))
    assert caught.value.status_code == 400


def test_mixed_types(database, name):
    """A value that cannot be added spoils the sum; the least and the greatest go by type."""
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=30000)
    values = [5, 2.5, "x", "", True, None, -1]
    for at, value in enumerate(values):
        container.create_item({"id": str(at), "pk": at, "v": value, "n": at})

    def ask(query, **more):
        return list(container.query_items(query, **({"enable_cross_partition_query": True} | more)))

    assert ask("SELECT VALUE COUNT(c.v) FROM c") == [7]
    assert ask("SELECT VALUE MIN(c.v) FROM c") == [None]
    assert ask("SELECT VALUE MAX(c.v) FROM c") == ["x"]
    assert ask("SELECT VALUE MAX(c.v) FROM c WHERE IS_NUMBER(c.v)") == [5]
    assert ask("SELECT VALUE SUM(c.v) FROM c WHERE IS_NUMBER(c.v)") == [6.5]
    assert ask("SELECT VALUE SUM(c.v) FROM c", partition_key=2) == []
    assert ask("SELECT VALUE COUNT(1) FROM c WHERE c.v > 0") == [2]


GROUPS = {
    "SELECT c.g, COUNT(1) AS n, SUM(c.n) AS s FROM c GROUP BY c.g": [
        {"g": g, "n": 15, "s": sum(range(g, 60, 4))} for g in range(4)
    ],
    "SELECT c.in_stock, MIN(c.n) AS low, MAX(c.n) AS high, AVG(c.n) AS mean FROM c GROUP BY c.in_stock": [
        {"in_stock": False, "low": 1, "high": 59, "mean": 30}, {"in_stock": True, "low": 0, "high": 57, "mean": 28.5},
    ],
    "SELECT c.g, c.in_stock, COUNT(1) AS n FROM c GROUP BY c.g, c.in_stock": [
        {"g": g, "in_stock": stock, "n": 5 if stock else 10} for g in range(4) for stock in (False, True)
    ],
    "SELECT COUNT(1) AS n FROM c GROUP BY IS_DEFINED(c.note)": [{"n": 30}, {"n": 30}],
    "SELECT VALUE c.g FROM c GROUP BY c.g": [0, 1, 2, 3],
    "SELECT VALUE COUNT(1) FROM c GROUP BY c.g": [15, 15, 15, 15],
    "SELECT t, COUNT(1) AS n FROM c JOIN t IN c.tags GROUP BY t": [
        {"t": tag, "n": n} for tag, n in Counter(tag for c in ITEMS for tag in c["tags"]).items()
    ],
    "SELECT c.none, COUNT(1) AS n FROM c GROUP BY c.none": [{"n": 60}],
    "SELECT UPPER(c.name) AS name, COUNT(1) AS n FROM c WHERE c.name LIKE '_ebra' GROUP BY UPPER(c.name)": [
        {"name": "ZEBRA", "n": 12}
    ],
}  # fmt: skip


@pytest.mark.parametrize("query", GROUPS)
@pytest.mark.parametrize("size", [1, None])
def test_groups(everywhere, query, size):
    assert sorted(everywhere(query, max_item_count=size), key=repr) == sorted(GROUPS[query], key=repr)


def test_groups_of_one_key(shop):
    mine = [c for c in ITEMS if c["pk"] == KEYS[2]]
    query = "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g"
    for size in (1, 3, -1):
        found = shop.query_items(query, partition_key=KEYS[2], max_item_count=size)
        assert {row["g"]: row["n"] for row in found} == Counter(c["g"] for c in mine)


DISTINCT = {
    "SELECT DISTINCT VALUE c.g FROM c": [0, 1, 2, 3],
    "SELECT DISTINCT c.g, c.in_stock FROM c": [{"g": g, "in_stock": s} for g in range(4) for s in (False, True)],
    "SELECT DISTINCT VALUE c.tags FROM c": [c["tags"] for c in ITEMS[:5]],
    "SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags": ["red", "green", "blue", "ü"],
    "SELECT DISTINCT c.none FROM c": [{}],
    "SELECT DISTINCT VALUE c.none FROM c": [],
    "SELECT DISTINCT VALUE c.size.w FROM c WHERE c.n < 3": [0, 1, 2],
    "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c)": [4],
}


@pytest.mark.parametrize("query", DISTINCT)
@pytest.mark.parametrize("size", [3, None])
def test_distinct(everywhere, query, size):
    assert sorted(everywhere(query, max_item_count=size), key=repr) == sorted(DISTINCT[query], key=repr)


def test_distinct_in_one_key(shop):
    for query, expected in DISTINCT.items():
        found = list(shop.query_items(query, partition_key=KEYS[0], max_item_count=1))
        assert len(found) <= len(expected)
        if "COUNT" not in query:
            assert all(row in expected for row in found)
            assert all(row not in found[:at] for at, row in enumerate(found))


@pytest.mark.parametrize("size", [3, None])
def test_top_and_limits(shop, everywhere, size):
    for count in (0, 1, 7, 100):
        found = everywhere(f"SELECT TOP {count} VALUE c.n FROM c", max_item_count=size)
        assert len(found) == len(set(found)) == min(count, 60)
    for offset, limit in ((0, 5), (10, 7), (55, 10), (1000, 1), (3, 0)):
        query = f"OFFSET {offset} LIMIT {limit}"
        found = everywhere(f"SELECT VALUE c.n FROM c {query}", max_item_count=size)
        assert len(found) == len(set(found)) == max(0, min(limit, 60 - offset))
        found = everywhere(f"SELECT VALUE c.n FROM c ORDER BY c.n {query}", max_item_count=size)
        assert found == list(range(60))[offset : offset + limit]
    mine = [c["n"] for c in ITEMS if c["pk"] == KEYS[3]]
    assert (
        list(shop.query_items("SELECT TOP 3 VALUE c.n FROM c", partition_key=KEYS[3], max_item_count=size)) == mine[:3]
    )
    query = "SELECT VALUE c.n FROM c OFFSET 2 LIMIT 3"
    assert list(shop.query_items(query, partition_key=KEYS[3], max_item_count=size)) == mine[2:5]


def test_top_of_groups_and_sets(everywhere):
    assert len(everywhere("SELECT DISTINCT TOP 2 VALUE c.g FROM c")) == 2
    assert everywhere("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g OFFSET 1 LIMIT 2") == [1, 2]
    found = everywhere("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g OFFSET 1 LIMIT 2")
    assert len(found) == 2 and all(row["n"] == 15 for row in found)
