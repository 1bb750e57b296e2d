"""Request charges, as the client sees them: within 15 % of the published figures."""

import json

import pytest
from azure.cosmos import PartitionKey

NO_INDEX = {"indexingMode": "none", "automatic": False}


def charge(answer):
    return float(answer.get_response_headers()["x-ms-request-charge"])


@pytest.fixture(scope="module")
def plain(database):
    return database.create_container("plain", PartitionKey("/pk"), indexing_policy=NO_INDEX)


@pytest.mark.parametrize("kib, read, write", [(1, 1, 5), (100, 10, 50)])
def test_published_points(plain, kib, read, write):
    item = {"id": f"{kib}", "pk": "a", "text": ""}
    # The stored item has system properties as well.
    item["text"] = "x" * (kib * 1024 - len(json.dumps(item)) - 200)
    made = plain.create_item(item)
    assert charge(made) == pytest.approx(write, rel=0.15)
    assert charge(plain.read_item(item["id"], "a")) == pytest.approx(read, rel=0.15)
    assert charge(plain.replace_item(item["id"], item)) == pytest.approx(2 * charge(made), rel=0.15)


def test_the_same_costs_the_same(container):
    charges = {
        (charge(container.create_item({"id": f"{n}", "pk": n, "v": 1})), charge(container.read_item(f"{n}", n)))
        for n in range(5)
    }
    assert len(charges) == 1


def test_feeds_tell_their_charge(container):
    container.upsert_item({"id": "x", "pk": "a"})
    list(container.read_all_items())
    assert float(container.client_connection.last_response_headers["x-ms-request-charge"]) >= 1
