"""Partition key ranges, the placement of documents, and what .NET's gateway mode sends."""

import re

import pytest

from http_client import UNDEFINED, pk

INCREMENTAL = {"A-IM": "Incremental Feed", "x-ms-max-item-count": "-1"}

# Published effective partition keys, version 2.
HASHES = [
    (UNDEFINED, "11622DAA78F835834610ABE56EFF5CB5"), (None, "378867E4430E67857ACE5C908374FE16"),
    (False, "2FE1BE91E90A3439635E0E9E37361EF2"), (True, "0E711127C5B5A8E4726AC6DD306A3E59"),
    (0, "155B95BEDAC4B1E9EC1CDC9BB0DDDE58"), (-0.0, "3D018BB1DF3DB27235766E81FD10406E"),
    (1, "20CD98B339BA78A5D0CF6953B87070B0"), (-1, "19938E7A936C1C5B9E3AE842BBC16839"),
    (5, "19C08621B135968252FB34B4CF66F811"), (42, "08E6D561F6FD951DCC25E7E4EA2884B5"),
    (3.14, "319C496AE088984E764AF1B65EF5394D"), (0.1, "21DEBA97B3AF01087F4E1F889B0A7739"),
    (-123.456, "1757D540B589DD9962861CED15A7DA57"), (1e300, "1234CB21048B20039B22F11DBB13CD7B"),
    (9007199254740991, "12C221C7032CED1F9E6693CE1428E6CF"), ("", "32E9366E637A71B4E710384B2F4970A0"),
    ("a", "3A5381E1114EB8D3FCC90795045B49B7"), ("test", "08C5A1618234B14BE512B8525E2282FA"),
    ("redmond", "22E342F38A486A088463DFF7838A5963"), ("Hello World", "306C52B42DECB3AE9D3C7586975E30B9"),
    ("你好", "004DC6466F1ECD29F3606AEBC7AFC317"), ("é", "007199F104E04116EE25AF912CA4889B"),
    ("x" * 100, "3F35F33CA8F8DA98DB46E18CDC66A245"), ("x" * 101, "300C91B3A88EBBFFE4DB4541EA0875FC"),
    ("a" * 1024, "332BDF5512AE49615F32C7D98C2DB86C"),
]  # fmt: skip

# And version 1.
OLD_HASHES = [
    (UNDEFINED, "05C1D529E345DC00"), (None, "05C1ED45D7475601"), (False, "05C1DB857D857C02"),
    (True, "05C1D7C5A903D803"), (0, "05C1BF6DA11560058000"), (-0.0, "05C1E703ED99A0058000"),
    (1, "05C1ED172B6B2605BFF0"), (-1, "05C1D1A5BDDF9C054010"), (5, "05C1D9C1C5517C05C014"),
    (42, "05C1E75FCB273A05C04580"), (3.14, "05C1E179CD954C05C0098FAF0B1F5D153E"),
    (0.1, "05C1D92733D70405BFB9CD673399CD6734"), (-123.456, "05C1AF3FFB9F60053FA191B51D57030712"),
    (1e300, "05C1AB5FCFAF8005FE37F30F918103D738"), (9007199254740991, "05C1B3FBA771A005C33FFFFFFFFFFFFFFE"),
    (-128, "05C1D73349F54C053FA0"), (5e-324, "05C1E5C91F4D3005800101010101010102"), ("", "05C1CF33970FF80800"),
    ("a", "05C1D78593652C086200"), ("test", "05C1EBFB1F1FE6087566747500"),
    ("redmond", "05C1EFE313830C087366656E706F6500"), ("Hello World", "05C1C5D58F13B00849666D6D70215870736D6500"),
    ("你好", "05C1D37361259408E5BEA1E6A6BE00"), ("é", "05C1B3CD91912008C4AA00"),
    ("x" * 100, "05C1DD45A3938C08" + "79" * 100 + "00"),
]  # fmt: skip


def ranges(client, coll):
    return client.get(f"{coll.path}/pkranges").json["PartitionKeyRanges"]


def test_one_range(client, coll):
    answer = client.get(f"{coll.path}/pkranges")
    body = answer.json
    assert list(body) == ["_rid", "PartitionKeyRanges", "_count"]
    assert (body["_rid"], body["_count"]) == (coll.rid, 1)
    assert answer.headers["x-ms-item-count"] == "1"
    item = body["PartitionKeyRanges"][0]
    assert (item["id"], item["minInclusive"], item["maxExclusive"]) == ("0", "", "FF")
    assert item["parents"] == [] and item["status"] == "online"
    assert item["ridPrefix"] == 0 and item["throughputFraction"] == 1
    for member in ("_rid", "_self", "_etag", "_ts", "_lsn"):
        assert member in item


def test_one_range_by_itself(client, wide):
    for item in ranges(client, wide):
        for path in (f"{wide.path}/pkranges/{item['id']}", "/" + item["_self"]):
            answer = client.get(path)
            assert answer.status == 200, answer
            assert answer.json == item
    assert client.get(f"{wide.path}/pkranges/77").status == 404


def check_map(found, count):
    found = sorted(found, key=lambda item: item["minInclusive"])
    assert len(found) == count
    assert found[0]["minInclusive"] == "" and found[-1]["maxExclusive"] == "FF"
    for left, right in zip(found, found[1:], strict=False):
        assert left["maxExclusive"] == right["minInclusive"]
        assert re.fullmatch("[0-9A-F]+", left["maxExclusive"])
    assert len({item["id"] for item in found}) == len({item["_rid"] for item in found}) == count


@pytest.mark.parametrize(
    "throughput, count", [(400, 1), (10000, 1), (10100, 2), (20000, 2), (25000, 3), (100000, 10)]
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_range_for_each_ten_thousand(client, db, throughput, count, version):
    key = {"paths": ["/pk"], "kind": "Hash", "version": version}
    coll = db.collection({"partitionKey": key}, {"x-ms-offer-throughput": str(throughput)})
    check_map(ranges(client, coll), count)


def test_ranges_of_a_hierarchical_key(client, db):
    key = {"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}
    check_map(ranges(client, db.collection({"partitionKey": key}, {"x-ms-offer-throughput": "25000"})), 3)


def check_placement(client, coll, key, hash):
    body = {"id": "placed"} if key == UNDEFINED else {"id": "placed", "pk": key}
    made = client.post(coll.docs, body, pk(key))
    assert made.status == 201, made
    home = [item for item in ranges(client, coll) if item["minInclusive"] <= hash < item["maxExclusive"]]
    assert [item["id"] for item in home] == [made.headers["x-ms-documentdb-partitionkeyrangeid"]]
    # To the last digit: a feed of exactly this hash has the document, one digit on has not.
    after = f"{int(hash, 16) + 1:0{len(hash)}X}"
    for start, end, found in ((hash, after, [made.json]), (after, after + "00", [])):
        headers = {
            "x-ms-documentdb-partitionkeyrangeid": home[0]["id"],
            "x-ms-read-key-type": "EffectivePartitionKeyRange",
            "x-ms-start-epk": start,
            "x-ms-end-epk": end,
        }
        assert client.get(coll.docs, headers).json["Documents"] == found


@pytest.mark.parametrize("key, hash", HASHES, ids=lambda value: str(value)[:20])
def test_placement_by_hash(client, wide, key, hash):
    check_placement(client, wide, key, hash)


@pytest.fixture(scope="module")
def old_wide(db):
    key = {"paths": ["/pk"], "kind": "Hash", "version": 1}
    return db.collection({"partitionKey": key}, {"x-ms-offer-throughput": "25000"})


@pytest.mark.parametrize("key, hash", OLD_HASHES, ids=lambda value: str(value)[:20])
def test_placement_by_old_hash(client, old_wide, key, hash):
    check_placement(client, old_wide, key, hash)


def test_placement_of_a_hierarchical_key(client, db):
    key = {"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}
    coll = db.collection({"partitionKey": key}, {"x-ms-offer-throughput": "25000"})
    hash = "0DAE0B8467B011E957BC0B8B0DEB5ACA236A5BE3329A7AD57D4B998E8602BD7B2924A879AFFF52A411F93F1A83532751"
    made = client.post(coll.docs, {"id": "x", "a": "tenant1", "b": "user1", "c": "s1"})
    assert made.status == 201
    headers = {
        "x-ms-documentdb-partitionkeyrangeid": "0",
        "x-ms-read-key-type": "EffectivePartitionKeyRange",
        "x-ms-start-epk": hash,
        "x-ms-end-epk": hash + "FF",
    }
    assert client.get(coll.docs, headers).json["Documents"] == [made.json]
    # A prefix of the key is a range of hashes.
    headers |= {"x-ms-start-epk": hash[:32], "x-ms-end-epk": hash[:32] + "FF"}
    assert client.get(coll.docs, headers).json["Documents"] == [made.json]


def test_hierarchical_keys(client, db):
    key = {"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}
    coll = db.collection({"partitionKey": key}, {"x-ms-offer-throughput": "25000"})
    full = [("t1", "u1", 1), ("t1", "u1", 2), ("t1", "u2", 1), ("t2", "u1", 1)]
    for a, b, c in full:
        assert client.post(coll.docs, {"id": "x", "a": a, "b": b, "c": c}, pk(a, b, c)).status == 201
    for key in full:
        found = client.get(f"{coll.docs}/x", pk(*key)).json
        assert (found["a"], found["b"], found["c"]) == key
    # Feeds take a prefix; point operations do not.
    assert client.get(coll.docs, pk("t1")).json["_count"] == 3
    assert client.get(coll.docs, pk("t1", "u1")).json["_count"] == 2
    assert client.get(coll.docs, pk("t1", "u1", 2)).json["_count"] == 1
    assert client.get(coll.docs, pk("t3")).json["_count"] == 0
    for prefix in (("t1",), ("t1", "u1"), ("t1", "u1", 1, 2)):
        assert client.get(f"{coll.docs}/x", pk(*prefix)).status == 400
        assert client.delete(f"{coll.docs}/x", pk(*prefix)).status == 400
    # An absent component is undefined, which is not null.
    absent = {"id": "absent", "a": "t4", "c": 1}
    for header, status, substatus in ((pk("t4", UNDEFINED, 1), 201, 0), (pk("t4", None, 1), 400, 1001)):
        answer = client.post(coll.docs, absent, header)
        assert (answer.status, answer.substatus) == (status, substatus), answer
    mismatch = client.post(coll.docs, {"id": "y", "a": "t1", "b": "u1", "c": 1}, pk("t1", "u1", 9))
    assert (mismatch.status, mismatch.substatus) == (400, 1001)


def test_incremental_until_304(client, wide):
    path = f"{wide.path}/pkranges"
    first = client.get(path, INCREMENTAL)
    assert first.status == 200 and first.json["_count"] == 3
    assert first.etag
    second = client.get(path, INCREMENTAL | {"If-None-Match": first.etag})
    assert (second.status, second.body) == (304, b"")
    assert second.etag == first.etag
    plain = client.get(path)
    assert (plain.status, plain.json["_count"]) == (200, 3)
    assert client.get(path, {"If-None-Match": first.etag}).status == 304
    # Writes of documents do not change the ranges.
    client.post(wide.docs, {"id": "again", "pk": "again"})
    assert client.get(path, INCREMENTAL | {"If-None-Match": first.etag}).status == 304


@pytest.mark.parametrize("etag", ['"x"', "x", '"-1"', '"99999999999999999999999"', '""'])
def test_an_etag_of_nothing_never_hides_ranges(client, wide, etag):
    answer = client.get(f"{wide.path}/pkranges", INCREMENTAL | {"If-None-Match": etag})
    assert answer.status == 200, answer
    check_map(answer.json["PartitionKeyRanges"], 3)


def test_ranges_are_paged_or_whole(client, wide):
    seen, token = [], None
    while True:
        headers = {"x-ms-max-item-count": "1", "x-ms-continuation": token}
        page = client.get(f"{wide.path}/pkranges", headers)
        assert page.status == 200
        seen += page.json["PartitionKeyRanges"]
        if (token := page.continuation) is None:
            break
    check_map(seen, 3)


def test_dotnet_gateway_mode(server, client, db, name):
    """Account; the container by name; its ranges by resource id until 304; then each range."""
    coll = db.collection(headers={"x-ms-offer-throughput": "25000"})
    for number in range(40):
        assert client.post(coll.docs, {"id": str(number), "pk": number}).status == 201
    net = {"x-ms-version": "2018-12-31", "x-ms-cosmos-sdk-supportedcapabilities": "0",
           "User-Agent": "cosmos-netstandard-sdk/3.0", "Cache-Control": "no-cache"}  # fmt: skip
    assert client.get("/", net).status == 200
    definition = client.get(coll.path, net | {"x-ms-documentdb-populatequotainfo": "False"})
    assert definition.status == 200
    coll_rid = definition.json["_rid"]
    db_rid = definition.json["_self"].split("/")[1]
    found, etag, rounds = {}, None, 0
    while True:
        headers = net | INCREMENTAL | {"If-None-Match": etag}
        answer = client.get(f"/dbs/{db_rid}/colls/{coll_rid}/pkranges", headers)
        rounds += 1
        assert rounds <= 3, "the ranges never end"
        etag = answer.etag
        if answer.status == 304:
            break
        assert answer.status == 200, answer
        for item in answer.json["PartitionKeyRanges"]:
            found[item["id"]] = item
    check_map(found.values(), 3)
    ids = []
    for range_id in sorted(found):
        token = None
        while True:
            headers = net | {
                "x-ms-documentdb-partitionkeyrangeid": f"{coll_rid},{range_id}",
                "x-ms-max-item-count": "10",
                "x-ms-continuation": token,
            }
            answer = client.get(coll.docs, headers)
            assert answer.status == 200, answer
            ids += [item["id"] for item in answer.json["Documents"]]
            if (token := answer.continuation) is None:
                break
    assert sorted(ids, key=int) == [str(number) for number in range(40)]


@pytest.mark.parametrize("header", ["a", "[", '"a"', '{"a":1}', "[a]", "[1,2", '["a"]]', "null", "[[1]]",
                                    '[{"a":1}]', '["\\ud800"]', "1", '["a",]'])  # fmt: skip
def test_partition_key_headers_that_are_none(client, coll, header):
    headers = {"x-ms-documentdb-partitionkey": header}
    assert client.get(f"{coll.docs}/x", headers).status == 400
    assert client.get(coll.docs, headers).status == 400
    assert client.post(coll.docs, {"id": "x", "pk": "a"}, headers).status == 400
    assert client.get(f"{coll.docs}/x", pk("a")).status == 404


def test_a_partition_key_that_is_too_long(client, coll, name):
    assert client.post(coll.docs, {"id": name, "pk": "k" * 2048}).status == 201
    answer = client.post(coll.docs, {"id": name, "pk": "k" * 2049})
    assert answer.status == 400, answer
