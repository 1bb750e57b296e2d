"""The change feed of all versions and deletes, through the SDK."""

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError
from http_client import Client

ALL = {"mode": "AllVersionsAndDeletes"}


@pytest.fixture
def plain(server):
    client = Client(server.port)
    yield client
    client.close()


@pytest.fixture(params=[400, 25000], ids=["one", "three"])
def kept(request, database, name):
    return database.create_container(
        name, PartitionKey("/pk"), offer_throughput=request.param, change_feed_policy={"retentionDuration": 10}
    )


def read(container, **more):
    found = list(container.query_items_change_feed(**ALL, **more))
    return found, container.client_connection.last_response_headers["etag"]


def of(changes):
    """What happened, by key and id."""
    return [
        (
            change["metadata"]["operationType"],
            (change["current"] or change["previous"])["id"],
            change.get("previous", {}).get("n"),
            change["current"].get("n"),
        )
        for change in changes
    ]


def test_every_version(kept):
    assert kept.read()["changeFeedPolicy"] == {"retentionDuration": 10}
    found, etag = read(kept)
    assert found == []
    kept.create_item({"id": "a", "pk": "x", "n": 1})
    kept.upsert_item({"id": "a", "pk": "x", "n": 2})
    kept.patch_item("a", "x", [{"op": "incr", "path": "/n", "value": 1}])
    kept.delete_item("a", "x")
    kept.create_item({"id": "a", "pk": "x", "n": 9})
    found, etag = read(kept, continuation=etag, max_item_count=2)
    assert of(found) == [
        ("create", "a", None, 1), ("replace", "a", None, 2), ("replace", "a", None, 3), ("delete", "a", 3, None),
        ("create", "a", None, 9),
    ]  # fmt: skip
    deleted = found[3]
    assert deleted["current"] == {}
    assert deleted["metadata"]["id"] == "a" and deleted["metadata"]["partitionKey"] == {"pk": "x"}
    assert deleted["metadata"]["previousImageLSN"] == found[2]["metadata"]["lsn"]
    assert found[0]["metadata"]["crts"] == found[0]["current"]["_ts"]
    assert read(kept, continuation=etag)[0] == []
    # Only the last version is in the other feed.
    assert len(list(kept.query_items_change_feed(start_time="Beginning"))) == 1


def test_scopes(kept):
    _, whole = read(kept)
    _, one_key = read(kept, partition_key="k1")
    ranges = [(one, read(kept, feed_range=one)[1]) for one in kept.read_feed_ranges()]
    for n in range(20):
        kept.create_item({"id": f"d{n}", "pk": f"k{n % 4}", "n": n})
    for n in range(10):
        kept.delete_item(f"d{n}", f"k{n % 4}")
    everything = sorted(of(read(kept, continuation=whole)[0]), key=str)
    assert len(everything) == 30
    assert sorted(sum((of(read(kept, continuation=etag)[0]) for _, etag in ranges), []), key=str) == everything
    mine = of(read(kept, continuation=one_key)[0])
    assert mine == [("create", f"d{n}", None, n) for n in range(1, 20, 4)] + [
        ("delete", f"d{n}", n, None) for n in (1, 5, 9)
    ]


def test_splits_and_merges_meanwhile(database, plain, name):
    container = database.create_container(name, PartitionKey("/pk"), change_feed_policy={"retentionDuration": 10})

    def reshape(action, id):
        answer = plain.post(f"/_sheaf/dbs/python/colls/{name}/pkranges/{id}/{action}")
        assert answer.status == 200, answer

    _, etag = read(container)
    expected = {}
    for n in range(20):
        container.create_item({"id": "d", "pk": f"k{n}", "n": n})
        expected[f"k{n}"] = [("create", None, n)]
    reshape("split", "0")
    for n in range(0, 20, 2):
        container.upsert_item({"id": "d", "pk": f"k{n}", "n": n + 100})
        expected[f"k{n}"].append(("replace", None, n + 100))
    reshape("merge", "1")
    for n in range(0, 20, 3):
        container.delete_item("d", f"k{n}")
        expected[f"k{n}"].append(("delete", n if n % 2 else n + 100, None))
    found, _ = read(container, continuation=etag, max_item_count=3)
    by_key = {}
    for change in found:
        key = (change["current"] or change["previous"])["pk"]
        kind, _, before, behind = of([change])[0]
        by_key.setdefault(key, []).append((kind, before, behind))
    assert by_key == expected


def test_what_is_refused(database, kept, name):
    without = database.create_container(f"{name}-without", PartitionKey("/pk"))
    for container, more in ((without, {}), (kept, {"start_time": "Beginning"})):
        with pytest.raises((CosmosHttpResponseError, ValueError)) as refused:
            read(container, **more)
        assert getattr(refused.value, "status_code", 400) == 400
    for minutes in (-1, 1.5, "ten"):
        with pytest.raises(CosmosHttpResponseError) as refused:
            database.create_container(
                f"{name}-bad", PartitionKey("/pk"), change_feed_policy={"retentionDuration": minutes}
            )
        assert refused.value.status_code == 400
