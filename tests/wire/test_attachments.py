"""Attachments of the 2015 API, and media beside them."""

import json

import pytest

from http_client import UPSERT, Client, is_rid, pk, signature, token
from server import Server, verify

OLD = "2015-12-16"
BODY = {"id": "a", "contentType": "text/plain", "media": "http:\\\\xstore.", "Author": "me", "n": [1.5, None]}


@pytest.fixture
def doc(client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    assert made.status == 201
    return f"{coll.docs}/{name}"


def upload(client, doc, slug, content, kind="text/plain", **more):
    headers = pk("a") | {"Slug": slug, "Content-Type": kind} | more
    return client.post(f"{doc}/attachments", content, headers)


def media(client, link, method="GET", content=None, **headers):
    """Media are signed by the rid of their attachment, and answered as they are."""
    from email.utils import formatdate

    date = formatdate(usegmt=True)
    sig = signature(client.key, method, "media", link.rpartition("/")[2].lower(), date)
    sent = {"x-ms-date": date, "x-ms-version": OLD, "authorization": token(sig)} | headers
    return client.send(method, f"/{link}", content, sent)


def test_a_description_lives(client, coll, doc):
    path = f"{doc}/attachments"
    made = client.post(path, BODY, pk("a"))
    assert made.status == 201, made
    assert BODY.items() <= made.json.items()
    owner = client.get(doc, pk("a")).json
    assert made.json["_self"] == f"{owner['_self']}attachments/{made.json['_rid']}/"
    assert len(made.json["_rid"]) == 28 and made.etag == made.json["_etag"]
    assert made.session and made.charge > 1
    for link in (f"{path}/a", f"/{made.json['_self'].rstrip('/')}", f"{path}/{made.json['_rid']}"):
        read = client.get(link, pk("a"))
        assert (read.status, read.json, read.etag) == (200, made.json, made.etag), link
    assert client.get(f"{path}/a", pk("a") | {"If-None-Match": made.etag}).status == 304
    assert client.post(path, BODY, pk("a")).status == 409
    upserted = client.post(path, BODY | {"n": 2}, pk("a") | UPSERT)
    assert (upserted.status, upserted.json["n"], upserted.json["_rid"]) == (200, 2, made.json["_rid"])
    assert client.put(f"{path}/a", BODY, pk("a") | {"If-Match": made.etag}).status == 412
    replaced = client.put(f"{path}/a", BODY | {"Author": "you"}, pk("a") | {"If-Match": upserted.etag})
    assert (replaced.status, replaced.json["Author"]) == (200, "you")
    assert client.post(path, BODY | {"id": "b"}, pk("a") | UPSERT).status == 201
    feed = client.get(path, pk("a")).json
    assert (feed["_rid"], feed["_count"]) == (owner["_rid"], 2)
    assert [item["id"] for item in feed["Attachments"]] == ["a", "b"]
    first = client.get(path, pk("a") | {"x-ms-max-item-count": "1"})
    rest = client.get(path, pk("a") | {"x-ms-continuation": first.continuation})
    assert [item["id"] for item in rest.json["Attachments"]] == ["b"]
    query = {"query": "SELECT a.id FROM a WHERE a.Author = @who", "parameters": [{"name": "@who", "value": "you"}]}
    rows = client.post(path, query, pk("a") | {"x-ms-documentdb-isquery": "true"}).json
    assert rows["Attachments"] == [{"id": "a"}]
    assert client.delete(f"{path}/a", pk("a")).status == 204
    assert client.get(f"{path}/a", pk("a")).status == 404
    # The document is as it was.
    assert client.get(doc, pk("a")).json == owner


@pytest.mark.parametrize(
    "body", [b"", b"[]", {"id": "a"}, BODY | {"id": None}, BODY | {"media": 5}, BODY | {"contentType": None},
             BODY | {"id": "a/b"}, BODY | {"long": "x" * 70_000}], ids=lambda body: str(body)[:40],
)  # fmt: skip
def test_bad_descriptions(client, doc, body):
    answer = client.post(f"{doc}/attachments", body, pk("a"))
    assert answer.status in (400, 413), answer
    assert client.get(f"{doc}/attachments", pk("a")).json["_count"] == 0


def test_where_there_is_no_document(client, coll):
    path = f"{coll.docs}/nowhere/attachments"
    for answer in (client.get(path, pk("a")), client.post(path, BODY, pk("a")), client.get(f"{path}/a", pk("a"))):
        assert answer.status == 404, answer
    assert client.get(f"{coll.docs}/nowhere/attachments").status == 400, "a key must be named"
    assert client.put(path, BODY, pk("a")).status == 405
    assert client.post(f"{path}/a", BODY, pk("a")).status == 405


@pytest.mark.parametrize(
    "content", [b"", b"text", b"\x80\xed\x0f\x02", bytes(range(256)) * 4096, b'{"a":1}'], ids=len,
)  # fmt: skip
def test_media_are_what_they_were(client, doc, content):
    made = upload(client, doc, "m", content, "application/json" if content[:1] == b"{" else "image/png")
    assert made.status == 201, made
    assert made.json["id"] == "m" and made.json["media"] == f"/media/{made.json['_rid']}"
    got = media(client, made.json["media"])
    assert (got.status, got.body) == (200, content)
    if content:
        assert got.headers["content-type"] == made.json["contentType"]
    assert got.headers["etag"] == made.etag
    head = media(client, made.json["media"], "HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(content)))


def test_media_change(client, doc):
    made = upload(client, doc, "m", b"one").json
    link = made["media"]
    put = media(client, link, "PUT", b"two", **{"Content-Type": "text/html", "Slug": "ignored"})
    assert put.status == 200, put
    assert json.loads(put.body)["contentType"] == "text/html"
    assert media(client, link).body == b"two"
    # A description that comes back with its link keeps the media.
    path = f"{doc}/attachments/m"
    assert client.put(path, made | {"Author": "me"}, pk("a")).json["media"] == link
    assert media(client, link).body == b"two"
    assert upload(client, doc, "m", b"three").status == 409
    assert upload(client, doc, "m", b"three", **UPSERT).status == 200
    assert media(client, link).body == b"three"
    assert media(client, link, "DELETE").status == 405
    assert client.delete(path, pk("a")).status == 204
    assert media(client, link).status == 404
    assert media(client, link, "PUT", b"x", **{"Content-Type": "text/html"}).status == 404


def test_bad_media(client, doc):
    assert upload(client, doc, "m", b"x", "junt/test").status == 400
    assert upload(client, doc, "a/b", b"x").status == 400
    assert upload(client, doc, "m", b"x" * (4 << 20)).status == 201
    unnamed = client.post(f"{doc}/attachments", b"x", pk("a") | {"Content-Type": "text/plain"})
    assert unnamed.json["id"] == unnamed.json["_rid"]
    for link in ("/media/x", "/media/obLD1IAAAAEBAAAAAAAAAAAAAAE="):
        assert media(client, link).status == 404
    other = Client(client.port, key="AAAA")
    assert media(other, unnamed.json["media"]).status == 401
    other.close()


def test_they_go_with_their_document(client, doc):
    link = upload(client, doc, "m", b"x").json["media"]
    body = client.get(doc, pk("a")).json
    assert client.put(doc, body | {"v": 2}, pk("a")).status == 200
    assert media(client, link).status == 200
    assert client.delete(doc, pk("a")).status == 204
    assert media(client, link).status == 404
    assert client.post(doc.rpartition("/")[0], body, pk("a")).status == 201
    assert client.get(f"{doc}/attachments", pk("a")).json["_count"] == 0


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_new_life(tmp_path, end):
    with Server(data_dir=tmp_path / "data") as server:
        client = Client(server.port, version=OLD)
        client.post("/dbs", {"id": "d"})
        # A collection of the time: no partition key, and none is named.
        assert client.post("/dbs/d/colls", {"id": "c"}).status == 201
        doc = "/dbs/d/colls/c/docs/x"
        assert client.post("/dbs/d/colls/c/docs", {"id": "x"}).status == 201
        made = client.post(f"{doc}/attachments", b"media", {"Slug": "m", "Content-Type": "text/plain"})
        assert made.status == 201, made
        assert client.post(f"{doc}/attachments", BODY).status == 201
        feed = client.get(f"{doc}/attachments").json
        getattr(server, end)()
        assert verify(tmp_path / "data")[0] == 0
        server.start()
        client = Client(server.port, version=OLD)
        assert client.get(f"{doc}/attachments").json == feed
        assert media(client, made.json["media"]).body == b"media"
        assert not is_rid(made.json["media"])
