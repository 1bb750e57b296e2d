"""Client encryption keys: fields as they were given; no verb to delete them."""

import pytest

BODY = {
    "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256",
    "wrappedDataEncryptionKey": "AQIDBA==",
    "keyWrapMetadata": {"type": "AZURE_KEY_VAULT", "name": "m", "value": "https://vault/k", "algorithm": "RSA-OAEP"},
    "more": [1.5, None],
}


@pytest.fixture
def keys(client, name):
    made = client.post("/dbs", {"id": name})
    assert made.status == 201
    yield f"/dbs/{name}/clientencryptionkeys"
    assert client.delete(f"/dbs/{name}").status == 204


def test_a_key_lives(client, keys):
    made = client.post(keys, {"id": "k"} | BODY)
    assert made.status == 201, made
    assert BODY.items() <= made.json.items()
    rid, database = made.json["_rid"], client.get(keys.rpartition("/")[0]).json
    assert made.json["_self"] == f"{database['_self']}clientencryptionkeys/{rid}/"
    assert made.etag == made.json["_etag"] and isinstance(made.json["_ts"], int)
    assert made.json["_cts"] == made.json["_ts"]
    by_rid = f"/{made.json['_self'].rstrip('/')}"
    for path in (f"{keys}/k", by_rid):
        read = client.get(path)
        assert (read.status, read.json, read.etag) == (200, made.json, made.etag)
        assert read.headers["x-ms-content-path"] == database["_rid"]
    assert client.get(f"{keys}/k", {"If-None-Match": made.etag}).status == 304
    assert client.post(keys, {"id": "k"} | BODY).status == 409
    new = {"id": "k"} | BODY | {"wrappedDataEncryptionKey": "BAMCAQ=="}
    replaced = client.put(f"{keys}/k", new, {"If-Match": made.etag})
    assert (replaced.status, replaced.json["_rid"]) == (200, rid)
    assert replaced.json["_cts"] == made.json["_cts"]
    assert client.put(f"{keys}/k", new, {"If-Match": made.etag}).status == 412
    assert client.put(f"{keys}/other", new | {"id": "other"}).status == 404
    assert client.put(f"{keys}/k", new | {"id": "other"}).status == 400
    feed = client.get(keys).json
    assert feed == {"_rid": database["_rid"], "ClientEncryptionKeys": [replaced.json], "_count": 1}
    query = {"query": "SELECT VALUE k.keyWrapMetadata.name FROM k WHERE k.id = @id",
             "parameters": [{"name": "@id", "value": "k"}]}  # fmt: skip
    rows = client.post(keys, query, {"x-ms-documentdb-isquery": "true"}).json
    assert rows["ClientEncryptionKeys"] == ["m"]
    assert client.delete(f"{keys}/k").status == 405
    assert client.get(f"{keys}/k").status == 200


@pytest.mark.parametrize(
    "change", [{"id": None}, {"id": "a/b"}, {"encryptionAlgorithm": None}, {"wrappedDataEncryptionKey": 5},
               {"keyWrapMetadata": "m"}], ids=str,
)  # fmt: skip
def test_bad_keys(client, keys, change):
    assert client.post(keys, {"id": "k"} | BODY | change).status == 400


def test_in_a_database_that_is_not_there(client):
    assert client.post("/dbs/nowhere/clientencryptionkeys", {"id": "k"} | BODY).status == 404
    assert client.get("/dbs/nowhere/clientencryptionkeys").status == 404


def test_conflicts(client, coll):
    """There is one region, so there are none."""
    path = f"{coll.path}/conflicts"
    assert client.get(path).json == {"_rid": coll.rid, "Conflicts": [], "_count": 0}
    pk = {"x-ms-documentdb-partitionkey": '["a"]'}
    for scope in (pk, {"x-ms-documentdb-query-enablecrosspartition": "true"}):
        query = client.post(path, {"query": "SELECT * FROM c"}, {"x-ms-documentdb-isquery": "true"} | scope)
        assert query.json == {"_rid": coll.rid, "Conflicts": [], "_count": 0}
    query = client.post(path, {"query": "SELECT * FROM c"}, {"x-ms-documentdb-isquery": "true"})
    assert query.status == 400 and "required but disabled" in query.json["message"]
    assert client.get(f"{path}/c", pk).status == 404
    assert client.delete(f"{path}/c", pk).status == 404
    assert client.delete(f"{path}/c").status == 400
    assert client.post(path, {"id": "c"}).status == 405
    assert client.put(f"{path}/c", {"id": "c"}).status == 405
    assert client.get(f"{coll.path}-/conflicts").status == 404
