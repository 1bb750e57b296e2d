"""Databases."""

import pytest


def test_a_database_lives(client, name):
    made = client.post("/dbs", {"id": name})
    assert made.status == 201
    body = made.json
    assert list(body) == ["id", "_rid", "_self", "_etag", "_colls", "_users", "_ts"]
    assert body["id"] == name
    assert body["_self"] == f"dbs/{body['_rid']}/"
    assert (body["_colls"], body["_users"]) == ("colls/", "users/")
    assert isinstance(body["_ts"], int)
    assert made.etag == body["_etag"] and body["_etag"].startswith('"')
    read = client.get(f"/dbs/{name}")
    assert (read.status, read.json, read.etag) == (200, body, made.etag)
    assert client.get(f"/dbs/{name}", {"If-None-Match": made.etag}).status == 304
    assert client.get(f"/dbs/{name}", {"If-None-Match": '"other"'}).status == 200
    gone = client.delete(f"/dbs/{name}")
    assert (gone.status, gone.body) == (204, b"")
    assert client.get(f"/dbs/{name}").status == 404
    assert client.delete(f"/dbs/{name}").status == 404


def test_a_name_is_taken_once(client, name):
    first = client.post("/dbs", {"id": name})
    second = client.post("/dbs", {"id": name})
    assert second.status == 409
    assert client.get(f"/dbs/{name}").etag == first.etag
    assert client.delete(f"/dbs/{name}").status == 204
    again = client.post("/dbs", {"id": name})
    assert again.status == 201
    assert again.json["_rid"] != first.json["_rid"]


def test_upsert(client, name):
    upsert = {"x-ms-documentdb-is-upsert": "True"}
    made = client.post("/dbs", {"id": name}, upsert)
    assert made.status == 201
    again = client.post("/dbs", {"id": name}, upsert)
    assert again.status == 200
    assert again.json["_rid"] == made.json["_rid"]


def test_conditional_delete(client, name):
    made = client.post("/dbs", {"id": name})
    assert client.delete(f"/dbs/{name}", {"If-Match": '"other"'}).status == 412
    assert client.delete(f"/dbs/{name}", {"If-Match": made.etag}).status == 204


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"1", b"{}", {"id": None}, {"id": 1}, {"id": ""},
        {"id": {}}, {"id": "a/b"}, {"id": "a\\b"}, {"id": "a#b"}, {"id": "a?b"}, {"id": "space "},
        {"id": "n" * 256}, b'{"id":"x","id":"y"}', b'{"id":"nul\\u0000"}', b'{"id":"\\ud800"}',
        b'{"id":"x"} trailing', b"\xff\xfe", b'{"id":"\xff"}', {"name": "x"}, {"id": ["x"]},
        {"id": "tab\t"}, {"id": "line\n"},
    ],
    ids=lambda body: str(body)[:24],
)  # fmt: skip
def test_bad_definitions(client, body):
    before = client.get("/dbs").json
    answer = client.post("/dbs", body)
    assert answer.status == 400, answer
    assert client.get("/dbs").json == before


@pytest.mark.parametrize("length", [1, 255])
def test_lengths_of_names(client, length):
    id = "n" * length
    assert client.post("/dbs", {"id": id}).status == 201
    assert client.get(f"/dbs/{id}").status == 200
    assert client.delete(f"/dbs/{id}").status == 204


def test_a_name_that_looks_like_a_rid(client):
    """Every SDK takes it for a resource id: either it is refused or it can be found."""
    answer = client.post("/dbs", {"id": "AAAAAQ=="})
    if answer.status == 201:
        assert client.get("/dbs/AAAAAQ==").json == answer.json
        assert client.delete("/dbs/AAAAAQ==").status == 204
    else:
        assert answer.status == 400


def test_the_feed_is_paged(client):
    names = {f"page-{number}" for number in range(7)}
    for id in names:
        assert client.post("/dbs", {"id": id}).status == 201
    whole = client.get("/dbs").json
    assert list(whole) == ["_rid", "Databases", "_count"]
    assert whole["_rid"] == "" and whole["_count"] == len(whole["Databases"])
    seen, token = [], None
    while True:
        page = client.get("/dbs", {"x-ms-max-item-count": "3", "x-ms-continuation": token})
        assert page.status == 200 and page.json["_count"] <= 3
        assert page.headers["x-ms-item-count"] == str(page.json["_count"])
        seen += page.json["Databases"]
        if (token := page.continuation) is None:
            break
    assert seen == whole["Databases"]
    assert names <= {item["id"] for item in seen}
    for id in names:
        assert client.delete(f"/dbs/{id}").status == 204


def test_deleting_takes_the_collections_along(client, name):
    client.post("/dbs", {"id": name})
    key = {"paths": ["/pk"], "kind": "Hash"}
    assert client.post(f"/dbs/{name}/colls", {"id": "c", "partitionKey": key}).status == 201
    made = client.post(f"/dbs/{name}/colls/c/docs", {"id": "x", "pk": 1})
    assert made.status == 201
    resource = client.get(f"/dbs/{name}/colls/c").json["_self"]
    assert client.delete(f"/dbs/{name}").status == 204
    assert client.get(f"/dbs/{name}/colls/c").status == 404
    assert resource not in {offer["resource"] for offer in client.get("/offers").json["Offers"]}
    client.post("/dbs", {"id": name})
    assert client.get(f"/dbs/{name}/colls").json["_count"] == 0
