"""Reading all items, page by page."""

import pytest
from azure.cosmos import PartitionKey, exceptions

COUNT = 53


@pytest.fixture(scope="module", params=[400, 25000], ids=["one partition", "three partitions"])
def filled(request, database):
    name = f"filled-{request.param}"
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=request.param)
    for number in range(COUNT):
        container.create_item({"id": f"item-{number}", "pk": number % 11, "n": number})
    return container


def test_the_whole(filled):
    found = list(filled.read_all_items())
    assert sorted(item["n"] for item in found) == list(range(COUNT))
    for item in found:
        assert filled.read_item(item["id"], item["pk"]) == item


@pytest.mark.parametrize("size", [1, 2, 7, 10, 50, 53, 54, 1000])
def test_pages_add_up(filled, size):
    whole = list(filled.read_all_items())
    pages = [list(page) for page in filled.read_all_items(max_item_count=size).by_page()]
    assert all(len(page) <= size for page in pages)
    assert sum(pages, []) == whole
    assert len(pages) >= COUNT // size


@pytest.mark.parametrize("size", [1, 5, 20])
def test_a_feed_is_taken_up_again(filled, size):
    """Each page is read by a new iterator, from the token of the one before."""
    whole = list(filled.read_all_items())
    found, token = [], None
    while True:
        pager = filled.read_all_items(max_item_count=size).by_page(token)
        # The last page may be empty. The SDK stops then, and keeps the token that it was given.
        if (page := next(pager, None)) is None:
            break
        found += list(page)
        token = pager.continuation_token
        if token is None:
            break
    assert found == whole


def test_a_token_that_is_none(filled):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        next(filled.read_all_items().by_page("no token"))
    assert refused.value.status_code == 400


def test_an_empty_container(database, name):
    container = database.create_container(name, PartitionKey("/pk"), offer_throughput=25000)
    assert list(container.read_all_items()) == []
    assert [list(page) for page in container.read_all_items(max_item_count=1).by_page()] in ([], [[]])


def test_order_within_a_key(filled):
    """Items of one key come in the order in which they were made."""
    by_key = {}
    for item in filled.read_all_items(max_item_count=4):
        by_key.setdefault(item["pk"], []).append(item["n"])
    assert len(by_key) == 11
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_deleted_items_are_gone(database, name):
    container = database.create_container(name, PartitionKey("/pk"))
    for number in range(10):
        container.create_item({"id": str(number), "pk": number})
    for number in range(0, 10, 2):
        container.delete_item(str(number), number)
    assert {item["id"] for item in container.read_all_items()} == set("13579")


def test_more_than_a_page(database, name):
    container = database.create_container(name, PartitionKey("/pk"))
    for number in range(130):
        container.create_item({"id": str(number), "pk": "a"}, no_response=True)
    assert [item["id"] for item in container.read_all_items()] == [str(n) for n in range(130)]
