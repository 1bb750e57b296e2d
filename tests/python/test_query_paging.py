"""Queries page by page, taken up again by token, also by another client and after a restart."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from server import PUBLISHED_KEY, Server
from shop import ITEMS, KEYS, plain

# What the server answers itself, and so gives tokens for: one key, or rows that need no merging.
ONE_KEY = [
    "SELECT * FROM c",
    "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT c.id, c.g FROM c ORDER BY c.g, c.n DESC",
    "SELECT TOP 5 VALUE c.n FROM c",
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 4",
    "SELECT DISTINCT VALUE c.g FROM c",
    "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",
    "SELECT c.n, t FROM c JOIN t IN c.tags",
]
ALL_KEYS = [
    "SELECT * FROM c",
    "SELECT VALUE c.n FROM c WHERE c.n > 10",
    "SELECT c.n, t FROM c JOIN t IN c.tags",
    "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",
]
SCOPES = [(query, {"partition_key": KEYS[3]}) for query in ONE_KEY]
SCOPES += [(query, {"enable_cross_partition_query": True}) for query in ALL_KEYS]


def resumed(container, query, size, scope, token=None):
    """All rows, each page by a new iterator."""
    found = []
    while True:
        pager = container.query_items(query, max_item_count=size, **scope).by_page(token)
        # The last page may be empty. The SDK stops then, and keeps the token that it was given.
        page = next(pager, None)
        if page is None:
            return found
        page = list(page)
        assert size < 0 or len(page) <= size
        found += page
        token = pager.continuation_token
        if token is None:
            return found


@pytest.mark.parametrize("query, scope", SCOPES, ids=lambda value: str(value)[:60])
def test_pages(shop, query, scope):
    whole = list(shop.query_items(query, **scope))
    assert whole
    for size in (1, 3, -1):
        pages = [list(page) for page in shop.query_items(query, max_item_count=size, **scope).by_page()]
        assert sum(pages, []) == whole
        if size > 0:
            assert all(len(page) <= size for page in pages) and len(pages) >= len(whole) // size
    assert resumed(shop, query, 7, scope) == whole


def test_pages_of_what_the_client_merges(shop):
    for size in (1, 3, 7, 100):
        query = "SELECT VALUE c.n FROM c ORDER BY c.n"
        pager = shop.query_items(query, enable_cross_partition_query=True, max_item_count=size).by_page()
        pages = [list(page) for page in pager]
        assert sum(pages, []) == list(range(60))
        assert all(len(page) <= size for page in pages)


def test_another_client_goes_on(server, shop):
    query, scope = "SELECT * FROM c", {"enable_cross_partition_query": True}
    pager = shop.query_items(query, max_item_count=7, **scope).by_page()
    first = list(next(pager))
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as other:
        container = other.get_database_client("python").get_container_client(shop.id)
        rest = resumed(container, query, 9, scope, pager.continuation_token)
    assert first + rest == list(shop.query_items(query, **scope))


@pytest.mark.parametrize("token", ["no token", "AAAA", "{}", "+RID:~x#RT:1#TRC:20"])
def test_tokens_that_are_none(shop, token):
    for scope in ({"enable_cross_partition_query": True}, {"partition_key": KEYS[0]}):
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            next(shop.query_items("SELECT * FROM c", **scope).by_page(token))
        assert caught.value.status_code == 400


def test_a_token_of_another_query(shop):
    scope = {"partition_key": KEYS[0]}
    pager = shop.query_items("SELECT * FROM c WHERE c.n >= 0", max_item_count=1, **scope).by_page()
    next(pager)
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        next(shop.query_items("SELECT VALUE c.n FROM c", **scope).by_page(pager.continuation_token))
    assert caught.value.status_code == 400


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_after_a_restart(tmp_path, end):
    with Server(data_dir=tmp_path / "data") as server:
        held = {}
        with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
            container = client.create_database("d").create_container("c", PartitionKey("/pk"), offer_throughput=30000)
            for item in ITEMS:
                container.create_item(item)
            for query, scope in [("SELECT * FROM c", {"enable_cross_partition_query": True}),
                                 ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", {"partition_key": KEYS[3]})]:  # fmt: skip
                whole = list(container.query_items(query, **scope))
                pager = container.query_items(query, max_item_count=4, **scope).by_page()
                assert list(next(pager)) == whole[:4]
                held[query] = scope, pager.continuation_token, whole
        getattr(server, end)()
        server.start()
        with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
            container = client.get_database_client("d").get_container_client("c")
            for query, (scope, token, whole) in held.items():
                assert resumed(container, query, 3, scope, token) == whole[4:]
            found = container.query_items("SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True)
            assert list(found) == [len(ITEMS)]
            ordered = container.query_items("SELECT * FROM c ORDER BY c.n", enable_cross_partition_query=True)
            assert plain(ordered) == ITEMS


def test_big_items(database, name):
    """A page is four megabytes at most, however many items were asked for."""
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=30000)
    for n in range(9):
        container.create_item({"id": str(n), "pk": n % 4, "n": n, "text": "x" * 1_400_000})
    for query in ("SELECT * FROM c", "SELECT c.n, c.text FROM c WHERE c.n >= 0"):
        pages = [list(page) for page in container.query_items(query, enable_cross_partition_query=True).by_page()]
        assert len(pages) >= 4 and max(map(len, pages)) <= 2
        assert sorted(item["n"] for page in pages for item in page) == list(range(9))
    found = list(container.query_items("SELECT * FROM c ORDER BY c.n DESC", enable_cross_partition_query=True))
    assert [item["n"] for item in found] == list(range(8, -1, -1))
    assert all(item["text"] == "x" * 1_400_000 for item in found)
    # Items that are only looked at do not count.
    lengths = container.query_items("SELECT VALUE LENGTH(c.text) FROM c", enable_cross_partition_query=True).by_page()
    pages = [list(page) for page in lengths]
    assert len(pages) <= 3 and sum(pages, []) == [1_400_000] * 9


def test_items_come_and_go_between_pages(database, name):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=30000)
    for n in range(40):
        container.create_item({"id": f"{n:02}", "pk": n % 7, "n": n})
    pages = container.query_items("SELECT * FROM c", enable_cross_partition_query=True, max_item_count=5).by_page()
    seen = []
    for at, page in enumerate(pages):
        page = list(page)
        seen += [item["id"] for item in page]
        container.delete_item(page[-1]["id"], page[-1]["pk"])
        container.upsert_item({"id": f"new-{at}", "pk": at % 7})
    assert len(seen) == len(set(seen))
    assert {f"{n:02}" for n in range(40)} <= set(seen)
