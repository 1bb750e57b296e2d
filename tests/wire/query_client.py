"""Queries in plain HTTP: a page, all pages, a plan; and a client that follows plans."""

import json

QUERY = {"Content-Type": "application/query+json", "x-ms-documentdb-isquery": "true"}
CROSS = {"x-ms-documentdb-query-enablecrosspartition": "true"}
# What Python and JavaScript send with every request: they merge by themselves.
PLANS = {"x-ms-cosmos-sdk-supportedcapabilities": "1"}
FEATURES = (
    "Aggregate, CompositeAggregate, CountIf, DCount, Distinct, GroupBy, HybridSearch, ListAndSetAggregate, "
    "MultipleAggregates, MultipleOrderBy, NonStreamingOrderBy, NonValueAggregate, OffsetAndLimit, OrderBy, Top, "
    "WeightedRankFusion"
)


def body(text, parameters=None):
    """The body of a query; parameters are a dictionary, names without the `@`."""
    pairs = [{"name": f"@{name}", "value": value} for name, value in (parameters or {}).items()]
    return {"query": text, "parameters": pairs}


def ask(client, path, text, headers=None, parameters=None):
    """One page, whatever it says."""
    return client.post(path, body(text, parameters), QUERY | CROSS | (headers or {}))


def pages(client, path, text, headers=None, parameters=None, size=None):
    """Every page of a query that must not fail, each asked for with the token of the one before."""
    headers = dict(headers or {})
    if size is not None:
        headers["x-ms-max-item-count"] = str(size)
    for _ in range(10_000):
        answer = ask(client, path, text, headers, parameters)
        assert answer.status == 200, answer
        rid, (kind, found), count = answer.json.items()
        assert (rid[0], count) == ("_rid", ("_count", len(found))), answer
        assert answer.headers["x-ms-item-count"] == str(len(found)), answer
        if size is not None and size > 0:
            assert len(found) <= size, answer
        yield found
        if answer.continuation is None:
            return
        assert answer.continuation != headers.get("x-ms-continuation"), "no progress"
        assert len(answer.continuation) < 1024
        headers["x-ms-continuation"] = answer.continuation
    raise AssertionError("a query without an end")


def rows(client, path, text, headers=None, parameters=None, size=None):
    """All rows of a query."""
    return sum(pages(client, path, text, headers, parameters, size), [])


def ask_plan(client, path, text, headers=None, parameters=None, features=FEATURES):
    """The plan of a query, whatever the answer says; asked for as Python and Java do."""
    sent = {
        "Content-Type": "application/json", "x-ms-cosmos-is-query-plan-request": "True",
        "x-ms-cosmos-query-version": "1.4", "x-ms-cosmos-supported-query-features": features,
    }  # fmt: skip
    return client.post(path, body(text, parameters), sent | CROSS | (headers or {}))


def plan(client, path, text, parameters=None):
    """The plan of a query that has one."""
    answer = ask_plan(client, path, text, None, parameters)
    assert answer.status == 200, answer
    return answer.json


def ranges(client, collection):
    """The ranges of a collection, in order."""
    found = client.get(f"{collection}/pkranges").json["PartitionKeyRanges"]
    return sorted(found, key=lambda item: item["minInclusive"])


def errors(answer):
    """The error document in the message of a query that was refused."""
    assert answer.status == 400, answer
    message = answer.message
    document, _ = json.JSONDecoder().raw_decode(message[message.index("{") :])
    return document


def error(answer):
    """The one error of a query that was refused: code, message, and where in the text."""
    [found] = errors(answer)["errors"]
    assert found["severity"] == "Error"
    place = found.get("location")
    return found["code"], found["message"], place and (place["start"], place["end"])


def plain(value):
    """A value as text that is the same for equal values: 1 and 1.0, members in any order. Numbers
    have twelve digits, for the order in which they are summed up is free."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{plain(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(plain, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:.12g}"
    return json.dumps(value)
