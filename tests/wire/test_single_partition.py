"""Collections of the 2015 kind, without a partition key, and the clients of their time."""

import pytest

from http_client import UNDEFINED, pk

OLD = {"x-ms-version": "2017-11-15"}


@pytest.fixture(scope="module")
def old(client, db):
    made = client.post(f"{db.path}/colls", {"id": "without-key"}, OLD)
    assert made.status == 201, made
    return f"{db.path}/colls/without-key"


SYSTEM_KEY = {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}
QUERY = {"x-ms-documentdb-isquery": "true", "Content-Type": "application/query+json"}


def test_only_newer_clients_see_the_key_that_stands_for_none(client, db, old):
    """SDKs that see one ask for its value with every document."""
    name = old.rpartition("/")[2]

    def seen(headers):
        """The partition key in each kind of answer that shows the collection."""
        feed = client.get(f"{db.path}/colls", headers | {"x-ms-max-item-count": "1000"}).json["DocumentCollections"]
        query = {"query": "SELECT * FROM c WHERE c.id = @id", "parameters": [{"name": "@id", "value": name}]}
        rows = client.post(f"{db.path}/colls", query, headers | QUERY).json["DocumentCollections"]
        read = client.get(old, headers).json
        again = client.put(old, read, headers)
        upsert = client.post(f"{db.path}/colls", {"id": name}, OLD | headers | {"x-ms-documentdb-is-upsert": "true"})
        assert (again.status, upsert.status) == (200, 200), (again, upsert)
        shown = [item for item in feed if item["id"] == name] + rows + [read, again.json, upsert.json]
        return [item.get("partitionKey") for item in shown]

    for version in "2014-08-21", "2017-11-15", "2018-09-17":
        assert seen({"x-ms-version": version}) == [None] * 5
    made = client.post(f"{db.path}/colls", {"id": "without-key-2"}, OLD)
    assert made.status == 201 and "partitionKey" not in made.json
    # Newer ones cannot leave the key out of an upsert.
    for version in "2018-12-31", "2020-07-15", "2024-06-06":
        assert client.get(old, {"x-ms-version": version}).json["partitionKey"] == SYSTEM_KEY
    # Of other collections everyone sees the key.
    other = db.collection()
    assert client.get(other.path, OLD).json["partitionKey"] == other.definition["partitionKey"]


def test_newer_clients_must_give_a_key(client, db, name):
    for version in ("2018-12-31", "2020-07-15"):
        answer = client.post(f"{db.path}/colls", {"id": name}, {"x-ms-version": version})
        assert answer.status == 400, answer
    assert client.post(f"{db.path}/colls", {"id": name}, {"x-ms-version": "2018-09-17"}).status == 201


# What clients of different ages say about the key: nothing, "empty", "undefined".
HEADERS = [{}, {"x-ms-documentdb-partitionkey": "[]"}, pk(UNDEFINED)]


@pytest.mark.parametrize("write", HEADERS, ids=str)
@pytest.mark.parametrize("version", ["2015-12-16", "2017-11-15", "2020-07-15"])
def test_all_ways_are_one_key(client, old, name, write, version):
    write = write | {"x-ms-version": version}
    docs = f"{old}/docs"
    made = client.post(docs, {"id": name, "pk": "no key", "v": 1}, write)
    assert made.status == 201, made
    for read in HEADERS:
        assert client.get(f"{docs}/{name}", read).json == made.json
        assert client.post(docs, {"id": name}, read).status == 409
        assert made.json in client.get(docs, read | {"x-ms-max-item-count": "1000"}).json["Documents"]
    replaced = client.put(f"{docs}/{name}", {"id": name, "v": 2}, write)
    assert replaced.status == 200 and replaced.json["_rid"] == made.json["_rid"]
    upsert = write | {"x-ms-documentdb-is-upsert": "true"}
    assert client.post(docs, {"id": name, "v": 3}, upsert).status == 200
    assert client.get("/" + made.json["_self"], write).json["v"] == 3
    assert client.delete(f"{docs}/{name}", write).status == 204
    assert client.get(f"{docs}/{name}", write).status == 404


def test_a_key_is_refused(client, old, name):
    answer = client.post(f"{old}/docs", {"id": name}, pk("a"))
    assert answer.status == 400, answer


def test_it_has_one_range(client, old):
    found = client.get(f"{old}/pkranges").json["PartitionKeyRanges"]
    assert [(item["minInclusive"], item["maxExclusive"]) for item in found] == [("", "FF")]


def test_the_definition_can_be_sent_back(client, old):
    definition = client.get(old).json
    assert client.put(old, definition).status == 200
    assert client.put(old, {"id": definition["id"], "defaultTtl": 9}, OLD).status == 200
    assert client.get(old).json["partitionKey"] == definition["partitionKey"]


def test_old_offer_types(client, db, name):
    body = {"id": name}
    made = client.post(f"{db.path}/colls", body, OLD | {"x-ms-offer-type": "S2"})
    assert made.status == 201, made
