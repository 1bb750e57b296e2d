"""A full logical partition, and what quotas and statistics tell."""

import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from server import PUBLISHED_KEY, Server


@pytest.fixture(scope="module")
def small():
    """A container whose keys may hold 64 KB each."""
    with Server("--logical-partition-size", "64KB") as running:
        with CosmosClient(running.endpoint, PUBLISHED_KEY) as client:
            yield client.create_database("small").create_container("c", PartitionKey("/pk"))


def item(number, key="full", kilobytes=20):
    return {"id": str(number), "pk": key, "filling": "x" * (kilobytes * 1024)}


def test_a_full_logical_partition(small):
    for number in range(3):
        small.create_item(item(number))
    for write in (lambda: small.create_item(item(3)), lambda: small.upsert_item(item(0, kilobytes=30))):
        with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
            write()
        assert (refused.value.status_code, refused.value.sub_status) == (403, 1014)
        assert "Partition key reached maximum size" in refused.value.message
    small.create_item(item(3, key="other"))
    small.delete_item("0", "full")
    small.create_item(item(3))


def test_statistics_name_the_largest_key(small):
    for number in range(5):
        small.upsert_item(item(number, key=f"little-{number}", kilobytes=1))
    properties = small.read(populate_quota_info=True, populate_partition_key_range_statistics=True)
    [partition] = properties["statistics"]
    sizes = {key["partitionKey"][0]: key["sizeInKB"] for key in partition["partitionKeys"]}
    assert max(sizes, key=sizes.get) == "full" and 60 <= sizes["full"] <= 64
    assert partition["sampledDistinctPartitionKeyCount"] == len(sizes)
    usage = small.client_connection.last_response_headers["x-ms-resource-usage"]
    figures = dict(part.split("=") for part in usage.split(";") if part)
    assert int(figures["documentsCount"]) == partition["documentCount"]
    assert int(figures["collectionSize"]) == partition["sizeInKB"]
