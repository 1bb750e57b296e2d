import itertools
import sys
from pathlib import Path

import pytest
from azure.cosmos import CosmosClient, PartitionKey

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import shop as goods  # noqa: E402
from server import PUBLISHED_KEY, Server  # noqa: E402


def pytest_configure(config):
    # The client looks at the account again in the background, so the warning can come anywhere.
    config.addinivalue_line("filterwarnings", "ignore:Unverified HTTPS request")


numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    # Tests of other things are in a hurry; those of throughput have servers of their own.
    with Server("--rate-limit", "never") as running:
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


@pytest.fixture(scope="session", params=[400, 30000], ids=["one", "three"])
def shop(request, database):
    """The container of the shop's items, with one partition or with three. Tests only read it."""
    container = database.create_container(
        f"shop-{request.param}", PartitionKey("/pk"), goods.POLICY, offer_throughput=request.param,
        computed_properties=goods.COMPUTED,
    )  # fmt: skip
    for item in goods.ITEMS:
        container.create_item(item)
    return container


@pytest.fixture
def everywhere(shop):
    """Runs a query over all keys."""

    def everywhere(query, parameters=None, **more):
        pairs = [{"name": f"@{name}", "value": value} for name, value in (parameters or {}).items()]
        return list(shop.query_items(query, parameters=pairs, enable_cross_partition_query=True, **more))

    return everywhere
