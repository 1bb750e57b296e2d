"""The change feed on the wire: where it begins, what its answers look like, and what it refuses."""

import time
from email.utils import formatdate

import pytest

from http_client import UPSERT, Client, pk
from query_client import ranges
from server import Server

FEED = {"A-IM": "Incremental Feed"}


def write(client, coll, id, key, **more):
    made = client.post(coll.docs, {"id": id, "pk": key} | more, UPSERT)
    assert made.status in (200, 201), made
    return made


def read(client, coll, etag=None, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(coll.docs, FEED | {"If-None-Match": etag} | named)


def follow(client, coll, etag=None, **headers):
    """The documents from a position to the end, and the position there."""
    found = []
    while True:
        page = read(client, coll, etag, **headers)
        assert page.status in (200, 304), page
        assert page.etag.startswith('"') and page.etag.endswith('"')
        assert page.continuation is None
        if page.status == 304:
            assert page.body == b""
            # .NET reads it as a number, whatever the status.
            assert page.headers["x-ms-item-count"] == "0"
            return found, page.etag
        assert page.etag != etag
        assert page.json["_count"] == len(page.json["Documents"]) == int(page.headers["x-ms-item-count"])
        found += page.json["Documents"]
        etag = page.etag


def lsn(etag):
    return int(etag.strip('"'))


@pytest.fixture
def fresh_coll(db):
    return db.collection()


def ids(documents):
    return [document["id"] for document in documents]


def test_a_reader_from_the_beginning(client, fresh_coll):
    coll = fresh_coll
    page = read(client, coll)
    start = lsn(page.etag)
    assert page.status == 304 and start > 0
    for id in ("a", "b", "c"):
        write(client, coll, id, "x")
    write(client, coll, "a", "x", n=2)
    page = read(client, coll)
    assert page.status == 200
    assert list(page.json) == ["_rid", "Documents", "_count"]
    assert page.json["_rid"] == coll.rid
    found = [(it["id"], it["_lsn"] - start) for it in page.json["Documents"]]
    assert found == [("b", 2), ("c", 3), ("a", 4)]
    stored = client.get(f"{coll.docs}/a", pk("x")).json
    assert page.json["Documents"][2] == stored | {"_lsn": start + 4}
    assert page.etag == f'"{start + 4}"'
    assert page.session == f"0:-1#{start + 4}" and page.headers["lsn"] == str(start + 4)
    assert page.headers["x-ms-documentdb-partitionkeyrangeid"] == "0"
    assert page.charge > 0
    end = read(client, coll, page.etag)
    assert (end.status, end.etag, end.session) == (304, page.etag, page.session)
    assert end.charge >= 1
    # Deleted documents are gone from it, without a trace.
    client.delete(f"{coll.docs}/b", pk("x"))
    assert ids(follow(client, coll)[0]) == ["c", "a"]


@pytest.mark.parametrize("kind", ["Incremental Feed", "Incremental feed", "incremental feed"])
def test_the_word_in_any_case(client, coll, kind):
    assert client.get(coll.docs, {"A-IM": kind, "If-None-Match": "*"}).status == 304


def test_pages(client, fresh_coll):
    coll = fresh_coll
    start = lsn(read(client, coll).etag)
    for n in range(25):
        write(client, coll, f"d{n}", f"k{n % 3}")
    for size in ("1", "4", "25", "100", "-1"):
        found, etag = follow(client, coll, x_ms_max_item_count=size)
        assert ids(found) == [f"d{n}" for n in range(25)], size
        assert lsn(etag) == start + 25
    page = read(client, coll, x_ms_max_item_count="4")
    assert (len(page.json["Documents"]), lsn(page.etag)) == (4, start + 4)
    # Old clients send the position as a continuation.
    rest = client.get(coll.docs, FEED | {"x-ms-continuation": page.etag})
    assert ids(rest.json["Documents"])[0] == "d4"


def test_from_now(client, fresh_coll):
    coll = fresh_coll
    old = write(client, coll, "old", "x")
    now = read(client, coll, "*")
    assert (now.status, lsn(now.etag)) == (304, int(old.headers["lsn"]))
    write(client, coll, "new", "x")
    assert ids(follow(client, coll, now.etag)[0]) == ["new"]


def test_from_a_time(client, fresh_coll):
    coll = fresh_coll
    first = write(client, coll, "a", "x")
    written, first = first.json["_ts"], f'"{first.headers["lsn"]}"'
    write(client, coll, "b", "x")
    before, behind = formatdate(written - 1, usegmt=True), formatdate(written + 5, usegmt=True)
    assert ids(follow(client, coll, if_modified_since=before)[0]) == ["a", "b"]
    page = read(client, coll, if_modified_since=behind)
    assert page.status == 304
    # With a position the time stays a filter, as Python sends them.
    assert ids(follow(client, coll, first, if_modified_since=before)[0]) == ["b"]
    assert follow(client, coll, first, if_modified_since=behind)[0] == []
    assert ids(follow(client, coll, if_modified_since="Thu, 01 Jan 1970 00:00:00 GMT")[0]) == ["a", "b"]
    for hours in (1, 24, 1000):
        future = formatdate(time.time() + 3600 * hours, usegmt=True)
        assert read(client, coll, if_modified_since=future).status == 304, future
    # As Go writes dates.
    for zone in ("UTC", "+0000"):
        assert ids(follow(client, coll, if_modified_since=before.replace("GMT", zone))[0]) == ["a", "b"]
    for bad in ("yesterday", "2026-01-01T00:00:00Z", before.replace("GMT", "+0100")):
        assert read(client, coll, if_modified_since=bad).status == 400, bad


def test_scopes(client, wide):
    for n in range(60):
        write(client, wide, f"d{n}", f"k{n % 7}")
    everything, etag = follow(client, wide, x_ms_max_item_count="9")
    assert sorted(ids(everything)) == sorted(f"d{n}" for n in range(60))
    assert etag.strip('"').isdigit() and 20 < len(etag) < 100, "a position for each range"
    found = []
    for one in ranges(client, wide.path):
        some, etag = follow(client, wide, x_ms_documentdb_partitionkeyrangeid=one["id"], x_ms_max_item_count="7")
        assert 0 < int(etag.strip('"')) <= 60
        assert [it["_lsn"] for it in some] == sorted(it["_lsn"] for it in some)
        found += some
        # The middle of the range, by effective keys.
        low, high = one["minInclusive"], one["maxExclusive"]
        middle = f"{(int(low or '0', 16) + int(high.ljust(32, '0')[:32] if high != 'FF' else '3F' + 'F' * 30, 16)) // 2:032X}"
        halves = []
        for start, end in ((low, middle), (middle, high)):
            part, _ = follow(
                client, wide, x_ms_documentdb_partitionkeyrangeid=one["id"], x_ms_start_epk=start, x_ms_end_epk=end,
                x_ms_read_key_type="EffectivePartitionKeyRange",
            )  # fmt: skip
            halves += part
        assert sorted(ids(halves)) == sorted(ids(some))
    assert sorted(ids(found)) == sorted(ids(everything))
    for key in range(7):
        some, _ = follow(client, wide, x_ms_documentdb_partitionkey=f'["k{key}"]', x_ms_max_item_count="2")
        assert ids(some) == [f"d{n}" for n in range(60) if n % 7 == key]
    assert follow(client, wide, x_ms_documentdb_partitionkey='["absent"]')[0] == []


def test_a_batch_is_one_page(client, fresh_coll):
    coll = fresh_coll
    batch = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
    creates = [{"operationType": "Create", "resourceBody": {"id": f"t{n}", "pk": "x"}} for n in range(20)]
    assert client.post(coll.docs, creates, batch | pk("x")).status == 200
    page = read(client, coll, x_ms_max_item_count="3")
    assert len(page.json["Documents"]) == 20
    assert len({it["_lsn"] for it in page.json["Documents"]}) == 1


@pytest.mark.parametrize("etag", ['"x"', '"-1"', '"1.5"', "AQ", '"99999"', '"18446744073709551616"', "1,2", '""'])
def test_what_is_no_position(client, coll, etag):
    answer = read(client, coll, etag)
    assert answer.status == 400, answer
    assert "position" in answer.message


def test_a_position_of_another_collection(client, db, wide):
    write(client, wide, "a", "b")
    write(client, wide, "a", "c")
    write(client, wide, "a", "d")
    _, etag = follow(client, wide)
    other = db.collection(headers={"x-ms-offer-throughput": "25000"})
    assert read(client, other, etag).status == 400
    assert read(client, wide, etag).status == 304


def test_other_words(client, coll):
    assert client.get(coll.docs, {"A-IM": "Everything"}).status == 400
    assert read(client, coll, x_ms_documentdb_partitionkeyrangeid="77").substatus == 1002


def test_positions_survive_a_restart(tmp_path):
    with Server(data_dir=tmp_path / "data") as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        assert client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201

        class coll:
            docs = "/dbs/d/colls/c/docs"

        for n in range(10):
            write(client, coll, f"d{n}", "x")
        etag = read(client, coll, x_ms_max_item_count="4").etag
        client.close()
        assert server.stop() == 0
    with Server(data_dir=tmp_path / "data") as server:
        client = Client(server.port)
        found, _ = follow(client, coll, etag, x_ms_max_item_count="4")
        assert ids(found) == [f"d{n}" for n in range(4, 10)]
        client.close()


def test_readers_are_throttled(tmp_path):
    """And lose nothing by it: the position is theirs."""
    with Server("--rate-limit", "always") as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        none = {"indexingMode": "none", "automatic": False}
        body = {"id": "c", "partitionKey": key, "indexingPolicy": none}
        assert client.post("/dbs/d/colls", body).status == 201
        docs, made = "/dbs/d/colls/c/docs", 0
        while made < 60:
            answer = client.post(docs, {"id": f"d{made}", "pk": "x"})
            assert answer.status in (201, 429), answer
            made += answer.status == 201
            if answer.status == 429:
                time.sleep(int(answer.headers["x-ms-retry-after-ms"]) / 1000)
        statuses = []
        for _ in range(100):
            answer = client.get(docs, FEED | {"x-ms-max-item-count": "1000"})
            statuses.append(answer.status)
            if answer.status == 429:
                assert int(answer.headers["x-ms-retry-after-ms"]) > 0
                break
        assert statuses[0] in (200, 429) and statuses[-1] == 429, statuses
        client.close()
