"""The seeds' own examples: throughput makes partitions, and a full one splits while nobody notices."""

import pytest
from azure.cosmos import PartitionKey
from http_client import Client


@pytest.fixture
def plain(server):
    client = Client(server.port)
    yield client
    client.close()


def ranges(plain, container):
    answer = plain.get(f"/dbs/python/colls/{container.id}/pkranges")
    assert answer.status == 200, answer
    return answer.json["PartitionKeyRanges"]


def split(plain, container, id):
    answer = plain.post(f"/_sheaf/dbs/python/colls/{container.id}/pkranges/{id}/split")
    assert answer.status == 200, answer


def test_25_000_request_units_make_three_partitions(wide, plain):
    assert [one["id"] for one in ranges(plain, wide)] == ["0", "1", "2"]
    assert len(list(wide.read_feed_ranges())) == 3


def test_marketing_and_sales_go_to_two_partitions(database, plain, name):
    container = database.create_container(name, PartitionKey("/Department"))
    for number in range(30):
        department = "Marketing" if number % 3 else "Sales"
        container.create_item({"id": f"{number:04}", "Department": department, "n": number})

    def everything():
        return list(
            container.query_items(
                "SELECT VALUE c.n FROM c ORDER BY c.n", enable_cross_partition_query=True, max_item_count=4
            )
        )

    # The client has the ranges now, and a query half read.
    pages = container.query_items(
        "SELECT VALUE c.n FROM c ORDER BY c.n", enable_cross_partition_query=True, max_item_count=4
    ).by_page()
    seen = list(next(pages))
    assert everything() == list(range(30))
    split(plain, container, "0")
    now = ranges(plain, container)
    assert [(one["id"], one["parents"]) for one in now] == [("1", ["0"]), ("2", ["0"])]
    for page in pages:
        seen.extend(page)
    assert seen == list(range(30))
    assert everything() == list(range(30))
    # Both departments are whole, each in a partition of its own.
    for department, count in (("Marketing", 20), ("Sales", 10)):
        found = list(container.query_items("SELECT VALUE c.n FROM c", partition_key=department))
        assert len(found) == count
        assert container.read_item("0000" if department == "Sales" else "0001", department)["n"] in (0, 1)
    by_range = [
        {item["Department"] for item in container.query_items("SELECT * FROM c", feed_range=one)}
        for one in container.read_feed_ranges(force_refresh=True)
    ]
    assert sorted(map(sorted, by_range)) == [["Marketing"], ["Sales"]]
    container.create_item({"id": "0001", "Department": "Sales", "n": 30})
    assert everything() == list(range(31))
