"""User-defined functions in queries, as plain HTTP shows them."""

import json

import pytest

from query_client import ask, ask_plan, rows

COUNT = 60


@pytest.fixture(scope="module", params=["coll", "wide"])
def numbers(request, client):
    coll = request.getfixturevalue(request.param)
    for n in range(COUNT):
        key = {"x-ms-documentdb-partitionkey": json.dumps([f"k{n % 9}"])}
        document = {"id": f"{n:02}", "pk": f"k{n % 9}", "n": n}
        assert client.post(f"{coll.path}/docs", document, key).status == 201
    functions = {
        "half": "n => n % 2 === 0 ? n / 2 : undefined",
        "picky": "function picky(n) {\n  if (n === 40) throw new Error('forty');\n  return n;\n}",
        "code": "function () { throw new Error(409, 'taken'); }",
        "leaky": "n => { const all = []; for (;;) all.push(new Array(1000).fill(n)); }",
    }
    for name, body in functions.items():
        assert client.post(f"{coll.path}/udfs", {"id": name, "body": body}).status == 201
    return f"{coll.path}/docs"


@pytest.mark.parametrize("size", [1, 7, None])
def test_the_server_merges(client, numbers, size):
    text = "SELECT VALUE udf.half(c.n) FROM c WHERE udf.half(c.n) > 10 ORDER BY c.n DESC"
    assert rows(client, numbers, text, size=size) == list(range(29, 10, -1))
    text = "SELECT udf.half(c.n) AS h, COUNT(1) AS n FROM c WHERE c.n < 6 GROUP BY udf.half(c.n)"
    found = rows(client, numbers, text, size=size)
    assert sorted((row.get("h", -1), row["n"]) for row in found) == [(-1, 3), (0, 1), (1, 1), (2, 1)]
    assert rows(client, numbers, "SELECT VALUE AVG(udf.half(c.n)) FROM c", size=size) == [14.5]


def test_exceptions(client, numbers):
    answer = ask(client, numbers, "SELECT VALUE udf.picky(c.n) FROM c WHERE c.n >= 40 ORDER BY c.n")
    assert answer.status == 400 and answer.json["code"] == "BadRequest"
    message = answer.json["message"]
    assert message.startswith('Message: {"Errors":["Encountered exception while executing Javascript. Exception = Error: forty')
    assert "Stack trace: Error: forty" in message and "picky.js:2" in message
    assert float(answer.headers["x-ms-request-charge"]) > 0
    # The rest of the filter leaves it out.
    assert len(rows(client, numbers, "SELECT * FROM c WHERE udf.picky(c.n) >= 0 AND c.n != 40")) == COUNT - 1
    answer = ask(client, numbers, "SELECT VALUE udf.code() FROM c")
    assert answer.status == 400 and "Exception = Error: taken" in answer.json["message"]
    answer = ask(client, numbers, "SELECT VALUE udf.leaky(c.n) FROM c")
    assert answer.status == 403
    assert ask(client, numbers, "SELECT VALUE udf.half(4)").json["Documents"] == [2]


def test_unknown_names(client, numbers):
    for text in ("SELECT VALUE udf.none(c.n) FROM c WHERE c.n < 0", "SELECT * FROM c WHERE c.n < 0 AND udf.none(c.n)"):
        answer = ask(client, numbers, text)
        assert (answer.status, answer.json["Documents"]) == (200, []), answer
    answer = ask(client, numbers, "SELECT VALUE udf.none(c.n) FROM c")
    assert answer.status == 400
    assert '"code":"SC2004","message":"\'none\' is not a recognized user-defined function name."' in answer.json["message"]
    # A plan says nothing about functions, as with the service.
    assert ask_plan(client, numbers, "SELECT VALUE udf.none(c.n) FROM c").status == 200
    for feed in ["/dbs", "/offers", numbers.removesuffix("/docs") + "/udfs"]:
        answer = ask(client, feed, "SELECT VALUE udf.half(4) FROM c")
        assert answer.status == 400 and "SC2004" in answer.json["message"]


def test_the_account_of_a_page(client, numbers):
    text = "SELECT VALUE udf.half(udf.picky(c.n)) FROM c WHERE c.n < 10 ORDER BY c.n"
    answer = ask(client, numbers, text, {"x-sheaf-explain": "True"})
    read = answer.json["_explain"]["read"]
    assert (read["functionCalls"], read["documentsMatched"]) == (20, 10)
    assert 2 <= read["functionMessages"] <= 6
    charge = answer.headers["x-ms-request-charge"]
    assert ask(client, numbers, text).headers["x-ms-request-charge"] == charge
