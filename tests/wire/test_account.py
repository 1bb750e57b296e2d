"""The account root, and what holds for the port itself."""

import json

import pytest

from http_client import Client


def test_account_describes_itself(client, server):
    answer = client.get("/")
    assert answer.status == 200
    account = answer.json
    assert account["_self"] == "" and account["_rid"]
    # JavaScript gives up its location lists for the id `localhost`.
    assert account["id"] != "localhost"
    assert "_etag" not in account
    assert account["userConsistencyPolicy"] == {"defaultConsistencyLevel": "Session"}
    assert account["enableMultipleWriteLocations"] is False
    # A text that holds JSON, not an object.
    assert isinstance(json.loads(account["queryEngineConfiguration"]), dict)
    here = f"http://127.0.0.1:{server.port}/"
    for list_name in ("writableLocations", "readableLocations"):
        assert [place["databaseAccountEndpoint"] for place in account[list_name]] == [here]
        assert all(place["name"] for place in account[list_name])
    # Either would send clients to ports that are not there.
    assert not [member for member in account if member.lower().startswith("thinclient")]
    assert answer.headers["x-ms-max-media-storage-usage-mb"].isdigit()


@pytest.mark.parametrize("host", ["db.example", "sheaf", "localhost:9999", "[::1]:8081", "10.0.0.7:80"])
def test_endpoints_follow_the_host_header(client, host):
    account = client.get("/", host=host).json
    for list_name in ("writableLocations", "readableLocations"):
        assert account[list_name][0]["databaseAccountEndpoint"] == f"http://{host}/"


def test_https_on_the_same_port(server):
    secure = Client(server.port, tls=True)
    account = secure.get("/").json
    here = f"https://127.0.0.1:{server.port}/"
    assert account["writableLocations"][0]["databaseAccountEndpoint"] == here
    assert secure.post("/dbs", {"id": "over-tls"}).status == 201
    plain = Client(server.port)
    assert plain.get("/dbs/over-tls").status == 200
    assert secure.delete("/dbs/over-tls").status == 204
    assert plain.get("/dbs/over-tls").status == 404
    secure.close()
    plain.close()


@pytest.mark.parametrize("path", ["/_sheaf/health", "/_sheaf/ready"])
def test_operators_need_no_key(fresh, path):
    assert fresh.send("GET", path).status == 200


def test_metrics_count_requests(fresh):
    assert fresh.get("/").status == 200
    metrics = fresh.send("GET", "/_sheaf/metrics")
    assert metrics.status == 200
    assert b"sheaf_requests_total{" in metrics.body


def test_a_connection_is_kept(fresh):
    for _ in range(5):
        assert fresh.get("/").status == 200
        assert fresh.get("/dbs/no-such-database").status == 404
        assert fresh.send("GET", "/dbs").status == 401
    assert fresh.opened == 1


def test_head_is_get_without_a_body(fresh, coll):
    fresh.post(coll.docs, {"id": "head", "pk": "a"})
    for path in ("/", "/dbs", coll.path, f"{coll.path}/pkranges"):
        get, head = fresh.get(path), fresh.request("HEAD", path)
        assert head.status == get.status == 200
        assert head.body == b""
        assert head.etag == get.etag
    path, key = f"{coll.docs}/head", {"x-ms-documentdb-partitionkey": '["a"]'}
    head = fresh.request("HEAD", path, headers=key)
    assert (head.status, head.body, head.etag) == (200, b"", fresh.get(path, key).etag)
    assert fresh.request("HEAD", "/dbs/no-such-database").status == 404
    assert fresh.opened == 1


@pytest.mark.parametrize(
    "verb, path",
    [
        ("PUT", "/"), ("POST", "/"), ("DELETE", "/"), ("PUT", "/dbs"), ("DELETE", "/dbs"),
        ("PATCH", "/dbs"), ("POST", "/dbs/wire"), ("PUT", "/dbs/wire"), ("PATCH", "/dbs/wire"),
        ("PUT", "/dbs/wire/colls"), ("DELETE", "/dbs/wire/colls"), ("OPTIONS", "/dbs"),
        ("TRACE", "/dbs"), ("BREW", "/dbs"), ("POST", "/offers"), ("DELETE", "/offers"),
    ],
)  # fmt: skip
def test_a_verb_that_a_path_does_not_take(client, db, verb, path):
    answer = client.request(verb, path, b'{"id":"x"}')
    assert answer.status == 405, answer


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE", "PATCH"])
def test_ranges_cannot_be_written(client, coll, verb):
    assert client.request(verb, f"{coll.path}/pkranges", b"{}").status == 405


@pytest.mark.parametrize(
    "path", ["/nothing", "/dbs/wire/nothing", "/dbs/wire/colls/c/nothing/x", "/dbs/wire/docs/x"]
)
def test_paths_that_are_no_resource(client, db, path):
    assert client.get(path).status == 404


@pytest.mark.parametrize("path", ["//addresses/", "//addresses/?$resolveFor=dbs", "/addresses"])
def test_direct_mode_is_told_to_use_the_gateway(client, path):
    answer = client.get(path)
    assert answer.status == 400
    assert "gateway" in answer.message.lower()


def test_the_activity_id_of_the_request_is_kept(client):
    mine = "01234567-89ab-cdef-0123-456789abcdef"
    assert client.get("/", {"x-ms-activity-id": mine}).headers["x-ms-activity-id"] == mine
    answer = client.get("/dbs/no-such-database", {"x-ms-activity-id": mine})
    assert answer.headers["x-ms-activity-id"] == mine and mine in answer.message
    other = client.get("/", {"x-ms-activity-id": "not a guid"})
    assert other.headers["x-ms-activity-id"] != "not a guid"
