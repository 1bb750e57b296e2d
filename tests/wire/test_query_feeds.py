"""Queries over databases, collections, offers and ranges."""

import pytest

from query_client import CROSS, QUERY, ask, body, pages, ranges, rows

NO_CROSS = {"x-ms-documentdb-query-enablecrosspartition": None}


def test_databases(client, db, name):
    made = client.post("/dbs", {"id": name}).json
    found = rows(client, "/dbs", "SELECT * FROM root r WHERE r.id = @id", NO_CROSS, {"id": name})
    assert found == [made]
    assert rows(client, "/dbs", f"SELECT VALUE d.id FROM d WHERE d._self = '{made['_self']}'") == [name]
    assert rows(client, "/dbs", "SELECT * FROM c WHERE c.id = 'none'") == []
    names = rows(client, "/dbs", "SELECT VALUE c.id FROM c ORDER BY c.id")
    assert names == sorted(names) and {name, "wire"} <= set(names)
    assert rows(client, "/dbs", "SELECT VALUE COUNT(1) FROM c") == [len(names)]
    assert sorted(sum(pages(client, "/dbs", "SELECT VALUE c.id FROM c", size=1), [])) == names
    [page] = list(pages(client, "/dbs", "SELECT TOP 1 VALUE c.id FROM c ORDER BY c.id DESC"))
    assert page == names[-1:]
    assert client.delete(f"/dbs/{name}").status == 204


@pytest.fixture(scope="module")
def shelf(client):
    made = client.post("/dbs", {"id": "shelf"})
    assert made.status == 201
    for n in range(5):
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        body = {"id": f"coll {n}", "partitionKey": key, "defaultTtl": 100 * (n + 1)}
        assert client.post("/dbs/shelf/colls", body, {"x-ms-offer-throughput": str(1000 * n or 400)}).status == 201
    return made.json


def test_collections(client, shelf):
    answer = ask(
        client, "/dbs/shelf/colls", "SELECT * FROM c WHERE c.defaultTtl > 250 AND c.partitionKey.kind = 'Hash'"
    )
    assert list(answer.json) == ["_rid", "DocumentCollections", "_count"]
    assert answer.json["_rid"] == shelf["_rid"]
    found = answer.json["DocumentCollections"]
    assert sorted(item["id"] for item in found) == ["coll 2", "coll 3", "coll 4"]
    for item in found:
        assert client.get(f"/dbs/shelf/colls/{item['id'].replace(' ', '%20')}").json == item
    for size in (1, 2, 5, -1):
        query = "SELECT VALUE c.id FROM c ORDER BY c.id DESC"
        assert rows(client, "/dbs/shelf/colls", query, size=size) == [f"coll {n}" for n in (4, 3, 2, 1, 0)]
    query = "SELECT c.indexingPolicy.indexingMode AS mode, COUNT(1) AS n FROM c GROUP BY c.indexingPolicy.indexingMode"
    assert rows(client, "/dbs/shelf/colls", query) == [{"mode": "consistent", "n": 5}]
    assert rows(client, f"/dbs/{shelf['_rid']}/colls", "SELECT VALUE COUNT(1) FROM c") == [5]


@pytest.mark.parametrize(
    "query, member",
    [
        ("SELECT * FROM root r WHERE r.resource=@link", "_self"),
        ("SELECT * from root where root.resource = @link", "_self"),
        ("select * from root r where r.offerResourceId= @link", "_rid"),
        ("SELECT * FROM c WHERE c.offerResourceId = @link", "_rid"),
    ],
)
def test_offers(client, shelf, query, member):
    """The ways in which SDKs find the throughput of a collection."""
    for n in range(5):
        made = client.get(f"/dbs/shelf/colls/coll%20{n}").json
        answer = ask(client, "/offers", query, None, {"link": made[member]})
        [offer] = answer.json["Offers"]
        assert offer["resource"] == made["_self"] and offer["offerResourceId"] == made["_rid"]
        assert client.get(f"/offers/{offer['_rid']}").json == offer
        throughput = offer["content"]["offerThroughput"]
        assert throughput // 1000 * 1000 == 1000 * n
        offer["content"]["offerThroughput"] = throughput + 100
        assert client.put(f"/offers/{offer['_rid']}", offer).status == 200
        [again] = ask(client, "/offers", query, None, {"link": made[member]}).json["Offers"]
        assert again["content"]["offerThroughput"] == throughput + 100
    assert ask(client, "/offers", query, None, {"link": "none"}).json["Offers"] == []


def test_ranges(client, wide):
    expected = sorted(item["id"] for item in ranges(client, wide.path))
    assert sorted(rows(client, f"{wide.path}/pkranges", "SELECT VALUE c.id FROM c")) == expected
    assert rows(client, f"{wide.path}/pkranges", "SELECT VALUE c.maxExclusive FROM c WHERE c.minInclusive = ''", size=1)


def test_tokens_are_bound_to_the_feed(client, shelf):
    query, size = "SELECT * FROM c", {"x-ms-max-item-count": "1"}
    token = ask(client, "/dbs/shelf/colls", query, size).continuation
    held = {"x-ms-continuation": token}
    assert ask(client, "/dbs/shelf/colls", query, held).status == 200
    assert ask(client, "/dbs", query, held).status == 400
    assert ask(client, "/dbs/shelf/colls", "SELECT VALUE c.id FROM c", held).status == 400
    assert ask(client, "/dbs/shelf/colls", query, {"x-ms-continuation": token[:-2]}).status == 400


def test_nothing_is_created(client, shelf):
    trap = body("SELECT VALUE 1") | {"id": "trap", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
    for feed in ("/dbs", "/dbs/shelf/colls", "/offers"):
        answer = client.post(feed, trap, QUERY | CROSS)
        assert answer.status == 200, answer
    assert client.get("/dbs/trap").status == client.get("/dbs/shelf/colls/trap").status == 404
