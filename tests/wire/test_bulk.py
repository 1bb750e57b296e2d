"""Bulk requests: operations of one range, each with its own key and its own fate."""

import json

from http_client import pk

BULK = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "False"}
GO_ON = BULK | {"x-ms-cosmos-batch-continue-on-error": "True"}


def in_range(name):
    return {"x-ms-documentdb-partitionkeyrangeid": name}


def create(name, key, **more):
    body = {"id": name, "pk": key} | more
    return {"operationType": "Create", "partitionKey": json.dumps([key]), "resourceBody": body}


def read(name, key):
    return {"operationType": "Read", "id": name, "partitionKey": json.dumps([key])}


def statuses(answer):
    return [result["statusCode"] for result in answer.json]


def test_each_has_its_own_fate(client, coll, name):
    operations = [
        create(name, "a"), create(name, "a"), create(name, "b"), read(name, "b"), read(name, "c"),
        {"operationType": "Patch", "id": name, "partitionKey": '["a"]',
         "resourceBody": [{"op": "add", "path": "/n", "value": 1}]},
        {"operationType": "Delete", "id": name, "partitionKey": '["b"]'},
        {"operationType": "Read", "id": name},
    ]  # fmt: skip
    answer = client.post(coll.docs, operations, GO_ON | in_range("0"))
    assert answer.status == 207, answer
    assert statuses(answer) == [201, 409, 201, 200, 404, 200, 204, 400]
    results = answer.json
    assert results[3]["resourceBody"] == results[2]["resourceBody"]
    assert results[5]["resourceBody"]["n"] == 1
    assert answer.charge == round(sum(result["requestCharge"] for result in results), 2)
    assert answer.session == f"0:-1#{answer.headers['lsn']}"
    assert client.get(f"{coll.docs}/{name}", pk("a")).json == results[5]["resourceBody"]


def test_all_is_well(client, coll, name):
    operations = [create(f"{name}-{i}", f"k{i % 7}") for i in range(100)]
    answer = client.post(coll.docs, operations, GO_ON | in_range("0"))
    assert (answer.status, statuses(answer)) == (200, [201] * 100)
    assert [result["resourceBody"]["id"] for result in answer.json] == [f"{name}-{i}" for i in range(100)]


def test_keys_of_every_kind(client, coll, name):
    for key, body in [("[null]", {"pk": None}), ("[{}]", {}), ("[1.5]", {"pk": 1.5}), ("[true]", {"pk": True})]:
        operations = [
            {"operationType": "Upsert", "partitionKey": key, "resourceBody": {"id": name} | body},
            {"operationType": "Read", "id": name, "partitionKey": key},
        ]
        answer = client.post(coll.docs, operations, GO_ON | in_range("0"))
        assert statuses(answer) == [201, 200], (key, answer)


def test_the_rest_is_left_alone_on_request(client, coll, name):
    operations = [create(name, "a"), create(name, "a"), create(f"{name}-2", "a")]
    stop = BULK | {"x-ms-cosmos-batch-continue-on-error": "False"}
    answer = client.post(coll.docs, operations, stop | in_range("0"))
    assert (answer.status, statuses(answer)) == (207, [201, 409, 424])
    assert client.get(f"{coll.docs}/{name}-2", pk("a")).status == 404


def test_ranges(client, wide, name):
    keys = [f"k{i}" for i in range(12)]
    operations = [create(name, key) for key in keys]
    answers = [client.post(wide.docs, operations, GO_ON | in_range(str(number))) for number in range(3)]
    # Each key is in one of the three ranges, and gone from the others.
    for fates in zip(*map(statuses, answers), strict=True):
        assert sorted(fates) == [201, 410, 410]
    for answer in answers:
        gone = [result for result in answer.json if result["statusCode"] == 410]
        assert all(result["subStatusCode"] == 1002 for result in gone)
    answer = client.post(wide.docs, operations, GO_ON | in_range("99"))
    assert (answer.status, answer.substatus) == (410, 1002)
    # SDKs that would not recover are served wherever the key is.
    agent = {"user-agent": "azure-cosmos-js/4.10"}
    answer = client.post(wide.docs, [read(name, key) for key in keys], GO_ON | in_range("0") | agent)
    assert statuses(answer) == [200] * 12
    range_id = answer.headers["x-ms-documentdb-partitionkeyrangeid"]
    assert range_id in "012" and answer.session == f"{range_id}:-1#{answer.headers['lsn']}"
