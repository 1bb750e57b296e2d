"""A client whose knowledge of a container is out of date."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from azure.cosmos.partition_key import NonePartitionKeyValue
from http_client import Client
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


def test_everything_of_a_container_made_again(database, other, name):
    """Ranges, sessions, feeds and tokens that the client keeps are those of the old one."""
    made = database.create_container(name, PartitionKey("/pk"), offer_throughput=25000)
    stale = other.get_container_client(name)
    for number in range(30):
        stale.create_item({"id": f"i{number}", "pk": f"k{number}"})
    pages = stale.query_items("SELECT VALUE c.id FROM c", partition_key="k1", max_item_count=1).by_page()
    next(pages)
    query = "SELECT VALUE COUNT(1) FROM c"
    assert list(stale.query_items(query, enable_cross_partition_query=True)) == [30]
    assert len(list(stale.read_feed_ranges())) == 3
    old = made.read()
    database.delete_container(name)
    database.create_container(name, PartitionKey("/pk"))
    # Its session has seen more than the new one has: as with the service, it must begin anew by a write.
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        stale.read_item("i1", "k1")
    assert stale.upsert_item({"id": "i1", "pk": "k1"})["id"] == "i1"
    assert list(stale.query_items(query, enable_cross_partition_query=True)) == [1]
    assert len(stale.read_items([("i1", "k1"), ("i2", "k2")])) == 1
    assert len(list(stale.read_feed_ranges(force_refresh=True))) == 1
    assert stale.read()["_rid"] != old["_rid"]
    stale.delete_item("i1", "k1")


def test_a_database_made_again(server, name):
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as mine, CosmosClient(server.endpoint, PUBLISHED_KEY) as theirs:
        stale = mine.create_database(name).create_container("c", PartitionKey("/pk"))
        stale.create_item({"id": "old", "pk": "a"})
        theirs.delete_database(name)
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            stale.create_item({"id": "x", "pk": "a"})
        theirs.create_database(name)
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            stale.read_item("old", "a")
        theirs.get_database_client(name).create_container("c", PartitionKey("/pk"))
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            stale.read_item("old", "a")
        assert stale.create_item({"id": "new", "pk": "a"})["id"] == "new"
        assert [item["id"] for item in stale.read_all_items()] == ["new"]
        theirs.delete_database(name)


def test_a_container_that_went_away(database, other, name):
    database.create_container(name, PartitionKey("/pk"))
    stale = other.get_container_client(name)
    stale.create_item({"id": "x", "pk": "a"})
    database.delete_container(name)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        stale.read_item("x", "a")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        stale.create_item({"id": "y", "pk": "a"})


def test_a_container_that_was_given_a_key(server, database, other, name):
    # No client of today makes one without a key.
    plain, old = Client(server.port), {"x-ms-version": "2017-11-15"}
    assert plain.post("/dbs/python/colls", {"id": name}, old).status == 201
    stale = other.get_container_client(name)
    made = [stale.create_item({"id": f"i{n}", "deviceId": f"device {n % 5}", "n": n}) for n in range(40)]
    assert stale.read_item("i7", NonePartitionKeyValue) == made[7]
    query = "SELECT VALUE c.id FROM c WHERE c.n >= 10 ORDER BY c.n"
    expected = [f"i{n}" for n in range(10, 40)]
    assert list(stale.query_items(query, enable_cross_partition_query=True)) == expected
    key = {"paths": ["/deviceId"], "kind": "Hash", "version": 2}
    given = plain.post(f"/_sheaf/dbs/python/colls/{name}/partition", {"partitionKey": key})
    assert given.status == 200, given
    plain.close()
    # It still knows the range that is gone, and finds the new one by itself.
    assert list(stale.query_items(query, enable_cross_partition_query=True)) == expected
    assert {item["id"]: item["_etag"] for item in stale.read_all_items()} == {
        item["id"]: item["_etag"] for item in made
    }
    # It still says that there is no key, until it reads the definition again.
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        stale.create_item({"id": "new", "deviceId": "device 1"})
    assert (refused.value.status_code, refused.value.sub_status) == (400, 1001)
    assert stale.read()["partitionKey"] == key
    assert stale.create_item({"id": "new", "deviceId": "device 1"})["id"] == "new"
    found = stale.read_item("i7", "device 2")
    assert (found["_etag"], found["n"]) == (made[7]["_etag"], 7)
    assert stale.replace_item(found, found | {"n": 8})["n"] == 8
    stale.upsert_item({"id": "i7", "deviceId": "another"})
    stale.delete_item("i7", "another")
    fresh = database.get_container_client(name)
    of_device = fresh.query_items("SELECT VALUE c.id FROM c", partition_key="device 1")
    assert sorted(of_device) == sorted([f"i{n}" for n in range(1, 40, 5)] + ["new"])
