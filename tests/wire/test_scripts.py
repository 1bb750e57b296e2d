"""Stored procedures, triggers and user-defined functions as resources."""

import base64

import pytest

from http_client import Client
from query_client import QUERY, rows
from server import Server, verify

KINDS = {"sprocs": "StoredProcedures", "triggers": "Triggers", "udfs": "UserDefinedFunctions"}
NIBBLE = {"sprocs": 8, "triggers": 7, "udfs": 6}
UPSERT = {"x-ms-documentdb-is-upsert": "True"}

each_kind = pytest.mark.parametrize("kind", KINDS)


def script(name, body="function () { return 1; }", **members):
    return {"id": name, "body": body, "triggerType": "Pre", "triggerOperation": "All"} | members


def child(rid):
    return base64.b64decode(rid.replace("-", "/"))


@each_kind
def test_the_life_of_a_script(client, coll, kind, name):
    feed = f"{coll.path}/{kind}"
    made = client.post(feed, script(name, more={"a": [1]}))
    assert made.status == 201 and made.etag == made.json["_etag"]
    found = made.json
    assert {key: found[key] for key in script(name)} == script(name) and found["more"] == {"a": [1]}
    assert len(child(found["_rid"])) == 16 and child(found["_rid"])[15] >> 4 == NIBBLE[kind]
    assert child(found["_rid"])[:8] == child(coll.rid)
    assert found["_self"] == f"{coll.definition['_self']}{kind}/{found['_rid']}/"
    assert made.headers["x-ms-alt-content-path"] == coll.path[1:]
    assert made.headers["x-ms-content-path"] == coll.rid

    by_name, by_rid = f"{feed}/{name}", "/" + found["_self"]
    for path in (by_name, by_rid):
        read = client.get(path)
        assert (read.status, read.json, read.etag) == (200, found, made.etag)
        assert client.get(path, {"If-None-Match": made.etag}).status == 304
        assert client.request("HEAD", path).status == 200
    assert client.post(feed, script(name)).status == 409

    upserted = client.post(feed, script(name, "x => 2"), UPSERT)
    assert upserted.status == 200 and upserted.json["_rid"] == found["_rid"] and upserted.etag != made.etag
    assert client.put(by_name, script(name, "x => 3"), {"If-Match": made.etag}).status == 412
    replaced = client.put(by_rid, script(name, "x => 3"), {"If-Match": upserted.etag})
    assert replaced.status == 200 and replaced.json["body"] == "x => 3"
    assert replaced.json["_self"] == found["_self"] and "more" not in replaced.json
    assert client.delete(by_name, {"If-Match": made.etag}).status == 412
    gone = client.delete(by_name)
    assert (gone.status, gone.body) == (204, b"")
    for verb in (client.get, client.delete):
        assert verb(by_name).status == 404
    assert client.put(by_name, script(name)).status == 404
    assert client.post(feed, script(name), UPSERT).status == 201


@each_kind
def test_feeds(client, db, kind):
    coll = db.collection()
    feed = f"{coll.path}/{kind}"
    empty = client.get(feed)
    assert empty.json == {"_rid": coll.rid, KINDS[kind]: [], "_count": 0}
    for n in range(7):
        assert client.post(feed, script(f"s{n}")).status == 201
    ids, headers = [], {"x-ms-max-item-count": "3"}
    while True:
        page = client.get(feed, headers)
        assert page.status == 200 and len(page.json[KINDS[kind]]) == page.json["_count"] <= 3
        ids += [item["id"] for item in page.json[KINDS[kind]]]
        if not page.continuation:
            break
        headers["x-ms-continuation"] = page.continuation
    assert ids == [f"s{n}" for n in range(7)]
    other = next(other for other in KINDS if other != kind)
    assert client.get(f"{coll.path}/{other}", headers).status == 400
    query = "SELECT VALUE s.id FROM s WHERE s.id >= @from ORDER BY s.id DESC"
    for size in (1, 2, -1):
        assert rows(client, feed, query, size=size, parameters={"from": "s4"}) == ["s6", "s5", "s4"]
    [found] = rows(client, feed, "SELECT * FROM root r WHERE r.id = 's2'")
    assert found == client.get(f"{feed}/s2").json


@each_kind
def test_what_is_no_script_is_refused(client, coll, kind, name):
    feed = f"{coll.path}/{kind}"
    for bad in (
        {"id": name},
        {"body": "x => x"},
        script(name, None),
        script(name, 5),
        script(name, ["x => x"]),
        script(""),
        script("a/b"),
        script("a#b"),
        script(" " * 3),
        script("x" * 256),
        script(5),
        [script(name)],
        b"{",
        b"",
    ):
        answer = client.post(feed, bad)
        assert answer.status == 400, (bad, answer)
    assert client.post(feed, script(name, "x" * (2 << 20))).status == 413
    for bad in ("", "5", "function f() {", "var x = 1;", "throw 1", "while (true) ;)"):
        answer = client.post(feed, script(name, bad))
        assert answer.status == 400, (bad, answer)
    answer = client.post(feed, script(name, "function f(a) {\n  return a +;\n}"))
    assert answer.status == 400 and "line: 2, column: 13" in answer.message, answer
    assert client.get(f"{feed}/{name}").status == 404
    # A query is a query, wherever it is sent.
    trap = script(name) | {"query": "SELECT * FROM c", "parameters": []}
    assert client.post(feed, trap, QUERY).status == 200
    assert client.get(f"{feed}/{name}").status == 404
    assert client.post(f"{feed}/{name}", trap, QUERY).status == 405


def test_a_source_that_never_ends_is_stopped(client, coll, name):
    answer = client.post(f"{coll.path}/sprocs", script(name, "(function () { for (;;) ; })()"))
    assert answer.status in (400, 408), answer
    assert client.post(f"{coll.path}/sprocs", script(name)).status == 201


def test_triggers_say_when(client, coll, name):
    feed = f"{coll.path}/triggers"
    for n, (when, operation) in enumerate(
        [("Pre", "All"), ("post", "create"), ("PRE", "Update"), ("Post", "replace"), ("pre", "DELETE")]
    ):
        made = client.post(feed, script(f"{name}-{n}", triggerType=when, triggerOperation=operation))
        assert made.status == 201, made
        # As it was sent: SDKs look for the letters that they wrote.
        assert (made.json["triggerType"], made.json["triggerOperation"]) == (when, operation)
    for member in ("triggerType", "triggerOperation"):
        for bad in (None, "", "Insert", 1, ["Pre"], {}):
            answer = client.post(feed, script(name, **{member: bad}))
            assert answer.status == 400 and member in answer.message, answer
        missing = script(name)
        del missing[member]
        assert client.post(feed, missing).status == 400


def test_kinds_do_not_mix(client, coll, name):
    made = {kind: client.post(f"{coll.path}/{kind}", script(name)).json for kind in KINDS}
    assert len({found["_rid"] for found in made.values()}) == 3
    for kind in KINDS:
        for other in KINDS:
            status = client.get(f"{coll.path}/{kind}/{made[other]['_rid']}").status
            assert status == (200 if kind == other else 404)
    assert client.delete(f"{coll.path}/sprocs/{name}").status == 204
    assert client.get(f"{coll.path}/udfs/{name}").status == 200


@each_kind
def test_owners_that_are_not_there(client, db, kind):
    for path in (f"{db.path}/colls/none/{kind}", f"/dbs/none/colls/none/{kind}"):
        for answer in (
            client.get(path),
            client.post(path, script("s")),
            client.get(f"{path}/s"),
            client.put(f"{path}/s", script("s")),
            client.delete(f"{path}/s"),
        ):
            assert (answer.status, answer.substatus) == (404, 1003), answer


@each_kind
def test_verbs(client, coll, kind):
    for method, path in (("PUT", ""), ("DELETE", ""), ("PATCH", "/s")):
        assert client.request(method, f"{coll.path}/{kind}{path}", b"{}").status == 405
    if kind != "sprocs":
        assert client.post(f"{coll.path}/{kind}/s", []).status == 405


def test_names_of_any_letters(client, coll):
    feed = f"{coll.path}/sprocs"
    for name in ("a b", "é%20", "日本", "a+b", "x" * 255):
        made = client.post(feed, script(name))
        assert made.status == 201, made
        assert client.get("/" + made.json["_self"]).json["id"] == name


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_scripts_outlive_the_process(tmp_path, end):
    data = tmp_path / "data"
    with Server(data_dir=data) as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        assert client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201
        coll = "/dbs/d/colls/c"
        for kind in KINDS:
            for n in range(5):
                assert client.post(f"{coll}/{kind}", script(f"s{n}")).status == 201
            assert client.put(f"{coll}/{kind}/s1", script("renamed", "x => 2")).status == 200
            assert client.delete(f"{coll}/{kind}/s4").status == 204
        before = {kind: client.get(f"{coll}/{kind}").body for kind in KINDS}
        for _ in range(2):
            code = getattr(server, end)()
            assert code == (0 if end == "stop" else -9)
            assert verify(data)[0] == 0, verify(data)
            server.start()
            client = Client(server.port)
            for kind in KINDS:
                assert client.get(f"{coll}/{kind}").body == before[kind]
        rids = {item["_rid"] for item in client.get(f"{coll}/sprocs").json["StoredProcedures"]}
        again = client.post(f"{coll}/sprocs", script("s4")).json
        assert child(again["_rid"])[8] == 6 and again["_rid"] not in rids
        assert client.delete(coll).status == 204
        assert client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201
        assert client.get(f"{coll}/sprocs").json["_count"] == 0
