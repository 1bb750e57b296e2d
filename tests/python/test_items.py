"""Items."""

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

SYSTEM = {"_rid", "_self", "_etag", "_attachments", "_ts"}


def status(call, *arguments, **options):
    """The status and substatus with which a call is refused."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        call(*arguments, **options)
    return refused.value.status_code, refused.value.sub_status or 0


def test_create_read_replace_upsert_delete(container, name):
    item = {"id": name, "pk": "a", "nested": {"list": [1, 2.5, "x", None, True]}, "text": "é€𝄞"}
    made = container.create_item(item)
    assert {key: value for key, value in made.items() if key not in SYSTEM} == item
    assert set(made) - set(item) == SYSTEM
    assert container.read_item(name, "a") == made
    assert container.read_item(made, "a") == made
    assert status(container.create_item, item) == (409, 0)
    replaced = container.replace_item(name, item | {"v": 2})
    assert replaced["v"] == 2 and replaced["_rid"] == made["_rid"]
    assert replaced["_etag"] != made["_etag"]
    upserted = container.upsert_item(replaced | {"v": 3})
    assert upserted["v"] == 3 and upserted["_rid"] == made["_rid"]
    assert container.delete_item(name, "a") is None
    assert status(container.read_item, name, "a") == (404, 0)
    assert status(container.delete_item, name, "a") == (404, 0)
    assert status(container.replace_item, name, item) == (404, 0)
    assert container.upsert_item(item)["_rid"] != made["_rid"]


def test_a_replacement_with_another_id_renames(container, name):
    made = container.create_item({"id": name, "pk": "a"})
    container.create_item({"id": f"{name}-taken", "pk": "a"})
    assert status(container.replace_item, name, made | {"id": f"{name}-taken"}) == (409, 0)
    renamed = container.replace_item(name, made | {"id": f"{name}-new", "v": 1})
    assert (renamed["id"], renamed["_rid"]) == (f"{name}-new", made["_rid"])
    # What was read keeps its order; what is new comes last.
    assert list(renamed) == [*made, "v"]
    assert status(container.read_item, name, "a") == (404, 0)
    assert container.read_item(f"{name}-new", "a") == renamed
    assert container.create_item({"id": name, "pk": "a"})["_rid"] != made["_rid"]


def test_a_body_that_is_too_large(container, name):
    """The SDK sends all of it before it reads the answer."""
    item = {"id": name, "pk": "a", "t": "x" * (8 << 20)}
    assert status(container.create_item, item) == (413, 0)
    assert status(container.read_item, name, "a") == (404, 0)


def test_typed_errors(container, name):
    container.create_item({"id": name, "pk": "a"})
    with pytest.raises(exceptions.CosmosResourceExistsError) as taken:
        container.create_item({"id": name, "pk": "a"})
    assert taken.value.reason and "x-ms-activity-id" in taken.value.headers
    with pytest.raises(exceptions.CosmosResourceNotFoundError) as absent:
        container.read_item("absent", "a")
    assert "Resource Not Found" in absent.value.message
    stale = {"etag": '"stale"', "match_condition": MatchConditions.IfNotModified}
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.delete_item(name, "a", **stale)


def test_generated_ids(container):
    made = container.create_item({"pk": "a"}, enable_automatic_id_generation=True)
    assert container.read_item(made["id"], "a") == made
    assert status(container.create_item, {"pk": "a"}) == (400, 0)


def test_if_match(container, name):
    item = {"id": name, "pk": "a"}
    old = container.create_item(item)["_etag"]
    match = {"match_condition": MatchConditions.IfNotModified}
    new = container.replace_item(name, item, etag=old, **match)["_etag"]
    assert status(container.replace_item, name, item, etag=old, **match) == (412, 0)
    assert status(container.upsert_item, item, etag=old, **match) == (412, 0)
    assert status(container.delete_item, name, "a", etag=old, **match) == (412, 0)
    newer = container.upsert_item(item, etag=new, **match)["_etag"]
    container.delete_item(name, "a", etag=newer, **match)
    assert status(container.replace_item, name, item, etag=newer, **match) == (404, 0)


def test_if_none_match(container, name):
    made = container.create_item({"id": name, "pk": "a"})
    match = {"match_condition": MatchConditions.IfModified}
    assert container.read_item(name, "a", etag='"other"', **match) == made
    container.read_item(name, "a", etag=made["_etag"], **match)
    headers = container.client_connection.last_response_headers
    assert headers["etag"] == made["_etag"]
    # Nothing came back: what was asked for has not changed.
    assert headers.get("content-length", "0") == "0"


def test_the_same_id_under_two_keys(wide, name):
    for key in ("a", "b", 1, 1.5, True, False):
        wide.create_item({"id": name, "pk": key})
    for key in ("a", "b", 1, 1.5, True, False):
        found = wide.read_item(name, key)["pk"]
        assert found == key and type(found) is type(key)
    wide.delete_item(name, "a")
    assert status(wide.read_item, name, "a") == (404, 0)
    assert wide.read_item(name, "b")["pk"] == "b"


@pytest.mark.parametrize("where", ["container", "wide"])
def test_null_and_undefined_are_two_keys(request, name, where):
    place = request.getfixturevalue(where)
    place.create_item({"id": name, "pk": None, "v": "null"})
    place.create_item({"id": name, "v": "undefined"})
    assert place.read_item(name, NullPartitionKeyValue)["v"] == "null"
    assert place.read_item(name, None)["v"] == "null"
    assert place.read_item(name, NonePartitionKeyValue)["v"] == "undefined"
    place.delete_item(name, NullPartitionKeyValue)
    assert status(place.read_item, name, NullPartitionKeyValue) == (404, 0)
    assert place.read_item(name, NonePartitionKeyValue)["v"] == "undefined"
    place.delete_item(name, NonePartitionKeyValue)
    assert status(place.read_item, name, NonePartitionKeyValue) == (404, 0)


KEYS = ["", " ", "a", "A", "ключ", "é", "𝄞", '"quoted"', "back\\slash", "a/b", "new\nline", "k" * 2048,
        0, 1, -1, 42, 2**53, 0.1, -123.456, 1e300, 5e-324, True, False]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=lambda key: repr(key)[:20])
def test_keys(wide, name, key):
    made = wide.create_item({"id": name, "pk": key})
    assert wide.read_item(name, key) == made
    # The client computes the hash too, and names the range where the item must be.
    home = wide.feed_range_from_partition_key(key)
    ranges = list(wide.read_feed_ranges())
    inside = [number for number, item in enumerate(ranges) if wide.is_feed_range_subset(item, home)]
    assert inside == [int(made.get_response_headers()["x-ms-documentdb-partitionkeyrangeid"])]
    wide.delete_item(name, key)


IDS = ["with space", "ünïcode", "𝄞", "a+b", "a%20b", "a=b&c", "(1)", "[x]{y}", "a;b,c:d@e", "a'b\"c", "~!$^*`|<>",
       "x" * 1023, "tail.", "-", "日本語"]  # fmt: skip


@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:12])
def test_odd_ids(container, id):
    made = container.create_item({"id": id, "pk": "odd"})
    assert container.read_item(id, "odd") == made
    assert container.replace_item(id, {"id": id, "pk": "odd", "v": 1})["v"] == 1
    container.delete_item(id, "odd")
    assert status(container.read_item, id, "odd") == (404, 0)


@pytest.mark.parametrize("id", ["x" * 1024, "é" * 512])
def test_ids_that_are_too_long(container, id):
    assert status(container.create_item, {"id": id, "pk": "a"}) == (400, 0)


def test_numbers(container, name):
    numbers = [0, -1, 2**53, 12345678901234567890, 1.5, -0.0, 1e300, 5e-324, 0.1]
    container.create_item({"id": name, "pk": "a", "n": numbers})
    found = container.read_item(name, "a")["n"]
    assert found == numbers and str(found[5]) == "-0.0" and type(found[3]) is int


def test_big_items(container, name):
    text = "x" * (2 * 1024 * 1024 - 4096)
    container.create_item({"id": name, "pk": "a", "text": text})
    assert container.read_item(name, "a")["text"] == text
    huge = {"id": f"{name}-huge", "pk": "a", "text": text + "x" * 8192}
    assert status(container.create_item, huge) == (413, 0)
    assert status(container.upsert_item, huge) == (413, 0)
    assert status(container.replace_item, name, huge | {"id": name}) == (413, 0)
    assert container.read_item(name, "a")["text"] == text
    container.delete_item(name, "a")


def test_deep_items(container, name):
    def nested(depth):
        value = []
        for _ in range(depth - 2):
            value = [value]
        return {"id": name, "pk": "a", "v": value}

    assert container.create_item(nested(128))["id"] == name
    assert status(container.upsert_item, nested(129)) == (400, 0)


def test_no_response(container, name):
    item = {"id": name, "pk": "a"}
    made = container.create_item(item, no_response=True)
    assert made == {} and made.get_response_headers()["etag"]
    assert container.read_item(name, "a")["_etag"] == made.get_response_headers()["etag"]
    assert container.replace_item(name, item, no_response=True) == {}
    assert container.upsert_item(item, no_response=True) == {}


def test_headers(container, name):
    seen = []
    made = container.create_item(
        {"id": name, "pk": "a"}, response_hook=lambda headers, body: seen.append(headers)
    )
    headers = made.get_response_headers()
    assert headers["etag"] == made["_etag"]
    assert headers["x-ms-session-token"].startswith("0:-1#")
    assert headers["x-ms-alt-content-path"] == container.container_link
    assert headers["x-ms-content-path"] == container.read()["_rid"]
    assert headers["x-ms-documentdb-partitionkeyrangeid"] == "0"
    assert float(headers["x-ms-request-charge"]) > 0
    assert headers["x-ms-activity-id"]
    assert seen[0]["etag"] == made["_etag"]


def test_the_key_cannot_be_changed(container, name):
    container.create_item({"id": name, "pk": "a"})
    # The client takes the key from the body, so the item is looked for under the new key.
    assert status(container.replace_item, name, {"id": name, "pk": "b"}) == (404, 0)
    assert container.read_item(name, "a")["pk"] == "a"


def test_throughput_buckets(container, name):
    container.create_item({"id": name, "pk": "a"}, throughput_bucket=2)
    assert status(container.read_item, name, "a", throughput_bucket=9) == (400, 0)


def test_ttl(database, name):
    container = database.create_container(name, PartitionKey("/pk"), default_ttl=-1)
    assert container.create_item({"id": "x", "pk": "a", "ttl": 100000})["ttl"] == 100000
    for ttl in (0, -2, 1.5, "5"):
        assert status(container.create_item, {"id": "y", "pk": "a", "ttl": ttl}) == (400, 0)


def test_a_container_that_is_not_there(database):
    nowhere = database.get_container_client("nowhere")
    assert status(nowhere.read_item, "x", "a")[0] == 404
    assert status(nowhere.create_item, {"id": "x", "pk": "a"})[0] == 404
    assert status(lambda: list(nowhere.read_all_items()))[0] == 404
