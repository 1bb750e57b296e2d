"""Throttled requests through the SDK: it waits as it is told, by itself, and succeeds."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError
from server import PUBLISHED_KEY, Server


@pytest.fixture(scope="module")
def limited():
    """A server that enforces throughput, and a database in it."""
    with Server() as server, CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        yield server, client.create_database("limited")


def test_the_sdk_retries_until_it_is_served(limited):
    _, database = limited
    container = database.create_container("patient", PartitionKey("/pk"), offer_throughput=400)

    def write(number):
        return container.create_item({"id": f"{number}", "pk": number % 4})["id"]

    # Some 1,200 request units, where the first second has 800.
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(write, range(200)))
    assert len(set(written)) == 200
    assert len(list(container.read_all_items())) == 200


def test_a_client_that_does_not_wait_sees_the_refusal(limited):
    server, database = limited
    database.create_container("hasty", PartitionKey("/pk"), offer_throughput=400)
    # One retry after a millisecond is the least that the SDK can be made to do.
    hurry = {"retry_throttle_total": 1, "retry_fixed_interval": 1}
    with CosmosClient(server.endpoint, PUBLISHED_KEY, **hurry) as client:
        container = client.get_database_client("limited").get_container_client("hasty")
        with pytest.raises(CosmosHttpResponseError) as refused:
            for number in range(1000):
                container.create_item({"id": f"{number}", "pk": 1, "v": list(range(100))})
    assert (refused.value.status_code, refused.value.sub_status) == (429, 3200)
    assert int(refused.value.headers["x-ms-retry-after-ms"]) >= 1
    assert float(refused.value.headers["x-ms-request-charge"]) == 0


def test_queries_and_feeds_are_retried_too(limited):
    _, database = limited
    container = database.create_container("queries", PartitionKey("/pk"), offer_throughput=400)
    for number in range(40):
        container.create_item({"id": f"{number}", "pk": number % 4, "v": number})
    for _ in range(15):
        rows = container.query_items(
            "SELECT * FROM c ORDER BY c.v", enable_cross_partition_query=True, max_item_count=20
        )
        assert [row["v"] for row in rows] == list(range(40))
        assert len(list(container.read_all_items(max_item_count=20))) == 40
