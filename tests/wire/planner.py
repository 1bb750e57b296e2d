"""A client that follows query plans as .NET and Java do: it asks for the plan first, sends the
rewritten query to every range, and merges what comes back."""

import functools

from query_client import plain, plan, ranges, rows

ABSENT = object()
FILTER = "{documentdb-formattableorderbyquery-filter}"
TYPES = {type(None): 1, bool: 2, int: 3, float: 3, str: 4, list: 5, dict: 6}


def follow(client, docs, text, parameters=None, size=None):
    """All rows of a query, by its plan."""
    found = plan(client, docs, text, parameters)
    info = found["queryInfo"]
    query = (info["rewrittenQuery"] or text).replace(FILTER, "true")
    pieces = [
        rows(client, docs, query, headers, parameters, size)
        for headers in targets(client, docs.removesuffix("/docs"), found["queryRanges"])
    ]
    if info["orderBy"]:
        merged = in_order(pieces, info["orderBy"])
    else:
        merged = sum(pieces, [])
    if info["groupByExpressions"] or info["groupByAliasToAggregateType"]:
        merged = grouped(merged, info)
    elif info["aggregates"]:
        merged = [value for value in [total(info["aggregates"][0], [row[0] for row in merged])] if value is not ABSENT]
    if info["distinctType"] != "None":
        merged = list({plain(row): row for row in merged}.values())
    if info["dCountInfo"]:
        alias = info["dCountInfo"]["dCountAlias"]
        merged = [{alias: len(merged)} if alias else len(merged)]
    merged = merged[info["offset"] or 0 :]
    for count in (info["top"], info["limit"]):
        merged = merged if count is None else merged[:count]
    return merged


def targets(client, collection, wanted):
    """The headers that name each piece of a plan's ranges."""
    assert wanted == sorted(wanted, key=lambda item: item["min"])
    for piece in ranges(client, collection):
        low, high = piece["minInclusive"], piece["maxExclusive"]
        for item in wanted:
            is_point = item["isMaxInclusive"]
            inside = low <= item["min"] < high if is_point else item["min"] < high and low < item["max"]
            if inside:
                yield {"x-ms-documentdb-partitionkeyrangeid": piece["id"]}
                break


def rank(value):
    return 0 if value is ABSENT else TYPES[type(value)]


def compare(left, right):
    """The order of values; arrays and objects have none that a client could know."""
    by_type = rank(left) - rank(right)
    if by_type or left is ABSENT or isinstance(left, (list, dict)):
        return by_type
    if isinstance(left, str):
        left, right = left.encode("utf-16-be"), right.encode("utf-16-be")
    return 0 if left is None else (left > right) - (left < right)


def in_order(pieces, directions):
    """Rows of pieces that are in order each, in order over all; ties stay as they are."""

    def by_items(left, right):
        for direction, one, other in zip(directions, left["orderByItems"], right["orderByItems"]):
            if order := compare(one.get("item", ABSENT), other.get("item", ABSENT)):
                return order if direction == "Ascending" else -order
        return 0

    for piece in pieces:
        for before, after in zip(piece, piece[1:]):
            assert by_items(before, after) <= 0, (before, after)
            assert before["_rid"]
    merged = sorted(sum(pieces, []), key=functools.cmp_to_key(by_items))
    return [row["payload"] for row in merged]


def grouped(found, info):
    """Partial groups joined by their keys."""
    groups = {}
    for row in found:
        groups.setdefault(plain(row.get("groupByItems")), []).append(row.get("payload", ABSENT))
    return [row for row in (group(payloads, info) for payloads in groups.values()) if row is not ABSENT]


def group(payloads, info):
    if info["hasSelectValue"]:
        if info["aggregates"]:
            return total(info["aggregates"][0], [payload[0] for payload in payloads])
        return payloads[0]
    row = {}
    for alias in info["groupByAliases"]:
        kind = info["groupByAliasToAggregateType"][alias]
        parts = [payload.get(alias, ABSENT) for payload in payloads]
        row[alias] = parts[0] if kind is None else total(kind, parts)
    return {alias: value for alias, value in row.items() if value is not ABSENT}


def total(kind, parts):
    """The aggregate of all from the aggregates of the pieces: `{"item": …, "item2": …}` each."""
    if kind in ("Min", "Max"):
        return extreme(kind, parts)
    values = [part.get("item", ABSENT) for part in parts]
    if kind == "Average":
        sums, count = [value.get("sum", ABSENT) for value in values], sum(value["count"] for value in values)
        return sum(sums) / count if count and ABSENT not in sums else ABSENT
    if kind in ("MakeList", "MakeSet"):
        joined = sum(values, [])
        unique = {plain(value): value for value in joined}
        return joined if kind == "MakeList" else list(unique.values())
    return ABSENT if ABSENT in values else sum(values)


def extreme(kind, parts):
    """Pieces without any value have a say only by their count of 0."""
    values = [part["item2"].get(kind.lower(), ABSENT) for part in parts if part["item2"]["count"]]
    if not values or ABSENT in values:
        return ABSENT
    pick = min if kind == "Min" else max
    return pick(values, key=functools.cmp_to_key(compare))
