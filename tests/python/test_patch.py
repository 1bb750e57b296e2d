"""Patches of items."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.core import MatchConditions
from azure.cosmos import CosmosClient, exceptions
from azure.cosmos.aio import CosmosClient as AsyncClient
from server import PUBLISHED_KEY


def op(kind, path, value=None, **more):
    return {"op": kind, "path": path, "value": value} | more


def refused(status, call, *arguments, **options):
    """The refusal of a call, which must have this status and substatus."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call(*arguments, **options)
    assert (caught.value.status_code, caught.value.sub_status or 0) == status
    return caught.value


@pytest.fixture
def item(container, name):
    made = {
        "id": name, "pk": "a", "name": "R-410 Road Bicycle", "price": 455.95,
        "inventory": {"quantity": 15}, "used": False, "tags": ["bike", "road"],
    }
    return container.create_item(made)


def test_the_example_of_the_documentation(container, item):
    patched = container.patch_item(
        item["id"], "a",
        [
            op("add", "/color", "silver"),
            {"op": "remove", "path": "/used"},
            op("set", "/price", 355.45),
            op("incr", "/inventory/quantity", 10),
            op("add", "/tags/-", "featured"),
            {"op": "move", "from": "/color", "path": "/inventory/color"},
        ],
    )
    assert patched["price"] == 355.45 and "used" not in patched and "color" not in patched
    assert patched["inventory"] == {"quantity": 25, "color": "silver"}
    assert patched["tags"] == ["bike", "road", "featured"]
    assert patched["_rid"] == item["_rid"] and patched["_etag"] != item["_etag"]
    assert container.read_item(item, "a") == patched
    assert float(patched.get_response_headers()["x-ms-request-charge"]) > 0
    found = container.query_items(
        "SELECT VALUE c.id FROM c WHERE c.inventory.color = 'silver' AND c.id = @id",
        parameters=[{"name": "@id", "value": item["id"]}], partition_key="a",
    )
    assert list(found) == [item["id"]]


def test_every_operation_counts_or_none(container, item):
    failure = refused(
        (400, 0), container.patch_item, item["id"], "a", [op("set", "/price", 1), op("replace", "/absent", 1)]
    )
    assert "For Operation(2)" in failure.message
    assert container.read_item(item, "a") == item


@pytest.mark.parametrize(
    "operations",
    [
        [op("set", "/id", "x")],
        [op("set", "/pk", "b")],
        [op("remove", "/_etag")],
        [op("incr", "/name", 1)],
        [op("add", "/tags/9", "x")],
        [op("add", "/absent/x", 1)],
        [op("copy", "/x", 1)],
        [op("set", "/x", 1)] * 11,
        [],
    ],
    ids=str,
)
def test_refusals(container, item, operations):
    refused((400, 0), container.patch_item, item["id"], "a", operations)
    assert container.read_item(item, "a") == item


def test_conditions(container, item):
    patch = lambda predicate: container.patch_item(
        item["id"], "a", [op("replace", "/price", 100)], filter_predicate=predicate
    )
    assert patch("from products p where p.used = false and ARRAY_CONTAINS(p.tags, 'bike')")["price"] == 100
    refused((412, 1110), patch, "from products p where p.used = true")
    refused((400, 0), patch, "from products p where nonsense(p)")
    refused((400, 0), patch, "used = false")


def test_versions(container, item):
    known = {"etag": item["_etag"], "match_condition": MatchConditions.IfNotModified}
    container.patch_item(item["id"], "a", [op("incr", "/price", 1)], **known)
    refused((412, 0), container.patch_item, item["id"], "a", [op("incr", "/price", 1)], **known)
    refused((404, 0), container.patch_item, "absent", "a", [op("incr", "/price", 1)])
    refused((404, 0), container.patch_item, item["id"], "b", [op("incr", "/price", 1)])


def test_no_response(container, item):
    answer = container.patch_item(item["id"], "a", [op("incr", "/price", 1)], no_response=True)
    assert not answer
    assert answer.get_response_headers()["etag"]
    assert container.read_item(item, "a")["price"] == 456.95


def test_increments_at_the_same_time(server, container, item):
    def work(_):
        with CosmosClient(server.endpoint, PUBLISHED_KEY) as own:
            mine = own.get_database_client("python").get_container_client(container.id)
            for _ in range(20):
                mine.patch_item(item["id"], "a", [op("incr", "/inventory/quantity", 1)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert container.read_item(item, "a")["inventory"]["quantity"] == 15 + 80


def test_the_asynchronous_client(server, container, item):
    async def test():
        async with AsyncClient(server.endpoint, PUBLISHED_KEY) as client:
            mine = client.get_database_client("python").get_container_client(container.id)
            increment = [op("incr", "/n", 1)]
            await asyncio.gather(*(mine.patch_item(item["id"], "a", increment) for _ in range(20)))
            with pytest.raises(exceptions.CosmosHttpResponseError) as failed:
                await mine.patch_item(
                    item["id"], "a", increment, filter_predicate="from c where c.n < 20"
                )
            assert failed.value.status_code == 412

    asyncio.run(test())
    assert container.read_item(item, "a")["n"] == 20
