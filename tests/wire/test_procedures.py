"""Stored procedures and triggers on the wire: bytes and headers that SDKs hide."""

import pytest

from http_client import Client, pk
from server import Server

KEY = pk("a")
LOG = "x-ms-documentdb-script-log-results"
WRITE = "__.createDocument(__.getSelfLink(), { id: 'x', pk: 'a' });"


@pytest.fixture
def own(db):
    """A collection of this test's own."""
    return db.collection()


def register(client, coll, id, body, kind="sprocs", **more):
    made = client.post(f"{coll.path}/{kind}", {"id": id, "body": body} | more)
    assert made.status == 201, made


def run(client, coll, body, arguments="[]", headers=KEY):
    """Registers a procedure of this body as `p` and calls it."""
    script = {"id": "p", "body": f"function (...args) {{ {body} }}"}
    assert client.post(f"{coll.path}/sprocs", script, {"x-ms-documentdb-is-upsert": "true"}).status in (200, 201)
    return client.post(f"{coll.path}/sprocs/p", arguments.encode(), headers)


@pytest.mark.parametrize(
    "statement, body",
    [
        ("__.response.setBody('text')", b'"text"'),
        ("__.response.setBody('')", b'""'),
        ("__.response.setBody({ b: 1, a: [null, 'ü'] })", '{"b":1,"a":[null,"ü"]}'.encode()),
        ("__.response.setBody(1.50)", b"1.5"),
        ("__.response.setBody(null)", b"null"),
        ("__.response.setBody(undefined)", b""),
        ("__.response.setBody('a'); __.response.appendBody('b')", b'"ab"'),
        ("return 7", b""),
        ("__.pluck('id')", b"[]"),
    ],
)
def test_the_answer_is_json_or_nothing(client, own, statement, body):
    answer = run(client, own, statement)
    assert (answer.status, answer.body) == (200, body), answer
    assert answer.charge >= 4.6 and answer.session
    assert LOG not in answer.headers and answer.etag is None


@pytest.mark.parametrize(
    "arguments, seen",
    [("", []), ("  ", []), ("[]", []), ('["a",{"b":1}]', ["a", {"b": 1}]), ("null", []), ("{}", []), ('{"0":4}', []),
     ('{"0":"one","1":"two","length":2}', ["one", "two"])],
)
def test_the_arguments_are_those_of_apply(client, own, arguments, seen):
    assert run(client, own, "__.response.setBody(args)", arguments).json == seen


@pytest.mark.parametrize("arguments", ["[", "[1,]", "nope", '{"a":}', "7", '"x"', "true", '{"length":500001}'])
def test_arguments_that_are_no_json(client, own, arguments):
    assert run(client, own, WRITE, arguments).status == 400
    assert client.get(f"{own.docs}/x", KEY).status == 404


def test_the_number_of_an_error_is_the_substatus(client, own):
    answer = run(client, own, f"{WRITE} throw new Error(4711, 'no gold');")
    assert (answer.status, answer.headers["x-ms-substatus"]) == (400, "4711")
    assert 'Message: {"Errors":["Encountered exception while executing Javascript. Exception = Error: no gold' in answer.message
    assert "\\n    at <anonymous> (p.js:1:" in answer.message
    assert answer.charge > 4.6 and answer.session
    plain = run(client, own, "throw new Error('no gold');")
    assert (plain.status, plain.substatus) == (400, 0)
    assert client.get(f"{own.docs}/x", KEY).status == 404


def test_who_is_called_and_where(client, own, db):
    register(client, own, "p q", "() => __.response.setBody(__.getAltLink())")
    found = client.post(f"{own.path}/sprocs/p%20q", b"[]", KEY)
    assert found.json == own.path.strip("/")
    assert client.post(f"{own.path}/sprocs/p%20q", b"[]").status == 400
    assert client.post(f"{own.path}/sprocs/p%20q", b"[]", pk("a", "b")).status == 400
    assert client.post(f"{own.path}/sprocs/unknown", b"[]", KEY).status == 404
    assert client.post(f"{db.path}/colls/unknown/sprocs/p", b"[]", KEY).status == 404
    register(client, own, "t", "function () { }", "triggers", triggerType="Pre", triggerOperation="All")
    assert client.post(f"{own.path}/sprocs/t", b"[]", KEY).status == 404


def test_the_log_is_encoded_and_cut(client, own):
    logged = KEY | {"x-ms-documentdb-script-enable-logging": "True"}
    short = run(client, own, "console.log('a b+ü\\n%d', 1);", headers=logged)
    assert short.headers[LOG] == "a%20b%2B%C3%BC%0A1"
    long = run(client, own, "for (let i = 0; i < 99999; i++) console.log('0123456789');", headers=logged)
    assert long.status == 200 and 4096 < len(long.headers[LOG]) <= 8192
    assert LOG not in run(client, own, "console.log('a');").headers
    assert LOG not in run(client, own, "", headers=logged).headers


def test_a_session_token_of_a_procedure_is_good_for_a_read(client, own):
    answer = run(client, own, WRITE)
    read = client.get(f"{own.docs}/x", KEY | {"x-ms-session-token": answer.session})
    assert (read.status, read.json["id"]) == (200, "x")


def test_triggers_of_every_write(client, own):
    body = """function () {
      const request = getContext().getRequest(), document = request.getBody();
      console.log(request.getOperationType());
      if (document) request.setBody({ ...document, n: (document.n || 0) + 1 });
    }"""
    register(client, own, "before", body, "triggers", triggerType="Pre", triggerOperation="All")
    after = "function () { const d = getContext().getResponse().getBody(); console.log(d ? ' ' + d.n : ' gone'); }"
    register(client, own, "after", after, "triggers", triggerType="Post", triggerOperation="All")
    named = KEY | {
        "x-ms-documentdb-pre-trigger-include": "before", "x-ms-documentdb-post-trigger-include": "after",
        "x-ms-documentdb-script-enable-logging": "true",
    }  # fmt: skip
    link, document = f"{own.docs}/d", {"id": "d", "pk": "a"}
    seen = [
        client.post(own.docs, document, named),
        client.put(link, document | {"n": 5}, named),
        client.post(own.docs, document | {"n": 7}, named | {"x-ms-documentdb-is-upsert": "true"}),
        client.delete(link, named),
    ]
    assert [answer.status for answer in seen] == [201, 200, 200, 204]
    assert [answer.headers[LOG] for answer in seen] == ["Create%201", "Replace%206", "Upsert%208", "Delete%20gone"]
    # The upsert that creates is 201, and with no answer wanted there is none.
    upsert = named | {"x-ms-documentdb-is-upsert": "true", "prefer": "return=minimal"}
    made = client.post(own.docs, document, upsert)
    assert (made.status, made.body) == (201, b"")
    assert client.get(link, KEY).json["n"] == 1


def test_what_a_trigger_costs(client, own):
    register(client, own, "t", "function () { }", "triggers", triggerType="Pre", triggerOperation="All")
    plain = client.post(own.docs, {"id": "1", "pk": "a"}, KEY)
    named = client.post(own.docs, {"id": "2", "pk": "a"}, KEY | {"x-ms-documentdb-pre-trigger-include": "t"})
    assert round(named.charge - plain.charge, 2) == 4.6


def test_writes_of_scripts_are_there_after_a_crash(tmp_path):
    with Server(data_dir=tmp_path / "data") as server:
        client = Client(server.port)
        assert client.post("/dbs", {"id": "d"}).status == 201
        made = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
        assert client.post("/dbs/d/colls", made).status == 201
        many = "function () { for (let i = 0; i < 50; i++) __.createDocument(__.getSelfLink(), { id: 'd' + i, pk: 'a' }); }"
        assert client.post("/dbs/d/colls/c/sprocs", {"id": "p", "body": many}).status == 201
        assert client.post("/dbs/d/colls/c/sprocs/p", b"[]", KEY).status == 200
        server.kill()
        server.start()
        client = Client(server.port)
        feed = client.get("/dbs/d/colls/c/docs", KEY | {"x-ms-max-item-count": "1000"})
        assert [document["id"] for document in feed.json["Documents"]] == [f"d{n}" for n in range(50)]
        # And again it is all or nothing: the first one is there already.
        assert client.post("/dbs/d/colls/c/sprocs/p", b"[]", KEY).status == 400
