"""The writers: sixteen that own documents, and one that makes and deletes collections.

Each owned document is written by one writer, one request at a time, so its possible states are
known exactly. One document per collection is shared by all and counted up with If-Match.
"""

import json
import random
import string
import threading
import time

from ledger import ABSENT, DATABASE, Collection, Contended, Document, make_body
from wire import DISCONNECTED, Client, parse_session_token

WRITERS = 16
KEYS = 40            # logical partition keys of the collection with many
LARGE_SHARE = 0.05   # writes of large documents: they make the store flush, compact and rotate
CHURN_KEPT = 3       # collections that the churning writer keeps
REFUSED_PAUSE_S = 0.005


def is_failure(response):
    """Whether the server could not carry the request out, as opposed to refusing it."""
    return response.status == 408 or response.status >= 500


def set_up(ledger, client):
    """Creates the database and the lasting collections, and plans their documents."""
    response = client.request("POST", "dbs", "", "/dbs", {"id": DATABASE})
    if response.status != 201:
        raise RuntimeError(f"create database: {response.status} {response.body[:300]}")
    wide = Collection("wide", throughput=25_000)  # more than 20,000 RU/s: three partitions
    hot = Collection("hot")                       # everything under one key
    single = Collection("single", partitioned=False)
    for collection in (wide, hot, single):
        create_collection(ledger, client, collection)
        Contended(collection, "hot")
    for writer in range(WRITERS):
        for number in range(80):
            Document(wide, f"w{writer}-{number}", f"key{(writer * 7 + number) % KEYS}")
        for number in range(25):
            Document(hot, f"w{writer}-{number}", "hot")
            Document(single, f"w{writer}-{number}", "none")
        for number in range(2):
            Document(wide, f"large{writer}-{number}", f"key{writer}")


def create_collection(ledger, client, collection):
    body, headers = collection.definition()
    ledger.unknown_creation[collection.name] = collection
    sent_ns = ledger.now_ns()
    response = client.request("POST", "colls", f"dbs/{DATABASE}", f"/dbs/{DATABASE}/colls", body, headers)
    if response.status == 201:
        del ledger.unknown_creation[collection.name]
        ledger.collections[collection.name] = collection
        ledger.note_acknowledged(sent_ns)
    return response


class Load:
    """All writers against one life of the server."""

    def __init__(self, ledger, port, seed, tolerates_refusal=False, large_share=LARGE_SHARE):
        self.ledger, self.port = ledger, port
        self.tolerates_refusal, self.large_share = tolerates_refusal, large_share
        self.is_stopping = False
        self._threads = [
            threading.Thread(target=self._guard, args=(Writer(self, number, seed).run,))
            for number in range(WRITERS)
        ]
        self._threads.append(threading.Thread(target=self._guard, args=(Churner(self, seed).run,)))
        for thread in self._threads:
            thread.start()

    def _guard(self, run):
        try:
            run()
        except DISCONNECTED:
            pass  # the server was killed: what was in flight stays unknown
        except Exception as error:  # a bug of the test must fail it, not vanish in a thread
            self.ledger.problem(f"writer: {error!r}")

    def finish(self):
        self.is_stopping = True
        for thread in self._threads:
            thread.join()


class Writer:
    """One connection writing its own documents at random."""

    def __init__(self, load, number, seed):
        self.load, self.ledger = load, load.ledger
        self.rng = random.Random(f"{seed}-{number}")
        everything = [document
                      for collection in load.ledger.collections.values()
                      for document in collection.documents]
        self.documents = [each for each in everything if each.id.startswith(f"w{number}-")]
        self.large = [each for each in everything if each.id.startswith(f"large{number}-")]
        self.contended = [collection.contended
                          for collection in load.ledger.collections.values() if collection.contended]
        self.client = Client(load.port)

    def run(self):
        while not self.load.is_stopping:
            if self.rng.random() < 0.05:
                self.count_up(self.rng.choice(self.contended))
                continue
            is_large = self.rng.random() < self.load.large_share
            document = self.rng.choice(self.large if is_large else self.documents)
            if not document.unknown:  # after a refusal nobody knows: left alone until checked
                self.change(document)

    def change(self, document):
        dice = self.rng.random()
        if document.version == ABSENT:
            self.put(document, "create" if dice < 0.7 else "upsert")
        elif dice < 0.15:
            self.delete(document)
        elif dice < 0.20:
            self.replace_with_stale_etag(document)
        else:
            self.put(document, "replace" if dice < 0.6 else "upsert")

    def payload(self, document):
        """Mostly small, sometimes larger than a disk page."""
        size = self.rng.choices((600, 6_000, 40_000), (90, 9, 1))[0]
        if document in self.large:
            size = 300_000
        return "".join(self.rng.choices(string.ascii_letters, k=10)) * self.rng.randint(1, size // 10)

    def put(self, document, operation):
        version = document.next_version()
        body = make_body(document.id, document.pk, version, self.payload(document))
        headers = document.collection.headers(document.pk)
        if operation == "upsert":
            headers["x-ms-documentdb-is-upsert"] = "true"
        if operation == "replace":
            headers["if-match"] = document.etag
        document.begin(version)
        sent_ns = self.ledger.now_ns()
        verb = "PUT" if operation == "replace" else "POST"
        response = self.send(verb, document, body, headers)
        if response.status in (200, 201):
            document.acknowledge(version, json.loads(response.body)["_etag"])
            self.ledger.note_acknowledged(sent_ns)
        else:
            self.handle_refusal(document, version, response)

    def delete(self, document):
        document.begin(ABSENT)
        sent_ns = self.ledger.now_ns()
        response = self.send("DELETE", document, None, document.collection.headers(document.pk))
        if response.status == 204:
            document.acknowledge(ABSENT, None)
            self.ledger.note_acknowledged(sent_ns)
        else:
            self.handle_refusal(document, ABSENT, response)

    def replace_with_stale_etag(self, document):
        body = make_body(document.id, document.pk, document.version, "must never be stored")
        headers = document.collection.headers(document.pk) | {"if-match": '"00000000-0000-0000-0000-000000000000"'}
        response = self.send("PUT", document, body, headers)
        if response.status != 412 and response.status < 500:
            self.ledger.problem(f"{document.name}: stale If-Match got {response.status}")

    def count_up(self, document):
        """Reads, adds one, replaces if nobody was faster."""
        found = self.send("GET", document, None, document.collection.headers(document.pk))
        headers = document.collection.headers(document.pk)
        verb, version = "POST", 1
        if found.status == 200:
            current = json.loads(found.body)
            verb, version = "PUT", current["version"] + 1
            headers["if-match"] = current["_etag"]
        elif found.status != 404:
            return
        document.begin(version)
        sent_ns = self.ledger.now_ns()
        body = make_body(document.id, document.pk, version, self.payload(document))
        response = self.send(verb, document, body, headers)
        if response.status in (200, 201):
            self.ledger.note_acknowledged(sent_ns)
            if not document.acknowledge(version, json.loads(response.body)["_etag"]):
                self.ledger.problem(f"{document.name}: step {version} was acknowledged twice")
        elif is_failure(response):
            self.handle_failure(document, response)
        elif response.status not in (409, 412, 429):
            self.ledger.problem(f"{document.name}: counting got {response.status}")

    def send(self, verb, document, body, headers):
        link = document.collection.link
        if verb == "POST":
            response = self.client.request(verb, "docs", link, f"/{link}/docs", body, headers)
        else:
            link = f"{link}/docs/{document.id}"
            response = self.client.request(verb, "docs", link, f"/{link}", body, headers)
        token = parse_session_token(response.headers.get("x-ms-session-token", ""))
        if token and response.status < 300:
            document.collection.note_lsn(*token)
        return response

    def handle_refusal(self, document, version, response):
        if is_failure(response):
            # 503 says that nothing was written. After any other failure the outcome is unknown, and
            # the document's state is settled by the next check.
            if response.status == 503:
                document.refuse(version)
            self.handle_failure(document, response)
            return
        document.refuse(version)
        if response.status != 429:
            self.ledger.problem(f"{document.name}: unexpected {response.status} {response.body[:200]}")

    def handle_failure(self, document, response):
        self.ledger.note_refused()
        if not self.load.tolerates_refusal:
            self.ledger.problem(f"{document.name}: {response.status} {response.body[:200]}")
        time.sleep(REFUSED_PAUSE_S)


class Churner(Writer):
    """Creates collections, puts a few documents into them, deletes the oldest."""

    def __init__(self, load, seed):
        super().__init__(load, "churn", seed)

    def run(self):
        while not self.load.is_stopping:
            name = f"churn-{self.rng.randrange(1 << 48):012x}"
            collection = Collection(name)
            response = create_collection(self.ledger, self.client, collection)
            if response.status != 201:
                self.refused_collection(name, response)
                continue
            for number in range(3):
                self.put(Document(collection, f"churn-{number}", f"key{number}"), "create")
            churned = [name for name in self.ledger.collections if name.startswith("churn-")]
            if len(churned) > CHURN_KEPT:
                self.delete_collection(churned[0])

    def delete_collection(self, name):
        collection = self.ledger.collections.pop(name)
        self.ledger.unknown_deletion[name] = collection
        sent_ns = self.ledger.now_ns()
        response = self.client.request("DELETE", "colls", collection.link, f"/{collection.link}")
        if response.status == 204:
            del self.ledger.unknown_deletion[name]
            self.ledger.deleted.add(name)
            self.ledger.note_acknowledged(sent_ns)
        else:
            self.refused_collection(name, response)

    def refused_collection(self, name, response):
        self.ledger.note_refused()
        if not is_failure(response) or not self.load.tolerates_refusal:
            self.ledger.problem(f"{name}: unexpected {response.status} {response.body[:200]}")
        time.sleep(REFUSED_PAUSE_S)
