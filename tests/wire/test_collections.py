"""Collections: every property is checked, normalised and given back."""

import pytest

from http_client import pk

HASH = {"paths": ["/pk"], "kind": "Hash", "version": 2}
SHAPES = ["Point", "LineString", "Polygon", "MultiPolygon"]
DEFAULT_POLICY = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
}
LINKS = {
    "_docs": "docs/", "_sprocs": "sprocs/", "_triggers": "triggers/", "_udfs": "udfs/",
    "_conflicts": "conflicts/",
}  # fmt: skip


def test_the_smallest_definition(client, db, name):
    made = client.post(f"{db.path}/colls", {"id": name, "partitionKey": HASH})
    assert made.status == 201
    body = made.json
    assert body["id"] == name
    assert body["partitionKey"] == HASH
    assert body["indexingPolicy"] == DEFAULT_POLICY
    assert body["conflictResolutionPolicy"] == {
        "mode": "LastWriterWins",
        "conflictResolutionPath": "/_ts",
        "conflictResolutionProcedure": "",
    }
    assert body["geospatialConfig"] == {"type": "Geography"}
    assert LINKS.items() <= body.items()
    assert body["_self"] == f"{db.definition['_self']}colls/{body['_rid']}/"
    assert body["_etag"] == made.etag
    assert isinstance(body["_ts"], int)
    for absent in ("defaultTtl", "analyticalStorageTtl", "computedProperties",
                   "vectorEmbeddingPolicy", "fullTextPolicy", "changeFeedPolicy"):  # fmt: skip
        assert absent not in body
    read = client.get(f"{db.path}/colls/{name}")
    assert (read.status, read.json, read.etag) == (200, body, made.etag)
    assert client.get(f"{db.path}/colls/{name}", {"If-None-Match": made.etag}).status == 304


def test_the_owner_in_the_headers(client, db, coll):
    for answer in (client.get(coll.path), client.get(f"{db.path}/colls")):
        assert answer.headers["x-ms-alt-content-path"] == db.path[1:]
        assert answer.headers["x-ms-content-path"] == db.rid


def test_a_name_is_taken_once_for_each_database(client, db, name):
    body = {"id": name, "partitionKey": HASH}
    first = client.post(f"{db.path}/colls", body)
    assert client.post(f"{db.path}/colls", body).status == 409
    client.post("/dbs", {"id": name})
    assert client.post(f"/dbs/{name}/colls", body).status == 201
    assert client.get(f"{db.path}/colls/{name}").etag == first.etag
    assert client.delete(f"{db.path}/colls/{name}").status == 204
    assert client.delete(f"{db.path}/colls/{name}").status == 404
    again = client.post(f"{db.path}/colls", body)
    assert again.status == 201 and again.json["_rid"] != first.json["_rid"]
    assert client.delete(f"/dbs/{name}").status == 204


def test_upsert(client, db, name):
    upsert = {"x-ms-documentdb-is-upsert": "true"}
    body = {"id": name, "partitionKey": HASH}
    made = client.post(f"{db.path}/colls", body, upsert)
    assert made.status == 201
    again = client.post(f"{db.path}/colls", body | {"defaultTtl": 7}, upsert)
    assert again.status == 200
    assert again.json["_rid"] == made.json["_rid"] and again.json["defaultTtl"] == 7


@pytest.mark.parametrize(
    "key",
    [
        {"paths": ["/a"], "kind": "Hash", "version": 1},
        {"paths": ["/a"], "kind": "Hash", "version": 2},
        {"paths": ["/a"], "kind": "Hash"},
        {"paths": ["/a/b/c"], "kind": "Hash", "version": 2},
        {"paths": ["/id"], "kind": "Hash", "version": 2},
        {"paths": ['/"a b"'], "kind": "Hash", "version": 2},
        {"paths": ["/'a b'/c"], "kind": "Hash", "version": 2},
        {"paths": ["/é"], "kind": "Hash", "version": 2},
        {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2},
        {"paths": ["/a", "/b/c", "/id"], "kind": "MultiHash", "version": 2},
    ],
    ids=str,
)
def test_partition_keys(client, db, name, key):
    made = client.post(f"{db.path}/colls", {"id": name, "partitionKey": key})
    assert made.status == 201, made
    assert made.json["partitionKey"] == key


@pytest.mark.parametrize(
    "key",
    [
        None, [], "/pk", 1, {}, {"paths": []}, {"paths": "/pk", "kind": "Hash"},
        {"kind": "Hash"}, {"paths": None, "kind": "Hash"}, {"paths": ["pk"], "kind": "Hash"},
        {"paths": [""], "kind": "Hash"}, {"paths": ["/"], "kind": "Hash"},
        {"paths": ["/*"], "kind": "Hash"}, {"paths": ["/a/*"], "kind": "Hash"},
        {"paths": ["/a/?"], "kind": "Hash"}, {"paths": ["/a/[]"], "kind": "Hash"},
        {"paths": ["/a//b"], "kind": "Hash"}, {"paths": ['/"a'], "kind": "Hash"},
        {"paths": [1], "kind": "Hash"}, {"paths": [None], "kind": "Hash"},
        {"paths": ["/a", "/b"], "kind": "Hash", "version": 2},
        {"paths": ["/a"], "kind": "Hash", "version": 3}, {"paths": ["/a"], "kind": "Hash", "version": 0},
        {"paths": ["/a"], "kind": "Hash", "version": "V3"}, {"paths": ["/a"], "kind": "Hash", "version": "two"},
        {"paths": ["/a"], "kind": "Bogus"},
        {"paths": ["/a"], "kind": 1}, {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 1},
        {"paths": ["/a", "/a"], "kind": "MultiHash", "version": 2},
        {"paths": ["/a", "/b", "/c", "/d", "/e"], "kind": "MultiHash", "version": 2},
    ],
    ids=str,
)  # fmt: skip
def test_partition_keys_that_are_none(client, db, name, key):
    answer = client.post(f"{db.path}/colls", {"id": name, "partitionKey": key})
    assert answer.status == 400, answer
    assert client.get(f"{db.path}/colls/{name}").status == 404


def members_with(path):
    """Every member of a definition that holds a path."""
    vector = {"path": path, "dataType": "float32", "dimensions": 3, "distanceFunction": "cosine"}
    return {
        "partitionKey": {"paths": [path], "kind": "Hash", "version": 2},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": [path]}]},
        "indexingPolicy": {"includedPaths": [{"path": "/*"}, {"path": f"{path}/?"}]},
        "fullTextPolicy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": path, "language": "en-US"}]},
        "vectorEmbeddingPolicy": {"vectorEmbeddings": [vector]},
        "conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": path},
    }  # fmt: skip


@pytest.mark.parametrize("depth", [129, 5000, 400_000])
@pytest.mark.parametrize("member", members_with("/a"))
def test_paths_deeper_than_any_document(client, db, name, member, depth):
    """Whoever follows such a path by recursion would end the process."""
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    body = {"id": name, "partitionKey": key, member: members_with("/a" * depth)[member]}
    answer = client.post(f"{db.path}/colls", body)
    assert answer.status == 400 and len(answer.message) < 1000, answer
    assert client.get(f"{db.path}/colls/{name}").status == 404


def test_a_key_at_the_bottom_of_the_deepest_document(client, db):
    coll = db.collection({"partitionKey": {"paths": ["/a" * 128], "kind": "Hash", "version": 2}})
    text = '{"id":"deep",' + '"a":{' * 127 + '"a":"x"' + "}" * 128
    assert client.post(coll.docs, text, pk("x")).status == 201
    assert client.get(f"{coll.docs}/deep", pk("x")).status == 200


def test_definitions_have_a_size(client, fresh, db, coll, name):
    long = "x" * (3 * 1024 * 1024)
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    for answer in (
        fresh.post("/dbs", {"id": name, "x": long}),
        fresh.post(f"{db.path}/colls", {"id": name, "partitionKey": key, "x": long}),
        fresh.put(coll.path, coll.definition | {"x": long}),
    ):
        assert answer.status == 413, answer
    assert fresh.opened == 1
    assert client.get(f"/dbs/{name}").status == client.get(f"{db.path}/colls/{name}").status == 404


@pytest.mark.parametrize("version, number", [("V2", 2), ("v2", 2), ("2", 2), ("V1", 1)])
def test_versions_as_java_writes_them(client, db, version, number):
    """The Java SDK sends the name of the version; everyone is told its number."""
    body = {
        "partitionKey": {"kind": "Hash", "paths": ["/a"], "version": version},
        "indexingPolicy": {"automatic": True, "indexingMode": "Consistent",
                           "includedPaths": [{"path": "/*"}], "excludedPaths": []},
        "uniqueKeyPolicy": {},
    }  # fmt: skip
    coll = db.collection(body)
    assert coll.definition["partitionKey"]["version"] == number
    assert client.put(coll.path, {"id": coll.name} | body).status == 200


def test_a_partition_key_is_needed(client, db, name):
    assert client.post(f"{db.path}/colls", {"id": name}).status == 400


@pytest.mark.parametrize(
    "sent, stored",
    [
        ({}, DEFAULT_POLICY),
        ({"indexingMode": "Consistent"}, DEFAULT_POLICY),
        ({"indexingMode": "consistent", "automatic": False}, DEFAULT_POLICY),
        ({"indexingMode": "lazy", "automatic": False}, DEFAULT_POLICY | {"indexingMode": "lazy", "automatic": False}),
        (
            {"spatialIndexes": [{"path": "/where/*", "types": ["Polygon"]}]},
            DEFAULT_POLICY | {"spatialIndexes": [{"path": "/where/*", "types": SHAPES}]},
        ),
        (
            {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/a/*"}]},
            DEFAULT_POLICY | {"excludedPaths": [{"path": "/a/*"}, {"path": '/"_etag"/?'}]},
        ),
        (
            {"includedPaths": [{"path": "/a/?"}, {"path": "/b/[]/c/?"}], "excludedPaths": [{"path": "/*"}]},
            DEFAULT_POLICY | {
                "includedPaths": [{"path": "/a/?"}, {"path": "/b/[]/c/?"}],
                "excludedPaths": [{"path": "/*"}, {"path": '/"_etag"/?'}],
            },
        ),
        (
            {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": '/"_etag"/?'}]},
            DEFAULT_POLICY,
        ),
    ],
)  # fmt: skip
def test_indexing_policies_are_completed(client, db, sent, stored):
    coll = db.collection(indexingPolicy=sent)
    assert coll.definition["indexingPolicy"] == stored
    assert client.get(coll.path).json["indexingPolicy"] == stored


def test_no_indexing(client, db):
    coll = db.collection(indexingPolicy={"indexingMode": "none", "automatic": False})
    policy = coll.definition["indexingPolicy"]
    assert policy["indexingMode"] == "none" and policy["automatic"] is False


@pytest.mark.parametrize(
    "extra",
    [
        {"compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]]},
        {"spatialIndexes": [{"path": "/where/*", "types": SHAPES}]},
        {"includedPaths": [{"path": "/*", "indexes": [
            {"kind": "Range", "dataType": "Number", "precision": -1},
            {"kind": "Hash", "dataType": "String", "precision": 3}]}]},
    ],
    ids=lambda extra: next(iter(extra)),
)  # fmt: skip
def test_index_kinds_come_back(client, db, extra):
    coll = db.collection(indexingPolicy=extra)
    assert extra.items() <= coll.definition["indexingPolicy"].items()


def test_legacy_indexes_vanish_when_a_client_of_today_replaces_the_policy(client, db):
    legacy = [{"path": "/*", "indexes": [{"kind": "Range", "dataType": "String", "precision": -1}]},
              {"path": "/at/?", "indexes": [{"kind": "Spatial", "dataType": "Point"}]}]  # fmt: skip
    coll = db.collection(indexingPolicy={"includedPaths": legacy})
    for version, included in ("2018-12-31", legacy), ("2020-07-15", [{"path": "/*"}, {"path": "/at/?"}]):
        policy = client.put(coll.path, coll.definition, {"x-ms-version": version}).json["indexingPolicy"]
        assert policy["includedPaths"] == included
    assert policy["spatialIndexes"] == [{"path": "/at/?", "types": SHAPES}]


def test_policies_are_refused_in_the_words_of_the_service(client, db, name):
    twice = [{"name": "x", "query": "SELECT VALUE c.a FROM c"}, {"name": "x", "query": "SELECT VALUE c.b FROM c"}]
    nowhere = {"spatialIndexes": [{"path": "/at/*"}]}
    for extra, message in (
        ({"computedProperties": twice}, "Computed property name 'x' cannot be used in multiple definitions."),
        ({"indexingPolicy": nowhere}, "The spatial data types array cannot be empty. Assign at least one spatial type "
                                      "for the 'types' array for the path '/at/*'."),
        ({"ttlPropertyPath": "/made"}, "The property 'ttlPropertyPath' can only be specified together with "
                                       "'defaultTtl'."),
        ({"partitionKey": HASH | {"paths": ["/id ds"]}},
         "The partition key component definition path '/id ds' could not be accepted, failed near position '4'. "
         "Partition key paths must contain only valid characters and not contain a trailing slash or wildcard "
         "character."),
        ({"partitionKey": HASH | {"paths": ["id"]}},
         "The partition key component definition path 'id' could not be accepted, failed near position '0'."),
    ):  # fmt: skip
        answer = client.post(f"{db.path}/colls", {"id": name, "partitionKey": HASH} | extra)
        assert answer.status == 400 and message in answer.json["message"], answer
    coll = db.collection(defaultTtl=10, ttlPropertyPath="/made")
    assert client.get(coll.path).json["ttlPropertyPath"] == "/made"
    coll = db.collection({"partitionKey": HASH | {"paths": ["/test"], "systemKey": True}})
    assert coll.definition["partitionKey"]["paths"] == ["/test"]


def test_the_order_of_a_composite_index_is_ascending_unless_said(client, db):
    coll = db.collection(indexingPolicy={"compositeIndexes": [[{"path": "/a"}, {"path": "/b"}]]})
    paths = coll.definition["indexingPolicy"]["compositeIndexes"]
    assert paths == [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "ascending"}]]


@pytest.mark.parametrize(
    "policy",
    [
        1, "consistent", [], {"indexingMode": "sometimes"}, {"indexingMode": 1}, {"automatic": "yes"},
        {"indexingMode": "none", "automatic": True}, {"includedPaths": "/*"}, {"includedPaths": [{}]},
        {"includedPaths": [{"path": 1}]}, {"includedPaths": [{"path": "a/?"}], "excludedPaths": [{"path": "/*"}]},
        {"includedPaths": [{"path": "/a/?"}]},
        {"includedPaths": [{"path": "/a/?"}], "excludedPaths": [{"path": "/b/?"}]},
        {"compositeIndexes": [[{"path": "/a"}]]}, {"compositeIndexes": [[]]},
        {"compositeIndexes": [[{"path": "/a", "order": "up"}, {"path": "/b"}]]},
        {"compositeIndexes": [[{"path": f"/p{n}"} for n in range(9)]]},
        {"spatialIndexes": [{"path": "/a/*", "types": ["Circle"]}]},
    ],
    ids=lambda policy: str(policy)[:60],
)  # fmt: skip
def test_indexing_policies_that_are_none(client, db, name, policy):
    body = {"id": name, "partitionKey": HASH, "indexingPolicy": policy}
    answer = client.post(f"{db.path}/colls", body)
    assert answer.status == 400, answer
    assert client.get(f"{db.path}/colls/{name}").status == 404


@pytest.mark.parametrize(
    "member, value",
    [
        ("defaultTtl", -1), ("defaultTtl", 1), ("defaultTtl", 2147483647),
        ("uniqueKeyPolicy", {"uniqueKeys": [{"paths": ["/a", "/b/c"]}, {"paths": ["/d"]}]}),
        ("conflictResolutionPolicy", {"mode": "LastWriterWins", "conflictResolutionPath": "/rank",
                                      "conflictResolutionProcedure": ""}),
        ("geospatialConfig", {"type": "Geometry"}),
        ("computedProperties", [{"name": "low", "query": "SELECT VALUE LOWER(c.name) FROM c"}]),
        ("vectorEmbeddingPolicy", {"vectorEmbeddings": [{"path": "/v", "dataType": "float32",
                                   "dimensions": 8, "distanceFunction": "cosine"}]}),
        ("fullTextPolicy", {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t", "language": "en-US"}]}),
        ("changeFeedPolicy", {"retentionDuration": 5}),
        ("analyticalStorageTtl", -1),
    ],
)  # fmt: skip
def test_properties_come_back(client, db, member, value):
    coll = db.collection({member: value})
    assert coll.definition[member] == value
    assert client.get(coll.path).json[member] == value
    feed = client.get(f"{db.path}/colls", {"x-ms-max-item-count": "1000"}).json
    assert coll.definition in feed["DocumentCollections"]


@pytest.mark.parametrize(
    "member, value",
    [
        ("defaultTtl", 0), ("defaultTtl", -2), ("defaultTtl", "1"), ("defaultTtl", 1.5),
        ("defaultTtl", 2147483648), ("defaultTtl", True),
        ("uniqueKeyPolicy", {"uniqueKeys": [{"paths": []}]}), ("uniqueKeyPolicy", {"uniqueKeys": "x"}),
        ("uniqueKeyPolicy", {"uniqueKeys": [{"paths": ["a"]}]}), ("uniqueKeyPolicy", []),
        ("uniqueKeyPolicy", {"uniqueKeys": [{"paths": [f"/p{n}"]} for n in range(11)]}),
        ("uniqueKeyPolicy", {"uniqueKeys": [{"paths": [f"/p{n}" for n in range(17)]}]}),
        ("conflictResolutionPolicy", {"mode": "FirstWriterWins"}), ("conflictResolutionPolicy", 1),
        ("geospatialConfig", {"type": "Flat"}), ("geospatialConfig", "Geography"),
        ("computedProperties", {"name": "x"}), ("computedProperties", [{"name": "x"}]),
        ("computedProperties", [{"name": f"p{n}", "query": "SELECT VALUE 1 FROM c"} for n in range(21)]),
        ("vectorEmbeddingPolicy", {"vectorEmbeddings": [{"path": "/v", "dataType": "float128",
                                   "dimensions": 8, "distanceFunction": "cosine"}]}),
        ("vectorEmbeddingPolicy", {"vectorEmbeddings": [{"path": "/v", "dataType": "float32",
                                   "dimensions": 8, "distanceFunction": "nearly"}]}),
        ("vectorEmbeddingPolicy", {"vectorEmbeddings": [{"path": "/v", "dataType": "float32",
                                   "dimensions": 0, "distanceFunction": "cosine"}]}),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_properties_that_are_wrong(client, db, name, member, value):
    answer = client.post(f"{db.path}/colls", {"id": name, "partitionKey": HASH, member: value})
    assert answer.status == 400, answer
    assert client.get(f"{db.path}/colls/{name}").status == 404


def test_a_vector_index_needs_its_embedding(client, db, name):
    policy = {"vectorIndexes": [{"path": "/v", "type": "flat"}]}
    body = {"id": name, "partitionKey": HASH, "indexingPolicy": policy}
    answer = client.post(f"{db.path}/colls", body)
    assert answer.status == 400
    assert "not matching in Embedding's path" in answer.message
    embedding = {"path": "/v", "dataType": "float32", "dimensions": 8, "distanceFunction": "cosine"}
    body["vectorEmbeddingPolicy"] = {"vectorEmbeddings": [embedding]}
    made = client.post(f"{db.path}/colls", body)
    assert made.status == 201, made
    assert made.json["indexingPolicy"]["vectorIndexes"] == [{"path": "/v", "type": "flat"}]


def test_replace(client, db):
    coll = db.collection(defaultTtl=5)
    body = {"id": coll.name, "partitionKey": HASH, "defaultTtl": 60,
            "indexingPolicy": {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/x/*"}]}}  # fmt: skip
    replaced = client.put(coll.path, body)
    assert replaced.status == 200, replaced
    assert replaced.json["defaultTtl"] == 60
    assert {"path": "/x/*"} in replaced.json["indexingPolicy"]["excludedPaths"]
    assert replaced.json["_rid"] == coll.rid and replaced.etag != coll.definition["_etag"]
    assert client.get(coll.path).json == replaced.json
    # What is not said goes back to its default.
    plain = client.put(coll.path, {"id": coll.name, "partitionKey": HASH}).json
    assert "defaultTtl" not in plain and plain["indexingPolicy"] == DEFAULT_POLICY
    # A definition can be sent back as it was read.
    assert client.put(coll.path, plain).status == 200
    assert client.put(coll.path, plain, {"If-Match": coll.definition["_etag"]}).status == 412
    current = client.get(coll.path).etag
    assert client.put(coll.path, plain, {"If-Match": current}).status == 200


@pytest.mark.parametrize(
    "change",
    [
        {"partitionKey": {"paths": ["/other"], "kind": "Hash", "version": 2}},
        {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 1}},
        {"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/other"]}]}},
        {"id": "another-name"},
        {"defaultTtl": 0},
        {"indexingPolicy": {"indexingMode": "sometimes"}},
    ],
    ids=str,
)
def test_what_cannot_be_replaced(client, db, change):
    unique = {"uniqueKeys": [{"paths": ["/u"]}]}
    coll = db.collection(uniqueKeyPolicy=unique)
    body = {"id": coll.name, "partitionKey": HASH, "uniqueKeyPolicy": unique} | change
    answer = client.put(coll.path, body)
    assert answer.status == 400, answer
    assert client.get(coll.path).json == coll.definition


def test_replacing_what_is_not_there(client, db, name):
    answer = client.put(f"{db.path}/colls/{name}", {"id": name, "partitionKey": HASH})
    assert answer.status == 404


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"{}", {"partitionKey": HASH}, {"id": 1, "partitionKey": HASH},
             {"id": "", "partitionKey": HASH}, {"id": "a/b", "partitionKey": HASH},
             {"id": "x" * 256, "partitionKey": HASH}, {"id": "a?", "partitionKey": HASH}],
    ids=lambda body: str(body)[:30],
)  # fmt: skip
def test_bad_definitions(client, db, body):
    assert client.post(f"{db.path}/colls", body).status == 400


def test_the_feed_is_paged(client, name):
    path = f"/dbs/{name}"
    rid = client.post("/dbs", {"id": name}).json["_rid"]
    for number in range(5):
        body = {"id": f"c{number}", "partitionKey": HASH}
        assert client.post(f"{path}/colls", body).status == 201
    whole = client.get(f"{path}/colls").json
    assert list(whole) == ["_rid", "DocumentCollections", "_count"]
    assert whole["_rid"] == rid and whole["_count"] == 5
    seen, token = [], None
    while True:
        headers = {"x-ms-max-item-count": "2", "x-ms-continuation": token}
        page = client.get(f"{path}/colls", headers)
        seen += page.json["DocumentCollections"]
        if (token := page.continuation) is None:
            break
    assert seen == whole["DocumentCollections"]
    assert client.delete(path).status == 204


def test_quota_figures_on_request(client, coll):
    answer = client.get(coll.path, {"x-ms-documentdb-populatequotainfo": "True"})
    assert "collectionSize=" in answer.headers["x-ms-resource-quota"]
    assert "documentsCount=" in answer.headers["x-ms-resource-usage"]
    progress = "x-ms-documentdb-collection-index-transformation-progress"
    assert answer.headers[progress] == "100"
    assert progress not in client.get(coll.path).headers


def test_quota_and_replicas_beside_documents_and_scripts(client, coll):
    made = client.post(coll.docs, {"id": "told", "pk": "a"})
    assert made.headers["x-ms-current-write-quorum"] == "1"
    assert made.headers["x-ms-current-replica-set-size"] == "1"
    read = client.get(f"{coll.docs}/told", pk("a"))
    assert "x-ms-current-write-quorum" not in read.headers
    function = client.post(f"{coll.path}/udfs", {"id": "told", "body": "function f() {}"})
    body = {"id": "told", "body": "function f() {}", "triggerType": "Pre", "triggerOperation": "All"}
    trigger = client.post(f"{coll.path}/triggers", body)
    for answer in [made, read, function, trigger]:
        assert answer.status in (200, 201), answer
        assert "collectionSize=" in answer.headers["x-ms-resource-quota"]
        assert "documentsCount=" in answer.headers["x-ms-resource-usage"]


def test_shared_throughput_is_told(client):
    made = client.post("/dbs", {"id": "sharing"}, {"x-ms-offer-throughput": "400"})
    assert made.status == 201, made
    for name, offer in [("shares", {}), ("owns", {"x-ms-offer-throughput": "400"})]:
        body = {"id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
        told = "true" if name == "shares" else None
        made = client.post("/dbs/sharing/colls", body, offer)
        read = client.get(f"/dbs/sharing/colls/{name}")
        for answer in (made, read):
            assert answer.headers.get("x-ms-share-throughput") == told, answer
    assert client.delete("/dbs/sharing").status == 204


def test_statistics_on_request(client, wide):
    client.post(wide.docs, {"id": "counted", "pk": "a"})
    headers = {"x-ms-documentdb-populatepartitionstatistics": "True"}
    body = client.get(wide.path, headers | {"x-ms-documentdb-populatequotainfo": "True"}).json
    assert len(body["statistics"]) == 3
    assert sum(int(item["documentCount"]) for item in body["statistics"]) == 1
    assert "statistics" not in client.get(wide.path).json


def test_a_collection_made_again_is_empty(client, db):
    coll = db.collection()
    made = client.post(coll.docs, {"id": "x", "pk": "a"})
    assert made.status == 201
    assert client.delete(coll.path).status == 204
    assert client.get(coll.docs).status == 404
    body = {"id": coll.name, "partitionKey": HASH}
    again = client.post(f"{db.path}/colls", body).json
    assert client.get(coll.docs).json == {"_rid": again["_rid"], "Documents": [], "_count": 0}
    # The old resource id leads nowhere.
    assert client.get(f"/dbs/{db.rid}/colls/{coll.rid}").status == 404
