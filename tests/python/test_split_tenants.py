"""Hierarchical keys whose first level is cut into several ranges, as a client of before and a new one see them."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from http_client import Client
from server import PUBLISHED_KEY

COUNT = 90
KEY = PartitionKey(["/tenant", "/user", "/session"], kind="MultiHash")


@pytest.fixture
def plain(server):
    client = Client(server.port)
    yield client
    client.close()


def item(n):
    return {"id": f"i{n}", "tenant": "acme", "user": f"u{n % 9}", "session": n % 5, "n": n}


def key_of(item):
    return [item["tenant"], item["user"], item["session"]]


def reshape(plain, container, action, id):
    answer = plain.post(f"/_sheaf/dbs/python/colls/{container.id}/pkranges/{id}/{action}")
    assert answer.status == 200, answer
    return answer.json


def check(container, items):
    def asked(query, **scope):
        if not scope:
            scope = {"enable_cross_partition_query": True}
        return list(container.query_items(query, max_item_count=7, **scope))

    def numbers(chosen):
        return sorted(item["n"] for item in chosen)

    everyone = numbers(items)
    assert sorted(asked("SELECT VALUE c.n FROM c")) == everyone
    assert asked("SELECT VALUE c.n FROM c ORDER BY c.n") == everyone
    assert asked("SELECT VALUE COUNT(1) FROM c") == [len(items)]
    tenant = ["acme"]
    assert sorted(asked("SELECT VALUE c.n FROM c", partition_key=tenant)) == everyone
    # The client asks the ranges of a tenant one after the other, and puts the answers behind each other.
    assert sorted(asked("SELECT VALUE c.n FROM c ORDER BY c.n DESC", partition_key=tenant)) == everyone
    assert sum(asked("SELECT VALUE SUM(c.n) FROM c", partition_key=tenant)) == sum(everyone)
    for user in {item["user"] for item in items}:
        expected = numbers(item for item in items if item["user"] == user)
        assert sorted(asked("SELECT VALUE c.n FROM c", partition_key=["acme", user])) == expected
    for known in items:
        assert container.read_item(known["id"], key_of(known))["_rid"] == known["_rid"]
    of_key = [item for item in items if key_of(item) == key_of(items[0])]
    assert asked("SELECT VALUE c.n FROM c ORDER BY c.n", partition_key=key_of(items[0])) == numbers(of_key)
    assert sorted(item["n"] for item in container.read_all_items(max_item_count=11)) == everyone
    found = []
    for feed_range in container.read_feed_ranges():
        found += asked("SELECT VALUE c.n FROM c", feed_range=feed_range)
    assert sorted(found) == everyone


def test_a_tenant_in_pieces(server, plain, database, name):
    container = database.create_container(name, KEY)
    items = [container.create_item(item(n)) for n in range(COUNT)]
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        stale = client.get_database_client("python").get_container_client(name)
        check(stale, items)
        done = reshape(plain, container, "split", "0")
        cut = done["children"][0]["maxExclusive"]
        assert len(cut) in (64, 96) and cut == done["children"][1]["minInclusive"]
        reshape(plain, container, "split", "1")
        reshape(plain, container, "split", "2")
        check(stale, items)
        items += [stale.create_item(item(n)) for n in range(COUNT, COUNT + 20)]
        assert len({item["_rid"] for item in items}) == len(items)
        for known in items[:5]:
            changed = stale.replace_item(known["id"], known | {"extra": True})
            assert changed["_rid"] == known["_rid"]
        stale.delete_item(items[-1]["id"], key_of(items.pop()))
        reshape(plain, container, "merge", "4")
        check(stale, items)
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        check(client.get_database_client("python").get_container_client(name), items)


@pytest.mark.parametrize("scope", [{"partition_key": ["acme"]}, {"enable_cross_partition_query": True}])
@pytest.mark.parametrize("order", ["", " ORDER BY c.n", " ORDER BY c.n DESC"])
def test_pages_go_on(plain, database, name, scope, order):
    container = database.create_container(name, KEY)
    for n in range(COUNT):
        container.create_item(item(n))
    query = f"SELECT VALUE c.n FROM c{order}"
    pages = container.query_items(query, max_item_count=8, **scope).by_page()
    found = list(next(pages))
    for action, id in (("split", "0"), ("split", "1"), ("merge", "4")):
        reshape(plain, container, action, id)
        found += list(next(pages))
    for page in pages:
        found += list(page)
    assert sorted(found) == list(range(COUNT))
    if order:
        assert found == sorted(found, reverse="DESC" in order)
