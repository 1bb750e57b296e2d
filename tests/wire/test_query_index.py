"""Whatever the index knows, the rows are those of a scan. The same documents lie in collections
that index everything, nothing, or some of it, with one partition and with three; the same
queries, made at random, must find the same."""

import json
import random

import pytest

from http_client import pk
from query_client import ask, rows

KEY = {"paths": ["/pk"], "kind": "Hash", "version": 2}
WHOLE = {"includedPaths": [{"path": "/*"}], "excludedPaths": []}
POLICIES = {
    "all": (WHOLE, 400),
    "all of three": (WHOLE, 30000),
    "some": ({"includedPaths": [{"path": "/a/?"}, {"path": "/o/*"}], "excludedPaths": [{"path": "/*"}]}, 30000),
    "all but some": ({"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/a/?"}, {"path": "/l/*"}]}, 400),
    "none": ({"indexingMode": "none", "automatic": False, "includedPaths": [], "excludedPaths": []}, 400),
}
LONG = "long " * 300
CHECKS = ["IS_DEFINED", "IS_NULL", "IS_BOOL", "IS_NUMBER", "IS_STRING", "IS_ARRAY", "IS_OBJECT", "IS_PRIMITIVE"]
SCALARS = [None, True, False, 0, -0.0, 1, -1, 1.5, 2, 3, 1e300, -1e300, 5e-324, 2**53, 2**53 + 1, 9007199254740993,
           "", "a", "A", "ab", "b", "ä", "z\u0000", "\ufffd", "🦀", "日本", LONG, LONG + "a", LONG + "b", "1", "null"]  # fmt: skip


class Maker:
    """Documents and filters, made at random but always the same."""

    def __init__(self, seed, scalars=SCALARS):
        self.random, self.scalars = random.Random(seed), scalars

    def scalar(self):
        return self.random.choice(self.scalars)

    def value(self, depth=0):
        kind = self.random.random()
        if depth > 1 or kind < 0.7:
            return self.scalar()
        if kind < 0.85:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {name: self.value(depth + 1) for name in "xy" if self.random.random() < 0.7}

    def document(self, number):
        made = {"id": f"d{number}", "pk": self.random.choice(["p", "q", "r", 1, None, True])}
        for name in "abc":
            if self.random.random() < 0.85:
                made[name] = self.value()
        made["o"] = {"x": self.scalar(), "y": {"z": self.random.randrange(5)}}
        made["l"] = [self.scalar() for _ in range(self.random.randrange(4))]
        return made

    def path(self):
        return self.random.choice(["c.a", "c.b", "c['c']", "c.o.x", "c.o.y.z", "c.l[0]", "c.a.x", "c.pk", "c.o", "c.l"])

    def literal(self, value=None):
        return json.dumps(self.scalar() if value is None else value, ensure_ascii=self.random.random() < 0.5)

    def term(self):
        path, choice = self.path(), self.random.randrange(14)
        if choice < 5:
            return f"{path} {self.random.choice(['=', '=', '!=', '<', '<=', '>', '>='])} {self.literal()}"
        if choice == 5:
            return f"{path} IN ({self.literal()}, {self.literal()}, {self.literal()})"
        if choice == 6:
            return f"{path} BETWEEN {self.literal()} AND {self.literal()}"
        if choice == 7:
            return f"{self.random.choice(CHECKS)}({path})"
        if choice == 8:
            start = self.literal(self.random.choice(["a", "long", "", LONG, "🦀", "A"]))
            return f"STARTSWITH({path}, {start}, {self.random.choice(['true', 'false'])})"
        if choice == 9:
            return f"ARRAY_CONTAINS({self.random.choice(['c.l', 'c.a', 'c.b'])}, {self.literal()})"
        if choice == 10:
            return f"EXISTS(SELECT VALUE t FROM t IN {self.random.choice(['c.l', 'c.a'])} WHERE t = {self.literal()})"
        if choice == 11:
            return f"{path} LIKE {self.literal(self.random.choice(['a%', '%a', 'long%', '_', 'ä']))}"
        if choice == 12:
            return f"{path} = {self.path()}"
        return f"ARRAY_CONTAINS([{self.literal()}, {self.literal()}], {path})"

    def filter(self, depth=0):
        choice = self.random.random()
        if depth > 2 or choice < 0.4:
            return self.term()
        if choice < 0.55:
            return f"NOT ({self.filter(depth + 1)})"
        joined = self.random.choice([" AND ", " OR "])
        return "(" + joined.join(self.filter(depth + 1) for _ in range(2)) + ")"


@pytest.fixture(scope="module")
def same(client, db):
    """The collections of the same documents, some of which were changed or deleted after."""
    made = {}
    for name, (policy, throughput) in POLICIES.items():
        maker = Maker(1)
        coll = db.collection(indexingPolicy=policy, headers={"x-ms-offer-throughput": str(throughput)})
        for number in range(150):
            document = maker.document(number)
            assert client.post(coll.docs, document).status == 201
            if number % 3 == 0:
                changed = maker.document(number) | {"pk": document["pk"]}
                assert client.put(f"{coll.docs}/d{number}", changed, pk(document["pk"])).status == 200
            if number % 10 == 0:
                assert client.delete(f"{coll.docs}/d{number}", pk(document["pk"])).status == 204
        made[name] = coll.docs
    return made


@pytest.mark.parametrize("seed", range(25))
def test_filters(client, same, seed):
    maker = Maker(seed + 100)
    for _ in range(12):
        where = maker.filter()
        query = f"SELECT VALUE c.id FROM c WHERE {where}"
        expected = sorted(rows(client, same["none"], query))
        for name, docs in same.items():
            found = rows(client, docs, query, size=maker.random.choice([None, None, 7]))
            assert sorted(found) == expected, (name, where)
            assert rows(client, docs, f"SELECT VALUE COUNT(1) FROM c WHERE {where}") == [len(expected)], (name, where)


def test_filters_within_a_key(client, same):
    maker = Maker(7)
    for _ in range(60):
        where, key = maker.filter(), maker.random.choice(["p", 1, None, True, "none"])
        query = f"SELECT VALUE c.id FROM c WHERE {where}"
        expected = rows(client, same["none"], query, pk(key))
        for name, docs in same.items():
            assert rows(client, docs, query, pk(key)) == expected, (name, where)


@pytest.mark.parametrize("path", ["c.a", "c.b", "c.o.x", "c.o.y.z", "c.pk"])
def test_orders(client, same, path):
    """With and without a filter; ties included, for they go by resource id."""
    maker = Maker(path)
    for direction in ("ASC", "DESC"):
        for where in ("true", maker.filter(), maker.term(), f"{path} > 0", f"{path} >= 'a'", "c.pk = 'p'"):
            one, three = (
                rows(
                    client, same[name], f"SELECT VALUE c.id FROM c WHERE {where} ORDER BY {path} {direction}", size=size
                )
                for name, size in (("all", None), ("all of three", 4))
            )
            assert one == three, (where, direction)
            # What lacks the path is returned, too.
            matching = rows(client, same["none"], f"SELECT VALUE c.id FROM c WHERE {where}")
            assert sorted(one) == sorted(matching), (where, direction)


def test_orders_go_by_type_and_value(client, same):
    ranks = {type(None): 1, bool: 2, int: 3, float: 3, str: 4, list: 5, dict: 6}

    def key(value):
        text = value.encode("utf-16-be") if isinstance(value, str) else b""
        return ranks[type(value)], float(value) if isinstance(value, (bool, int, float)) else 0, text

    for name in ("all", "all of three"):
        where = "WHERE c.b != '\ufffd'"
        found = rows(client, same[name], f"SELECT VALUE c.b FROM c {where} ORDER BY c.b", size=9)
        assert [key(value) for value in found] == sorted(map(key, found))
        back = rows(client, same[name], f"SELECT VALUE c.b FROM c {where} ORDER BY c.b DESC")
        assert [key(value) for value in back] == sorted(map(key, found), reverse=True)
        assert len(found) > 80


def test_strings_go_by_code_units(client, db):
    """As they do in .NET, Java and JavaScript, whose clients merge by them: characters above U+FFFF
    come before the last ones below."""
    coll = db.collection()
    texts = ["z", "\ud7ff", "🦀", "\U0010ffff", "\ue000", "\uffee", "\ufffd"]
    for n, text in enumerate(texts[::-1]):
        assert client.post(coll.docs, {"id": str(n), "pk": n, "s": text}).status == 201
    for size in (1, None):
        assert rows(client, coll.docs, "SELECT VALUE c.s FROM c ORDER BY c.s", size=size) == texts
        assert rows(client, coll.docs, "SELECT VALUE c.s FROM c ORDER BY c.s DESC", size=size) == texts[::-1]
    assert sorted(rows(client, coll.docs, "SELECT VALUE c.s FROM c WHERE c.s > '🦀'")) == sorted(texts[3:])
    assert rows(client, coll.docs, "SELECT VALUE '🦀' < '\ufffd'") == [True]
    assert rows(client, coll.docs, "SELECT VALUE MAX(c.s) FROM c") == ["\ufffd"]


def test_the_index_follows_writes(client, db):
    coll = db.collection()
    query = "SELECT VALUE c.id FROM c WHERE c.v = @v"

    def holders(value):
        return sorted(rows(client, coll.docs, query, None, {"v": value}))

    for n in range(5):
        assert client.post(coll.docs, {"id": f"i{n}", "pk": "a", "v": 1, "w": n}).status == 201
    assert holders(1) == [f"i{n}" for n in range(5)]
    assert client.put(f"{coll.docs}/i0", {"id": "i0", "pk": "a", "v": 2}, pk("a")).status == 200
    assert client.put(f"{coll.docs}/i1", {"id": "i1", "pk": "a"}, pk("a")).status == 200
    assert client.delete(f"{coll.docs}/i2", pk("a")).status == 204
    assert (holders(1), holders(2)) == (["i3", "i4"], ["i0"])
    upsert = {"x-ms-documentdb-is-upsert": "true"}
    assert client.post(coll.docs, {"id": "i3", "pk": "a", "v": [1]}, upsert).status == 200
    assert client.post(coll.docs, {"id": "i2", "pk": "a", "v": 1}, upsert).status == 201
    assert (holders(1), holders([1])) == (["i2", "i4"], ["i3"])
    assert rows(client, coll.docs, "SELECT VALUE COUNT(1) FROM c") == [5]
    assert rows(client, coll.docs, "SELECT VALUE c.id FROM c ORDER BY c.w")[-1] == "i4"


def test_a_new_policy(client, db):
    """Rows stay the same while the index changes."""
    coll = db.collection(headers={"x-ms-offer-throughput": "30000"})
    for n in range(60):
        assert client.post(coll.docs, {"id": f"i{n}", "pk": n % 7, "n": n, "m": n % 5}).status == 201
    query = "SELECT VALUE c.n FROM c WHERE c.m = 3 AND c.n > 20"
    expected = [n for n in range(60) if n % 5 == 3 and n > 20]
    composite = [[{"path": "/m", "order": "ascending"}, {"path": "/n", "order": "ascending"}]]
    policies = [
        {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/m/?"}]},
        {"includedPaths": [{"path": "/n/?"}], "excludedPaths": [{"path": "/*"}]},
        WHOLE | {"compositeIndexes": composite},
        {"indexingMode": "none", "automatic": False, "includedPaths": [], "excludedPaths": []},
        WHOLE,
    ]
    for policy in policies:
        definition = {"id": coll.name, "partitionKey": KEY, "indexingPolicy": policy}
        assert client.put(coll.path, definition).status == 200
        for _ in range(3):
            assert sorted(rows(client, coll.docs, query)) == expected
        ordered = ask(client, coll.docs, "SELECT VALUE c.n FROM c ORDER BY c.m, c.n")
        if "compositeIndexes" in policy:
            assert ordered.json["Documents"] == sorted(range(60), key=lambda n: (n % 5, n))
        else:
            assert ordered.status == 400


def test_documents_that_are_left_out(client, db):
    """An index that lacks a document does not hide it."""
    coll = db.collection()
    assert client.post(coll.docs, {"id": "in", "pk": "a", "n": 1}).status == 201
    left_out = client.post(coll.docs, {"id": "out", "pk": "a", "n": 1}, {"x-ms-indexing-directive": "Exclude"})
    assert left_out.status == 201
    assert client.get(f"{coll.docs}/out", pk("a")).status == 200
    assert "in" in rows(client, coll.docs, "SELECT VALUE c.id FROM c WHERE c.n = 1")
    assert client.put(f"{coll.docs}/out", {"id": "out", "pk": "a", "n": 1}, pk("a")).status == 200
    assert sorted(rows(client, coll.docs, "SELECT VALUE c.id FROM c WHERE c.n = 1")) == ["in", "out"]


def test_shapes(client, db):
    """Spatial indexes and scans agree."""
    points = [[x, y] for x in range(-180, 181, 40) for y in range(-90, 91, 30)]
    spatial = WHOLE | {"spatialIndexes": [{"path": "/at/*", "types": ["Point"]}]}
    filled = []
    for policy in (spatial, WHOLE):
        coll = db.collection(indexingPolicy=policy)
        for n, point in enumerate(points):
            item = {"id": f"p{n}", "pk": n % 5, "at": {"type": "Point", "coordinates": point}}
            assert client.post(coll.docs, item).status == 201
        filled.append(coll.docs)
    square = [[-50, -40], [50, -40], [50, 40], [-50, 40], [-50, -40]]
    for where in (
        f"ST_WITHIN(c.at, {{'type': 'Polygon', 'coordinates': [{square}]}})",
        f"ST_INTERSECTS(c.at, {{'type': 'Polygon', 'coordinates': [{square}]}})",
        "ST_DISTANCE(c.at, {'type': 'Point', 'coordinates': [0, 0]}) < 5000000",
        "ST_DISTANCE(c.at, {'type': 'Point', 'coordinates': [179, 89]}) <= 3000000",
        "ST_DISTANCE(c.at, {'type': 'Point', 'coordinates': [0, 0]}) > 15000000",
    ):
        by_index, by_scan = (sorted(rows(client, docs, f"SELECT VALUE c.id FROM c WHERE {where}")) for docs in filled)
        assert by_index == by_scan and by_scan, where
