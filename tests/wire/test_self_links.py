"""Resources of every kind by their `_self` links, and every operation by rids."""

import pytest

from http_client import UPSERT, pk
from query_client import QUERY

SCRIPT = {"body": "function () { getContext().getResponse().setBody(7); }"}
TRIGGER = SCRIPT | {"triggerType": "Pre", "triggerOperation": "All"}
KEY = {"encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256", "wrappedDataEncryptionKey": "AAAA",
       "keyWrapMetadata": {"type": "t", "name": "n", "value": "v", "algorithm": "RSA-OAEP"}}  # fmt: skip

# The feed below the database, and what is posted to it.
KINDS = {
    "colls": {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}},
    "users": {},
    "users/u/permissions": {"permissionMode": "Read"},
    "clientencryptionkeys": KEY,
    "colls/c/docs": {"pk": "a"},
    "colls/c/sprocs": SCRIPT,
    "colls/c/triggers": TRIGGER,
    "colls/c/udfs": {"body": "function () {}"},
    "colls/c/docs/d/attachments": {"contentType": "text/plain", "media": "http://example.test/"},
}


@pytest.fixture(scope="module")
def home(client):
    """A database with something of every kind to own others: its path."""
    assert client.post("/dbs", {"id": "self-links"}).status == 201
    path = "/dbs/self-links"
    key = KINDS["colls"]["partitionKey"]
    assert client.post(f"{path}/colls", {"id": "c", "partitionKey": key}).status == 201
    assert client.post(f"{path}/users", {"id": "u"}).status == 201
    assert client.post(f"{path}/colls/c/docs", {"id": "d", "pk": "a"}, pk("a")).status == 201
    return path


def key_of(kind):
    return pk("a") if "docs" in kind else {}


def body_of(kind, name):
    body = {"id": name} | KINDS[kind]
    if kind == "users/u/permissions":  # one for each resource
        body["resource"] = f"dbs/self-links/colls/{name}"
    return body


@pytest.mark.parametrize("kind", KINDS)
def test_a_life_by_the_self_link(client, home, kind, name):
    key, feed = key_of(kind), f"{home}/{kind}"
    made = client.post(feed, body_of(kind, name), key)
    assert made.status == 201, made
    link = "/" + made.json["_self"]
    for path in (link, link.rstrip("/"), f"{feed}/{name}"):
        found = client.get(path, key)
        assert found.status == 200, (path, found)
        assert found.etag == made.etag == made.json["_etag"]
    # A permission has a new token each time it is read.
    same = client.get(link, key | {"If-None-Match": made.etag})
    assert same.status == (200 if "permissions" in kind else 304)
    assert client.put(link, body_of(kind, name), key | {"If-Match": '"stale"'}).status == 412
    replaced = client.put(link, body_of(kind, name), key | {"If-Match": made.etag})
    assert replaced.status == 200, replaced
    assert (replaced.json["_rid"], replaced.json["_self"]) == (made.json["_rid"], made.json["_self"])
    assert replaced.etag != made.etag
    if kind == "clientencryptionkeys":
        assert client.delete(link).status == 405
        return
    assert client.delete(link, key | {"If-Match": made.etag}).status == 412
    assert client.delete(link, key | {"If-Match": replaced.etag}).status == 204
    for path in (link, f"{feed}/{name}"):
        assert client.get(path, key).status == 404


@pytest.mark.parametrize("kind", KINDS)
def test_upserts_by_the_owners_self_link(client, home, kind, name):
    key = key_of(kind)
    owner, feed = f"{home}/{kind}".rsplit("/", 1)
    owner = client.get(owner, key).json["_self"]
    made = client.post(f"/{owner}{feed}", body_of(kind, name), key | UPSERT)
    assert made.status == 201, made
    again = client.post(f"/{owner}{feed}/", body_of(kind, name), key | UPSERT)
    assert (again.status, again.json["_rid"]) == (200, made.json["_rid"])
    assert again.etag != made.etag
    listed = client.get(f"/{owner}{feed}", key | {"x-ms-max-item-count": "1000"}).json
    items = next(value for value in listed.values() if isinstance(value, list))
    assert [item["_rid"] for item in items].count(made.json["_rid"]) == 1


def test_operations_by_rids(client, home, name):
    collection = client.post(f"{home}/colls", {"id": name} | KINDS["colls"]).json
    path = "/" + collection["_self"].rstrip("/")
    document = client.post(f"{path}/docs", {"id": "1", "pk": "a"}, pk("a")).json
    script = client.post(f"{path}/sprocs", {"id": "s"} | SCRIPT).json
    assert client.post(f"/{script['_self']}", [], pk("a")).json == 7
    patch = {"operations": [{"op": "set", "path": "/v", "value": 1}]}
    assert client.request("PATCH", f"/{document['_self']}", patch, pk("a")).json["v"] == 1
    batch = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
    create = [{"operationType": "Create", "resourceBody": {"id": "2", "pk": "a"}}]
    assert client.post(f"{path}/docs", create, pk("a") | batch).status == 200
    text = {"query": "SELECT VALUE c.id FROM c"}
    assert client.post(f"{path}/docs", text, QUERY | pk("a")).json["Documents"] == ["1", "2"]
    plan = client.post(f"{path}/docs", text, {"x-ms-cosmos-is-query-plan-request": "True"})
    assert plan.json["queryRanges"][0]["max"] == "FF"
    changes = client.get(f"{path}/docs", {"A-IM": "Incremental Feed"})
    assert [item["id"] for item in changes.json["Documents"]] == ["1", "2"]
    for item in client.get(f"{path}/pkranges").json["PartitionKeyRanges"]:
        assert client.get(f"/{item['_self']}").json == item
    assert client.get(f"{path}/conflicts").json["Conflicts"] == []
    assert client.post(f"{path}/operations/partitionkeydelete", None, pk("a")).status == 200
    assert client.get(f"{path}/docs").json["_count"] == 0
    assert client.delete(path).status == 204
