"""A collection without a partition key is given one in place."""

import pytest

from http_client import UNDEFINED, Client, pk
from query_client import rows
from server import Server, verify

OLD = {"x-ms-version": "2017-11-15"}
KEY = {"paths": ["/deviceId"], "kind": "Hash", "version": 2}


@pytest.fixture
def old(client, db, name):
    """A collection of the 2015 kind with documents of five devices and of none."""
    made = client.post(f"{db.path}/colls", {"id": name}, OLD)
    assert made.status == 201, made
    path = f"{db.path}/colls/{name}"
    for n in range(60):
        body = {"id": f"i{n}", "n": n} | ({"deviceId": f"device {n % 5}"} if n % 6 else {})
        assert client.post(f"{path}/docs", body, OLD).status == 201
    return path


def give(client, path, key=KEY, headers=None, **more):
    return client.post(f"/_sheaf{path}/partition", {"partitionKey": key}, headers, **more)


def own(document):
    """A document without what contains its number."""
    return {name: value for name, value in document.items() if name not in ("_rid", "_self")}


def all_of(client, path):
    found = client.get(f"{path}/docs", {"x-ms-max-item-count": "1000"}).json["Documents"]
    return {document["id"]: own(document) for document in found}


def test_documents_go_to_their_keys(client, old):
    before, definition = all_of(client, old), client.get(old).json
    offers = client.get("/offers").json["Offers"]
    page = client.get(f"{old}/docs", {"x-ms-max-item-count": "7"})
    given = give(client, old)
    assert given.status == 200, given
    assert given.json["partitionKey"] == KEY
    assert given.json == client.get(old).json and given.etag == given.json["_etag"] != definition["_etag"]
    assert given.json["_rid"] == definition["_rid"]
    assert client.get("/offers").json["Offers"] == offers

    assert all_of(client, old) == before
    found = client.get(f"{old}/docs/i7", pk("device 2"))
    assert own(found.json) == before["i7"] and found.etag == before["i7"]["_etag"]
    assert client.get(f"{old}/docs/i6", pk(UNDEFINED)).json["n"] == 6
    assert client.get(f"{old}/docs/i7", pk("device 3")).status == 404
    assert client.get("/" + found.json["_self"], pk("device 2")).json == found.json
    assert sorted(rows(client, f"{old}/docs", "SELECT VALUE c.n FROM c WHERE c.deviceId = 'device 2'")) == [
        n for n in range(60) if n % 6 and n % 5 == 2
    ]
    # It is a collection with a key now: one is asked for, and an id may stand under several.
    assert client.get(f"{old}/docs/i7").status == 400
    assert client.post(f"{old}/docs", {"id": "i7", "deviceId": "new"}).status == 201
    assert client.post(f"{old}/docs", {"id": "i7", "deviceId": "new"}, pk("other")).substatus == 1001
    # The range and the pages of before are gone, what a session saw is not.
    ranges = client.get(f"{old}/pkranges").json["PartitionKeyRanges"]
    assert [(item["id"], item["parents"]) for item in ranges] == [("1", ["0"])]
    gone = client.get(f"{old}/docs", {"x-ms-documentdb-partitionkeyrangeid": "0"})
    assert (gone.status, gone.substatus) == (410, 1002)
    assert client.get(f"{old}/docs", {"x-ms-continuation": page.continuation}).status == 400
    session = pk("device 2") | {"x-ms-session-token": page.session}
    assert client.get(f"{old}/docs/i7", session).status == 200


def test_a_hierarchical_key(client, old):
    key = {"paths": ["/deviceId", "/n"], "kind": "MultiHash", "version": 2}
    given = give(client, old, key)
    assert given.status == 200 and given.json["partitionKey"] == key, given
    assert client.get(f"{old}/docs/i7", pk("device 2", 7)).json["n"] == 7


def test_what_is_refused(client, db, old):
    before, definition = all_of(client, old), client.get(old).json
    path = f"/_sheaf{old}/partition"
    assert client.get(path).status == 405
    assert client.put(path, {"partitionKey": KEY}).status == 405
    assert client.send("POST", path, b"{}", {"x-ms-date": "x", "x-ms-version": "2020-07-15"}).status == 401
    assert give(client, f"{old}x").status == 404
    assert give(client, "/dbs/none/colls/none").status == 404
    assert client.post(f"/_sheaf{old}/docs/partition", {"partitionKey": KEY}).status == 404
    for body in (b"", b"{", b"[]", b"{}", b'{"partitionKey":7}'):
        assert client.post(path, body).status == 400, body
    for key in ({"paths": []}, {"paths": ["x"]}, {"paths": ["/a", "/b"]}, {"paths": ["/_rid"]},
                {"paths": ["/_partitionKey"], "systemKey": True}, KEY | {"version": 3}):  # fmt: skip
        assert give(client, old, key).status == 400, key
    assert give(client, old, headers={"If-Match": '"other"'}).status == 412
    # A document that does not fit is named.
    assert client.post(f"{old}/docs", {"id": "long", "deviceId": "x" * 3000}).status == 201
    unfit = give(client, old)
    assert unfit.status == 400 and "'long'" in unfit.message, unfit
    assert client.delete(f"{old}/docs/long").status == 204
    assert client.get(old).json == definition and all_of(client, old) == before
    # A key is for ever.
    assert give(client, old).status == 200
    assert give(client, old).status == 400
    assert give(client, db.collection().path).status == 400


def test_it_is_kept(tmp_path):
    with Server(data_dir=tmp_path) as server:
        client = Client(server.port)
        assert client.post("/dbs", {"id": "db"}).status == 201
        assert client.post("/dbs/db/colls", {"id": "c"}, OLD).status == 201
        for n in range(30):
            assert client.post("/dbs/db/colls/c/docs", {"id": f"{n}", "deviceId": n % 4}, OLD).status == 201
        before = all_of(client, "/dbs/db/colls/c")
        assert give(client, "/dbs/db/colls/c").status == 200
        client.close()
        server.kill()
        server.start()
        client = Client(server.port)
        assert all_of(client, "/dbs/db/colls/c") == before
        assert client.get("/dbs/db/colls/c/docs/6", pk(2)).status == 200
        client.close()
        assert server.stop() == 0
    code, said = verify(tmp_path)
    assert code == 0, said
