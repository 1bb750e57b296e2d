"""Every resource by name and by resource id, and the many ways to write a path."""

import base64

import pytest

from http_client import pk


@pytest.fixture(scope="module")
def doc(client, coll):
    made = client.post(coll.docs, {"id": "one", "pk": "a"}, pk("a"))
    assert made.status == 201, made
    return made.json


def rid_bytes(rid):
    return base64.b64decode(rid.replace("-", "/"))


def test_rids_contain_the_rids_of_their_owners(client, coll, db, doc):
    database, collection, document = map(rid_bytes, (db.rid, coll.rid, doc["_rid"]))
    assert (len(database), len(collection), len(document)) == (4, 8, 16)
    assert collection[:4] == database and document[:8] == collection
    assert collection[4] & 0x80
    assert document[15] >> 4 == 0
    for item in client.get(f"{coll.path}/pkranges").json["PartitionKeyRanges"]:
        own = rid_bytes(item["_rid"])
        assert len(own) == 16 and own[:8] == collection and own[15] >> 4 == 5


def test_self_links_are_built_from_rids(client, coll, db, doc):
    assert db.definition["_self"] == f"dbs/{db.rid}/"
    assert coll.definition["_self"] == f"dbs/{db.rid}/colls/{coll.rid}/"
    assert doc["_self"] == f"dbs/{db.rid}/colls/{coll.rid}/docs/{doc['_rid']}/"
    ranges = client.get(f"{coll.path}/pkranges").json["PartitionKeyRanges"]
    for item in ranges:
        assert item["_self"] == f"dbs/{db.rid}/colls/{coll.rid}/pkranges/{item['_rid']}/"


def test_self_links_can_be_read(client, coll, db, doc):
    assert client.get("/" + db.definition["_self"]).json == db.definition
    assert client.get("/" + coll.definition["_self"]).json == coll.definition
    assert client.get("/" + doc["_self"], pk("a")).json == doc
    for offer in client.get("/offers").json["Offers"]:
        assert client.get("/" + offer["_self"]).json == offer


def test_feeds_by_rid_are_the_feeds_by_name(client, coll, db, doc):
    own = f"/dbs/{db.rid}/colls/{coll.rid}"
    for by_rid, by_name in [
        (f"/dbs/{db.rid}/colls", f"{db.path}/colls"),
        (f"{own}/docs", coll.docs),
        (f"{own}/pkranges", f"{coll.path}/pkranges"),
    ]:
        answer = client.get(by_rid)
        assert answer.status == 200
        assert answer.json == client.get(by_name).json


def test_a_document_lives_through_rids_alone(client, db, name):
    coll = db.collection()
    docs = f"/dbs/{db.rid}/colls/{coll.rid}/docs"
    made = client.post(docs, {"id": name, "pk": 1}, pk(1))
    assert made.status == 201
    path = f"{docs}/{made.json['_rid']}"
    assert client.get(path, pk(1)).json == made.json
    replaced = client.put(path, {"id": name, "pk": 1, "v": 2}, pk(1))
    assert replaced.status == 200
    assert replaced.json["_rid"] == made.json["_rid"] and replaced.json["v"] == 2
    assert client.get(f"{coll.docs}/{name}", pk(1)).json == replaced.json
    assert client.delete(path, pk(1)).status == 204
    assert client.get(path, pk(1)).status == 404
    assert client.get(f"{coll.docs}/{name}", pk(1)).status == 404


def test_a_collection_lives_through_rids_alone(client, db, name):
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    made = client.post(f"/dbs/{db.rid}/colls", {"id": name, "partitionKey": key})
    assert made.status == 201
    path = f"/dbs/{db.rid}/colls/{made.json['_rid']}"
    body = {"id": name, "partitionKey": key, "defaultTtl": 100}
    assert client.put(path, body).json["defaultTtl"] == 100
    assert client.get(f"{db.path}/colls/{name}").json["defaultTtl"] == 100
    assert client.delete(path).status == 204
    assert client.get(f"{db.path}/colls/{name}").status == 404


def test_a_database_is_deleted_by_rid(client, name):
    made = client.post("/dbs", {"id": name}).json
    assert client.delete(f"/dbs/{made['_rid']}").status == 204
    assert client.get(f"/dbs/{name}").status == 404
    assert client.get(f"/dbs/{made['_rid']}").status == 404


def test_rids_of_others_are_not_found(client, coll, db, doc):
    other = db.collection()
    tail = f"docs/{doc['_rid']}"
    assert client.get(f"/dbs/{db.rid}/colls/{other.rid}/{tail}", pk("a")).status == 404
    assert client.get(f"/dbs/AAAAAQ==/colls/{coll.rid}/{tail}", pk("a")).status == 404
    assert client.get(f"/dbs/{db.rid}/colls/{coll.rid}/docs/{coll.rid}", pk("a")).status == 404
    # The right document under the wrong key.
    assert client.get("/" + doc["_self"], pk("b")).status == 404


@pytest.mark.parametrize("shape", ["{}/", "/{}", "/{}/", "{}//"])
def test_slashes_at_either_end(client, coll, doc, shape):
    for path in (coll.path, coll.docs, f"{coll.path}/pkranges", f"{coll.docs}/one"):
        answer = client.get(shape.format(path), pk("a"))
        assert answer.status == 200, (shape.format(path), answer)


def test_trailing_slashes_on_writes(client, coll, name):
    """Python ends nearly every path with a slash."""
    assert client.post(f"{coll.docs}/", {"id": name, "pk": "a"}, pk("a")).status == 201
    path = f"{coll.docs}/{name}/"
    assert client.put(path, {"id": name, "pk": "a", "v": 1}, pk("a")).status == 200
    assert client.delete(path, pk("a")).status == 204


@pytest.mark.parametrize(
    "id, written",
    [
        ("with space", "with%20space"),
        ("plus+plus", "plus+plus"),
        ("plus+escaped", "plus%2Bescaped"),
        ("percent%20", "percent%2520"),
        ("semi;colon,comma", "semi;colon,comma"),
        ("a=b&c", "a%3Db%26c"),
        ("quote'\"", "quote%27%22"),
        ("ü€𝄞", "%C3%BC%E2%82%AC%F0%9D%84%9E"),
        ("lower-hex-ü", "lower-hex-%c3%bc"),
        ("all", "%61%6c%6c"),
        ("dots..", "dots.."),
        ("(parens)[b]{c}|~^`<>", "%28parens%29%5Bb%5D%7Bc%7D%7C~%5E%60%3C%3E"),
        ("@:$!*", "@:$!*"),
    ],
)
def test_escapes_in_ids(client, coll, id, written):
    assert client.post(coll.docs, {"id": id, "pk": "esc"}, pk("esc")).status == 201
    answer = client.get(f"{coll.docs}/{written}", pk("esc"))
    assert answer.status == 200, answer
    assert answer.json["id"] == id
    assert client.delete(f"{coll.docs}/{written}", pk("esc")).status == 204


def test_names_of_databases_and_collections_are_escaped_too(client, name):
    id = f"dä ta+{name}"
    made = client.post("/dbs", {"id": id})
    assert made.status == 201
    path = f"/dbs/d%C3%A4%20ta+{name}"
    body = {"id": "ço ll", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
    assert client.post(f"{path}/colls", body).status == 201
    made = client.post(f"{path}/colls/%C3%A7o%20ll/docs", {"id": "x", "pk": 1}, pk(1))
    assert made.status == 201
    assert made.headers["x-ms-alt-content-path"] == f"dbs/d%C3%A4%20ta%2B{name}/colls/%C3%A7o%20ll" or (
        made.headers["x-ms-alt-content-path"] == f"{path[1:]}/colls/%C3%A7o%20ll"
    )
    assert client.delete(path).status == 204


@pytest.mark.parametrize("segment", ["bad%ff%fe", "%C3", "nul%00", "%ED%A0%80", "%C0%80"])
def test_escapes_that_are_no_text(client, coll, segment):
    answer = client.get(f"{coll.docs}/{segment}", pk("a"))
    assert answer.status == 400, answer


@pytest.mark.parametrize("segment", ["%", "%2", "%zz"])
def test_a_percent_sign_that_is_no_escape(client, coll, segment):
    """It stands for itself."""
    assert client.get(f"{coll.docs}/{segment}", pk("a")).status == 404
    assert client.post(coll.docs, {"id": segment, "pk": "a"}, pk("a")).status == 201
    assert client.get(f"{coll.docs}/{segment}", pk("a")).json["id"] == segment
    assert client.get(f"{coll.docs}/{segment.replace('%', '%25')}", pk("a")).json["id"] == segment


def test_names_are_case_sensitive(client, coll):
    assert client.get(coll.path.upper().replace("/DBS/WIRE/COLLS", "/dbs/wire/colls")).status == 404
    assert client.get("/dbs/WIRE").status == 404


def test_owners_that_are_absent(client, db):
    for path in ("/dbs/none/colls", "/dbs/none/colls/c/docs", f"{db.path}/colls/none/docs",
                 f"{db.path}/colls/none/pkranges", f"{db.path}/colls/none/docs/x"):  # fmt: skip
        assert client.get(path, pk("a")).status == 404, path
    made = client.post(f"{db.path}/colls/none/docs", {"id": "x", "pk": "a"}, pk("a"))
    assert made.status == 404
    key = {"paths": ["/pk"], "kind": "Hash"}
    assert client.post("/dbs/none/colls", {"id": "c", "partitionKey": key}).status == 404


def test_a_query_string_changes_nothing(client, coll):
    assert client.get(f"{coll.path}?x=1&y=/dbs/other").json == coll.definition
