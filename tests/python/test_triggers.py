"""Triggers: scripts that run before and after a write when it names them."""

from datetime import datetime, timezone

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from scripting import refused, stored, trigger


@pytest.fixture(scope="module")
def triggers(container):
    """The shared triggers, registered in this module's container."""
    return [
        trigger(container, "addTimestamps", "Pre"),
        trigger(container, "upperCaseId", "Pre", "Create"),
        trigger(container, "canonicalSchedule", "Pre"),
        trigger(container, "uniqueName", "Pre"),
        trigger(container, "updateMetadata", "Post", "Create"),
    ]


def test_timestamps(container, triggers, name):
    earliest = datetime.now(timezone.utc).timestamp()
    made = container.create_item({"id": "one", "pk": name, "n": 1}, pre_trigger_include="addTimestamps")
    assert made == container.read_item("one", name)
    assert made["created"] == made["changed"] and made["by"] == "Create" and made["n"] == 1
    assert datetime.fromisoformat(made["created"]).timestamp() >= earliest - 0.001
    replaced = container.replace_item("one", made | {"n": 2}, pre_trigger_include="addTimestamps")
    assert replaced["created"] == made["created"] <= replaced["changed"]
    assert (replaced["n"], replaced["by"]) == (2, "Replace")
    upserted = container.upsert_item(replaced, pre_trigger_include="addTimestamps")
    assert (upserted["created"], upserted["by"]) == (made["created"], "Upsert")
    # Nobody named it, so it does not run.
    assert "created" not in container.create_item({"id": "two", "pk": name})


def test_an_id_in_upper_case(container, triggers, name):
    made = container.create_item({"id": "straße", "pk": name}, pre_trigger_include="upperCaseId")
    assert made["id"] == "STRASSE"
    assert [item["id"] for item in stored(container, name)] == ["STRASSE"]
    refused((409, 0), container.create_item, {"id": "Strasse", "pk": name}, pre_trigger_include="upperCaseId")


def test_a_schedule_in_one_spelling(container, triggers, name):
    schedule = {"days": ["Friday", "mon", " FRI ", "Sat"], "start": "9", "end": "17.30"}
    item = {"id": "one", "pk": name, "schedule": schedule}
    made = container.create_item(item, pre_trigger_include="canonicalSchedule")
    assert made["schedule"] == {"days": ["mon", "fri", "sat"], "start": "09:00", "end": "17:30"}
    for bad in [{"days": ["noday"]}, {"start": "25:00"}, {"end": "noon"}]:
        item = {"id": "two", "pk": name, "schedule": schedule | bad}
        refused((400, 400), container.create_item, item, pre_trigger_include="canonicalSchedule")
    assert len(stored(container, name)) == 1


def test_unique_names_by_meta_documents(container, triggers, name):
    unique = {"pre_trigger_include": "uniqueName"}
    one = container.create_item({"id": "1", "pk": name, "name": "ada"}, **unique)
    container.create_item({"id": "2", "pk": name, "name": "bob"}, **unique)
    failure = refused((400, 409), container.create_item, {"id": "3", "pk": name, "name": "ada"}, **unique)
    assert "The name ada is taken." in failure.message
    container.replace_item("1", one | {"n": 1}, **unique)
    refused((400, 409), container.replace_item, "1", one | {"name": "bob"}, **unique)
    # A name that is given up is free again, and its meta document goes with it.
    container.replace_item("1", one | {"name": "cleo"}, **unique)
    container.create_item({"id": "3", "pk": name, "name": "ada"}, **unique)
    metas = [item for item in stored(container, name) if item.get("isMeta")]
    assert {meta["id"]: meta["owner"] for meta in metas} == {"name-bob": "2", "name-cleo": "1", "name-ada": "3"}
    # In another key everything is free.
    container.create_item({"id": "1", "pk": f"{name}, another key", "name": "ada"}, **unique)


def test_a_creation_that_fails_reserves_no_name(container, triggers, name):
    container.create_item({"id": "1", "pk": name})
    refused(
        (409, 0), container.create_item, {"id": "1", "pk": name, "name": "ada"}, pre_trigger_include="uniqueName"
    )
    assert [item["id"] for item in stored(container, name)] == ["1"]


def test_metadata_after_each_creation(container, triggers, name):
    sizes = [5, 2, 9, 4]
    for n, size in enumerate(sizes):
        made = container.create_item(
            {"id": str(n), "pk": name, "size": size}, post_trigger_include="updateMetadata"
        )
        assert made["size"] == size
    meta = container.read_item("_metadata", name)
    assert (meta["count"], meta["total"], meta["min"], meta["max"]) == (4, 20, 2, 9)
    # It is written when the trigger refuses it, and then it is not.
    refused((400, 400), container.create_item, {"id": "x", "pk": name}, post_trigger_include="updateMetadata")
    assert len(stored(container, name)) == 5
    assert container.read_item("_metadata", name) == meta


def test_before_and_after_together(container, triggers, name):
    both = {"pre_trigger_include": "upperCaseId", "post_trigger_include": "updateMetadata"}
    assert container.create_item({"id": "a", "pk": name, "size": 3}, **both)["id"] == "A"
    assert container.read_item("_metadata", name)["total"] == 3
    # What the first one did is taken back with the refusal of the second.
    refused((400, 400), container.create_item, {"id": "b", "pk": name}, **both)
    assert {item["id"] for item in stored(container, name)} == {"A", "_metadata"}


def test_a_book_needs_its_authors(database, name):
    container = database.create_container(name, PartitionKey("/publisher"), offer_throughput=25000)
    exist = {"pre_trigger_include": trigger(container, "authorsExist", "Pre")}
    for author in ["a1", "a2"]:
        container.create_item({"id": author, "publisher": "p"})
    book = {"id": "b1", "publisher": "p", "authors": [{"id": "a1"}, {"id": "a2"}]}
    made = container.create_item(book, **exist)
    wrong = made | {"authors": [{"id": "a2"}, {"id": "a3"}]}
    assert "The author a3 does not exist." in refused((400, 404), container.replace_item, "b1", wrong, **exist).message
    refused((400, 404), container.upsert_item, wrong | {"id": "b2"}, **exist)
    # The authors of one publisher are no others' authors.
    refused((400, 404), container.create_item, book | {"publisher": "q"}, **exist)
    assert container.read_item("b1", "p") == made
    assert stored(container, "q") == []


def test_a_deletion_that_is_refused(container, name):
    body = "function () { throw new Error(403, 'Nothing is deleted here.'); }"
    keep = trigger(container, f"keep {name}", "Pre", "Delete", body)
    container.create_item({"id": "one", "pk": name})
    refused((400, 403), container.delete_item, "one", name, pre_trigger_include=keep)
    assert len(stored(container, name)) == 1
    container.delete_item("one", name)
    assert stored(container, name) == []


def test_conditions_hold_with_triggers(container, triggers, name):
    made = container.create_item({"id": "one", "pk": name, "n": 1})
    newer = container.replace_item("one", made | {"n": 2})
    stale = {"etag": made["_etag"], "match_condition": MatchConditions.IfNotModified}
    refused((412, 0), container.replace_item, "one", made, pre_trigger_include="addTimestamps", **stale)
    assert container.read_item("one", name) == newer


def test_a_trigger_may_not_move_the_item(container, name):
    body = "function () { var r = getContext().getRequest(), d = r.getBody(); d.pk = 'elsewhere'; r.setBody(d); }"
    move = trigger(container, f"move {name}", "Pre", "All", body)
    failure = refused((400, 1001), container.create_item, {"id": "one", "pk": name}, pre_trigger_include=move)
    assert "artition" in failure.message
    assert stored(container, name) == stored(container, "elsewhere") == []


def test_names_that_do_not_fit(container, triggers, name):
    item = {"id": "one", "pk": name, "size": 1}
    for options in [
        {"pre_trigger_include": "unknown"},
        {"post_trigger_include": "unknown"},
        {"pre_trigger_include": "updateMetadata"},
        {"post_trigger_include": "addTimestamps"},
        {"pre_trigger_include": "addTimestamps,upperCaseId"},
    ]:
        refused((400, 0), container.create_item, item, **options)
    container.create_item(item)
    refused((400, 0), container.replace_item, "one", item, post_trigger_include="updateMetadata")
    refused((400, 0), container.delete_item, "one", name, pre_trigger_include="upperCaseId")
    refused((400, 0), container.patch_item, "one", name, [{"op": "set", "path": "/n", "value": 1}],
            pre_trigger_include="addTimestamps")  # fmt: skip
    assert stored(container, name) == [item]
