"""The five consistency levels: the account's own, weaker ones on request, and what reads cost."""

import pytest

from http_client import Client, pk
from server import Server

# From strong to weak, with the flag of each.
LEVELS = {
    "Strong": "strong", "BoundedStaleness": "bounded-staleness", "Session": "session",
    "ConsistentPrefix": "consistent-prefix", "Eventual": "eventual",
}  # fmt: skip
NAMES = list(LEVELS)


@pytest.fixture(scope="module", params=NAMES)
def account(request):
    """A server of each level: the level, a client, and the path of a collection with one document."""
    with Server("--consistency", LEVELS[request.param]) as running:
        client = Client(running.port)
        client.post("/dbs", {"id": "d"})
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        assert client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201
        assert client.post("/dbs/d/colls/c/docs", {"id": "a", "pk": "k"}, pk("k")).status == 201
        yield request.param, client, "/dbs/d/colls/c"
        client.close()


def read(client, path, headers):
    """Reads the document, the feed and a query, with a partition key."""
    query = {
        "x-ms-documentdb-isquery": "True", "Content-Type": "application/query+json",
    }  # fmt: skip
    return [
        client.get(f"{path}/docs/a", pk("k") | headers),
        client.get(f"{path}/docs", pk("k") | headers),
        client.post(f"{path}/docs", {"query": "SELECT * FROM c"}, pk("k") | query | headers),
    ]


def test_the_account_tells_its_level(account):
    level, client, _ = account
    policy = client.get("/").json["userConsistencyPolicy"]
    assert policy["defaultConsistencyLevel"] == level
    bounds = {"maxStalenessPrefix": 100, "maxStalenessIntervalInSeconds": 5}
    assert policy == {"defaultConsistencyLevel": level} | (bounds if level == "BoundedStaleness" else {})


@pytest.mark.parametrize("asked", NAMES)
def test_requests_may_weaken_and_not_strengthen(account, asked):
    level, client, path = account
    is_allowed = NAMES.index(asked) >= NAMES.index(level)
    for spelling in (asked, asked.lower()):
        for answer in read(client, path, {"x-ms-consistency-level": spelling}):
            assert answer.status == (200 if is_allowed else 400), answer
            if not is_allowed:
                assert (
                    f"ConsistencyLevel {asked} specified in the request is invalid when service is configured "
                    f"with consistency level {level}." in answer.json["message"]
                )
                assert answer.charge == 0


def test_an_unknown_level(account):
    _, client, path = account
    for answer in read(client, path, {"x-ms-consistency-level": "Linearizable"}):
        assert answer.status == 400 and "x-ms-consistency-level" in answer.json["message"]


def test_reads_at_strong_and_bounded_cost_double(account):
    level, client, path = account
    weak = [answer.charge for answer in read(client, path, {"x-ms-consistency-level": "Eventual"})]
    assert weak[0] == 1
    for asked in NAMES[NAMES.index(level) :]:
        factor = 2 if asked in ("Strong", "BoundedStaleness") else 1
        paid = [answer.charge for answer in read(client, path, {"x-ms-consistency-level": asked})]
        assert paid == pytest.approx([factor * charge for charge in weak], abs=0.011), asked
    # The account's own level, when none is asked for; and what is not there.
    factor = 2 if level in ("Strong", "BoundedStaleness") else 1
    assert client.get(f"{path}/docs/a", pk("k")).charge == factor
    assert client.get(f"{path}/docs/absent", pk("k")).charge == factor


def test_writes_and_metadata_cost_the_same(account):
    _, client, path = account
    made = client.post(f"{path}/docs", {"id": "w", "pk": "k"}, pk("k"))
    gone = client.delete(f"{path}/docs/w", pk("k"))
    assert (made.status, gone.status) == (201, 204)
    assert made.charge == gone.charge < 7
    assert client.get(path).charge == 1


def test_session_tokens_count_for_session_reads_only(account):
    level, client, path = account
    now = int(client.get(f"{path}/docs/a", pk("k")).headers["lsn"])
    for asked in [None, *NAMES[NAMES.index(level) :]]:
        headers = {"x-ms-consistency-level": asked} if asked else {}
        for answer in read(client, path, headers | {"x-ms-session-token": f"0:-1#{now + 100}"}):
            if (asked or level) == "Session":
                assert (answer.status, answer.substatus) == (404, 1002)
            else:
                assert answer.status == 200
            assert answer.session == f"0:-1#{now}"
        for answer in read(client, path, headers | {"x-ms-session-token": f"0:-1#{now}"}):
            assert answer.status == 200
        # What is no token is refused at any level.
        for answer in read(client, path, headers | {"x-ms-session-token": f"0:-1#{now}#x=1"}):
            assert answer.status == 400


def test_staleness_is_told():
    flags = ["--consistency", "bounded-staleness", "--max-staleness-prefix", "1000", "--max-staleness-interval", "30s"]
    with Server(*flags) as running:
        client = Client(running.port)
        assert client.get("/").json["userConsistencyPolicy"] == {
            "defaultConsistencyLevel": "BoundedStaleness",
            "maxStalenessPrefix": 1000,
            "maxStalenessIntervalInSeconds": 30,
        }
        client.close()
