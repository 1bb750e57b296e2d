"""Filters, projections, joins, subqueries and parameters, over one key and over all."""

import pytest
from shop import ITEMS, KEYS, NAMES, TAGS, by_id, plain


def test_everything(shop, everywhere):
    found = everywhere("SELECT * FROM c")
    assert by_id(found) == ITEMS
    for item in found[::7]:
        assert shop.read_item(item["id"], item["pk"]) == item


@pytest.mark.parametrize("key", KEYS[::3])
def test_one_key(shop, key):
    expected = [item for item in ITEMS if item["pk"] == key]
    assert plain(shop.query_items("SELECT * FROM c", partition_key=key)) == expected
    where = "SELECT * FROM c WHERE c.pk = @key"
    parameters = [{"name": "@key", "value": key}]
    # The filter pins the key, with leave to read all of them or without.
    assert plain(shop.query_items(where, parameters)) == expected
    assert plain(shop.query_items(where, parameters, enable_cross_partition_query=True)) == expected


WHERE = {
    "c.n = 7": lambda c: c["n"] == 7,
    "7 = c.n": lambda c: c["n"] == 7,
    "c.n != 7": lambda c: c["n"] != 7,
    "c.n > 40": lambda c: c["n"] > 40,
    "c.n >= 40 AND c.n < 44": lambda c: 40 <= c["n"] < 44,
    "c.n BETWEEN 40 AND 44": lambda c: 40 <= c["n"] <= 44,
    "c.n IN (1, 2, 3, 99)": lambda c: c["n"] in (1, 2, 3),
    "c.n NOT IN (1, 2, 3)": lambda c: c["n"] not in (1, 2, 3),
    "c.n < 3 OR c.n > 57": lambda c: c["n"] < 3 or c["n"] > 57,
    "NOT (c.g = 1 OR c.g = 2)": lambda c: c["g"] not in (1, 2),
    "c.g = 1 AND c.in_stock": lambda c: c["g"] == 1 and c["in_stock"],
    "c.in_stock = false": lambda c: not c["in_stock"],
    "c.price * 2 > 100": lambda c: c["price"] * 2 > 100,
    "c.n % 7 = 0": lambda c: c["n"] % 7 == 0,
    "c.name = 'apple'": lambda c: c["name"] == "apple",
    "c.name > 'b'": lambda c: c["name"] > "b",
    "STARTSWITH(c.name, 'z')": lambda c: c["name"].startswith("z"),
    "STARTSWITH(c.name, 'z', true)": lambda c: c["name"].lower().startswith("z"),
    "CONTAINS(c.name, 'an')": lambda c: "an" in c["name"],
    "ENDSWITH(c.name, 'a')": lambda c: c["name"].endswith("a"),
    "c.name LIKE '%an%'": lambda c: "an" in c["name"],
    "c.name LIKE '_ebra'": lambda c: c["name"] in ("Zebra", "zebra"),
    "RegexMatch(c.name, '^[zZ]e')": lambda c: c["name"] in ("Zebra", "zebra"),
    "LENGTH(c.name) = 0": lambda c: c["name"] == "",
    "IS_DEFINED(c.note)": lambda c: "note" in c,
    "NOT IS_DEFINED(c.note)": lambda c: "note" not in c,
    "c.note = 'odd 7'": lambda c: c.get("note") == "odd 7",
    "c.note != 'odd 7'": lambda c: c.get("note", "odd 7") != "odd 7",
    "ARRAY_CONTAINS(c.tags, 'blue')": lambda c: "blue" in c["tags"],
    "ARRAY_LENGTH(c.tags) = 2": lambda c: len(c["tags"]) == 2,
    "ARRAY_CONTAINS(c.parts, {'count': 5}, true)": lambda c: any(part["count"] == 5 for part in c["parts"]),
    "c.tags[1] = 'green'": lambda c: len(c["tags"]) > 1,
    "c.size.w = 3": lambda c: c["size"]["w"] == 3,
    "c['size']['h'] < -50": lambda c: c["size"]["h"] < -50,
    "c.pk = 'key-3' AND c.n > 20": lambda c: c["pk"] == "key-3" and c["n"] > 20,
    "c.pk IN ('key-3', 'key-5', 'none')": lambda c: c["pk"] in ("key-3", "key-5"),
    "c.pk > 'key-5'": lambda c: c["pk"] > "key-5",
    "c.id = 'item-33'": lambda c: c["n"] == 33,
    "c.id >= 'item-55'": lambda c: c["n"] >= 55,
    "c._ts > 0": lambda c: True,
    "false": lambda c: False,
    "c.none = 1": lambda c: False,
    "IS_NULL(c.none)": lambda c: False,
    "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'ü')": lambda c: "ü" in c["tags"],
    "(SELECT VALUE COUNT(1) FROM p IN c.parts WHERE p.count > 10) = 1": lambda c: sum(p["count"] > 10 for p in c["parts"]) == 1,
}  # fmt: skip


@pytest.mark.parametrize("where", WHERE)
def test_filters(shop, everywhere, where):
    expected = [item for item in ITEMS if WHERE[where](item)]
    query = f"SELECT * FROM c WHERE {where}"
    assert by_id(everywhere(query)) == expected
    key = "key-3"
    assert plain(shop.query_items(query, partition_key=key)) == [item for item in expected if item["pk"] == key]


def test_projections(everywhere):
    found = everywhere(
        "SELECT c.id, c.n + 1 AS next, c.size.w, [c.g, c.none, 'x'] AS list, c.none, {'a': c.n} FROM c WHERE c.n = 5"
    )
    assert found == [{"id": "item-05", "next": 6, "w": 5, "list": [1, "x"], "$1": {"a": 5}}]
    assert sorted(everywhere("SELECT VALUE c.n FROM c")) == list(range(60))
    assert sorted(everywhere("SELECT VALUE c.note FROM c")) == sorted(item["note"] for item in ITEMS if "note" in item)
    assert everywhere("SELECT c.none FROM c WHERE c.n = 5") == [{}]
    assert everywhere("SELECT VALUE {'n': c.n, 'even': c.n % 2 = 0 ? 'yes' : 'no'} FROM c WHERE c.n = 5") == [
        {"n": 5, "even": "no"}
    ]
    assert everywhere("SELECT VALUE 1 + 1") == [2]
    assert everywhere("SELECT VALUE c.note ?? 'none' FROM c WHERE c.n = 4") == ["none"]


def test_joins(shop, everywhere):
    pairs = [(item["n"], tag) for item in ITEMS for tag in item["tags"]]
    found = everywhere("SELECT c.n, t FROM c JOIN t IN c.tags")
    assert sorted((row["n"], row["t"]) for row in found) == sorted(pairs)
    found = everywhere("SELECT VALUE t FROM t IN c.tags")
    assert sorted(found) == sorted(tag for _, tag in pairs)
    expected = [
        (c["n"], t, p["count"]) for c in ITEMS for t in c["tags"] for p in c["parts"] if p["count"] > 20 and t != "red"
    ]
    query = "SELECT VALUE [c.n, t, p.count] FROM c JOIN t IN c.tags JOIN p IN c.parts WHERE p.count > 20 AND t != 'red'"
    assert sorted(map(tuple, everywhere(query))) == sorted(expected)
    mine = [row for row in expected if ITEMS[row[0]]["pk"] == "key-2"]
    assert list(map(tuple, shop.query_items(query, partition_key="key-2"))) == mine
    # The item is repeated for each of its tags.
    assert len(everywhere("SELECT VALUE c FROM c JOIN t IN c.tags WHERE c.n = 4")) == 4


def test_subqueries(everywhere):
    counts = everywhere("SELECT c.n, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS tags FROM c")
    assert {row["n"]: row["tags"] for row in counts} == {item["n"]: len(item["tags"]) for item in ITEMS}
    arrays = everywhere("SELECT VALUE ARRAY(SELECT VALUE p.count FROM p IN c.parts) FROM c WHERE c.n = 8")
    assert arrays == [[0, 8]]
    query = "SELECT c.n, s.total FROM c JOIN (SELECT VALUE {'total': SUM(p.count)} FROM p IN c.parts) AS s WHERE s.total > 50"
    assert sorted(row["n"] for row in everywhere(query)) == [
        c["n"] for c in ITEMS if sum(p["count"] for p in c["parts"]) > 50
    ]
    found = everywhere("SELECT VALUE x.n FROM (SELECT c.n FROM c WHERE c.n < 3) AS x")
    assert sorted(found) == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [0, -1, 1.5, 2**53, "text", "ü 🦀 \n \" ' \\", "", True, False, None, [], [1, [2]], {}, {"a": {"ü": None}}],
    ids=repr,
)
def test_parameters_have_any_value(everywhere, value):
    assert everywhere("SELECT VALUE @p FROM c WHERE c.n = 1", {"p": value}) == [value]
    assert everywhere("SELECT VALUE @p = @q FROM c WHERE c.n = 1", {"p": value, "q": value}) == [True]


def test_parameters(everywhere):
    assert everywhere("SELECT VALUE c.n FROM c WHERE c.n = @n AND c.name = @name", {"n": 15, "name": "日本"}) == [15]
    assert sorted(everywhere("SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(@list, c.n)", {"list": [3, 1, 99]})) == [
        1,
        3,
    ]
    assert sorted(everywhere("SELECT VALUE c.n FROM c WHERE c.n IN (@a, @b)", {"a": 3, "b": 4})) == [3, 4]
    assert everywhere("SELECT VALUE c[@path] FROM c WHERE c.n = 3", {"path": "name"}) == ["Zebra"]


@pytest.mark.parametrize("name", NAMES)
def test_texts_of_all_kinds(everywhere, name):
    expected = [item["n"] for item in ITEMS if item["name"] == name]
    assert sorted(everywhere("SELECT VALUE c.n FROM c WHERE c.name = @name", {"name": name})) == expected
    quoted = name.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    assert sorted(everywhere(f"SELECT VALUE c.n FROM c WHERE c.name = '{quoted}'")) == expected


def test_texts_in_the_query(everywhere):
    assert set(everywhere("SELECT VALUE t FROM c JOIN t IN c.tags WHERE t = 'ü'")) == {TAGS[3]}
    assert everywhere("SELECT VALUE {'ключ': '🦀', \"b\": 'ü'} FROM c WHERE c.n = 0") == [{"ключ": "🦀", "b": "ü"}]
    assert everywhere("SELECT VALUE LENGTH('日本') FROM c WHERE c.n = 0") == [2]


def test_system_functions(everywhere):
    found = everywhere(
        "SELECT VALUE [UPPER(c.name), CONCAT(c.pk, '!'), ABS(c.size.h), FLOOR(c.price), SUBSTRING(c.id, 0, 4), "
        "INDEX_OF(c.id, '-'), IS_STRING(c.name), IS_ARRAY(c.tags), ARRAY_SLICE(c.tags, 1), StringToNumber('42'), ToString(c.n)] "
        "FROM c WHERE c.n = 12"
    )
    assert found == [["BANANA", "key-3!", 12, 15, "item", 4, True, True, ["green"], 42, "12"]]


def test_computed_properties(everywhere):
    assert everywhere("SELECT c.shout, c.half FROM c WHERE c.n = 10") == [{"shout": "APPLE", "half": 5}]
    assert sorted(everywhere("SELECT VALUE c.n FROM c WHERE c.shout = 'ZEBRA'")) == [
        n for n in range(60) if n % 10 in (3, 4)
    ]
    assert sorted(everywhere("SELECT VALUE c.n FROM c WHERE c.half < 2")) == [0, 1, 2, 3]
    # They are no part of the item.
    assert "shout" not in everywhere("SELECT * FROM c WHERE c.n = 10")[0]


def test_spatial(everywhere):
    near = "ST_DISTANCE(c.place, {'type': 'Point', 'coordinates': [0, 0]}) < 600000"
    assert sorted(everywhere(f"SELECT VALUE c.n FROM c WHERE {near}")) == [30, 31]
    box = {"type": "Polygon", "coordinates": [[[-10.5, -1], [10.5, -1], [10.5, 9], [-10.5, 9], [-10.5, -1]]]}
    expected = [c["n"] for c in ITEMS if -10.5 < c["n"] - 30 < 10.5 and c["n"] % 10 * 4 < 9]
    for function in ("ST_WITHIN", "ST_INTERSECTS"):
        assert sorted(everywhere(f"SELECT VALUE c.n FROM c WHERE {function}(c.place, @box)", {"box": box})) == expected
    assert everywhere("SELECT VALUE ST_ISVALID(c.place) FROM c WHERE c.n = 1") == [True]
