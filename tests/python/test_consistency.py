"""Clients of each consistency level against accounts of each level."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from server import PUBLISHED_KEY, Server

# From strong to weak, with the flag of each.
LEVELS = {
    "Strong": "strong", "BoundedStaleness": "bounded-staleness", "Session": "session",
    "ConsistentPrefix": "consistent-prefix", "Eventual": "eventual",
}  # fmt: skip
NAMES = list(LEVELS)
DOUBLE = ("Strong", "BoundedStaleness")


@pytest.fixture(scope="module", params=NAMES)
def account(request):
    """A server of each level, with a container of three partitions."""
    with Server("--consistency", LEVELS[request.param]) as running:
        with CosmosClient(running.endpoint, PUBLISHED_KEY) as client:
            database = client.create_database("levels")
            database.create_container("c", PartitionKey("/pk"), offer_throughput=25000)
        yield request.param, running


def charge(answer):
    return float(answer.get_response_headers()["x-ms-request-charge"])


def test_the_account_tells_its_level(account):
    level, server = account
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        policy = client.get_database_account().ConsistencyPolicy
    assert policy["defaultConsistencyLevel"] == level
    assert ("maxStalenessPrefix" in policy) == (level == "BoundedStaleness")


@pytest.mark.parametrize("asked", [None, *NAMES])
def test_a_client_of_its_own_level(account, asked):
    level, server = account
    # Without a level the client takes the account's.
    more = {"consistency_level": asked} if asked else {}
    with CosmosClient(server.endpoint, PUBLISHED_KEY, **more) as client:
        container = client.get_database_client("levels").get_container_client("c")
        if asked and NAMES.index(asked) < NAMES.index(level):
            with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
                container.upsert_item({"id": "own", "pk": "a"})
            assert refused.value.status_code == 400
            assert "not stronger than the service consistency level" in refused.value.message
            return
        for number, key in enumerate(["test", "redmond", "a"] * 3):
            made = container.upsert_item({"id": "own", "pk": key, "n": number})
            read = container.read_item("own", key)
            assert read == made
            assert charge(read) == (2 if (asked or level) in DOUBLE else 1)
            assert read.get_response_headers()["x-ms-session-token"]
        query = "SELECT VALUE COUNT(1) FROM c WHERE c.id = 'own'"
        assert list(container.query_items(query, enable_cross_partition_query=True)) == [3]


def test_a_token_from_the_future(account):
    level, server = account
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        container = client.get_database_client("levels").get_container_client("c")
        container.upsert_item({"id": "token", "pk": "a"})
        ahead = {"session_token": "0:-1#1000000,1:-1#1000000,2:-1#1000000"}
        if level == "Session":
            with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
                container.read_item("token", "a", **ahead)
            assert (refused.value.status_code, refused.value.sub_status) == (404, 1002)
        else:
            assert container.read_item("token", "a", **ahead)["id"] == "token"
