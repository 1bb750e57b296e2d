"""Session tokens and log sequence numbers, for each partition and in both dialects."""

import re

import pytest

from http_client import pk

# One key in each of the three ranges.
KEYS = {"0": "test", "1": "redmond", "2": "a"}


def lsn(answer):
    return int(re.fullmatch(r"\d+:-1#(\d+)", answer.session)[1])


def write(client, coll, key, id="x", headers=None):
    upsert = {"x-ms-documentdb-is-upsert": "true"}
    answer = client.post(coll.docs, {"id": id, "pk": key}, pk(key) | upsert | (headers or {}))
    assert answer.status in (200, 201), answer
    return answer


def test_each_write_is_one_step(client, coll):
    path = f"{coll.docs}/steps"
    made = write(client, coll, "a", "steps")
    start = lsn(made)
    assert int(made.headers["lsn"]) == start
    assert lsn(client.get(path, pk("a"))) == start
    assert lsn(client.put(path, {"id": "steps", "pk": "a"}, pk("a"))) == start + 1
    # What is refused is no step.
    assert client.post(coll.docs, {"id": "steps", "pk": "a"}, pk("a")).status == 409
    assert client.put(path, {"id": "steps", "pk": "a"}, pk("a") | {"If-Match": '"x"'}).status == 412
    assert client.post(coll.docs, b"{", pk("a")).status == 400
    assert lsn(client.delete(path, pk("a"))) == start + 2
    absent = client.get(path, pk("a"))
    assert absent.status == 404 and lsn(absent) == start + 2


def test_a_look_at_the_collection_begins_a_session(client, coll):
    start = lsn(write(client, coll, "a", "look"))
    assert lsn(client.get(coll.path)) == start


def test_partitions_count_for_themselves(client, db):
    coll = db.collection(headers={"x-ms-offer-throughput": "25000"})
    start = lsn(client.get(coll.path))
    assert start > 0, "documentdb 1.15 takes zero for no session"
    for rounds in range(1, 4):
        for id, key in KEYS.items():
            made = write(client, coll, key)
            assert made.session == f"{id}:-1#{start + rounds}"
            assert made.headers["x-ms-documentdb-partitionkeyrangeid"] == id
            assert client.get(f"{coll.docs}/x", pk(key)).session == made.session
    # A page of a feed is of one partition.
    sessions, token = [], None
    while True:
        page = client.get(coll.docs, {"x-ms-continuation": token})
        sessions.append(page.session)
        if (token := page.continuation) is None:
            break
    assert sessions == [f"{id}:-1#{start + 3}" for id in ("0", "1", "2")]
    write(client, coll, KEYS["1"])
    for id, steps in {"0": 3, "1": 4, "2": 3}.items():
        answer = client.get(coll.docs, {"x-ms-documentdb-partitionkeyrangeid": id})
        assert answer.session == f"{id}:-1#{start + steps}"


@pytest.mark.parametrize("version, form", [("2020-07-15", "{}:-1#{}"), ("2017-11-15", "{}:{}")])
def test_an_answer_tells_the_session_of_one_range(client, wide, version, form):
    """SDK 2.11 reads a list of tokens as one, and never gets to the LSN that it takes from it."""
    for key in KEYS.values():
        write(client, wide, key)
    old = {"x-ms-version": version}
    query = {"x-ms-documentdb-isquery": "true", "x-ms-documentdb-query-enablecrosspartition": "true"}
    query |= {"Content-Type": "application/query+json"}
    answers = [client.get(wide.docs, old), client.get(wide.docs, old | {"A-IM": "Incremental Feed"})]
    texts = ["SELECT * FROM c"]
    if version == "2020-07-15":
        # Clients of before merge these themselves.
        texts += ["SELECT VALUE COUNT(1) FROM c", "SELECT * FROM c ORDER BY c.id"]
    for text in texts:
        answers.append(client.post(wide.docs, {"query": text}, old | query))
    for answer in answers:
        assert answer.status == 200, answer
        id = answer.headers["x-ms-documentdb-partitionkeyrangeid"]
        assert id in KEYS
        assert answer.session == form.format(id, answer.headers["lsn"])


@pytest.mark.parametrize(
    "version, new",
    [
        ("2015-12-16", False), ("2016-07-11", False), ("2017-11-15", False),
        ("2018-06-18", True), ("2018-09-17", True), ("2018-12-31", True), ("2020-07-15", True),
        ("2030-01-01", True),
    ],
)  # fmt: skip
def test_dialects(client, coll, version, new):
    """Clients before 2018-06-18 crash on the newer form."""
    headers = {"x-ms-version": version}
    form = r"0:-1#\d+" if new else r"0:\d+"
    made = write(client, coll, "a", "dialect", headers)
    assert re.fullmatch(form, made.session), made.session
    path = f"{coll.docs}/dialect"
    assert re.fullmatch(form, client.get(path, pk("a") | headers).session)
    assert re.fullmatch(form, client.get(coll.docs, headers).session)
    assert re.fullmatch(form, client.get(f"{coll.docs}/absent", pk("a") | headers).session)
    # Either form is understood from everyone.
    now = int(made.headers["lsn"])
    for token in (f"0:{now}", f"0:-1#{now}", f"0:1#{now}#1={now}"):
        sent = pk("a") | headers | {"x-ms-session-token": token}
        assert client.get(path, sent).status == 200, token


@pytest.mark.parametrize("form", ["0:{}", "0:-1#{}", "0:1#{}#1=1", "9:-1#5,0:-1#{}"])
def test_a_token_from_the_future(client, coll, form):
    now = lsn(write(client, coll, "a", "future"))
    path = f"{coll.docs}/future"
    for ahead, status in ((0, 200), (1, 404), (1000000, 404)):
        token = {"x-ms-session-token": form.format(now + ahead)}
        answer = client.get(path, pk("a") | token)
        assert answer.status == status, answer
        if status == 404:
            assert answer.substatus == 1002
            assert "The read/write session is not available for the input session token." in answer.message
        feed = client.get(coll.docs, token)
        assert feed.status == status
    assert client.get(path, pk("a") | {"x-ms-session-token": form.format(max(0, now - 1))}).status == 200


def test_a_token_of_another_partition_is_ignored(client, wide):
    for key in KEYS.values():
        write(client, wide, key)
    future = {"x-ms-session-token": "1:-1#1000000"}
    assert client.get(f"{wide.docs}/x", pk(KEYS["0"]) | future).status == 200
    answer = client.get(f"{wide.docs}/x", pk(KEYS["1"]) | future)
    assert (answer.status, answer.substatus) == (404, 1002)
    # A range that is gone, and the empty value that old clients send.
    for token in ("77:-1#1000000", ""):
        headers = pk(KEYS["0"]) | {"x-ms-session-token": token}
        assert client.get(f"{wide.docs}/x", headers).status == 200


@pytest.mark.parametrize("token", ["x", "0", "0:", "0:x", "0:-1#", "0:-1#x", ":5", "0:1;1:2"])
def test_tokens_that_are_none(client, coll, token):
    write(client, coll, "a", "odd-token")
    answer = client.get(f"{coll.docs}/odd-token", pk("a") | {"x-ms-session-token": token})
    assert answer.status == 400, answer


@pytest.mark.parametrize(
    "level, status",
    [
        ("Session", 200), ("ConsistentPrefix", 200), ("Eventual", 200), ("session", 200),
        ("Strong", 400), ("BoundedStaleness", 400), ("Bounded", 400), ("x", 400), ("1", 400),
    ],
)  # fmt: skip
def test_consistency(client, coll, level, status):
    """Weaker than the account's is accepted, stronger is not."""
    write(client, coll, "a", "level")
    headers = {"x-ms-consistency-level": level}
    assert client.get(f"{coll.docs}/level", pk("a") | headers).status == status
    assert client.get(coll.docs, headers).status == status
