"""The change feed through the SDK: from where, over what, in which pages, and what goes on meanwhile."""

from datetime import datetime, timedelta, timezone

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError
from http_client import Client
from server import PUBLISHED_KEY, Server

BEGINNING = {"start_time": "Beginning"}


@pytest.fixture
def plain(server):
    client = Client(server.port)
    yield client
    client.close()


@pytest.fixture(params=[400, 25000], ids=["one", "three"])
def filled(request, database, name):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=request.param)
    for n in range(50):
        container.create_item({"id": f"d{n}", "pk": f"k{n % 7}", "n": n})
    return container


def ids(items):
    return [item["id"] for item in items]


def position(container):
    return container.client_connection.last_response_headers["etag"]


def read(container, **more):
    """What has changed, and where to go on."""
    found = list(container.query_items_change_feed(**more))
    return found, position(container)


def reshape(plain, container, action, id):
    answer = plain.post(f"/_sheaf/dbs/python/colls/{container.id}/pkranges/{id}/{action}")
    assert answer.status == 200, answer


def range_ids(plain, container):
    answer = plain.get(f"/dbs/python/colls/{container.id}/pkranges")
    return [one["id"] for one in answer.json["PartitionKeyRanges"]]


def test_from_the_beginning(filled):
    found, etag = read(filled, **BEGINNING)
    assert sorted(ids(found)) == sorted(f"d{n}" for n in range(50))
    by_key = {}
    for item in found:
        by_key.setdefault(item["pk"], []).append(item["n"])
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert all(item["_lsn"] > 0 for item in found)
    assert read(filled, continuation=etag)[0] == []
    filled.upsert_item({"id": "d3", "pk": "k3", "n": 100})
    filled.delete_item("d4", "k4")
    filled.create_item({"id": "new", "pk": "k4", "n": 101})
    found, etag = read(filled, continuation=etag)
    assert sorted(ids(found)) == ["d3", "new"]
    assert read(filled, continuation=etag)[0] == []
    assert len(read(filled, is_start_from_beginning=True)[0]) == 50


@pytest.mark.parametrize("size", [1, 4, 50])
def test_pages(filled, size):
    pages = [ids(page) for page in filled.query_items_change_feed(max_item_count=size, **BEGINNING).by_page()]
    assert all(0 < len(page) <= size for page in pages)
    assert sorted(sum(pages, [])) == sorted(f"d{n}" for n in range(50))


def test_going_on_after_each_page(filled):
    seen = []
    # By range: the SDK refuses its own token as long as some of its ranges were not read at all.
    for one in filled.read_feed_ranges():
        more = {"feed_range": one} | BEGINNING
        while True:
            page = list(next(filled.query_items_change_feed(max_item_count=6, **more).by_page(), []))
            if not page:
                break
            more = {"continuation": position(filled)}
            seen += ids(page)
    assert sorted(seen) == sorted(f"d{n}" for n in range(50))


def test_now_is_the_default(filled):
    found, etag = read(filled)
    assert found == []
    filled.create_item({"id": "later", "pk": "k0"})
    assert ids(read(filled, continuation=etag)[0]) == ["later"]
    assert read(filled, start_time="Now")[0] == []


def test_from_a_time(database, name):
    container = database.create_container(name, PartitionKey("/pk"))
    first = container.create_item({"id": "a", "pk": "x"})["_ts"]
    container.create_item({"id": "b", "pk": "x"})
    before = datetime.fromtimestamp(first - 1, timezone.utc)
    assert ids(read(container, start_time=before)[0]) == ["a", "b"]
    pages = container.query_items_change_feed(start_time=before, max_item_count=1).by_page()
    assert [ids(page) for page in pages] == [["a"], ["b"]]
    for ahead in (timedelta(hours=1), timedelta(days=1)):
        assert read(container, start_time=datetime.now(timezone.utc) + ahead)[0] == []


def test_by_partition_key(filled):
    for key in range(7):
        expected = [f"d{n}" for n in range(50) if n % 7 == key]
        pages = filled.query_items_change_feed(partition_key=f"k{key}", max_item_count=2, **BEGINNING).by_page()
        pages = [ids(page) for page in pages]
        assert sum(pages, []) == expected
    found, etag = read(filled, partition_key="k1", **BEGINNING)
    filled.create_item({"id": "other", "pk": "k2"})
    filled.create_item({"id": "mine", "pk": "k1"})
    assert ids(read(filled, continuation=etag)[0]) == ["mine"]
    assert read(filled, partition_key="absent", **BEGINNING)[0] == []


def test_by_feed_range(filled):
    found = []
    ranges = list(filled.read_feed_ranges())
    for one in ranges:
        some, etag = read(filled, feed_range=one, **BEGINNING)
        found += ids(some)
        assert read(filled, continuation=etag)[0] == []
    assert sorted(found) == sorted(f"d{n}" for n in range(50))
    key_range = filled.feed_range_from_partition_key("k5")
    expected = [f"d{n}" for n in range(50) if n % 7 == 5]
    assert ids(read(filled, feed_range=key_range, **BEGINNING)[0]) == expected


def test_by_range_id(filled):
    """The SDK knows the argument and does not send it: the whole container, by plain positions."""
    found, etag = read(filled, partition_key_range_id="0", max_item_count=9, **BEGINNING)
    assert sorted(ids(found)) == sorted(f"d{n}" for n in range(50))
    assert etag.strip('"').isdigit()
    filled.create_item({"id": "new", "pk": "k1"})
    assert ids(read(filled, partition_key_range_id="0", continuation=etag)[0]) == ["new"]


def test_prefixes_of_hierarchical_keys(database, name):
    container = database.create_container(name, PartitionKey(["/tenant", "/user"], kind="MultiHash"))
    for n in range(24):
        container.create_item({"id": f"d{n}", "tenant": f"t{n % 3}", "user": f"u{n % 4}"})
    found, etag = read(container, partition_key=["t1"], **BEGINNING)
    assert ids(found) == [f"d{n}" for n in range(24) if n % 3 == 1]
    found, _ = read(container, partition_key=["t1", "u2"], **BEGINNING)
    assert ids(found) == [f"d{n}" for n in range(24) if n % 3 == 1 and n % 4 == 2]
    container.create_item({"id": "new", "tenant": "t1", "user": "u9"})
    container.create_item({"id": "foreign", "tenant": "t2", "user": "u9"})
    assert ids(read(container, continuation=etag)[0]) == ["new"]


def test_splits_and_merges_between_pages(database, plain, name):
    """The reader's positions are of ranges that are gone; nothing is lost or comes twice."""
    container = database.create_container(name, PartitionKey("/pk"))
    for n in range(60):
        container.create_item({"id": f"d{n}", "pk": f"k{n}"})
    pages = container.query_items_change_feed(max_item_count=7, **BEGINNING).by_page()
    seen = ids(next(pages))
    reshape(plain, container, "split", "0")
    seen += ids(next(pages))
    kept = position(container)
    for page in pages:
        seen += ids(page)
    assert sorted(seen) == sorted(f"d{n}" for n in range(60))
    end = position(container)
    # From a token of before, after more splits.
    reshape(plain, container, "split", "1")
    rest, _ = read(container, continuation=kept, max_item_count=5)
    assert sorted(seen[:14] + ids(rest)) == sorted(f"d{n}" for n in range(60))
    for n in range(10):
        container.upsert_item({"id": f"d{n}", "pk": f"k{n}", "again": True})
    for id in range_ids(plain, container)[:2]:
        if id in range_ids(plain, container):
            reshape(plain, container, "merge", id)
    container.create_item({"id": "last", "pk": "k0"})
    found, end = read(container, continuation=end)
    assert sorted(ids(found)) == sorted([f"d{n}" for n in range(10)] + ["last"])
    assert read(container, continuation=end)[0] == []


def test_a_token_of_another_container(filled, database, name):
    _, etag = read(filled, **BEGINNING)
    other = database.create_container(f"{name}-other", PartitionKey("/pk"))
    with pytest.raises(ValueError):
        read(other, continuation=etag)


def test_a_new_life_between_pages(tmp_path):
    with Server("--rate-limit", "never", data_dir=tmp_path / "data") as server:
        with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
            database = client.create_database("d")
            container = database.create_container("c", PartitionKey("/pk"))
            for n in range(40):
                container.create_item({"id": f"d{n}", "pk": f"k{n % 9}"})
            seen = ids(next(container.query_items_change_feed(max_item_count=11, **BEGINNING).by_page()))
            etag = position(container)
        server.kill()
        server.start()
        with CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
            container = client.get_database_client("d").get_container_client("c")
            container.create_item({"id": "new", "pk": "k1"})
            rest, _ = read(container, continuation=etag, max_item_count=11)
            assert sorted(seen + ids(rest)) == sorted([f"d{n}" for n in range(40)] + ["new"])


class Consumer:
    """A processor of the usual kind: leases in a container of their own, one for each feed range."""

    def __init__(self, name, container, leases, handle):
        self.name, self.container, self.leases, self.handle = name, container, leases, handle

    def make_leases(self):
        for number, one in enumerate(self.container.read_feed_ranges()):
            lease = {"id": str(number), "feedRange": one, "owner": None, "until": 0, "continuation": None}
            try:
                self.leases.create_item(lease)
            except CosmosHttpResponseError as error:
                assert error.status_code == 409

    def take(self, lease, now):
        """Takes or renews a lease, unless another was faster."""
        changed = {**lease, "owner": self.name, "until": now + 10}
        try:
            return self.leases.replace_item(
                lease["id"], changed, etag=lease["_etag"], match_condition=_unchanged()
            )
        except CosmosHttpResponseError as error:
            assert error.status_code == 412
            return None

    def work(self, now, most=100, pages=1):
        """Reads some pages of each range that is free or mine."""
        for lease in list(self.leases.read_all_items())[:most]:
            if lease["owner"] not in (None, self.name) and lease["until"] > now:
                continue
            lease = self.take(lease, now)
            for _ in range(pages if lease else 0):
                more = {"continuation": lease["continuation"]} if lease["continuation"] else {
                    "feed_range": lease["feedRange"], "start_time": "Beginning"
                }  # fmt: skip
                changes = self.container.query_items_change_feed(max_item_count=5, **more).by_page()
                page = list(next(changes, []))
                self.handle(page)
                lease["continuation"] = position(self.container)
                lease = self.take(lease, now)


def _unchanged():
    from azure.core import MatchConditions

    return MatchConditions.IfNotModified


def test_two_consumers_of_whom_one_dies(database, name):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=25000)
    leases = database.create_container(f"{name}-leases", PartitionKey("/id"))
    for n in range(60):
        container.create_item({"id": f"d{n}", "pk": f"k{n % 20}", "n": n})
    copy, handled = {}, {"first": 0, "second": 0}

    def handler(who):
        def handle(page):
            handled[who] += len(page)
            for item in page:
                assert copy.get(item["id"], (0,))[0] <= item["_lsn"] or who == "second"
                copy[item["id"]] = (item["_lsn"], item["n"])

        return handle

    first = Consumer("first", container, leases, handler("first"))
    second = Consumer("second", container, leases, handler("second"))
    first.make_leases()
    second.make_leases()
    assert len(list(leases.read_all_items())) == 3
    first.work(now=0, most=2)
    second.work(now=0)
    assert handled["first"] > 0 and handled["second"] > 0
    owners = [lease["owner"] for lease in leases.read_all_items()]
    assert sorted(owners) == ["first", "first", "second"]
    # While the first one's leases last, the second leaves them alone; then it goes on from there.
    second.work(now=5, pages=20)
    assert len(copy) < 60
    for n in range(60, 80):
        container.create_item({"id": f"d{n}", "pk": f"k{n % 20}", "n": n})
    container.upsert_item({"id": "d0", "pk": "k0", "n": 1000})
    second.work(now=20, pages=20)
    assert {id: n for id, (_, n) in copy.items()} == {f"d{n}": n for n in range(80)} | {"d0": 1000}
    assert handled["first"] + handled["second"] <= 82, "taken over where the first one left it"
