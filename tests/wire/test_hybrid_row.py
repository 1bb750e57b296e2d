"""Batches and bulk requests in the binary form of .NET: the same as in JSON, in and out."""

import json
from urllib.parse import quote

import pytest
from http_client import Client, pk
from hybrid_row import batch, operation, record, results, row, stream
from server import Server

# What .NET sends with them.
BATCH = {"x-ms-cosmos-is-batch-request": "True"}
ATOMIC = BATCH | {"x-ms-cosmos-batch-atomic": "True", "x-ms-cosmos-batch-ordered": "True"}
BULK = BATCH | {
    "x-ms-cosmos-batch-atomic": "False", "x-ms-cosmos-batch-ordered": "False",
    "x-ms-cosmos-batch-continue-on-error": "True", "x-ms-documentdb-partitionkeyrangeid": "0",
}  # fmt: skip


def create(item, **more):
    return {"operationType": "Create", "resourceBody": item} | more


def read(name, **more):
    return {"operationType": "Read", "id": name} | more


def delete(name, **more):
    return {"operationType": "Delete", "id": name} | more


def send(client, docs, operations, headers, status=200):
    answer = client.post(docs, batch(operations), headers)
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/octet-stream"
    found = results(answer.body)
    assert len(found) == len(operations)
    assert answer.charge == round(sum(result["requestCharge"] for result in found), 2)
    return found


def statuses(found):
    return [result["statusCode"] for result in found]


def test_the_rows_that_others_write():
    """Bytes that .NET wrote, and an answer of the service, as the tests of the Java SDK have them."""
    read_row = (
        "817054e17f1302000000020000001d687962726964726f772d6f7074696f6e732d676f6c64656e"
        "2d6974656d140a09726561642d65746167"
    )
    assert operation(read("hybridrow-options-golden-item", ifNoneMatch="read-etag")) == bytes.fromhex(read_row)
    answer = (
        "81f0d8ff7f010a00000081f1d8ff7f3f000000d5437d92817154e17f07c80000000000000026223030303061303431"
        "2d303030302d303830302d303030302d3661353736316231303030302210065555555555552540"
    )
    (result,) = results(bytes.fromhex(answer))
    assert result == {
        "statusCode": 200, "subStatusCode": 0, "eTag": '"0000a041-0000-0800-0000-6a5761b10000"',
        "requestCharge": 10.666666666666666,
    }  # fmt: skip


def test_all_kinds_in_one(client, coll, name):
    before = client.post(coll.docs, {"id": f"{name}-old", "pk": "a"}, pk("a"))
    operations = [
        create({"id": name, "pk": "a", "n": 1, "text": "é\n"}),
        {"operationType": "Upsert", "resourceBody": {"id": name, "pk": "a", "n": 2}},
        {"operationType": "Upsert", "resourceBody": {"id": f"{name}-new", "pk": "a"}, "partitionKey": '["a"]'},
        {"operationType": "Replace", "id": name, "resourceBody": {"id": name, "pk": "a", "n": 3}},
        {"operationType": "Patch", "id": name,
         "resourceBody": {"operations": [{"op": "incr", "path": "/n", "value": 4}],
                          "condition": "from c where c.n = 3"}},
        read(name),
        read(f"{name}-old", ifNoneMatch=before.etag),
        delete(f"{name}-old", ifMatch=before.etag),
    ]  # fmt: skip
    found = send(client, coll.docs, operations, ATOMIC | pk("a"), status=207)
    assert statuses(found) == [201, 200, 201, 200, 200, 200, 304, 204]
    assert all(result["subStatusCode"] == 0 for result in found)
    assert found[5]["resourceBody"]["n"] == 7
    assert found[5]["resourceBody"]["_etag"] == found[5]["eTag"] == found[4]["eTag"]
    assert "resourceBody" not in found[6] and "resourceBody" not in found[7]
    assert client.get(f"{coll.docs}/{name}", pk("a")).json == found[5]["resourceBody"]
    assert client.get(f"{coll.docs}/{name}-old", pk("a")).status == 404


def test_the_same_results_as_in_json(client, coll, name):
    """Whatever is asked, both forms say the same of it."""
    item = {"id": name, "pk": "a", "pad": "x" * 300}
    for operations in [
        [create(item), create(item)],
        [create(item), read(name), delete(name)],
        [read("nothing"), create(item)],
        [create({"id": 7, "pk": "a"})],
        [create({"id": name, "pk": "other"})],
        [create(b"{")],
        [create(b'{"id":"x"},{"id":"y"}')],
        [{"operationType": "Patch", "id": name, "resourceBody": {"operations": []}}],
    ]:
        as_rows = client.post(coll.docs, batch(operations), ATOMIC | pk("a"))
        if any(isinstance(each.get("resourceBody"), bytes) for each in operations):
            # As JSON, such a body would be no list at all.
            assert as_rows.status == 207 and statuses(results(as_rows.body)) == [400]
            continue
        as_json = client.post(coll.docs, operations, ATOMIC | pk("a"))
        assert as_rows.status == as_json.status
        for got, expected in zip(results(as_rows.body), as_json.json, strict=True):
            assert got["statusCode"] == expected["statusCode"]
            assert got["subStatusCode"] == expected.get("subStatusCode", 0)
            assert got["requestCharge"] == pytest.approx(expected["requestCharge"])
            assert ("eTag" in got, "resourceBody" in got) == ("eTag" in expected, "resourceBody" in expected)


def test_the_text_of_documents_is_kept(client, coll, name):
    text = f'{{ "id":"{name}", "pk":"a", "n":[1.0,1E5,-0.0,12345678901234567890], "u":"\\u00e9" }}'
    send(client, coll.docs, [create(text.encode())], ATOMIC | pk("a"))
    assert client.get(f"{coll.docs}/{name}", pk("a")).body.startswith(text[:-2].replace(" ", "").encode())


def test_documents_in_binary_json(client, coll):
    body = bytes.fromhex("80ed0f02") + b"\x82id\x86Item 1\x82pk\x81a"
    (made,) = send(client, coll.docs, [create(body)], ATOMIC | pk("a"))
    assert (made["resourceBody"]["id"], made["resourceBody"]["pk"]) == ("Item 1", "a")


def test_all_or_nothing(client, coll, name):
    operations = [create({"id": name, "pk": "a"}), delete(f"{name}-missing"), create({"id": f"{name}-2", "pk": "a"})]
    found = send(client, coll.docs, operations, ATOMIC | pk("a"), status=207)
    assert statuses(found) == [424, 404, 424]
    assert client.get(f"{coll.docs}/{name}", pk("a")).status == 404


def test_conditions(client, coll, name):
    send(client, coll.docs, [create({"id": name, "pk": "a"})], ATOMIC | pk("a"))
    found = send(client, coll.docs, [delete(name, ifMatch='"other"')], ATOMIC | pk("a"), status=207)
    assert statuses(found) == [412]


def test_an_operation_without_content(client, coll, name):
    operations = [
        create({"id": name, "pk": "a"}, minimalReturnPreference=True),
        read(name, minimalReturnPreference=True),
        read(name, minimalReturnPreference=False),
    ]
    for headers in (ATOMIC | pk("a"), BULK):
        key = {} if headers is not BULK else {"partitionKey": '["a"]'}
        found = send(client, coll.docs, [each | key for each in operations], headers)
        assert statuses(found) == [201, 200, 200]
        assert ["resourceBody" in result for result in found] == [False, False, True]
        assert found[0]["eTag"] == found[1]["eTag"] == found[2]["eTag"]
        # The same in JSON, with reads alone, too.
        answer = client.post(coll.docs, [each | key for each in operations[1:]], headers)
        assert ["resourceBody" in result for result in answer.json] == [False, True]
        send(client, coll.docs, [delete(name) | key], headers)


def test_documents_that_are_not_indexed(client, coll, name):
    """Entries of the index cost something: a document with none is cheaper, in both forms."""
    item = {"pk": "a"} | {f"p{i}": i for i in range(50)}
    operations = [
        create(item | {"id": f"{name}-{at}"}) | wish
        for at, wish in enumerate([{}, {"indexingDirective": "Include"}, {"indexingDirective": "Exclude"}])
    ]
    found = send(client, coll.docs, operations, ATOMIC | pk("a"))
    plain, included, excluded = (result["requestCharge"] for result in found)
    assert plain == included > excluded
    for each in operations:
        each["resourceBody"]["id"] += "-json"
    answer = client.post(coll.docs, operations, ATOMIC | pk("a"))
    assert [result["requestCharge"] for result in answer.json] == [plain, included, excluded]


def test_bulk(client, coll, name):
    operations = [
        create({"id": name, "pk": "a"}, partitionKey='["a"]'),
        create({"id": name, "pk": "a"}, partitionKey='["a"]'),
        create({"id": name, "pk": "b"}, partitionKey='["b"]'),
        read(name, partitionKey='["b"]'),
        read(name, partitionKey='["c"]'),
        {"operationType": "Patch", "id": name, "partitionKey": '["a"]',
         "resourceBody": {"operations": [{"op": "add", "path": "/n", "value": 1}]}},
        delete(name, partitionKey='["b"]'),
        read(name),
    ]  # fmt: skip
    found = send(client, coll.docs, operations, BULK, status=207)
    assert statuses(found) == [201, 409, 201, 200, 404, 200, 204, 400]
    assert found[5]["resourceBody"]["n"] == 1
    many = [create({"id": f"{name}-{i}", "pk": f"k{i % 7}"}, partitionKey=f'["k{i % 7}"]') for i in range(100)]
    found = send(client, coll.docs, many, BULK)
    assert [result["resourceBody"]["id"] for result in found] == [f"{name}-{i}" for i in range(100)]


def test_bulk_by_range(client, wide, name):
    """A key that is elsewhere is told so, and a range that never was, the whole request."""
    nowhere = BULK | {"x-ms-documentdb-partitionkeyrangeid": "99"}
    gone = client.post(wide.docs, batch([read(name, partitionKey='["a"]')]), nowhere)
    assert gone.status == 410 and gone.message
    ranges = [each["id"] for each in client.get(f"{wide.path}/pkranges").json["PartitionKeyRanges"]]
    upsert = {"operationType": "Upsert", "resourceBody": {"id": name, "pk": "a"}, "partitionKey": '["a"]'}
    seen = []
    for each in ranges:
        answer = client.post(wide.docs, batch([upsert]), BULK | {"x-ms-documentdb-partitionkeyrangeid": each})
        seen += statuses(results(answer.body))
    assert sorted(seen) == [201] + [410] * (len(ranges) - 1)


def flipped(body, at):
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


ONE = batch([read("a")])
ROW = operation(read("a"))
REFUSED = {
    "only the first byte": (b"\x81", 400),
    "another schema first": (record(ROW), 400),
    "no operations": (stream([]), 400),
    "too many operations": (batch([read("a")] * 101), 400),
    "too large": (batch([create({"id": "a", "pk": "a", "pad": "x" * (2 << 20)})]), 413),
    "cut off": (ONE[:-1], 400),
    "more behind it": (ONE + b"\0", 400),
    "a wrong checksum": (flipped(ONE, len(ONE) - 1), 400),
    "a wrong length": (flipped(ONE, 15), 400),
    "a segment of no length": (row("segment", {"length": 0}) + record(ROW), 400),
    "an empty record": (stream([b""]), 400),
    "a record of text": (stream([b"[]"]), 400),
    "rows of results": (stream([row("result", {"statusCode": 200})]), 400),
    "no operation type": (stream([row("operation", {"resourceType": 2, "id": "a"})]), 400),
    "an unknown operation type": (stream([row("operation", {"operationType": 15, "resourceType": 2, "id": "a"})]), 400),
    "no resource type": (stream([row("operation", {"operationType": 2, "id": "a"})]), 400),
    "another resource type": (stream([row("operation", {"operationType": 2, "resourceType": 1, "id": "a"})]), 400),
    "no id": (stream([row("operation", {"operationType": 2, "resourceType": 2})]), 400),
    "no body": (stream([row("operation", {"operationType": 0, "resourceType": 2})]), 400),
    "a key that is none": (batch([read("a", partitionKey="a")]), 400),
    "another key": (batch([read("a", partitionKey='["b"]')]), 400),
    "an unknown directive": (batch([read("a", indexingDirective="x")]), 400),
    "a binary id": (batch([read("a", binaryId=b"a")]), 400),
    "a time to live": (batch([read("a", timeToLiveInSeconds=5)]), 400),
    "the same column twice": (stream([operation(read("a", ifMatch="x")) + b"\x14\x09\x01x"]), 400),
    "an unknown column": (stream([ROW + b"\x14\x0eab"]), 400),
    "a text that is none": (stream([ROW + b"\x14\x09\x01\xff"]), 400),
    "a nested value": (stream([ROW + b"\x1e\x09\x46"]), 400),
}


@pytest.mark.parametrize("body, status", REFUSED.values(), ids=REFUSED)
def test_requests_that_are_refused(client, coll, body, status):
    answer = client.post(coll.docs, body, ATOMIC | pk("a"))
    # The plain document of an error, which .NET reads if no rows come.
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json"), answer
    assert ("too large" if status == 413 else "batch") in answer.message.lower(), answer


def test_every_byte_changed(client, coll, name):
    """Whatever happens to a request on its way, nothing is done that was not asked for."""
    whole = batch([create({"id": name, "pk": "a"}), read(name)])
    for at in range(10, len(whole)):
        answer = client.post(coll.docs, flipped(whole, at), ATOMIC | pk("a"))
        assert answer.status == 400, (at, answer)
    assert client.get(f"{coll.docs}/{name}", pk("a")).status == 404


def test_errors_of_the_whole_request(client, coll):
    nowhere = client.post("/dbs/nowhere/colls/c/docs", ONE, ATOMIC | pk("a"))
    assert nowhere.status == 404 and nowhere.message
    without_key = client.post(coll.docs, ONE, ATOMIC)
    assert without_key.status == 400 and "PartitionKey" in without_key.message


def test_segments_may_say_more(client, coll):
    """A comment in the header, and a second segment."""
    talking = {"length": 10 + 2 + 1 + 5, "comment": "hello"}
    body = row("segment", talking) + record(ROW) + row("segment", {"length": 10}) + record(ROW)
    answer = client.post(coll.docs, body, BULK | pk("a"))
    assert statuses(results(answer.body)) == [404, 404]


def test_throttled():
    with Server("--rate-limit", "always") as running:
        client = Client(running.port)
        client.post("/dbs", {"id": "d"})
        client.post("/dbs/d/colls", {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}})
        docs = "/dbs/d/colls/c/docs"
        for turn in range(100):
            operations = [create({"id": f"{turn}-{i}", "pk": "a"}) for i in range(40)]
            answer = client.post(docs, batch(operations), ATOMIC | pk("a"))
            if answer.status == 429:
                break
            assert statuses(results(answer.body)) == [201] * 40
        assert (answer.status, answer.substatus) == (429, 3200)
        assert int(answer.headers["x-ms-retry-after-ms"]) > 0 and json.loads(answer.body)
        found = send(client, docs, [read("0-0", partitionKey='["a"]')] * 3, BULK, status=207)
        assert statuses(found) == [429] * 3
        assert all(result["subStatusCode"] == 3200 for result in found)
        assert all(result["retryAfterMilliseconds"] > 0 for result in found)
        client.close()


def test_tokens_of_one_partition_key(client, db, coll, name):
    """Who may only see one key may not name another, in rows either."""
    user = client.post(f"{db.path}/users", {"id": name})
    assert user.status == 201, user
    wish = {"id": "p", "permissionMode": "All", "resource": coll.path[1:], "resourcePartitionKey": ["a"]}
    made = client.post(f"{db.path}/users/{name}/permissions", wish)
    assert made.status == 201, made
    bearer = {"authorization": quote(made.json["_token"], safe="")}
    mine = create({"id": name, "pk": "a"}, partitionKey='["a"]')
    other = create({"id": name, "pk": "b"}, partitionKey='["b"]')
    assert client.post(coll.docs, batch([mine, other]), BULK | bearer).status == 403
    assert client.get(f"{coll.docs}/{name}", pk("a")).status == 404
    assert statuses(send(client, coll.docs, [mine], BULK | bearer)) == [201]
    assert client.post(coll.docs, batch([other]), ATOMIC | pk("b") | bearer).status == 403
