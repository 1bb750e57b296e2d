"""Queries that are too long, too deep, too wide or never end: right or refused, and soon."""

import threading
import time

import pytest

from http_client import Client, pk
from query_client import CROSS, QUERY, ask, ask_plan, body, rows

# Seconds that any one request may take, also on a busy machine.
QUICK = 10
TEXT_MAX = 512 * 1024


@pytest.fixture(scope="module")
def filled(db):
    coll = db.collection()
    item = {"id": "a", "pk": "a", "n": 1, "numbers": list(range(100)), "text": "a" * 5000}
    assert db.client.post(coll.docs, item).status == 201
    assert db.client.post(coll.docs, {"id": "b", "pk": "b", "n": 2}).status == 201
    return coll


@pytest.fixture
def caller(fresh):
    """A connection of its own: one that waits in vain is of no use to other tests."""
    fresh.connect().sock.settimeout(QUICK)
    return fresh


@pytest.fixture(autouse=True)
def alive(caller, filled):
    yield
    assert caller.get(f"{filled.docs}/a", pk("a")).status == 200


def right_or_refused(caller, path, query, expected, parameters=None):
    """Whether the answer is right; if it is not given, the request was to blame."""
    for answer in (ask(caller, path, query, None, parameters), ask_plan(caller, path, query, None, parameters)):
        assert answer.status in (200, 400, 413), answer
    answer = ask(caller, path, query, None, parameters)
    if answer.status == 200:
        assert answer.json["Documents"] == expected
    return answer.status == 200


def test_the_longest_text(caller, filled):
    query = "SELECT VALUE c.n FROM c WHERE c.pk = 'a' AND c.x != '"
    longest = query + "x" * (TEXT_MAX - len(query) - 1) + "'"
    assert ask(caller, filled.docs, longest).status == 200
    for more in (1, 100_000, 3_000_000):
        answer = ask(caller, filled.docs, longest[:-1] + "x" * more + "'")
        assert answer.status in (400, 413), answer
        assert ask_plan(caller, filled.docs, longest[:-1] + "x" * more + "'").status in (400, 413)
    spaces = "SELECT VALUE c.n FROM c WHERE c.pk = 'a'"
    assert rows(caller, filled.docs, spaces + " " * (TEXT_MAX - len(spaces))) == [1]
    comment = "SELECT VALUE c.n -- " + "x" * 400_000 + "\nFROM c WHERE c.pk = 'a'"
    assert rows(caller, filled.docs, comment) == [1]


DEPTHS = [10, 100, 1000, 100_000]
NESTED = {
    "parentheses": lambda n: ("(" * n + "1" + ")" * n, 1),
    "arrays": lambda n: ("[" * n + "]" * n, None),
    "objects": lambda n: ('{"a":' * n + "1" + "}" * n, None),
    "minus": lambda n: ("- " * n + "1", 1 if n % 2 == 0 else -1),
    "not": lambda n: ("NOT " * n + "true", n % 2 == 0),
    "complement": lambda n: ("~" * n + "5", 5),
    "functions": lambda n: ("ABS(" * n + "1" + ")" * n, 1),
    "conditions": lambda n: ("true ? " * n + "1" + " : 2" * n, 1),
    "else": lambda n: ("false ? 2 : " * n + "1", 1),
    "coalesce": lambda n: ("undefined ?? " * n + "1", 1),
    "plus": lambda n: ("0 + " * n + "1", 1),
    "and": lambda n: ("true AND " * n + "true", True),
    "or": lambda n: ("false OR " * n + "true", True),
    "concatenation": lambda n: ("'' || " * n + "'x'", "x"),
    "members": lambda n: ("{}" + ".a" * n, None),
    "indexes": lambda n: ("[]" + "[0]" * n, None),
    "subqueries": lambda n: ("(SELECT VALUE " * n + "1" + ")" * n, 1),
    "array subqueries": lambda n: ("ARRAY(SELECT VALUE " * n + "1" + ")" * n, None),
    "exists": lambda n: ("EXISTS(SELECT VALUE " * n + "1" + ")" * n, None),
    "comparisons": lambda n: ("1 = " * n + "1", None),
    "open": lambda n: ("(" * n, None),
    "close": lambda n: (")" * n, None),
    "open arrays": lambda n: ("[" * n, None),
}


@pytest.mark.parametrize("kind", NESTED)
def test_deep_expressions(caller, filled, kind):
    """Some depth works; any depth is survived."""
    for depth in DEPTHS:
        text, value = NESTED[kind](depth)
        if len(text) > TEXT_MAX:
            continue
        answer = ask(caller, filled.docs, f"SELECT VALUE {text}")
        where = f"SELECT VALUE c.n FROM c WHERE c.n = 1 AND {text} = 1"
        for refused in (answer, ask(caller, filled.docs, where), ask_plan(caller, filled.docs, where)):
            assert refused.status in (200, 400), refused
        if answer.status == 200 and value is not None:
            assert answer.json["Documents"] == [value]
        if depth == 10 and value is not None:
            assert answer.status == 200, answer


def test_deep_sources(caller, filled):
    for depth in (10, 100, 1000, 20_000):
        source = "(SELECT VALUE c FROM " * depth + "c" + " AS c)" * depth
        query = f"SELECT VALUE c.n FROM {source} AS c WHERE c.n = 1"
        assert right_or_refused(caller, filled.docs, query, [1]) or depth > 10
        path = "c" + ".a" * depth
        assert right_or_refused(caller, filled.docs, f"SELECT VALUE x FROM x IN {path}", []) or depth > 10


def test_deep_parameters(caller, filled):
    for depth in (10, 100, 1000, 100_000):
        value = "[" * depth + "]" * depth
        text = '{"query":"SELECT VALUE @p","parameters":[{"name":"@p","value":' + value + "}]}"
        answer = caller.post(filled.docs, text, QUERY | CROSS)
        assert answer.status in (200, 400), answer
        assert answer.status == 200 or depth > 10


def test_wide_lists(caller, filled):
    """An IN list of 16,000 is what the service takes."""
    for count in (10, 16_000, 60_000):
        listed = ",".join(map(str, range(1, count)))
        query = f"SELECT VALUE c.n FROM c WHERE c.n IN ({listed}) AND c.pk = 'a'"
        assert right_or_refused(caller, filled.docs, query, [1]) or count > 16_000
        names = ",".join(f"@p{n}" for n in range(1, count))
        parameters = {f"p{n}": n for n in range(1, count)}
        query = f"SELECT VALUE c.n FROM c WHERE c.n IN ({names}) AND c.pk = 'a'"
        assert right_or_refused(caller, filled.docs, query, [1], parameters) or count > 16_000
        keys = ",".join(f"'k{n}'" for n in range(count))
        query = f"SELECT VALUE c.n FROM c WHERE c.pk IN ('a', {keys})"
        assert right_or_refused(caller, filled.docs, query, [1]) or count > 16_000


def test_wide_everything(caller, filled):
    for count in (100, 12_000):
        columns = ",".join(f"c.n AS a{n}" for n in range(count))
        assert right_or_refused(caller, filled.docs, f"SELECT {columns} FROM c WHERE c.pk = 'none'", []) or count > 100
        either = " OR ".join(f"c.n={n}" for n in range(1, count))
        query = f"SELECT VALUE c.n FROM c WHERE c.pk = 'a' AND ({either})"
        assert right_or_refused(caller, filled.docs, query, [1]) or count > 500
        both = " AND ".join(f"c.n!={n}" for n in range(2, count))
        query = f"SELECT VALUE c.n FROM c WHERE c.pk = 'a' AND {both}"
        assert right_or_refused(caller, filled.docs, query, [1]) or count > 500
        keys = " OR ".join(f"(c.pk='a' AND c.n={n})" for n in range(1, min(count, 20_000)))
        assert right_or_refused(caller, filled.docs, f"SELECT VALUE c.n FROM c WHERE {keys}", [1]) or count > 500


def test_normal_forms_do_not_explode(caller, filled):
    """A product of sums is not multiplied out."""
    for count in (5, 20, 100, 2000):
        sums = " AND ".join(f"(c.n = 1 OR c.a{n} = {n})" for n in range(count))
        assert right_or_refused(caller, filled.docs, f"SELECT VALUE c.n FROM c WHERE {sums}", [1]) or count > 100
        keys = " AND ".join(f"(c.pk = 'a' OR c.pk = 'k{n}')" for n in range(count))
        assert right_or_refused(caller, filled.docs, f"SELECT VALUE c.n FROM c WHERE {keys}", [1]) or count > 100


def test_joins_without_an_end_come_in_pages(caller, filled):
    joins = " ".join(f"JOIN n{n} IN c.numbers" for n in range(5))
    answer = ask(caller, filled.docs, f"SELECT VALUE 1 FROM c {joins}")
    assert answer.status == 200 and answer.continuation
    held = {"x-ms-continuation": answer.continuation}
    again = ask(caller, filled.docs, f"SELECT VALUE 1 FROM c {joins}", held)
    assert again.status == 200 and again.continuation not in (None, answer.continuation)


def test_an_ordinary_product_is_right(caller, filled):
    query = "SELECT VALUE COUNT(1) FROM c JOIN a IN c.numbers JOIN b IN c.numbers"
    assert rows(caller, filled.docs, query) == [10_000]
    query = "SELECT VALUE SUM(a * b) FROM c JOIN a IN c.numbers JOIN b IN c.numbers"
    assert rows(caller, filled.docs, query) == [4950 * 4950]


HUGE = [
    "SELECT VALUE REPLICATE('x', 1000000000)",
    "SELECT VALUE REPLICATE(REPLICATE('x', 10000), 10000)",
    "SELECT VALUE LENGTH(REPLICATE('x', 2147483647))",
    "SELECT VALUE REPLACE(c.text, 'a', c.text) FROM c",
    "SELECT VALUE REPLACE(REPLACE(c.text, 'a', c.text), 'a', c.text) FROM c",
    "SELECT VALUE CONCAT(" + ",".join(["c.text"] * 20_000) + ") FROM c",
    "SELECT VALUE ARRAY_CONCAT(" + ",".join(["c.numbers"] * 20_000) + ") FROM c",
    "SELECT VALUE [" + ",".join(["c.text"] * 20_000) + "] FROM c",
    "SELECT VALUE RegexMatch(c.text, '(a+)+b') FROM c",
    "SELECT VALUE RegexMatch(c.text, '(a|aa)*c$') FROM c",
    "SELECT VALUE RegexMatch(c.text, '((a{0,500}){0,500}){0,500}') FROM c",
    "SELECT VALUE c.text LIKE '" + "%a" * 2000 + "b' FROM c",
    "SELECT VALUE c.text LIKE '" + "%" * 100_000 + "b' FROM c",
    "SELECT VALUE STRING_JOIN(c.numbers, REPLICATE('x', 10000)) FROM c",
    "SELECT VALUE StringToArray(REPLICATE('[', 100000)) FROM c",
    "SELECT VALUE StringToObject(CONCAT(REPLICATE('{\"a\":', 10000), '1', REPLICATE('}', 10000))) FROM c",
    "SELECT VALUE ARRAY_SLICE(c.numbers, -9223372036854775808, 9223372036854775807) FROM c",
    "SELECT VALUE SUBSTRING(c.text, 1e308, 1e308) FROM c",
    "SELECT VALUE POWER(10, 308) * 10",
    "SELECT VALUE ROUND(1e308 * 10)",
    "SELECT VALUE DateTimeAdd('yyyy', 1000000000, '2020-01-01T00:00:00Z')",
    "SELECT VALUE 1 << 1000000",
    "SELECT VALUE NumberBin(1, 0)",
    "SELECT VALUE NumberBin(1, 1e-320)",
    "SELECT VALUE ToString(1e308)",
]


@pytest.mark.parametrize("query", HUGE, ids=lambda query: query[:60])
def test_values_without_an_end(caller, filled, query):
    """Refused, unless they are of a size that one page can hold."""
    answer = ask(caller, filled.docs, query)
    assert answer.status in (200, 400, 413), answer
    assert len(answer.body) < 16 * 1024 * 1024


@pytest.mark.parametrize("query", ["SELECT TOP 0 * FROM c", "SELECT * FROM c OFFSET 0 LIMIT 0", "SELECT * FROM c OFFSET 1000000000 LIMIT 1",
                                   "SELECT * FROM c ORDER BY c.n OFFSET 4000000000 LIMIT 4000000000"])  # fmt: skip
def test_counts_at_the_edge(caller, filled, query):
    assert rows(caller, filled.docs, query) == []
    assert len(rows(caller, filled.docs, "SELECT TOP 4294967295 * FROM c")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "SELECT '\x00'",
        "SELECT \x00",
        "\ufeffSELECT 1",
        "SELECT \u00a0 1",
        "SELECT 1\u2028",
        "SELECT \U0001f980",
        "SELECT c.ü FROM c",
        '"',
        "'",
        "\\",
        "/*",
        "--",
        "SELECT 1 /*",
        "SELECT '\\'",
        "SELECT '\\u12'",
        "SELECT '\\ud800'",
        "SELECT 1e",
        "SELECT 0x",
        "SELECT 1e999",
        "SELECT @",
        "SELECT [",
        "SELECT {'a'",
        "SELECT 99999999999999999999999999999999999999",
    ],
)
def test_odd_texts(caller, filled, text):
    for answer in (ask(caller, filled.docs, text), ask_plan(caller, filled.docs, text)):
        assert answer.status in (200, 400), answer


def test_every_beginning_of_a_query(caller, filled):
    text = (
        'SELECT DISTINCT TOP 5 c.a AS b, [1, {"x": -1.5e3}], (SELECT VALUE COUNT(1) FROM t IN c.tags) ?? @p AS q, '
        "udf.f(c['k'][0]) FROM root AS c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t LIKE 'a%' ESCAPE '!') AS t "
        "WHERE c.x BETWEEN 1 AND 2 OR NOT (c.y IN ('a', \"b\") AND EXISTS(SELECT 1)) AND c.z ? ~1 : +2 ORDER BY c.a DESC"
    )
    for end in range(len(text)):
        for answer in (ask(caller, filled.docs, text[:end]), ask_plan(caller, filled.docs, text[:end])):
            assert answer.status in (200, 400), (text[:end], answer)


def test_many_at_once_do_not_starve_others(filled, server):
    """While heavy queries run, light requests are answered."""
    joins = " ".join(f"JOIN n{n} IN c.numbers" for n in range(5))
    heavy = f"SELECT VALUE COUNT(1) FROM c {joins} WHERE n0 + n1 + n2 + n3 + n4 < 0"

    def run():
        own = Client(server.port)
        try:
            own.connect().sock.settimeout(3)
            own.post(filled.docs, body(heavy), QUERY | CROSS)
        except OSError:
            pass
        own.close()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    own = Client(server.port)
    worst = 0
    for _ in range(10):
        started = time.monotonic()
        assert own.get(f"{filled.docs}/a", pk("a")).status == 200
        worst = max(worst, time.monotonic() - started)
    for thread in threads:
        thread.join()
    own.close()
    assert worst < 2, worst
