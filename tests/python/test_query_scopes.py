"""Feed ranges, keys that are absent or hierarchical, and reading many items at once."""

import pytest
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue
from shop import ITEMS, KEYS, by_id, plain


def test_feed_ranges(shop):
    ranges = list(shop.read_feed_ranges())
    assert len(ranges) == (1 if shop.id == "shop-400" else 3)
    found = [item for item_range in ranges for item in shop.query_items("SELECT * FROM c", feed_range=item_range)]
    assert by_id(found) == ITEMS
    for aggregate, expected in (("COUNT(1)", 60), ("SUM(c.n)", 1770)):
        parts = [next(iter(shop.query_items(f"SELECT VALUE {aggregate} FROM c", feed_range=part))) for part in ranges]
        assert sum(parts) == expected
    for part in ranges:
        numbers = list(shop.query_items("SELECT VALUE c.n FROM c ORDER BY c.n DESC", feed_range=part))
        assert numbers == sorted(numbers, reverse=True)
        assert sorted(numbers) == sorted(shop.query_items("SELECT VALUE c.n FROM c", feed_range=part, max_item_count=2))


@pytest.mark.parametrize("key", KEYS[::2])
def test_the_feed_range_of_a_key(shop, key):
    part = shop.feed_range_from_partition_key(key)
    expected = [item for item in ITEMS if item["pk"] == key]
    assert plain(shop.query_items("SELECT * FROM c", feed_range=part)) == expected
    assert list(shop.query_items("SELECT VALUE COUNT(1) FROM c", feed_range=part)) == [len(expected)]


def test_pages_of_a_feed_range(shop):
    for part in shop.read_feed_ranges():
        whole = list(shop.query_items("SELECT * FROM c", feed_range=part))
        pages = [
            list(page) for page in shop.query_items("SELECT * FROM c", feed_range=part, max_item_count=3).by_page()
        ]
        assert sum(pages, []) == whole
        pager = shop.query_items("SELECT * FROM c", feed_range=part, max_item_count=4).by_page()
        first = list(next(pager))
        rest = shop.query_items("SELECT * FROM c", feed_range=part).by_page(pager.continuation_token)
        assert first + [item for page in rest for item in page] == whole


def test_cross_partition_must_be_asked_for(shop):
    for query in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT VALUE COUNT(1) FROM c"):
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            list(shop.query_items(query))
        assert caught.value.status_code == 400
        assert "Cross partition query is required but disabled" in caught.value.message


@pytest.mark.parametrize("throughput", [400, 30000])
def test_keys_of_all_types(database, name, throughput):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=throughput)
    keys = ["a", "", "ü", 1, 1.5, -7, True, False]
    for n, key in enumerate(keys):
        container.create_item({"id": f"i{n}", "pk": key})
    container.create_item({"id": "null", "pk": None})
    container.create_item({"id": "none"})
    for n, key in enumerate(keys):
        assert [item["id"] for item in container.query_items("SELECT * FROM c", partition_key=key)] == [f"i{n}"]
    absent = container.query_items("SELECT VALUE c.id FROM c", partition_key=NonePartitionKeyValue)
    assert list(absent) == ["none"]
    null = container.query_items("SELECT VALUE c.id FROM c", partition_key=NullPartitionKeyValue)
    assert list(null) == ["null"]
    for where, expected in (("IS_NULL(c.pk)", ["null"]), ("NOT IS_DEFINED(c.pk)", ["none"]), ("c.pk = 1.0", ["i3"]),
                            ("c.pk = true", ["i6"]), ("IS_BOOL(c.pk)", ["i6", "i7"])):  # fmt: skip
        query = f"SELECT VALUE c.id FROM c WHERE {where}"
        assert sorted(container.query_items(query, enable_cross_partition_query=True)) == expected


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def tree(request, database):
    """By tenant, user and session."""
    key = PartitionKey(["/tenant", "/user", "/session"], kind="MultiHash")
    container = database.create_container(f"tree-{request.param}", key, offer_throughput=request.param)
    for n in range(48):
        item = {"id": f"i{n:02}", "tenant": f"t{n % 4}", "user": n // 4 % 4, "session": f"s{n // 16}", "n": n}
        container.create_item(item)
    return container


@pytest.mark.parametrize("size", [1, 3, None])
def test_hierarchical_keys(tree, size):
    def numbers(query, **scope):
        return sorted(tree.query_items(query, max_item_count=size, **scope))

    everything = "SELECT VALUE c.n FROM c"
    assert numbers(everything, partition_key=["t1", 2, "s1"]) == [25]
    assert numbers(everything, partition_key=["t1", 2]) == [9, 25, 41]
    assert numbers(everything, partition_key=["t1"]) == list(range(1, 48, 4))
    assert numbers(everything, partition_key=["none"]) == []
    assert numbers(everything, enable_cross_partition_query=True) == list(range(48))
    assert numbers("SELECT VALUE c.n FROM c WHERE c.n > 20", partition_key=["t1", 2]) == [25, 41]
    where = "SELECT VALUE c.n FROM c WHERE c.tenant = 't1' AND c.user = 2"
    assert numbers(where, enable_cross_partition_query=True) == [9, 25, 41]
    assert numbers(where + " AND c.session = 's2'") == [41]


def test_aggregates_of_beginnings_of_keys(tree):
    """The client adds up what the ranges say."""
    for aggregate, expected in (("COUNT(1)", 12), ("SUM(c.n)", 276), ("MIN(c.n)", 1), ("MAX(c.n)", 45)):
        assert list(tree.query_items(f"SELECT VALUE {aggregate} FROM c", partition_key=["t1"])) == [expected]
    found = tree.query_items("SELECT VALUE c.n FROM c ORDER BY c.n DESC", partition_key=["t1", 2])
    assert list(found) == [41, 25, 9]
    found = tree.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", enable_cross_partition_query=True)
    assert list(found) == list(range(48))


@pytest.mark.parametrize("throughput", [400, 30000])
def test_read_many(database, name, throughput):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=throughput)
    made = [container.create_item({"id": f"i{n}", "pk": f"p{n % 13}", "n": n}) for n in range(80)]
    wanted = [(item["id"], item["pk"]) for item in made[::-1]]
    assert list(container.read_items(wanted)) == made[::-1]
    assert list(container.read_items(wanted[:1])) == [made[-1]]
    assert list(container.read_items([])) == []
    # Of one key.
    mine = [item for item in made if item["pk"] == "p5"]
    assert list(container.read_items([(item["id"], "p5") for item in mine])) == mine
    # What is not there is left out.
    found = container.read_items([("i1", "p1"), ("none", "p1"), ("i2", "p1"), ("i3", "p3")])
    assert [item["id"] for item in found] == ["i1", "i3"]
    assert float(found.get_response_headers()["x-ms-request-charge"]) > 0


def test_read_many_by_id(database, name):
    """The id is the key: the client asks by id alone."""
    container = database.create_container(name, PartitionKey("/id"), offer_throughput=30000)
    made = [container.create_item({"id": f"i{n}", "n": n}) for n in range(60)]
    assert list(container.read_items([(item["id"], item["id"]) for item in made])) == made


def test_read_many_without_a_key(database, name):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=30000)
    made = [container.create_item({"id": f"i{n}", "n": n}) for n in range(5)]
    made += [container.create_item({"id": f"k{n}", "pk": n, "n": n}) for n in range(5)]
    wanted = [(item["id"], item.get("pk", NonePartitionKeyValue)) for item in made]
    assert {item["id"] for item in container.read_items(wanted)} == {item["id"] for item in made}


def test_read_many_by_several_levels(tree):
    wanted = [(f"i{n:02}", [f"t{n % 4}", n // 4 % 4, f"s{n // 16}"]) for n in range(48)]
    assert [item["n"] for item in tree.read_items(wanted)] == list(range(48))


def test_read_many_over_many_requests(database, name):
    """The client asks for a thousand at a time."""
    container = database.create_container(name, PartitionKey("/pk"))
    made = [container.create_item({"id": f"i{n}", "pk": n % 3}) for n in range(40)]
    wanted = [(item["id"], item["pk"]) for item in made] + [(f"none-{n}", n % 3) for n in range(1500)]
    assert sorted(item["id"] for item in container.read_items(wanted)) == sorted(item["id"] for item in made)


def test_a_container_made_anew(database, client, name):
    """A client that knows the old one finds the new one's items."""
    for throughput in (400, 30000):
        made = database.create_container(name, PartitionKey("/pk"), offer_throughput=throughput)
        for n in range(10):
            made.create_item({"id": f"i{n}", "pk": n, "n": throughput + n})
        known = client.get_database_client("python").get_container_client(name)
        for query in ("SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT VALUE c.n FROM c"):
            found = known.query_items(query, enable_cross_partition_query=True)
            assert sorted(found) == [throughput + n for n in range(10)]
        assert list(known.query_items("SELECT VALUE c.n FROM c", partition_key=3)) == [throughput + 3]
        database.delete_container(name)
