"""Which documents a query sees: of a key, of the beginning of one, of a range, of a part of a range."""

import pytest

from http_client import UNDEFINED, Client, pk
from query_client import ask, ranges, rows

KEYS = ["a", "b", "ü", "", 1, 2.5, -1, True, False, None, UNDEFINED]
COUNT = 44


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def filled(request, client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": str(request.param)})
    for n in range(COUNT):
        key = KEYS[n % len(KEYS)]
        item = {"id": f"i{n}", "n": n} | ({} if key == UNDEFINED else {"pk": key})
        assert client.post(coll.docs, item, pk(key)).status == 201
    return coll


def epk(low, high):
    return {"x-ms-read-key-type": "EffectivePartitionKeyRange", "x-ms-start-epk": low, "x-ms-end-epk": high}


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_are_apart(client, filled, key):
    expected = [n for n in range(COUNT) if KEYS[n % len(KEYS)] is key]
    for query in ("SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n"):
        for size in (1, None):
            assert rows(client, filled.docs, query, pk(key), size=size) == expected
    assert rows(client, filled.docs, "SELECT VALUE COUNT(1) FROM c", pk(key)) == [len(expected)]
    assert rows(client, filled.docs, "SELECT VALUE SUM(c.n) FROM c", pk(key)) == [sum(expected)]
    # A filter on another key has nothing to find here.
    assert rows(client, filled.docs, "SELECT VALUE c.n FROM c WHERE c.pk = 'other'", pk(key)) == []
    found = rows(client, filled.docs, "SELECT VALUE c.n FROM c WHERE c.n > 20", pk(key))
    assert found == [n for n in expected if n > 20]


def test_a_key_that_nothing_has(client, filled):
    assert rows(client, filled.docs, "SELECT * FROM c", pk("none")) == []
    assert rows(client, filled.docs, "SELECT VALUE COUNT(1) FROM c", pk("none")) == [0]


@pytest.mark.parametrize(
    "query",
    ["SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n DESC", "SELECT VALUE c.n FROM c WHERE c.n >= 0"],
)
def test_ranges_add_up(client, filled, query):
    whole = rows(client, filled.docs, query)
    parts, halves = [], []
    for item in ranges(client, filled.path):
        named = {"x-ms-documentdb-partitionkeyrangeid": item["id"]}
        part = rows(client, filled.docs, query, named)
        low, high = item["minInclusive"], item["maxExclusive"]
        assert sorted(rows(client, filled.docs, query, named | epk(low, high), size=2)) == sorted(part)
        parts += part
        middle = "0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" if low == "" else low[:1] + "F" + "0" * 30
        for bounds in ((low, middle), (middle, high)):
            halves += rows(client, filled.docs, query, named | epk(*bounds), size=3)
    assert len(whole) == COUNT
    assert sorted(parts) == sorted(halves) == sorted(whole)


def test_counts_by_range(client, filled):
    total = 0
    for item in ranges(client, filled.path):
        named = {"x-ms-documentdb-partitionkeyrangeid": item["id"]}
        low, high = item["minInclusive"], item["maxExclusive"]
        middle = "0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" if low == "" else low[:1] + "F" + "0" * 30
        for bounds in ((low, middle), (middle, high)):
            for query in ("SELECT VALUE COUNT(1) FROM c", "SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0"):
                [count] = rows(client, filled.docs, query, named | epk(*bounds))
                assert count == len(rows(client, filled.docs, "SELECT * FROM c", named | epk(*bounds)))
            total += count
    assert total == COUNT


def test_empty_ranges(client, filled):
    [first, *_] = ranges(client, filled.path)
    named = {"x-ms-documentdb-partitionkeyrangeid": first["id"]}
    assert rows(client, filled.docs, "SELECT * FROM c", named | epk("0001", "0001")) == []
    assert rows(client, filled.docs, "SELECT VALUE COUNT(1) FROM c", named | epk("00", "000000000001")) == [0]


def test_a_range_without_bounds(client, filled):
    """Python announces a sub-range and leaves its bounds out when it is the whole range."""
    found = []
    for item in ranges(client, filled.path):
        named = {"x-ms-documentdb-partitionkeyrangeid": item["id"], "x-ms-read-key-type": "EffectivePartitionKeyRange"}
        found += rows(client, filled.docs, "SELECT VALUE c.n FROM c", named, size=5)
    assert sorted(found) == list(range(COUNT))


def test_ranges_that_are_not_there(client, filled):
    for name in ("99", "x", "-1"):
        answer = ask(client, filled.docs, "SELECT * FROM c", {"x-ms-documentdb-partitionkeyrangeid": name})
        assert (answer.status, answer.substatus) == (410, 1002), answer
    # .NET puts the collection before it.
    [first, *_] = ranges(client, filled.path)
    named = {"x-ms-documentdb-partitionkeyrangeid": f"{filled.rid},{first['id']}"}
    assert ask(client, filled.docs, "SELECT * FROM c", named).status == 200


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def tree(request, client, db):
    """A collection by country, city and street."""
    key = {"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}
    coll = db.collection(partitionKey=key, headers={"x-ms-offer-throughput": str(request.param)})
    for n in range(64):
        item = {"id": f"i{n}", "a": f"a{n % 4}", "b": n // 4 % 4, "c": f"c{n // 16 % 4}", "n": n}
        assert client.post(coll.docs, item).status == 201
    return coll


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_beginnings_of_keys(client, tree, levels):
    for n in (0, 21, 42, 63):
        key = [f"a{n % 4}", n // 4 % 4, f"c{n // 16 % 4}"][:levels]
        expected = [m for m in range(64) if [f"a{m % 4}", m // 4 % 4, f"c{m // 16 % 4}"][:levels] == key]
        where = " AND ".join(f"c.{name} = @{name}" for name in "abc"[:levels])
        parameters = dict(zip("abc", key))
        for query in ("SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n"):
            assert sorted(rows(client, tree.docs, query, pk(*key), size=3)) == expected
        assert rows(client, tree.docs, "SELECT VALUE COUNT(1) FROM c", pk(*key)) == [len(expected)]
        # By the filter alone, and without leave to read more than one key.
        headers = {"x-ms-documentdb-query-enablecrosspartition": None}
        query = f"SELECT VALUE c.n FROM c WHERE {where} ORDER BY c.n"
        assert rows(client, tree.docs, query, headers, parameters, size=5) == expected


def test_the_rest_of_a_key_is_not_its_beginning(client, tree):
    assert sorted(rows(client, tree.docs, "SELECT VALUE c.n FROM c WHERE c.b = 1 AND c.c = 'c1'")) == [20, 21, 22, 23]
    assert rows(client, tree.docs, "SELECT * FROM c", pk(1)) == []
    answer = ask(client, tree.docs, "SELECT * FROM c", pk("a", "b", "c", "d"))
    assert answer.status == 400, answer


def test_a_collection_without_a_key(client, db, server):
    """From before there were any: one partition, and nothing to be asked for."""
    old = Client(server.port, version="2017-11-15")
    made = old.post(f"{db.path}/colls", {"id": "keyless"})
    assert made.status == 201, made
    docs = f"{db.path}/colls/keyless/docs"
    for n in range(5):
        assert old.post(docs, {"id": str(n), "n": n}).status == 201
    headers = {"x-ms-documentdb-query-enablecrosspartition": None}
    for query in ("SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT TOP 10 VALUE c.n FROM c ORDER BY c.n"):
        assert rows(old, docs, query, headers, size=2) == [0, 1, 2, 3, 4]
        assert rows(client, docs, query, pk()) == [0, 1, 2, 3, 4]
    assert rows(old, docs, "SELECT VALUE SUM(c.n) FROM c", headers) == [10]
    old.close()
