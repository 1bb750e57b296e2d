"""Deletion of all documents of a partition key."""

from email.utils import formatdate

import pytest

from http_client import pk, signature, token


def path(coll):
    return f"{coll.path}/operations/partitionkeydelete"


def test_all_of_a_key_go(client, wide, name):
    for number in range(120):
        assert client.post(wide.docs, {"id": f"d{number}", "pk": name}, pk(name)).status == 201
    other = f"{name}-other"
    assert client.post(wide.docs, {"id": "kept", "pk": other}, pk(other)).status == 201
    answer = client.post(path(wide), b"", pk(name))
    assert (answer.status, answer.body) == (200, b""), answer
    assert answer.headers["x-ms-session-token"] and float(answer.headers["x-ms-request-charge"]) > 1
    assert client.get(wide.docs, pk(name)).json["Documents"] == []
    assert client.get(f"{wide.docs}/kept", pk(other)).status == 200
    assert client.post(path(wide), b"", pk(name)).status == 200


def test_either_signature(client, coll, name):
    # Python signs the type `colls`, .NET and Java `partitionkey`.
    date = formatdate(usegmt=True)
    sig = signature(client.key, "POST", "partitionkey", coll.path[1:], date)
    headers = pk(name) | {"x-ms-date": date, "authorization": token(sig)}
    assert client.post(path(coll), b"", headers).status == 200


def test_refusals(client, db, coll, name):
    assert client.post(path(coll), b"").status == 400
    assert client.get(path(coll)).status == 405
    assert client.delete(path(coll), pk(name)).status == 405
    assert client.post(f"{db.path}/colls/{name}/operations/partitionkeydelete", b"", pk("a")).status == 404
    key = {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}
    tenants = db.collection(partitionKey=key)
    part = client.post(path(tenants), b"", {"x-ms-documentdb-partitionkey": '["x"]'})
    assert (part.status, part.headers["x-ms-substatus"]) == (400, "1001")
