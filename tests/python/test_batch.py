"""Transactional batches."""

import asyncio
import threading

import pytest
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.aio import CosmosClient as AsyncClient

from server import PUBLISHED_KEY


def refused(container, operations, key="a"):
    """What the SDK says of a batch that fails."""
    with pytest.raises(exceptions.CosmosBatchOperationError) as error:
        container.execute_item_batch(operations, key)
    return error.value


def test_all_kinds(container, name):
    container.create_item({"id": f"{name}-old", "pk": "a"})
    results = container.execute_item_batch(
        [
            ("create", ({"id": name, "pk": "a", "n": 1},)),
            ("upsert", ({"id": name, "pk": "a", "n": 2},)),
            ("replace", (name, {"id": name, "pk": "a", "n": 3})),
            ("patch", (name, [{"op": "incr", "path": "/n", "value": 4}])),
            ("read", (name,)),
            ("delete", (f"{name}-old",)),
        ],
        "a",
    )
    assert [result["statusCode"] for result in results] == [201, 200, 200, 200, 200, 204]
    assert results[4]["resourceBody"]["n"] == 7
    assert container.read_item(name, "a") == results[4]["resourceBody"]
    assert results.get_response_headers()["x-ms-session-token"]


def test_one_failure_undoes_all(container, name):
    container.create_item({"id": name, "pk": "a"})
    operations = [
        ("create", ({"id": f"{name}-1", "pk": "a"},)),
        ("create", ({"id": name, "pk": "a"},)),
        ("read", (name,)),
    ]
    error = refused(container, operations)
    assert (error.error_index, error.status_code) == (1, 409)
    assert [result["statusCode"] for result in error.operation_responses] == [424, 409, 424]
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item(f"{name}-1", "a")


def test_conditions(container, name):
    made = container.create_item({"id": name, "pk": "a", "n": 1})
    stale = [("replace", (name, made | {"n": 2}), {"if_match_etag": '"stale"'})]
    assert refused(container, stale).status_code == 412
    good = [("replace", (name, made | {"n": 2}), {"if_match_etag": made["_etag"]})]
    assert container.execute_item_batch(good, "a")[0]["resourceBody"]["n"] == 2
    same = made["_etag"]
    patch = [("patch", (name, [{"op": "set", "path": "/n", "value": 9}]), {"filter_predicate": "from c where c.n = 1"})]
    assert refused(container, patch).status_code == 412
    assert container.read_item(name, "a")["_etag"] != same
    unchanged = container.read_item(name, "a")["_etag"]
    results = container.execute_item_batch([("read", (name,), {"if_none_match_etag": unchanged})], "a")
    assert results[0]["statusCode"] == 304


def test_limits(container, name):
    many = [("create", ({"id": f"{name}-{i}", "pk": "a"},)) for i in range(101)]
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        container.execute_item_batch(many, "a")
    assert error.value.status_code == 400
    assert len(container.execute_item_batch(many[:100], "a")) == 100
    large = [("create", ({"id": name, "pk": "a", "pad": "x" * (2 << 20)},))]
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        container.execute_item_batch(large, "a")
    assert error.value.status_code == 413


def test_a_book_and_its_author(database, name):
    """A book comes with its author's count of books, or not at all."""
    container = database.create_container(name, PartitionKey("/author"))
    container.create_item({"id": "author", "author": "asimov", "countOfBooks": 0})

    def add(title):
        count = [{"op": "incr", "path": "/countOfBooks", "value": 1}]
        book = {"id": title, "author": "asimov", "kind": "book"}
        return container.execute_item_batch([("create", (book,)), ("patch", ("author", count))], "asimov")

    threads = [threading.Thread(target=add, args=(f"book-{i}",)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pytest.raises(exceptions.CosmosBatchOperationError):
        add("book-3")
    assert container.read_item("author", "asimov")["countOfBooks"] == 20
    books = container.query_items("SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'book'", partition_key="asimov")
    assert list(books) == [20]


def test_hierarchical_keys(database, name):
    container = database.create_container(name, PartitionKey(["/tenant", "/user"], kind="MultiHash"))
    item = {"id": "a", "tenant": "t", "user": "u"}
    results = container.execute_item_batch([("create", (item,)), ("read", ("a",))], ["t", "u"])
    assert [result["statusCode"] for result in results] == [201, 200]


async def run(endpoint, name):
    async with AsyncClient(endpoint, PUBLISHED_KEY) as client:
        database = await client.create_database(name)
        container = await database.create_container("c", PartitionKey("/pk"))
        operations = [("create", ({"id": "a", "pk": "x"},)), ("read", ("a",))]
        results = await container.execute_item_batch(operations, "x")
        await client.delete_database(name)
        return [result["statusCode"] for result in results]


def test_async(server, name):
    assert asyncio.run(run(server.endpoint, name)) == [201, 200]
