"""Databases."""

import pytest
from azure.cosmos import PartitionKey, exceptions


def test_a_database_lives(client, name):
    database, made = client.create_database(name, return_properties=True)
    assert made["id"] == name and made["_self"] == f"dbs/{made['_rid']}/"
    assert database.read() == made
    assert name in [item["id"] for item in client.list_databases()]
    client.delete_database(name)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        database.read()
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        client.delete_database(database)


def test_a_name_is_taken_once(client, name):
    client.create_database(name)
    with pytest.raises(exceptions.CosmosResourceExistsError) as taken:
        client.create_database(name)
    assert taken.value.status_code == 409
    client.delete_database(name)


def test_if_not_exists(client, name):
    first, made = client.create_database_if_not_exists(name, return_properties=True)
    second, found = client.create_database_if_not_exists(name, return_properties=True)
    assert made == found and first.id == second.id
    client.delete_database(name)


def test_the_list_is_paged(client):
    names = {f"listed-{number}" for number in range(5)}
    for name in names:
        client.create_database(name)
    pages = [list(page) for page in client.list_databases(max_item_count=2).by_page()]
    assert all(len(page) <= 2 for page in pages)
    found = [item["id"] for page in pages for item in page]
    assert names <= set(found) and len(found) == len(set(found))
    assert found == [item["id"] for item in client.list_databases()]
    for name in names:
        client.delete_database(name)


@pytest.mark.parametrize("name", ["with space", "ünïcode", "dots.and-dashes_", "a+b=c&d", "n" * 255])
def test_odd_names(client, name):
    database = client.create_database(name)
    assert client.get_database_client(name).read()["id"] == name
    container = database.create_container(name, PartitionKey("/pk"))
    container.create_item({"id": "x", "pk": "a"})
    assert container.read_item("x", "a")["id"] == "x"
    assert [item["id"] for item in container.read_all_items()] == ["x"]
    client.delete_database(name)


def test_names_that_are_refused(client):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        client.create_database("n" * 256)
    assert refused.value.status_code == 400


def test_throughput_that_is_refused(client, name):
    for throughput in (100, 450, 2_000_000):
        with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
            client.create_database(name, offer_throughput=throughput)
        assert refused.value.status_code == 400
    client.create_database(name, offer_throughput=1000)
    client.delete_database(name)
