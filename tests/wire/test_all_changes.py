"""The change feed of all versions and deletes on the wire."""

import pytest

from http_client import UPSERT, pk

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
    assert (start.status, start.etag, start.body) == (304, '"0"', b"")
    first = client.post(kept.docs, {"id": "a", "pk": "x", "n": 1}).json
    second = client.post(kept.docs, {"id": "a", "pk": "x", "n": 2}, UPSERT).json
    assert client.delete(f"{kept.docs}/a", pk("x")).status == 204
    page = read(client, kept, start.etag)
    assert (page.status, page.etag) == (200, '"3"')
    create, replace, delete = page.json["Documents"]
    assert create == {
        "current": first,
        "metadata": {"operationType": "create", "lsn": 1, "crts": first["_ts"]},
    }
    assert replace == {
        "current": second,
        "previous": first,
        "metadata": {"operationType": "replace", "lsn": 2, "crts": second["_ts"], "previousImageLSN": 1},
    }
    crts = delete["metadata"].pop("crts")
    assert crts >= second["_ts"]
    assert delete == {
        "current": {},
        "previous": second,
        "metadata": {
            "operationType": "delete", "lsn": 3, "previousImageLSN": 2, "timeToLiveExpired": False, "id": "a",
            "partitionKey": {"pk": "x"},
        },
    }  # fmt: skip
    assert read(client, kept, page.etag).status == 304
    assert page.charge >= 3
    # The latest versions are another feed, with the same positions.
    assert client.get(kept.docs, {"A-IM": "Incremental Feed"}).etag == '"3"'


def test_where_it_cannot_begin(client, kept, coll):
    client.post(kept.docs, {"id": "a", "pk": "x"})
    assert client.get(kept.docs, FEED).status == 400
    assert client.get(kept.docs, FEED | {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}).status == 400
    assert read(client, kept, '"9"').status == 400
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
