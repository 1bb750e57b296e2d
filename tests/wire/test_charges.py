"""Request charges: within 15 % of every published figure, and the same each time."""

import json

import pytest

from http_client import Client, pk
from server import Server

KIB = 1024
NO_INDEX = {"indexingMode": "none", "automatic": False}

# Kibibytes of the document, charge of a read, charge of a write without an index.
PUBLISHED = {
    "current": [(1, 1, 5), (100, 10, 50)],
    "2017": [(1, 1, 5), (4, 1.3, 7), (64, 10, 48)],
}

# About 1 KB with some 25 values, as in the published example of a food.
FOOD = {
    "id": "03226", "pk": "a", "version": 1, "description": "Babyfood, dessert, fruit pudding, orange",
    "manufacturer": "Test", "foodGroup": "Baby Foods",
    "tags": [{"name": "babyfood"}, {"name": "dessert"}, {"name": "fruit pudding"}, {"name": "orange"}],
    "nutrients": [
        {"id": "303", "description": "Iron, Fe", "nutritionValue": 0.11, "units": "mg"},
        {"id": "304", "description": "Magnesium", "nutritionValue": 5, "units": "mg"},
        {"id": "305", "description": "Phosphorus", "nutritionValue": 13.5, "units": "mg"},
    ],
    "servings": [{"amount": 1, "description": "jar", "weightInGrams": 170}], "notes": "n" * 350,
}  # fmt: skip


def near(charge, published):
    return abs(charge - published) <= 0.15 * published


@pytest.fixture(scope="module", params=["current", "2017"])
def table(request):
    """A server with one table of charges, a client of it, and the name of the table."""
    with Server("--charges", request.param) as server:
        client = Client(server.port)
        assert client.post("/dbs", {"id": "d"}).status == 201
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        for id, policy in (("plain", NO_INDEX), ("indexed", None)):
            body = {"id": id, "partitionKey": key}
            if policy:
                body["indexingPolicy"] = policy
            assert client.post("/dbs/d/colls", body).status == 201
        yield client, request.param
        client.close()


def sized(id, length):
    """A document whose stored size, system properties included, is about `length` bytes."""
    frame = {"id": id, "pk": "a", "t": ""}
    return frame | {"t": "x" * (length - len(json.dumps(frame)) - 200)}


def test_published_points(table):
    client, name = table
    docs = "/dbs/d/colls/plain/docs"
    for kib, read, write in PUBLISHED[name]:
        made = client.post(docs, sized(f"{kib}", kib * KIB), pk("a"))
        assert made.status == 201
        assert near(made.charge, write), (kib, made.charge, write)
        found = client.get(f"{docs}/{kib}", pk("a"))
        assert near(found.charge, read), (kib, found.charge, read)
        replaced = client.put(f"{docs}/{kib}", sized(f"{kib}", kib * KIB), pk("a"))
        assert near(replaced.charge, 2 * made.charge), (kib, replaced.charge, made.charge)
        upsert = pk("a") | {"x-ms-documentdb-is-upsert": "true"}
        again = client.post(docs, sized(f"{kib}", kib * KIB), upsert)
        assert again.status == 200 and again.charge == replaced.charge
        fresh = client.post(docs, sized(f"{kib}u", kib * KIB), upsert)
        assert fresh.status == 201 and near(fresh.charge, made.charge)


def test_indexed_values_cost(table):
    client, _ = table
    plain = client.post("/dbs/d/colls/plain/docs", FOOD, pk("a"))
    indexed = client.post("/dbs/d/colls/indexed/docs", FOOD, pk("a"))
    assert plain.status == indexed.status == 201
    assert 900 < len(indexed.body) < 1400
    assert near(plain.charge, 5), plain.charge
    assert near(indexed.charge, 15), indexed.charge


def test_the_same_costs_the_same(table):
    client, _ = table
    docs = "/dbs/d/colls/indexed/docs"
    charges = set()
    for number in range(5):
        made = client.post(docs, {"id": f"same-{number}", "pk": "a", "v": 1}, pk("a"))
        read = client.get(f"{docs}/same-{number}", pk("a"))
        gone = client.delete(f"{docs}/same-{number}", pk("a"))
        charges.add((made.charge, read.charge, gone.charge))
    assert len(charges) == 1
    assert all(charge > 0 for charge in charges.pop())


def test_more_costs_more(table):
    client, _ = table
    docs = "/dbs/d/colls/plain/docs"
    reads, writes = [], []
    for length in (1, 2, 8, 32, 128, 512, 1024):
        made = client.post(docs, sized(f"more-{length}", length * KIB), pk("a"))
        writes.append(made.charge)
        reads.append(client.get(f"{docs}/more-{length}", pk("a")).charge)
    assert reads == sorted(reads) and writes == sorted(writes)
    assert reads[0] < reads[-1] and writes[0] < writes[-1]


def test_errors_tell_their_charge(table):
    client, _ = table
    docs = "/dbs/d/colls/plain/docs"
    client.post(docs, {"id": "error", "pk": "a"}, pk("a"))
    stale = pk("a") | {"If-Match": '"stale"'}
    for answer, status in [
        (client.get(f"{docs}/absent", pk("a")), 404),
        (client.post(docs, {"id": "error", "pk": "a"}, pk("a")), 409),
        (client.put(f"{docs}/error", {"id": "error", "pk": "a"}, stale), 412),
        (client.delete(f"{docs}/absent", pk("a")), 404),
    ]:
        assert answer.status == status and answer.charge > 0, answer
