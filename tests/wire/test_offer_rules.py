"""What throughput may be asked for, in the service's words, and by the limits of which year."""

import pytest

from http_client import Client
from offers import HASH, LEVEL, MANUAL, OLD, SCALED, offer_of, refusal
from server import Server


@pytest.fixture(params=["dbs", "colls"])
def create(request, client, db, name):
    """Creates a database or a collection with headers."""

    def create(headers):
        if request.param == "dbs":
            return client.post("/dbs", {"id": name}, headers)
        return client.post(f"{db.path}/colls", {"id": name, "partitionKey": HASH}, headers)

    return create


def test_the_words_of_a_refusal(create):
    bounds = "The offer should have valid throughput values between {} and 1000000 inclusive in increments of {}."
    for rate in ("450", "1000100", "9223372036854775807"):
        assert bounds.format(400, 100) in refusal(create({MANUAL: rate}))
    text = refusal(create({MANUAL: "-200"}))
    assert bounds.format(400, 100) in text
    assert "Requested throughput -200 is less than required minimum throughput 400." in text
    for rate in ("1500", "1001000"):
        assert bounds.format(1000, 1000) in refusal(create({SCALED: f'{{"maxThroughput":{rate}}}'}))
    text = refusal(create({SCALED: '{"maxThroughput":-200}'}))
    assert "Requested throughput -200 is less than required minimum throughput 1000." in text
    for rate in ("x", "400.5", "99999999999999999999"):
        assert f"The value '{rate}' specified for the header '{MANUAL}' is invalid." in refusal(create({MANUAL: rate}))


def test_one_way_to_ask_at_a_time(create):
    settings = '{"maxThroughput":4000}'
    for headers in ({MANUAL: "400", SCALED: settings}, {MANUAL: "400", LEVEL: "S1"}, {SCALED: settings, LEVEL: "S1"}):
        refusal(create(headers))


@pytest.mark.parametrize("percent", ["-1", "101", "1.5", '"5"', "true", "[]", "{}", "1e9"])
def test_increments_that_are_none(create, percent):
    policy = f'{{"throughputPolicy":{{"incrementPercent":{percent}}}}}'
    refusal(create({SCALED: f'{{"maxThroughput":4000,"autoUpgradePolicy":{policy}}}'}))


@pytest.mark.parametrize("percent", [0, 1, 100])
def test_increments(client, create, percent):
    policy = {"throughputPolicy": {"incrementPercent": percent}}
    text = f'{{"throughputPolicy":{{"incrementPercent":{percent}}}}}'
    made = create({SCALED: f'{{"maxThroughput":4000,"autoUpgradePolicy":{text}}}'})
    offer = offer_of(client, made.json)
    assert offer["content"]["offerAutopilotSettings"]["autoUpgradePolicy"] == policy
    assert offer["content"]["offerThroughput"] == 400
    # Replacing says everything anew.
    offer["content"]["offerAutopilotSettings"] = {"maxThroughput": 4000}
    replaced = client.put(f"/offers/{offer['_rid']}", offer)
    assert replaced.status == 200, replaced
    assert "autoUpgradePolicy" not in replaced.json["content"]["offerAutopilotSettings"]


def test_a_collection_without_a_key(client, db, name):
    def create(headers):
        return client.post(f"{db.path}/colls", {"id": name}, OLD | headers)

    assert "between 400 and 10000 inclusive in increments of 100." in refusal(create({MANUAL: "10100"}))
    assert "between 1000 and 10000 inclusive" in refusal(create({SCALED: '{"maxThroughput":11000}'}))
    made = create({MANUAL: "10000"})
    assert made.status == 201, made
    offer = offer_of(client, made.json)
    offer["content"]["offerThroughput"] = 10100
    refusal(client.put(f"/offers/{offer['_rid']}", offer))


def test_performance_levels(client, db, name):
    made = client.post(f"{db.path}/colls", {"id": name}, OLD | {LEVEL: "S1"})
    offer = offer_of(client, made.json)
    assert (offer["offerVersion"], offer["offerType"]) == ("V1", "S1")
    assert offer["content"]["offerThroughput"] == 250
    path = f"/offers/{offer['_rid']}"
    # In the form of those years, which has no content.
    plain = {key: value for key, value in offer.items() if key != "content"}
    replaced = client.put(path, plain | {"offerType": "S3"})
    assert replaced.status == 200, replaced
    assert (replaced.json["offerType"], replaced.json["content"]["offerThroughput"]) == ("S3", 2500)
    assert client.put(path, replaced.json).json["offerType"] == "S3"
    refusal(client.put(path, plain | {"offerType": "S4"}))
    # By number, and back.
    replaced = client.put(path, offer | {"offerVersion": "V2", "content": {"offerThroughput": 700}})
    assert (replaced.json["offerVersion"], replaced.json["offerType"]) == ("V2", "Invalid")
    assert client.put(path, plain | {"offerType": "S2"}).json["offerVersion"] == "V1"
    refusal(client.post("/dbs", {"id": name}, {LEVEL: "S1"}))
    refusal(client.post(f"{db.path}/colls", {"id": name + "x", "partitionKey": HASH}, {LEVEL: "S9"}))


def test_collections_that_share(client, name):
    made = client.post("/dbs", {"id": name}, {SCALED: '{"maxThroughput":1000}'})
    offer = offer_of(client, made.json)

    def create(number, headers=None, **body):
        return client.post(f"/dbs/{name}/colls", {"id": f"c{number}"} | body, headers)

    for number in range(25):
        assert create(number, partitionKey=HASH).status == 201
    text = refusal(create(25, partitionKey=HASH))
    assert "minimum throughput 2000" in text and "throughput of its own" in text
    assert create(26, {MANUAL: "400"}, partitionKey=HASH).status == 201
    offer["content"]["offerAutopilotSettings"]["maxThroughput"] = 2000
    raised = client.put(f"/offers/{offer['_rid']}", offer)
    assert (raised.status, raised.headers["x-ms-cosmos-min-throughput"]) == (200, "1000")
    assert create(25, partitionKey=HASH).status == 201
    assert client.get(f"/offers/{offer['_rid']}").headers["x-ms-cosmos-min-throughput"] == "2000"
    text = refusal(create(27, OLD))
    assert "Shared throughput collection should have a partition key" in text
    assert client.delete(f"/dbs/{name}").status == 204


@pytest.mark.parametrize("year, least, scaled, most", [
    (2016, 10100, 11000, None), (2017, 2500, 3000, 250000), (2016, 10100, 11000, 300000)])
def test_limits_of_the_past(year, least, scaled, most):
    asked = ["--throughput-max", most] if most else []
    most = most or 250000
    with Server("--limits", year, *asked) as server:
        client = Client(server.port)
        assert client.post("/dbs", {"id": "d"}).status == 201

        def create(name, headers=None, key=True):
            body = {"id": name} | ({"partitionKey": HASH} if key else {})
            return client.post("/dbs/d/colls", body, OLD | (headers or {}))

        for rate in (400, least - 100, most + 100, 1000000):
            assert f"between {least} and {most} inclusive" in refusal(create("c", {MANUAL: str(rate)}))
        for rate in (1000, scaled - 1000, most + 1000):
            text = refusal(create("c", {SCALED: f'{{"maxThroughput":{rate}}}'}))
            assert f"between {scaled} and {most} inclusive" in text
        refusal(create("c", {LEVEL: "S2"}))
        made = create("unasked")
        assert offer_of(client, made.json)["content"]["offerThroughput"] == least
        made = create("most", {MANUAL: "250000"})
        ranges = client.get("/dbs/d/colls/most/pkranges").json["PartitionKeyRanges"]
        assert len(ranges) == 25
        offer = offer_of(client, made.json)
        read = client.get(f"/offers/{offer['_rid']}")
        assert read.headers["x-ms-cosmos-min-throughput"] == str(max(least, 2500))
        # One partition of those years began at 400, too.
        assert create("small", {MANUAL: "400"}, key=False).status == 201
        assert create("level", {LEVEL: "S1"}, key=False).status == 201
        client.close()
