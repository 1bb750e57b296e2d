"""Unique keys on the wire."""

import json

import pytest

from http_client import UPSERT, pk

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}


def policy(*keys):
    return {"uniqueKeys": [{"paths": list(paths)} for paths in keys]}


@pytest.fixture(scope="module")
def unique(db):
    return db.collection(uniqueKeyPolicy=policy(["/email"], ["/name/first", "/name/last"]))


def conflict(answer):
    assert answer.status == 409, answer
    assert answer.json["code"] == "Conflict"
    assert "Unique index constraint violation." in answer.json["message"]


def person(name, number, **more):
    return {"id": f"{name}-{number}", "pk": name, "email": number, "name": {"first": number}} | more


def test_writes(client, unique, name):
    for number in (1, 2):
        assert client.post(unique.docs, person(name, number), pk(name)).status == 201
    taken = person(name, 3, email=1)
    conflict(client.post(unique.docs, taken, pk(name)))
    conflict(client.post(unique.docs, taken, pk(name) | UPSERT))
    link = f"{unique.docs}/{name}-2"
    conflict(client.put(link, person(name, 2, email=1), pk(name)))
    patch = {"operations": [{"op": "set", "path": "/name/first", "value": 1}]}
    conflict(client.request("PATCH", link, patch, pk(name)))
    assert client.put(link, person(name, 2, other=1), pk(name)).status == 200
    assert client.post(unique.docs, taken | {"pk": f"{name}-other"}, pk(f"{name}-other")).status == 201
    assert client.delete(f"{unique.docs}/{name}-1", pk(name)).status == 204
    assert client.post(unique.docs, taken, pk(name)).status == 201


def test_batch(client, unique, name):
    first, second = person(name, 1), person(name, 2)
    assert client.post(unique.docs, first, pk(name)).status == 201
    headers = pk(name) | {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
    create = {"operationType": "Create", "resourceBody": second | {"email": 1}}
    answer = client.post(unique.docs, json.dumps([create]), headers)
    assert [result["statusCode"] for result in answer.json] == [409], answer
    # The name is free as soon as the document that had it is gone.
    delete = {"operationType": "Delete", "id": first["id"]}
    answer = client.post(unique.docs, json.dumps([delete, create]), headers)
    assert [result["statusCode"] for result in answer.json] == [204, 201], answer


@pytest.mark.parametrize("path", ["/a/*", "/*", "/a/?", "/a/[]/b", "a", "", "/"])
def test_bad_paths(client, db, name, path):
    body = {"id": name, "partitionKey": KEY, "uniqueKeyPolicy": policy([path])}
    assert client.post(f"{db.path}/colls", body).status == 400


def test_the_policy_cannot_change(client, unique):
    same = {"id": unique.name, "partitionKey": KEY, "uniqueKeyPolicy": unique.definition["uniqueKeyPolicy"]}
    assert client.put(unique.path, same).status == 200
    for other in ({}, {"uniqueKeyPolicy": policy(["/email"])}, {"uniqueKeyPolicy": policy(["/other"])}):
        changed = client.put(unique.path, {"id": unique.name, "partitionKey": KEY} | other)
        assert changed.status == 400 and "unique index cannot be modified" in changed.json["message"]
