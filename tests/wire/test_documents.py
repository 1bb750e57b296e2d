"""Documents: what is stored comes back, and only the right conditions change it."""

import json
import urllib.parse
from email.utils import formatdate

import pytest

from http_client import UNDEFINED, UPSERT, VERSION, Answer, pk, signature, token

SYSTEM = ["_rid", "_self", "_etag", "_attachments", "_ts"]


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"D","pk":"bytes"}',
        '{"pk":"bytes","z":1,"a":2,"id":"D","m":3}',
        '{"id":"D","pk":"bytes","n":[1.0,-0.0,0.0,-0,1e5,1E+5,1e-5,1.50,100000000000000000000]}',
        '{"id":"D","pk":"bytes","n":[12345678901234567890,9007199254740993,-9223372036854775808]}',
        '{"id":"D","pk":"bytes","n":[0.1,3.141592653589793238462643383279,1e308,5e-324]}',
        '{"id":"D","pk":"bytes","s":"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\é€𝄞\\ud834\\udd1e"}',
        '{"id":"D","pk":"bytes","s":["","\\u007f","\\u2028","\u2028\u2029\ufeff\uffff"]}',
        '{"id":"D","pk":"bytes","ключ":"значение","\\u006b":1,"":2," ":3}',
        '{"id":"D","pk":"bytes","e":[{},[],[[]],[{}],null,true,false]}',
        '{"id":"D","pk":"bytes","__proto__":1,"constructor":2,"toString":3}',
        '{"id":"D","pk":"bytes","ID":1,"Id":2,"_lsn":7,"_x":8}',
    ],
)
def test_bytes_come_back(client, coll, text):
    made = client.post(coll.docs, text, pk("bytes") | UPSERT)
    assert made.status in (200, 201), made
    read = client.get(f"{coll.docs}/D", pk("bytes"))
    feed = client.get(coll.docs, pk("bytes"))
    user = text.encode().rstrip()[:-1].rstrip()
    for body in (made.body, read.body):
        assert body.startswith(user), body
        assert body[len(user.rstrip()) :].lstrip().startswith(b',"_rid":')
        assert list(json.loads(body))[-5:] == SYSTEM
    assert made.body == read.body
    assert read.body in feed.body


def test_white_space_outside_strings_is_not_stored(client, coll, name):
    text = f'\n{{"id" : "{name}" ,\n\t"pk":\r\n"a" , " x " : [ 1.0 , {{ "y":" z " }} ] }} '
    compact = f'{{"id":"{name}","pk":"a"," x ":[1.0,{{"y":" z "}}],"_rid":'.encode()
    for answer in (
        client.post(coll.docs, text, pk("a")),
        client.put(f"{coll.docs}/{name}", text, pk("a")),
        client.get(f"{coll.docs}/{name}", pk("a")),
    ):
        assert answer.body.startswith(compact), answer


def test_system_properties_keep_their_places(client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a")).json
    sent = {"_etag": 1, "id": name, "_rid": 2, "pk": "a", "_ts": 3, "new": 4}
    replaced = client.put(f"{coll.docs}/{name}", sent, pk("a"))
    assert list(replaced.json) == [*sent, "_self", "_attachments"]
    assert {key: replaced.json[key] for key in ("_rid", "_self")} == {key: made[key] for key in ("_rid", "_self")}
    assert replaced.json["_etag"] == replaced.etag
    # A client that adds to what it has read finds its own order again.
    more = replaced.json | {"last": 5}
    again = client.put(f"{coll.docs}/{name}", more, pk("a"))
    assert list(again.json) == list(more)
    patched = client.request("PATCH", f"{coll.docs}/{name}", [{"op": "set", "path": "/last", "value": 6}], pk("a"))
    assert patched.status == 200 and patched.json["last"] == 6
    assert client.get(f"{coll.docs}/{name}", pk("a")).body == patched.body


def test_system_properties(client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    body = made.json
    assert list(body) == ["id", "pk", *SYSTEM]
    assert body["_self"].endswith(f"/docs/{body['_rid']}/")
    assert body["_etag"] == made.etag and body["_etag"][0] == body["_etag"][-1] == '"'
    assert body["_attachments"] == "attachments/"
    assert isinstance(body["_ts"], int)
    replaced = client.put(f"{coll.docs}/{name}", {"id": name, "pk": "a"}, pk("a")).json
    assert (replaced["_rid"], replaced["_self"]) == (body["_rid"], body["_self"])
    assert replaced["_etag"] != body["_etag"]
    assert replaced["_ts"] >= body["_ts"]


def test_system_properties_of_a_client_are_overwritten(client, coll, name):
    """SDKs send a document back as they read it."""
    mine = {"_rid": "mine", "_self": "mine", "_etag": "mine", "_ts": 1, "_attachments": "mine"}
    body = {"id": name, "_ts": 5, "pk": "a", **mine, "v": 1}
    made = client.post(coll.docs, body, pk("a"))
    assert made.status == 201
    for member in SYSTEM:
        assert made.json[member] not in (5, mine[member])
        assert made.body.count(json.dumps(member).encode()) == 1
    again = client.put(f"{coll.docs}/{name}", made.body, pk("a"))
    assert again.status == 200
    for member in SYSTEM:
        assert again.body.count(json.dumps(member).encode()) == 1
    assert [key for key in again.json if key not in SYSTEM] == ["id", "pk", "v"]


def test_system_properties_by_another_spelling(client, coll, name):
    text = f'{{"id":"{name}","\\u005fetag":"x","_\\u0074s":1,"pk":"a","in":{{"_etag":"mine","_ts":1}}}}'
    made = client.post(coll.docs, text, pk("a"))
    assert made.status == 201
    assert [key for key in made.json if key not in SYSTEM] == ["id", "pk", "in"]
    assert made.json["in"] == {"_etag": "mine", "_ts": 1}
    assert made.json["_etag"] == made.etag
    assert made.body.count(b"u005f") == 0
    assert client.post(coll.docs, {"id": name, "pk": "a"}, pk("a")).status == 409


def test_create_read_replace_delete(client, coll, name):
    path = f"{coll.docs}/{name}"
    assert client.get(path, pk("a")).status == 404
    assert client.put(path, {"id": name, "pk": "a"}, pk("a")).status == 404
    assert client.delete(path, pk("a")).status == 404
    made = client.post(coll.docs, {"id": name, "pk": "a", "v": 1}, pk("a"))
    assert made.status == 201
    again = client.post(coll.docs, {"id": name, "pk": "a", "v": 2}, pk("a"))
    assert again.status == 409
    assert client.get(path, pk("a")).json == made.json
    assert client.put(path, {"id": name, "pk": "a", "v": 3}, pk("a")).json["v"] == 3
    gone = client.delete(path, pk("a"))
    assert (gone.status, gone.body) == (204, b"")
    assert client.get(path, pk("a")).status == 404
    fresh = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    assert fresh.status == 201
    assert fresh.json["_rid"] != made.json["_rid"]


@pytest.mark.parametrize("word", ["true", "True", "TRUE"])
def test_upsert(client, coll, name, word):
    upsert = {"x-ms-documentdb-is-upsert": word}
    made = client.post(coll.docs, {"id": name, "pk": "a", "v": 1}, pk("a") | upsert)
    assert made.status == 201
    again = client.post(coll.docs, {"id": name, "pk": "a", "v": 2}, pk("a") | upsert)
    assert again.status == 200
    assert again.json["v"] == 2 and again.json["_rid"] == made.json["_rid"]
    not_upsert = {"x-ms-documentdb-is-upsert": "False"}
    assert client.post(coll.docs, {"id": name, "pk": "a"}, pk("a") | not_upsert).status == 409


def test_if_match(client, coll, name):
    path = f"{coll.docs}/{name}"
    body = {"id": name, "pk": "a"}
    old = client.post(coll.docs, body, pk("a")).etag
    new = client.put(path, body, pk("a") | {"If-Match": old}).etag
    assert new and new != old
    stale = pk("a") | {"If-Match": old}
    assert client.put(path, body, stale).status == 412
    assert client.post(coll.docs, body, stale | UPSERT).status == 412
    assert client.delete(path, stale).status == 412
    read = client.get(path, pk("a"))
    assert read.etag == new
    # Some clients take the quotes off; `*` is any version.
    for match in (new, "*"):
        answer = client.put(path, body, pk("a") | {"If-Match": match})
        assert answer.status == 200
    bare = answer.etag.strip('"')
    assert client.delete(path, pk("a") | {"If-Match": bare}).status == 204
    assert client.delete(path, pk("a") | {"If-Match": "*"}).status == 404
    assert client.put(path, body, pk("a") | {"If-Match": new}).status == 404
    assert client.post(coll.docs, body, pk("a") | {"If-Match": old} | UPSERT).status == 201


def test_if_none_match(client, coll, name):
    path = f"{coll.docs}/{name}"
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    same = client.get(path, pk("a") | {"If-None-Match": made.etag})
    assert (same.status, same.body) == (304, b"")
    assert same.etag == made.etag
    assert same.session
    assert same.charge > 0
    assert client.get(path, pk("a") | {"If-None-Match": "*"}).status == 304
    changed = client.put(path, {"id": name, "pk": "a", "v": 1}, pk("a"))
    assert client.get(path, pk("a") | {"If-None-Match": made.etag}).json == changed.json
    absent = client.get(f"{path}-absent", pk("a") | {"If-None-Match": made.etag})
    assert absent.status == 404


def test_return_minimal(client, coll, name):
    path = f"{coll.docs}/{name}"
    minimal = pk("a") | {"Prefer": "return=minimal"}
    body = {"id": name, "pk": "a"}
    for write, status in [
        (lambda: client.post(coll.docs, body, minimal), 201),
        (lambda: client.post(coll.docs, body, minimal | UPSERT), 200),
        (lambda: client.put(path, body, minimal), 200),
    ]:
        answer = write()
        assert (answer.status, answer.body) == (status, b"")
        assert answer.etag and answer.session and answer.charge > 1
        assert client.get(path, pk("a")).etag == answer.etag
    # Reads and errors are not cut.
    assert client.get(path, minimal).json["id"] == name
    assert client.post(coll.docs, body, minimal).json["code"] == "Conflict"
    assert client.delete(path, minimal).status == 204
    whole = client.post(coll.docs, body, pk("a") | {"Prefer": "return=representation"})
    assert whole.json["id"] == name


def test_the_same_id_under_two_keys(client, coll, name):
    for key in ("a", "b", 1, 1.5, True, None):
        assert client.post(coll.docs, {"id": name, "pk": key}, pk(key)).status == 201
    assert client.post(coll.docs, {"id": name}, pk(UNDEFINED)).status == 201
    assert client.delete(f"{coll.docs}/{name}", pk("b")).status == 204
    for key in ("a", 1, 1.5, True, None):
        found = client.get(f"{coll.docs}/{name}", pk(key)).json["pk"]
        assert found == key and type(found) is type(key)
    assert "pk" not in client.get(f"{coll.docs}/{name}", pk(UNDEFINED)).json
    assert client.get(f"{coll.docs}/{name}", pk("b")).status == 404


@pytest.mark.parametrize("value", [{}, {"a": 1}, [], ["a"]], ids=str)
def test_objects_and_arrays_count_as_undefined(client, coll, name, value):
    assert client.post(coll.docs, {"id": name, "pk": value}, pk(UNDEFINED)).status == 201
    assert client.get(f"{coll.docs}/{name}", pk(UNDEFINED)).json["pk"] == value
    assert client.get(f"{coll.docs}/{name}", pk(None)).status == 404


def test_a_number_is_the_same_key_however_it_is_written(client, coll, name):
    header = "x-ms-documentdb-partitionkey"
    assert client.post(coll.docs, f'{{"id":"{name}","pk":1.0}}', {header: "[1]"}).status == 201
    for written in ("[1]", "[1.0]", "[ 1e0 ]", "[10e-1]"):
        assert client.get(f"{coll.docs}/{name}", {header: written}).status == 200, written
    # Zero and minus zero hash differently, so they are two keys.
    zero = f"{name}-zero"
    assert client.post(coll.docs, f'{{"id":"{zero}","pk":-0.0}}', {header: "[-0.0]"}).status == 201
    assert client.get(f"{coll.docs}/{zero}", {header: "[-0.0]"}).status == 200


def test_keys_in_the_header_are_escaped_in_any_way(client, coll, name):
    header = "x-ms-documentdb-partitionkey"
    body = {"id": name, "pk": "ключ𝄞"}
    escaped = json.dumps(["ключ𝄞"])
    assert escaped.isascii()
    assert client.post(coll.docs, body, {header: escaped}).status == 201
    assert client.get(f"{coll.docs}/{name}", {header: escaped}).json["pk"] == "ключ𝄞"


def test_the_key_of_the_body_decides(client, coll, name):
    """Without a header the key is taken from the body; a header that differs is refused."""
    assert client.post(coll.docs, {"id": name, "pk": "from-body"}).status == 201
    assert client.get(f"{coll.docs}/{name}", pk("from-body")).status == 200
    for other in ("a", None, UNDEFINED, 1):
        answer = client.post(coll.docs, {"id": f"{name}-2", "pk": "b"}, pk(other))
        assert (answer.status, answer.substatus) == (400, 1001), answer
    answer = client.put(f"{coll.docs}/{name}", {"id": name, "pk": "c"}, pk("from-body"))
    assert (answer.status, answer.substatus) == (400, 1001), answer
    assert client.get(f"{coll.docs}/{name}", pk("from-body")).status == 200


def test_a_replace_with_another_id_renames(client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"})
    client.post(coll.docs, {"id": f"{name}-taken", "pk": "a"})
    old, new = f"{coll.docs}/{name}", f"{coll.docs}/{name}-x"
    body = {"id": f"{name}-x", "pk": "a", "v": 1}
    assert client.put(old, body | {"id": f"{name}-taken"}, pk("a")).status == 409
    assert client.put(old, body, pk("a") | {"If-Match": '"0"'}).status == 412
    answer = client.put(old, body, pk("a") | {"If-Match": made.etag})
    assert answer.status == 200, answer
    assert (answer.json["id"], answer.json["_rid"]) == (f"{name}-x", made.json["_rid"])
    assert client.get(old, pk("a")).status == 404
    assert client.get(new, pk("a")).body == answer.body
    assert client.post(coll.docs, {"id": name, "pk": "a"}).status == 201


@pytest.mark.parametrize("body", [b"", b"{", b"[]", {"pk": "a"}, {"id": "x", "pk": "b"}, {"id": "x", "pk": "a", "ttl": 0}])
def test_what_is_missing_is_told_before_the_body_is_judged(client, coll, name, body):
    missing = client.put(f"{coll.docs}/{name}", body, pk("a"))
    assert (missing.status, missing.substatus) == (404, 0), missing
    client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    assert client.put(f"{coll.docs}/{name}", body, pk("a")).status == 400


def test_a_missing_document_has_no_owner_rid(client, coll, name):
    """.NET tests that: with it, its session container would take the token for the collection's."""
    for verb, body in (("GET", None), ("DELETE", None), ("PUT", {"id": name, "pk": "a"})):
        answer = client.request(verb, f"{coll.docs}/{name}", body, pk("a"))
        assert answer.status == 404 and answer.session, answer
        assert "x-ms-content-path" not in answer.headers
        assert answer.headers["x-ms-alt-content-path"] == coll.path[1:]
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    assert made.headers["x-ms-content-path"] == coll.rid


@pytest.mark.parametrize("id", ["a/b", "/", "a\\b", "a?b", "?", "a#b", "a%2Fb", "a b?c/d#e", "a\tb", "a "])
def test_ids_with_what_ends_a_segment(client, coll, id):
    made = client.post(coll.docs, {"id": id, "pk": "odd"}, pk("odd"))
    assert made.status == 201, made
    path = f"{coll.docs}/{urllib.parse.quote(id, safe='')}"
    read = client.get(path, pk("odd"))
    assert (read.status, read.body) == (200, made.body)
    assert client.put(path, {"id": id, "pk": "odd", "v": 1}, pk("odd")).json["v"] == 1
    assert client.delete(path, pk("odd")).status == 204


def test_a_raw_question_mark_belongs_to_the_id(fresh, coll):
    """.NET does not escape it, and signs what it means."""
    assert fresh.post(coll.docs, {"id": "what?now", "pk": "a"}, pk("a")).status == 201
    date = formatdate(usegmt=True)
    for verb, status in (("GET", 200), ("DELETE", 204)):
        sig = signature(fresh.key, verb, "docs", f"{coll.docs[1:]}/what?now", date)
        connection = fresh.connect()
        headers = pk("a") | {"x-ms-date": date, "authorization": token(sig), "x-ms-version": VERSION}
        connection.request(verb, f"{coll.docs}/what?now", headers=headers)
        assert Answer(connection.getresponse()).check(verb).status == status


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE"])
def test_a_point_operation_needs_a_key(client, coll, name, verb):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    path = f"{coll.docs}/{name}"
    body = {"id": name, "pk": "a"} if verb == "PUT" else None
    if verb != "PUT":
        assert client.request(verb, path, body).status == 400
    assert client.request(verb, path, body, {"x-ms-documentdb-partitionkey": "[]"}).status == 400
    assert client.request(verb, path, body, pk("a", "b")).status == 400
    assert client.get(path, pk("a")).etag == made.etag


def test_a_replace_takes_the_key_from_the_body(client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    replaced = client.put(f"{coll.docs}/{name}", {"id": name, "pk": "a", "v": 1})
    assert replaced.status == 200 and replaced.json["_rid"] == made.json["_rid"]
    assert client.put(f"{coll.docs}/{name}", {"id": name, "pk": "b"}).status == 404


@pytest.mark.parametrize(
    "id", [None, 1, True, "", {}, [], "a\0", "x" * 1024, "é" * 512], ids=repr
)
def test_bad_ids(client, coll, id):
    before = client.get(coll.docs, pk("bad-ids")).json["_count"]
    answer = client.post(coll.docs, {"id": id, "pk": "bad-ids"}, pk("bad-ids"))
    assert answer.status == 400, answer
    assert client.get(coll.docs, pk("bad-ids")).json["_count"] == before


def test_an_id_is_needed(client, coll):
    for headers in ({}, UPSERT):
        assert client.post(coll.docs, {"pk": "a"}, pk("a") | headers).status == 400


@pytest.mark.parametrize("id", ["x" * 1023, "é" * 511, "a b", ".", "..", "-", "a;b", "\u00a0x", "a#b?c", " "])
def test_odd_ids(client, coll, id):
    assert client.post(coll.docs, {"id": id, "pk": "odd"}, pk("odd")).status == 201
    written = urllib.parse.quote(id, safe="")
    assert client.get(f"{coll.docs}/{written}", pk("odd")).json["id"] == id
    assert client.delete(f"{coll.docs}/{written}", pk("odd")).status == 204


def test_the_headers_of_an_answer(client, coll, db, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    path = f"{coll.docs}/{name}"
    for answer in (
        made,
        client.get(path, pk("a")),
        client.put(path, {"id": name, "pk": "a"}, pk("a")),
        client.get(f"{coll.docs}/absent", pk("a")),
        client.delete(path, pk("a")),
    ):
        # SDKs drop session tokens without these two beside them. What is missing has only one.
        assert answer.headers["x-ms-alt-content-path"] == coll.path[1:]
        assert answer.headers.get("x-ms-content-path") == (None if answer.status == 404 else coll.rid)
        assert answer.headers["x-ms-documentdb-partitionkeyrangeid"] == "0"
        assert answer.session.startswith("0:-1#")
        assert int(answer.headers["lsn"]) >= 1
        assert float(answer.headers["x-ms-request-duration-ms"]) >= 0
        assert answer.headers["x-ms-serviceversion"].startswith("version=")
        assert answer.headers["x-ms-schemaversion"]
    assert int(made.headers["x-ms-item-lsn"]) == int(made.headers["lsn"])


def test_the_intended_collection(client, db, coll, name):
    header = "x-ms-cosmos-intended-collection-rid"
    body = {"id": name, "pk": "a"}
    assert client.post(coll.docs, body, pk("a") | {header: coll.rid}).status == 201
    other = db.collection().rid
    for answer in (
        client.post(coll.docs, {"id": "other", "pk": "a"}, pk("a") | {header: other}),
        client.get(f"{coll.docs}/{name}", pk("a") | {header: other}),
        client.delete(f"{coll.docs}/{name}", pk("a") | {header: other}),
        client.get(coll.docs, {header: other}),
    ):
        assert (answer.status, answer.substatus) == (400, 1024), answer
    assert client.get(f"{coll.docs}/{name}", pk("a") | {header: coll.rid}).status == 200


@pytest.fixture(scope="module", params=[-1, 100])
def expiring(db, request):
    return db.collection(defaultTtl=request.param)


@pytest.mark.parametrize("ttl", [0, -2, 1.5, "5", True, 2147483648, None, {}], ids=repr)
def test_a_ttl_that_is_none(client, coll, expiring, name, ttl):
    body = {"id": name, "pk": "a", "ttl": ttl}
    # It must be right even where nothing expires.
    for place in (expiring, coll):
        for headers in ({}, UPSERT):
            assert client.post(place.docs, body, pk("a") | headers).status == 400
        assert client.get(f"{place.docs}/{name}", pk("a")).status == 404


@pytest.mark.parametrize("ttl", [-1, 1000000, 2147483647])
def test_a_ttl_is_stored(client, coll, expiring, name, ttl):
    for place in (coll, expiring):
        made = client.post(place.docs, {"id": name, "pk": "a", "ttl": ttl}, pk("a"))
        assert made.status == 201
        assert client.get(f"{place.docs}/{name}", pk("a")).json["ttl"] == ttl


def test_ids_of_key_paths_in_depth(client, db, name):
    deep = db.collection(partitionKey={"paths": ["/a/b"], "kind": "Hash", "version": 2})
    assert client.post(deep.docs, {"id": name, "a": {"b": "x"}}, pk("x")).status == 201
    assert client.get(f"{deep.docs}/{name}", pk("x")).status == 200
    assert client.post(deep.docs, {"id": f"{name}-2", "a": 5}, pk(UNDEFINED)).status == 201
    assert client.post(deep.docs, {"id": f"{name}-3", "a": {"b": None}}, pk(None)).status == 201
    quoted = db.collection(partitionKey={"paths": ['/"a b"'], "kind": "Hash", "version": 2})
    assert client.post(quoted.docs, {"id": name, "a b": "x"}, pk("x")).status == 201
    by_id = db.collection(partitionKey={"paths": ["/id"], "kind": "Hash", "version": 2})
    assert client.post(by_id.docs, {"id": name}).status == 201
    assert client.get(f"{by_id.docs}/{name}", pk(name)).status == 200
    assert client.post(by_id.docs, {"id": name}, pk("other")).substatus == 1001
