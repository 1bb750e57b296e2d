"""Databases and containers found by query, and throughput, which is found by query too."""

import pytest
from azure.cosmos import PartitionKey, ThroughputProperties, exceptions

# What the client makes of an empty answer: not found, on whose account it then looks for a
# container that it does not know.
NO_THROUGHPUT = (exceptions.CosmosResourceNotFoundError, AttributeError)


def test_databases(client, name):
    for n in range(4):
        client.create_database(f"{name}-{n}")
    parameters = [{"name": "@name", "value": f"{name}-2"}]
    [found] = client.query_databases("SELECT * FROM root r WHERE r.id = @name", parameters)
    assert found == client.get_database_client(f"{name}-2").read()
    query = f"SELECT VALUE d.id FROM d WHERE STARTSWITH(d.id, '{name}-') ORDER BY d.id DESC"
    for size in (1, 3, -1):
        names = list(client.query_databases(query, max_item_count=size))
        assert names == [f"{name}-{n}" for n in (3, 2, 1, 0)]
    assert list(client.query_databases("SELECT * FROM c WHERE c.id = 'none'")) == []
    for n in range(4):
        client.delete_database(f"{name}-{n}")
    assert list(client.query_databases(query)) == []


def test_containers(client, name):
    database = client.create_database(name)
    for n in range(4):
        database.create_container(f"c{n}", PartitionKey(f"/pk{n}"), default_ttl=n or -1)
    [found] = database.query_containers("SELECT * FROM c WHERE c.id = @id", [{"name": "@id", "value": "c2"}])
    assert found == database.get_container_client("c2").read()
    query = "SELECT c.id, c.partitionKey.paths[0] AS path FROM c WHERE c.defaultTtl > 0 ORDER BY c.id"
    expected = [{"id": f"c{n}", "path": f"/pk{n}"} for n in (1, 2, 3)]
    assert (
        list(database.query_containers(query)) == list(database.query_containers(query, max_item_count=1)) == expected
    )
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        list(database.query_containers("SELEC"))
    assert caught.value.status_code == 400 and "SC1001" in caught.value.message
    client.delete_database(name)


def test_throughput_of_a_container(database, name):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=700)
    assert container.get_throughput().offer_throughput == 700
    assert container.replace_throughput(900).offer_throughput == 900
    assert container.get_throughput().offer_throughput == 900
    assert container.replace_throughput(ThroughputProperties(offer_throughput=1100)).offer_throughput == 1100
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.replace_throughput(150)
    assert caught.value.status_code == 400
    assert container.get_throughput().offer_throughput == 1100


def test_autoscale(database, name):
    settings = ThroughputProperties(auto_scale_max_throughput=4000)
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=settings)
    assert container.get_throughput().auto_scale_max_throughput == 4000
    replaced = container.replace_throughput(ThroughputProperties(auto_scale_max_throughput=6000))
    assert replaced.properties["content"]["offerAutopilotSettings"]["maxThroughput"] == 6000
    assert container.get_throughput().auto_scale_max_throughput == 6000


def test_throughput_of_a_database(client, name):
    database = client.create_database(name, offer_throughput=1000)
    assert database.get_throughput().offer_throughput == 1000
    assert database.replace_throughput(1200).offer_throughput == 1200
    shared = database.create_container("shared", PartitionKey("/pk"))
    with pytest.raises(NO_THROUGHPUT):
        shared.get_throughput()
    own = database.create_container("own", PartitionKey("/pk"), offer_throughput=500)
    assert own.get_throughput().offer_throughput == 500
    client.delete_database(name)


def test_no_throughput(database):
    with pytest.raises(NO_THROUGHPUT):
        database.get_throughput()
