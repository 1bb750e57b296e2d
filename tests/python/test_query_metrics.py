"""What a query tells beside its rows."""

from shop import KEYS


def headers_of(container, query, **more):
    """The response headers of a query's pages."""
    seen = []
    list(container.query_items(query, response_hook=lambda headers, _: seen.append(dict(headers)), **more))
    assert seen
    return seen


def test_query_metrics(shop):
    [headers] = headers_of(shop, "SELECT * FROM c WHERE c.n >= 0", partition_key=KEYS[0], populate_query_metrics=True)
    text = {name.lower(): value for name, value in headers.items()}["x-ms-documentdb-query-metrics"]
    metrics = {name: float(value) for name, value in (pair.split("=") for pair in text.split(";"))}
    assert metrics["retrievedDocumentCount"] == metrics["outputDocumentCount"] == 7
    assert metrics["totalExecutionTimeInMs"] > 0 and metrics["outputDocumentSize"] > 0
    assert metrics["indexUtilizationRatio"] == 1


def test_query_metrics_of_many_partitions(shop):
    found = headers_of(
        shop, "SELECT * FROM c ORDER BY c.n", enable_cross_partition_query=True, populate_query_metrics=True
    )
    assert any("x-ms-documentdb-query-metrics" in map(str.lower, headers) for headers in found)


def test_no_metrics_unless_asked_for(shop):
    for headers in headers_of(shop, "SELECT * FROM c", partition_key=KEYS[0]):
        names = set(map(str.lower, headers))
        assert not names & {"x-ms-documentdb-query-metrics", "x-ms-cosmos-index-utilization"}


def index_metrics(shop, query):
    list(shop.query_items(query, partition_key=KEYS[0], populate_index_metrics=True))
    return shop.client_connection.last_response_headers["x-ms-cosmos-index-utilization"]


def test_index_metrics(shop):
    found = index_metrics(shop, "SELECT * FROM c WHERE c.n > 5")
    assert set(found) == {
        "UtilizedSingleIndexes", "PotentialSingleIndexes", "UtilizedCompositeIndexes", "PotentialCompositeIndexes",
    }  # fmt: skip
    assert [item["IndexSpec"] for item in found["UtilizedSingleIndexes"]] == ["/n/?"]
    found = index_metrics(shop, "SELECT * FROM c")
    assert [item["IndexSpec"] for item in found["UtilizedSingleIndexes"]] == ["/pk/?"]
    found = index_metrics(shop, "SELECT * FROM c WHERE c.size.w = 5")
    assert [item["IndexSpec"] for item in found["PotentialSingleIndexes"]] == ["/size/w/?"]
    found = index_metrics(shop, "SELECT * FROM c ORDER BY c.g, c.n DESC")
    assert [item["IndexSpecs"] for item in found["UtilizedCompositeIndexes"]] == [["/g ASC", "/n DESC"]]


def test_charges(shop):
    def charge(query, **scope):
        list(shop.query_items(query, **scope))
        return float(shop.client_connection.last_response_headers["x-ms-request-charge"])

    one = charge("SELECT * FROM c WHERE c.n = 9", partition_key=KEYS[0])
    whole = charge("SELECT * FROM c", partition_key=KEYS[0])
    assert 0 < one < whole
