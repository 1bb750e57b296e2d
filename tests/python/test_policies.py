"""Policies that the server checks: vectors, full text, conflicts; and what a replacement may change."""

import pytest
from azure.cosmos import PartitionKey, exceptions

VECTOR = {"path": "/vector1", "dataType": "float32", "dimensions": 256, "distanceFunction": "euclidean"}
KEY = PartitionKey("/id")


def vectors(**change):
    return {"vectorEmbeddings": [VECTOR | change]}


def index(**change):
    return {"vectorIndexes": [{"path": "/vector1", "type": "diskANN"} | change]}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"indexing_policy": index()}, "vector1 not matching in Embedding's path"),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(type="notFlat")}, "Index Type::notFlat is invalid"),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(path="/vector3")},
         "vector3 not matching in Embedding's path"),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(quantizationByteSize=0)},
         "The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. The allowed range is "
         "between 1 and 256."),
        ({"vector_embedding_policy": vectors(dimensions=550), "indexing_policy": index(quantizationByteSize=513)},
         "The Vector Indexing Policy parameter QuantizationByteSize value :: 513 is out of range."),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(indexingSearchListSize=5)},
         "IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500."),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(vectorIndexShardKey=["country"])},
         "The Vector Indexing Policy has an invalid Shard Path: country."),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(vectorIndexShardKey=["/a", "/b", "/c"])},
         "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1."),
        ({"vector_embedding_policy": vectors(), "indexing_policy": index(vectorIndexShardKey="/country")},
         "One of the specified inputs is invalid"),
        ({"vector_embedding_policy": vectors(dataType="float33")}, "Vector Embedding Policy has an invalid DataType"),
        ({"vector_embedding_policy": vectors(dimensions=8000)},
         "Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported value"),
        ({"vector_embedding_policy": vectors(dimensions=-1)}, "The Vector Embedding Policy has Dimensions:-1"),
        ({"vector_embedding_policy": vectors(distanceFunction="handMeasured")},
         "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured"),
        ({"full_text_policy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "abstract"}]}},
         "The Full Text Policy contains an invalid Path: abstract"),
        ({"full_text_policy": {"defaultLanguage": "spa-SPA"}},
         "The Full Text Policy contains an unsupported language spa-SPA. Supported languages are:"),
        ({"full_text_policy": {"fullTextPaths": [{"path": "/abstract", "language": "spa-SPA"}]}},
         "The Full Text Policy contains an unsupported language spa-SPA. Supported languages are:"),
        ({"indexing_policy": {"fullTextIndexes": [{"path": "/path"}]}},
         "The path of the Full Text Index /path does not match the path specified in the Full Text Policy"),
        ({"indexing_policy": {"fullTextIndexes": [{"path": "abstract"}]}},
         "Full-text index specification at index (0) contains invalid path"),
        ({"indexing_policy": {"fullTextIndexes": [{"not_path": "abstract"}]}},
         "Missing path in full-text index specification at index (0)"),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)  # fmt: skip
def test_refusals(database, name, options, message):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.create_container(name, KEY, **options)
    assert refused.value.status_code == 400
    assert message in refused.value.http_error_message


def test_vectors_cannot_change(database, name):
    policy, indexes = vectors(), {"vectorIndexes": [{"path": "/vector1", "type": "flat"}]}
    container = database.create_container(name, KEY, vector_embedding_policy=policy, indexing_policy=indexes)
    read = container.read()
    assert read["vectorEmbeddingPolicy"] == policy
    assert read["indexingPolicy"]["vectorIndexes"] == indexes["vectorIndexes"]
    for options, message in [
        ({"indexing_policy": indexes}, "The Vector Indexing Policy's path::/vector1 not matching in Embedding's path."),
        ({"vector_embedding_policy": policy, "indexing_policy": {"vectorIndexes": [{"path": "/vector1", "type": "quantizedFlat"}]}},
         "Paths in existing vector indexing policy cannot be modified in Collection Replace"),
        ({"vector_embedding_policy": vectors(dimensions=384), "indexing_policy": indexes},
         "Paths in existing embedding policy cannot be modified in Collection Replace"),
    ]:  # fmt: skip
        with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
            database.replace_container(container, KEY, **options)
        assert refused.value.status_code == 400
        assert message in refused.value.http_error_message
    other = indexes | {"includedPaths": [{"path": "/color/?"}], "excludedPaths": [{"path": "/*"}]}
    database.replace_container(container, KEY, vector_embedding_policy=policy, indexing_policy=other)
    assert container.read()["indexingPolicy"]["includedPaths"] == [{"path": "/color/?"}]


def test_full_text_can_change(database, name):
    container = database.create_container(name, KEY)
    for path, language in [("/abstract", "en-US"), ("/other", "de-DE")]:
        policy = {"defaultLanguage": language, "fullTextPaths": [{"path": path, "language": language}]}
        indexes = {"fullTextIndexes": [{"path": path}]}
        database.replace_container(container, KEY, full_text_policy=policy, indexing_policy=indexes)
        read = container.read()
        assert read["fullTextPolicy"] == policy
        assert read["indexingPolicy"]["fullTextIndexes"] == indexes["fullTextIndexes"]


def test_unique_keys_cannot_be_left_out(database, name):
    """As with the service, `replace_container` cannot be used on such a container."""
    container = database.create_container(name, KEY, unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]})
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.replace_container(container, KEY, default_ttl=5)
    assert refused.value.status_code == 400
    assert "The unique index cannot be modified." in refused.value.http_error_message


def test_how_conflicts_are_resolved_cannot_change(database, name):
    container = database.create_container(name, KEY, conflict_resolution_policy={"mode": "Custom"})
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        database.replace_container(container, KEY)
    assert refused.value.status_code == 400
    assert "Updating conflict resolution policy is currently not supported" in refused.value.http_error_message
    same = container.read()["conflictResolutionPolicy"]
    database.replace_container(container, KEY, conflict_resolution_policy=same, default_ttl=7)
    assert container.read()["defaultTtl"] == 7


def test_there_are_no_conflicts(container, wide):
    for place in (container, wide):
        assert list(place.list_conflicts()) == []
        assert list(place.query_conflicts("SELECT * FROM c", enable_cross_partition_query=True)) == []
        assert list(place.query_conflicts("SELECT * FROM c", partition_key="a")) == []
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            place.get_conflict("none", "a")
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            place.delete_conflict("none", "a")
