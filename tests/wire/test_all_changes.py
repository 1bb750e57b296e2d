"""The change feed of all versions and deletes on the wire."""

import pytest

from http_client import UPSERT, Client, pk
from server import Server

FEED = {"A-IM": "Full-Fidelity Feed", "x-ms-cosmos-changefeed-wire-format-version": "2021-09-15"}
POLICY = {"changeFeedPolicy": {"retentionDuration": 10}}


@pytest.fixture
def kept(db):
    return db.collection(POLICY)


def read(client, coll, etag, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(coll.docs, FEED | {"If-None-Match": etag} | named)


def test_entries(client, kept):
    assert kept.definition["changeFeedPolicy"] == {"retentionDuration": 10}
    start = read(client, kept, "*")
    assert (start.status, start.body, start.headers["x-ms-item-count"]) == (304, b"", "0")
    before = int(start.etag.strip('"'))
    first = client.post(kept.docs, {"id": "a", "pk": "x", "n": 1}).json
    second = client.post(kept.docs, {"id": "a", "pk": "x", "n": 2}, UPSERT).json
    assert client.delete(f"{kept.docs}/a", pk("x")).status == 204
    page = read(client, kept, start.etag)
    assert (page.status, page.etag) == (200, f'"{before + 3}"')
    create, replace, delete = page.json["Documents"]
    assert create == {
        "current": first,
        "metadata": {"operationType": "create", "lsn": before + 1, "crts": first["_ts"]},
    }
    # Of what was replaced the service tells the LSN, and nothing else.
    assert replace == {
        "current": second,
        "metadata": {
            "operationType": "replace", "lsn": before + 2, "crts": second["_ts"], "previousImageLSN": before + 1,
        },
    }  # fmt: skip
    crts = delete["metadata"].pop("crts")
    assert crts >= second["_ts"]
    assert delete == {
        "current": {},
        "previous": second,
        "metadata": {
            "operationType": "delete", "lsn": before + 3, "previousImageLSN": before + 2,
            "timeToLiveExpired": False, "id": "a", "partitionKey": {"pk": "x"},
        },
    }  # fmt: skip
    assert read(client, kept, page.etag).status == 304
    assert page.charge >= 3
    # The latest versions are another feed, with the same positions.
    assert client.get(kept.docs, {"A-IM": "Incremental Feed"}).etag == page.etag


def test_where_it_cannot_begin(client, kept, coll):
    client.post(kept.docs, {"id": "a", "pk": "x"})
    beginning = client.get(kept.docs, FEED)
    assert beginning.status == 400
    assert "You must read the change feed from within the retention period." in beginning.message
    assert client.get(kept.docs, FEED | {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}).status == 400
    assert read(client, kept, '"999999"').status == 400
    assert read(client, coll, "*").status == 400, "not kept"
    old = FEED | {"x-ms-cosmos-changefeed-wire-format-version": "2019-01-01", "If-None-Match": "*"}
    assert client.get(kept.docs, old).status == 400


def test_a_policy_that_comes_and_goes(client, kept):
    definition = {name: value for name, value in kept.definition.items() if name[0] != "_"}

    def policy(minutes):
        changed = definition | {"changeFeedPolicy": {"retentionDuration": minutes}}
        answer = client.put(kept.path, changed)
        assert answer.status == 200, answer
        assert answer.json["changeFeedPolicy"] == {"retentionDuration": minutes}

    start = read(client, kept, "*").etag
    client.post(kept.docs, {"id": "a", "pk": "x"})
    policy(20)
    client.post(kept.docs, {"id": "b", "pk": "x"})
    assert len(read(client, kept, start).json["Documents"]) == 2
    policy(0)
    assert read(client, kept, start).status == 400
    client.post(kept.docs, {"id": "c", "pk": "x"})
    policy(10)
    answer = read(client, kept, start)
    assert answer.status == 400 and "older" in answer.message
    start = read(client, kept, "*").etag
    client.post(kept.docs, {"id": "d", "pk": "x"})
    assert [it["current"]["id"] for it in read(client, kept, start).json["Documents"]] == ["d"]


@pytest.mark.parametrize("policy", [1, [], "x", {"retentionDuration": -1}, {"retentionDuration": 0.5},
                                    {"retentionDuration": "10"}, {"retentionDuration": 2**31}])  # fmt: skip
def test_policies_that_are_refused(client, db, name, policy):
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    body = {"id": name, "partitionKey": key, "changeFeedPolicy": policy}
    assert client.post(f"{db.path}/colls", body).status == 400


def test_an_operator_who_has_all_versions_kept():
    """As in an account with continuous backup, every collection has them, and says nothing of it."""
    with Server("--all-versions-retention", "7d") as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        made = client.post("/dbs/d/colls", {"id": "c", "partitionKey": key})
        assert made.status == 201 and "changeFeedPolicy" not in made.json

        class coll:
            docs = "/dbs/d/colls/c/docs"

        start = read(client, coll, "*")
        assert start.status == 304
        client.post(coll.docs, {"id": "a", "pk": "x"})
        client.delete(f"{coll.docs}/a", pk("x"))
        changes = read(client, coll, start.etag).json["Documents"]
        assert [it["metadata"]["operationType"] for it in changes] == ["create", "delete"]
        client.close()
