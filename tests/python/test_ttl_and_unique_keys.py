"""Time to live, unique keys, and the deletion of a partition key."""

import time

import pytest
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.aio import CosmosClient as AsyncClient
from server import PUBLISHED_KEY


def refused(status, call, *arguments, **options):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call(*arguments, **options)
    assert caught.value.status_code == status
    return caught.value


def wait_for_the_end(item, ttl):
    """Until the item's time is over."""
    while (left := item["_ts"] + ttl - time.time()) > 0:
        time.sleep(left)


def ids(container, **options):
    return sorted(item["id"] for item in container.query_items("SELECT c.id FROM c", **options))


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def lived(request, database):
    name = f"lived-{request.param}"
    return database.create_container(
        name, PartitionKey("/pk"), default_ttl=-1, offer_throughput=request.param
    )


def test_items_expire(lived, name):
    kept = lived.create_item({"id": "kept", "pk": name})
    assert "ttl" not in kept
    item = lived.create_item({"id": "short", "pk": name, "ttl": 2})
    assert lived.read_item("short", name)["ttl"] == 2
    wait_for_the_end(item, 2)
    refused(404, lived.read_item, "short", name)
    assert ids(lived, partition_key=name) == ["kept"]
    count = "SELECT VALUE COUNT(1) FROM c WHERE c.pk = @pk"
    parameters = [{"name": "@pk", "value": name}]
    everywhere = lived.query_items(count, parameters, enable_cross_partition_query=True)
    assert list(everywhere) == [1]
    assert [item["id"] for item in lived.read_all_items() if item["pk"] == name] == ["kept"]
    again = lived.create_item({"id": "short", "pk": name})
    assert again["_rid"] != item["_rid"]


def test_writes_renew(lived, name):
    item = lived.create_item({"id": name, "pk": "a", "ttl": 3})
    wait_for_the_end(item, 1)
    renewed = lived.patch_item(name, "a", [{"op": "add", "path": "/n", "value": 1}])
    wait_for_the_end(item, 3)
    if time.time() < renewed["_ts"] + 3:
        assert renewed["_ts"] > item["_ts"]
    wait_for_the_end(renewed, 3)
    refused(404, lived.read_item, name, "a")


def test_bad_times(lived, name):
    for ttl in (None, 0, -2, 1.5, "5"):
        error = refused(400, lived.create_item, {"id": name, "pk": "a", "ttl": ttl})
        assert "The input ttl" in error.message


def test_the_default_changes(database, name):
    container = database.create_container(name, PartitionKey("/pk"))
    item = container.create_item({"id": "a", "pk": "k"})
    wait_for_the_end(item, 1)
    replaced = database.replace_container(container, PartitionKey("/pk"), default_ttl=1)
    assert replaced.read()["defaultTtl"] == 1
    assert list(container.read_all_items()) == []
    database.replace_container(container, PartitionKey("/pk"))
    assert "defaultTtl" not in container.read()
    assert container.create_item({"id": "b", "pk": "k", "ttl": 1})["ttl"] == 1
    database.delete_container(container)


@pytest.fixture(scope="module")
def unique(database):
    policy = {"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/name/first", "/name/last"]}]}
    container = database.create_container("unique", PartitionKey("/pk"), unique_key_policy=policy)
    assert container.read()["uniqueKeyPolicy"] == policy
    return container


def test_unique_keys(unique, name):
    unique.create_item({"id": "1", "pk": name, "email": "a", "name": {"first": "x"}})
    unique.create_item({"id": "2", "pk": name, "email": "b", "name": {"first": "y"}})
    taken = {"id": "3", "pk": name, "email": "a", "name": {"first": "z"}}
    error = refused(409, unique.create_item, taken)
    assert isinstance(error, exceptions.CosmosResourceExistsError)
    assert "Unique index constraint violation." in error.message
    refused(409, unique.upsert_item, taken)
    clash = {"id": "2", "pk": name, "email": "b", "name": {"first": "x", "last": None}}
    refused(409, unique.replace_item, "2", clash)
    change = [{"op": "set", "path": "/email", "value": "a"}]
    refused(409, unique.patch_item, "2", name, change)
    with pytest.raises(exceptions.CosmosBatchOperationError) as caught:
        unique.execute_item_batch([("create", (taken,))], name)
    assert caught.value.status_code == 409
    unique.execute_item_batch([("delete", ("1",)), ("create", (taken,))], name)
    unique.create_item({"id": "1", "pk": f"{name}-other", "email": "a"})


def test_delete_by_partition_key(lived, name):
    other = f"{name}-other"
    for number in range(130):
        lived.create_item({"id": str(number), "pk": name})
    lived.create_item({"id": "kept", "pk": other})
    lived.delete_all_items_by_partition_key(name)
    assert ids(lived, partition_key=name) == []
    assert ids(lived, partition_key=other) == ["kept"]
    lived.create_item({"id": "0", "pk": name})
    assert ids(lived, partition_key=name) == ["0"]


async def asynchronous_delete(endpoint, name):
    async with AsyncClient(endpoint, PUBLISHED_KEY) as client:
        container = client.get_database_client("python").get_container_client("lived-400")
        await container.create_item({"id": "a", "pk": name})
        await container.delete_all_items_by_partition_key(name)
        return [item async for item in container.query_items("SELECT * FROM c", partition_key=name)]


def test_delete_by_partition_key_asynchronously(server, database, lived, name):
    import asyncio

    if lived.id == "lived-400":
        assert asyncio.run(asynchronous_delete(server.endpoint, name)) == []
