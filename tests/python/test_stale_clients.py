"""A client whose knowledge of a container is out of date."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from server import PUBLISHED_KEY


@pytest.fixture
def other(server):
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        yield client.get_database_client("python")


def test_a_container_made_again(database, other, name):
    database.create_container(name, PartitionKey("/pk"))
    stale = other.get_container_client(name)
    old = stale.create_item({"id": "old", "pk": "a"})
    assert stale.read_item("old", "a") == old
    database.delete_container(name)
    database.create_container(name, PartitionKey("/pk"))
    # The server tells it apart by its resource id, and the client reads the definition again.
    new = stale.create_item({"id": "new", "pk": "a"})
    assert new["_self"].split("/")[3] != old["_self"].split("/")[3]
    assert stale.read_item("new", "a") == new
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        stale.read_item("old", "a")
    assert [item["id"] for item in stale.read_all_items()] == ["new"]


def test_a_container_made_again_with_another_key(database, other, name):
    database.create_container(name, PartitionKey("/pk"))
    stale = other.get_container_client(name)
    stale.create_item({"id": "x", "pk": "a"})
    database.delete_container(name)
    database.create_container(name, PartitionKey("/other"), offer_throughput=25000)
    # The client takes the key anew where it found none by the old definition.
    stale.create_item({"id": "x", "other": "b"})
    assert stale.read_item("x", "b")["other"] == "b"


def test_a_container_that_went_away(database, other, name):
    database.create_container(name, PartitionKey("/pk"))
    stale = other.get_container_client(name)
    stale.create_item({"id": "x", "pk": "a"})
    database.delete_container(name)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        stale.read_item("x", "a")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        stale.create_item({"id": "y", "pk": "a"})
