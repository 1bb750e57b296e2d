import itertools
import sys
from pathlib import Path

import pytest
from azure.cosmos import CosmosClient, PartitionKey

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from server import PUBLISHED_KEY, Server  # noqa: E402


def pytest_configure(config):
    # The client looks at the account again in the background, so the warning can come anywhere.
    config.addinivalue_line("filterwarnings", "ignore:Unverified HTTPS request")


numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    with Server() as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def client(server):
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as connected:
        yield connected


@pytest.fixture
def name():
    """A name that nothing else in this run has."""
    return f"name-{next(numbers)}"


@pytest.fixture(scope="session")
def database(client):
    return client.create_database("python")


@pytest.fixture(scope="module")
def container(database):
    """A container by `/pk` with one partition, one for each module."""
    return database.create_container(f"one-{next(numbers)}", PartitionKey("/pk"))


@pytest.fixture(scope="module")
def wide(database):
    """A container by `/pk` with three partitions, one for each module."""
    name = f"wide-{next(numbers)}"
    return database.create_container(name, PartitionKey("/pk"), offer_throughput=25000)
