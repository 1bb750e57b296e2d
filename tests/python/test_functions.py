"""User-defined functions in queries: the patterns of the documentation, and what goes wrong."""

import asyncio

import pytest
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.aio import CosmosClient as AsyncClient

from server import PUBLISHED_KEY

FUNCTIONS = {
    "tax": """function tax(income) {
        if (income == undefined) throw 'no input';
        if (income < 1000) return income * 0.1;
        else if (income < 10000) return income * 0.2;
        else return income * 0.4;
    }""",
    "REGEX_MATCH": "function (input, pattern) { return input.match(pattern) !== null; }",
    "SEALEVEL": """function (city) {
        switch (city) {
            case 'seattle': return 520;
            case 'NY': return 410;
            case 'Chicago': return 673;
            default: return -1;
        }
    }""",
    "mathSqrt": "function (number) { return Math.sqrt(number); }",
    "LOWER": "function (text) { return text.toLowerCase(); }",
    "same": "x => x",
    "isKnown": "x => x !== undefined",
    "nothing": "() => undefined",
    "total": "lines => lines.reduce((sum, line) => sum + line.price * line.count, 0)",
    "describe": "document => `${document.id} of ${document.city}`",
    "picky": "n => { if (n === 17) throw new Error('not seventeen'); return true; }",
}

CITIES = ["seattle", "NY", "Chicago", "Boston"]


def family(n):
    made = {"id": f"{n:02}", "pk": f"k{n % 7}", "n": n, "city": CITIES[n % 4], "income": 10 ** (n % 4 + 2)}
    if n % 3 == 0:
        made["lines"] = [{"price": n, "count": 2}, {"price": 1, "count": n}]
    return made


FAMILIES = [family(n) for n in range(30)]


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def families(request, database):
    container = database.create_container(
        f"families-{request.param}", PartitionKey("/pk"), offer_throughput=request.param
    )
    for item in FAMILIES:
        container.create_item(item)
    for name, body in FUNCTIONS.items():
        container.scripts.create_user_defined_function({"id": name, "body": body})
    return container


@pytest.fixture
def rows(families):
    def rows(query, parameters=None, **more):
        more = more or {"enable_cross_partition_query": True}
        pairs = [{"name": f"@{name}", "value": value} for name, value in (parameters or {}).items()]
        return list(families.query_items(query, parameters=pairs, **more))

    return rows


def tax(income):
    return income * (0.1 if income < 1000 else 0.2 if income < 10000 else 0.4)


def test_tax(rows):
    found = rows("SELECT c.id, udf.tax(c.income) AS tax FROM c WHERE udf.tax(c.income) > @least", {"least": 200})
    expected = [(item["id"], tax(item["income"])) for item in FAMILIES if tax(item["income"]) > 200]
    assert sorted((row["id"], row["tax"]) for row in found) == sorted(expected)
    assert rows("SELECT * FROM c WHERE udf.tax(c.income) > 20000", partition_key="k3")
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        rows("SELECT VALUE udf.tax(c.salary) FROM c")
    assert error.value.status_code == 400 and "Exception = no input" in error.value.message


def test_regular_expressions(rows):
    found = rows("SELECT udf.REGEX_MATCH(c.city, '.*eattle') FROM c WHERE c.n < 2 ORDER BY c.n")
    assert found == [{"$1": True}, {"$1": False}]
    found = rows("SELECT VALUE c.city FROM c WHERE udf.REGEX_MATCH(c.city, @pattern)", {"pattern": "^[A-Z]{2}$"})
    assert set(found) == {"NY"}


def test_switch(rows):
    found = rows("SELECT c.city, udf.SEALEVEL(c.city) AS level FROM c WHERE c.n < 4 ORDER BY c.n")
    assert [row["level"] for row in found] == [520, 410, 673, -1]
    assert set(rows("SELECT VALUE c.city FROM c WHERE udf.SEALEVEL(c.city) > 500")) == {"seattle", "Chicago"}


def test_names_are_case_sensitive_and_apart_from_built_in_ones(rows):
    assert rows("SELECT VALUE [udf.LOWER('AB'), LOWER('CD'), UDF.mathSqrt(49)]", partition_key="k1") == [["ab", "cd", 7]]
    for query in ["SELECT VALUE udf.lower('A') FROM c", "SELECT VALUE udf.absent(c) FROM c WHERE c.n = 1"]:
        with pytest.raises(exceptions.CosmosHttpResponseError) as error:
            rows(query)
        assert error.value.status_code == 400
        assert "is not a recognized user-defined function name." in error.value.message


def test_documents_and_lists_as_arguments(rows):
    found = rows("SELECT VALUE udf.describe(c) FROM c WHERE c.n = 2")
    assert found == ["02 of Chicago"]
    found = rows("SELECT c.id, udf.total(c.lines) AS total FROM c WHERE IS_DEFINED(c.lines) ORDER BY c.n")
    assert [row["total"] for row in found] == [3 * item["n"] for item in FAMILIES if "lines" in item]


def test_undefined_both_ways(rows):
    assert rows("SELECT VALUE udf.isKnown(c.lines) FROM c WHERE c.n IN (0, 1) ORDER BY c.n") == [True, False]
    assert rows("SELECT udf.nothing() AS x, c.n FROM c WHERE c.n = 1") == [{"n": 1}]
    assert rows("SELECT VALUE udf.nothing() FROM c") == []
    assert rows("SELECT VALUE c.n FROM c WHERE udf.nothing() = udf.nothing()") == []


def test_joins_and_subqueries(rows):
    found = rows("SELECT VALUE udf.same(l.price) FROM c JOIN l IN c.lines WHERE udf.same(l.count) = 2")
    assert sorted(found) == sorted(item["n"] for item in FAMILIES if "lines" in item)
    found = rows(
        "SELECT VALUE t FROM c JOIN (SELECT VALUE udf.tax(c.income)) AS t WHERE t > 100 AND t < 30000 ORDER BY c.n"
    )
    assert found == [tax(item["income"]) for item in FAMILIES if 100 < tax(item["income"]) < 30000]
    found = rows("SELECT VALUE ARRAY(SELECT VALUE udf.same(l.price) FROM l IN c.lines) FROM c WHERE c.n = 3")
    assert found == [[3, 1]]


def test_aggregates_and_groups(rows):
    # What each partition says is added up in the client.
    assert rows("SELECT VALUE SUM(udf.same(c.n)) FROM c") == [sum(range(30))]
    assert rows("SELECT VALUE COUNT(1) FROM c WHERE udf.SEALEVEL(c.city) = 410") == [8]
    groups = "SELECT udf.SEALEVEL(c.city) AS level, COUNT(1) AS n FROM c GROUP BY udf.SEALEVEL(c.city)"
    found = [row for key in ["k1", "k2"] for row in rows(groups, partition_key=key)]
    assert sum(row["n"] for row in found) == len([item for item in FAMILIES if item["pk"] in ("k1", "k2")])
    assert {row["level"] for row in found} == {520, 410, 673, -1}
    assert sorted(rows("SELECT DISTINCT VALUE udf.SEALEVEL(c.city) FROM c")) == [-1, 410, 520, 673]


def test_order(rows):
    found = rows("SELECT TOP 5 VALUE udf.same(c.n) FROM c WHERE udf.SEALEVEL(c.city) > 0 ORDER BY c.n DESC")
    assert found == [n for n in range(29, -1, -1) if n % 4 != 3][:5]
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        rows("SELECT * FROM c ORDER BY udf.same(c.n)")
    assert error.value.status_code == 400


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize(
    "query, expected",
    [
        ("SELECT VALUE udf.same(c.n) FROM c WHERE udf.SEALEVEL(c.city) > 0 ORDER BY c.n", [n for n in range(30) if n % 4 != 3]),
        ("SELECT VALUE udf.same(c.n) FROM c ORDER BY c.n OFFSET 5 LIMIT 12", list(range(5, 17))),
        ("SELECT VALUE c.n FROM c WHERE udf.same(c.n) >= 10", list(range(10, 30))),
    ],
)
def test_pages(families, query, expected, size):
    pages = families.query_items(query, enable_cross_partition_query=True, max_item_count=size).by_page()
    found = []
    for page in pages:
        page = list(page)
        assert len(page) <= size
        found += page
    assert (found if "ORDER BY" in query else sorted(found)) == expected


def test_continuation(families):
    query, options = "SELECT VALUE udf.same(c.n) FROM c WHERE udf.same(c.pk) = 'k2'", {"partition_key": "k2"}
    found, token = [], None
    while True:
        pages = families.query_items(query, max_item_count=2, **options).by_page(token)
        # The last page may be empty. The SDK stops then, and keeps the token that it was given.
        if (page := next(pages, None)) is None:
            break
        found += list(page)
        token = pages.continuation_token
        if not token:
            break
    assert sorted(found) == [n for n in range(30) if n % 7 == 2]


def test_exceptions(rows):
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        rows("SELECT VALUE udf.picky(c.n) FROM c")
    assert error.value.status_code == 400
    message = error.value.message
    assert "Encountered exception while executing Javascript. Exception = Error: not seventeen" in message
    assert "picky.js:1" in message
    # What the rest of the filter leaves out is not asked about.
    assert len(rows("SELECT * FROM c WHERE udf.picky(c.n) AND c.n != 17")) == 29


def test_ten_calls_and_no_more(rows):
    calls = ["udf.same(c.n)"] * 11
    assert rows(f"SELECT VALUE [{', '.join(calls[:10])}] FROM c WHERE c.n = 5") == [[5] * 10]
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        rows(f"SELECT VALUE [{', '.join(calls)}] FROM c")
    assert error.value.status_code == 400 and "SC3005" in error.value.message


def test_a_function_without_end(database, name):
    container = database.create_container(name, PartitionKey("/pk"))
    container.scripts.create_user_defined_function({"id": "endless", "body": "n => { while (true) n++; }"})
    container.create_item({"id": "1", "pk": "k"})
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        list(container.query_items("SELECT VALUE udf.endless(1) FROM c", partition_key="k"))
    assert error.value.status_code == 408
    assert list(container.query_items("SELECT VALUE c.id FROM c", partition_key="k")) == ["1"]


def test_charge_and_metrics(families):
    def asked(query):
        seen = {}
        hook = lambda headers, _: seen.update({key.lower(): value for key, value in headers.items()})  # noqa: E731
        options = {"partition_key": "k1", "populate_query_metrics": True, "response_hook": hook}
        list(families.query_items(query, **options))
        pairs = (pair.split("=") for pair in seen["x-ms-documentdb-query-metrics"].split(";"))
        return float(seen["x-ms-request-charge"]), {key: float(value) for key, value in pairs}

    plain, without = asked("SELECT VALUE c.n FROM c")
    charge, metrics = asked("SELECT VALUE udf.same(c.n) FROM c")
    assert charge > plain
    assert without["userFunctionExecuteTimeInMs"] == 0 < metrics["userFunctionExecuteTimeInMs"]
    assert metrics["userFunctionExecuteTimeInMs"] <= metrics["VMExecutionTimeInMs"]
    assert asked("SELECT VALUE udf.same(c.n) FROM c")[0] == charge


def test_async(server, families):
    async def ask():
        async with AsyncClient(server.endpoint, PUBLISHED_KEY, connection_verify=False) as client:
            container = client.get_database_client("python").get_container_client(families.id)
            query = "SELECT VALUE udf.same(c.n) FROM c WHERE udf.SEALEVEL(c.city) = 673"
            return sorted([row async for row in container.query_items(query)])

    assert asyncio.run(ask()) == [n for n in range(30) if n % 4 == 2]
