"""The policies of collections that clients rely on: refused in the service's words, fixed where it
fixes them, replaced where it replaces them."""

import pytest

from test_collections import HASH

AEAD = "AEAD_AES_256_CBC_HMAC_SHA256"
EMBEDDING = {"path": "/v", "dataType": "float32", "dimensions": 256, "distanceFunction": "cosine"}


def embeddings(**change):
    return {"vectorEmbeddingPolicy": {"vectorEmbeddings": [EMBEDDING | change]}}


def vector_index(**change):
    index = {"path": "/v", "type": "diskANN"} | change
    return embeddings() | {"indexingPolicy": {"vectorIndexes": [index]}}


def full_text(policy, indexes=()):
    return {"fullTextPolicy": policy, "indexingPolicy": {"fullTextIndexes": list(indexes)}}


def encrypted(path, version=2, **change):
    entry = {"path": path, "clientEncryptionKeyId": "policy-key", "encryptionType": "Deterministic",
             "encryptionAlgorithm": AEAD} | change  # fmt: skip
    return {"clientEncryptionPolicy": {"includedPaths": [entry], "policyFormatVersion": version}}


@pytest.fixture(scope="module")
def key(client, db):
    body = {"id": "policy-key", "encryptionAlgorithm": AEAD, "wrappedDataEncryptionKey": "AQID",
            "keyWrapMetadata": {"type": "t", "name": "n", "value": "v", "algorithm": "RSA-OAEP"}}  # fmt: skip
    assert client.post(f"{db.path}/clientencryptionkeys", body).status == 201


@pytest.mark.parametrize(
    "members, message",
    [
        (embeddings(dataType="float33"), "The Vector Embedding Policy has an invalid DataType:float33"),
        (embeddings(distanceFunction="handMeasured"),
         "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured"),
        (embeddings(dimensions=8000), "has Dimensions:8000 which is more than the maximum supported value"),
        (embeddings(dimensions=-1), "The Vector Embedding Policy has Dimensions:-1"),
        (embeddings(path="v"), "invalid Path: v"),
        (vector_index(type="notFlat"), "Index Type::notFlat is invalid"),
        (vector_index(path="/w"), "path::/w not matching in Embedding's path."),
        (vector_index(quantizationByteSize=0),
         "The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. The allowed "
         "range is between 1 and 256."),
        (vector_index(quantizationByteSize=257), "between 1 and 256."),
        (vector_index(indexingSearchListSize=5),
         "IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500."),
        (vector_index(vectorIndexShardKey=["country"]), "has an invalid Shard Path: country."),
        (vector_index(vectorIndexShardKey=["/a", "/b", "/c"]),
         "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1."),
        (vector_index(vectorIndexShardKey="/a"), "One of the specified inputs is invalid"),
        (full_text({"defaultLanguage": "spa-SPA"}),
         "The Full Text Policy contains an unsupported language spa-SPA. Supported languages are:"),
        (full_text({"fullTextPaths": [{"path": "/t", "language": "spa-SPA"}]}), "unsupported language spa-SPA"),
        (full_text({"fullTextPaths": [{"path": "t"}]}), "The Full Text Policy contains an invalid Path: t"),
        (full_text({}, [{"path": "/p"}]),
         "The path of the Full Text Index /p does not match the path specified in the Full Text Policy"),
        (full_text({}, [{"path": "p"}]), "Full-text index specification at index (0) contains invalid path"),
        (full_text({}, [{"not": "p"}]), "Missing path in full-text index specification at index (0)"),
        (encrypted("/a", clientEncryptionKeyId="unknownKey"),
         "ClientEncryptionKey with id '[unknownKey]' does not exist."),
        (encrypted("/a/b"), "Invalid path '/a/b'."),
        (encrypted("/a", 3), "Supported versions of client encryption policy are 1 and 2."),
        (encrypted("/a", encryptionType="Plaintext"),
         "EncryptionType should be either 'Deterministic' or 'Randomized'."),
        (encrypted("/a", encryptionAlgorithm="x"), f"EncryptionAlgorithm should be '{AEAD}'."),
        (encrypted("/id", 1), "Path: /id cannot be encrypted with PolicyFormatVersion: 1."),
        (encrypted("/id", encryptionType="Randomized"),
         "Only Deterministic encryption type is supported for path: /id."),
        (encrypted("/pk", encryptionType="Randomized"), "Path: /pk which is part of the partition key has to be"),
        ({"conflictResolutionPolicy": {"conflictResolutionPath": "/a/b"}},
         "Invalid path '/a/b' for last writer wins conflict resolution"),
        ({"conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionProcedure": "p"}},
         "LastWriterWins conflict resolution mode should not have conflict resolution procedure set."),
        ({"conflictResolutionPolicy": {"mode": "Custom", "conflictResolutionPath": "/a"}},
         "Custom conflict resolution mode should not have conflict resolution path set."),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)  # fmt: skip
def test_refusals(client, db, key, name, members, message):
    body = {"id": name, "partitionKey": HASH} | members
    answer = client.post(f"{db.path}/colls", body)
    assert answer.status == 400, answer
    assert message.replace('"', '\\"') in answer.message
    assert client.get(f"{db.path}/colls/{name}").status == 404
    # A replacement is held to the same rules, where it may change anything at all.
    plain = db.collection()
    answer = client.put(plain.path, {"id": plain.name, "partitionKey": HASH} | members)
    assert answer.status == 400, answer
    assert client.get(plain.path).json == plain.definition


@pytest.mark.parametrize(
    "members",
    [vector_index(quantizationByteSize=256, indexingSearchListSize=500, vectorIndexShardKey=["/city"]),
     vector_index(type="quantizedFlat", quantizerType="product", quantizationByteSize=1),
     full_text({"defaultLanguage": "fr-FR", "fullTextPaths": [{"path": "/t", "language": "en-US"}]}, [{"path": "/t"}]),
     encrypted("/a", 1, encryptionType="Randomized"), encrypted("/id"), encrypted("/pk")],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_what_is_good_comes_back_and_can_be_put_back(client, db, key, members):
    coll = db.collection(members)
    for name, value in members.items():
        if name == "indexingPolicy":
            assert value.items() <= coll.definition[name].items()
        else:
            assert coll.definition[name] == value
    assert client.put(coll.path, coll.definition).status == 200


VECTOR = vector_index()
FIXED = {
    "partition key": (
        {}, {"partitionKey": {"paths": ["/q"], "kind": "Hash"}}, 400,
        "Document collection partition key cannot be changed."),
    "unique keys": (
        {"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}}, {"uniqueKeyPolicy": None}, 400,
        "The unique index cannot be modified."),
    "conflicts": (
        {}, {"conflictResolutionPolicy": {"mode": "Custom"}}, 400,
        "Updating conflict resolution policy is currently not supported"),
    "conflicts left out": (
        {"conflictResolutionPolicy": {"mode": "Custom"}}, {"conflictResolutionPolicy": None}, 400,
        "Updating conflict resolution policy is currently not supported"),
    "vector index": (
        VECTOR, {"indexingPolicy": {"vectorIndexes": [{"path": "/v", "type": "flat"}]}}, 400,
        "Paths in existing vector indexing policy cannot be modified in Collection Replace. They can only be "
        "added or removed."),
    "embedding": (
        VECTOR, embeddings(dimensions=384), 400,
        "Paths in existing embedding policy cannot be modified in Collection Replace"),
    "embedding left out": (
        VECTOR, {"vectorEmbeddingPolicy": None}, 400, "path::/v not matching in Embedding's path."),
    "encryption": (
        encrypted("/a"), encrypted("/b"), 400,
        "'clientEncryptionPolicy' cannot be changed as part of collection replace operation."),
    "encryption left out": (
        encrypted("/a"), {"clientEncryptionPolicy": None}, 400, "'clientEncryptionPolicy' cannot be changed"),
    "encryption added": ({}, encrypted("/a"), 400, "'clientEncryptionPolicy' cannot be changed"),
}  # fmt: skip


@pytest.mark.parametrize("members, change, status, message", FIXED.values(), ids=FIXED)
def test_what_is_fixed(client, db, key, members, change, status, message):
    coll = db.collection(members)
    answer = client.put(coll.path, coll.definition | change)
    assert answer.status == status, answer
    assert message in answer.message
    assert client.get(coll.path).json == coll.definition


CHANGES = {
    "ttl": ({"defaultTtl": 5}, {"defaultTtl": -1}),
    "analytical": ({"analyticalStorageTtl": -1}, {"analyticalStorageTtl": 60}),
    "full text": (
        full_text({"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/a"}]}, [{"path": "/a"}]),
        full_text({"defaultLanguage": "de-DE", "fullTextPaths": [{"path": "/b"}]}, [{"path": "/b"}])),
    "geometry": ({}, {"geospatialConfig": {"type": "Geometry"}}),
    "computed": ({}, {"computedProperties": [{"name": "n", "query": "SELECT VALUE c.a FROM c"}]}),
    "vectors added": ({}, VECTOR),
    "vectors removed": (VECTOR, {"vectorEmbeddingPolicy": None, "indexingPolicy": None}),
}  # fmt: skip


@pytest.mark.parametrize("members, change", CHANGES.values(), ids=CHANGES)
def test_what_may_change(client, db, members, change):
    coll = db.collection(members)
    replaced = client.put(coll.path, coll.definition | change)
    assert replaced.status == 200, replaced
    for name, value in change.items():
        if value is None:
            assert name == "indexingPolicy" or name not in replaced.json
        elif isinstance(value, dict):
            assert value.items() <= replaced.json[name].items()
        else:
            assert replaced.json[name] == value
    assert client.get(coll.path).json == replaced.json
