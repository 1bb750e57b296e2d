"""Throughput: asked for at creation, seen and changed as offers."""

import pytest

HASH = {"paths": ["/pk"], "kind": "Hash", "version": 2}


def offers(client):
    found, token = [], None
    while True:
        page = client.get("/offers", {"x-ms-continuation": token})
        assert page.status == 200
        body = page.json
        assert list(body) == ["_rid", "Offers", "_count"]
        assert body["_rid"] == "" and body["_count"] == len(body["Offers"])
        found += body["Offers"]
        if (token := page.continuation) is None:
            return found


def offer_of(client, definition):
    found = [offer for offer in offers(client) if offer["resource"] == definition["_self"]]
    assert len(found) <= 1
    return found[0] if found else None


def test_the_offer_of_a_collection(client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": "700"})
    offer = offer_of(client, coll.definition)
    assert len(offer["_rid"]) == 4 and offer["id"] == offer["_rid"]
    assert offer["_self"] == f"offers/{offer['_rid']}/"
    assert offer["offerResourceId"] == coll.rid
    assert (offer["offerVersion"], offer["offerType"]) == ("V2", "Invalid")
    assert offer["content"]["offerThroughput"] == 700
    assert offer["content"]["offerIsRUPerMinuteThroughputEnabled"] is False
    assert isinstance(offer["_ts"], int)
    for path in (f"/offers/{offer['_rid']}", f"/offers/{offer['_rid']}/"):
        read = client.get(path)
        assert (read.status, read.json, read.etag) == (200, offer, offer["_etag"])
        assert read.headers["x-ms-cosmos-min-throughput"] == "400"
    assert client.delete(coll.path).status == 204
    assert client.get(f"/offers/{offer['_rid']}").status == 404
    assert offer_of(client, coll.definition) is None


def test_four_hundred_unless_said(client, db):
    offer = offer_of(client, db.collection().definition)
    assert offer["content"]["offerThroughput"] == 400


def test_autoscale(client, db):
    settings = {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":4000}'}
    offer = offer_of(client, db.collection(headers=settings).definition)
    assert offer["content"]["offerAutopilotSettings"]["maxThroughput"] == 4000


def test_shared_throughput(client, name):
    made = client.post("/dbs", {"id": name}, {"x-ms-offer-throughput": "1000"})
    assert made.status == 201
    assert offer_of(client, made.json)["content"]["offerThroughput"] == 1000
    shared = client.post(f"/dbs/{name}/colls", {"id": "shared", "partitionKey": HASH})
    assert offer_of(client, shared.json) is None
    own = {"x-ms-offer-throughput": "500"}
    dedicated = client.post(f"/dbs/{name}/colls", {"id": "own", "partitionKey": HASH}, own)
    assert offer_of(client, dedicated.json)["content"]["offerThroughput"] == 500
    assert client.delete(f"/dbs/{name}").status == 204
    assert offer_of(client, made.json) is offer_of(client, dedicated.json) is None


def test_a_database_has_no_offer_unless_said(client, db):
    assert offer_of(client, db.definition) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ms-offer-throughput": value}
        for value in ("0", "-400", "300", "399", "450", "1000100", "x", "400.5", "1e3", "99999999999999999999")
    ]
    + [
        {"x-ms-cosmos-offer-autopilot-settings": value}
        for value in ("x", "{}", "[]", '{"maxThroughput":500}', '{"maxThroughput":1500}',
                      '{"maxThroughput":"4000"}', '{"maxThroughput":-1000}', '{"maxThroughput":')
    ]
    + [{"x-ms-offer-throughput": "400", "x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":4000}'}],
    ids=lambda headers: " ".join(headers.values()),
)  # fmt: skip
def test_throughput_that_is_none(client, db, name, headers):
    answer = client.post(f"{db.path}/colls", {"id": name, "partitionKey": HASH}, headers)
    assert answer.status == 400, answer
    assert client.get(f"{db.path}/colls/{name}").status == 404
    assert client.post("/dbs", {"id": name}, headers).status == 400
    assert client.get(f"/dbs/{name}").status == 404


def test_replace(client, db):
    coll = db.collection()
    offer = offer_of(client, coll.definition)
    offer["content"]["offerThroughput"] = 1200
    replaced = client.put(f"/offers/{offer['_rid']}", offer)
    assert replaced.status == 200, replaced
    assert replaced.json["content"]["offerThroughput"] == 1200
    assert replaced.headers.get("x-ms-offer-replace-pending", "false").lower() == "false"
    assert replaced.headers["x-ms-cosmos-min-throughput"] == "400"
    assert replaced.json["_etag"] != offer["_etag"]
    for member in ("id", "_rid", "_self", "resource", "offerResourceId", "offerVersion"):
        assert replaced.json[member] == offer[member]
    again = offer_of(client, coll.definition)
    assert again == replaced.json
    stale = {"If-Match": offer["_etag"]}
    assert client.put(f"/offers/{offer['_rid']}", offer, stale).status == 412
    # By its self link.
    assert client.put("/" + offer["_self"], again, {"If-Match": again["_etag"]}).status == 200


@pytest.mark.parametrize(
    "content",
    [
        {"offerThroughput": value} for value in (0, -1, 300, 450, 1000100, "500", None, 400.5, True, [])
    ] + [None, {}, [], 5],
    ids=str,
)  # fmt: skip
def test_bad_replacements(client, db, content):
    coll = db.collection()
    offer = offer_of(client, coll.definition)
    answer = client.put(f"/offers/{offer['_rid']}", offer | {"content": content})
    assert answer.status == 400, answer
    assert offer_of(client, coll.definition) == offer


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"{}"])
def test_replacements_that_are_no_offer(client, db, body):
    offer = offer_of(client, db.collection().definition)
    assert client.put(f"/offers/{offer['_rid']}", body).status == 400
    assert client.get(f"/offers/{offer['_rid']}").json == offer


def test_an_offer_says_which_it_is(client, db):
    offer = offer_of(client, db.collection().definition)
    nameless = {name: value for name, value in offer.items() if name not in ("id", "_rid")}
    assert client.put(f"/offers/{offer['_rid']}", nameless).status == 400
    for name in ("id", "_rid"):
        assert client.put(f"/offers/{offer['_rid']}", offer | {name: "NotAllowed"}).status == 400
        assert client.put(f"/offers/{offer['_rid']}", nameless | {name: offer[name]}).status == 200


def test_offers_that_are_not_there(client, coll):
    offer = offer_of(client, coll.definition)
    for rid in ("AAAA", "zzzz"):
        assert client.get(f"/offers/{rid}").status == 404
    for rid in ("x", "toolong-", offer["_rid"] + "x"):
        assert client.get(f"/offers/{rid}").status == 400
    for path in (f"/offers/{offer['_rid']}/x", "/offers/a/b/c"):
        assert client.get(path).status == 400
    assert client.put("/offers/zzzz", offer).status == 404
    # The offer of another collection is not this one.
    assert client.put("/offers/zzzz", offer | {"id": "zzzz", "_rid": "zzzz"}).status == 404
