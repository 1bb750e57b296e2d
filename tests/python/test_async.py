"""The asynchronous client."""

import asyncio

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.aio import CosmosClient
from server import PUBLISHED_KEY


@pytest.fixture
def run(server):
    """Runs a test's coroutine with a client of its own."""

    def run(test):
        async def with_client():
            async with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
                await test(client)

        asyncio.run(with_client())

    return run


def test_everything_lives(run, name):
    async def test(client):
        database = await client.create_database(name)
        with pytest.raises(exceptions.CosmosResourceExistsError):
            await client.create_database(name)
        container = await database.create_container("c", PartitionKey("/pk"), offer_throughput=25000)
        assert (await container.read())["id"] == "c"
        assert [item["id"] async for item in database.list_containers()] == ["c"]
        made = await container.create_item({"id": "x", "pk": "ü"})
        assert await container.read_item("x", "ü") == made
        with pytest.raises(exceptions.CosmosResourceExistsError):
            await container.create_item({"id": "x", "pk": "ü"})
        await container.replace_item("x", {"id": "x", "pk": "ü", "v": 2})
        with pytest.raises(exceptions.CosmosAccessConditionFailedError):
            await container.replace_item(
                "x", {"id": "x", "pk": "ü"}, etag=made["_etag"], match_condition=MatchConditions.IfNotModified
            )
        assert (await container.upsert_item({"id": "x", "pk": "ü", "v": 3}))["v"] == 3
        assert len([item async for item in container.read_feed_ranges()]) == 3
        await container.delete_item("x", "ü")
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            await container.read_item("x", "ü")
        await database.delete_container("c")
        await client.delete_database(name)
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            await database.read()

    run(test)


def test_many_at_once(run, database, name):
    database.create_container(name, PartitionKey("/pk"), offer_throughput=25000)

    async def test(client):
        container = client.get_database_client("python").get_container_client(name)
        await asyncio.gather(*(container.create_item({"id": str(n), "pk": n % 7}) for n in range(100)))
        found = await asyncio.gather(*(container.read_item(str(n), n % 7) for n in range(100)))
        assert [item["id"] for item in found] == [str(n) for n in range(100)]
        pages = []
        async for page in container.read_all_items(max_item_count=9).by_page():
            pages.append([item["id"] async for item in page])
        assert all(len(page) <= 9 for page in pages)
        assert sorted(map(int, sum(pages, []))) == list(range(100))

    run(test)


def test_one_of_many_wins(run, database, name):
    database.create_container(name, PartitionKey("/pk"))

    async def attempt(call, *arguments, **options):
        try:
            await call(*arguments, **options)
        except exceptions.CosmosHttpResponseError as refused:
            return refused.status_code
        return 0

    async def test(client):
        container = client.get_database_client("python").get_container_client(name)
        item = {"id": "x", "pk": "a"}
        created = await asyncio.gather(*(attempt(container.create_item, item) for _ in range(20)))
        assert sorted(created) == [0] + [409] * 19
        etag = (await container.read_item("x", "a"))["_etag"]
        match = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        replaced = await asyncio.gather(
            *(attempt(container.replace_item, "x", item | {"n": n}, **match) for n in range(20))
        )
        assert sorted(replaced) == [0] + [412] * 19

    run(test)
