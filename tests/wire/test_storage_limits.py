"""Full logical partitions, full collections, and what quotas and statistics tell of them."""

import pytest

from http_client import Client, pk
from server import Server

QUOTA = {"x-ms-documentdb-populatequotainfo": "True"}
STATISTICS = {"x-ms-documentdb-populatepartitionstatistics": "True"}
# Before this version a collection may do without a partition key.
OLD = {"x-ms-version": "2016-07-11"}


@pytest.fixture(scope="module")
def small():
    """A client of a server on which a key may hold 64 KB and a partition 128 KB."""
    with Server("--logical-partition-size", "64KB", "--partition-size", "128KB") as running:
        client = Client(running.port)
        assert client.post("/dbs", {"id": "d"}).status == 201
        yield client
        client.close()


def collection(client, name, headers=None):
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    made = client.post("/dbs/d/colls", {"id": name, "partitionKey": key}, headers)
    assert made.status == 201, made
    return f"/dbs/d/colls/{name}"


def document(id, key, kilobytes):
    # Not indexed piece by piece: one long value.
    return {"id": id, "pk": key, "filling": "x" * (kilobytes * 1024)}


def figures(text):
    return {name: int(value) for name, value in (part.split("=") for part in text.split(";") if part)}


def test_a_full_logical_partition(small):
    path = collection(small, "keys")
    for number in range(3):
        made = small.post(f"{path}/docs", document(str(number), "full", 20), pk("full"))
        assert made.status == 201
    refused = small.post(f"{path}/docs", document("3", "full", 20), pk("full"))
    assert (refused.status, refused.substatus, refused.charge) == (403, 1014, 0)
    assert refused.json["code"] == "Forbidden"
    assert "Partition key reached maximum size of 64 KB" in refused.json["message"]
    assert refused.session == made.session
    # The replace that grows is refused, the one that shrinks is not; and deletes make room.
    grown = small.put(f"{path}/docs/0", document("0", "full", 40), pk("full"))
    assert (grown.status, grown.substatus) == (403, 1014)
    assert small.put(f"{path}/docs/0", document("0", "full", 19), pk("full")).status == 200
    assert small.get(f"{path}/docs/3", pk("full")).status == 404
    assert small.delete(f"{path}/docs/1", pk("full")).status == 204
    assert small.post(f"{path}/docs", document("3", "full", 20), pk("full")).status == 201
    # Other keys have room of their own.
    assert small.post(f"{path}/docs", document("3", "other", 20), pk("other")).status == 201


def test_a_full_collection_without_a_key(small):
    made = small.post("/dbs/d/colls", {"id": "single"}, OLD)
    assert made.status == 201, made
    path = "/dbs/d/colls/single"
    statuses = []
    for number in range(8):
        statuses.append(small.post(f"{path}/docs", document(str(number), "any", 20), OLD).status)
    assert statuses == sorted(statuses) and set(statuses) == {201, 403}
    refused = small.post(f"{path}/docs", document("more", "any", 20), OLD)
    # The limit of a partition: the collection never has another one.
    assert refused.substatus in (None, 0) and "128 KB" in refused.json["message"]
    usage = figures(small.get(path, QUOTA).headers["x-ms-resource-usage"])
    assert usage["documentsCount"] == statuses.count(201)
    quota = figures(small.get(path).headers["x-ms-resource-quota"])
    assert quota["collectionSize"] == quota["documentsSize"] == 128
    assert small.delete(f"{path}/docs/0", OLD).status == 204
    assert small.post(f"{path}/docs", document("more", "any", 20), OLD).status == 201


def test_the_quota_of_a_collection_without_a_key(client, db):
    made = client.post(f"{db.path}/colls", {"id": "quota-single"}, OLD)
    assert made.status == 201, made
    headers = client.get(f"{db.path}/colls/quota-single").headers
    assert figures(headers["x-ms-resource-quota"]) == {
        "documentSize": 2048, "documentsSize": 10485760, "documentsCount": -1, "collectionSize": 10485760,
    }  # fmt: skip
    assert set(figures(headers["x-ms-resource-usage"]).values()) == {0}


def test_usage_is_counted(client, db):
    coll = db.collection()
    assert "x-ms-resource-usage" not in client.get(coll.path).headers
    for number in range(10):
        assert client.post(coll.docs, document(str(number), str(number), 4)).status == 201
    headers = client.get(coll.path, QUOTA).headers
    usage = figures(headers["x-ms-resource-usage"])
    assert usage["documentsCount"] == 10
    assert 40 < usage["documentsSize"] < 50
    assert usage["documentsSize"] < usage["collectionSize"]
    # One partition of 50 GB: there are more when it grows.
    assert figures(headers["x-ms-resource-quota"])["collectionSize"] == 50 * 1024 * 1024
    for number in range(10):
        assert client.delete(f"{coll.docs}/{number}", pk(str(number))).status == 204
    usage = figures(client.get(coll.path, QUOTA).headers["x-ms-resource-usage"])
    assert (usage["documentsCount"], usage["documentsSize"]) == (0, 0)


def test_the_limits_of_2016():
    with Server("--limits", "2016") as running:
        client = Client(running.port)
        client.post("/dbs", {"id": "d"})
        path = collection(client, "c", {"x-ms-offer-throughput": "10100"})
        quota = figures(client.get(path, QUOTA).headers["x-ms-resource-quota"])
        assert quota["collectionSize"] == 250 * 1024 * 1024
        client.close()


@pytest.mark.parametrize(
    "flags, throughput, count",
    [
        ([], 25000, 3),
        (["--partition-throughput", "6000"], 25000, 5),
        (["--partition-throughput", "6000"], 6000, 1),
        (["--limits", "2016"], 10100, 2),
        (["--limits", "2017"], 25000, 3),
    ],
)
def test_partitions_by_throughput(flags, throughput, count):
    with Server(*flags) as running:
        client = Client(running.port)
        client.post("/dbs", {"id": "d"})
        path = collection(client, "c", {"x-ms-offer-throughput": str(throughput)})
        assert len(client.get(f"{path}/pkranges").json["PartitionKeyRanges"]) == count
        client.close()


def test_statistics_name_large_keys(client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": "25000"})
    for number in range(30):
        assert client.post(coll.docs, document("a", f"small-{number}", 0)).status == 201
    assert client.post(coll.docs, document("a", "large", 300)).status == 201
    assert client.post(coll.docs, {"id": "a"}).status == 201
    statistics = client.get(coll.path, STATISTICS).json["statistics"]
    assert [partition["id"] for partition in statistics] == ["0", "1", "2"]
    assert sum(partition["documentCount"] for partition in statistics) == 32
    assert sum(partition["sampledDistinctPartitionKeyCount"] for partition in statistics) == 32
    largest = max((key for partition in statistics for key in partition["partitionKeys"]), key=lambda key: key["sizeInKB"])
    assert largest["partitionKey"] == ["large"] and 300 <= largest["sizeInKB"] <= 302
    for partition in statistics:
        sizes = [key["sizeInKB"] for key in partition["partitionKeys"]]
        assert 0 < len(sizes) <= 10 and sizes == sorted(sizes, reverse=True)
        assert partition["sizeInKB"] >= sizes[0]
