"""Stored procedures: the patterns of the service's samples."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncClient
from scripting import procedure, refused, source, stored
from server import PUBLISHED_KEY, Server


@pytest.fixture(scope="module")
def calls(container):
    """The shared procedures by name, registered in this module's container."""
    names = [
        "helloWorld", "createDocument", "swapItems", "bulkImport", "bulkDelete", "count", "sum", "update", "copyAll",
    ]  # fmt: skip
    return {name: procedure(container, name) for name in names}


def test_hello_world(calls, name):
    assert calls["helloWorld"](name) == "Hello, World"
    assert calls["helloWorld"](name, "Ünï 🦀") == "Hello, Ünï 🦀"


def test_the_async_client(server, database, container, calls):
    async def run():
        async with AsyncClient(server.endpoint, PUBLISHED_KEY) as client:
            same = client.get_database_client(database.id).get_container_client(container.id)
            return await same.scripts.execute_stored_procedure(
                "helloWorld", partition_key="any", parameters=["async"]
            )

    assert asyncio.run(run()) == "Hello, async"


def test_create_returns_the_id(container, calls, name):
    create = calls["createDocument"]
    assert create(name, {"id": "mine", "pk": name, "n": 1}) == "mine"
    made = create(name, {"pk": name, "n": 2})
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made)
    assert container.read_item(made, name)["n"] == 2
    assert "already exists" in refused((400, 409), create, name, {"id": "mine", "pk": name}).message


def test_a_procedure_can_be_called_by_its_id_and_on_a_key_of_any_kind(container, calls):
    run = container.scripts.execute_stored_procedure
    for key in ["text", "", 7, -1.5, True]:
        assert run("createDocument", key, [{"id": f"made by {key!r}", "pk": key}]) == f"made by {key!r}"
        assert container.read_item(f"made by {key!r}", key)["pk"] == key


def test_two_players_swap_their_items(container, calls, name):
    for player, item in [("ann", "sword"), ("bob", "shield"), ("cid", None)]:
        made = {"id": player, "pk": name} | ({"item": item} if item else {})
        container.create_item(made)
    assert calls["swapItems"](name, "ann", "bob") is True
    items = {player["id"]: player.get("item") for player in stored(container, name)}
    assert items == {"ann": "shield", "bob": "sword", "cid": None}
    # Both are replaced by then, but nothing of it remains.
    assert "has no item" in refused((400, 400), calls["swapItems"], name, "ann", "cid").message
    assert "no player dan" in refused((400, 404), calls["swapItems"], name, "ann", "dan").message
    assert {player["id"]: player.get("item") for player in stored(container, name)} == items


def test_swaps_at_the_same_time_lose_nothing(container, calls, name):
    players = [f"p{n}" for n in range(4)]
    for player in players:
        container.create_item({"id": player, "pk": name, "item": f"item of {player}"})
    pairs = [(players[n % 4], players[(n + 1 + n % 3) % 4]) for n in range(40)]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda pair: calls["swapItems"](name, *pair), pairs))
    held = sorted(player["item"] for player in stored(container, name))
    assert held == [f"item of {player}" for player in players]


def test_bulk_import(container, calls, name):
    items = [{"id": f"{n:03}", "pk": name, "n": n} for n in range(250)]
    assert calls["bulkImport"](name, items) == 250
    assert stored(container, name) == items
    assert calls["bulkImport"](name, []) == 0
    # One that is there already takes the whole call back.
    refused((400, 409), calls["bulkImport"], name, [{"id": "new", "pk": name}, items[7]])
    assert len(stored(container, name)) == 250


def test_bulk_import_and_delete_with_little_throughput():
    """A script may spend five seconds' worth: 2,000 RU here, of some 48 for each of these items."""
    with Server("--rate-limit", "provisioned") as server, CosmosClient(server.endpoint, PUBLISHED_KEY) as client:
        container = client.create_database("little").create_container("c", PartitionKey("/pk"), offer_throughput=400)
        items = [{"id": f"{n:02}", "pk": "a", "values": list(range(100))} for n in range(60)]
        bulk_import, bulk_delete = procedure(container, "bulkImport"), procedure(container, "bulkDelete")
        counts = []
        while sum(counts) < len(items):
            # While the debt is paid off the answer is 429, and the SDK waits as it is told.
            counts.append(bulk_import("a", items[sum(counts) :]))
            assert 0 < counts[-1] < len(items)
        assert len(counts) > 1 and sum(counts) == len(items)
        answers = [{"continuation": True}]
        while answers[-1]["continuation"]:
            answers.append(bulk_delete("a", "SELECT c._self FROM c"))
        assert len(answers) > 2 and answers[-1]["continuation"] is False
        assert sum(answer["deleted"] for answer in answers[1:]) == len(items)
        assert stored(container, "a") == []
        assert server.stop() == 0


def test_bulk_delete(container, calls, name):
    for n in range(50):
        container.create_item({"id": f"{n:02}", "pk": name, "n": n})
    container.create_item({"id": "00", "pk": f"{name}, another key", "n": 0})
    gone = calls["bulkDelete"](name, "SELECT * FROM c WHERE c.n < 45")
    assert gone == {"deleted": 45, "continuation": False}
    assert [item["n"] for item in stored(container, name)] == list(range(45, 50))
    assert len(stored(container, f"{name}, another key")) == 1
    assert calls["bulkDelete"](name, "SELECT * FROM c WHERE c.n < 45") == {"deleted": 0, "continuation": False}


def test_count_and_sum(container, calls, name):
    for n in range(30):
        container.create_item({"id": str(n), "pk": name, "n": n} if n % 3 else {"id": str(n), "pk": name, "n": "x"})
    assert calls["count"](name, "SELECT * FROM c")["count"] == 30
    assert calls["count"](name, "SELECT VALUE c.n FROM c WHERE IS_NUMBER(c.n)")["count"] == 20
    # In several calls, each of which goes on where the one before it stopped.
    counts, continuation = [], None
    while not counts or continuation:
        answer = calls["count"](name, "SELECT * FROM c", continuation, 2)
        counts.append(answer["count"])
        continuation = answer.get("continuation")
    assert counts == [14, 14, 2]
    assert calls["sum"](name, "n") == {"sum": sum(n for n in range(30) if n % 3), "count": 20}
    assert calls["sum"](name, "absent") == {"sum": 0, "count": 0}
    assert calls["sum"](f"{name}, another key", "n") == {"sum": 0, "count": 0}


class TestUpdate:
    @pytest.mark.parametrize(
        "operators, changed",
        [
            ({"$inc": {"n": 2, "fresh": 3}}, {"n": 12, "fresh": 3}),
            ({"$mul": {"n": 1.5, "fresh": 3}}, {"n": 15, "fresh": 0}),
            ({"$rename": {"text": "words", "absent": "x"}}, {"text": None, "words": "abc"}),
            ({"$set": {"n": {"deep": [1]}, "fresh": None}}, {"n": {"deep": [1]}, "fresh": None}),
            ({"$unset": {"n": "", "absent": ""}}, {"n": None}),
            ({"$min": {"n": 3, "fresh": 4}}, {"n": 3, "fresh": 4}),
            ({"$min": {"n": 30}}, {"n": 10}),
            ({"$max": {"n": 30, "fresh": 4}}, {"n": 30, "fresh": 4}),
            ({"$max": {"n": 3}}, {"n": 10}),
            ({"$addToSet": {"tags": "b"}}, {"tags": ["a", "b"]}),
            ({"$addToSet": {"tags": {"x": 1}}}, {"tags": ["a", "b", {"x": 1}]}),
            ({"$pop": {"tags": 1}}, {"tags": ["a"]}),
            ({"$pop": {"tags": -1}}, {"tags": ["b"]}),
            ({"$push": {"tags": "b", "fresh": 1}}, {"tags": ["a", "b", "b"], "fresh": [1]}),
            ({"$inc": {"n": 1}, "$mul": {"n": 2}, "$push": {"tags": "c"}}, {"n": 22, "tags": ["a", "b", "c"]}),
        ],
        ids=str,
    )
    def test_operators(self, container, calls, name, operators, changed):
        before = {"id": "one", "pk": name, "n": 10, "text": "abc", "tags": ["a", "b"]}
        made = container.create_item(before)
        answer = calls["update"](name, "one", operators, made["_etag"])
        assert answer == container.read_item("one", name) and answer["_etag"] != made["_etag"]
        present = {field: value for field, value in changed.items() if value is not None or field == "fresh"}
        expected = {field: value for field, value in before.items() if field not in changed} | present
        assert {field: value for field, value in answer.items() if field[0] != "_"} == expected

    def test_the_current_date(self, container, calls, name):
        container.create_item({"id": "one", "pk": name})
        earliest = datetime.now(timezone.utc).timestamp()
        answer = calls["update"](name, "one", {"$currentDate": {"at": True, "stamp": "timestamp"}})
        latest = datetime.now(timezone.utc).timestamp()
        at = datetime.fromisoformat(answer["at"]).timestamp()
        assert earliest - 0.001 <= at <= latest and earliest - 0.001 <= answer["stamp"] / 1000 <= latest

    def test_only_the_version_that_is_named(self, container, calls, name):
        made = container.create_item({"id": "one", "pk": name, "n": 1})
        changed = calls["update"](name, "one", {"$inc": {"n": 1}}, made["_etag"])
        refused((400, 412), calls["update"], name, "one", {"$inc": {"n": 1}}, made["_etag"])
        assert container.read_item("one", name) == changed
        assert calls["update"](name, "one", {"$inc": {"n": 1}}, changed["_etag"])["n"] == 3

    def test_what_does_not_fit(self, container, calls, name):
        made = container.create_item({"id": "one", "pk": name, "text": "abc"})
        bad = [{"$inc": {"text": 1}}, {"$push": {"text": 1}}, {"$set": {"n": 1}, "$sort": {"n": 1}}]
        for operators in bad:
            refused((400, 400), calls["update"], name, "one", operators)
        refused((400, 404), calls["update"], name, "another", {"$set": {"n": 1}})
        assert container.read_item("one", name) == made

    def test_increments_at_the_same_time_all_count(self, container, calls, name):
        container.create_item({"id": "one", "pk": name, "n": 0})
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: calls["update"](name, "one", {"$inc": {"n": 1}}), range(40)))
        assert container.read_item("one", name)["n"] == 40


def reading(number, metric, value, minute):
    return {
        "id": f"XMS-001-{number}", "deviceId": "XMS-0001", "metricType": metric, "metricValue": value,
        "unit": {"Temperature": "Fahrenheit", "Humidity": "percent"}[metric],
        "readingTime": f"2016-10-01T12:{minute:02}:00Z",
    }  # fmt: skip


def test_the_latest_state_across_readings(database, name):
    container = database.create_container(name, PartitionKey("/deviceId"), offer_throughput=20000)
    latest = procedure(container, "SetLatestStateAcrossReadings", source("setLatestStateAcrossReadings"))
    readings = [
        reading("FE24C", "Temperature", 105.0, 10), reading("FE24D", "Humidity", 41, 11),
        reading("FE24E", "Temperature", 104.0, 12), reading("FE24F", "Temperature", 99.0, 5),
    ]  # fmt: skip
    for each in readings:
        container.create_item(each)
        state = latest("XMS-0001", each["id"])
    assert state == container.read_item("state-of-XMS-0001", "XMS-0001")
    assert state["readings"] == 4 and state["deviceId"] == "XMS-0001"
    assert state["latest"]["Temperature"] == {
        "readingId": "XMS-001-FE24E", "metricValue": 104, "unit": "Fahrenheit",
        "readingTime": "2016-10-01T12:12:00Z",
    }  # fmt: skip
    assert state["latest"]["Humidity"]["metricValue"] == 41
    # The key of the seed's example is not that of its data: there the reading is not.
    refused((400, 404), latest, "XMS-001", "XMS-001-FE24C")
    assert stored(container, "XMS-001") == []


def test_a_book_and_its_authors_in_one_transaction(database, name):
    container = database.create_container(name, PartitionKey("/publisher"))
    publish = procedure(container, "publishBook")
    for author, books in [("a1", ["b0"]), ("a2", [])]:
        made = {"id": author, "publisher": "p", "countOfBooks": len(books), "books": books}
        container.create_item(made)

    def book(number, *authors):
        authors = [{"id": author, "name": f"Author {author}"} for author in authors]
        return {"id": number, "publisher": "p", "name": f"Book {number}", "authors": authors}

    answer = publish("p", book("b1", "a1", "a2"))
    assert answer == {"book": "b1", "authors": [{"id": "a1", "countOfBooks": 2}, {"id": "a2", "countOfBooks": 1}]}
    before = list(container.query_items("SELECT * FROM c", partition_key="p"))
    assert before[0]["books"] == ["b0", "b1"] and before[1]["books"] == ["b1"]
    # The book is inserted and one author counted before the other is missed.
    assert "author a9" in refused((400, 404), publish, "p", book("b2", "a1", "a9")).message
    refused((400, 409), publish, "p", book("b1", "a2"))
    assert list(container.query_items("SELECT * FROM c", partition_key="p")) == before


def test_functions_in_the_query_of_a_procedure(container, name):
    container.scripts.create_user_defined_function({"id": "tax", "body": source("tax")})
    taxed = procedure(container, "taxed")
    for income in [500, 5000]:
        container.create_item({"id": str(income), "pk": name, "income": income})
    rows = taxed(name, {"id": "50000", "pk": name, "income": 50000}, 1000)
    assert rows == [{"id": "5000", "tax": 1000}, {"id": "50000", "tax": 20000}]
    # What the function throws is the query's error, and here the end of the transaction.
    failure = refused((400, 400), taxed, name, {"id": "text", "pk": name, "income": "much"}, 1000)
    assert "An income must be a number." in failure.message
    assert [item["id"] for item in stored(container, name)] == ["500", "5000", "50000"]


def test_promises(container, calls, name):
    for n in range(3):
        container.create_item({"id": str(n), "pk": name, "n": n})
    assert calls["copyAll"](name, ["0", "2"], "-copy") == ["0-copy", "2-copy"]
    assert [item["id"] for item in stored(container, name)] == ["0", "1", "2", "0-copy", "2-copy"]
    refused((400, 404), calls["copyAll"], name, ["1", "9"], "-copy")
    refused((400, 409), calls["copyAll"], name, ["1", "0"], "-copy")
    assert len(stored(container, name)) == 5
