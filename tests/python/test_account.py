"""The client starts, and knows the account."""

import pytest
from azure.cosmos import CosmosClient, exceptions
from server import PUBLISHED_KEY


def test_account(client, server):
    account = client.get_database_account()
    assert account.ConsistencyPolicy == {"defaultConsistencyLevel": "Session"}
    here = {"name": "South Central US", "databaseAccountEndpoint": server.endpoint}
    assert account.WritableLocations == [here] and account.ReadableLocations == [here]


def test_connection_string(server):
    text = f"AccountEndpoint={server.endpoint};AccountKey={PUBLISHED_KEY};"
    with CosmosClient.from_connection_string(text) as client:
        assert client.get_database_account().DatabasesLink == "/dbs/"


def test_a_wrong_key(server):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        CosmosClient(server.endpoint, "d3Jvbmc=")
    assert refused.value.status_code == 401


def test_https_on_the_same_port(server, database):
    endpoint = server.endpoint.replace("http:", "https:")
    with CosmosClient(endpoint, PUBLISHED_KEY, connection_verify=False) as client:
        assert client.get_database_client(database.id).read()["id"] == database.id


@pytest.mark.parametrize("level", ["Session", "ConsistentPrefix", "Eventual"])
def test_weaker_consistency(server, database, level):
    with CosmosClient(server.endpoint, PUBLISHED_KEY, consistency_level=level) as client:
        assert client.get_database_client(database.id).read()["id"] == database.id


def test_stronger_consistency(server, container):
    container.upsert_item({"id": "strong", "pk": "a"})
    with CosmosClient(server.endpoint, PUBLISHED_KEY, consistency_level="Strong") as client:
        database_link, _, id = container.container_link.partition("/colls/")
        strong = client.get_database_client(database_link[4:]).get_container_client(id)
        with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
            strong.read_item("strong", "a")
    assert refused.value.status_code == 400
