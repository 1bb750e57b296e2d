"""Queries by the asynchronous client."""

import asyncio

import pytest
from azure.cosmos import exceptions
from azure.cosmos.aio import CosmosClient
from server import PUBLISHED_KEY
from shop import ITEMS, KEYS, by_id, plain


@pytest.fixture
def run(server, shop):
    """Runs a test's coroutine with the shop, by a client of its own."""

    def run(test):
        async def with_client():
            async with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
                await test(client.get_database_client("python").get_container_client(shop.id))

        asyncio.run(with_client())

    return run


async def rows(container, query, **scope):
    return [row async for row in container.query_items(query, **scope)]


EXPECTED = {
    "SELECT VALUE COUNT(1) FROM c": [60],
    "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 57": [117],
    "SELECT VALUE AVG(c.n) FROM c": [29.5],
    "SELECT VALUE MIN(c.size.h) FROM c": [-59],
    "SELECT VALUE MAX(c.n) FROM c": [59],
    "SELECT VALUE c.n FROM c WHERE c.n < 3 ORDER BY c.n": [0, 1, 2],
    "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC": [59, 58, 57],
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 3": [10, 11, 12],
    "SELECT VALUE c.n FROM c WHERE c.n > 55 ORDER BY c.g, c.n DESC": [56, 57, 58, 59],
    "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g": [0, 1, 2, 3],
    "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 4 AND t != 'red'": ["green", "blue", "ü"],
    "SELECT VALUE c.shout FROM c WHERE c.n = 0": ["APPLE"],
}


@pytest.mark.parametrize("query", EXPECTED)
def test_all_keys(run, query):
    async def test(container):
        for size in (1, None):
            found = await rows(container, query, max_item_count=size)
            assert found == EXPECTED[query]

    run(test)


def test_groups(run):
    async def test(container):
        found = await rows(container, "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g")
        assert sorted(found, key=lambda row: row["g"]) == [{"g": g, "n": 15} for g in range(4)]

    run(test)


def test_one_key(run):
    async def test(container):
        mine = [item for item in ITEMS if item["pk"] == KEYS[2]]
        assert plain(await rows(container, "SELECT * FROM c", partition_key=KEYS[2])) == mine
        parameters = [{"name": "@low", "value": 20}]
        query = "SELECT VALUE c.n FROM c WHERE c.n > @low ORDER BY c.n DESC"
        found = await rows(container, query, parameters=parameters, partition_key=KEYS[2])
        assert found == [item["n"] for item in mine[::-1] if item["n"] > 20]
        assert await rows(container, "SELECT VALUE COUNT(1) FROM c", partition_key=KEYS[2]) == [len(mine)]

    run(test)


def test_pages_and_tokens(run):
    async def test(container):
        whole = await rows(container, "SELECT * FROM c")
        assert by_id(whole) == ITEMS
        found, token = [], None
        while True:
            pager = container.query_items("SELECT * FROM c", max_item_count=7).by_page(token)
            # The last page may be empty. The SDK stops then, and keeps the token that it was given.
            if (page := await anext(pager, None)) is None:
                break
            found += [item async for item in page]
            token = pager.continuation_token
            if token is None:
                break
        assert found == whole
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            await anext(container.query_items("SELECT * FROM c").by_page("no token"))
        assert caught.value.status_code == 400

    run(test)


def test_feed_ranges(run):
    async def test(container):
        found = []
        async for part in container.read_feed_ranges():
            found += await rows(container, "SELECT * FROM c", feed_range=part, max_item_count=4)
        assert by_id(found) == ITEMS

    run(test)


def test_read_many(run):
    async def test(container):
        wanted = [(item["id"], item["pk"]) for item in ITEMS[::2]]
        assert plain(await container.read_items(wanted)) == ITEMS[::2]

    run(test)


def test_many_at_once(run):
    async def test(container):
        async def count(n):
            return await rows(container, f"SELECT VALUE COUNT(1) FROM c WHERE c.n < {n}")

        assert await asyncio.gather(*map(count, range(40))) == [[n] for n in range(40)]

    run(test)


def test_errors(run):
    async def test(container):
        for query in ("SELEC", "SELECT * FROM c ORDER BY c.n, c.g", "SELECT * FROM c ORDER BY c.size.w"):
            with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
                await rows(container, query)
            assert caught.value.status_code == 400

    run(test)


def test_resources(server, name):
    async def test():
        async with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
            query = "SELECT VALUE d.id FROM d WHERE d.id = 'python'"
            assert [row async for row in client.query_databases(query)] == ["python"]
            database = await client.create_database(name, offer_throughput=1000)
            assert (await database.get_throughput()).offer_throughput == 1000
            assert (await database.replace_throughput(1100)).offer_throughput == 1100
            assert [row async for row in database.query_containers("SELECT * FROM c")] == []
            await client.delete_database(name)

    asyncio.run(test())
