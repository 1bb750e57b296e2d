"""Continuation tokens: whole, small, bound to their query, good for ever."""

import json
import random

import pytest

from http_client import Client, pk
from query_client import CROSS, ask, ranges, rows
from server import Server

COUNT = 60
QUERIES = [
    "SELECT * FROM c",
    "SELECT VALUE c.n FROM c WHERE c.n >= 7",
    "SELECT VALUE c.n FROM c ORDER BY c.n",
    "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
    "SELECT c.id, c.g FROM c ORDER BY c.g",
    "SELECT c.id, c.g FROM c ORDER BY c.g DESC",
    "SELECT TOP 37 VALUE c.n FROM c ORDER BY c.n",
    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 11 LIMIT 29",
    "SELECT VALUE c.n FROM c OFFSET 5 LIMIT 40",
    "SELECT DISTINCT VALUE c.g FROM c",
    "SELECT DISTINCT c.g FROM c ORDER BY c.g",
    "SELECT c.g, COUNT(1) AS n, SUM(c.n) AS s FROM c GROUP BY c.g",
    "SELECT c.id, t FROM c JOIN t IN c.tags",
    "SELECT VALUE [c.n, t, u] FROM c JOIN t IN c.tags JOIN u IN c.tags WHERE t != u",
    "SELECT VALUE c.long FROM c ORDER BY c.long",
    "SELECT VALUE COUNT(1) FROM c",
]


def document(n):
    long = "x" * 2000 + chr(0x61 + n % 26) + str(n)
    return {"id": f"i{n}", "pk": f"p{n % 9}", "n": n, "g": n % 7, "tags": list(range(n % 5)), "long": long}


def fill(client, docs):
    for n in range(COUNT):
        assert client.post(docs, document(n)).status == 201


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def filled(request, client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": str(request.param)})
    fill(client, coll.docs)
    return coll


def in_range(id):
    return {"x-ms-documentdb-partitionkeyrangeid": id}


def inside(token):
    """What is inside the JSON of a token, or the token."""
    return json.loads(token)["token"] if token and token.startswith("{") else token


def first_token(client, docs, query, size=2, headers=None):
    return ask(client, docs, query, {"x-ms-max-item-count": str(size)} | (headers or {})).continuation


@pytest.mark.parametrize("query", QUERIES)
def test_pages_add_up(client, filled, query):
    """However large they are, and in every scope."""
    scopes = [{}, pk("p3")] + [
        {"x-ms-documentdb-partitionkeyrangeid": item["id"]} for item in ranges(client, filled.path)
    ]
    for scope in scopes:
        whole = rows(client, filled.docs, query, scope, size=1000)
        for size in (1, 3, 29, 60, -1):
            assert rows(client, filled.docs, query, scope, size=size) == whole


def test_orders_are_orders(client, filled):
    for direction, step in (("ASC", 1), ("DESC", -1)):
        found = rows(client, filled.docs, f"SELECT VALUE c.n FROM c ORDER BY c.n {direction}", size=3)
        assert found == list(range(COUNT))[::step]
        found = rows(client, filled.docs, f"SELECT VALUE c.long FROM c ORDER BY c.long {direction}", size=3)
        assert found == sorted((document(n)["long"] for n in range(COUNT)), reverse=step < 0)
        found = rows(client, filled.docs, f"SELECT c.g, c.id, c._rid FROM c ORDER BY c.g {direction}", size=4)
        assert [row["g"] for row in found] == sorted((n % 7 for n in range(COUNT)), reverse=step < 0)
        assert len({row["id"] for row in found}) == COUNT


@pytest.mark.parametrize("query", QUERIES[:-1])
def test_the_last_page_has_no_token(client, filled, query):
    for scope in [in_range(item["id"]) for item in ranges(client, filled.path)]:
        whole = rows(client, filled.docs, query, scope)
        answer = ask(client, filled.docs, query, scope | {"x-ms-max-item-count": str(len(whole) + 1)})
        assert len(answer.json["Documents"]) == len(whole) and answer.continuation is None


@pytest.mark.parametrize("query", QUERIES[:-1])
def test_damaged_tokens(client, filled, query):
    token = inside(first_token(client, filled.docs, query))
    assert token
    damage = random.Random(query)
    bad = [
        "x",
        "!",
        "null",
        "{}",
        "[]",
        "0",
        token[1:],
        token[:-1],
        token + "A",
        token * 2,
        token.swapcase(),
        "A" * 900,
        "é",
        "+RID:~x#RT:1",
    ]
    for _ in range(30):
        at = damage.randrange(len(token))
        letter = damage.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        bad.append(token[:at] + letter + token[at + 1 :])
    for text in bad:
        if text == token:
            continue
        answer = ask(client, filled.docs, query, {"x-ms-continuation": text.encode()})
        assert answer.status == 400, (text, answer)
    assert ask(client, filled.docs, query, {"x-ms-continuation": token}).status == 200


PLAIN = ["SELECT * FROM c", "SELECT VALUE c.n FROM c WHERE c.n >= 7", "SELECT c.id, t FROM c JOIN t IN c.tags"]


@pytest.mark.parametrize("query", PLAIN)
def test_a_query_without_a_plan_has_a_json_token(client, filled, query):
    """A page is of one partition, and the token says in which the next one is."""
    whole = rows(client, filled.docs, query)
    by_range = {item["id"]: rows(client, filled.docs, query, in_range(item["id"])) for item in ranges(client, filled.path)}
    bounds = [(item["minInclusive"], item["maxExclusive"]) for item in ranges(client, filled.path)]
    assert sum(by_range.values(), []) == whole
    found, token, size = [], None, {"x-ms-max-item-count": "5"}
    while True:
        answer = ask(client, filled.docs, query, size | {"x-ms-continuation": token})
        assert answer.status == 200, answer
        page = answer.json["Documents"]
        assert any(all(row in part for row in page) for part in by_range.values())
        found += page
        if answer.continuation is None:
            break
        parsed = json.loads(answer.continuation)
        assert list(parsed) == ["token", "range"] and list(parsed["range"]) == ["min", "max"]
        # As it was given, or what is inside.
        token = answer.continuation if len(found) % 2 else parsed["token"]
        assert (parsed["range"]["min"], parsed["range"]["max"]) in bounds
    assert found == whole
    # Who names a key or a range, or asks for what must be merged, gets none of that.
    for headers, text in [(pk("p3"), query), (in_range("0"), query), ({}, QUERIES[2]), ({}, QUERIES[9])]:
        token = ask(client, filled.docs, text, {"x-ms-max-item-count": "1"} | headers).continuation
        assert token and not token.startswith("{")


def test_a_token_that_has_no_room(client, filled):
    limit = {"x-ms-documentdb-responsecontinuationtokenlimitinkb": "0"}
    refused = ask(client, filled.docs, "SELECT * FROM c", limit | {"x-ms-max-item-count": "1"})
    assert refused.status == 400, refused
    assert "continuation token limit specified is not large enough" in refused.message
    assert ask(client, filled.docs, "SELECT * FROM c", limit | pk("p3")).status == 200


def test_foreign_tokens(client, db, filled):
    """Of another query, other parameters, another collection, another feed."""
    query, parameters = "SELECT * FROM c WHERE c.n >= @from", {"from": 3}
    size = {"x-ms-max-item-count": "2"}
    token = ask(client, filled.docs, query, size, parameters).continuation
    held = {"x-ms-continuation": token}
    assert ask(client, filled.docs, query, size | held, parameters).status == 200
    # The size of a page is free to change.
    assert ask(client, filled.docs, query, held, parameters).status == 200
    assert ask(client, filled.docs, query, held, {"from": 4}).status == 400
    assert ask(client, filled.docs, query, held, {"from": 3, "more": 1}).status == 400
    assert ask(client, filled.docs, query + " ", held, parameters).status in (200, 400)
    assert ask(client, filled.docs, "SELECT * FROM c", held).status == 400
    other = db.collection()
    assert ask(client, other.docs, query, held, parameters).status == 400
    assert ask(client, "/dbs", "SELECT * FROM c", held).status == 400
    assert client.get(filled.docs, held).status == 400
    feed = client.get(filled.docs, size).continuation
    assert ask(client, filled.docs, "SELECT * FROM c", {"x-ms-continuation": feed}).status == 400


@pytest.mark.parametrize("query", QUERIES)
def test_tokens_are_short(client, filled, query):
    limit = {"x-ms-documentdb-responsecontinuationtokenlimitinkb": "1"}
    assert rows(client, filled.docs, query, limit, size=1) == rows(client, filled.docs, query)


@pytest.mark.parametrize("order", ["", "ORDER BY c.n", "ORDER BY c.n DESC"])
def test_writes_between_pages(client, db, order):
    """What was there all the time comes once, what was deleted before its turn does not."""
    coll = db.collection(headers={"x-ms-offer-throughput": "30000"})
    fill(client, coll.docs)
    query, seen, token, gone = f"SELECT * FROM c {order}", [], None, set()
    for step in range(1000):
        answer = ask(client, coll.docs, query, {"x-ms-max-item-count": "4", "x-ms-continuation": token})
        assert answer.status == 200, answer
        page = answer.json["Documents"]
        assert not gone & {item["id"] for item in page}
        seen += [item["id"] for item in page]
        token = answer.continuation
        if token is None:
            break
        # The last one seen, on which the token may stand; and one that is still to come.
        last = page[-1]
        assert client.delete(f"{coll.docs}/{last['id']}", pk(last["pk"])).status == 204
        coming = [n for n in range(COUNT) if f"i{n}" not in seen and f"i{n}" not in gone]
        if coming and step % 2:
            n = coming[len(coming) // 2]
            assert client.delete(f"{coll.docs}/i{n}", pk(f"p{n % 9}")).status == 204
            gone.add(f"i{n}")
        new = {"id": f"new-{step}", "pk": f"p{step % 9}", "n": step * 3}
        assert client.post(coll.docs, new).status == 201
    old = [name for name in seen if name.startswith("i")]
    assert sorted(old) == sorted({f"i{n}" for n in range(COUNT)} - gone)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_after_a_restart(tmp_path, end):
    with Server(data_dir=tmp_path / "data") as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}, {"x-ms-offer-throughput": "30000"})
        docs = "/dbs/d/colls/c/docs"
        fill(client, docs)
        whole = {query: rows(client, docs, query) for query in QUERIES}
        tokens = {query: first_token(client, docs, query, 2) for query in QUERIES}
        getattr(server, end)()
        server.start()
        client = Client(server.port)
        for query in QUERIES:
            assert rows(client, docs, query) == whole[query]
            if tokens[query]:
                rest = rows(client, docs, query, {"x-ms-continuation": tokens[query]}, size=3)
                assert rest == whole[query][2:]
        client.close()


def test_a_page_is_four_megabytes_at_most(client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": "30000"})
    for n in range(12):
        item = {"id": str(n), "pk": str(n % 5), "n": n, "text": chr(0x41 + n) * 1_000_000}
        assert client.post(coll.docs, item).status == 201
    for query in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT c.n, c.text FROM c ORDER BY c.n DESC"):
        found, token, sizes = [], None, []
        while True:
            answer = ask(client, coll.docs, query, CROSS | {"x-ms-max-item-count": "-1", "x-ms-continuation": token})
            assert answer.status == 200
            page = answer.json["Documents"]
            assert page and len(answer.body) < 4 * 1024 * 1024 + 2048
            assert all(item["text"] == chr(0x41 + item["n"]) * 1_000_000 for item in page)
            sizes.append(len(page))
            found += [item["n"] for item in page]
            if (token := answer.continuation) is None:
                break
        assert sizes == [4, 4, 4]
        assert sorted(found) == list(range(12))
        if "ORDER" in query:
            assert found == sorted(found, reverse="DESC" in query)
