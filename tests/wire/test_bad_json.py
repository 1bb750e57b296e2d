"""Bodies that are no document: refused, nothing written, and the connection goes on."""

import json
from email.utils import formatdate

import pytest

from http_client import UPSERT, VERSION, Answer, pk, signature, token
from query_client import QUERY

MIB = 1024 * 1024

MALFORMED = [
    b"", b" ", b"{", b"}", b"{}x", b'{"id"', b'{"id":', b'{"id":"x"', b'{"id":"x",}', b"{'id':'x'}",
    b'{id:"x"}', b'{"id":"x" "pk":"a"}', b'{"id":"x","pk":"a"}}', b'{"id":"x","pk":"a"} {}',
    b'{"id":"x","pk":"a","n":01}', b'{"id":"x","pk":"a","n":1.}', b'{"id":"x","pk":"a","n":.5}',
    b'{"id":"x","pk":"a","n":+1}', b'{"id":"x","pk":"a","n":-}', b'{"id":"x","pk":"a","n":1e}',
    b'{"id":"x","pk":"a","n":0x10}', b'{"id":"x","pk":"a","n":1e999}', b'{"id":"x","pk":"a","n":-1e999}',
    b'{"id":"x","pk":"a","n":NaN}', b'{"id":"x","pk":"a","n":Infinity}',
    b'{"id":"x","pk":"a","n":tru}', b'{"id":"x","pk":"a","n":TRUE}', b'{"id":"x","pk":"a","n":nul}',
    b'{"id":"x","pk":"a","n":[1,]}', b'{"id":"x","pk":"a","n":[,1]}', b'{"id":"x","pk":"a","n":[1 2]}',
    b'{"id":"x","pk":"a","s":"\\x"}', b'{"id":"x","pk":"a","s":"\\u12"}', b'{"id":"x","pk":"a","s":"\\uzzzz"}',
    b'{"id":"x","pk":"a","s":"\xff"}', b'{"id":"x","pk":"a","s":"\xc3"}', b'{"id":"x","pk":"a",\x00"n":1}',
    b'{"id":"x","pk":"a","s":"\xed\xa0\x80"}', b'{"id":"x","pk":"a","s":"\xc0\x80"}',
    b'{"id":"x","pk":"a","s":"\\ud800"}', b'{"id":"x","pk":"a","s":"\\udc00"}',
    b'{"id":"x","pk":"a","s":"\\ud800\\ud800"}', b'{"id":"x","pk":"a","\\ud800":1}',
    b'/* */{"id":"x","pk":"a"}', b'{"id":"x","pk":"a"}//', b'{"id":"x","pk":"a",1:2}',
    b'{"id":"x","pk":"a",null:2}', b'\xff\xfe{\x00}\x00', b"<id>x</id>", b"id=x&pk=a",
    b"[]", b"null", b"true", b"1", b'"x"', b'[{"id":"x","pk":"a"}]',
    # Cosmos binary JSON, cut off or nonsense.
    b"\x80", b"\x80\xed", b"\x80\xed\x0f\x02\x82id", b"\x80\xff\xff\xff", b"\x80\x00",
]  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body)[:48])
def test_malformed(client, coll, body):
    opened = client.opened
    for headers in (pk("a"), pk("a") | UPSERT, {}):
        answer = client.post(coll.docs, body, headers)
        assert answer.status == 400, answer
    assert client.get(f"{coll.docs}/x", pk("a")).status == 404
    assert client.opened == opened


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body)[:48])
def test_malformed_replacement(client, coll, body):
    made = client.post(coll.docs, {"id": "kept", "pk": "kept"}, pk("kept") | UPSERT)
    assert client.put(f"{coll.docs}/kept", body, pk("kept")).status == 400
    assert client.get(f"{coll.docs}/kept", pk("kept")).etag == made.etag


BATCH = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
PLAN = {"x-ms-cosmos-is-query-plan-request": "True"}


@pytest.mark.parametrize("verb, path, headers", [
    ("POST", "/dbs", {}), ("POST", "/dbs", QUERY), ("POST", "{db}/colls", {}), ("PUT", "{coll}", {}),
    ("POST", "{db}/users", {}), ("POST", "{db}/clientencryptionkeys", {}), ("POST", "{coll}/sprocs", {}),
    ("POST", "{coll}/triggers", {}), ("POST", "{coll}/udfs", {}), ("PUT", "/offers/{offer}", {}),
    ("POST", "/offers", QUERY), ("PATCH", "{coll}/docs/kept", pk("kept")), ("POST", "{coll}/docs", pk("a") | BATCH),
    ("POST", "{coll}/docs", QUERY), ("POST", "{coll}/docs", PLAN),
    ("POST", "{coll}/docs/kept/attachments", pk("kept") | {"Content-Type": "application/json"}),
])  # fmt: skip
def test_malformed_bodies_of_other_requests(client, db, coll, verb, path, headers):
    """None of the bodies means anything there; not even the ones that are good JSON."""
    client.post(coll.docs, {"id": "kept", "pk": "kept"}, pk("kept") | UPSERT)
    offers = client.get("/offers").json["Offers"]
    offer = next(offer["id"] for offer in offers if offer["offerResourceId"] == coll.rid)
    path = path.format(db=db.path, coll=coll.path, offer=offer)
    feeds = ("/dbs", f"{db.path}/colls", f"{db.path}/users", f"{db.path}/clientencryptionkeys", "/offers",
             coll.docs, f"{coll.path}/sprocs", f"{coll.path}/triggers", f"{coll.path}/udfs")  # fmt: skip
    before, opened = [client.get(feed).body for feed in feeds], client.opened
    for body in MALFORMED + [b'{"id":"x","id":"y"}', b'{"id":"a\\u0000b"}', b"[" * 500_000]:
        answer = client.request(verb, path, body, headers)
        assert answer.status in (400, 413), (body[:40], answer)
    assert [client.get(feed).body for feed in feeds] == before
    assert client.opened == opened


@pytest.mark.parametrize(
    "body",
    [
        '{"id":"x","id":"x","pk":"a"}',
        '{"id":"x","pk":"a","pk":"b"}',
        '{"id":"x","pk":"a","v":1,"v":1}',
        '{"id":"x","pk":"a","v":{"w":1,"w":2}}',
        '{"id":"x","pk":"a","v":[{"w":[{"u":1,"u":2}]}]}',
        '{"id":"x","pk":"a","v":1,"\\u0076":2}',
        '{"id":"x","\\u0069d":"y","pk":"a"}',
        '{"id":"x","pk":"a","é":1,"\\u00e9":2}',
        '{"id":"x","pk":"a","":1,"":2}',
    ],
)
def test_duplicate_keys(client, coll, body):
    answer = client.post(coll.docs, body)
    assert answer.status == 400, answer
    for key in ("a", "b"):
        assert client.get(f"{coll.docs}/x", pk(key)).status == 404


def test_nul_in_text(client, coll):
    """The escape is good JSON, but no id may hold it."""
    made = client.post(coll.docs, b'{"id":"nul-text","pk":"a","s":"a\\u0000b"}', pk("a"))
    assert made.status == 201, made
    assert client.get(f"{coll.docs}/nul-text", pk("a")).json["s"] == "a\0b"
    assert client.post(coll.docs, b'{"id":"nul\\u0000id","pk":"a"}', pk("a")).status == 400


def test_raw_control_characters(client, coll):
    """.NET users who print JSON by hand send them; they are stored as escapes, of ids, too."""
    raw = b'{"id":"raw\ttext","pk":"raw","s":"a\r\nb\x01\x00\x7f","n":1.0}'
    made = client.post(coll.docs, raw, pk("raw"))
    assert made.status == 201, made
    stored = b'{"id":"raw\\ttext","pk":"raw","s":"a\\r\\nb\\u0001\\u0000\x7f","n":1.0,"_rid":'
    assert made.body.startswith(stored), made
    read = client.get(f"{coll.docs}/raw%09text", pk("raw"))
    assert (read.status, read.body) == (200, made.body)
    # What does not fit as it is stored is too large.
    many = b'{"id":"many","pk":"raw","s":"' + b"\x01" * (MIB // 2) + b'"}'
    assert client.post(coll.docs, many, pk("raw")).status == 413


def nested(depth, opening="[", closing="]"):
    """A document whose deepest container is `depth` levels down, itself included."""
    inner = opening * (depth - 1) + closing * (depth - 1)
    return f'{{"id":"deep","pk":"a","v":{inner}}}'


def test_depth(client, coll):
    assert client.post(coll.docs, nested(128), pk("a")).status == 201
    assert client.get(f"{coll.docs}/deep", pk("a")).status == 200
    assert client.delete(f"{coll.docs}/deep", pk("a")).status == 204
    assert client.post(coll.docs, nested(129), pk("a")).status == 400
    objects = '{"o":' * 126 + "{}" + "}" * 126
    assert client.post(coll.docs, f'{{"id":"deep","pk":"a","v":{objects}}}', pk("a")).status == 201
    assert client.delete(f"{coll.docs}/deep", pk("a")).status == 204
    objects = '{"o":' * 127 + "{}" + "}" * 127
    assert client.post(coll.docs, f'{{"id":"deep","pk":"a","v":{objects}}}', pk("a")).status == 400


@pytest.mark.parametrize("body", [b"[" * 500_000, b'{"a":' * 200_000, b"[" * 9 + b"]" * 9])
def test_depth_far_beyond(client, coll, body):
    assert client.post(coll.docs, body, pk("a")).status == 400
    assert client.get(coll.path).status == 200


def sized(length, id="big"):
    frame = json.dumps({"id": id, "pk": "big", "t": ""})
    body = json.dumps({"id": id, "pk": "big", "t": "x" * (length - len(frame))})
    assert len(body) == length
    return body


def test_size(client, fresh, coll):
    big = client.post(coll.docs, sized(2 * MIB - 1024), pk("big"))
    assert big.status == 201, big
    assert len(client.get(f"{coll.docs}/big", pk("big")).body) > 2 * MIB - 1024
    answer = fresh.post(coll.docs, sized(2 * MIB + 1024, "huge"), pk("big"))
    assert answer.status == 413, answer
    assert answer.json["code"] == "RequestEntityTooLarge"
    # The connection goes on.
    assert fresh.get(f"{coll.docs}/huge", pk("big")).status == 404
    assert fresh.opened == 1
    answer = fresh.put(f"{coll.docs}/big", sized(2 * MIB + 1024), pk("big"))
    assert answer.status == 413
    assert fresh.get(f"{coll.docs}/big", pk("big")).etag == big.etag


def test_a_body_beyond_all_bounds(server, fresh, coll):
    """Answered from its length alone; a new connection works, if not the same one."""
    date = formatdate(usegmt=True)
    sig = signature(fresh.key, "POST", "docs", coll.path[1:], date)
    for authorization, status in ((token(sig), 413), ("none", 401)):
        connection = fresh.connect()
        connection.putrequest("POST", coll.docs)
        connection.putheader("x-ms-date", date)
        connection.putheader("authorization", authorization)
        connection.putheader("Content-Length", str(1 << 40))
        connection.endheaders()
        answer = Answer(connection.getresponse()).check("POST")
        assert answer.status == status, answer
        fresh.close()
    assert fresh.get(coll.path).status == 200


@pytest.mark.parametrize("length", [5 * MIB, 40 * MIB])
def test_a_signed_body_beyond_the_bound(fresh, coll, length):
    """SDKs send all of it before they read the answer, which must not be lost."""
    body = b'{"id":"x","pk":"a","t":"' + b"x" * length + b'"}'
    answer = fresh.post(coll.docs, body, pk("a"))
    assert answer.status == 413, answer
    assert answer.message.startswith('Message: {"Errors":["Request size is too large"]}')
    assert fresh.get(f"{coll.docs}/x", pk("a")).status == 404
    assert fresh.opened == 1


def test_chunked_bodies(fresh, coll):
    """A body whose length is not told is read all the same."""
    date = formatdate(usegmt=True)
    sig = signature(fresh.key, "POST", "docs", coll.path[1:], date)
    connection = fresh.connect()
    body = b'{"id":"chunked","pk":"a"}'
    connection.request(
        "POST",
        coll.docs,
        body=iter([body[:5], body[5:9], body[9:]]),
        headers={"x-ms-date": date, "authorization": token(sig), "x-ms-version": VERSION,
                 "Transfer-Encoding": "chunked"},
        encode_chunked=True,
    )  # fmt: skip
    answer = Answer(connection.getresponse()).check("POST")
    assert answer.status == 201, answer
    assert fresh.get(f"{coll.docs}/chunked", pk("a")).status == 200
    assert fresh.opened == 1


def test_a_byte_order_mark(client, coll):
    answer = client.post(coll.docs, b'\xef\xbb\xbf{"id":"bom","pk":"a"}', pk("a"))
    assert answer.status == 400


def test_the_content_type_does_not_matter(client, coll, name):
    for number, kind in enumerate(("text/plain", "application/json; charset=utf-8", None, "x")):
        body = {"id": f"{name}-{number}", "pk": "a"}
        assert client.post(coll.docs, body, pk("a") | {"Content-Type": kind}).status == 201


def test_binary_json(client, coll):
    """What the Rust SDK sends: first byte 0x80, an object of short strings."""
    body = bytes.fromhex("80ed0f02") + b"\x82id\x86Item 1\x82pk\x81a"
    made = client.post(coll.docs, body, pk("a"))
    assert made.status == 201, made
    read = client.get(f"{coll.docs}/Item%201", pk("a"))
    assert {"id": "Item 1", "pk": "a"}.items() <= read.json.items()
    assert read.body.startswith(b'{"id":"Item 1","pk":"a",')
