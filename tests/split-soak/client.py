"""A client on azure-cosmos, in a process of its own: `client.py write|query|ranges ENDPOINT NAME SEED`.

It reports in lines of JSON on stdout, and stops when stdin ends. Whether what it saw is right, and
whether an error was to be expected, is for the harness to say.
"""

import faulthandler
import json
import random
import sys
import threading
import time

from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.cosmos import CosmosClient, exceptions

from data import ABSENT, COLLECTION, DATABASE, fixed, is_whole, key, owned

# The published emulator key.
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
THREADS = {"write": 3, "query": 2, "ranges": 1}
DOCUMENTS = 40  # of each writing thread
AFTER_ERROR_S = 0.2
BETWEEN_PAGES_S = 0.02
PAGES_MAX = 500  # of a query with some 200 rows

stopping = threading.Event()
output = threading.Lock()


def say(kind, **members):
    with output:
        print(json.dumps({"kind": kind, **members}), flush=True)


def run_until_stopped(worker):
    """Runs steps; errors are reported, with what was done and when."""
    while not stopping.is_set():
        started = time.time()
        try:
            worker.step()
        except Exception as error:
            connection = isinstance(error, (ServiceRequestError, ServiceResponseError))
            say("error", connection=connection, started=started, ended=time.time(),
                text=f"{worker.doing}: {type(error).__name__}: {error}"[:600])
            stopping.wait(AFTER_ERROR_S)


class Writer:
    """One thread that owns documents and changes them one after the other."""

    def __init__(self, container, name, seed):
        self.container, self.rng = container, random.Random(f"{seed}-{name}")
        self.versions = {f"{name}-{number}": ABSENT for number in range(DOCUMENTS)}
        self.keys = {id: key(self.rng.randrange(1000)) for id in self.versions}
        self.last = {id: 0 for id in self.versions}
        self.unknown = set()
        self.doing = None

    def step(self):
        if self.unknown:
            return self.read(next(iter(self.unknown)))
        id = self.rng.choice(list(self.versions))
        dice = self.rng.random()
        if dice < 0.25:
            self.read(id)
        elif self.versions[id] == ABSENT:
            self.put(id, "create_item" if dice < 0.7 else "upsert_item")
        elif dice < 0.4:
            self.delete(id)
        else:
            self.put(id, "replace_item" if dice < 0.7 else "upsert_item")

    def read(self, id):
        pk, self.doing = self.keys[id], f"read of {id}"
        try:
            found = self.container.read_item(id, pk)
            version, whole = found["version"], is_whole(found)
        except exceptions.CosmosResourceNotFoundError as error:
            if error.sub_status:  # not absent: the server is behind the session
                raise
            version, whole = ABSENT, True
        say("seen", id=id, version=version, whole=whole)
        self.versions[id] = version
        self.unknown.discard(id)

    def put(self, id, method):
        self.last[id] += 1
        version = self.last[id]
        body = owned(id, self.keys[id], version)
        arguments = (id, body) if method == "replace_item" else (body,)
        self.write(id, version, method, lambda: getattr(self.container, method)(*arguments))

    def delete(self, id):
        self.write(id, ABSENT, "delete_item", lambda: self.container.delete_item(id, self.keys[id]))

    def write(self, id, version, method, send):
        say("begin", id=id, pk=self.keys[id], version=version, method=method)
        self.unknown.add(id)
        self.doing, started = f"{method} of {id}", time.time()
        send()
        say("done", id=id, version=version, started=started, ended=time.time())
        self.versions[id] = version
        self.unknown.discard(id)


FIXED = fixed()
WHERE = "FROM c WHERE c.kind = 'fixed'"
GROUPS = [{"group": group, "k": sum(each["group"] == group for each in FIXED)} for group in range(1, 8)]
ORDERED = [each["n"] for each in FIXED]
BY_GROUP = [each["n"] for each in sorted(FIXED, key=lambda each: (each["group"], -each["n"]))]

# Query, what it gives, whether in this order.
QUERIES = [
    (f"SELECT VALUE c.n {WHERE} ORDER BY c.n", ORDERED, True),
    (f"SELECT VALUE c.n {WHERE} ORDER BY c.n DESC", ORDERED[::-1], True),
    (f"SELECT VALUE c.n {WHERE} ORDER BY c['group'], c.n DESC", BY_GROUP, True),
    (f"SELECT VALUE c.n {WHERE}", ORDERED, False),
    (f"SELECT c.id, c.pk, c.kind, c.n, c['group'], c.text {WHERE}", FIXED, False),
    (f"SELECT VALUE c.n {WHERE} ORDER BY c.n OFFSET 20 LIMIT 90", ORDERED[20:110], True),
    (f"SELECT TOP 50 VALUE c.n {WHERE} ORDER BY c.n DESC", ORDERED[:-51:-1], True),
    (f"SELECT VALUE COUNT(1) {WHERE}", [len(FIXED)], True),
    (f"SELECT VALUE SUM(c.n) {WHERE}", [sum(ORDERED)], True),
    (f"SELECT DISTINCT VALUE c['group'] {WHERE}", list(range(1, 8)), False),
    (f"SELECT c['group'], COUNT(1) AS k {WHERE} GROUP BY c['group']", GROUPS, False),
]


def sorted_rows(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def differences(rows, expected, is_ordered):
    """What is wrong with the rows of a query; None if nothing is."""
    if (rows == expected) if is_ordered else (sorted_rows(rows) == sorted_rows(expected)):
        return None
    found, right = sorted_rows(rows), sorted_rows(expected)
    missing = [row[:60] for row in right if row not in found]
    strange = [row[:60] for row in found if row not in right]
    twice = [row[:60] for row in set(found) if found.count(row) > right.count(row)]
    return f"{len(rows)} rows of {len(expected)}; missing {missing[:9]}, strange {strange[:9]}, too often {twice[:9]}"


class Reader:
    """One thread that asks what it knows the answer to."""

    def __init__(self, container, name, seed):
        self.container, self.rng = container, random.Random(f"{seed}-{name}")
        self.ways = [self.paged, self.paged, self.resumed, self.feed, self.points]
        self.doing = None

    def step(self):
        way = self.rng.choice(self.ways)
        self.doing, started = way.__name__, time.time()
        name, rows, expected, is_ordered = way()
        problem = differences(rows, expected, is_ordered)
        say("asked", name=name, problem=problem, started=started, ended=time.time())

    def options(self):
        return {"max_item_count": self.rng.choice([3, 7, 20, 100]), "enable_cross_partition_query": True}

    def pause(self):
        stopping.wait(self.rng.uniform(0, BETWEEN_PAGES_S))

    def paged(self):
        """All pages of one iterator, slowly, so that ranges change under it."""
        query, expected, is_ordered = self.rng.choice(QUERIES)
        self.doing, rows = query, []
        for page in self.container.query_items(query, **self.options()).by_page():
            rows += page
            self.pause()
        return query, rows, expected, is_ordered

    def resumed(self):
        """Each page by a new iterator, from the token of the one before.

        The last page may be empty: the iterator then ends, and keeps the token that it was given."""
        query, rows, tokens = f"SELECT VALUE c.n {WHERE}", [], [None]
        while len(tokens) <= PAGES_MAX:
            pager = self.container.query_items(query, **self.options()).by_page(tokens[-1])
            page = next(pager, None)
            rows += page or []
            tokens.append(None if page is None else pager.continuation_token)
            if tokens[-1] is None:
                return f"resumed: {query}", rows, ORDERED, False
            self.pause()
        raise RuntimeError(f"{len(rows)} rows and no end; the last tokens are {tokens[-4:]}")

    def feed(self):
        rows = [item["n"] for item in self.container.read_all_items(max_item_count=50) if item["kind"] == "fixed"]
        return "feed", rows, ORDERED, False

    def points(self):
        some = self.rng.sample(FIXED, 9)
        rows = [self.container.read_item(each["id"], each["pk"])["n"] for each in some]
        return "reads", rows, [each["n"] for each in some], True


class RangeReader(Reader):
    """One that asks range by range. In a process of its own: the SDK shares what it knows of ranges
    within a process, and when one thread learns of a split, another begins its feed range anew."""

    def __init__(self, container, name, seed):
        super().__init__(container, name, seed)
        self.ways = [self.by_feed_range]
        # Of the time before all splits: a client may keep them as long as it likes.
        self.feed_ranges = list(container.read_feed_ranges())

    def by_feed_range(self):
        """What the ranges of some time ago hold together."""
        query, rows = f"SELECT VALUE c.n {WHERE}", []
        for feed_range in self.feed_ranges:
            for page in self.container.query_items(query, feed_range=feed_range, max_item_count=9).by_page():
                rows += page
                self.pause()
        if self.rng.random() < 0.2:
            self.feed_ranges = list(self.container.read_feed_ranges())
        return "feed ranges", rows, ORDERED, False


def container(endpoint):
    """One client for each thread: they keep the headers of the last answer, whoever asked."""
    return CosmosClient(endpoint, KEY).get_database_client(DATABASE).get_container_client(COLLECTION)


def main():
    faulthandler.enable()
    role, endpoint, name, seed = sys.argv[1:]
    kind = {"write": Writer, "query": Reader, "ranges": RangeReader}[role]
    workers = [kind(container(endpoint), f"{name}{number}", seed) for number in range(THREADS[role])]
    threads = [threading.Thread(target=run_until_stopped, args=(worker,)) for worker in workers]
    say("ready")
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stopping.set()
    for thread in threads:
        thread.join()
    say("end")


if __name__ == "__main__":
    main()
