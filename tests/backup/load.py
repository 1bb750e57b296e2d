"""The load: writers of documents, one that makes and deletes collections, one that splits."""

import json
import random
import threading
import time

from history import ABSENT, History, make_body
from wire import DISCONNECTED, Client

DATABASE = "backed"
COLLECTIONS = ("wide", "narrow")
WRITERS = 6
DOCUMENTS = 30   # of each writer
KEYS = 25
CHURN_KEPT = 2


def link_of(collection):
    return f"dbs/{DATABASE}/colls/{collection}"


def set_up(client):
    answer = client.request("POST", "dbs", "", "/dbs", {"id": DATABASE})
    if answer.status != 201:
        raise RuntimeError(f"create database: {answer.status} {answer.body[:300]}")
    for name in COLLECTIONS:
        if (status := create_collection(client, name)) != 201:
            raise RuntimeError(f"create collection: {status}")


def create_collection(client, name):
    body = {"id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
    return client.request("POST", "colls", f"dbs/{DATABASE}", f"/dbs/{DATABASE}/colls", body).status


class Writer:
    """Changes documents of its own, and knows how long each change took."""

    def __init__(self, number, seed):
        self.history = History(f"writer {number}")
        self.rng = random.Random(f"{seed}-{number}")
        self.documents = [(self.rng.choice(COLLECTIONS), f"w{number}-{index}", f"key{index % KEYS}")
                          for index in range(DOCUMENTS)]
        self.client, self.version = None, 0
        self.slowest = (0.0, 0.0)  # seconds, and when it began

    def connect(self, port):
        """Takes up its work, and finds out what became of a change whose answer was lost."""
        self.client = Client(port)
        last = self.history.last()
        if last and not last.acknowledged:
            if self.read(last.thing) == last.state:
                self.history.acknowledge(last)
            else:
                self.history.forget_last()

    def read(self, document):
        collection, id, pk = document
        link = f"{link_of(collection)}/docs/{id}"
        answer = self.client.request("GET", "docs", link, f"/{link}", headers=key(pk))
        return json.loads(answer.body)["version"] if answer.status == 200 else ABSENT

    def step(self):
        document = self.rng.choice(self.documents)
        collection, id, pk = document
        is_there = self.history.state().get(document, ABSENT) is not ABSENT
        if is_there and self.rng.random() < 0.2:
            change = self.history.send(document, ABSENT)
            link = f"{link_of(collection)}/docs/{id}"
            answer = self.client.request("DELETE", "docs", link, f"/{link}", headers=key(pk))
        else:
            self.version += 1
            size = self.rng.choices((300, 4_000, 150_000), (80, 17, 3))[0]
            payload = f"{self.rng.random():.17f}" * (size // 19)
            change = self.history.send(document, self.version)
            answer = self.client.request(
                "POST", "docs", link_of(collection), f"/{link_of(collection)}/docs",
                make_body(id, pk, self.version, payload),
                key(pk) | {"x-ms-documentdb-is-upsert": "true"})
        if answer.status not in (200, 201, 204):
            raise RuntimeError(f"{document}: {answer.status} {answer.body[:300]}")
        self.history.acknowledge(change)
        self.slowest = max(self.slowest, (change.acknowledged - change.sent, change.sent))


class Churner:
    """Makes collections and deletes them."""

    def __init__(self, seed):
        self.history = History("churner")
        self.rng = random.Random(f"{seed}-churn")
        self.client = None

    def connect(self, port):
        self.client = Client(port)
        last = self.history.last()
        if last and not last.acknowledged:
            link = link_of(last.thing)
            status = self.client.request("GET", "colls", link, f"/{link}").status
            if (status == 200) == (last.state is not ABSENT):
                self.history.acknowledge(last)
            else:
                self.history.forget_last()

    def step(self):
        there = [name for name, state in self.history.state().items() if state is not ABSENT]
        if len(there) >= CHURN_KEPT:
            name = self.rng.choice(there)
            change = self.history.send(name, ABSENT)
            status = self.client.request("DELETE", "colls", link_of(name), f"/{link_of(name)}").status
        else:
            name = f"churn-{self.rng.randrange(1 << 48):012x}"
            change = self.history.send(name, 1)
            status = create_collection(self.client, name)
        if status not in (201, 204):
            raise RuntimeError(f"{name}: {status}")
        self.history.acknowledge(change)
        time.sleep(0.02)


class Splitter:
    """Splits a partition, and merges it again when there are many."""

    history = None

    def __init__(self, seed):
        self.rng = random.Random(f"{seed}-split")
        self.client, self.done = None, 0

    def connect(self, port):
        self.client = Client(port)

    def step(self):
        link = link_of(self.rng.choice(COLLECTIONS))
        answer = self.client.request("GET", "pkranges", link, f"/{link}/pkranges")
        ranges = sorted(json.loads(answer.body)["PartitionKeyRanges"], key=lambda each: each["minInclusive"])
        action = "split" if len(ranges) < 4 else "merge"
        range_id = self.rng.choice(ranges if action == "split" else ranges[:-1])["id"]
        link = f"{link}/pkranges/{range_id}"
        answer = self.client.request("POST", "pkranges", link, f"/_sheaf/{link}/{action}")
        # A partition with one key cannot be split.
        if answer.status == 200:
            self.done += 1
        elif answer.status not in (400, 404, 409, 410, 429, 503):
            raise RuntimeError(f"{action} of {link}: {answer.status} {answer.body[:300]}")
        time.sleep(0.1)


def key(pk):
    return {"x-ms-documentdb-partitionkey": json.dumps([pk])}


class Load:
    """All of them, against one life of the server after the other."""

    def __init__(self, seed, on_problem):
        self.on_problem = on_problem
        self.writers = [Writer(number, seed) for number in range(WRITERS)]
        self.churner, self.splitter = Churner(seed), Splitter(seed)
        self._threads, self._is_stopping = [], False

    def start(self, port, splits=True):
        self._is_stopping = False
        workers = [*self.writers, self.churner, *([self.splitter] if splits else [])]
        self._threads = [threading.Thread(target=self._run, args=(worker, port)) for worker in workers]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._is_stopping = True
        for thread in self._threads:
            thread.join()

    def _run(self, worker, port):
        try:
            worker.connect(port)
            while not self._is_stopping:
                worker.step()
        except DISCONNECTED:
            pass  # the server was killed; what was under way is settled by the next `connect`
        except Exception as error:  # a bug of the test must fail it, not vanish in a thread
            self.on_problem(f"{type(worker).__name__}: {error!r}")

    def histories(self):
        return [writer.history for writer in self.writers]

    def acknowledged(self):
        return sum(1 for history in self.histories() for change in history.changes if change.acknowledged)

    def slowest(self):
        """Seconds that the slowest change took since the last time this was asked."""
        slowest = max(writer.slowest[0] for writer in self.writers)
        for writer in self.writers:
            writer.slowest = (0.0, 0.0)
        return slowest
