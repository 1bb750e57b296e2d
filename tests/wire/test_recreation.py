"""A name that comes to mean another collection or database: who knows the old one is told so."""

import pytest

from http_client import pk
from query_client import QUERY

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}
WIDE = {"x-ms-offer-throughput": "25000"}


@pytest.fixture(params=["collection", "database"])
def twice(request, client, name):
    """A database with a collection of three ranges, what was known of both, and both made again."""
    db, coll = f"/dbs/{name}", f"/dbs/{name}/colls/c"
    database = client.post("/dbs", {"id": name}).json
    body = {"id": "c", "partitionKey": KEY}
    old = client.post(f"{db}/colls", body, WIDE).json
    for number in range(20):
        assert client.post(f"{coll}/docs", {"id": f"i{number}", "pk": f"k{number}"}, pk(f"k{number}")).status == 201
    first = client.get(f"{coll}/docs", {"x-ms-max-item-count": "3"})
    known = {"database": database, "old": old, "token": first.continuation, "session": first.session,
             "document": first.json["Documents"][0], "ranges": client.get(f"{coll}/pkranges").etag}  # fmt: skip
    if request.param == "collection":
        assert client.delete(coll).status == 204
    else:
        assert client.delete(db).status == 204
        assert client.post("/dbs", {"id": name}).status == 201
    gone = client.get(f"{coll}/docs")
    assert (gone.status, gone.substatus) == (404, 1003)
    assert client.get(coll).status == 404
    assert client.post(f"{db}/colls", body).status == 201
    yield request.param, coll, known
    assert client.delete(db).status == 204


def test_old_rids_lead_nowhere(client, twice):
    kind, _, known = twice
    old = f"/{known['old']['_self'].rstrip('/')}"
    assert client.get(old).status == 404
    for path in (f"{old}/docs", f"{old}/pkranges", f"{old}/sprocs", f"{old}/conflicts"):
        assert client.get(path).status == 404, path
    assert client.get(f"{old}/docs").substatus == 1003
    document = client.get(f"/{known['document']['_self'].rstrip('/')}", pk(known["document"]["pk"]))
    # Who reads a document is told that the database is missing, but not that the collection is.
    assert (document.status, document.substatus) == (404, 0 if kind == "collection" else 1003)
    assert client.post(f"{old}/docs", {"id": "x", "pk": "a"}, pk("a")).status == 404
    database = client.get(f"/{known['database']['_self'].rstrip('/')}")
    assert database.status == (404 if kind == "database" else 200)
    links = [offer["resource"] for offer in client.get("/offers").json["Offers"]]
    assert known["old"]["_self"] not in links


def test_who_says_which_one_is_meant_is_told(client, twice):
    _, coll, known = twice
    meant = {"x-ms-cosmos-intended-collection-rid": known["old"]["_rid"]} | pk("k1")
    for answer in (
        client.get(f"{coll}/docs/i1", meant), client.get(f"{coll}/docs", meant), client.get(coll, meant),
        client.post(f"{coll}/docs", {"id": "x", "pk": "k1"}, meant), client.delete(f"{coll}/docs/i1", meant),
        client.post(f"{coll}/docs", {"query": "SELECT * FROM c"}, meant | QUERY),
        client.get(f"{coll}/pkranges", meant), client.get(f"{coll}/conflicts", meant),
        client.get(f"{coll}/docs/i1/attachments", meant),
    ):  # fmt: skip
        assert (answer.status, answer.substatus) == (400, 1024), answer
    now = {"x-ms-cosmos-intended-collection-rid": client.get(coll).json["_rid"]} | pk("k1")
    assert client.post(f"{coll}/docs", {"id": "x", "pk": "k1"}, now).status == 201


def test_who_says_of_which_one_a_range_is_told(client, twice):
    """As .NET writes ranges: it drops what it knows of the name, and asks again."""
    _, coll, known = twice
    of_range = lambda rid: {"x-ms-documentdb-partitionkeyrangeid": f"{rid},0"}  # noqa: E731
    stale = of_range(known["old"]["_rid"])
    for answer in (
        client.get(f"{coll}/docs", stale), client.get(f"{coll}/docs", stale | {"A-IM": "Incremental Feed"}),
        client.post(f"{coll}/docs", {"query": "SELECT * FROM c"}, stale | QUERY),
    ):  # fmt: skip
        assert (answer.status, answer.substatus) == (410, 1000), answer
    now = of_range(client.get(coll).json["_rid"])
    assert client.get(f"{coll}/docs", now).status == 200
    # What is no rid says nothing.
    assert client.get(f"{coll}/docs", of_range("x")).status == 200


def test_what_else_was_known(client, twice):
    _, coll, known = twice
    assert client.get(f"{coll}/docs", {"x-ms-continuation": known["token"]}).status == 400
    # The map of ranges is another one, though the ids are the same.
    ranges = client.get(f"{coll}/pkranges", {"If-None-Match": known["ranges"], "A-IM": "Incremental Feed"})
    assert (ranges.status, [it["id"] for it in ranges.json["PartitionKeyRanges"]]) == (200, ["0"])
    gone = client.get(f"{coll}/docs", {"x-ms-documentdb-partitionkeyrangeid": "2"})
    assert (gone.status, gone.substatus) == (410, 1002)
    ahead = {"x-ms-session-token": "0:-1#1000000", "x-ms-consistency-level": "Session"}
    behind = client.get(f"{coll}/docs/i1", pk("k1") | ahead)
    assert (behind.status, behind.substatus) == (404, 1002)
