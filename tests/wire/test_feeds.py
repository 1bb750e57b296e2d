"""Feeds of documents: pages that add up to the whole, by key, by range and by hash."""

import pytest

from http_client import UNDEFINED, pk

KEYS = ["a", "b", "c", 1, 2.5, True, None, UNDEFINED, "ü", ""]
EACH = 5


@pytest.fixture(scope="module")
def filled(client, wide):
    for key in KEYS:
        for number in range(EACH):
            body = {"id": f"doc-{number}", "n": number}
            if key != UNDEFINED:
                body["pk"] = key
            assert client.post(wide.docs, body, pk(key)).status == 201
    return wide


def pages(client, path, headers=None):
    """All pages of a feed, each but the last with a new continuation."""
    token, seen = None, set()
    while True:
        answer = client.get(path, (headers or {}) | {"x-ms-continuation": token})
        assert answer.status == 200, answer
        body = answer.json
        assert list(body) == ["_rid", "Documents", "_count"]
        assert body["_count"] == len(body["Documents"])
        assert answer.headers["x-ms-item-count"] == str(body["_count"])
        yield body["Documents"]
        if (token := answer.continuation) is None:
            return
        # JavaScript asks for tokens under 1 KB.
        assert len(token) < 1024 and token not in seen
        seen.add(token)


def rids(documents):
    return [document["_rid"] for document in documents]


def test_the_envelope(client, filled):
    answer = client.get(filled.docs)
    body = answer.json
    assert list(body) == ["_rid", "Documents", "_count"]
    # A page is of one physical partition.
    assert body["_rid"] == filled.rid and 0 < body["_count"] == len(body["Documents"]) < len(KEYS) * EACH
    for document in body["Documents"]:
        assert client.get("/" + document["_self"], pk(document.get("pk", UNDEFINED))).json == document


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 49, 50, 51, 1000])
def test_pages_add_up(client, filled, size):
    whole = sum(pages(client, filled.docs), [])
    assert len(whole) == len(KEYS) * EACH
    found = list(pages(client, filled.docs, {"x-ms-max-item-count": str(size)}))
    assert all(len(page) <= size for page in found)
    assert sum(found, []) == whole


def test_the_server_decides(client, filled):
    whole = sum(pages(client, filled.docs), [])
    assert sum(pages(client, filled.docs, {"x-ms-max-item-count": "-1"}), []) == whole


def test_a_hundred_unless_said(client, db):
    coll = db.collection()
    for number in range(120):
        assert client.post(coll.docs, {"id": str(number), "pk": number % 7}).status == 201
    found = list(pages(client, coll.docs))
    assert [len(page) for page in found] == [100, 20]
    # A partition that is small is read as it was filled.
    assert [document["id"] for page in found for document in page] == [str(number) for number in range(120)]


def test_a_full_page_has_a_token(client, db):
    """Whether there is more is for the next page to say."""
    coll = db.collection()
    for number in range(6):
        assert client.post(coll.docs, {"id": str(number), "pk": number}).status == 201
    assert [len(page) for page in pages(client, coll.docs, {"x-ms-max-item-count": "3"})] == [3, 3, 0]
    assert [len(page) for page in pages(client, coll.docs, {"x-ms-max-item-count": "4"})] == [4, 2]


def test_documents_without_a_key(client, filled):
    """`[]` is what some SDKs write for no key at all."""
    found = sum(pages(client, filled.docs, {"x-ms-documentdb-partitionkey": "[]"}), [])
    assert found == sum(pages(client, filled.docs, pk(UNDEFINED)), [])
    assert len(found) == EACH and all("pk" not in document for document in found)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("size", [None, "2"])
def test_one_logical_partition(client, filled, key, size):
    found = sum(pages(client, filled.docs, pk(key) | {"x-ms-max-item-count": size}), [])
    # Insertion order holds within a logical partition.
    assert [document["n"] for document in found] == list(range(EACH))
    for document in found:
        assert document.get("pk", UNDEFINED) == key


def test_a_logical_partition_that_is_empty(client, filled):
    answer = client.get(filled.docs, pk("nobody"))
    assert answer.json == {"_rid": filled.rid, "Documents": [], "_count": 0}
    assert answer.continuation is None


def test_ranges_add_up(client, filled):
    whole = list(pages(client, filled.docs))
    by_range = []
    for item in client.get(f"{filled.path}/pkranges").json["PartitionKeyRanges"]:
        header = {"x-ms-documentdb-partitionkeyrangeid": item["id"], "x-ms-max-item-count": "3"}
        part = sum(pages(client, filled.docs, header), [])
        assert part
        by_range.append(part)
    assert by_range == whole


def test_an_unknown_range_is_gone(client, filled):
    for id in ("3", "99", f"{filled.rid},77"):
        answer = client.get(filled.docs, {"x-ms-documentdb-partitionkeyrangeid": id})
        assert (answer.status, answer.substatus) == (410, 1002), answer


@pytest.mark.parametrize("parts", [1, 2, 5, 16])
def test_sub_ranges_of_hashes_add_up(client, filled, parts):
    """Feed ranges of SDKs: part of a physical partition, by effective partition key."""
    whole = sum(pages(client, filled.docs), [])
    found = []
    for item in client.get(f"{filled.path}/pkranges").json["PartitionKeyRanges"]:
        low = int(item["minInclusive"].ljust(32, "0"), 16)
        high = 1 << 126 if item["maxExclusive"] == "FF" else int(item["maxExclusive"], 16)
        cuts = [f"{low + (high - low) * n // parts:032X}" for n in range(parts + 1)]
        cuts[0], cuts[-1] = item["minInclusive"], item["maxExclusive"]
        for start, end in zip(cuts, cuts[1:], strict=False):
            headers = {
                "x-ms-documentdb-partitionkeyrangeid": item["id"],
                "x-ms-read-key-type": "EffectivePartitionKeyRange",
                "x-ms-start-epk": start,
                "x-ms-end-epk": end,
                "x-ms-max-item-count": "2",
            }
            found += sum(pages(client, filled.docs, headers), [])
    # Documents that were created one after the other are cut apart.
    assert sorted(rids(found)) == sorted(rids(whole))


def test_a_range_from_the_least_key(client, filled):
    """.NET leaves out a start that has no digits."""
    kind = {"x-ms-read-key-type": "EffectivePartitionKeyRange", "x-ms-end-epk": "3A5381E1114EB8D3FCC90795045B49B7"}
    found = sum(pages(client, filled.docs, kind), [])
    assert found == sum(pages(client, filled.docs, kind | {"x-ms-start-epk": ""}), [])
    assert found and "a" not in {document.get("pk") for document in found}


def test_one_hash_is_one_key(client, filled):
    """The published hash of "a", and nothing beside it."""
    start = "3A5381E1114EB8D3FCC90795045B49B7"
    headers = {
        "x-ms-documentdb-partitionkeyrangeid": "2",
        "x-ms-read-key-type": "EffectivePartitionKeyRange",
        "x-ms-start-epk": start,
        "x-ms-end-epk": start + "FF",
    }
    assert {item["pk"] for item in client.get(filled.docs, headers).json["Documents"]} == {"a"}
    headers |= {"x-ms-start-epk": "3A5381E1114EB8D3FCC90795045B49B8", "x-ms-end-epk": "FF"}
    others = client.get(filled.docs, headers).json["Documents"]
    assert "a" not in {item.get("pk") for item in others}


@pytest.mark.parametrize(
    "start, end", [("zz", "FF"), ("20", "10"), ("é", "FF"), ("0", "FF"), ("00", None)]
)
def test_hash_ranges_that_are_none(client, filled, start, end):
    headers = {
        "x-ms-documentdb-partitionkeyrangeid": "0",
        "x-ms-read-key-type": "EffectivePartitionKeyRange",
        "x-ms-start-epk": start and start.encode(),
        "x-ms-end-epk": end,
    }
    answer = client.get(filled.docs, headers)
    assert answer.status == 400, answer


@pytest.mark.parametrize("token", ["x", "{}", "[]", "null", "AAAA", "%00", "1", "-1", "é", "a" * 5000])
def test_continuations_that_are_none(client, filled, token):
    answer = client.get(filled.docs, {"x-ms-continuation": token.encode()})
    assert answer.status == 400, answer


def test_a_continuation_of_another_feed(client, filled, coll):
    token = client.get(filled.docs, {"x-ms-max-item-count": "1"}).continuation
    assert token
    answer = client.get(coll.docs, {"x-ms-continuation": token})
    assert answer.status == 400


@pytest.mark.parametrize("size", ["-2", "x", "1.5", "99999999999999999999", "1,2"])
def test_page_sizes_that_are_none(client, filled, size):
    answer = client.get(filled.docs, {"x-ms-max-item-count": size})
    assert answer.status == 400, answer


def test_a_feed_goes_on_after_changes(client, db):
    """What is deleted between pages is not served; what was there is served once."""
    coll = db.collection()
    for number in range(9):
        assert client.post(coll.docs, {"id": str(number), "pk": number}).status == 201
    whole = client.get(coll.docs).json["Documents"]
    first = client.get(coll.docs, {"x-ms-max-item-count": "3"})
    assert first.json["Documents"] == whole[:3]
    for document in (whole[1], whole[2], whole[4]):
        assert client.delete("/" + document["_self"], pk(document["pk"])).status == 204
    headers = {"x-ms-continuation": first.continuation, "x-ms-max-item-count": "100"}
    assert client.get(coll.docs, headers).json["Documents"] == [whole[3], *whole[5:]]


def test_big_documents_are_paged_by_size(client, db):
    """A page has at most 4 MB, however many documents were asked for."""
    coll = db.collection()
    for number in range(6):
        body = {"id": str(number), "pk": "a", "t": "x" * 1_000_000}
        assert client.post(coll.docs, body).status == 201
    found = list(pages(client, coll.docs, {"x-ms-max-item-count": "1000"}))
    assert len(found) > 1
    assert [document["id"] for page in found for document in page] == list("012345")
