"""Time to live on the wire: the words of refusals, and documents that are gone in their second."""

import time

import pytest

from http_client import UPSERT, pk

QUERY = {"x-ms-documentdb-isquery": "true", "content-type": "application/query+json"}
WORDS = "Ensure to provide a nonzero positive integer less than or equal to '2147483647'"


@pytest.fixture(scope="module")
def lived(db):
    """A collection in which documents live for as long as they say."""
    return db.collection(defaultTtl=-1)


def rows(client, coll, text, key):
    answer = client.post(coll.docs, {"query": text}, QUERY | pk(key))
    assert answer.status == 200, answer
    return answer.json["Documents"]


def until_gone(client, coll, document):
    """Waits for the second in which a document is gone."""
    end = document["_ts"] + document["ttl"]
    while (left := end - time.time()) > 0:
        time.sleep(left)


@pytest.mark.parametrize("ttl", ["null", "0", "-2", "1.5", '"5"', "true", "[]", "{}", "2147483648", "1e99"])
def test_bad_times(client, lived, name, ttl):
    made = client.post(lived.docs, f'{{"id":"{name}","pk":"a","ttl":{ttl}}}', pk("a"))
    assert made.status == 400 and WORDS in made.json["message"], made
    made = client.post(lived.docs, {"id": name, "pk": "a"}, pk("a"))
    assert made.status == 201
    changed = client.put(f"{lived.docs}/{name}", f'{{"id":"{name}","pk":"a","ttl":{ttl}}}', pk("a"))
    assert changed.status == 400 and WORDS in changed.json["message"], changed


@pytest.mark.parametrize("ttl", ["null", "0", "-2", "1.5", '"5"', "true", "2147483648"])
def test_bad_defaults(client, db, name, ttl):
    key = '{"paths":["/pk"],"kind":"Hash","version":2}'
    body = f'{{"id":"{name}","partitionKey":{key},"defaultTtl":{ttl}}}'
    assert client.post(f"{db.path}/colls", body).status == 400


def test_ttl_counts_only_where_it_is_on(client, coll, name):
    """It must be right wherever it is."""
    made = client.post(coll.docs, {"id": name, "pk": "a", "ttl": 1}, pk("a"))
    assert made.status == 201 and made.json["ttl"] == 1
    until_gone(client, coll, made.json)
    assert client.get(f"{coll.docs}/{name}", pk("a")).status == 200
    for ttl in ("anything", 0, None):
        made = client.post(coll.docs, {"id": f"{name}-x", "pk": "a", "ttl": ttl}, pk("a"))
        assert made.status == 400 and WORDS in made.json["message"], made


def test_gone_in_its_second(client, lived, name):
    key = name
    made = client.post(lived.docs, {"id": name, "pk": key, "ttl": 2, "n": 1}, pk(key)).json
    link = f"{lived.docs}/{name}"
    assert client.get(link, pk(key)).status == 200
    until_gone(client, lived, made)
    assert client.get(link, pk(key)).status == 404
    assert client.delete(link, pk(key)).status == 404
    assert client.put(link, {"id": name, "pk": key}, pk(key)).status == 404
    assert client.get(lived.docs, pk(key)).json["Documents"] == []
    for text, expected in [
        ("SELECT * FROM c", []),
        ("SELECT VALUE COUNT(1) FROM c", [0]),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n = 1", [0]),
        ("SELECT VALUE c.id FROM c ORDER BY c.n", []),
    ]:
        assert rows(client, lived, text, key) == expected, text
    again = client.post(lived.docs, {"id": name, "pk": key, "ttl": -1}, pk(key) | UPSERT)
    assert again.status == 201 and again.json["_rid"] != made["_rid"]


def test_the_default_can_change(client, db, name):
    coll = db.collection()
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a")).json
    until_gone(client, coll, made | {"ttl": 1})
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    for ttl, expected in [({"defaultTtl": 1}, 0), ({}, 1), ({"defaultTtl": 10000}, 1)]:
        body = {"id": coll.name, "partitionKey": key} | ttl
        replaced = client.put(coll.path, body)
        assert replaced.status == 200 and replaced.json.get("defaultTtl") == ttl.get("defaultTtl")
        found = len(client.get(coll.docs, pk("a")).json["Documents"])
        # What the sweep has reached does not come back.
        assert found == expected or expected == 1 and found == 0
