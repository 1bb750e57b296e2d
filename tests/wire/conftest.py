import itertools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from http_client import Client  # noqa: E402
from server import Server  # noqa: E402

numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    # Tests of other things are in a hurry; those of throughput have servers of their own.
    with Server("--rate-limit", "never") as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def client(server):
    connected = Client(server.port)
    yield connected
    connected.close()


@pytest.fixture
def fresh(server):
    """A connection that no other test uses."""
    connected = Client(server.port)
    yield connected
    connected.close()


class Place:
    """A database or collection made for a test: its path and its definition."""

    def __init__(self, client, path, definition):
        self.client, self.path, self.definition = client, path, definition
        self.name, self.rid = definition["id"], definition["_rid"]

    def collection(self, body=None, headers=None, **members):
        name = f"coll-{next(numbers)}"
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        body = {"id": name, "partitionKey": key} | (body or {}) | members
        made = self.client.post(f"{self.path}/colls", body, headers)
        assert made.status == 201, made
        return Place(self.client, f"{self.path}/colls/{name}", made.json)

    @property
    def docs(self):
        return f"{self.path}/docs"


@pytest.fixture(scope="session")
def db(client):
    """The database of this run; tests make collections in it."""
    made = client.post("/dbs", {"id": "wire"})
    assert made.status == 201, made
    return Place(client, "/dbs/wire", made.json)


@pytest.fixture(scope="module")
def coll(db):
    """A collection by `/pk` with one partition, one for each module."""
    return db.collection()


@pytest.fixture(scope="module")
def wide(db):
    """A collection by `/pk` with three partitions, one for each module."""
    return db.collection(headers={"x-ms-offer-throughput": "25000"})


@pytest.fixture
def name():
    """A name that nothing else in this run has."""
    return f"name-{next(numbers)}"
