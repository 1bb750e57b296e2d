"""Scripts that mean harm, against a real server: each is bounded and told what was wrong, its key can be
used at once, others never notice, and the memory is given back."""

import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from children import resident_mb, script_workers
from http_client import Client, pk
from server import Server

WORKERS = 3
numbers = itertools.count(1)
# What a server and its idle workers may hold more afterwards than before: caches that have filled.
KEPT_MB = 100

# Of a script: `c` is the collection, `link` its link, `answer` sets the body.
PREFIX = """const c = getContext().getCollection(), link = c.getSelfLink();
const answer = (body) => getContext().getResponse().setBody(body);\n"""

# Each takes all the time there is: 408.
ENDLESS = {
    "loop": "for (;;) { }",
    "loop that catches": "for (;;) { try { for (;;) { } } catch (e) { } finally { continue; } }",
    "loop in a callback": "c.readDocuments(link, () => { for (;;) { } });",
    "loop in toJSON": "answer({ toJSON() { for (;;) { } } });",
    "loop in a getter of an error": "const e = new Error(''); Object.defineProperty(e, 'message', { get() { for (;;) { } } }); throw e;",
    "regular expression": "/^(a+)+$/.test('a'.repeat(40) + 'b');",
    "promises": "const f = () => { Promise.resolve().then(f); }; f();",
    "async": "(async () => { for (;;) { try { await null; } catch (e) { } } })();",
    "async that catches": "(async () => { try { for (;;) { } } catch (e) { for (;;) { } } })();",
    "generator": "function* g() { for (;;) yield 1; } for (const n of g()) { }",
    "indexOf": """const text = 'a'.repeat(10 << 20), needle = 'a'.repeat(1000) + 'b';
        for (let n = 0; n < 500; n++) text.indexOf(needle);""",
    "indexOf without a loop": """const text = 'a'.repeat(10 << 20), needle = 'a'.repeat(1000) + 'b';
        new Function('text', 'needle', 'return [' + 'text.indexOf(needle),'.repeat(800) + ']')(text, needle);""",
    "operations": "for (;;) c.readDocument(link + 'docs/none', () => { });",
    "callbacks": "const go = () => { while (!c.queryDocuments(link, 'SELECT * FROM c', go)); }; go();",
    "sort": "for (;;) Array.from({ length: 1e5 }, (_, n) => -n).sort((a, b) => a - b);",
}  # fmt: skip

# Each ends by itself or by a limit: body and what may come of it.
BOUNDED = {
    "recursion": ("const f = () => f() + 1; f();", {400}),
    "recursion that catches": ("const f = () => { try { return f() + 1; } catch (e) { throw e; } }; f();", {400}),
    "recursion in toJSON": ("const o = { toJSON() { return JSON.stringify(o); } }; answer(o);", {400}),
    "deep text": ("answer(JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)));", {400}),
    "deep array": ("let a = []; for (let n = 0; n < 1e5; n++) a = [a]; answer(a);", {400}),
    "deep document": (
        "let a = {}; for (let n = 0; n < 3000; n++) a = { a }; c.createDocument(link, { id: 'deep', pk: 'hostile', a });",
        {400},
    ),
    "strings": ("const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length);", {403}),
    "arrays": ("const all = []; for (;;) all.push(new Array(100000).fill(all.length));", {403}),
    "buffer": ("new ArrayBuffer(1 << 30);", {403}),
    "closures": ("const all = []; for (let n = 0; ; n++) all.push(() => 'x'.repeat(n) + all.length);", {403}),
    "a text that doubles": ("let x = 'x'; for (;;) x += x + x.length;", {400, 403}),
    "a huge text": ("answer('x'.repeat(2 ** 30));", {400, 403}),
    "promises that are kept": ("const f = () => Promise.resolve().then(f); f();", {403, 408}),
    "a million promises": ("for (let n = 0; n < 1e6; n++) new Promise(() => { }); answer(1);", {200, 408}),
    "thousands of callbacks": (
        "let k = 0; for (let n = 0; n < 5000; n++) c.readDocument(link + 'docs/none', () => { k++; }); answer(1);",
        {200, 400, 408},
    ),
    "a giant answer": ("answer('x'.repeat(6 << 20));", {400, 413}),
    "a giant error": ("throw new Error('x'.repeat(6 << 20));", {400}),
    "an answer of many parts": (
        "const r = getContext().getResponse(); for (let n = 0; ; n++) r.appendValue('x'.repeat(1 << 18), n);",
        {400, 413},
    ),
    "a giant document": ("c.createDocument(link, { id: 'big', pk: 'hostile', x: 'x'.repeat(5 << 20) });", {400, 413}),
    "a giant query": ("c.queryDocuments(link, 'SELECT * FROM c WHERE ' + 'true AND '.repeat(2e5) + 'true', (e) => { if (e) throw e; });", {400, 413}),
    "log": ("for (let n = 0; n < 20000; n++) console.log('flood '.repeat(20)); answer(1);", {200, 408}),
    "nothing thrown": ("throw null;", {400}),
    "undefined thrown": ("throw undefined;", {400}),
    "a proxy thrown": ("throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } });", {400}),
}  # fmt: skip

# What a script does to the engine's own objects before it creates a document as anybody does. The
# document is made, or the script fails; nothing else comes of it.
TRICKS = {
    "JSON": "JSON.parse = JSON.stringify = () => '{\"id\": \"forged\", \"pk\": \"elsewhere\"}';",
    "push": "Array.prototype.push = Array.prototype.shift = Array.prototype[Symbol.iterator] = () => { throw 'trap'; };",
    "setters": """for (const name of ['id', 'link', 'body', 'operation', 'callback', '0'])
        Object.defineProperty(Object.prototype, name, { set() { throw 'trap'; }, get() { return 'forged'; } });""",
    "toJSON": "Object.prototype.toJSON = function () { return { id: 'forged', pk: 'elsewhere' }; };",
    "then": "Promise.prototype.then = Object.prototype.then = () => { throw 'trap'; };",
    "species": "Object.defineProperty(Array, Symbol.species, { get() { throw 'trap'; } }); Promise[Symbol.species] = null;",
    "functions": "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'forged';",
    "globals": "getContext().getCollection = null; Object = Array = String = Error = Promise = JSON = Reflect = undefined;",
    "frozen": "[Object, Array, Function, String].forEach((it) => Object.freeze(it.prototype)); Object.freeze(globalThis);",
    "toString": "String.prototype.toString = Symbol.prototype.toString = Object.prototype.toString = () => { throw 'trap'; };",
    "link": "c.getSelfLink = () => 'dbs/other/colls/other/'; Object.setPrototypeOf(c, null);",
    "constructor": "Object.prototype.constructor = class { constructor() { throw 'trap'; } };",
}  # fmt: skip


@pytest.fixture(scope="module")
def own():
    """A server that only these tests torment."""
    with Server("--rate-limit", "never", "--script-workers", WORKERS) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture
def client(own):
    connected = Client(own.port)
    yield connected
    connected.close()


@pytest.fixture
def bank(client):
    """The path of a collection: each test has its own, since a collection has room for few triggers."""
    assert client.post("/dbs", {"id": "hostile"}).status in (201, 409)
    name = f"c{next(numbers)}"
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    assert client.post("/dbs/hostile/colls", {"id": name, "partitionKey": key}).status == 201
    return f"/dbs/hostile/colls/{name}"


def store(client, bank, name, body):
    """Stores a script as a stored procedure and as a trigger of both kinds."""
    body = f"function () {{\n{PREFIX}{body}\n}}"
    made = client.post(f"{bank}/sprocs", {"id": name, "body": body})
    assert made.status in (201, 409), made
    for when in ("Pre", "Post"):
        trigger = {"id": f"{when} {name}", "body": body, "triggerType": when, "triggerOperation": "All"}
        assert client.post(f"{bank}/triggers", trigger).status in (201, 409)


def execute(client, bank, name, key, headers=None):
    path = f"{bank}/sprocs/{name}".replace(" ", "%20")
    return client.post(path, [], pk(key) | {"x-ms-documentdb-script-enable-logging": "true"} | (headers or {}))


def create_with(client, bank, when, name, key):
    document = {"id": f"with {when} {name}", "pk": key}
    include = {f"x-ms-documentdb-{when.lower()}-trigger-include": f"{when} {name}"}
    return client.post(f"{bank}/docs", document, pk(key) | include)


def assert_usable(client, bank, key):
    """The key takes writes and scripts at once."""
    made = client.post(f"{bank}/docs", {"id": "usable", "pk": key}, pk(key) | {"x-ms-documentdb-is-upsert": "True"})
    assert made.status in (200, 201), made
    store(client, bank, "good", "c.queryDocuments(link, 'SELECT VALUE c.id FROM c', (error, rows) => answer(rows));")
    found = execute(client, bank, "good", key)
    assert found.status == 200 and "usable" in found.json, found
    return found.json


def memory_mb(server):
    """What the server and all its workers hold."""
    return sum(map(resident_mb, [server.process.pid, *script_workers(server.process.pid)]))


def test_endless_scripts(own, bank, client):
    """All at once, on keys of their own, in every place where scripts run, while others go on working."""
    calls = []
    for at, (name, body) in enumerate(ENDLESS.items()):
        store(client, bank, name, body)
        calls.append((name, ["sproc", "Pre", "sproc", "Post"][at % 4]))
    assert_usable(client, bank, "idle")
    before = memory_mb(own)
    over = threading.Event()

    def others():
        """Reads and writes of another key, which never wait for a script: how many."""
        mine, count = Client(own.port), 0
        while not over.is_set():
            made = mine.post(f"{bank}/docs", {"id": f"n{count}", "pk": "others"}, pk("others"))
            assert made.status == 201 and mine.get(f"{bank}/docs/n{count}", pk("others")).json["pk"] == "others"
            count += 1
        mine.close()
        return count

    def one(call):
        (name, way), mine = call, Client(own.port)
        answer = None
        # More scripts than workers: some are told to come back.
        while answer is None or answer.status == 429:
            answer = execute(mine, bank, name, name) if way == "sproc" else create_with(mine, bank, way, name, name)
        assert answer.status == 408, (name, way, answer)
        assert mine.get(f"{bank}/docs/with%20{way}%20{name}".replace(" ", "%20"), pk(name)).status == 404
        made = mine.post(f"{bank}/docs", {"id": "usable", "pk": name}, pk(name))
        assert made.status == 201, made
        mine.close()

    with ThreadPoolExecutor(WORKERS + 1) as pool:
        busy = pool.submit(others)
        try:
            list(pool.map(one, calls))
        finally:
            over.set()
        assert busy.result() > 10
    assert_usable(client, bank, "idle")
    assert memory_mb(own) < before + KEPT_MB
    assert len(script_workers(own.process.pid)) <= 2 * WORKERS


@pytest.mark.parametrize("name", BOUNDED)
def test_bounded_scripts(own, bank, client, name):
    body, expected = BOUNDED[name]
    store(client, bank, name, body)
    assert_usable(client, bank, "hostile")
    before = memory_mb(own)
    answer = execute(client, bank, name, "hostile")
    assert answer.status in expected, answer
    assert len(answer.body) < 1 << 16
    # A header that any client takes.
    assert len(answer.headers.get("x-ms-documentdb-script-log-results", "")) <= 64 << 10
    assert_usable(client, bank, "hostile")
    for when in ("Pre", "Post"):
        # A trigger has no answer to set, so what is a giant answer may be an error of another kind.
        answered = create_with(client, bank, when, name, "hostile")
        assert answered.status in expected | {201, 400}, answered
        if answered.status != 201:
            made = client.get(f"{bank}/docs/with%20{when}%20{name}".replace(" ", "%20"), pk("hostile"))
            assert made.status == 404, made
    found = assert_usable(client, bank, "hostile")
    assert "deep" not in found and "big" not in found
    assert memory_mb(own) < before + KEPT_MB


@pytest.mark.parametrize("name", TRICKS)
def test_tricks_with_prototypes(bank, client, name):
    key = f"tricks {name}"
    store(client, bank, name, f"const body = {{ id: 'real', pk: '{key}' }};\n{TRICKS[name]}\nc.createDocument(link, body, () => {{ }});")
    answer = execute(client, bank, name, key)
    assert answer.status in (200, 400), answer
    found = assert_usable(client, bank, key)
    # The document, or what the script made of it; never one elsewhere.
    assert set(found) <= {"real", "forged", "usable"}, found
    if answer.status == 400:
        assert found == ["usable"]
    query = {"query": "SELECT VALUE c.id FROM c WHERE c.pk = 'elsewhere'", "parameters": []}
    headers = {"Content-Type": "application/query+json", "x-ms-documentdb-isquery": "true", **pk("elsewhere")}
    assert client.post(f"{bank}/docs", query, headers).json["Documents"] == []


def test_a_script_finds_nothing_of_the_one_before(bank, client):
    store(client, bank, "leaves", "globalThis.kept = 1; Array.prototype.kept = 1; JSON.kept = 1; answer(1);")
    store(client, bank, "looks", "answer([typeof kept, typeof [].kept, typeof JSON.kept]);")
    for _ in range(3 * WORKERS):
        assert execute(client, bank, "leaves", "a").json == 1
        assert execute(client, bank, "looks", "a").json == ["undefined"] * 3


def test_no_more_operations_than_allowed(bank, client):
    """They are refused, and the script can tell its client how far it came."""
    body = """let n = 0;
        const go = () => { if (!c.readDocument(link + 'docs/none', () => { n++; go(); })) answer(n); };
        go();"""
    store(client, bank, "many", body)
    answer = execute(client, bank, "many", "many")
    # A slow machine comes to the end of the time before that.
    assert answer.status == 400 or (answer.status == 200 and 0 < answer.json <= 20000), answer
    assert_usable(client, bank, "many")


@pytest.mark.parametrize("way", ["sproc", "Pre", "Post"])
def test_workers_killed_from_outside(own, bank, client, way):
    """The script that ran there is told, its writes are gone, and nobody else is disturbed."""
    name, key = "victim", f"victim {way}"
    store(client, bank, name, "c.createDocument(link, { id: 'trace', pk: '%s' }, () => { for (;;) { } });" % key)
    store(client, bank, "quick", "answer(1);")
    assert execute(client, bank, "quick", key).status == 200
    idle = script_workers(own.process.pid)
    for worker in idle:  # one that dies while it is idle is nobody's loss
        os.kill(worker, signal.SIGKILL)
    assert execute(client, bank, "quick", key).status == 200
    before = {worker: cpu_ticks(worker) for worker in script_workers(own.process.pid)}
    with ThreadPoolExecutor(1) as pool:
        mine = Client(own.port)
        arguments = (execute, mine, bank) if way == "sproc" else (create_with, mine, bank, way)
        answer = pool.submit(*arguments, name, key)
        # The worker that burns is killed once it has begun.
        while not answer.done():
            time.sleep(0.02)
            for worker in script_workers(own.process.pid):
                if cpu_ticks(worker) > before.get(worker, 5) + 10:
                    os.kill(worker, signal.SIGKILL)
        answer = answer.result()
        mine.close()
    assert answer.status == 500, answer
    assert "worker" in answer.message, answer
    assert assert_usable(client, bank, key) == ["usable"]


def cpu_ticks(process):
    """Hundredths of a second that a process has used so far."""
    try:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
