"""Read-many: the SDK groups items by partition and sends queries of its own."""

import asyncio

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient
from server import PUBLISHED_KEY


def filled(database, name, key, item, throughput, count=60):
    container = database.create_container(name, key, offer_throughput=throughput)
    for number in range(count):
        container.create_item(item(number))
    return container


KINDS = {
    "by key": (PartitionKey("/pk"), lambda n: {"id": f"i{n}", "pk": f"k{n % 7}", "n": n}, lambda it: it["pk"]),
    "by id": (PartitionKey("/id"), lambda n: {"id": f"i{n}", "n": n}, lambda it: it["id"]),
    "numbers": (PartitionKey("/pk"), lambda n: {"id": f"i{n}", "pk": n % 5 + 0.5, "n": n}, lambda it: it["pk"]),
    "hierarchical": (
        PartitionKey(["/a", "/b"], kind="MultiHash"),
        lambda n: {"id": f"i{n}", "a": f"a{n % 3}", "b": n, "n": n}, lambda it: [it["a"], it["b"]]),
}  # fmt: skip


@pytest.mark.parametrize("throughput", [400, 30000], ids=["one", "three"])
@pytest.mark.parametrize("kind", KINDS)
def test_many(database, name, kind, throughput):
    key, item, value = KINDS[kind]
    container = filled(database, name, key, item, throughput)
    assert len(list(container.read_feed_ranges())) == (1 if throughput == 400 else 3)
    wanted = [item(number) for number in (0, 7, 14, 31, 32, 33, 59, 5)]
    pairs = [(it["id"], value(it)) for it in wanted]
    found = container.read_items(pairs)
    assert [it["n"] for it in found] == [it["n"] for it in wanted]
    assert found[3] == container.read_item(*pairs[3])
    # What is not there is left out; one alone is a point read; none is none.
    absent = [("nowhere", value(item(1))), (wanted[0]["id"], value(item(1)))]
    assert [it["n"] for it in container.read_items([*absent, *pairs[:2]])] == [0, 7]
    assert [it["n"] for it in container.read_items(pairs[:1])] == [0]
    assert container.read_items([]) == []
    everything = [(item(number)["id"], value(item(number))) for number in range(60)]
    assert [it["n"] for it in container.read_items(everything)] == list(range(60))


def test_more_than_one_query_holds(database, name):
    item = KINDS["by key"][1]
    container = filled(database, name, PartitionKey("/pk"), item, 25000, 10)
    pairs = [(item(number)["id"], item(number)["pk"]) for number in range(2500)]
    assert [it["n"] for it in container.read_items(pairs)] == list(range(10))


def test_many_async(server, database, name):
    key, item, value = KINDS["by key"]
    filled(database, name, key, item, 25000)

    async def read():
        async with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
            container = client.get_database_client("python").get_container_client(name)
            return await container.read_items([(f"i{n}", f"k{n % 7}") for n in range(0, 60, 3)])

    assert [it["n"] for it in asyncio.run(read())] == list(range(0, 60, 3))
