"""Manual and autoscale throughput of containers and databases, through the SDK's own words."""

import asyncio

import pytest
from azure.cosmos import PartitionKey, ThroughputProperties, exceptions
from azure.cosmos.aio import CosmosClient as AsyncClient

from server import PUBLISHED_KEY


def scaled(maximum, percent=None):
    return ThroughputProperties(auto_scale_max_throughput=maximum, auto_scale_increment_percent=percent)


@pytest.fixture(params=["container", "database"])
def create(request, client, database, name):
    """Makes a container or a database with throughput; both are read and replaced alike."""

    def create(throughput):
        if request.param == "container":
            return database.create_container(name, PartitionKey("/pk"), offer_throughput=throughput)
        return client.create_database(name, offer_throughput=throughput)

    return create


def refused(call, *arguments):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call(*arguments)
    assert caught.value.status_code == 400
    return caught.value.message


def test_manual(create):
    owner = create(1100)
    read = owner.get_throughput()
    assert (read.offer_throughput, read.auto_scale_max_throughput) == (1100, None)
    headers = {}
    replaced = owner.replace_throughput(600, response_hook=lambda given, _: headers.update(given))
    assert replaced.offer_throughput == 600
    assert headers["x-ms-cosmos-min-throughput"] == "400"
    assert headers["x-ms-offer-replace-pending"] == "false"
    assert owner.replace_throughput(ThroughputProperties(offer_throughput=900)).offer_throughput == 900
    assert owner.get_throughput().offer_throughput == 900


@pytest.mark.parametrize("percent", [0, 3, 100])
def test_autoscale_with_an_increment(create, percent):
    owner = create(scaled(7000, percent))
    read = owner.get_throughput()
    assert (read.auto_scale_max_throughput, read.auto_scale_increment_percent) == (7000, percent)
    assert read.offer_throughput is None
    owner.replace_throughput(scaled(9000, 20))
    read = owner.get_throughput()
    assert (read.auto_scale_max_throughput, read.auto_scale_increment_percent) == (9000, 20)
    assert read.properties["content"]["offerThroughput"] == 900


def test_autoscale_without_one(create):
    owner = create(scaled(5000))
    read = owner.get_throughput()
    assert (read.auto_scale_max_throughput, read.auto_scale_increment_percent) == (5000, None)
    # A plain number is the rate where autoscale stands, which nobody sets.
    assert owner.replace_throughput(400).properties["content"]["offerAutopilotSettings"]["maxThroughput"] == 5000
    assert owner.replace_throughput(scaled(1000)).properties["content"]["offerThroughput"] == 100


def test_what_is_refused_at_creation(create):
    minimum = "Requested throughput -200 is less than required minimum throughput"
    assert f"{minimum} 1000" in refused(create, scaled(-200, 0))
    assert f"{minimum} 400" in refused(create, -200)
    assert "increments of 1000" in refused(create, scaled(1500))
    assert "increments of 100." in refused(create, 450)
    assert "incrementPercent" in refused(create, scaled(4000, 101))
    both = ThroughputProperties(offer_throughput=400, auto_scale_max_throughput=4000)
    assert "cannot both be specified" in refused(create, both)


def test_what_is_refused_later(create):
    owner = create(100_000)
    message = refused(owner.replace_throughput, 900)
    assert "less than required minimum throughput 1000. " in message
    assert "Highest RUs provisioned 100000" in message
    refused(owner.replace_throughput, 1050)
    refused(owner.replace_throughput, 1_000_100)
    assert owner.replace_throughput(1000).offer_throughput == 1000


def test_if_not_exists(client, database, name):
    container = database.create_container_if_not_exists(name, PartitionKey("/pk"), offer_throughput=scaled(1000, 3))
    assert container.get_throughput().auto_scale_increment_percent == 3
    again = database.create_container_if_not_exists(name, PartitionKey("/pk"), offer_throughput=2000)
    assert again.get_throughput().auto_scale_max_throughput == 1000
    shared = client.create_database_if_not_exists(name, offer_throughput=scaled(9000, 11))
    read = shared.get_throughput()
    assert (read.auto_scale_max_throughput, read.auto_scale_increment_percent) == (9000, 11)


def test_async(server, name):
    async def run():
        async with AsyncClient(server.endpoint, PUBLISHED_KEY) as client:
            database = await client.create_database(name, offer_throughput=scaled(4000, 5))
            container = await database.create_container("c", PartitionKey("/pk"), offer_throughput=600)
            await container.replace_throughput(ThroughputProperties(offer_throughput=700))
            await database.replace_throughput(scaled(6000, 6))
            mine, shared = await container.get_throughput(), await database.get_throughput()
            assert mine.offer_throughput == 700
            assert (shared.auto_scale_max_throughput, shared.auto_scale_increment_percent) == (6000, 6)

    asyncio.run(run())
