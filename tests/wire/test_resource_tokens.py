"""Users, permissions and resource tokens, byte by byte."""

import re
import urllib.parse

import pytest

from http_client import pk

QUERY = {"x-ms-documentdb-isquery": "true"}


@pytest.fixture
def permissions(client, db, name):
    assert client.post(f"{db.path}/users", {"id": name}).status == 201
    yield f"{db.path}/users/{name}/permissions"
    assert client.delete(f"{db.path}/users/{name}").status == 204


def test_users_live(client, db, name):
    users = f"{db.path}/users"
    made = client.post(users, {"id": name})
    assert made.status == 201, made
    rid, database = made.json["_rid"], client.get(db.path).json
    assert made.json["_self"] == f"{database['_self']}users/{rid}/"
    assert list(made.json) == ["id", "_rid", "_self", "_etag", "_permissions", "_ts"]
    for path in (f"{users}/{name}", f"/{made.json['_self'].rstrip('/')}"):
        read = client.get(path)
        assert (read.status, read.json, read.etag) == (200, made.json, made.etag)
    feed = client.get(users)
    assert feed.json["_rid"] == database["_rid"] and name in [user["id"] for user in feed.json["Users"]]
    found = client.post(users, {"query": "SELECT VALUE u.id FROM u"}, QUERY)
    assert found.status == 200 and name in found.json["Users"]
    assert client.post(users, {"id": name}).status == 409
    for bad in ({}, {"id": ""}, {"id": "a/b"}, {"id": 1}, [], {"id": "a" * 256}):
        assert client.post(users, bad).status == 400, bad
    assert client.put(f"{users}/{name}", {"id": name}, {"If-Match": '"other"'}).status == 412
    assert client.delete(f"{users}/{name}").status == 204
    assert client.delete(f"{users}/{name}").status == 404


def test_permissions_live(client, db, permissions):
    link = f"{db.path.strip('/')}/colls/none"
    body = {"id": "p", "permissionMode": "read", "resource": link, "resourcePartitionKey": ["é", 1, None]}
    made = client.post(permissions, body, {"x-ms-documentdb-expiry-seconds": "10"})
    assert made.status == 201, made
    assert body.items() <= made.json.items()
    assert made.json["_token"].startswith("type=resource&ver=1&sig=") and made.json["_token"].endswith(";")
    feed = client.get(permissions)
    owner = client.get(permissions.rpartition("/")[0]).json
    assert feed.json["_rid"] == owner["_rid"] and feed.json["_count"] == 1
    assert feed.json["Permissions"][0]["_token"] != made.json["_token"]
    assert client.post(permissions, body | {"id": "q"}).status == 409
    upserted = client.post(permissions, body, {"x-ms-documentdb-is-upsert": "True"})
    assert (upserted.status, upserted.json["_rid"]) == (200, made.json["_rid"])
    for bad in ("9", "86401", "x"):
        assert client.get(f"{permissions}/p", {"x-ms-documentdb-expiry-seconds": bad}).status == 400
    for change in (
        {"permissionMode": "Write"}, {"permissionMode": None}, {"resource": "x"},
        {"resource": 1}, {"resourcePartitionKey": []}, {"resourcePartitionKey": [[1]]}, {"resource": "offers/x"},
    ):  # fmt: skip
        assert client.put(f"{permissions}/p", body | change).status == 400, change
    assert client.delete(f"{permissions}/p").status == 204


def test_a_token_in_every_spelling(client, coll, permissions):
    link = coll.path.strip("/")
    made = client.post(permissions, {"id": "p", "permissionMode": "Read", "resource": link})
    token = made.json["_token"]
    other = f"{coll.path}-other"
    quoted = urllib.parse.quote(token, safe="")
    lower = re.sub("%..", lambda escape: escape[0].lower(), quoted)
    for spelling in (token, quoted, lower, token.rstrip(";")):
        headers = {"authorization": spelling}
        assert client.get(coll.path, headers).status == 200
        assert client.get("/", headers).status == 200
        assert client.get(f"/{coll.definition['_self'].strip('/')}/pkranges", headers).status == 200
        assert client.post(coll.docs, {"id": "a", "pk": "a"}, headers).status == 403
        # What is there and what is not look alike.
        for path in (coll.path.rpartition("/colls")[0], other, f"{other}/docs/x", "/dbs", "/offers", permissions):
            refused = client.get(path, headers)
            assert refused.status == 403, path
            assert "x-ms-alt-content-path" not in refused.headers
    for bad in (token[:-9], token.replace("sig=", "sig=A"), token.replace("type=resource", "type=master"), "type=resource"):
        for path in (coll.path, other, "/"):
            assert client.get(path, {"authorization": bad}).status == 401


def test_feeds_and_queries_must_name_the_key_of_the_permission(client, coll, permissions):
    for key in "a", "b":
        assert client.post(coll.docs, {"id": f"of-{key}", "pk": key}, pk(key)).status < 300
    body = {"id": "p", "permissionMode": "Read", "resource": coll.path.strip("/"), "resourcePartitionKey": ["a"]}
    holder = {"authorization": client.post(permissions, body).json["_token"]}
    changes = {"A-IM": "Incremental Feed"}
    every = {"x-ms-documentdb-query-enablecrosspartition": "True"}

    def ask(headers):
        """A feed, a query and the change feed."""
        query = client.post(coll.docs, {"query": "SELECT * FROM c"}, holder | QUERY | every | headers)
        return [client.get(coll.docs, holder | headers), query, client.get(coll.docs, holder | changes | headers)]

    for answer in ask(pk("a")):
        assert answer.status == 200 and [item["id"] for item in answer.json["Documents"]] == ["of-a"], answer
    wide = {"x-ms-start-epk": "", "x-ms-end-epk": "FF", "x-ms-read-key-type": "EffectivePartitionKeyRange"}
    for headers in ({}, pk("b"), {"x-ms-documentdb-partitionkeyrangeid": "0"}, wide):
        assert [answer.status for answer in ask(headers)] == [403] * 3, headers
    # One document says itself which key it has.
    assert client.get(f"{coll.docs}/of-a", holder).status == 200
