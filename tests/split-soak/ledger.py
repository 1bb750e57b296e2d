"""What the clients reported, and whether all of it can be right.

Every document has one writer, which does one thing at a time. So its state is the last acknowledged
one, or that of a write that got no answer.
"""

from collections import Counter

from data import ABSENT
from findings import Findings


class Document:
    """One document of a writer."""

    def __init__(self, pk):
        self.pk, self.version, self.unknown = pk, ABSENT, []

    def settle(self, version):
        """Takes the version that was found; returns False if it cannot be."""
        if version != self.version and version not in self.unknown:
            return False
        self.version, self.unknown = version, []
        return True


class Ledger(Findings):
    """All reports of all clients."""

    def __init__(self):
        super().__init__()
        self.documents = {}
        self.connection_errors = []
        self.writes = Counter()
        self.asked = Counter()
        self.longest_write_s = 0
        self.reads = 0

    def _begin(self, client, report):
        document = self.documents.setdefault(report["id"], Document(report["pk"]))
        document.unknown.append(report["version"])

    def _done(self, client, report):
        document = self.documents[report["id"]]
        document.version, document.unknown = report["version"], []
        self.writes[client] += 1
        if not self.met_kill(report):
            self.longest_write_s = max(self.longest_write_s, report["ended"] - report["started"])

    def _seen(self, client, report):
        id, version = report["id"], report["version"]
        self.reads += 1
        document = self.documents.get(id)
        if document is None:
            if version != ABSENT:
                self.problem(f"{client}: {id} has version {version} and was never written")
        elif not report["whole"]:
            self.problem(f"{client}: {id} in version {version} is a mixture")
        elif not document.settle(version):
            possible = [document.version, *document.unknown]
            self.problem(f"{client}: {id} has version {version}, but only {possible} possible (0: absent)")

    def _asked(self, client, report):
        self.asked[client, report["name"]] += 1
        if report["problem"]:
            took = report["ended"] - report["started"]
            self.problem(f"{client}: {report['name']}: {report['problem']} ({took:.1f} s)")

    def _error(self, client, report):
        if report["connection"]:
            with self._lock:
                self.connection_errors.append((client, report))  # judged when the lives are known
        else:
            self.problem(f"{client}: {report['text']}")

    def judge_connection_errors(self):
        """A connection that broke has a reason, or it is a problem."""
        for client, report in self.connection_errors:
            if not self.met_kill(report):
                self.problem(f"{client}: no connection although nobody killed the server: {report['text']}")
