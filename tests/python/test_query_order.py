"""ORDER BY, over one key and over all; the client merges the latter."""

import pytest
from azure.cosmos import PartitionKey, exceptions
from shop import ITEMS, KEYS, plain

ORDERS = {
    "n": lambda c: c["n"],
    "price": lambda c: c["price"],
    "name": lambda c: c["name"],
    "id": lambda c: c["id"],
    "in_stock": lambda c: c["in_stock"],
    "g": lambda c: c["g"],
}


@pytest.mark.parametrize("direction", ["", "ASC", "DESC"])
@pytest.mark.parametrize("path", ORDERS)
def test_by_one_path(shop, everywhere, path, direction):
    key = ORDERS[path]
    query = f"SELECT * FROM c ORDER BY c.{path} {direction}"
    found = plain(everywhere(query))
    assert sorted(found, key=lambda c: c["n"]) == ITEMS
    expected = sorted(ITEMS, key=key, reverse=direction == "DESC")
    assert [key(item) for item in found] == [key(item) for item in expected]
    mine = plain(shop.query_items(query, partition_key=KEYS[0]))
    assert [key(item) for item in mine] == [key(item) for item in expected if item["pk"] == KEYS[0]]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_pages(everywhere, size):
    expected = sorted(ITEMS, key=lambda c: c["name"])
    found = everywhere("SELECT * FROM c ORDER BY c.name", max_item_count=size)
    assert [item["name"] for item in found] == [item["name"] for item in expected]
    assert len({item["id"] for item in found}) == len(ITEMS)


MULTIPLE = {
    "c.g ASC, c.n DESC": lambda c: (c["g"], -c["n"]),
    "c.g DESC, c.n ASC": lambda c: (-c["g"], c["n"]),
    "c.name, c.g, c.n": lambda c: (c["name"], c["g"], c["n"]),
}


@pytest.mark.parametrize("order", MULTIPLE)
def test_by_several_paths(shop, everywhere, order):
    expected = sorted(ITEMS, key=MULTIPLE[order])
    query = f"SELECT * FROM c ORDER BY {order}"
    assert plain(everywhere(query)) == expected
    assert plain(everywhere(query, max_item_count=3)) == expected
    assert plain(shop.query_items(query, partition_key=KEYS[1])) == [c for c in expected if c["pk"] == KEYS[1]]
    found = everywhere(f"SELECT VALUE c.n FROM c WHERE c.n > 30 ORDER BY {order}")
    assert found == [c["n"] for c in expected if c["n"] > 30]


def test_with_all_that_goes_with_it(everywhere):
    descending = list(range(59, -1, -1))
    assert everywhere("SELECT VALUE c.n FROM c ORDER BY c.n DESC") == descending
    assert everywhere("SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n DESC") == descending[:5]
    assert everywhere("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 10 LIMIT 7") == descending[10:17]
    assert everywhere("SELECT VALUE c.n FROM c WHERE c.g = 2 ORDER BY c.n DESC OFFSET 1 LIMIT 2") == [54, 50]
    assert everywhere("SELECT c.n, c.n * 2 AS twice FROM c WHERE c.n < 2 ORDER BY c.n") == [
        {"n": 0, "twice": 0},
        {"n": 1, "twice": 2},
    ]
    assert everywhere("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC") == [3, 2, 1, 0]
    names = sorted({c["name"] for c in ITEMS})
    assert everywhere("SELECT DISTINCT VALUE c.name FROM c ORDER BY c.name") == names
    assert everywhere("SELECT VALUE c.shout FROM c WHERE c.g = 0 AND c.n < 9 ORDER BY c.n") == [
        "APPLE",
        "ZEBRA",
        'IT\'S "Q"',
    ]
    assert everywhere("SELECT TOP @top VALUE c.n FROM c WHERE c.n > @low ORDER BY c.n", {"top": 2, "low": 7}) == [8, 9]


def test_items_without_the_property(shop, everywhere):
    """They come first, whether or not the policy names the path. This client does not merge
    ranges of which some have them, so it asks for one key at a time."""
    noted = sorted((c for c in ITEMS if "note" in c), key=lambda c: c["note"])
    for key in KEYS:
        found = list(shop.query_items("SELECT VALUE c.n FROM c ORDER BY c.note", partition_key=key))
        expected = [c["n"] for c in noted if c["pk"] == key]
        others = sorted(c["n"] for c in ITEMS if "note" not in c and c["pk"] == key)
        assert found[len(others) :] == expected
        assert sorted(found[: len(others)]) == others
    query = "SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.note) ORDER BY c.note"
    assert everywhere(query) == [c["n"] for c in noted]


VALUES = [None, False, True, -1e300, -3, 0, 0.5, 7, 2**53, "", "A", "B", "a", "ab", "ä", "日", "🦀"]


@pytest.mark.parametrize("throughput", [400, 30000])
def test_mixed_types(database, name, throughput):
    """Nothing, null, false, true, numbers, strings by code point. This client does not
    merge ranges whose types differ, so with several of them all items have one key."""
    explicit = {"includedPaths": [{"path": "/v/?"}, {"path": "/*"}], "excludedPaths": []}
    container = database.create_container(name, PartitionKey("/pk"), explicit, offer_throughput=throughput)
    is_one = throughput == 400
    for at, value in enumerate(VALUES):
        container.create_item({"id": str(at), "pk": at % 6 if is_one else "k", "v": value})
    container.create_item({"id": "none", "pk": 1 if is_one else "k"})
    scope = {"enable_cross_partition_query": True} if is_one else {"partition_key": "k"}
    ascending = sorted(VALUES[9:])
    expected = ["none", *map(str, range(9)), *(str(VALUES.index(value)) for value in ascending)]
    for size in (1, 4, None):
        for direction, wanted in (("ASC", expected), ("DESC", expected[::-1])):
            query = f"SELECT VALUE c.id FROM c ORDER BY c.v {direction}"
            assert list(container.query_items(query, max_item_count=size, **scope)) == wanted


def refused(container, query, **more):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        list(container.query_items(query, **more))
    assert caught.value.status_code == 400
    return caught.value.message


@pytest.mark.parametrize(
    "scope", [{"partition_key": KEYS[0]}, {"enable_cross_partition_query": True}], ids=["key", "all"]
)
def test_orders_that_no_index_has(shop, scope):
    message = "The order by query does not have a corresponding composite index that it can be served from."
    for order in ("c.g, c.n", "c.n, c.g", "c.g, c.n DESC, c.id", "c.name, c.g"):
        assert message in refused(shop, f"SELECT * FROM c ORDER BY {order}", **scope)
    message = "The index path corresponding to the specified order-by item is excluded."
    assert message in refused(shop, "SELECT * FROM c ORDER BY c.size.w", **scope)
    message = "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."
    assert message in refused(shop, "SELECT * FROM c ORDER BY UPPER(c.name)", **scope)
    message = "Order-by over correlated collections is not supported."
    assert message in refused(shop, "SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t", **scope)


def test_an_index_is_made_later(database, name):
    """The order is served as soon as the policy has it."""
    container = database.create_container(name, PartitionKey("/pk"))
    for n in range(12):
        container.create_item({"id": str(n), "pk": n % 5, "a": n % 3, "b": n})
    query = "SELECT VALUE c.b FROM c ORDER BY c.a, c.b DESC"
    assert "composite" in refused(container, query, enable_cross_partition_query=True)
    composite = [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]]
    policy = container.read()["indexingPolicy"] | {"compositeIndexes": composite}
    database.replace_container(name, PartitionKey("/pk"), policy)
    expected = sorted(range(12), key=lambda n: (n % 3, -n))
    assert list(container.query_items(query, enable_cross_partition_query=True)) == expected
