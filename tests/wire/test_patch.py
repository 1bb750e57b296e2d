"""Patches: a few changes to a document, all or none, as every SDK sends them."""

import json
import threading

import pytest

from http_client import Client, pk

KEY = pk("a")


@pytest.fixture
def doc(client, coll, name):
    """A function that makes a document and gives one that patches it."""

    def make(**members):
        made = client.post(coll.docs, {"id": name, "pk": "a"} | members, KEY)
        assert made.status == 201, made

        def patch(body, headers=None):
            return client.request("PATCH", f"{coll.docs}/{name}", body, KEY | (headers or {}))

        return patch

    return make


def op(kind, path, value=None, **more):
    return {"op": kind, "path": path, "value": value} | more


def user(answer):
    return {key: value for key, value in answer.json.items() if not key.startswith("_")}


@pytest.mark.parametrize(
    "content_type",
    [None, "application/json", "application/json-patch+json", "application/json_patch+json", "text/plain"],
)
@pytest.mark.parametrize("bare", [True, False], ids=["array", "object"])
def test_content_types_and_forms(doc, name, content_type, bare):
    patch = doc(n=1, tags=["x"], old=True)
    operations = [
        op("set", "/color", "silver"),
        op("incr", "/n", 10),
        op("add", "/tags/-", "y"),
        op("add", "/tags/0", "w"),
        op("replace", "/tags/1", "X"),
        {"op": "remove", "path": "/old"},
        {"op": "move", "from": "/color", "path": "/colour"},
    ]
    headers = {"content-type": content_type} if content_type else {}
    answer = patch(operations if bare else {"operations": operations}, headers)
    assert answer.status == 200, answer
    assert user(answer) == {
        "id": name, "pk": "a", "n": 11, "tags": ["w", "X", "y"], "colour": "silver",
    }
    assert answer.json["_etag"] == answer.etag
    assert float(answer.headers["x-ms-request-charge"]) > 0
    assert answer.headers["x-ms-session-token"]


def test_untouched_text_is_kept(client, coll, name):
    text = f'{{"id":"{name}","pk":"a","n":1.0,"big":12345678901234567890,"s":"\\u0061"}}'
    assert client.post(coll.docs, text, KEY).status == 201
    answer = client.request("PATCH", f"{coll.docs}/{name}", [op("set", "/v", 1)], KEY)
    assert answer.body.startswith(text[:-1].encode() + b',"v":1,"_rid":')
    assert client.get(f"{coll.docs}/{name}", KEY).body == answer.body


@pytest.mark.parametrize("headers", [{"Prefer": "return=minimal"}, {"Prefer": "return=Minimal"}], ids=str)
def test_minimal(doc, headers):
    answer = doc(n=1)([op("incr", "/n", 1)], headers)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.etag


def test_conditions(client, coll, doc, name):
    patch = doc(n=1)
    body = {"condition": "from c where c.n = 1", "operations": [op("incr", "/n", 1)]}
    assert patch(body).json["n"] == 2
    before = client.get(f"{coll.docs}/{name}", KEY).body
    answer = patch(body)
    assert (answer.status, answer.headers["x-ms-substatus"]) == (412, "1110"), answer
    assert answer.json["code"] == "PreconditionFailed"
    assert answer.headers["x-ms-session-token"]
    assert client.get(f"{coll.docs}/{name}", KEY).body == before
    for bad in ["from c where", "where c.n = 2", "from c where c.n = 2 order by c.n", "from c where f(1)", 5]:
        answer = patch(body | {"condition": bad})
        assert answer.status == 400, answer
        assert answer.json["code"] == "BadRequest"


def test_etags(client, coll, doc, name):
    patch = doc(n=1)
    etag = client.get(f"{coll.docs}/{name}", KEY).etag
    assert patch([op("incr", "/n", 1)], {"If-Match": etag}).status == 200
    stale = patch([op("incr", "/n", 1)], {"If-Match": etag})
    assert (stale.status, stale.headers.get("x-ms-substatus", "0")) == (412, "0")


def test_what_is_not_there(client, coll, name):
    absent = client.request("PATCH", f"{coll.docs}/{name}", [op("set", "/v", 1)], KEY)
    assert absent.status == 404
    assert client.get(f"{coll.docs}/{name}", KEY).status == 404
    without_key = client.request("PATCH", f"{coll.docs}/{name}", [op("set", "/v", 1)])
    assert without_key.status == 400
    assert client.request("PATCH", coll.docs, [op("set", "/v", 1)], KEY).status == 405


@pytest.mark.parametrize(
    "body, message",
    [
        ("", ""),
        ("[", "invalid JSON"),
        ("{}", "check syntax of patch specification"),
        ([], "check syntax of patch specification"),
        ([op("test", "/v", 1)], "unknown 'op': 'test'"),
        ([{"op": "add", "path": "/v"}], "has no 'value'"),
        ([op("add", "v", 1)], "is not a path"),
        ([op("add", "/v", 1)] * 11, "The number of patch operations cannot exceed 10"),
        ([op("set", "/id", "x")], "Cannot patch system property id."),
        ([op("set", "/_ts", 1)], "Cannot patch system property _ts."),
        ([op("set", "/pk", "b")], "Cannot patch the partition key path /pk."),
        ([op("move", "/v", **{"from": "/pk"})], "Cannot patch the partition key path /pk."),
        ([op("replace", "/absent", 1)], "For Operation(1): Node(/absent) to be replaced is absent."),
        ([op("set", "/v", 1), op("remove", "/absent")], "For Operation(2): Node(/absent) to be removed is absent."),
        ([op("incr", "/s", 1)], "Node(/s) is not a number."),
        ([op("incr", "/n", "1")], "not a number"),
        ([op("incr", "/max", 1)], "would be out of range"),
        ([op("add", "/tags/5", 1)], "Index(5) to operate on is out of array bounds"),
        ([op("add", "/a/b", 1)], "cannot create path recursively, no path found beyond: 'a'."),
        ([op("set", "/ttl", 0)], "The input ttl '0' is invalid"),
    ],
    ids=str,
)
def test_refusals_change_nothing(client, coll, doc, name, body, message):
    patch = doc(n=1, s="text", tags=[], max=2**63 - 1)
    before = client.get(f"{coll.docs}/{name}", KEY).body
    answer = patch(body)
    assert answer.status == 400, answer
    assert message in answer.message
    assert client.get(f"{coll.docs}/{name}", KEY).body == before


def test_names_with_slashes_and_tildes(doc):
    answer = doc(**{"a/b": {"~": 1}})([op("incr", "/a~1b/~0", 1)])
    assert answer.json["a/b"] == {"~": 2}


def test_hierarchical_keys(client, db, name):
    key = {"paths": ["/t/x", "/u"], "kind": "MultiHash", "version": 2}
    docs = db.collection(partitionKey=key).docs
    header = {"x-ms-documentdb-partitionkey": json.dumps(["t", "u"])}
    assert client.post(docs, {"id": name, "t": {"x": "t"}, "u": "u"}, header).status == 201
    patch = lambda path: client.request("PATCH", f"{docs}/{name}", [op("set", path, "v")], header)
    for path in ("/t", "/t/x", "/u", "/u/v"):
        assert patch(path).status == 400, path
    assert patch("/t/y").json["t"] == {"x": "t", "y": "v"}


def test_time_to_live(client, db, name):
    docs = db.collection(defaultTtl=1000).docs
    assert client.post(docs, {"id": name, "pk": "a"}, KEY).status == 201
    patch = lambda ttl: client.request("PATCH", f"{docs}/{name}", [op("set", "/ttl", ttl)], KEY)
    assert [patch(ttl).status for ttl in (0, "5", -1, 500)] == [400, 400, 200, 200]


def test_increments_at_the_same_time(client, coll, server, doc, name):
    doc(n=0)
    failures = []

    def work():
        own = Client(server.port)
        for _ in range(25):
            answer = own.request("PATCH", f"{coll.docs}/{name}", [op("incr", "/n", 1)], KEY)
            if answer.status != 200:
                failures.append(answer)
        own.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert client.get(f"{coll.docs}/{name}", KEY).json["n"] == 200
