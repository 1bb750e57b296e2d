"""Transactional batches: all or nothing, in order, and in the service's form."""

import json

import pytest

from http_client import Client, pk
from server import Server

BATCH = {"x-ms-cosmos-is-batch-request": "True"}
ATOMIC = BATCH | {"x-ms-cosmos-batch-atomic": "True", "x-ms-cosmos-batch-continue-on-error": "False"}
MINIMAL = {"Prefer": "return=minimal"}


def create(item):
    return {"operationType": "Create", "resourceBody": item}


def read(name, **more):
    return {"operationType": "Read", "id": name} | more


def statuses(answer):
    return [result["statusCode"] for result in answer.json]


def test_all_kinds_in_one(client, coll, name):
    before = client.post(coll.docs, {"id": f"{name}-old", "pk": "a"}, pk("a"))
    operations = [
        create({"id": name, "pk": "a", "n": 1}),
        {"operationType": "Upsert", "resourceBody": {"id": name, "pk": "a", "n": 2}},
        {"operationType": "Upsert", "resourceBody": {"id": f"{name}-new", "pk": "a"}},
        {"operationType": "Replace", "id": name, "resourceBody": {"id": name, "pk": "a", "n": 3}},
        {"operationType": "Patch", "id": name,
         "resourceBody": {"operations": [{"op": "incr", "path": "/n", "value": 4}]}},
        read(name),
        read(f"{name}-old", ifNoneMatch=before.etag),
        {"operationType": "Delete", "id": f"{name}-old"},
    ]  # fmt: skip
    answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
    # What is unchanged was not done, though it is no failure.
    assert answer.status == 207, answer
    assert statuses(answer) == [201, 200, 201, 200, 200, 200, 304, 204]
    results = answer.json
    assert results[5]["resourceBody"]["n"] == 7
    assert results[5]["resourceBody"]["_etag"] == results[5]["eTag"] == results[4]["eTag"]
    assert "resourceBody" not in results[6] and "resourceBody" not in results[7]
    assert answer.charge == pytest.approx(sum(result["requestCharge"] for result in results))
    # One change of the partition, and a session that has seen it.
    assert answer.headers["lsn"] == str(int(before.headers["lsn"]) + 1)
    assert answer.session == f"0:-1#{answer.headers['lsn']}"
    assert answer.headers["x-ms-documentdb-partitionkeyrangeid"] == "0"
    assert answer.headers["x-ms-alt-content-path"] == coll.path[1:]
    stored = client.get(f"{coll.docs}/{name}", pk("a"))
    assert stored.json == results[5]["resourceBody"]
    assert stored.headers["x-ms-item-lsn"] == answer.headers["lsn"]
    assert client.get(f"{coll.docs}/{name}-old", pk("a")).status == 404


def test_the_text_of_documents_is_kept(client, coll, name):
    text = f'{{ "id":"{name}", "pk":"a", "n":[1.0,1E5,-0.0,12345678901234567890], "u":"\\u00e9" }}'
    body = f'[ {{"operationType":"Create" , "resourceBody" : {text} }} ]'
    answer = client.post(coll.docs, body, ATOMIC | pk("a"))
    assert statuses(answer) == [201]
    kept = text[:-2].replace(" ", "").encode()
    assert kept in answer.body
    assert client.get(f"{coll.docs}/{name}", pk("a")).body.startswith(kept)


def test_one_failure_undoes_all(client, coll, name):
    kept = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    operations = [create({"id": f"{name}-1", "pk": "a"}), create({"id": name, "pk": "a"}), read(name)]
    answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
    assert answer.status == 207, answer
    assert statuses(answer) == [424, 409, 424]
    assert "exists" in answer.json[1]["message"]
    assert answer.charge == pytest.approx(sum(result["requestCharge"] for result in answer.json))
    assert answer.session == kept.session
    assert client.get(f"{coll.docs}/{name}-1", pk("a")).status == 404


@pytest.mark.parametrize(
    "operation, status, substatus",
    [
        (read("nowhere"), 404, None),
        ({"operationType": "Delete", "id": "there", "ifMatch": '"0"'}, 412, None),
        ({"operationType": "Replace", "id": "there", "resourceBody": {"id": "taken", "pk": "a"}}, 409, None),
        ({"operationType": "Replace", "id": "nowhere", "resourceBody": {"id": "x", "pk": "b"}}, 404, None),
        ({"operationType": "Replace", "id": "there", "resourceBody": {"id": "x", "pk": "b"}}, 400, 1001),
        (create({"id": "b", "pk": "b"}), 400, 1001),
        (create({"pk": "a"}), 400, None),
        (create([]), 400, None),
        (create("text"), 400, None),
        ({"operationType": "Patch", "id": "there", "resourceBody": []}, 400, None),
        ({"operationType": "Patch", "id": "there", "resourceBody":
          {"condition": "from c where c.n = 1", "operations": [{"op": "set", "path": "/m", "value": 1}]}}, 412, 1110),
    ],
    ids=lambda value: json.dumps(value)[:60],
)  # fmt: skip
def test_failures(client, coll, operation, status, substatus):
    client.post(coll.docs, {"id": "there", "pk": "a"}, pk("a"))
    client.post(coll.docs, {"id": "taken", "pk": "a"}, pk("a"))
    before = client.get(f"{coll.docs}/there", pk("a"))
    change = {"operationType": "Upsert", "resourceBody": {"id": "there", "pk": "a", "n": 5}}
    for operations, at in ([operation], 0), ([change, operation], 1), ([operation, change], 0):
        answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
        assert answer.status == 207, answer
        assert answer.json[at]["statusCode"] == status, answer
        assert answer.json[at].get("subStatusCode") == substatus
        assert answer.json[at]["message"]
        assert all(result["statusCode"] == 424 for i, result in enumerate(answer.json) if i != at)
    after = client.get(f"{coll.docs}/there", pk("a"))
    assert (after.body, after.session) == (before.body, before.session)


@pytest.mark.parametrize(
    "body, status",
    [
        ([], 400),
        ({}, 400),
        (b"", 400),
        (b"[", 400),
        (b'[{"operationType":"Read","id":"a"}] x', 400),
        ([1], 400),
        ([{"id": "a"}], 400),
        ([{"operationType": "Query", "id": "a"}], 400),
        ([{"operationType": "Delete"}], 400),
        ([{"operationType": "Create"}], 400),
        ([{"operationType": "Read", "id": 7}], 400),
        ([read("a", partitionKey="[a")], 400),
        ([read("a", partitionKey='["b"]')], 400),
        ([read("a")] * 101, 400),
        ([create({"id": "a", "pk": "a", "pad": "x" * (2 << 20)})], 413),
    ],
    ids=lambda value: str(value)[:40],
)
def test_requests_that_are_refused(client, coll, body, status):
    answer = client.post(coll.docs, body, ATOMIC | pk("a"))
    assert answer.status == status, answer
    assert client.get(coll.docs, pk("a")).status == 200


def test_another_key_and_too_many_bytes_are_told_as_the_service_does(client, coll):
    words = "One or more operations within the batch request have a different partition key value than the request."
    for key in ("b", '["b"]', ["b"]):
        answer = client.post(coll.docs, [read("a", partitionKey=key)], ATOMIC | pk("a"))
        assert answer.status == 400 and words in answer.message, answer
    large = [create({"id": "a", "pk": "a", "pad": "x" * (2 << 20)})]
    answer = client.post(coll.docs, large, ATOMIC | pk("a"))
    assert answer.message.startswith('Message: {"Errors":["Request size is too large"]}'), answer


def test_keys_as_they_are_passed_on(client, coll, name):
    operations = [create({"id": name, "pk": "a"}) | {"partitionKey": "a"}, read(name, partitionKey="a")]
    answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
    assert (answer.status, statuses(answer)) == (200, [201, 200])


@pytest.mark.parametrize("condition", ["ifMatch", "ifNoneMatch"])
def test_a_read_of_a_version_that_the_caller_has(client, coll, name, condition):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    answer = client.post(coll.docs, [read(name), read(name, **{condition: made.etag})], ATOMIC | pk("a"))
    assert (answer.status, statuses(answer)) == (207, [200, 304])
    assert answer.headers["x-ms-content-path"] == coll.rid
    answer = client.post(coll.docs, [read(name, **{condition: '"0"'})], ATOMIC | pk("a"))
    assert (answer.status, statuses(answer)) == (200, [200])


def test_an_answer_that_is_too_large(client, coll, name):
    client.post(coll.docs, {"id": name, "pk": "large", "pad": "x" * (1 << 20)}, pk("large"))
    before = client.post(coll.docs, {"id": f"{name}-kept", "pk": "large"}, pk("large"))
    change = {"operationType": "Delete", "id": f"{name}-kept"}
    for operations in ([read(name)] * 10, [change] + [read(name)] * 9):
        answer = client.post(coll.docs, operations, ATOMIC | pk("large"))
        assert answer.status == 207, answer
        assert statuses(answer) == [424] * 9 + [413]
        assert answer.json[-1]["subStatusCode"] == 3402
    assert client.get(f"{coll.docs}/{name}-kept", pk("large")).etag == before.etag


def test_a_batch_that_misses_a_document_has_no_owner_rid(client, coll, name):
    for operations in ([read(name)], [create({"id": name, "pk": "a"}), read(f"{name}-x")]):
        answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
        assert answer.status == 207 and 404 in statuses(answer)
        assert answer.session and "x-ms-content-path" not in answer.headers


def test_a_rename(client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a")).json
    operations = [
        {"operationType": "Replace", "id": name, "resourceBody": {"id": f"{name}-x", "pk": "a"}},
        create({"id": name, "pk": "a"}),
        read(f"{name}-x"),
    ]
    answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
    assert (answer.status, statuses(answer)) == (200, [200, 201, 200])
    assert answer.json[2]["resourceBody"]["_rid"] == made["_rid"] != answer.json[1]["resourceBody"]["_rid"]


def test_a_hundred_operations(client, coll, name):
    operations = [create({"id": f"{name}-{i}", "pk": "hundred"}) for i in range(100)]
    answer = client.post(coll.docs, operations, ATOMIC | pk("hundred"))
    assert statuses(answer) == [201] * 100
    names = [result["resourceBody"]["id"] for result in answer.json]
    assert names == [f"{name}-{i}" for i in range(100)]
    assert client.get(coll.docs, pk("hundred") | {"x-ms-max-item-count": "1000"}).json["_count"] == 100


def test_no_content_on_request(client, coll, name):
    operations = [create({"id": name, "pk": "a"}), read(name)]
    answer = client.post(coll.docs, operations, ATOMIC | MINIMAL | pk("a"))
    assert statuses(answer) == [201, 200]
    assert "resourceBody" not in answer.json[0] and answer.json[0]["eTag"]
    assert answer.json[1]["resourceBody"]["id"] == name


def test_the_partition_key_is_needed(client, coll, name):
    answer = client.post(coll.docs, [create({"id": name, "pk": "a"})], ATOMIC)
    assert answer.status == 400 and "PartitionKey" in answer.message


def test_of_documents_only(client, coll, db):
    trap = {"id": "trap", "pk": "a", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
    for feed in ("/dbs", f"{db.path}/colls", "/offers"):
        assert client.post(feed, trap, ATOMIC).status == 400
    assert client.post(coll.docs, trap, ATOMIC | pk("a")).status == 400
    assert client.post(coll.docs, trap, BATCH | pk("a")).status == 400
    assert client.get("/dbs/trap").status == 404
    assert client.get(f"{coll.docs}/trap", pk("a")).status == 404
    assert client.post("/dbs/nowhere/colls/c/docs", [read("a")], ATOMIC | pk("a")).status == 404


def test_without_a_partition_key(server, db, name):
    old = Client(server.port, version="2017-11-15")
    made = old.post(f"{db.path}/colls", {"id": name})
    assert made.status == 201, made
    docs = f"{db.path}/colls/{name}/docs"
    for key in ({}, {"x-ms-documentdb-partitionkey": "[]"}):
        operations = [{"operationType": "Upsert", "resourceBody": {"id": "a"}}, read("a")]
        answer = old.post(docs, operations, ATOMIC | key)
        assert answer.status == 200, answer
        assert statuses(answer)[1] == 200
    old.close()


def test_a_throttled_batch_is_refused_as_a_whole():
    with Server("--rate-limit", "always") as running:
        client = Client(running.port)
        client.post("/dbs", {"id": "d"})
        client.post("/dbs/d/colls", {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}})
        docs = "/dbs/d/colls/c/docs"
        for turn in range(100):
            operations = [create({"id": f"{turn}-{i}", "pk": "a"}) for i in range(40)]
            answer = client.post(docs, operations, ATOMIC | pk("a"))
            if answer.status == 429:
                break
            assert statuses(answer) == [201] * 40
        assert (answer.status, answer.substatus) == (429, 3200)
        assert int(answer.headers["x-ms-retry-after-ms"]) > 0
        # Each operation of a bulk request is refused for itself.
        operations = [{"operationType": "Read", "id": "0-0", "partitionKey": '["a"]'}] * 3
        answer = client.post(docs, operations, BATCH | {"x-ms-documentdb-partitionkeyrangeid": "0"})
        assert answer.status == 207, answer
        assert statuses(answer) == [429] * 3
        assert all(result["subStatusCode"] == 3200 for result in answer.json)
        assert all(result["retryAfterMilliseconds"] > 0 for result in answer.json)
        client.close()
