"""Containers and all that can be said about them."""

import pytest
from azure.cosmos import PartitionKey, ThroughputProperties, exceptions

DEFAULT_POLICY = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
}
UNIQUE = {"uniqueKeys": [{"paths": ["/a", "/b/c"]}]}
LAST = {"mode": "LastWriterWins", "conflictResolutionPath": "/rank", "conflictResolutionProcedure": ""}
COMPUTED = [{"name": "low", "query": "SELECT VALUE LOWER(c.name) FROM c"}]
VECTORS = {
    "vectorEmbeddings": [
        {"path": "/v", "dataType": "float32", "dimensions": 8, "distanceFunction": "cosine"}
    ]
}
TEXTS = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t", "language": "en-US"}]}


def test_a_container_lives(database, name):
    container, made = database.create_container(name, PartitionKey("/pk"), return_properties=True)
    assert made["partitionKey"] == {"paths": ["/pk"], "kind": "Hash", "version": 2}
    assert made["indexingPolicy"] == DEFAULT_POLICY
    assert container.read() == made
    assert name in [item["id"] for item in database.list_containers()]
    database.delete_container(name)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read()
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        database.delete_container(name)


def test_a_name_is_taken_once(database, name):
    database.create_container(name, PartitionKey("/pk"))
    with pytest.raises(exceptions.CosmosResourceExistsError):
        database.create_container(name, PartitionKey("/pk"))


def test_if_not_exists(database, name):
    made = database.create_container_if_not_exists(name, PartitionKey("/pk")).read()
    assert database.create_container_if_not_exists(name, PartitionKey("/pk")).read() == made


def test_in_a_database_that_is_not_there(client):
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        client.get_database_client("nowhere").create_container("c", PartitionKey("/pk"))
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        list(client.get_database_client("nowhere").list_containers())


@pytest.mark.parametrize(
    "options, member, value",
    [
        ({"default_ttl": 60}, "defaultTtl", 60),
        ({"default_ttl": -1}, "defaultTtl", -1),
        ({"unique_key_policy": UNIQUE}, "uniqueKeyPolicy", UNIQUE),
        ({"conflict_resolution_policy": LAST}, "conflictResolutionPolicy", LAST),
        ({"computed_properties": COMPUTED}, "computedProperties", COMPUTED),
        ({"vector_embedding_policy": VECTORS}, "vectorEmbeddingPolicy", VECTORS),
        ({"full_text_policy": TEXTS}, "fullTextPolicy", TEXTS),
        ({"analytical_storage_ttl": -1}, "analyticalStorageTtl", -1),
    ],
    ids=str,
)
def test_properties_come_back(database, name, options, member, value):
    container = database.create_container(name, PartitionKey("/pk"), **options)
    assert container.read()[member] == value
    listed = {item["id"]: item for item in database.list_containers()}
    assert listed[name][member] == value


def test_indexing_policies(database, name):
    policy = {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/name/?"}],
        "excludedPaths": [{"path": "/*"}],
        "compositeIndexes": [
            [{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]
        ],
        "spatialIndexes": [{"path": "/where/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]}],
    }
    container = database.create_container(name, PartitionKey("/pk"), indexing_policy=policy)
    stored = container.read()["indexingPolicy"]
    for member in ("indexingMode", "automatic", "includedPaths", "compositeIndexes", "spatialIndexes"):
        assert stored[member] == policy[member]
    assert stored["excludedPaths"] == [{"path": "/*"}, {"path": '/"_etag"/?'}]


def test_replace(database, name):
    key = PartitionKey("/pk")
    container = database.create_container(name, key, default_ttl=5)
    before = container.read()
    policy = {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/x/*"}]}
    database.replace_container(container, key, default_ttl=60, indexing_policy=policy)
    after = container.read()
    assert after["defaultTtl"] == 60
    assert {"path": "/x/*"} in after["indexingPolicy"]["excludedPaths"]
    assert after["_rid"] == before["_rid"] and after["_etag"] != before["_etag"]
    database.replace_container(container, key)
    plain = container.read()
    assert "defaultTtl" not in plain and plain["indexingPolicy"] == DEFAULT_POLICY


def test_what_cannot_be_replaced(database, name):
    container = database.create_container(name, PartitionKey("/pk"))
    before = container.read()
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.replace_container(container, PartitionKey("/other"))
    assert refused.value.status_code == 400
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.replace_container(container, PartitionKey("/pk"), default_ttl=0)
    assert refused.value.status_code == 400
    assert container.read() == before
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        database.replace_container("nobody", PartitionKey("/pk"))


@pytest.mark.parametrize(
    "paths, item, key",
    [
        (PartitionKey("/a/b"), {"a": {"b": "x"}}, "x"),
        (PartitionKey("/id"), {}, "item"),
        (PartitionKey('/"a b"'), {"a b": "x"}, "x"),
        (PartitionKey("/pk", version=1), {"pk": "x"}, "x"),
        (PartitionKey(["/a", "/b"], kind="MultiHash"), {"a": "x", "b": 1}, ["x", 1]),
        (PartitionKey(["/a", "/b/c", "/id"], kind="MultiHash"), {"a": "x", "b": {"c": "y"}}, ["x", "y", "item"]),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("throughput", [400, 25000])
def test_partition_keys(database, name, paths, item, key, throughput):
    container = database.create_container(name, paths, offer_throughput=throughput)
    assert container.read()["partitionKey"] == dict(paths)
    made = container.create_item({"id": "item"} | item)
    assert container.read_item("item", key) == made
    assert container.replace_item("item", {"id": "item", "v": 2} | item)["v"] == 2
    assert container.upsert_item({"id": "item", "v": 3} | item)["v"] == 3
    container.delete_item("item", key)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("item", key)


@pytest.mark.parametrize("path", ["/*", "pk", "/a/*", "", "/a//b"])
def test_partition_keys_that_are_refused(database, name, path):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.create_container(name, PartitionKey(path))
    assert refused.value.status_code == 400


@pytest.mark.parametrize("throughput, count", [(400, 1), (10000, 1), (25000, 3), (60000, 6)])
def test_feed_ranges(database, name, throughput, count):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=throughput)
    ranges = [item["Range"] for item in container.read_feed_ranges()]
    assert len(ranges) == count
    assert ranges[0]["min"] == "" and ranges[-1]["max"] == "FF"
    for left, right in zip(ranges, ranges[1:], strict=False):
        assert left["max"] == right["min"]
    again = [item["Range"] for item in container.read_feed_ranges(force_refresh=True)]
    assert again == ranges


def test_autoscale(database, name):
    scale = ThroughputProperties(auto_scale_max_throughput=25000)
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=scale)
    assert len(list(container.read_feed_ranges())) == 3


@pytest.mark.parametrize("throughput", [100, 450, 2_000_000])
def test_throughput_that_is_refused(database, name, throughput):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.create_container(name, PartitionKey("/pk"), offer_throughput=throughput)
    assert refused.value.status_code == 400


def test_the_list_is_paged(client, name):
    database = client.create_database(name)
    for number in range(5):
        database.create_container(f"c{number}", PartitionKey("/pk"))
    whole = list(database.list_containers())
    assert [item["id"] for item in whole] == [f"c{number}" for number in range(5)]
    pages = [list(page) for page in database.list_containers(max_item_count=2).by_page()]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sum(pages, []) == whole
    client.delete_database(name)


def test_quota(container):
    container.read(populate_quota_info=True, populate_partition_key_range_statistics=True)
    headers = container.client_connection.last_response_headers
    assert "documentsCount=" in headers["x-ms-resource-usage"]


def test_several_containers_keep_apart(database, name):
    containers = [database.create_container(f"{name}-{n}", PartitionKey("/pk")) for n in range(3)]
    for number, container in enumerate(containers):
        container.create_item({"id": "same", "pk": "same", "n": number})
    for number, container in enumerate(containers):
        assert container.read_item("same", "same")["n"] == number
        assert len(list(container.read_all_items())) == 1
    database.delete_container(containers[0])
    assert containers[1].read_item("same", "same")["n"] == 1
