"""Partitions that split and merge: the calls, what ranges say afterwards, and what clients hold on to."""

import threading

import pytest

from http_client import Client, pk
from query_client import ask, ranges, rows
from server import Server, verify

INCREMENTAL = {"A-IM": "Incremental Feed", "x-ms-max-item-count": "-1"}
COUNT = 80
QUERIES = ["SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c WHERE c.n >= 10", "SELECT VALUE c.n FROM c ORDER BY c.n",
           "SELECT VALUE c.n FROM c ORDER BY c.n DESC", "SELECT VALUE c.n FROM c ORDER BY c.m, c.n"]  # fmt: skip
ORDER = [{"path": "/m", "order": "ascending"}, {"path": "/n", "order": "ascending"}]


def fill(client, coll, count=COUNT):
    for n in range(count):
        made = client.post(coll.docs, {"id": f"i{n}", "pk": f"k{n % 40}", "n": n, "m": n % 3})
        assert made.status == 201, made


@pytest.fixture
def split_coll(client, db):
    """A collection with documents in one range, and an index for the order by two paths."""
    coll = db.collection({"indexingPolicy": {"indexingMode": "consistent", "compositeIndexes": [ORDER]}})
    fill(client, coll)
    return coll


def reshape(client, coll, action, id, **more):
    return client.post(f"/_sheaf{coll.path}/pkranges/{id}/{action}", None, **more)


def split(client, coll, id):
    answer = reshape(client, coll, "split", id)
    assert answer.status == 200, answer
    return answer.json


def merge(client, coll, id):
    answer = reshape(client, coll, "merge", id)
    assert answer.status == 200, answer
    return answer.json


def in_range(id):
    return {"x-ms-documentdb-partitionkeyrangeid": id}


def numbers(client, coll, headers=None):
    """The documents of a feed, by their `n`."""
    found, token = [], None
    while True:
        page = client.get(coll.docs, (headers or {}) | {"x-ms-max-item-count": "9", "x-ms-continuation": token})
        assert page.status == 200, page
        found += [item["n"] for item in page.json["Documents"]]
        if (token := page.continuation) is None:
            return found


def test_a_split(client, split_coll):
    coll = split_coll
    assert numbers(client, coll) == list(range(COUNT))
    done = split(client, coll, "0")
    assert list(done) == ["parents", "children", "writesPausedMs"]
    left, right = done["children"]
    assert (done["parents"], left["id"], right["id"]) == (["0"], "1", "2")
    assert (left["minInclusive"], right["maxExclusive"]) == ("", "FF")
    assert left["maxExclusive"] == right["minInclusive"]
    assert done["writesPausedMs"] >= 0
    found = ranges(client, coll.path)
    assert [{name: item[name] for name in left} for item in found] == [left, right]
    assert [item["parents"] for item in found] == [["0"], ["0"]]
    assert [item["status"] for item in found] == ["online", "online"]
    # Every document is in one half, as it was.
    halves = [numbers(client, coll, in_range(item["id"])) for item in found]
    assert all(halves) and sorted(sum(halves, [])) == list(range(COUNT))
    # One half behind the other, each as it was filled.
    assert halves == [sorted(half) for half in halves]
    assert numbers(client, coll) == sum(halves, [])
    # Halves by size: neither has much more than the other.
    assert abs(len(halves[0]) - len(halves[1])) <= COUNT // 5


def test_children_split_and_merge(client, split_coll):
    coll = split_coll
    split(client, coll, "0")
    assert [child["id"] for child in split(client, coll, "2")["children"]] == ["3", "4"]
    assert [item["parents"] for item in ranges(client, coll.path)] == [["0"], ["0", "2"], ["0", "2"]]
    done = merge(client, coll, "1")
    assert done["parents"] == ["1", "3"]
    [child] = done["children"]
    assert (child["id"], child["minInclusive"]) == ("5", "")
    found = ranges(client, coll.path)
    assert [item["id"] for item in found] == ["5", "4"]
    assert found[0]["parents"] == ["0", "1", "2", "3"]
    merge(client, coll, "5")
    [last] = ranges(client, coll.path)
    assert (last["id"], last["minInclusive"], last["maxExclusive"]) == ("6", "", "FF")
    assert sorted(numbers(client, coll)) == list(range(COUNT))
    assert rows(client, coll.docs, QUERIES[2]) == list(range(COUNT))


def test_writes_go_on(client, split_coll):
    coll = split_coll
    split(client, coll, "0")
    homes = set()
    for n in range(COUNT):
        path, key = f"{coll.docs}/i{n}", pk(f"k{n % 40}")
        read = client.get(path, key)
        changed = client.put(path, read.json | {"n": n + 1000}, key | {"If-Match": read.etag})
        assert changed.status == 200, changed
        homes.add(changed.headers["x-ms-documentdb-partitionkeyrangeid"])
        assert client.post(coll.docs, {"id": f"i{n}", "pk": f"k{n % 40}"}).status == 409
    assert homes == {"1", "2"}
    assert client.delete(f"{coll.docs}/i0", pk("k0")).status == 204
    assert rows(client, coll.docs, QUERIES[2]) == list(range(1001, 1000 + COUNT))
    new = client.post(coll.docs, {"id": "new", "pk": "k0", "n": 1}).json
    assert new["_rid"] not in [item["_rid"] for item in client.get(coll.docs).json["Documents"] if item["id"] != "new"]


def test_errors(client, split_coll):
    coll = split_coll
    for action in ("split", "merge"):
        for id in ("7", "x", "00", "-1", "%20"):
            assert reshape(client, coll, action, id).status == 404, id
        path = f"/_sheaf{coll.path}/pkranges/0/{action}"
        assert client.get(path).status == 405
        assert client.put(path).status == 405
        assert client.delete(path).status == 405
        assert client.send("POST", path, headers={"x-ms-version": "2020-07-15"}).status == 401
        assert client.post(path, key="bm90IHRoZSBrZXk=").status == 401
        nowhere = client.post(f"/_sheaf{coll.path}-not/pkranges/0/{action}")
        assert nowhere.status == 404
    # The only range has no neighbour.
    last = reshape(client, coll, "merge", "0")
    assert last.status == 400 and "last" in last.message
    assert len(ranges(client, coll.path)) == 1 and ranges(client, coll.path)[0]["id"] == "0"
    # A range that is gone can be neither split nor merged.
    split(client, coll, "0")
    assert reshape(client, coll, "split", "0").status == 404
    assert reshape(client, coll, "merge", "0").status == 404
    assert reshape(client, coll, "merge", "2").status == 400


@pytest.mark.parametrize("documents", [1, 5])
def test_one_key_cannot_be_split(client, db, documents):
    coll = db.collection()
    for n in range(documents):
        assert client.post(coll.docs, {"id": str(n), "pk": "one"}).status == 201
    answer = reshape(client, coll, "split", "0")
    assert answer.status == 400 and "one partition key" in answer.message
    assert [item["id"] for item in ranges(client, coll.path)] == ["0"]
    assert client.post(coll.docs, {"id": "more", "pk": "one"}).status == 201


def test_an_empty_range_is_cut_in_the_middle(client, db):
    coll = db.collection()
    done = split(client, coll, "0")
    assert [child["id"] for child in done["children"]] == ["1", "2"]
    fill(client, coll)
    assert all(numbers(client, coll, in_range(id)) for id in ("1", "2"))


def test_throughput_keeps_its_ranges(client, db):
    """Three ranges for 25,000 RU/s: none of them can be merged away."""
    coll = db.collection(headers={"x-ms-offer-throughput": "25000"})
    answer = reshape(client, coll, "merge", "0")
    assert answer.status == 400 and "throughput" in answer.message
    assert [item["id"] for item in ranges(client, coll.path)] == ["0", "1", "2"]


def test_read_only_keys(tmp_path):
    keys = tmp_path / "keys.toml"
    keys.write_text('primary = "cHJpbWFyeSBrZXkgb2YgdGhpcyB0ZXN0"\nprimary_readonly = "cmVhZC1vbmx5IGtleSBvZiB0aGlz"\n')
    with Server("--key-file", keys) as server:
        owner, reader = (Client(server.port, key) for key in
                         ("cHJpbWFyeSBrZXkgb2YgdGhpcyB0ZXN0", "cmVhZC1vbmx5IGtleSBvZiB0aGlz"))  # fmt: skip
        assert owner.post("/dbs", {"id": "d"}).status == 201
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        assert owner.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201
        path = "/_sheaf/dbs/d/colls/c/pkranges/0"
        assert reader.get("/dbs/d/colls/c/pkranges").status == 200
        for action in ("split", "merge"):
            assert reader.post(f"{path}/{action}").status == 403
        assert owner.post(f"{path}/split").status == 200


def test_twice_at_once(server, client, split_coll):
    """Of two at the same moment one is done, the other refused; or they came one after the other."""
    coll = split_coll
    barrier, answers = threading.Barrier(8), []

    def attempt():
        with_own = Client(server.port)
        barrier.wait()
        answers.append(reshape(with_own, coll, "split", "0"))
        with_own.close()

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sorted(answer.status for answer in answers)
    assert statuses.count(200) == 1 and set(statuses) <= {200, 404, 409}, statuses
    assert [item["id"] for item in ranges(client, coll.path)] == ["1", "2"]
    assert sorted(numbers(client, coll)) == list(range(COUNT))


def test_the_feed_of_ranges_changes(client, split_coll):
    coll = split_coll
    path = f"{coll.path}/pkranges"
    first = client.get(path, INCREMENTAL)
    known = INCREMENTAL | {"If-None-Match": first.etag}
    assert client.get(path, known).status == 304
    split(client, coll, "0")
    second = client.get(path, known)
    assert second.status == 200 and second.etag != first.etag
    assert [item["id"] for item in second.json["PartitionKeyRanges"]] == ["1", "2"]
    assert client.get(path, INCREMENTAL | {"If-None-Match": second.etag}).status == 304
    # A merge back to one range is another map than the first.
    merge(client, coll, "1")
    third = client.get(path, INCREMENTAL | {"If-None-Match": second.etag})
    assert third.status == 200 and third.etag not in (first.etag, second.etag)
    assert client.get(f"{path}/0").status == client.get(f"{path}/1").status == 404
    assert client.get(f"{path}/3").json == third.json["PartitionKeyRanges"][0]


def gone(answer):
    return (answer.status, answer.substatus) == (410, 1002)


def test_the_old_range_is_gone(client, split_coll):
    coll = split_coll
    token = client.get(coll.docs, in_range("0") | {"x-ms-max-item-count": "5"}).continuation
    assert token
    split(client, coll, "0")
    for query in QUERIES:
        assert gone(ask(client, coll.docs, query, in_range("0"))), query
    assert gone(client.get(coll.docs, in_range("0")))
    assert gone(client.get(coll.docs, in_range("0") | {"x-ms-continuation": token}))
    # A range that never was is gone as well: a client that asks for it has to look again.
    assert gone(client.get(coll.docs, in_range("9")))
    # Where the key says which range it is, nobody has to know its id.
    assert client.get(f"{coll.docs}/i0", pk("k0")).status == 200
    assert rows(client, coll.docs, "SELECT VALUE c.n FROM c WHERE c.n < 40", pk("k0")) == [0]


# Who asks like this cannot do without the ranges it knows: see keeps_old_ranges in the gateway.
KEEPERS = ["azsdk-python-cosmos/4.17.1 Python/3.11.7 (Linux)", "Node.js/v20.20.2 (linux; x64) azure-cosmos-js/4.10.1"]


@pytest.mark.parametrize("agent", KEEPERS)
def test_the_old_range_goes_on_for_some(client, split_coll, agent):
    coll = split_coll
    old = in_range("0") | {"User-Agent": agent}
    whole = {query: rows(client, coll.docs, query) for query in QUERIES}
    tokens = {query: ask(client, coll.docs, query, old | {"x-ms-max-item-count": "9"}).continuation for query in QUERIES}
    feed = numbers(client, coll, old)
    split(client, coll, "0")
    split(client, coll, "2")
    for query in QUERIES:
        found = rows(client, coll.docs, query, old, size=4)
        # Without an order, the parts come one behind the other unless they were begun as one.
        assert found == whole[query] if "ORDER" in query else sorted(found) == sorted(whole[query])
        assert ends(client, coll, query, tokens[query], old) == whole[query][9:]
    assert sorted(numbers(client, coll, old)) == sorted(feed)
    # Halves of the past, across a merge as well.
    left, right = numbers(client, coll, in_range("1")), numbers(client, coll, in_range("3"))
    merge(client, coll, "1")
    kept = {"User-Agent": agent}
    assert numbers(client, coll, in_range("1") | kept) == left
    assert numbers(client, coll, in_range("3") | kept) == right
    assert sorted(numbers(client, coll, old)) == sorted(feed)
    # What never was is still gone; who would ask for ever is told so finally.
    assert gone(client.get(coll.docs, in_range("9") | kept))
    never = ask(client, coll.docs, QUERIES[0], in_range("9") | kept)
    assert never.status == (404 if "azure-cosmos-js" in agent else 410), never


@pytest.mark.parametrize("agent", KEEPERS)
def test_the_old_range_speaks_of_itself(client, split_coll, agent):
    """A session token of ranges that the client does not know would make it begin anew."""
    coll = split_coll
    old = in_range("0") | {"User-Agent": agent}
    split(client, coll, "0")
    for n in range(40, 60):  # one half is ahead of the other
        client.post(coll.docs, {"id": f"more{n}", "pk": "k1", "n": n})
    for answer in (client.get(coll.docs, old), ask(client, coll.docs, QUERIES[2], old | {"x-ms-max-item-count": "9"})):
        assert answer.status == 200
        assert answer.session.startswith("0:-1#"), answer.session
        for n in range(40):
            read = client.get(f"{coll.docs}/i{n}", pk(f"k{n}") | session_of(answer))
            assert read.status == 200, read
    # Ranges remember 64 ancestors; an answer for one before them has no token, never one of others.
    first = [item["id"] for item in ranges(client, coll.path)][0]
    for _ in range(33):
        left, _ = split(client, coll, first)["children"]
        first = merge(client, coll, left["id"])["children"][0]["id"]
    feed = client.get(coll.docs, old | {"x-ms-max-item-count": "-1"})
    assert len(numbers(client, coll, old)) == COUNT + 20
    assert "x-ms-session-token" not in feed.headers or feed.session.startswith("0:-1#")
    # By a key, or by the id of a range that there is, the answer names the range that there is.
    by_key = ask(client, coll.docs, QUERIES[0], {"User-Agent": agent} | pk("k1"))
    assert by_key.session.partition(":")[0] in (first, "2")
    assert client.get(coll.docs, in_range("2") | {"User-Agent": agent}).session.startswith("2:-1#")


def session_of(answer):
    return {"x-ms-session-token": answer.session}


def test_sessions_of_the_parent(client, split_coll):
    coll = split_coll
    written = client.post(coll.docs, {"id": "mine", "pk": "k1", "n": -1})
    assert written.session.startswith("0:-1#")
    lsn = int(written.session.rpartition("#")[2])
    split(client, coll, "0")
    for key in (f"k{n}" for n in range(8)):
        read = client.get(f"{coll.docs}/i{key[1:]}", pk(key) | session_of(written))
        assert read.status == 200 and read.json["pk"] == key
        id, _, now = read.session.partition(":-1#")
        assert id in ("1", "2") and int(now) >= lsn
    assert client.get(f"{coll.docs}/mine", pk("k1") | session_of(written)).status == 200
    assert len(rows(client, coll.docs, QUERIES[0], session_of(written))) == COUNT + 1
    # What the parent never reached, its children have not reached either.
    future = {"x-ms-session-token": f"0:-1#{lsn + 1000}"}
    behind = client.get(f"{coll.docs}/mine", pk("k1") | future)
    assert (behind.status, behind.substatus) == (404, 1002)
    # Merged again, the sessions of both halves hold.
    halves = [client.get(coll.docs, in_range(id)) for id in ("1", "2")]
    assert [half.session.partition(":")[0] for half in halves] == ["1", "2"]
    merge(client, coll, "1")
    for token in (written, *halves):
        assert client.get(f"{coll.docs}/mine", pk("k1") | session_of(token)).status == 200


def ends(client, coll, query, token, headers=None):
    """The rest of a query from a token on."""
    return rows(client, coll.docs, query, (headers or {}) | {"x-ms-continuation": token}, size=4)


@pytest.mark.parametrize("query", QUERIES)
def test_a_token_of_the_whole_collection(client, split_coll, query):
    coll = split_coll
    whole = rows(client, coll.docs, query)
    assert len(whole) >= COUNT - 10
    first = ask(client, coll.docs, query, {"x-ms-max-item-count": "7"})
    assert first.json["Documents"] == whole[:7]
    split(client, coll, "0")
    assert ends(client, coll, query, first.continuation) == whole[7:]
    split(client, coll, "1")
    second = ask(client, coll.docs, query, {"x-ms-max-item-count": "20", "x-ms-continuation": first.continuation})
    assert second.json["Documents"] == whole[7:27]
    merge(client, coll, "4")
    merge(client, coll, "3")
    assert len(ranges(client, coll.path)) == 1
    assert ends(client, coll, query, second.continuation) == whole[27:]
    assert ends(client, coll, query, first.continuation) == whole[7:]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("taken", [7, 41, 69])
def test_a_token_of_a_range(client, split_coll, query, taken):
    """The parent's token is good for each child: together they have the rest."""
    coll = split_coll
    whole = rows(client, coll.docs, query, in_range("0"))
    first = ask(client, coll.docs, query, in_range("0") | {"x-ms-max-item-count": str(taken)})
    assert first.json["Documents"] == whole[:taken]
    split(client, coll, "0")
    parts = [ends(client, coll, query, first.continuation, in_range(id)) for id in ("1", "2")]
    rest = whole[taken:]
    assert sorted(sum(parts, [])) == sorted(rest)
    for part in parts:
        assert part == [row for row in rest if row in part]
    # And for their children, and for what is merged of them.
    split(client, coll, "2")
    parts = [ends(client, coll, query, first.continuation, in_range(id)) for id in ("1", "3", "4")]
    assert sorted(sum(parts, [])) == sorted(rest)
    merge(client, coll, "3")
    merge(client, coll, "1")
    assert ends(client, coll, query, first.continuation, in_range("6")) == rest


def test_a_token_of_a_merged_half(client, split_coll):
    """A client that was in one half goes on within its bounds."""
    coll = split_coll
    left, right = split(client, coll, "0")["children"]
    query = QUERIES[0]
    whole = {half["id"]: rows(client, coll.docs, query, in_range(half["id"])) for half in (left, right)}
    tokens = {half: ask(client, coll.docs, query, in_range(half) | {"x-ms-max-item-count": "6"}).continuation
              for half in whole}  # fmt: skip
    [both] = merge(client, coll, "1")["children"]
    for half in (left, right):
        bounds = in_range(both["id"]) | {
            "x-ms-read-key-type": "EffectivePartitionKeyRange",
            "x-ms-start-epk": half["minInclusive"], "x-ms-end-epk": half["maxExclusive"],
        }  # fmt: skip
        assert ends(client, coll, query, tokens[half["id"]], bounds) == whole[half["id"]][6:]
        assert rows(client, coll.docs, query, bounds) == whole[half["id"]]


@pytest.mark.parametrize("feed", ["whole", "range"])
def test_a_token_of_a_feed(client, split_coll, feed):
    coll = split_coll
    scope = {} if feed == "whole" else in_range("0")
    whole = numbers(client, coll, scope)
    first = client.get(coll.docs, scope | {"x-ms-max-item-count": "11"})
    assert [item["n"] for item in first.json["Documents"]] == whole[:11]
    split(client, coll, "0")
    found = []
    for scope in [{}] if feed == "whole" else [in_range("1"), in_range("2")]:
        token = first.continuation
        while token:
            page = client.get(coll.docs, scope | {"x-ms-max-item-count": "11", "x-ms-continuation": token})
            assert page.status == 200, page
            found += [item["n"] for item in page.json["Documents"]]
            token = page.continuation
    assert found == whole[11:] if feed == "whole" else sorted(found) == sorted(whole[11:])


@pytest.mark.parametrize("text, answer", [
    ("SELECT VALUE COUNT(1) FROM c", [COUNT]), ("SELECT VALUE SUM(c.n) FROM c", [sum(range(COUNT))]),
    ("SELECT VALUE MAX(c.n) FROM c", [COUNT - 1]), ("SELECT DISTINCT VALUE c.m FROM c ORDER BY c.m", [0, 1, 2]),
    ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 9 LIMIT 3", [9, 10, 11]),
])  # fmt: skip
def test_answers_stay_the_same(client, split_coll, text, answer):
    coll = split_coll
    for id in ("0", "1", "2"):
        assert rows(client, coll.docs, text) == answer
        split(client, coll, id)
    assert rows(client, coll.docs, text) == answer


def test_statistics_and_counters(client, split_coll):
    coll = split_coll
    wish = {"x-ms-documentdb-populatepartitionstatistics": "true"}
    split(client, coll, "0")
    statistics = client.get(coll.path, wish).json["statistics"]
    assert [item["id"] for item in statistics] == ["1", "2"]
    for item in statistics:
        assert item["documentCount"] == len(numbers(client, coll, in_range(item["id"])))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_after_a_restart(tmp_path, end):
    data = tmp_path / "data"
    with Server(data_dir=data) as server:
        client = Client(server.port)
        assert client.post("/dbs", {"id": "d"}).status == 201
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        assert client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201
        docs, path = "/dbs/d/colls/c/docs", "/dbs/d/colls/c"
        for n in range(COUNT):
            assert client.post(docs, {"id": f"i{n}", "pk": f"k{n % 40}", "n": n}).status == 201
        query = "SELECT VALUE c.n FROM c ORDER BY c.n"
        token = ask(client, docs, query, {"x-ms-max-item-count": "30"}).continuation
        for id, action in (("0", "split"), ("1", "split"), ("4", "merge")):
            assert client.post(f"/_sheaf{path}/pkranges/{id}/{action}").status == 200
        before = client.get(f"{path}/pkranges")
        session = client.get(docs).session
        getattr(server, end)()
        assert verify(data)[0] == 0, verify(data)
        server.start()
        client = Client(server.port)
        after = client.get(f"{path}/pkranges")
        assert (after.body, after.etag) == (before.body, before.etag)
        assert client.get(docs).session == session
        assert rows(client, docs, query, {"x-ms-continuation": token}, size=7) == list(range(30, COUNT))
        # An id is never given twice.
        done = client.post(f"/_sheaf{path}/pkranges/{after.json['PartitionKeyRanges'][0]['id']}/split").json
        assert [int(child["id"]) for child in done["children"]] == [6, 7]
        client.close()
