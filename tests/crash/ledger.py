"""What the server has promised, and whether it kept it.

For each document the ledger holds the last acknowledged state and the writes whose outcome is
unknown: sent, but the server died (or refused with 5xx) before it answered. After a restart a
document must be in the acknowledged state, or in one of the unknown ones.
"""

import hashlib
import json
import threading
import time

DATABASE = "crash"
ABSENT = 0  # the version of a document that does not exist; written versions start at 1


def checksum(document):
    """A digest over everything that a writer chose, to notice a torn or mixed document."""
    chosen = [document.get(name) for name in ("id", "pk", "version", "payload", "tags")]
    return hashlib.sha256(json.dumps(chosen).encode()).hexdigest()[:32]


def make_body(id, pk, version, payload):
    body = {"id": id, "pk": pk, "version": version, "payload": payload,
            "tags": [f"t{version % 7}", f"u{version % 11}"]}
    return {**body, "sum": checksum(body)}


class Collection:
    """A collection and how its documents are addressed."""

    def __init__(self, name, partitioned=True, throughput=None):
        self.name = name
        self.partitioned = partitioned
        self.throughput = throughput
        self.documents = []
        self.contended = None
        self.lsn = {}  # range id -> highest LSN seen
        self._lock = threading.Lock()

    @property
    def link(self):
        return f"dbs/{DATABASE}/colls/{self.name}"

    def definition(self):
        """Body and headers that create it. Without a partition key it takes an old API version."""
        if not self.partitioned:
            return {"id": self.name}, {"x-ms-version": "2017-11-15"}
        body = {"id": self.name, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
        return body, {"x-ms-offer-throughput": str(self.throughput)} if self.throughput else {}

    def headers(self, pk=None):
        if not self.partitioned:
            return {"x-ms-version": "2017-11-15"}
        return {"x-ms-documentdb-partitionkey": json.dumps([pk])} if pk is not None else {}

    def session_token(self):
        """Asks a read to see at least everything seen so far."""
        with self._lock:
            return ",".join(f"{range_id}:-1#{lsn}" for range_id, lsn in self.lsn.items())

    def note_lsn(self, range_id, lsn):
        with self._lock:
            self.lsn[range_id] = max(lsn, self.lsn.get(range_id, 0))


class Document:
    """One document, written by one writer only."""

    def __init__(self, collection, id, pk):
        self.collection, self.id, self.pk = collection, id, pk
        self.version, self.etag = ABSENT, None
        self.unknown = []  # versions whose outcome was never learnt
        self.last_version = 0
        self.touched = False
        collection.documents.append(self)

    @property
    def name(self):
        return f"{self.collection.name}/{self.id}"

    def next_version(self):
        self.last_version += 1
        return self.last_version

    def begin(self, version):
        self.unknown.append(version)
        self.touched = True

    def acknowledge(self, version, etag):
        self.version, self.etag = version, etag
        self.unknown.clear()

    def refuse(self, version):
        """The server answered that it did not do it."""
        self.unknown.remove(version)

    def check(self, found, etag):
        """Compares with the document that was read (None: not found); adopts an unknown state.
        Returns what is wrong, or None."""
        version = found["version"] if found else ABSENT
        if found and found.get("sum") != checksum(found):
            return f"{self.name}: torn: {json.dumps(found)[:300]}"
        if version == self.version:
            if found and etag != self.etag:
                return f"{self.name}: version {version} has etag {etag}, acknowledged was {self.etag}"
        elif version not in self.unknown:
            allowed = [self.version, *self.unknown]
            return f"{self.name}: version {version}, but only {allowed} possible (0: absent)"
        self.version, self.etag = version, etag
        self.unknown.clear()
        return None


class Contended:
    """A document that all writers count up with If-Match: no acknowledged step may be lost."""

    def __init__(self, collection, pk):
        self.collection, self.id, self.pk = collection, "contended", pk
        self.version, self.etag, self.attempted = ABSENT, None, ABSENT
        self._lock = threading.Lock()
        collection.contended = self

    @property
    def name(self):
        return f"{self.collection.name}/{self.id}"

    def begin(self, version):
        with self._lock:
            self.attempted = max(self.attempted, version)

    def acknowledge(self, version, etag):
        """Returns False if this very step had been acknowledged before: a lost update."""
        with self._lock:
            if version > self.version:
                self.version, self.etag = version, etag
                return True
            return version < self.version

    def check(self, found, etag):
        version = found["version"] if found else ABSENT
        if found and found.get("sum") != checksum(found):
            return f"{self.name}: torn: {json.dumps(found)[:300]}"
        if not self.version <= version <= self.attempted:
            return f"{self.name}: version {version} outside [{self.version}, {self.attempted}]"
        if found and version == self.version and etag != self.etag:
            return f"{self.name}: version {version} has etag {etag}, acknowledged was {self.etag}"
        self.version, self.etag, self.attempted = version, etag, version
        return None


class Ledger:
    """All collections, and the counters of a run."""

    def __init__(self):
        self.collections = {}          # acknowledged to exist
        self.unknown_creation = {}     # name -> Collection whose creation was never answered
        self.unknown_deletion = {}     # name -> Collection whose deletion was never answered
        self.deleted = set()           # names acknowledged to be gone
        self.acknowledged = 0
        self.refused = 0               # writes answered with 5xx
        self.last_acknowledged_sent_ns = 0
        self.problems = []
        self._lock = threading.Lock()

    def note_acknowledged(self, sent_ns):
        with self._lock:
            self.acknowledged += 1
            self.last_acknowledged_sent_ns = max(sent_ns, self.last_acknowledged_sent_ns)

    def note_refused(self):
        with self._lock:
            self.refused += 1

    def problem(self, text):
        with self._lock:
            self.problems.append(text)
            if len(self.problems) <= 20:
                print(f"PROBLEM {text}", flush=True)

    def now_ns(self):
        return time.monotonic_ns()
