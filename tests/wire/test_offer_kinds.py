"""Manual throughput becomes autoscale and the other way round, by header only."""

import pytest

from offers import HASH, MANUAL, SCALED, offer_of, refusal

TO_SCALED = "x-ms-cosmos-migrate-offer-to-autopilot"
TO_MANUAL = "x-ms-cosmos-migrate-offer-to-manual-throughput"


class Throughput:
    """The offer of a new database or collection."""

    def __init__(self, client, definition):
        self.client = client
        self.offer = offer_of(client, definition)
        self.path = f"/offers/{self.offer['_rid']}"

    def put(self, content, *flags, **headers):
        return self.client.put(self.path, self.offer | {"content": content}, {flag: "True" for flag in flags} | headers)

    def read(self):
        return self.client.get(self.path)


@pytest.fixture(params=["dbs", "colls"])
def made(request, client, db, name):
    def made(headers):
        if request.param == "dbs":
            answer = client.post("/dbs", {"id": name}, headers)
        else:
            answer = client.post(f"{db.path}/colls", {"id": name, "partitionKey": HASH}, headers)
        assert answer.status == 201, answer
        return Throughput(client, answer.json)

    return made


@pytest.mark.parametrize("rate, expected", [(400, 1000), (1000, 1000), (4100, 5000), (40000, 40000)])
def test_from_manual(made, rate, expected):
    throughput = made({MANUAL: str(rate)})
    answer = throughput.put({"offerThroughput": -1}, TO_SCALED)
    assert answer.status == 200, answer
    content = answer.json["content"]
    assert content["offerAutopilotSettings"]["maxThroughput"] == expected
    assert content["offerThroughput"] == expected // 10
    assert content["offerMinimumThroughputParameters"]["maxThroughputEverProvisioned"] == expected
    assert answer.headers["x-ms-offer-replace-pending"] == "false"
    assert answer.headers["x-ms-cosmos-min-throughput"] == str(max(1000, expected // 10))
    assert (answer.json["offerVersion"], answer.json["offerType"]) == ("V2", "Invalid")
    assert throughput.read().json == answer.json


def test_from_autoscale(made):
    throughput = made({SCALED: '{"maxThroughput":60000}'})
    answer = throughput.put({"offerAutopilotSettings": {"maxThroughput": -1}}, TO_MANUAL)
    assert answer.status == 200, answer
    assert answer.json["content"]["offerThroughput"] == 60000
    assert "offerAutopilotSettings" not in answer.json["content"]
    assert answer.headers["x-ms-cosmos-min-throughput"] == "600"
    # Then it is manual throughput like any other, down to a hundredth of the most it had.
    assert throughput.put({"offerThroughput": 600}).status == 200
    text = refusal(throughput.put({"offerThroughput": 500}))
    assert "less than required minimum throughput 600. " in text
    assert "Minimum limit 600 is because of Highest RUs provisioned 60000." in text


def test_to_and_fro(made):
    throughput = made({MANUAL: "400"})
    for _ in range(2):
        # As the data explorer sends it: without a rate.
        assert throughput.put({"offerIsRUPerMinuteThroughputEnabled": False}, TO_SCALED).status == 200
        content = {"offerThroughput": 700, "offerAutopilotSettings": {"maxThroughput": 0}}
        answer = throughput.put(content, TO_MANUAL)
        assert answer.json["content"]["offerThroughput"] == 1000


def test_migrations_that_are_refused(made):
    throughput = made({MANUAL: "400"})
    settings = {"offerAutopilotSettings": {"maxThroughput": 4000}}
    rate = {"offerThroughput": 400}
    needs = (
        f"{TO_SCALED} must be supplied and offercontent must not contain autopilotSettings "
        "for migration from manual throughput to autoscale."
    )
    assert needs in refusal(throughput.put(settings))
    assert needs in refusal(throughput.put(settings, TO_SCALED))
    refusal(throughput.put(rate, TO_SCALED, TO_MANUAL))
    refusal(throughput.put(rate, TO_MANUAL))
    refusal(throughput.put(None, TO_SCALED))
    refusal(throughput.put(rate, **{TO_SCALED: "yes"}))
    assert throughput.read().json == throughput.offer
    stale = throughput.put(rate, TO_SCALED, **{"If-Match": '"00000000-0000-0000-0000-000000000000"'})
    assert stale.status == 412

    assert throughput.put(rate, TO_SCALED).status == 200
    before = throughput.read().json
    assert f"{TO_MANUAL} must be supplied" in refusal(throughput.put(rate))
    assert f"{TO_MANUAL} must be supplied" in refusal(throughput.put({"offerThroughput": 1000, "offerAutopilotSettings": None}))
    refusal(throughput.put(rate, TO_SCALED))
    refusal(throughput.put({"offerAutopilotSettings": 5}))
    refusal(throughput.put({"offerAutopilotSettings": {"maxThroughput": 1500}}))
    assert throughput.read().json == before


def test_false_is_no_migration(made):
    throughput = made({MANUAL: "400"})
    answer = throughput.put({"offerThroughput": 800}, **{TO_SCALED: "false", TO_MANUAL: "False"})
    assert (answer.status, answer.json["content"]["offerThroughput"]) == (200, 800)


def test_the_minimum_of_autoscale(made):
    throughput = made({SCALED: '{"maxThroughput":45000}'})
    assert throughput.read().headers["x-ms-cosmos-min-throughput"] == "5000"
    text = refusal(throughput.put({"offerAutopilotSettings": {"maxThroughput": 4000}}))
    assert "between 5000 and 1000000 inclusive in increments of 1000." in text
    assert throughput.put({"offerAutopilotSettings": {"maxThroughput": 5000}}).status == 200


def test_storage_is_remembered(client, db):
    coll = db.collection(headers={MANUAL: "400"})
    throughput = Throughput(client, coll.definition)

    def stored():
        parameters = throughput.read().json["content"]["offerMinimumThroughputParameters"]
        return parameters["maxConsumedStorageEverInKB"]

    assert stored() == 0
    key = {"x-ms-documentdb-partitionkey": '["a"]'}
    assert client.post(coll.docs, {"id": "a", "pk": "a", "text": "x" * 50_000}, key).status == 201
    full = stored()
    assert 48 <= full < 100
    assert client.delete(f"{coll.docs}/a", key).status == 204
    assert stored() == full
    assert throughput.put({"offerThroughput": 500}).status == 200
    assert stored() == full
