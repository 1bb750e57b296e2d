"""Throughput: its headers, and the offers that hold it."""

HASH = {"paths": ["/pk"], "kind": "Hash", "version": 2}
OLD = {"x-ms-version": "2017-11-15"}
MANUAL, SCALED, LEVEL = "x-ms-offer-throughput", "x-ms-cosmos-offer-autopilot-settings", "x-ms-offer-type"


def offer_of(client, definition):
    query = {"query": "SELECT * FROM root WHERE root.resource = @self"}
    query["parameters"] = [{"name": "@self", "value": definition["_self"]}]
    headers = {"x-ms-documentdb-isquery": "true", "Content-Type": "application/query+json"}
    found = client.post("/offers", query, headers)
    assert found.status == 200, found
    (offer,) = found.json["Offers"]
    return offer


def refusal(answer):
    assert answer.status == 400, answer
    return answer.json["message"]
