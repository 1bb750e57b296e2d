"""Session tokens."""

import re

import pytest
from azure.cosmos import CosmosClient, exceptions
from server import PUBLISHED_KEY

# One key in each of the three ranges.
KEYS = ["test", "redmond", "a"]


def session(container):
    return container.client_connection.last_response_headers["x-ms-session-token"]


def test_each_partition_counts_for_itself(wide):
    seen = {}
    for _ in range(3):
        for number, key in enumerate(KEYS):
            made = wide.upsert_item({"id": "x", "pk": key})
            range_id, lsn = re.fullmatch(r"(\d+):-1#(\d+)", made.get_response_headers()["x-ms-session-token"]).groups()
            assert range_id == str(number)
            assert int(lsn) > seen.get(number, 0)
            seen[number] = int(lsn)
    for number, key in enumerate(KEYS):
        read = wide.read_item("x", key)
        assert read.get_response_headers()["x-ms-session-token"] == f"{number}:-1#{seen[number]}"


def test_a_token_from_another_client(server, wide):
    made = wide.upsert_item({"id": "shared", "pk": "a"})
    token = made.get_response_headers()["x-ms-session-token"]
    with CosmosClient(server.endpoint, PUBLISHED_KEY) as other:
        container = other.get_database_client("python").get_container_client(wide.id)
        assert container.read_item("shared", "a", session_token=token) == made


def test_a_token_from_the_future(container):
    container.upsert_item({"id": "future", "pk": "a"})
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        container.read_item("future", "a", session_token="0:-1#1000000")
    assert (refused.value.status_code, refused.value.sub_status) == (404, 1002)
    assert container.read_item("future", "a", session_token="0:-1#1")["id"] == "future"


def test_the_latest_token(wide):
    ranges = list(wide.read_feed_ranges())
    tokens = []
    for number, key in enumerate(KEYS):
        made = wide.upsert_item({"id": "latest", "pk": key})
        tokens.append((ranges[number], made.get_response_headers()["x-ms-session-token"]))
    for number, key in enumerate(KEYS):
        home = wide.feed_range_from_partition_key(key)
        assert wide.get_latest_session_token(tokens, home) == tokens[number][1]


def test_a_client_reads_what_it_wrote(server, wide):
    with CosmosClient(server.endpoint, PUBLISHED_KEY, consistency_level="Session") as client:
        container = client.get_database_client("python").get_container_client(wide.id)
        for number in range(30):
            made = container.upsert_item({"id": "own", "pk": KEYS[number % 3], "n": number})
            assert container.read_item("own", KEYS[number % 3]) == made
