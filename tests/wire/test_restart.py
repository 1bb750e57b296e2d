"""What was acknowledged is there after a stop and after a crash."""

import re

import pytest

from http_client import Client, pk
from server import Server, verify

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}
TEXTS = [
    b'{"id":"D%d","pk":%d,"n":[1.0,-0.0,1e5,12345678901234567890],"s":"\\u00e9\\/"}' % (n, n % 5)
    for n in range(20)
]


def last(answer):
    return int(re.search(r"#(\d+)$", answer.session)[1])


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_new_life(tmp_path, end):
    data = tmp_path / "data"
    with Server(data_dir=data) as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        offer = {"x-ms-offer-throughput": "25000"}
        body = {"id": "c", "partitionKey": KEY, "defaultTtl": -1}
        assert client.post("/dbs/d/colls", body, offer).status == 201
        docs, tokens = "/dbs/d/colls/c/docs", {}
        for number, text in enumerate(TEXTS):
            made = client.post(docs, text, pk(number % 5))
            assert made.status == 201, made
            tokens[number % 5] = last(made)
        assert client.delete(f"{docs}/D0", pk(0)).status == 204
        assert client.put(f"{docs}/D1", {"id": "D1", "pk": 1, "v": 2}, pk(1)).status == 200

        paths = ["/dbs", "/dbs/d", "/dbs/d/colls", "/dbs/d/colls/c", "/dbs/d/colls/c/pkranges", "/offers", docs]
        # The position of a range moves with its writes; all else must be the same to the byte.
        before = {path: (client.get(path).body, client.get(path).etag) for path in paths}
        feed = client.get(docs)
        held = len(feed.json["Documents"]) // 2
        token = client.get(docs, {"x-ms-max-item-count": str(held)}).continuation

        for _ in range(2):
            code = getattr(server, end)()
            assert code == (0 if end == "stop" else -9)
            assert verify(data)[0] == 0, verify(data)
            server.start()
            client = Client(server.port)
            for path in paths:
                again = client.get(path)
                assert (again.body, again.etag) == before[path], path
            assert client.get(docs).session == feed.session
            rest = client.get(docs, {"x-ms-continuation": token}).json["Documents"]
            assert rest and rest == feed.json["Documents"][held:]
            assert client.get(f"{docs}/D0", pk(0)).status == 404
            assert client.get(f"{docs}/D1", pk(1)).json["v"] == 2

        # Sequence numbers and resource ids are never given twice.
        rids = {document["_rid"] for document in feed.json["Documents"]}
        etags = {document["_etag"] for document in feed.json["Documents"]}
        made = client.post(docs, {"id": "new", "pk": 3}, pk(3))
        assert made.status == 201
        assert last(made) > tokens[3]
        assert made.json["_rid"] not in rids and made.json["_etag"] not in etags
        names = {item["_rid"] for item in client.get("/dbs").json["Databases"]}
        assert client.post("/dbs", {"id": "second"}).json["_rid"] not in names
        assert server.stop() == 0
    assert verify(data)[0] == 0, verify(data)


def test_deleted_collections_stay_deleted(tmp_path):
    data = tmp_path / "data"
    with Server(data_dir=data) as server:
        client = Client(server.port)
        client.post("/dbs", {"id": "d"})
        made = client.post("/dbs/d/colls", {"id": "c", "partitionKey": KEY}).json
        assert client.post("/dbs/d/colls/c/docs", {"id": "x", "pk": 1}).status == 201
        assert client.delete("/dbs/d/colls/c").status == 204
        again = client.post("/dbs/d/colls", {"id": "c", "partitionKey": KEY}).json
        assert again["_rid"] != made["_rid"]
        server.kill()
        assert verify(data)[0] == 0, verify(data)
        server.start()
        client = Client(server.port)
        assert client.get("/dbs/d/colls/c").json == again
        assert client.get("/dbs/d/colls/c/docs").json["Documents"] == []
        assert len(client.get("/offers").json["Offers"]) == 1
        # A third life: the resource id of the deleted collection is not used again.
        client.delete("/dbs/d/colls/c")
        server.stop()
        server.start()
        client = Client(server.port)
        third = client.post("/dbs/d/colls", {"id": "c", "partitionKey": KEY}).json
        assert third["_rid"] not in (made["_rid"], again["_rid"])


def test_one_process_at_a_time(tmp_path):
    with Server(data_dir=tmp_path / "data"):
        with pytest.raises(RuntimeError):
            Server(data_dir=tmp_path / "data")
        assert verify(tmp_path / "data")[0] == 2


def test_nothing_to_verify(tmp_path):
    assert verify(tmp_path / "none")[0] == 2


def test_memory_forgets():
    with Server() as server:
        assert Client(server.port).post("/dbs", {"id": "d"}).status == 201
        server.stop()
        server.start()
        assert Client(server.port).get("/dbs").json["_count"] == 0
